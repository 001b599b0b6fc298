"""Tests for authors of games: ``check_game(MyGame())`` plays many games and reports the first rule that is broken.

It uses only the interface ``Game``. The *observation* of a position is everything that the game returns about it: who
moves, views, pictures, questions, and the outcome. Most rules are about observations. A move that is only checked, or a
caller that modifies a view, must not change them.

What is hidden is checked by variations of a game: in a step, chance gives something else, or a side moves otherwise. As
long as the other side sees the same as before, it must be asked the same, and the public must see the same.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Any, NamedTuple

from leaguekit.games.base import CHANCE, SIDES, Game, Mover, Moves, Outcome, Question, Side, asked, has_chance, is_same
from leaguekit.games.pictures import picture_error
from leaguekit.games.records import positions

# Chooses one of the options. The text differs for every seed, turn and side.
Chooser = Callable[[str, list[Any]], Any]

# A name, or a prefix and a name.
_NAME = re.compile(r"(?=.{1,50}\Z)[a-z][a-z0-9_]*(?::[a-z][a-z0-9_]*)?")
_TURNS: tuple[tuple[Mover, ...], ...] = ((), ("A",), ("B",), ("A", "B"), CHANCE)
# The options that a question may list. A game with more legal moves states their number, and how a move is written.
MAX_OPTIONS = 500
# Moves that are not legal are tried in the first 10 steps of a game, and later in every 10th step.
_MAX_CHECKED = 10
# The steps of a game in which something else is tried.
_MAX_VARIATIONS = 6
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
    game: Game[Any], seeds: Iterable[int] = range(100), choose: Chooser = hashed_choice, max_turns: int | None = None
) -> None:
    """Play a game for each seed and raise AssertionError, with a sentence, at the first rule that is broken.

    ``max_turns`` is the number of turns within which a game must end. The default is the game's own ``max_turns``.
    """
    _check_attributes(game)
    count = 0
    for seed in seeds:
        record, observations = _played(game, seed, choose, game.max_turns if max_turns is None else max_turns)
        # As it is written and read again.
        for one, again in zip(observations, _observations(game, _as_sent(record)), strict=True):
            _require(one == again, "the same moves must always lead to the same positions")
        _check_hidden(game, record, seed)
        count += 1
    _require(count > 0, "there must be a seed to play with")


def _require(holds: bool, rule: str) -> None:
    if not holds:
        raise AssertionError(rule)


def _check_attributes(game: Game[Any]) -> None:
    name = getattr(game, "name", None)
    _require(
        isinstance(name, str) and _NAME.fullmatch(name) is not None,
        f"name must be up to 50 lower-case letters, digits and underscores, got {name!r}",
    )
    _require(type(game.luck) is str, "luck must be a sentence, or empty")
    payoffs = game.payoff_range
    _require(
        payoffs is None or (_are_payoffs(payoffs) and payoffs[0] < payoffs[1]),
        f"payoff_range must be None, or the lowest and the highest payoff, got {payoffs!r}",
    )


def _are_payoffs(value: Any) -> bool:
    """Whether a value is a pair of numbers that JSON can write."""
    return isinstance(value, tuple) and len(value) == 2 and all(map(_is_number, value))


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _played(game: Game[Any], seed: int, choose: Chooser, max_turns: int) -> tuple[list[Moves], list[_Observation]]:
    """One game to its end, with every position checked: its record, and the observations."""
    record, observations = list[Moves](), list[_Observation]()
    position = game.start()
    _check_shape(game, position)
    options: list[Any] = []
    turns = 0
    while True:
        observations.append(_observe(game, position))
        options = _options(game, position) or options
        if len(record) < _MAX_CHECKED or len(record) % _MAX_CHECKED == 0:
            _check_move_errors(game, position, options)
        _require(_observe(game, position) == observations[-1], "what a side answers must not show before it is played")
        _modify(_observed_values(game, position))
        _require(_observe(game, position) == observations[-1], "what is done to a view must not change the position")
        movers = game.to_move(position)
        if not movers:
            return record, observations
        if movers == CHANCE:
            moves: Moves = {"chance": _rolled(game, position, str(seed).encode(), len(record))}
        else:
            turns += 1
            _require(turns <= max_turns, f"a game must end within {max_turns} turns")
            moves = {
                side: _as_sent(choose(f"{seed} {len(record)} {side}", game.question(position, side).valid_options))
                for side in asked(game, position)
            }
        record.append(moves)
        position = _after(game, position, moves)


def _rolled(game: Game[Any], position: Any, seed: bytes, step: int) -> Any:
    """What chance gives, checked."""
    _require(has_chance(game), "a game in which chance moves must have odds, or a roll of its own")
    odds = game.odds(position)
    if odds is not None:
        _require(
            all(type(weight) is int and weight > 0 for _, weight in odds) and len(odds) > 0,
            f"odds must be outcomes with weights, which are whole numbers from 1, got {_shorten(odds)}",
        )
        texts = {json.dumps(outcome, sort_keys=True) for outcome, _ in odds if _is_plain(outcome)}
        _require(len(texts) == len(odds), f"outcomes of chance must be plain JSON, each one once, got {_shorten(odds)}")
    rolled = game.roll(position, seed, step)
    _require(_is_plain(rolled), f"what chance gives must be plain JSON, got {_shorten(rolled)}")
    _require(
        odds is None or any(is_same(rolled, outcome) for outcome, _ in odds),
        f"what chance gives must be one of its odds, got {_shorten(rolled)}",
    )
    _require(is_same(game.roll(position, seed, step), rolled), "roll must give the same for the same seed and step")
    return _as_sent(rolled)


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


def _observations(game: Game[Any], record: list[Moves]) -> Iterator[_Observation]:
    """The observations when a game is played again from its record, one by one."""
    for position in positions(game, record):
        yield _observe(game, position)


# What is hidden


def _check_hidden(game: Game[Any], record: list[Moves], seed: int) -> None:
    """Check some variations of a game, in each of which one mover does something else in one step."""
    places = [(step, mover) for step, moves in enumerate(record) for mover in moves]
    played = [*positions(game, record)]
    for number in range(min(len(places), _MAX_VARIATIONS)):
        step, mover = hashed_choice(f"{seed} {number}", places)
        others = [one for one in _possible(game, played[step], mover) if not is_same(one, record[step][mover])]
        if not others:
            continue
        varied = [*record[:step], {**record[step], mover: hashed_choice(f"{seed} {step}", others)}, *record[step + 1 :]]
        _check_variation(game, played, varied, mover)


def _possible(game: Game[Any], position: Any, mover: Mover) -> list[Any]:
    if mover == "chance":
        return [outcome for outcome, _ in game.odds(position) or ()]
    return game.question(position, mover).valid_options


def _check_variation(game: Game[Any], played: list[Any], varied: list[Moves], mover: Mover) -> None:
    """Check that a side learns nothing from questions, and the public from its view, that the side does not see."""
    unaware = [side for side in SIDES if side != mover]
    try:
        for one, another in zip(played[:-1], positions(game, varied), strict=False):
            if game.to_move(one) != game.to_move(another):
                # What happens next depends on what was hidden, and may reveal it.
                return
            unaware = [side for side in unaware if _text(game.view(one, side)) == _text(game.view(another, side))]
            for side in unaware:
                _require(
                    _text(game.view(one, None)) == _text(game.view(another, None)),
                    f"the public must not see what {side} does not see",
                )
                _require(
                    _asked_of(game, one, side) == _asked_of(game, another, side),
                    f"a question to {side} must not depend on what {side} does not see",
                )
    except ValueError:
        # From here on the moves are not legal in the variation.
        return


def _asked_of(game: Game[Any], position: Any, side: Side) -> str:
    """What a side is shown beside its view: its question, and what is wrong with a move."""
    question = game.question(position, side) if side in game.to_move(position) else None
    return _text([question, _move_error(game, position, side, None)])


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


# Positions and their observations


def _observe(game: Game[Any], position: Any) -> _Observation:
    return _Observation(not game.to_move(position), _text(_observed_values(game, position)))


def _observed_values(game: Game[Any], position: Any) -> list[Any]:
    """Everything that the game returns about a position."""
    sides = asked(game, position)
    views = [game.view(position, viewer) for viewer in (*SIDES, None)]
    pictures = [game.picture(game.view(position, viewer)) for viewer in (*SIDES, None)]
    questions = [game.question(position, side) for side in sides]
    errors = [_move_error(game, position, side, None) for side in SIDES]
    return [game.to_move(position), game.outcome(position), *views, *pictures, *questions, *errors]


def _options(game: Game[Any], position: Any) -> list[Any]:
    """The legal moves of the first side to move; none when the game is over, or chance moves."""
    return [option for side in asked(game, position)[:1] for option in game.question(position, side).valid_options]


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
    """Whether everything that the game says of a position is of the right kind."""
    movers = game.to_move(position)
    _require(movers in _TURNS, f"to_move must be (), ('A',), ('B',), ('A', 'B') or ('chance',), got {movers!r}")
    outcome = game.outcome(position)
    _require(not movers or outcome is None, "there must be no outcome while somebody is to move")
    _require(bool(movers) or outcome is not None, "there must be an outcome when nobody is to move")
    if outcome is not None:
        _check_outcome(game, outcome)
    for viewer in (*SIDES, None):
        view = game.view(position, viewer)
        _require(type(view) is dict and _is_plain(view), f"a view must be plain JSON, got {_shorten(view)}")
    for viewer in (*SIDES, None):
        picture = game.picture(game.view(position, viewer))
        if picture is not None:
            _require(_is_plain(picture), f"a picture must be plain JSON, got {_shorten(picture)}")
            _require((fault := picture_error(picture)) is None, str(fault))
    for side in asked(game, position):
        _check_question(game.question(position, side))
    shown = game.position(game.view(position, None))
    if shown is not None:
        _require(
            [game.to_move(shown), _options(game, shown)] == [movers, _options(game, position)],
            "position must give a position with the same moves as the one whose view it is given",
        )


def _check_outcome(game: Game[Any], outcome: Any) -> None:
    _require(isinstance(outcome, Outcome), f"outcome must be None or an Outcome, got {_shorten(outcome)}")
    _require(outcome.winner in (*SIDES, None), f"the winner must be 'A', 'B' or None, got {_shorten(outcome.winner)}")
    reason = outcome.reason
    _require(type(reason) is str and reason.strip() != "", "an outcome must have a reason in words")
    rest = reason.replace("{A}", "").replace("{B}", "")
    _require(not {"{", "}"} & set(rest), "a reason must have no braces but {A} and {B}, where the players' names go")
    low, high = game.payoff_range or (-math.inf, math.inf)
    payoffs = outcome.payoffs
    _require(
        payoffs is not None or game.payoff_range is None, "a game with a payoff_range must give payoffs at its end"
    )
    _require(
        payoffs is None or (_are_payoffs(payoffs) and all(low <= payoff <= high for payoff in payoffs)),
        f"payoffs must be two numbers within payoff_range, got {_shorten(payoffs)}",
    )


def _check_question(question: Any) -> None:
    _require(isinstance(question, Question), f"question must be a Question, got {_shorten(question)}")
    move_type, options, context, total, syntax = question
    _require(type(move_type) is str and move_type != "", "move_type must be text")
    _require(type(options) is list and _is_plain(options), f"valid_options must be plain JSON, got {_shorten(options)}")
    _require(options != [], "a side that is to move must have a legal move")
    _require(len({json.dumps(option, sort_keys=True) for option in options}) == len(options), "no option comes twice")
    _require(type(context) is dict and _is_plain(context), f"a context must be plain JSON, got {_shorten(context)}")
    _require(len(options) <= MAX_OPTIONS, f"at most {MAX_OPTIONS} options are listed; give their number as total")
    if total is not None:
        _require(type(total) is int and total > len(options), f"total must be more than is listed, got {total!r}")
        _require(type(syntax) is str and syntax.strip() != "", "where not all moves are listed, there must be a syntax")


def _check_move_errors(game: Game[Any], position: Any, options: list[Any]) -> None:
    """Check that exactly the valid options are legal for the sides to move, and nothing for the other side."""
    sides = game.to_move(position)
    for side in SIDES:
        if side not in sides:
            errors = [_move_error(game, position, side, move) for move in (*options, *_INVALID_MOVES)]
            _require(None not in errors, "a side that is not to move must have no legal move")
            continue
        question = game.question(position, side)
        legal = question.valid_options
        for move in legal:
            error = _move_error(game, position, side, _as_sent(move))
            _require(
                error is None, f"every valid option must be legal, but of {_shorten(move)} move_error says: {error}"
            )
        # What else is legal is known only if all moves are listed.
        for move in _invalid_moves(legal) if question.total is None else ():
            if _move_error(game, position, side, move) is None:
                raise AssertionError(f"only the valid options must be legal, but move_error takes {_shorten(move)}")


def _move_error(game: Game[Any], position: Any, side: Side, move: Any) -> str | None:
    try:
        fault = game.move_error(position, side, move)
    except Exception as error:
        raise AssertionError(f"move_error must never raise, but {_shorten(move)} made it raise {error!r}") from error
    if fault is not None and (type(fault) is not str or not fault.strip()):
        raise AssertionError(f"move_error must be None or a sentence, got {_shorten(fault)}")
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
