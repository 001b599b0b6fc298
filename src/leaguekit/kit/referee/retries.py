"""Players that do not answer: how often they are asked again, how long they are waited for, and how that ends."""

from __future__ import annotations

from itertools import pairwise

from leaguekit.kit.checks import Area, Check, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Arrived
from leaguekit.kit.incoming import evidence
from leaguekit.kit.referee.faults import is_technical, lost_by, told_of
from leaguekit.kit.referee.harness import QUICK, REAL, RefereeScene
from leaguekit.kit.referee.kit_players import Plan, chooses, joins, never, plan
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.protocol import messages as m
from leaguekit.protocol.messages import Message, message_type

RETRY: Area[RefereeScene] = Area("retry", "Retries")
LIMITS: Area[RefereeScene] = Area("limits", "The documents' limits for real")

# How far from the time that it should be a retry may come.
PAUSE_SLACK = 0.25


def _asks(area_name: str, kind: type[Message], silent: Plan, lines: dict[str, tuple[str, ...]]) -> Check[RefereeScene]:
    """Add the checks of how a referee asks a player again that never answers one kind of request."""
    name, match = message_type(kind), f"silent {area_name}"
    limit = QUICK.join_seconds if kind is m.GameInvitation else QUICK.choice_seconds

    @RETRY.required(
        f"{area_name}_loss", f"Who never answers {name} has a technical loss.", *lines["loss"], needs=CAN_PLAY
    )
    async def loss(scene: RefereeScene) -> Evidence:
        return lost_by(await scene.play(match, silent, plan("odd"), slow=True), "A")

    @RETRY.required(
        f"{area_name}_count",
        f"{name} is sent again 3 times, and no more, to a player that does not answer.",
        *lines["count"],
        "000-L1581",
        needs=[*CAN_PLAY, loss],
    )
    async def count(scene: RefereeScene) -> Evidence:
        asked = scene.bouts[match].got("A", kind)
        if len(asked) != 1 + QUICK.max_retries:
            raise Failed(Evidence(came=f"{len(asked)} in all", expected="one and 3 retries"))
        return evidence(asked[-1], "one and 3 retries")

    @RETRY.recommended(
        f"{area_name}_pause",
        f"Each try has the whole limit, and the next comes 2 seconds later, or what the assignment says ({name}).",
        "000-L1582",
        "003-L0262",
        "decision 30",
        needs=[*CAN_PLAY, loss, count],
    )
    async def pause(scene: RefereeScene) -> Evidence:
        if scene.manner != "assignment":
            raise NotRun("it cannot be told of limits; see the check of the real ones (--full)")
        return spaced(scene.bouts[match].got("A", kind), limit + QUICK.retry_seconds)

    @RETRY.required(
        f"{area_name}_told",
        f"A player that does not answer {name} is told so by GAME_ERROR with E001.",
        *lines["told"],
        "003-L0300",
        needs=[*CAN_PLAY, loss],
    )
    async def told_of_timeout(scene: RefereeScene) -> Evidence:
        return told_of(scene.bouts[match], "E001")

    @RETRY.recommended(
        f"{area_name}_other",
        f"The other player, which has answered, is not sent {name} again.",
        "000-L0568",
        "decision 30",
        needs=[*CAN_PLAY, loss],
    )
    async def other_player(scene: RefereeScene) -> Evidence:
        asked = scene.bouts[match].got("B", kind)
        if len(asked) > 1:
            raise Failed(evidence(asked[1], "one only", f"{len(asked)} of them"))
        return Evidence(came=f"{len(asked)}", expected="one only")

    return loss


_asks(
    "invitation",
    m.GameInvitation,
    plan(join=never),
    {"loss": ("000-L0624", "001-L1036"), "count": ("001-L1035",), "told": ("001-L1037",)},
)
silent_call = _asks(
    "call",
    m.ChooseParityCall,
    plan(choose=never),
    {"loss": ("000-L0878", "001-L1194"), "count": ("001-L1193",), "told": ("001-L1195",)},
)


def spaced(asked: list[Arrived], seconds: float) -> Evidence:
    """That requests came so many seconds apart."""
    pauses = [after.at - before.at for before, after in pairwise(asked)]
    found = Evidence(came=", ".join(f"{one:.2f} s" for one in pauses), expected=f"{seconds:g} s between them")
    if any(abs(one - seconds) > PAUSE_SLACK for one in pauses):
        raise Failed(found)
    return found


@LIMITS.required(
    "slow_player",
    "A player that joins after 4 seconds and chooses after 28 is waited for.",
    "001-L0078",
    "001-L0079",
    "000-L1573",
    "000-L1574",
    needs=CAN_PLAY,
    full=True,
)
async def slow_player(scene: RefereeScene) -> Evidence:
    slow = plan(join=joins(after=4.0), choose=chooses("even", after=28.0))
    bout = await scene.play("slow player", slow, plan("odd"), limits=REAL, slow=True)
    expected = "a match that was played"
    if not bout.reports:
        raise Failed(Evidence(came="no report", expected=expected))
    if is_technical(bout):
        raise Failed(evidence(bout.report, expected))
    return evidence(bout.report, expected)


def _real(name: str, kind: type[Message], silent: Plan, seconds: float, *lines: str) -> None:
    wait = seconds + REAL.retry_seconds

    @LIMITS.required(
        name,
        f"{message_type(kind)} waits {seconds:g} seconds for its answer, and comes again 2 seconds later, 3 times.",
        *lines,
        "000-L1582",
        needs=CAN_PLAY,
        full=True,
    )
    async def real(scene: RefereeScene) -> Evidence:
        bout = await scene.play(f"real {name}", silent, plan("odd"), limits=REAL, slow=True)
        asked = bout.got("A", kind)
        if len(asked) != 1 + REAL.max_retries:
            raise Failed(Evidence(came=f"{len(asked)} in all", expected="one and 3 retries"))
        return spaced(asked, wait)


_real("invitation", m.GameInvitation, plan(join=never), REAL.join_seconds, "001-L0078", "001-L1001")
_real("call", m.ChooseParityCall, plan(choose=never), REAL.choice_seconds, "001-L0079", "001-L1158")
