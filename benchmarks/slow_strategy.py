"""A strategy whose moves take as long as those of a language model; it waits as a client of one does."""

from __future__ import annotations

import asyncio
import time

from leaguekit import Context, Move
from leaguekit.protocol.messages import MoveInfo

MIN_SECONDS, MAX_SECONDS = 10.0, 30.0


async def choose(ctx: Context) -> Move:
    began = time.perf_counter()
    await asyncio.sleep(ctx.random.uniform(MIN_SECONDS, MAX_SECONDS))
    move = ctx.random.choice(ctx.valid_options)
    return Move(move, info=MoveInfo(seconds=time.perf_counter() - began))
