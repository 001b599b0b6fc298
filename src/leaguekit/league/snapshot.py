"""A league's state as bytes, so that a start need not fold every event again. The log has everything without it.

A snapshot begins with a line that says which program wrote it, the number of the last event in it, and a checksum. Only
the release that wrote a snapshot reads it, for another may fold the same events differently.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any, get_type_hints

import msgspec
from msgspec import Raw, Struct

from leaguekit import __version__
from leaguekit.league.records import Match
from leaguekit.league.standings import Row, Table
from leaguekit.league.state import League

# To be raised when the state or its fold changes between two releases.
FORMAT = 1
_WRITER = f"leaguekit-{__version__}-{FORMAT}"

# Everything that a league consists of; of the table the rows are enough, and matches are saved round by round.
_FIELDS: dict[str, Any] = {
    name: kind for name, kind in get_type_hints(League).items() if name not in ("table", "matches")
}
_State = msgspec.defstruct("_State", [*_FIELDS.items(), ("rows", list[Row]), ("matches", list[Raw])], array_like=True)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_State)
_matches = msgspec.msgpack.Decoder(list[Match])
_TEXTS_OF_MATCH = ("id", "a", "b", "planned", "referee_id", "assigned_at", "ended_at")
_TEXTS_OF_OUTCOME = ("choice_a", "choice_b", "ruling")


class BadSnapshot(Exception):
    """A snapshot is damaged, or another program's; the text says which."""


def save(league: League, number: int) -> bytes:
    """A created league after the events up to a number."""
    fields = {name: getattr(league, name) for name in _FIELDS}
    rows = list(league.table.rows.values())
    matches = [Raw(_encoder.encode([league.matches[name] for name in round_.matches])) for round_ in league.rounds]
    state = _encoder.encode(_State(**fields, rows=rows, matches=matches))
    return b"%b %d %d\n%b" % (_WRITER.encode(), number, _checksum(number, state), state)


def restore(snapshot: bytes) -> tuple[League, int]:
    """The league that was saved, and the number of the last event in it. Raises BadSnapshot."""
    head, _, state = snapshot.partition(b"\n")
    writer, number, checksum = _read_head(head)
    if writer != _WRITER:
        raise BadSnapshot(f"it was written by {writer}, and this is {_WRITER}")
    if checksum != _checksum(number, state):
        raise BadSnapshot("it is damaged: its checksum does not fit")
    try:
        return _decoded(state), number
    except (msgspec.MsgspecError, LookupError) as error:
        raise BadSnapshot(f"it does not hold a league: {error}") from error


def _checksum(number: int, state: bytes) -> int:
    return zlib.crc32(state, number)


def _read_head(head: bytes) -> tuple[str, int, int]:
    try:
        writer, number, checksum = head.decode().split(" ")
        return writer, int(number), int(checksum)
    except ValueError:
        raise BadSnapshot("it does not begin like a snapshot") from None


def _decoded(state: bytes) -> League:
    saved: Any = _decoder.decode(state)
    league = League()
    for name in _FIELDS:
        setattr(league, name, getattr(saved, name))
    league.table = Table(league.settings.tie_breaks, saved.rows)
    _put_matches(league, saved.matches)
    return league


def _put_matches(league: League, matches: list[Raw]) -> None:
    """Decode the matches, and let equal texts be the same object again wherever there are many."""
    texts: dict[str, str] = {}
    for round_, saved in zip(league.rounds, matches, strict=False):
        for match in _matches.decode(saved):
            _share(match, _TEXTS_OF_MATCH, texts)
            if match.outcome is not None:
                _share(match.outcome, _TEXTS_OF_OUTCOME, texts)
            league.matches[match.id] = match
        round_.matches = [texts[name] for name in round_.matches]
    for player in league.players.values():
        player.todo = dict.fromkeys(texts[name] for name in player.todo)
    for row in league.table.rows.values():
        row.against = {texts[name]: points for name, points in row.against.items()}


def _share(record: Struct, fields: Iterable[str], texts: dict[str, str]) -> None:
    for name in fields:
        if (text := getattr(record, name)) is not None:
            setattr(record, name, texts.setdefault(text, text))
