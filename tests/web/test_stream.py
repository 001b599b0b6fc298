"""The stream of events: every subscriber ends in the league's state, however it was interrupted, and costs little."""

from __future__ import annotations

import asyncio
import contextlib
import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from leaguekit.protocol import times
from leaguekit.store.base import StoreError
from leaguekit.web import stream
from leaguekit.web.app import Dashboard
from tests.agents.leagues import AwayLog, Hall, HeldLog, in_virtual_time
from tests.web.dashboard_clients import Json, Spectator, get

FOUR = ("always_even", "always_odd", "random", "random")


async def opened(hall: Hall) -> Dashboard:
    dashboard = Dashboard(hall.manager)
    await dashboard.catch_up()
    return dashboard


async def joined(dashboard: Dashboard, **more: Any) -> Spectator:
    spectator = Spectator(**more)
    await dashboard.broadcaster.subscribe(spectator, "192.0.2.1", compressed=spectator.compressed)
    return spectator


async def now_shown(dashboard: Dashboard) -> Json:
    """What a page should show now."""
    live = json.loads(msgspec.json.encode(dashboard.projection.live(dashboard.manager.world.now())))
    return {name: value for name, value in live.items() if name not in ("now", "seq")}


async def at_rest() -> None:
    """Longer than changes are held back, even where making one took this machine half a second."""
    await asyncio.sleep(0.5 / stream.MAX_TIME_SHARE)


@in_virtual_time
async def test_a_stream_begins_with_a_snapshot_and_its_number_and_goes_on_with_changes(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        spectator = await joined(dashboard)
        name, number, data = spectator.events[0]
        assert (name, number) == ("snapshot", str(hall.manager.ledger.number))
        assert data["league"]["state"] == "WAITING_FOR_REGISTRATIONS"
        await hall.fill(*FOUR)
        await at_rest()
        name, number, data = spectator.events[-1]
        assert (name, number) == ("change", str(hall.manager.ledger.number))
        assert data["set"]["league"]["players"] == 4
        assert list(data["set"]["standings"]) == ["P01", "P02", "P03", "P04"]


@in_virtual_time
async def test_a_snapshot_has_the_time_at_which_it_is_sent(tmp_path: Path) -> None:
    """A page that opens between two rounds counts down by it, and nothing changes meanwhile."""
    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        await hall.fill(*FOUR)
        await joined(dashboard)
        await asyncio.sleep(33)
        spectator = await joined(dashboard)
        _, _, data = spectator.events[0]
        age = hall.world("page").now() - times.parse_timestamp(data["now"])
        assert abs(age.total_seconds()) < 1.5


@in_virtual_time
async def test_a_page_that_follows_a_whole_league_ends_with_its_table(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        spectators = [await joined(dashboard), await joined(dashboard, compressed=True)]
        await hall.fill(*FOUR)
        await hall.operate("start")
        await hall.end()
        await at_rest()
        for spectator in spectators:
            assert spectator.shows == await now_shown(dashboard)
        standings = spectators[0].shows["standings"].values()
        table = hall.league.table.standings()
        assert {row["id"]: (row["rank"], row["points"]) for row in standings} == {
            name: (row.rank, row.points) for name, row in table.items()
        }
        assert spectators[0].shows["league"]["champion"]["id"] == next(iter(table))
        assert len(spectators[1].written[-1]) < len(spectators[0].written[-1])


class Crowd:
    """Pages that come and go, dawdle and catch up, as chance will have it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.pages = [Spectator() for _ in range(4)]

    async def come_and_go(self, broadcaster: stream.Broadcaster) -> None:
        with contextlib.suppress(StoreError):
            while True:
                await asyncio.sleep(self.random.uniform(0, 0.4))
                page = self.random.choice(self.pages)
                what = self.random.choice(("go", "come", "dawdle", "take"))
                if what in ("go", "come"):
                    broadcaster.unsubscribe(page)
                if what == "come":
                    await broadcaster.subscribe(page, "192.0.2.1")
                if what == "dawdle":
                    page.slow = True
                if what == "take":
                    page.take()

    async def dawdle(self, _kind: str) -> None:
        """What makes players slow."""
        await asyncio.sleep(self.random.uniform(0, 0.3))

    async def come_to_rest(self, broadcaster: stream.Broadcaster) -> None:
        for page in self.pages:
            page.take()
            if page not in broadcaster._subscribers:
                await broadcaster.subscribe(page, "192.0.2.1")
        await at_rest()


@pytest.mark.parametrize("seed", range(6))
@in_virtual_time
async def test_pages_that_come_and_go_and_dawdle_end_in_the_same_state(tmp_path: Path, seed: int) -> None:
    """Also when the manager is killed and started again."""
    crowd = Crowd(seed)
    async with Hall(tmp_path, announce_lead=0.5) as hall:
        dashboard = await opened(hall)
        going = asyncio.create_task(crowd.come_and_go(dashboard.broadcaster))
        await hall.referee()
        for _ in range(5):
            await hall.player("random", gate=crowd.dawdle)
        await hall.operate("start")
        await hall.until(lambda: hall.league.current_round == 2)
        going.cancel()
        await hall.crash()
        await hall.restart()
        dashboard = await opened(hall)
        going = asyncio.create_task(crowd.come_and_go(dashboard.broadcaster))
        await hall.end()
        going.cancel()
        await crowd.come_to_rest(dashboard.broadcaster)
        expected = await now_shown(dashboard)
        assert expected["league"]["state"] == "LEAGUE_COMPLETED"
        for page in crowd.pages:
            assert page.shows == expected


@in_virtual_time
async def test_changes_come_at_most_four_times_a_second_and_are_the_same_bytes_for_all(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        spectators = [await joined(dashboard) for _ in range(3)]
        began = hall.now
        await hall.fill(*FOUR)
        await hall.operate("start")
        await hall.end()
        await at_rest()
        changes = [one.written[1:] for one in spectators]
        assert 0 < len(changes[0]) <= 4 * (hall.now - began) + 1
        for mine, others in zip(changes[0], zip(*changes[1:], strict=True), strict=True):
            assert all(mine is other for other in others)


@in_virtual_time
async def test_nothing_is_streamed_before_it_is_written_down(tmp_path: Path) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        dashboard = await opened(hall)
        spectator = await joined(dashboard)
        await hall.scripted("player", 1)
        await at_rest()
        before = spectator.text
        log.hold()
        pausing = asyncio.create_task(hall.operate("pause", reason="lunch"))
        await asyncio.sleep(5)
        assert hall.league.paused
        assert spectator.text == before
        log.release()
        await pausing
        await at_rest()
        assert spectator.shows["league"]["paused"] is True


@in_virtual_time
async def test_while_the_database_is_away_pages_say_so_and_no_request_hangs(tmp_path: Path) -> None:
    log, printed = AwayLog(), list[str | None]()
    async with Hall(tmp_path, log=log) as hall:
        dashboard = await opened(hall)
        spectator = await joined(dashboard)
        check = hall.manager.ledger.writer_check
        assert check is not None
        check.listeners.append(printed.append)
        await at_rest()
        log.hold()
        refused = await hall.post("operator", {"command": "pause", "admin_token": "adm-the-operators-own"})
        assert refused["error"]["data"]["error_code"] == "E060"
        await asyncio.sleep(55)
        league = spectator.shows["league"]
        assert (league["waits_for"], league["paused"]) == (["the store: no answer for 60 s"], False)
        for path in ("/api/league", "/api/news", "/api/live"):
            async with asyncio.timeout(6):
                answer = await get(dashboard, path)
            assert answer.status == 503, path
            assert "192.0.2.99" not in str(answer)
        # A page that is opened now is shown the same.
        assert (await joined(dashboard)).shows["league"]["waits_for"][0].startswith("the store: no answer for")
        assert printed == ["no answer for 4 s: Connect call failed ('192.0.2.99', 5432)"]
        log.release()
        await at_rest()
        assert printed[1:] == [None]
        assert spectator.shows == await now_shown(dashboard)
        assert spectator.shows["league"]["paused"] is True
        assert "192.0.2.99" not in spectator.text


@in_virtual_time
async def test_the_first_page_is_refused_while_the_database_is_away(tmp_path: Path) -> None:
    log = AwayLog()
    async with Hall(tmp_path, log=log) as hall:
        dashboard = await opened(hall)
        log.hold()
        await asyncio.sleep(60)
        async with asyncio.timeout(6):
            with pytest.raises(StoreError):
                await joined(dashboard)
        log.release()


@in_virtual_time
async def test_streams_end_when_the_log_cannot_be_written(tmp_path: Path) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        dashboard = await opened(hall)
        spectator = await joined(dashboard)
        log.break_down()
        await hall.post("operator", {"command": "pause", "admin_token": "adm-the-operators-own"})
        await at_rest()
        assert spectator.has_ended
        assert len(dashboard.broadcaster) == 0
        assert spectator.shows["league"]["paused"] is False
        answer = await get(dashboard, "/api/live")
        assert (answer.status, answer.json) == (
            503,
            {"error": "The store of this league does not work now. Try again in a while."},
        )


@in_virtual_time
async def test_who_does_not_take_what_it_is_sent_gets_no_more_until_it_has_and_then_the_whole(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        slow, quick = await joined(dashboard), await joined(dashboard)
        slow.slow = True
        for number in range(1, 20):
            await hall.scripted("player", number)
            await at_rest()
        # The one after which it was found slow.
        assert len(slow.written) == 2
        assert len(quick.written) == 20
        slow.take()
        await at_rest()
        assert [name for name, _, _ in slow.events] == ["snapshot", "change", "snapshot"]
        assert slow.shows == quick.shows


@in_virtual_time
async def test_a_quiet_stream_has_heartbeats_and_costs_nothing_when_nobody_watches(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        spectator = await joined(dashboard)
        await asyncio.sleep(10 * stream.HEARTBEAT_SECONDS)
        assert spectator.text.splitlines().count(":") in range(8, 12)
        assert len(spectator.events) == 1
        dashboard.broadcaster.unsubscribe(spectator)
        await at_rest()
        assert dashboard.broadcaster._publishing is None


@in_virtual_time
async def test_when_there_is_no_room_the_address_with_the_most_spectators_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "max_descriptors", lambda: 20)
    async with Hall(tmp_path) as hall:
        broadcaster = (await opened(hall)).broadcaster
        school = [Spectator() for _ in range(5)]
        for one in school:
            assert broadcaster.has_room_for("192.0.2.1")
            await broadcaster.subscribe(one, "192.0.2.1")
        assert not broadcaster.has_room_for("192.0.2.1")
        assert broadcaster.has_room_for("198.51.100.1")
        assert [one.has_ended for one in school] == [True, False, False, False, False]
        await broadcaster.subscribe(Spectator(), "198.51.100.1")
        assert len(broadcaster) == 5


@in_virtual_time
async def test_how_a_match_stands_is_streamed_though_it_is_no_event(tmp_path: Path) -> None:
    async def hold(kind: str) -> None:
        if kind == "CHOOSE_PARITY_CALL":
            await asyncio.sleep(10)

    async with Hall(tmp_path) as hall:
        dashboard = await opened(hall)
        spectator = await joined(dashboard)
        await hall.referee()
        for _ in range(2):
            await hall.player("random", gate=hold)
        await hall.operate("start")
        await asyncio.sleep(5)
        (match,) = spectator.shows["playing"].values()
        assert (match["match_id"], match["stage"], match["a"]["id"]) == ("R1M1", "COLLECTING_CHOICES", "P01")
        assert match["arrived"] == ["P01", "P02"]
        assert match["deadline"] > hall.timestamp
        await hall.end()
        await at_rest()
        assert spectator.shows["playing"] == {}
        assert spectator.shows["results"]["R1M1"]["reason"]


@in_virtual_time
async def test_in_a_game_of_turns_each_turn_has_its_own_clock(tmp_path: Path) -> None:
    async def hold(kind: str) -> None:
        if kind == "GAME_MOVE_CALL":
            await asyncio.sleep(10)

    async with Hall(tmp_path, game_type="tic_tac_toe") as hall:
        spectator = await joined(await opened(hall))
        await hall.referee()
        for _ in range(2):
            await hall.player("random", gate=hold)
        await hall.operate("start")
        shown = []
        for _ in range(3):
            await asyncio.sleep(10)
            (match,) = spectator.shows["playing"].values()
            assert match["deadline"] > hall.timestamp
            shown.append((9 - match["position"]["board"].count("."), match["deadline"]))
        assert [marks for marks, _ in shown] == [0, 1, 2] or [marks for marks, _ in shown] == [1, 2, 3]
        assert len({deadline for _, deadline in shown}) == 3
