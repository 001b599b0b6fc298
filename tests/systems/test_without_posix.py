"""The commands on a system without fork, fcntl, uvloop, inherited sockets and signal handlers of event loops.

``without_posix/sitecustomize.py`` makes every Python that is started here such a system.
"""

from __future__ import annotations

import json
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.programs import Program, league

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the open files of a process are found in /proc")
PRELUDE = Path(__file__).parent / "without_posix"


@pytest.fixture(autouse=True)
def _without_posix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(PRELUDE))
    # Other systems have other default encodings.
    monkeypatch.setenv("PYTHONWARNDEFAULTENCODING", "1")


def python(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "program",
    [
        "import fcntl",
        "import uvloop",
        "import resource",
        "import os; os.fork()",
        "import os; os.open('/', os.O_RDONLY)",
        "import subprocess, sys; subprocess.run([sys.executable], pass_fds=[1])",
        "import asyncio; asyncio.new_event_loop().add_signal_handler(2, print)",
        "import os, tempfile; file = tempfile.NamedTemporaryFile(); os.unlink(file.name)",
    ],
)
def test_the_system_lacks_what_it_should_lack(program: str) -> None:
    assert python(program).returncode == 1


def test_a_league_is_played_by_real_processes(tmp_path: Path) -> None:
    run = league("run", "--port", "0", "--json", "--data-dir", tmp_path, "--game", "tic_tac_toe")
    assert run.ended() == 0, run.stderr
    result = json.loads(run.stdout)
    assert (result["matches"], result["technical_losses"]) == (6, 0)
    assert "Warning" not in run.stderr


@pytest.mark.long
def test_ctrl_c_ends_a_league_and_it_can_be_resumed(tmp_path: Path) -> None:
    with Program("run", "--port", "0", "--announce-lead", "60", "--data-dir", tmp_path) as run:
        run.said(r"league\.db")
        run.said("Round 1")
        agents = psutil.Process(run.process.pid).children()
        run.process.send_signal(signal.SIGINT)
        assert run.ended() == 130
        assert not psutil.wait_procs(agents, 10)[1]
    store = next(tmp_path.rglob("league.db"))
    assert f"league run --resume {store}" in run.stdout
    with Program("run", "--resume", store) as again:
        again.said("Round 1")


@pytest.mark.long
def test_the_agents_of_a_league_end_when_their_parent_is_killed(tmp_path: Path) -> None:
    with Program("run", "--port", "0", "--stay", "--data-dir", tmp_path) as run:
        run.said("Its page stays")
        agents = psutil.Process(run.process.pid).children()
        assert agents
        run.process.kill()
        assert not psutil.wait_procs(agents, 10)[1]


def test_a_store_has_one_writer(tmp_path: Path) -> None:
    command = ("manager", "--port", "0", "--store", tmp_path / "league.db", "--data-dir", tmp_path)
    with Program(*command) as first:
        first.said("is at http")
        second = league(*command)
        assert second.ended() == 2
        assert f"is in use by another program (process {first.process.pid})." in second.stderr
    with Program(*command) as third:
        third.said("is at http")


@pytest.mark.parametrize("agent", [pytest.param("player", marks=pytest.mark.long), "agent.py"])
def test_an_agent_is_tried(agent: str, tmp_path: Path) -> None:
    assert league("new", "player", "Alice", "--dir", tmp_path / "alice").ended() == 0
    run = () if agent == "player" else (sys.executable, str(tmp_path / "alice" / "agent.py"))
    with Program("try", "--port", "0") as trying:
        manager = trying.said(r"register at (http://127\.0\.0\.1:\d+/mcp)")[1]
        options = ("--manager", manager, "--port", "0", "--data-dir", tmp_path)
        with Program(*options, command=run) if run else Program("player", *options) as mine:
            assert mine.ended() == 0, mine.stderr
        assert trying.ended() == 0, trying.stdout
    assert "Warning" not in mine.stderr + trying.stderr


def test_a_player_is_checked(tmp_path: Path) -> None:
    with Program("check", "player", "--port", "0", "--json") as check:
        manager = check.said(r"(http://127\.0\.0\.1:\d+/mcp)")[1]
        with Program("player", "--manager", manager, "--port", "0", "--data-dir", tmp_path):
            assert check.ended(60) == 0, check.stdout


@pytest.mark.parametrize("faults", [pytest.param("none", marks=pytest.mark.long), "all"])
def test_leagues_are_simulated(faults: str) -> None:
    simulated = league("simulate", "--seeds", "2", "--faults", faults, "--json")
    assert simulated.ended() == 0, simulated.stderr
    assert json.loads(simulated.stdout)["matches"] > 0


LOCK = """
import sys
from pathlib import Path
from leaguekit.store.lock import WriterLock
lock = WriterLock(Path(sys.argv[1]))
print("locked", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_the_lock_is_an_exclusive_transaction_that_every_program_can_see(
    has_fcntl: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_fcntl:
        monkeypatch.delenv("PYTHONPATH")
    path = tmp_path / "league.db"
    command = [sys.executable, "-c", LOCK, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with sqlite3.connect(tmp_path / "league.db.lock.sqlite", timeout=0) as other:
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN EXCLUSIVE")
            holder.kill()
            holder.stdout.read()
            other.execute("BEGIN EXCLUSIVE")
        other.close()
