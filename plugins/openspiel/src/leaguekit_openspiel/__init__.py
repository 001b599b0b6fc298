"""The games of OpenSpiel for two players as games of leaguekit.

``openspiel:chess`` is OpenSpiel's game ``chess``, and ``openspiel:go(board_size=9)`` its game ``go`` with a parameter.
The rules, the chance and the payoffs are OpenSpiel's own. Moves are written as OpenSpiel writes them, without the name
of the player.
"""

from __future__ import annotations

import json
import math
import re
import reprlib
import subprocess
import sys
from collections.abc import Iterator
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pyspiel
from open_spiel.python.observation import make_observation

from leaguekit.games.base import SIDES, Game, Mover, Moves, Odds, Outcome, Question, Side, turn_error
from leaguekit_openspiel.pictures import kuhn_poker, picture_of

__all__ = ["OpenSpielGame"]

# OpenSpiel writes before a move who makes it, or its number. A player knows both.
_PREFIX = re.compile(
    r"^(?:\d+ - |[BW] (?=\w)|Pl\d: |\[P\d\]|Player:? \d (?:Action: )?|player=-?\d+ move=|p\d:|, "
    r"|[Cc]hance outcome(?: \d+ |: ?))"
)
# OpenSpiel loads these for another number of players, unless it is given one.
_FOR_TWO = {name: {"players": 2} for name in ("crazy_eights", "hanabi")}
# For how long parameters are tried.
_TRIAL_SECONDS = 10
# The types that a parameter may have, by the type of its default, and how they are called.
_TYPES: dict[type, tuple[tuple[type, ...], str]] = {
    bool: ((bool,), "True or False"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a text"),
}
# The beginning of a position of a game of the chess family: its ranks, and who moves.
_FEN = re.compile(r"(?:[A-Za-z?+~\d]+/){3,9}[A-Za-z?+~\d\[\]]+ [wb]( |$)")
# What an observation does not say by itself.
_NOTES = {
    "kuhn_poker": " Each player puts in 1 and gets one of the cards 0, 1 and 2. The highest wins. A bet puts in 1 "
    "more. To bet after a bet is to call. An observation has the own card, and what player 0 and player 1 have put in."
}
# The number of moves that a question may list.
_MAX_OPTIONS = 500
# Probabilities are floating-point numbers. Fractions up to this denominator are taken for what they were computed from.
_MAX_DENOMINATOR = 1_000_000


class Position:
    """A state of OpenSpiel. It is never changed."""

    def __init__(self, state: Any, last: Moves | None = None) -> None:
        self.state = state
        # The step that led here; None at the start.
        self.last = last
        self._actions: dict[int, dict[str, int]] = {}

    def actions(self, player: int) -> dict[str, int]:
        """The legal actions of a player, or of chance, by the text of each."""
        if player not in self._actions:
            self._actions[player] = self._texts(player)
        return self._actions[player]

    def _texts(self, player: int) -> dict[str, int]:
        legal = self.state.legal_actions(player) if player >= 0 else self.state.legal_actions()
        full = {self.state.action_to_string(player, action): action for action in legal}
        if len(full) < len(legal):
            raise ValueError("two moves have the same text")
        short: dict[str, int] = {}
        for text, action in full.items():
            move = _PREFIX.sub("", text).strip(" ;")
            if not move or (move in short and not self._are_same(player, short[move], action)):
                return full
            short.setdefault(move, action)
        return short

    def _are_same(self, player: int, one: int, another: int) -> bool:
        """Whether two actions of a player lead to the same state, such as two dice that are used in either order."""
        if player < 0 or self.state.is_simultaneous_node():
            return False
        return str(self.state.child(one)) == str(self.state.child(another))

    @cached_property
    def movers(self) -> tuple[Mover, ...]:
        player = self.state.current_player()
        if player == pyspiel.PlayerId.TERMINAL:
            return ()
        if player == pyspiel.PlayerId.CHANCE:
            return ("chance",)
        if player == pyspiel.PlayerId.SIMULTANEOUS:
            return tuple(side for side in SIDES if self.state.legal_actions(SIDES.index(side)))
        return (SIDES[player],)


class OpenSpielGame(Game[Position]):
    """One game of OpenSpiel, with its parameters. OpenSpiel's player 0 is A."""

    def __init__(self, name: str, **parameters: Any) -> None:
        self._game = _load(name, parameters)
        self._type = self._game.get_type()
        self.name = f"openspiel:{name}"
        self.max_turns = self._game.max_game_length()
        self._has_hidden_state = self._type.information == pyspiel.GameType.Information.IMPERFECT_INFORMATION
        self._public_observer = _public_observer(self._game) if self._has_hidden_state else None
        low, high = self._game.min_utility(), self._game.max_utility()
        self._has_payoffs = (low, high) != (-1, 1)
        if self._has_payoffs and math.isfinite(low) and math.isfinite(high):
            self.payoff_range = (low, high)
        self.rules = _rules(self._type, self._game)
        self.chance = self._type.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC

    @classmethod
    def names(cls) -> Iterator[str]:
        """The games that can be played without parameters."""
        return (kind.short_name for kind in _kinds().values() if _fault_of(kind) is None and _is_for_two(kind))

    def start(self) -> Position:
        return Position(self._game.new_initial_state())

    def to_move(self, position: Position) -> tuple[Mover, ...]:
        return position.movers

    def question(self, position: Position, side: Side) -> Question:
        options = [*position.actions(SIDES.index(side))]
        context = self.view(position, side)
        if len(options) <= _MAX_OPTIONS:
            return Question("move", options, context)
        return Question("move", options[:_MAX_OPTIONS], context, len(options), "written as the listed moves are")

    def move_error(self, position: Position, side: Side, move: Any) -> str | None:
        if (error := turn_error(position.movers, side)) is not None:
            return error
        legal = position.actions(SIDES.index(side))
        if isinstance(move, str) and move in legal:
            return None
        examples = ", ".join(repr(text) for text in [*legal][:5])
        return f"Move must be one of the {len(legal)} legal moves, such as {examples}; got {reprlib.repr(move)}"

    def play(self, position: Position, moves: Moves) -> Position:
        state = position.state.clone()
        if state.is_chance_node():
            state.apply_action(position.actions(pyspiel.PlayerId.CHANCE)[moves["chance"]])
        elif state.is_simultaneous_node():
            # A side without a legal action does nothing, which OpenSpiel writes as 0.
            chosen = [
                position.actions(player)[moves[side]] if side in moves else 0 for player, side in enumerate(SIDES)
            ]
            state.apply_actions(chosen)
        else:
            player = state.current_player()
            state.apply_action(position.actions(player)[moves[SIDES[player]]])
        return Position(state, {**moves})

    def odds(self, position: Position) -> Odds | None:
        probabilities = dict(position.state.chance_outcomes())
        actions = position.actions(pyspiel.PlayerId.CHANCE)
        fractions = {text: _fraction(probabilities[action]) for text, action in actions.items()}
        common = math.lcm(*(fraction.denominator for fraction in fractions.values()))
        return [(text, int(fraction * common)) for text, fraction in fractions.items() if fraction]

    def outcome(self, position: Position) -> Outcome | None:
        if not position.state.is_terminal():
            return None
        a, b = position.state.returns()
        winner: Side | None = None if a == b else "A" if a > b else "B"
        if self._has_payoffs:
            return Outcome(winner, f"{{A}} has {a:g} and {{B}} has {b:g}", (a, b))
        return Outcome(None, "nobody has won") if winner is None else Outcome(winner, f"{{{winner}}} has won")

    def view(self, position: Position, side: Side | None) -> dict[str, Any]:
        """What OpenSpiel says that a player observes. The end shows everything, to everybody."""
        state = position.state
        # Some observations lack the dice that were thrown.
        known = {} if self._has_hidden_state or position.last is None else {"last": {**position.last}}
        if side is None:
            return {"observation": self._public(state), **known}
        player = SIDES.index(side)
        view: dict[str, Any] = {"observation": self._observation(state, player), "you": f"player {player}", **known}
        if self._has_hidden_state and self._type.provides_information_state_string:
            view["information_state"] = state.information_state_string(player)
        if state.is_terminal():
            view["end"] = str(state)
        return view

    def picture(self, view: dict[str, Any]) -> dict[str, Any] | None:
        return kuhn_poker(view) if self.name == "openspiel:kuhn_poker" else picture_of(self._type.short_name, view)

    def _observation(self, state: Any, player: int) -> str:
        if self._type.provides_observation_string:
            return str(state.observation_string(player))
        return str(state.information_state_string(player))

    def _public(self, state: Any) -> str:
        if state.is_terminal() or not self._has_hidden_state:
            return str(state)
        if self._public_observer is None:
            return ""
        return str(self._public_observer.string_from(state, 0))


def _load(name: str, parameters: dict[str, Any]) -> Any:
    """OpenSpiel's game with these parameters. Raises ValueError, with the remedy."""
    kind = _kinds().get(name)
    if kind is None:
        near = get_close_matches(name, _kinds(), 1)
        hint = f"the nearest is {near[0]!r}" if near else "`league games openspiel` lists its games"
        raise ValueError(f"OpenSpiel has no game {name!r}; {hint}")
    if (fault := _fault_of(kind)) is not None:
        raise ValueError(f"{name} {fault}")
    given = _FOR_TWO.get(name, {}) | {one: _checked_value(kind, one, value) for one, value in parameters.items()}
    if parameters:
        _try_parameters(name, given)
    game = pyspiel.load_game(name, given)
    if game.num_players() != 2:
        raise ValueError(f"{name} would have {game.num_players()} players, and a match has two")
    return game


def _checked_value(kind: Any, parameter: str, value: Any) -> Any:
    """The value of a parameter. Raises ValueError if a game has no such parameter, or if its type is wrong."""
    specification = kind.parameter_specification
    if parameter not in specification:
        near = get_close_matches(parameter, specification, 1)
        known = ", ".join(sorted(specification)) or "none"
        hint = f"the nearest is {near[0]}" if near else f"its parameters are: {known}"
        raise ValueError(f"{kind.short_name} has no parameter {parameter}; {hint}")
    types = _TYPES.get(type(specification[parameter]))
    if types is None:
        raise ValueError(f"{parameter} cannot be set here")
    if type(value) not in types[0]:
        raise ValueError(f"{parameter} must be {types[1]}, such as {specification[parameter]!r}; got {value!r}")
    if parameter == "fen" and _FEN.match(value) is None:
        # OpenSpiel does not check it, and reads memory that it does not own.
        raise ValueError(f"fen must be a position as FEN writes it; got {value!r}")
    return float(value) if float in types[0] else value


@cache
def _kinds() -> dict[str, Any]:
    """The types of OpenSpiel's games, by name."""
    return {kind.short_name: kind for kind in pyspiel.registered_games()}


def _is_for_two(kind: Any) -> bool:
    """Whether a game is for two players without parameters."""
    return kind.short_name in _FOR_TWO or kind.parameter_specification.get("players", 2) == 2


def _try_parameters(name: str, parameters: dict[str, Any]) -> None:
    """Raise ValueError if OpenSpiel refuses parameters, ends, or does not come to an end with them."""
    command = [sys.executable, str(Path(__file__).with_name("trial.py")), name, json.dumps(parameters)]
    try:
        done = subprocess.run(  # noqa: S603 - it is our own program
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=_TRIAL_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"OpenSpiel takes more than {_TRIAL_SECONDS} seconds to begin {name} with these") from None
    if done.returncode < 0:
        raise ValueError(f"OpenSpiel breaks down in {name} with these")
    if done.returncode:
        lines = done.stdout.decode(errors="replace").strip().splitlines() or ["it does not say why"]
        # Without the place in OpenSpiel's own files.
        why = "; ".join(line.split(" ", 1)[-1] if line.startswith("/") else line for line in lines[:3])
        raise ValueError(f"OpenSpiel refuses them: {why}")


def _fault_of(kind: Any) -> str | None:
    """Why a game of OpenSpiel cannot be played here; None if it can."""
    if not kind.min_num_players <= 2 <= kind.max_num_players:
        return "is not a game for two players"
    if not kind.default_loadable:
        return "is made from another game or a file, and cannot be loaded by its name"
    if kind.dynamics == pyspiel.GameType.Dynamics.MEAN_FIELD:
        return "is a game of a crowd, and not of two players"
    if kind.chance_mode == pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
        return "draws by itself, so that nobody can check what it drew"
    return None


@cache
def _fraction(probability: float) -> Fraction:
    """The fraction that a probability was computed from."""
    return Fraction(probability).limit_denominator(_MAX_DENOMINATOR)


def _public_observer(game: Any) -> Any:
    """OpenSpiel's observer of what both players know; None if the game has none."""
    kind = pyspiel.IIGObservationType(public_info=True, perfect_recall=True, private_info=pyspiel.PrivateInfoType.NONE)
    try:
        return make_observation(game, kind)
    except RuntimeError:
        # gin_rummy has an observer that observes nothing.
        return None


def _rules(kind: Any, game: Any) -> str:
    """The game in a sentence, for people and language models. They know the rules of most games by its name."""
    parameters = ", ".join(f"{name} {value}" for name, value in sorted(game.get_parameters().items()))
    note = _NOTES.get(kind.short_name, "")
    return f"{kind.long_name}, as OpenSpiel plays it{f', with {parameters}' if parameters else ''}.{note}"
