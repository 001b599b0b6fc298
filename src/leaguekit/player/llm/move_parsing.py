"""Which legal move a language model means by what it wrote.

It was asked for ``{"move": M}``. Models also write that in a fence, with a speech around it, as a bare word, or as a
sentence; some think aloud first. Whatever it is, nothing but a legal move comes of it.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

# Nobody needs more for a move; it is what a model writes that has lost its way.
MAX_CHARACTERS = 20_000

_THOUGHTS = ("<think>", "</think>")
_decoder = json.JSONDecoder()


def moves_in(text: str, options: list[Any]) -> list[Any]:
    """The legal moves that a text names: one if it is clear, none or several if it is not.

    If there are JSON objects with a ``move`` in it, they alone count.
    """
    begin, end = _THOUGHTS
    spoken = text.rpartition(end)[2].partition(begin)[0]
    if len(spoken) > MAX_CHARACTERS:
        return []
    try:
        found = [option for value in [*_moves(spoken)] or [spoken] for option in _meant(value, options)]
    except RecursionError:
        return []
    return [option for number, option in enumerate(found) if option not in found[:number]]


def _moves(text: str) -> Iterator[Any]:
    """Every ``move`` of the JSON objects in a text."""
    start = text.find("{")
    while start >= 0:
        value: dict[str, Any] = {}
        end = start + 1
        with contextlib.suppress(ValueError):
            value, after = _decoder.raw_decode(text, start)
            # An object without it may hold one that has it.
            end = after if "move" in value else end
        if "move" in value:
            yield value["move"]
        start = text.find("{", end)


def _meant(value: Any, options: list[Any]) -> list[Any]:
    """The options that a value is or names."""
    wanted = _written(value)
    for option in options:
        if _written(option) == wanted:
            return [option]
    # As it is written first: two options may differ by nothing else.
    return _named(wanted, options, re.NOFLAG) or _named(wanted, options, re.IGNORECASE)


def _written(value: Any) -> str:
    """How a value stands in a text."""
    return value.strip() if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _named(text: str, options: list[Any], flags: re.RegexFlag) -> list[Any]:
    """The options that occur in a text as words of their own; where one is a part of another, the longer one."""
    by_length = sorted(filter(_written, options), key=lambda option: -len(_written(option)))
    if not by_length:
        return []
    pattern = "|".join(f"({_as_word(option)})" for option in by_length)
    return [by_length[(match.lastindex or 1) - 1] for match in re.finditer(pattern, text, flags)]


def _as_word(option: Any) -> str:
    word = re.escape(_written(option))
    # 4 is not meant by -4, 1.4 or 4.5, but at the end of a sentence it is.
    return rf"(?<!\w){word}(?!\w)" if isinstance(option, str) else rf"(?<![\w.+-]){word}(?!\w|\.\d)"
