"""``league check`` as its user calls it."""

from __future__ import annotations

import json
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from leaguekit.transport.server.server import listen
from tests.cli.conftest import CommandResult
from tests.programs import Program

Command = Callable[..., CommandResult]


def test_a_player_is_checked_by_starting_it_with_the_url_that_is_printed(tmp_path: Path) -> None:
    junit = tmp_path / "report.xml"
    with Program("check", "player", "--port", "0", "--json", "--junit", junit) as check:
        url = check.said(r"http://127\.0\.0\.1:\d+/mcp")[0]
        with Program("player", "--manager", url, "--port", "0", "--data-dir", tmp_path) as player:
            assert check.ended() == 0
            assert player.ended() == 0
    report = json.loads(check.stdout)
    assert (report["ok"], report["subject"], report["counts"]["required"]["failed"]) == (True, "random", 0)
    assert len(report["checks"]) == len(ET.parse(junit).getroot())
    assert "Traceback" not in check.stderr


def test_who_waits_in_vain_is_told_so(command: Command) -> None:
    said = command("check", "player", "--port", 0, "--timeout", 0.2)
    # The checks could not be made, which is not a fault of an agent.
    assert said.code == 2
    assert "Start your player with http://127.0.0.1:" in said.err
    assert "✗ The player registers" in said.out
    assert "came:     nothing at all" in said.out
    assert "this says nothing certain about the player: no player was there. Came: nothing at all." in said.out
    # One failure is not buried under a hundred consequences.
    assert said.out.count("it rests on register.comes, which failed") < 6
    assert "  · 12 checks, register.request to register.size\n      not run: it rests on register.comes" in said.out
    assert len(said.out.splitlines()) < 24


def test_quiet_prints_only_what_failed_and_the_conclusion(command: Command) -> None:
    said = command("check", "player", "--port", 0, "--timeout", 0.2, "--quiet")
    assert said.code == 2
    title, failed, came, expected, conclusion = said.out.splitlines()
    assert (title, came) == ("Registration", "      came:     nothing at all")
    assert failed.startswith("  ✗ The player registers")
    assert expected.startswith("      expected: LEAGUE_REGISTER_REQUEST posted to ")
    assert conclusion.startswith("The kit could not do its work")


def test_a_player_that_is_not_there_is_said_to_be_unreachable(command: Command) -> None:
    # It keeps its port, so that no other program listens there, and does not listen.
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        said = command("check", "player", url, "--json", "--timeout", 0.5)
    assert said.code == 2
    checks = {check["id"]: check for check in json.loads(said.out)["checks"]}
    assert checks["register.comes"]["reason"] == "the player does not register: its URL was given"
    assert checks["reach.ping"]["state"] == "failed"
    assert "E009" in checks["reach.ping"]["came"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "give it as http://HOST:PORT/mcp"),
        (["--timeout", "0"], "--timeout must be more than 0"),
        (["--timeout", "nan"], "--timeout must be more than 0"),
        (["--timeout", "inf"], "--timeout must be more than 0"),
        (["--junit", "nowhere/report.xml"], "--junit nowhere/report.xml cannot be written: No such file"),
        (["--junit", "."], "--junit . cannot be written: Is a directory"),
        (["--host", "0.0.0.0"], "--allow"),
        (["--port", "70000"], "70000 is not a port"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_remedy(arguments: list[str], words: str, command: Command) -> None:
    said = command("check", "player", *arguments)
    assert said.code == 2
    assert words in said.err
    assert said.out == ""


def test_a_port_that_is_taken_is_named(command: Command) -> None:
    with listen("127.0.0.1", 0) as sock:
        said = command("check", "player", "--port", sock.getsockname()[1])
    assert said.code == 2
    assert "is in use" in said.err


def test_it_ends_cleanly_when_it_is_interrupted() -> None:
    with Program("check", "player", "--port", "0") as check:
        check.said(r"http://127\.0\.0\.1:\d+/mcp")
        check.process.send_signal(signal.SIGINT)
        assert check.ended() == 130
    assert "Traceback" not in check.stderr


@pytest.mark.longest
def test_a_referee_is_checked_by_starting_it_with_the_url_that_is_printed(tmp_path: Path) -> None:
    with Program("check", "referee", "--port", "0", "--json") as check:
        url = check.said(r"http://127\.0\.0\.1:\d+/mcp")[0]
        with Program("referee", "--manager", url, "--port", "0", "--data-dir", tmp_path) as referee:
            assert check.ended(120) == 0
            assert referee.ended() == 0
    report = json.loads(check.stdout)
    assert (report["ok"], report["subject"]) == (True, "Referee")
    assert [one["id"] for one in report["checks"] if one["state"] == "failed"] == []
    assert {one["reason"] for one in report["checks"]} == {None, "it takes its time and is made with --full only"}
    assert "Traceback" not in check.stderr


@pytest.mark.long
@pytest.mark.parametrize("by_operator", [True, False])
def test_a_manager_is_checked_in_a_league_that_starts_by_itself_or_by_its_operator(
    by_operator: bool, tmp_path: Path
) -> None:
    folder = ["--data-dir", tmp_path, "--league-id", "checked"]
    starts = [] if by_operator else ["--start-when", "players=4,referees=2"]
    with Program("manager", "--port", "0", "--announce-lead", "0", *folder, *starts) as manager:
        url = manager.said(r"http://127\.0\.0\.1:\d+/mcp")[0]
        token = tmp_path / "agents" / "checked" / "manager" / "admin_token"
        options = ["--admin-token-file", token] if by_operator else []
        with Program("check", "manager", url, "--json", *options) as check:
            assert check.ended(120) == 0
    report = json.loads(check.stdout)
    assert (report["ok"], report["subject"]) == (True, url)
    assert [one["id"] for one in report["checks"] if one["state"] != "passed"] == ["assign.lead"]
    assert "Start your league now" not in check.stderr
    assert "Traceback" not in check.stderr


def test_a_manager_that_is_not_there_is_said_to_be_unreachable(command: Command) -> None:
    with listen("127.0.0.1", 0) as sock:
        port = sock.getsockname()[1]
    said = command("check", "manager", f"http://127.0.0.1:{port}/mcp", "--json")
    assert said.code == 2
    states = [check["state"] for check in json.loads(said.out)["checks"]]
    assert (states[0], {*states[1:]}) == ("failed", {"not run"})


def test_an_admin_token_that_is_not_there_is_said_to_be_missing(command: Command) -> None:
    said = command("check", "manager", "http://127.0.0.1:9/mcp", "--admin-token-file", "nowhere")
    assert said.code == 2
    assert "cannot read the admin token" in said.err


@pytest.mark.parametrize(
    "arguments",
    [["check", "--help"], *(["check", agent, "--help"] for agent in ("player", "referee", "manager"))],
)
def test_the_help_has_examples_and_exit_codes(arguments: list[str], command: Command) -> None:
    said = command(*arguments)
    assert said.code == 0
    assert "examples:" in said.out
    assert re.search(r"exit\s+code", said.out)
