"""Pictures of games as HTML, for reports. The pages draw the same elements in ``static/pictures.js``.

The colours come from the page's style sheet, which includes ``static/pictures.css``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import chain
from typing import Any

from leaguekit.games.pictures import BLACK_MEN, DISC, RING, WHITE_MEN, Picture
from leaguekit.web.report.markup import escape_text, insert_names

_CELL = 30
# From the point of a ring at the left: the outer circle, and the inner one.
_RING = "a11.5 11.5 0 1 1 23 0a11.5 11.5 0 1 1-23 0zm6 0a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0z"
# The size of the characters of a cell, by their number. Further characters are not shown.
_SIZES = (24, 18, 14, 11, 9, 8)
_FILLED = str.maketrans(WHITE_MEN, BLACK_MEN)


def drawing(picture: Picture, names: Mapping[str, str]) -> str:
    """A picture that ``picture_error`` accepts. ``names`` are those of the players, by their ids."""
    kind = picture["kind"]
    drawn = {"grid": _grid, "cards": _cards, "text": _text}[kind](picture, names)
    caption = f"<figcaption>{insert_names(picture['caption'], names)}</figcaption>" if picture.get("caption") else ""
    return f'<figure class="picture of-{kind}">{drawn}{caption}</figure>'


def _text(picture: Picture, _names: Mapping[str, str]) -> str:
    lines = map(escape_text, picture["text"].split("\n"))
    return "<pre>" + "\n".join(lines) + "</pre>"


def _cards(picture: Picture, names: Mapping[str, str]) -> str:
    hands = (
        f"<div><dt>{insert_names(hand['label'], names)}</dt><dd>{''.join(map(_card, hand['cards']))}</dd></div>"
        for hand in picture["hands"]
    )
    return f"<dl>{''.join(hands)}</dl>"


def _card(face: str | None) -> str:
    if face is None:
        return '<span class="back" role="img" aria-label="a card that lies face down"></span>'
    kind = "face red" if re.search("[♥♦]", face) else "face"
    return f'<span class="{kind}"><bdi>{escape_text(face)}</bdi></span>'


def _grid(picture: Picture, _names: Mapping[str, str]) -> str:
    rows = [[one if isinstance(one, dict) else {"text": one} for one in row] for row in picture["rows"]]
    row_labels, column_labels = picture.get("row_labels", []), picture.get("column_labels", [])
    left = 1 + max((8 * min(len(label), len(_SIZES)) + 6 for label in row_labels), default=0)
    width, height = _CELL * len(rows[0]), _CELL * len(rows)
    cells = (_cell(one, left + _CELL * x, 1 + _CELL * y) for y, row in enumerate(rows) for x, one in enumerate(row))
    labels = chain(
        (_label(text, left // 2, _CELL * y + 20) for y, text in enumerate(row_labels)),
        (_label(text, left + _CELL * x + _CELL // 2, height + 15) for x, text in enumerate(column_labels)),
    )
    squares = "".join(
        f"M{left + _CELL * x} {1 + _CELL * y}h{_CELL}v{_CELL}h-{_CELL}z"
        for y in range(len(rows) if picture.get("chequered") else 0)
        for x in range(1 - y % 2, len(rows[0]), 2)
    )
    dark = f'<path class="dark" d="{squares}"/>' if squares else ""
    across = "".join(f"M{left} {1 + y}h{width}" for y in range(0, height + 1, _CELL))
    down = "".join(f"M{left + x} 1v{height}" for x in range(0, width + 1, _CELL))
    words = "; ".join(" ".join(map(_words, row)) for row in rows)
    return (
        f'<svg viewBox="0 0 {left + width + 1} {height + 2 + (18 if column_labels else 0)}" width="{30 * len(rows[0])}"'
        f' role="img" aria-label="Board, row by row: {escape_text(words)}">'
        f'<rect class="board" x="{left}" y="1" width="{width}" height="{height}"/>'
        f"{dark}{''.join(cells)}"
        f'<path class="lines" d="{across}{down}"/>{"".join(labels)}</svg>'
    )


def _words(one: dict[str, Any]) -> str:
    text, colour = one["text"], one.get("colour", "")
    return " ".join(filter(None, (colour, "" if colour and text in (DISC, RING) else text))) or "–"


def _cell(one: dict[str, Any], x: int, y: int) -> str:
    text, colour = _shorten(one["text"]), one.get("colour", "")
    kinds = ["marked"] * one.get("marked", False) + ([colour] if colour and not text else [])
    size = f'width="{_CELL}" height="{_CELL}"'
    drawn = f'<rect class="{" ".join(kinds)}" x="{x}" y="{y}" {size}/>' if kinds else ""
    if not text:
        return drawn
    if text in BLACK_MEN + WHITE_MEN:
        colour = colour or ("white" if text in WHITE_MEN else "black")
        text = text.translate(_FILLED)
    kind = f' class="{colour}"' if colour else ""
    if text == DISC:
        return f'{drawn}<circle{kind} cx="{x + _CELL // 2}" cy="{y + _CELL // 2}" r="11.5"/>'
    if text == RING:
        return f'{drawn}<path class="{f"ring {colour}".rstrip()}" d="M{x + 3.5} {y + _CELL // 2}{_RING}"/>'
    letters = _SIZES[len(text) - 1]
    place = f'x="{x + _CELL // 2}" y="{round(y + _CELL / 2 + letters * 0.36)}" font-size="{letters}"'
    return f"{drawn}<text{kind} {place}>{escape_text(text)}</text>"


def _label(text: str, x: int, y: int) -> str:
    return f'<text class="label" x="{x}" y="{y}" font-size="11">{escape_text(_shorten(text))}</text>'


def _shorten(text: str) -> str:
    return text if len(text) <= len(_SIZES) else f"{text[: len(_SIZES) - 1]}…"
