"""The runner of the league: rounds, announcements, assignments, standings, and lost referees."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from leaguekit.league import queries
from leaguekit.league.commands import rounds
from leaguekit.league.events import ResultRecorded, decode
from leaguekit.manager import operator_queries
from leaguekit.manager.rounds import league_runner
from leaguekit.manager.rounds.assignments import max_match_seconds
from leaguekit.manager.rounds.league_runner import VOID_PAUSES
from leaguekit.protocol import times, tokens
from leaguekit.protocol.messages import TimeLimits
from tests.agents.leagues import (
    BROADCASTS,
    LEAGUE,
    MANAGER_URL,
    Exchange,
    Gate,
    Hall,
    Scripted,
    after,
    changed,
    drawn,
    in_virtual_time,
    lost_by_silence,
    raw,
    silent,
    url_of,
    won,
)
from tests.marks import proves

STRATEGIES = ("random", "always_even", "always_odd", "frequency")


async def played(hall: Hall, *strategies: str, referees: int = 2, max_concurrent: int = 10) -> Hall:
    await hall.fill(*strategies, referees=referees, max_concurrent=max_concurrent)
    await hall.operate("start")
    await hall.end()
    return hall


async def finish(hall: Hall, referee: Scripted) -> None:
    """Let a scripted referee report all its matches as won by side A, to the end of the league."""
    while hall.league.state == "RUNNING_LEAGUE":
        for match in [one for one in hall.league.matches.values() if one.in_play]:
            await referee.report(match.id)
        await asyncio.sleep(0.1)
    await hall.end()


def points(hall: Hall) -> dict[str, int]:
    return {row.player_id: row.points for row in queries.standings(hall.league)}


# A whole league


@in_virtual_time
async def test_a_whole_league_is_played_and_every_message_of_it_is_as_the_schemas_want_it(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await played(hall, *STRATEGIES)
        await hall.referees[0].finished.wait()
        asked = Scripted(hall, "player", 1, {})
        asked.id, asked.token = "P01", str(hall.players[0].identity.auth_token)  # type: ignore[union-attr]
        assert "result" in await asked.query("GET_STANDINGS")
        assert "error" in await asked.query("GET_STANDINGS", auth_token="tok-p01-wrong")
        assert hall.faults() == []
        assert not any(one.failure for one in hall.wire)
        registered = hall.sent("REFEREE_REGISTER_REQUEST", "LEAGUE_REGISTER_REQUEST")
        assert [one.answer["result"]["status"] for one in registered if one.answer] == ["ACCEPTED"] * 6
        assert {one.answer["result"]["parity_choice"] for one in hall.sent("CHOOSE_PARITY_CALL") if one.answer} == {
            "even",
            "odd",
        }
        answers = {
            "REFEREE_REGISTER_REQUEST": "REFEREE_REGISTER_RESPONSE",
            "LEAGUE_REGISTER_REQUEST": "LEAGUE_REGISTER_RESPONSE",
            "ROUND_ANNOUNCEMENT": "ROUND_ANNOUNCEMENT_ACK",
            "GAME_INVITATION": "GAME_JOIN_ACK",
            "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
            "GAME_OVER": "GAME_OVER_ACK",
            "MATCH_RESULT_REPORT": "MATCH_RESULT_ACK",
            "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
            "ROUND_COMPLETED": "ROUND_COMPLETED_ACK",
            "LEAGUE_COMPLETED": "LEAGUE_COMPLETED_ACK",
            "LEAGUE_QUERY": "LEAGUE_QUERY_RESPONSE",
        }
        by = {
            "REFEREE_REGISTER_REQUEST": ("referee", "league"),
            "LEAGUE_REGISTER_REQUEST": ("player", "league"),
            "ROUND_ANNOUNCEMENT": ("manager", "everybody"),
            "GAME_INVITATION": ("referee", "player"),
            "CHOOSE_PARITY_CALL": ("referee", "player"),
            "GAME_OVER": ("referee", "player"),
            "MATCH_RESULT_REPORT": ("referee", "league"),
            "LEAGUE_STANDINGS_UPDATE": ("manager", "player"),
            "ROUND_COMPLETED": ("manager", "everybody"),
            "LEAGUE_COMPLETED": ("manager", "everybody"),
            "LEAGUE_QUERY": ("test", "league"),
        }
        urls = {
            "league": [MANAGER_URL],
            "player": [url_of("player", number) for number in range(1, 5)],
            "everybody": [url_of("player", number) for number in range(1, 5)]
            + [url_of("referee", number) for number in (1, 2)],
        }
        for kind, answer in answers.items():
            exchanges = hall.sent(kind)
            assert exchanges, kind
            assert {one.url for one in exchanges} <= set(urls[by[kind][1]]), kind
            assert {one.by.split()[0] for one in exchanges} == {by[kind][0]}, kind
            came = [(one.answer or {}).get("result", {}).get("message_type") for one in exchanges]
            assert set(came) <= {answer, None}
            assert came.count(None) == (kind == "LEAGUE_QUERY")
            assert all(one.params["protocol"] == "league.v2" for one in exchanges)
        for one in hall.wire:
            if one.kind in BROADCASTS or "LEAGUE_QUERY" in one.kind:
                assert one.params["league_id"] == LEAGUE
            # Players only answer. All requests come from the referee or the manager.
            if one.by.startswith("player"):
                assert one.url == MANAGER_URL
                assert one.method in ("ping", "register_player")


proves(
    test_a_whole_league_is_played_and_every_message_of_it_is_as_the_schemas_want_it,
    "000-L0039", "000-L0042", "000-L0043", "000-L0044", "000-L0045", "000-L0046", "000-L0047", "000-L0070",
    "000-L0382", "000-L0523", "000-L0579", "000-L0749", "000-L0751", "000-L0814", "000-L1380", "000-L1542",
    "000-L1543", "000-L1544", "000-L1548", "000-L1549", "000-L1558", "001-L0007", "001-L1865", "001-L1866",
    "002-L0003", "002-L0024", "002-L0026", "002-L0044", "002-L0083", "002-L0084", "002-L0106", "002-L0136",
    "002-L0137", "002-L0138", "002-L0139", "002-L0244", "003-L0058", "003-L0064", "003-L0069", "003-L0296b",
    "004-L0002", "004-L0145", "004-L0548", "004-L0555", "004-L0557", "004-L0559", "004-L0560", "004-L0573",
    "001-L1972",
)  # fmt: skip


@pytest.mark.proves("002-L0073", "001-L1868")
@in_virtual_time
async def test_requests_are_numbered_by_integers_that_count_up_and_conversations_have_ids_of_their_own(
    tmp_path: Path,
) -> None:
    numbers: list[Any] = []
    async with Hall(tmp_path) as hall:
        recorded = hall.network.tap
        assert recorded is not None

        def tap(caller: Any, url: str, body: bytes, came: Any, when: Any) -> None:
            if hall.manager.world.caller is caller:
                numbers.append(json.loads(body)["id"])
            recorded(caller, url, body, came, when)

        hall.network.tap = tap
        await played(hall, *STRATEGIES)
        assert all(type(number) is int for number in numbers)
        assert len(set(numbers)) == len(numbers)
        of_what = defaultdict(set)
        for one in hall.wire:
            if one.method in ("ping", "operator"):
                continue
            # The messages of a match share one, and so do the copies of a broadcast.
            about = one.params.get("match_id") or (one.kind, one.params.get("round_id"), one.by)
            of_what[one.params["conversation_id"]].add(about)
        assert all(len(about) == 1 for about in of_what.values()), of_what


def place(one: Exchange) -> tuple[float, int]:
    """The position of a broadcast in the right order."""
    return one.params.get("round_id", float("inf")), BROADCASTS.index(one.kind)


def broadcasts_to(hall: Hall, url: str, since: float = 0.0) -> list[Exchange]:
    """The broadcasts to an agent. Checks their order, and that each was sent after the answer to the one before."""
    told = [one for one in hall.sent(*BROADCASTS, to=url) if one.sent >= since]
    assert all(before.ended <= after.sent for before, after in itertools.pairwise(told))
    assert [place(one) for one in told] == sorted(place(one) for one in told)
    return told


def slow(seconds: float, only: tuple[str, ...] = BROADCASTS) -> Gate:
    """Messages of the manager take this long to arrive."""

    async def gate(kind: str) -> None:
        if kind in only:
            await asyncio.sleep(seconds)

    return gate


@pytest.mark.proves("001-L0738", "001-L0742", "000-L0407", "001-L0653", "000-L0456", "001-L0750")
@pytest.mark.parametrize(
    ("players", "referees"),
    [
        ([0, 0, 0, 0], [0, 0]),
        ([0.001] * 4, [0.001, 0.001]),
        ([0, 0.001, 0.03, 1.0], [0.002, 0.5]),
        ([4.0, 0, 0, 9.0], [9.0, 0.001]),
    ],
    ids=["no latency", "1 ms", "each its own", "slow"],
)
@in_virtual_time
async def test_everybody_is_told_of_the_whole_league_in_the_order_in_which_it_was_decided(
    tmp_path: Path, players: list[float], referees: list[float]
) -> None:
    async with Hall(tmp_path) as hall:
        for seconds in referees:
            await hall.referee(gate=slow(seconds))
        for seconds, strategy in zip(players, STRATEGIES, strict=True):
            await hall.player(strategy, slow(seconds))
        await hall.operate("start")
        await hall.end()
        of_round = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"]
        for number in range(1, 5):
            told = broadcasts_to(hall, url_of("player", number))
            # Several updates within a round count as one step.
            steps = [
                (kind, round_id)
                for (round_id, kind), _ in itertools.groupby(
                    told, key=lambda one: (one.params.get("round_id"), one.kind)
                )
            ]
            assert steps == [
                *((kind, round_id) for round_id in (1, 2, 3) for kind in of_round),
                ("LEAGUE_COMPLETED", None),
            ]
            for round_id in (1, 2, 3):
                *_, standings, over = [one for one in told if one.params.get("round_id") == round_id]
                assert (standings.kind, over.kind) == ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED")
                assert sum(row["played"] for row in standings.params["standings"]) == 4 * round_id
        for number in (1, 2):
            told = broadcasts_to(hall, url_of("referee", number))
            assert [(one.kind, one.params.get("round_id")) for one in told] == [
                *((kind, round_id) for round_id in (1, 2, 3) for kind in ("ROUND_ANNOUNCEMENT", "ROUND_COMPLETED")),
                ("LEAGUE_COMPLETED", None),
            ]


@in_virtual_time
async def test_a_slow_agent_delays_its_own_messages_and_nobody_elses(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.referee(gate=slow(7.0))
        await hall.player("random", slow(4.0))
        for _ in range(3):
            await hall.player("random")
        await hall.operate("start")
        await hall.end()
        for round_id in (1, 2, 3):
            over = max(one.ended for one in hall.sent("MATCH_RESULT_REPORT") if one.params["round_id"] == round_id)
            announced = min(one.sent for one in hall.sent("ROUND_ANNOUNCEMENT") if one.params["round_id"] == round_id)
            invited = [one.sent for one in hall.sent("GAME_INVITATION") if one.params["round_id"] == round_id]
            # Its announcement waits for two other answers of 4 seconds each. The round waits for at most 10 seconds.
            assert {round(at - announced, 1) for at in invited} == {4.0 if round_id == 1 else 10.0}
            for number in (2, 3, 4):
                told = broadcasts_to(hall, url_of("player", number))
                ended = [
                    one for one in told if one.params.get("round_id") == round_id and one.kind == "ROUND_COMPLETED"
                ]
                then = told[told.index(ended[0]) + 1]
                assert ended[0].sent == pytest.approx(over, abs=0.02)
                assert then.sent == pytest.approx(over, abs=0.02)
        assert len(broadcasts_to(hall, url_of("player", 1))) >= 10
        assert hall.sent("LEAGUE_COMPLETED", to=url_of("player", 1))[0].sent > over + 10


@in_virtual_time
async def test_the_order_holds_for_who_is_suspended_comes_back_or_leaves(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=6)
        mute, leaver, *others = players
        for number, agent in enumerate([referee, *players]):
            agent.replies = dict.fromkeys(BROADCASTS, after(0.05 * number))
        while hall.league.state == "RUNNING_LEAGUE":
            for match in [one for one in hall.league.matches.values() if one.in_play]:
                if match.round_id == 2 and leaver.id in match.players:
                    await hall.operate("withdraw", player_id=leaver.id, reason="it has to go")
                    continue
                result = None
                if mute.id in match.players and match.round_id in (1, 2):
                    result = lost_by_silence(mute.id, match.opponent_of(mute.id), 5)
                elif mute.id in match.players:
                    result = won(mute.id, match.opponent_of(mute.id), failures=dict.fromkeys(match.players, 0))
                await referee.report(match.id, result)
            await asyncio.sleep(0.3)
        await hall.end()
        for agent in [referee, *players]:
            told = broadcasts_to(hall, agent.url)
            assert told[-1].kind == "LEAGUE_COMPLETED"
        for agent in [referee, *others]:
            over = [one.params["round_id"] for one in agent.got("ROUND_COMPLETED")]
            assert over == [one.params["round_id"] for one in agent.got("ROUND_ANNOUNCEMENT")] == [1, 2, 3, 4, 5]
        assert [one.params["round_id"] for one in leaver.got("ROUND_COMPLETED")] == [1]
        # It was suspended before the end of round 1, and returned with its match of round 3.
        assert [one.params["round_id"] for one in mute.got("ROUND_COMPLETED")] == [3, 4, 5]


@in_virtual_time
async def test_a_round_of_nothing_but_forfeits_is_announced_before_it_is_over(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=4)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        for player in players[:2]:
            await hall.operate("withdraw", player_id=player.id, reason="it has to go")
        await finish(hall, referee)
        assert {one.attempt for one in hall.league.matches.values() if one.round_id == 2} == {0}
        for agent in [referee, *players[2:]]:
            told = broadcasts_to(hall, agent.url)
            assert [one.params["round_id"] for one in told if one.kind == "ROUND_ANNOUNCEMENT"] == [1, 2, 3]


@in_virtual_time
async def test_after_a_restart_of_the_manager_the_order_holds_from_the_first_round_whose_end_not_all_have_heard(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, late, *others = await hall.scripted_league(players=4)
        for agent in [referee, *others]:
            agent.replies = dict.fromkeys(BROADCASTS, after(0.002))
        late.replies = dict.fromkeys(BROADCASTS, after(6.0))
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        for name in ("R1M1", "R1M2"):
            await referee.report(name)
        # The second round has begun, and one agent has not even got its announcement.
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 4)
        assert [one.params["round_id"] for one in late.got("ROUND_ANNOUNCEMENT")] == [1]
        await hall.crash()
        restarted = hall.now
        await hall.restart()
        await finish(hall, referee)
        for agent in [referee, late, *others]:
            told = broadcasts_to(hall, agent.url, since=restarted)
            assert next(one for one in told if one.kind == "ROUND_COMPLETED").params["round_id"] == 1
            assert told[-1].kind == "LEAGUE_COMPLETED"
        for agent in [late, *others]:
            heard = [one.params["round_id"] for one in agent.got("ROUND_ANNOUNCEMENT") if one.at >= restarted]
            assert heard == [2, 3]


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
@in_virtual_time
async def test_the_same_seed_and_players_give_the_same_table_whatever_the_concurrency(
    tmp_path: Path, game: str
) -> None:
    tables = []
    for concurrent, referees in ((1, 1), (10, 1), (10, 3)):
        async with Hall(tmp_path / f"{concurrent}-{referees}", game_type=game) as hall:
            await played(hall, *["random"] * 7, referees=referees, max_concurrent=concurrent)
            tables.append([(row.player_id, row.points, row.wins, row.draws) for row in queries.standings(hall.league)])
    assert tables[0] == tables[1] == tables[2]
    assert len({wins for _, _, wins, _ in tables[0]}) > 1


@in_virtual_time
async def test_a_league_starts_by_itself_when_enough_have_come(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        hall.manager.runner.start_when = (2, 1)
        leaver = await hall.scripted("player", 1)
        await hall.operate("withdraw", player_id=leaver.id, reason="changed its mind")
        hall.network.close(leaver.url)
        await hall.scripted("referee", 1)
        await hall.scripted("player", 2)
        await asyncio.sleep(60)
        # One player has left again, and one player is not enough.
        assert hall.league.state == "WAITING_FOR_REGISTRATIONS"
        await hall.scripted("player", 3)
        await hall.until(lambda: hall.league.state == "RUNNING_LEAGUE", seconds=1)
        assert list(hall.league.table.rows) == ["P02", "P03"]


@in_virtual_time
async def test_a_league_with_too_many_matches_does_not_start_by_itself_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (league_runner, operator_queries, rounds):
        monkeypatch.setattr(module, "MAX_MATCHES", 2)
    async with Hall(tmp_path) as hall:
        for number in (1, 2, 3):
            await hall.scripted("player", number)
        hall.manager.runner.start_when = (2, 1)
        await hall.scripted("referee", 1)
        await asyncio.sleep(60)
        assert hall.league.is_open
        shown = await hall.operate("status")
        assert shown["waits_for"] == ["the operator: 3 matches are more than 2 (withdraw players)"]
        await hall.operate("withdraw", player_id="P02", reason="too many")
        await hall.until(lambda: hall.league.state == "RUNNING_LEAGUE", seconds=1)


@in_virtual_time
async def test_who_took_the_place_of_one_that_left_is_told_of_the_end_once(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        leaver = await hall.scripted("player", 1)
        await hall.operate("withdraw", player_id=leaver.id, reason="changed its mind")
        hall.network.close(leaver.url)
        referee = await hall.scripted("referee", 1)
        heir, _ = [await hall.scripted("player", number) for number in (1, 2)]
        assert (heir.url, heir.id) == (leaver.url, "P02")
        await hall.operate("start")
        await hall.until(lambda: hall.league.matches["R1M1"].in_play)
        await referee.report("R1M1")
        await hall.end()
        assert len(heir.got("LEAGUE_COMPLETED")) == 1


@in_virtual_time
async def test_what_changes_outside_the_log_is_looked_at_when_told_so(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("referee", 1)
        for number in (1, 2):
            await hall.scripted("player", number)
        await asyncio.sleep(60)
        assert hall.league.state == "WAITING_FOR_REGISTRATIONS"
        hall.manager.runner.start_when = (0, 0)
        hall.manager.runner.wake()
        await hall.quiet()
        assert hall.league.state == "RUNNING_LEAGUE"


# Announcements


@pytest.mark.proves("000-L0322", "001-L0370", "002-L0124", "003-L0158a", "004-L0109", "004-L0113", "004-L0552")
@in_virtual_time
async def test_every_player_and_referee_is_told_of_each_round_before_it_is_played(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=4)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        for player in players:
            told = player.got("ROUND_ANNOUNCEMENT")[0].params
            assert told["sender"] == "league_manager"
            assert (told["league_id"], told["round_id"]) == (LEAGUE, 1)
            assert told["matches"] == [
                {
                    "match_id": f"R1M{number}",
                    "game_type": "even_odd",
                    "player_A_id": a,
                    "player_B_id": b,
                    "referee_endpoint": referee.url,
                }
                for number, (a, b) in enumerate([("P01", "P02"), ("P03", "P04")], 1)
            ]
        copy = referee.got("ROUND_ANNOUNCEMENT")[0].params["matches"]
        assert [one["referee_id"] for one in copy] == ["REF01", "REF01"]
        assert [(one["player_A_endpoint"], one["player_B_endpoint"]) for one in copy] == [
            (players[0].url, players[1].url),
            (players[2].url, players[3].url),
        ]
        await finish(hall, referee)
        for agent in [referee, *players]:
            assert [one.params["round_id"] for one in agent.got("ROUND_ANNOUNCEMENT")] == [1, 2, 3]


@pytest.mark.proves("000-L0325", "000-L0395")
@in_virtual_time
async def test_each_rounds_announcement_comes_the_whole_lead_before_its_first_match(tmp_path: Path) -> None:
    async with Hall(tmp_path, announce_lead=60.0) as hall:
        await played(hall, *STRATEGIES)
        for round_id in (1, 2, 3):
            announced = [one.sent for one in hall.sent("ROUND_ANNOUNCEMENT") if one.params["round_id"] == round_id]
            began = [one.sent for one in hall.sent("GAME_INVITATION") if one.params["round_id"] == round_id]
            assert len(announced) == 6
            assert max(announced) + 60 <= min(began)
            assert min(began) < max(announced) + 61


@pytest.mark.proves("000-L0325", "000-L0395")
@pytest.mark.parametrize(
    ("seconds", "begins"),
    [
        # A player that gets the announcement late has the whole lead nevertheless.
        ({"player": 7.0, "referee": 0.0}, 67),
        ({"player": 0.0, "referee": 7.0}, 67),
        ({"player": 0.0, "referee": 0.0}, 60),
        # A player that never answers delays the round, but not longer than the lead of the others.
        ({"player": 11.0, "referee": 0.0}, 60),
    ],
)
@in_virtual_time
async def test_who_answers_the_announcement_has_the_whole_lead_from_receiving_it(
    tmp_path: Path, seconds: dict[str, float], begins: float
) -> None:
    received: dict[str, float] = {}
    async with Hall(tmp_path, announce_lead=60.0) as hall:

        def gate(name: str, travels: float) -> Gate:
            async def passes(kind: str) -> None:
                if kind == "ROUND_ANNOUNCEMENT":
                    await asyncio.sleep(travels)
                    received.setdefault(name, hall.now)

            return passes

        await hall.referee(gate=gate("referee", seconds["referee"]))
        await hall.player("random", gate("player", seconds["player"]))
        await hall.player("random", gate("other", 0.001))
        await hall.operate("start")
        await hall.until(lambda: hall.sent("GAME_INVITATION"))
        invited = hall.sent("GAME_INVITATION")[0].sent
        assert invited == pytest.approx(begins, abs=0.02)
        for name, at in received.items():
            assert invited - at >= 60 or seconds.get(name, 0) > 10


@in_virtual_time
async def test_an_answer_after_ten_seconds_delays_no_match_by_more_than_ten_seconds(tmp_path: Path) -> None:
    async with Hall(tmp_path, announce_lead=60.0) as hall:
        referee, late, *_ = await hall.scripted_league(players=4)
        late.replies = dict.fromkeys(("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"), after(9))
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        for name in ("R1M1", "R1M2"):
            await referee.report(name)
        over = hall.now
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 4)
        announced = late.got("ROUND_ANNOUNCEMENT")[1].at
        assert announced - over > 10
        assert referee.got("MATCH_ASSIGNMENT")[2].at - over == pytest.approx(70, abs=0.05)


@pytest.mark.proves("001-L0373", "001-L0498", "001-L0499")
@in_virtual_time
async def test_matches_begin_when_the_last_player_has_answered_the_announcement(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee = await hall.scripted("referee", 1, {"ROUND_ANNOUNCEMENT": silent})
        await hall.scripted("player", 1)
        await hall.scripted("player", 2, {"ROUND_ANNOUNCEMENT": after(7)})
        await hall.operate("start")
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        # The round does not wait for referees.
        assert referee.got("MATCH_ASSIGNMENT")[0].at == pytest.approx(7, abs=0.02)


@pytest.mark.proves("001-L0373", "001-L0498")
@in_virtual_time
async def test_matches_wait_no_longer_than_10_seconds_for_a_player(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee = await hall.scripted("referee", 1)
        await hall.scripted("player", 1, {"ROUND_ANNOUNCEMENT": silent})
        await hall.scripted("player", 2)
        await hall.operate("start")
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        assert referee.got("MATCH_ASSIGNMENT")[0].at == pytest.approx(10, abs=0.02)
        assert hall.league.players["P01"].failures == 1


@in_virtual_time
async def test_a_player_whose_broadcasts_take_10_seconds_delays_matches_by_its_announcement_only(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:

        async def gate(kind: str) -> None:
            if kind in BROADCASTS:
                await asyncio.sleep(10)

        await hall.referee()
        await hall.player("random", gate)
        for _ in range(7):
            await hall.player("random")
        await hall.operate("start")
        await hall.end()
        announced: dict[int, float] = {}
        for one in hall.sent("ROUND_ANNOUNCEMENT"):
            announced.setdefault(one.params["round_id"], one.sent)
        for invitation in hall.sent("GAME_INVITATION"):
            waited = invitation.sent - announced[invitation.params["round_id"]]
            assert waited <= 10.02
        assert any(one.failure is not None for one in hall.sent(*BROADCASTS, to=url_of("player", 1)))
        # No result waited for a broadcast. Each match was played at once when it was assigned.
        for assignment in hall.sent("MATCH_ASSIGNMENT"):
            over = [one for one in hall.sent("GAME_OVER") if one.params["match_id"] == assignment.params["match_id"]]
            assert all(one.sent - assignment.sent < 0.1 for one in over)


@in_virtual_time
async def test_while_a_player_is_suspended_no_round_waits_for_it(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, mute, *_ = await hall.scripted_league(players=6)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        mute.replies = dict.fromkeys(BROADCASTS, silent)
        began = hall.now
        for match in [one for one in hall.league.matches.values() if one.round_id == 1]:
            result = lost_by_silence("P01", match.opponent_of("P01"), 5) if "P01" in match.players else None
            await referee.report(match.id, result)
        assert hall.league.players["P01"].state == "SUSPENDED"
        while hall.league.state == "RUNNING_LEAGUE":
            for match in [one for one in hall.league.matches.values() if one.in_play]:
                result = lost_by_silence("P01", match.opponent_of("P01"), 1) if "P01" in match.players else None
                await referee.report(match.id, result)
            await asyncio.sleep(0.01)
        assert hall.now - began < 1
        assert len(mute.got("ROUND_ANNOUNCEMENT")) == 1


# Standings and ends


@in_virtual_time
async def test_all_players_are_sent_the_standings_after_each_result_within_seconds(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=6)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 3)
        for number in (1, 2, 3):
            await asyncio.sleep(5)
            reported_at = hall.now
            await referee.report(f"R1M{number}")
            await asyncio.sleep(1)
            for player in players:
                update = player.got("LEAGUE_STANDINGS_UPDATE")[-1]
                assert update.at - reported_at < 5
                assert update.params["sender"] == "league_manager"
                assert update.params["round_id"] == 1
                assert update.params["total_players"] == 6
                assert len(update.params["standings"]) == 6
                assert sum(row["played"] for row in update.params["standings"]) == 2 * number
                assert sum(row["points"] for row in update.params["standings"]) == 3 * number
        kinds = [one.kind for one in players[0].arrived if one.params["round_id"] == 1]
        assert kinds == ["ROUND_ANNOUNCEMENT", *["LEAGUE_STANDINGS_UPDATE"] * 3, "ROUND_COMPLETED"]


proves(
    test_all_players_are_sent_the_standings_after_each_result_within_seconds,
    "000-L0945", "000-L0951", "000-L0954", "000-L1016", "000-L1021", "000-L1554", "001-L0505", "001-L0507",
    "001-L1468", "002-L0126", "003-L0164a", "003-L0164b", "004-L0266", "004-L0298", "004-L0561",
)  # fmt: skip


@in_virtual_time
async def test_within_a_round_a_player_is_sent_standings_at_most_once_a_second(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=20)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 10)
        for number in range(1, 11):
            await referee.report(f"R1M{number}")
            await asyncio.sleep(0.15)
        await asyncio.sleep(0.1)
        for player in players:
            updates = player.got("LEAGUE_STANDINGS_UPDATE")
            played_then = [sum(row["played"] for row in one.params["standings"]) // 2 for one in updates]
            # The first is sent at once, the newest a second later, and the last one at the end of the round.
            assert played_then == [1, 7, 10]
            assert updates[1].at - updates[0].at == pytest.approx(1)
            assert updates[2].at - updates[1].at < 1
            assert updates[2].at <= player.got("ROUND_COMPLETED")[0].at


@in_virtual_time
async def test_a_rounds_end_is_told_at_once_to_players_and_referees_and_its_summary_adds_up(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, idle, *players = await hall.scripted_league(players=6, referees=2)
        await hall.until(lambda: len(referee.arrived) + len(idle.arrived) == 5)
        by_match = {one.params["match_id"]: agent for agent in (referee, idle) for one in agent.got("MATCH_ASSIGNMENT")}
        await by_match["R1M1"].report("R1M1")
        match = hall.league.matches["R1M2"]
        await by_match["R1M2"].report("R1M2", drawn(*match.players))
        match = hall.league.matches["R1M3"]
        ended_at = hall.now
        await by_match["R1M3"].report("R1M3", lost_by_silence(*match.players, 1))
        await hall.quiet()
        for agent in (referee, idle, *players):
            told = agent.got("ROUND_COMPLETED")[0]
            assert told.at - ended_at < 1
            assert told.params["sender"] == "league_manager"
            assert told.params["league_id"] == LEAGUE
            assert told.params["round_id"] == 1
            assert told.params["next_round_id"] == 2
            assert told.params["matches_completed"] == told.params["matches_played"] == 3
            assert told.params["summary"] == {"total_matches": 3, "wins": 1, "draws": 1, "technical_losses": 1}
        for player in players:
            *_, standings, ended = [one for one in player.arrived if one.params["round_id"] == 1]
            assert (standings.kind, ended.kind) == ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED")
            assert sum(row["played"] for row in standings.params["standings"]) == 6


proves(
    test_a_rounds_end_is_told_at_once_to_players_and_referees_and_its_summary_adds_up,
    "000-L0404", "000-L0407", "001-L0651", "001-L0653", "001-L1468", "002-L0125", "004-L0338", "004-L0342",
    "004-L0553",
)  # fmt: skip


@in_virtual_time
async def test_the_leagues_end_is_told_last_to_players_and_referees(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=4)
        players[0].replies = {"ROUND_COMPLETED": after(5)}
        await finish(hall, referee)
        assert hall.manager.runner.play_status()["everybody_told"] is True
        for agent in (referee, *players):
            assert [one.kind for one in agent.arrived].count("LEAGUE_COMPLETED") == 1
            told = agent.arrived[-1].params
            assert told["message_type"] == "LEAGUE_COMPLETED"
            assert told["sender"] == "league_manager"
            assert (told["total_rounds"], told["total_matches"], told["total_players"]) == (3, 6, 4)
            table = told["final_standings"]
            assert told["champion"] == {name: table[0][name] for name in ("player_id", "display_name", "points")}
            assert [(row["rank"], row["player_id"], row["points"]) for row in table] == [
                (rank, player, score) for rank, (player, score) in enumerate(points(hall).items(), 1)
            ]
        ends = [one for one in players[0].arrived if one.kind == "ROUND_COMPLETED"]
        # The others got the end at once. This one gets it after all its other messages.
        assert players[0].arrived[-1].at == pytest.approx(ends[-1].at + 5)
        assert players[1].arrived[-1].at < ends[-1].at + 1
        # The manager goes on answering.
        assert "result" in await players[0].query("GET_STANDINGS")


proves(
    test_the_leagues_end_is_told_last_to_players_and_referees,
    "000-L0453", "000-L0455", "000-L0456", "001-L0748", "001-L0750", "002-L0127", "004-L0372", "004-L0373",
    "004-L0376", "004-L0554",
)  # fmt: skip


@in_virtual_time
async def test_in_a_long_table_every_player_finds_its_own_row_during_the_league_and_at_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("leaguekit.league.standings.MAX_STANDINGS", 3)
    async with Hall(tmp_path) as hall:
        referee, *players = await hall.scripted_league(players=6)
        await finish(hall, referee)
        for player in players:
            shown = [one.params["standings"] for one in player.got("LEAGUE_STANDINGS_UPDATE")]
            shown.append(player.got("LEAGUE_COMPLETED")[0].params["final_standings"])
            for rows in shown:
                assert len(rows) == 3
                assert [row["rank"] for row in rows[:2]] == [1, 2]
                assert player.id in {row["player_id"] for row in rows[2:]} or rows[2]["rank"] == 3
            assert player.got("LEAGUE_COMPLETED")[0].params["total_players"] == 6
        table = list(points(hall))
        assert len(table) == 3
        last = next(player for player in players if player.id not in table)
        assert last.got("LEAGUE_COMPLETED")[0].params["final_standings"][2]["player_id"] == last.id


# Referees


@in_virtual_time
async def test_an_assignment_carries_all_that_the_referee_needs_and_no_real_token(tmp_path: Path) -> None:
    async with Hall(tmp_path, choice_seconds=12.0) as hall:
        referee, one, other = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        told = referee.got("MATCH_ASSIGNMENT")[0].params
        assert (told["league_id"], told["round_id"], told["match_id"], told["attempt"]) == (LEAGUE, 1, "R1M1", 1)
        assert told["time_limits"]["choice_seconds"] == 12
        key = tokens.signing_key(one.token)
        assert told["player_A"]["player_id"] == one.id
        assert told["player_A"]["endpoint"] == one.url
        assert told["player_A"]["record"] == {"wins": 0, "draws": 0, "losses": 0, "points": 0}
        assert told["player_A"]["shown_token"] == tokens.referee_to_player(key, LEAGUE, "R1M1", 1, "REF01")
        assert told["player_A"]["expected_token"] == tokens.player_to_referee(key, LEAGUE, "R1M1", 1, "REF01")
        assert one.token not in json.dumps(told)
        assert other.token not in json.dumps(told)
        assert told["auth_token"] == tokens.manager_to_agent(tokens.signing_key(referee.token), LEAGUE, "REF01")


@in_virtual_time
async def test_where_waits_double_a_player_is_invited_again_after_1_2_and_4_seconds(tmp_path: Path) -> None:
    async with Hall(tmp_path, backoff="exponential") as hall:
        await hall.fill("random", "random", referees=1)
        await hall.operate("start")
        hall.network.close(url_of("player", 2))
        await hall.end()
        invited = [one.sent for one in hall.sent("GAME_INVITATION", to=url_of("player", 2))]
        assert [at - invited[0] for at in invited] == pytest.approx([0, 1, 3, 7], abs=0.01)


@in_virtual_time
async def test_no_referee_has_more_matches_than_it_takes_at_once(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=8, capacity=2)
        await asyncio.sleep(1)
        assert len(referee.got("MATCH_ASSIGNMENT")) == 2
        await referee.report("R1M1")
        await asyncio.sleep(1)
        assert [one.params["match_id"] for one in referee.got("MATCH_ASSIGNMENT")] == ["R1M1", "R1M2", "R1M3"]


@pytest.mark.parametrize("how", ["gone", "silent"])
@in_virtual_time
async def test_a_referee_lost_in_the_middle_is_noticed_within_15_seconds_and_another_plays_its_matches(
    tmp_path: Path, how: str
) -> None:
    async with Hall(tmp_path) as hall:
        playing = asyncio.Event()

        async def gate(kind: str) -> None:
            # The referees' matches last until a referee is lost.
            if kind == "CHOOSE_PARITY_CALL" and not playing.is_set():
                await asyncio.sleep(20)

        async def hang(kind: str) -> None:
            if playing.is_set() and how == "silent":
                await asyncio.Event().wait()

        await hall.referee(gate=hang)
        await hall.referee()
        for strategy in STRATEGIES:
            await hall.player(strategy, gate)
        await hall.operate("start")
        await hall.until(lambda: all(one.in_play for one in hall.league.matches.values() if one.round_id == 1))
        lost = [one.id for one in hall.league.matches.values() if one.referee_id == "REF01" and one.in_play]
        assert lost
        await asyncio.sleep(3)
        killed_at = hall.now
        playing.set()
        # It was killed. It gets no messages and sends none.
        await hall.referees[0].close()
        if how == "gone":
            hall.network.close(url_of("referee", 1))
        await hall.until(lambda: hall.league.referees["REF01"].lost)
        assert hall.now - killed_at < 15
        assert hall.league.referees["REF01"].state == "SUSPENDED"
        await hall.end()
        for name in lost:
            match = hall.league.matches[name]
            assert (match.attempt, match.referee_id) == (2, "REF02")
        recorded = [decode(event) for event in hall.log.content.events]
        results = Counter(event.match_id for event in recorded if isinstance(event, ResultRecorded))
        assert results == dict.fromkeys(hall.league.matches, 1)
        assert all(row.played == 3 for row in queries.standings(hall.league))


@in_virtual_time
async def test_a_late_result_of_a_lost_referee_is_refused_and_counts_for_nothing(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        lost, other, *_ = await hall.scripted_league(players=2, referees=2)
        await hall.until(lambda: lost.got("MATCH_ASSIGNMENT"))
        hall.network.close(lost.url)
        await hall.until(lambda: other.got("MATCH_ASSIGNMENT"))
        assert other.got("MATCH_ASSIGNMENT")[0].params["attempt"] == 2
        answer = await lost.report("R1M1", won("P02", "P01"), attempt=1)
        assert answer["error"]["code"] == 5002
        await other.report("R1M1", won("P01", "P02"))
        assert points(hall) == {"P01": 3, "P02": 0}


@in_virtual_time
async def test_a_lost_referee_is_told_of_nothing_but_the_end_and_holds_nobody_up(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        lost, other, *_ = await hall.scripted_league(players=4, referees=2)
        await hall.until(lambda: lost.got("MATCH_ASSIGNMENT"))
        lost.replies = {"ping": silent}
        await hall.until(lambda: hall.league.referees["REF01"].lost)
        told, since = len(lost.arrived), hall.now
        await finish(hall, other)
        assert [one.kind for one in lost.arrived[told:]] == ["LEAGUE_COMPLETED"]
        assert hall.now - since < 5


@in_virtual_time
async def test_without_any_referee_the_league_waits_says_so_and_goes_on_when_one_comes_back(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=4)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        assert (await hall.operate("status"))["waits_for"] == []
        hall.network.close(referee.url)
        await hall.until(lambda: hall.league.referees["REF01"].lost)
        await asyncio.sleep(600)
        status = await hall.operate("status")
        assert status["state"] == "RUNNING_LEAGUE"
        assert status["waits_for"] == ["a referee: none answers"]
        assert len(referee.got("MATCH_ASSIGNMENT")) == 2
        hall.network.listen(referee.url, referee.handle)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 4, seconds=10)
        assert hall.league.referees["REF01"].state == "ACTIVE"
        assert (await hall.operate("status"))["waits_for"] == []
        await finish(hall, referee)
        assert sum(points(hall).values()) == 18


@in_virtual_time
async def test_a_referee_that_registers_again_is_given_what_it_had_in_hand_once_more(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        answer = await hall.register("referee", 1, auth_token=referee.token)
        referee.token = answer["result"]["auth_token"]
        await hall.quiet()
        first, second = [one.params for one in referee.got("MATCH_ASSIGNMENT")]
        assert (first["match_id"], first["attempt"]) == (second["match_id"], second["attempt"])
        assert second["auth_token"] == tokens.manager_to_agent(tokens.signing_key(referee.token), LEAGUE, "REF01")
        await referee.report("R1M1")
        await hall.end()


@in_virtual_time
async def test_pings_that_were_missed_long_ago_are_not_held_against_a_referee(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=4, capacity=1)
        for _ in range(3):
            await hall.until(lambda: any(one.in_play for one in hall.league.matches.values()))
            hall.network.close(referee.url)
            failed = sum(one.method == "ping" and one.failure is not None for one in hall.wire)
            await hall.until(
                lambda failed=failed: (
                    sum(one.method == "ping" and one.failure is not None for one in hall.wire) >= failed + 2
                )
            )
            hall.network.listen(referee.url, referee.handle)
            await hall.operate("pause", reason="so that it has nothing in hand for a while")
            in_play = [one for one in hall.league.matches.values() if one.in_play]
            await referee.report(in_play[0].id)
            await asyncio.sleep(30)
            await hall.operate("resume")
        assert not hall.league.referees["REF01"].lost


@in_virtual_time
async def test_a_match_that_takes_longer_than_it_can_is_void_and_given_out_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        limit = max_match_seconds(hall.league.settings.time_limits, 1)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        assert limit < hall.now - VOID_PAUSES[0] < limit + 5
        assert referee.got("MATCH_ASSIGNMENT")[1].params["attempt"] == 2
        # After the third void attempt it waits for the operator, and the status says so.
        await hall.until(lambda: hall.league.held)
        assert len(referee.got("MATCH_ASSIGNMENT")) == 3
        status = await hall.operate("status")
        assert len(status["waits_for"]) == 1
        assert "R1M1" in status["waits_for"][0]
        await hall.operate("rematch", match_id="R1M1", reason="the referee was repaired")
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 4)
        await referee.report("R1M1")
        await hall.end()


def test_the_longest_match_is_the_sum_of_its_limits() -> None:
    limits = TimeLimits(join_seconds=5, choice_seconds=30, game_over_seconds=5, max_retries=3, retry_seconds=2)
    assert max_match_seconds(limits, 1) == (4 * 5 + 6) + (4 * 30 + 6) + 5 + 20
    assert max_match_seconds(limits, 9) == (4 * 5 + 6) + 9 * (4 * 30 + 6) + 5 + 20
    limits.backoff = "exponential"
    assert max_match_seconds(limits, 1) == (4 * 5 + 14) + (4 * 30 + 14) + 5 + 20


@in_virtual_time
async def test_a_rejected_assignment_is_offered_again_until_the_referee_takes_it(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee = await hall.scripted(
            "referee", 1, {"MATCH_ASSIGNMENT": changed(status="REJECTED", reason="still busy")}
        )
        for number in (1, 2):
            await hall.scripted("player", number)
        await hall.operate("start")
        await asyncio.sleep(5)
        referee.replies = {}
        await asyncio.sleep(10)
        offered = referee.got("MATCH_ASSIGNMENT")
        assert [one.at for one in offered] == pytest.approx([0, 2, 4, 6])
        assert {one.params["attempt"] for one in offered} == {1}
        await referee.report("R1M1")
        await hall.end()


@in_virtual_time
async def test_a_match_that_a_referee_refuses_goes_to_another_soon(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        for number in (1, 2):
            await hall.scripted("player", number)
        unwilling, willing = [
            await hall.scripted("referee", number, replies)
            for number, replies in enumerate(({"MATCH_ASSIGNMENT": changed(status="REJECTED", reason="no")}, {}), 1)
        ]
        await hall.operate("start")
        await hall.until(lambda: willing.got("MATCH_ASSIGNMENT"), seconds=20)
        assert len(unwilling.got("MATCH_ASSIGNMENT")) == 5
        assert any(b"REF01 did not take it: no" in event for event in hall.log.content.events)
        await willing.report("R1M1")
        await hall.end()


@in_virtual_time
async def test_an_assignment_that_does_not_arrive_is_sent_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        hall.network.close(referee.url)
        await asyncio.sleep(3)
        hall.network.listen(referee.url, referee.handle)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"), seconds=2)
        assert referee.got("MATCH_ASSIGNMENT")[0].params["attempt"] == 1


@pytest.mark.parametrize("answer", [b"<html>", b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"what?"},"id":1}'])
@in_virtual_time
async def test_a_referee_that_cannot_read_assignments_leaves_its_match_to_the_operator(
    tmp_path: Path, answer: bytes
) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("referee", 1, {"MATCH_ASSIGNMENT": raw(answer)})
        for number in (1, 2):
            await hall.scripted("player", number)
        await hall.operate("start")
        await hall.until(lambda: hall.league.held, seconds=sum(VOID_PAUSES) + 1)
        assert hall.league.matches["R1M1"].voids == 3
        await hall.operate("correct", match_id="R1M1", outcome="draw", reason="nobody could play it")
        await hall.end()
        assert points(hall) == {"P01": 1, "P02": 1}


class _ClockHall(Hall):
    """A hall whose wall clock can be set."""

    ahead = timedelta()

    def clock(self) -> datetime:
        return super().clock() + self.ahead


@pytest.mark.parametrize("ahead", [timedelta(), timedelta(minutes=10), timedelta(minutes=-2)])
@in_virtual_time
async def test_a_league_starts_at_its_time_by_the_wall_clock_also_if_that_is_set(
    tmp_path: Path, ahead: timedelta
) -> None:
    hall = _ClockHall(tmp_path)
    at = hall.clock() + timedelta(minutes=10)
    hall.manager.runner.start_at = times.format_timestamp(at)
    async with hall:
        await hall.fill("random", "random", referees=1)
        await asyncio.sleep(60)
        status = await hall.operate("status")
        assert (status["state"], status["starts_at"]) == ("WAITING_FOR_REGISTRATIONS", times.format_timestamp(at))
        # As after a suspension of the host: the clock of the loop has not moved meanwhile.
        hall.ahead = ahead
        await hall.until(lambda: not hall.league.is_open, seconds=1_000)
        late = (hall.clock() - at).total_seconds()
        assert 0 <= late <= league_runner.CLOCK_SECONDS + (60 if ahead > timedelta(minutes=9) else 0)
        assert "starts_at" not in await hall.operate("status")
