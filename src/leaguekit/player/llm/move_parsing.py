"""Finds the move that a language model states in its answer.

The model was asked for ``{"move": M}``. Models also write that in a code fence or inside a longer text, or state their
move in a sentence. Some write their thoughts first. An answer that states no move, or several, has none: the model is
asked again. A move that the model did not state is never read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from leaguekit.player.llm.spellings import Spellings
from leaguekit.player.llm.statements import (
    MAX_SENTENCE,
    Statement,
    StatementFinder,
    is_answered,
    is_mentioned,
    is_revised,
)

# A longer answer does not contain a usable move.
MAX_CHARACTERS = 20_000

_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning|scratchpad|analysis)>", re.IGNORECASE)
_THOUGHT_END = re.compile(r"</(?:think|thinking|thought|reasoning|scratchpad|analysis)>", re.IGNORECASE)
# Objects that are not JSON: {move: e4}, {'move': 'e4'}, {"move": e4,}.
_ALMOST_JSON = re.compile(
    r"\{\s*[\"']?move[\"']?\s*:\s*(?:[\"']?([^\"'{}\n]*?)[\"']?\s*,?\s*(?://[^{}\n]*)?\s*\}|\"([^\"{}\n]+)\"\s*$)",
    re.IGNORECASE,
)
# The fields in which models put the object that they were asked for.
_NAMES = {"move", "answer", "final", "final_answer", "decision", "choice"}
_WRAPPERS = {"response", "result", "output", "action", "arguments", "parameters"}
_INSIDE_JSON = re.compile(r"(?:\"\s*:|[\[}\]\"]\s*,|\[)\s*$")
_WRAPPED = re.compile(rf"\"(?:{'|'.join(_NAMES | _WRAPPERS)})\"\s*:\s*$")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_MISSING: Any = object()


class Reading(NamedTuple):
    """What an answer states: the legal moves, and otherwise the illegal move if it states one.

    The answer is clear if there is exactly one move.
    """

    moves: list[Any]
    illegal: str | None = None


class _Field(NamedTuple):
    """The ``move`` of a JSON object in a text, and whether it is the model's own statement."""

    start: int
    end: int
    value: Any
    is_own: bool = True


def read_answer(text: str, options: list[Any], *, others_are_legal: bool = False) -> Reading:
    """What a text states.

    With ``others_are_legal`` there are more legal moves than options. Then any ``move`` of a JSON object is read.
    """
    answer = _QUOTED_LINE.sub("", _without_thoughts(text))
    if len(answer) > MAX_CHARACTERS:
        return Reading([])
    try:
        spellings = Spellings(options)
        fields = [*_find_fields(answer, spellings)]
        finder = StatementFinder(spellings)
        if not fields:
            return _read_text(answer, finder)
        return _read_fields(answer, fields, spellings, finder, others_are_legal=others_are_legal)
    except (RecursionError, OverflowError):
        return Reading([])


def _without_thoughts(text: str) -> str:
    """What follows the thoughts. It is empty if they do not end."""
    ends = [*_THOUGHT_END.finditer(text)]
    answer = text[ends[-1].end() :] if ends else text
    return answer if (start := _THOUGHT.search(answer)) is None else answer[: start.start()]


def _read_fields(
    answer: str, fields: list[_Field], spellings: Spellings, finder: StatementFinder, *, others_are_legal: bool
) -> Reading:
    """The move of the JSON objects, if all are the model's own and the text after them does not contradict."""
    values = {json.dumps(field.value, sort_keys=True): field.value for field in fields}
    rest = finder.clean(answer[fields[-1].end :])
    if len(values) != 1 or not all(field.is_own for field in fields) or is_revised(rest):
        return Reading([])
    (value,) = values.values()
    moves = spellings.move(value)
    if not moves and isinstance(value, str):
        moves = _read_text(value, finder).moves
    if not moves and others_are_legal and value not in (None, ""):
        moves = [value]
    if not moves:
        return Reading([], "" if value in (None, "") else json.dumps(value, ensure_ascii=False)[:80])
    stated = [statement for statement in finder.find(rest) if not statement.is_later]
    return Reading(moves if _agree(stated, moves) else [])


def _read_text(answer: str, finder: StatementFinder) -> Reading:
    """The move that the sentences of a text state, if they agree. What is called final has precedence."""
    text = finder.clean(answer)
    statements = finder.find(text)
    # What comes next is often part of the thoughts before the move. After the move, it may be a plan of several moves.
    last = max((statement.start for statement in statements if not statement.is_later), default=-1)
    statements = [statement for statement in statements if not statement.is_later or statement.start > last >= 0]
    final = [statement for statement in statements if statement.is_final]
    if final:
        statements = [statement for statement in statements if statement.start >= final[-1].start]
    if not statements or not statements[0].moves or not _agree(statements, statements[0].moves):
        return Reading([])
    rest = text[max(statement.end for statement in statements) :]
    return Reading([] if is_revised(rest) or is_answered(rest) else statements[0].moves)


def _agree(statements: list[Statement], moves: list[Any]) -> bool:
    return all(json.dumps(statement.moves) == json.dumps(moves) for statement in statements)


def _find_fields(text: str, spellings: Spellings) -> Iterator[_Field]:
    """The ``move`` of every JSON object in a text. An object in another field or in a list is not an answer.

    An object may be a legal move itself.
    """
    decoder = json.JSONDecoder(object_pairs_hook=_only_one_move)
    start = text.find("{")
    while start >= 0:
        end, value = start + 1, _MISSING
        try:
            found, end = decoder.raw_decode(text, start)
            value = found if spellings.move(found) else _move_in(found)
        except ValueError:
            if (almost := _ALMOST_JSON.match(text, start)) is not None:
                end, value = almost.end(), (almost[1] or almost[2] or "").strip()
        if value is not _MISSING:
            yield _Field(
                start, end, value, _is_own(text[max(start - MAX_SENTENCE, 0) : start], text[end : end + MAX_SENTENCE])
            )
        start = text.find("{", end)


def _only_one_move(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object. If it has several moves, none of them counts."""
    moves = [value for name, value in pairs if name.lower() == "move"]
    fields = dict(pairs)
    return fields if len(moves) < 2 else fields | {"move": moves}


def _move_in(found: dict[str, Any]) -> Any:
    """The ``move`` of an object, or what is in its fields for answers. If there are several, none of them counts."""
    values = []
    for name, value in found.items():
        if name.lower() in _NAMES:
            values.append(_move_in(value) if isinstance(value, dict) and name.lower() != "move" else value)
        elif name.lower() in _WRAPPERS and isinstance(value, dict):
            values.append(_move_in(value))
    values = [value for value in values if value is not _MISSING]
    return values[0] if len(values) == 1 else values or _MISSING


def _is_own(before: str, after: str) -> bool:
    """Whether an object between these texts is what the model answers."""
    if _INSIDE_JSON.search(before) and not _WRAPPED.search(before):
        return False
    return not is_mentioned(before, after) and before.rpartition("\n")[2].count('"') % 2 == 0
