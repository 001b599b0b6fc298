"""How a player answers the messages of the manager and of referees."""

from __future__ import annotations

import asyncio
import json
import logging
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.player.context import Context
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.decoding import encode, violations
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.transport.base import Peer
from tests.marks import proves
from tests.player.player_setup import (
    ACCEPTED,
    CALLS,
    KEY,
    LEAGUE,
    MANAGER_URL,
    PLAYER_URL,
    PlayerSetup,
    announcement,
    from_manager,
    game_error,
    game_over,
    invitation,
    league_completed,
    move_call,
    parity_call,
    round_completed,
    run_script,
    standings,
)

# Messages of the manager.


def test_an_announcement_is_acknowledged_and_its_round_remembered(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        ack = await setup.call(announcement(2))
        assert isinstance(ack, m.RoundAnnouncementAck)
        assert (ack.status, ack.round_id) == ("ACKNOWLEDGED", 2)
        found = await setup.state()
        assert (found["state"], found["round"]) == ("WAITING_FOR_ROUND", 2)

    run_script(script, setup)


proves(
    test_an_announcement_is_acknowledged_and_its_round_remembered,
    "001-L0493", "001-L0494", "001-L0495", "001-L0439", "001-L0440", "001-L0441", "001-L1931",
)  # fmt: skip


@pytest.mark.proves("001-L0603", "001-L0604", "001-L0605", "001-L0640", "001-L0641")
def test_standings_are_acknowledged_and_shown_to_the_strategy(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    async def script(setup: PlayerSetup) -> None:
        ack = await setup.call(standings())
        assert isinstance(ack, m.StandingsUpdateAck)
        assert (ack.status, ack.round_id) == ("ACKNOWLEDGED", 1)
        await setup.call(parity_call())

    run_script(script, PlayerSetup(tmp_path, choose))
    assert [(row.rank, row.player_id, row.points) for row in seen[0].standings] == [(1, "P01", 3), (2, "P02", 0)]


@pytest.mark.proves("001-L0700", "001-L0701", "001-L0702", "001-L0737", "001-L0738", "001-L1931")
def test_the_end_of_a_round_is_acknowledged_and_the_player_waits_for_the_next(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(announcement(1))
        await setup.call(invitation())
        ack = await setup.call(round_completed(1))
        assert isinstance(ack, m.RoundCompletedAck)
        assert (ack.status, ack.round_id) == ("ACKNOWLEDGED", 1)
        assert setup.agent.state == "WAITING_FOR_ROUND"

    run_script(script, setup)


def test_the_end_of_a_round_that_was_overtaken_ends_no_match_of_the_next(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation("R2M1"))
        await setup.call(round_completed(1))
        assert setup.agent.state == "IN_MATCH"

    run_script(script, setup)


@pytest.mark.proves("001-L0854", "001-L0855", "001-L0889", "001-L0890", "001-L0891")
def test_the_end_of_the_league_is_acknowledged_and_the_final_statistics_saved(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        assert not setup.agent.finished.is_set()
        await setup.call(game_over())
        ack = await setup.call(league_completed())
        assert isinstance(ack, m.LeagueCompletedAck)
        assert ack.status == "ACKNOWLEDGED"
        assert setup.agent.finished.is_set()
        assert (await setup.state())["league_completed"] is True

    run_script(script, setup)
    saved = setup.saved()
    assert saved["record"] == {"wins": 1, "losses": 0, "draws": 0, "points": 3}
    assert saved["final"]["standing"] == {"rank": 1, "player_id": "P01", "points": 3}
    assert saved["final"]["champion"]["player_id"] == "P01"


def test_the_final_statistics_are_saved_where_the_own_row_is_missing(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(msgspec.structs.replace(league_completed(), final_standings=[]))

    run_script(script, setup)
    assert setup.saved()["final"]["standing"] is None


# Messages of referees.


def test_an_invitation_is_accepted_and_the_match_remembered(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await asyncio.sleep(3)
        ack = await setup.call(invitation())
        assert isinstance(ack, m.GameJoinAck)
        assert ack.accept is True
        assert (ack.match_id, ack.arrival_timestamp) == ("R1M1", "2025-01-15T10:30:03Z")
        assert ack.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert setup.agent.state == "IN_MATCH"

    run_script(script, setup)


proves(
    test_an_invitation_is_accepted_and_the_match_remembered,
    "000-L0577", "000-L0615", "000-L1464", "000-L1465", "000-L1517", "001-L0960", "001-L0962", "001-L0964",
    "001-L0965", "001-L0966", "001-L0967", "001-L1025", "001-L1932", "002-L0147", "002-L0212", "003-L0039",
    "004-L0164", "004-L0165", "004-L0168", "004-L0556", "004-L0578",
)  # fmt: skip


@pytest.mark.proves("000-L1463", "001-L0906")
def test_an_invitation_is_answered_at_once(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        began = asyncio.get_running_loop().time()
        await setup.call(invitation())
        assert asyncio.get_running_loop().time() == began

    run_script(script, setup)


@pytest.mark.proves("001-L0494", "003-L0293c")
@pytest.mark.settles("001-L1000")
def test_an_invitation_needs_no_announcement_and_may_be_repeated(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        first = await setup.call(invitation("R3M2"))
        second = await setup.call(invitation("R3M2"))
        assert first == second
        assert setup.agent.round_id == 3

    run_script(script, setup)


@pytest.mark.proves("001-L1026", "001-L1027", "000-L0569")
def test_a_strategy_sees_what_the_invitation_said(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation("R2M3", opponent_id="P04", role_in_match="PLAYER_B"))
        await setup.call(parity_call("R2M3"))

    run_script(script, PlayerSetup(tmp_path, choose))
    (ctx,) = seen
    assert (ctx.match_id, ctx.round_id, ctx.opponent_id, ctx.role) == ("R2M3", 2, "P04", "PLAYER_B")
    assert (ctx.league_id, ctx.player_id) == (LEAGUE, "P01")
    assert (ctx.game_type, ctx.move_type, ctx.valid_options) == ("even_odd", "choose_parity", ["even", "odd"])
    assert ctx.view == {}


def test_a_strategy_sees_what_the_call_says_even_of_a_match_it_was_not_invited_to(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    record = m.OwnRecord(wins=2, losses=1, draws=1)
    context = m.CallContext(opponent_id="P09", round_id=5, your_standings=record)

    async def script(setup: PlayerSetup) -> None:
        answered = await setup.call(parity_call("R5M1", context=context))
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R5M1", 1, "REF01")

    run_script(script, PlayerSetup(tmp_path, choose))
    (ctx,) = seen
    assert (ctx.opponent_id, ctx.round_id, ctx.role) == ("P09", 5, None)
    assert (ctx.record.wins, ctx.record.losses, ctx.record.draws, ctx.record.points) == (2, 1, 1, 7)


def test_a_strategy_has_its_own_record_where_the_call_does_not_say_it(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> str:
        seen.append(ctx)
        return "odd"

    async def script(setup: PlayerSetup) -> None:
        await setup.call(game_over("R1M1"))
        await setup.call(game_over("R2M1", winner=None))
        await setup.call(parity_call("R3M1"))

    run_script(script, PlayerSetup(tmp_path, choose))
    record = seen[0].record
    assert (record.wins, record.losses, record.draws, record.points) == (1, 0, 1, 4)


def test_a_call_is_answered_with_the_strategys_choice(tmp_path: Path) -> None:
    async def choose(ctx: Context) -> str:
        await asyncio.sleep(20)
        return "odd"

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        answering = asyncio.ensure_future(setup.call(parity_call()))
        await asyncio.sleep(10)
        assert setup.agent.state == "IN_MATCH"
        answered = await answering
        assert isinstance(answered, m.ChooseParityResponse)
        assert (answered.match_id, answered.parity_choice) == ("R1M1", "odd")
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert asyncio.get_running_loop().time() == 20
        assert setup.agent.state == "WAITING_FOR_RESULT"

    run_script(script, PlayerSetup(tmp_path, choose))


proves(
    test_a_call_is_answered_with_the_strategys_choice,
    "000-L0812", "000-L1473", "000-L1474", "000-L1475", "000-L1518", "001-L1119", "001-L1121", "001-L1123",
    "001-L1124", "001-L1125", "001-L1182", "001-L1183", "001-L1932", "001-L1933", "002-L0148", "002-L0218",
    "002-L0258", "003-L0040", "004-L0186", "004-L0211", "004-L0212", "004-L0558", "004-L0576",
)  # fmt: skip


@pytest.mark.parametrize("method", ["parity_choose", "choose_parity", "CHOOSE_PARITY_CALL", "choose_parity_call"])
def test_a_call_may_come_under_any_of_its_names(setup: PlayerSetup, method: str) -> None:
    async def script(setup: PlayerSetup) -> None:
        assert (await setup.call(parity_call(), method)).parity_choice == "even"

    run_script(script, setup)


@pytest.mark.proves("003-L0012")
def test_any_other_game_is_played_by_the_generic_messages(tmp_path: Path) -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> int:
        seen.append(ctx)
        return ctx.valid_options[-1]

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation(game_type="tic_tac_toe"))
        first = await setup.call(move_call(".........", [*range(9)]))
        assert isinstance(first, m.GameMoveResponse)
        assert (first.match_id, first.move_data) == ("R1M1", 8)
        assert first.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert setup.agent.state == "WAITING_FOR_RESULT"
        assert (await setup.call(move_call("O.......X", [*range(1, 8)]))).move_data == 7

    run_script(script, PlayerSetup(tmp_path, choose))
    assert seen[1].view == {"board": "O.......X", "your_mark": "X"}
    assert seen[1].move_type == "place_mark"
    # There is one random generator per match: a second move gets other numbers than the first.
    assert seen[0].random is seen[1].random


def test_the_end_of_a_match_is_acknowledged_and_written_to_the_history(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(announcement())
        await setup.call(invitation())
        await setup.call(parity_call())
        ack = await setup.call(game_over())
        assert isinstance(ack, m.GameOverAck)
        assert (ack.status, ack.match_id) == ("ACKNOWLEDGED", "R1M1")
        assert setup.agent.state == "WAITING_FOR_ROUND"
        # The file is written while the program runs.
        assert setup.saved()["matches"][0]["match_id"] == "R1M1"
        assert (await setup.state())["matches"] == setup.saved()["matches"]

    run_script(script, setup)
    saved = setup.saved()
    assert (saved["player_id"], saved["league_id"]) == ("P01", LEAGUE)
    assert saved["record"] == {"wins": 1, "losses": 0, "draws": 0, "points": 3}
    (match,) = saved["matches"]
    assert match == {
        "match_id": "R1M1",
        "game_type": "even_odd",
        "result": "WIN",
        "opponent_id": "P02",
        "choice": "even",
        "opponent_choice": "odd",
        "drawn_number": 8,
        "technical": False,
        "reason": "P01 chose even, and 8 is even",
        "round_id": 1,
        "role": "PLAYER_A",
    }


proves(
    test_the_end_of_a_match_is_acknowledged_and_written_to_the_history,
    "001-L1272", "001-L1273", "001-L1274", "001-L1309", "001-L1310", "001-L1311", "001-L1312", "001-L1931",
    "003-L0041",
)  # fmt: skip


@pytest.mark.proves("003-L0293a", "003-L0293c")
def test_a_repeated_end_counts_once_and_a_match_played_again_as_it_ended_last(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        await setup.call(game_over())
        await setup.call(game_over())
        assert (await setup.state())["record"] == {"wins": 1, "losses": 0, "draws": 0, "points": 3}
        await setup.call(game_over("R2M1", winner=None))
        await setup.call(invitation(attempt=2))
        await setup.call(game_over(winner="P02", attempt=2))
        assert (await setup.state())["record"] == {"wins": 0, "losses": 1, "draws": 1, "points": 1}
        assert [*setup.agent.history] == ["R2M1", "R1M1"]

    run_script(script, setup)


def test_the_end_of_other_peoples_match_is_acknowledged_and_no_history(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        message = game_over()
        message.game_result.choices = {"P05": "even", "P06": "odd"}
        message.game_result.winner_player_id = "P05"
        assert (await setup.call(message)).match_id == "R1M1"
        assert setup.agent.history == {}

    run_script(script, setup)


@pytest.mark.proves("001-L1621", "001-L1622", "001-L1623", "001-L1660", "001-L1662")
def test_an_error_is_acknowledged_and_logged(setup: PlayerSetup, caplog: pytest.LogCaptureFixture) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        ack = await setup.call(game_error())
        assert isinstance(ack, m.GameErrorAck)
        assert (ack.status, ack.match_id) == ("ACKNOWLEDGED", "R1M1")
        assert setup.agent.state == "IN_MATCH"

    run_script(script, setup)
    (record,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "R1M1: the referee reports E001 TIMEOUT_ERROR. Technical loss if no answer" in record.getMessage()
    assert (record.message_type, record.conversation_id) == ("GAME_ERROR", "conv-r1m1-001")


@pytest.mark.proves("001-L1312")
def test_every_match_is_in_the_history_file_within_a_second(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        for round_id in range(1, 8):
            await setup.call(game_over(f"R{round_id}M1"))
            await asyncio.sleep(1)
            assert len(setup.saved()["matches"]) == round_id

    run_script(script, setup)


def league_error(**changes: Any) -> m.LeagueError:
    fields = from_manager() | {
        "error_code": "E012",
        "error_description": "AUTH_TOKEN_INVALID",
        "original_message_type": "LEAGUE_QUERY",
        "context": {"detail": "The auth_token is not valid here.", "action": "LEAGUE_QUERY"},
    }
    del fields["league_id"]
    return m.LeagueError(**fields | changes)


LEAGUE_ERROR_TEXT = "The manager reports E012 AUTH_TOKEN_INVALID about LEAGUE_QUERY. The auth_token is not valid here."


@pytest.mark.proves("001-L1482", "002-L0129")
@pytest.mark.parametrize("method", ["LEAGUE_ERROR", "league_error", "notify_league_error"])
def test_a_league_error_is_acknowledged_logged_and_told_at_the_terminal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, method: str
) -> None:
    caplog.set_level(logging.INFO)
    told: list[str] = []

    async def script(setup: PlayerSetup) -> None:
        ack = await setup.call(league_error(), method)
        assert isinstance(ack, m.LeagueErrorAck)
        assert ack.status == "ACKNOWLEDGED"
        # This is a notification, which gets no answer.
        body = b'{"jsonrpc":"2.0","method":"%b","params":%b}' % (method.encode(), encode(league_error()))
        assert (await setup.caller.post(PLAYER_URL, body, 10)).status == 204

    run_script(script, PlayerSetup(tmp_path, notify=told.append))
    assert told == [LEAGUE_ERROR_TEXT] * 2
    records = [record for record in caplog.records if getattr(record, "message_type", "") == "LEAGUE_ERROR"]
    assert [record.getMessage() for record in records] == [LEAGUE_ERROR_TEXT] * 2


def test_a_league_error_from_anybody_but_the_manager_is_refused_and_its_words_are_not_told(
    tmp_path: Path,
) -> None:
    told: list[str] = []

    async def script(setup: PlayerSetup) -> None:
        for token in ("tok-nobody", UNSET):
            refusal = await setup.refused(league_error(auth_token=token))
            assert (refusal["code"], refusal["data"]["error_code"]) == (3001, "E012")

    run_script(script, PlayerSetup(tmp_path, notify=told.append))
    refusal = "E012 The auth_token is not the one that was made for this caller."
    first = f'Agent Alpha: "league_error" could not be answered: {refusal}'
    assert told == [first, f"{first} (2 times)"]


def test_a_league_error_before_the_registration_is_told_once_and_without_its_words(tmp_path: Path) -> None:
    told: list[str] = []

    async def script(setup: PlayerSetup) -> None:
        message = league_error(auth_token=UNSET, context=UNSET, original_message_type=UNSET, action_required="Wait.")
        ack = (await setup.raw("LEAGUE_ERROR", encode(message)))["result"]
        assert violations(ack) == []
        assert (ack["sender"], ack["status"]) == ("player:agent-alpha", "ACKNOWLEDGED")
        assert "player_id" not in ack
        await setup.raw("LEAGUE_ERROR", encode(message))

    run_script(script, PlayerSetup(tmp_path, notify=told.append), registered=False)
    assert told == ["A caller that may not be the manager reports E012."]


@pytest.mark.proves("001-L1661", "000-L1247")
def test_a_player_answers_again_when_it_is_asked_again_after_an_error(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        first = await setup.call(parity_call())
        await setup.call(game_error())
        assert (await setup.call(parity_call())).parity_choice == first.parity_choice

    run_script(script, setup)


def test_an_error_that_names_no_match_is_about_the_one_in_play(tmp_path: Path) -> None:
    async def script(setup: PlayerSetup) -> None:
        bare = msgspec.structs.replace(game_error(), match_id=UNSET)
        assert (await setup.refused(bare))["data"]["error_code"] == "E003"
        await setup.call(invitation("R4M2"))
        assert (await setup.call(bare)).match_id == "R4M2"

    run_script(script, PlayerSetup(tmp_path, response=ACCEPTED))


# Queries and wrong requests.


def test_anybody_may_ping_a_player_and_ask_for_its_state(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        for params in (b"{}", b'{"anything":1}', b"[]"):
            assert (await setup.raw("ping", params))["result"]["status"] == "ok"
        await setup.call(invitation())
        await setup.call(parity_call())
        found = await setup.state()
        assert found["state"] == "WAITING_FOR_RESULT"
        # The choice is secret until the match is over.
        assert found["matches"] == []
        assert "even" not in json.dumps(found).replace(LEAGUE, "")

    run_script(script, setup)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"{", -32700),
        (b"[]", -32600),
        (b'{"jsonrpc":"2.0","method":"register_player","params":{},"id":1}', -32601),
        (b'{"jsonrpc":"2.0","method":"notify_round","params":{},"id":1}', -32602),
        (b'{"jsonrpc":"2.0","method":"notify_round","id":1}', -32602),
    ],
)
def test_what_makes_no_sense_is_answered_with_an_error(setup: PlayerSetup, body: bytes, code: int) -> None:
    async def script(setup: PlayerSetup) -> None:
        came = await setup.agent.handle(body, Peer("127.0.0.1"))
        assert json.loads(came or b"")["error"]["code"] == code

    run_script(script, setup)


@pytest.mark.parametrize("build", CALLS)
def test_a_message_that_lacks_a_field_is_refused_with_what_is_missing(setup: PlayerSetup, build: Any) -> None:
    async def script(setup: PlayerSetup) -> None:
        message = build()
        params = msgspec.to_builtins(message)
        del params["conversation_id"]
        refusal = (await setup.raw(BY_REQUEST[type(message)].name, msgspec.json.encode(params)))["error"]
        assert (refusal["code"], refusal["message"]) == (-32602, "Invalid params")
        assert refusal["data"]["error_code"] == "E003"
        assert "conversation_id: missing" in refusal["data"]["context"]["detail"]

    run_script(script, setup)


proves(
    test_a_message_that_lacks_a_field_is_refused_with_what_is_missing,
    "001-L0470", "001-L0634", "001-L0731", "001-L0883", "001-L0997", "001-L1303", "000-L1430",
)  # fmt: skip


def test_a_notification_is_heeded_and_not_answered(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        body = b'{"jsonrpc":"2.0","method":"notify_round","params":%b}' % encode(announcement())
        assert await setup.agent.handle(body, Peer("127.0.0.1")) is None
        assert setup.agent.round_id == 1

    run_script(script, setup)


@pytest.mark.proves("003-L0296a")
def test_a_player_calls_nobody_but_its_manager(setup: PlayerSetup) -> None:
    called: list[str] = []

    async def script(setup: PlayerSetup) -> None:
        setup.network.tap = lambda caller, url, *_: called.append(url) if caller is setup.world.caller else None
        await setup.agent.register()
        for build in CALLS:
            await setup.call(build())

    run_script(script, setup, registered=False)
    assert set(called) == {MANAGER_URL}
