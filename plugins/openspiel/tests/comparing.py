"""Compares games with OpenSpiel itself: their ends, and what each player sees. The states are OpenSpiel's own.

A move is found in OpenSpiel by its place among the legal actions. So the comparison does not use the texts of moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pyspiel
from leaguekit_openspiel import OpenSpielGame

from leaguekit.games import game
from leaguekit.games.base import SIDES, Game


def raw_game(name: str) -> Any:
    """OpenSpiel's own game, by its own syntax of parameters."""
    return pyspiel.load_game(f"{name}(players=2)" if name in ("crazy_eights", "hanabi") else name)


def play_beside(name: str, seed: int) -> Iterator[tuple[Game[Any], Any, Any]]:
    """Play a game at random, here and in OpenSpiel: the game, each position, and OpenSpiel's state."""
    ours, rng = game(f"openspiel:{name}"), Random(seed)
    assert isinstance(ours, OpenSpielGame)
    position, state = ours.start(), raw_game(name).new_initial_state()
    yield ours, position, state
    while not state.is_terminal():
        movers = ours.to_move(position)
        if state.is_chance_node():
            assert movers == ("chance",)
            outcomes = [action for action, probability in state.chance_outcomes() if probability > 0]
            odds = ours.odds(position) or []
            assert len(odds) == len(outcomes)
            number = rng.randrange(len(odds))
            moves: dict[Any, Any] = {"chance": odds[number][0]}
            state.apply_action(outcomes[number])
        elif state.is_simultaneous_node():
            legal = [state.legal_actions(player) for player in range(2)]
            assert movers == tuple(side for side, actions in zip(SIDES, legal, strict=True) if actions)
            numbers = [rng.randrange(len(actions)) if actions else None for actions in legal]
            moves = {
                side: ours.question(position, side).valid_options[number]
                for side, number in zip(SIDES, numbers, strict=True)
                if number is not None
            }
            state.apply_actions(
                [0 if number is None else actions[number] for actions, number in zip(legal, numbers, strict=True)]
            )
        else:
            (side,) = movers
            assert SIDES.index(side) == state.current_player()
            legal = state.legal_actions()
            options = ours.question(position, side).valid_options
            number = rng.randrange(len(options))
            moves = {side: options[number]}
            texts = [state.action_to_string(state.current_player(), action) for action in legal]
            if len(options) < len(legal) <= 500:
                # Actions with the same effect are one move.
                number = next(place for place, text in enumerate(texts) if text.endswith(options[number]))
            assert moves[side] in texts[number]
            state.apply_action(legal[number])
        position = ours.play(position, moves)
        yield ours, position, state


def compare_end(name: str, seed: int) -> None:
    """Play a game to its end, and compare the result with OpenSpiel's returns."""
    *_, (ours, position, state) = play_beside(name, seed)
    a, b = state.returns()
    outcome = ours.outcome(position)
    assert outcome is not None
    assert ours.to_move(position) == ()
    assert outcome.winner == (None if a == b else "A" if a > b else "B")
    assert outcome.payoffs in (None, (a, b))
    # Without payoffs, the returns are those of a win, a draw or a loss.
    assert outcome.payoffs is not None or {a, b} <= {-1.0, 0.0, 1.0}
