"""A match in words: why it ended as it did, and what its referee and its players said to each other.

What agents wrote is quoted as it is, and nothing in it is sure: who shows it makes it harmless.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from leaguekit.games import game
from leaguekit.games.base import last_position
from leaguekit.league.records import Match
from leaguekit.league.telling import outcome
from leaguekit.match.rulings import RULINGS, Ruling, sentence
from leaguekit.protocol.messages import TranscriptEntry

# Of a message that is none of those we know.
MOST_OF_MESSAGE = 200


class Replay(NamedTuple):
    """A match played again: the public's view of its last position, and why it ended so."""

    view: dict[str, Any]
    reason: str


def replay(game_type: str, match: Match) -> Replay | None:
    """A match that was played out, by its choices; None where they do not tell, or no such thing happened."""
    ended = match.outcome
    if ended is None or ended.status == "TECHNICAL_LOSS":
        return None
    rules = game(game_type)
    try:
        last = last_position(rules, ended.drawn_number, {"A": ended.choice_a, "B": ended.choice_b})
    except ValueError:
        # The operator settled it, or a foreign referee told less than it knew.
        return None
    found = None if last is None else rules.outcome(last)
    if found is None:
        return None
    return Replay(rules.view(last, None), found.reason.replace("{A}", match.a).replace("{B}", match.b))


def reason(game_type: str, match: Match) -> str:
    """Why a match ended as it did; empty if it has not."""
    result = match.result
    if result is None:
        return ""
    if (played := replay(game_type, match)) is not None:
        return played.reason
    ruling = result.details.ruling
    if result.winner is not None and ruling in list(Ruling) and RULINGS[Ruling(ruling)].status == "TECHNICAL_LOSS":
        return sentence(Ruling(ruling), match.opponent_of(result.winner))
    return outcome(result)


def entry_in_words(entry: TranscriptEntry) -> str:
    """A line of a transcript: to or from whom, and what."""
    who = "" if entry.player_id is UNSET else entry.player_id
    way = {"sent": f"to   {who}", "received": f"from {who}", "failed": f"with {who}" if who else ""}.get(entry.what, "")
    said = [] if entry.note is UNSET else [entry.note]
    if entry.message_type is not UNSET:
        words = message_in_words(entry.message_type, entry.body or {})
        said = [f"{entry.message_type}: {words}".removesuffix(": "), *said]
    what = {"failed": "failed ", "ruled": "ruled "}.get(entry.what, "")
    return f"{way:10} {what}{'; '.join(said)}".rstrip()


def message_in_words(kind: str, body: dict[str, Any]) -> str:
    """A message in words; it may be anybody's, so nothing in it is sure."""
    in_words = _WORDS.get(kind)
    if in_words is not None:
        return in_words(body)
    if kind.endswith("_ACK"):
        return ""
    text = quoted(body)
    return text if len(text) <= MOST_OF_MESSAGE else f"{text[:MOST_OF_MESSAGE]}…"


def quoted(value: object) -> str:
    """Any JSON value as it would stand in a message."""
    return msgspec.json.encode(value).decode()


def _call(body: dict[str, Any]) -> str:
    request, context = _inner(body, "move_request"), _inner(body, "context")
    asked = f"{request.get('move_type')}, one of {quoted(request.get('valid_options'))}" if request else "even or odd?"
    committed = str(context.get("draw_commitment", ""))
    return f"{asked} until {body.get('deadline')}" + (f"; draw committed to as {committed[:12]}…" if committed else "")


def _error(body: dict[str, Any]) -> str:
    detail = _inner(body, "context").get("detail")
    return f"{body.get('error_code')} {body.get('error_name')}: {detail} {body.get('consequence', '')}".rstrip()


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "GAME_INVITATION": lambda body: f"you are {body.get('role_in_match')} against {body.get('opponent_id')}",
    "GAME_JOIN_ACK": lambda body: "accepted" if body.get("accept") is True else "declined",
    "CHOOSE_PARITY_CALL": _call,
    "CHOOSE_PARITY_RESPONSE": lambda body: quoted(body.get("parity_choice")),
    "GAME_MOVE_CALL": _call,
    "GAME_MOVE_RESPONSE": lambda body: quoted(body.get("move_data")),
    "GAME_ERROR": _error,
    "GAME_OVER": lambda body: str(body.get("reason", "")),
}


def _inner(body: dict[str, Any], name: str) -> dict[str, Any]:
    inner = body.get(name)
    return inner if isinstance(inner, dict) else {}
