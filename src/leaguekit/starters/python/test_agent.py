"""Tests of the strategy in memory: no ports, no waiting. They pass with every strategy that plays by the rules.

Run them with ``python -m pytest`` (``pip install pytest``).
"""

from __future__ import annotations

import pytest
from agent import choose, player

from leaguekit.testing import play_match, play_series


@pytest.mark.parametrize("game", player.games)
def test_it_plays_every_game_to_its_end(game: str) -> None:
    # A strategy that raises, is too slow or makes an illegal move fails the test, and says where.
    match = play_match(choose, "random", game=game, seed=1)
    assert match.ruling in ("WIN", "DRAW")


@pytest.mark.parametrize("game", player.games)
def test_it_plays_with_a_history(game: str) -> None:
    assert len(play_series(choose, "random", game=game, matches=5)) == 5


def test_it_wins_now_and_then() -> None:
    matches = play_series(choose, "random", game="tic_tac_toe", matches=20)
    assert "WIN" in [match.result for match in matches]
