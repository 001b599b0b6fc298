"""A manager that is killed and started again, at each stage of a league: nothing is lost, counted twice, or kept back.

The others stay, unless a test takes them down as well.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.manager.rounds.league_runner import NOTIFIED_KEY
from leaguekit.manager.rounds.returning_agents import MAX_RETURN_SECONDS
from leaguekit.player.agent import PlayerAgent
from leaguekit.protocol import tokens
from leaguekit.sim.loop import run
from leaguekit.store.memory import MemoryLog, MemoryLogContent
from leaguekit.transport.base import Peer
from tests.agents.leagues import (
    LEAGUE,
    MANAGER_URL,
    Arrival,
    Hall,
    HeldLog,
    Reply,
    Scripted,
    in_virtual_time,
    raw,
    silent,
    url_of,
)

DAY = 86_400.0


async def again(hall: Hall, seconds: float = 0.0) -> None:
    """The manager dies, stays away for a while, and is started again."""
    await hall.crash()
    await asyncio.sleep(seconds)
    await hall.restart()


def since(agent: Scripted, moment: float) -> list[Arrival]:
    return [one for one in agent.arrived if one.at >= moment]


def points(hall: Hall) -> dict[str, int]:
    return {row.player_id: row.points for row in hall.league.table.rows_for(None)}


async def report_all(hall: Hall, referee: Scripted) -> None:
    """Report whatever is assigned, until the league is over."""
    while hall.league.state != "LEAGUE_COMPLETED":
        for name in {one.params["match_id"]: None for one in referee.got("MATCH_ASSIGNMENT")}:
            if hall.league.matches[name].ended_at is None:
                assert "result" in await referee.report(name)
        await asyncio.sleep(0.01)


# Registration


@in_virtual_time
async def test_ids_and_tokens_are_the_same_after_a_restart_and_registration_goes_on(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, player = await hall.scripted("referee", 1), await hall.scripted("player", 1)
        await again(hall)
        assert (list(hall.league.players), list(hall.league.referees)) == (["P01"], ["REF01"])
        for agent in (referee, player):
            assert (await agent.query("GET_STATUS"))["result"]["success"]
        assert (await hall.scripted("player", 2)).id == "P02"


@pytest.mark.parametrize("started", [False, True], ids=["open", "started"])
@in_virtual_time
async def test_whose_answer_was_lost_with_the_manager_repeats_its_registration_and_is_in(
    tmp_path: Path, *, started: bool
) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("referee", 1)
        await hall.scripted("player", 1)
        agent = Scripted(hall, "player", 2, {})
        hall.network.listen(agent.url, agent.handle)
        request = hall.registration("player", 2)
        await hall.post("register_player", request)
        if started:
            await hall.operate("start")
        await again(hall)
        repeated = (await hall.post("register_player", request))["result"]
        assert (repeated["status"], repeated["player_id"]) == ("ACCEPTED", "P02")
        agent.id, agent.token = "P02", repeated["auth_token"]
        assert "result" in await agent.query("GET_STATUS")
        assert list(hall.league.players) == ["P01", "P02"]


@pytest.mark.parametrize("started", [False, True], ids=["open", "started"])
@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_a_copy_of_a_registration_that_arrives_after_a_restart_voids_no_token(
    tmp_path: Path, role: str, *, started: bool
) -> None:
    async with Hall(tmp_path) as hall:
        agent = await (hall.player() if role == "player" else hall.referee())
        (asked,) = hall.sent("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST")
        await hall.fill("random", "random", referees=1)
        if started:
            await hall.operate("start")
        await again(hall)
        answer = await hall.post(asked.method, asked.params)
        assert "error" in answer or answer["result"]["status"] == "REJECTED"
        identity = agent.registrar.identity
        assert identity is not None
        known = hall.league.agent_with(tokens.verifier(identity.auth_token or ""))
        assert known is not None
        assert known.id == identity.agent_id


@in_virtual_time
async def test_what_was_not_written_down_never_happened_and_nobody_was_told_of_it(tmp_path: Path) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        agent = Scripted(hall, "player", 1, {})
        hall.network.listen(agent.url, agent.handle)
        log.hold()
        request = hall.registration("player", 1)
        asking = asyncio.create_task(hall.post("register_player", request))
        await hall.until(lambda: hall.league.players)
        await again(hall)
        assert not asking.done()
        assert list(hall.league.players) == []
        assert (await hall.post("register_player", request))["result"]["player_id"] == "P01"
        asking.cancel()


# Rounds


@in_virtual_time
async def test_a_round_whose_matches_had_not_begun_is_announced_again_with_the_whole_lead(tmp_path: Path) -> None:
    async with Hall(tmp_path, announce_lead=60.0) as hall:
        referee, *players = await hall.scripted_league()
        await hall.until(lambda: all(one.got("ROUND_ANNOUNCEMENT") for one in players))
        await asyncio.sleep(30)
        await again(hall, seconds=5)
        back = hall.now
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        assert hall.now - back >= 60
        for agent in (referee, *players):
            first, second = agent.got("ROUND_ANNOUNCEMENT")
            assert first.params["matches"] == second.params["matches"]
            assert second.at == pytest.approx(back, abs=0.1)
        assert {one.attempt for one in hall.league.matches.values() if one.round_id == 1} == {1}


@in_virtual_time
async def test_a_round_whose_matches_had_begun_is_not_announced_again(tmp_path: Path) -> None:
    async with Hall(tmp_path, announce_lead=60.0) as hall:
        referee, *players = await hall.scripted_league(capacity=1)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await again(hall)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2, seconds=1)
        await referee.report("R1M1")
        # The other match of the round waits for no second lead.
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 3, seconds=1)
        assert all(len(one.got("ROUND_ANNOUNCEMENT")) == 1 for one in (referee, *players))


@in_virtual_time
async def test_a_paused_league_is_paused_after_a_restart_and_what_was_in_play_is_played_to_its_end(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(capacity=1)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await hall.operate("pause", reason="lunch")
        await again(hall)
        assert (await hall.operate("status"))["paused"] is True
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2, seconds=1)
        await referee.report("R1M1")
        await asyncio.sleep(600)
        assert len(referee.got("MATCH_ASSIGNMENT")) == 2
        await hall.operate("resume", reason="lunch is over")
        await report_all(hall, referee)


@in_virtual_time
async def test_the_end_of_a_round_that_not_everybody_heard_of_is_told_again_with_the_table_before_it(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, first, *others = await hall.scripted_league()
        first.replies = {"LEAGUE_STANDINGS_UPDATE": silent, "ROUND_COMPLETED": silent}
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        await referee.report("R1M1")
        await referee.report("R1M2")
        await hall.until(lambda: all(one.got("ROUND_COMPLETED") for one in others))
        await hall.crash()
        first.replies = {}
        await hall.restart()
        back = hall.now
        await hall.until(lambda: all(one.got("ROUND_COMPLETED") for one in (first, *others)))
        for player in (first, *others):
            told = [one for one in since(player, back) if one.kind != "ROUND_ANNOUNCEMENT"]
            assert [one.kind for one in told] == ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"]
            assert told[1].params["round_id"] == 1
            assert [row["points"] for row in told[0].params["standings"]] == [3, 3, 0, 0]
        # Now everybody knows, and that is known as well.
        await hall.until(lambda: hall.log.content.documents["told"] == b"1")
        await again(hall)
        back = hall.now
        await asyncio.sleep(5)
        assert [one.kind for one in since(first, back)] == ["LEAGUE_STANDINGS_UPDATE"]


@in_virtual_time
async def test_a_result_that_not_everybody_heard_of_is_in_the_table_that_follows_a_restart(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, first, *_ = await hall.scripted_league()
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        hall.network.close(first.url)
        await referee.report("R1M1")
        await hall.crash()
        hall.network.listen(first.url, first.handle)
        await hall.restart()
        await hall.until(lambda: first.got("LEAGUE_STANDINGS_UPDATE"), seconds=2)
        assert first.got("LEAGUE_STANDINGS_UPDATE")[-1].params["standings"][0]["points"] == 3


@in_virtual_time
async def test_the_leagues_end_is_told_until_everybody_knows_and_then_no_more(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, first, second = await hall.scripted_league(players=2)
        first.replies = {"LEAGUE_COMPLETED": silent}
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await referee.report("R1M1")
        await hall.until(lambda: first.got("LEAGUE_COMPLETED"))
        assert (await hall.operate("status"))["everybody_told"] is False
        await hall.crash()
        first.replies = {}
        await hall.restart()
        back = hall.now
        await hall.end(1)
        assert (await hall.operate("status"))["everybody_told"] is True
        for agent in (referee, first, second):
            assert since(agent, back)[-1].kind == "LEAGUE_COMPLETED"
        await again(hall)
        await hall.end(0.1)
        assert (await hall.operate("status"))["everybody_told"] is True
        assert [len(one.got("LEAGUE_COMPLETED")) for one in (referee, first, second)] == [2, 2, 2]


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_who_comes_back_after_the_end_hears_of_it(tmp_path: Path, role: str) -> None:
    async with Hall(tmp_path) as hall:
        referee, player, _ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        gone = player if role == "player" else referee
        await referee.report("R1M1")
        hall.network.close(gone.url)
        await hall.end()
        hall.network.listen(gone.url, gone.handle)
        assert gone.got("LEAGUE_COMPLETED") == []
        assert (await hall.register(role, 1, auth_token=gone.token))["result"]["status"] == "ACCEPTED"
        await hall.until(lambda: gone.got("LEAGUE_COMPLETED"), seconds=1)


@pytest.mark.parametrize("role", ["player", "referee"])
@in_virtual_time
async def test_who_came_back_after_the_end_hears_of_it_from_the_next_manager_if_that_one_went_down(
    tmp_path: Path, role: str
) -> None:
    async with Hall(tmp_path) as hall:
        referee, player, other = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await referee.report("R1M1")
        await hall.end()
        await hall.quiet()
        back = player if role == "player" else referee
        back.replies = {"LEAGUE_COMPLETED": silent}
        assert (await hall.register(role, 1, auth_token=back.token))["result"]["status"] == "ACCEPTED"
        await hall.until(lambda: len(back.got("LEAGUE_COMPLETED")) == 2, seconds=1)
        back.replies = {}
        await again(hall)
        await hall.until(lambda: len(back.got("LEAGUE_COMPLETED")) == 3, seconds=1)
        assert len(other.got("LEAGUE_COMPLETED")) == 1


_STRANGER = b'{"jsonrpc":"2.0","id":1,"error":{"code":3001,"message":"?","data":{"error_code":"E012"}}}'


@pytest.mark.parametrize("at_first", [silent, raw(_STRANGER)], ids=["did not answer", "did not know its manager yet"])
@in_virtual_time
async def test_who_has_not_taken_note_of_the_end_is_told_again_and_nobody_waits_for_it(
    tmp_path: Path, at_first: Reply
) -> None:
    async with Hall(tmp_path) as hall:
        referee, first, second = await hall.scripted_league(players=2)
        first.replies = {"LEAGUE_COMPLETED": at_first}
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await referee.report("R1M1")
        await hall.end(11)
        assert (await hall.operate("status"))["everybody_told"] is True
        # To one that refuses the manager's token it was sent without one, too.
        before = 1 if at_first is silent else 2
        assert len(first.got("LEAGUE_COMPLETED")) == before
        first.replies = {}
        await hall.until(lambda: len(first.got("LEAGUE_COMPLETED")) == before + 1, seconds=31)
        await asyncio.sleep(DAY)
        assert [len(one.got("LEAGUE_COMPLETED")) for one in (referee, first, second)] == [1, before + 1, 1]
        await again(hall)
        await hall.end(0.1)
        assert len(first.got("LEAGUE_COMPLETED")) == before + 1


@in_virtual_time
async def test_who_never_answers_is_not_told_of_the_end_for_ever(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, first, _ = await hall.scripted_league(players=2)
        first.replies = {"LEAGUE_COMPLETED": silent}
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await referee.report("R1M1")
        await asyncio.sleep(DAY)
        assert len(first.got("LEAGUE_COMPLETED")) == 6
        await again(hall)
        await hall.end(0.1)
        assert len(first.got("LEAGUE_COMPLETED")) == 6


# Matches


@in_virtual_time
async def test_a_match_in_play_is_handed_over_again_at_once_under_the_same_attempt(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await again(hall, seconds=3)
        await hall.quiet()
        first, second = [one.params for one in referee.got("MATCH_ASSIGNMENT")]
        assert second | {"timestamp": first["timestamp"]} == first
        assert "result" in await referee.report("R1M1")
        await hall.end()
        assert points(hall) == {"P01": 3, "P02": 0}


@in_virtual_time
async def test_a_match_that_was_assigned_but_not_handed_over_is_handed_over(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        hall.network.close(referee.url)
        await hall.until(lambda: hall.league.matches["R1M1"].in_play)
        await hall.crash()
        hall.network.listen(referee.url, referee.handle)
        await hall.restart()
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"), seconds=1)
        assert referee.got("MATCH_ASSIGNMENT")[0].params["attempt"] == 1
        assert hall.league.matches["R1M1"].voids == 0


@in_virtual_time
async def test_the_time_that_the_manager_was_down_is_not_the_referees(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await again(hall, seconds=DAY)
        await asyncio.sleep(60)
        match = hall.league.matches["R1M1"]
        assert (match.in_play, match.attempt, match.voids) == (True, 1, 0)
        # But not for ever: what takes longer than it can since then is void as before.
        await hall.until(lambda: match.voids, seconds=200)


@in_virtual_time
async def test_a_report_that_is_repeated_because_its_answer_was_lost_is_not_counted_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=4)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        report = referee.report_of("R1M1")
        assert "result" in await hall.post("report_match_result", report)
        table = points(hall)
        await again(hall)
        assert (await hall.post("report_match_result", report))["error"]["code"] == 5003
        assert points(hall) == table
        await report_all(hall, referee)
        assert sum(points(hall).values()) == 18


@in_virtual_time
async def test_an_attempt_that_was_void_stays_void(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        late = referee.report_of("R1M1")
        void = {"league_id": LEAGUE, "round_id": 1, "match_id": "R1M1", "attempt": 1, "reason": "late itself"}
        await hall.post("report_match_void", referee.message("MATCH_VOID_REPORT", **void))
        await again(hall)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT")[-1].params["attempt"] == 2, seconds=6)
        assert (await hall.post("report_match_result", late))["error"]["data"]["error_code"] == "E050"
        assert "result" in await referee.report("R1M1")


@in_virtual_time
async def test_a_manager_that_cannot_read_who_was_told_tells_all_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random", referees=1)
        await hall.operate("start")
        await hall.end()
        await hall.crash()
        hall.log.content.documents[NOTIFIED_KEY] = b"zzz"
        before = len(hall.sent("LEAGUE_COMPLETED"))
        await hall.restart()
        await hall.end()
        assert len(hall.sent("LEAGUE_COMPLETED")) > before


# Everybody


@in_virtual_time
async def test_who_went_down_with_the_manager_has_the_time_to_come_back(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await hall.crash()
        for agent in (referee, *players):
            hall.network.close(agent.url)
        await hall.restart()
        await asyncio.sleep(MAX_RETURN_SECONDS - 10)
        hall.network.listen(referee.url, referee.handle)
        await asyncio.sleep(5)
        # A match is not taken up before its players are there.
        assert len(referee.got("MATCH_ASSIGNMENT")) == 1
        for player in players:
            hall.network.listen(player.url, player.handle)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2, seconds=1)
        match = hall.league.matches["R1M1"]
        assert (match.in_play, match.attempt, match.voids) == (True, 1, 0)
        assert [one.failures for one in hall.league.players.values()] == [0, 0]


@in_virtual_time
async def test_who_does_not_come_back_holds_the_league_up_no_longer_than_that(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        lost, other, *_, absent = await hall.scripted_league(players=4, referees=2)
        await hall.until(lambda: lost.got("MATCH_ASSIGNMENT") and other.got("MATCH_ASSIGNMENT"))
        await hall.crash()
        hall.network.close(lost.url)
        hall.network.close(absent.url)
        await hall.restart()
        back = hall.now
        await hall.until(lambda: hall.league.referees[lost.id].lost)
        assert MAX_RETURN_SECONDS < hall.now - back < MAX_RETURN_SECONDS + 10
        await hall.until(lambda: len({one.params["match_id"] for one in other.got("MATCH_ASSIGNMENT")}) == 2)
        await report_all(hall, other)
        await hall.end()


@pytest.mark.parametrize("pong", [{"player_id": None}, {"player_id": "P02"}], ids=["nobody yet", "another"])
@in_virtual_time
async def test_who_says_that_it_is_nobody_yet_or_another_is_not_there_yet(tmp_path: Path, pong: Any) -> None:
    async def ponging(agent: Scripted, call: Any) -> Any:
        return pong

    async with Hall(tmp_path) as hall:
        referee, player, _ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        player.replies = {"ping": ponging}
        await again(hall)
        await asyncio.sleep(10)
        assert len(referee.got("MATCH_ASSIGNMENT")) == 1
        player.replies = {}
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2, seconds=1)


@in_virtual_time
async def test_a_referee_that_does_not_know_its_manager_yet_is_asked_again_and_keeps_its_attempt(
    tmp_path: Path,
) -> None:
    refusal = {"code": 3001, "message": "Invalid token", "data": {"error_code": "E012"}}
    refused: list[str] = []

    async def refusing(body: bytes, peer: Peer) -> bytes | None:
        call = json.loads(body)
        if call["method"] != "start_match":
            return await referee.handle(body, peer)
        refused.append(call["params"]["match_id"])
        return json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": refusal}).encode()

    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        hall.network.close(referee.url)
        hall.network.listen(referee.url, refusing)
        await again(hall)
        await hall.until(lambda: len(refused) == 3, seconds=10)
        hall.network.close(referee.url)
        hall.network.listen(referee.url, referee.handle)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2, seconds=5)
        assert hall.league.matches["R1M1"].voids == 0


@in_virtual_time
async def test_a_player_that_comes_back_at_another_port_in_the_middle_of_a_match_is_found_there(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("always_even", "always_odd", referees=1)
        gone = hall.players[0]
        hall.network.close(url_of("player", 1))
        await hall.operate("start")
        await hall.until(lambda: hall.league.matches["R1M1"].in_play)
        await asyncio.sleep(3)
        moved = PlayerAgent(gone.player, hall.world("moved"), MANAGER_URL, url_of("player", 9), seed=1)
        hall.players.append(moved)
        hall.network.listen(url_of("player", 9), moved.handle)
        assert (await moved.register()).auth_token == gone.identity.auth_token  # type: ignore[union-attr]
        await hall.end()
        (match,) = hall.league.matches.values()
        assert match.result is not None
        assert match.result.details.choices == {"P01": "even", "P02": "odd"}


@in_virtual_time
async def test_a_league_that_was_kept_nowhere_is_begun_anew_under_its_name_and_with_the_files_of_its_agents(
    tmp_path: Path,
) -> None:
    for tokens_seed in range(2):
        async with Hall(tmp_path) as hall:
            hall._random.seed(tokens_seed)
            await hall.fill("always_even", "always_odd", referees=1)
            assert not any(player.history for player in hall.players)
            await hall.operate("start")
            await hall.end(60)


@in_virtual_time
async def test_a_referee_whose_managers_place_another_league_has_taken_waits_for_its_own(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("always_even", "always_odd", referees=1)
        referee = hall.referees[0]
        own = referee.registrar.identity
        await hall.crash()
        other = Hall(tmp_path / "other", league_id="another_league")
        other.network = hall.network
        async with other:
            renewing = asyncio.create_task(referee.registrar.renew(own.auth_token))  # type: ignore[union-attr]
            await asyncio.sleep(60)
            assert not renewing.done()
            assert other.league.referees == {}
            await other.crash()
            await hall.restart()
            await renewing
        assert referee.registrar.identity == own


# Whole leagues of real agents

STRATEGIES = ("random", "frequency", "history_based", "alternating", "always_even", "random")


class _Mortal(MemoryLog):
    """A log that writes each append by itself, and dies at one, before or after the write: nobody hears of either."""

    def __init__(self, content: MemoryLogContent | None = None, at: int = 0, *, written: bool = False) -> None:
        super().__init__(content)
        self._left = at
        self._written = written
        self.died = asyncio.Event()

    def _commit(self) -> None:
        all_waiting = self._waiting
        for one in all_waiting:
            self._left -= 1
            if self._left == 0:
                if self._written:
                    self.content.events += one[1]
                self.died.set()
            if self.died.is_set():
                return
            self._waiting = [one]
            super()._commit()


async def _table(root: Path, at: int, *, written: bool) -> tuple[dict[str, int], int]:
    """The table of a league of six whose manager is killed at a write, and how many writes there were before."""
    log = _Mortal(at=at, written=written)
    async with Hall(root, log=log) as hall:
        hall.manager.runner.start_when = (6, 2)
        filling = asyncio.create_task(hall.fill(*STRATEGIES))
        dying = asyncio.create_task(log.died.wait())
        await asyncio.wait([dying, hall.running], return_when=asyncio.FIRST_COMPLETED)  # type: ignore[type-var]
        if log.died.is_set():
            await hall.crash()
            await hall.restart()
            hall.manager.runner.start_when = (6, 2)
            hall.manager.runner.wake()
        dying.cancel()
        await filling
        await hall.end()
        matches = hall.league.matches.values()
        assert len(matches) == 15
        assert [(one.attempt, one.voids) for one in matches if one.ended_at is not None] == [(1, 0)] * 15
        for agent in (*hall.players, *hall.referees):
            async with asyncio.timeout(60):
                await agent.finished.wait()
        assert not hall.faults()
        return points(hall), -log._left


@pytest.mark.parametrize("written", [False, True], ids=["before", "after"])
def test_a_manager_that_is_killed_at_some_writes_of_its_log_comes_to_the_same_table(
    tmp_path: Path, *, written: bool
) -> None:
    # Every one of them is tried by tests/sim/test_every_write.py.
    undisturbed, writes = run(_table(tmp_path / "0", 0, written=written))
    assert writes > 30
    # The first makes the league. A manager that dies then has not begun.
    for at in range(2, writes + 1, 6):
        table, _ = run(_table(tmp_path / str(at), at, written=written))
        assert table == undisturbed, f"killed at write {at}"
