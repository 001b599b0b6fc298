"""Outages: while most players cannot be reached, the league waits. Only a player that is really gone loses."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.manager.rounds.outages import OUTAGE_DESCRIPTION, SAMPLE_SIZE
from leaguekit.transport.base import HttpAnswer, NoRoute, TimedOut, Unreachable
from leaguekit.transport.memory import MemoryCaller
from leaguekit.web.projection import Projection
from tests.agents.leagues import Hall, in_virtual_time, url_of

How = Literal["dropped", "no route to the host", "no network"]


class RoutedHall(Hall):
    """A hall whose network can be cut between all agents and the players, or between some agents and some players."""

    down_until = 0.0
    how: How = "dropped"
    callers: tuple[str, ...] | None = None
    called: tuple[int, ...] | None = None

    def world(self, name: str) -> World:
        caller = _RoutedCaller(self, name)
        self._callers[caller] = name
        return World(caller, self.root, now=self.clock, entropy=self._random.randbytes, inline=True)

    def cut(
        self, seconds: float, how: How, callers: tuple[str, ...] | None = None, called: tuple[int, ...] | None = None
    ) -> None:
        self.down_until, self.how, self.callers, self.called = self.now + seconds, how, callers, called

    def is_cut(self, caller: str, url: str) -> bool:
        if self.now >= self.down_until or (self.callers is not None and caller not in self.callers):
            return False
        if self.called is not None:
            return url in [url_of("player", number) for number in self.called]
        return caller.startswith("player") or ":81" in url

    def lost(self) -> list[tuple[str, list[str]]]:
        """The matches that were not played to their end: how each was lost, and by which players."""
        recorded = [event for event in self.recorded() if isinstance(event, e.ResultRecorded)]
        return [
            (str(one.result.details.ruling), [player for player, points in one.result.score.items() if not points])
            for one in recorded
            if one.result.details.status == "TECHNICAL_LOSS"
        ]

    def recorded(self) -> list[e.Event]:
        return [e.decode(text) for text in self.log.content.events]


class _RoutedCaller(MemoryCaller):
    def __init__(self, hall: RoutedHall, name: str) -> None:
        super().__init__(hall.network)
        self._hall = hall
        self._name = name

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        deadline = self._hall.now + seconds
        answer = None if self._is_cut(url) else await super().post(url, body, seconds, max_bytes)
        if answer is not None and not self._is_cut(url):
            return answer
        if self._hall.how == "no network":
            raise NoRoute(url, "network is unreachable")
        if self._hall.how == "no route to the host":
            raise Unreachable(f"{url} could not be connected to: no route to host")
        await asyncio.sleep(deadline - self._hall.now)
        raise TimedOut("no answer in time", connected=answer is not None)

    def _is_cut(self, url: str) -> bool:
        return self._hall.is_cut(self._name, url)


async def thinks(kind: str) -> None:
    if kind in ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL"):
        await asyncio.sleep(1)


async def _filled(hall: RoutedHall, players: int = 8) -> None:
    for _ in range(2):
        await hall.referee()
    for _ in range(players):
        await hall.player("random", thinks)
    await hall.operate("start")


def _playing(hall: Hall, round_id: int) -> Callable[[], bool]:
    return lambda: hall.league.current_round == round_id and any(one.in_play for one in hall.league.matches.values())


def _announced(hall: Hall, round_id: int) -> Callable[[], bool]:
    return lambda: hall.league.current_round == round_id


# Of the two that fail at once, `make test` is content with one.
EACH_WAY = ["dropped", pytest.param("no route to the host", marks=pytest.mark.long), "no network"]


@pytest.mark.parametrize("how", EACH_WAY)
@pytest.mark.parametrize(
    ("lead", "when"),
    [
        (0.0, _playing),
        (5.0, _announced),
        pytest.param(5.0, _playing, marks=pytest.mark.long),
        pytest.param(60.0, _playing, marks=pytest.mark.long),
        (60.0, _announced),
    ],
)
@pytest.mark.parametrize(
    "seconds", [10.0, pytest.param(25.0, marks=pytest.mark.long), pytest.param(90.0, marks=pytest.mark.long)]
)
@in_virtual_time
async def test_without_a_route_to_the_players_nobody_loses_but_the_one_that_is_really_gone(
    tmp_path: Path, seconds: float, lead: float, how: How, when: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with RoutedHall(tmp_path, announce_lead=lead) as hall:
        await _filled(hall)
        hall.network.close(url_of("player", 8))
        await hall.until(when(hall, 2), seconds=300, step=0.1)
        hall.cut(seconds, how)
        await hall.end(1_500)
        assert sorted(hall.lost()) == [("UNREACHABLE", ["P08"])] * 7
        played = [event for event in hall.recorded() if isinstance(event, e.ResultRecorded)]
        assert len(played) == 28
        assert not any(isinstance(event, e.MatchHeld) for event in hall.recorded())


@in_virtual_time
async def test_during_an_outage_the_league_says_what_it_waits_for_and_goes_on_by_itself(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with RoutedHall(tmp_path) as hall:
        await _filled(hall)
        await hall.until(_playing(hall, 2))
        hall.cut(300, "dropped")
        await asyncio.sleep(60)
        status = await hall.operate("status")
        assert status["waits_for"] == [f"the network: {OUTAGE_DESCRIPTION}"]
        assert hall.manager.runner.outages.problem == OUTAGE_DESCRIPTION
        assert Projection(hall.league, hall.manager.runner).league_view().waits_for == status["waits_for"]
        number = hall.manager.ledger.number
        await asyncio.sleep(230)
        # Nothing was assigned, ruled or counted meanwhile.
        assert {type(event) for event in hall.recorded()[number:]} == {e.AttemptVoided}
        await hall.end(60)
        assert (await hall.operate("status"))["waits_for"] == []
        assert hall.lost() == []
        assert not any(isinstance(event, e.PlayerSuspended) for event in hall.recorded())
    said = [record.getMessage() for record in caplog.records]
    assert [one for one in said if one.startswith("most players")] == [
        f"{OUTAGE_DESCRIPTION}; the league waits until they can be",
        "most players can be reached again; the league goes on",
    ]


@in_virtual_time
async def test_one_player_that_is_gone_or_half_of_them_are_no_outage(tmp_path: Path) -> None:
    async with RoutedHall(tmp_path) as hall:
        await _filled(hall, players=4)
        await hall.until(_playing(hall, 1))
        for number in (1, 2):
            hall.network.close(url_of("player", number))
        await hall.end(600)
        assert {player for _, players in hall.lost() for player in players} == {"P01", "P02"}
        assert len(hall.lost()) == 4


@in_virtual_time
async def test_players_that_only_take_long_to_answer_are_no_outage(tmp_path: Path) -> None:
    async def hangs(kind: str) -> None:
        if hall.league.state == "RUNNING_LEAGUE":
            await asyncio.sleep(4 if kind == "GAME_INVITATION" else 20)

    async with RoutedHall(tmp_path) as hall:
        await hall.referee()
        for _ in range(3):
            await hall.player("random", hangs)
        await hall.operate("start")
        for _ in range(50):
            await asyncio.sleep(1)
            assert hall.manager.runner.outages.problem is None
        await hall.end(600)
        assert hall.lost() == []


@in_virtual_time
async def test_when_all_players_are_gone_the_league_waits_until_the_operator_withdraws_them(tmp_path: Path) -> None:
    async with RoutedHall(tmp_path) as hall:
        await _filled(hall, players=3)
        await hall.until(_playing(hall, 1))
        for number in (1, 2, 3):
            hall.network.close(url_of("player", number))
        await asyncio.sleep(3_600)
        assert (await hall.operate("status"))["waits_for"] == [f"the network: {OUTAGE_DESCRIPTION}"]
        for player in ("P01", "P02"):
            await hall.operate("withdraw", player_id=player, reason="it is gone")
        await hall.end(60)


@in_virtual_time
async def test_of_a_large_league_only_some_are_called_until_most_of_these_are_gone(tmp_path: Path) -> None:
    async with RoutedHall(tmp_path) as hall:
        await _filled(hall, players=2 * SAMPLE_SIZE)
        await hall.until(_playing(hall, 1))

        def pings() -> set[str]:
            calls = [one for one in hall.wire if one.method == "ping" and one.by == "manager"]
            return {one.url for one in calls if one.sent >= begun}

        begun = hall.now
        outages = hall.manager.runner.outages
        await outages._check()
        assert len(pings()) == SAMPLE_SIZE
        hall.cut(10, "no route to the host")
        await outages._check()
        assert outages.is_on
        await asyncio.sleep(13)
        assert not outages.is_on
        await hall.end(600)
        assert hall.lost() == []


def voids(hall: RoutedHall) -> list[e.AttemptVoided]:
    return [event for event in hall.recorded() if isinstance(event, e.AttemptVoided)]


def forfeits(hall: RoutedHall) -> dict[str, list[str]]:
    return {one.match_id: one.losers for one in hall.recorded() if isinstance(one, e.MatchForfeited)}


def assert_never_held(hall: RoutedHall) -> None:
    assert not any(isinstance(event, e.MatchHeld) for event in hall.recorded())
    assert hall.manager.runner.outages.problem is None


@pytest.mark.parametrize("how", EACH_WAY)
@pytest.mark.parametrize("when", [_playing, _announced])
@pytest.mark.parametrize("capacity", [1, 10])
@pytest.mark.parametrize("seconds", [*(pytest.param(one, marks=pytest.mark.long) for one in (20.0, 60.0)), 600.0])
@in_virtual_time
async def test_nobody_loses_because_one_referee_alone_has_no_route_to_the_players(
    tmp_path: Path, seconds: float, capacity: int, when: Any, how: How
) -> None:
    async with RoutedHall(tmp_path, announce_lead=5.0) as hall:
        for _ in range(2):
            await hall.referee(capacity)
        for _ in range(6):
            await hall.player("random", thinks)
        await hall.operate("start")
        await hall.until(when(hall, 2), seconds=300, step=0.1)
        hall.cut(seconds, how, callers=("referee 1",))
        await hall.end(5_000)
        assert (hall.lost(), forfeits(hall)) == ([], {})
        assert all(one.outage for one in voids(hall))
        assert_never_held(hall)


@in_virtual_time
async def test_the_only_referee_without_a_route_is_waited_for_and_the_status_says_so(tmp_path: Path) -> None:
    async with RoutedHall(tmp_path) as hall:
        await hall.referee()
        for _ in range(4):
            await hall.player()
        hall.cut(400, "no network", callers=("referee 1",))
        await hall.operate("start")
        await hall.until(lambda: len(voids(hall)) == 2)
        waits_for = (await hall.operate("status"))["waits_for"]
        # Both players of a match are called at the same time. Either may be the one that is named.
        said = [
            f"the network: REF01 cannot call {one}: network is unreachable; "
            f"REF01 cannot call {two}: network is unreachable"
            for one in hall.league.matches["R1M1"].players
            for two in hall.league.matches["R1M2"].players
        ]
        assert waits_for[0] in said
        assert waits_for[1:] == ["a pause to end: the last attempt at R1M1, R1M2 was void; `league log` says why"]
        await hall.end(900)
        assert (hall.lost(), forfeits(hall)) == ([], {})
        # Each is tried for 30 s, after pauses of 5 s and then 60 s.
        assert 8 <= len(voids(hall)) <= 12
        assert_never_held(hall)
        assert (await hall.operate("status"))["waits_for"] == []


@in_virtual_time
async def test_the_only_referee_that_silently_loses_its_players_costs_them_no_match(tmp_path: Path) -> None:
    async with RoutedHall(tmp_path) as hall:
        await hall.referee()
        for _ in range(4):
            await hall.player()
        hall.cut(200, "dropped", callers=("referee 1",))
        await hall.operate("start")
        await hall.end(900)
        assert (hall.lost(), forfeits(hall)) == ([], {})
        assert_never_held(hall)


@in_virtual_time
async def test_a_referee_that_can_never_call_a_player_holds_the_match_for_the_operator_in_the_end(
    tmp_path: Path,
) -> None:
    async with RoutedHall(tmp_path) as hall:
        await hall.referee()
        for _ in range(2):
            await hall.player()
        hall.cut(36_000, "no network", callers=("referee 1",))
        await hall.operate("start")
        await hall.until(lambda: bool(hall.league.held), seconds=3_600)
        # Ten attempts that were not counted, and three that were.
        assert len(voids(hall)) == 13
        waits_for = (await hall.operate("status"))["waits_for"]
        assert any("R1M1" in one and "operator" in one for one in waits_for), waits_for


@pytest.mark.parametrize("gone", [(1,), (1, 2)])
@in_virtual_time
async def test_players_that_nobody_can_call_lose_while_the_others_play(tmp_path: Path, gone: tuple[int, ...]) -> None:
    async with RoutedHall(tmp_path) as hall:
        await _filled(hall, players=4)
        hall.cut(3_600, "no network", called=gone)
        await hall.end(1_500)
        names = [f"P{number:02d}" for number in gone]
        expected = {
            match.id: losers
            for match in hall.league.matches.values()
            if (losers := [player for player in match.players if player in names])
        }
        assert forfeits(hall) == expected
        assert (hall.lost(), voids(hall)) == ([], [])
        assert_never_held(hall)
        assert {hall.league.matches[name].outcome.ruling for name in expected} == {"UNREACHABLE"}  # type: ignore[union-attr]


@in_virtual_time
async def test_a_player_that_loses_its_route_in_the_middle_of_a_game_loses_that_game(tmp_path: Path) -> None:
    async with RoutedHall(tmp_path, game_type="tic_tac_toe") as hall:
        await _filled(hall, players=2)
        await hall.until(lambda: len(hall.sent("GAME_MOVE_CALL")) == 2)
        hall.cut(3_600, "no network", called=(2,))
        await hall.end(1_500)
        assert forfeits(hall) == {"R1M1": ["P02"]}


@in_virtual_time
async def test_a_player_without_a_route_for_referees_only_goes_back_from_a_game_at_most_three_times(
    tmp_path: Path,
) -> None:
    async with RoutedHall(tmp_path, game_type="tic_tac_toe") as hall:
        await _filled(hall, players=2)

        def moved() -> bool:
            return len(hall.sent("GAME_MOVE_CALL")) > before + 1

        for _ in range(3):
            before = len(hall.sent("GAME_MOVE_CALL"))
            await hall.until(moved)
            hall.cut(35, "no network", callers=("referee 1", "referee 2"), called=(2,))
            await asyncio.sleep(36)
        assert [event.outage for event in voids(hall)] == [False] * 3
        assert list(hall.league.held) == ["R1M1"]


@pytest.mark.parametrize("referees", [1, 2])
@in_virtual_time
async def test_a_player_that_answers_the_manager_and_no_referee_gains_one_repetition_only(
    tmp_path: Path, referees: int
) -> None:
    async with RoutedHall(tmp_path) as hall:
        await hall.fill("random", "random", "random", referees=referees)
        hall.cut(3_600, "no route to the host", callers=("referee 1", "referee 2"), called=(1,))
        await hall.operate("start")
        await hall.end(1_500)
        assert hall.lost() == [("UNREACHABLE", ["P01"])] * 2
        assert [(one.match_id, one.attempt, one.outage) for one in voids(hall)] == [
            (match.id, 1, True) for match in hall.league.matches.values() if "P01" in match.players
        ]
        for one in voids(hall):
            tried = [event for event in hall.recorded() if isinstance(event, e.MatchAssigned)]
            assert len({event.referee_id for event in tried if event.match_id == one.match_id}) == referees


@pytest.mark.parametrize(
    ("silent_at", "ruling"), [("GAME_INVITATION", "JOIN_TIMEOUT"), ("CHOOSE_PARITY_CALL", "CHOICE_TIMEOUT")]
)
@in_virtual_time
async def test_a_player_that_is_connected_to_and_does_not_answer_loses_at_once(
    tmp_path: Path, silent_at: str, ruling: str
) -> None:
    async def hides(kind: str) -> None:
        if kind == silent_at:
            await asyncio.Event().wait()

    async with RoutedHall(tmp_path) as hall:
        await hall.fill("random", referees=2)
        await hall.player("random", hides)
        await hall.operate("start")
        await hall.end(1_500)
        assert hall.lost() == [(ruling, ["P02"])]
        assert voids(hall) == []
