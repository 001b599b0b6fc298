"""Snapshots: the state of a league as bytes, so that a manager need not apply all events at its start.

A snapshot has no information that is not in the log. It begins with a line: the program that wrote it, the number of
the last event in it, and a checksum. Only the release that wrote a snapshot reads it, because another release may apply
the same events differently. The league without its matches follows the line, and then the matches of each round.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from functools import reduce
from typing import Any, get_type_hints

import msgspec
from msgspec import Struct

from leaguekit import __version__
from leaguekit.league.records import Match
from leaguekit.league.standings import Row
from leaguekit.league.state import League

# Increase it when the state, or the way in which events change it, differs from the previous release.
FORMAT = 7
_WRITER = f"leaguekit-{__version__}-{FORMAT}"

# The fields of a league. Instead of the table, its rows are stored. The matches are stored apart.
_FIELDS: dict[str, Any] = {
    name: kind for name, kind in get_type_hints(League).items() if name not in ("table", "matches")
}
_MORE: list[tuple[str, Any]] = [("rows", list[Row]), ("ranking", list[str]), ("lengths", list[int])]
_State = msgspec.defstruct("_State", [*_FIELDS.items(), *_MORE], array_like=True)
_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(_State)
_matches = msgspec.msgpack.Decoder(list[Match])
_MAX_HEAD_BYTES = 200
_TEXTS_OF_MATCH = ("id", "a", "b", "planned", "referee_id", "assigned_at", "ended_at")
_TEXTS_OF_OUTCOME = ("choice_a", "choice_b", "ruling")


class BadSnapshot(Exception):
    """A snapshot is damaged, or was written by another release; the text says which."""


def save(league: League, number: int) -> bytes:
    """A snapshot of a league after the event with this number. The league must be created."""
    matches = [_encoder.encode([league.matches[name] for name in round_.matches]) for round_ in league.rounds]
    fields = {name: getattr(league, name) for name in _FIELDS}
    rows = list(league.table.rows.values())
    lengths = [len(one) for one in matches]
    state = _encoder.encode(_State(**fields, rows=rows, ranking=league.table.ranking, lengths=lengths))
    head = f"{_WRITER} {number} {len(state)} {_checksum(number, [state, *matches])}\n"
    return b"".join([head.encode(), state, *matches])


def restore(snapshot: bytes) -> tuple[League, int]:
    """The league in a snapshot, and the number of the last event in it. Raises BadSnapshot."""
    head, _, _ = snapshot[:_MAX_HEAD_BYTES].partition(b"\n")
    number, length, checksum = _read_head(head)
    body = memoryview(snapshot)[len(head) + 1 :]
    if checksum != _checksum(number, [body]):
        raise BadSnapshot("it is damaged: its checksum does not fit")
    try:
        return _decode(body[:length], body[length:]), number
    except (msgspec.MsgspecError, LookupError) as error:
        raise BadSnapshot(f"it does not hold a league: {error}") from error


def _checksum(number: int, pieces: Iterable[bytes | memoryview]) -> int:
    return reduce(lambda checksum, piece: zlib.crc32(piece, checksum), pieces, number)


def _read_head(head: bytes) -> tuple[int, int, int]:
    writer, *numbers = head.decode(errors="replace").split(" ")
    if writer != _WRITER:
        raise BadSnapshot(f"it was written by {writer!r}, and this is {_WRITER}")
    try:
        number, length, checksum = map(int, numbers)
    except ValueError:
        raise BadSnapshot("it is damaged: its first line says too little") from None
    return number, length, checksum


def _decode(state: memoryview, matches: memoryview) -> League:
    saved: Any = _decoder.decode(state)
    league = League()
    for name in _FIELDS:
        setattr(league, name, getattr(saved, name))
    league.table = league.new_table(saved.rows)
    league.table.ranking = saved.ranking
    # Equal texts become the same object again, as in the original state.
    texts: dict[str, str] = {}
    for round_, length in zip(league.rounds, saved.lengths, strict=False):
        for match in _matches.decode(matches[:length]):
            _share_texts(match, _TEXTS_OF_MATCH, texts)
            if match.outcome is not None:
                _share_texts(match.outcome, _TEXTS_OF_OUTCOME, texts)
            league.matches[match.id] = match
        round_.matches = [texts[name] for name in round_.matches]
        matches = matches[length:]
    for player in league.players.values():
        player.unplayed = dict.fromkeys(texts[name] for name in player.unplayed)
    for row in league.table.rows.values():
        row.against = {texts[name]: points for name, points in row.against.items()}
    return league


def _share_texts(record: Struct, fields: Iterable[str], texts: dict[str, str]) -> None:
    for name in fields:
        if (text := getattr(record, name)) is not None:
            setattr(record, name, texts.setdefault(text, text))
