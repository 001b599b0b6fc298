"""Which callers a player accepts, and the tokens in its answers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from leaguekit.protocol import tokens
from leaguekit.transport.base import Peer
from tests.player.player_setup import (
    ACCEPTED,
    CALLS,
    KEY,
    LEAGUE,
    MANAGER_URL,
    TOKEN,
    PlayerSetup,
    announcement,
    game_error,
    game_over,
    invitation,
    league_completed,
    parity_call,
    round_completed,
    run_script,
    standings,
)

NUMBERS = {announcement: 3001, standings: 3001, round_completed: 3001, league_completed: 3001}


@pytest.mark.parametrize("token", ["", "tok-lm-guessed", TOKEN])
@pytest.mark.parametrize("build", CALLS)
@pytest.mark.proves("001-L0471", "001-L0483", "001-L0998", "001-L1304", "003-L0130c")
def test_under_the_scheme_a_caller_without_the_right_token_is_refused(
    setup: PlayerSetup, build: Any, token: str
) -> None:
    async def script(setup: PlayerSetup) -> None:
        refusal = await setup.refused(build(token=token))
        assert refusal["code"] == NUMBERS.get(build, 4001)
        assert refusal["message"] == "Invalid auth token"
        assert (refusal["data"]["error_code"], refusal["data"]["player_id"]) == ("E012", "P01")
        assert setup.agent.state == "REGISTERED"
        assert setup.agent.history == {}
        assert not setup.agent.finished.is_set()

    run_script(script, setup)


@pytest.mark.parametrize("build", CALLS)
@pytest.mark.parametrize("token", ["", "tok-of-another-managers-own-kind"])
def test_without_the_scheme_any_token_or_none_is_taken(tmp_path: Path, build: Any, token: str) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(build(token=token))

    run_script(script, PlayerSetup(tmp_path, response=ACCEPTED))


def test_every_answer_carries_a_token_and_without_the_scheme_it_is_the_players_own(tmp_path: Path) -> None:
    async def script(setup: PlayerSetup) -> None:
        for build in CALLS:
            assert (await setup.call(build())).auth_token == TOKEN

    run_script(script, PlayerSetup(tmp_path, response=ACCEPTED))


@pytest.mark.settles("000-L1377b", "001-L1939", "003-L0130b", "001-L0087")
@pytest.mark.proves("003-L0130c")
def test_under_the_scheme_no_referee_ever_sees_the_players_own_token(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        for build in (invitation, parity_call, game_error, game_over):
            shown = (await setup.call(build())).auth_token
            assert shown == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")

    run_script(script, setup)


@pytest.mark.proves("003-L0130c")
def test_a_token_made_for_another_match_attempt_or_referee_opens_nothing(setup: PlayerSetup) -> None:
    made = tokens.referee_to_player

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        for wrong in (
            made(KEY, LEAGUE, "R1M2", 1, "REF01"),
            made(KEY, LEAGUE, "R1M1", 2, "REF01"),
            made(KEY, LEAGUE, "R1M1", 1, "REF02"),
            made(KEY, "another_league", "R1M1", 1, "REF01"),
            tokens.manager_to_agent(KEY, LEAGUE, "P01"),
            tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01"),
        ):
            assert (await setup.refused(parity_call(token=wrong)))["code"] == 4001

    run_script(script, setup)


def test_a_new_attempt_is_played_with_its_new_referee_and_the_old_one_is_refused(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        ack = await setup.call(invitation(attempt=2, referee="REF02"))
        assert ack.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 2, "REF02")
        # The invitation of the old referee comes late. It is answered, but the new referee keeps the match.
        late = await setup.call(invitation())
        assert late.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 1, "REF01")
        assert (await setup.refused(game_over(winner="P02")))["code"] == 4001
        answered = await setup.call(parity_call(attempt=2, referee="REF02"))
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 2, "REF02")

    run_script(script, setup)


def test_a_player_that_forgot_the_invitation_recognises_the_attempt_by_its_token(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        answered = await setup.call(parity_call(attempt=3))
        assert answered.auth_token == tokens.player_to_referee(KEY, LEAGUE, "R1M1", 3, "REF01")

    run_script(script, setup)


@pytest.mark.proves("001-L0999")
def test_what_is_meant_for_another_player_is_refused(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        refusal = await setup.refused(invitation(player_id="P02"))
        assert (refusal["code"], refusal["message"]) == (4002, "Player not found")
        assert (await setup.refused(parity_call(player_id="P02")))["data"]["error_code"] == "E005"

    run_script(script, setup)


@pytest.mark.proves("001-L0472")
def test_before_it_has_registered_a_player_says_so(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        refusal = await setup.refused(announcement())
        assert (refusal["code"], refusal["message"]) == (3002, "Player not registered")

    run_script(script, setup, registered=False)


def test_a_call_that_overtakes_the_registrations_answer_waits_for_it(setup: PlayerSetup) -> None:
    answering, released = setup.manager.handle, asyncio.Event()

    async def late(body: bytes, peer: Peer) -> bytes | None:
        answered = await answering(body, peer)
        if b"register_player" in body:
            await released.wait()
        return answered

    setup.network.close(MANAGER_URL)
    setup.network.listen(MANAGER_URL, late)

    async def script(setup: PlayerSetup) -> None:
        registering = asyncio.ensure_future(setup.agent.register())
        await asyncio.sleep(1)
        # The player waits for its registration, but answers within the time limit of every call.
        assert (await setup.refused(announcement()))["code"] == 3002
        assert asyncio.get_running_loop().time() - 1 < 3
        calling = asyncio.ensure_future(setup.call(announcement()))
        await asyncio.sleep(1)
        released.set()
        assert (await calling).player_id == "P01"
        await registering

    run_script(script, setup, registered=False)


def test_a_manager_that_gives_neither_token_nor_league_is_played_under_all_the_same(tmp_path: Path) -> None:
    response = {"status": "ACCEPTED", "player_id": "P01", "token_scheme": "derived"}

    async def script(setup: PlayerSetup) -> None:
        assert (await setup.call(announcement(token=""))).auth_token is UNSET
        assert (await setup.call(invitation(token=""))).auth_token is UNSET
        await setup.call(game_over(token=""))

    setup = PlayerSetup(tmp_path, response=response)
    run_script(script, setup)
    assert setup.saved()["league_id"] == LEAGUE
    assert not setup.agent.registrar.folder(LEAGUE).exists()
