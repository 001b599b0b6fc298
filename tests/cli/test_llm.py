"""Language models as the command's user configures them: real processes, and a fake server."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cli.conftest import CommandResult
from tests.llm_stand_in import StandIn, forget_settings
from tests.programs import Program, league

KEY = "sk-do-not-show-this"
PLAYER = ("player", "--port", "0", "--manager")


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    forget_settings(monkeypatch)


@pytest.mark.long
def test_two_models_and_two_others_play_a_league_and_the_tokens_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    shared = ("--data-dir", tmp_path)
    prices = ("--price-in", "1", "--price-out", "4", "--max-cost", "5")
    with StandIn() as stand_in, ExitStack() as programs:
        waiting = ("--announce-lead", "0", "--start-when", "players=4,referees=1")
        host = programs.enter_context(
            Program("host", "--port", "0", *shared, "--league-id", "models", "--game", "tic_tac_toe", *waiting)
        )
        manager = host.said(r"is at (http://\S+/mcp)")[1]
        host.said("is registered: Referee 1")
        models = [
            programs.enter_context(
                Program(
                    *(*PLAYER, manager, *shared, "--strategy", "llm", "--model", model, "--base-url", stand_in.url),
                    *prices,
                )
            )
            for model in ("right", "wordy,right,torn")
        ]
        others = [
            programs.enter_context(Program(*PLAYER, manager, *shared, "--strategy", strategy))
            for strategy in ("random", "frequency")
        ]
        assert [player.ended() for player in (*models, *others)] == [0, 0, 0, 0]
        standings = league("standings", "--manager", manager, "--json")
    table = json.loads(standings.stdout)["standings"]
    assert [row["played"] for row in table] == [3, 3, 3, 3]
    assert [row["technical_losses"] for row in table] == [0, 0, 0, 0]
    names = {row["display_name"]: row["player_id"] for row in table}
    # A model's name is its player's.
    assert set(names) == {"right", "wordy,right,torn", "random", "frequency"}
    for name, model in zip(("right", "wordy,right,torn"), models, strict=True):
        history = json.loads((tmp_path / "data" / "players" / names[name] / "history.json").read_text())
        account = history["account"]
        assert (account["model"], account["replaced"], account["estimated"]) == (name, {}, False)
        assert account["moves"] >= 6
        assert account["cost"] > 0
        again = f", {account['retried']} of them when it was asked again" if account["retried"] else ""
        moves = account["moves"]
        assert (
            f"{name}: {name} chose {moves} of {moves} moves{again}; {account['tokens_in']:,} tokens in" in model.stderr
        )
        assert account["own"] + account["retried"] == moves
        assert (account["retried"] > 0) == ("torn" in name)
        assert KEY not in model.stderr + model.stdout
    assert {asked.authorization for asked in stand_in.asked} == {f"Bearer {KEY}"}
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    ordinary = json.loads((tmp_path / "data" / "players" / names["random"] / "history.json").read_text())
    assert "account" not in ordinary


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--strategy", "llm"], "needs a model: --model NAME, or LEAGUE_LLM_MODEL in the environment"),
        (["--strategy", "llm", "--model", "m"], "OPENAI_API_KEY does not hold the key for api.openai.com"),
        (["--strategy", "llm", "--model", "m", "--api-key", KEY], "the environment variable that holds the key, not"),
        (["--strategy", "llm", "--model", "m", "--max-cost", "much"], "--max-cost is a number, got 'much'"),
        (["--model", "m"], "--model is for --strategy llm, not for random"),
    ],
)
def test_what_cannot_work_is_said_before_it_registers(
    command: Callable[..., CommandResult], arguments: list[str], told: str
) -> None:
    said = command(*PLAYER, "http://127.0.0.1:1/mcp", *arguments)
    assert (said.code, said.out) == (2, "")
    assert told in said.err
    assert KEY not in said.err


def test_a_simulation_asks_no_model(command: Callable[..., CommandResult], monkeypatch: pytest.MonkeyPatch) -> None:
    told = "--strategies llm: a simulation asks no server; `league run` plays leagues with a model"
    assert told in command("simulate", "--strategies", "llm,random").err
    monkeypatch.setenv("LEAGUE_LLM_MODEL", "m")
    monkeypatch.setenv("LEAGUE_LLM_BASE_URL", "http://127.0.0.1:1/v1")
    assert told in command("simulate", "--strategies", "llm,random", "--until", "sprt=0,30").err


def test_a_command_without_the_option_names_only_the_variable(command: Callable[..., CommandResult]) -> None:
    said = command("run", "--strategies", "llm,random", "--port", "0")
    assert said.err == "league run: the strategy llm needs a model: LEAGUE_LLM_MODEL in the environment\n"


def _said_by(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def test_a_player_without_a_model_loads_nothing_of_it() -> None:
    said = _said_by(
        "import sys, leaguekit\n"
        "import leaguekit.cli.commands.player as cli, leaguekit.agents.serving, leaguekit.transport.client.caller\n"
        "leaguekit.Player('me', cli.load('random'))\n"
        "print([name for name in sys.modules if 'httpx' in name or 'llm' in name])"
    )
    assert said == "[]\n"


def test_where_the_extra_is_not_installed_the_remedy_is_told() -> None:
    said = _said_by(
        "import sys\n"
        "sys.modules['httpx2'] = None\n"
        "from leaguekit.cli import main\n"
        "main(['player', '--manager', 'http://127.0.0.1:1/mcp', '--strategy', 'llm', '--model', 'm'])"
    )
    assert said == "league player: httpx2 is not installed. Install it with: pip install 'leaguekit[llm]'\n"
