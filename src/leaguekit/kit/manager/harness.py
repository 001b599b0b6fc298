"""The league that a manager under test runs: the kit is all of its players and referees, and plays it to the end.

Nothing is really played: the kit's referees report results that are made up beforehand, so that the table is known.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import msgspec

from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.games.even_odd import PARITIES, number_parity
from leaguekit.kit.checks import USUAL, CheckSettings, NotRun
from leaguekit.kit.exchanges import Arrived, Exchange, Ground, Json, Line, Seen
from leaguekit.kit.incoming import Told, is_a, value
from leaguekit.kit.manager.kit_agents import GAME, Member, Role
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Table
from leaguekit.protocol import messages as m
from leaguekit.protocol.codes import without_codes
from leaguekit.protocol.ids import match_conversation
from leaguekit.protocol.messages import Message
from leaguekit.protocol.methods import BY_REQUEST

SECONDS = 10.0
# How long a round's matches may take to be given out, and the next round to be announced: the documents want a minute
# between a round's announcement and its first match.
ROUND_SECONDS = 90.0
# How long a broadcast may take to be everywhere.
BROADCAST_SECONDS = 5.0
# How long a league may take to start by itself when all are there.
STARTING_SECONDS = 1.0
# How long a match takes that is begun by the announcement: no referee has a result at once.
PLAYING_SECONDS = 1.0
# What is chosen and drawn where the referee was given no seed.
NUMBER = 8


class Fixture(NamedTuple):
    """A match as it was announced."""

    match_id: str
    round_id: int
    a: str
    b: str
    referee_endpoint: str


# How the matches of the league end, in their order; a league with more players begins again. In the end two of four
# players have equal points, and the order of their ids would be wrong.
OUTCOMES: tuple[tuple[str | None, bool], ...] = (
    ("A", False),
    (None, False),
    ("B", True),
    ("B", False),
    (None, False),
    ("A", False),
)


class ManagerScene:
    """Everything the checks of a manager need."""

    def __init__(
        self,
        world: World,
        ground: Ground,
        url: str,
        *,
        admin_token: str | None = None,
        terms: CheckSettings = USUAL,
    ) -> None:
        self.world = world
        self.terms = terms
        self.referee_url = url
        self.url = without_codes(url)
        self.admin_token = admin_token
        self.seen = Seen()
        self.told = Told()
        self.line = Line(ground.caller)
        self.league_id = ""
        self.members: dict[str, Member] = {}
        self.rounds: dict[int, list[Fixture]] = {}
        self.results: dict[str, m.MatchResult] = {}
        self.table = Table(Settings(league_id="check").tie_breaks)
        # Whether the manager gives matches out by start_match; None while that is not known.
        self.assigns: bool | None = None
        # How many standings each player had before the last results of the first round.
        self.heard_before: dict[str, int] = {}
        self._given_out: set[int] = set()
        self._ground = ground
        self._outcomes = itertools.cycle(OUTCOMES)
        self._suffix = world.entropy(2).hex()

    # Its agents

    async def member(self, role: Role, name: str) -> Member:
        """An agent of the kit's that listens, and is not registered yet. Names are new in every run."""
        member = Member(self.world, role, f"{name} {self._suffix}")
        member.url = await self._ground.open(member.desk)
        return member

    async def ask_in(self, member: Member, message: Json) -> Exchange:
        """Ask the manager to take an agent with some request; if it does, the agent belongs to the league."""
        url = self.referee_url if member.role == "referee" else self.url
        exchange = await self.line.call(url, f"register_{member.role}", message, SECONDS)
        result = exchange.result if isinstance(exchange.result, dict) else {}
        given, token = result.get(f"{member.role}_id"), result.get("auth_token")
        if result.get("status") == "ACCEPTED" and isinstance(given, str):
            # Who comes back keeps its id, whatever it is told; that it is the same has a check of its own.
            member.id = member.id or given
            member.token = token if isinstance(token, str) else ""
            member.asked = message
            self.members.setdefault(member.id, member)
            league = result.get("league_id")
            self.league_id = league if isinstance(league, str) else self.league_id
            if member.role == "player" and member.id not in self.table.rows:
                self.table.enter(member.id, member.name)
        return exchange

    async def register(self, name: str, role: Role, called: str, /, **meta: Any) -> Exchange:
        """Register a new agent, and keep the answer under a name."""
        member = await self.member(role, called)
        self.seen[name] = await self.ask_in(member, member.registration(**meta))
        return self.seen[name]

    def of(self, role: Role) -> list[Member]:
        return [one for one in self.members.values() if one.role == role]

    @property
    def players(self) -> list[Member]:
        """The players that have been taken. Raises NotRun if there are none."""
        if not (found := self.of("player")):
            raise NotRun("the manager has taken no player")
        return found

    @property
    def referees(self) -> list[Member]:
        if not (found := self.of("referee")):
            raise NotRun("the manager has taken no referee")
        return found

    # What they send

    def good_call(self) -> m.Request:
        return self.query("GET_STANDINGS")

    def query(self, query_type: str, member: Member | None = None, **params: Any) -> m.LeagueQuery:
        """A query of an agent's, the first player's if none is named."""
        asker = member or self.players[0]
        return m.LeagueQuery(
            **asker.envelope("conv-query"),
            league_id=self.league_id or "unknown",
            query_type=query_type,
            query_params=m.QueryParams(**params),
        )

    async def say(self, name: str, message: m.Request | Json) -> Exchange:
        """Send the manager a message, and keep what comes of it under a name."""
        kind = m.BY_TYPE[message["message_type"]] if isinstance(message, dict) else type(message)
        method = BY_REQUEST[kind]
        self.seen[name] = await self.line.call(self.url, method.name, message, method.seconds)
        return self.seen[name]

    def report(self, fixture: Fixture, ended: m.MatchResult, by: Member | None = None, /, **changes: Any) -> Json:
        """The report of a match by its referee or another, with other values in some fields; ... takes one away."""
        referee = by or self.referee_of(fixture)
        whole: Json = {
            **referee.envelope(match_conversation(fixture.match_id)),
            "message_type": "MATCH_RESULT_REPORT",
            "league_id": self.league_id,
            "round_id": fixture.round_id,
            "match_id": fixture.match_id,
            "game_type": GAME,
            "result": msgspec.to_builtins(ended),
            **changes,
        }
        return {name: one for name, one in whole.items() if one is not ...}

    # The course of the league

    async def start(self) -> None:
        """Have the league started: by the operator's token, or by the person at the terminal."""
        if self.admin_token is not None:
            command = {"command": "start", "admin_token": self.admin_token}
            self.seen["start"] = await self.line.call(self.url, "operator", command, SECONDS)
        elif await self.announced(1, STARTING_SECONDS) is None:
            counts = f"{len(self.players)} players and {len(self.referees)} referees"
            waiting = f"(Waiting for {self.terms.patience:g} s.)"
            self.terms.tell(f"Start your league now: it has {counts}. {waiting}")

    async def announced(self, round_id: int, seconds: float) -> list[Fixture] | None:
        """The matches of a round once a player has been told of it; None if nobody is in time."""

        def is_it(arrived: Arrived) -> bool:
            return is_a(m.RoundAnnouncement)(arrived) and len(self.players[0].got(m.RoundAnnouncement)) >= round_id

        if await self.players[0].desk.until(is_it, seconds) is None:
            return None
        announcement = self.players[0].got(m.RoundAnnouncement)[round_id - 1]
        matches = announcement.message.get("matches")
        self.rounds[round_id] = [
            _fixture(one, round_id) for one in (matches if isinstance(matches, list) else []) if isinstance(one, dict)
        ]
        return self.rounds[round_id]

    def assignment_of(self, fixture: Fixture) -> tuple[Member, Arrived] | None:
        """The assignment of a match, and the referee that got it."""
        for referee in self.of("referee"):
            for arrived in referee.got(m.MatchAssignment):
                if arrived.message.get("match_id") == fixture.match_id:
                    return referee, arrived
        return None

    async def given_out(self, round_id: int) -> None:
        """Wait until the matches of a round are given out, unless the manager starts them otherwise."""
        if round_id in self._given_out:
            return
        self._given_out.add(round_id)
        if self.assigns is False:
            await asyncio.sleep(PLAYING_SECONDS)
            return
        loop = asyncio.get_running_loop()
        until = loop.time() + ROUND_SECONDS
        while loop.time() < until:
            given = [self.assignment_of(one) for one in self.rounds[round_id]]
            if all(given):
                break
            # Whichever referee hears first.
            waiting = [
                asyncio.ensure_future(one.desk.until(_after(len(one.desk.arrived)), until - loop.time()))
                for one in self.referees
            ]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        self.assigns = any(self.assignment_of(one) for one in self.rounds[round_id])

    def referee_of(self, fixture: Fixture) -> Member:
        """Who reports a match: the referee that it was assigned to, or the one whose address was announced."""
        if (given := self.assignment_of(fixture)) is not None:
            return given[0]
        named = [one for one in self.referees if one.url == fixture.referee_endpoint]
        return (named or self.referees)[0]

    def outcome(self, fixture: Fixture) -> m.MatchResult:
        """How a match ends, which is made up when it is first asked for."""
        if fixture.match_id not in self.results:
            winner, is_technical = next(self._outcomes)
            self.results[fixture.match_id] = _made_up(self._sides(fixture), winner, is_technical, self._drawn(fixture))
        return self.results[fixture.match_id]

    def _sides(self, fixture: Fixture) -> dict[str, str]:
        """Who plays: as the assignment says, or else the announcement."""
        given = self.assignment_of(fixture)
        told = {} if given is None else {side: value(given[1].message, f"player_{side}.player_id") for side in "AB"}
        announced = {"A": fixture.a, "B": fixture.b}
        return {side: told[side] if told.get(side) in self.members else one for side, one in announced.items()}

    def _drawn(self, fixture: Fixture) -> int:
        given = self.assignment_of(fixture)
        seed = None if given is None else given[1].message.get("match_seed")
        try:
            return game(GAME).draw(bytes.fromhex(str(seed))) or NUMBER
        except ValueError:
            return NUMBER

    async def reported(self, fixture: Fixture) -> Exchange:
        """Report a match as it ended, and count it."""
        result = self.outcome(fixture)
        exchange = await self.say(f"report of {fixture.match_id}", self.report(fixture, result))
        if set(result.score) <= set(self.table.rows):
            self.table.count(result)
        return exchange

    async def everybody(self, kind: type[Message], members: Iterable[Member], count: int = 1) -> list[Member]:
        """Those who are not sent so many messages of a kind in time."""

        async def misses(member: Member) -> bool:
            def enough(_one: Arrived) -> bool:
                return len(member.got(kind)) >= count

            return not enough_already(member) and await member.desk.until(enough, BROADCAST_SECONDS) is None

        def enough_already(member: Member) -> bool:
            return len(member.got(kind)) >= count

        chosen = [*members]
        missed = await asyncio.gather(*map(misses, chosen))
        return [member for member, is_missed in zip(chosen, missed, strict=True) if is_missed]


def _after(number: int) -> Callable[[Arrived], bool]:
    seen = itertools.count(1)
    return lambda _one: next(seen) > number


def _fixture(match: Json, round_id: int) -> Fixture:
    names = ("match_id", "player_A_id", "player_B_id", "referee_endpoint")
    match_id, a, b, endpoint = (str(match.get(name, "")) for name in names)
    return Fixture(match_id, round_id, a, b, endpoint)


def _made_up(sides: dict[str, str], winner: str | None, is_technical: bool, drawn: int) -> m.MatchResult:
    """A result that fits the rules of even/odd and the number."""
    right = number_parity(drawn)
    wrong = PARITIES[1 - PARITIES.index(right)]
    score: dict[str, Any] = {player: 1 if winner is None else 3 * (side == winner) for side, player in sides.items()}
    choices: dict[str, str | None] = {
        player: None if is_technical else right if winner in (None, side) else wrong for side, player in sides.items()
    }
    status: Any = "TECHNICAL_LOSS" if is_technical else "DRAW" if winner is None else "WIN"
    details = m.ResultDetails(choices=choices, drawn_number=None if is_technical else drawn, status=status)
    return m.MatchResult(winner=None if winner is None else sides[winner], score=score, details=details)


def rows_of(message: Json, path: str) -> list[Json]:
    """The rows of a table in a message, as far as there are any."""
    rows = value(message, path)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
