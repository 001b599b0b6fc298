"""Pictures of games as plain data, which pages, reports and terminals draw. They contain no markup.

A picture is a dict of one of three kinds:

``{"kind": "grid", "rows": [[CELL, …], …]}``
    A board. A cell is a text, or ``{"text": "X", "colour": "red", "marked": True}``. ``marked`` is for the last move
    and for what decided the game. The colour is that of the text, or of an empty cell. ``row_labels`` and
    ``column_labels`` are lists of texts, one for each row or column. ``moves`` has the move that a person makes by
    choosing a cell, in rows like the cells; None for a cell that is never chosen. Several cells may have one move. The
    texts ``●`` and ``○`` are drawn as a disc and a ring that fill the cell, and chess men in black and white. With
    ``"chequered": True`` every second cell is dark, but not the first one.
``{"kind": "cards", "hands": [{"label": "{A}", "cards": ["K♠", None]}, …]}``
    Rows of cards. None is a card that lies face down.
``{"kind": "text", "text": "…"}``
    Some lines of text, in letters of one width.

``caption``, a short text below the picture, is optional in all of them. In captions and in labels of hands, ``{A}`` and
``{B}`` stand for the players.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, get_args

from leaguekit.games.base import Game

Picture = dict[str, Any]
Colour = Literal["red", "yellow", "blue", "green", "black", "white", "grey", "brown"]
COLOURS: tuple[str, ...] = get_args(Colour)
# A cell with one of these texts has a piece that fills it.
DISC, RING = "●", "○"
# The same men of both colours, which pages draw filled.
WHITE_MEN, BLACK_MEN = "♔♕♖♗♘♙", "♚♛♜♝♞♟"
MAX_CELLS = 1_000
MAX_TEXT = 5_000
# A picture that is larger as JSON is shown to nobody. A board of 1,000 coloured cells is smaller.
MAX_PICTURE_BYTES = 50_000

# The fields of each kind that must be there, and those that may be there.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "grid": ({"rows"}, {"row_labels", "column_labels", "moves", "chequered"}),
    "cards": ({"hands"}, set()),
    "text": ({"text"}, set()),
}


def cell(text: str, colour: Colour | None = None, *, marked: bool = False) -> Any:
    """A cell of a grid."""
    if colour is None and not marked:
        return text
    return {"text": text, **({} if colour is None else {"colour": colour}), **({"marked": True} if marked else {})}


def cards(hands: Mapping[str, Any]) -> Picture:
    """A picture of hands of one card each, by their labels. A card of None lies face down."""
    return {
        "kind": "cards",
        "hands": [{"label": label, "cards": [card if card is None else str(card)]} for label, card in hands.items()],
    }


def game_picture(game: Game[Any] | None, view: dict[str, Any], *, with_moves: bool = False) -> Picture | None:
    """The picture that a game makes of a view, without the moves of its cells unless these are wanted.

    None if there is none, or if it cannot be drawn. The view may come from another program, and the game be anybody's.
    """
    try:
        picture = None if game is None else game.picture(view)
    except Exception:  # noqa: BLE001 - a game may do anything with a view that it has not made
        return None
    if picture is None or picture_error(picture) is not None or _size(picture) > MAX_PICTURE_BYTES:
        return None
    return picture if with_moves else {name: value for name, value in picture.items() if name != "moves"}


def picture_of(game: Game[Any] | None, view: dict[str, Any], *, with_moves: bool = False) -> Picture:
    """A view as a picture that can be drawn: that of its game, or else the view as text."""
    return game_picture(game, view, with_moves=with_moves) or text_picture(view)


def text_picture(view: dict[str, Any]) -> Picture:
    """A view as text, with a line for each of its values."""
    text = "\n".join(f"{name}:{_value_text(value)}" for name, value in view.items())
    return {"kind": "text", "text": text[:MAX_TEXT]}


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        value = ", ".join(f"{name}{_value_text(inner)}" for name, inner in value.items())
    elif value is None:
        value = "–"
    elif not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    # A board of several lines begins at the left.
    return f"\n{value}" if "\n" in value else f" {value}"


def accept_picture(picture: Any) -> Picture | None:
    """A picture from another program; None if it cannot be drawn, or is too large."""
    return None if picture_error(picture) is not None or _size(picture) > MAX_PICTURE_BYTES else dict(picture)


def _size(picture: Picture) -> int:
    return len(json.dumps(picture, ensure_ascii=False).encode("utf-8", "replace"))


def name_players(picture: Picture, a: str, b: str) -> Picture:
    """A picture with the ids of the players in place of ``{A}`` and ``{B}``."""

    def named(text: str) -> str:
        return text.replace("{A}", a).replace("{B}", b)

    changed = dict(picture)
    if "caption" in picture:
        changed["caption"] = named(picture["caption"])
    if picture["kind"] == "cards":
        changed["hands"] = [hand | {"label": named(hand["label"])} for hand in picture["hands"]]
    return changed


def picture_error(picture: Any) -> str | None:
    """What is wrong with a picture, in a sentence; None if it can be drawn."""
    if not isinstance(picture, dict) or picture.get("kind") not in [*_FIELDS]:
        return f"a picture must be a dict whose kind is one of {', '.join(_FIELDS)}"
    kind = picture["kind"]
    needed, optional = _FIELDS[kind]
    if not needed <= picture.keys() <= needed | optional | {"kind", "caption"}:
        return f"a picture of kind {kind} has {', '.join(sorted(needed | optional | {'caption'}))}, and nothing else"
    if not _is_text(picture.get("caption", "")):
        return f"a caption must be text of at most {MAX_TEXT:,} characters"
    return {"grid": _grid_fault, "cards": _cards_fault, "text": _text_fault}[kind](picture)


def _grid_fault(picture: dict[str, Any]) -> str | None:
    rows = picture["rows"]
    if not (isinstance(rows, list) and rows and all(isinstance(row, list) and row for row in rows)):
        return "rows must be a list of lists of cells"
    if len({len(row) for row in rows}) > 1 or len(rows) * len(rows[0]) > MAX_CELLS:
        return f"rows must have the same length, and at most {MAX_CELLS:,} cells in all"
    if not all(_is_cell(one) for row in rows for one in row):
        return f"a cell must be a text, or a dict with text, colour (one of {', '.join(COLOURS)}) and marked (a bool)"
    for name, count in (("row_labels", len(rows)), ("column_labels", len(rows[0]))):
        labels = picture.get(name, [""] * count)
        if not (isinstance(labels, list) and len(labels) == count and all(map(_is_text, labels))):
            return f"{name} must be a list of {count} texts"
    if not isinstance(picture.get("chequered", False), bool):
        return "chequered must be a bool"
    moves = picture.get("moves", rows)
    if not (isinstance(moves, list) and [_length(row) for row in moves] == [len(row) for row in rows]):
        return "moves must have a move, or None, for each cell"
    return None


def _length(value: Any) -> int | None:
    return len(value) if isinstance(value, list) else None


def _is_cell(value: Any) -> bool:
    if isinstance(value, dict):
        return (
            value.keys() <= {"text", "colour", "marked"}
            and _is_text(value.get("text"))
            and value.get("colour", COLOURS[0]) in COLOURS
            and isinstance(value.get("marked", False), bool)
        )
    return _is_text(value)


def _cards_fault(picture: dict[str, Any]) -> str | None:
    hands = picture["hands"]
    if isinstance(hands, list) and sum(map(_card_count, hands)) <= MAX_CELLS and all(map(_is_hand, hands)):
        return None
    return "hands must be a list of dicts with a label (a text) and cards (a list of texts, None for a hidden card)"


def _card_count(hand: Any) -> int:
    return (_length(hand.get("cards")) if isinstance(hand, dict) else None) or 0


def _is_hand(hand: Any) -> bool:
    if not (isinstance(hand, dict) and hand.keys() == {"label", "cards"} and isinstance(hand["cards"], list)):
        return False
    return _is_text(hand["label"]) and all(card is None or _is_text(card) for card in hand["cards"])


def _text_fault(picture: dict[str, Any]) -> str | None:
    return None if _is_text(picture["text"]) else f"text must be text of at most {MAX_TEXT:,} characters"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT
