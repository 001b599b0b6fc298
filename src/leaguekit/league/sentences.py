"""Events as sentences for people, and as JSON without secrets for programs.

Names, reasons and choices are texts of agents. A caller that prints them must sanitize them (``plain_text``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from leaguekit.league import events as e
from leaguekit.protocol.messages import MatchResult
from leaguekit.protocol.plain_text import remove_addresses

# Fields by which an agent is recognised, or with which a registration could be repeated.
_SECRET = ("verifier", "key", "seat", "conversation_id", "timestamp", "sender")
_PRIVATE = ("contact_endpoint", "address")
# With a group, so that ``re.split`` keeps the ids.
PLAYER = re.compile(r"\b(P[0-9]{2,9})\b")


class EventFormatter:
    """Formats the events of a league, which must come in order.

    The seed is disclosed with the end of the league, because it is no longer secret then. The network addresses of
    agents are included only with ``endpoints``.
    """

    def __init__(self, *, endpoints: bool = False) -> None:
        self._endpoints = endpoints
        self._seed_hex: str | None = None
        self._known: set[str] = set()

    def as_json(self, event: e.Event) -> dict[str, Any]:
        fields: dict[str, Any] = msgspec.to_builtins(event)
        if type(event) not in _SENTENCES:
            # An event without a sentence is new: it is not decided which of its fields are public.
            return {name: fields[name] for name in ("event", "at")}
        match event:
            case e.LeagueCreated():
                self._seed_hex = fields["settings"].pop("seed_hex", None)
                fields["settings"]["seed_commitment"] = event.settings.seed_commitment
            case e.LeagueCompleted():
                fields["seed_hex"] = self._seed_hex
            case e.PlayerRegistered() | e.RefereeRegistered():
                for name in _SECRET if self._endpoints else (*_SECRET, *_PRIVATE):
                    fields.pop(name, None)
                    fields["meta"].pop(name, None)
            case e.RegistrationRefused():
                if not self._endpoints:
                    fields = {name: value for name, value in fields.items() if name not in ("endpoint", "address")}
                    fields["reason"] = remove_addresses(event.reason)
            case e.SeatsIssued():
                fields["seats"] = [name for name, _ in event.seats]
                # The names and e-mail addresses of people are for the operator only.
                fields.pop("people", None)
            case e.RefereeCodeSet() | e.TokenVoided():
                fields = {name: value for name, value in fields.items() if name not in _SECRET}
        return fields

    def as_text(self, event: e.Event) -> str:
        if isinstance(event, e.LeagueCreated):
            self._seed_hex = event.settings.seed_hex
            return f"{describe_event(event)}; the SHA-256 of its seed is {event.settings.seed_commitment}"
        seed = f"; its seed was {self._seed_hex}" if isinstance(event, e.LeagueCompleted) else ""
        text = f"{describe_event(event, self._known)}{seed}"
        if isinstance(event, e.PlayerRegistered | e.RefereeRegistered):
            self._known.add(registered_id(event))
        return text


def describe_event(event: e.Event, known: Collection[str] = ()) -> str:
    """An event as a sentence. ``known`` are the agents that had registered before it."""
    if isinstance(event, e.PlayerRegistered | e.RefereeRegistered) and registered_id(event) in known:
        return f"{registered_id(event)} is back: {event.meta.display_name}"
    describe = _SENTENCES.get(type(event))
    return type(event).__name__ if describe is None else describe(event)


def registered_id(event: e.PlayerRegistered | e.RefereeRegistered) -> str:
    return event.player_id if isinstance(event, e.PlayerRegistered) else event.referee_id


def add_player_names(text: str, names: Mapping[str, str]) -> str:
    """A text in which the name of each player precedes its id."""
    return PLAYER.sub(lambda found: f"{names[found[0]]} ({found[0]})" if found[0] in names else found[0], text)


def name_players_once(text: str, names: Mapping[str, str]) -> str:
    """A text in which the name of each player precedes the first mention of its id."""
    unnamed = {one: names[one] for one in PLAYER.findall(text) if one in names}

    def add_name(found: re.Match[str]) -> str:
        name = unnamed.pop(found[0], None)
        return found[0] if name is None else f"{name} ({found[0]})"

    return PLAYER.sub(add_name, text)


def describe_result(result: MatchResult) -> str:
    """The result of a match as a sentence, with the choices if each player made one."""
    (one, _), (other, _) = result.score.items()
    details = result.details
    loser = other if result.winner == one else one
    if details.status == "TECHNICAL_LOSS":
        ruling = f" ({details.ruling})" if details.ruling else ""
        if result.winner is None:
            return f"{one} and {other} both lose technically{ruling}"
        return f"{result.winner} wins, {loser} loses technically{ruling}"
    text = f"{one} and {other} draw" if result.winner is None else f"{result.winner} beats {loser}"
    choices = {player: choice for player, choice in details.choices.items() if choice is not None}
    if any("," in choice for choice in choices.values()):
        return text
    played = [f"{player} {choice}" for player, choice in choices.items()]
    if details.drawn_number:
        played.append(f"number {details.drawn_number}")
    return f"{text} ({'; '.join(played)})" if played else text


def _created(event: e.LeagueCreated) -> str:
    settings = event.settings
    how = settings.format or f"{settings.rounds} round-robin"
    return f"The league {settings.full_name} is created: {settings.game_type}, {how}"


def _issued(event: e.SeatsIssued) -> str:
    seats = " to ".join(dict.fromkeys((event.seats[0][0], event.seats[-1][0])))
    return f"The operator gives out {seats}{f' for {event.holder}' if event.holder else ''}"


def _started(event: e.LeagueStarted) -> str:
    if not event.rounds:
        return "The league starts"
    matches = sum(map(len, event.rounds))
    rounds = "1 round" if len(event.rounds) == 1 else f"{len(event.rounds)} rounds"
    return f"The league starts: {rounds}, {matches} {'match' if matches == 1 else 'matches'}"


def _drawn(event: e.RoundDrawn) -> str:
    matches = "1 match" if len(event.pairs) == 1 else f"{len(event.pairs)} matches"
    label = f" ({event.label})" if event.label not in ("", f"Round {event.round_id}") else ""
    byes = f"; {' and '.join(event.byes)} has a bye" if event.byes else ""
    return f"Round {event.round_id}{label} is drawn: {matches}{byes}"


def _forfeited(event: e.MatchForfeited) -> str:
    losers = " and ".join(event.losers)
    return f"{event.match_id}: lost by {losers} ({event.ruling}){_because(event.reason)}"


def _failures(event: e.FailuresCounted) -> str:
    if not event.in_a_row:
        return f"{event.player_id} answers"
    return f"{event.player_id} leaves calls unanswered, {event.in_a_row} in a row"


def _broken(event: e.RulesBroken) -> str:
    return f"{event.agent_id} broke rules, which is tolerated: {', '.join(one.rule for one in event.rules)}"


def _changed(event: e.SettingsChanged) -> str:
    changes = ", ".join(f"{name} = {value}" for name, value in event.settings.items())
    return f"The operator sets {changes}{_because(event.reason)}"


def _refused(event: e.RegistrationRefused) -> str:
    name, times = event.display_name or f"A {event.role} without a name", ""
    if event.count > 1:
        times = f" {event.count} times"
    return f"{name} tried to register as a {event.role}{times} and is refused: {event.reason} ({event.code})"


def _because(reason: str) -> str:
    return f": {reason}" if reason else ""


_SENTENCES: dict[type, Callable[[Any], str]] = {
    e.LeagueCreated: _created,
    e.PlayerRegistered: lambda event: f"{event.player_id} is registered: {event.meta.display_name}",
    e.RefereeRegistered: lambda event: f"{event.referee_id} is registered: {event.meta.display_name}",
    e.RegistrationRefused: _refused,
    e.SeatsIssued: _issued,
    e.SeatRevoked: lambda event: f"The seat {event.seat_id} is revoked",
    e.RefereeCodeSet: lambda _event: "Referees come in with a new code",
    e.TokenVoided: lambda event: f"The token of {event.agent_id} is void",
    e.RegistrationsClosed: lambda _event: "Registrations are closed",
    e.LeagueStarted: _started,
    e.RoundDrawn: _drawn,
    e.RoundAnnounced: lambda event: f"Round {event.round_id} is announced",
    e.MatchAssigned: lambda event: f"{event.match_id}: {event.referee_id} is given attempt {event.attempt}",
    e.ResultRecorded: lambda event: f"{event.match_id}: {describe_result(event.result)}, as {event.referee_id} reports",
    e.ResultFlagged: lambda event: f"{event.match_id}: for the operator to look at: {event.reason}",
    e.MatchForfeited: _forfeited,
    e.AttemptVoided: lambda event: f"{event.match_id}: attempt {event.attempt} is void{_because(event.reason)}",
    e.MatchHeld: lambda event: f"{event.match_id}: waits for the operator, too many attempts were void",
    e.RefereeLost: lambda event: f"{event.referee_id} is lost{_because(event.reason)}",
    e.RefereeReturned: lambda event: f"{event.referee_id} answers again",
    e.FailuresCounted: _failures,
    e.PlayerSuspended: lambda event: f"{event.player_id} is suspended",
    e.PlayerReturned: lambda event: f"{event.player_id} answers again",
    e.FormLearned: lambda event: f"{event.player_id} understands requests in the form {event.form}",
    e.RulesBroken: _broken,
    e.RoundCompleted: lambda event: f"Round {event.round_id} is over",
    e.LeagueCompleted: lambda event: f"The league is over{_because(event.reason.removesuffix('.'))}",
    e.LeaguePaused: lambda event: f"The operator pauses the league{_because(event.reason)}",
    e.LeagueResumed: lambda event: f"The operator lets the league go on{_because(event.reason)}",
    e.SettingsChanged: _changed,
    e.PlayerReadmitted: lambda event: f"{event.player_id} may come back{_because(event.reason)}",
    e.PlayerWithdrawn: lambda event: f"{event.player_id} is withdrawn from the league{_because(event.reason)}",
    e.PlayerDisqualified: lambda event: f"{event.player_id} is disqualified{_because(event.reason)}",
    e.MatchReplayed: lambda event: f"{event.match_id}: is to be played again{_because(event.reason)}",
    e.ResultCorrected: lambda event: (
        f"{event.match_id}: corrected by the operator, {describe_result(event.result)}{_because(event.reason)}"
    ),
}
