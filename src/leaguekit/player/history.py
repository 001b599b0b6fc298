"""A player's memory: every match that it has played, in a file that only its owner reads, one JSON object a line.

It is for strategies, and no match waits for the disk: a killed process loses nothing, a power cut perhaps the last
matches.
"""

from __future__ import annotations

import logging
from pathlib import Path

import msgspec

from leaguekit.player.context import PastMatch
from leaguekit.store.disk import Files

log = logging.getLogger(__name__)

_decoder = msgspec.json.Decoder(PastMatch)


def remember(matches: dict[str, PastMatch], past: PastMatch) -> None:
    """Add a match to those so far; one that was played again stands where it was played last."""
    matches.pop(past.match_id, None)
    matches[past.match_id] = past


class DialectMemory:
    """The file, and the ``matches`` that an earlier run left in it; raises StoreError if it cannot be written."""

    def __init__(self, path: Path, files: Files, came_back: bool) -> None:
        """Who has not been in this league before remembers nothing of it."""
        self._path = path
        self.matches: dict[str, PastMatch] = {}
        for past in _read((files.read(path) or b"") if came_back else b""):
            remember(self.matches, past)
        self._file = files.grow(path, kept=b"".join(map(_line, self.matches.values())))
        self._failed = False

    def add(self, past: PastMatch) -> None:
        """Write a match down, as well as that can be done."""
        try:
            self._file.write(_line(past))
        except OSError as error:
            if not self._failed:
                log.warning("%s cannot be written: %s.", self._path, error.strerror)
            self._failed = True

    def close(self) -> None:
        self._file.close()


def _line(past: PastMatch) -> bytes:
    return msgspec.json.encode(past) + b"\n"


def _read(content: bytes) -> list[PastMatch]:
    """The matches in a file, up to a line that was torn."""
    matches = []
    for line in content.splitlines():
        try:
            matches.append(_decoder.decode(line))
        except (msgspec.DecodeError, UnicodeDecodeError):
            break
    return matches
