"""Files written whole or not at all: views that others read meanwhile, hostile ids, private state."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.store.base import StoreError
from leaguekit.store.disk import DISK, Disk
from leaguekit.store.json_files import JsonPaths, JsonWriter, MirroredJson, as_json, safe_name, write_json
from tests.agents.leagues import in_virtual_time


class JumpingLoop(asyncio.SelectorEventLoop):
    """A loop whose clock jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 0.0
        really_select = self._selector.select

        def select(timeout: float | None = None) -> Any:
            self._now += timeout or 0.0
            return really_select(0)

        self._selector.select = select

    def time(self) -> float:
        return self._now


def run_jumping(main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(main)


def read(path: Path) -> Any:
    return json.loads(path.read_bytes())


# Where they lie


def test_the_files_lie_where_document_001_has_them() -> None:
    views = JsonPaths()
    assert [
        str(path)
        for path in (
            views.newest_agents_config(),
            views.standings("league_2025_even_odd"),
            views.rounds("league_2025_even_odd"),
            views.match("league_2025_even_odd", "R1M1"),
            views.newest_history("P01"),
        )
    ] == [
        "SHARED/config/agents/agents_config.json",
        "SHARED/data/leagues/league_2025_even_odd/standings.json",
        "SHARED/data/leagues/league_2025_even_odd/rounds.json",
        "SHARED/data/matches/league_2025_even_odd/R1M1.json",
        "SHARED/data/players/P01/history.json",
    ]


def test_each_league_has_its_own_files_of_the_two_that_document_001_gives_no_league() -> None:
    views = JsonPaths()
    assert [str(views.agents_config("league_2025_even_odd")), str(views.history("league_2025_even_odd", "P01"))] == [
        "SHARED/data/leagues/league_2025_even_odd/agents_config.json",
        "SHARED/data/leagues/league_2025_even_odd/players/P01/history.json",
    ]


@pytest.mark.parametrize("before", [b"", b"not JSON", b"[]", b'{"league_id":"other"}', b'{"league_id":7}'])
def test_what_an_older_league_or_nobody_shows_is_replaced_at_the_shared_path(tmp_path: Path, before: bytes) -> None:
    own, shared = tmp_path / "own.json", tmp_path / "shared.json"
    DISK.write(shared, before)

    def write(league_id: str, since: str) -> str:
        view = {"league_id": league_id, "created_at": since}
        write_json(DISK, own, MirroredJson(view, shared, since, league_id))
        assert json.loads(own.read_text()) == view
        return str(json.loads(shared.read_text())["league_id"])

    assert write("m", "2025-01-15T10:30:00Z") == "m"
    assert write("z", "2025-01-15T10:29:59Z") == "m"
    assert write("a", "2025-01-15T10:30:01Z") == "a"
    assert write("m", "2025-01-15T10:30:00Z") == "a"
    # In the same second the ids decide, and not the order of writing.
    assert write("b", "2025-01-15T10:30:01Z") == "b"
    assert write("a", "2025-01-15T10:30:01Z") == "b"
    assert write("b", "2025-01-15T10:30:01Z") == "b"


HOSTILE = [
    "../../../etc/passwd", "..", ".", "", "/", "//", "/etc/passwd", "a/b", "a\\b", "..\\..", "\x00", "a\x00b", "a\nb",
    "~", ".hidden", "-rf", "%2e%2e", "%", "C:", "CON ", "é" * 500, "x" * 10_000, "💥", "\ud800", "a" * 254, "\u202egnp",
]  # fmt: skip


@pytest.mark.parametrize("hostile", HOSTILE, ids=ascii)
def test_no_id_leads_out_of_the_root(tmp_path: Path, hostile: str) -> None:
    root = tmp_path / "deep" / "root"
    views = JsonPaths(root)
    paths = [
        views.standings(hostile),
        views.rounds(hostile),
        views.match(hostile, hostile),
        views.newest_history(hostile),
        views.agents_config(hostile),
        views.history(hostile, hostile),
    ]
    for path in paths:
        DISK.write(path, as_json({}))
    # Each path is another file, one folder deep if it has an id, and there are no others.
    assert {path for path in tmp_path.rglob("*") if path.is_file()} == set(paths)
    assert all(os.path.realpath(path) == str(path) for path in paths)
    assert [len(path.relative_to(root).parts) for path in paths] == [4, 4, 4, 4, 4, 6]


def test_ids_that_differ_never_share_a_file() -> None:
    assert len({safe_name(hostile) for hostile in HOSTILE}) == len(HOSTILE)
    assert safe_name("x" * 10_000) != safe_name("x" * 9_999)


@given(st.text(), st.text())
def test_any_text_is_a_safe_name_of_its_own(one: str, other: str) -> None:
    name = safe_name(one)
    assert name.isascii()
    assert name.isprintable()
    assert 1 <= len(name) <= 120
    assert "/" not in name
    assert name[0] != "."
    assert (name == safe_name(other)) == (one == other)


# Whole or not at all


def test_a_view_is_json_for_people_and_readable_for_others(tmp_path: Path) -> None:
    path = tmp_path / "made" / "on" / "the" / "way.json"
    DISK.write(path, as_json({"name": "Łódź", "rows": [1, None]}))
    assert path.read_text() == '{\n  "name": "Łódź",\n  "rows": [\n    1,\n    null\n  ]\n}\n'
    umask = os.umask(0o022)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_readers_never_see_half_a_view(tmp_path: Path) -> None:
    path = tmp_path / "standings.json"
    DISK.write(path, as_json([0] * 2_000))
    seen: list[int] = []
    is_over = threading.Event()

    def look() -> None:
        while not is_over.is_set():
            rows = read(path)
            assert rows == [rows[0]] * 2_000
            seen.append(rows[0])

    failures: list[BaseException] = []

    def look_and_tell() -> None:
        try:
            look()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    readers = [threading.Thread(target=look_and_tell) for _ in range(3)]
    for reader in readers:
        reader.start()
    for version in range(1, 301):
        DISK.write(path, as_json([version] * 2_000))
    is_over.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert len(set(seen)) > 5
    assert [file.name for file in tmp_path.iterdir()] == ["standings.json"], "nothing is left behind"


def test_a_view_is_whole_after_kill_9_of_its_writer(tmp_path: Path) -> None:
    program = """
import os, sys
from pathlib import Path
from leaguekit.store.disk import DISK
from leaguekit.store.json_files import as_json
for version in range(10**6):
    DISK.write(Path(sys.argv[1]), as_json([version] * 5_000))
    os.write(1, b"%d\\n" % version)
"""
    path = tmp_path / "view.json"
    for patience in (1, 2, 20):
        with subprocess.Popen([sys.executable, "-c", program, str(path)], stdout=subprocess.PIPE) as writer:
            assert writer.stdout is not None
            for _ in range(patience):
                writer.stdout.readline()
            writer.kill()
            writer.stdout.read()
        rows = read(path)
        assert rows == [rows[0]] * 5_000


def test_a_view_that_cannot_be_written_says_why_and_leaves_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(StoreError, match="its folder cannot be made"):
        DISK.write(tmp_path / "file" / "view.json", as_json({}))
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(StoreError, match="cannot be written: Is a directory"):
        DISK.write(tmp_path / "folder.json", as_json({}))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder.json"]
    assert (tmp_path / "file").read_text() == "old"


def test_private_state_is_its_owners_only_from_the_first_moment(tmp_path: Path) -> None:
    path = tmp_path / "league" / "state.json"
    assert DISK.read(path) is None
    umask = os.umask(0)
    try:
        DISK.write(path, b"secret", private=True)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        DISK.write(path, b"newer", private=True)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert DISK.read(path) == b"newer"
    assert [file.name for file in path.parent.iterdir()] == ["state.json"]
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        DISK.read(tmp_path)


# The writer in the background


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What is really written, in order: (file name, value)."""
    done: list[tuple[str, Any]] = []

    def write(self: Disk, path: Path, content: bytes) -> None:
        really(self, path, content)
        done.append((path.name, json.loads(content)))

    really = Disk.write
    monkeypatch.setattr(Disk, "write", write)
    return done


@pytest.mark.parametrize("inline", [True, False])
def test_the_newest_version_replaces_what_waits(tmp_path: Path, written: list[tuple[str, Any]], inline: bool) -> None:
    async def main() -> None:
        writer = JsonWriter(per_second=0.001, inline=inline)
        for version in range(100):
            writer.put(tmp_path / "a.json", version)
            writer.put(tmp_path / "b.json", -version)
        await writer.flush()
        assert written == [("a.json", 0), ("b.json", 0), ("a.json", 99), ("b.json", -99)]
        await writer.flush()
        assert len(written) == 4
        writer.put(tmp_path / "a.json", 100)
        await writer.close()
        assert written[4:] == [("a.json", 100)]
        with pytest.raises(StoreError, match="closed"):
            writer.put(tmp_path / "a.json", 101)

    asyncio.run(main())
    assert read(tmp_path / "a.json") == 100


def test_a_file_is_written_so_many_times_a_second_and_the_last_version_is_never_left_out(tmp_path: Path) -> None:
    path, seen = tmp_path / "standings.json", []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        writer = JsonWriter(per_second=2, inline=True)
        for tick in range(50):
            writer.put(path, tick)
            if not seen or seen[-1][1] != read(path):
                seen.append((loop.time(), read(path)))
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        assert read(path) == 49, "without any flush"
        assert not writer._pauses, "a file at rest is forgotten"
        await writer.close()

    run_jumping(main())
    assert 9 <= len(seen) <= 11
    assert all(later - earlier > 0.45 for (earlier, _), (later, _) in pairwise(seen))


def test_a_slow_disk_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go_on, versions = threading.Event(), []

    def slowly(self: Disk, path: Path, content: bytes) -> None:
        assert go_on.wait(timeout=30)
        versions.append(json.loads(content))

    monkeypatch.setattr(Disk, "write", slowly)

    async def main() -> None:
        writer = JsonWriter(per_second=1000)
        for version in range(1000):
            writer.put(tmp_path / "a.json", version)
            await asyncio.sleep(0)
        assert versions == []
        go_on.set()
        await writer.flush()
        assert versions == [0, 999]
        await writer.close()

    asyncio.run(main())


def test_a_view_that_cannot_be_written_is_logged_once_until_it_can_be_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    blocked = tmp_path / "folder"
    path = blocked / "a.json"

    async def main() -> None:
        writer = JsonWriter()
        for is_blocked in (True, True, False, True):
            if is_blocked:
                if blocked.is_dir():
                    path.unlink()
                    blocked.rmdir()
                blocked.write_text("")
            else:
                blocked.unlink()
            writer.put(path, 1)
            await writer.flush()
        await writer.close()

    with caplog.at_level(logging.ERROR):
        asyncio.run(main())
    words = f"{path} cannot be written: its folder cannot be made (File exists)."
    assert [record.getMessage() for record in caplog.records] == [words] * 2


@in_virtual_time
async def test_a_view_that_could_not_be_written_is_written_as_soon_as_it_can_be(tmp_path: Path) -> None:
    class FullDisk(Disk):
        is_full = True

        def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
            if self.is_full:
                raise StoreError("The disk is full.")
            super().write(path, content, private=private)

    disk, path = FullDisk(), tmp_path / "a.json"
    writer = JsonWriter(files=disk, inline=True)
    writer.put(path, 1)
    await asyncio.sleep(10)
    disk.is_full = False
    await asyncio.sleep(1)
    assert json.loads(path.read_bytes()) == 1
    await writer.close()
