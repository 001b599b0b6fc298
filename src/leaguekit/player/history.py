"""The matches that a player has played, and the two files that contain them.

``history.jsonl`` is the player's own log. It is read after a restart, and only its owner reads it. ``history.json`` is
for people and their tools.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents.identity import UNNAMED_LEAGUE, Identity
from leaguekit.agents.world import World
from leaguekit.player.context import PastMatch, UsageReporter, record_of
from leaguekit.player.definition import PlayerDefinition
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.messages import OwnRecord
from leaguekit.store.base import StoreError
from leaguekit.store.disk import AppendFile, Files
from leaguekit.store.json_files import JsonPaths, JsonWriter, MirroredJson

log = logging.getLogger(__name__)

# A match is in ``history.json`` within a second.
MAX_WRITES_PER_SECOND = 1.1

_decoder = msgspec.json.Decoder(PastMatch)


class HistoryFile(Struct, kw_only=True):
    """The content of ``history.json``."""

    player_id: str
    league_id: str | None
    # When the player first registered in that league.
    joined_at: str
    display_name: str
    record: OwnRecord
    matches: list[PastMatch]
    # The player's own row of the final table and the champion, once the league is over.
    final: dict[str, Any] | None = None
    # What the strategy has used, if it reports that.
    account: dict[str, Any] | UnsetType = UNSET


class MatchHistory:
    """The past matches of a player in one league, kept in both files. ``final`` is set at the league's end.

    No match waits for the disk: a killed process loses nothing, and a power failure may lose the last matches.
    """

    def __init__(self, player: PlayerDefinition, world: World) -> None:
        self.matches: dict[str, PastMatch] = {}
        self.final: dict[str, Any] | None = None
        self._player = player
        self._world = world
        self._log: AppendFile | None = None
        self._log_path: Path | None = None
        self._log_failed = False
        self._json_paths = JsonPaths(world.data_root)
        self._writer = JsonWriter(MAX_WRITES_PER_SECOND, files=world.files, inline=world.inline, stretch=False)
        # The player whose ``history.json`` waits to be written. Its content is made when it is written.
        self._to_write: str | None = None

    async def open_log(self, path: Path, *, came_back: bool) -> None:
        """Load the matches of an earlier run, unless that has been done.

        If the player has not come back to this league, the file is of another league, and is emptied.
        """
        if self._log is not None:
            return
        self._log_path = path
        try:
            self.matches, self._log = await self._world.blocking(_open_log, path, self._world.files, came_back)
        except StoreError as error:
            log.warning("%s", error)

    def add(self, past: PastMatch) -> bool:
        """Add a match, or replace it if it was played again. Returns False if it is known already."""
        if self.matches.get(past.match_id) == past:
            return False
        _put_last(self.matches, past)
        if self._log is not None:
            try:
                self._log.write(_line(past))
            except OSError as error:
                if not self._log_failed:
                    log.warning("%s cannot be written: %s.", self._log_path, error.strerror)
                self._log_failed = True
        return True

    def write(self, identity: Identity, league_id: str | None) -> None:
        """Write ``history.json`` in the background."""
        if self._to_write != identity.agent_id:
            self._to_write = identity.agent_id
            path = self._json_paths.history(league_id or UNNAMED_LEAGUE, identity.agent_id)
            self._writer.renew(path, lambda: self._make_history(identity, league_id))

    async def close(self) -> None:
        """Write what still has to be written."""
        await self._writer.close()
        if self._log is not None:
            self._log.close()

    def _make_history(self, identity: Identity, league_id: str | None) -> MirroredJson:
        self._to_write = None
        matches = [*self.matches.values()]
        strategy: object = self._player.strategy
        content = HistoryFile(
            player_id=identity.agent_id,
            league_id=league_id,
            joined_at=identity.joined_at,
            display_name=self._player.name,
            record=record_of(matches),
            matches=matches,
            final=self.final,
            account=strategy.account() if isinstance(strategy, UsageReporter) else UNSET,
        )
        return MirroredJson(content, self._json_paths.newest_history(identity.agent_id), identity.joined_at, league_id)


def _open_log(path: Path, files: Files, came_back: bool) -> tuple[dict[str, PastMatch], AppendFile]:
    """The matches in a log, and the log. Raises StoreError if the file cannot be written."""
    matches: dict[str, PastMatch] = {}
    for past in _read((files.read(path) or b"") if came_back else b""):
        _put_last(matches, past)
    return matches, files.open_to_append(path, b"".join(map(_line, matches.values())))


def _put_last(matches: dict[str, PastMatch], past: PastMatch) -> None:
    """Add a match at the end, even if it was played before."""
    matches.pop(past.match_id, None)
    matches[past.match_id] = past


def _line(past: PastMatch) -> bytes:
    return msgspec.json.encode(past) + b"\n"


def _read(content: bytes) -> list[PastMatch]:
    """The matches in a file, up to the first line that is incomplete."""
    matches = []
    for line in content.splitlines():
        try:
            matches.append(_decoder.decode(line))
        except DECODE_ERRORS:
            break
    return matches
