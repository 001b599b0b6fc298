"""Pictures as plain data: what can be drawn, and what is refused."""

from __future__ import annotations

import pytest

from leaguekit.games import GAMES
from leaguekit.games.pictures import (
    MAX_TEXT,
    accept_picture,
    cards,
    cell,
    game_picture,
    name_players,
    picture_error,
    picture_of,
)
from leaguekit.games.rock_paper_scissors import RockPaperScissors


@pytest.mark.parametrize(
    "picture",
    [
        {"kind": "grid", "rows": [["X", cell("O", "red", marked=True)], ["", cell("?", marked=True)]]},
        {"kind": "grid", "rows": [["a"]], "row_labels": ["1"], "column_labels": ["a"], "caption": "move 1"},
        {"kind": "cards", "hands": [{"label": "A", "cards": ["K♠", None]}, {"label": "B", "cards": []}]},
        {"kind": "grid", "rows": [["a", "b"]], "chequered": True},
        {"kind": "text", "text": "a\nb"},
        GAMES["tic_tac_toe"].picture({"board": "X...O...."}),
    ],
)
def test_a_picture_of_each_kind_can_be_drawn(picture) -> None:
    assert picture_error(picture) is None


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
            "a picture of kind grid has caption, chequered, column_labels, moves, row_labels, rows, and nothing else",
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
        ({"kind": "grid", "rows": [["a"]], "chequered": 1}, "chequered must be a bool"),
        ({"kind": "grid", "rows": [["a"]], "moves": [["a", "b"]]}, "moves must have a move, or None, for each cell"),
        ({"kind": "grid", "rows": [["a"]], "moves": [4]}, "moves must have a move, or None, for each cell"),
        ({"kind": "cards", "hands": [{"label": "A"}]}, "hands must be a list of dicts with a label"),
        ({"kind": "cards", "hands": [{"label": "A", "cards": [4]}]}, "hands must be a list of dicts with a label"),
        ({"kind": "cards", "hands": {}}, "hands must be a list of dicts with a label"),
        ({"kind": "cards", "hands": ["A"]}, "hands must be a list of dicts with a label"),
    ],
)
def test_what_cannot_be_drawn_is_refused_with_the_reason(picture, fault) -> None:
    assert str(picture_error(picture)).startswith(fault)


def test_a_hand_may_have_one_card_that_lies_face_down() -> None:
    picture = cards({"{A}": None, "pot": 3})
    assert picture == {"kind": "cards", "hands": [{"label": "{A}", "cards": [None]}, {"label": "pot", "cards": ["3"]}]}
    assert picture_error(picture) is None


def test_the_picture_of_a_view_has_the_moves_of_its_cells_only_where_they_are_wanted() -> None:
    game = GAMES["tic_tac_toe"]
    view = game.view(game.play(game.start(), {"A": 4}), None)
    assert picture_of(game, view, with_moves=True) == game.picture(view)
    assert picture_of(game, view) == {name: part for name, part in game.picture(view).items() if name != "moves"}


class Drawn(RockPaperScissors):
    """Its picture is whatever its view has."""

    def picture(self, view):
        return view["picture"]


@pytest.mark.parametrize(
    "view",
    [
        {},
        {"picture": None},
        {"picture": {"kind": "grid"}},
        {"picture": {"kind": "grid", "rows": [["x" * 4_000] * 20]}},
    ],
)
def test_a_view_that_cannot_be_drawn_is_shown_as_text(view) -> None:
    assert game_picture(Drawn(), view) is None
    picture = picture_of(Drawn(), view)
    assert picture["kind"] == "text"
    assert picture_error(picture) is None


def test_the_text_of_a_view_has_a_line_for_each_value() -> None:
    view = {"phase": "bet", "pot": [1, 2], "last": None, "choices": {"A": None, "B": "odd"}, "board": "..X\n.O."}
    assert picture_of(None, view)["text"].split("\n") == [
        "phase: bet",
        "pot: [1, 2]",
        "last: –",
        "choices: A –, B odd",
        "board:",
        "..X",
        ".O.",
    ]


def test_a_picture_from_elsewhere_is_taken_only_if_it_can_be_drawn_and_is_not_too_large() -> None:
    picture = {"kind": "text", "text": "a"}
    assert accept_picture(picture) == picture
    assert accept_picture({"kind": "text"}) is None
    assert accept_picture({"kind": "grid", "rows": [["x" * 4_000] * 20]}) is None
    assert accept_picture({"kind": "text", "text": "\ud800"}) is not None


def test_players_are_named_in_labels_and_captions_and_not_in_cells() -> None:
    hands = [{"label": "{B}", "cards": ["{A}"]}]
    named = name_players({"kind": "cards", "hands": hands, "caption": "{A} bets"}, "P07", "P09")
    assert named == {"kind": "cards", "hands": [{"label": "P09", "cards": ["{A}"]}], "caption": "P07 bets"}
    assert name_players({"kind": "text", "text": "{A}"}, "P07", "P09") == {"kind": "text", "text": "{A}"}
    assert hands[0]["label"] == "{B}"


def test_the_pictures_of_our_games_show_what_is_known() -> None:
    even_odd, throws = GAMES["even_odd"], GAMES["rock_paper_scissors"]
    hidden = even_odd.play(even_odd.start(), {"chance": 7})
    assert _faces(even_odd, hidden) == [None, None, None]
    assert _faces(even_odd, even_odd.play(hidden, {"A": "odd", "B": "even"})) == ["7", "odd", "even"]
    assert _faces(throws, throws.play(throws.start(), {"A": "rock", "B": "paper"})) == ["rock", "paper"]
    game = GAMES["tic_tac_toe"]
    marked = game.play(game.play(game.start(), {"A": 4}), {"B": 0})
    assert _marks(game, marked) == [("O", True), ("X", False)]
    for side, place in (("A", 1), ("B", 3), ("A", 7)):
        marked = game.play(marked, {side: place})
    # The three in a line, once there are three.
    assert [text for text, is_marked in _marks(game, marked) if is_marked] == ["X", "X", "X"]


def _faces(game, position):
    return [card for hand in game.picture(game.view(position, None))["hands"] for card in hand["cards"]]


def _marks(game, position):
    cells = [cell for row in game.picture(game.view(position, None))["rows"] for cell in row]
    return [(cell["text"], cell["marked"]) for cell in cells if cell["text"]]
