"""Speed, several matches at the same time, the time limits of the documents, and the end of the league."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from statistics import median

from leaguekit.kit.answer_checks import came_in_time, has_gone
from leaguekit.kit.checks import Area, Evidence, fail_if
from leaguekit.kit.exchanges import RecordingClient
from leaguekit.kit.player.harness import PlayerHarness
from leaguekit.kit.player.matches import CAN_CHOOSE, CAN_JOIN, accepts_invitation, add_notice_checks, makes_legal_choice
from leaguekit.kit.player.registration import ping
from leaguekit.protocol import messages as m
from leaguekit.protocol.methods import PING

QUICK_SECONDS = 0.5
# Shorter than the time after which a caller closes an idle connection.
SECOND_CALLER_SECONDS = 2.0
MATCHES_AT_ONCE = 3
MANY_REQUESTS = 20
# The time that a league waits between the announcement of a round and its first match.
SILENT_SECONDS = 60.0
END_SECONDS = 10.0

LIMITS: Area[PlayerHarness] = Area("time", "Time")
END: Area[PlayerHarness] = Area("end", "End of the league")


@LIMITS.recommended("000-L1552", needs=CAN_JOIN)
async def quick(harness: PlayerHarness) -> Evidence:
    """The player takes less than 500 ms for an answer, on the median."""
    took = [one.seconds for one in harness.exchanges if one.answer is not None]
    evidence = Evidence(came=f"{median(took):.3f} s, over {len(took)} answers", expected=f"less than {QUICK_SECONDS} s")
    return fail_if(median(took) >= QUICK_SECONDS, evidence)


@LIMITS.recommended("000-L1439", "000-L1440", needs=[*CAN_JOIN, *CAN_CHOOSE])
async def at_once(harness: PlayerHarness) -> Evidence:
    """The player plays {MATCHES_AT_ONCE} matches at once, each with its own match_id."""
    last = await harness.match_in_new_round(number=MATCHES_AT_ONCE)
    matches = [*(harness.keep_open(harness.new_match(number=number)) for number in range(1, MATCHES_AT_ONCE)), last]
    await _all(accepts_invitation(harness, f"join {match.match_id}", match) for match in matches)
    return await _all(makes_legal_choice(harness, f"call {match.match_id}", match) for match in matches)


async def _all(checks: Iterable[Awaitable[Evidence]]) -> Evidence:
    """Make checks at the same time. Return the last evidence, or raise the first failure."""
    made = [asyncio.ensure_future(check) for check in checks]
    await asyncio.wait(made)
    # All are looked at. asyncio prints the traceback of a failure that nobody looks at.
    for failure in [one.exception() for one in made]:
        if failure is not None:
            raise failure
    return made[-1].result()


@LIMITS.recommended("000-L0382", "000-L1578", needs=[ping])
async def second_caller(harness: PlayerHarness) -> Evidence:
    """While one caller keeps its connection open, the player answers another within {SECOND_CALLER_SECONDS:g}
    seconds."""
    await harness.ping()
    client = RecordingClient(harness.network.another_caller())
    return came_in_time(await client.call(harness.url, PING, {}, SECOND_CALLER_SECONDS))


@LIMITS.required("000-L0524", "000-L1573", needs=CAN_JOIN, full=True)
async def invitations(harness: PlayerHarness) -> Evidence:
    """The player accepts {MANY_REQUESTS} invitations one after the other, each within 5 seconds."""
    for number in range(MANY_REQUESTS):
        await accepts_invitation(harness, f"invitation {number}", await harness.match_in_new_round())
    return _slowest(harness, "invitation")


@LIMITS.required("000-L0752", "000-L1574", needs=[*CAN_JOIN, *CAN_CHOOSE], full=True)
async def choices(harness: PlayerHarness) -> Evidence:
    """The player answers {MANY_REQUESTS} calls one after the other, each within 30 seconds."""
    for number in range(MANY_REQUESTS):
        match = await harness.match_in_new_round()
        await harness.send(f"match {number}", match.invitation())
        await makes_legal_choice(harness, f"call {number}", match)
    return _slowest(harness, "call")


def _slowest(harness: PlayerHarness, name: str) -> Evidence:
    exchange = max(
        (harness.answers[f"{name} {number}"] for number in range(MANY_REQUESTS)), key=lambda one: one.seconds
    )
    return exchange.evidence(f"within {exchange.limit_seconds:g} s", f"{exchange.seconds:.3f} s for the slowest")


@LIMITS.required("000-L0524", "decision 23", needs=CAN_JOIN, full=True)
async def silence(harness: PlayerHarness) -> Evidence:
    """After {SILENT_SECONDS:g} seconds in which nothing happens, the player accepts an invitation."""
    match = await harness.match_in_new_round()
    harness.settings.on_progress(f"silence for {SILENT_SECONDS:g} s")
    await asyncio.sleep(SILENT_SECONDS)
    return await accepts_invitation(harness, "invitation after silence", match)


league_completed = add_notice_checks(
    END,
    PlayerHarness.league_completed,
    m.LeagueCompleted,
    *(853, "001-L0751", "000-L1578"),
    prepare=PlayerHarness.end_open_matches,
)


@END.recommended("003-L0198c", "001-L0890", needs=[league_completed.answered])
async def ends(harness: PlayerHarness) -> Evidence:
    """The player ends by itself: {END_SECONDS:g} seconds after LEAGUE_COMPLETED it listens no more."""
    return has_gone(await harness.ping_until(END_SECONDS, until_there=False))
