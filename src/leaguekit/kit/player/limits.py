"""Time: how quick the player is, several matches at once, the limits for real, and the end of the league."""

from __future__ import annotations

import asyncio
from statistics import median

from leaguekit.kit.agent_harness import PING_SECONDS
from leaguekit.kit.answer_checks import came_in_time, has_gone
from leaguekit.kit.checks import Area, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Exchange, Line
from leaguekit.kit.player.harness import PlayerScene
from leaguekit.kit.player.matches import CAN_CHOOSE, CAN_JOIN, chooses, notice, plays_on
from leaguekit.kit.player.registration import ping
from leaguekit.protocol import messages as m
from leaguekit.protocol.methods import PING

QUICK_SECONDS = 0.5
# Less than it takes until a caller gives up a connection that it does not use.
SECOND_CALLER_SECONDS = 2.0
MATCHES_AT_ONCE = 3
MANY = 20
# So long a league waits between the announcement of a round and its first match.
SILENT_SECONDS = 60.0
END_SECONDS = 10.0

LIMITS: Area[PlayerScene] = Area("time", "Time")
END: Area[PlayerScene] = Area("end", "End of the league")


@LIMITS.recommended(
    "quick",
    "The player takes less than 500 ms for an answer, on the median.",
    "000-L1552",
    needs=CAN_JOIN,
)
async def quick(scene: PlayerScene) -> Evidence:
    took = [one.seconds for one in scene.exchanges if one.answer is not None]
    evidence = Evidence(came=f"{median(took):.3f} s, over {len(took)} answers", expected=f"less than {QUICK_SECONDS} s")
    if median(took) >= QUICK_SECONDS:
        raise Failed(evidence)
    return evidence


@LIMITS.recommended(
    "at_once",
    f"The player plays {MATCHES_AT_ONCE} matches at once, each with its own match_id.",
    "000-L1439",
    "000-L1440",
    needs=[*CAN_JOIN, *CAN_CHOOSE],
)
async def at_once(scene: PlayerScene) -> Evidence:
    last = await scene.fresh(number=MATCHES_AT_ONCE)
    bouts = [*(scene.opened(scene.bout(number=number)) for number in range(1, MATCHES_AT_ONCE)), last]
    joins = await asyncio.gather(*(scene.say(f"join {bout.match_id}", bout.invitation()) for bout in bouts))
    for join, bout in zip(joins, bouts, strict=True):
        plays_on(join, bout)
    calls = await asyncio.gather(*(scene.say(f"call {bout.match_id}", bout.call()) for bout in bouts))
    return [chooses(call, bout) for call, bout in zip(calls, bouts, strict=True)][-1]


@LIMITS.recommended(
    "second_caller",
    f"While one caller keeps its connection open, the player answers another within {SECOND_CALLER_SECONDS:g} seconds.",
    "000-L0382",
    "000-L1578",
    needs=[ping],
)
async def second_caller(scene: PlayerScene) -> Evidence:
    await scene.line.call(scene.url, PING, {}, PING_SECONDS)
    line = Line(scene.ground.another_caller())
    return came_in_time(await line.call(scene.url, PING, {}, SECOND_CALLER_SECONDS))


@LIMITS.required(
    "invitations",
    f"The player accepts {MANY} invitations one after the other, each within 5 seconds.",
    "000-L0524",
    "000-L1573",
    needs=CAN_JOIN,
    full=True,
)
async def invitations(scene: PlayerScene) -> Evidence:
    slowest: Exchange | None = None
    for number in range(MANY):
        bout = await scene.fresh()
        exchange = await scene.say(f"invitation {number}", bout.invitation())
        plays_on(exchange, bout)
        slowest = exchange if slowest is None or exchange.seconds > slowest.seconds else slowest
    return _slowest(slowest)


@LIMITS.required(
    "choices",
    f"The player answers {MANY} calls one after the other, each within 30 seconds.",
    "000-L0752",
    "000-L1574",
    needs=[*CAN_JOIN, *CAN_CHOOSE],
    full=True,
)
async def choices(scene: PlayerScene) -> Evidence:
    slowest: Exchange | None = None
    for number in range(MANY):
        bout = await scene.fresh()
        await scene.say(f"match {number}", bout.invitation())
        exchange = await scene.say(f"call {number}", bout.call())
        chooses(exchange, bout)
        slowest = exchange if slowest is None or exchange.seconds > slowest.seconds else slowest
    return _slowest(slowest)


def _slowest(exchange: Exchange | None) -> Evidence:
    if exchange is None:
        raise NotRun("nothing was asked")
    return exchange.evidence(f"within {exchange.limit:g} s", f"{exchange.seconds:.3f} s for the slowest")


@LIMITS.required(
    "silence",
    f"After {SILENT_SECONDS:g} seconds in which nothing happens, the player accepts an invitation.",
    "000-L0524",
    "decision 23",
    needs=CAN_JOIN,
    full=True,
)
async def silence(scene: PlayerScene) -> Evidence:
    bout = await scene.fresh()
    scene.terms.tell(f"silence for {SILENT_SECONDS:g} s")
    await asyncio.sleep(SILENT_SECONDS)
    return plays_on(await scene.say("invitation after silence", bout.invitation()), bout)


async def _tell_league_over(scene: PlayerScene) -> Exchange:
    await scene.finish()
    return await scene.say("end", scene.league_completed())


over = notice(
    END,
    m.LeagueCompleted,
    _tell_league_over,
    limit=("001-L0751", "000-L1578"),
    acknowledged=("001-L0853", "001-L0854"),
    ids=("001-L0855",),
)


@END.recommended(
    "ends",
    f"The player ends by itself: {END_SECONDS:g} seconds after LEAGUE_COMPLETED it listens no more.",
    "003-L0198c",
    "001-L0890",
    needs=[over.answered],
)
async def ends(scene: PlayerScene) -> Evidence:
    return has_gone(await scene.pinged(END_SECONDS, until_there=False))
