"""Background tasks: a failure is reported once, an ended task is forgotten, and a cancelled one has ended."""

from __future__ import annotations

import asyncio

from leaguekit.agents.tasks import Tasks, cancel


def test_a_failed_task_is_reported_and_every_ended_task_is_forgotten() -> None:
    async def main() -> None:
        errors: list[BaseException] = []
        tasks = Tasks(errors.append)
        failure = ValueError("broken")

        async def fail() -> None:
            raise failure

        started = [tasks.start(asyncio.sleep(0)), tasks.start(fail())]
        assert tasks == set(started)
        await asyncio.wait(started)
        await asyncio.sleep(0)
        assert (tasks, errors) == (set(), [failure])

    asyncio.run(main())


def test_cancelled_tasks_have_ended_and_are_not_reported() -> None:
    async def main() -> None:
        errors: list[BaseException] = []
        tasks = Tasks(errors.append)
        endless = tasks.start(asyncio.Event().wait())
        await cancel(*tasks, None)
        assert endless.cancelled()
        assert (tasks, errors) == (set(), [])

    asyncio.run(main())
