"""Repeated assignments, lost or refused reports, several matches at the same time, and the end of the league."""

from __future__ import annotations

from msgspec import structs

from leaguekit.games.base import SIDES
from leaguekit.kit.answer_checks import came_in_time, has_gone, is_refusal
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.documented_game import OTHER
from leaguekit.kit.exchanges import Refusal, is_a
from leaguekit.kit.field_checks import Field, add_answer_checks, recommended
from leaguekit.kit.referee.harness import FORGED_AUTH, SLACK_SECONDS, AssignedMatch, FirstAnswer, RefereeHarness
from leaguekit.kit.referee.kit_players import joins, plan
from leaguekit.kit.referee.matches import accepted, accepts_assignment, referee_id_field
from leaguekit.kit.referee.registration import ping
from leaguekit.kit.referee.results import CAN_PLAY
from leaguekit.protocol import messages as m

REPEAT: Area[RefereeHarness] = Area("repeat", "Repeats and lost reports")
SEVERAL: Area[RefereeHarness] = Area("several", "Several matches at once")
END: Area[RefereeHarness] = Area("end", "End of the league")

# How long a referee may take to report again, and how long the kit waits for messages that must not arrive.
REPEAT_SECONDS = 30.0
QUIET_SECONDS = 4.0
END_SECONDS = 10.0


@REPEAT.recommended("decision 22", needs=[*CAN_PLAY, accepted])
async def assignment(harness: RefereeHarness) -> Evidence:
    """start_match that comes again, in the match or after it, is accepted and changes nothing."""
    harness.require_assignments()
    match = await harness.new_match("repeated", plan(join=joins(after=0.3)), plan(OTHER))
    await harness.start(match)
    await match.players["A"].inbox.wait_for(is_a(m.GameInvitation), SLACK_SECONDS)
    await harness.send("assignment once more", match.assignment)
    await harness.wait_for_end(match)
    await harness.send("assignment after the end", match.assignment)
    await _check_played_once(harness, match)
    for name in ("assignment once more", "assignment after the end"):
        found = accepts_assignment(harness, match, name)
    return found


async def _check_played_once(harness: RefereeHarness, match: AssignedMatch) -> None:
    """Check that a match is played once and reported once."""
    await harness.inbox.wait_for(lambda _one: len(match.reports) > 1, QUIET_SECONDS)
    counts = [len(match.received(side, kind)) for side in SIDES for kind in (m.GameInvitation, m.GameOver)]
    if max(counts) > 1 or len(match.reports) != 1:
        came = f"{counts[0]} and {counts[2]} invitations, {len(match.reports)} reports"
        raise Failed(Evidence(came=came, expected="one invitation to each, and one report"))


@REPEAT.recommended("001-L1947", "001-L0202", needs=CAN_PLAY)
async def report(harness: RefereeHarness) -> Evidence:
    """A report that the manager could not take (-32603) is sent again until it is accepted."""
    return await _is_reported_again(harness, Refusal(-32603, "Internal error", {"error_code": "E060"}))


async def _is_reported_again(harness: RefereeHarness, first_answer: FirstAnswer) -> Evidence:
    match = await harness.play(f"reported again: {first_answer}", plan(), plan(OTHER), first_answer=first_answer)
    await harness.inbox.wait_for(lambda _one: len(match.reports) > 1, REPEAT_SECONDS)
    expected = "the same report once more"
    if len(match.reports) < 2:
        raise Failed(Evidence(came=f"{len(match.reports)} report in {REPEAT_SECONDS:g} s", expected=expected))
    first, second = match.reports[:2]
    is_other = first.message.get("result") != second.message.get("result")
    return second.fail_if(is_other, expected, "another result")


@REPEAT.recommended("001-L1946", "001-L1327", needs=CAN_PLAY, full=True)
async def lost_report(harness: RefereeHarness) -> Evidence:
    """A report that is not answered within 10 seconds is sent again."""
    return await _is_reported_again(harness, "silence")


@REPEAT.recommended("001-L1441", needs=CAN_PLAY)
async def duplicate(harness: RefereeHarness) -> Evidence:
    """A report that the manager has already (5003) is not sent again."""
    has_it = Refusal(5003, "Duplicate report", {"error_code": "E054"})
    match = await harness.play("duplicate report", plan(), plan(OTHER), first_answer=has_it)
    await harness.inbox.wait_for(lambda _one: len(match.reports) > 1, QUIET_SECONDS)
    if len(match.reports) != 1:
        raise Failed(Evidence(came=f"{len(match.reports)} reports", expected="one"))
    return match.report.evidence("no further report")


@REPEAT.recommended("003-L0130c", "decision 19", needs=CAN_PLAY)
async def stranger(harness: RefereeHarness) -> Evidence:
    """Where tokens are derived, start_match with a wrong token is refused, and nobody is invited."""
    if not harness.expects_registration:
        raise NotRun("the referee was not given a token scheme: it does not register")
    harness.require_assignments()
    match = await harness.new_match("by a stranger", plan(), plan(OTHER))
    wrong = structs.replace(match.assignment, auth_token=FORGED_AUTH)
    exchange = await harness.send("assignment by a stranger", wrong)
    invited = await match.players["A"].inbox.wait_for(is_a(m.GameInvitation), QUIET_SECONDS)
    if invited is not None:
        await harness.wait_for_end(match)
        raise invited.failed("a refusal, and no invitation")
    return is_refusal(exchange)


@SEVERAL.required("000-L0129", "000-L1439", needs=CAN_PLAY)
async def two(harness: RefereeHarness) -> Evidence:
    """The referee plays two matches at once, if it says that it can, and mixes nothing up."""
    if harness.capacity < 2:
        raise NotRun("the referee says that it plays one match at a time")
    slow = plan(join=joins(after=0.4))
    one = await harness.new_match("one of two", slow, plan(OTHER))
    other = await harness.new_match("two of two", slow, plan(OTHER), number=2, round_id=one.assignment.round_id)
    await harness.start(one, other)
    for match in (one, other):
        await harness.wait_for_end(match)
    expected = "both matches in play at the same time, each with its own ids"
    for match in (one, other):
        if not match.reports:
            raise Failed(Evidence(came=f"no report of {match.match_id}", expected=expected))
        for got in (one for player in match.players.values() for one in player.inbox.requests):
            got.fail_if(got.message.get("match_id", match.match_id) != match.match_id, f"the match_id {match.match_id}")
    invited = max(match.received("B", m.GameInvitation)[0].loop_time for match in (one, other))
    if invited >= min(match.report.loop_time for match in (one, other)):
        raise Failed(Evidence(came="one match after the other", expected=expected))
    return other.report.evidence(expected)


@END.required("000-L1578", "decision 24", needs=[ping])
async def answer(harness: RefereeHarness) -> Evidence:
    """The referee answers LEAGUE_COMPLETED, in whatever words."""
    await harness.send("end of a round", harness.good_call())
    return came_in_time(await harness.send("end", harness.league_completed()))


add_answer_checks(
    END,
    "end",
    m.LeagueCompletedAck,
    recommended(
        Field("message_type", "The answer to LEAGUE_COMPLETED is LEAGUE_COMPLETED_ACK.", instead=("001-L0859",)),
        Field(
            "status",
            "LEAGUE_COMPLETED_ACK has the status ACKNOWLEDGED.",
            instead=("001-L0854",),
            value="ACKNOWLEDGED",
        ),
        referee_id_field(m.LeagueCompletedAck),
    ),
    needs=[answer],
)


@END.recommended("003-L0198c", "003-L0194", name="exit", needs=[answer])
async def exits(harness: RefereeHarness) -> Evidence:
    """Within {END_SECONDS:g} seconds of LEAGUE_COMPLETED the referee ends."""
    return has_gone(await harness.ping_until(END_SECONDS, until_there=False))
