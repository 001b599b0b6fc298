"""Whether most players became unreachable together, and which losses that could explain."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from msgspec import UNSET

from leaguekit.league.outage import TOGETHER_SECONDS, OutageDetector, is_lost_by_silence, unconnected_players
from leaguekit.protocol.messages import MatchResult, ResultDetails

FOUR = ["P01", "P02", "P03", "P04"]


def apart(players: Collection[str]) -> dict[str, str]:
    """Each at a host of its own."""
    return {player: f"host of {player}" for player in players}


def gone(outage: OutageDetector, *players: str, at: float = 0.0) -> None:
    for player in players:
        outage.note(player, at, connected=False)


def back(outage: OutageDetector, *players: str, at: float = 0.0) -> None:
    for player in players:
        outage.note(player, at, connected=True)


@pytest.mark.parametrize(
    ("players", "missing", "is_on"),
    [
        (1, 1, False),
        (2, 1, False),
        (2, 2, True),
        (3, 1, False),
        (3, 2, True),
        (4, 2, False),
        (4, 3, True),
        (9, 5, True),
    ],
)
def test_an_outage_is_when_more_than_half_and_at_least_two_are_gone(players: int, missing: int, is_on: bool) -> None:
    names, outage = [f"P{number:02d}" for number in range(1, players + 1)], OutageDetector()
    gone(outage, *names[:missing])
    assert outage.unreachable(names) == names[:missing]
    assert outage.update(apart(names), 1.0) is is_on
    assert outage.is_on is is_on
    assert outage.has_occurred_since(5.0) is is_on


def test_players_at_one_host_are_an_outage_only_if_all_of_them_are_gone() -> None:
    outage = OutageDetector()
    here = dict.fromkeys(FOUR, "localhost")
    gone(outage, "P01", "P02", "P03")
    assert not outage.update(here, 1.0)
    gone(outage, "P04")
    assert outage.update(here, 1.0)
    back(outage, "P02")
    assert outage.update(here, 2.0)
    assert not outage.is_on


def test_players_that_agree_to_hide_are_no_outage_unless_they_are_the_most_and_have_most_hosts() -> None:
    outage = OutageDetector()
    gone(outage, "P01", "P02", "P03")
    assert not outage.update({"P01": "10.0.0.1", "P02": "10.0.0.1", "P03": "10.0.0.1", "P04": "10.0.0.4"}, 1.0)
    # Two at two hosts hide from three others at one.
    two = {"P02": "10.0.0.1", "P03": "10.0.0.2"}
    assert not outage.update(two | dict.fromkeys(["P04", "P05", "P06"], "10.0.0.4"), 1.0)
    assert outage.update(two | {"P01": "10.0.0.1", "P04": "10.0.0.4"}, 1.0)


def test_players_that_went_long_before_the_others_are_not_counted() -> None:
    outage = OutageDetector()
    gone(outage, "P01", at=0)
    gone(outage, "P02", at=30)
    gone(outage, "P03", at=2 * TOGETHER_SECONDS)
    # Of P03 and P04, one is gone.
    assert not outage.update(apart(FOUR), 2 * TOGETHER_SECONDS)
    gone(outage, "P04", at=2 * TOGETHER_SECONDS)
    assert outage.update(apart(FOUR), 2 * TOGETHER_SECONDS)


def test_an_outage_lasts_until_half_of_those_are_back_that_were_there_before_it() -> None:
    outage = OutageDetector()
    gone(outage, "P01", at=-10 * TOGETHER_SECONDS)
    gone(outage, "P02", "P03", "P04", at=0)
    assert outage.update(apart(FOUR), 1)
    # One that has failed again is gone since it failed first.
    gone(outage, "P02", at=500)
    back(outage, "P01")
    assert not outage.update(apart(FOUR), 500)
    assert outage.is_on
    back(outage, "P02", "P03")
    assert outage.update(apart(FOUR), 600)
    assert not outage.is_on
    assert [outage.has_occurred_since(began) for began in (0, 599, 600, 700)] == [True, True, False, False]
    # P04, which is still gone, is a case of its own from now on.
    assert not outage.update(apart(FOUR), 700)


def test_players_that_have_left_the_league_end_an_outage() -> None:
    outage = OutageDetector()
    gone(outage, *FOUR)
    assert outage.update(apart(FOUR), 1)
    assert not outage.update(apart(FOUR[:2]), 2)
    assert outage.update(apart(FOUR[:1]), 3)
    assert not outage.is_on


@pytest.mark.parametrize(
    ("details", "silent"),
    [
        ({"ruling": "UNREACHABLE", "status": "TECHNICAL_LOSS"}, True),
        ({"ruling": "JOIN_TIMEOUT", "status": "TECHNICAL_LOSS"}, True),
        ({"ruling": "CHOICE_TIMEOUT", "status": "TECHNICAL_LOSS"}, True),
        ({"ruling": "REFUSED_INVITATION", "status": "TECHNICAL_LOSS"}, False),
        ({"ruling": "REFUSED_INVITATION", "status": "TECHNICAL_LOSS", "failures": {"P01": 0, "P02": 0}}, False),
        ({"ruling": "REFUSED_INVITATION", "status": "TECHNICAL_LOSS", "failures": {"P01": 0, "P02": 4}}, True),
        ({"ruling": "WIN", "status": "WIN", "choices": {"P01": "even", "P02": "odd"}, "failures": {"P01": 1}}, False),
        # A referee that knows the documents only tells no ruling.
        ({"choices": {"P01": "even", "P02": "odd"}}, False),
        ({"choices": {"P01": "even"}}, True),
    ],
)
def test_which_losses_an_outage_could_explain(details: dict[str, Any], silent: bool) -> None:
    whole = {"choices": {"P01": "even", "P02": None}, "ruling": UNSET} | details
    result = MatchResult(winner="P01", score={"P01": 3, "P02": 0}, details=ResultDetails(**whole))
    assert is_lost_by_silence(result) is silent


@pytest.mark.parametrize(
    ("choices", "connected", "expected"),
    [
        ((None, None), (False, False), ["P01", "P02"]),
        ((None, None), (True, False), ["P02"]),
        ((None, None), (True, True), []),
        # One that was lost while the other played on is to blame.
        (("even", None), (True, False), []),
        (("1", "2,3"), (False, True), []),
        (("1", "2"), (False, False), ["P01", "P02"]),
        # A referee that does not say so is taken at its word.
        ((None, None), None, []),
    ],
)
def test_to_which_players_a_referee_alone_may_have_lost_its_way(
    choices: tuple[str | None, str | None], connected: tuple[bool, bool] | None, expected: list[str]
) -> None:
    players = ("P01", "P02")
    told = {player: {"connected": one} for player, one in zip(players, connected or (), strict=connected is not None)}
    evidence = UNSET if connected is None else {"players": told}
    details = ResultDetails(choices=dict(zip(players, choices, strict=True)), evidence=evidence)
    assert unconnected_players(MatchResult(winner=None, score={"P01": 0, "P02": 0}, details=details)) == expected
