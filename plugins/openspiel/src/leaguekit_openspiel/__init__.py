"""The games of OpenSpiel for two players as games of leaguekit.

``openspiel:chess`` is OpenSpiel's game ``chess``, and ``openspiel:go(board_size=9)`` its game ``go`` with a parameter.
The rules, the chance and the payoffs are OpenSpiel's own. Moves are written as OpenSpiel writes them, without the name
of the player.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Iterator
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import pyspiel
from open_spiel.python.observation import make_observation

from leaguekit.games.base import SIDES, Game, Mover, Moves, Odds, Outcome, Question, Side, turn_fault
from leaguekit_openspiel.pictures import picture_of

__all__ = ["OpenSpielGame"]

# OpenSpiel writes before a move who makes it, or its number. A player knows both.
_PREFIX = re.compile(r"^(?:\d+ - |[BW] (?=\w)|Pl\d: |\[P\d\]|Player:? \d (?:Action: )?|player=-?\d+ move=|p\d:|, )")
# OpenSpiel loads these for another number of players unless it is told.
_FOR_TWO = {"crazy_eights": {"players": 2}}
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
        short = {_PREFIX.sub("", text).strip(): action for text, action in full.items()}
        return short if len(short) == len(full) and "" not in short else full

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

    @classmethod
    def names(cls) -> Iterator[str]:
        """The games that can be played."""
        return (kind.short_name for kind in pyspiel.registered_games() if _fault_of(kind) is None)

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

    def fault(self, position: Position, side: Side, move: Any) -> str | None:
        if (fault := turn_fault(position.movers, side)) is not None:
            return fault
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
        return picture_of(view)

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
    kinds = {kind.short_name: kind for kind in pyspiel.registered_games()}
    kind = kinds.get(name)
    if kind is None:
        raise ValueError(f"OpenSpiel has no game {name!r}; `league games` lists them")
    if (fault := _fault_of(kind)) is not None:
        raise ValueError(f"{name} {fault}")
    unknown = parameters.keys() - kind.parameter_specification.keys()
    if unknown:
        known = ", ".join(sorted(kind.parameter_specification)) or "none"
        raise ValueError(f"{name} has no parameter {', '.join(sorted(unknown))}; its parameters are: {known}")
    try:
        game = pyspiel.load_game(name, _FOR_TWO.get(name, {}) | parameters)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"OpenSpiel refuses {name} with {parameters}: {str(error).strip().splitlines()[-1]}") from None
    if game.num_players() != 2:
        raise ValueError(f"{name} would have {game.num_players()} players, and a match has two")
    return game


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
    return f"{kind.long_name}, as OpenSpiel plays it" + (f", with {parameters}." if parameters else ".")
