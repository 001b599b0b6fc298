"""The benchmarks run, tell what they promise to tell, and leave nothing behind when they are interrupted."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
KEYS = {
    "limit", "field", "league", "share_of_limit", "times_field", "query_share", "start_s", "growth_20_to_200",
    "mb_per_player", "simulate", "times_axelrod", "cpu_ms", "servers_cpu_ms", "thousand_rate_ratio",
    "thousand_cpu_ratio", "pgo",
}  # fmt: skip


def started(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(BENCHMARKS), "--turns", "1", *arguments],
        env=os.environ | {"QUICK": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.longest
def test_the_last_line_has_every_key_and_the_figures_of_the_parts_that_were_measured() -> None:
    """Some 15 s."""
    with started("league", "query", "broadcast") as bench:
        out, err = bench.communicate(timeout=180)
    assert bench.returncode == 0, err
    told = json.loads(out.splitlines()[-1])
    assert told.keys() >= KEYS
    assert 0 < told["league"] < told["limit"]
    assert told["share_of_limit"] == pytest.approx(told["league"] / told["limit"], abs=0.01)
    assert 0 < told["servers_cpu_ms"] < told["cpu_ms"]
    (size,) = told["by_size"].values()
    assert told["cpu_ms"] > size["limit_cpu_ms"] > 0
    assert told["query_share"] > 0
    assert 0 < told["mb_per_player"] < 100
    assert told["broadcast_ms"] > 0
    assert told["simulate"] is told["field"] is None


@pytest.mark.longest
def test_an_interrupted_run_ends_every_program_that_it_started() -> None:
    """Some 4 s."""
    with started("growth") as bench:
        assert bench.stderr is not None
        assert "…" in bench.stderr.readline()
        children = _several_children(bench)
        bench.send_signal(signal.SIGINT)
        out, _ = bench.communicate(timeout=60)
    assert bench.returncode == 130
    assert "Interrupted" in out
    assert not [one for one in children if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


def _several_children(bench: subprocess.Popen[str]) -> list[psutil.Process]:
    """The manager, two referees and the players, once they are there."""
    while bench.poll() is None:
        if len(children := psutil.Process(bench.pid).children(recursive=True)) >= 4:
            return children
    raise AssertionError(f"it ended by itself with {bench.returncode}")
