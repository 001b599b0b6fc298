"""Real processes, really killed, again and again: each match counts once, and the table is the one it would have been.

About a minute a test on two cores; three on a busy machine.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from leaguekit.cli import main
from leaguekit.league import events as e
from tests.recovery.league_programs import LeaguePrograms, table

KILLS = 12
MATCHES = 45
OPEN = "WAITING_FOR_REGISTRATIONS"


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "league.db")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """The table of the same seed that nobody disturbs."""
    root = tmp_path_factory.mktemp("undisturbed")
    with LeaguePrograms(root, root / "league.db") as programs:
        programs.until_over()
        return table(programs.log())


def killed(root: Path, store: str, victims: Callable[[LeaguePrograms, Random], list[str]], kills: int) -> list[e.Event]:
    """The log of a league in which some were killed ``kills`` times, each time after a few more matches at most."""
    random, done = Random(1), 0
    with LeaguePrograms(root, store) as programs:
        while done < kills and (status := programs.up())["state"] != "LEAGUE_COMPLETED":
            # The first time nothing may have been played yet.
            enough = status["matches_played"] + (done and random.randint(0, MATCHES // kills))
            while status["state"] == OPEN or status["matches_played"] < min(enough, MATCHES - 1):
                status = programs.up()
            time.sleep(random.uniform(0.0, 0.2))
            programs.start(programs.kill(victims(programs, random)))
            done += 1
        programs.until_over()
        events = programs.log()
    assert done > kills / 2, f"the league was over after {done} kills"
    assert main(["verify", store]) == 0
    counted = Counter(one.match_id for one in events if isinstance(one, e.ResultRecorded))
    assert len(counted) == MATCHES
    assert set(counted.values()) == {1}
    return events


def voids(events: list[e.Event]) -> list[e.AttemptVoided]:
    return [one for one in events if isinstance(one, e.AttemptVoided)]


@pytest.mark.long
def test_a_manager_that_is_killed_many_times_ends_its_league_with_the_same_table(
    store: str, undisturbed: list[tuple[object, ...]], tmp_path: Path
) -> None:
    events = killed(tmp_path, store, lambda programs, random: ["manager"], KILLS)
    assert voids(events) == []
    assert table(events) == undisturbed


@pytest.mark.longest
def test_referees_that_are_killed_many_times_count_each_match_once(
    store: str, undisturbed: list[tuple[object, ...]], tmp_path: Path
) -> None:
    events = killed(tmp_path, store, lambda programs, random: [random.choice(["referee 1", "referee 2"])], KILLS)
    # A referee that was away for long is lost, and its match is drawn again.
    assert voids(events) or table(events) == undisturbed


@pytest.mark.longest
def test_when_all_are_killed_at_once_and_started_again_each_match_counts_once(
    store: str, undisturbed: list[tuple[object, ...]], tmp_path: Path
) -> None:
    events = killed(tmp_path, store, lambda programs, random: [*programs.commands], 4)
    assert voids(events) or table(events) == undisturbed
