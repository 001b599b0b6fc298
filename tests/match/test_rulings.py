"""The rulings: a closed list, what each means, and the verdicts made of them."""

from __future__ import annotations

import itertools
import json
from typing import get_args

import pytest

from leaguekit.games.base import Outcome
from leaguekit.match.rulings import RULINGS, Ruling, Verdict, describe_ruling, score, verdict_by_fault, verdict_by_play
from leaguekit.protocol.fields import ResultStatus

PLAYERS = {"A": "P01", "B": "P02"}
CHOICES = {"A": "even", "B": None}
FAULTS = [ruling for ruling, row in RULINGS.items() if row.status == "TECHNICAL_LOSS"]


def fault_verdict(**faults: Ruling) -> Verdict:
    return verdict_by_fault(faults, PLAYERS, choices=CHOICES, make_evidence=lambda: {"stage": "COLLECTING_CHOICES"})


def play_verdict(winner: str | None, reason: str = "{A} and {B} played", drawn: int | None = 8) -> Verdict:
    return verdict_by_play(Outcome(winner, reason), PLAYERS, drawn=drawn, choices=CHOICES, make_evidence=dict)


@pytest.mark.proves("000-L1394", "004-L0577")
def test_the_list_of_rulings_is_closed_and_each_has_its_row():
    assert {ruling.value: (RULINGS[ruling].status, RULINGS[ruling].ruled_by) for ruling in Ruling} == {
        "WIN": ("WIN", "game"),
        "DRAW": ("DRAW", "game"),
        "JOIN_TIMEOUT": ("TECHNICAL_LOSS", "referee"),
        "CHOICE_TIMEOUT": ("TECHNICAL_LOSS", "referee"),
        "REFUSED_INVITATION": ("TECHNICAL_LOSS", "referee"),
        "INVALID_ANSWER": ("TECHNICAL_LOSS", "referee"),
        "UNREACHABLE": ("TECHNICAL_LOSS", "referee"),
        "WRONG_TOKEN": ("TECHNICAL_LOSS", "referee"),
        "WITHDRAWAL": ("TECHNICAL_LOSS", "manager"),
        "DISQUALIFICATION": ("TECHNICAL_LOSS", "manager"),
        "VOID": (None, "referee"),
    }
    assert {row.status for row in RULINGS.values()} - {None} == set(get_args(ResultStatus))
    assert list(RULINGS) == list(Ruling)


def test_each_sentence_is_another_and_names_the_player_it_is_about():
    sentences = [describe_ruling(ruling, "P07") for ruling in Ruling]
    assert len(set(sentences)) == len(Ruling)
    assert all("P07" in text for ruling, text in zip(Ruling, sentences, strict=True) if ruling != Ruling.DRAW)


@pytest.mark.proves("000-L0932", "000-L0933", "000-L0943")
def test_a_win_scores_three_to_none_a_draw_one_each_and_two_faults_nothing():
    assert score("A", drawn_game=False) == {"A": 3, "B": 0}
    assert score("B", drawn_game=False) == {"A": 0, "B": 3}
    assert score(None, drawn_game=True) == {"A": 1, "B": 1}
    assert score(None, drawn_game=False) == {"A": 0, "B": 0}


@pytest.mark.proves("004-L0259", "000-L0741")
@pytest.mark.parametrize("winner", ["A", "B"])
def test_a_win_names_its_winner_its_number_and_why(winner):
    verdict = play_verdict(winner, f"{{{winner}}} chose even, number was 8 (even)")
    assert (verdict.status, verdict.ruling, verdict.winner) == ("WIN", Ruling.WIN, winner)
    assert (verdict.faults, verdict.drawn, verdict.choices) == ({}, 8, CHOICES)
    assert verdict.reason == f"{PLAYERS[winner]} chose even, number was 8 (even)"
    assert verdict.score[winner] == 3


@pytest.mark.proves("004-L0260", "000-L0707")
def test_a_draw_has_no_winner():
    verdict = play_verdict(None, drawn=None)
    assert (verdict.status, verdict.ruling, verdict.winner) == ("DRAW", Ruling.DRAW, None)
    assert (verdict.score, verdict.drawn, verdict.reason) == ({"A": 1, "B": 1}, None, "P01 and P02 played")


def test_a_reason_with_braces_of_its_own_is_left_as_it_is():
    assert play_verdict("A", "{A} played {x} and {}").reason == "P01 played {x} and {}"


@pytest.mark.proves("004-L0261", "000-L0711")
@pytest.mark.parametrize(("loser", "winner"), [("A", "B"), ("B", "A")])
@pytest.mark.parametrize("ruling", FAULTS)
def test_the_other_side_wins_three_to_none_by_a_technical_loss(ruling, loser, winner):
    verdict = fault_verdict(**{loser: ruling})
    assert (verdict.status, verdict.ruling, verdict.winner) == ("TECHNICAL_LOSS", ruling, winner)
    assert (verdict.faults, verdict.score) == ({loser: ruling}, {winner: 3, loser: 0})
    assert (verdict.drawn, verdict.choices, verdict.evidence) == (None, CHOICES, {"stage": "COLLECTING_CHOICES"})
    assert verdict.reason == f"{describe_ruling(ruling, PLAYERS[loser])} - {PLAYERS[winner]} wins by default"


@pytest.mark.parametrize(("one", "another"), [*itertools.product(FAULTS, FAULTS)])
def test_nobody_wins_when_both_are_at_fault_and_the_ruling_does_not_depend_on_the_sides(one, another):
    verdict = fault_verdict(A=one, B=another)
    assert (verdict.status, verdict.winner, verdict.score) == ("TECHNICAL_LOSS", None, {"A": 0, "B": 0})
    assert verdict.faults == {"A": one, "B": another}
    assert verdict.ruling in (one, another)
    assert verdict.ruling == fault_verdict(A=another, B=one).ruling
    assert verdict.reason == f"{describe_ruling(one, 'P01')} and {describe_ruling(another, 'P02')} - no winner"


def test_a_verdict_cannot_be_changed_and_its_rulings_are_plain_text_in_json():
    verdict = fault_verdict(A=Ruling.UNREACHABLE)
    with pytest.raises(AttributeError):
        verdict.winner = "A"
    assert json.dumps([verdict.ruling, verdict.faults]) == '["UNREACHABLE", {"A": "UNREACHABLE"}]'
