"""The house: imports point one way, start-up is light, and nothing of any one machine is in the tree."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "leaguekit"

# A room may import from the rooms on the floors below it, and from itself.
FLOORS = (
    ("protocol",),
    ("games",),
    ("match",),
    ("league",),
    ("transport", "store"),
    ("agents",),
    ("kit", "sim", "web"),
    ("gateway",),
    # What authors import in their tests: one module.
    ("testing",),
    ("cli",),
)
ROOMS = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
# The core is pure: what it needs of the world is passed in.
PURE = ("league", "match", "games")
WORLD = {"asyncio", "socket", "time", "random", "secrets", "os", "pathlib", "sqlite3", "threading", "subprocess"}


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module is not None
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _modules(room: str) -> list[Path]:
    return sorted((SOURCE / room).rglob("*.py")) or [SOURCE / f"{room}.py"]


def test_every_room_of_the_house_has_its_floor() -> None:
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} | modules == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_one_way(room: str) -> None:
    for path in _modules(room):
        for name in _imports(path):
            if name.startswith("leaguekit."):
                other = name.split(".")[1]
                allowed = other == room or (other in ROOMS and ROOMS[other] < ROOMS[room]) or other == "__version__"
                assert allowed, f"{path.relative_to(ROOT)} imports {name}"


@pytest.mark.parametrize("room", PURE)
def test_the_core_imports_no_part_of_the_world(room: str) -> None:
    for path in _modules(room):
        found = {name.split(".")[0] for name in _imports(path)} & WORLD
        assert not found, f"{path.relative_to(ROOT)} imports {found}"


def test_every_module_says_what_it_is_for() -> None:
    for path in SOURCE.rglob("*.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


def _loaded_by(statement: str) -> set[str]:
    program = f"import sys\nbefore = set(sys.modules)\n{statement}\nimport json; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(json.loads(done.stdout.splitlines()[-1]))


def test_importing_the_package_loads_nothing_heavy() -> None:
    loaded = _loaded_by("import leaguekit")
    assert not loaded & {"msgspec", "jsonschema_rs", "asyncio", "leaguekit.protocol"}


def test_the_help_loads_nothing_heavy() -> None:
    loaded = _loaded_by("from leaguekit.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass")
    assert not loaded & {"msgspec", "jsonschema_rs", "asyncio", "leaguekit.protocol"}


def test_no_file_names_a_machine_a_registry_or_a_download_address() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    assert not {Path(name).name for name in tracked} & {"uv.lock", "poetry.lock", "package-lock.json", "yarn.lock"}
    # Written so that this file does not contain what it looks for.
    forbidden = re.compile(
        r"\.\./sha" + r"red|/wo" + r"rk/|py" + r"pi\.org|files\.pyth" + r"onhosted|registry\.np" + r"mjs"
    )
    for name in tracked:
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".txt", ".json", ""} and path.is_file():
            assert not forbidden.search(path.read_text()), name
