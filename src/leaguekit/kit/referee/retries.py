"""Players that do not answer: how often the referee asks again, how long it waits, and how it decides."""

from __future__ import annotations

from itertools import pairwise

from leaguekit.kit.checks import Area, Check, Evidence, Failed, fail_if
from leaguekit.kit.documented_game import ONE, OTHER, ChoiceCall
from leaguekit.kit.exchanges import IncomingRequest
from leaguekit.kit.referee.faults import error_was_sent, is_technical, lost_by
from leaguekit.kit.referee.harness import REAL_LIMITS, SHORT_LIMITS, RefereeHarness
from leaguekit.kit.referee.kit_players import Plan, chooses, joins, no_answer, plan
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.protocol import messages as m

RETRY: Area[RefereeHarness] = Area("retry", "Retries")
LIMITS: Area[RefereeHarness] = Area("limits", "The documents' limits for real")

# How much earlier or later than the right time a retry may come.
PAUSE_TOLERANCE_SECONDS = 0.25


def _was_asked_again(asked: list[IncomingRequest]) -> Evidence:
    """Check the number of requests to a player that does not answer."""
    if len(asked) != 1 + REAL_LIMITS.max_retries:
        raise Failed(Evidence(came=f"{len(asked)} in all", expected="one and 3 retries"))
    return asked[-1].evidence("one and 3 retries")


def _are_spaced(asked: list[IncomingRequest], seconds: float) -> Evidence:
    """Check that the time between two requests is always ``seconds``."""
    pauses = [after.loop_time - before.loop_time for before, after in pairwise(asked)]
    found = Evidence(came=", ".join(f"{one:.2f} s" for one in pauses), expected=f"{seconds:g} s between them")
    return fail_if(any(abs(one - seconds) > PAUSE_TOLERANCE_SECONDS for one in pauses), found)


@LIMITS.required("001-L0078", "001-L0079", "000-L1573", "000-L1574", needs=CAN_PLAY, full=True)
async def slow_player(harness: RefereeHarness) -> Evidence:
    """A player that joins after 4 seconds and chooses after 28 is waited for."""
    slow = plan(join=joins(after=4.0), choose=chooses(ONE, after=28.0))
    match = await harness.play("slow player", slow, plan(OTHER), limits=REAL_LIMITS, slow=True)
    expected = "a match that was played"
    return match.require_report(expected).fail_if(is_technical(match), expected)


def _add_retry_checks(
    name: str, kind: type[m.Message], limit: str, silent: Plan, requirements: dict[str, tuple[str, ...]]
) -> Check[RefereeHarness]:
    """Add the checks of the retries to a player that never answers one kind of request.

    ``limit`` is the time limit of the request in the assignment.
    """
    message, match_name = m.message_type(kind), f"silent {name}"
    real_seconds: float = getattr(REAL_LIMITS, limit)

    @RETRY.required(*requirements["loss"], name=f"{name}_loss", needs=CAN_PLAY, message=message)
    async def loss(harness: RefereeHarness) -> Evidence:
        """A player that never answers {message} has a technical loss."""
        return lost_by(await harness.play(match_name, silent, plan(OTHER), slow=True), "A")

    needs = [*CAN_PLAY, loss]

    @RETRY.required(*requirements["count"], "000-L1581", name=f"{name}_count", needs=needs, message=message)
    async def count(harness: RefereeHarness) -> Evidence:
        """{message} is sent again 3 times, and no more, to a player that does not answer."""
        return _was_asked_again(harness.matches[match_name].received("A", kind))

    @RETRY.recommended(
        "000-L1582", "003-L0262", "decision 30", name=f"{name}_pause", needs=[*needs, count], message=message
    )
    async def pause(harness: RefereeHarness) -> Evidence:
        """Each try has the whole limit, and the next comes 2 seconds later, or what the assignment says ({message})."""
        harness.require_assignments("the announcement has no time limits; --full checks those of the documents")
        seconds = getattr(SHORT_LIMITS, limit) + SHORT_LIMITS.retry_seconds
        return _are_spaced(harness.matches[match_name].received("A", kind), seconds)

    @RETRY.required(*requirements["error"], "003-L0300", name=f"{name}_told", needs=needs, message=message)
    async def timeout_error_sent(harness: RefereeHarness) -> Evidence:
        """A player that does not answer {message} gets GAME_ERROR with E001."""
        return error_was_sent(harness.matches[match_name], "E001")

    @RETRY.recommended("000-L0568", "decision 30", name=f"{name}_other", needs=needs, message=message)
    async def other_player(harness: RefereeHarness) -> Evidence:
        """The other player, which has answered, is not sent {message} again."""
        asked = harness.matches[match_name].received("B", kind)
        if len(asked) > 1:
            raise asked[1].failed("one only", f"{len(asked)} of them")
        return Evidence(came=f"{len(asked)}", expected="one only")

    @LIMITS.required(
        *requirements["limit"], "000-L1582", name=name, needs=CAN_PLAY, full=True, message=message, seconds=real_seconds
    )
    async def real(harness: RefereeHarness) -> Evidence:
        """{message} waits {seconds:g} seconds for its answer, and comes again 2 seconds later, 3 times."""
        match = await harness.play(f"real {name}", silent, plan(OTHER), limits=REAL_LIMITS, slow=True)
        asked = match.received("A", kind)
        _was_asked_again(asked)
        return _are_spaced(asked, real_seconds + REAL_LIMITS.retry_seconds)

    return loss


_add_retry_checks(
    "invitation",
    m.GameInvitation,
    "join_seconds",
    plan(join=no_answer),
    {
        "loss": ("000-L0624", "001-L1036"),
        "count": ("001-L1035",),
        "error": ("001-L1037",),
        "limit": ("001-L0078", "001-L1001"),
    },
)
silent_call = _add_retry_checks(
    "call",
    ChoiceCall,
    "choice_seconds",
    plan(choose=no_answer),
    {
        "loss": ("000-L0878", "001-L1194"),
        "count": ("001-L1193",),
        "error": ("001-L1195",),
        "limit": ("001-L0079", "001-L1158"),
    },
)
