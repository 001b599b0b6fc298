"""The open profile in the commands: choosing it, adding players that never register, and listing broken rules."""

from __future__ import annotations

import argparse
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from leaguekit.cli.commands import host, manager
from leaguekit.cli.commands.operate import _format
from leaguekit.protocol import times
from leaguekit.transport.server.server import listen
from tests.cli.conftest import CommandResult
from tests.programs import Program, league

Command = Callable[..., CommandResult]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """How to reach a manager of the open profile."""
    data = tmp_path_factory.mktemp("open")
    arguments = ["--port", "0", "--data-dir", str(data), "--league-id", "open", "--profile", "open"]
    with Program("manager", *arguments) as program:
        url = program.said(r"is at (http://\S+)")[1]
        program.said("profile: open. One referee belongs at port 8001")
        yield ["--manager", url, "--data-dir", str(data)]


def test_a_player_is_added_and_shown_with_how_it_speaks(served: list[str], command: Command) -> None:
    said = command("add-player", "--endpoint", "http://127.0.0.1:8107/mcp", "--name", "Bob", *served)
    assert (said.code, said.err) == (0, "")
    assert said.out == "P01 is registered: Bob.\n"
    agents = command("agents", *served).out.splitlines()
    assert agents[0].split() == ["id", "name", "state", "endpoint", "registered", "from", "form"]
    assert agents[2].split() == ["P01", "Bob", "REGISTERED", "http://127.0.0.1:8107/mcp", "-", "-"]
    assert agents[3].startswith("P01 breaks 000-L0209 (once, at 20")
    (shown,) = json.loads(command("agents", "--json", *served).out)["agents"]
    assert [one["rule"] for one in shown["broken_rules"]] == ["000-L0209"]


def test_agents_with_problems_are_listed_in_words_and_as_json(served: list[str], command: Command) -> None:
    command("add-player", "--endpoint", "http://127.0.0.1:8109/mcp", "--name", "Eve", *served)
    said = command("agents", "--problems", *served)
    assert (said.code, said.err) == (0, "")
    assert "Eve (registered): 1 rule of the protocol broken" in said.out
    shown = json.loads(command("agents", "--problems", "--json", *served).out)
    assert "Eve" in [one["display_name"] for one in shown["agents"]]
    assert shown["refused"] == []


def test_problems_are_printed_one_per_line_with_times_and_without_control_characters() -> None:
    at = "2026-01-15T10:30:00Z"
    bob: dict[str, Any] = {
        "agent_id": "P02", "display_name": "Bob\x1b", "state": "SUSPENDED", "out": None, "unreachable_since": at,
        "sentences": ["2 technical losses", "5 time-outs"],
    }  # fmt: skip
    eve: dict[str, Any] = {
        "role": "player",
        "display_name": "Eve",
        "endpoint": "",
        "address": "10.0.0.7",
        "code": "E048",
    }
    eve |= {"reason": "no", "first_at": at, "last_at": at, "count": 1}
    first, _, second = _format("problems", {"agents": [bob], "refused": [eve]}).splitlines()
    since = f"{times.parse_timestamp(at).astimezone():%H:%M:%S}"
    assert first == f"P02 Bob� (suspended): 2 technical losses, 5 time-outs, no answer since {since}"
    assert second.startswith("refused: Eve, a player at no endpoint, from 10.0.0.7 (once, at ")
    assert _format("problems", {"agents": [], "refused": []}) == "No agent of the league has problems."
    waiting = {"agents": [], "refused": [], "waits_for": ["Bob (P01) in R1M1: try 2 of 4"]}
    assert _format("problems", waiting) == "waits for Bob (P01) in R1M1: try 2 of 4"


def test_a_player_that_cannot_be_added_is_refused_with_the_reason(served: list[str], command: Command) -> None:
    nowhere = command("add-player", "--endpoint", "nowhere", *served)
    assert nowhere.code == 2
    assert "endpoint must be a URL such as http://127.0.0.1:8101/mcp, got 'nowhere'" in nowhere.err
    forbidden = command("add-player", "--endpoint", "http://10.0.0.5:8101/mcp", *served)
    assert forbidden.code == 2
    assert "This manager may not call http://10.0.0.5:8101/mcp: start it, and its referees, with" in forbidden.err
    odd = command("add-player", "--endpoint", "http://127.1:8101/mcp", *served)
    assert odd.code == 2
    assert "an IPv4 address is four decimal numbers" in odd.err
    assert command("add-player", *served).code == 2
    helped = command("add-player", "--help")
    assert helped.code == 0
    assert "--endpoint URL" in helped.out


def test_an_agent_that_was_refused_is_shown_with_the_reason_and_logged(served: list[str], command: Command) -> None:
    url = served[1].removesuffix("/mcp")
    body = json.dumps({"name": "Late", "endpoint": "http://127.0.0.1:8108/mcp", "game_types": ["chess"]}).encode()
    sent = urllib.request.Request(f"{url}/register", body, {"content-type": "application/json"})
    with urllib.request.urlopen(sent, timeout=10) as answer:
        assert json.load(answer)["player_id"]
    for _ in range(2):
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(urllib.request.Request(f"{url}/register", b'{"name":"Lost"}'), timeout=10)
    line = command("agents", *served).out.splitlines()[-1]
    assert line.startswith("refused: Lost, a player at no endpoint, from 127.0.0.1 (2 times, last at 20")
    assert "player_meta.contact_endpoint" in line
    log = command("log", "--data-dir", served[3]).out
    assert "Lost tried to register as a player and is refused: " in log


def test_who_was_not_there_before_the_start_is_said() -> None:
    shown: dict[str, Any] = {
        "league_id": "open", "state": "RUNNING_LEAGUE", "paused": False, "current_round": 1, "total_rounds": 1,
        "matches_played": 0, "total_matches": 1, "players": 2, "referees": 1, "waits_for": [], "flags": [],
        "unreachable": ["P02 (Bob\x1b) did not answer"],
    }  # fmt: skip
    assert _format("start", shown).splitlines()[-1] == "P02 (Bob�) did not answer"


def test_what_cost_matches_is_named_first() -> None:
    agent = {"id": "P01", "display_name": "Bob", "state": "ACTIVE", "endpoint": "x", "form": "TYPE"}
    broken = {"rule": "decision 5", "first_at": "now", "came": "a", "expected": "b", "count": 3}
    lost = [{"match_id": f"R{number}M1", "ruling": "INVALID_ANSWER"} for number in range(1, 8)]
    agents = [agent | {"broken_rules": [broken]}, agent | {"id": "P02", "lost_technically": lost}]
    first, second = _format("agents", {"agents": agents}).splitlines()[-2:]
    assert first.startswith("P02 lost 7 matches technically: R1M1 INVALID_ANSWER, R2M1 INVALID_ANSWER, ")
    assert first.endswith("R5M1 INVALID_ANSWER and 2 more; `league replay R7M1` shows the last")
    assert second.startswith("P01 breaks decision 5")


def test_how_often_is_told_in_words() -> None:
    broken = {"rule": "decision 5", "first_at": "now", "came": "a", "expected": "b", "count": 3}
    agent = {"id": "P01", "display_name": "Bob", "state": "ACTIVE", "endpoint": "x", "form": "TYPE"}
    text = _format("agents", {"agents": [agent | {"broken_rules": [broken]}]})
    assert text.splitlines()[-1] == "P01 breaks decision 5 (3 times, first at now): a; expected b"


def hosting(*arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    host.configure(parser)
    options = parser.parse_args(["--host", "127.0.0.1", *arguments])
    options.referees = options.referees or 1
    return options


@pytest.fixture
def usual_port(monkeypatch: pytest.MonkeyPatch) -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    monkeypatch.setattr(host, "DEFAULT_REFEREE_PORT", port)
    return port


def ports(*arguments: str) -> list[int]:
    sockets = host._open_referee_sockets(hosting(*arguments))
    found = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return found


def test_in_the_open_profile_the_first_referee_listens_where_agents_look_for_it(
    usual_port: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ports("--profile", "open", "--port", "0", "--referees", "2")[0] == usual_port
    assert ports("--port", "0", "--referees", "2")[0] != usual_port
    # Where it comes there anyway, nothing need be done.
    assert ports("--profile", "open", "--port", str(usual_port - 1)) == [usual_port]
    taken = listen("127.0.0.1", usual_port)
    assert ports("--profile", "open", "--port", "0")[0] != usual_port
    taken.close()
    assert f"{host.REFEREE_PORT_HINT}; none can listen there" in capsys.readouterr().err


def test_the_profile_of_a_league_is_settled_once(tmp_path: Path, command: Command) -> None:
    assert manager.settings_from(hosting("--profile", "open")).profile == "open"
    assert manager.settings_from(hosting()).profile == "spec"
    store = tmp_path / "league.db"
    with Program("manager", "--port", "0", "--data-dir", str(tmp_path), "--store", str(store)) as program:
        program.said(r"is at (http://\S+)")
    said = command("manager", "--port", "0", "--data-dir", tmp_path, "--store", store, "--profile", "open")
    assert said.code == 2
    assert "has profile = 'spec', not 'open'. Leave --profile out" in said.err


@pytest.mark.long
def test_a_whole_league_runs_in_the_open_profile(tmp_path: Path) -> None:
    program = league("run", "--profile", "open", "--port", "0", "--seed", "7", "--json", "--data-dir", tmp_path)
    assert (program.process.returncode, program.stderr) == (0, "")
    assert json.loads(program.stdout)["technical_losses"] == 0
