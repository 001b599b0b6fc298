"""The strategy: it asks a model for each move, and plays a random legal move if the model gives none in time.

A failure (a timeout, no answer, an unclear answer, a spent budget) can cost a good move, but never a match.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any, get_type_hints

import msgspec

from leaguekit.player.context import Context, Move, UsageReporter
from leaguekit.player.llm.chat import Ask, ChatClient, ChatError, Completion
from leaguekit.player.llm.move_parsing import parse_moves
from leaguekit.player.llm.prompt import MAX_CHARACTERS, Message, make_prompt, make_retry_prompt
from leaguekit.player.llm.spending import Spending, estimate_tokens
from leaguekit.player.strategies import at_random
from leaguekit.protocol.messages import MoveInfo, MoveOrigins
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.transport.addresses import is_loopback, read_url
from leaguekit.transport.base import Unreachable

OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
# Models that write their thoughts first need this many tokens. Others use far fewer.
MAX_TOKENS = 1000
# The time for a move if a context has no deadline.
MAX_SECONDS = 60.0
# This strategy ends earlier than the deadline by this time, so that it can say why there is no move.
RESERVE_SECONDS = 0.3
MAX_TRIES = 3
BACKOFF_SECONDS = 0.5
# The prefix of environment variables. The name of an option follows, in capitals.
VARIABLE_PREFIX = "LEAGUE_LLM_"
MAX_LOGGED_CHARACTERS = 300

log = logging.getLogger(__name__)


class LanguageModel(UsageReporter):
    """A model that plays. If several players share one, it counts for all of them together.

    ``api_key_env`` is the name of the environment variable with the key, which a local server does not need. Prices are
    per million tokens. When ``max_tokens_total`` or ``max_cost`` is reached, the model is not asked any more, and moves
    are random. ``max_tokens`` limits one answer. ``tell`` is called with a text at the first failure of each kind.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = OPENAI,
        api_key_env: str = KEY_VARIABLE,
        temperature: float | None = None,
        max_tokens: int = MAX_TOKENS,
        price_in: float | None = None,
        price_out: float | None = None,
        max_tokens_total: int | None = None,
        max_cost: float | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> None:
        if not model:
            raise ValueError("model is the name of a model, got an empty text")
        if (price_in is None) != (price_out is None):
            raise ValueError(
                "price_in and price_out go together: a price for what is sent, and one for what is written"
            )
        if max_cost is not None and price_in is None:
            raise ValueError("max_cost needs price_in and price_out: no prices are known here")
        limits = {"temperature": temperature, "price_in": price_in, "price_out": price_out, "max_cost": max_cost}
        for name, value in limits.items():
            if value is not None and not 0 <= value < float("inf"):
                raise ValueError(f"{name} is a number from 0 on, got {value}")
        for name, number in {"max_tokens": max_tokens, "max_tokens_total": max_tokens_total}.items():
            if number is not None and number < 1:
                raise ValueError(f"{name} is a number from 1 on, got {number}")
        key = _read_key(base_url, api_key_env)
        self.model = model
        self.max_tokens = max_tokens
        self.spending = Spending(price_in=price_in, price_out=price_out, max_tokens=max_tokens_total, max_cost=max_cost)
        # The moves of all its players by origin. Replaced moves are also counted by the kind of failure.
        self.origins = MoveOrigins()
        self.replaced: Counter[str] = Counter()
        self.tell = tell
        self._client = ChatClient(base_url, model, key, max_tokens=max_tokens, temperature=temperature)
        # The server wants no request before this time.
        self._retry_at = 0.0

    async def __call__(self, ctx: Context) -> Any:
        """A legal move. It is a Move if it is not the first answer of the model, and None if there is no legal move."""
        if not ctx.valid_options:
            return None
        left = min(ctx.seconds_left, MAX_SECONDS)
        loop = asyncio.get_running_loop()
        started = loop.time()
        limit = left - min(RESERVE_SECONDS, left / 4)
        try:
            async with asyncio.timeout(limit):
                move, answer = await self._ask_model(ctx, started + limit)
        except TimeoutError:
            return self._replace(ctx, "time", f"no answer within {limit:.1f} s")
        except ChatError as error:
            return self._replace(ctx, error.kind, str(error))
        self.origins.count(MoveInfo(origin=move.origin))
        again = f" ({move.reason})" if move.reason else ""
        took = f"in {loop.time() - started:.1f} s"
        self._log(logging.INFO, ctx, f"{self.model} chose {move.move!r}{again} {took}", answer)
        return move.move if move.origin == "own" else move

    def account(self) -> dict[str, Any]:
        origins = {"own": self.origins.own, "retried": self.origins.retried, "replaced": dict(self.replaced)}
        return {"model": self.model, "moves": self.origins.total, **self.spending.as_json(), **origins}

    def __str__(self) -> str:
        moves, replaced = self.origins.total, self.origins.replaced
        why = ", ".join(f"{kind} {count}" for kind, count in self.replaced.most_common())
        others = why and f" (the others were at random: {why})"
        again = f", {self.origins.retried} of them when it was asked again" if self.origins.retried else ""
        return f"{self.model} chose {moves - replaced} of {moves} moves{again}{others}; {self.spending}"

    async def _ask_model(self, ctx: Context, deadline: float) -> tuple[Move, str]:
        """The model's move and its answer. If the answer is not clear, the model is asked once more."""
        loop = asyncio.get_running_loop()
        messages, failures = make_prompt(ctx), list[str]()
        if (size := _size(messages)) > MAX_CHARACTERS:
            raise ChatError(
                f"the question would have {size:,} characters, more than {MAX_CHARACTERS:,}", kind="question"
            )
        async with self._client.open() as ask:
            began = loop.time()
            completion = await self._complete(ask, messages, deadline, failures)
            moves = parse_moves(completion.text, ctx.valid_options)
            # The second answer will take about as long as the first.
            if len(moves) != 1 and loop.time() - began < deadline - loop.time():
                failures.append("answer")
                messages += make_retry_prompt(completion.text, len(moves), ctx.valid_options)
                completion = await self._complete(ask, messages, deadline, failures)
                moves = parse_moves(completion.text, ctx.valid_options)
        if len(moves) == 1:
            again = f"the model was asked again ({', '.join(failures)})"
            return Move(moves[0], "retried", again) if failures else Move(moves[0]), completion.text
        what = f"{len(moves)} of the legal moves" if moves else "no legal move"
        cut = f"; it was cut off at max_tokens={self.max_tokens}" if completion.is_truncated else ""
        raise ChatError(f"its answer names {what}: {_shorten(completion.text)}{cut}", kind="answer")

    async def _complete(self, ask: Ask, messages: list[Message], deadline: float, failures: list[str]) -> Completion:
        """The answer to a prompt. After a transient error it is asked again, and the error is added to ``failures``."""
        loop = asyncio.get_running_loop()
        tries = 0
        while True:
            tries += 1
            if (seconds := self._retry_at - loop.time()) > 0:
                if loop.time() + seconds >= deadline:
                    raise ChatError(f"the server wants to be left alone for {seconds:.0f} s more", kind="rate limit")
                await asyncio.sleep(seconds)
            try:
                return await self._ask_within_budget(ask, messages)
            except ChatError as error:
                if error.retry_after:
                    self._retry_at = loop.time() + error.retry_after
                pause = BACKOFF_SECONDS * 2 ** (tries - 1) if error.retry_after is None else 0.0
                next_try_at = loop.time() + pause + (error.retry_after or 0)
                if not error.is_transient or tries == MAX_TRIES or next_try_at >= deadline:
                    raise
                failures.append(error.kind)
                await asyncio.sleep(pause)

    async def _ask_within_budget(self, ask: Ask, messages: list[Message]) -> Completion:
        """Ask once, and count the tokens. Raises ChatError if the answer could exceed a limit."""
        size = _size(messages)
        if limit := self.spending.limit_exceeded_by(estimate_tokens(size), self.max_tokens):
            raise ChatError(f"{limit}; it is not asked any more", kind="budget")
        try:
            completion = await ask(messages)
        except asyncio.CancelledError:
            # The server has read the question and may have charged for it.
            self.spending.add_estimate(size, 0)
            raise
        self.spending.answers += 1
        if completion.usage is None:
            self.spending.add_estimate(size, len(completion.text))
        else:
            self.spending.add(completion.usage)
        return completion

    def _replace(self, ctx: Context, kind: str, reason: str) -> Move:
        move = at_random(ctx)
        text = f"{self.model} gave no move ({reason}); played {move!r} at random instead"
        self._log(logging.WARNING, ctx, text)
        self.replaced[kind] += 1
        self.origins.count(MoveInfo(origin="replaced"))
        if self.replaced[kind] == 1:
            self.tell(f"{ctx.match_id}: {text}. More of this kind is in the log only.")
        # Everyone can read this statement, so it does not contain the server's text.
        return Move(move, "replaced", f"the model gave no move ({kind})")

    def _log(self, level: int, ctx: Context, what: str, answer: str | None = None) -> None:
        data = self.account() if answer is None else self.account() | {"answer": answer[:MAX_LOGGED_CHARACTERS]}
        log.log(level, "%s: %s; so far %s.", ctx.match_id, what, self.spending, extra={"data": data})


llm = LanguageModel


def from_options(given: Mapping[str, str | None], tell: Callable[[str], None] = lambda _text: None) -> LanguageModel:
    """Make a model from options, which are texts. An option that is not given comes from an environment variable.

    The variables are LEAGUE_LLM_MODEL and so on. Raises ValueError with the name of the option.
    """
    arguments: dict[str, Any] = {}
    for name, kind in get_type_hints(LanguageModel.__init__).items():
        variable = f"{VARIABLE_PREFIX}{name.upper()}"
        text = given.get(name) or os.environ.get(variable)
        if name in ("tell", "return") or not text:
            continue
        try:
            arguments[name] = msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            where = f"--{name.replace('_', '-')}" if given.get(name) else variable
            raise ValueError(f"{where} is a number, got {text!r}") from None
    if "model" not in arguments:
        raise ValueError(f"the strategy llm needs a model: --model NAME, or {VARIABLE_PREFIX}MODEL in the environment")
    return LanguageModel(**arguments, tell=tell)


def _read_key(base_url: str, variable: str) -> str | None:
    """The key for a server. No error text contains it, nor a key that was given instead of the variable's name."""
    try:
        url = read_url(base_url)
    except Unreachable as error:
        raise ValueError(f"base_url: {error}") from None
    if "?" in base_url or "#" in base_url:
        raise ValueError(f"base_url ends with its path, such as {OPENAI}, got {url.display!r} and more")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise ValueError("api_key_env is the name of the environment variable that holds the key, not the key itself")
    key = os.environ.get(variable, "").strip()
    if not key:
        if variable != KEY_VARIABLE or base_url == OPENAI:
            raise ValueError(f"the environment variable {variable} does not hold the key for {url.host}")
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"what the environment variable {variable} holds is not a key: it has odd characters in it")
    # The default key may be meant for another server. It is not sent over a connection that others can read.
    is_safe = url.scheme == "https" or is_loopback(url.host) or variable != KEY_VARIABLE
    return key if is_safe else None


def _size(messages: list[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def _shorten(text: str) -> str:
    return repr(sanitize_line(text)[:80])
