"""The state of a league: the fold of its events. Only ``apply`` (``fold.py``) changes it, and every module may read it.

The state has indexes for frequent questions: which agent has an endpoint, which matches wait for a referee, which
matches a player still has to play. So an event costs the same in a league of four players and of four hundred. Each
event brings its own copies of ids and times. The state keeps one copy of each such text.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import msgspec

from leaguekit.league.records import Match, Player, Referee, RefusedAgent, Round, RuleBreach, Seat
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Row, Table
from leaguekit.protocol.fields import AgentState, LeagueState
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import MoveOrigins, RequestCounts

_AGENT_STATES: dict[LeagueState, AgentState] = {
    "WAITING_FOR_REGISTRATIONS": "REGISTERED",
    "CREATING_SCHEDULE": "REGISTERED",
    "RUNNING_LEAGUE": "ACTIVE",
    "LEAGUE_COMPLETED": "SHUTDOWN",
}


class League:
    """A league after the events that were applied to it. The first event must be LeagueCreated."""

    settings: Settings
    table: Table
    state: LeagueState
    paused: bool
    players: dict[str, Player]
    referees: dict[str, Referee]
    rounds: list[Round]
    matches: dict[str, Match]
    # The players in the order of the seeding, from the start on; and whether the format draws round by round.
    seeding: list[str]
    draws_rounds: bool
    # The number of players at the start. The seeding has those that came later, too.
    starters: int
    # What the format said at the end.
    end_reason: str
    # The latest announced round; 0 before the first announcement.
    current_round: int
    # The number of matches without a result, in all rounds.
    outstanding: int
    # Matches of announced rounds that can be assigned to a referee, and matches that wait for the operator.
    waiting: dict[str, None]
    held: dict[str, None]
    # Agent ids by what must be unique: the confusable forms of players' names, endpoints, and token verifiers.
    names: dict[str, str]
    endpoints: dict[str, str]
    verifiers: dict[str, str]
    # Seats by the verifiers of their codes; and the verifier of the referees' code.
    seats: dict[str, Seat]
    referee_code: str | None
    # Reasons for which the operator should look at a match, by match.
    flags: dict[str, list[str]]
    # Agents that tried to register and were refused, by ``refused_key``. The latest is the last.
    refused: dict[str, RefusedAgent]
    # Rule breaches that were tolerated, by agent and rule.
    broken_rules: dict[str, dict[str, RuleBreach]]
    # The origins of players' moves, as the players state them, in all matches that referees reported. A match that
    # was played again counts twice. A player that states nothing is not in it.
    move_origins: dict[str, MoveOrigins]
    # How players answered the requests of referees, from the evidence of the same matches.
    requests: dict[str, RequestCounts]
    next_player: int

    def __init__(self) -> None:
        self.state = "WAITING_FOR_REGISTRATIONS"
        self.paused = False
        self.players, self.referees = {}, {}
        self.rounds, self.matches, self.seeding = [], {}, []
        self.draws_rounds, self.end_reason, self.starters = False, "", 0
        self.current_round = self.outstanding = 0
        self.waiting, self.held = {}, {}
        self.names, self.endpoints, self.verifiers, self.seats = {}, {}, {}, {}
        self.referee_code, self.flags, self.broken_rules = None, {}, {}
        self.move_origins, self.requests, self.refused = {}, {}, {}
        self.next_player = 1

    def digest(self) -> str:
        """A hash of the whole state. Equal leagues have equal digests."""
        whole = vars(self) | {"table": self.table.rows, "ranking": self.table.ranking}
        return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()

    def new_table(self, rows: Iterable[Row] = ()) -> Table:
        """A table of the given rows, with the tie-breaks of this league."""
        has_started = self.state in ("RUNNING_LEAGUE", "LEAGUE_COMPLETED")
        settings = self.settings
        lot_seed = (settings.seed_hex or "") if has_started else None
        return Table.of(settings.tie_breaks, rows, lot_seed, settings.payoff_range)

    @property
    def agents(self) -> list[Player | Referee]:
        """The players, and then the referees."""
        return [*self.players.values(), *self.referees.values()]

    def agent(self, agent_id: str) -> Player | Referee | None:
        return self.players.get(agent_id) or self.referees.get(agent_id)

    def agent_with(self, verifier: bytes) -> Player | Referee | None:
        """The agent whose token has this verifier."""
        agent_id = self.verifiers.get(verifier.hex(), "")
        return self.players.get(agent_id) or self.referees.get(agent_id)

    @property
    def agent_state(self) -> AgentState:
        """The state of an agent that takes part."""
        return _AGENT_STATES[self.state]

    @property
    def is_open(self) -> bool:
        """Whether agents can still register."""
        return self.state == "WAITING_FOR_REGISTRATIONS"

    @property
    def round_in_play(self) -> bool:
        """Whether a round was announced and is not completed."""
        return self.current_round > 0 and not self.rounds[self.current_round - 1].completed

    def idle_players(self, round_: Round) -> list[str]:
        """The players without a match in a round, in the order of their registration."""
        playing = {player for name in round_.matches for player in self.matches[name].players}
        return [player for player in self.table.rows if player not in playing]


def id_order(agent_id: str) -> int:
    """The key by which ids are sorted: P2 comes before P10."""
    return int(agent_id[1:])


def refused_key(role: Role, endpoint: str, display_name: str = "", address: str = "") -> str:
    """The text by which a refused agent is recognised: its endpoint, or else its name and its address."""
    return f"{role} {endpoint or f'{address} {display_name}'}"
