"""What happened in a match, as its referee saw it: every message without its tokens, every failure, the ruling."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from leaguekit.protocol.messages import Message, TranscriptEntry, message_type

# A little less than the manager takes, for the message around the entries.
MOST_BYTES = 255 * 1024
# A player may post as much as it likes; what is kept of it is the beginning and the end.
MOST_ENTRIES = 400
# Of a message that is none of those we know, so much is shown.
MOST_OF_MESSAGE = 200

What = Literal["sent", "received", "failed", "ruled"]


class _Noted(NamedTuple):
    seconds: float
    what: What
    player_id: str | UnsetType
    message: Message | None
    note: str | UnsetType


class Transcript:
    """The transcript of one match; ``clock`` gives the seconds since it began."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._first: list[_Noted] = []
        self._last: deque[_Noted] = deque(maxlen=MOST_ENTRIES // 2)

    def add(
        self,
        what: What,
        player_id: str | UnsetType = UNSET,
        message: Message | None = None,
        note: str | UnsetType = UNSET,
    ) -> None:
        noted = _Noted(self._clock(), what, player_id, message, note)
        (self._first if len(self._first) < MOST_ENTRIES // 2 else self._last).append(noted)

    def entries(self, most_bytes: int = MOST_BYTES) -> list[TranscriptEntry]:
        """All of it, or its beginning and its end if it is longer than that."""
        entries = [_entry(noted) for noted in (*self._first, *self._last)]
        if len(msgspec.json.encode(entries)) < most_bytes:
            return entries
        sizes = [len(msgspec.json.encode(entry)) + 1 for entry in entries]
        first, last, room = 0, len(entries), most_bytes - 1_000
        while first < last:
            # In turns from both ends, until the next would not fit.
            at_front = first <= len(entries) - last
            room -= sizes[first] if at_front else sizes[last - 1]
            if room < 0:
                break
            first, last = (first + 1, last) if at_front else (first, last - 1)
        left_out = TranscriptEntry(
            seconds=entries[first].seconds,
            what="failed",
            note=f"{last - first} entries are left out here: the transcript would have been too long.",
        )
        return [*entries[:first], left_out, *entries[last:]]


def _entry(noted: _Noted) -> TranscriptEntry:
    entry = TranscriptEntry(
        seconds=round(noted.seconds, 3), what=noted.what, player_id=noted.player_id, note=noted.note
    )
    if noted.message is not None:
        body = msgspec.to_builtins(noted.message)
        body.pop("auth_token", None)
        entry.message_type, entry.body = message_type(noted.message), body
    return entry


def in_words(kind: str, body: dict[str, Any]) -> str:
    """A message in words; it may be anybody's, so nothing in it is sure."""
    tell = _WORDS.get(kind)
    if tell is not None:
        return tell(body)
    if kind.endswith("_ACK"):
        return ""
    text = msgspec.json.encode(body).decode()
    return text if len(text) <= MOST_OF_MESSAGE else f"{text[:MOST_OF_MESSAGE]}…"


def _call(body: dict[str, Any]) -> str:
    request, context = _inner(body, "move_request"), _inner(body, "context")
    asked = f"{request.get('move_type')}, one of {_json(request.get('valid_options'))}" if request else "even or odd?"
    committed = str(context.get("draw_commitment", ""))
    return f"{asked} until {body.get('deadline')}" + (f"; draw committed to as {committed[:12]}…" if committed else "")


def _error(body: dict[str, Any]) -> str:
    detail = _inner(body, "context").get("detail")
    return f"{body.get('error_code')} {body.get('error_name')}: {detail} {body.get('consequence', '')}".rstrip()


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "GAME_INVITATION": lambda body: f"you are {body.get('role_in_match')} against {body.get('opponent_id')}",
    "GAME_JOIN_ACK": lambda body: "accepted" if body.get("accept") is True else "declined",
    "CHOOSE_PARITY_CALL": _call,
    "CHOOSE_PARITY_RESPONSE": lambda body: _json(body.get("parity_choice")),
    "GAME_MOVE_CALL": _call,
    "GAME_MOVE_RESPONSE": lambda body: _json(body.get("move_data")),
    "GAME_ERROR": _error,
    "GAME_OVER": lambda body: str(body.get("reason", "")),
}


def _inner(body: dict[str, Any], name: str) -> dict[str, Any]:
    inner = body.get(name)
    return inner if isinstance(inner, dict) else {}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
