"""Whole leagues of OpenSpiel's games over HTTP, with one process per agent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long


def league(*arguments: str | Path) -> str:
    """Run a command of leaguekit. Returns what it prints."""
    command = [sys.executable, "-m", "leaguekit", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name",
    ["openspiel:chess", "openspiel:kuhn_poker", "openspiel:backgammon", "openspiel:go(board_size=9)",
     "openspiel:goofspiel", "openspiel:leduc_poker"],
)  # fmt: skip
def test_a_league_ends_without_a_technical_loss_and_is_verified_and_reported(name: str, tmp_path: Path) -> None:
    run = ("run", "--game", name, "--players", "3", "--strategies", "random", "--port", "0", "--seed", "7")
    result = json.loads(league(*run, "--json", "--data-dir", tmp_path))
    assert result["matches"] == 3
    assert result["technical_losses"] == 0
    (store,) = tmp_path.glob("agents/*/manager/league.db")
    verified = json.loads(league("verify", store, "--json"))
    assert verified["ok"], verified
    assert (verified["faults"], verified["warnings"]) == (0, 0)
    assert verified["counts"]["outcomes_replayed"] == 3
    assert verified["counts"]["not_checkable"] == {}
    assert verified["counts"]["technical_losses"] == 0
    league("report", store, "--out", tmp_path / "report")
    assert [*(tmp_path / "report").glob("*.html")]
