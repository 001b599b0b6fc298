"""The layers: imports point one way, start-up is light, and nothing of any one machine is in the tree."""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from leaguekit.games import GAMES

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "leaguekit"

# A package may import from the layers before its own, and from itself.
LAYERS = (
    ("protocol",),
    ("games",),
    ("match",),
    ("formats",),
    ("league",),
    ("transport", "store"),
    ("agents",),
    ("manager", "referee", "player"),
    ("kit", "sim", "web"),
    ("gateway",),
    # What authors import in their tests: one module.
    ("testing",),
    ("cli",),
)
# The same within a package that has subpackages. Modules that are not named here come before all of these.
INNER_LAYERS = {
    "protocol": (
        ("messages",),
        ("methods", "decoding", "responses", "rpc", "refusals", "schemas", "explain", "examples"),
    ),
    "cli": (("simulation",), ("commands",)),
    "league": (("analysis", "commands"), ("audit", "pairings", "queries", "statistics")),
    "sim": (("comparison",),),
    "web": (("report",), ("app", "routes")),
    "manager": (("rounds",), ("match_reports", "manager", "mcp_surface", "server")),
    "transport": (("dialects", "client", "server"), ("mcp",)),
    "player": (("llm",), ("strategy_loading", "decisions", "move_chooser", "agent", "running", "player", "relay")),
    "kit": (("manager", "referee", "player"),),
}
# Of a package, except for that of the commands.
MAX_MODULES = 22
# The core is pure: what it needs of the world is passed in.
PURE = ("league", "formats", "match", "games")
WORLD = {"asyncio", "socket", "time", "random", "secrets", "os", "pathlib", "sqlite3", "threading", "subprocess"}
# Games are replaceable. Only these files and folders name the game of the documents or its two messages.
NAMES_THE_GAME = {
    "games/even_odd.py": "the game",
    "games/base.py": "the name of the default game",
    "match/move_messages.py": "connects the two messages with the moves of all games",
    "protocol/messages/__init__.py": "the list of all messages",
    "protocol/messages/matches.py": "the two messages, and a field of GAME_OVER",
    "protocol/methods.py": "the methods of the two messages",
    "protocol/errors.py": "the documents' error E004, and their numbers of errors",
    "protocol/examples.py": "the documents' examples",
    "protocol/fields.py": "the examples in the schemas",
    "transport/dialects/requests.py": "a field that one agent of the field expects",
    "kit/": "ids and sentences of checks, by the documents",
    "cli/commands/run.py": "the help names the default game",
    "sim/campaign.py": "the games of the leagues with faults",
    "starters/": "programs of beginners, which play the default game by the documents",
}
_GAME_WORDS = re.compile(
    r"even.?odd|parity|always_(even|odd)|[\"'`](even|odd)[\"'`]|even or odd|\.(even|odd)\b", re.IGNORECASE
)


def _layer_numbers(layers: tuple[tuple[str, ...], ...]) -> dict[str, int]:
    return {name: number for number, names in enumerate(layers) for name in names}


NUMBERS = _layer_numbers(LAYERS)


@functools.cache
def _imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module is not None
            found += [f"{node.module}.{name.name}" for name in node.names]
    return found


def _modules(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py")) or [SOURCE / f"{package}.py"]


def test_every_package_has_its_layer() -> None:
    modules = {path.stem for path in SOURCE.glob("*.py")} - {"__init__", "__main__"}
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} | modules == set(NUMBERS)


def test_every_package_with_subpackages_has_inner_layers() -> None:
    found = {path.parent.parent.name for path in SOURCE.glob("*/*/__init__.py")}
    assert found == set(INNER_LAYERS)
    for package, layers in INNER_LAYERS.items():
        inside = {path.stem for path in (SOURCE / package).glob("*.py")} | {
            path.parent.name for path in (SOURCE / package).glob("*/__init__.py")
        }
        assert {name for names in layers for name in names} <= inside, package


@pytest.mark.parametrize("package", NUMBERS)
def test_imports_point_one_way(package: str) -> None:
    for path in _modules(package):
        for name in _imports(path):
            if name.startswith("leaguekit."):
                other = name.split(".")[1]
                is_below = other in NUMBERS and NUMBERS[other] < NUMBERS[package]
                assert other == package or is_below or other == "__version__", (
                    f"{path.relative_to(ROOT)} imports {name}"
                )


@pytest.mark.parametrize("package", INNER_LAYERS)
def test_imports_within_a_package_point_one_way(package: str) -> None:
    numbers = _layer_numbers(INNER_LAYERS[package])
    for path in _modules(package):
        own = path.relative_to(SOURCE / package).parts[0].removesuffix(".py")
        for name in _imports(path):
            if name.startswith(f"leaguekit.{package}.") and own != "__init__":
                other = name.split(".")[2]
                difference = numbers.get(own, -1) - numbers.get(other, -1)
                are_modules = not any((SOURCE / package / one).is_dir() for one in (own, other))
                is_allowed = other == own or difference > 0 or (difference == 0 and are_modules)
                assert is_allowed, f"{path.relative_to(ROOT)} imports {name}"


def _import_graph() -> dict[str, set[str]]:
    """Every module of leaguekit, and those that it imports, also within functions and for types."""
    modules = {".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path for path in SOURCE.rglob("*.py")}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items() if "starters" not in name}
    graph: dict[str, set[str]] = {}
    for name, path in modules.items():
        found = {one if one in modules else one.rpartition(".")[0] for one in _imports(path)}
        graph[name] = {one for one in found if one in modules and one != name}
    return graph


def test_no_module_imports_itself_through_others() -> None:
    graph, done = _import_graph(), set[str]()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " imports ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("package", PURE)
def test_the_core_imports_no_part_of_the_world(package: str) -> None:
    for path in _modules(package):
        found = {name.split(".")[0] for name in _imports(path)} & WORLD
        assert not found, f"{path.relative_to(ROOT)} imports {found}"


def test_the_game_of_the_documents_is_named_in_few_files() -> None:
    named = set()
    for path in SOURCE.rglob("*"):
        if path.suffix in {".py", ".js", ".mjs", ".css", ".html", ".toml", ".md"}:
            name = path.relative_to(SOURCE).as_posix()
            allowed = name if name in NAMES_THE_GAME else f"{name.split('/')[0]}/"
            if found := _GAME_WORDS.search(path.read_text()):
                assert allowed in NAMES_THE_GAME, f"{name} contains {found[0]!r}"
                named.add(allowed)
    assert named == set(NAMES_THE_GAME)


def test_what_draws_games_names_none_of_them() -> None:
    names = re.compile("|".join(GAMES))
    for folder in ("web", "gateway"):
        for path in (SOURCE / folder).rglob("*.*"):
            if path.suffix in {".py", ".js", ".css", ".html"}:
                assert not names.search(path.read_text()), path
    assert not names.search((SOURCE / "cli" / "boards.py").read_text())


def test_no_package_has_many_modules() -> None:
    counts = {
        path.parent.relative_to(SOURCE).as_posix(): len([*path.parent.glob("*.py")]) - 1
        for path in SOURCE.rglob("__init__.py")
    }
    assert {folder for folder, count in counts.items() if count > MAX_MODULES} == {"cli/commands"}


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


def test_the_player_of_an_author_loads_no_server_and_no_store_until_it_plays() -> None:
    loaded = _loaded_by("from leaguekit import Context, Player\nPlayer('A', lambda ctx: ctx.valid_options[0])")
    assert not loaded & {"asyncio", "fcntl", "httptools", "leaguekit.agents", "leaguekit.store", "leaguekit.transport"}
    assert not loaded & {"sqlite3", "ssl", "starlette", "uvicorn", "uvloop"}


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
        if path.suffix != ".png" and path.is_file():
            assert not forbidden.search(path.read_text()), name
