"""Tests of the game: its rules are consistent, and it can be played."""

from __future__ import annotations

from pathlib import Path

from my_game import MyGame

from leaguekit.games.testing import check_game
from leaguekit.testing import play_match

GAME = f"{Path(__file__).with_name('my_game.py')}:MyGame"


def test_the_rules_are_consistent() -> None:
    check_game(MyGame())


def test_the_best_play_from_twelve_stones_wins_for_b() -> None:
    played = play_match("search", "search", game=f"{GAME}(stones=12)")
    assert played.winner == "P02"
    assert "took the last stone" in played.reason
