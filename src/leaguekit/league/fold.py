"""The fold: ``apply`` changes the state of a league by one event. Nothing else changes it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from leaguekit.league import agent_folds as agents
from leaguekit.league import events as e
from leaguekit.league import match_folds as matches
from leaguekit.league.settings import changed_settings
from leaguekit.league.standings import Table
from leaguekit.league.state import League, id_order
from leaguekit.protocol.fields import AgentState


def apply(league: League, event: e.Event) -> None:
    """Change the state by an event."""
    fold_event = _FOLDS.get(type(event))
    if fold_event is None:
        raise TypeError(f"{event!r} is not an event of a league")
    fold_event(league, event)


def fold(events: Iterable[e.Event]) -> League:
    """The league that these events make."""
    league = League()
    for event in events:
        apply(league, event)
    return league


def _league_created(league: League, event: e.LeagueCreated) -> None:
    league.settings = event.settings
    league.table = Table(event.settings.tie_breaks, payoff_range=event.settings.payoff_range)


def _registrations_closed(league: League, _event: e.RegistrationsClosed) -> None:
    league.state = "CREATING_SCHEDULE"


def _league_started(league: League, event: e.LeagueStarted) -> None:
    league.state = "RUNNING_LEAGUE"
    league.draws_rounds = not event.rounds
    league.seeding = [league.players[name].id for name in event.seeding or sorted(league.table.rows, key=id_order)]
    league.starters = len(league.seeding)
    for pairs in event.rounds:
        matches.add_round(league, pairs)
    league.table.draw_lots(league.settings.seed_hex or "")
    _change_agent_states(league, "REGISTERED", "ACTIVE")


def _league_completed(league: League, event: e.LeagueCompleted) -> None:
    league.state = "LEAGUE_COMPLETED"
    league.end_reason = event.reason
    matches.rank_players(league, event.ranking or league.table.ranking)
    _change_agent_states(league, "ACTIVE", "SHUTDOWN")
    _change_agent_states(league, "SUSPENDED", "SHUTDOWN")


def _league_paused(league: League, _event: e.LeaguePaused) -> None:
    league.paused = True


def _league_resumed(league: League, _event: e.LeagueResumed) -> None:
    league.paused = False


def _settings_changed(league: League, event: e.SettingsChanged) -> None:
    league.settings = changed_settings(league.settings, event.settings)


def _change_agent_states(league: League, before: AgentState, after: AgentState) -> None:
    for agent in league.agents:
        if agent.state == before:
            agent.state = after


# The function that applies each kind of event.
_FOLDS: Mapping[type[e.Event], Callable[[League, Any], None]] = {
    e.LeagueCreated: _league_created,
    e.PlayerRegistered: agents.player_registered,
    e.RefereeRegistered: agents.referee_registered,
    e.RegistrationRefused: agents.registration_refused,
    e.SeatsIssued: agents.seats_issued,
    e.SeatRevoked: agents.seat_revoked,
    e.RefereeCodeSet: agents.referee_code_set,
    e.TokenVoided: agents.token_voided,
    e.RegistrationsClosed: _registrations_closed,
    e.LeagueStarted: _league_started,
    e.RoundDrawn: matches.round_drawn,
    e.RoundAnnounced: matches.round_announced,
    e.MatchAssigned: matches.match_assigned,
    e.ResultRecorded: matches.result_recorded,
    e.ResultFlagged: matches.result_flagged,
    e.MatchForfeited: matches.match_forfeited,
    e.AttemptVoided: matches.attempt_voided,
    e.MatchHeld: matches.match_held,
    e.RefereeLost: agents.referee_lost,
    e.RefereeReturned: agents.referee_returned,
    e.FailuresCounted: agents.failures_counted,
    e.PlayerSuspended: agents.player_suspended,
    e.PlayerReturned: agents.player_returned,
    e.FormLearned: agents.form_learned,
    e.RulesBroken: agents.rules_broken,
    e.RoundCompleted: matches.round_completed,
    e.LeagueCompleted: _league_completed,
    e.LeaguePaused: _league_paused,
    e.LeagueResumed: _league_resumed,
    e.PlayerWithdrawn: agents.player_withdrawn,
    e.PlayerDisqualified: agents.player_disqualified,
    e.PlayerReadmitted: agents.player_readmitted,
    e.SettingsChanged: _settings_changed,
    e.MatchReplayed: matches.match_replayed,
    e.ResultCorrected: matches.result_corrected,
}
