"""Pictures of games as plain data, which pages, reports and terminals draw. They contain no markup.

A picture is a dict of one of three kinds:

``{"kind": "grid", "rows": [[CELL, …], …]}``
    A board. A cell is a text, or ``{"text": "X", "colour": "red", "marked": True}``. ``marked`` is for the last move
    and for what decided the game. ``row_labels`` and ``column_labels`` are lists of texts, one for each row or column.
``{"kind": "cards", "hands": [{"label": "A", "cards": ["K♠", None]}, …]}``
    Rows of cards. None is a card that lies face down.
``{"kind": "text", "text": "…"}``
    Some lines of text, in letters of one width.

``caption``, a short text below the picture, is optional in all of them.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

Colour = Literal["red", "yellow", "blue", "green", "black", "white", "grey", "brown"]
COLOURS: tuple[str, ...] = get_args(Colour)
MAX_CELLS = 1_000
MAX_TEXT = 5_000

# The fields of each kind that must be there, and those that may be there.
_FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "grid": ({"rows"}, {"row_labels", "column_labels"}),
    "cards": ({"hands"}, set()),
    "text": ({"text"}, set()),
}


def cell(text: str, colour: Colour | None = None, *, marked: bool = False) -> Any:
    """A cell of a grid."""
    if colour is None and not marked:
        return text
    return {"text": text, **({} if colour is None else {"colour": colour}), **({"marked": True} if marked else {})}


def picture_fault(picture: Any) -> str | None:
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
    return None


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
    cards = hand.get("cards") if isinstance(hand, dict) else None
    return len(cards) if isinstance(cards, list) else 0


def _is_hand(hand: Any) -> bool:
    if not (isinstance(hand, dict) and hand.keys() == {"label", "cards"} and isinstance(hand["cards"], list)):
        return False
    return _is_text(hand["label"]) and all(card is None or _is_text(card) for card in hand["cards"])


def _text_fault(picture: dict[str, Any]) -> str | None:
    return None if _is_text(picture["text"]) else f"text must be text of at most {MAX_TEXT:,} characters"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MAX_TEXT
