"""The JSON files for other tools: their paths, and how they are written in the background."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from asyncio import Future, TimerHandle
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast
from urllib.parse import quote

import msgspec

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.plain_text import escaped_bytes
from leaguekit.store.base import StoreError
from leaguekit.store.disk import DISK, Files

ROOT = Path("SHARED")
_MAX_NAME_LENGTH = 120
# After a write the writer pauses this many times as long, so that it uses at most about a twentieth of the time.
PAUSES_PER_WRITE = 20
# Files that are written once are collected for this time and then written together.
GATHERING_SECONDS = 1.0
log = logging.getLogger(__name__)


def safe_name(some_id: str) -> str:
    """An id as the name of a file or folder. Ordinary ids stay as they are; other characters become %2F and the like.

    Different ids have different names. Ids come from other programs, so any text is possible, and no id may lead out of
    its folder.
    """
    name = quote(some_id, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if not name:
        return "%"
    if len(name) > _MAX_NAME_LENGTH:
        digest = hashlib.sha256(some_id.encode(errors="surrogatepass")).hexdigest()[:32]
        return f"{name[: _MAX_NAME_LENGTH - 34]}%-{digest}"
    return name


class JsonPaths:
    """The paths of the JSON files.

    Two paths of document 001 do not contain a league. They have the files of the newest league. Each league has its own
    copies of these files beside its table.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root

    def agents_config(self, league_id: str) -> Path:
        return self._league(league_id) / "agents_config.json"

    def newest_agents_config(self) -> Path:
        return self.root / "config" / "agents" / "agents_config.json"

    def standings(self, league_id: str) -> Path:
        return self._league(league_id) / "standings.json"

    def rounds(self, league_id: str) -> Path:
        return self._league(league_id) / "rounds.json"

    def match(self, league_id: str, match_id: str) -> Path:
        return _folder(self.root, "matches", league_id) / f"{safe_name(match_id)}.json"

    def history(self, league_id: str, player_id: str) -> Path:
        return _history(self._league(league_id), player_id)

    def newest_history(self, player_id: str) -> Path:
        return _history(self.root / "data", player_id)

    def _league(self, league_id: str) -> Path:
        return _folder(self.root, "leagues", league_id)


@lru_cache(maxsize=16)
def _folder(root: Path, kind: str, some_id: str) -> Path:
    return root / "data" / kind / safe_name(some_id)


# Needed after every match. To hash a new ``Path`` takes 15 µs.
@lru_cache(maxsize=2_048)
def _history(root: Path, player_id: str) -> Path:
    return root / "players" / safe_name(player_id) / "history.json"


def as_json(value: Any) -> bytes | Iterable[bytes]:
    """A value as indented JSON. A large value is a function that generates the text in pieces."""
    if callable(value):
        return map(escaped_bytes, cast("Callable[[], Iterable[bytes]]", value)())
    return msgspec.json.format(escaped_bytes(msgspec.json.encode(value)), indent=2) + b"\n"


class MirroredJson(NamedTuple):
    """A value that is also written to a path that all leagues share. The newest league's value is there."""

    value: Any
    path: Path
    # The newest league has the latest ``since``, which is created_at or joined_at in the value.
    since: str
    league_id: str | None


class _Header(msgspec.Struct):
    """The fields that identify the league of a file. Files of older releases have no time."""

    league_id: str | None = None
    created_at: str = ""
    joined_at: str = ""


def write_json(files: Files, path: Path, value: Any) -> None:
    """Write a value as JSON. A mirrored one is also written to its second path, unless that has a newer league's value.

    Raises StoreError.
    """
    if not isinstance(value, MirroredJson):
        files.write(path, as_json(value))
        return
    content = as_json(value.value)
    files.write(path, content)
    try:
        existing = msgspec.json.decode(files.read(value.path) or b"{}", type=_Header)
    except DECODE_ERRORS:
        existing = _Header()
    since = existing.created_at or existing.joined_at
    if existing.league_id == value.league_id or (since, existing.league_id or "") < (
        value.since,
        value.league_id or "",
    ):
        files.write(value.path, content)


class JsonWriter:
    """Writes JSON files in the background: the newest version of each file, and not too often.

    The first version is written at once. After a write there is a pause. A version that comes during the pause waits,
    and a newer one replaces it. With ``stretch``, the pause is longer after a write that took long. A failure to write
    a file is logged once, until a write succeeds. These files never stop a league.
    """

    def __init__(
        self, per_second: float = 2.0, *, files: Files = DISK, inline: bool = False, stretch: bool = True
    ) -> None:
        self._files = files
        self._stretch = PAUSES_PER_WRITE if stretch else 0
        self._pause = 1 / per_second
        self._thread = None if inline else ThreadPoolExecutor(1, thread_name_prefix="json-files")
        self._newest: dict[Path, Callable[[], Any]] = {}
        self._began: dict[Path, float] = {}
        self._running: dict[Path, Future[StoreError | None]] = {}
        self._pauses: dict[Path, TimerHandle] = {}
        self._failing: set[Path] = set()
        # Files that are written once: the pending values, the timer that ends their collection, and running writes.
        self._once: dict[Path, Any] = {}
        self._collecting: TimerHandle | None = None
        self._writing_once: set[Future[None]] = set()
        self._closed = False

    def put(self, path: Path, value: Any) -> None:
        """Write a value in the background. It is encoded later, so it must not be changed."""
        self.renew(path, lambda: value)

    def put_once(self, path: Path, value: Any) -> None:
        """Write a final value, such as that of a match. It waits for up to a second: several are written together."""
        self._check_open(path)
        self._once[path] = value
        if self._collecting is None:
            self._collecting = asyncio.get_running_loop().call_later(GATHERING_SECONDS, self._begin_once)

    def renew(self, path: Path, make: Callable[[], Any]) -> None:
        """Write the value that ``make`` returns. It is called only when the value is written: most versions are not."""
        self._check_open(path)
        self._newest[path] = make
        if path not in self._running and path not in self._pauses:
            self._begin(path)

    async def flush(self) -> None:
        """Write all pending values now."""
        if self._collecting is not None:
            self._collecting.cancel()
            self._begin_once()
        if self._writing_once:
            await asyncio.wait(list(self._writing_once))
        # Twice, because a newer version may wait for a running write.
        for _ in range(2):
            for path in [path for path in self._newest if path not in self._running]:
                self._pauses.pop(path).cancel()
                self._begin(path)
            if self._running:
                await asyncio.wait(list(self._running.values()))

    async def close(self) -> None:
        """Write all pending values. No more values are accepted."""
        self._closed = True
        await self.flush()
        for pause in self._pauses.values():
            pause.cancel()
        self._pauses.clear()
        if self._thread is not None:
            self._thread.shutdown(wait=False)

    def _check_open(self, path: Path) -> None:
        if self._closed:
            raise StoreError(f"{path} cannot be written: the writer is closed.")

    def _begin_once(self) -> None:
        self._collecting = None
        values, self._once = self._once, {}
        if self._thread is None:
            self._write_all(values)
            return
        writing = asyncio.get_running_loop().run_in_executor(self._thread, self._write_all, values)
        self._writing_once.add(writing)
        writing.add_done_callback(self._writing_once.discard)

    def _write_all(self, values: dict[Path, Any]) -> None:
        for path, value in values.items():
            if (failure := self._write(path, value)) is not None:
                log.error("%s", failure)

    def _begin(self, path: Path) -> None:
        make = self._newest.pop(path)
        value = make()
        self._began[path] = asyncio.get_running_loop().time()
        if self._thread is None:
            self._finish(path, self._write(path, value), make)
            return
        writing = asyncio.get_running_loop().run_in_executor(self._thread, self._write, path, value)
        self._running[path] = writing
        writing.add_done_callback(lambda done: self._end(path, done, make))

    def _end(self, path: Path, done: Future[StoreError | None], make: Callable[[], Any]) -> None:
        del self._running[path]
        self._finish(path, done.result(), make)

    def _finish(self, path: Path, failure: StoreError | None, make: Callable[[], Any]) -> None:
        if failure is None:
            self._failing.discard(path)
        else:
            # After the pause it is tried again, for there may be no newer version.
            self._newest.setdefault(path, make)
            if path not in self._failing:
                self._failing.add(path)
                log.error("%s", failure)
        loop = asyncio.get_running_loop()
        pause = max(self._pause, self._stretch * (loop.time() - self._began.pop(path)))
        self._pauses[path] = loop.call_later(pause, self._end_pause, path)

    def _end_pause(self, path: Path) -> None:
        del self._pauses[path]
        if path in self._newest:
            self._begin(path)

    def _write(self, path: Path, value: Any) -> StoreError | None:
        try:
            write_json(self._files, path, value)
        except StoreError as error:
            return error
        return None
