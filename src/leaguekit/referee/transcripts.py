"""What happened in a match, as its referee saw it: every message without its tokens, every failure, the ruling."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from leaguekit.protocol.messages import AgentAnswer, MatchTranscript, Message, Request, TranscriptEntry, message_type

# A little less than the manager takes, for the message around the entries.
MAX_BYTES = 255 * 1024
# A player may post as much as it likes; what is kept of it is the beginning and the end.
MAX_ENTRIES = 400
# Of a message that is none of those we know, so much is shown.
MAX_OF_MESSAGE = 200

What = Literal["sent", "received", "failed", "ruled"]


class WrittenTranscript(MatchTranscript, kw_only=True, tag="MATCH_TRANSCRIPT"):
    """A transcript whose entries are JSON: they are written once, for the manager and for the match's file."""

    entries: Raw  # type: ignore[assignment]


class _Noted(Struct):
    """A TranscriptEntry whose body is still a message."""

    seconds: float
    what: What
    player_id: str | UnsetType = UNSET
    message_type: str | UnsetType = UNSET
    body: Message | UnsetType = UNSET
    note: str | UnsetType = UNSET


class Transcript:
    """The transcript of one match, which began at ``began`` by that clock: when this was made, or later."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.began = clock()
        self._first: list[_Noted] = []
        self._last: deque[_Noted] = deque(maxlen=MAX_ENTRIES // 2)

    def add(
        self,
        what: What,
        player_id: str | UnsetType = UNSET,
        message: Message | None = None,
        note: str | UnsetType = UNSET,
    ) -> None:
        kind, body = (UNSET, UNSET) if message is None else (message_type(message), message)
        noted = _Noted(round(self._clock() - self.began, 3), what, player_id, kind, body, note)
        (self._first if len(self._first) < MAX_ENTRIES // 2 else self._last).append(noted)

    def entries(self) -> list[TranscriptEntry]:
        """What ``text`` has, to be looked at."""
        return msgspec.json.decode(self.text(), type=list[TranscriptEntry])

    def text(self, max_bytes: int = MAX_BYTES) -> Raw:
        """All of it as JSON, or its beginning and its end if it is longer than that."""
        entries = [*self._first, *self._last]
        for entry in entries:
            if isinstance(entry.body, Request | AgentAnswer):
                # A copy: the message may be on its way, with its token.
                entry.body = structs.replace(entry.body, auth_token=UNSET)
        text = msgspec.json.encode(entries)
        if len(text) >= max_bytes:
            text = msgspec.json.encode(_ends(entries, max_bytes))
        return Raw(text)


def _ends(entries: list[_Noted], max_bytes: int) -> list[_Noted]:
    """The beginning and the end of a transcript that is too long."""
    sizes = [len(msgspec.json.encode(entry)) + 1 for entry in entries]
    first, last, room = 0, len(entries), max_bytes - 1_000
    while first < last:
        # In turns from both ends, until the next would not fit.
        at_front = first <= len(entries) - last
        room -= sizes[first] if at_front else sizes[last - 1]
        if room < 0:
            break
        first, last = (first + 1, last) if at_front else (first, last - 1)
    left_out = f"{last - first} entries are left out here: the transcript would have been too long."
    return [*entries[:first], _Noted(entries[first].seconds, "failed", note=left_out), *entries[last:]]


def describe_message(kind: str, body: dict[str, Any]) -> str:
    """A message in words; it may be anybody's, so nothing in it is sure."""
    tell = _WORDS.get(kind)
    if tell is not None:
        return tell(body)
    if kind.endswith("_ACK"):
        return ""
    text = msgspec.json.encode(body).decode()
    return text if len(text) <= MAX_OF_MESSAGE else f"{text[:MAX_OF_MESSAGE]}…"


def _call(body: dict[str, Any]) -> str:
    request, context = _inner(body, "move_request"), _inner(body, "context")
    asked = f"{request.get('move_type')}, one of {_json(request.get('valid_options'))}" if request else "even or odd?"
    committed = str(context.get("draw_commitment", ""))
    return f"{asked} until {body.get('deadline')}" + (f"; draw committed to as {committed[:12]}…" if committed else "")


def _error(body: dict[str, Any]) -> str:
    detail = _inner(body, "context").get("detail")
    return f"{body.get('error_code')} {body.get('error_name')}: {detail} {body.get('consequence', '')}".rstrip()


def _origin(body: dict[str, Any]) -> str:
    """Where a move came from, as its player states; nothing for its own."""
    info = _inner(body, "move_info")
    origin, reason = info.get("origin"), info.get("reason")
    if origin not in ("retried", "replaced"):
        return ""
    return f" (by its own statement {origin}: {reason})" if reason else f" (by its own statement {origin})"


_WORDS: dict[str, Callable[[dict[str, Any]], str]] = {
    "GAME_INVITATION": lambda body: f"you are {body.get('role_in_match')} against {body.get('opponent_id')}",
    "GAME_JOIN_ACK": lambda body: "accepted" if body.get("accept") is True else "declined",
    "CHOOSE_PARITY_CALL": _call,
    "CHOOSE_PARITY_RESPONSE": lambda body: f"{_json(body.get('parity_choice'))}{_origin(body)}",
    "GAME_MOVE_CALL": _call,
    "GAME_MOVE_RESPONSE": lambda body: f"{_json(body.get('move_data'))}{_origin(body)}",
    "GAME_ERROR": _error,
    "GAME_OVER": lambda body: str(body.get("reason", "")),
}


def _inner(body: dict[str, Any], name: str) -> dict[str, Any]:
    inner = body.get(name)
    return inner if isinstance(inner, dict) else {}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
