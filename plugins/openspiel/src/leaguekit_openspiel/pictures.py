"""Pictures of OpenSpiel's positions, which it writes as texts. Boards among these are recognised by their form."""

from __future__ import annotations

import re
from string import ascii_letters
from typing import Any

from leaguekit.games.pictures import DISC, Colour, cell

# The position of a game of the chess family: ranks with slashes between them, digits for empty squares.
_FEN = re.compile(r"(?:[A-Za-z?+\d]+/){4,9}[A-Za-z?+\d]+(?: |$)")
_CHESS_MEN = dict(zip("kqrbnpKQRBNP", "♚♛♜♝♞♟♔♕♖♗♘♙", strict=True))
# What an empty cell is, the first of these that the board has. Only Go writes it as +; in checkers + is a man.
_EMPTY = (".", "-", "_", "+")
_STONES: dict[str, Colour] = {"X": "black", "O": "white"}
# A line of a board: its number, and cells of one character each.
_LINE = re.compile(r"\s*(\d*)\s*((?:\S ?)+?)\s*\d*\s*")
_MIN_LINES = 3
# The end of Kuhn poker: both cards, and what was said.
_KUHN_END = re.compile(r"([0-2]) ([0-2]) ([pb]*)")
# The content of a cell. Lines with other characters are sentences or frames.
_CELLS = frozenset(".+-_?*@#" + ascii_letters)


def picture_of(view: dict[str, Any]) -> dict[str, Any]:
    """A view as a picture: as a board where there is one, otherwise as text."""
    text = _text_of(view)
    return _chess_board(text) or _board(text) or {"kind": "text", "text": text[:5_000] or "hidden until the end"}


def kuhn_poker(view: dict[str, Any]) -> dict[str, Any]:
    """The cards of Kuhn poker, as far as they are known, and what was said."""
    text = _text_of(view)
    cards: list[str | None] = [None, None]
    said = text if set(text) <= {"p", "b"} else ""
    if found := _KUHN_END.fullmatch(text):
        cards, said = [found[1], found[2]], found[3]
    elif "you" in view:
        # The own card, and then what was said.
        state = str(view.get("information_state", ""))
        cards[view["you"] == "player 1"], said = state[:1] or None, state[1:]
    words = [f"{{{'AB'[turn % 2]}}} {'bets' if word == 'b' else 'passes'}" for turn, word in enumerate(said)]
    hands = [{"label": label, "cards": [card]} for label, card in zip(("{A}", "{B}"), cards, strict=True)]
    return {"kind": "cards", "hands": hands, "caption": ", ".join(words)}


def _text_of(view: dict[str, Any]) -> str:
    text = view.get("end") or view.get("observation")
    if not isinstance(text, str):
        raise ValueError("this view has no observation")  # noqa: TRY004 - the view came from elsewhere
    return text


def _chess_board(text: str) -> dict[str, Any] | None:
    if _FEN.match(text) is None:
        return None
    ranks = [_squares(rank) for rank in text.split(" ", 1)[0].split("/")]
    if len({len(rank) for rank in ranks}) > 1 or len(ranks) > 26:
        return None
    labels = [str(number) for number in range(len(ranks), 0, -1)]
    files = [chr(ord("a") + number) for number in range(len(ranks[0]))]
    return {"kind": "grid", "rows": ranks, "row_labels": labels, "column_labels": files}


def _squares(rank: str) -> list[str]:
    squares: list[str] = []
    for part in re.findall(r"\d+|\+?[A-Za-z?]", rank):
        squares += [""] * int(part) if part.isdigit() else [_CHESS_MEN.get(part, part)]
    return squares


def _board(text: str) -> dict[str, Any] | None:
    """The first lines in a text that have the same number of cells, at least three of each."""
    lines = text.split("\n")
    for start in range(len(lines)):
        rows = _rows_from(lines[start:])
        if len(rows) < _MIN_LINES:
            continue
        empty = next((mark for mark in _EMPTY if any(mark in cells for _, cells in rows)), None)
        is_go = empty == "+"
        cells = [["" if one == empty else _piece(one, is_go=is_go) for one in cells] for _, cells in rows]
        grid: dict[str, Any] = {"kind": "grid", "rows": cells}
        if all(label for label, _ in rows):
            grid["row_labels"] = [label for label, _ in rows]
        below = [*"".join(lines[start + len(rows) :][:1]).replace(" ", "")]
        if len(below) == len(rows[0][1]) and _are_labels(below):
            grid["column_labels"] = below
            # In Go and Othello a move is the name of a cell.
            grid["moves"] = [[f"{column}{label}".lower() for column in below] for label, _ in rows]
        return grid
    return None


def _piece(text: str, *, is_go: bool) -> Any:
    return cell(DISC, _STONES[text]) if is_go and text in _STONES else text


def _rows_from(lines: list[str]) -> list[tuple[str, list[str]]]:
    """The lines of a board at the beginning of these lines: the label of each, and its cells."""
    rows: list[tuple[str, list[str]]] = []
    for line in lines:
        found = _LINE.fullmatch(line)
        cells = [] if found is None else [*found[2].replace(" ", "")]
        if found is None or len(cells) < _MIN_LINES or _are_labels(cells) or not _CELLS.issuperset(cells):
            break
        if rows and (len(cells), bool(found[1])) != (len(rows[0][1]), bool(rows[0][0])):
            break
        rows.append((found[1], cells))
    return rows


def _are_labels(cells: list[str]) -> bool:
    """Whether cells are the letters of columns. Go leaves the I out."""
    return cells[:3] in (["a", "b", "c"], ["A", "B", "C"])
