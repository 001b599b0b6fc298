"""The prisoner's dilemma: payoffs, noise, what each side sees, and arguments."""

from __future__ import annotations

import re

import pytest

from leaguekit import games
from leaguekit.games.base import Outcome, has_chance
from leaguekit.games.pictures import picture_error
from leaguekit.games.prisoners_dilemma import PrisonersDilemma
from leaguekit.games.testing import check_game
from leaguekit.match.move_messages import promise
from leaguekit.protocol.errors import ProtocolError


def after(game, *steps):
    """The position after texts of two moves, or of the side whose move is turned."""
    position = game.start()
    for step in steps:
        is_noise = game.to_move(position) == ("chance",)
        moves = {"chance": step} if is_noise else {"A": step[0], "B": step[1]}
        position = game.play(position, moves)
    return position


@pytest.mark.parametrize(("pair", "payoffs"), [("CC", (3, 3)), ("CD", (0, 5)), ("DC", (5, 0)), ("DD", (1, 1))])
def test_a_turn_pays_by_both_moves(pair, payoffs) -> None:
    game = PrisonersDilemma(turns=1)
    outcome = game.outcome(after(game, pair))
    assert outcome.payoffs == payoffs
    assert outcome.winner == {(0, 5): "B", (5, 0): "A"}.get(payoffs)


def test_the_payoff_of_a_match_is_the_mean_of_its_turns() -> None:
    game = PrisonersDilemma(turns=4)
    assert game.outcome(after(game, "CC", "DC", "DD")) is None
    assert game.outcome(after(game, "CC", "DC", "DD", "CC")) == Outcome(
        "A", "{A} got 3 and {B} got 1.75 per turn", (3.0, 1.75)
    )


def test_a_side_sees_what_both_did_and_not_what_the_other_one_chooses_now() -> None:
    game = PrisonersDilemma(turns=4)
    position = after(game, "CD", "DD")
    assert game.view(position, "A") == {"turns": 4, "played": 2, "you": "CD", "opponent": "DD"}
    assert game.view(position, "B") == {"turns": 4, "played": 2, "you": "DD", "opponent": "CD"}
    assert game.view(position, None) == {"turns": 4, "played": 2, "A": "CD", "B": "DD"}
    public = {"kind": "text", "text": "A CD\nB DD", "caption": "A is {A}, B is {B}; turn 2 of 4"}
    assert game.picture(game.view(position, None)) == public
    own = {"kind": "text", "text": "you      DD\nopponent CD", "caption": "turn 2 of 4"}
    assert game.picture(game.view(position, "B")) == own


def test_a_picture_has_the_latest_turns_in_lines_that_fit() -> None:
    game = PrisonersDilemma(turns=1_000)
    pictures = [
        game.picture({"turns": 1_000, "played": played, "A": "C" * played, "B": "D" * played})
        for played in (0, 21, 100, 101)
    ]
    assert [picture["text"].count("C") for picture in pictures] == [0, 21, 100, 81]
    assert pictures[1]["text"] == f"A {'C' * 20}\nB {'D' * 20}\n\nA C\nB D"
    assert [picture["caption"].partition("; ")[2] for picture in pictures] == [
        "turn 0 of 1000",
        "turn 21 of 1000",
        "turn 100 of 1000",
        "turn 101 of 1000, shown from turn 21",
    ]
    assert all(picture_error(picture) is None for picture in pictures)
    with pytest.raises(ValueError, match="cannot read the turns"):
        game.picture({"A": "CD"})


def test_noise_turns_moves_into_the_other_one() -> None:
    game = PrisonersDilemma(turns=2, noise=0.25)
    position = after(game, "CD", "A")
    assert (position.a, position.b) == ("D", "D")
    assert game.to_move(after(game, "CD")) == ("chance",)
    assert game.outcome(after(game, "CC", "", "CC")) is None
    assert game.outcome(after(game, "CC", "", "CC", "AB")).payoffs == (2.0, 2.0)
    weights = dict(game.odds(after(game, "CC")))
    total = sum(weights.values())
    assert {flipped: weight / total for flipped, weight in weights.items()} == {
        "": 0.5625,
        "A": 0.1875,
        "B": 0.1875,
        "AB": 0.0625,
    }


@pytest.mark.parametrize("arguments", ["turns=1", "turns=7, noise=0.5", "turns=3, noise=0.001"])
def test_it_keeps_the_rules_of_games_with_arguments(arguments) -> None:
    check_game(games.game(f"prisoners_dilemma({arguments})"), seeds=range(3))


@pytest.mark.parametrize(
    "argument",
    [
        "turns=0",
        "turns=1001",
        "turns=1.5",
        "turns=True",
        "noise=0.6",
        "noise=-0.1",
        "noise=0.0001",
        "noise=x",
        "noise=NaN",
    ],
)
def test_what_is_no_number_of_turns_and_no_noise_is_refused(argument) -> None:
    name, _, value = argument.partition("=")
    shown = {"x": "'x'", "NaN": "nan"}.get(value, value)
    with pytest.raises(ProtocolError, match=rf"{name} must be a (whole )?number from .*, got {re.escape(shown)}"):
        games.game(f"prisoners_dilemma({argument})")


def test_only_the_two_letters_are_moves() -> None:
    game = PrisonersDilemma()
    assert game.move_error(game.start(), "A", "c") == "Move must be 'C' (cooperate) or 'D' (defect), got 'c'"
    assert game.move_error(after(PrisonersDilemma(turns=1), "CC"), "A", "C") is None
    last = PrisonersDilemma(turns=1)
    assert last.move_error(after(last, "CC"), "A", "C") == "The game is over"


@pytest.mark.parametrize(("noise", "has"), [(0, False), (0.001, True)])
def test_without_noise_there_is_no_chance_and_nothing_to_commit_to(noise, has) -> None:
    game = PrisonersDilemma(noise=noise)
    assert has_chance(game) is has
    assert promise(game, bytes(32)) == ("00" * 32 if has else None)
