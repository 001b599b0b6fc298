"""Runs jobs in a pool of workers, and returns their results in the order of the jobs.

A job is pure data, and so is its result. So it makes no difference which process runs a job, when, and how often it
is repeated because that process was lost: the results are the same, and they come in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar

from leaguekit.sim.workers import WorkerPool, WorkersLost

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

# After this number of lost workers in a row, the job itself is assumed to crash them. The number is high because a busy
# machine may kill any process.
MAX_LOSSES = 20
# While no result arrives, None is yielded to the caller at this interval.
WAIT_SECONDS = 0.1


def run_in_order(
    pool: WorkerPool, function: Callable[[JobT], ResultT], jobs: Iterator[JobT]
) -> Iterator[ResultT | None]:
    """Call the function with each job, and yield their results in order; None if there was no result for a moment.

    Jobs are taken from the iterator as late as possible. Raises what a job raises, and WorkersLost.
    """
    waiting: deque[tuple[JobT, Future[ResultT]]] = deque()
    losses = 0
    while True:
        while len(waiting) < pool.max_pending:
            try:
                job = next(jobs)
            except StopIteration:
                break
            waiting.append((job, _submit(pool, function, job)))
        if not waiting:
            return
        first, future = waiting[0]
        if not wait([future], WAIT_SECONDS).done:
            pool.check_for_losses()
            yield None
            continue
        try:
            result = future.result()
        except pool.lost_errors as error:
            losses += 1
            if losses > MAX_LOSSES:
                raise WorkersLost(f"every process that played {first} ended before it was done ({error})") from error
            pool.restart_after(error)
            waiting = deque((job, old if _has_result(old) else _submit(pool, function, job)) for job, old in waiting)
            continue
        losses = 0
        waiting.popleft()
        yield result


def _submit(pool: WorkerPool, function: Callable[[JobT], ResultT], job: JobT) -> Future[ResultT]:
    """Submit a job. If the workers are lost already, the future raises that error."""
    try:
        return pool.submit(function, job)
    except pool.lost_errors as error:
        future: Future[ResultT] = Future()
        future.set_exception(error)
        return future


def _has_result(future: Future[ResultT]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
