"""A program that appends for as long as it lives and says what was acknowledged: python writer_program.py ADDRESS."""

from __future__ import annotations

import asyncio
import os
import sys

from leaguekit.store.base import EventLog
from leaguekit.store.opening import open_log


async def append(log: EventLog, task: int) -> None:
    step = 0
    while True:
        step += 1
        event = b'{"process":%d,"task":%d,"step":%d}' % (os.getpid(), task, step)
        number = await log.append([event])
        # A pipe takes a short line whole, so what the reader has was acknowledged.
        os.write(1, b"%d %b\n" % (number, event))


async def main() -> None:
    log = await open_log(sys.argv[1])
    await asyncio.gather(*(append(log, task) for task in range(20)))


if __name__ == "__main__":
    asyncio.run(main())
