"""``league games``, ``league new game``, and games of files in a whole league."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from leaguekit.cli import main
from leaguekit.games import GAMES, plugins
from tests.programs import Program, league


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(plugins, "_added", {})


def test_the_list_says_who_moves_and_what_a_game_has(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "tic_tac_toe", "even_odd", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["games"]
    assert [(row["game"], row["players"], row["turns"], row["chance"], row["picture"]) for row in rows] == [
        ("tic_tac_toe", "in turns", 9, False, True),
        ("even_odd", "at once", 1, True, True),
    ]
    assert main(["games"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} >= {*GAMES}
    assert any(line.startswith("rock_paper_scissors  at once, 1 turn") for line in lines)


def test_a_single_game_is_listed_with_its_rules_and_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "prisoners_dilemma"]) == 0
    row, _, *shown = capsys.readouterr().out.splitlines()
    assert row == "prisoners_dilemma  at once, 50 turns, picture, payoffs from 0 to 5 (leaguekit)"
    assert "If both cooperate, each gets 3. If both defect, each gets 1." in shown[2]
    assert shown[-1] == "Arguments: turns=50, noise=0"
    assert main(["games", "connect_four"]) == 0
    assert not capsys.readouterr().out.splitlines()[-1].startswith("Arguments")


def test_a_game_that_cannot_be_loaded_is_listed_with_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["games", "tictactoe", "nowhere.py:Nim"]) == 1
    out = capsys.readouterr().out
    assert "tictactoe       cannot be loaded: There is no game 'tictactoe' here; did you mean 'tic_tac_toe'?" in out
    assert "nowhere.py:Nim  cannot be loaded: There is no file " in out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["Tic tac toe"], "'tic_tac_toe' is a game of leaguekit; choose another name"),
        (["class"], "'class' is a word or module of Python; choose another name"),
        (["random"], "'random' is a word or module of Python; choose another name"),
        (["2048"], "a game's name begins with a letter and has up to 50 letters and digits, got '2048'"),
        (["Mühle"], "a game's name begins with a letter and has up to 50 letters and digits, got 'Mühle'"),
        (["Nim", "--plain"], "a game is written in Python, on leaguekit: leave --plain and --lang out"),
    ],
)
def test_a_name_that_no_game_can_have_is_refused(
    arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", "game", *arguments]) == 2
    assert why in capsys.readouterr().err
    assert [*Path().iterdir()] == []


def test_a_new_game_passes_its_own_tests_and_a_league_of_its_file_is_played_and_verified(tmp_path: Path) -> None:
    assert main(["new", "game", "Take Three"]) == 0
    folder = tmp_path / "take-three"
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(tests, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    (folder / "league.toml").write_text('game_type = "take_three.py:TakeThree(stones=8)"\n')
    played = league(
        "run", "--config", folder / "league.toml", "--players", "3", "--port", "0", "--json", "--data-dir", tmp_path
    )
    assert played.process.returncode == 0, played.stderr
    (store,) = tmp_path.glob("agents/take_three_*/manager/league.db")
    unknown = league("verify", store)
    assert "3 not checkable: the game take_three(stones=8) is not known here; install its package" in unknown.stdout
    assert "\nOK as far as it can be checked, and the table is the one that its results make\n" in unknown.stdout
    known = league("verify", store, "--game", f"{folder}/take_three.py:TakeThree")
    assert "3 reports of referees, 3 of them played again by the rules" in known.stdout
    assert "OK: everything holds" in known.stdout
    served = league("manager", "--store", store, "--port", "0", "--data-dir", tmp_path)
    assert served.process.returncode == 2
    assert "the league cannot play take_three: There is no game 'take_three' here;" in served.stderr
    assert "install its package, or name its file: --game FILE.py:CLASS" in served.stderr


@pytest.mark.long
def test_referees_need_the_league_s_game_and_players_do_not(tmp_path: Path) -> None:
    assert main(["new", "game", "Take Three"]) == 0
    game = f"{tmp_path}/take-three/take_three.py:TakeThree"
    here = ("--port", "0", "--data-dir", tmp_path)
    start = ("--announce-lead", "0", "--start-when", "players=2,referees=1")
    with Program("manager", *map(str, (*here, *start, "--game", game))) as manager:
        url = manager.said(r"(http://127\.0\.0\.1:\d+/mcp)")[1]
        without = league("referee", *here, "--manager", url)
        assert without.process.returncode == 2
        assert "This referee does not register: the league plays take_three. There is no game 'take_three' here" in (
            without.stderr
        )
        looking_ahead = league("player", *here, "--manager", url, "--strategy", "search")
        assert looking_ahead.process.returncode == 2
        assert "this league plays take_three" in looking_ahead.stderr
        with (
            Program("referee", *map(str, here), "--manager", url, "--game", game) as referee,
            Program("player", *map(str, here), "--manager", url, "--name", "Ann") as ann,
            Program("player", *map(str, here), "--manager", url, "--name", "Bob", "--strategy", "alternating") as bob,
        ):
            assert [one.ended() for one in (referee, ann, bob)] == [0, 0, 0]


@pytest.mark.long
def test_a_game_is_built_as_a_wheel_installed_played_drawn_and_verified(tmp_path: Path) -> None:
    assert main(["new", "game", "Take Three"]) == 0
    # The packages of this environment are seen, and the game is installed into one of its own.
    venv.create(tmp_path / "place", system_site_packages=False, with_pip=False)
    place = tmp_path / "place" / "bin" / "python"
    site = next((tmp_path / "place" / "lib").glob("python*/site-packages"))
    here = next(Path(folder) for folder in sys.path if folder.endswith("site-packages"))
    (site / "here.pth").write_text(f"import site; site.addsitedir({str(here)!r})\n")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "./take-three"]
    subprocess.run([*build, "--wheel-dir", "wheels"], check=True, capture_output=True)
    (wheel,) = Path("wheels").glob("*.whl")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", site, wheel],
        check=True,
        capture_output=True,
    )
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    def run(*arguments: str | Path) -> str:
        done = subprocess.run(
            [place, "-m", "leaguekit", *arguments], cwd=elsewhere, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert re.search(r"^take_three +in turns, 15 turns, picture \(take-three 0.1.0\)$", run("games"), re.MULTILINE)
    run("run", "--game", "take_three(stones=9)", "--players", "3", "--port", "0", "--seed", "1", "--data-dir", "files")
    (store,) = elsewhere.glob("files/agents/*/manager/league.db")
    verified = run("verify", store)
    assert "3 reports of referees, 3 of them played again by the rules" in verified
    assert "OK: everything holds" in verified
    run("report", store, "--out", "report")
    report = (elsewhere / "report" / "index.html").read_text()
    assert report.count(">no stones</pre>") == 3
