"""The record of a match: choices as texts, what can be read from them, and a match that is played again."""

from __future__ import annotations

import pytest

from leaguekit.games import GAMES
from leaguekit.games.base import Question, Side
from leaguekit.games.records import (
    MAX_CHOICE_CHARACTERS,
    choices_of,
    is_told_by_choices,
    move_text,
    record_from_choices,
    replay,
)
from leaguekit.games.rock_paper_scissors import Position, RockPaperScissors

EVEN_ODD, BOARD = GAMES["even_odd"], GAMES["tic_tac_toe"]
WON_BOARD = [{"A": 0}, {"B": 3}, {"A": 1}, {"B": 4}, {"A": 2}]
NUMBER = [{"chance": 8}, {"A": "even", "B": "odd"}]


def test_a_move_is_a_text_as_it_is_and_anything_else_is_json() -> None:
    assert [move_text(move) for move in ("é,4", 4, True, [1, "ü"])] == ["é,4", "4", "true", '[1,"ü"]']


def test_choices_are_shortened_with_a_mark_if_they_are_too_long() -> None:
    fitting = choices_of([{"A": "x" * MAX_CHOICE_CHARACTERS}])
    assert fitting == {"A": "x" * MAX_CHOICE_CHARACTERS, "B": None}
    assert choices_of([{"A": 10}] * 50)["A"] == ("10," * 50)[: MAX_CHOICE_CHARACTERS - 1] + "…"


@pytest.mark.parametrize(("game", "record"), [(EVEN_ODD, NUMBER), (BOARD, WON_BOARD)])
def test_the_record_of_a_short_game_is_made_again_from_its_choices(game, record) -> None:
    assert record_from_choices(game, record[0].get("chance"), choices_of(record)) == record
    assert replay(game, record).winner == "A"


@pytest.mark.parametrize(
    ("game", "record", "why"),
    [
        (EVEN_ODD, [], "chance has not chosen"),
        (EVEN_ODD, NUMBER[:1], "{A} has not chosen"),
        (EVEN_ODD, [{"chance": 11}], "chance cannot have given 11"),
        (EVEN_ODD, [{"chance": True}], "chance cannot have given true"),
        (EVEN_ODD, NUMBER[1:], "a step is expected from chance"),
        (EVEN_ODD, [NUMBER[0], {"A": "even"}], "a step is expected from A and B"),
        (EVEN_ODD, [*NUMBER, {"A": "even"}], "somebody chose after the end"),
        (BOARD, [{"A": 0}, {"B": 0}], "{B} cannot have chosen that: Move must be the number of a free cell"),
        (BOARD, WON_BOARD[:4], "{A} has not chosen"),
    ],
)
def test_a_record_that_is_not_one_of_the_game_is_refused(game, record, why) -> None:
    with pytest.raises(ValueError, match=f"^{why}".replace("{", r"\{").replace("}", r"\}")):
        replay(game, record)


@pytest.mark.parametrize(
    ("game", "drawn", "choices", "why"),
    [
        (EVEN_ODD, None, {"A": "even", "B": "odd"}, "it is not known what chance gave"),
        (EVEN_ODD, 8, {"A": "even", "B": None}, "{B} has not chosen"),
        (EVEN_ODD, 8, {"A": "even,odd", "B": "odd"}, "somebody chose after the end"),
        (BOARD, None, {"A": "0,1…", "B": "3,4"}, "{A} cannot have chosen that: Move must be the number of a free cell"),
    ],
)
def test_choices_that_do_not_make_a_match_are_refused(game, drawn, choices, why) -> None:
    with pytest.raises(ValueError, match=f"^{why}".replace("{", r"\{").replace("}", r"\}")):
        record_from_choices(game, drawn, choices)


def test_choices_tell_a_record_unless_they_are_shortened_or_mean_another() -> None:
    assert is_told_by_choices(BOARD, choices_of(WON_BOARD), WON_BOARD)
    assert not is_told_by_choices(BOARD, {"A": "0,1…", "B": "3,4"}, WON_BOARD)
    assert not is_told_by_choices(BOARD, {"A": "0,1", "B": "3,4"}, WON_BOARD)
    assert not is_told_by_choices(EVEN_ODD, choices_of(NUMBER), NUMBER)


def test_a_step_that_the_game_cannot_play_is_refused() -> None:
    class Strict(type(EVEN_ODD)):  # type: ignore[misc]
        def odds(self, position):
            return None

        def play(self, position, moves):
            return position._replace(number=int(moves["chance"]))

    with pytest.raises(ValueError, match=r"^a step cannot be played: TypeError"):
        replay(Strict(), [{"chance": None}])


def test_a_legal_move_that_is_not_listed_is_read_from_the_choices() -> None:
    class ListsRockOnly(RockPaperScissors):
        def question(self, position: Position, side: Side) -> Question:
            return Question("throw", ["rock"], {}, 3, "a throw")

    assert record_from_choices(ListsRockOnly(), None, {"A": "paper", "B": "rock"}) == [{"A": "paper", "B": "rock"}]
