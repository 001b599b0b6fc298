"""Agents' words made plain: nothing unseen reaches a terminal or a file, and nothing else is touched."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.protocol.plain_text import INVISIBLE_CHARACTERS, escaped, escaped_bytes, sanitize_line, sanitize_lines

ANY_TEXT = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize("text", ["Alice", "Zoë", "李雷", "שלום", "O'Neill – 2nd", "", "🤖 ❤️", "50 %", "<b>&amp;"])
def test_ordinary_words_stay_as_they_are(text: str) -> None:
    assert sanitize_line(text) == escaped(text) == text
    assert escaped_bytes(text.encode()) == text.encode()


def test_everything_that_moves_a_terminal_is_unseen() -> None:
    for code in range(0x10000):
        if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(chr(code)) in (
            *("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"),
        ):
            assert INVISIBLE_CHARACTERS.fullmatch(chr(code)), hex(code)


@given(ANY_TEXT)
def test_a_line_stays_one_line_without_anything_unseen(text: str) -> None:
    shown = sanitize_line(text)
    assert not INVISIBLE_CHARACTERS.search(shown)
    assert len(shown) == len(text)
    assert len(shown.splitlines()) <= 1
    shown.encode()


@given(ANY_TEXT)
def test_of_several_lines_only_the_line_breaks_stay(text: str) -> None:
    assert sanitize_lines(text).split("\n") == [sanitize_line(line) for line in text.split("\n")]


@given(st.lists(ANY_TEXT, max_size=3))
def test_escaped_json_says_the_same_without_anything_unseen(value: list[str]) -> None:
    for indent in (None, 2):
        text = escaped(json.dumps(value, ensure_ascii=False, indent=indent))
        assert not INVISIBLE_CHARACTERS.search(text.replace("\n", ""))
        assert json.loads(text) == value


@given(st.lists(st.text(), max_size=3))
def test_bytes_are_escaped_alike(value: list[str]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert escaped_bytes(text.encode()).decode() == escaped(text)


def test_what_is_no_text_is_written_as_text() -> None:
    assert sanitize_line(7) == sanitize_lines(7) == "7"
