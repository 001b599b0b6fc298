"""Finds the legal move in the answer of a language model.

The model was asked for ``{"move": M}``. Models also write that in a code fence, inside a longer text, as a bare word,
or as a sentence. Some write their thoughts first. The result contains only legal moves.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from typing import Any

# A longer answer does not contain a usable move.
MAX_CHARACTERS = 20_000

_THOUGHTS_START, _THOUGHTS_END = "<think>", "</think>"
_decoder = json.JSONDecoder()


def parse_moves(text: str, options: list[Any]) -> list[Any]:
    """The legal moves that a text names: one if the answer is clear, otherwise none or several.

    If the text contains JSON objects with a ``move``, only these count.
    """
    answer = text.rpartition(_THOUGHTS_END)[2].partition(_THOUGHTS_START)[0]
    if len(answer) > MAX_CHARACTERS:
        return []
    try:
        values = [*_find_move_fields(answer)] or [answer]
        found = [option for value in values for option in _match_options(value, options)]
    except RecursionError:
        return []
    return [option for number, option in enumerate(found) if option not in found[:number]]


def _find_move_fields(text: str) -> Iterator[Any]:
    """The ``move`` of every JSON object in a text."""
    start = text.find("{")
    while start >= 0:
        value: dict[str, Any] = {}
        end = start + 1
        with contextlib.suppress(ValueError):
            value, after = _decoder.raw_decode(text, start)
            # An object without a ``move`` may contain an object that has one.
            end = after if "move" in value else end
        if "move" in value:
            yield value["move"]
        start = text.find("{", end)


def _match_options(value: Any, options: list[Any]) -> list[Any]:
    """The option that a value equals, or else the options that it names."""
    wanted = _to_text(value)
    for option in options:
        if _to_text(option) == wanted:
            return [option]
    # The exact case comes first, because two options may differ only in case.
    return _find_options(wanted, options, re.NOFLAG) or _find_options(wanted, options, re.IGNORECASE)


def _to_text(value: Any) -> str:
    """A value as it would be written in an answer."""
    return value.strip() if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _find_options(text: str, options: list[Any], flags: re.RegexFlag) -> list[Any]:
    """The options that occur in a text as separate words. If one is part of another, the longer one is found."""
    by_length = sorted(filter(_to_text, options), key=lambda option: -len(_to_text(option)))
    if not by_length:
        return []
    pattern = "|".join(f"({_word_pattern(option)})" for option in by_length)
    return [by_length[(match.lastindex or 1) - 1] for match in re.finditer(pattern, text, flags)]


def _word_pattern(option: Any) -> str:
    word = re.escape(_to_text(option))
    # The option 4 is not in -4, 1.4 or 4.5, but it is in "4." at the end of a sentence.
    return rf"(?<!\w){word}(?!\w)" if isinstance(option, str) else rf"(?<![\w.+-]){word}(?!\w|\.\d)"
