"""Draws the pictures of games for the terminal: those of the latest round beside each other, or one as plain text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from typing import Any

from leaguekit.cli.screen import Cell
from leaguekit.cli.tables import shorten, width, with_ltr_mark
from leaguekit.games import find_game
from leaguekit.games.pictures import Picture, accept_picture, game_picture, name_players
from leaguekit.league.records import Outcome
from leaguekit.league.sentences import PLAYER
from leaguekit.web.api_types import InPlay, Live, MatchRow

# The text at the right of a picture.
_TEXT_WIDTH, _CAPTION_LINES = 22, 3
Lines = list[list[Cell]]


def draw_boards(live: Live, start: int, end: int, available: int) -> Lines:
    """The pictures of the latest round, as many as fit into half of the lines. Matches in play come first."""
    matches: list[InPlay | MatchRow] = [*live.playing.values(), *live.results.values()]
    latest = max([match.round_id for match in matches], default=0)
    in_round = [match for match in matches if match.round_id == latest]
    room = end - start - 2
    blocks = [(match, _block(match, picture, room)) for match in in_round if (picture := _picture(live, match))]
    # All pictures of a game have about the same size.
    wide = max([_width(block) for _, block in blocks], default=1) + 2
    high = max([len(block) for _, block in blocks], default=1)
    columns, rows = (end - start) // wide, (available // 2 + 1) // (high + 1)
    chosen = sorted(blocks[: columns * rows], key=lambda block: block[0].match_id)
    lines: Lines = []
    for first in range(0, len(chosen), max(1, columns)):
        beside = [
            _moved(block, start + number * wide) for number, (_, block) in enumerate(chosen[first : first + columns])
        ]
        lines += [[]] if lines else []
        lines += _side_by_side(*beside)
    return lines


def plain_lines(picture: Picture) -> list[str]:
    """A picture as lines of text, without colours."""
    lines = []
    for cells in _DRAWERS[picture["kind"]](picture, str):
        text = ""
        for one in cells:
            text += " " * (one.column - width(text)) + one.text
        lines.append(text.rstrip())
    return [*lines, *([picture["caption"]] if picture.get("caption") else [])]


def _picture(live: Live, match: InPlay | MatchRow) -> Picture | None:
    """The picture of a match in play, or the last board of one that is over."""
    if isinstance(match, InPlay):
        return None if match.picture is None else accept_picture(match.picture)
    name = live.league.game or live.league.game_type
    game = find_game(name)
    if game is None:
        return None
    from leaguekit.web.matches import game_steps

    steps = game_steps(name, Outcome(0, 0, *(match.choices or (None, None)), match.drawn_number, None, None))
    picture = game_picture(game, steps[-1].view) if len(steps) > 1 else None
    # What else a picture shows is in the reason.
    is_board = picture is not None and picture["kind"] == "grid"
    return name_players(picture, match.a.id, match.b.id) if picture is not None and is_board else None


def _block(match: InPlay | MatchRow, picture: Picture, room: int) -> Lines:
    """A picture, and the match, its players, and which of them moves or has won: beside it, or below a wide picture."""
    names = {one.id: with_ltr_mark(one.name) for one in (match.a, match.b)}
    if isinstance(match, MatchRow):
        now = Cell(0, "draw" if match.winner is None else f"{names[match.winner]} wins", "good")
    else:
        to_move = " and ".join(names[one] for one in match.missing if one in names)
        now = Cell(0, f"{to_move} to move" if to_move else "", "dim")

    def named(text: str) -> str:
        return PLAYER.sub(lambda found: names.get(found[0], found[0]), text)

    drawn = [*_DRAWERS[picture["kind"]](picture, named)]
    caption = named(picture.get("caption", ""))
    at = _width(drawn) + 2
    if at + _TEXT_WIDTH > room:
        below = [Cell(0, f"{match.match_id}  {' – '.join(names.values())}", "bold"), now, Cell(0, caption, "dim")]
        return [*drawn, *([text._replace(text=shorten(text.text, room))] for text in below)]
    texts = [Cell(0, match.match_id, "bold"), *map(partial(Cell, 0), names.values()), now]
    if caption:
        texts += [Cell(0, line, "dim") for line in _wrap(caption)]
    beside = [[Cell(at, shorten(text.text, _TEXT_WIDTH), text.style)] for text in texts]
    return _side_by_side(drawn, beside)


def _wrap(caption: str) -> list[str]:
    """The lines of a caption. What does not fit is at the end of the last one."""
    lines = [""]
    for word in caption.split():
        if width(f"{lines[-1]} {word}".strip()) > _TEXT_WIDTH and len(lines) < _CAPTION_LINES:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}"
    return [line.strip() for line in lines]


def _grid(picture: Picture, _named: Any) -> Iterator[list[Cell]]:
    rows = [[one if isinstance(one, dict) else {"text": one} for one in row] for row in picture["rows"]]
    labels = picture.get("row_labels") or [""] * len(rows)
    heads = picture.get("column_labels", [])
    left = max(map(width, labels)) + 1 if any(labels) else 0
    wide = max([width(text) for text in (*heads, *(one["text"] for row in rows for one in row))]) + 1
    for label, row in zip(labels, rows, strict=True):
        yield [
            *([Cell(0, label, "dim")] if label else []),
            *(_cell(one, left + column * wide) for column, one in enumerate(row)),
        ]
    if heads:
        yield [Cell(left + column * wide, head, "dim") for column, head in enumerate(heads)]


def _cell(one: dict[str, Any], at: int) -> Cell:
    colour = one.get("colour", "")
    text = one["text"].strip() or ("■" if colour else "·")
    if (text, colour) == ("●", "white"):
        # Terminals without colours show which is which.
        text = "○"
    style = colour or ("dim" if text == "·" else "")
    return Cell(at, text, f"{style} marked".strip() if one.get("marked") else style)


def _cards(picture: Picture, named: Any) -> Iterator[list[Cell]]:
    labels = [named(hand["label"]) for hand in picture["hands"]]
    left = max(map(width, labels), default=0) + 1
    for label, hand in zip(labels, picture["hands"], strict=True):
        cards = " ".join("▒▒" if card is None else card for card in hand["cards"])
        yield [Cell(0, label, "dim"), Cell(left, cards)]


def _text(picture: Picture, _named: Any) -> Iterator[list[Cell]]:
    for line in picture["text"].split("\n"):
        yield [Cell(0, line)]


_DRAWERS = {"grid": _grid, "cards": _cards, "text": _text}


def _side_by_side(*blocks: Lines) -> Lines:
    return [[cell for line in row for cell in line] for row in zip_longest(*blocks, fillvalue=())]


def _width(lines: Lines) -> int:
    return max([line[-1].column + width(line[-1].text) for line in lines if line], default=0)


def _moved(lines: Lines, by: int) -> Lines:
    return [[cell._replace(column=cell.column + by) for cell in line] for line in lines]
