"""The operator's commands: which need the admin token, and what each does to a league in play."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from leaguekit.cli.manager_client import fetch_schedule
from leaguekit.league import queries
from leaguekit.league.events import LeaguePaused, MatchReplayed, PlayerWithdrawn, ResultCorrected, decode
from leaguekit.league.sentences import EventFormatter
from leaguekit.manager.rounds.assignments import PING_PAUSE_SECONDS, max_match_seconds
from tests.agents.leagues import ADMIN, LEAGUE, Hall, Scripted, in_virtual_time, won

DEEDS = ("start", "pause", "resume", "withdraw", "disqualify", "rematch", "correct")
LOOKS = ("status", "standings", "schedule")
GUARDED = ("agents", "problems", "query")


async def refused(hall: Hall, command: Any, **fields: Any) -> tuple[int, str]:
    answer = await hall.post("operator", {"command": command, "admin_token": ADMIN} | fields)
    assert "result" not in answer
    assert answer["error"]["data"]["message_type"] == "LEAGUE_ERROR"
    return answer["error"]["code"], answer["error"]["data"]["error_code"]


async def in_play(hall: Hall, players: int = 4) -> tuple[Scripted, list[Scripted]]:
    """A league whose first round has been assigned."""
    referee, *others = await hall.scripted_league(players=players)
    await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == players // 2)
    return referee, others


def points(hall: Hall) -> dict[str, int]:
    return {row.player_id: row.points for row in queries.standings(hall.league)}


def events(hall: Hall, kind: type) -> list[Any]:
    return [event for one in hall.log.content.events if isinstance(event := decode(one), kind)]


@pytest.mark.parametrize("command", [*DEEDS, *GUARDED])
@in_virtual_time
async def test_what_changes_the_league_or_shows_where_agents_live_needs_the_admin_token(
    tmp_path: Path, command: str
) -> None:
    async with Hall(tmp_path) as hall:
        referee, _ = await in_play(hall)
        before = hall.league.digest()
        assert await refused(hall, command, admin_token="") == (11, "E011")
        assert await refused(hall, command, admin_token="adm-guessed") == (12, "E012")
        # The token of an agent is not an admin token.
        assert await refused(hall, command, admin_token=referee.token) == (12, "E012")
        assert hall.league.digest() == before


@pytest.mark.parametrize("command", LOOKS)
@in_virtual_time
async def test_looking_at_the_league_needs_no_token(tmp_path: Path, command: str) -> None:
    async with Hall(tmp_path) as hall:
        _, players = await in_play(hall)
        shown = (await hall.post("operator", {"command": command}))["result"]
        assert shown["everybody_told"] is False
        if command == "status":
            assert (shown["league_id"], shown["state"], shown["paused"]) == (LEAGUE, "RUNNING_LEAGUE", False)
            assert (shown["players"], shown["referees"], shown["total_matches"]) == (4, 1, 6)
        elif command == "standings":
            assert sorted(row["player_id"] for row in shown["standings"]) == ["P01", "P02", "P03", "P04"]
        else:
            assert len(shown["schedule"]) == 6
            second = await hall.operate("schedule", round_id=2)
            assert [one["match_id"] for one in second["schedule"]] == ["R2M1", "R2M2"]
            assert second["names"].keys() == {player.id for player in players}


@in_virtual_time
async def test_a_long_schedule_is_shown_to_anybody_in_parts_of_64_kb(tmp_path: Path) -> None:
    async with Hall(tmp_path, max_players=50) as hall:
        await hall.scripted_league(players=50)
        sizes = []

        async def ask(params: dict[str, Any]) -> dict[str, Any]:
            answer = await hall.post("operator", params)
            sizes.append(len(json.dumps(answer, separators=(",", ":"))))
            return dict(answer["result"])

        whole = await fetch_schedule(ask, {"command": "schedule"})
        assert [one["match_id"] for one in whole["schedule"]] == list(hall.league.matches)
        assert len(whole["schedule"]) == 1_225
        assert "next_offset" not in whole
        assert len(sizes) > 1
        assert max(sizes) <= 65_536
        last = await ask({"command": "schedule", "round_id": 49, "offset": 24})
        assert [one["match_id"] for one in last["schedule"]] == ["R49M25"]


@in_virtual_time
async def test_the_operator_sees_where_agents_live_but_never_a_token(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await in_play(hall)
        answer = await hall.operate("agents")
        assert {one["id"]: one["endpoint"] for one in answer["agents"]} == {
            agent.id: agent.url for agent in [*players, referee]
        }
        assert not any(agent.token in str(answer) for agent in [*players, referee])


@in_virtual_time
async def test_the_operator_may_ask_what_agents_ask(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _ = await in_play(hall)
        answer = await hall.operate("query", query_type="GET_NEXT_MATCH", player_id="P02")
        assert answer["success"] is True
        assert answer["data"]["next_match"]["referee_endpoint"] == referee.url
        assert (await hall.operate("query", query_type="GET_PLAYER_STATS", player_id="P77"))["success"] is False
        assert await refused(hall, "query", query_type="GET_WEATHER") == (52, "E052")


@pytest.mark.parametrize(
    ("command", "fields", "number", "code"),
    [
        ("make_tea", {}, -32602, "E044"),
        (7, {}, -32602, "E043"),
        ("schedule", {"round_id": -1}, -32602, "E043"),
        ("schedule", {"round_id": "first"}, -32602, "E043"),
        ("schedule", {"offset": -1}, -32602, "E043"),
        ("schedule", {"offset": 10**30}, -32602, "E043"),
    ],
)
@in_virtual_time
async def test_a_command_that_is_unknown_or_unreadable_is_malformed(
    tmp_path: Path, command: Any, fields: dict[str, Any], number: int, code: str
) -> None:
    async with Hall(tmp_path) as hall:
        assert await refused(hall, command, **fields) == (number, code)


@in_virtual_time
async def test_a_league_is_started_once_and_only_with_players_and_a_referee(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("player", 1)
        await hall.scripted("player", 2)
        assert await refused(hall, "start") == (30, "E030")
        await hall.scripted("referee", 1)
        shown = await hall.operate("start")
        assert (shown["state"], shown["total_rounds"]) == ("RUNNING_LEAGUE", 1)
        assert await refused(hall, "start") == (58, "E058")


@in_virtual_time
async def test_a_start_names_the_seats_that_are_free(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("referee", 1)
        for number in (1, 2):
            await hall.scripted("player", number)
        await hall.operate("seats_new", people=[("Karl Klein", "k@x.example"), ("Lena Lund", ""), ("Mia", "")])
        await hall.operate("seats_revoke", seat="S03")
        assert (await hall.operate("status"))["free_seats"] == 2
        started = await hall.operate("start")
        assert started["done"].endswith(" 2 of 2 seats are free: Karl Klein, Lena Lund.")
        assert "free_seats" not in started


@in_virtual_time
async def test_a_start_with_more_matches_than_the_operator_has_agreed_to_is_refused(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.scripted("referee", 1)
        for number in (1, 2, 3):
            await hall.scripted("player", number)
        agreed = (await hall.operate("status"))["planned_matches"]
        assert agreed == 3
        await hall.scripted("player", 4)
        assert await refused(hall, "start", max_matches=agreed) == (58, "E058")
        shown = await hall.operate("start", max_matches=6)
        assert (shown["total_matches"], "planned_matches" in shown) == (6, False)


@in_virtual_time
async def test_in_a_pause_what_is_in_play_ends_and_nothing_new_begins(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await in_play(hall)
        assert (await hall.operate("pause", reason="lunch"))["paused"] is True
        for name in ("R1M1", "R1M2"):
            assert "result" in await referee.report(name)
        await asyncio.sleep(3_000)
        assert [one.params["round_id"] for one in players[0].got("ROUND_ANNOUNCEMENT")] == [1]
        assert players[0].got("ROUND_COMPLETED")
        assert (await hall.operate("status"))["paused"] is True
        assert (await hall.operate("resume", reason="fed"))["paused"] is False
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 4, seconds=1)
        assert [event.reason for event in events(hall, LeaguePaused)] == ["lunch"]


@pytest.mark.parametrize(("command", "ruling"), [("withdraw", "WITHDRAWAL"), ("disqualify", "DISQUALIFICATION")])
@in_virtual_time
async def test_a_player_that_leaves_loses_its_open_matches_now_and_the_others_in_their_rounds(
    tmp_path: Path, command: str, ruling: str
) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await in_play(hall)
        heard = len(players[0].arrived)
        await hall.operate(command, player_id="P01", reason="it was asked to")
        match = hall.league.matches["R1M1"]
        assert match.result is not None
        assert (match.result.winner, match.result.details.ruling) == ("P02", ruling)
        assert points(hall)["P02"] == 3
        # The referee did not know yet. It gets the answer that the match is over.
        assert (await referee.report("R1M1"))["error"]["code"] == 5003
        assert hall.league.matches["R2M1"].result is None
        await referee.report("R1M2")
        await hall.until(lambda: hall.league.matches["R2M1"].result is not None)
        while hall.league.state == "RUNNING_LEAGUE":
            for open_match in [one for one in hall.league.matches.values() if one.in_play]:
                await referee.report(open_match.id)
            await asyncio.sleep(0.1)
        await hall.end()
        assert hall.league.table.rows["P01"].record.losses == 3
        assert hall.league.table.rows["P01"].record.points == 0
        assert [one.kind for one in players[0].arrived[heard:]] == ["LEAGUE_COMPLETED"]
        ended = players[1].got("ROUND_COMPLETED")
        assert [one.params["summary"]["technical_losses"] for one in ended] == [1, 1, 1]
        assert await refused(hall, command, player_id="P01") == (58, "E058")
        assert await refused(hall, command, player_id="P77") == (5, "E005")
        if command == "withdraw":
            assert [event.reason for event in events(hall, PlayerWithdrawn)] == ["it was asked to"]


@in_virtual_time
async def test_a_rematch_takes_the_result_back_and_has_the_match_played_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await in_play(hall)
        assert await refused(hall, "rematch", match_id="R1M1") == (51, "E051")
        assert await refused(hall, "rematch", match_id="R9M9") == (50, "E050")
        await referee.report("R1M1", won("P01", "P02"))
        assert points(hall)["P01"] == 3
        await hall.operate("rematch", match_id="R1M1", reason="the draw was wrong")
        assert set(points(hall).values()) == {0}
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 3)
        again = referee.got("MATCH_ASSIGNMENT")[2].params
        assert (again["match_id"], again["attempt"]) == ("R1M1", 2)
        await asyncio.sleep(2)
        standings = players[0].got("LEAGUE_STANDINGS_UPDATE")[-1].params["standings"]
        assert {row["points"] for row in standings} == {0}
        assert "result" in await referee.report("R1M1", won("P02", "P01"))
        assert points(hall) == {"P02": 3, "P01": 0, "P03": 0, "P04": 0}
        assert [event.reason for event in events(hall, MatchReplayed)] == ["the draw was wrong"]


@pytest.mark.parametrize(("outcome", "scores"), [("P02", (0, 3)), ("draw", (1, 1)), ("none", (0, 0)), ("P01", (3, 0))])
@in_virtual_time
async def test_a_correction_changes_the_table(tmp_path: Path, outcome: str, scores: tuple[int, int]) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await in_play(hall)
        await referee.report("R1M1", won("P01", "P02"))
        await hall.operate("correct", match_id="R1M1", outcome=outcome, reason="the referee erred")
        assert (points(hall)["P01"], points(hall)["P02"]) == scores
        await asyncio.sleep(2)
        rows = players[3].got("LEAGUE_STANDINGS_UPDATE")[-1].params["standings"]
        assert {row["player_id"]: row["points"] for row in rows} == points(hall)
        assert [event.reason for event in events(hall, ResultCorrected)] == ["the referee erred"]


@in_virtual_time
async def test_a_correction_must_name_one_of_the_players_a_draw_or_nobody(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await in_play(hall)
        assert await refused(hall, "correct", match_id="R1M1", outcome="P03") == (-32602, "E044")
        answer = await hall.post(
            "operator", {"command": "correct", "admin_token": ADMIN, "match_id": "R1M1", "outcome": "Agent 4"}
        )
        names = {player.id: player.meta.display_name for player in hall.league.players.values()}
        assert json.dumps(answer).count(f"must be {names['P01']} (P01), {names['P02']} (P02), draw or none, got") == 1
        assert await refused(hall, "correct", match_id="R1M1") == (-32602, "E044")
        assert await refused(hall, "correct", match_id="R9M9", outcome="draw") == (50, "E050")
        assert await refused(hall, "correct", match_id="R2M1", outcome="draw") == (51, "E051")


@in_virtual_time
async def test_after_the_end_a_result_can_still_be_corrected_and_nobody_is_told_after_the_last_word(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await in_play(hall, players=2)
        await referee.report("R1M1", won("P01", "P02"))
        await hall.end()
        shown = await hall.operate("correct", match_id="R1M1", outcome="P02", reason="found out later")
        assert shown["everybody_told"] is True
        assert points(hall) == {"P02": 3, "P01": 0}
        await asyncio.sleep(60)
        assert players[0].arrived[-1].kind == "LEAGUE_COMPLETED"
        answer = await players[0].query("GET_STANDINGS")
        assert answer["result"]["data"]["standings"][0]["player_id"] == "P02"
        assert await refused(hall, "rematch", match_id="R1M1") == (31, "E031")
        assert await refused(hall, "withdraw", player_id="P01") == (58, "E058")


@in_virtual_time
async def test_the_status_tells_how_long_the_league_has_been_in_play(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await asyncio.sleep(100)
        status = await hall.operate("status")
        assert (status["seconds"], "first" in status) == (0, False)
        referee, _ = await in_play(hall, players=2)
        await asyncio.sleep(7)
        assert (await hall.operate("status"))["seconds"] == pytest.approx(7, abs=0.1)
        await referee.report("R1M1")
        await hall.end()
        await asyncio.sleep(100)
        status = await hall.operate("status")
        assert status["seconds"] == pytest.approx(7, abs=0.1)
        assert (status["state"], status["everybody_told"]) == ("LEAGUE_COMPLETED", True)
        assert re.fullmatch(r"Champion: .+ \(P0[12]\) with 3 points", status["first"])


@in_virtual_time
async def test_names_are_accepted_where_ids_are_and_a_name_of_two_agents_is_refused(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await in_play(hall)
        first, second = (hall.league.players[name].meta.display_name for name in ("P01", "P02"))
        for called in ("p02", second.upper()):
            assert (await hall.operate("query", query_type="GET_PLAYER_STATS", player_id=called))["success"] is True
        answer = await hall.operate("correct", match_id="r1m1", outcome=first)
        assert hall.league.matches["R1M1"].result.winner == "P01"
        assert answer["done"].startswith(f"R1M1: corrected by the operator, {first} (P01) beats ")
        # Referees' names need not differ.
        named = hall.league.referees["REF01"].meta
        hall.league.referees["REF01"].registered = structs.replace(
            hall.league.referees["REF01"].registered, meta=structs.replace(named, display_name=second)
        )
        answer = await hall.post("operator", {"command": "withdraw", "admin_token": ADMIN, "player_id": second})
        detail = answer["error"]["data"]["context"]["detail"]
        assert detail == f"2 agents are called {second!r}; name the id: P02, REF01."


@in_virtual_time
async def test_each_action_answers_with_a_sentence_that_says_what_it_did(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await in_play(hall)
        name = hall.league.players["P03"].meta.display_name
        assert (await hall.operate("pause", reason="lunch"))["done"] == "The operator pauses the league: lunch."
        assert (await hall.operate("pause"))["done"] == "Nothing has changed: it was so already."
        assert (await hall.operate("resume"))["done"] == "The operator lets the league go on."
        left = (await hall.operate("withdraw", player_id="P03", reason="ill"))["done"]
        assert re.fullmatch(
            rf"{re.escape(name)} \(P03\) is withdrawn from the league: ill\. It loses R1M\d and its later matches "
            r"\(2\)\. `league readmit P03` brings it back\.",
            left,
        )
        assert (await hall.operate("seats_new", count=2))["done"] == "The operator gives out S01 to S02."
        assert (await hall.operate("seats_revoke", seat="s01"))["done"] == "The seat S01 is revoked."


@in_virtual_time
async def test_a_league_that_is_over_is_not_paused(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await in_play(hall, players=2)
        await hall.operate("correct", match_id="R1M1", outcome="draw")
        assert hall.league.state == "LEAGUE_COMPLETED"
        assert await refused(hall, "pause") == (31, "E031")


@in_virtual_time
async def test_settings_that_the_operator_changes_hold_for_the_next_match_and_after_a_restart(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _ = await in_play(hall)
        answer = await hall.operate("set", settings={"choice_seconds": 77, "title": "Winter Cup"}, reason="slow")
        assert answer["done"] == "The operator sets choice_seconds = 77.0, title = Winter Cup: slow."
        assert answer["title"] == "Winter Cup"
        assert (await hall.operate("set", settings={"title": "Winter Cup"}))["done"].startswith("Nothing has changed")
        assert await refused(hall, "set", settings={"game_type": "chess"}) == (-32602, "E044")
        settings = await hall.operate("settings")
        assert (settings["settings"]["choice_seconds"], "seed_hex" in settings["settings"]) == (77.0, False)
        assert "title" in settings["changeable"]
        for match in ("R1M1", "R1M2"):
            await hall.operate("correct", match_id=match, outcome="draw")
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) > 2)
        limits = [one.params["time_limits"]["choice_seconds"] for one in referee.got("MATCH_ASSIGNMENT")]
        assert (limits[0], limits[-1]) == (30.0, 77.0)
        await hall.crash()
        await hall.restart()
        assert hall.league.settings.choice_seconds == 77.0


@in_virtual_time
async def test_a_player_that_was_withdrawn_by_mistake_is_readmitted_and_plays_on(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _ = await in_play(hall)
        name = hall.league.players["P02"].meta.display_name
        await hall.operate("withdraw", player_id="P02")
        lost = next(match.id for match in hall.league.matches.values() if match.has_ended)
        answer = await hall.operate("readmit", player_id=name, reason="a mistake")
        assert re.fullmatch(
            rf"{re.escape(name)} \(P02\) may come back: a mistake\. If its program has ended, start it again\. "
            rf"Its next match is R2M\d\. It still loses {lost}: `league rematch {lost}` has a match played again\.",
            answer["done"],
        )
        assert answer["players_out"] == []
        for match in hall.league.rounds[0].matches:
            await hall.operate("correct", match_id=match, outcome="draw")
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) > 2)
        assert any("P02" in str(one) for one in referee.got("MATCH_ASSIGNMENT")[2:])


@in_virtual_time
async def test_seats_are_made_for_people_whom_only_the_operator_sees(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        people = [["Ada", "ada@example.org"], ["Bob", ""]]
        made = (await hall.operate("seats_new", people=people))["seats"]
        assert [(seat["id"], seat["name"], seat["email"]) for seat in made] == [
            ("S01", "Ada", "ada@example.org"),
            ("S02", "Bob", ""),
        ]
        assert [seat["email"] for seat in (await hall.operate("seats"))["seats"]] == ["ada@example.org", ""]
        assert (await hall.operate("seats_revoke", seat="bob"))["done"] == "The seat S02 is revoked."
        assert await refused(hall, "seats", admin_token="") == (11, "E011")
        formatter = EventFormatter()
        public = [formatter.as_json(decode(one)) for one in hall.log.content.events]
        assert "ada" not in json.dumps(public).lower()


@in_virtual_time
async def test_a_match_in_play_keeps_the_time_that_it_had_when_limits_become_shorter(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await in_play(hall)
        before = max_match_seconds(hall.league.settings.time_limits, 1)
        # The manager looks at the match once before the change.
        await asyncio.sleep(PING_PAUSE_SECONDS + 1)
        await hall.operate("set", settings={"choice_seconds": 1, "join_seconds": 1, "max_retries": 0})
        after = max_match_seconds(hall.league.settings.time_limits, 1)
        await asyncio.sleep(after + 2 * PING_PAUSE_SECONDS)
        assert hall.league.matches["R1M1"].voids == 0
        await asyncio.sleep(before)
        assert hall.league.matches["R1M1"].voids > 0


@in_virtual_time
async def test_a_shorter_lead_holds_at_once(tmp_path: Path) -> None:
    async with Hall(tmp_path, announce_lead=600.0) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("ROUND_ANNOUNCEMENT"))
        await asyncio.sleep(10)
        assert not referee.got("MATCH_ASSIGNMENT")
        await hall.operate("set", settings={"announce_lead": 5})
        await asyncio.sleep(2)
        assert referee.got("MATCH_ASSIGNMENT")
