"""What the documentation shows is run: python blocks, console blocks, JSON examples, generated tables."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import msgspec
import pytest

from docs import tables
from leaguekit.formats import FORMATS
from leaguekit.games import GAMES
from leaguekit.games.base import Game
from leaguekit.league.settings import CHANGEABLE, DECISION, Settings
from leaguekit.protocol.decoding import decode, encode
from tests.samples import samples_of

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def _blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for block in _blocks(page, "python"):
        exec(compile(block, page.name, "exec"), namespace)


@pytest.mark.parametrize("page", [page for page in PAGES if page.name != "README.md"], ids=lambda page: page.name)
def test_console_blocks_do_what_they_show(page: Path, tmp_path: Path) -> None:
    (tmp_path / "message.json").write_bytes(encode(samples_of("GAME_INVITATION")[0]))
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    for block in _blocks(page, "console"):
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            shell = ["bash", "-c", command]
            done = subprocess.run(
                shell, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
            )
            assert done.returncode in (0, 1), (command, done.stderr)
            if expected:
                assert done.stdout + done.stderr == expected, command


def test_the_page_of_games_explains_every_method_and_attribute_and_a_first_game_needs_thirty_lines() -> None:
    page = ROOT / "docs" / "games.md"
    methods = [name for name, value in vars(Game).items() if inspect.isfunction(value)]
    needed = [name for name in methods if name in Game.__abstractmethods__]
    assert len(methods) <= 12
    assert 2 * len(needed) <= len(methods)
    assert sorted(methods) == sorted(re.findall(r"^\| `(\w+)\(", page.read_text(), re.MULTILINE))
    # What is given to a game from outside is explained under "Arguments".
    attributes = {name for name in Game.__annotations__ if name != "args"}
    assert attributes == {*re.findall(r"^\| `(\w+)` \|", page.read_text(), re.MULTILINE)} - {"tic_tac_toe"}
    first = "".join(_blocks(page, "python")[:2])
    assert first.startswith("from typing")
    assert "class Heap(Game[Position]):" in first
    assert len([line for line in first.splitlines() if line]) <= 30


def test_every_json_example_of_the_reference_is_a_valid_message() -> None:
    examples = _blocks(ROOT / "docs" / "protocol.md", "json")
    messages = [example.encode() for example in examples if '"message_type"' in example]
    assert len(messages) >= 35
    for message in messages:
        decode(message)


def test_every_setting_has_a_meaning_and_a_decision_that_exists() -> None:
    decisions = {
        int(number) for number in re.findall(r"^(\d+)\. \*\*", (ROOT / "docs" / "why.md").read_text(), re.MULTILINE)
    }
    properties = msgspec.json.schema(Settings)["$defs"]["Settings"]["properties"]
    assert {*properties} == {*Settings.__struct_fields__}
    for name, field in properties.items():
        assert field["description"], name
        assert field.get(DECISION, min(decisions)) in decisions, name
    assert {*CHANGEABLE} <= {*properties}


def test_the_settings_that_the_page_shows_are_accepted() -> None:
    for block in _blocks(ROOT / "docs" / "settings.md", "toml"):
        msgspec.convert({"league_id": "league"} | tomllib.loads(block), Settings)


@pytest.mark.parametrize("name", tables.PAGES)
def test_the_generated_tables_are_up_to_date(name: str) -> None:
    text = (ROOT / "docs" / name).read_text()
    assert tables.render(text, tables.PAGES[name]) == text, "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_the_readme_counts_the_games_and_the_formats_and_names_the_extras() -> None:
    readme = " ".join((ROOT / "README.md").read_text().split())
    numbers = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
    included, formats = numbers[len(GAMES)], numbers[len(FORMATS)]
    assert f"{included.capitalize()} games are included" in readme
    assert f"has {included} games of its own and {formats} [formats]" in readme
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert [name for name in extras if name != "dev" and f"leaguekit[{name}]" not in readme] == []
