"""Every time limit is reached: a receiver keeps still, and its sender, a real program, goes on at the limit."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random

import pytest

from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.transport.base import Peer, TimedOut
from tests.agents.leagues import BROADCASTS, MANAGER_URL, Exchange, Gate, Hall, after, in_virtual_time, silent, url_of
from tests.marks import proves

FIRST = url_of("player", 1)
# The messages that a player may leave unanswered, their senders, and after how many seconds these go on.
TO_A_PLAYER = {
    "GAME_INVITATION": ("referee 1", 5),
    "CHOOSE_PARITY_CALL": ("referee 1", 30),
    "GAME_OVER": ("referee 1", 5),
    "ROUND_ANNOUNCEMENT": ("manager", 10),
    "LEAGUE_STANDINGS_UPDATE": ("manager", 10),
    "ROUND_COMPLETED": ("manager", 10),
    "LEAGUE_COMPLETED": ("manager", 10),
}
LIMITED = {kind: seconds for kind, (_, seconds) in TO_A_PLAYER.items() if kind not in BROADCASTS}


def held(*kinds: str, seconds: float | None = None) -> Gate:
    """A gate that holds messages of these kinds back for some time, or for ever."""

    async def pass_gate(kind: str) -> None:
        if kind in kinds:
            await (asyncio.Event().wait() if seconds is None else asyncio.sleep(seconds))

    return pass_gate


async def play(hall: Hall, gate: Gate) -> None:
    """A league of two real players, of which the first has the gate, and a real referee."""
    await hall.referee()
    await hall.player(gate=gate)
    await hall.player()
    await hall.operate("start")
    await hall.end()
    # What was sent last may still be under way.
    await asyncio.sleep(60)


def took(one: Exchange) -> float:
    return round(one.ended - one.sent, 3)


@pytest.mark.parametrize("kind", TO_A_PLAYER)
@in_virtual_time
async def test_who_sends_to_a_player_that_keeps_still_goes_on_at_the_limit(tmp_path: Path, kind: str) -> None:
    sender, seconds = TO_A_PLAYER[kind]
    async with Hall(tmp_path) as hall:
        await play(hall, held(kind))
        sent = hall.sent(kind, to=FIRST)
        assert sent
        for one in sent:
            assert (one.by, took(one), type(one.failure)) == (sender, seconds, TimedOut)
        assert hall.league.state == "LEAGUE_COMPLETED"
        # A broadcast needs no answer: nobody loses for it.
        lost = [one.params["result"]["details"]["status"] for one in hall.sent("MATCH_RESULT_REPORT")]
        assert ("TECHNICAL_LOSS" in lost) == (kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"))


proves(
    test_who_sends_to_a_player_that_keeps_still_goes_on_at_the_limit,
    "000-L1350", "000-L1351", "000-L1352", "000-L1353", "000-L1355", "000-L1357", "000-L1359", "000-L1578",
    "001-L0080", "001-L0373", "001-L0508", "001-L0654", "001-L0751", "001-L1851", "003-L0171", "003-L0184",
    "001-L1975",
)  # fmt: skip


@pytest.mark.proves("001-L0644", "001-L0741")
@pytest.mark.parametrize("kind", ["LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"])
@in_virtual_time
async def test_the_manager_counts_who_does_not_acknowledge_and_who_does_again(tmp_path: Path, kind: str) -> None:
    async with Hall(tmp_path) as hall:
        referee, mute, *others = await hall.scripted_league(players=4)
        mute.replies = {kind: silent}
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        # Each answers all else at once; what follows is answered late, so that the count can be seen.
        mute.replies |= {other: after(5) for other in BROADCASTS if other != kind}

        def failures() -> list[int]:
            return [hall.league.players[one.id].failures for one in (mute, *others)]

        for match in ("R1M1", "R1M2"):
            await referee.report(match)
        await hall.until(lambda: failures()[0] == 1, 60)
        assert failures() == [1, 0, 0, 0]
        mute.replies = {}
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 4)
        for match in ("R2M1", "R2M2"):
            await referee.report(match)
        await hall.until(lambda: failures()[0] == 0, 60)


@pytest.mark.proves("000-L1361", "000-L1578", "001-L0080", "001-L1851", "003-L0184", "001-L1565")
@in_virtual_time
async def test_a_game_error_that_is_not_answered_holds_up_nothing(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await play(hall, held("GAME_INVITATION", "GAME_ERROR"))
        errors = hall.sent("GAME_ERROR", to=FIRST)
        assert {(one.by, took(one), type(one.failure)) for one in errors} == {("referee 1", 10, TimedOut)}
        invited = [one.sent for one in hall.sent("GAME_INVITATION", to=FIRST)]
        # Every two seconds after the five seconds of the one before, whatever becomes of the errors in between.
        assert [round(at - invited[0]) for at in invited] == [0, 7, 14, 21]


@pytest.mark.parametrize("kind", LIMITED)
@in_virtual_time
async def test_an_answer_just_before_the_limit_counts_and_one_just_after_it_does_not(tmp_path: Path, kind: str) -> None:
    for late in (-0.1, 0.1):
        async with Hall(tmp_path / str(late)) as hall:
            await play(hall, held(kind, seconds=LIMITED[kind] + late))
            in_time = [one.failure is None for one in hall.sent(kind, to=FIRST)]
            assert in_time
            assert set(in_time) == {late < 0}
            errors = {one.params["error_code"] for one in hall.sent("GAME_ERROR", to=FIRST)}
            # The end of a game is sent as best effort: a late acknowledgement is not an error.
            assert errors == ({"E001"} if late > 0 and kind != "GAME_OVER" else set())


proves(
    test_an_answer_just_before_the_limit_counts_and_one_just_after_it_does_not,
    "000-L1354", "000-L1356", "000-L1573", "000-L1574", "000-L1575", "003-L0179", "003-L0180", "003-L0181",
    "001-L1965",
)  # fmt: skip


def keep_still(hall: Hall, method: bytes) -> None:
    """Let the manager keep still at the first call of a method."""
    answering, kept = hall.manager.handle, [True]

    async def handle(body: bytes, peer: Peer) -> bytes | None:
        if b'"%b"' % method in body and kept:
            kept.clear()
            await asyncio.Event().wait()
        return await answering(body, peer)

    hall.network.close(MANAGER_URL)
    hall.network.listen(MANAGER_URL, handle)


@pytest.mark.parametrize(
    ("method", "sender"), [("register_referee", "referee 1"), ("register_player", "player 1"),
                           ("report_match_result", "referee 1")]
)  # fmt: skip
@in_virtual_time
async def test_a_manager_that_keeps_still_has_10_seconds_and_is_then_asked_again(
    tmp_path: Path, method: str, sender: str
) -> None:
    async with Hall(tmp_path) as hall:
        keep_still(hall, method.encode())
        await play(hall, held())
        first, again = [one for one in hall.wire if (one.method, one.by) == (method, sender)]
        assert (took(first), type(first.failure)) == (10, TimedOut)
        assert again.failure is None
        assert again.params == first.params
        assert hall.league.state == "LEAGUE_COMPLETED"


proves(
    test_a_manager_that_keeps_still_has_10_seconds_and_is_then_asked_again,
    "000-L1346", "000-L1348", "002-L0325", "000-L1358", "003-L0182", "002-L0326", "000-L1571", "000-L1572",
    "000-L1576", "001-L0099", "001-L0243", "001-L1327", "003-L0177", "003-L0178",
)  # fmt: skip


@pytest.mark.proves("000-L1362", "000-L1577", "001-L1679", "003-L0183")
@in_virtual_time
async def test_a_player_waits_10_seconds_for_the_answer_to_its_query(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        (seat,) = (await hall.operate("seats_new", count=1))["seats"]
        world = hall.world("player 1")
        player = PlayerAgent(Player("Ada", STRATEGIES["random"]), world, f"{MANAGER_URL}?seat={seat['code']}", FIRST)
        hall.players.append(player)
        hall.network.listen(FIRST, player.handle)
        await player.register()
        keep_still(hall, b"league_query")
        # A caller with a wrong token makes a player with a seat ask whether its own token is still good.
        await hall.referee()
        message = {"message_type": "ROUND_COMPLETED", "league_id": "x", "round_id": 1, "matches_played": 0}
        wrong = hall.envelope("league_manager") | message | {"next_round_id": None, "auth_token": "tok-wrong"}
        assert (await hall.post("notify_round_completed", wrong, url=FIRST))["error"]["code"] == 3001
        await asyncio.sleep(60)
        (asked,) = hall.sent("LEAGUE_QUERY")
        assert (asked.by, asked.url, took(asked), type(asked.failure)) == ("player 1", MANAGER_URL, 10, TimedOut)
        # Without an answer it keeps the token that it has, and asks again at the next occasion.
        await hall.post("notify_round_completed", wrong, url=FIRST)
        await asyncio.sleep(1)
        assert [one.failure for one in hall.sent("LEAGUE_QUERY")[1:]] == [None]


@pytest.mark.proves("000-L1547")
@in_virtual_time
async def test_more_than_80_percent_of_the_errors_that_can_be_retried_are_overcome_by_a_retry(tmp_path: Path) -> None:
    async with Hall(tmp_path, join_seconds=5, choice_seconds=5) as hall:
        chance = Random(7)

        async def unreliable(kind: str) -> None:
            # A twentieth of what is asked of a player comes to nothing.
            if kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL") and chance.random() < 0.05:
                await asyncio.Event().wait()

        await hall.referee()
        for _ in range(12):
            await hall.player(gate=unreliable)
        await hall.operate("start")
        await hall.end()
        errors = [one for one in hall.sent("GAME_ERROR") if one.params["retryable"]]
        assert len(errors) >= 10
        overcome = [_asked_next(hall, error).failure is None for error in errors]
        assert sum(overcome) / len(overcome) > 0.8
        lost = [
            one.params["result"]["details"]["status"] == "TECHNICAL_LOSS" for one in hall.sent("MATCH_RESULT_REPORT")
        ]
        assert (len(lost), sum(lost)) == (66, 0)


def _asked_next(hall: Hall, error: Exchange) -> Exchange:
    """What a player is asked after an error, in the same match."""
    asked = hall.sent("GAME_INVITATION", "CHOOSE_PARITY_CALL", to=error.url)
    of_match = [one for one in asked if one.params["match_id"] == error.params["match_id"]]
    return next(one for one in of_match if one.sent > error.sent)
