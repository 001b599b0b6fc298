"""A long league leaves little behind in its manager: memory a result, and no files or tasks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

MEASURE = Path(__file__).parents[2] / "benchmarks" / "memory.py"
PLAYERS = 150


@pytest.mark.long
def test_a_result_takes_at_most_a_kilobyte_and_files_and_tasks_stay_as_many() -> None:
    done = subprocess.run(
        [sys.executable, MEASURE, str(PLAYERS)], check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["matches"] == PLAYERS * (PLAYERS - 1) // 2
    assert found["a_result"] <= 1_024
    assert len(set(found["files"])) == 1
    # While everybody is told something there is a task for each; at the end there are as many as at the beginning.
    assert max(found["tasks"]) < 6 * PLAYERS
    assert found["tasks"][-1] <= found["tasks"][0]
