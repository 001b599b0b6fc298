"""The files that other tools read: the JSON files of the league, and the logs."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leaguekit.agents.logs import log_to
from leaguekit.league import queries
from leaguekit.protocol.times import parse_timestamp
from tests.agents.leagues import LEAGUE, Hall, HeldLog, in_virtual_time, lost_by_silence, silent

AGENTS = Path("config") / "agents" / "agents_config.json"
STANDINGS = Path("data") / "leagues" / LEAGUE / "standings.json"
ROUNDS = Path("data") / "leagues" / LEAGUE / "rounds.json"
LOGGED = {"timestamp", "level", "agent_id", "message_type", "conversation_id", "message", "data"}


def read_json(root: Path, view: Path) -> Any:
    return json.loads((root / view).read_text())


@pytest.mark.proves("001-L0227", "001-L0354")
@in_virtual_time
async def test_who_is_accepted_is_entered_in_the_agents_configuration_without_a_token(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        agents = [await hall.scripted("referee", 1), await hall.scripted("player", 1)]
        await asyncio.sleep(2)
        config = read_json(tmp_path, AGENTS)
        assert config["league_id"] == LEAGUE
        assert config["referees"] == [
            {
                "id": "REF01",
                "state": "REGISTERED",
                "display_name": "Referee 1",
                "version": "1.0.0",
                "game_types": ["even_odd"],
                "contact_endpoint": agents[0].url,
                "max_concurrent_matches": 2,
                "token_scheme": "derived",
            }
        ]
        assert [(one["id"], one["contact_endpoint"]) for one in config["players"]] == [("P01", agents[1].url)]
        text = (tmp_path / AGENTS).read_text()
        assert "tok-" not in text
        assert not any(agent.token in text for agent in agents)
        assert not any(field in text for field in ("verifier", "key", "auth_token"))


@in_virtual_time
async def test_of_two_leagues_in_one_folder_each_has_its_own_files_and_the_newest_is_shown(tmp_path: Path) -> None:
    async with Hall(tmp_path, league_id="z_older") as older:
        await older.fill("random", "random")
        await asyncio.sleep(60)
        async with Hall(tmp_path, league_id="a_newer") as newer:
            await newer.fill("random", "random", "random")
            for hall in (newer, older):
                # The older league plays last, and writes last.
                await hall.operate("start")
                await hall.until(lambda hall=hall: hall.league.state == "LEAGUE_COMPLETED")
                await asyncio.sleep(5)

    def leagues(*views: Path) -> list[str]:
        return [read_json(tmp_path, view)["league_id"] for view in views]

    history = Path("data") / "players" / "P01" / "history.json"
    assert leagues(AGENTS, history) == ["a_newer", "a_newer"]
    for hall in (older, newer):
        folder = Path("data") / "leagues" / hall.league.settings.league_id
        own = [folder / "agents_config.json", folder / "players" / "P01" / "history.json"]
        assert leagues(*own) == [hall.league.settings.league_id] * 2
        players = len(hall.league.players)
        assert len(read_json(tmp_path, own[0])["players"]) == players
        assert len(read_json(tmp_path, own[1])["matches"]) == players - 1


@in_virtual_time
async def test_the_agents_configuration_follows_their_states(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:

        def states() -> dict[str, str]:
            config = read_json(tmp_path, AGENTS)
            return {one["id"]: one["state"] for one in [*config["referees"], *config["players"]]}

        referee, _one, _other = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await asyncio.sleep(2)
        assert set(states().values()) == {"ACTIVE"}
        referee.replies["ping"] = silent
        await hall.until(lambda: hall.league.referees["REF01"].lost)
        await asyncio.sleep(2)
        assert states() == {"REF01": "SUSPENDED", "P01": "ACTIVE", "P02": "ACTIVE"}


@pytest.mark.proves("001-L1466", "001-L0895")
@in_virtual_time
async def test_the_standings_and_the_rounds_are_written_and_right_at_the_end(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "always_even", "always_odd", "frequency")
        await hall.operate("start")
        await hall.end()
        table = msgspec.to_builtins(queries.standings(hall.league))
        schedule = msgspec.to_builtins(queries.schedule(hall.league))
    assert read_json(tmp_path, STANDINGS) == {"league_id": LEAGUE, "round_id": 3, "standings": table}
    rounds = read_json(tmp_path, ROUNDS)
    assert rounds["matches"] == schedule
    assert all("result" in match for match in rounds["matches"])
    assert (rounds["state"], rounds["current_round"], rounds["matches_played"]) == ("LEAGUE_COMPLETED", 3, 6)
    config = read_json(tmp_path, AGENTS)
    assert {one["state"] for one in [*config["players"], *config["referees"]]} == {"SHUTDOWN"}


@pytest.mark.proves("001-L1466")
@in_virtual_time
async def test_the_standings_are_written_after_each_report(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=4)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        await asyncio.sleep(2)
        assert {row["played"] for row in read_json(tmp_path, STANDINGS)["standings"]} == {0}
        await referee.report("R1M1")
        await asyncio.sleep(2)
        first, *others = read_json(tmp_path, STANDINGS)["standings"]
        assert (first["player_id"], first["points"], first["rank"]) == ("P01", 3, 1)
        assert sum(row["played"] for row in others) == 1
        await hall.operate("correct", match_id="R1M1", outcome="P02", reason="an error")
        await asyncio.sleep(2)
        assert read_json(tmp_path, STANDINGS)["standings"][0]["player_id"] == "P02"
        assert read_json(tmp_path, ROUNDS)["matches"][0]["result"]["winner"] == "P02"


@in_virtual_time
async def test_a_burst_of_results_is_written_at_most_twice_a_second(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, *_ = await hall.scripted_league(players=20)
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 10)
        await asyncio.sleep(2)
        # Each version is a new file. Two versions within a few milliseconds may have the same time.
        versions = [(hall.now, (tmp_path / STANDINGS).stat().st_ino)]
        for number in range(1, 10):
            await referee.report(f"R1M{number}")
            for _ in range(10):
                await asyncio.sleep(0.01)
                if (written := (tmp_path / STANDINGS).stat().st_ino) != versions[-1][1]:
                    versions.append((hall.now, written))
        assert 2 <= len(versions) - 1 <= 4


@in_virtual_time
async def test_no_view_shows_what_is_not_written_down(tmp_path: Path) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        referee, *_ = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await asyncio.sleep(2)
        before = read_json(tmp_path, STANDINGS)
        log.hold()
        reporting = asyncio.create_task(referee.report("R1M1", lost_by_silence("P01", "P02", 1)))
        await asyncio.sleep(60)
        assert hall.league.state == "LEAGUE_COMPLETED"
        assert read_json(tmp_path, STANDINGS) == before
        log.break_down()
        assert "error" in await reporting
        await asyncio.sleep(60)
    # It does not either when it is closed afterwards.
    assert read_json(tmp_path, STANDINGS) == before


# Logs


@in_virtual_time
async def test_logs_are_json_lines_with_the_documented_keys(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "league_manager.jsonl"
    with log_to(path, "league_manager"):
        async with Hall(tmp_path) as hall:
            await hall.fill("random", "always_even")
            await hall.operate("start")
            await hall.until(lambda: hall.league.state == "RUNNING_LEAGUE")
            hall.network.close("http://127.0.0.1:8101/mcp")
            await hall.end()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert lines
    for line in lines:
        assert set(line) <= LOGGED | {"error"}
        assert {"timestamp", "level", "agent_id", "message"} <= set(line)
        assert line["agent_id"] == "league_manager"
        assert parse_timestamp(line["timestamp"])
    kinds = {line.get("message_type") for line in lines}
    assert {"LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST", "ROUND_ANNOUNCEMENT", "LEAGUE_COMPLETED"} <= kinds
    warnings = [line for line in lines if line["level"] == "WARNING" and "data" in line]
    assert warnings
    assert warnings[0]["data"]["agent"] == "P01"
    registered = next(line for line in lines if line.get("message_type") == "LEAGUE_REGISTER_REQUEST")
    assert registered["conversation_id"]
    # No token is ever logged.
    assert "tok-" not in path.read_text()


def test_a_logged_exception_is_told_with_its_traceback_on_one_line(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with log_to(path, "REF01"):
        try:
            int("no")
        except ValueError:
            logging.getLogger("leaguekit.test").exception("it failed: %s", "here")
    (line,) = [json.loads(line) for line in path.read_text().splitlines()]
    assert (line["level"], line["message"], line["agent_id"]) == ("ERROR", "it failed: here", "REF01")
    assert "ValueError: invalid literal" in line["error"]
