"""Tables for spreadsheets: whatever agents call themselves, nothing in a CSV file is calculated."""

from __future__ import annotations

import csv
import io

import pytest

from leaguekit.store.spreadsheets import csv_row, escape_formula


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "＝", "＋", "－", "＠"])
@pytest.mark.parametrize("blank", ["", " ", "\u00a0", "\t", "\r", "\n"])
def test_a_text_that_begins_like_a_formula_begins_with_an_apostrophe(sign: str, blank: str) -> None:
    text = f"{blank}{sign}HYPERLINK(0)"
    assert escape_formula(text) == f"'{text}"
    assert escape_formula(f"{blank}Alice") == (f"'{blank}Alice" if blank in ("\t", "\r", "\n") else f"{blank}Alice")


@pytest.mark.parametrize("cell", ["Alice", "", "'", "a=b", "P01", "2 + 2", "Zoë", -3, 0, 1.5, None, True])
def test_other_cells_stay_as_they_are(cell: object) -> None:
    assert escape_formula(cell) is cell


@pytest.mark.parametrize("text", ['a"b', "a,b", "a\nb", "a\rb", '"', "李雷", "a;b"])
def test_a_row_is_read_back_as_it_was_written(text: str) -> None:
    assert list(csv.reader(io.StringIO(csv_row(["P01", text, 7, None]), newline=""))) == [["P01", text, "7", ""]]


def test_a_row_is_one_line() -> None:
    assert csv_row(["R1M1", 3, None, "=1+1"]) == "R1M1,3,,'=1+1\r\n"
