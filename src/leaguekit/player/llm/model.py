"""The strategy: asks a model for each move, and plays a legal one for it when none comes in time.

Whatever goes wrong (no time, no answer, no sense in it, no money left) costs a good move at most, never a match.
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

from leaguekit.player.context import Context, Move, Tally
from leaguekit.player.llm.chat import Ask, Chat, Completion, Failed
from leaguekit.player.llm.move_parsing import moves_in
from leaguekit.player.llm.prompt import MAX_CHARACTERS, Message, asked_again, question
from leaguekit.player.llm.spending import Spending, estimated
from leaguekit.player.strategies import at_random
from leaguekit.protocol.messages import MoveInfo, MoveOrigins
from leaguekit.protocol.plain_text import harmless
from leaguekit.transport.addresses import is_loopback, read_url
from leaguekit.transport.base import Unreachable

OPENAI = "https://api.openai.com/v1"
KEY_VARIABLE = "OPENAI_API_KEY"
# Room for models that think before they speak; the others stop long before.
MAX_TOKENS = 1000
# Where a context has no deadline.
MAX_SECONDS = 60.0
# Kept back of the time for a move, so that it is this strategy that ends in time, and says why.
RESERVE_SECONDS = 0.3
MAX_TRIES = 3
BACKOFF_SECONDS = 0.5
# Behind it, in capitals, the name of an option.
VARIABLES = "LEAGUE_LLM_"
MAX_LOGGED = 300

log = logging.getLogger(__name__)


class LanguageModel(Tally):
    """A model that plays. One may serve several players; it then counts for all of them together.

    ``api_key_env`` names the environment variable with the key, which a local server does not need. Prices are for a
    million tokens. At ``max_tokens_total`` and ``max_cost`` it stops asking and moves at random. ``max_tokens`` limits
    one answer. ``tell`` hears of trouble at once, each kind of it once.
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
        key = _key(base_url, api_key_env)
        self.model = model
        self.max_tokens = max_tokens
        self.spending = Spending(price_in=price_in, price_out=price_out, max_tokens=max_tokens_total, max_cost=max_cost)
        # Moves of all its players. Those that were played for the model are also counted by what was wrong.
        self.origins = MoveOrigins()
        self.replaced: Counter[str] = Counter()
        self.tell = tell
        self._chat = Chat(base_url, model, key, max_tokens=max_tokens, temperature=temperature)
        self._silent_until = 0.0

    async def __call__(self, ctx: Context) -> Any:
        """A legal move, as a Move if it is not what the model first answered; None where nothing is legal."""
        if not ctx.valid_options:
            return None
        left = min(ctx.seconds_left, MAX_SECONDS)
        loop = asyncio.get_running_loop()
        started = loop.time()
        limit = left - min(RESERVE_SECONDS, left / 4)
        try:
            async with asyncio.timeout(limit):
                move, answer = await self._asked(ctx, started + limit)
        except TimeoutError:
            return self._played_for(ctx, "time", f"no answer within {limit:.1f} s")
        except Failed as failed:
            return self._played_for(ctx, failed.kind, str(failed))
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

    async def _asked(self, ctx: Context, ends: float) -> tuple[Move, str]:
        """The model's move and its answer; if it is not clear which it means, it is asked once more."""
        loop = asyncio.get_running_loop()
        messages, troubles = question(ctx), list[str]()
        if (size := _size(messages)) > MAX_CHARACTERS:
            raise Failed(f"the question would have {size:,} characters, more than {MAX_CHARACTERS:,}", kind="question")
        async with self._chat.open() as ask:
            began = loop.time()
            completion = await self._completed(ask, messages, ends, troubles)
            moves = moves_in(completion.text, ctx.valid_options)
            # The second answer will take about as long as the first.
            if len(moves) != 1 and loop.time() - began < ends - loop.time():
                troubles.append("answer")
                messages += asked_again(completion.text, len(moves), ctx.valid_options)
                completion = await self._completed(ask, messages, ends, troubles)
                moves = moves_in(completion.text, ctx.valid_options)
        if len(moves) == 1:
            again = f"the model was asked again ({', '.join(troubles)})"
            return Move(moves[0], "retried", again) if troubles else Move(moves[0]), completion.text
        what = f"{len(moves)} of the legal moves" if moves else "no legal move"
        cut = f"; it was cut off at max_tokens={self.max_tokens}" if completion.is_cut else ""
        raise Failed(f"its answer names {what}: {_clipped(completion.text)}{cut}", kind="answer")

    async def _completed(self, ask: Ask, messages: list[Message], ends: float, troubles: list[str]) -> Completion:
        """An answer; trouble that passes is added to ``troubles`` and waited for as long as there is time."""
        loop = asyncio.get_running_loop()
        tried = 0
        while True:
            tried += 1
            if (silent := self._silent_until - loop.time()) > 0:
                if loop.time() + silent >= ends:
                    raise Failed(f"the server wants to be left alone for {silent:.0f} s more", kind="rate limit")
                await asyncio.sleep(silent)
            try:
                return await self._paid(ask, messages)
            except Failed as failed:
                if failed.wait:
                    self._silent_until = loop.time() + failed.wait
                pause = BACKOFF_SECONDS * 2 ** (tried - 1) if failed.wait is None else 0.0
                if not failed.passing or tried == MAX_TRIES or loop.time() + pause + (failed.wait or 0) >= ends:
                    raise
                troubles.append(failed.kind)
                await asyncio.sleep(pause)

    async def _paid(self, ask: Ask, messages: list[Message]) -> Completion:
        """Ask once, if there is money for it, and write down what it cost."""
        size = _size(messages)
        if limit := self.spending.exceeded_by(estimated(size), self.max_tokens):
            raise Failed(f"{limit}; it is not asked any more", kind="budget")
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

    def _played_for(self, ctx: Context, kind: str, why: str) -> Move:
        move = at_random(ctx)
        told = f"{self.model} gave no move ({why}); played {move!r} at random instead"
        self._log(logging.WARNING, ctx, told)
        self.replaced[kind] += 1
        self.origins.count(MoveInfo(origin="replaced"))
        if self.replaced[kind] == 1:
            self.tell(f"{ctx.match_id}: {told}. More of this kind is in the log only.")
        # What a server says stays with the author: the statement is shown to everybody.
        return Move(move, "replaced", f"the model gave no move ({kind})")

    def _log(self, level: int, ctx: Context, what: str, answer: str | None = None) -> None:
        data = self.account() if answer is None else self.account() | {"answer": answer[:MAX_LOGGED]}
        log.log(level, "%s: %s; so far %s.", ctx.match_id, what, self.spending, extra={"data": data})


llm = LanguageModel


def from_options(given: Mapping[str, str | None], tell: Callable[[str], None] = lambda _text: None) -> LanguageModel:
    """A model by options that are texts; what is not given stands in the environment, as LEAGUE_LLM_MODEL and so on.

    Raises ValueError, which names the option.
    """
    read: dict[str, Any] = {}
    for name, kind in get_type_hints(LanguageModel.__init__).items():
        variable = f"{VARIABLES}{name.upper()}"
        text = given.get(name) or os.environ.get(variable)
        if name in ("tell", "return") or not text:
            continue
        try:
            read[name] = msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            where = f"--{name.replace('_', '-')}" if given.get(name) else variable
            raise ValueError(f"{where} is a number, got {text!r}") from None
    if "model" not in read:
        raise ValueError(f"the strategy llm needs a model: --model NAME, or {VARIABLES}MODEL in the environment")
    return LanguageModel(**read, tell=tell)


def _key(base_url: str, variable: str) -> str | None:
    """The key for a server. Nothing here shows it, nor what may be one in the place of a name."""
    try:
        to = read_url(base_url)
    except Unreachable as error:
        raise ValueError(f"base_url: {error}") from None
    if "?" in base_url or "#" in base_url:
        raise ValueError(f"base_url ends with its path, such as {OPENAI}, got {to.shown!r} and more")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", variable):
        raise ValueError("api_key_env is the name of the environment variable that holds the key, not the key itself")
    key = os.environ.get(variable, "").strip()
    if not key:
        if variable != KEY_VARIABLE or base_url == OPENAI:
            raise ValueError(f"the environment variable {variable} does not hold the key for {to.host}")
        return None
    if not (key.isascii() and key.isprintable()) or " " in key:
        raise ValueError(f"what the environment variable {variable} holds is no key: it has odd characters in it")
    # A key that nobody named for this server is not sent where everybody on the way could read it.
    is_safe = to.scheme == "https" or is_loopback(to.host) or variable != KEY_VARIABLE
    return key if is_safe else None


def _size(messages: list[Message]) -> int:
    return sum(len(message["content"]) for message in messages)


def _clipped(text: str) -> str:
    return repr(harmless(text)[:80])
