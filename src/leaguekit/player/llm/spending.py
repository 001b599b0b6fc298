"""The tokens that a language model has used, their cost, and the limits of both."""

from __future__ import annotations

import math
from typing import Any

from msgspec import Struct

# For servers that do not report the number of tokens. English has about four characters per token, and JSON fewer.
CHARACTERS_PER_TOKEN = 3
_MILLION = 1_000_000


class Usage(Struct, frozen=True):
    """The tokens of one answer, as its server counted them."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


def estimate_tokens(characters: int) -> int:
    """About how many tokens a text of this length has."""
    return math.ceil(characters / CHARACTERS_PER_TOKEN)


class Spending(Struct, kw_only=True):
    """Counts tokens and their cost. Prices are per million tokens, in any currency."""

    price_in: float | None
    price_out: float | None
    max_tokens: int | None
    max_cost: float | None
    answers: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    # Whether some of the numbers are estimates, because a server did not report them.
    is_estimated: bool = False

    @property
    def cost(self) -> float | None:
        """The cost so far. None if no prices were given."""
        return self._cost(self.tokens_in, self.tokens_out)

    def add(self, usage: Usage) -> None:
        self.tokens_in += max(0, usage.prompt_tokens)
        self.tokens_out += max(0, usage.completion_tokens)

    def add_estimate(self, characters_in: int, characters_out: int) -> None:
        self.is_estimated = True
        self.add(Usage(estimate_tokens(characters_in), estimate_tokens(characters_out)))

    def limit_exceeded_by(self, tokens_in: int, tokens_out: int) -> str | None:
        """A sentence about the limit that this number of further tokens would exceed. None if there is none."""
        total_in, total_out = self.tokens_in + tokens_in, self.tokens_out + tokens_out
        if self.max_tokens is not None and total_in + total_out > self.max_tokens:
            return f"the next answer might exceed max_tokens_total={self.max_tokens:,}"
        cost = self._cost(total_in, total_out)
        if self.max_cost is not None and cost is not None and cost > self.max_cost:
            return f"the next answer might exceed max_cost={self.max_cost:g}"
        return None

    def for_one_move(self) -> Spending:
        """A new account at the same prices, without limits."""
        return Spending(price_in=self.price_in, price_out=self.price_out, max_tokens=None, max_cost=None)

    def as_json(self) -> dict[str, Any]:
        account: dict[str, Any] = {
            "answers": self.answers,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
            "estimated": self.is_estimated,
        }
        return account if self.cost is None else account | {"cost": round(self.cost, 6)}

    def __str__(self) -> str:
        about = "about " if self.is_estimated else ""
        cost = "" if self.cost is None else f", cost {self.cost:.4f}"
        return f"{about}{self.tokens_in:,} tokens in and {self.tokens_out:,} out{cost}"

    def _cost(self, tokens_in: int, tokens_out: int) -> float | None:
        if self.price_in is None or self.price_out is None:
            return None
        return (tokens_in * self.price_in + tokens_out * self.price_out) / _MILLION
