"""How a strategy is asked for a move, and what is played when it does not give a legal one in time."""

from __future__ import annotations

import asyncio
import contextlib
import reprlib
import threading
from collections.abc import Awaitable, Callable
from functools import cache, partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, NamedTuple

import msgspec

from leaguekit.player.context import Context, Move, Strategy
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.fields import Origin


class Decision(NamedTuple):
    """A legal move and its origin.

    If it was played for the strategy, ``fault`` says why, and ``error`` is what the strategy raised. If the strategy
    itself states that the move is not its own, ``reason`` says why.
    """

    move: Any
    fault: str | None = None
    error: BaseException | None = None
    origin: Origin = "own"
    reason: str = ""


def _replaced(ctx: Context, options: list[Any], fault: str, error: BaseException | None = None) -> Decision:
    return Decision(ctx.random.choice(options) if options else None, fault, error, "replaced", fault)


def is_quick(strategy: Strategy) -> bool:
    """Whether it is one of ours, which are known to be: a task, let alone a thread, costs more than they do."""
    return strategy in STRATEGIES.values()


def decide_at_once(strategy: Strategy, ctx: Context) -> Decision:
    """Ask a strategy that is quick: it leaves the options as they are, and nearly always chooses one that is a text."""
    options = ctx.valid_options
    try:
        move = strategy(ctx)
    except Exception as error:  # noqa: BLE001 - it may be asked for a move where there is none
        return judged(StrategyResult(error=_as_the_author_sees(error)), ctx, options)
    return Decision(move) if type(move) is str and move in options else judged(StrategyResult(move), ctx, options)


async def decide(strategy: Strategy, ctx: Context, seconds: float, *, inline: bool = False) -> Decision:
    """Ask a strategy; play a legal move for it if it fails, takes longer than that, or makes no legal one.

    ``inline`` asks it here and now. Otherwise an author's function runs in a thread, for it may block, be it async.
    """
    if is_quick(strategy):
        return decide_at_once(strategy, ctx)
    options = [*ctx.valid_options]
    thinking = asyncio.ensure_future(_think(strategy, ctx, inline=inline))
    try:
        await asyncio.wait((thinking,), timeout=seconds)
    finally:
        # One that does not end when it is told to is left to itself; nobody waits for it.
        thinking.cancel()
    if not thinking.done():
        return _replaced(ctx, options, f"the strategy took longer than {seconds:g} s")
    return judged(
        StrategyResult(error=asyncio.CancelledError()) if thinking.cancelled() else thinking.result(), ctx, options
    )


class StrategyResult(NamedTuple):
    """What came of asking a strategy: anything at all, or what it raised."""

    move: Any = None
    error: BaseException | None = None


def judged(thought: StrategyResult, ctx: Context, options: list[Any]) -> Decision:
    """The option that a strategy means, or another one and what is wrong with its own."""
    if thought.error is not None:
        return _replaced(ctx, options, f"the strategy raised {thought.error!r}", thought.error)
    if isinstance(thought.move, Move):
        stated = thought.move
        decision = judged(StrategyResult(stated.move), ctx, options)
        if decision.fault is not None:
            return decision
        return decision._replace(origin=stated.origin, reason=str(stated.reason))
    if type(thought.move) is str and thought.move in options:
        return Decision(options[options.index(thought.move)])
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        wanted = _canonical(thought.move)
        if not options:
            return Decision(thought.move)
        for option in options:
            if _canonical(option) == wanted:
                return Decision(option)
    fault = f"the strategy chose {reprlib.repr(thought.move)}, which is none of {reprlib.repr(options)}"
    return _replaced(ctx, options, fault)


async def _think(strategy: Strategy, ctx: Context, *, inline: bool) -> StrategyResult:
    # An async function is not begun by its call.
    here = inline or iscoroutinefunction(strategy)
    thought = called(strategy, ctx) if here else await _in_a_thread(partial(called, strategy, ctx))
    if not isawaitable(thought.move):
        return thought
    if inline:
        return await _awaited(thought.move)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited(thought.move), _authors_loop()))


async def _awaited(move: Awaitable[Any]) -> StrategyResult:
    try:
        return StrategyResult(await move)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
        return StrategyResult(error=_as_the_author_sees(error))


def called(strategy: Strategy, ctx: Context) -> StrategyResult:
    """Call a strategy here and now."""
    try:
        return StrategyResult(strategy(ctx))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
        return StrategyResult(error=_as_the_author_sees(error))


def _as_the_author_sees(error: BaseException) -> BaseException:
    """An error whose trace begins in the author's code and not in ours."""
    trace = error.__traceback__
    return error if trace is None else error.with_traceback(trace.tb_next)


@cache
def _authors_loop() -> asyncio.AbstractEventLoop:
    """The loop of all async strategies, in a thread: what blocks there holds up no answer, and connections that an
    author keeps open still belong to it in the next match."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="strategies", daemon=True).start()
    return loop


async def _in_a_thread(work: Callable[[], StrategyResult]) -> StrategyResult:
    """Run it in a daemon thread: what never returns must not hold up the end of the program."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[StrategyResult] = loop.create_future()

    def settle(thought: StrategyResult) -> None:
        if not outcome.done():
            outcome.set_result(thought)

    def run() -> None:
        thought = work()
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, thought)

    threading.Thread(target=run, name="strategy", daemon=True).start()
    return await outcome


def _canonical(value: Any) -> bytes:
    """A value as JSON, where True is not 1 and a tuple is a list."""
    return msgspec.json.encode(value, order="sorted")
