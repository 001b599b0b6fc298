"""The tables of errors: each cause is provoked at the real programs, and the answer has the number that it should.

Messages to agents are taken from a recorded league of real programs, spoilt in one place, and sent again.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.world import World
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import CATALOGUE
from tests.agents.leagues import LEAGUE, Hall, Json, Scripted, in_virtual_time, url_of
from tests.agents.scene import Scene, ack_fields, good, silent
from tests.agents.scene import in_virtual_time as in_scene
from tests.marks import proves

# Method, message, a field that it needs, and its number for a wrong token. Only players are sent all of these.
TO_PLAYERS = {
    "ROUND_ANNOUNCEMENT": ("notify_round", "matches", 3001),
    "LEAGUE_STANDINGS_UPDATE": ("update_standings", "standings", 3001),
    "ROUND_COMPLETED": ("notify_round_completed", "round_id", 3001),
    "LEAGUE_COMPLETED": ("notify_league_completed", "final_standings", 3001),
    "GAME_INVITATION": ("handle_game_invitation", "opponent_id", 4001),
    "CHOOSE_PARITY_CALL": ("parity_choose", "deadline", 4001),
    "GAME_OVER": ("notify_match_result", "game_result", 4001),
}


def summary(error: Json) -> tuple[int, str, str]:
    return error["code"], error["message"], error["data"]["error_code"]


@in_virtual_time
async def test_a_player_answers_a_message_without_a_field_and_one_with_a_wrong_token_with_their_numbers(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random", referees=1)
        await hall.operate("start")
        await hall.end()
        url = url_of("player", 1)
        for kind, (method, field, number) in TO_PLAYERS.items():
            one = hall.sent(kind, to=url)[-1]
            assert one.method == method
            without = {name: value for name, value in one.params.items() if name != field}
            error = (await hall.post(method, without, url=url))["error"]
            assert summary(error) == (-32602, "Invalid params", "E003"), kind
            assert field in error["data"]["context"]["detail"]
            error = (await hall.post(method, one.params | {"auth_token": "tok-wrong"}, url=url))["error"]
            assert summary(error) == (number, "Invalid auth token", "E012"), kind
            assert error["data"]["player_id"] == "P01"


proves(
    test_a_player_answers_a_message_without_a_field_and_one_with_a_wrong_token_with_their_numbers,
    "001-L0470", "001-L0471", "001-L0634", "001-L0635", "001-L0731", "001-L0732", "001-L0883", "001-L0884",
    "001-L0997", "001-L0998", "001-L1303", "001-L1304",
)  # fmt: skip


@pytest.mark.settles("001-L1542")
@in_virtual_time
async def test_the_manager_answers_32602_and_e003_to_a_message_that_lacks_a_field(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, player = await hall.scripted("referee", 1), await hall.scripted("player", 1)
        for method, message, field in (
            ("register_referee", hall.registration("referee", 2), "referee_meta"),
            ("register_player", hall.registration("player", 2), "player_meta"),
            ("report_match_result", referee.report_of("R1M1"), "result"),
            ("league_query", query(player), "query_type"),
        ):
            answer = await hall.post(method, {name: value for name, value in message.items() if name != field})
            assert summary(answer["error"]) == (-32602, "Invalid params", "E003"), method
            data = answer["error"]["data"]
            assert (data["message_type"], data["error_name"]) == ("LEAGUE_ERROR", "MISSING_REQUIRED_FIELD")
            assert field in data["context"]["detail"]
        assert (CATALOGUE["E003"].severity, "E002" in CATALOGUE) == ("High", False)


proves(
    test_the_manager_answers_32602_and_e003_to_a_message_that_lacks_a_field,
    "001-L0201", "001-L0327", "001-L1438", "001-L1787", "000-L1226", "002-L0291", "003-L0252", "001-L1978",
)  # fmt: skip


@pytest.mark.proves("001-L0201", "001-L0327", "001-L1952")
@pytest.mark.settles("001-L1543")
@pytest.mark.parametrize("role", ["referee", "player"])
@in_virtual_time
async def test_the_manager_answers_32602_and_e043_to_a_wrong_type_as_often_as_it_is_sent(
    tmp_path: Path, role: str
) -> None:
    async with Hall(tmp_path) as hall:
        message = hall.registration(role, 1, meta={"display_name": 7})
        for _ in range(2):
            error = (await hall.post(f"register_{role}", message))["error"]
            assert summary(error) == (-32602, "Invalid params", "E043")
            assert (error["data"]["error_name"], error["data"]["retryable"]) == ("INVALID_FIELD_TYPE", False)
        agent = Scripted(hall, role, 1, {})
        hall.network.listen(agent.url, agent.handle)
        assert (await hall.register(role, 1))["result"]["status"] == "ACCEPTED"


class HallWithoutEntropy(Hall):
    """A manager whose source of randomness fails, as an operating system's may."""

    def world(self, name: str) -> World:
        return replace(super().world(name), entropy=self._fail)

    def _fail(self, count: int) -> bytes:
        raise OSError("no entropy")


@pytest.mark.proves("001-L0202", "001-L0328")
@pytest.mark.parametrize("role", ["referee", "player"])
@in_virtual_time
async def test_a_manager_that_fails_itself_answers_32603(tmp_path: Path, role: str) -> None:
    async with HallWithoutEntropy(tmp_path) as hall:
        agent = Scripted(hall, role, 1, {})
        hall.network.listen(agent.url, agent.handle)
        error = (await hall.register(role, 1))["error"]
        assert summary(error) == (-32603, "Internal error", "E060")


def query(agent: Scripted, **changes: Any) -> Json:
    return agent.message("LEAGUE_QUERY", **{"league_id": LEAGUE, "query_type": "GET_STATUS"} | changes)


@pytest.mark.settles("001-L1516", "001-L1517")
@in_virtual_time
async def test_a_token_that_is_wrong_or_no_longer_valid_is_e012_under_the_number_and_text_of_its_method(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        referee, player = await hall.scripted("referee", 1), await hall.scripted("player", 1)
        assert "result" in await hall.post("league_query", query(player))
        for agent in (referee, player):
            await hall.operate("token_rotate", agent_id=agent.id)
        for token in (..., "tok-p01-wrong"):
            changes = {} if token is ... else {"auth_token": token}
            for method, message, number in (
                ("report_match_result", referee.report_of("R1M1", **changes), 5001),
                ("league_query", query(player, **changes), 6001),
            ):
                error = (await hall.post(method, message))["error"]
                # Document 001 once has 12 and the name, and a number and a text for each method in its tables.
                assert summary(error) == (number, "Invalid auth token", "E012")
                data = error["data"]
                assert violations(data) == []
                assert (data["message_type"], data["error_name"]) == ("LEAGUE_ERROR", "AUTH_TOKEN_INVALID")
        assert CATALOGUE["E012"].severity == "High"


proves(
    test_a_token_that_is_wrong_or_no_longer_valid_is_e012_under_the_number_and_text_of_its_method,
    "001-L1439", "001-L1788", "001-L1544", "000-L1229", "001-L1941", "002-L0296", "003-L0257", "001-L1976",
)  # fmt: skip


@pytest.mark.proves("000-L1228", "002-L0295", "003-L0256")
@pytest.mark.settles("001-L1545")
@in_virtual_time
async def test_a_message_without_a_token_is_e011_under_the_number_and_name_of_that_code(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        referee, player = await hall.scripted("referee", 1), await hall.scripted("player", 1)
        for method, message in (
            ("report_match_result", referee.report_of("R1M1", auth_token=...)),
            ("league_query", query(player, auth_token=...)),
        ):
            error = (await hall.post(method, message))["error"]
            assert summary(error) == (11, "AUTH_TOKEN_MISSING", "E011")
        assert (CATALOGUE["E011"].severity, "E013" in CATALOGUE) == ("High", False)


@pytest.mark.settles("001-L1541")
@pytest.mark.parametrize("role", ["referee", "player"])
@in_virtual_time
async def test_another_protocol_is_e018_and_never_e001(tmp_path: Path, role: str) -> None:
    async with Hall(tmp_path) as hall:
        error = (await hall.register(role, 1, protocol="league.v1"))["error"]
        assert summary(error) == (-32602, "Invalid params", "E018")
        assert error["data"]["error_name"] == "PROTOCOL_VERSION_MISMATCH"


@pytest.mark.proves("000-L1232", "000-L1534", "002-L0297", "003-L0107", "003-L0108", "003-L0110")
@pytest.mark.parametrize("timestamp", ["2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00", "yesterday"])
@in_virtual_time
async def test_a_time_that_is_not_in_utc_is_e021(tmp_path: Path, timestamp: str) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        for method, message in (
            ("register_player", hall.registration("player", 2, timestamp=timestamp)),
            ("league_query", query(player, timestamp=timestamp)),
        ):
            error = (await hall.post(method, message))["error"]
            assert summary(error) == (-32602, "Invalid params", "E021")
            assert error["data"]["error_name"] == "INVALID_TIMESTAMP"
        assert CATALOGUE["E021"].severity == "Medium"


@pytest.mark.proves("000-L1227", "002-L0293", "003-L0254")
@in_virtual_time
async def test_a_player_that_nobody_knows_is_e005(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        answer = await player.query("GET_PLAYER_STATS", query_params={"player_id": "P77"})
        error = answer["result"]["error"]
        assert (error["error_code"], error["error_name"]) == ("E005", "PLAYER_NOT_REGISTERED")
        assert CATALOGUE["E005"].severity == "High"


@pytest.mark.proves("001-L1860", "001-L1966", "001-L1789", "001-L1790")
@in_virtual_time
async def test_errors_of_json_rpc_have_its_numbers_and_errors_of_the_league_their_own(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        player = await hall.scripted("player", 1)
        whole = {"jsonrpc": "2.0", "method": "league_query", "params": query(player), "id": 1}
        for body, number in (
            (b"{", -32700),
            (json.dumps(whole | {"jsonrpc": "1.0"}).encode(), -32600),
            (json.dumps(whole | {"method": "no_such_method"}).encode(), -32601),
            (json.dumps(whole | {"params": query(player, query_type=...)}).encode(), -32602),
            (json.dumps(whole | {"params": query(player, auth_token="tok-no")}).encode(), 6001),
            (json.dumps(whole | {"params": query(player, query_type="GET_WEATHER")}).encode(), 6002),
            (json.dumps(whole | {"params": query(player, league_id="another")}).encode(), 6003),
        ):
            assert json.loads(await hall.body(body) or b"")["error"]["code"] == number


@pytest.mark.proves("002-L0294", "003-L0255", "000-L1315", "001-L1979")
@pytest.mark.settles("003-L0237")
@in_scene
async def test_a_network_that_fails_is_e009_in_a_game_error_whose_description_is_its_name(scene: Scene) -> None:
    scene.player("P02")
    await scene.start()
    await scene.play()
    sent = scene.sent("P01", "GAME_ERROR")
    assert [(one.params["error_code"], one.params["error_name"]) for one in sent] == [("E009", "CONNECTION_ERROR")] * 4
    assert {one.params["error_description"] for one in sent} == {"CONNECTION_ERROR"}
    assert all(one.params["context"]["detail"].endswith(".") for one in sent)
    assert CATALOGUE["E009"].severity == "Critical"


@pytest.mark.settles("001-L1154", "001-L1655")
@in_scene
async def test_a_choice_is_32602_if_it_is_absent_4004_if_it_is_wrong_and_4005_with_e051_out_of_turn(
    scene: Scene,
) -> None:
    player = scene.player("P01", choose_parity_call=silent)
    scene.player("P02", game_invitation=[silent, good])
    await scene.start()
    await scene.assign()
    await asyncio.sleep(1)

    def choice(**fields: str) -> Json:
        return ack_fields(player, {"match_id": "R1M1", "conversation_id": "conv-r1m1"}) | {
            "message_type": "CHOOSE_PARITY_RESPONSE",
            **fields,
        }

    post = "choose_parity_response"
    # P02 has not come yet, so nobody is asked for a choice.
    early = await player.post(post, choice(parity_choice="even"))
    assert summary(early) == (4005, "Match state error", "E051")
    assert early["data"]["error_name"] == "MATCH_STATE_ERROR"
    await asyncio.sleep(10)
    assert summary(await player.post(post, choice())) == (-32602, "Invalid params", "E003")
    assert summary(await player.post(post, choice(parity_choice="Even"))) == (4004, "Invalid choice", "E004")
    assert (await player.post(post, choice(parity_choice="even")))["status"] == "ACKNOWLEDGED"
