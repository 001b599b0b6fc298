"""A Dask cluster as the how-to starts it: with TLS, and a worker that is killed in the middle."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from leaguekit.sim.cluster import INSTALL
from tests.cli.test_simulate import simulated

ROOT = Path(__file__).parents[2]
AGENT = """
import os
moves = 0

def choose(ctx):
    global moves
    moves += 1
    if moves == 1_000 and "IS_WORKER" in os.environ:
        print("has played 1,000 moves", flush=True)
    return ctx.valid_options[len(ctx.history) % len(ctx.valid_options)]
"""
needs_dask = pytest.mark.skipif(find_spec("distributed") is None, reason="needs the extra dask")


def recipe() -> list[str]:
    """The commands of the how-to: files, processes, simulation."""
    text = (ROOT / "docs/how-to.md").read_text()
    section = text[text.index("## Play on several computers") :]
    return re.findall(r"```sh\n(.*?)```", section[: section.index("\n## ", 5)], re.DOTALL)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "my_agent.py").write_text(AGENT)
    return tmp_path


class Cluster:
    """The processes of a cluster, started by the commands of the how-to on this computer."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self.home = home
        self._stack = stack
        files, self._start, self._play = recipe()
        subprocess.run(["bash", "-ec", files], cwd=home, check=True, capture_output=True)
        self.settings = home / "cluster/dask.yaml"
        self.environment = {
            **os.environ,
            "DASK_CONFIG": str(self.settings),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
        }
        command = self._start.splitlines()[0].replace("--host 10.0.0.5 --port 8786", "--host 127.0.0.1 --port 0")
        # It tells its address when it can be reached.
        self._scheduler = self.begin(command)
        lines = self._scheduler.stderr
        self.address = next(found[0] for line in lines if (found := re.search(r"tls://127\.0\.0\.1:\d+", line)))

    def end_scheduler(self) -> None:
        end(self._scheduler)

    def start_worker(self, folder: Path | None = None) -> subprocess.Popen[str]:
        command = self._start.splitlines()[1].replace("tls://10.0.0.5:8786", self.address)
        process = self.begin(command.replace("--nworkers auto", "--nworkers 1"), folder, IS_WORKER="1")
        next(line for line in process.stderr if "Registered to" in line)
        return process

    def simulate(self, options: str, **more: str) -> subprocess.Popen[str]:
        return self.begin(f"{self._play.replace('tls://10.0.0.5:8786', self.address)} {options}", **more)

    def begin(self, command: str, folder: Path | None = None, **more: str) -> subprocess.Popen[str]:
        process = self._stack.enter_context(
            subprocess.Popen(
                shlex.split(command),
                cwd=folder or self.home,
                env=self.environment | more,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        self._stack.callback(end, process)
        return process


def end(process: subprocess.Popen[str]) -> None:
    """Kill a process and those that it has started, as the failure of a machine does."""
    if process.poll() is None:
        started = psutil.Process(process.pid).children(recursive=True)
        for one in (process, *started):
            one.kill()
        process.wait()


@pytest.fixture
def cluster(home: Path) -> Iterator[Cluster]:
    with ExitStack() as stack:
        yield Cluster(home, stack)


def figures(out: str) -> dict[str, object]:
    return {name: value for name, value in json.loads(out).items() if "second" not in name}


@needs_dask
@pytest.mark.long
def test_a_cluster_with_tls_that_loses_a_worker_has_the_result_of_one_core(cluster: Cluster) -> None:
    options = "--game tic_tac_toe --players 4 --seeds 3000 --json --out"
    alone = cluster.begin(f"league simulate --strategies frequency,my_agent.py:choose --jobs 1 {options} alone.csv")
    expected, _ = alone.communicate(timeout=120)
    lost = cluster.start_worker()
    cluster.start_worker()
    together = cluster.simulate(f"{options} cluster.csv")
    assert "has played 1,000 moves" in lost.stdout.readline()
    end(lost)
    out, err = together.communicate(timeout=120)
    assert (together.returncode, err) == (0, "")
    assert figures(out) == figures(expected)
    assert (cluster.home / "cluster.csv").read_bytes() == (cluster.home / "alone.csv").read_bytes()


@needs_dask
@pytest.mark.long
def test_a_cluster_says_what_is_wrong_and_how_to_continue(cluster: Cluster) -> None:
    """Clients without a certificate are refused, a worker without the strategy is named, and a lost scheduler too."""
    stranger = cluster.home / "stranger"
    stranger.mkdir()
    (stranger / "dask.yaml").write_text("{}")
    refused = cluster.simulate("", DASK_CONFIG=str(stranger / "dask.yaml"))
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert err.startswith(f"league simulate: there is no certificate for {cluster.address}: ")
    # The certificate of another authority.
    subprocess.run(["bash", "-ec", recipe()[0]], cwd=stranger, check=True, capture_output=True)
    refused = cluster.simulate("", DASK_CONFIG=str(stranger / "cluster/dask.yaml"))
    _, err = refused.communicate(timeout=60)
    assert refused.returncode == 2
    assert err.startswith(f"league simulate: the scheduler at {cluster.address} cannot be reached: ")
    assert "Traceback" not in err
    worker = cluster.start_worker(stranger)
    lacking = cluster.simulate("")
    _, err = lacking.communicate(timeout=60)
    assert lacking.returncode == 2
    assert "A worker on " in err
    assert f"There is no file '{stranger}/my_agent.py'" in err
    end(worker)
    worker = cluster.start_worker()
    left = cluster.simulate("--game tic_tac_toe")
    assert "has played 1,000 moves" in worker.stdout.readline()
    cluster.end_scheduler()
    _, err = left.communicate(timeout=60)
    assert left.returncode == 2
    # It depends on what the client was doing.
    assert re.search(rf"the scheduler at {cluster.address} (was lost|does not answer)", err)
    assert "Traceback" not in err


def test_the_extra_is_named_when_it_is_missing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaguekit.sim.cluster.find_spec", lambda _: None)
    code, out, err = simulated(capsys, "--cluster", "tls://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert err == f"league simulate: {INSTALL}\n"


@needs_dask
def test_a_scheduler_that_is_not_there_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaguekit.sim.cluster.CONNECT_SECONDS", 0.1)
    code, out, err = simulated(capsys, "--cluster", "tcp://127.0.0.1:9")
    assert (code, out) == (2, "")
    assert err.startswith("league simulate: the scheduler at tcp://127.0.0.1:9 cannot be reached: ")
