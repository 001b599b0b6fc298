"""Cached answers equal new ones, change with the league, and take little memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from leaguekit.league import queries
from leaguekit.manager import query_cache
from leaguekit.protocol.decoding import violations
from tests.agents.leagues import Hall, Json, in_virtual_time

PARAMS: list[tuple[str, Json]] = [
    ("GET_STANDINGS", {}),
    ("GET_SCHEDULE", {}),
    ("GET_SCHEDULE", {"round_id": 1}),
    ("GET_SCHEDULE", {"round_id": 2}),
    ("GET_NEXT_MATCH", {"player_id": "P01"}),
    ("GET_NEXT_MATCH", {"player_id": "P02"}),
    ("GET_NEXT_MATCH", {"player_id": "P99"}),
    ("GET_PLAYER_STATS", {"player_id": "P01"}),
    ("GET_PLAYER_STATS", {"player_id": "P02"}),
    ("GET_PLAYER_STATS", {}),
    ("GET_STATUS", {}),
]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The queries whose answers were made, and not taken from the cache."""
    found: list[Any] = []
    real = queries.answer
    monkeypatch.setattr(queries, "answer", lambda *asked: found.append(asked) or real(*asked))
    return found


async def every_answer(hall: Hall, *agents: Any) -> list[Json]:
    """All answers, without the fields that differ each time."""
    found = []
    for agent in agents:
        for number, (query_type, params) in enumerate(PARAMS):
            came = await agent.query(query_type, query_params=params, conversation_id=f"conv-{agent.id}-{number}")
            result = came["result"]
            assert violations(result) == []
            assert result.pop("conversation_id") == f"conv-{agent.id}-{number}"
            assert result.pop("timestamp") == hall.timestamp
            found.append(result)
    return found


@in_virtual_time
async def test_nothing_is_computed_twice_until_the_league_changes(tmp_path: Path, made: list[Any]) -> None:
    async with Hall(tmp_path) as hall:
        referee, first, second, *_ = await hall.scripted_league()
        await hall.quiet()
        one, other = await every_answer(hall, first), await every_answer(hall, second, referee)
        assert other == one + one
        assert len(made) == len(PARAMS)
        before = dict(zip(map(str, PARAMS), one, strict=True))
        await referee.report("R1M1")
        after = dict(zip(map(str, PARAMS), await every_answer(hall, second), strict=True))
        assert len(made) == 2 * len(PARAMS)
        assert {query for query in before if before[query] != after[query]} == {
            str(one) for one in PARAMS if one[1].get("player_id") != "P99" and one[1] != {"round_id": 2}
        } - {str(("GET_PLAYER_STATS", {}))}


@in_virtual_time
async def test_only_so_much_is_kept(tmp_path: Path, made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    async with Hall(tmp_path) as hall:
        _, player, *_ = await hall.scripted_league()
        await hall.quiet()
        expected, cache = await every_answer(hall, player), hall.manager._query_cache
        for most in (100, 1_000):
            monkeypatch.setattr(query_cache, "MAX_CACHED_BYTES", most)
            cache._clear()
            made.clear()
            assert await every_answer(hall, player) + await every_answer(hall, player) == 2 * expected
            assert cache._total_bytes <= most
            assert len(cache._templates) <= most // 100
            assert len(made) > len(PARAMS)


@in_virtual_time
async def test_of_a_long_table_each_reader_is_told_its_own_row(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        players = [await hall.scripted("player", number) for number in range(1, 104)]
        for player in (players[101], players[102], players[0]):
            result = (await player.query("GET_STANDINGS"))["result"]
            assert len(result["standings"]) == len(result["data"]["standings"]) == 100
            assert player.id in {row["player_id"] for row in result["standings"]}
