"""Jobs in other processes: their order, processes that are killed, and processes whose parent is."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future
from functools import partial
from pathlib import Path

import psutil
import pytest

from leaguekit.sim import jobs
from leaguekit.sim.jobs import run_in_order
from leaguekit.sim.workers import InlinePool, ProcessPool, WorkerPool, WorkersLost, available_cores


def square(number: int) -> int:
    return number * number


def results(pool: WorkerPool, job: object, numbers: Iterator[int]) -> list[int]:
    return [one for one in run_in_order(pool, job, numbers) if one is not None]


class HeldJobs(InlinePool):
    """The jobs of a test, which ends them in any order."""

    lost_errors = (BrokenExecutor,)
    max_pending = 4

    def __init__(self) -> None:
        self.submitted: list[tuple[int, Future[int]]] = []
        self.replaced = 0

    def submit(self, function, job):
        future: Future[int] = Future()
        self.submitted.append((job, future))
        return future

    def restart_after(self, error: BaseException) -> None:
        self.replaced += 1

    def end(self, *numbers: int) -> None:
        for number, future in self.submitted:
            if number in numbers and not future.done():
                future.set_result(square(number))

    def lose(self) -> None:
        for _, future in self.submitted:
            if not future.done():
                future.set_exception(BrokenExecutor())


def test_results_come_in_the_order_of_the_jobs_whichever_ends_first() -> None:
    held = HeldJobs()
    played = run_in_order(held, square, iter(range(6)))
    assert next(played) is None
    held.end(3, 1)
    assert next(played) is None
    held.end(0)
    assert next(played) == 0
    assert next(played) == 1
    held.end(2, 4, 5)
    assert [next(played) for _ in range(3)] == [4, 9, 16]
    held.end(5)
    assert [*played] == [25]


def test_no_more_jobs_are_taken_than_fit() -> None:
    held, numbers = HeldJobs(), iter(range(100))
    next(run_in_order(held, square, numbers))
    assert next(numbers) == held.max_pending


def test_after_a_loss_only_jobs_without_a_result_are_played_again() -> None:
    held = HeldJobs()
    played = run_in_order(held, square, iter(range(4)))
    assert next(played) is None
    held.end(2)
    held.lose()
    assert next(played) is None
    held.end(0, 1, 3)
    assert [*played] == [0, 1, 4, 9]
    assert held.replaced == 1
    assert [number for number, _ in held.submitted] == [0, 1, 2, 3, 0, 1, 3]


def test_a_job_that_always_loses_its_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "MAX_LOSSES", 3)
    held = HeldJobs()
    played = run_in_order(held, square, iter(range(7, 9)))
    for _ in range(4):
        next(played, None)
        held.lose()
    with pytest.raises(WorkersLost, match="every process that played 7 ended before it was done"):
        next(played)
    assert held.replaced == 3


def square_but_die_at_first(folder: str, number: int) -> int:
    """Every third job kills its process once."""
    mark = Path(folder, str(number))
    if number % 3 == 0 and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(number)


def test_the_jobs_of_killed_processes_are_played_again(tmp_path: Path) -> None:
    with ProcessPool(2) as pool:
        found = results(pool, partial(square_but_die_at_first, str(tmp_path)), iter(range(7)))
    assert found == [*map(square, range(7))]
    assert {path.name for path in tmp_path.iterdir()} == {"0", "3", "6"}


def break_off_a_result(folder: str, number: int) -> int:
    """As if the process were killed while it writes a large result."""
    mark = Path(folder, "mark")
    if number == 1 and not mark.exists():
        mark.touch()
        frame = sys._getframe()
        while frame is not None and "result_queue" not in frame.f_locals:
            frame = frame.f_back
        writer = frame.f_locals["result_queue"]._writer
        os.write(writer.fileno(), struct.pack("!i", 1_000_000) + b"begun")
        os._exit(1)
    return square(number)


def test_a_process_that_is_killed_while_it_writes_a_result_holds_up_nothing(tmp_path: Path) -> None:
    with ProcessPool(2) as pool:
        found = results(pool, partial(break_off_a_result, str(tmp_path)), iter(range(5)))
    assert found == [*map(square, range(5))]
    assert (tmp_path / "mark").exists()


def describe_process(_: int) -> tuple[int, bool]:
    return os.getpid(), signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_ctrl_c_is_for_the_parent_only() -> None:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    with ProcessPool(1) as pool:
        ((pid, is_blocked),) = results(pool, describe_process, iter([1]))
    assert pid != os.getpid()
    assert is_blocked
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == before


PARENT = """
import sys
from leaguekit.sim.jobs import run_in_order
from leaguekit.sim.workers import ProcessPool
from tests.sim.test_jobs import say_and_wait
if __name__ == "__main__":
    with ProcessPool(2) as pool:
        [*run_in_order(pool, say_and_wait, iter(range(2)))]
"""


def say_and_wait(_: int) -> None:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    signal.pause()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent_although_they_are_in_a_job(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "parent.py").write_text(PARENT)
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py")],
        cwd=root,
        env=os.environ | {"PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as parent:
        children = [psutil.Process(int(parent.stdout.readline())) for _ in range(2)]
        parent.send_signal(number)
        parent.wait(30)
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not alive


def fail(number: int) -> int:
    raise LookupError(f"no {number}")


def test_an_error_of_a_job_is_raised_here_and_there_in_the_same_way() -> None:
    for pool in (InlinePool(), ProcessPool(1)):
        with pool, pytest.raises(LookupError, match="no 5"):
            results(pool, fail, iter([5]))


def test_there_is_a_core() -> None:
    assert 1 <= available_cores() <= os.cpu_count()
