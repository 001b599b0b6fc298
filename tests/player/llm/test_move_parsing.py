"""Moves in the answers of models: in the requested form, in the forms that models really use, and in any text."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.player.llm.move_parsing import MAX_CHARACTERS, read_answer

PARITIES = ["even", "odd"]
CELLS = [0, 2, 4, 8]


@pytest.mark.parametrize(
    ("text", "options", "move"),
    [
        ('{"move": "even"}', PARITIES, "even"),
        ('{"move": 4}', CELLS, 4),
        ('{"move": "4"}', CELLS, 4),
        ('  {"move":"EVEN"}\n', PARITIES, "even"),
        ('```json\n{"move": "odd"}\n```', PARITIES, "odd"),
        ('I win with {"move": "odd"}, for even came twice.', PARITIES, "odd"),
        ('{"reasoning": "not even", "move": "odd"}', PARITIES, "odd"),
        ('{"answer": {"move": "odd"}}', PARITIES, "odd"),
        ('{"move": "even"} and once more {"move": "even"}', PARITIES, "even"),
        ('{"move": "I take cell 8."}', CELLS, 8),
        ('{broken {"move": 2}', CELLS, 2),
        ("even", PARITIES, "even"),
        ('"odd".', PARITIES, "odd"),
        ("**Odd!**", PARITIES, "odd"),
        ("8", CELLS, 8),
        ("I choose cell 4.", CELLS, 4),
        ("My move is: odd\n\nLet us see.", PARITIES, "odd"),
        ('<think>even, odd, {"move": "even"}</think>{"move": "odd"}', PARITIES, "odd"),
        ("<think>even or odd?</think>\n\nodd", PARITIES, "odd"),
        ("take the long way", ["long", "long way"], "long way"),
        ("X", ["x", "X"], "X"),
        ('{"move": {"to": 2, "from": 1}}', [{"from": 1, "to": 2}, {"from": 1, "to": 3}], {"from": 1, "to": 2}),
        ('{"move": [1, 2]}', [[1, 2], [2, 1]], [1, 2]),
        ('{"move": true}', [1, True], True),
    ],
)
def test_a_clear_answer_is_that_move(text: str, options: list[Any], move: Any) -> None:
    assert json.dumps(read_answer(text, options).moves) == json.dumps([move])


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("", PARITIES),
        ("banana", PARITIES),
        ('{"move": "banana"}', PARITIES),
        ('Even if you say so: {"move": "banana"}', PARITIES),
        ('{"move": null}', PARITIES),
        ("uneven, oddly enough", PARITIES),
        ("-4, 4.5, 1.4, 44 and a4", CELLS),
        ("<think>even, and I ran out of tokens", PARITIES),
        ('{"move": "even"}<think>no, rather', []),
        ("{" * 5_000, PARITIES),
        ('{"a":' * 3_000, PARITIES),
        ('{"move":' + "[" * 900 + "]" * 900 + "}", PARITIES),
        ('{"move": ' + "9" * 5_000 + "}", CELLS),
        ("x" * MAX_CHARACTERS + " even", PARITIES),
    ],
)
def test_what_names_no_legal_move_is_none(text: str, options: list[Any]) -> None:
    assert read_answer(text, options).moves == []


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("even or odd", PARITIES),
        ("not even, odd, not even", PARITIES),
        ('{"move": "odd"} no: {"move": "even"}', PARITIES),
        ('{"move": "odd", "move": "even"}', PARITIES),
        ('{"candidates": [{"move": "odd"}', PARITIES),
        ('{"opponent": {"move": "odd"}, "move": "ev', PARITIES),
    ],
)
def test_what_names_several_is_none_of_them(text: str, options: list[Any]) -> None:
    assert read_answer(text, options).moves == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=3,
)


@given(
    st.text() | json_values.map(lambda value: json.dumps({"move": value})),
    st.lists(json_values, min_size=1, max_size=3),
)
def test_whatever_is_written_nothing_but_a_legal_move_comes_of_it(text: str, options: list[Any]) -> None:
    legal = {json.dumps(option, sort_keys=True) for option in options}
    assert {json.dumps(move, sort_keys=True) for move in read_answer(text, options).moves} <= legal


@given(st.lists(st.integers() | st.text(min_size=1, alphabet=st.characters(codec="ascii")), min_size=1, unique_by=str))
def test_every_legal_move_that_is_written_as_asked_is_read(options: list[Any]) -> None:
    options = [option for option in options if str(option).strip() == str(option)]
    if len({str(option) for option in options}) == len(options):
        for option in options:
            assert read_answer(json.dumps({"move": option}), options).moves == [option]
