"""A program that makes a game of OpenSpiel with some parameters, and begins to play it: ``trial.py NAME PARAMETERS``.

OpenSpiel does not check all parameters: some of them end the process, or take hours. So they are tried in a process of
their own. It imports nothing but OpenSpiel, prints what is wrong, and ends with 1.
"""

from __future__ import annotations

import json
import random
import resource
import sys
from typing import Any

import pyspiel

MAX_BYTES = 2 * 1024**3
MAX_STEPS = 30


def play(name: str, parameters: dict[str, Any]) -> None:
    """Play a game at random for some steps, and look at everything."""
    game = pyspiel.load_game(name, parameters)
    game.min_utility(), game.max_utility(), game.max_game_length()
    kind, state, chance = game.get_type(), game.new_initial_state(), random.Random(1)  # noqa: S311 - it must be reproducible
    for _ in range(MAX_STEPS):
        players = range(game.num_players())
        for player in players if kind.provides_observation_string else ():
            state.observation_string(player)
        str(state)
        if state.is_terminal():
            state.returns()
            return
        if state.is_simultaneous_node():
            state.apply_actions([chance.choice(state.legal_actions(player) or [0]) for player in players])
        else:
            actions = state.legal_actions()
            for action in actions:
                state.action_to_string(state.current_player(), action)
            state.apply_action(chance.choice(actions))


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    try:
        play(sys.argv[1], json.loads(sys.argv[2]))
    except Exception as error:  # noqa: BLE001 - any error is printed
        sys.stdout.write(str(error))
        sys.exit(1)
