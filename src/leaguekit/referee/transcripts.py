"""The transcript of a match as its referee saw it: all messages without tokens, all failures, and the ruling."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType, structs

from leaguekit.match.move_messages import BY_RESPONSE, CALL_TYPES, DOCUMENTED_QUESTION
from leaguekit.protocol.messages import AgentAnswer, MatchTranscript, Message, Request, TranscriptEntry, message_type
from leaguekit.protocol.tokens import redact

# A little less than the manager accepts, because the entries are part of a message.
MAX_BYTES = 1023 * 1024
# The first and the last entries are kept. A player can post any number of messages.
MAX_ENTRIES = 400
# The displayed length of a message of an unknown type.
MAX_MESSAGE_CHARACTERS = 200

# The maximum size of what was really sent or received. A token that begins within it ends within some more bytes.
MAX_WIRE_BYTES = 2_048
_MAX_TOKEN_BYTES = 512
# The value of an auth_token, also in JSON within a text.
_AUTH_TOKEN = re.compile(r'(auth_token\\*"\s*:\s*\\*")[^"\\]*')

EntryKind = Literal["sent", "received", "failed", "ruled"]


class WrittenTranscript(MatchTranscript, kw_only=True, tag="MATCH_TRANSCRIPT"):
    """A transcript whose entries are JSON. They are encoded once, for the manager and for the match's file."""

    entries: Raw  # type: ignore[assignment]


class _Entry(Struct):
    """A TranscriptEntry whose body is not encoded yet."""

    seconds: float
    what: EntryKind
    player_id: str | UnsetType = UNSET
    message_type: str | UnsetType = UNSET
    body: Message | UnsetType = UNSET
    note: str | UnsetType = UNSET
    wire: str | UnsetType = UNSET


class Transcript:
    """The transcript of one match. ``began`` is the time of its start by ``clock``."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.began = clock()
        self._first: list[_Entry] = []
        self._last: deque[_Entry] = deque(maxlen=MAX_ENTRIES // 2)

    def add(
        self,
        what: EntryKind,
        player_id: str | UnsetType = UNSET,
        message: Message | None = None,
        note: str | UnsetType = UNSET,
        wire: bytes = b"",
    ) -> None:
        """Add an entry. ``wire`` is what was really sent or received, if the message does not say it."""
        kind, body = (UNSET, UNSET) if message is None else (message_type(message), message)
        text = _shorten_wire(wire) if wire else UNSET
        entry = _Entry(round(self._clock() - self.began, 3), what, player_id, kind, body, note, text)
        (self._first if len(self._first) < MAX_ENTRIES // 2 else self._last).append(entry)

    def entries(self) -> list[TranscriptEntry]:
        """The entries of ``text``, decoded."""
        return msgspec.json.decode(self.text(), type=list[TranscriptEntry])

    def text(self, max_bytes: int = MAX_BYTES) -> Raw:
        """The transcript as JSON. If it is longer than ``max_bytes``, the entries in the middle are left out."""
        entries = [*self._first, *self._last]
        for entry in entries:
            if isinstance(entry.body, Request | AgentAnswer):
                # This is a copy. The message itself may be about to be sent, with its token.
                entry.body = structs.replace(entry.body, auth_token=UNSET)
        text = msgspec.json.encode(entries)
        if len(text) >= max_bytes:
            text = msgspec.json.encode(_without_middle(entries, max_bytes))
        return Raw(text)


def redact_wire(text: str) -> str:
    """What was sent or received, without tokens."""
    return redact(_AUTH_TOKEN.sub("\\1…", text))


def _shorten_wire(wire: bytes) -> str:
    """The beginning of a body, without tokens."""
    text = redact_wire(wire[: MAX_WIRE_BYTES + _MAX_TOKEN_BYTES].decode(errors="replace"))
    shown = text.encode()[:MAX_WIRE_BYTES].decode(errors="ignore")
    return text if shown == text else f"{shown}…"


def _without_middle(entries: list[_Entry], max_bytes: int) -> list[_Entry]:
    """The beginning and the end of a transcript that is too long."""
    sizes = [len(msgspec.json.encode(entry)) + 1 for entry in entries]
    first, last, remaining = 0, len(entries), max_bytes - 1_000
    while first < last:
        # Entries are taken from both ends in turn, until the next one does not fit.
        at_front = first <= len(entries) - last
        remaining -= sizes[first] if at_front else sizes[last - 1]
        if remaining < 0:
            break
        first, last = (first + 1, last) if at_front else (first, last - 1)
    left_out = f"{last - first} entries are left out here: the transcript would have been too long."
    return [*entries[:first], _Entry(entries[first].seconds, "failed", note=left_out), *entries[last:]]


def describe_message(kind: str, body: dict[str, Any]) -> str:
    """A message as a short text. The message may come from any program, so every field may be missing or wrong."""
    describe = _DESCRIPTIONS.get(kind)
    if describe is not None:
        return describe(body)
    if kind.endswith("_ACK"):
        return ""
    text = msgspec.json.encode(body).decode()
    return text if len(text) <= MAX_MESSAGE_CHARACTERS else f"{text[:MAX_MESSAGE_CHARACTERS]}…"


def _describe_call(body: dict[str, Any]) -> str:
    request, context = _object_in(body, "move_request"), _object_in(body, "context")
    asked = f"{' or '.join(DOCUMENTED_QUESTION.valid_options)}?"
    if request:
        asked = f"{request.get('move_type')}, one of {_json(request.get('valid_options'))}"
    committed = str(context.get("draw_commitment", ""))
    return f"{asked} until {body.get('deadline')}" + (f"; draw committed to as {committed[:12]}…" if committed else "")


def _describe_error(body: dict[str, Any]) -> str:
    detail = _object_in(body, "context").get("detail")
    return f"{body.get('error_code')} {body.get('error_name')}: {detail} {body.get('consequence', '')}".rstrip()


def _describe_move(field: str, body: dict[str, Any]) -> str:
    return f"{_json(body.get(field))}{_describe_origin(body)}"


def _describe_origin(body: dict[str, Any]) -> str:
    """The origin of a move, as its player states it. Empty for the strategy's own move."""
    info = _object_in(body, "move_info")
    origin, reason = info.get("origin"), info.get("reason")
    if origin not in ("retried", "replaced"):
        return ""
    return f" (by its own statement {origin}: {reason})" if reason else f" (by its own statement {origin})"


_DESCRIPTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "GAME_INVITATION": lambda body: f"you are {body.get('role_in_match')} against {body.get('opponent_id')}",
    "GAME_JOIN_ACK": lambda body: "accepted" if body.get("accept") is True else "declined",
    **dict.fromkeys(CALL_TYPES, _describe_call),
    **{message_type(kind): partial(_describe_move, messages.field) for kind, messages in BY_RESPONSE.items()},
    "GAME_ERROR": _describe_error,
    "GAME_OVER": lambda body: str(body.get("reason", "")),
}


def _object_in(body: dict[str, Any], name: str) -> dict[str, Any]:
    inner = body.get(name)
    return inner if isinstance(inner, dict) else {}


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
