"""Even/odd: what is a choice, how the number is drawn, and who wins."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.games.base import SIDES, Outcome, other
from leaguekit.games.even_odd import PARITIES, EvenOdd, number_parity
from leaguekit.games.records import choices_of, positions

GAME = EvenOdd()
NUMBERS = range(1, 11)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


def drawn(number):
    return GAME.play(GAME.start(), {"chance": number})


def draw(seed):
    return GAME.roll(GAME.start(), seed, 0)


def played(number, a, b):
    return GAME.play(drawn(number), {"A": a, "B": b})


def test_it_is_the_specifications_own_game_of_pure_chance():
    assert (GAME.name, GAME.constant_moves, bool(GAME.luck)) == ("even_odd", ("even", "odd"), True)


@pytest.mark.proves("000-L0833", "000-L0839", "000-L0840", "000-L1387", "002-L0219", "004-L0576")
@pytest.mark.parametrize("side", SIDES)
def test_even_and_odd_are_the_choices_of_both_sides(side):
    position = drawn(8)
    question = GAME.question(position, side)
    assert (question.move_type, question.valid_options) == ("choose_parity", ["even", "odd"])
    assert [GAME.move_error(position, side, choice) for choice in question.valid_options] == [None, None]


@pytest.mark.proves("000-L0834", "000-L0874", "000-L0875", "000-L1388", "000-L1421")
@pytest.mark.parametrize(
    ("choice", "shown"),
    [
        ("Even", "'Even'"),
        ("EVEN", "'EVEN'"),
        ("e", "'e'"),
        ("maybe", "'maybe'"),
        (0, "0"),
        (False, "False"),
        (None, "None"),
        ("", "''"),
        (" odd", "' odd'"),
        (["even"], "['even']"),
        ({"parity_choice": "even"}, "{'parity_choice': 'even'}"),
    ],
)
def test_anything_else_is_a_fault_that_says_what_is_allowed_and_what_came(choice, shown):
    for side in SIDES:
        assert GAME.move_error(drawn(8), side, choice) == f"Choice must be 'even' or 'odd', got {shown}"


@pytest.mark.proves("000-L0834", "000-L1388", "004-L0576")
@given(JSON)
def test_no_other_json_value_is_a_choice(value):
    assert (GAME.move_error(drawn(1), "A", value) is None) == (value in ("even", "odd"))


def test_a_fault_stays_short_however_long_the_choice():
    assert len(GAME.move_error(drawn(1), "A", "x" * 10_000)) < 100


@pytest.mark.proves("001-L1188", "000-L0712")
def test_the_number_drawn_is_one_from_1_to_10_each_as_likely_as_the_others():
    numbers = Counter(draw(seed.to_bytes(8, "big")) for seed in range(20_000))
    assert sorted(numbers) == list(NUMBERS)
    # 27.9 is exceeded once in a thousand by a fair draw (chi-squared, nine degrees of freedom).
    assert sum((count - 2_000) ** 2 / 2_000 for count in numbers.values()) < 27.9


@given(st.binary(max_size=64))
def test_the_same_seed_draws_the_same_number(seed):
    assert draw(seed) == EvenOdd().roll(EvenOdd().start(), seed, 5)


def test_the_numbers_of_known_seeds_never_change():
    assert [draw(b"seed %d" % seed) for seed in range(12)] == [1, 3, 6, 8, 9, 9, 5, 2, 6, 7, 2, 7]


@pytest.mark.proves("000-L0710", "000-L0712", "000-L0936")
@pytest.mark.parametrize("number", [None, 0, 11, -1])
def test_it_is_not_played_with_any_other_number(number):
    assert GAME.to_move(GAME.start()) == ("chance",)
    with pytest.raises(ValueError, match=f"chance cannot have given {'null' if number is None else number}"):
        [*positions(GAME, [{"chance": number}])]


@pytest.mark.proves("000-L0714", "004-L0248")
def test_the_parity_of_a_number():
    assert [number_parity(number) for number in NUMBERS] == ["odd", "even"] * 5


@pytest.mark.proves("000-L0707", "004-L0259", "004-L0260")
@pytest.mark.parametrize(("number", "a", "b"), [*product(NUMBERS, PARITIES, PARITIES)])
def test_who_alone_chose_the_numbers_parity_wins_and_else_nobody(number, a, b):
    right = [side for side, choice in (("A", a), ("B", b)) if choice == number_parity(number)]
    assert GAME.outcome(played(number, a, b)).winner == (right[0] if len(right) == 1 else None)


@pytest.mark.proves("000-L0550")
@pytest.mark.parametrize(("number", "a", "b"), [*product(NUMBERS, PARITIES, PARITIES)])
def test_it_makes_no_difference_which_side_one_plays(number, a, b):
    winner, mirrored = GAME.outcome(played(number, a, b)).winner, GAME.outcome(played(number, b, a)).winner
    assert mirrored == (None if winner is None else other(winner))


def test_the_reason_tells_the_choice_and_the_number():
    assert GAME.outcome(played(8, "even", "odd")) == Outcome("A", "{A} chose even and the number was 8, which is even")
    assert GAME.outcome(played(7, "even", "odd")) == Outcome("B", "{B} chose odd and the number was 7, which is odd")
    assert GAME.outcome(played(8, "even", "even")).reason == (
        "{A} and {B} both chose even and the number was 8, which is even: both were right"
    )
    assert GAME.outcome(played(8, "odd", "odd")).reason == (
        "{A} and {B} both chose odd and the number was 8, which is even: both were wrong"
    )


def test_both_choose_once_and_then_it_is_over():
    start, end = drawn(3), played(3, "even", "odd")
    assert (GAME.to_move(start), GAME.outcome(start)) == (("A", "B"), None)
    assert GAME.to_move(end) == ()
    assert [GAME.move_error(end, side, "even") for side in SIDES] == ["The game is over"] * 2


@pytest.mark.parametrize("viewer", [*SIDES, None])
def test_the_number_is_seen_only_when_it_is_over(viewer):
    hidden = {"number": None, "parity": None, "choices": {"A": None, "B": None}}
    assert [GAME.view(one, viewer) for one in (GAME.start(), *map(drawn, NUMBERS))] == [hidden] * 11
    assert GAME.view(played(8, "even", "odd"), viewer) == {
        "number": 8,
        "parity": "even",
        "choices": {"A": "even", "B": "odd"},
    }


@pytest.mark.proves("000-L0720", "000-L0938", "004-L0250", "004-L0287")
def test_choices_are_even_or_odd_and_none_before_they_are_made():
    assert choices_of([{"chance": 8}]) == {"A": None, "B": None}
    for a, b in product(PARITIES, PARITIES):
        assert choices_of([{"chance": 8}, {"A": a, "B": b}]) == {"A": a, "B": b}
