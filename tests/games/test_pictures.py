"""Pictures as plain data: what can be drawn, and what is refused."""

from __future__ import annotations

import pytest

from leaguekit.games import GAMES
from leaguekit.games.pictures import MAX_TEXT, cell, picture_fault


@pytest.mark.parametrize(
    "picture",
    [
        {"kind": "grid", "rows": [["X", cell("O", "red", marked=True)], ["", cell("?", marked=True)]]},
        {"kind": "grid", "rows": [["a"]], "row_labels": ["1"], "column_labels": ["a"], "caption": "move 1"},
        {"kind": "cards", "hands": [{"label": "A", "cards": ["K♠", None]}, {"label": "B", "cards": []}]},
        {"kind": "text", "text": "a\nb"},
        GAMES["tic_tac_toe"].picture({"board": "X...O...."}),
    ],
)
def test_a_picture_of_each_kind_can_be_drawn(picture) -> None:
    assert picture_fault(picture) is None


def test_a_plain_cell_is_its_text() -> None:
    assert cell("X") == "X"
    assert cell("X", "red") == {"text": "X", "colour": "red"}


@pytest.mark.parametrize(
    ("picture", "fault"),
    [
        (None, "a picture must be a dict whose kind is one of grid, cards, text"),
        ({"kind": "svg"}, "a picture must be a dict whose kind"),
        ({"kind": []}, "a picture must be a dict whose kind"),
        (
            {"kind": "grid"},
            "a picture of kind grid has caption, column_labels, moves, row_labels, rows, and nothing else",
        ),
        ({"kind": "text", "text": "a", "html": "b"}, "a picture of kind text has caption, text, and nothing else"),
        ({"kind": "text", "text": 4}, "text must be text of at most 5,000 characters"),
        ({"kind": "text", "text": "a", "caption": "x" * (MAX_TEXT + 1)}, "a caption must be text of at most 5,000"),
        ({"kind": "grid", "rows": []}, "rows must be a list of lists of cells"),
        ({"kind": "grid", "rows": [["a"], ["a", "b"]]}, "rows must have the same length, and at most 1,000 cells"),
        ({"kind": "grid", "rows": [["a"] * 1_001]}, "rows must have the same length, and at most 1,000 cells"),
        ({"kind": "grid", "rows": [[4]]}, "a cell must be a text, or a dict with text, colour"),
        ({"kind": "grid", "rows": [[{"text": "a", "colour": "pink"}]]}, "a cell must be a text, or a dict with text"),
        ({"kind": "grid", "rows": [[{"text": "a", "colour": []}]]}, "a cell must be a text, or a dict with text"),
        ({"kind": "grid", "rows": [["a"]], "row_labels": ["1", "2"]}, "row_labels must be a list of 1 texts"),
        ({"kind": "grid", "rows": [["a"]], "column_labels": [1]}, "column_labels must be a list of 1 texts"),
        ({"kind": "cards", "hands": [{"label": "A"}]}, "hands must be a list of dicts with a label"),
        ({"kind": "cards", "hands": [{"label": "A", "cards": [4]}]}, "hands must be a list of dicts with a label"),
        ({"kind": "cards", "hands": {}}, "hands must be a list of dicts with a label"),
        ({"kind": "cards", "hands": ["A"]}, "hands must be a list of dicts with a label"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(picture, fault) -> None:
    assert str(picture_fault(picture)).startswith(fault)
