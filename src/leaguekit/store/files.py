"""The JSON files that other tools read: where they lie, and how they are written without holding up anybody."""

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

from leaguekit.protocol.plain_text import escaped_bytes
from leaguekit.store.base import StoreError
from leaguekit.store.disk import DISK, Files

ROOT = Path("SHARED")
_LONGEST_NAME = 120
# A view that takes long to write, such as a large league's, may take a twentieth of the time.
PAUSES_PER_WRITE = 20
# Files that are written once wait so long for others to be written with.
GATHERING_SECONDS = 1.0
log = logging.getLogger(__name__)


def safe_name(some_id: str) -> str:
    """An id as the name of one file or folder: ordinary ids as they are, other characters as %2F, two ids never alike.

    Ids come from other people's programs, so any text must do and none may lead out of its folder.
    """
    name = quote(some_id, safe="", errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if not name:
        return "%"
    if len(name) > _LONGEST_NAME:
        digest = hashlib.sha256(some_id.encode(errors="surrogatepass")).hexdigest()[:32]
        return f"{name[: _LONGEST_NAME - 34]}%-{digest}"
    return name


class Views:
    """Where the JSON files lie. Two that document 001 names have no league in their path: there the newest league's are
    shown, and each league has its own beside its table.
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


# Asked for after every match, and a path that is made anew takes 15 µs to be found among others.
@lru_cache(maxsize=2_048)
def _history(root: Path, player_id: str) -> Path:
    return root / "players" / safe_name(player_id) / "history.json"


def as_json(value: Any) -> bytes | Iterable[bytes]:
    """A value as JSON for people and tools. Of a large one a function makes the text, piece by piece."""
    if callable(value):
        return map(escaped_bytes, cast("Callable[[], Iterable[bytes]]", value)())
    return msgspec.json.format(escaped_bytes(msgspec.json.encode(value)), indent=2) + b"\n"


class Shared(NamedTuple):
    """A view that is also written to a path that several leagues share: there the newest league's is shown."""

    view: Any
    path: Path
    # By these leagues are compared: ``since`` is the view's own created_at or joined_at.
    since: str
    league_id: str | None


class _Shown(msgspec.Struct):
    """What tells of which league a view is. Older releases gave it no time."""

    league_id: str | None = None
    created_at: str = ""
    joined_at: str = ""


def write_view(files: Files, path: Path, view: Any) -> None:
    """Write a view; a shared one to its second path too, unless a newer league's is there. Raises StoreError."""
    if not isinstance(view, Shared):
        files.write(path, as_json(view))
        return
    content = as_json(view.view)
    files.write(path, content)
    try:
        shown = msgspec.json.decode(files.read(view.path) or b"{}", type=_Shown)
    except (msgspec.DecodeError, UnicodeDecodeError):
        shown = _Shown()
    since = shown.created_at or shown.joined_at
    if shown.league_id == view.league_id or (since, shown.league_id or "") < (view.since, view.league_id or ""):
        files.write(view.path, content)


class ViewWriter:
    """Writes JSON files in the background: of each the newest version, and not too often.

    The first version is written at once; what comes within the pause after it waits, and the newest replaces what
    waits. To ``stretch`` is to make the pause longer after what took long to write. A file that cannot be written is
    logged, once until it can be again: views never stop a league.
    """

    def __init__(
        self, per_second: float = 2.0, *, files: Files = DISK, inline: bool = False, stretch: bool = True
    ) -> None:
        self._files = files
        self._stretch = PAUSES_PER_WRITE if stretch else 0
        self._pause = 1 / per_second
        self._thread = None if inline else ThreadPoolExecutor(1, thread_name_prefix="views")
        self._newest: dict[Path, Callable[[], Any]] = {}
        self._began: dict[Path, float] = {}
        self._under_way: dict[Path, Future[StoreError | None]] = {}
        self._pauses: dict[Path, TimerHandle] = {}
        self._failing: set[Path] = set()
        # What is written once: what waits, since when something does, and what is under way.
        self._once: dict[Path, Any] = {}
        self._gathering: TimerHandle | None = None
        self._writing_once: set[Future[None]] = set()
        self._closed = False

    def put(self, path: Path, value: Any) -> None:
        """Have a value written. It is encoded when its turn comes, so it must not be changed afterwards."""
        self.renew(path, lambda: value)

    def put_once(self, path: Path, value: Any) -> None:
        """Have a value written that will hardly change: not at once, but together with others."""
        self._check_open(path)
        self._once[path] = value
        if self._gathering is None:
            self._gathering = asyncio.get_running_loop().call_later(GATHERING_SECONDS, self._begin_once)

    def renew(self, path: Path, make: Callable[[], Any]) -> None:
        """Have a value written that is made when its turn comes: of most versions that never comes."""
        self._check_open(path)
        self._newest[path] = make
        if path not in self._under_way and path not in self._pauses:
            self._begin(path)

    async def flush(self) -> None:
        """Write everything that was put before, without pauses."""
        if self._gathering is not None:
            self._gathering.cancel()
            self._begin_once()
        if self._writing_once:
            await asyncio.wait(list(self._writing_once))
        # Twice, because what is under way may have a newer version behind it.
        for _ in range(2):
            for path in [path for path in self._newest if path not in self._under_way]:
                self._pauses.pop(path).cancel()
                self._begin(path)
            if self._under_way:
                await asyncio.wait(list(self._under_way.values()))

    async def close(self) -> None:
        """Write what waits, and take nothing more."""
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
        self._gathering = None
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
        self._under_way[path] = writing
        writing.add_done_callback(lambda done: self._end(path, done, make))

    def _end(self, path: Path, done: Future[StoreError | None], make: Callable[[], Any]) -> None:
        del self._under_way[path]
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
            write_view(self._files, path, value)
        except StoreError as error:
            return error
        return None
