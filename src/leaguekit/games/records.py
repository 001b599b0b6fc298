"""The record of a match: its steps, how they are written as texts, and how a match is played again from them.

A step is what all that moved in it did, such as ``{"chance": 7}`` or ``{"A": "rock", "B": "paper"}``. A result also has
the choices of each side as a text. From the choices of a short game, with the number that was drawn, the record can be
made again. The record of any other game must be kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from leaguekit.games.base import SIDES, Game, Moves, Outcome, Side, asked, is_same

# The length of a side's choices as a text.
MAX_CHOICE_CHARACTERS = 100
# The mark of a text that is shortened.
SHORTENED = "…"


class UnknownChance(ValueError):
    """The record does not follow from the choices of a match, because chance moved in it."""


def move_text(move: Any) -> str:
    """A move as a text."""
    if isinstance(move, str):
        return move
    return str(move) if type(move) is int else json.dumps(move, separators=(",", ":"), ensure_ascii=False)


def choices_of(record: Iterable[Moves]) -> dict[Side, str | None]:
    """The choices of each side as a text, shortened if it is too long; None for a side that has not chosen."""
    texts: dict[Side, list[str]] = {"A": [], "B": []}
    for moves in record:
        for side, said in texts.items():
            if side in moves:
                said.append(move_text(moves[side]))
    choices: dict[Side, str | None] = {}
    for side, said in texts.items():
        text = ",".join(said)
        if len(text) > MAX_CHOICE_CHARACTERS:
            text = text[: MAX_CHOICE_CHARACTERS - 1] + SHORTENED
        choices[side] = text or None
    return choices


def positions(game: Game[Any], record: Iterable[Moves]) -> Iterator[Any]:
    """The positions of a match that is played again, the first one included.

    Raises ValueError at the first step that is not legal.
    """
    position = game.start()
    yield position
    for moves in record:
        _check_step(game, position, moves)
        try:
            position = game.play(position, moves)
        except Exception as error:
            # Without odds it is not known what chance may give, and the record may come from anybody.
            raise ValueError(f"a step cannot be played: {error!r}") from error
        yield position


def replay(game: Game[Any], record: Iterable[Moves]) -> Outcome:
    """The outcome of a match that is played again.

    Raises ValueError if a step is not legal, or if the match does not end.
    """
    *_, last = positions(game, record)
    outcome = game.outcome(last)
    if outcome is None:
        raise ValueError(f"{awaited(game, last)} has not chosen")
    return outcome


def steps_from_choices(
    game: Game[Any], drawn: int | None, choices: dict[Side, str | None]
) -> Iterator[tuple[Moves, Any]]:
    """The steps of a match by its choices, each with the position after it. ``drawn`` is what chance gave at first.

    Raises ValueError where the choices are not legal, are shortened, or do not end the game.
    """
    left = {side: (choices[side] or "").split(",") if choices.get(side) else [] for side in SIDES}
    position = game.start()
    while game.outcome(position) is None:
        moves: Moves = {}
        for mover in game.to_move(position):
            if mover == "chance":
                if drawn is None:
                    raise UnknownChance("it is not known what chance gave")
                moves[mover], drawn = drawn, None
            elif not left[mover]:
                raise ValueError(f"{{{mover}}} has not chosen")
            else:
                moves[mover] = _read_move(game, position, mover, left[mover].pop(0))
        _check_chance(game, position, moves)
        position = game.play(position, moves)
        yield moves, position
    if any(left.values()):
        raise ValueError("somebody chose after the end")


def record_from_choices(game: Game[Any], drawn: int | None, choices: dict[Side, str | None]) -> list[Moves]:
    """The record of a match by its choices. Raises ValueError as ``steps_from_choices`` does."""
    return [moves for moves, _ in steps_from_choices(game, drawn, choices)]


def is_told_by_choices(game: Game[Any], choices: dict[Side, str | None], record: Sequence[Moves]) -> bool:
    """Whether the record of a match can be made again from its choices alone."""
    if any(choice is not None and choice.endswith(SHORTENED) for choice in choices.values()):
        return False
    try:
        return is_same(record_from_choices(game, None, choices), [*record])
    except ValueError:
        return False


def _read_move(game: Game[Any], position: Any, side: Side, text: str) -> Any:
    """The legal move with this text. Raises ValueError if there is none."""
    options = game.question(position, side).valid_options
    if text in options:
        return text
    for option in options:
        if move_text(option) == text:
            return option
    # A legal move need not be one of the options.
    _check_move(game, position, side, text)
    return text


def _check_step(game: Game[Any], position: Any, moves: Moves) -> None:
    """Raise ValueError if a step is not legal in a position."""
    movers = game.to_move(position)
    if not movers:
        raise ValueError("somebody chose after the end")
    if set(moves) != set(movers):
        raise ValueError(f"a step is expected from {' and '.join(movers)}")
    _check_chance(game, position, moves)
    for side in SIDES:
        if side in moves:
            _check_move(game, position, side, moves[side])


def _check_chance(game: Game[Any], position: Any, moves: Moves) -> None:
    """Raise ValueError if chance cannot give what it gave in a step."""
    if "chance" not in moves or (odds := game.odds(position)) is None:
        return
    given = moves["chance"]
    if not any(is_same(given, outcome) for outcome, _ in odds if outcome == given):
        raise ValueError(f"chance cannot have given {move_text(given)}")


def _check_move(game: Game[Any], position: Any, side: Side, move: Any) -> None:
    """Raise ValueError if a move of a side is not legal in a position."""
    if (fault := game.move_error(position, side, move)) is not None:
        raise ValueError(f"{{{side}}} cannot have chosen that: {fault}")


def awaited(game: Game[Any], position: Any) -> str:
    """Who moves next in a match that has not ended: ``{A}``, ``{B}`` or chance."""
    sides = asked(game, position)
    return f"{{{sides[0]}}}" if sides else "chance"
