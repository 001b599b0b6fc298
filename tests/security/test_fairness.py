"""Choices stay with the referee until both are in: whatever the first player chose, everybody sees the same."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.agents.logs import JsonFormatter
from leaguekit.protocol.fields import QUERY_TYPES
from leaguekit.referee.referee import GET_MATCH_STATE
from leaguekit.sim import loop
from leaguekit.transport.base import Peer
from tests.agents.leagues import LEAGUE, Hall, Json, Reply, Scripted, url_of

GAMES = {"even_odd": ("even", "odd"), "rock_paper_scissors": ("rock", "paper")}
ANSWERS = {
    "GAME_INVITATION": "GAME_JOIN_ACK",
    "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE",
    "GAME_MOVE_CALL": "GAME_MOVE_RESPONSE",
}


class Seen(NamedTuple):
    """What could be seen while one player had chosen and the other had not, and how the match ended."""

    wire: list[Any]
    answers: list[Any]
    files: dict[str, bytes]
    events: list[bytes]
    logs: list[str]
    result: Json


def _answering(choice: str, after: float) -> Reply:
    async def reply(agent: Scripted, call: Json) -> Json:
        kind = call["message_type"]
        if kind != "GAME_INVITATION":
            await asyncio.sleep(after)
        said = {
            "GAME_INVITATION": {"arrival_timestamp": agent.hall.timestamp, "accept": True},
            "CHOOSE_PARITY_CALL": {"parity_choice": choice},
            "GAME_MOVE_CALL": {"move_data": choice},
        }[kind]
        envelope = {"protocol": "league.v2", "sender": agent.sender, "timestamp": agent.hall.timestamp}
        echo = {"conversation_id": call["conversation_id"], "match_id": call["match_id"], "player_id": agent.id}
        return envelope | echo | {"message_type": ANSWERS[kind]} | said

    return reply


async def _match(root: Path, game: str, choice: str, logs: list[str]) -> Seen:
    """P01 chooses after a second, P02 after twenty; a look is taken after ten."""
    async with Hall(root, game_type=game) as hall:
        referee = await hall.referee()
        players = []
        for number, (chosen, seconds) in enumerate([(choice, 1.0), (GAMES[game][0], 20.0)], 1):
            reply = _answering(chosen, seconds)
            players.append(await hall.scripted("player", number, dict.fromkeys(ANSWERS, reply), game_types=[game]))
        await hall.operate("start")
        await hall.until(lambda: len(players[0].got("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")) == 1)
        await asyncio.sleep(10)
        answers = [await players[1].query(kind, query_params={"player_id": "P01"}) for kind in QUERY_TYPES]
        looks = ("status", "standings", "schedule", "agents", "seats")
        answers += [await hall.operate(command) for command in looks]
        answers += [await hall.operate("query", query_type=kind, player_id="P01") for kind in QUERY_TYPES]
        for params in ({}, {"match_id": "R1M1"}):
            call = {"jsonrpc": "2.0", "method": GET_MATCH_STATE, "params": params, "id": 1}
            answers.append(json.loads(await referee.handle(json.dumps(call).encode(), Peer("10.0.0.7")) or b"null"))
        answers.append(hall.manager.runner.progress.latest["R1M1"])
        seen = Seen(_public(hall), answers, _files(root), [*hall.log.content.events], [*logs], {})
        await hall.end()
        (over,) = hall.sent("GAME_OVER", to=url_of("player", 2))
        assert over.sent >= 20
        return seen._replace(result=over.params["game_result"])


def _public(hall: Hall) -> list[Any]:
    """The wire but for what P01 itself answered, which is between it and its referee; ids are of the process."""
    own = url_of("player", 1)
    answers = [None if one.url == own else (one.answer or {}).get("result") for one in hall.wire]
    return [one._replace(answer=answer) for one, answer in zip(hall.wire, answers, strict=True)]


def _files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.parametrize("game", GAMES)
def test_nobody_can_see_what_one_player_chose_before_the_other_has(tmp_path: Path, game: str) -> None:
    logs: list[str] = []

    class Collected(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            # When it was written is not what it says.
            record.created = 0.0
            logs.append(self.format(record))

    package = logging.getLogger("leaguekit")
    level, handler = package.level, Collected()
    handler.setFormatter(JsonFormatter("everybody"))
    package.addHandler(handler)
    package.setLevel(logging.DEBUG)
    try:
        seen = []
        for choice in GAMES[game]:
            logs.clear()
            seen.append(loop.run(_match(tmp_path / choice, game, choice, logs)))
    finally:
        package.removeHandler(handler)
        package.setLevel(level)
    one, other = seen
    # It was there to be seen in the end.
    assert one.result["choices"] != other.result["choices"]
    assert one.wire == other.wire
    assert one.answers == other.answers
    assert one.files == other.files
    assert one.events == other.events
    assert one.logs == other.logs
    assert len(one.answers) == 18
    assert {"agents_config.json", "rounds.json"} <= {Path(name).name for name in one.files}
    assert len(one.logs) > 5
    assert LEAGUE in str(one.answers)
