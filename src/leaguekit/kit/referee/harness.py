"""The league around a referee under test: the kit is its manager and its players.

Each match has players of its own, at addresses of their own: who was meant is known by where a message arrives, and
never only by what it says. Limits are short wherever the referee can be told so.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Side
from leaguekit.kit.agent_harness import Host
from leaguekit.kit.checks import USUAL, CheckSettings, NotRun
from leaguekit.kit.exchanges import Arrived, Exchange, Ground, Json, Refusal
from leaguekit.kit.incoming import Beginning, Told, is_a, kind_of
from leaguekit.kit.referee.kit_players import Plan, Seat
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import match_conversation, match_id, player_id
from leaguekit.protocol.messages import Message
from leaguekit.protocol.methods import BY_REQUEST, PING

REFEREE_ID = "REF07"
GAME = "even_odd"
# The limits of the documents, and the short ones of most matches here.
REAL = m.TimeLimits(join_seconds=5, choice_seconds=30, game_over_seconds=5, max_retries=3, retry_seconds=2)
QUICK = m.TimeLimits(join_seconds=0.6, choice_seconds=0.8, game_over_seconds=1, max_retries=3, retry_seconds=0.4)
# What somebody shows who has been given nothing.
STRANGER = "drv-made-by-nobody"
# Where nobody listens: a port of the referee's own machine that the system keeps for something long gone.
NOWHERE = "http://127.0.0.1:9/mcp"
# How long a referee may take to start by the announcement alone, for a report to follow, and for what comes after it.
STARTING_SECONDS = 1.5
SLACK_SECONDS = 12.0
AFTER_SECONDS = 1.0
PLAYED_BEFORE = m.OwnRecord(wins=2, losses=1, draws=3, points=9)

# How a referee learns that a match is to begin.
Manner = Literal["assignment", "announcement"]
# What the manager does with the nth report of a match before it takes it; raises Refusal for an error.
Answered = Callable[[int], Awaitable[None]]


class Bout:
    """One match that the referee is given, and what came of it."""

    def __init__(self, assignment: m.MatchAssignment, seats: dict[Side, Seat], answered: Answered | None) -> None:
        self.assignment = assignment
        self.match_id = assignment.match_id
        self.seats = seats
        self.answered = answered
        self.began = asyncio.get_running_loop().time()
        self.reports: list[Arrived] = []

    @property
    def report(self) -> Arrived:
        """Its first report. Raises NotRun if there is none."""
        if not self.reports:
            raise NotRun(f"there is no report of {self.match_id} to look at")
        return self.reports[0]

    @property
    def result(self) -> Json:
        """What the report says of the result; empty if it says nothing."""
        result = self.report.message.get("result")
        return result if isinstance(result, dict) else {}

    def got(self, side: Side, kind: type[Message]) -> list[Arrived]:
        return self.seats[side].got(kind)

    def overs(self) -> dict[Side, Arrived]:
        """The first GAME_OVER of each side that has one."""
        return {side: got[0] for side in SIDES if (got := self.got(side, m.GameOver))}


class Bouts(dict[str, Bout]):
    """Matches by name, for all checks that look at the same one; in the order in which they began."""

    def __missing__(self, name: str) -> Bout:
        raise NotRun(f"the match to look at ({name}) was not played")


class RefereeScene(Host):
    """Everything the checks of a referee need."""

    role = "referee"
    agent_id = REFEREE_ID

    def __init__(self, world: World, ground: Ground, *, url: str | None = None, terms: CheckSettings = USUAL) -> None:
        super().__init__(world, ground, url, terms)
        self.told = Told()
        if not self.registers:
            self.told.why["registration"] = self.never
        self.manner: Manner | None = None
        self.bouts = Bouts()
        self._rounds = itertools.count(1)
        self._players = itertools.count(1)

    @property
    def sender(self) -> str:
        """What the referee must call itself; one that was given no id has one of its own."""
        return f"referee:{REFEREE_ID}" if self.registers else Beginning("referee:")

    @property
    def capacity(self) -> int:
        """How many matches it says that it can play at once."""
        stated = self.stated(self.registration, "max_concurrent_matches")
        return stated if type(stated) is int else 1

    # What the referee sends to its manager

    def is_registration(self, arrived: Arrived) -> bool:
        return kind_of(arrived) is m.RefereeRegisterRequest

    async def script(self, arrived: Arrived) -> Any:
        kind = kind_of(arrived)
        if self.is_registration(arrived):
            return await self.register(arrived)
        if kind is m.MatchResultReport:
            return await self._take_report(arrived)
        if kind in (m.MatchProgress, m.MatchVoidReport):
            named = {name: arrived.message.get(name) for name in ("match_id", "attempt")}
            status = "ACKNOWLEDGED" if kind is m.MatchProgress else "ACCEPTED"
            return self.answer_to(arrived.message, BY_REQUEST[kind].answer) | named | {"status": status}
        if arrived.method == PING:
            return {"status": "ok", "league_id": self.league_id}
        raise Refusal(-32601, f"This manager has no method {arrived.method!r}.")

    async def _take_report(self, arrived: Arrived) -> Json:
        bout = self._bout_of(arrived)
        if bout is None:
            raise Refusal(5002, "Match not found")
        bout.reports.append(arrived)
        if bout.answered is not None:
            await bout.answered(len(bout.reports))
        ids = {"status": "ACCEPTED", "match_id": bout.match_id, "round_id": bout.assignment.round_id}
        return self.answer_to(arrived.message, m.MatchResultAck) | ids

    def _bout_of(self, report: Arrived) -> Bout | None:
        """The match of a report: the one that it names, or the last one that was begun."""
        named = {bout.match_id: bout for bout in self.bouts.values()}
        return named.get(str(report.message.get("match_id"))) or next(reversed(named.values()), None)

    # What the manager sends to the referee

    async def say(self, name: str, message: m.Request) -> Exchange:
        """Send the referee a message, and keep what comes of it under a name."""
        method = BY_REQUEST[type(message)]
        self.seen[name] = await self.line.call(self.url, method.name, message, method.seconds)
        return self.seen[name]

    def good_call(self) -> m.Request:
        """A call that changes nothing."""
        return m.RoundCompleted(
            **self.envelope("conv-round-999-complete"), round_id=999, next_round_id=None, matches_completed=1
        )

    def league_over(self) -> m.LeagueCompleted:
        rows = [
            m.FinalStanding(rank=rank, player_id=player_id(rank), points=3 - rank, display_name=f"Player {rank}")
            for rank in (1, 2)
        ]
        return m.LeagueCompleted(
            **self.envelope("conv-league-complete"),
            total_rounds=len(self.bouts),
            total_matches=len(self.bouts),
            champion=m.Champion(player_id=rows[0].player_id, display_name="Player 1", points=rows[0].points),
            final_standings=rows,
        )

    # Matches

    async def bout(
        self,
        name: str,
        a: Plan,
        b: Plan,
        *,
        limits: m.TimeLimits = QUICK,
        absent: Side | None = None,
        answered: Answered | None = None,
        number: int = 1,
        round_id: int | None = None,
    ) -> Bout:
        """Make a match under a name; ``absent`` is a side that nobody can reach."""
        played_in = next(self._rounds) if round_id is None else round_id
        match = match_id(played_in, number)
        ids: dict[Side, str] = {side: player_id(next(self._players)) for side in SIDES}
        given = {one: tokens.new_token(one, self.world.entropy(tokens.ENTROPY_BYTES)) for one in ids.values()}
        purpose = (self.league_id, match, 1, REFEREE_ID)
        seats: dict[Side, Seat] = {}
        plans: dict[Side, Plan] = {"A": a, "B": b}
        for side, plan in plans.items():
            one = ids[side]
            token = tokens.player_to_referee(tokens.signing_key(given[one]), *purpose)
            seats[side] = Seat(self.world, one, match, token, plan)
            seats[side].url = NOWHERE if side == absent else await self.ground.open(seats[side].desk)
        assigned = {
            side: m.AssignedPlayer(
                player_id=seat.player_id,
                endpoint=seat.url,
                state="ACTIVE",
                record=PLAYED_BEFORE,
                display_name=f"Player {seat.player_id}",
                shown_token=tokens.referee_to_player(tokens.signing_key(given[seat.player_id]), *purpose),
                expected_token=seat.token,
                verifier=tokens.verifier(given[seat.player_id]).hex(),
            )
            for side, seat in seats.items()
        }
        assignment = m.MatchAssignment(
            **self.envelope(match_conversation(match)),
            round_id=played_in,
            match_id=match,
            game_type=GAME,
            attempt=1,
            match_seed=self.world.entropy(32).hex(),
            time_limits=limits,
            player_A=assigned["A"],
            player_B=assigned["B"],
        )
        self.bouts[name] = Bout(assignment, seats, answered)
        return self.bouts[name]

    def announcement(self, *bouts: Bout) -> m.RoundAnnouncement:
        """The referees' copy: with their ids, and where the players are."""
        return m.RoundAnnouncement(
            **self.envelope(f"conv-round-{bouts[0].assignment.round_id}-announce"),
            round_id=bouts[0].assignment.round_id,
            matches=[
                m.AnnouncedMatch(
                    match_id=bout.match_id,
                    game_type=GAME,
                    player_A_id=bout.seats["A"].player_id,
                    player_B_id=bout.seats["B"].player_id,
                    referee_endpoint=self.url,
                    referee_id=REFEREE_ID,
                    player_A_endpoint=bout.seats["A"].url,
                    player_B_endpoint=bout.seats["B"].url,
                )
                for bout in bouts
            ],
        )

    async def begin(self, *bouts: Bout) -> None:
        """Let the referee begin matches of one round, by the manner in which it begins them."""
        if self.manner != "assignment":
            await self.say("announcement", self.announcement(*bouts))
        if self.manner is None:
            self.manner = "announcement" if await self._is_invited(bouts[0], STARTING_SECONDS) else "assignment"
        if self.manner == "assignment":
            await asyncio.gather(*(self.say(f"assignment of {bout.match_id}", bout.assignment) for bout in bouts))

    async def play(self, name: str, a: Plan, b: Plan, *, slow: bool = False, **more: Any) -> Bout:
        """Play a match to its report, or for as long as one could take; ``slow`` if a limit has to pass in it."""
        if not self.url:
            raise NotRun("nobody knows where the referee listens")
        if slow and self.manner == "announcement" and not self.terms.full:
            raise NotRun("it begins by the announcement and cannot be told of short limits: use --full")
        bout = await self.bout(name, a, b, **more)
        await self.begin(bout)
        await self.ended(bout, longest(REAL) if slow else 0.0)
        return bout

    async def ended(self, bout: Bout, seconds: float = 0.0) -> None:
        """Wait for the report of a match, at the most so long and a little more, and for what may follow it."""
        await self.desk.until(lambda _one: bool(bout.reports), seconds + SLACK_SECONDS)
        for side, seat in bout.seats.items():
            if bout.got(side, m.GameInvitation):
                await seat.desk.until(is_a(m.GameOver), AFTER_SECONDS)

    async def _is_invited(self, bout: Bout, seconds: float) -> bool:
        first = [seat.desk.until(is_a(m.GameInvitation), seconds) for seat in bout.seats.values()]
        return any(await asyncio.gather(*first))


def longest(limits: m.TimeLimits) -> float:
    """How long a match takes at the most."""
    tries = 1 + limits.max_retries
    pauses = limits.max_retries * limits.retry_seconds
    return tries * (limits.join_seconds + limits.choice_seconds) + 2 * pauses
