"""The state of a league: the fold of its events. Only ``apply`` changes it, and every module may read it.

The state has indexes for frequent questions: which agent has an endpoint, which matches wait for a referee, which
matches a player still has to play. So an event costs the same in a league of four players and of four hundred. Each
event brings its own copies of ids and times. The state keeps one copy of each such text.
"""

# ruff: noqa: SLF001 - the table of folds names methods of the class above it

from __future__ import annotations

import hashlib
import sys
from bisect import insort_right
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec
from msgspec import structs

from leaguekit.league import events as e
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.evidence import count_requests, read_evidence
from leaguekit.league.names import confusable_forms
from leaguekit.league.records import (
    Departure,
    Match,
    Player,
    Referee,
    RefusedAgent,
    Round,
    RuleBreach,
    Seat,
    failures_after,
)
from leaguekit.league.settings import Settings, changed_settings
from leaguekit.league.standings import Row, Table, is_technical
from leaguekit.protocol.fields import INT32_MAX, AgentState, LeagueState
from leaguekit.protocol.ids import Role, match_id, match_numbers, player_id
from leaguekit.protocol.messages import MatchResult, MoveOrigins, RequestCounts, ResultDetails

# The number of refused agents that are remembered. The log contains all that were recorded.
MAX_REFUSED = 200

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

    def agent(self, agent_id: str) -> Player | Referee | None:
        return self.players.get(agent_id) or self.referees.get(agent_id)

    def agent_with(self, verifier: bytes) -> Player | Referee | None:
        """The agent whose token has this verifier."""
        agent_id = self.verifiers.get(verifier.hex(), "")
        return self.players.get(agent_id) or self.referees.get(agent_id)

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

    def apply(self, event: e.Event) -> None:
        """Change the state by an event."""
        fold_event = _FOLDS.get(type(event))
        if fold_event is None:
            raise TypeError(f"{event!r} is not an event of a league")
        fold_event(self, event)

    def _league_created(self, event: e.LeagueCreated) -> None:
        self.settings = event.settings
        self.table = Table(event.settings.tie_breaks, payoff_range=event.settings.payoff_range)

    def _player_registered(self, event: e.PlayerRegistered) -> None:
        player = self.players.get(event.player_id)
        is_late = player is None and not self.is_open
        if player is None:
            player = self.players[event.player_id] = Player(id=event.player_id, state="INIT", registered=event)
            while player_id(self.next_player) in self.players:
                self.next_player += 1
        else:
            self._remove_from_indexes(player)
            self._release_name(player)
        player.registered, player.state = event, _AGENT_STATES[self.state]
        player.count_failures(0, event.at)
        player.readmitted = player.left_move_unanswered = False
        self._add_to_indexes(player)
        self.names |= dict.fromkeys(confusable_forms(player.meta.display_name), player.id)
        if event.seat is not None:
            self.seats[event.seat].holder = player.id
        self.table.add_player(player.id, player.meta.display_name)
        if is_late:
            self._seed_late(player)

    def _seed_late(self, player: Player) -> None:
        """Give a player that comes after the start its place in the seeding, and the rounds that it has missed."""
        insort_right(self.seeding, player.id, key=self._seed_key)
        for _ in filter(lambda one: one.completed, self.rounds):
            self.table.count_without_game([player.id], [])

    def _seed_key(self, player: str) -> float:
        return self.settings.seed_key(self.players[player].meta.display_name)

    def _referee_registered(self, event: e.RefereeRegistered) -> None:
        referee = self.referees.get(event.referee_id)
        if referee is None:
            referee = self.referees[event.referee_id] = Referee(id=event.referee_id, state="INIT", registered=event)
        else:
            self._remove_from_indexes(referee)
        referee.registered, referee.state, referee.lost_since = event, _AGENT_STATES[self.state], None
        self._add_to_indexes(referee)

    def _registration_refused(self, event: e.RegistrationRefused) -> None:
        key = refused_key(event.role, event.endpoint, event.display_name, event.address)
        before = self.refused.pop(key, None)
        if len(self.refused) >= MAX_REFUSED:
            del self.refused[next(iter(self.refused))]
        self.refused[key] = RefusedAgent(
            role=event.role,
            display_name=event.display_name,
            endpoint=event.endpoint,
            address=event.address,
            code=event.code,
            reason=event.reason,
            first_at=event.at if before is None else before.first_at,
            last_at=event.at,
            count=min(event.count + (0 if before is None else before.count), INT32_MAX),
        )

    def _seats_issued(self, event: e.SeatsIssued) -> None:
        people = event.people or [("", "")] * len(event.seats)
        for (seat_id, verifier), (name, email) in zip(event.seats, people, strict=True):
            self.seats[verifier] = Seat(id=seat_id, holder=event.holder, name=name, email=email)

    def _seat_revoked(self, event: e.SeatRevoked) -> None:
        for seat in self.seats.values():
            seat.revoked |= seat.id == event.seat_id

    def _referee_code_set(self, event: e.RefereeCodeSet) -> None:
        self.referee_code = event.verifier

    def _token_voided(self, event: e.TokenVoided) -> None:
        agent = self.players.get(event.agent_id) or self.referees[event.agent_id]
        self.verifiers.pop(agent.registered.verifier, None)
        # A repeat of the agent's registration must not be recognised either.
        nothing = {"verifier": "", "conversation_id": "", "timestamp": ""}
        agent.registered = structs.replace(agent.registered, key=event.key, **nothing)

    def _registrations_closed(self, _event: e.RegistrationsClosed) -> None:
        self.state = "CREATING_SCHEDULE"

    def _league_started(self, event: e.LeagueStarted) -> None:
        self.state = "RUNNING_LEAGUE"
        self.draws_rounds = not event.rounds
        self.seeding = [self.players[name].id for name in event.seeding or sorted(self.table.rows, key=id_order)]
        self.starters = len(self.seeding)
        for pairs in event.rounds:
            self._add_round(pairs)
        self.table.draw_lots(self.settings.seed_hex or "")
        self._change_agent_states("REGISTERED", "ACTIVE")

    def _round_drawn(self, event: e.RoundDrawn) -> None:
        round_ = self._add_round(event.pairs)
        round_.label, round_.engine = event.label, event.engine
        round_.byes = [self.players[name].id for name in event.byes]
        self._rank(event.ranking)

    def _add_round(self, pairs: Iterable[tuple[str, str]]) -> Round:
        number = len(self.rounds) + 1
        matches = [
            Match(id=match_id(number, order), round_id=number, a=self.players[a].id, b=self.players[b].id)
            for order, (a, b) in enumerate(pairs, start=1)
        ]
        round_ = Round(id=number, matches=[match.id for match in matches], remaining=len(matches))
        self.rounds.append(round_)
        for match in matches:
            self.matches[match.id] = match
            for player in match.players:
                self.players[player].unplayed[match.id] = None
        self.outstanding += len(matches)
        return round_

    def _rank(self, ranking: list[str]) -> None:
        self.table.ranking = [self.players[name].id for name in ranking]

    def _round_announced(self, event: e.RoundAnnounced) -> None:
        self.current_round = event.round_id
        for name, referee in zip(self.rounds[event.round_id - 1].matches, event.referees, strict=True):
            self.matches[name].planned = self.referees[referee].id
            self.waiting[name] = None

    def _match_assigned(self, event: e.MatchAssigned) -> None:
        match = self.matches[event.match_id]
        referee = self.referees[event.referee_id]
        match.referee_id, match.attempt, match.in_play = referee.id, event.attempt, True
        match.assigned_at = sys.intern(event.at)
        del self.waiting[match.id]
        referee.assigned_matches[match.id] = None
        for player in match.players:
            self.players[player].playing = match.id

    def _result_recorded(self, event: e.ResultRecorded) -> None:
        match = self.matches[event.match_id]
        self._end_match(match, event.result, event.at)
        match.reported = True
        for name in match.players:
            player = self.players[name]
            failures = failures_after(player.failures, event.result.details, name)
            if failures != player.failures:
                player.count_failures(failures, event.at)
        for name, origins in (event.result.details.move_origins or {}).items():
            self.move_origins.setdefault(self.players[name].id, MoveOrigins()).add(origins)
        for name, evidence in read_evidence(event.result.details).items():
            count_requests(self.requests.setdefault(self.players[name].id, RequestCounts()), evidence)
            self.players[name].left_move_unanswered = evidence.left_move_unanswered

    def _result_flagged(self, event: e.ResultFlagged) -> None:
        self.flags.setdefault(event.match_id, []).append(event.reason)

    def _match_forfeited(self, event: e.MatchForfeited) -> None:
        match = self.matches[event.match_id]
        winner = None if len(event.losers) == 2 else match.opponent_of(event.losers[0])
        self._end_match(match, technical_loss(match, winner, event.ruling), event.at)

    def _attempt_voided(self, event: e.AttemptVoided) -> None:
        match = self.matches[event.match_id]
        match.voids += not event.outage
        self._release_match(match)
        self.waiting[match.id] = None

    def _match_held(self, event: e.MatchHeld) -> None:
        self.matches[event.match_id].held = True
        del self.waiting[event.match_id]
        self.held[event.match_id] = None

    def _referee_lost(self, event: e.RefereeLost) -> None:
        referee = self.referees[event.referee_id]
        referee.lost_since, referee.state = event.at, "SUSPENDED"

    def _referee_returned(self, event: e.RefereeReturned) -> None:
        referee = self.referees[event.referee_id]
        referee.lost_since, referee.state = None, _AGENT_STATES[self.state]

    def _failures_counted(self, event: e.FailuresCounted) -> None:
        self.players[event.player_id].count_failures(event.in_a_row, event.at)

    def _player_suspended(self, event: e.PlayerSuspended) -> None:
        self.players[event.player_id].state = "SUSPENDED"

    def _player_returned(self, event: e.PlayerReturned) -> None:
        self.players[event.player_id].state = "ACTIVE"

    def _form_learned(self, event: e.FormLearned) -> None:
        self.players[event.player_id].form = event.form

    def _rules_broken(self, event: e.RulesBroken) -> None:
        breaches = self.broken_rules.setdefault(event.agent_id, {})
        for broken in event.rules:
            first = RuleBreach(first_at=event.at, came=broken.came, expected=broken.expected)
            breach = breaches.setdefault(broken.rule, first)
            breach.count = min(breach.count + broken.count, INT32_MAX)

    def _round_completed(self, event: e.RoundCompleted) -> None:
        round_ = self.rounds[event.round_id - 1]
        round_.completed = True
        if self.draws_rounds:
            self.table.count_without_game(self.idle_players(round_), round_.byes)

    def _league_completed(self, event: e.LeagueCompleted) -> None:
        self.state = "LEAGUE_COMPLETED"
        self.end_reason = event.reason
        self._rank(event.ranking or self.table.ranking)
        self._change_agent_states("ACTIVE", "SHUTDOWN")
        self._change_agent_states("SUSPENDED", "SHUTDOWN")

    def _league_paused(self, _event: e.LeaguePaused) -> None:
        self.paused = True

    def _league_resumed(self, _event: e.LeagueResumed) -> None:
        self.paused = False

    def _settings_changed(self, event: e.SettingsChanged) -> None:
        self.settings = changed_settings(self.settings, event.settings)

    def _player_withdrawn(self, event: e.PlayerWithdrawn) -> None:
        self._remove_player(self.players[event.player_id], "WITHDRAWAL", event.reason)

    def _player_disqualified(self, event: e.PlayerDisqualified) -> None:
        self._remove_player(self.players[event.player_id], "DISQUALIFICATION", event.reason)

    def _player_readmitted(self, event: e.PlayerReadmitted) -> None:
        player = self.players[event.player_id]
        if player.id not in self.table.rows:
            # It left before the start, so it has neither its name nor its endpoint.
            self._add_to_indexes(player)
            self.names |= dict.fromkeys(confusable_forms(player.meta.display_name), player.id)
            self.table.add_player(player.id, player.meta.display_name)
            if not self.is_open:
                self._seed_late(player)
        player.out, player.out_reason, player.state = None, "", _AGENT_STATES[self.state]
        player.failures, player.readmitted = 0, True

    def _match_replayed(self, event: e.MatchReplayed) -> None:
        match = self.matches[event.match_id]
        if (result := match.result) is not None:
            self._count(match, result, undo=True)
            match.outcome = match.ended_at = None
            self.outstanding += 1
            self.rounds[match.round_id - 1].remaining += 1
            for name in match.players:
                unplayed = self.players[name].unplayed
                self.players[name].unplayed = dict.fromkeys(sorted([*unplayed, match.id], key=match_numbers))
        self.held.pop(match.id, None)
        self.flags.pop(match.id, None)
        match.voids, match.held, match.reported = 0, False, False
        self.waiting[match.id] = None

    def _result_corrected(self, event: e.ResultCorrected) -> None:
        match = self.matches[event.match_id]
        self.flags.pop(match.id, None)
        match.reported = False
        if (before := match.result) is None:
            self._end_match(match, event.result, event.at)
        else:
            self._count(match, before, undo=True)
            match.end(event.result, match.ended_at or event.at)
            self._count(match, event.result)

    def _add_to_indexes(self, agent: Player | Referee) -> None:
        self.endpoints[str(parse_endpoint(agent.meta.contact_endpoint))] = agent.id
        role: Role = "player" if isinstance(agent, Player) else "referee"
        self.refused.pop(refused_key(role, agent.meta.contact_endpoint), None)
        self.verifiers[agent.registered.verifier] = agent.id

    def _remove_from_indexes(self, agent: Player | Referee) -> None:
        del self.endpoints[str(parse_endpoint(agent.meta.contact_endpoint))]
        self.verifiers.pop(agent.registered.verifier, None)

    def _release_name(self, player: Player) -> None:
        for form in confusable_forms(player.meta.display_name):
            if self.names.get(form) == player.id:
                del self.names[form]

    def _change_agent_states(self, before: AgentState, after: AgentState) -> None:
        agents: list[Player | Referee] = [*self.players.values(), *self.referees.values()]
        for agent in agents:
            if agent.state == before:
                agent.state = after

    def _remove_player(self, player: Player, out: Departure, reason: str) -> None:
        player.out, player.out_reason, player.state = out, reason, "SHUTDOWN"
        if self.is_open:
            # Before the start, the name and the endpoint of the player become available to others.
            self._remove_from_indexes(player)
            self._release_name(player)
            self.table.remove_player(player.id)

    def _release_match(self, match: Match) -> None:
        if match.in_play:
            match.in_play = False
            self.referees[match.referee_id or ""].assigned_matches.pop(match.id)
            for player in match.players:
                self.players[player].playing = None

    def _end_match(self, match: Match, result: MatchResult, at: str) -> None:
        self._release_match(match)
        self.waiting.pop(match.id, None)
        self.held.pop(match.id, None)
        match.held = False
        match.end(result, at)
        self._count(match, result)
        self.outstanding -= 1
        self.rounds[match.round_id - 1].remaining -= 1
        for player in match.players:
            del self.players[player].unplayed[match.id]

    def _count(self, match: Match, result: MatchResult, *, undo: bool = False) -> None:
        step = -1 if undo else 1
        self.table.count(result, undo=undo)
        round_ = self.rounds[match.round_id - 1]
        if is_technical(result):
            round_.technical_losses += step
        elif result.winner is None:
            round_.draws += step
        else:
            round_.wins += step


# The method that applies each kind of event.
_FOLDS: Mapping[type[e.Event], Callable[[League, Any], None]] = {
    e.LeagueCreated: League._league_created,
    e.PlayerRegistered: League._player_registered,
    e.RefereeRegistered: League._referee_registered,
    e.RegistrationRefused: League._registration_refused,
    e.SeatsIssued: League._seats_issued,
    e.SeatRevoked: League._seat_revoked,
    e.RefereeCodeSet: League._referee_code_set,
    e.TokenVoided: League._token_voided,
    e.RegistrationsClosed: League._registrations_closed,
    e.LeagueStarted: League._league_started,
    e.RoundDrawn: League._round_drawn,
    e.RoundAnnounced: League._round_announced,
    e.MatchAssigned: League._match_assigned,
    e.ResultRecorded: League._result_recorded,
    e.ResultFlagged: League._result_flagged,
    e.MatchForfeited: League._match_forfeited,
    e.AttemptVoided: League._attempt_voided,
    e.MatchHeld: League._match_held,
    e.RefereeLost: League._referee_lost,
    e.RefereeReturned: League._referee_returned,
    e.FailuresCounted: League._failures_counted,
    e.PlayerSuspended: League._player_suspended,
    e.PlayerReturned: League._player_returned,
    e.FormLearned: League._form_learned,
    e.RulesBroken: League._rules_broken,
    e.RoundCompleted: League._round_completed,
    e.LeagueCompleted: League._league_completed,
    e.LeaguePaused: League._league_paused,
    e.LeagueResumed: League._league_resumed,
    e.PlayerWithdrawn: League._player_withdrawn,
    e.PlayerDisqualified: League._player_disqualified,
    e.PlayerReadmitted: League._player_readmitted,
    e.SettingsChanged: League._settings_changed,
    e.MatchReplayed: League._match_replayed,
    e.ResultCorrected: League._result_corrected,
}


def id_order(agent_id: str) -> int:
    """The key by which ids are sorted: P2 comes before P10."""
    return int(agent_id[1:])


def refused_key(role: Role, endpoint: str, display_name: str = "", address: str = "") -> str:
    """The text by which a refused agent is recognised: its endpoint, or else its name and its address."""
    return f"{role} {endpoint or f'{address} {display_name}'}"


def fold(events: Iterable[e.Event]) -> League:
    """The league that these events make."""
    league = League()
    for event in events:
        league.apply(event)
    return league


def technical_loss(match: Match, winner: str | None, ruling: str) -> MatchResult:
    """The result of a match that was decided without play: 3–0 for the winner, or 0–0 without one."""
    return MatchResult(
        winner=winner,
        score={player: 3 if player == winner else 0 for player in match.players},
        details=ResultDetails(
            choices=dict.fromkeys(match.players),
            drawn_number=None,
            status="TECHNICAL_LOSS",
            ruling=ruling,
        ),
    )
