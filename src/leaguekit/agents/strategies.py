"""Strategies: those that come with leaguekit, how others are found, and how one is asked without being trusted.

A strategy is a function from a Context to one of its ``valid_options``. Those here are examples of a few lines each,
and partners to play against. One that cannot play a game raises CannotPlay.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import reprlib
import sys
import threading
from collections.abc import Awaitable, Callable
from functools import cache, partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, NamedTuple

import msgspec

from leaguekit.agents.context import Context, Move, PastMatch, Result, Strategy
from leaguekit.games.rock_paper_scissors import BEATS
from leaguekit.games.tic_tac_toe import FREE, LINES
from leaguekit.protocol.fields import Origin


def at_random(ctx: Context) -> Any:
    """Any legal move."""
    return ctx.random.choice(ctx.valid_options)


class CannotPlay(ValueError):
    """A strategy cannot play a game; the text says which can."""


def always_even(ctx: Context) -> Any:
    """Even, every time."""
    return _parity("even", ctx)


def always_odd(ctx: Context) -> Any:
    """Odd, every time."""
    return _parity("odd", ctx)


def _parity(choice: str, ctx: Context) -> Any:
    if choice not in ctx.valid_options:
        raise CannotPlay(f"always_{choice} cannot play {ctx.game_type}")
    return choice


def alternating(ctx: Context) -> Any:
    """The legal moves in turn: another one in each match."""
    return ctx.valid_options[len(ctx.history) % len(ctx.valid_options)]


def history_based(ctx: Context) -> Any:
    """What served best in this player's own matches so far."""
    played = ctx.played()
    won, lost = _choices(played, "WIN"), _choices(played, "LOSS")
    return _best(ctx, lambda option: won.count(str(option)) - lost.count(str(option)))


def _choices(matches: list[PastMatch], result: Result) -> list[str]:
    """What this player chose in the matches with that result; of a game of turns, every move."""
    return ",".join([match.choice or "" for match in matches if match.result == result]).split(",")


def frequency(ctx: Context) -> Any:
    """Read the opponent: expect what it chose most, or what opponents in general did, and answer that."""
    reader = _READERS.get(ctx.game_type)
    if reader is None:
        raise CannotPlay(f"frequency cannot play {ctx.game_type}")
    return reader(ctx)


def _read_parities(ctx: Context) -> Any:
    """Weigh a draw (1 point, if the opponent chooses the same) against a win (3, if the number is right)."""
    theirs = [match.opponent_choice for match in _read(ctx)]
    numbers = [match.drawn_number for match in ctx.history if match.drawn_number]
    odd = sum([number % 2 for number in numbers])

    def points(option: Any) -> float:
        # Before anything is known, both are as likely.
        same = (theirs.count(option) + 1) / (len(theirs) + 2)
        right = ((odd if option == "odd" else len(numbers) - odd) + 1) / (len(numbers) + 2)
        return same + 3 * right * (1 - same)

    return _best(ctx, points)


def _read_throws(ctx: Context) -> Any:
    """Beat what comes most often, and rather draw than lose to it."""
    theirs = [match.opponent_choice for match in _read(ctx)]
    return _best(ctx, lambda option: 3 * theirs.count(BEATS.get(option)) + theirs.count(option))


def _read_board(ctx: Context) -> Any:
    """Win, else block, else take the centre, else a corner."""
    board, mine = ctx.view.get("board"), ctx.view.get("your_mark")
    if not (isinstance(board, str) and len(board) == 9):
        raise CannotPlay(f"frequency cannot read the board {reprlib.repr(board)}")

    def worth(cell: Any) -> int:
        pairs = [{board[other] for other in line if other != cell} for line in LINES if cell in line]
        complete = [pair for pair in pairs if len(pair) == 1 and FREE not in pair]
        if {mine} in complete:
            return 4
        if complete:
            return 3
        return {4: 2, 0: 1, 2: 1, 6: 1, 8: 1}.get(cell, 0)

    return _best(ctx, worth)


_READERS: dict[str, Strategy] = {
    "even_odd": _read_parities,
    "rock_paper_scissors": _read_throws,
    "tic_tac_toe": _read_board,
}


def _read(ctx: Context) -> list[PastMatch]:
    """What there is to learn about this opponent: its matches against us, or else everybody's."""
    played, opponent = ctx.played(), ctx.opponent_id
    return [match for match in played if match.opponent_id == opponent] or played


def _best(ctx: Context, worth: Callable[[Any], float]) -> Any:
    """One of the options that are worth most."""
    worths = [worth(option) for option in ctx.valid_options]
    most = max(worths)
    best = [option for option, value in zip(ctx.valid_options, worths, strict=True) if value == most]
    return best[0] if len(best) == 1 else ctx.random.choice(best)


STRATEGIES: dict[str, Strategy] = {
    "random": at_random,
    "always_even": always_even,
    "always_odd": always_odd,
    "alternating": alternating,
    "history_based": history_based,
    "frequency": frequency,
}
# Not one of them: it has to be told which model, and where.
LLM = "llm"
# Of the strategies that cannot play every game, those games that they can.
_GAMES: dict[Strategy, tuple[str, ...]] = {
    always_even: ("even_odd",),
    always_odd: ("even_odd",),
    frequency: tuple(_READERS),
}


def games_of(strategy: Strategy) -> tuple[str, ...] | None:
    """The games that a strategy can play; None for one that may be able to play every game."""
    try:
        return _GAMES.get(strategy)
    except TypeError:  # an author's own object that has no hash
        return None


def can_play(strategy: Strategy, game_type: str) -> bool:
    games = games_of(strategy)
    return games is None or game_type in games


def fitting(game_type: str) -> list[str]:
    """The names of our strategies that can play a game."""
    return [name for name, strategy in STRATEGIES.items() if can_play(strategy, game_type)]


def check_fit(name: str, strategy: Strategy, game_type: str) -> None:
    """Raise CannotPlay if a strategy cannot play a game."""
    if not can_play(strategy, game_type):
        others = ", ".join(fitting(game_type))
        raise CannotPlay(f"the strategy {name} cannot play {game_type}; these can: {others}, or your own")


class NoSuchStrategy(ValueError):
    """A strategy's name leads nowhere; the text says where it went wrong and what would be right."""


def load(name: str) -> Strategy:
    """A strategy by its name here, or an author's own as ``module:function``. Raises NoSuchStrategy."""
    if name in STRATEGIES:
        return STRATEGIES[name]
    if name == LLM:
        try:
            from leaguekit.agents.llm import from_options  # noqa: PLC0415 - httpx2 is optional, and heavy

            return from_options({})
        except (ImportError, ValueError) as error:
            raise NoSuchStrategy(str(error)) from None
    module_name, colon, function_name = name.partition(":")
    if not (colon and module_name and function_name):
        known = ", ".join((*STRATEGIES, LLM))
        raise NoSuchStrategy(f"There is no strategy {name!r}; there are {known}, or your own as module:function.")
    # A command that was installed looks for modules beside itself, not where its user is.
    if (here := os.getcwd()) not in sys.path:  # noqa: PTH109 - sys.path holds texts
        sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        missing = isinstance(error, ModuleNotFoundError) and error.name in (module_name, module_name.partition(".")[0])
        why = f"there is no such module in {here}" if missing else f"{type(error).__name__}: {error}"
        raise NoSuchStrategy(f"The module {module_name!r} cannot be imported: {why}.") from error
    found = getattr(module, function_name, None)
    if not callable(found):
        what = "nothing called" if found is None else "no function called"
        raise NoSuchStrategy(f"There is {what} {function_name!r} in {module.__file__ or module_name}.")
    return found  # type: ignore[no-any-return]  # a strategy is whatever can be called


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
        return judged(Thought(error=_as_the_author_sees(error)), ctx, options)
    return Decision(move) if type(move) is str and move in options else judged(Thought(move), ctx, options)


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
    return judged(Thought(error=asyncio.CancelledError()) if thinking.cancelled() else thinking.result(), ctx, options)


class Thought(NamedTuple):
    """What came of asking a strategy: anything at all, or what it raised."""

    move: Any = None
    error: BaseException | None = None


def judged(thought: Thought, ctx: Context, options: list[Any]) -> Decision:
    """The option that a strategy means, or another one and what is wrong with its own."""
    if thought.error is not None:
        return _replaced(ctx, options, f"the strategy raised {thought.error!r}", thought.error)
    if isinstance(thought.move, Move):
        stated = thought.move
        decision = judged(Thought(stated.move), ctx, options)
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


async def _think(strategy: Strategy, ctx: Context, *, inline: bool) -> Thought:
    # An async function is not begun by its call.
    here = inline or iscoroutinefunction(strategy)
    thought = called(strategy, ctx) if here else await _in_a_thread(partial(called, strategy, ctx))
    if not isawaitable(thought.move):
        return thought
    if inline:
        return await _awaited(thought.move)
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(_awaited(thought.move), _authors_loop()))


async def _awaited(move: Awaitable[Any]) -> Thought:
    try:
        return Thought(await move)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
        return Thought(error=_as_the_author_sees(error))


def called(strategy: Strategy, ctx: Context) -> Thought:
    """Call a strategy here and now."""
    try:
        return Thought(strategy(ctx))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
        return Thought(error=_as_the_author_sees(error))


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


async def _in_a_thread(work: Callable[[], Thought]) -> Thought:
    """Run it in a daemon thread: what never returns must not hold up the end of the program."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Thought] = loop.create_future()

    def settle(thought: Thought) -> None:
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
