"""Broadcasts: a slow agent does not delay the others, and no important message is lost."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.credentials import credentials_in
from leaguekit.agents.world import World
from leaguekit.manager.broadcasts import Broadcasts, EncodedMessage, Recipient, encode_message
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode
from leaguekit.protocol.rpc import request
from leaguekit.store.base import StoreError
from leaguekit.transport.base import CallerLate, CallerUnable, HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork
from leaguekit.transport.server.pending_requests import BYTES_BEFORE_ADMISSION
from tests.agents.leagues import BEGAN, LEAGUE, Hall, in_virtual_time, lost_by_silence, silent, url_of, won
from tests.marks import proves


def note(text: str) -> EncodedMessage:
    """A message with a text."""
    return EncodedMessage("notify", "NOTE", json.dumps({"text": text}).encode())


class Listeners:
    """Agents that only listen. It records what each got and when, and sets how each answers."""

    def __init__(self) -> None:
        self.network = MemoryNetwork()
        self.got: list[tuple[float, str, str]] = []
        self.outcomes: list[tuple[float, str, int]] = []
        self.suspended: set[str] = set()
        self.gone: set[str] = set()
        self.expected: dict[str, asyncio.Event] = {}
        self.is_replaced = False
        self.delays: dict[str, float] = {}
        self.answer: bytes | None = b'{"jsonrpc":"2.0","result":{},"id":1}'
        self.caller: Any = MemoryCaller(self.network)
        self.broadcasts = Broadcasts(
            World(self.caller),
            self.recipient,
            lambda agent: agent in self.suspended,
            self.note_outcome,
            self.wait_to_send,
        )
        for name in ("P01", "P02"):
            self.listen(name)

    @property
    def now(self) -> float:
        return asyncio.get_running_loop().time()

    def url(self, name: str) -> str:
        return url_of("player", int(name[1:]))

    def listen(self, name: str) -> None:
        async def handle(body: bytes, _peer: Peer) -> bytes | None:
            self.got.append((self.now, name, json.loads(body)["params"]["text"]))
            await asyncio.sleep(self.delays.get(name, 0.0))
            return self.answer

        self.network.listen(self.url(name), handle)

    def recipient(self, name: str) -> Recipient | None:
        return Recipient(self.url(name), f"drv-{name}", has_left=name in self.gone)

    async def wait_to_send(self, name: str) -> None:
        if name in self.expected:
            await self.expected[name].wait()
        if self.is_replaced:
            raise StoreError("another manager has taken this league over")

    def note_outcome(self, name: str, failures: int) -> None:
        self.outcomes.append((self.now, name, failures))

    def of(self, name: str) -> list[tuple[float, str]]:
        return [(at, text) for at, who, text in self.got if who == name]


def test_an_encoded_message_is_the_message_with_each_receivers_own_token() -> None:
    message = m.RoundCompleted(
        **m.envelope("league_manager", BEGAN, "conv-round-1-complete"),
        league_id=LEAGUE,
        round_id=1,
        next_round_id=None,
        matches_played=1,
    )
    made = encode_message(message)
    assert (made.method, made.kind) == ("notify_round_completed", "ROUND_COMPLETED")
    read = decode(made.params("drv-abc"))
    assert isinstance(read, m.RoundCompleted)
    assert read.auth_token == "drv-abc"
    assert read.round_id == 1


def test_a_receiver_finds_its_token_in_the_beginning_of_a_long_message() -> None:
    """A player or a referee reads no more of a message if the token is not there."""
    made = EncodedMessage("notify", "NOTE", json.dumps({"text": 2 * BYTES_BEFORE_ADMISSION * "x"}).encode())
    body = request(made.method, made.params("drv-abc"), 1)
    assert credentials_in(body[:BYTES_BEFORE_ADMISSION]).auth_token == "drv-abc"


@in_virtual_time
async def test_a_manager_that_was_replaced_sends_nothing_not_even_what_waits_for_another_try() -> None:
    listeners = Listeners()
    listeners.network.close(listeners.url("P01"))
    sent = [listeners.broadcasts.send("P01", note(text)) for text in ("first", "second")]
    await asyncio.sleep(0.5)
    listeners.is_replaced = True
    listeners.listen("P01")
    assert await asyncio.gather(*sent) == [False, False]
    assert listeners.got == []
    assert not await listeners.broadcasts.send_final("P02", note("end"))


@in_virtual_time
async def test_standings_come_at_most_once_a_second_and_the_newest_replaces_what_waits() -> None:
    listeners = Listeners()
    for tenth in range(25):
        listeners.broadcasts.send_standings("P01", note(f"after {tenth}"), closing=False)
        await asyncio.sleep(0.1)
    await asyncio.sleep(10)
    texts = [text for _, text in listeners.of("P01")]
    times = [at for at, _ in listeners.of("P01")]
    # After each second, the newest update at that time is sent. The limit may be met exactly.
    assert texts in (
        ["after 0", f"after {9 + one}", f"after {19 + two}", "after 24"] for one in (0, 1) for two in (0, 1)
    )
    assert times == pytest.approx([0, 1, 2, 3])


@in_virtual_time
async def test_the_standings_that_close_a_round_are_not_held_back_and_come_before_its_end() -> None:
    listeners = Listeners()
    listeners.broadcasts.send_standings("P01", note("first"), closing=False)
    await asyncio.sleep(0.2)
    listeners.broadcasts.send_standings("P01", note("replaced"), closing=False)
    await asyncio.sleep(0.1)
    listeners.broadcasts.send_standings("P01", note("closing"), closing=True)
    listeners.broadcasts.send("P01", note("round completed"))
    await asyncio.sleep(10)
    assert listeners.of("P01") == [
        (0.0, "first"),
        (pytest.approx(0.3), "closing"),
        (pytest.approx(0.3), "round completed"),
    ]


@in_virtual_time
async def test_one_message_is_under_way_to_an_agent_and_a_slow_one_holds_up_nobody_else() -> None:
    listeners = Listeners()
    listeners.delays["P01"] = 4.0
    for agent in ("P01", "P02"):
        for text in ("one", "two", "three"):
            listeners.broadcasts.send(agent, note(text))
    await asyncio.sleep(60)
    assert listeners.of("P02") == [(0.0, "one"), (0.0, "two"), (0.0, "three")]
    assert listeners.of("P01") == [(0.0, "one"), (4.0, "two"), (8.0, "three")]


@in_virtual_time
async def test_what_was_decided_first_is_sent_first_and_answered_before_the_next() -> None:
    listeners = Listeners()
    listeners.delays["P01"] = 4.0
    listeners.broadcasts.send_standings("P01", note("closing"), closing=True)
    listeners.broadcasts.send("P01", note("round completed"))
    await asyncio.sleep(1)
    assert await listeners.broadcasts.send("P01", note("next announcement")) is True
    assert listeners.now == 12.0
    assert listeners.of("P01") == [(0.0, "closing"), (4.0, "round completed"), (8.0, "next announcement")]


@in_virtual_time
async def test_standings_that_wait_for_their_second_are_sent_before_what_was_decided_after_them() -> None:
    listeners = Listeners()
    listeners.broadcasts.send_standings("P01", note("first"), closing=False)
    await asyncio.sleep(0.2)
    listeners.broadcasts.send_standings("P01", note("replaced"), closing=False)
    listeners.broadcasts.send_standings("P01", note("corrected"), closing=False)
    await asyncio.sleep(0.2)
    assert [text for _, text in listeners.of("P01")] == ["first"]
    await listeners.broadcasts.send("P01", note("announcement"))
    assert [text for _, text in listeners.of("P01")] == ["first", "corrected", "announcement"]


@pytest.mark.parametrize(("delay", "answered"), [(9.0, True), (11.0, False)])
@in_virtual_time
async def test_it_is_told_whether_an_agent_has_answered(delay: float, *, answered: bool) -> None:
    listeners = Listeners()
    listeners.delays["P01"] = delay
    listeners.suspended.add("P02")
    told = [listeners.broadcasts.send(agent, note("hello")) for agent in ("P01", "P02")]
    assert [await one for one in told] == [answered, False]


@in_virtual_time
async def test_the_last_word_waits_for_everything_else_and_drops_standings_that_wait() -> None:
    listeners = Listeners()
    listeners.delays["P01"] = 2.0
    listeners.broadcasts.send_standings("P01", note("standings"), closing=False)
    await asyncio.sleep(0.5)
    listeners.broadcasts.send_standings("P01", note("never sent"), closing=False)
    await listeners.broadcasts.send_final("P01", note("the end"))
    assert listeners.of("P01") == [(0.0, "standings"), (2.0, "the end")]
    listeners.broadcasts.send("P01", note("announcement"))
    listeners.broadcasts.send("P01", note("round completed"))
    await listeners.broadcasts.send_final("P01", note("the end again"))
    assert listeners.of("P01")[2:] == [(4.0, "announcement"), (6.0, "round completed"), (8.0, "the end again")]


@in_virtual_time
async def test_the_last_word_does_not_wait_for_the_second_of_standings() -> None:
    listeners = Listeners()
    listeners.broadcasts.send_standings("P01", note("standings"), closing=False)
    await asyncio.sleep(0.2)
    listeners.broadcasts.send_standings("P01", note("never sent"), closing=False)
    await asyncio.sleep(0.2)
    await listeners.broadcasts.send_final("P01", note("the end"))
    assert listeners.of("P01") == [(0.0, "standings"), (pytest.approx(0.4), "the end")]


@pytest.mark.parametrize(
    "answer", [b'{"jsonrpc":"2.0","result":{},"id":1}', b'{"jsonrpc":"2.0","error":{"code":1}}', b"<html>", b"", None]
)
@in_virtual_time
async def test_any_answer_is_delivery_whatever_it_says(answer: bytes | None) -> None:
    listeners = Listeners()
    listeners.answer = answer
    listeners.broadcasts.send("P01", note("hello"))
    await asyncio.sleep(60)
    assert listeners.of("P01") == [(0.0, "hello")]
    assert listeners.outcomes == [(0.0, "P01", 0)]


proves(
    test_any_answer_is_delivery_whatever_it_says,
    "000-L0324", "000-L0406", "000-L0953", "001-L0438", "001-L0602", "001-L0699", "001-L0853", "004-L0111",
    "004-L0300", "004-L0340", "004-L0374",
)  # fmt: skip


@in_virtual_time
async def test_a_connection_that_fails_is_tried_three_times_more_two_seconds_apart() -> None:
    listeners = Listeners()
    listeners.network.close(listeners.url("P01"))
    listeners.broadcasts.send("P01", note("hello"))
    await asyncio.sleep(60)
    assert listeners.outcomes == [(at, "P01", 1) for at in (0.0, 2.0, 4.0, 6.0)]


@in_virtual_time
async def test_a_retry_reaches_an_agent_that_is_there_again() -> None:
    listeners = Listeners()
    listeners.network.close(listeners.url("P01"))
    listeners.broadcasts.send("P01", note("hello"))
    await asyncio.sleep(3)
    listeners.listen("P01")
    await asyncio.sleep(60)
    assert listeners.of("P01") == [(4.0, "hello")]
    assert [failures for _, _, failures in listeners.outcomes] == [1, 1, 0]


@in_virtual_time
async def test_an_agent_has_10_seconds_to_answer_and_silence_is_not_tried_again() -> None:
    listeners = Listeners()
    listeners.delays |= {"P01": 10.5, "P02": 9.5}
    for agent in ("P01", "P02"):
        listeners.broadcasts.send(agent, note("hello"))
    await asyncio.sleep(60)
    assert listeners.of("P01") == [(0.0, "hello")]
    assert listeners.outcomes == [(9.5, "P02", 0), (10.0, "P01", 1)]


@in_virtual_time
async def test_who_is_suspended_or_has_left_is_told_of_nothing_but_the_end() -> None:
    listeners = Listeners()
    listeners.suspended.add("P01")
    listeners.gone.add("P02")
    for agent in ("P01", "P02"):
        await listeners.broadcasts.send(agent, note("announcement"))
        listeners.broadcasts.send_standings(agent, note("standings"), closing=True)
        listeners.broadcasts.send(agent, note("round completed"))
        await listeners.broadcasts.send_final(agent, note("the end"))
    assert listeners.got == [(0.0, "P01", "the end"), (0.0, "P02", "the end")]


@in_virtual_time
async def test_who_has_left_is_told_of_the_end_only_once_whatever_comes_of_it() -> None:
    listeners = Listeners()
    listeners.gone |= {"P01", "P02"}
    listeners.network.close(listeners.url("P01"))
    listeners.answer = b'{"jsonrpc":"2.0","error":{"code":6001,"message":"no","data":{"error_code":"E012"}},"id":1}'
    assert [await listeners.broadcasts.send_final(agent, note("the end")) for agent in ("P01", "P02")] == [True, True]
    assert listeners.now == 0.0
    # An agent that has left the league is not blamed for a missing answer.
    assert listeners.outcomes == [(0.0, "P02", 0)]


@in_virtual_time
async def test_who_is_suspended_meanwhile_is_not_tried_again() -> None:
    listeners = Listeners()
    listeners.network.close(listeners.url("P01"))
    listeners.broadcasts.send("P01", note("hello"))
    await asyncio.sleep(1)
    listeners.suspended.add("P01")
    await asyncio.sleep(60)
    assert listeners.outcomes == [(0.0, "P01", 1)]


@in_virtual_time
async def test_lateness_of_the_manager_itself_is_no_failure_of_the_agent() -> None:
    class Late:
        async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 0) -> HttpAnswer:
            raise CallerLate(80)

        async def close(self) -> None:
            pass

    heard: list[int] = []
    broadcasts = Broadcasts(
        World(Late()),
        lambda _: Recipient("http://x/mcp", "t"),
        lambda _: False,
        lambda _, count: heard.append(count),
        lambda _: asyncio.sleep(0),
    )
    await broadcasts.send_final("P01", note("hello"))
    assert heard == []


@in_virtual_time
async def test_what_the_managers_machine_cannot_send_is_sent_later_and_no_failure_of_the_agent() -> None:
    class Unable:
        async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 0) -> HttpAnswer:
            if asyncio.get_running_loop().time() < 3:
                raise CallerUnable(url, "too many open files")
            return HttpAnswer(200, b"{}")

        async def close(self) -> None:
            pass

    heard: list[int] = []
    broadcasts = Broadcasts(
        World(Unable()),
        lambda _: Recipient("http://x/mcp", "t"),
        lambda _: False,
        lambda _, count: heard.append(count),
        lambda _: asyncio.sleep(0),
    )
    assert await broadcasts.send("P01", note("hello"))
    assert (heard, asyncio.get_running_loop().time()) == ([0], 4.0)


@in_virtual_time
async def test_closing_ends_what_is_under_way() -> None:
    listeners = Listeners()
    listeners.delays |= {"P01": 5.0, "P02": 5.0}
    listeners.broadcasts.send("P01", note("announcement"))
    listeners.broadcasts.send("P02", note("one"))
    listeners.broadcasts.send("P02", note("two"))
    await asyncio.sleep(1)
    listeners.broadcasts.close()
    await asyncio.sleep(60)
    assert [text for *_, text in listeners.got] == ["announcement", "one"]
    assert listeners.outcomes == []


# In a league


@pytest.mark.settles("000-L0079", "000-L0394", "004-L0110", "004-L0299", "004-L0339")
@in_virtual_time
async def test_after_five_failures_in_a_row_a_player_is_suspended_and_hears_only_of_the_leagues_end(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, mute, *others = await hall.scripted_league(players=8)
        mute.replies = dict.fromkeys(("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"), silent)
        suspended_at = told = None
        while hall.league.state == "RUNNING_LEAGUE":
            if suspended_at is None and hall.league.players[mute.id].state == "SUSPENDED":
                suspended_at, told = hall.now, len(mute.arrived)
                assert hall.league.players[mute.id].failures == 5
            for match in [one for one in hall.league.matches.values() if one.in_play]:
                result = None
                if mute.id in match.players:
                    result = lost_by_silence(mute.id, match.opponent_of(mute.id), None)
                await referee.report(match.id, result)
            await asyncio.sleep(0.1)
        over_at = hall.now
        await hall.end()
        assert suspended_at is not None
        assert [one.kind for one in mute.arrived[told:]] == ["LEAGUE_COMPLETED"]
        # Nothing waits for it any more.
        assert over_at - suspended_at < 2
        for one in others:
            assert [got.kind for got in one.arrived].count("ROUND_COMPLETED") == 7
            assert one.arrived[-1].kind == "LEAGUE_COMPLETED"


@in_virtual_time
async def test_a_match_that_it_answers_brings_a_suspended_player_back(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, player, other = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        assert "result" in await referee.report("R1M1", lost_by_silence("P01", "P02", 5))
        assert hall.league.players["P01"].failures == 5
        await hall.end()
        # The result that suspended it was the last of the league. It gets only the end of the league.
        assert [one.kind for one in player.arrived] == ["ROUND_ANNOUNCEMENT", "LEAGUE_COMPLETED"]
        assert [one.kind for one in other.arrived][-2:] == ["ROUND_COMPLETED", "LEAGUE_COMPLETED"]
    async with Hall(tmp_path / "again", rounds="double") as hall:
        referee, player, other = await hall.scripted_league(players=2)
        await hall.until(lambda: referee.got("MATCH_ASSIGNMENT"))
        await referee.report("R1M1", lost_by_silence("P01", "P02", 5))
        assert hall.league.players["P01"].state == "SUSPENDED"
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        assigned = referee.got("MATCH_ASSIGNMENT")[1].params
        states = {assigned[side]["player_id"]: assigned[side]["state"] for side in ("player_A", "player_B")}
        assert states == {"P01": "SUSPENDED", "P02": "ACTIVE"}
        assert [one.kind for one in player.arrived] == ["ROUND_ANNOUNCEMENT"]
        await referee.report("R2M1", won("P01", "P02", failures={"P01": 0, "P02": 0}))
        await hall.end()
        assert hall.league.players["P01"].failures == 0
        assert [one.kind for one in player.arrived[1:]] == [
            "LEAGUE_STANDINGS_UPDATE",
            "ROUND_COMPLETED",
            "LEAGUE_COMPLETED",
        ]


@in_virtual_time
async def test_a_broadcast_that_is_answered_ends_the_row_of_failures(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, player, *_ = await hall.scripted_league(players=4)
        player.replies = {"LEAGUE_STANDINGS_UPDATE": silent}
        await hall.until(lambda: len(referee.got("MATCH_ASSIGNMENT")) == 2)
        await referee.report("R1M2")
        await hall.until(lambda: hall.league.players["P01"].failures == 1)
        player.replies = {}
        await referee.report("R1M1")
        await hall.quiet()
        assert hall.league.players["P01"].failures == 0


@in_virtual_time
async def test_who_is_still_expected_is_told_when_it_is_there_and_has_missed_nothing() -> None:
    listeners = Listeners()
    listeners.expected["P01"] = asyncio.Event()
    told = listeners.broadcasts.send("P01", note("end of a round"))
    announced = listeners.broadcasts.send("P01", note("announcement"))
    listeners.broadcasts.send("P02", note("end of a round"))
    await asyncio.sleep(20)
    assert (listeners.of("P01"), len(listeners.of("P02"))) == ([], 1)
    assert not announced.done()
    assert not told.done()
    listeners.expected["P01"].set()
    await asyncio.wait([announced, told])
    assert listeners.of("P01") == [(20, "end of a round"), (20, "announcement")]
    assert listeners.outcomes[-1][2] == 0


REFUSED = b'{"jsonrpc":"2.0","error":{"code":3001,"message":"Invalid auth token"},"id":1}'


@pytest.mark.parametrize("takes_none", [True, False], ids=["takes none", "takes nothing"])
@in_virtual_time
async def test_an_agent_that_refuses_the_managers_token_is_sent_the_message_without_one(takes_none: bool) -> None:
    listeners = Listeners()
    shown: list[str | None] = []

    async def handle(body: bytes, _peer: Peer) -> bytes | None:
        shown.append(json.loads(body)["params"].get("auth_token"))
        return REFUSED if shown[-1] or not takes_none else listeners.answer

    listeners.network.close(listeners.url("P01"))
    listeners.network.listen(listeners.url("P01"), handle)
    for text in ("first", "second"):
        assert await listeners.broadcasts.send("P01", note(text))
    # This is remembered only of an agent that has accepted a message without a token.
    assert shown == ["drv-P01", None, None] if takes_none else ["drv-P01", None] * 2


@in_virtual_time
async def test_a_manager_that_is_replaced_while_an_agent_refuses_its_token_sends_no_second_message() -> None:
    listeners = Listeners()
    listeners.answer, listeners.delays["P01"] = REFUSED, 1.0
    sent = listeners.broadcasts.send("P01", note("first"))
    await asyncio.sleep(0.5)
    listeners.is_replaced = True
    assert not await sent
    assert listeners.of("P01") == [(0, "first")]
