"""How a player registers and comes back, and its files."""

from __future__ import annotations

import asyncio
import json
import logging
import stat
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode, violations
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import request
from leaguekit.sim.loop import run
from leaguekit.transport.base import Peer
from tests.marks import proves
from tests.player.player_setup import (
    DERIVED,
    LEAGUE,
    MANAGER_URL,
    PLAYER_URL,
    TOKEN,
    PlayerSetup,
    announcement,
    game_over,
    invitation,
    parity_call,
    run_script,
)

# Registration.


def test_a_player_introduces_itself_to_the_manager_with_every_field_and_without_a_token(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        (came,) = setup.manager.registrations
        assert violations(msgspec.to_builtins(came)) == []
        assert came.sender == "player:agent-alpha"
        assert came.auth_token is UNSET
        assert came.player_meta == m.PlayerMeta(
            display_name="Agent Alpha",
            version="1.0.0",
            # The games that its strategy can play.
            game_types=["even_odd"],
            contact_endpoint=PLAYER_URL,
            protocol_version="2.1.0",
        )
        assert b'"method":"register_player"' in setup.manager.bodies[-1]

    run_script(script, setup)


proves(
    test_a_player_introduces_itself_to_the_manager_with_every_field_and_without_a_token,
    "000-L0208", "000-L0209", "000-L0257", "000-L1452", "000-L1453", "000-L1510", "001-L0240", "001-L0241",
    "001-L0242", "001-L1937", "002-L0146", "002-L0182", "003-L0037", "003-L0038", "004-L0059", "004-L0060",
    "004-L0550",
)  # fmt: skip


@pytest.mark.proves("001-L1929", "001-L1930", "000-L0312", "000-L0314", "003-L0190", "003-L0191")
def test_an_accepted_player_keeps_its_id_and_token(setup: PlayerSetup) -> None:
    async def script(setup: PlayerSetup) -> None:
        assert setup.agent.state == "UNREGISTERED"
        assert (await setup.state())["player_id"] is None
        identity = await setup.agent.register()
        assert (identity.agent_id, identity.auth_token, identity.league_id) == ("P01", TOKEN, LEAGUE)
        found = await setup.state()
        assert (found["player_id"], found["league_id"], found["state"]) == ("P01", LEAGUE, "REGISTERED")

    run_script(script, setup, registered=False)


def test_an_id_can_be_asked_for(tmp_path: Path) -> None:
    setup = PlayerSetup(tmp_path, wanted_id="P07")
    run_script(lambda setup: asyncio.sleep(0), setup)
    assert setup.manager.registrations[0].sender == "player:P07"


@pytest.mark.proves("001-L0362")
def test_a_rejection_is_final_and_says_what_to_do(tmp_path: Path) -> None:
    response = {"status": "REJECTED", "player_id": None, "reason": "Maximum players reached", "error_code": "E020"}
    setup = PlayerSetup(tmp_path, response=response)
    with pytest.raises(
        RegistrationRefused, match=r"Maximum players reached\. Ask the operator for a place\."
    ) as caught:
        run_script(lambda setup: asyncio.sleep(0), setup)
    assert (caught.value.reason, caught.value.code) == ("Maximum players reached", "E020")
    assert len(setup.manager.registrations) == 1
    assert setup.agent.state == "UNREGISTERED"


def test_a_rejection_without_a_reason_is_told_as_well(tmp_path: Path) -> None:
    with pytest.raises(RegistrationRefused, match=r"No reason was given\. Ask the league's operator\."):
        run_script(lambda setup: asyncio.sleep(0), PlayerSetup(tmp_path, response={"status": "REJECTED"}))


@pytest.mark.proves("001-L0362", "001-L1554", "001-L1556")
def test_an_error_is_final_and_says_what_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    setup = PlayerSetup(tmp_path, response=ProtocolError("E047", "Another player is called 'Agent Alpha'."))
    with pytest.raises(
        RegistrationRefused, match=r"Another player is called 'Agent Alpha'\. Choose a different"
    ) as caught:
        run_script(lambda setup: asyncio.sleep(0), setup)
    assert caught.value.code == "E047"
    assert "The registration was refused" in caplog.text
    assert len(setup.manager.registrations) == 1


@pytest.mark.proves("001-L1555")
def test_too_many_at_once_is_no_refusal(tmp_path: Path) -> None:
    setup = PlayerSetup(tmp_path, response=ProtocolError("E059"))

    async def main() -> None:
        registering = asyncio.ensure_future(setup.agent.register())
        await asyncio.sleep(3)
        setup.manager.response = DERIVED
        await registering

    run(main())
    assert len({encode(one) for one in setup.manager.registrations}) == 1


def test_an_answer_that_is_not_a_managers_is_reported_at_once(tmp_path: Path) -> None:
    setup = PlayerSetup(tmp_path)
    setup.network.close(MANAGER_URL)

    async def page(body: bytes, peer: Peer) -> bytes:
        return b"<html>It works!</html>"

    setup.network.listen(MANAGER_URL, page)
    with pytest.raises(RegistrationRefused, match=r"not a League Manager .* Check the manager's URL; it ends in /mcp"):
        run_script(lambda setup: asyncio.sleep(0), setup)


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://here/mcp", "", "http://"])
def test_a_manager_without_an_address_is_not_waited_for(tmp_path: Path, url: str) -> None:
    setup = PlayerSetup(tmp_path)
    setup.agent.registrar.manager_url = url
    with pytest.raises(RegistrationRefused, match="Give the manager's URL as http://HOST:PORT/mcp"):
        run_script(lambda setup: asyncio.sleep(0), setup)


@pytest.mark.proves("001-L0362")
def test_a_player_tries_until_the_manager_is_there_at_most_five_seconds_apart(
    setup: PlayerSetup, caplog: pytest.LogCaptureFixture
) -> None:
    tries: list[float] = []
    setup.network.close(MANAGER_URL)
    setup.network.tap = lambda caller, url, body, came, when: tries.append(when.sent)

    async def main() -> float:
        registering = asyncio.ensure_future(setup.agent.register())
        await asyncio.sleep(3600)
        setup.network.listen(MANAGER_URL, setup.manager.handle)
        await registering
        return asyncio.get_running_loop().time()

    assert run(main()) <= 3605
    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[:6] == [0.25, 0.5, 1.0, 2.0, 4.0, 5.0]
    assert max(pauses) == 5.0
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    # At first, and after 8, 16, 32, … 512 attempts.
    assert len(warnings) == 8
    assert "Is its address right (--manager)" in warnings[0]


@pytest.mark.proves("001-L0243", "000-L0211", "000-L1572", "003-L0178")
def test_a_registration_that_gets_no_answer_in_ten_seconds_is_repeated_to_the_letter(setup: PlayerSetup) -> None:
    answering = setup.manager.handle
    silent = asyncio.Event()

    async def slow(body: bytes, peer: Peer) -> bytes | None:
        answered = await answering(body, peer)
        if b"register_player" in body and len(setup.manager.registrations) == 1:
            await silent.wait()
        return answered

    setup.network.close(MANAGER_URL)
    setup.network.listen(MANAGER_URL, slow)

    async def main() -> float:
        await setup.agent.register()
        silent.set()
        return asyncio.get_running_loop().time()

    assert run(main()) == pytest.approx(10.25)
    first, second = setup.manager.registrations
    assert encode(first) == encode(second)


def test_a_manager_that_knows_no_ping_is_registered_with_all_the_same(setup: PlayerSetup) -> None:
    silent = asyncio.Event()

    async def deaf(body: bytes, peer: Peer) -> bytes | None:
        if b'"ping"' in body:
            await silent.wait()
        return await setup.manager.handle(body, peer)

    setup.network.close(MANAGER_URL)
    setup.network.listen(MANAGER_URL, deaf)

    async def script(setup: PlayerSetup) -> None:
        silent.set()
        assert setup.agent.player_id == "P01"

    run_script(script, setup)


# The state file.


@pytest.mark.proves("000-L0314")
def test_id_and_token_are_kept_where_only_the_owner_reads_them(setup: PlayerSetup, tmp_path: Path) -> None:
    run_script(lambda setup: asyncio.sleep(0), setup)
    path = tmp_path / "agents" / LEAGUE / "player-Agent%20Alpha" / "state.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = json.loads(path.read_text())
    assert (kept["agent_id"], kept["auth_token"], kept["league_id"]) == ("P01", TOKEN, LEAGUE)


def test_the_answer_to_anybody_who_asks_for_a_players_state_stays_short(tmp_path: Path) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        await setup.call(game_over())
        (one,) = setup.agent.history.values()
        for number in range(2_000):
            setup.agent.history[f"R{number}M2"] = msgspec.structs.replace(
                one, match_id=f"R{number}M2", reason="x" * 500
            )
        found = await setup.state()
        assert found["record"]["wins"] == 2_001
        assert found["matches"][-1]["match_id"] == "R1999M2"
        assert len(json.dumps(found)) < 65_536

    run_script(script, PlayerSetup(tmp_path))


def test_the_rest_of_a_large_body_is_read_from_the_manager_and_from_referees_of_matches(tmp_path: Path) -> None:
    def is_read(setup: PlayerSetup, message: m.Request, **changes: Any) -> bool:
        beginning = request("x", encode(msgspec.structs.replace(message, **changes)), 1)
        return setup.agent.admits_large_body(beginning, Peer("127.0.0.1"))

    async def before(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        await after(setup)

    async def after(setup: PlayerSetup) -> None:
        for message in (invitation(), parity_call(), game_over(), announcement()):
            assert is_read(setup, message)
            assert not is_read(setup, message, auth_token="drv-made-by-nobody")
            assert not is_read(setup, message, auth_token=UNSET)
        assert not is_read(setup, invitation(), match_id="R9M9")

    async def unregistered(setup: PlayerSetup) -> None:
        assert not is_read(setup, invitation())

    run_script(unregistered, PlayerSetup(tmp_path), registered=False)
    run_script(before, PlayerSetup(tmp_path))
    run_script(after, PlayerSetup(tmp_path))


def test_a_player_that_comes_back_shows_its_token_and_remembers_its_matches(tmp_path: Path) -> None:
    async def before(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        await setup.call(game_over())

    async def after(setup: PlayerSetup) -> None:
        (came,) = setup.manager.registrations
        assert came.auth_token == TOKEN
        assert [match["match_id"] for match in (await setup.state())["matches"]] == ["R1M1"]

    run_script(before, PlayerSetup(tmp_path))
    run_script(after, PlayerSetup(tmp_path))


@pytest.mark.parametrize(
    "ping",
    [
        {"status": "ok", "league_id": "another_league"},
        {"status": "ok"},
        {"league_id": None},
        {"league_id": ["../../.."]},
        "pong",
        None,
    ],
)
def test_a_token_is_shown_to_no_other_league(tmp_path: Path, ping: Any) -> None:
    run_script(lambda setup: asyncio.sleep(0), PlayerSetup(tmp_path))
    setup = PlayerSetup(tmp_path)
    setup.manager.ping = ping
    run_script(lambda setup: asyncio.sleep(0), setup)
    assert setup.manager.registrations[0].auth_token is UNSET


def test_a_token_is_shown_under_no_other_name(tmp_path: Path) -> None:
    run_script(lambda setup: asyncio.sleep(0), PlayerSetup(tmp_path))
    setup = PlayerSetup(tmp_path, name="Agent Beta")
    run_script(lambda setup: asyncio.sleep(0), setup)
    assert setup.manager.registrations[0].auth_token is UNSET


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"agent_id": 1}', b"\xff"])
def test_a_spoilt_state_file_is_as_good_as_none(tmp_path: Path, content: bytes) -> None:
    setup = PlayerSetup(tmp_path)
    path = setup.agent.registrar.folder(LEAGUE) / "state.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    run_script(lambda setup: asyncio.sleep(0), setup)
    assert setup.manager.registrations[0].auth_token is UNSET


def test_only_the_owner_reads_the_match_log_and_an_incomplete_line_is_dropped(tmp_path: Path) -> None:
    async def before(setup: PlayerSetup) -> None:
        await setup.call(game_over())

    async def after(setup: PlayerSetup) -> None:
        assert [*setup.agent.history] == ["R1M1"]
        # The next match is read again, so the incomplete line was removed.
        await setup.call(game_over(match_id="R2M1"))

    first = PlayerSetup(tmp_path)
    run_script(before, first)
    path = first.agent.registrar.folder(LEAGUE) / "history.jsonl"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.write_bytes(path.read_bytes() + b'{"match_id": "R9M9", "game_t')
    run_script(after, PlayerSetup(tmp_path))
    third = PlayerSetup(tmp_path)
    run_script(lambda setup: asyncio.sleep(0), third)
    assert [*third.agent.history] == ["R1M1", "R2M1"]


def test_a_player_that_does_not_come_back_to_a_league_remembers_nothing_of_it(tmp_path: Path) -> None:
    async def before(setup: PlayerSetup) -> None:
        await setup.call(game_over())

    first = PlayerSetup(tmp_path)
    run_script(before, first)
    (first.agent.registrar.folder(LEAGUE) / "state.json").unlink()
    setup = PlayerSetup(tmp_path)
    run_script(lambda setup: asyncio.sleep(0), setup)
    assert setup.agent.history == {}


def test_a_first_registration_that_was_not_seen_answered_is_repeated_to_the_letter_by_the_next_run(
    tmp_path: Path,
) -> None:
    setup = PlayerSetup(tmp_path)
    path = setup.agent.registrar.folder(None) / "asked.json"
    run_script(lambda setup: asyncio.sleep(0), setup)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    asked = json.loads(path.read_text())
    (sent,) = setup.manager.registrations
    named = {"league_id": LEAGUE}
    assert asked == {"conversation_id": sent.conversation_id, "timestamp": sent.timestamp} | named
    # The first run got no answer, at another time.
    before = {"conversation_id": "conv-before", "timestamp": "2025-01-14T09:00:00Z"}
    path.write_text(json.dumps(before | named))
    (setup.agent.registrar.folder(LEAGUE) / "state.json").unlink()
    for repeated, token in ((True, UNSET), (False, TOKEN)):
        setup = PlayerSetup(tmp_path)
        run_script(lambda setup: asyncio.sleep(0), setup)
        (sent,) = setup.manager.registrations
        assert ({"conversation_id": sent.conversation_id, "timestamp": sent.timestamp} == before) is repeated
        assert sent.auth_token == token


def test_a_match_that_a_referee_plays_again_gets_the_same_random_numbers(tmp_path: Path) -> None:
    async def script(setup: PlayerSetup) -> None:
        chosen = []
        for _ in range(2):
            await setup.call(invitation())
            chosen.append([(await setup.call(parity_call())).parity_choice for _ in range(12)])
        assert chosen[0] == chosen[1]
        assert len({*chosen[0]}) == 2

    run_script(script, PlayerSetup(tmp_path, STRATEGIES["random"], seed=1))


def test_a_data_folder_that_cannot_be_written_stops_no_player(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")
    (tmp_path / "data").write_text("a file where a folder should be")

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        await setup.call(game_over())

    run_script(script, PlayerSetup(tmp_path))
    warned = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    failed = {text.split(" ")[0].rpartition("/")[2] for text in warned}
    assert failed == {"asked.json", "state.json", "history.jsonl", "history.json"}
