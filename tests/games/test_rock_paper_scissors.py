"""Rock, paper, scissors: what is a throw and what beats what."""

from __future__ import annotations

from itertools import product

import pytest

from leaguekit.games.base import SIDES, Outcome, has_chance, other
from leaguekit.games.rock_paper_scissors import THROWS, RockPaperScissors

GAME = RockPaperScissors()
START = GAME.start()


def played(a, b):
    return GAME.play(START, {"A": a, "B": b})


def test_both_throw_once_and_then_it_is_over():
    end = played("rock", "paper")
    assert (GAME.to_move(START), GAME.outcome(START)) == (("A", "B"), None)
    assert GAME.to_move(end) == ()
    assert [GAME.move_error(end, side, "rock") for side in SIDES] == ["The game is over"] * 2


def test_nothing_is_drawn_and_skill_counts():
    assert not has_chance(GAME)
    assert GAME.luck == ""


@pytest.mark.parametrize("side", SIDES)
def test_rock_paper_and_scissors_are_the_throws_of_both_sides(side):
    question = GAME.question(START, side)
    assert question[:3] == ("throw", ["rock", "paper", "scissors"], {"choices": {"A": None, "B": None}})
    assert [GAME.move_error(START, side, throw) for throw in question.valid_options] == [None] * 3


@pytest.mark.parametrize("move", ["Rock", "", "lizard", None, 0, True, ["rock"], {"throw": "rock"}])
def test_anything_else_is_a_fault_that_says_what_is_allowed_and_what_came(move):
    assert GAME.move_error(START, "A", move) == f"Throw must be 'rock', 'paper' or 'scissors', got {move!r}"


@pytest.mark.parametrize(
    ("better", "worse"), [("rock", "scissors"), ("scissors", "paper"), ("paper", "rock")], ids=lambda throw: throw
)
def test_the_better_throw_wins_on_either_side(better, worse):
    assert GAME.outcome(played(better, worse)) == Outcome("A", f"{{A}} threw {better}, {{B}} threw {worse}")
    assert GAME.outcome(played(worse, better)) == Outcome("B", f"{{B}} threw {better}, {{A}} threw {worse}")


@pytest.mark.parametrize("throw", THROWS)
def test_equal_throws_are_a_draw(throw):
    assert GAME.outcome(played(throw, throw)) == Outcome(None, f"{{A}} and {{B}} both threw {throw}")


@pytest.mark.parametrize(("a", "b"), [*product(THROWS, THROWS)])
def test_it_makes_no_difference_which_side_one_plays(a, b):
    winner, mirrored = GAME.outcome(played(a, b)).winner, GAME.outcome(played(b, a)).winner
    assert mirrored == (None if winner is None else other(winner))


def test_the_throws_are_told_when_both_are_made():
    end = played("rock", "paper")
    for viewer in (*SIDES, None):
        assert GAME.view(end, viewer) == {"choices": {"A": "rock", "B": "paper"}}
