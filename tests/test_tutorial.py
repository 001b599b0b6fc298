"""The newcomer's path: every step of the tutorial, in its order and as it is written but for the ports."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from leaguekit.cli import main
from tests.programs import Program, league

TUTORIAL = Path(__file__).parent.parent / "docs" / "tutorial.md"
# Five minutes at an easy pace.
MAX_WORDS = 1_000
URL = r"(http://127\.0\.0\.1:\d+/mcp)"


def steps(language: str) -> Iterator[list[str]]:
    """The commands of the tutorial, word by word."""
    for block in re.findall(rf"^```{language}\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL):
        yield from map(shlex.split, block.replace(" &\n", "\n").splitlines())


def test_the_tutorial_is_read_in_five_minutes() -> None:
    words = re.sub(r"^```(?:text|console).*?^```", "", TUTORIAL.read_text(), flags=re.MULTILINE | re.DOTALL).split()
    assert len(words) <= MAX_WORDS


def test_the_function_that_looks_ahead_beats_random_and_loses_to_frequency_as_the_tutorial_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "player", "Alice"]) == 0
    agent = tmp_path / "alice" / "agent.py"
    *_, function = re.findall(r"^```python\n(.*?)^```", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL)
    agent.write_text(agent.read_text().replace("\nplayer = ", f"\n{function}\n\nplayer = "))
    (command,) = (words for words in steps("sh") if words[:2] == ["league", "simulate"])
    with Program(*command[1:], "--json", cwd=tmp_path / "alice") as simulation:
        assert simulation.ended() == 0, simulation.stderr
    rows = json.loads(simulation.stdout)["strategies"]
    assert [row["strategy"] for row in rows] == ["frequency", "agent:choose", "random"]


def test_every_step_of_the_tutorial_leads_where_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    dollar, *new = next(steps("console"))
    assert (dollar, new) == ("$", ["league", "new", "player", "Alice"])
    assert main(new[1:]) == 0
    folder, files = tmp_path / "alice", ["--data-dir", str(tmp_path / "files")]
    done: list[str] = []
    ends: list[str] = []
    waiting: Program | None = None
    manager = ""
    with ExitStack() as running:
        for words in steps("sh"):
            name = " ".join(words[: 3 if words[:2] == ["league", "check"] else 2])
            done.append(name)
            match name:
                case "python3 -m" | ". venv/bin/activate" | "pip install" | "league --version":
                    # tests/test_wheel.py does that: it installs leaguekit and pytest into an empty environment.
                    continue
                case "cd alice":
                    assert folder.is_dir()
                case "league try" | "league check player":
                    waiting = running.enter_context(Program(*words[1:], "--port", "0"))
                    manager = waiting.said(URL)[1]
                case "league host":
                    host = running.enter_context(Program(*words[1:], *files, "--port", "0"))
                    manager = host.said(f"is at {URL}")[1]
                case "league players":
                    others = running.enter_context(Program(*words[1:], *files, "--port", "0", "--manager", manager))
                case "python agent.py":
                    own = ["--manager", manager, "--port", "0"]
                    with Program(*words[1:], *own, command=(sys.executable,), cwd=folder) as agent:
                        assert agent.ended() == 0, agent.stderr
                    if waiting is not None:
                        assert waiting.ended() == 0, waiting.stdout
                        ends.append(waiting.stdout.splitlines()[-1])
                        waiting = None
                case "league standings":
                    assert others.ended() == 0
                    table = league(*words[1:], "--manager", manager).stdout
    assert done == [
        "python3 -m", ". venv/bin/activate", "pip install", "league --version",
        "league try", ". venv/bin/activate", "cd alice", "python agent.py",
        "league check player", "python agent.py",
        "league host", "league players", "python agent.py", "league standings",
        "league simulate",
    ]  # fmt: skip
    tried, checked = ends
    assert tried.startswith(("Your agent ", "A draw: "))
    assert checked == "OK: nothing that is required of Alice failed."
    place = r"Alice (?:is number (\d) with|has) (\d+) points?(?:.* share places (\d) to)?"
    rank, points, shared = re.search(place, agent.stderr).groups()  # type: ignore[union-attr]
    (own_row,) = [line.split() for line in table.splitlines() if re.match(r" *\d+=? .* Alice ", line)]
    assert own_row[-1] == points
    # Players with equal points may still have places of their own, by other rules.
    assert own_row[0] == rank or int(own_row[0].removesuffix("=")) >= int(shared)
