"""What programs insist on in a message that they have read, and the HTTP status by which each says what is lacking."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tests.zoo.dialects.forms import ENVELOPE, MATCH_KINDS, Json, Understood


class Lacking(NamedTuple):
    """What a message lacks, and how the program that wants it refuses the message."""

    what: str
    status: int


_EXACT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_REFEREES = ("referee:REF01", "referee:REF02")
# The object in a message that repeats the message's own fields, and which.
_NESTED = {
    "GAME_INVITATION": (
        "game_invitation",
        ("league_id", "round_id", "match_id", "game_type", "role_in_match", "opponent_id"),
    ),
    "CHOOSE_PARITY_CALL": (
        "parity_context",
        ("match_id", "player_id", "game_type", "context", "deadline", "opponent_id", "round_id", "your_standings"),
    ),
}


def _envelope(_kind: str, message: Json) -> bool:
    return all(_text(message.get(name)) for name in ENVELOPE)


def _conversation_id(_kind: str, message: Json) -> bool:
    return _text(message.get("conversation_id"))


def _timestamp(_kind: str, message: Json) -> bool:
    return _EXACT.fullmatch(str(message.get("timestamp"))) is not None


def _token(_kind: str, message: Json) -> bool:
    return _text(message.get("auth_token"))


def _sender(kind: str, message: Json) -> bool:
    return message.get("sender") in (_REFEREES if kind in MATCH_KINDS else ("league_manager:LM01",))


def _player_id(kind: str, message: Json) -> bool:
    return kind != "GAME_INVITATION" or _text(message.get("player_id"))


def _league_and_round(kind: str, message: Json) -> bool:
    return kind not in MATCH_KINDS or (_text(message.get("league_id")) and type(message.get("round_id")) is int)


def _nested(kind: str, message: Json) -> bool:
    name, fields = _NESTED.get(kind, ("", ()))
    inner = message.get(name)
    return not name or (isinstance(inner, dict) and all(field in inner for field in fields))


def _text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


_CHECKS: dict[str, tuple[Callable[[str, Json], bool], Lacking]] = {
    "insists-envelope": (_envelope, Lacking("five envelope fields", 422)),
    "insists-conversation_id": (_conversation_id, Lacking("conversation_id", 400)),
    "insists-timestamp": (_timestamp, Lacking("exact timestamp", 400)),
    "insists-token": (_token, Lacking("auth_token", 401)),
    "insists-senders": (_sender, Lacking("known sender", 401)),
    "insists-player_id": (_player_id, Lacking("player_id", 500)),
    "insists-league-and-round": (_league_and_round, Lacking("league_id and round_id", 500)),
    "insists-nested": (_nested, Lacking("nested fields", 422)),
}


def lacking(traits: frozenset[str], read: Understood) -> Lacking | None:
    """The first thing that a program with these traits wants of a message and does not find."""
    return next(
        (lack for trait, (kept, lack) in _CHECKS.items() if trait in traits and not kept(read.kind, read.message)), None
    )
