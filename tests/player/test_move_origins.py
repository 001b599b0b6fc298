"""The origins of moves: stated by players, kept by referees and the manager, and never sent to an opponent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.league import snapshot
from leaguekit.league.analysis.figures import figures
from leaguekit.league.events import ResultRecorded, decode
from leaguekit.league.flat_tables import LeagueTables
from leaguekit.league.fold import fold
from leaguekit.player.context import Context, Forfeit, Move
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.messages import MoveInfo, MoveOrigins
from leaguekit.web.app import Dashboard
from tests.agents.leagues import Hall, Json, in_virtual_time, url_of
from tests.played import Played, Transcripts
from tests.web.dashboard_clients import get

SECRET = "my reason is at http://10.1.2.3:9999/ai"
REPLACED = "the strategy raised ValueError('my reason is at …')"
# What a message that reaches an opponent must not contain.
FORBIDDEN = ("move_info", "move_origins", "origin", "my reason", "too busy")


def raises(_ctx: Context) -> Any:
    raise ValueError(SECRET)


async def asked_again(ctx: Context) -> Move:
    # This is long enough for the referee to report its progress.
    await asyncio.sleep(1)
    return Move(ctx.valid_options[0], "retried", "too busy")


def silent_about_origins(agent: Any) -> Any:
    """The answers of a player as another implementation writes them: without a statement of the origin."""

    async def handle(body: bytes, peer: Any) -> bytes | None:
        answer = json.loads(await agent.handle(body, peer))
        answer.get("result", {}).pop("move_info", None)
        return json.dumps(answer).encode()

    return handle


async def play(hall: Hall) -> Transcripts:
    """P01 fails on every move, P02 is asked again, P03 plays by itself, and P04 states nothing."""
    transcripts = Transcripts(hall)
    await hall.fill(raises, asked_again, "random", "random")
    hall.network.close(url_of("player", 4))
    hall.network.listen(url_of("player", 4), silent_about_origins(hall.players[3]))
    await hall.operate("start")
    await hall.end()
    return transcripts


EXPECTED = {
    "P01": {"replaced": 3, "reason": REPLACED},
    "P02": {"retried": 3},
    "P03": {"own": 3},
}


def as_json(origins: dict[str, MoveOrigins]) -> Json:
    return dict(sorted(msgspec.to_builtins(origins).items()))


async def log_of(tmp_path: Path, game: str = "rock_paper_scissors") -> Played:
    async with Hall(tmp_path, game_type=game) as hall:
        return await (await play(hall)).played()


@in_virtual_time
async def test_no_opponent_is_sent_where_a_move_came_from(tmp_path: Path) -> None:
    for game in ("even_odd", "tic_tac_toe"):
        async with Hall(tmp_path / game, game_type=game) as hall:
            await play(hall)
            to_players = [one for one in hall.wire if one.url in [url_of("player", number) for number in range(1, 5)]]
            assert {"GAME_OVER", "ROUND_COMPLETED", "LEAGUE_COMPLETED"} <= {one.kind for one in to_players}
            for one in to_players:
                assert not any(word in json.dumps(one.params) for word in FORBIDDEN), one.params
            # The manager's answers to queries and the referee's progress do not contain it either.
            assert hall.sent("MATCH_PROGRESS")
            progress = json.dumps([one.params for one in hall.sent("MATCH_PROGRESS")])
            schedule = json.dumps(await hall.operate("query", query_type="GET_SCHEDULE"))
            assert not any(word in progress + schedule for word in FORBIDDEN)
            # The players' answers and the reports contain it.
            answers = [one.answer["result"] for one in to_players if one.answer and "CALL" in one.kind]
            assert {one.get("move_info", {}).get("origin") for one in answers} == {"own", "retried", "replaced", None}
            assert all("move_origins" in one.params["result"]["details"] for one in hall.sent("MATCH_RESULT_REPORT"))


@in_virtual_time
async def test_a_wrong_move_is_told_without_its_origin_and_not_counted(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="rock_paper_scissors") as hall:
        await hall.fill("random", "random", referees=1)
        first = True

        async def handle(body: bytes, peer: Any) -> bytes | None:
            nonlocal first
            answer = json.loads(await hall.players[0].handle(body, peer) or b"{}")
            if first and "move_data" in answer.get("result", {}):
                first = False
                answer["result"] |= {"move_data": "ROCK", "move_info": {"origin": "retried", "reason": "too busy"}}
            return json.dumps(answer).encode()

        hall.network.close(url_of("player", 1))
        hall.network.listen(url_of("player", 1), handle)
        await hall.operate("start")
        await hall.end()
        (error,) = hall.sent("GAME_ERROR")
        assert error.params["context"]["invalid_choice"] == "ROCK"
        assert not any(word in json.dumps(error.params) for word in FORBIDDEN)
        assert as_json(hall.league.move_origins) == {"P01": {"own": 1}, "P02": {"own": 1}}


@in_virtual_time
async def test_the_manager_counts_origins_and_still_has_them_after_a_restart(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="rock_paper_scissors") as hall:
        await play(hall)
        assert as_json(hall.league.move_origins) == EXPECTED
        await hall.crash()
        await hall.restart()
        assert as_json(hall.league.move_origins) == EXPECTED
        assert (await hall.operate("moves"))["moves"] == EXPECTED
        agents = {one["id"]: one.get("moves") for one in (await hall.operate("agents"))["agents"]}
        assert agents == {**EXPECTED, "P04": None, "REF01": None, "REF02": None}
        restored, _ = snapshot.restore(snapshot.save(hall.league, 1))
        assert as_json(restored.move_origins) == EXPECTED
        # The state and the events contain different values.
        assert as_json(fold(map(decode, hall.log.content.events)).move_origins) == EXPECTED


@in_virtual_time
async def test_the_transcript_has_what_each_player_states(tmp_path: Path) -> None:
    played = await log_of(tmp_path)
    entries = [
        entry
        for name, text in played.kept.items()
        if name.startswith("transcript/")
        for entry in json.loads(text)["entries"]
    ]
    stated = [
        (entry["player_id"], entry["body"].get("move_info"))
        for entry in entries
        if entry.get("message_type") == "GAME_MOVE_RESPONSE"
    ]
    assert stated.count(("P01", {"origin": "replaced", "reason": REPLACED})) == 3
    assert stated.count(("P02", {"origin": "retried", "reason": "too busy"})) == 3
    assert stated.count(("P03", {"origin": "own"})) == 3
    assert stated.count(("P04", None)) == 3


@in_virtual_time
async def test_a_report_of_own_moves_only_grows_by_little(tmp_path: Path) -> None:
    played = await log_of(tmp_path)
    results = [event for event in map(decode, played.log) if isinstance(event, ResultRecorded)]
    sizes = [len(msgspec.json.encode(event.result.details.move_origins)) for event in results]
    assert max(sizes) < 300
    alone = next(event for event in results if set(event.result.score) == {"P03", "P04"})
    assert msgspec.json.encode(alone.result.details.move_origins) == b'{"P03":{"own":1}}'


@in_virtual_time
async def test_exports_and_figures_have_the_counts_and_nothing_of_who_states_nothing(tmp_path: Path) -> None:
    played, listing = await log_of(tmp_path), LeagueTables()
    for text in played.log:
        listing.take(decode(text))
    rows = {(row.player_A_id, row.player_B_id): row for row in listing.results()}
    row = next(row for players, row in rows.items() if set(players) == {"P01", "P04"})
    sides = {
        row.player_A_id: (row.own_A, row.retried_A, row.replaced_A),
        row.player_B_id: (row.own_B, row.retried_B, row.replaced_B),
    }
    assert sides == {"P01": (0, 0, 1), "P04": (None, None, None)}
    agents = {agent.agent_id: agent for agent in listing.agents()}
    assert (agents["P01"].replaced_moves, agents["P01"].replaced_because) == (3, REPLACED)
    assert (agents["P03"].own_moves, agents["P03"].replaced_because) == (3, None)
    assert (agents["P04"].own_moves, agents["REF01"].own_moves) == (None, None)
    found = figures(listing.league)
    counts = {"P01": {"replaced": 3}, "P02": {"retried": 3}, "P03": {"own": 3}}
    assert as_json(found.move_origins) == counts
    said = "3 of 3 moves of P01 were replaced by other legal moves, by its own statement."
    assert [sentence for sentence in found.sentences if "moves of" in sentence] == [said]


@in_virtual_time
async def test_pages_show_the_counts_as_the_agents_own_statement_without_addresses(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="rock_paper_scissors") as hall:
        await (await play(hall)).played()
        visitor = Dashboard(hall.manager)
        replaced = {"own": 0, "retried": 0, "replaced": 3, "illegal": 0, "reason": REPLACED}
        page = (await get(visitor, "/api/agents/P01")).json
        assert page["moves"] == replaced
        assert page["to_fix"][0] == (
            f"3 of 3 moves were replaced by other legal moves, by its own statement: {REPLACED}"
        )
        assert (await get(visitor, "/api/agents/P04")).json["moves"] is None
        listed = (await get(visitor, "/api/agents")).json["moves"]
        assert (listed["P01"], sorted(listed)) == (replaced, ["P01", "P02", "P03"])
        match = next(one for one in hall.league.matches.values() if set(one.players) == {"P01", "P04"})
        page = (await get(visitor, f"/api/matches/{match.id}")).json
        assert page["moves"] == {"P01": replaced | {"replaced": 1}}
        texts = [one["text"] for one in page["messages"] if one["message_type"] == "GAME_MOVE_RESPONSE"]
        assert sum("(by its own statement replaced: " in text for text in texts) == 1
        assert "10.1.2.3" not in json.dumps(page)


@in_virtual_time
async def test_a_strategy_that_cannot_play_a_leagues_game_is_not_taken(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="tic_tac_toe") as hall:
        with pytest.raises(RegistrationRefused, match="this league plays tic_tac_toe"):
            await hall.player("always_even")


@in_virtual_time
async def test_a_player_that_is_given_another_game_says_so_and_its_moves_are_replaced(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="rock_paper_scissors") as hall:
        await hall.fill("random", "random", referees=1)
        # This is like a program that has registered for every game.
        hall.players[0].player.strategy = STRATEGIES["always_odd"]
        await hall.operate("start")
        await hall.end()
        origins = hall.league.move_origins["P01"]
        assert (origins.own, origins.replaced) == (0, 1)
        assert "CannotPlay('always_odd cannot play rock_paper_scissors')" in str(origins.reason)


@in_virtual_time
async def test_an_address_that_another_program_states_is_not_passed_on(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random", referees=1)
        stated = MoveOrigins(replaced=1, reason=SECRET)
        hall.league.move_origins["P01"] = stated
        for shown in (
            await hall.operate("moves"),
            (await get(Dashboard(hall.manager), "/api/agents/P01")).json["moves"],
        ):
            assert "my reason is at …" in json.dumps(shown, ensure_ascii=False)
            assert "10.1.2.3" not in json.dumps(shown)


@pytest.mark.parametrize("game_type", ["even_odd", "rock_paper_scissors"])
@in_virtual_time
async def test_a_strategy_that_forfeits_is_asked_once_and_loses_and_the_rates_say_so(
    tmp_path: Path, game_type: str
) -> None:
    asked: list[str] = []

    def forfeits(ctx: Context) -> Forfeit:
        asked.append(ctx.match_id)
        return Forfeit("the model gave no move (illegal)", MoveInfo(illegal=1, model="m", retries=0))

    async with Hall(tmp_path, game_type=game_type) as hall:
        await hall.fill(forfeits, "random", "random", "random")
        await hall.operate("start")
        await hall.end()
        # The referee asks again after an illegal move. The strategy is not asked again.
        assert asked == sorted(set(asked))
        assert len(asked) == 3
        league = hall.manager.ledger.league
        by_id = {line.player_id: line for line in figures(league).lines}
        assert (by_id["P01"].technical_losses, by_id["P01"].own_rate, by_id["P01"].illegal_rate) == (3, 0.0, 1.0)
        assert by_id["P02"].technical_losses == 0
        assert str(league.move_origins["P01"]).startswith("3 replaced (the first because the model gave no move")


@in_virtual_time
async def test_ratings_can_leave_out_matches_with_replaced_moves(tmp_path: Path) -> None:
    played, tables = await log_of(tmp_path), LeagueTables()
    for text in played.log:
        tables.take(decode(text))
    unrated = tables.with_replaced_moves()
    found = figures(tables.league, unrated=unrated)
    assert unrated == {match.id for match in tables.league.matches.values() if "P01" in match.players}
    assert {line.player_id: line.rated_matches for line in found.lines} == {"P01": 0, "P02": 2, "P03": 2, "P04": 2}
    assert "3 matches have replaced moves and are not in the ratings." in found.sentences
    assert {line.player_id: line.points for line in found.lines} == {
        line.player_id: line.points for line in figures(tables.league).lines
    }
