"""Tests for authors of games: ``check_game(MyGame())`` plays many games and reports the first rule that is broken.

It uses only the interface ``Game``. The *observation* of a position is everything that the game returns about it: the
sides to move, views, questions, outcome, and choices. Most rules are about observations. A hidden number, a move that
is only checked, or a caller that modifies a view must not change them.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import takewhile
from typing import Any, NamedTuple

from leaguekit.games.base import SIDES, Game, Outcome, Question, Side

# Chooses one of the options. The text differs for every seed, turn and side.
Chooser = Callable[[str, list[Any]], Any]
Moves = dict[Side, Any]

_NAME = re.compile(r"[a-z][a-z0-9_]{0,49}")
_TURNS: tuple[tuple[Side, ...], ...] = ((), ("A",), ("B",), ("A", "B"))
# The limits of messages: the drawn number, and the length of a choice as a text.
_DRAWN = range(1, 11)
_MAX_CHOICE = 100
_shorten = reprlib.repr


class _Observation(NamedTuple):
    is_over: bool
    content: str


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


# Values that a player may send instead of a move. The nesting is as deep as the largest message allows.
_INVALID_MOVES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 9, 10**400, 0.0, 1.0, 0.5, -1e308),
    *("", " ", "\0", "no such move", "x" * 10_000),
    *([], [None], {}, {"": None}, _nested(5_000)),
)


def hashed_choice(text: str, options: list[Any]) -> Any:
    """One of the options, always the same for the same text."""
    return options[int.from_bytes(sha256(text.encode()).digest(), "big") % len(options)]


def check_game(
    game: Game[Any], seeds: Iterable[int] = range(100), choose: Chooser = hashed_choice, max_turns: int = 1_000
) -> None:
    """Play a game for each seed and raise AssertionError, with a sentence, at the first rule that is broken."""
    _check_names(game)
    drawn = {seed: _drawn(game, seed) for seed in seeds}
    _require(bool(drawn), "there must be a seed to play with")
    numbers = sorted({number for number in drawn.values() if number is not None})
    _require(not numbers or None not in drawn.values(), "draw must give a number for every seed, or None for every")
    for seed, number in drawn.items():
        history, observations = _played(game, number, seed, choose, max_turns)
        for one, again in zip(observations, _observations(game, number, history), strict=True):
            _require(one == again, "the same moves must always lead to the same positions")
        if number is not None:
            # Each number is compared with the next one: what depends on the number differs in at least one pair.
            another = numbers[(numbers.index(number) + 1) % len(numbers)]
            _check_hidden(observations, _observations(game, another, history))


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise AssertionError(rule)


def _check_hidden(observations: list[_Observation], others: Iterator[_Observation]) -> None:
    # The end may depend on the number, and reveal it.
    for face, another in takewhile(
        lambda pair: not (pair[0].is_over or pair[1].is_over), zip(observations, others, strict=False)
    ):
        _require(face == another, "nothing that a game tells before its end must depend on the number drawn")


def _check_names(game: Game[Any]) -> None:
    name = getattr(game, "name", None)
    _require(
        isinstance(name, str) and _NAME.fullmatch(name) is not None,
        f"name must be up to 50 lower-case letters, digits and underscores, got {name!r}",
    )
    _require(type(game.luck) is str, "luck must be a sentence, or empty")


def _drawn(game: Game[Any], seed: int) -> int | None:
    text = str(seed).encode()
    number = game.draw(text)
    _require(
        number is None or (type(number) is int and number in _DRAWN),
        f"draw must give None or a number from 1 to 10, got {number!r}",
    )
    _require(game.draw(text) == number, "draw must give the same number for the same seed")
    return number


def _played(
    game: Game[Any], number: int | None, seed: int, choose: Chooser, max_turns: int
) -> tuple[list[Moves], list[_Observation]]:
    """One game to its end, with every position checked: the moves that were made, and the observations."""
    history, observations = list[Moves](), list[_Observation]()
    position = game.start(number)
    _check_shape(game, position)
    opening = _options(game, position)
    while True:
        observations.append(_observe(game, position))
        _check_choices(game, position, {side for moves in history for side in moves})
        _check_faults(game, position, _options(game, position) or opening)
        _require(_observe(game, position) == observations[-1], "what a side answers must not show before it is played")
        _modify(_observed_values(game, position))
        _require(_observe(game, position) == observations[-1], "what is done to a view must not change the position")
        if observations[-1].is_over:
            return history, observations
        _require(len(history) < max_turns, f"a game must end within {max_turns} turns")
        moves = {
            side: _as_sent(choose(f"{seed} {len(history)} {side}", game.question(position, side).valid_options))
            for side in game.to_move(position)
        }
        history.append(moves)
        position = _after(game, position, moves)


def _after(game: Game[Any], position: Any, moves: Moves) -> Any:
    before = _observe(game, position)
    after = game.play(position, dict(moves))
    _require(_observe(game, position) == before, "play must make a new position and leave the old one as it was")
    _check_shape(game, after)
    again = game.play(position, dict(reversed(moves.items())))
    _require(
        _observe(game, again) == _observe(game, after),
        "play must lead to the same position whichever move came in first",
    )
    return after


def _observations(game: Game[Any], number: int | None, history: list[Moves]) -> Iterator[_Observation]:
    """The observations when these moves are made with this number, one by one, until the game is over."""
    position = game.start(number)
    yield _observe(game, position)
    for moves in history:
        position = game.play(position, dict(moves))
        yield _observe(game, position)


def _observe(game: Game[Any], position: Any) -> _Observation:
    content = json.dumps(_observed_values(game, position), sort_keys=True, default=repr)
    return _Observation(not game.to_move(position), content)


def _observed_values(game: Game[Any], position: Any) -> list[Any]:
    """Everything that the game returns about a position."""
    sides = game.to_move(position)
    views = [game.view(position, viewer) for viewer in (*SIDES, None)]
    questions = [game.question(position, side) for side in sides]
    faults = [_fault(game, position, side, None) for side in SIDES]
    return [sides, game.outcome(position), *views, *questions, *faults, game.choices(position)]


def _options(game: Game[Any], position: Any) -> list[Any]:
    """The legal moves of the first side to move; none when the game is over."""
    return [option for side in game.to_move(position)[:1] for option in game.question(position, side).valid_options]


def _modify(value: Any) -> None:
    """Clear all lists and dicts in a value, as a careless caller may do."""
    if isinstance(value, list | tuple | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            _modify(inner)
        if not isinstance(value, tuple):
            value.clear()


def _as_sent(move: Any) -> Any:
    """A move as it arrives: equal to the option, but not the same object."""
    return json.loads(json.dumps(move))


def _is_plain(value: Any) -> bool:
    """Whether a value is what JSON text reads back as: no tuples, no sets, no keys but text, no infinities."""
    if type(value) is list:
        return all(map(_is_plain, value))
    if type(value) is dict:
        return all(type(key) is str and _is_plain(inner) for key, inner in value.items())
    return value is None or type(value) in (str, int, bool) or (type(value) is float and math.isfinite(value))


def _check_shape(game: Game[Any], position: Any) -> None:
    """Whether everything that the game tells of a position is of the right kind."""
    sides = game.to_move(position)
    _require(sides in _TURNS, f"to_move must be (), ('A',), ('B',) or ('A', 'B'), got {sides!r}")
    outcome = game.outcome(position)
    _require(not sides or outcome is None, "there must be no outcome while somebody is to move")
    _require(bool(sides) or outcome is not None, "there must be an outcome when nobody is to move")
    if outcome is not None:
        _check_outcome(outcome)
    for viewer in (*SIDES, None):
        view = game.view(position, viewer)
        _require(type(view) is dict and _is_plain(view), f"a view must be plain JSON, got {_shorten(view)}")
    for side in sides:
        _check_question(game.question(position, side))
    shown = game.position(game.view(position, None))
    if shown is not None:
        _require(
            [game.to_move(shown), _options(game, shown)] == [sides, _options(game, position)],
            "position must give a position with the same moves as the one whose view it is given",
        )
    choices = game.choices(position)
    _require(type(choices) is dict and set(choices) == set(SIDES), "choices must have both sides")
    for choice in choices.values():
        _require(
            choice is None or (type(choice) is str and 1 <= len(choice) <= _MAX_CHOICE),
            f"a side's choices must be None or up to {_MAX_CHOICE} characters of text, got {_shorten(choice)}",
        )


def _check_outcome(outcome: Any) -> None:
    _require(isinstance(outcome, Outcome), f"outcome must be None or an Outcome, got {_shorten(outcome)}")
    _require(outcome.winner in (*SIDES, None), f"the winner must be 'A', 'B' or None, got {_shorten(outcome.winner)}")
    reason = outcome.reason
    _require(type(reason) is str and reason.strip() != "", "an outcome must have a reason in words")
    rest = reason.replace("{A}", "").replace("{B}", "")
    _require(not {"{", "}"} & set(rest), "a reason must have no braces but {A} and {B}, where the players' names go")


def _check_question(question: Any) -> None:
    _require(isinstance(question, Question), f"question must be a Question, got {_shorten(question)}")
    move_type, options, context = question
    _require(type(move_type) is str and move_type != "", "move_type must be text")
    _require(type(options) is list and _is_plain(options), f"valid_options must be plain JSON, got {_shorten(options)}")
    _require(options != [], "a side that is to move must have a legal move")
    _require(len({json.dumps(option, sort_keys=True) for option in options}) == len(options), "no option comes twice")
    _require(type(context) is dict and _is_plain(context), f"a context must be plain JSON, got {_shorten(context)}")


def _check_faults(game: Game[Any], position: Any, options: list[Any]) -> None:
    """Check that exactly the valid options are legal for the sides to move, and nothing for the other side."""
    sides = game.to_move(position)
    for side in SIDES:
        if side not in sides:
            faults = [_fault(game, position, side, move) for move in (*options, *_INVALID_MOVES)]
            _require(None not in faults, "a side that is not to move must have no legal move")
            continue
        legal = game.question(position, side).valid_options
        for move in legal:
            fault = _fault(game, position, side, _as_sent(move))
            _require(fault is None, f"every valid option must be legal, but of {_shorten(move)} fault says: {fault}")
        for move in _invalid_moves(legal):
            if _fault(game, position, side, move) is None:
                raise AssertionError(f"only the valid options must be legal, but fault takes {_shorten(move)}")


def _fault(game: Game[Any], position: Any, side: Side, move: Any) -> str | None:
    try:
        fault = game.fault(position, side, move)
    except Exception as error:
        raise AssertionError(f"fault must never raise, but {_shorten(move)} made it raise {error!r}") from error
    if fault is not None and (type(fault) is not str or not fault.strip()):
        raise AssertionError(f"fault must be None or a sentence, got {_shorten(fault)}")
    return fault


def _invalid_moves(legal: list[Any]) -> Iterator[Any]:
    """Values that are not legal, some of them similar to legal ones."""
    similar = [value for option in legal for value in _similar(option)]
    for value in (*_INVALID_MOVES, *similar):
        if not any(type(value) is type(option) and value == option for option in legal):
            yield value


def _similar(option: Any) -> Iterator[Any]:
    yield from ([option], {"move": option}, str(option))
    if isinstance(option, str):
        yield from (option.upper(), option.capitalize(), option[:1], f" {option}", f"{option}\n")
    elif isinstance(option, int):
        yield from (float(option), option + 1, -option)


def _check_choices(game: Game[Any], position: Any, moved: set[Side]) -> None:
    for side, choice in game.choices(position).items():
        _require((choice is not None) == (side in moved), "choices must be None for a side that chose nothing, only")
