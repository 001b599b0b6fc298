"""Pictures of OpenSpiel's positions, which it writes as texts. Boards among these are recognised by their form."""

from __future__ import annotations

import re
from string import ascii_letters, ascii_lowercase
from typing import Any

from leaguekit.games.pictures import DISC, RING, Colour, cell

# The position of a game of the chess family: ranks with slashes between them, digits for empty squares.
# After it, the pieces in hand, or in shogi who moves, and the pieces in hand.
_FEN = re.compile(r"((?:[A-Za-z?+~\d]+/){4,9}[A-Za-z?+~\d]+)(?:\[([A-Za-z]*)\])?(?: [bw] ([A-Za-z\d]*)|$)")
_CHESS_MEN = dict(zip("kqrbnpKQRBNP", "♚♛♜♝♞♟♔♕♖♗♘♙", strict=True))
# What an empty cell is, the first of these that the board has. Only Go writes it as +; in checkers + is a man.
_EMPTY = (".", "-", "_", "+")
_STONES: dict[str, Colour] = {"X": "black", "O": "white"}
# Whose pieces are which.
_OWNERS = {
    "{B} has White, {A} has Black": ("antichess", "chess", "crazyhouse"),
    "{A} has Black, {B} has White": ("go",),
    "{A} has x, {B} has o": (
        "connect_four", "hex", "lines_of_action", "mnk", "othello", "tic_tac_toe", "ultimate_tic_tac_toe",
    ),
    "{A} has X, {B} has O": ("amazons",),
    "{A} has o, {B} has x": ("clobber",),
    "{A} has o, {B} has +": ("checkers",),
    "{A} has b, {B} has w": ("breakthrough", "gomoku"),
    "{A} has capitals, {B} has small letters": ("shogi", "xiangqi"),
}  # fmt: skip
_CAPTIONS = {name: caption for caption, names in _OWNERS.items() for name in names}
_CHEQUERED = ("antichess", "checkers", "chess", "crazyhouse")
# The name of a cell within a move.
_CELL_NAME = re.compile(r"[a-z]\d+")
# A line of a board: its number, and cells of one character each.
_LINE = re.compile(r"\s*(\d*)\s*((?:\S ?)+?)\s*\d*\s*")
_MIN_LINES = 3
# The end of Kuhn poker: both cards, and what was said.
_KUHN_END = re.compile(r"([0-2]) ([0-2]) ([pb]*)")
# Backgammon: twelve lines with the bar in their middle, and lines such as "Dice: 36".
_POINTS = re.compile(r"\|([xo.\d ]{6})\|([xo.\d ]{6})\|")
_POINT_LINES = 11
_FACTS = re.compile(r"(?:^|, )(Turn|Dice|Bar|X|O): ?(\w*)", re.MULTILINE)
_CHECKERS: dict[str, tuple[str, Colour]] = {"x": (DISC, "red"), "o": (RING, "yellow")}
# The content of a cell. Lines with other characters are sentences or frames.
_CELLS = frozenset(".+-_?*@#" + ascii_letters)


def picture_of(name: str, view: dict[str, Any]) -> dict[str, Any]:
    """A view of a game as a picture: as a board where there is one, otherwise as text."""
    text = _text_of(view)
    board = _chess_board(name, text) or (_backgammon(text) if name == "backgammon" else None) or _board(text)
    if board is None:
        return {"kind": "text", "text": text[:5_000] or "hidden until the end"} | _caption(name)
    _mark_last(board, view.get("last"))
    return _caption(name) | board | ({"chequered": True} if name in _CHEQUERED else {})


def _caption(name: str, more: str = "") -> dict[str, str]:
    return {"caption": _CAPTIONS[name] + more} if name in _CAPTIONS else {}


def _mark_last(board: dict[str, Any], last: Any) -> None:
    """Mark the cell where the last move ended, if the move names cells as the labels do."""
    (move,) = last.values() if isinstance(last, dict) and len(last) == 1 else ("",)
    columns = [label.lower() for label in board.get("column_labels", ())]
    names = _CELL_NAME.findall(str(move))
    if not names or names[-1][0] not in columns or names[-1][1:] not in board.get("row_labels", ()):
        return
    row = board["rows"][board["row_labels"].index(names[-1][1:])]
    column = columns.index(names[-1][0])
    piece = row[column] if isinstance(row[column], dict) else {"text": row[column]}
    row[column] = piece | {"marked": True}


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


def _backgammon(text: str) -> dict[str, Any] | None:
    """The board of backgammon. The points have the numbers that they have for the side that moves."""
    lines, facts = _POINTS.findall(text), dict(_FACTS.findall(text))
    if len(lines) != _POINT_LINES:
        return None
    high, low = [*range(13, 25)], [*range(12, 0, -1)]
    above, below = (low, high) if facts.get("Turn") == "x" else (high, low)
    half = _POINT_LINES // 2
    # The bar is between the sixth and the seventh column, and no checker of it is in the text.
    columns = [*zip(*(f"{left} {right}" for left, right in lines), strict=True)]
    checkers = [[*_checkers(column[:half]), "", *_checkers(column[half + 1 :])] for column in columns]
    top, bottom = (
        [cell(str(point), "grey") if point else "" for point in (*points[:6], 0, *points[6:])]
        for points in (above, below)
    )
    said = "{A} has red ●, {B} has yellow ○"
    if dice := facts.get("Dice"):
        said += f"; dice: {' and '.join(dice)}"
    for mark, side in (("x", "{A}"), ("o", "{B}")):
        if count := facts.get("Bar", "").count(mark):
            said += f"; on the bar: {count} of {side}"
        if facts.get(mark.upper(), "0") != "0":
            said += f"; {side} has borne off {facts[mark.upper()]}"
    rows = [top, *map(list, zip(*checkers, strict=True)), bottom]
    return {"kind": "grid", "rows": rows, "caption": said}


def _checkers(column: tuple[str, ...]) -> list[Any]:
    """Half a column of backgammon. A digit is the number of checkers on a high stack of one colour."""
    owner = next((mark for mark in column if mark in _CHECKERS), "")
    cells: list[Any] = []
    for mark in column:
        piece, colour = _CHECKERS.get(mark if mark in _CHECKERS else owner, ("", None))
        cells.append("" if mark in ". " else cell(mark if mark.isdigit() else piece, colour))
    return cells


def _text_of(view: dict[str, Any]) -> str:
    text = view.get("end") or view.get("observation")
    if not isinstance(text, str):
        raise ValueError("this view has no observation")  # noqa: TRY004 - the view came from elsewhere
    return text


def _chess_board(name: str, text: str) -> dict[str, Any] | None:
    found = _FEN.match(text)
    if found is None:
        return None
    placement = found[1]
    # Shogi has some letters of chess, and others.
    men = _CHESS_MEN if {*placement} <= {*_CHESS_MEN, *"/123456789~"} else {}
    ranks = [_squares(rank, men) for rank in placement.split("/")]
    if len({len(rank) for rank in ranks}) > 1 or len(ranks) > 26:
        return None
    numbers = [str(number) for number in range(1, len(ranks) + 1)]
    letters = [*ascii_lowercase[: len(ranks[0])]]
    is_shogi = name == "shogi"
    labels = (letters, numbers[::-1]) if is_shogi else (numbers[::-1], letters)
    hand = found[2] or (found[3] if is_shogi else "")
    return {"kind": "grid", "rows": ranks, "row_labels": labels[0], "column_labels": labels[1]} | _caption(
        name, f"; in hand: {hand}" if hand else ""
    )


def _squares(rank: str, men: dict[str, str]) -> list[Any]:
    squares: list[Any] = []
    for part in re.findall(r"\d+|\+?[A-Za-z?]", rank):
        squares += [""] * int(part) if part.isdigit() else [men.get(part, part)]
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
