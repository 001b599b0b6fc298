"""What events about agents change in the state of a league: registrations, tokens and seats, departures, failures."""

from __future__ import annotations

from bisect import insort_right

from msgspec import structs

from leaguekit.league import events as e
from leaguekit.league.endpoints import parse_endpoint
from leaguekit.league.names import confusable_forms
from leaguekit.league.records import Departure, Player, Referee, RefusedAgent, RuleBreach, Seat
from leaguekit.league.state import League, refused_key
from leaguekit.protocol.fields import INT32_MAX
from leaguekit.protocol.ids import player_id

# The number of refused agents that are remembered. The log contains all that were recorded.
MAX_REFUSED = 200


def player_registered(league: League, event: e.PlayerRegistered) -> None:
    player = league.players.get(event.player_id)
    is_late = player is None and not league.is_open
    if player is None:
        player = league.players[event.player_id] = Player(id=event.player_id, state="INIT", registered=event)
        while player_id(league.next_player) in league.players:
            league.next_player += 1
    else:
        _remove_from_indexes(league, player)
        _release_name(league, player)
    player.registered, player.state = event, league.agent_state
    player.count_failures(0, event.at)
    player.readmitted = player.left_move_unanswered = False
    _add_to_indexes(league, player)
    league.names |= dict.fromkeys(confusable_forms(player.meta.display_name), player.id)
    if event.seat is not None:
        league.seats[event.seat].holder = player.id
    league.table.add_player(player.id, player.meta.display_name)
    if is_late:
        _seed_late(league, player)


def _seed_late(league: League, player: Player) -> None:
    """Give a player that comes after the start its place in the seeding, and the rounds that it has missed."""
    insort_right(league.seeding, player.id, key=lambda name: _seed_key(league, name))
    for _ in filter(lambda one: one.completed, league.rounds):
        league.table.count_without_game([player.id], [])


def _seed_key(league: League, player: str) -> float:
    return league.settings.seed_key(league.players[player].meta.display_name)


def referee_registered(league: League, event: e.RefereeRegistered) -> None:
    referee = league.referees.get(event.referee_id)
    if referee is None:
        referee = league.referees[event.referee_id] = Referee(id=event.referee_id, state="INIT", registered=event)
    else:
        _remove_from_indexes(league, referee)
    referee.registered, referee.state, referee.lost_since = event, league.agent_state, None
    _add_to_indexes(league, referee)


def registration_refused(league: League, event: e.RegistrationRefused) -> None:
    key = refused_key(event.role, event.endpoint, event.display_name, event.address)
    before = league.refused.pop(key, None)
    if len(league.refused) >= MAX_REFUSED:
        del league.refused[next(iter(league.refused))]
    league.refused[key] = RefusedAgent(
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


def seats_issued(league: League, event: e.SeatsIssued) -> None:
    people = event.people or [("", "")] * len(event.seats)
    for (seat_id, verifier), (name, email) in zip(event.seats, people, strict=True):
        league.seats[verifier] = Seat(id=seat_id, holder=event.holder, name=name, email=email)


def seat_revoked(league: League, event: e.SeatRevoked) -> None:
    for seat in league.seats.values():
        seat.revoked |= seat.id == event.seat_id


def referee_code_set(league: League, event: e.RefereeCodeSet) -> None:
    league.referee_code = event.verifier


def token_voided(league: League, event: e.TokenVoided) -> None:
    agent = league.players.get(event.agent_id) or league.referees[event.agent_id]
    league.verifiers.pop(agent.registered.verifier, None)
    # A repeat of the agent's registration must not be recognised either.
    nothing = {"verifier": "", "conversation_id": "", "timestamp": ""}
    agent.registered = structs.replace(agent.registered, key=event.key, **nothing)


def referee_lost(league: League, event: e.RefereeLost) -> None:
    referee = league.referees[event.referee_id]
    referee.lost_since, referee.state = event.at, "SUSPENDED"


def referee_returned(league: League, event: e.RefereeReturned) -> None:
    referee = league.referees[event.referee_id]
    referee.lost_since, referee.state = None, league.agent_state


def failures_counted(league: League, event: e.FailuresCounted) -> None:
    league.players[event.player_id].count_failures(event.in_a_row, event.at)


def player_suspended(league: League, event: e.PlayerSuspended) -> None:
    league.players[event.player_id].state = "SUSPENDED"


def player_returned(league: League, event: e.PlayerReturned) -> None:
    league.players[event.player_id].state = "ACTIVE"


def form_learned(league: League, event: e.FormLearned) -> None:
    league.players[event.player_id].form = event.form


def rules_broken(league: League, event: e.RulesBroken) -> None:
    breaches = league.broken_rules.setdefault(event.agent_id, {})
    for broken in event.rules:
        first = RuleBreach(first_at=event.at, came=broken.came, expected=broken.expected)
        breach = breaches.setdefault(broken.rule, first)
        breach.count = min(breach.count + broken.count, INT32_MAX)


def player_withdrawn(league: League, event: e.PlayerWithdrawn) -> None:
    _remove_player(league, league.players[event.player_id], "WITHDRAWAL", event.reason)


def player_disqualified(league: League, event: e.PlayerDisqualified) -> None:
    _remove_player(league, league.players[event.player_id], "DISQUALIFICATION", event.reason)


def player_readmitted(league: League, event: e.PlayerReadmitted) -> None:
    player = league.players[event.player_id]
    if player.id not in league.table.rows:
        # It left before the start, so it has neither its name nor its endpoint.
        _add_to_indexes(league, player)
        league.names |= dict.fromkeys(confusable_forms(player.meta.display_name), player.id)
        league.table.add_player(player.id, player.meta.display_name)
        if not league.is_open:
            _seed_late(league, player)
    player.out, player.out_reason, player.state = None, "", league.agent_state
    player.failures, player.readmitted = 0, True


def _add_to_indexes(league: League, agent: Player | Referee) -> None:
    league.endpoints[str(parse_endpoint(agent.meta.contact_endpoint))] = agent.id
    league.refused.pop(refused_key(agent.role, agent.meta.contact_endpoint), None)
    league.verifiers[agent.registered.verifier] = agent.id


def _remove_from_indexes(league: League, agent: Player | Referee) -> None:
    del league.endpoints[str(parse_endpoint(agent.meta.contact_endpoint))]
    league.verifiers.pop(agent.registered.verifier, None)


def _release_name(league: League, player: Player) -> None:
    for form in confusable_forms(player.meta.display_name):
        if league.names.get(form) == player.id:
            del league.names[form]


def _remove_player(league: League, player: Player, out: Departure, reason: str) -> None:
    player.out, player.out_reason, player.state = out, reason, "SHUTDOWN"
    if league.is_open:
        # Before the start, the name and the endpoint of the player become available to others.
        _remove_from_indexes(league, player)
        _release_name(league, player)
        league.table.remove_player(player.id)
