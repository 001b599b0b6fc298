"""The league's state: the fold of its events. Nothing but ``apply`` changes it, and everybody may read it.

What is asked often is kept at hand (who has an endpoint, what waits for a referee, what a player has before it), so
that an event costs the same in a league of four and of four hundred. Texts that recur (ids, times) are kept once, for
each event brings its own copies.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import singledispatchmethod

import msgspec
from msgspec import structs

from leaguekit.league import events as e
from leaguekit.league.endpoints import place
from leaguekit.league.evidence import count_requests, read_evidence
from leaguekit.league.names import confusable_forms
from leaguekit.league.records import Match, Out, Player, Referee, Round, RuleBreach, Seat, failures_after
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Row, Table, is_technical
from leaguekit.protocol.fields import INT32_MAX, AgentState, LeagueState
from leaguekit.protocol.ids import match_id, match_numbers, player_id
from leaguekit.protocol.messages import MatchResult, MoveOrigins, RequestCounts, ResultDetails

_AGENTS_STATE: dict[LeagueState, AgentState] = {
    "WAITING_FOR_REGISTRATIONS": "REGISTERED",
    "CREATING_SCHEDULE": "REGISTERED",
    "RUNNING_LEAGUE": "ACTIVE",
    "LEAGUE_COMPLETED": "SHUTDOWN",
}


class League:
    """A league as it stands after the events applied so far; the first must be LeagueCreated."""

    settings: Settings
    table: Table
    state: LeagueState
    paused: bool
    players: dict[str, Player]
    referees: dict[str, Referee]
    rounds: list[Round]
    matches: dict[str, Match]
    # The round announced last; 0 before the first.
    current_round: int
    # Matches without a result, in all rounds.
    outstanding: int
    # Matches of announced rounds that a referee can be given, and those that wait for the operator.
    waiting: dict[str, None]
    held: dict[str, None]
    # Agents by what nobody else may have; players' names by all that others may not look like.
    names: dict[str, str]
    endpoints: dict[str, str]
    verifiers: dict[str, str]
    # By what their codes are recognised; so is the referees' code.
    seats: dict[str, Seat]
    referee_code: str | None
    # What asks for the operator's eye, by match.
    flags: dict[str, list[str]]
    # What agents were forgiven, by agent and rule.
    broken_rules: dict[str, dict[str, RuleBreach]]
    # Where players' moves came from, as they state, in all matches that referees reported. A match that was played
    # again counts twice. A player that states nothing is not in it.
    move_origins: dict[str, MoveOrigins]
    # What became of the requests that referees sent to players, by the evidence of the same matches.
    requests: dict[str, RequestCounts]
    next_player: int

    def __init__(self) -> None:
        self.state = "WAITING_FOR_REGISTRATIONS"
        self.paused = False
        self.players, self.referees = {}, {}
        self.rounds, self.matches = [], {}
        self.current_round = self.outstanding = 0
        self.waiting, self.held = {}, {}
        self.names, self.endpoints, self.verifiers, self.seats = {}, {}, {}, {}
        self.referee_code, self.flags, self.broken_rules = None, {}, {}
        self.move_origins, self.requests = {}, {}
        self.next_player = 1

    def digest(self) -> str:
        """A fingerprint of the whole state: equal for equal leagues."""
        whole = vars(self) | {"table": self.table.rows}
        return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()

    def new_table(self, rows: Iterable[Row] = ()) -> Table:
        """A table by the rules of this league, of rows that were counted elsewhere."""
        has_started = self.state in ("RUNNING_LEAGUE", "LEAGUE_COMPLETED")
        return Table.of(self.settings.tie_breaks, rows, (self.settings.seed_hex or "") if has_started else None)

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
        """Whether a round is announced and not completed."""
        return self.current_round > 0 and not self.rounds[self.current_round - 1].completed

    def apply(self, event: e.Event) -> None:
        """Take an event into the state."""
        _FOLDS.get(type(event), _FOLDS[object])(self, event)

    @singledispatchmethod
    def _fold(self, event: e.Event) -> None:
        raise TypeError(f"{event!r} is no event of a league")

    @_fold.register
    def _(self, event: e.LeagueCreated) -> None:
        self.settings = event.settings
        self.table = Table(event.settings.tie_breaks)

    @_fold.register
    def _(self, event: e.PlayerRegistered) -> None:
        player = self.players.get(event.player_id)
        if player is None:
            player = self.players[event.player_id] = Player(id=event.player_id, state="INIT", registered=event)
            while player_id(self.next_player) in self.players:
                self.next_player += 1
        else:
            self._forget(player)
            self._free_name(player)
        player.registered, player.state, player.failures = event, _AGENTS_STATE[self.state], 0
        self._remember(player)
        self.names |= dict.fromkeys(confusable_forms(player.meta.display_name), player.id)
        if event.seat is not None:
            self.seats[event.seat].holder = player.id
        self.table.enter(player.id, player.meta.display_name)

    @_fold.register
    def _(self, event: e.RefereeRegistered) -> None:
        referee = self.referees.get(event.referee_id)
        if referee is None:
            referee = self.referees[event.referee_id] = Referee(id=event.referee_id, state="INIT", registered=event)
        else:
            self._forget(referee)
        referee.registered, referee.state, referee.lost = event, _AGENTS_STATE[self.state], False
        self._remember(referee)

    @_fold.register
    def _(self, event: e.SeatsIssued) -> None:
        self.seats |= {verifier: Seat(id=name, holder=event.holder) for name, verifier in event.seats}

    @_fold.register
    def _(self, event: e.SeatRevoked) -> None:
        for seat in self.seats.values():
            seat.revoked |= seat.id == event.seat_id

    @_fold.register
    def _(self, event: e.RefereeCodeSet) -> None:
        self.referee_code = event.verifier

    @_fold.register
    def _(self, event: e.TokenVoided) -> None:
        agent = self.players.get(event.agent_id) or self.referees[event.agent_id]
        self.verifiers.pop(agent.registered.verifier, None)
        # Nor is a repeat of its registration a way back.
        nothing = {"verifier": "", "conversation_id": "", "timestamp": ""}
        agent.registered = structs.replace(agent.registered, key=event.key, **nothing)

    @_fold.register
    def _(self, _event: e.RegistrationsClosed) -> None:
        self.state = "CREATING_SCHEDULE"

    @_fold.register
    def _(self, event: e.LeagueStarted) -> None:
        self.state = "RUNNING_LEAGUE"
        for number, pairs in enumerate(event.rounds, start=1):
            matches = [
                Match(id=match_id(number, order), round_id=number, a=self.players[a].id, b=self.players[b].id)
                for order, (a, b) in enumerate(pairs, start=1)
            ]
            self.rounds.append(Round(id=number, matches=[match.id for match in matches], remaining=len(matches)))
            for match in matches:
                self.matches[match.id] = match
                for player in match.players:
                    self.players[player].todo[match.id] = None
        self.outstanding = len(self.matches)
        self.table.draw_lots(self.settings.seed_hex or "")
        self._set_agents("REGISTERED", "ACTIVE")

    @_fold.register
    def _(self, event: e.RoundAnnounced) -> None:
        self.current_round = event.round_id
        for name, referee in zip(self.rounds[event.round_id - 1].matches, event.referees, strict=True):
            self.matches[name].planned = self.referees[referee].id
            self.waiting[name] = None

    @_fold.register
    def _(self, event: e.MatchAssigned) -> None:
        match = self.matches[event.match_id]
        referee = self.referees[event.referee_id]
        match.referee_id, match.attempt, match.in_play = referee.id, event.attempt, True
        match.assigned_at = sys.intern(event.at)
        del self.waiting[match.id]
        referee.assigned_matches[match.id] = None
        for player in match.players:
            self.players[player].playing = match.id

    @_fold.register
    def _(self, event: e.ResultRecorded) -> None:
        match = self.matches[event.match_id]
        self._end(match, event.result, event.at)
        match.reported = True
        for name in match.players:
            player = self.players[name]
            player.failures = failures_after(player.failures, event.result.details, name)
        for name, origins in (event.result.details.move_origins or {}).items():
            self.move_origins.setdefault(self.players[name].id, MoveOrigins()).add(origins)
        for name, told in read_evidence(event.result.details).items():
            count_requests(self.requests.setdefault(self.players[name].id, RequestCounts()), told)

    @_fold.register
    def _(self, event: e.ResultFlagged) -> None:
        self.flags.setdefault(event.match_id, []).append(event.reason)

    @_fold.register
    def _(self, event: e.MatchForfeited) -> None:
        match = self.matches[event.match_id]
        winner = None if len(event.losers) == 2 else match.opponent_of(event.losers[0])
        self._end(match, technical_loss(match, winner, event.ruling), event.at)

    @_fold.register
    def _(self, event: e.AttemptVoided) -> None:
        match = self.matches[event.match_id]
        match.voids += not event.outage
        self._leave_referee(match)
        self.waiting[match.id] = None

    @_fold.register
    def _(self, event: e.MatchHeld) -> None:
        self.matches[event.match_id].held = True
        del self.waiting[event.match_id]
        self.held[event.match_id] = None

    @_fold.register
    def _(self, event: e.RefereeLost) -> None:
        referee = self.referees[event.referee_id]
        referee.lost, referee.state = True, "SUSPENDED"

    @_fold.register
    def _(self, event: e.RefereeReturned) -> None:
        referee = self.referees[event.referee_id]
        referee.lost, referee.state = False, _AGENTS_STATE[self.state]

    @_fold.register
    def _(self, event: e.FailuresCounted) -> None:
        self.players[event.player_id].failures = event.in_a_row

    @_fold.register
    def _(self, event: e.PlayerSuspended) -> None:
        self.players[event.player_id].state = "SUSPENDED"

    @_fold.register
    def _(self, event: e.PlayerReturned) -> None:
        self.players[event.player_id].state = "ACTIVE"

    @_fold.register
    def _(self, event: e.FormLearned) -> None:
        self.players[event.player_id].form = event.form

    @_fold.register
    def _(self, event: e.RulesBroken) -> None:
        of_agent = self.broken_rules.setdefault(event.agent_id, {})
        for one in event.rules:
            first = RuleBreach(first_at=event.at, came=one.came, expected=one.expected)
            breach = of_agent.setdefault(one.rule, first)
            breach.count = min(breach.count + one.count, INT32_MAX)

    @_fold.register
    def _(self, event: e.RoundCompleted) -> None:
        self.rounds[event.round_id - 1].completed = True

    @_fold.register
    def _(self, _event: e.LeagueCompleted) -> None:
        self.state = "LEAGUE_COMPLETED"
        self._set_agents("ACTIVE", "SHUTDOWN")
        self._set_agents("SUSPENDED", "SHUTDOWN")

    @_fold.register
    def _(self, _event: e.LeaguePaused) -> None:
        self.paused = True

    @_fold.register
    def _(self, _event: e.LeagueResumed) -> None:
        self.paused = False

    @_fold.register
    def _(self, event: e.PlayerWithdrawn) -> None:
        self._put_out(self.players[event.player_id], "WITHDRAWAL", event.reason)

    @_fold.register
    def _(self, event: e.PlayerDisqualified) -> None:
        self._put_out(self.players[event.player_id], "DISQUALIFICATION", event.reason)

    @_fold.register
    def _(self, event: e.MatchReplayed) -> None:
        match = self.matches[event.match_id]
        if (result := match.result) is not None:
            self._count(match, result, back=True)
            match.outcome = match.ended_at = None
            self.outstanding += 1
            self.rounds[match.round_id - 1].remaining += 1
            for name in match.players:
                todo = self.players[name].todo
                self.players[name].todo = dict.fromkeys(sorted([*todo, match.id], key=match_numbers))
        self.held.pop(match.id, None)
        self.flags.pop(match.id, None)
        match.voids, match.held, match.reported = 0, False, False
        self.waiting[match.id] = None

    @_fold.register
    def _(self, event: e.ResultCorrected) -> None:
        match = self.matches[event.match_id]
        self.flags.pop(match.id, None)
        match.reported = False
        if (before := match.result) is None:
            self._end(match, event.result, event.at)
        else:
            self._count(match, before, back=True)
            match.end(event.result, match.ended_at or event.at)
            self._count(match, event.result)

    def _remember(self, agent: Player | Referee) -> None:
        self.endpoints[str(place(agent.meta.contact_endpoint))] = agent.id
        self.verifiers[agent.registered.verifier] = agent.id

    def _forget(self, agent: Player | Referee) -> None:
        del self.endpoints[str(place(agent.meta.contact_endpoint))]
        self.verifiers.pop(agent.registered.verifier, None)

    def _free_name(self, player: Player) -> None:
        for likeness in confusable_forms(player.meta.display_name):
            if self.names.get(likeness) == player.id:
                del self.names[likeness]

    def _set_agents(self, before: AgentState, after: AgentState) -> None:
        agents: list[Player | Referee] = [*self.players.values(), *self.referees.values()]
        for agent in agents:
            if agent.state == before:
                agent.state = after

    def _put_out(self, player: Player, out: Out, reason: str) -> None:
        player.out, player.out_reason, player.state = out, reason, "SHUTDOWN"
        if self.is_open:
            # Who leaves before the start leaves its place to others.
            self._forget(player)
            self._free_name(player)
            self.table.leave(player.id)

    def _leave_referee(self, match: Match) -> None:
        if match.in_play:
            match.in_play = False
            self.referees[match.referee_id or ""].assigned_matches.pop(match.id)
            for player in match.players:
                self.players[player].playing = None

    def _end(self, match: Match, result: MatchResult, at: str) -> None:
        self._leave_referee(match)
        self.waiting.pop(match.id, None)
        self.held.pop(match.id, None)
        match.held = False
        match.end(result, at)
        self._count(match, result)
        self.outstanding -= 1
        self.rounds[match.round_id - 1].remaining -= 1
        for player in match.players:
            del self.players[player].todo[match.id]

    def _count(self, match: Match, result: MatchResult, *, back: bool = False) -> None:
        one = -1 if back else 1
        self.table.count(result, back=back)
        round_ = self.rounds[match.round_id - 1]
        if is_technical(result):
            round_.technical_losses += one
        elif result.winner is None:
            round_.draws += one
        else:
            round_.wins += one


# Looked up here, for functools takes as long to find the right one as most of them take.
_FOLDS: Mapping[type, Callable[[League, e.Event], None]] = vars(League)["_fold"].dispatcher.registry


def fold(events: Iterable[e.Event]) -> League:
    """The league that these events make."""
    league = League()
    for event in events:
        league.apply(event)
    return league


def technical_loss(match: Match, winner: str | None, ruling: str) -> MatchResult:
    """A match decided without play: the other player wins 3–0; without a winner both lose."""
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
