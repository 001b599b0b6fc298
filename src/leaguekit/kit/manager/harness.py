"""The league around a manager under test: the kit provides all players and referees, and plays it to the end.

No match is really played. The kit's referees report invented results, so that the right table is known.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from leaguekit.agents.world import World
from leaguekit.formats import DEFAULT_FORMAT, FORMATS, Format, ScheduledFormat, find_format
from leaguekit.formats.swiss import Swiss
from leaguekit.games.base import SIDES, Side
from leaguekit.kit.checks import DEFAULTS, CheckSettings, Evidence, NotCheckable, NotRun
from leaguekit.kit.documented_game import GAME, choices_for, draw_number
from leaguekit.kit.exchanges import (
    Exchange,
    IncomingRequest,
    Json,
    Network,
    is_a,
    with_changes,
)
from leaguekit.kit.field_checks import ReceivedMessage, value
from leaguekit.kit.harness import SECONDS, Harness
from leaguekit.kit.manager.kit_agents import MANAGER_SENDER, LeagueAgent
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Table
from leaguekit.protocol import messages as m
from leaguekit.protocol.codes import without_codes
from leaguekit.protocol.ids import Role, match_conversation
from leaguekit.protocol.methods import BY_NAME

# How long the manager may take to assign the matches of a round, and to announce the next round. The documents ask for
# a minute between the announcement of a round and its first match.
ROUND_SECONDS = 90.0
# How long a broadcast may take to reach all agents.
BROADCAST_SECONDS = 5.0
# How long a league may take to start without a command.
STARTING_SECONDS = 1.0
# How long a match takes if its announcement starts it: no referee reports a result at once.
PLAYING_SECONDS = 1.0
# The number drawn where the assignment has no seed.
DEFAULT_NUMBER = 8


class Fixture(NamedTuple):
    """A match as it was announced."""

    match_id: str
    round_id: int
    a: str
    b: str
    referee_endpoint: str


# Winner of each match of the league, and whether it is a technical loss. A longer league repeats them. At the end two
# of four players have equal points, and sorting them by id would be wrong.
OUTCOMES: tuple[tuple[Side | None, bool], ...] = (
    ("A", False),
    (None, False),
    ("B", True),
    ("B", False),
    (None, False),
    ("A", False),
)


class ManagerHarness(Harness):
    """The state of the checks of one manager, and the actions that they share."""

    def __init__(
        self,
        world: World,
        network: Network,
        url: str,
        *,
        admin_token: str | None = None,
        settings: CheckSettings = DEFAULTS,
    ) -> None:
        super().__init__(world, network, settings)
        self.referee_url = url
        self.admin_token = admin_token
        self.agents: dict[str, LeagueAgent] = {}
        self.rounds: dict[int, list[Fixture]] = {}
        self.results: dict[str, m.MatchResult] = {}
        self.table = Table(Settings(league_id="check").tie_breaks)
        # How the manager says that the league is played; the format is None if the kit does not know it.
        self.format_text = DEFAULT_FORMAT
        self.format: Format | None = FORMATS[DEFAULT_FORMAT]()
        # The players with a bye in each round.
        self.byes: dict[int, list[str]] = {}
        # Whether the manager assigns matches by start_match; None until the first round.
        self.uses_start_match: bool | None = None
        # How many standings each player had received before the last results of the first round.
        self.updates_before: dict[str, int] = {}
        self._assigned_rounds: set[int] = set()
        self._outcomes = itertools.cycle(OUTCOMES)
        self._suffix = world.entropy(2).hex()

    @property
    def url(self) -> str:
        return without_codes(self.referee_url)

    @property
    def name(self) -> str:
        return self.url

    # The kit's agents

    async def new_agent(self, role: Role, name: str) -> LeagueAgent:
        """Return a new agent that listens and is not registered. Its name is different in every run."""
        agent = LeagueAgent(self.world, role, f"{name} {self._suffix}")
        agent.url = await self.network.open(agent.inbox)
        return agent

    async def send_registration(self, agent: LeagueAgent, message: Json) -> Exchange:
        """Send a registration of an agent. If the manager accepts it, add the agent to the league."""
        url = self.referee_url if agent.role == "referee" else self.url
        exchange = await self.call_by_any_name(url, BY_NAME[f"register_{agent.role}"], message, SECONDS)
        result = exchange.message
        given, token = result.get(f"{agent.role}_id"), result.get("auth_token")
        if result.get("status") == "ACCEPTED" and isinstance(given, str):
            # An agent that registers again keeps its first id. Another check compares the ids.
            agent.id = agent.id or given
            agent.token = token if isinstance(token, str) else ""
            agent.registration_request = message
            self.agents.setdefault(agent.id, agent)
            league = result.get("league_id")
            self.league_id = league if isinstance(league, str) else self.league_id
            if agent.role == "player" and agent.id not in self.table.rows:
                self.table.add_player(agent.id, agent.name)
        return exchange

    async def register(self, name: str, role: Role, agent_name: str, /, **meta: Any) -> Exchange:
        """Register a new agent, and keep the exchange under ``name``."""
        agent = await self.new_agent(role, agent_name)
        self.answers[name] = await self.send_registration(agent, agent.registration(**meta))
        return self.answers[name]

    def registered(self, role: Role) -> list[LeagueAgent]:
        return [one for one in self.agents.values() if one.role == role]

    @property
    def players(self) -> list[LeagueAgent]:
        """The registered players. Raises NotRun if there are none."""
        if not (found := self.registered("player")):
            raise NotRun("the manager has taken no player")
        return found

    @property
    def referees(self) -> list[LeagueAgent]:
        if not (found := self.registered("referee")):
            raise NotRun("the manager has taken no referee")
        return found

    # Messages to the manager

    def good_call(self) -> m.Request:
        return self.query("GET_STANDINGS")

    def query(self, query_type: str, agent: LeagueAgent | None = None, **params: Any) -> m.LeagueQuery:
        """Return a query by an agent, or by the first player."""
        asker = agent or self.players[0]
        return m.LeagueQuery(
            **asker.envelope("conv-query"),
            league_id=self.league_id or "unknown",
            query_type=query_type,
            query_params=m.QueryParams(**params),
        )

    def report(self, fixture: Fixture, by: LeagueAgent | None = None, /, **changes: Any) -> Json:
        """Return the report of a match by its referee, or by another agent.

        ``changes`` are other values of some fields; the value ``...`` removes the field.
        """
        referee = by or self.referee_of(fixture)
        report = {
            **referee.envelope(match_conversation(fixture.match_id)),
            "message_type": "MATCH_RESULT_REPORT",
            "league_id": self.league_id,
            "round_id": fixture.round_id,
            "match_id": fixture.match_id,
            "game_type": GAME.name,
            "result": msgspec.to_builtins(self.result_of(fixture)),
        }
        return with_changes(report, changes)

    def keep(self, name: str, requests: Iterable[IncomingRequest], wanted: Json) -> None:
        """Keep messages of the manager under ``name``, with the values that they must have."""
        common = {"sender": MANAGER_SENDER, "league_id": self.league_id}
        self.messages.setdefault(name, []).extend(ReceivedMessage(one, common | wanted) for one in requests)

    # The league from its start to its end

    async def start(self) -> None:
        """Start the league with the operator's token. Without the token, ask the person at the terminal to start it."""
        if self.admin_token is not None:
            command = {"command": "start", "admin_token": self.admin_token}
            self.answers["start"] = await self.client.call(self.url, "operator", command, SECONDS)
        elif await self.wait_for_round(1, STARTING_SECONDS) is None:
            counts = f"{len(self.players)} players and {len(self.referees)} referees"
            waiting = f"(Waiting for {self.settings.timeout_seconds:g} s.)"
            self.settings.on_progress(f"Start your league now: it has {counts}. {waiting}")

    async def learn_format(self) -> None:
        """Learn from GET_STATUS how the league is played. A manager that does not say it has a round-robin.

        Raises NotCheckable if the league has one round only.
        """
        exchange = await self.send("format", self.query("GET_STATUS"))
        stated = value(exchange.result, "data.status.format")
        if not isinstance(stated, str):
            return
        self.format_text, self.format = stated, find_format(stated)
        count = len(self.table.rows)
        if self.format is None:
            return
        if self.format.player_count_error(count) is None and self.format.total_rounds(count) == 1:
            raise NotCheckable(f"its league, {stated}, has one round only; check a league with more rounds")
        self.table = Table.of(self.format.tie_breaks, self.table.rows.values())

    @property
    def is_ranked_by_points(self) -> bool:
        """Whether the points decide first. In other formats the kit does not know the order."""
        return isinstance(self.format, ScheduledFormat | Swiss)

    @property
    def total_rounds(self) -> int | None:
        """The number of rounds of a format in which it does not depend on the results."""
        return None if self.format is None else self.format.total_rounds(len(self.table.rows))

    def count_byes(self, round_id: int) -> None:
        """Count the byes that the manager has announced: each is a win."""
        byes = [player for player in self.byes[round_id] if player in self.table.rows]
        self.table.count_without_game(byes, byes)

    async def wait_for_round(self, round_id: int, seconds: float) -> list[Fixture] | None:
        """Wait for the announcement of a round. Return its matches, or None if it does not arrive in time."""

        def is_wanted(request: IncomingRequest) -> bool:
            return is_a(m.RoundAnnouncement)(request) and len(self.players[0].received(m.RoundAnnouncement)) >= round_id

        if await self.players[0].inbox.wait_for(is_wanted, seconds) is None:
            return None
        announcement = self.players[0].received(m.RoundAnnouncement)[round_id - 1]
        matches = announcement.message.get("matches")
        self.rounds[round_id] = [
            _fixture(one, round_id) for one in (matches if isinstance(matches, list) else []) if isinstance(one, dict)
        ]
        byes = announcement.message.get("byes")
        self.byes[round_id] = [one for one in (byes if isinstance(byes, list) else []) if isinstance(one, str)]
        return self.rounds[round_id]

    def assignment_of(self, fixture: Fixture) -> tuple[LeagueAgent, IncomingRequest] | None:
        """Return the referee to which a match was assigned, and the assignment."""
        for referee in self.registered("referee"):
            for request in referee.received(m.MatchAssignment):
                if request.message.get("match_id") == fixture.match_id:
                    return referee, request
        return None

    async def wait_for_assignments(self, round_id: int) -> None:
        """Wait until the matches of a round are assigned, unless the manager starts them in another way."""
        if round_id in self._assigned_rounds:
            return
        self._assigned_rounds.add(round_id)
        if self.uses_start_match is False:
            await asyncio.sleep(PLAYING_SECONDS)
            return

        def are_assigned(_request: IncomingRequest) -> bool:
            return all(map(self.assignment_of, self.rounds[round_id]))

        # The referee that is given the last match notices it.
        waiting = [asyncio.ensure_future(one.inbox.wait_for(are_assigned, ROUND_SECONDS)) for one in self.referees]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        self.uses_start_match = any(self.assignment_of(one) for one in self.rounds[round_id])

    def referee_of(self, fixture: Fixture) -> LeagueAgent:
        """Return the referee of a match: the one that it was assigned to, or the one whose address was announced."""
        if (given := self.assignment_of(fixture)) is not None:
            return given[0]
        named = [one for one in self.referees if one.url == fixture.referee_endpoint]
        return (named or self.referees)[0]

    def result_of(self, fixture: Fixture) -> m.MatchResult:
        """Return the result of a match. The first call invents it."""
        if fixture.match_id not in self.results:
            winner, is_technical = next(self._outcomes)
            self.results[fixture.match_id] = _invented_result(
                self._sides(fixture), winner, is_technical, self._drawn(fixture)
            )
        return self.results[fixture.match_id]

    def _sides(self, fixture: Fixture) -> dict[Side, str]:
        """Return the players of a match, as in the assignment, or else as in the announcement."""
        given = self.assignment_of(fixture)
        assigned = {side: value(given and given[1].message, f"player_{side}.player_id") for side in SIDES}
        announced: dict[Side, str] = {"A": fixture.a, "B": fixture.b}
        return {side: assigned[side] if assigned[side] in self.agents else one for side, one in announced.items()}

    def _drawn(self, fixture: Fixture) -> int:
        given = self.assignment_of(fixture)
        seed = None if given is None else given[1].message.get("match_seed")
        try:
            return draw_number(str(seed))
        except ValueError:
            return DEFAULT_NUMBER

    async def report_result(self, fixture: Fixture) -> Exchange:
        """Report the result of a match, and count it in the table."""
        result = self.result_of(fixture)
        exchange = await self.send(f"report of {fixture.match_id}", self.report(fixture))
        if set(result.score) <= set(self.table.rows):
            self.table.count(result)
        return exchange

    async def agents_without(self, kind: type[m.Message], agents: list[LeagueAgent], count: int) -> list[LeagueAgent]:
        """Return the agents that do not receive ``count`` messages of a kind in time."""

        async def is_missing(agent: LeagueAgent) -> bool:
            def has_enough(_request: IncomingRequest) -> bool:
                return len(agent.received(kind)) >= count

            return await agent.inbox.wait_for(has_enough, BROADCAST_SECONDS) is None

        return list(itertools.compress(agents, await asyncio.gather(*map(is_missing, agents))))


def _fixture(match: Json, round_id: int) -> Fixture:
    names = ("match_id", "player_A_id", "player_B_id", "referee_endpoint")
    match_id, a, b, endpoint = (str(match.get(name, "")) for name in names)
    return Fixture(match_id, round_id, a, b, endpoint)


def _invented_result(sides: dict[Side, str], winner: Side | None, is_technical: bool, drawn: int) -> m.MatchResult:
    """Return a result that fits the rules of the game and the number."""
    score: dict[str, Any] = {player: 1 if winner is None else 3 * (side == winner) for side, player in sides.items()}
    made = choices_for(drawn, winner)
    choices = {player: None if is_technical else made[side] for side, player in sides.items()}
    status: Any = "TECHNICAL_LOSS" if is_technical else "DRAW" if winner is None else "WIN"
    details = m.ResultDetails(choices=choices, drawn_number=None if is_technical else drawn, status=status)
    return m.MatchResult(winner=None if winner is None else sides[winner], score=score, details=details)


def rows_of(message: Json, path: str) -> list[Json]:
    """Return the rows of a table in a message; empty if there is no table."""
    rows = value(message, path)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def check_rows(request: IncomingRequest, path: str, harness: ManagerHarness) -> Evidence:
    """Check that a table has one row for each player."""
    found = [row.get("player_id") for row in rows_of(request.message, path)]
    expected = f"one row for each of {', '.join(harness.table.rows)}"
    return request.fail_if(sorted(map(str, found)) != sorted(harness.table.rows), expected)


def check_counts(request: IncomingRequest, path: str, harness: ManagerHarness, counts: tuple[str, ...]) -> Evidence:
    """Check that the numbers of a table follow from the results."""
    for row in rows_of(request.message, path):
        own = harness.table.rows.get(str(row.get("player_id")))
        wanted = {} if own is None else {name: getattr(own, name) for name in counts}
        if wanted != {name: row.get(name) for name in wanted}:
            raise request.failed(f"{row.get('player_id')}: {wanted}")
    return request.evidence("three points a win, one a draw")


def check_order(request: IncomingRequest, path: str, harness: ManagerHarness) -> Evidence:
    """Check that a table is sorted by points, if the format ranks by them, and that its ranks rise from 1."""
    rows = rows_of(request.message, path)
    points, ranks = ([int(row.get(name) or 0) for row in rows] for name in ("points", "rank"))
    is_sorted = points == sorted(points, reverse=True) or not harness.is_ranked_by_points
    expected = f"rows by {'falling points and ' * harness.is_ranked_by_points}rising ranks, 1 first"
    # Some managers give players with equal points the same rank. That is still sorted.
    is_rising = ranks[:1] == [1] and all(one <= other for one, other in pairwise(ranks))
    return request.fail_if(not is_sorted or not is_rising, expected)


def check_ties(request: IncomingRequest, path: str, harness: ManagerHarness) -> Evidence:
    """Check that players with equal points are ranked by the tie-breaks of the format, and that no two ranks are equal.

    Players that are equal in all tie-breaks may have any order: the manager draws lots, which the kit does not know.
    """
    if not harness.is_ranked_by_points:
        raise NotRun(f"the format is {harness.format_text}, which ranks the players itself")
    rows = rows_of(request.message, path)
    shared = {row.player_id: row.shown_rank for row in harness.table.placed_rows()}
    expected = ", ".join(f"{rank} {one}" for one, rank in shared.items())
    found = [shared.get(str(row.get("player_id"))) for row in rows]
    return request.fail_if(
        [row.get("rank") for row in rows] != [*range(1, len(rows) + 1)] or found != [*shared.values()], expected
    )
