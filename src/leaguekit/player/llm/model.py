"""The strategy: it asks a model for each move.

If the model gives no legal move in time (a timeout, no answer, an unclear answer, a spent budget), a random legal move
is played, or the match is lost, as the option ``on_failure`` says.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any, Literal, get_args, get_type_hints

import msgspec
from msgspec import UNSET, Struct

from leaguekit.player.context import Context, Forfeit, Move, UsageReporter
from leaguekit.player.llm.chat import Ask, ChatClient, ChatError, Completion
from leaguekit.player.llm.move_parsing import Reading, read_answer
from leaguekit.player.llm.prompt import MAX_CHARACTERS, Message, make_prompt, make_retry_prompt
from leaguekit.player.llm.spending import Spending, estimate_tokens
from leaguekit.player.strategies import at_random
from leaguekit.protocol.messages import MoveInfo, MoveOrigins
from leaguekit.protocol.messages.matches import MAX_MODEL
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
# How often a model is asked again whose answer was not a legal move.
RETRIES = 1
MAX_RETRIES = 20
BACKOFF_SECONDS = 0.5
# The prefix of environment variables. The name of an option follows, in capitals.
VARIABLE_PREFIX = "LEAGUE_LLM_"
MAX_LOGGED_CHARACTERS = 300

OnFailure = Literal["random", "loss"]
LegalMoves = Literal["shown", "hidden"]

log = logging.getLogger(__name__)


class _Asked(Struct):
    """What was asked and answered for one move."""

    prompt_hash: str
    spending: Spending
    # The kinds of the failures before the latest answer, and how many answers stated an illegal move.
    failures: list[str] = []
    illegal: int = 0

    def info(self, model: str, seconds: float) -> MoveInfo:
        """The facts for the league's records."""
        cost = self.spending.cost
        return MoveInfo(
            illegal=self.illegal or UNSET,
            retries=len(self.failures),
            model=sanitize_line(model)[:MAX_MODEL],
            prompt_hash=self.prompt_hash,
            tokens_in=self.spending.tokens_in,
            tokens_out=self.spending.tokens_out,
            cost=UNSET if cost is None else round(cost, 6),
            seconds=round(seconds, 3),
        )


class LanguageModel(UsageReporter):
    """A model that plays. If several players share one, it counts for all of them together.

    ``api_key_env`` is the name of the environment variable with the key, which a local server does not need. Prices are
    per million tokens. When ``max_tokens_total`` or ``max_cost`` is reached, the model is not asked any more, and moves
    are random. ``max_tokens`` limits one answer. ``notify`` is called with a text at the first failure of each kind.

    ``retries`` is how often the model is asked again for one move, with what was wrong with its answer. Without a
    legal move after that, ``on_failure`` decides: a ``random`` move is played, or the match is a ``loss``. With
    ``legal_moves="hidden"`` the model must find them by the rules.
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
        on_failure: OnFailure = "random",
        retries: int = RETRIES,
        legal_moves: LegalMoves = "shown",
        notify: Callable[[str], None] = lambda _text: None,
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
        if not 0 <= retries <= MAX_RETRIES:
            raise ValueError(f"retries is a number from 0 to {MAX_RETRIES}, got {retries}")
        _check_word("on_failure", on_failure, get_args(OnFailure))
        _check_word("legal_moves", legal_moves, get_args(LegalMoves))
        key = _read_key(base_url, api_key_env)
        self.model = model
        self.retries = retries
        self.loses = on_failure == "loss"
        self.shows_moves = legal_moves == "shown"
        self.max_tokens = max_tokens
        self.spending = Spending(price_in=price_in, price_out=price_out, max_tokens=max_tokens_total, max_cost=max_cost)
        # The moves of all its players by origin. Replaced moves are also counted by the kind of failure.
        self.origins = MoveOrigins()
        self.replaced: Counter[str] = Counter()
        self.notify = notify
        self._client = ChatClient(base_url, model, key, max_tokens=max_tokens, temperature=temperature)
        # The server wants no request before this time.
        self._retry_at = 0.0

    async def __call__(self, ctx: Context) -> Any:
        """A Move, or a Forfeit. None if there is no legal move."""
        if not ctx.valid_options:
            return None
        left = min(ctx.seconds_left, MAX_SECONDS)
        loop = asyncio.get_running_loop()
        started = loop.time()
        limit = left - min(RESERVE_SECONDS, left / 4)
        messages = make_prompt(ctx, shows_moves=self.shows_moves)
        asked = _Asked(sha256(msgspec.json.encode(messages)).hexdigest(), self.spending.for_one_move())
        try:
            async with asyncio.timeout(limit):
                move, answer = await self._ask_model(ctx, messages, started + limit, asked)
        except (TimeoutError, ChatError) as error:
            kind, reason = "time", f"no answer within {limit:.1f} s"
            if isinstance(error, ChatError):
                kind, reason = error.kind, str(error)
            return self._replace(ctx, kind, reason, asked.info(self.model, loop.time() - started))
        failures = asked.failures
        again = f"the model was asked again ({', '.join(failures)})" if failures else ""
        seconds = loop.time() - started
        info = asked.info(self.model, seconds)
        chosen = Move(move, "retried" if failures else "own", again, info)
        self.origins.count(msgspec.structs.replace(info, origin=chosen.origin))
        why = f" ({again})" if again else ""
        self._log(logging.INFO, ctx, f"{self.model} chose {move!r}{why} in {seconds:.1f} s", answer)
        return chosen

    def account(self) -> dict[str, Any]:
        origins = {"own": self.origins.own, "retried": self.origins.retried, "replaced": dict(self.replaced)}
        return {"model": self.model, "moves": self.origins.total, **self.spending.as_json(), **origins}

    def __str__(self) -> str:
        moves, replaced = self.origins.total, self.origins.replaced
        why = ", ".join(f"{kind} {count}" for kind, count in self.replaced.most_common())
        others = why and f" (the others were {'lost' if self.loses else 'at random'}: {why})"
        again = f", {self.origins.retried} of them when it was asked again" if self.origins.retried else ""
        return f"{self.model} chose {moves - replaced} of {moves} moves{again}{others}; {self.spending}"

    async def _ask_model(
        self, ctx: Context, messages: list[Message], deadline: float, asked: _Asked
    ) -> tuple[Any, str]:
        """The model's move and its answer. If the answer is not clear, the model is asked again, and why."""
        loop = asyncio.get_running_loop()
        if (size := _size(messages)) > MAX_CHARACTERS:
            raise ChatError(
                f"the question would have {size:,} characters, more than {MAX_CHARACTERS:,}", kind="question"
            )
        async with self._client.open() as ask:
            for retry in range(self.retries + 1):
                began = loop.time()
                completion = await self._complete(ask, messages, deadline, asked)
                reading = read_answer(completion.text, ctx.valid_options, others_are_legal=not ctx.lists_all_moves)
                if reading.moves:
                    return reading.moves[0], completion.text
                asked.illegal += reading.illegal is not None
                fault = self._fault(reading, completion)
                # The next answer will take about as long as this one.
                if retry == self.retries or loop.time() - began >= deadline - loop.time():
                    break
                asked.failures.append("answer" if reading.illegal is None else "illegal")
                messages = messages + make_retry_prompt(ctx, completion.text, fault, shows_moves=self.shows_moves)
        kind = "answer" if reading.illegal is None else "illegal"
        raise ChatError(f"{fault} It wrote: {_shorten(completion.text)}", kind=kind)

    def _fault(self, reading: Reading, completion: Completion) -> str:
        """What is wrong with an answer, in a sentence."""
        if reading.illegal is not None:
            return f"{reading.illegal} is not a legal move."
        cut = f" It was cut off at max_tokens={self.max_tokens}." if completion.is_truncated else ""
        return f"The answer does not state exactly one legal move.{cut}"

    async def _complete(self, ask: Ask, messages: list[Message], deadline: float, asked: _Asked) -> Completion:
        """The answer to a prompt. After a transient error it is asked again, and the error is a failure."""
        loop = asyncio.get_running_loop()
        tries = 0
        while True:
            tries += 1
            if (seconds := self._retry_at - loop.time()) > 0:
                if loop.time() + seconds >= deadline:
                    raise ChatError(f"the server wants to be left alone for {seconds:.0f} s more", kind="rate limit")
                await asyncio.sleep(seconds)
            try:
                return await self._ask_within_budget(ask, messages, asked)
            except ChatError as error:
                if error.retry_after:
                    self._retry_at = loop.time() + error.retry_after
                pause = BACKOFF_SECONDS * 2 ** (tries - 1) if error.retry_after is None else 0.0
                next_try_at = loop.time() + pause + (error.retry_after or 0)
                if not error.is_transient or tries == MAX_TRIES or next_try_at >= deadline:
                    raise
                asked.failures.append(error.kind)
                await asyncio.sleep(pause)

    async def _ask_within_budget(self, ask: Ask, messages: list[Message], asked: _Asked) -> Completion:
        """Ask once, and count the tokens. Raises ChatError if the answer could exceed a limit."""
        size = _size(messages)
        if limit := self.spending.limit_exceeded_by(estimate_tokens(size), self.max_tokens):
            raise ChatError(f"{limit}; it is not asked any more", kind="budget")
        try:
            completion = await ask(messages)
        except asyncio.CancelledError:
            # The server has read the question and may have charged for it.
            self.spending.add_estimate(size, 0)
            asked.spending.add_estimate(size, 0)
            raise
        for spending in (self.spending, asked.spending):
            spending.answers += 1
            if completion.usage is None:
                spending.add_estimate(size, len(completion.text))
            else:
                spending.add(completion.usage)
        return completion

    def _replace(self, ctx: Context, kind: str, reason: str, info: MoveInfo) -> Move | Forfeit:
        move = None if self.loses else at_random(ctx)
        instead = "the match is lost" if self.loses else f"played {move!r} at random instead"
        text = f"{self.model} gave no move ({reason}); {instead}"
        self._log(logging.WARNING, ctx, text)
        self.replaced[kind] += 1
        if self.replaced[kind] == 1:
            self.notify(f"{ctx.match_id}: {text}. More of this kind is in the log only.")
        # Everyone can read this statement, so it does not contain the server's text.
        stated = f"the model gave no move ({kind})"
        self.origins.count(msgspec.structs.replace(info, origin="replaced"))
        return Forfeit(stated, info) if self.loses else Move(move, "replaced", stated, info)

    def _log(self, level: int, ctx: Context, what: str, answer: str | None = None) -> None:
        data = self.account() if answer is None else self.account() | {"answer": answer[:MAX_LOGGED_CHARACTERS]}
        log.log(level, "%s: %s; so far %s.", ctx.match_id, what, self.spending, extra={"data": data})


llm = LanguageModel


def from_options(given: Mapping[str, str | None], notify: Callable[[str], None] = lambda _text: None) -> LanguageModel:
    """Make a model from options, which are texts. An option that is not given comes from an environment variable.

    The variables are LEAGUE_LLM_MODEL and so on. Raises ValueError with the name of the option.
    """
    arguments: dict[str, Any] = {}
    for name, kind in get_type_hints(LanguageModel.__init__).items():
        variable = f"{VARIABLE_PREFIX}{name.upper()}"
        text = given.get(name) or os.environ.get(variable)
        if name in ("notify", "return") or not text:
            continue
        try:
            arguments[name] = msgspec.convert(text, kind, strict=False)
        except msgspec.ValidationError:
            where = f"--{name.replace('_', '-')}" if given.get(name) else variable
            words = [word for word in get_args(kind) if isinstance(word, str)]
            wanted = " or ".join(words) or "a number"
            raise ValueError(f"{where} is {wanted}, got {text!r}") from None
    if "model" not in arguments:
        option = "--model NAME, or " if "model" in given else ""
        raise ValueError(f"the strategy llm needs a model: {option}{VARIABLE_PREFIX}MODEL in the environment")
    return LanguageModel(**arguments, notify=notify)


def _check_word(name: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        raise ValueError(f"{name} is {' or '.join(words)}, got {word!r}")


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
