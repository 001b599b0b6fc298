"""Tests of the strategy in memory: no ports, no waiting. Run them with pytest."""

from __future__ import annotations

import pytest
from agent import choose, player

from leaguekit import Context
from leaguekit.testing import play_match, play_series


def test_it_takes_the_centre_first() -> None:
    assert choose(Context(game_type="tic_tac_toe", valid_options=[0, 4, 8])) == 4


@pytest.mark.parametrize("game", player.games)
def test_it_plays_every_game_to_its_end(game: str) -> None:
    # A strategy that raises, is too slow or makes an illegal move fails the test, and says where.
    match = play_match(choose, "frequency", game=game, seed=1)
    assert match.ruling in ("WIN", "DRAW")


def test_it_wins_now_and_then() -> None:
    matches = play_series(choose, "random", game="tic_tac_toe", matches=20)
    assert "WIN" in [match.result for match in matches]
