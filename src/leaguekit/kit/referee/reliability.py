"""The referee and its manager: repeats, reports that are lost or refused, several matches at once, and the end."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec import structs

from leaguekit.games.base import SIDES
from leaguekit.kit.answer_checks import ANYTHING, Field, came_in_time, has_gone, is_refusal
from leaguekit.kit.answer_checks import judged as judged_answer
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Refusal
from leaguekit.kit.incoming import evidence, is_a, value
from leaguekit.kit.referee.harness import REFEREE_ID, SLACK_SECONDS, STRANGER, Bout, RefereeScene
from leaguekit.kit.referee.kit_players import joins, plan
from leaguekit.kit.referee.matches import accepted, takes
from leaguekit.kit.referee.registration import ping
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.protocol import messages as m
from leaguekit.protocol.methods import BY_REQUEST

REPEAT: Area[RefereeScene] = Area("repeat", "Repeats and lost reports")
SEVERAL: Area[RefereeScene] = Area("several", "Several matches at once")
END: Area[RefereeScene] = Area("end", "End of the league")

# How long a referee may take to report again, and how long is waited for what must not come.
AGAIN_SECONDS = 30.0
QUIET_SECONDS = 4.0
END_SECONDS = 10.0
START_MATCH = BY_REQUEST[m.MatchAssignment]


@REPEAT.recommended(
    "assignment",
    "start_match that comes again, in the match or after it, is accepted and changes nothing.",
    "decision 22",
    needs=[*CAN_PLAY, accepted],
)
async def assignment(scene: RefereeScene) -> Evidence:
    if scene.manner != "assignment":
        raise NotRun("it begins its matches by the announcement")
    bout = await scene.bout("repeated", plan("even", join=joins(after=0.3)), plan("odd"))
    await scene.begin(bout)
    await bout.seats["A"].desk.until(is_a(m.GameInvitation), SLACK_SECONDS)
    await scene.say("assignment once more", bout.assignment)
    await scene.ended(bout)
    await scene.say("assignment after the end", bout.assignment)
    await _never_again(scene, bout)
    for name in ("assignment once more", "assignment after the end"):
        found = takes(scene, bout, name)
    return found


async def _never_again(scene: RefereeScene, bout: Bout) -> None:
    """That a match is played once, and reported once."""
    await scene.desk.until(lambda _one: len(bout.reports) > 1, QUIET_SECONDS)
    counts = [len(bout.got(side, kind)) for side in SIDES for kind in (m.GameInvitation, m.GameOver)]
    if max(counts) > 1 or len(bout.reports) != 1:
        came = f"{counts[0]} and {counts[2]} invitations, {len(bout.reports)} reports"
        raise Failed(Evidence(came=came, expected="one invitation to each, and one report"))


@REPEAT.recommended(
    "report",
    "A report that the manager could not take (-32603) is sent again until it is accepted.",
    "001-L1947",
    "001-L0202",
    needs=CAN_PLAY,
)
async def report(scene: RefereeScene) -> Evidence:
    async def fails_once(number: int) -> None:
        if number == 1:
            raise Refusal(-32603, "Internal error", {"error_code": "E060"})

    bout = await scene.play("refused report", plan("even"), plan("odd"), answered=fails_once)
    return await _comes_again(scene, bout)


async def _comes_again(scene: RefereeScene, bout: Bout) -> Evidence:
    await scene.desk.until(lambda _one: len(bout.reports) > 1, AGAIN_SECONDS)
    expected = "the same report once more"
    if len(bout.reports) < 2:
        raise Failed(Evidence(came=f"{len(bout.reports)} report in {AGAIN_SECONDS:g} s", expected=expected))
    if bout.reports[1].message.get("result") != bout.report.message.get("result"):
        raise Failed(evidence(bout.reports[1], expected, "another result"))
    return evidence(bout.reports[1], expected)


@REPEAT.recommended(
    "lost_report",
    "A report that is not answered within 10 seconds is sent again.",
    "001-L1946",
    "001-L1327",
    needs=CAN_PLAY,
    full=True,
)
async def lost_report(scene: RefereeScene) -> Evidence:
    async def silent_once(number: int) -> None:
        if number == 1:
            await asyncio.Event().wait()

    bout = await scene.play("lost report", plan("even"), plan("odd"), answered=silent_once)
    return await _comes_again(scene, bout)


@REPEAT.recommended(
    "duplicate",
    "A report that the manager has already (5003) is not sent again.",
    "001-L1441",
    needs=CAN_PLAY,
)
async def duplicate(scene: RefereeScene) -> Evidence:
    async def has_it(_number: int) -> None:
        raise Refusal(5003, "Duplicate report", {"error_code": "E054"})

    bout = await scene.play("duplicate report", plan("even"), plan("odd"), answered=has_it)
    await scene.desk.until(lambda _one: len(bout.reports) > 1, QUIET_SECONDS)
    if len(bout.reports) != 1:
        raise Failed(Evidence(came=f"{len(bout.reports)} reports", expected="one"))
    return evidence(bout.report, "no further report")


@REPEAT.recommended(
    "stranger",
    "Where tokens are derived, start_match with a wrong token is refused, and nobody is invited.",
    "003-L0130c",
    "decision 19",
    needs=CAN_PLAY,
)
async def stranger(scene: RefereeScene) -> Evidence:
    if not scene.registers:
        raise NotRun("the referee was not told how tokens are made: it does not register")
    if scene.manner != "assignment":
        raise NotRun("it begins its matches by the announcement")
    bout = await scene.bout("by a stranger", plan("even"), plan("odd"))
    wrong = structs.replace(bout.assignment, auth_token=STRANGER)
    exchange = await scene.say("assignment by a stranger", wrong)
    invited = await bout.seats["A"].desk.until(is_a(m.GameInvitation), QUIET_SECONDS)
    if invited is not None:
        await scene.ended(bout)
        raise Failed(evidence(invited, "a refusal, and no invitation"))
    return is_refusal(exchange)


@SEVERAL.required(
    "two",
    "The referee plays two matches at once, if it says that it can, and mixes nothing up.",
    "000-L0129",
    "000-L1439",
    needs=CAN_PLAY,
)
async def two(scene: RefereeScene) -> Evidence:
    if scene.capacity < 2:
        raise NotRun("the referee says that it plays one match at a time")
    slow = plan("even", join=joins(after=0.4))
    one = await scene.bout("one of two", slow, plan("odd"))
    other = await scene.bout("two of two", slow, plan("odd"), number=2, round_id=one.assignment.round_id)
    await scene.begin(one, other)
    for bout in (one, other):
        await scene.ended(bout)
    expected = "both matches in play at the same time, each with its own ids"
    for bout in (one, other):
        if not bout.reports:
            raise Failed(Evidence(came=f"no report of {bout.match_id}", expected=expected))
        for side in SIDES:
            mixed = [got for got in bout.seats[side].desk.arrived if _names_another(got.message, bout)]
            if mixed:
                raise Failed(evidence(mixed[0], f"the match_id {bout.match_id}"))
    invited = max(bout.got("B", m.GameInvitation)[0].at for bout in (one, other))
    if invited >= min(bout.report.at for bout in (one, other)):
        raise Failed(Evidence(came="one match after the other", expected=expected))
    return evidence(other.report, expected)


def _names_another(message: dict[str, Any], bout: Bout) -> bool:
    return value(message, "match_id") != bout.match_id and "match_id" in message


@END.required(
    "answer", "The referee answers LEAGUE_COMPLETED, in whatever words.", "000-L1578", "decision 24", needs=[ping]
)
async def answer(scene: RefereeScene) -> Evidence:
    await scene.say("end of a round", scene.good_call())
    return came_in_time(await scene.say("end", scene.league_over()))


def _acknowledges(area: Area[RefereeScene], name: str, kind: type[m.Message], lines: tuple[str, str]) -> None:
    judged_answer(
        area,
        name,
        lambda _scene: kind,
        [
            Field(
                "message_type",
                f"The answer to LEAGUE_COMPLETED is {m.message_type(kind)}.",
                (lines[0],),
                lambda _scene: m.message_type(kind),
                is_required=False,
            ),
            Field(
                "status",
                f"{m.message_type(kind)} has the status ACKNOWLEDGED.",
                (lines[1],),
                lambda _scene: "ACKNOWLEDGED",
                is_required=False,
            ),
            Field(
                "referee_id",
                f"{m.message_type(kind)} carries the referee's id.",
                ("decision 22",),
                lambda scene: REFEREE_ID if scene.registers else ANYTHING,
                is_required=False,
            ),
        ],
        needs=[answer],
    )


_acknowledges(END, "end", m.LeagueCompletedAck, ("001-L0859", "001-L0854"))


@END.recommended(
    "exit",
    f"Within {END_SECONDS:g} seconds of LEAGUE_COMPLETED the referee ends.",
    "003-L0198c",
    "003-L0194",
    needs=[answer],
)
async def exits(scene: RefereeScene) -> Evidence:
    return has_gone(await scene.pinged(END_SECONDS, until_there=False))
