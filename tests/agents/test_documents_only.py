"""Agents that know no more than the documents: a referee that shows its own token, and a manager that assigns nothing.

What the exception for such a referee allows, and that it allows nothing else: decision 19.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.player.agent import PlayerAgent
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.referee import announced_matches
from leaguekit.transport.base import Peer
from tests.agents import scene as referee_scene
from tests.agents.leagues import LEAGUE, Hall, Json, Scripted, in_virtual_time, url_of
from tests.agents.scene import REFEREE_TOKEN, REFEREE_URL, Scene, player_url

OWN_TOKEN = {"token_scheme": ...}
HOME = Peer("127.0.0.1")
ELSEWHERE = Peer("10.0.0.66")


async def own_token_league(hall: Hall, players: int = 4, **meta: Any) -> tuple[Scripted, list[Scripted]]:
    """A league that has started, whose only referee was written from the documents."""
    referee = await hall.scripted("referee", 1, **OWN_TOKEN | {"max_concurrent_matches": 1} | meta)
    scripted = [await hall.scripted("player", number) for number in range(1, players + 1)]
    await hall.operate("start")
    return referee, scripted


# The manager


@pytest.mark.proves("001-L0499")
@in_virtual_time
async def test_a_referee_by_the_documents_gets_the_announcement_when_its_matches_may_begin(tmp_path: Path) -> None:
    async with Hall(tmp_path, announce_lead=60.0) as hall:
        referee, players = await own_token_league(hall)
        await hall.until(lambda: referee.got("ROUND_ANNOUNCEMENT"))
        begins = referee.got("ROUND_ANNOUNCEMENT")[0].at
        assert all(player.got("ROUND_ANNOUNCEMENT")[0].at <= begins - 60 for player in players)
        # It has room for one match at once, and begins both: there is no other message by which it could.
        assert [name for name, match in hall.league.matches.items() if match.in_play] == ["R1M1", "R1M2"]
        await hall.quiet()
        assert not referee.got("MATCH_ASSIGNMENT")
        matches = referee.got("ROUND_ANNOUNCEMENT")[0].params["matches"]
        assert [one["player_A_endpoint"] for one in matches] == [url_of("player", 1), url_of("player", 3)]


@in_virtual_time
async def test_the_reports_of_a_referee_by_the_documents_decide_a_whole_league(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, players = await own_token_league(hall)
        for round_id in (1, 2, 3):
            await hall.until(lambda count=round_id: len(referee.got("ROUND_ANNOUNCEMENT")) == count)
            for one in referee.got("ROUND_ANNOUNCEMENT")[-1].params["matches"]:
                answer = await referee.report(one["match_id"], attempt=...)
                assert answer["result"]["status"] == "ACCEPTED"
        await hall.end()
        assert all(agent.got("LEAGUE_COMPLETED") for agent in (referee, *players))


@in_virtual_time
async def test_players_hear_by_what_the_own_token_of_their_referee_is_recognised(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        ours = await hall.scripted("referee", 2, max_concurrent_matches=1)
        theirs = await hall.scripted("referee", 1, **OWN_TOKEN, max_concurrent_matches=1)
        players = [await hall.scripted("player", number) for number in range(1, 5)]
        await hall.operate("start")
        await hall.until(lambda: theirs.got("ROUND_ANNOUNCEMENT"))
        told = {one["match_id"]: one for one in players[0].got("ROUND_ANNOUNCEMENT")[0].params["matches"]}
        assert told["R1M1"]["referee_endpoint"] == ours.url
        assert "referee_verifier" not in told["R1M1"]
        assert told["R1M2"]["referee_verifier"] == tokens.verifier(theirs.token).hex()


@in_virtual_time
async def test_a_match_of_a_lost_referee_by_the_documents_is_announced_to_another(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        lost = await hall.scripted("referee", 1, **OWN_TOKEN, max_concurrent_matches=1)
        other = await hall.scripted("referee", 2, **OWN_TOKEN, max_concurrent_matches=10)
        players = [await hall.scripted("player", number) for number in range(1, 5)]
        await hall.operate("start")
        await hall.until(lambda: lost.got("ROUND_ANNOUNCEMENT") and other.got("ROUND_ANNOUNCEMENT"))
        (of_lost,) = (one.id for one in hall.league.matches.values() if one.in_play and one.referee_id == lost.id)
        hall.network.close(lost.url)
        await hall.until(lambda: len(other.got("ROUND_ANNOUNCEMENT")) == 2)
        (again,) = other.got("ROUND_ANNOUNCEMENT")[1].params["matches"]
        assert (again["match_id"], again["referee_id"]) == (of_lost, other.id)
        # Its players know by then which token the other one shows.
        for player in players:
            plays = player.id in (again["player_A_id"], again["player_B_id"])
            heard = [one for one in player.got("ROUND_ANNOUNCEMENT") if len(one.params["matches"]) == 1]
            assert len(heard) == plays
        assert (await other.report(of_lost, attempt=...))["result"]["status"] == "ACCEPTED"


@in_virtual_time
async def test_a_referee_by_the_documents_that_comes_back_gets_its_matches_again(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _ = await own_token_league(hall, players=2)
        await hall.until(lambda: referee.got("ROUND_ANNOUNCEMENT"))
        await hall.register("referee", 1, meta=OWN_TOKEN, auth_token=referee.token)
        await hall.until(lambda: len(referee.got("ROUND_ANNOUNCEMENT")) == 2)


@in_virtual_time
async def test_each_result_of_a_referee_by_the_documents_gives_its_other_matches_new_time(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, _ = await own_token_league(hall)
        await hall.until(lambda: referee.got("ROUND_ANNOUNCEMENT"))
        began = hall.now
        await hall.until(lambda: hall.now > began + 150)
        await referee.report("R1M1", attempt=...)
        await hall.until(lambda: hall.now > began + 300)
        assert hall.league.matches["R1M2"].attempt == 1
        await hall.until(lambda: hall.league.matches["R1M2"].attempt == 2)


# What its token, which its players have seen, gives access to


async def _call(hall: Hall, method: str, params: Json, peer: Peer) -> str:
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
    answer = json.loads(await hall.manager.handle(body, peer) or b"null")
    return str(answer["error"]["data"]["error_code"]) if "error" in answer else str(answer["result"]["status"])


@in_virtual_time
async def test_a_token_that_players_have_seen_counts_only_for_reports_of_its_matches_from_its_host(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        theirs, _ = await own_token_league(hall, max_concurrent_matches=10)
        await hall.until(lambda: theirs.got("ROUND_ANNOUNCEMENT"))
        report = theirs.report_of("R1M1", attempt=...)
        of_match: Json = {"league_id": LEAGUE, "round_id": 1, "match_id": "R1M1", "attempt": 1}
        progress = theirs.message("MATCH_PROGRESS", **of_match, stage="COLLECTING_CHOICES", entered_at=hall.timestamp)
        void = theirs.message("MATCH_VOID_REPORT", **of_match, reason="none")
        before = hall.substance()
        home = Peer("127.0.0.1")
        # Not from elsewhere, whatever it is.
        assert await _call(hall, "report_match_result", report, ELSEWHERE) == "E012"
        query = theirs.message("LEAGUE_QUERY", league_id=LEAGUE, query_type="GET_STATUS")
        assert await _call(hall, "league_query", query, ELSEWHERE) == "E012"
        # Not for what document 001 does not have, wherever it comes from.
        for peer in (home, ELSEWHERE):
            assert await _call(hall, "report_match_progress", progress, peer) == "E012"
            assert await _call(hall, "report_match_void", void, peer) == "E012"
        # Not for matches that were not announced for it.
        assert await _call(hall, "report_match_result", theirs.report_of("R2M1", attempt=...), home) == "E050"
        assert hall.substance() == before
        # What is left.
        assert await _call(hall, "report_match_result", report, home) == "ACCEPTED"


@pytest.mark.parametrize(
    ("peer", "changes"),
    [
        (ELSEWHERE, {}),
        (Peer("127.0.0.1"), {"contact_endpoint": "http://127.0.0.1:6666/mcp"}),
        (Peer("127.0.0.1"), {"token_scheme": "derived"}),
    ],
    ids=["from elsewhere", "to another port", "to the token scheme"],
)
@in_virtual_time
async def test_a_token_that_players_have_seen_changes_nothing_about_the_referee(
    tmp_path: Path, peer: Peer, changes: Json
) -> None:
    async with Hall(tmp_path) as hall:
        theirs, _ = await own_token_league(hall)
        before = hall.substance()
        again = hall.registration("referee", 1, meta=OWN_TOKEN | changes, auth_token=theirs.token)
        body = json.dumps({"jsonrpc": "2.0", "method": "register_referee", "params": again, "id": 1}).encode()
        answer = json.loads(await hall.manager.handle(body, peer) or b"null")
        assert answer["result"]["status"] == "REJECTED"
        assert hall.substance() == before


@in_virtual_time
async def test_a_restarted_manager_still_knows_from_where_such_a_token_counts(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        theirs, _ = await own_token_league(hall)
        await hall.until(lambda: theirs.got("ROUND_ANNOUNCEMENT"))
        await hall.crash()
        await hall.restart()
        report = theirs.report_of("R1M1", attempt=...)
        assert await _call(hall, "report_match_result", report, ELSEWHERE) == "E012"
        assert await _call(hall, "report_match_result", report, Peer("127.0.0.1")) == "ACCEPTED"


@in_virtual_time
async def test_strict_referees_turns_all_of_this_off(tmp_path: Path) -> None:
    async with Hall(tmp_path, strict_referees=True) as hall:
        refused = (await hall.register("referee", 1, meta=OWN_TOKEN))["result"]
        assert refused["status"] == "REJECTED"
        assert 'referee_meta.token_scheme is "derived"' in refused["reason"]
        assert (await hall.scripted("referee", 1)).id == "REF01"


# Our player


async def _invited(player: PlayerAgent, referee: Scripted, match_id: str, peer: Peer = HOME, **changes: Any) -> Json:
    fields: Json = {
        "league_id": LEAGUE,
        "round_id": 1,
        "match_id": match_id,
        "game_type": "even_odd",
        "role_in_match": "PLAYER_A",
        "opponent_id": "P02",
    }
    message = referee.message("GAME_INVITATION", **fields | changes)
    call = {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": message, "id": 1}
    return dict(json.loads(await player.handle(json.dumps(call).encode(), peer) or b""))


@in_virtual_time
async def test_our_player_takes_the_own_token_of_a_referee_only_for_the_announced_match(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        theirs = await hall.scripted("referee", 1, **OWN_TOKEN)
        player = await hall.player()
        await hall.player()
        await hall.operate("start")
        await hall.until(lambda: theirs.got("ROUND_ANNOUNCEMENT"))
        joined = (await _invited(player, theirs, "R1M1"))["result"]
        assert joined["accept"] is True
        # What it shows such a referee gives no access at the manager.
        identity = player.identity
        assert identity is not None
        assert joined["auth_token"] != identity.auth_token
        assert joined["auth_token"].startswith("drv-")
        for refused in (
            await _invited(player, theirs, "R1M2"),
            await _invited(player, theirs, "R1M1", ELSEWHERE),
            await _invited(player, theirs, "R1M1", auth_token="tok-ref01-somebody-elses"),
            await _invited(player, theirs, "R1M1", auth_token=...),
        ):
            assert refused["error"]["data"]["error_code"] in ("E011", "E012")


@in_virtual_time
async def test_our_player_follows_each_referee_by_the_documents_that_its_match_is_announced_for(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referees = [await hall.scripted("referee", number, **OWN_TOKEN) for number in (1, 2)]
        player = await hall.player()
        await hall.player()
        await hall.operate("start")
        first, second = referees
        await hall.until(lambda: first.got("ROUND_ANNOUNCEMENT"))
        assert "result" in await _invited(player, first, "R1M1")
        assert (await _invited(player, second, "R1M1"))["error"]["data"]["error_code"] == "E012"
        hall.network.close(first.url)
        await hall.until(lambda: hall.league.matches["R1M1"].referee_id == second.id)
        await hall.until(lambda: len(second.got("ROUND_ANNOUNCEMENT")) == 2)
        assert "result" in await _invited(player, second, "R1M1")


# Our referee


def announcement(*matches: str, **changes: Any) -> Json:
    fields: Json = {
        "protocol": "league.v2",
        "message_type": "ROUND_ANNOUNCEMENT",
        "sender": "league_manager",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-round-1-announce",
        "league_id": LEAGUE,
        "round_id": 1,
    }
    one: Json = {
        "game_type": "even_odd",
        "referee_endpoint": REFEREE_URL,
        "player_A_id": "P01",
        "player_B_id": "P02",
        "player_A_endpoint": player_url("P01"),
        "player_B_endpoint": player_url("P02"),
    }
    return fields | {"matches": [one | {"match_id": name} | changes for name in matches]}


@referee_scene.in_virtual_time
async def test_our_referee_begins_on_the_announcement_where_the_manager_assigns_nothing(scene: Scene) -> None:
    scene.manager.scheme = None
    scene.player("P01")
    scene.player("P02")
    await scene.start(max_concurrent=1)
    assert (await scene.post("notify_round", announcement("R1M1", "R1M2")))["status"] == "ACKNOWLEDGED"
    await scene.ended()
    assert [one["match_id"] for one in scene.manager.reports] == ["R1M1", "R1M2"]
    assert all(one["result"]["details"]["status"] != "TECHNICAL_LOSS" for one in scene.manager.reports)
    # One after the other, as it said that it plays one at once.
    second = scene.to("P01", "GAME_INVITATION")[1]
    assert second.at >= scene.to("P01", "GAME_OVER")[0].at
    # No player has seen the token by which the manager knows the referee.
    shown = {one.params["auth_token"] for name in ("P01", "P02") for one in scene.to(name)}
    assert REFEREE_TOKEN not in shown
    assert all(shown)


@referee_scene.in_virtual_time
async def test_our_referee_plays_an_announced_match_once(scene: Scene) -> None:
    scene.manager.scheme = None
    scene.player("P01")
    scene.player("P02")
    await scene.start()
    for _ in range(2):
        await scene.post("notify_round", announcement("R1M1"))
        await scene.ended()
    assert len(scene.manager.reports) == 1


@pytest.mark.parametrize(
    "changes",
    [{"referee_endpoint": "http://127.0.0.1:8009/mcp"}, {"referee_id": "REF09"}],
    ids=["by its endpoint", "by its id"],
)
@referee_scene.in_virtual_time
async def test_our_referee_leaves_the_matches_of_others_alone(scene: Scene, changes: Json) -> None:
    scene.manager.scheme = None
    await scene.start()
    await scene.post("notify_round", announcement("R1M1", **changes))
    await scene.ended()
    assert scene.manager.reports == []


@referee_scene.in_virtual_time
async def test_our_referee_waits_for_the_assignment_where_the_manager_assigns(scene: Scene) -> None:
    scene.player("P01")
    scene.player("P02")
    await scene.start()
    shown = {"auth_token": scene.manager.shown_token()}
    await scene.post("notify_round", announcement("R1M1") | shown)
    await scene.ended()
    assert scene.to("P01") == []


def test_a_match_without_endpoints_cannot_be_begun() -> None:
    message = announcement("R1M1")
    del message["matches"][0]["player_A_endpoint"]
    read = of_type(m.RoundAnnouncement, decode(json.dumps(message).encode()))
    assert announced_matches.own_matches(read, REFEREE_URL, "REF01") == []
