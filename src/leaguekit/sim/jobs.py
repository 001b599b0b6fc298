"""Plays jobs by any ``concurrent.futures.Executor``, and returns their results in the order of the jobs.

A job is pure data, and so is its result. So it makes no difference which process plays a job, when, and how often it
begins again because that process was lost: the results are the same, and they come in the same order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from typing import TypeVar

from leaguekit.sim.workers import Workers, WorkersLost

JobT = TypeVar("JobT")
ResultT = TypeVar("ResultT")

# How many times a job begins again, before the job itself is held to be what ends its worker. The number is high
# because a busy machine may end any process.
MAX_LOSSES = 20
# While no result arrives, the caller has its turn at this interval.
WAIT_SECONDS = 0.1


def play_in_order(workers: Workers, play: Callable[[JobT], ResultT], jobs: Iterator[JobT]) -> Iterator[ResultT | None]:
    """Play the jobs, and yield their results in order; None if there was no result for a moment.

    Jobs are taken from the iterator as late as possible. Raises what a job raises, and WorkersLost.
    """
    waiting: deque[tuple[JobT, Future[ResultT]]] = deque()
    losses = 0
    while True:
        while len(waiting) < workers.window:
            try:
                job = next(jobs)
            except StopIteration:
                break
            waiting.append((job, _submit(workers, play, job)))
        if not waiting:
            return
        first, future = waiting[0]
        if not wait([future], WAIT_SECONDS).done:
            workers.check()
            yield None
            continue
        try:
            result = future.result()
        except workers.lost as error:
            losses += 1
            if losses > MAX_LOSSES:
                raise WorkersLost(f"every process that played {first} ended before it was done ({error})") from error
            workers.replace(error)
            waiting = deque((job, old if _has_result(old) else _submit(workers, play, job)) for job, old in waiting)
            continue
        losses = 0
        waiting.popleft()
        yield result


def _submit(workers: Workers, play: Callable[[JobT], ResultT], job: JobT) -> Future[ResultT]:
    """Submit a job. If the workers are lost already, the future says so."""
    try:
        return workers.submit(play, job)
    except workers.lost as error:
        future: Future[ResultT] = Future()
        future.set_exception(error)
        return future


def _has_result(future: Future[ResultT]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None
