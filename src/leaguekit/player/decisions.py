"""Asks a strategy for a move, and replaces its move if it does not give a legal one in time."""

from __future__ import annotations

import asyncio
import contextlib
import reprlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import cache, partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, NamedTuple

import msgspec

from leaguekit.player.context import Context, Forfeit, Move, Strategy
from leaguekit.player.move_limit import MoveTooSlow
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.fields import Origin
from leaguekit.protocol.messages import MoveInfo

# A text for an illegal move. All moves of most games are in it.
_short = reprlib.Repr()
_short.maxlist = 20


class Decision(NamedTuple):
    """A legal move and its origin.

    If the move replaces the strategy's own, ``fault`` says why, and ``error`` is what the strategy raised. If the
    strategy itself states that the move is not its own, ``reason`` says why. ``info`` has further facts. With
    ``forfeit`` there is no move.
    """

    move: Any
    fault: str | None = None
    error: BaseException | None = None
    origin: Origin = "own"
    reason: str = ""
    info: MoveInfo = MoveInfo()
    forfeit: Forfeit | None = None


class StrategyResult(NamedTuple):
    """What a strategy returned, which may be anything, or what it raised."""

    move: Any = None
    error: BaseException | None = None


def is_built_in(strategy: Strategy) -> bool:
    """Whether a strategy comes with leaguekit. Those are fast: a task or a thread would cost more than the strategy."""
    return strategy in STRATEGIES.values()


def decide_sync(strategy: Strategy, ctx: Context) -> Decision:
    """Ask a built-in strategy, which does not change the options."""
    return decision_from(_call_strategy(strategy, ctx), ctx, ctx.valid_options)


async def decide(strategy: Strategy, ctx: Context, seconds: float, *, inline: bool = False) -> Decision:
    """Ask a strategy. Replace its move if it raises, takes longer than ``seconds``, or chooses an illegal move.

    With ``inline`` the strategy runs in this event loop. Otherwise an author's function runs in a thread, because it
    may block, even if it is async.
    """
    if is_built_in(strategy):
        return decide_sync(strategy, ctx)
    options = [*ctx.valid_options]
    task = asyncio.ensure_future(_ask(strategy, ctx, inline=inline))
    try:
        await asyncio.wait((task,), timeout=seconds)
    finally:
        # A strategy that ignores its cancellation goes on, and its result is not used.
        task.cancel()
    if not task.done():
        return replace_move(ctx, options, f"the strategy took longer than {seconds:g} s")
    result = StrategyResult(error=asyncio.CancelledError()) if task.cancelled() else task.result()
    return decision_from(result, ctx, options)


def decision_from(result: StrategyResult, ctx: Context, options: list[Any]) -> Decision:
    """The option that a strategy has chosen, or another option and the fault of the strategy."""
    if result.error is not None:
        return replace_move(ctx, options, f"the strategy {_describe(result.error)}", result.error)
    if isinstance(result.move, Forfeit):
        return Decision(None, origin="replaced", reason=result.move.reason, forfeit=result.move)
    if isinstance(result.move, Move):
        stated = result.move
        decision = decision_from(StrategyResult(stated.move), ctx, options)
        if decision.fault is not None:
            return decision
        return decision._replace(origin=stated.origin, reason=str(stated.reason), info=stated.info)
    if type(result.move) is str and result.move in options:
        return Decision(options[options.index(result.move)])
    with contextlib.suppress(TypeError, ValueError, RecursionError):
        wanted = _canonical(result.move)
        if not options:
            return Decision(result.move)
        for option in options:
            if _canonical(option) == wanted:
                return Decision(option)
        if not ctx.lists_all_moves:
            return Decision(result.move)
    fault = f"the strategy chose {_short.repr(result.move)}, which is none of {_short.repr(options)}"
    return replace_move(ctx, options, fault)._replace(info=MoveInfo(illegal=1))


def _describe(error: BaseException) -> str:
    return str(error) if isinstance(error, MoveTooSlow) else f"raised {error!r}"


def replace_move(ctx: Context, options: list[Any], fault: str, error: BaseException | None = None) -> Decision:
    """Another move, by chance, and why the strategy's own is not played."""
    return Decision(ctx.random.choice(options) if options else None, fault, error, "replaced", fault)


async def _ask(strategy: Strategy, ctx: Context, *, inline: bool) -> StrategyResult:
    # The call of an async function only makes a coroutine, and cannot block.
    if inline or iscoroutinefunction(strategy):
        result = _call_strategy(strategy, ctx)
    else:
        result = await _run_in_thread(partial(_call_strategy, strategy, ctx))
    if not isawaitable(result.move):
        return result
    if inline:
        return await _await_move(result.move)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_await_move(result.move), _strategy_loop()))


async def _await_move(move: Awaitable[Any]) -> StrategyResult:
    try:
        return StrategyResult(await move)
    except (Exception, SystemExit, MoveTooSlow) as error:  # noqa: BLE001 - the author's code may raise anything
        return StrategyResult(error=_without_our_frame(error))


def _call_strategy(strategy: Strategy, ctx: Context) -> StrategyResult:
    try:
        return StrategyResult(strategy(ctx))
    except (Exception, SystemExit, MoveTooSlow) as error:  # noqa: BLE001 - the author's code may raise anything
        return StrategyResult(error=_without_our_frame(error))


# Where a strategy runs, for ``move_timeout``.
CALLERS = (_call_strategy.__code__, _await_move.__code__)


def _without_our_frame(error: BaseException) -> BaseException:
    """An error whose traceback begins in the author's code and not in ours."""
    trace = error.__traceback__
    return error if trace is None else error.with_traceback(trace.tb_next)


@cache
def _strategy_loop() -> asyncio.AbstractEventLoop:
    """The event loop of all async strategies, in a thread of its own.

    A strategy that blocks there does not delay answers. Connections that an author keeps open belong to the same loop
    in the next match.
    """
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="strategies", daemon=True).start()
    return loop


async def _run_in_thread(work: Callable[[], StrategyResult]) -> StrategyResult:
    """Run ``work`` in a daemon thread. If it never returns, the program can still end."""
    outcome: Future[StrategyResult] = Future()
    # It cannot be cancelled from now on. The result of a strategy that nothing waits for is not used.
    outcome.set_running_or_notify_cancel()
    threading.Thread(target=lambda: outcome.set_result(work()), name="strategy", daemon=True).start()
    return await asyncio.wrap_future(outcome)


def _canonical(value: Any) -> bytes:
    """A value as JSON, for comparison: True is not 1, and a tuple equals a list."""
    return msgspec.json.encode(value, order="sorted")
