"""What the author of a player reads at the terminal about results, places, and leagues that are none."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from leaguekit.player.sentences import is_league_of_check, place_sentence
from leaguekit.protocol.messages import FinalStanding
from tests.player.player_setup import (
    PlayerSetup,
    announcement,
    game_over,
    invitation,
    league_completed,
    run_script,
    standings,
)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ((9, 6, 3), "Alice is number 2 with 6 points"),
        ((6, 6, 3), "Alice has 6 points, as many as 1 other player: by points they share places 1 to 2"),
        ((9, 1, 1, 1), "Alice has 1 point, as many as 2 other players: by points they share places 2 to 4"),
    ],
)
def test_a_place_that_a_lot_may_have_decided_is_not_stated_as_earned(points: tuple[int, ...], said: str) -> None:
    rows = [FinalStanding(rank=rank, player_id=f"P0{rank}", points=one) for rank, one in enumerate(points, 1)]
    assert place_sentence("Alice", rows[1], rows) == said


def test_results_name_the_players_as_far_as_they_are_known(
    setup: PlayerSetup, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "leaguekit.player.agent")

    async def script(setup: PlayerSetup) -> None:
        for match_id in ("R1M1", "R2M1"):
            await setup.call(announcement(int(match_id[1])))
            await setup.call(invitation(match_id))
            await setup.call(game_over(match_id, reason="P01 chose even, P02 chose odd"))
            await setup.call(standings())

    run_script(script, setup)
    results = [record.getMessage() for record in caplog.records if "chose" in record.getMessage()]
    assert [one.partition(". ")[2] for one in results] == [
        "Agent Alpha (P01) chose even, P02 chose odd",
        "Agent Alpha (P01) chose even, Agent P02 (P02) chose odd",
    ]


@pytest.mark.parametrize(("league_id", "expected"), [(None, False), ("league_2025", False), ("league_check_7f", True)])
def test_the_league_of_a_conformance_check_is_known_by_its_id(league_id: str | None, expected: bool) -> None:
    assert is_league_of_check(league_id) is expected


@pytest.mark.parametrize("has_begun", [True, False])
def test_an_agent_that_comes_back_to_a_finished_league_says_why_it_ends(tmp_path: Path, has_begun: bool) -> None:
    told: list[str] = []

    async def script(setup: PlayerSetup) -> None:
        if has_begun:
            await setup.call(announcement())
        for _ in range(2):
            await setup.call(league_completed())

    run_script(script, PlayerSetup(tmp_path, notify=told.append))
    over = "This league was over before this player registered. Start a new league to play again."
    assert told == [over] * (not has_begun) + ["Agent Alpha is number 1 with 3 points"]
