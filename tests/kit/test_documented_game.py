"""The game of the documents as the kit plays it: its choices, and the results that the kit invents."""

from __future__ import annotations

from typing import Any

import pytest

from leaguekit.games import GAMES
from leaguekit.games.base import Side
from leaguekit.kit import documented_game as documented
from leaguekit.match.move_messages import messages_of
from tests.chance import begin

NUMBERS = range(1, 11)


@pytest.mark.parametrize("winner", ["A", "B", None])
@pytest.mark.parametrize("number", NUMBERS)
def test_invented_choices_lead_to_the_wanted_winner(number: int, winner: Side | None) -> None:
    assert documented.winning_side(number, documented.choices_for(number, winner)) == winner


@pytest.mark.parametrize("number", NUMBERS)
def test_the_right_choice_wins_alone(number: int) -> None:
    right = documented.right_choice(number)
    wrong = documented.OTHER if right == documented.ONE else documented.ONE
    assert documented.winning_side(number, {"A": right, "B": wrong}) == "A"
    assert documented.winning_side(number, {"A": wrong, "B": right}) == "B"


@pytest.mark.parametrize("number", [0, 11, True, 5.0, "5", None, [], {}])
def test_what_is_not_a_number_of_the_game_cannot_be_drawn(number: Any) -> None:
    assert not documented.can_be_drawn(number)


def test_every_number_of_the_game_can_be_drawn() -> None:
    assert all(map(documented.can_be_drawn, NUMBERS))


def test_no_wrong_choice_is_legal() -> None:
    position = begin(documented.GAME)
    for choice in documented.WRONG_CHOICES:
        assert documented.GAME.move_error(position, "A", choice) is not None


@pytest.mark.parametrize("name", GAMES)
def test_the_choice_is_found_in_the_answer_of_every_game(name: str) -> None:
    assert documented.chosen({messages_of(GAMES[name]).field: "x", "match_id": "R1M1"}) == "x"


def test_an_answer_without_a_choice_has_none() -> None:
    assert documented.chosen({"match_id": "R1M1"}) is None
