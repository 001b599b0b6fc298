"""The open profile: strangers are let in as they are, spoken to as they understand it, and forgiven.

The fakes of the zoo play whole leagues in tests/zoo/test_open_league.py; here each rule is looked at by itself.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.league.events import FormLearned, RulesBroken, decode
from leaguekit.protocol import messages as m
from leaguekit.protocol.rpc import MAX_BYTES, RpcRequest
from leaguekit.referee.match_runner import RulingRecord
from leaguekit.referee.match_supervisor import resend_game_over
from leaguekit.referee.open_player_client import MAX_INVITATIONS, DialectMemory, OpenPlayerClient
from leaguekit.referee.open_profile import OpenProfileHandler
from leaguekit.referee.player_client import PlayerObservations
from leaguekit.referee.transcripts import MAX_WIRE_BYTES
from leaguekit.sim import loop
from leaguekit.transport.base import HttpAnswer, Peer
from leaguekit.web.matches import public_messages
from tests.agents.leagues import ADMIN, MANAGER_URL, Hall, Json, url_of
from tests.samples import samples_of

Answers = Callable[["Stranger", Json], Awaitable[Any]]
PATIENCE = 3_600.0


async def properly(stranger: Stranger, call: Json) -> Any:
    """Answers as document 001 says, whatever form it is asked in."""
    return {"jsonrpc": "2.0", "result": stranger.word(call["params"]), "id": call["id"]}


class Stranger:
    """An agent that somebody else wrote: it registers as the test says, and answers as ``answers`` says."""

    def __init__(self, hall: Hall, number: int = 9, answers: Answers = properly) -> None:
        self.hall = hall
        self.url = url_of("player", number)
        self.name = f"Stranger {number}"
        self.answers = answers
        self.heard: list[Json] = []
        self.at: list[float] = []
        self.id = self.token = ""
        self.errands: list[asyncio.Task[None]] = []

    async def come(self, method: str = "register_player", params: Json | None = None, **changes: Any) -> Json:
        """Register, and only then open the port: the answer."""
        message = params or self.hall.registration("player", 9, {"display_name": self.name}, **changes)
        answer = await self.hall.post(method, message)
        self.hall.network.listen(self.url, self.handle)  # type: ignore[arg-type]
        if "result" in answer and answer["result"].get("player_id"):
            self.id, self.token = answer["result"]["player_id"], answer["result"]["auth_token"]
        return answer

    async def handle(self, body: bytes, _peer: Peer) -> bytes | HttpAnswer | None:
        call = json.loads(body)
        if call["method"] == "ping":
            return b"{}"
        self.heard.append(call)
        self.at.append(self.hall.now)
        answer = await self.answers(self, call)
        return answer if isinstance(answer, HttpAnswer) else json.dumps(answer).encode()

    def word(self, asked: Json, **changes: Any) -> Json:
        """The proper answer to a message."""
        kind = asked["message_type"]
        word = self.hall.envelope(f"player:{self.id}") | {"auth_token": self.token, "player_id": self.id}
        if kind == "GAME_INVITATION":
            word |= {"message_type": "GAME_JOIN_ACK", "accept": True, "arrival_timestamp": self.hall.timestamp}
        elif kind == "CHOOSE_PARITY_CALL":
            word |= {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}
        else:
            word |= {"message_type": f"{kind}_ACK", "status": "ACKNOWLEDGED"}
        return word | {"match_id": asked.get("match_id")} | changes

    def asked(self, *kinds: str) -> list[Json]:
        """The messages of these kinds that were sent to it, in whatever form, each with its method."""
        found = []
        for call in self.heard:
            params = call["params"]
            message = params.get("message") or params.get("arguments") or params.get("envelope") or params
            if message["message_type"] in kinds:
                found.append(message | {"method": call["method"]})
        return found

    async def post(self, message: Json, to: str = url_of("referee", 1), method: str = "GAME_JOIN_ACK") -> Json:
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": message, "id": 1}).encode()
        return dict(json.loads((await self.hall._outside.post(to, body, 5)).body))


def held(tmp_path: Path, course: Callable[[Hall], Awaitable[None]], **settings: Any) -> None:
    async def main() -> None:
        async with Hall(tmp_path, **{"profile": "open"} | settings) as hall:
            await course(hall)

    loop.run(main())


async def play(hall: Hall, *strangers: Stranger) -> None:
    """A league of strangers with one of ours, to its end."""
    await hall.fill("random", referees=1)
    for stranger in strangers:
        if not stranger.id:
            await stranger.come()
    await hall.operate("start")
    await hall.end(PATIENCE)


@pytest.mark.parametrize("wanted", ["P090", "P00", "P0090", "P000000001"])
def test_an_id_that_could_be_taken_for_another_is_not_granted(tmp_path: Path, wanted: str) -> None:
    async def course(hall: Hall) -> None:
        async def granted(number: int, wanted: str) -> str:
            answer = await hall.register("player", number, sender=f"player:{wanted}")
            return str(answer["result"]["player_id"])

        assert await granted(1, "P90") == "P90"
        assert await granted(2, wanted) == "P01"
        assert await granted(3, "P100") == "P100"

    held(tmp_path, course)


def statuses(hall: Hall) -> list[str]:
    return [str(match.outcome.status) for match in hall.league.matches.values() if match.outcome is not None]


def broken(hall: Hall, agent_id: str) -> dict[str, int]:
    return {rule: breach.count for rule, breach in hall.league.broken_rules.get(agent_id, {}).items()}


# Coming in


def test_whoever_registers_is_not_called_back_and_gets_the_id_that_it_asks_for(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger, other = Stranger(hall, 9), Stranger(hall, 8)
        answer = await stranger.come(sender="player:P42")
        result = answer["result"]
        assert result["player_id"] == "P42"
        assert result["sender"] == "league_manager:LM01"
        assert all(result[name] for name in ("conversation_id", "auth_token", "league_id"))
        assert not [one for one in hall.wire if one.url == stranger.url]
        meta = {"display_name": "Other", "contact_endpoint": other.url}
        taken = await other.come(params=hall.registration("player", 8, meta, sender="player:P42"))
        assert taken["result"]["player_id"] == "P01"
        # A referee is called as ever.
        await hall.referee()
        assert [one.method for one in hall.wire if one.url == url_of("referee", 1)] == ["ping"]

    held(tmp_path, course)


def test_what_cannot_be_repaired_is_refused_in_the_form_that_was_used(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        message = hall.registration("player", 9, {"contact_endpoint": ...})
        answer = await hall.post("tools/call", {"name": "register_player", "arguments": message})
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"]["sender"] == "league_manager:LM01"
        assert "contact_endpoint" in json.dumps(answer)
        everywhere = await hall.post("register_player", hall.registration("player", 9, {"game_types": ["chess"]}))
        assert everywhere["result"]["status"] == "REJECTED"
        assert not hall.league.players
        assert not hall.league.broken_rules

    held(tmp_path, course)


def test_a_loopback_address_from_elsewhere_is_refused_without_a_call(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        call = {"jsonrpc": "2.0", "method": "register_player", "params": hall.registration("player", 9), "id": 1}
        answer = json.loads(await hall.manager.handle(json.dumps(call).encode(), Peer("10.0.0.9")) or b"")
        assert "leads everybody to their own machine" in answer["result"]["reason"]

    held(tmp_path, course)


def test_two_registrations_that_say_too_little_are_never_taken_for_the_same(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        meta = {"player_meta": hall.registration("player", 9)["player_meta"]}
        first = await hall.post("register_player", meta)
        assert first["result"]["status"] == "ACCEPTED"
        # Otherwise anybody that knows a name and an endpoint would be given the token.
        again = await hall.post("register_player", meta)
        assert "auth_token" not in json.dumps(again.get("result", {}))
        assert again["error"]["code"] == 2002

    held(tmp_path, course)


def test_notifications_batches_and_unknown_methods_are_as_ever(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        note = {"jsonrpc": "2.0", "method": "league_register", "params": hall.registration("player", 9)}
        assert await hall.body(json.dumps(note).encode()) is None
        assert list(hall.league.players) == ["P01"]
        unreadable = {"jsonrpc": "2.0", "method": "league_register", "params": {"player_meta": {}}}
        assert await hall.body(json.dumps(unreadable).encode()) is None
        assert (await hall.post("ping", {}))["result"]["status"] == "ok"
        assert (await hall.post("no_such_method", {}))["error"]["code"] == -32601
        batch = [{"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}]
        assert json.loads(await hall.body(json.dumps(batch).encode()) or b"")[0]["result"]
        mixed = hall.registration("player", 8, message_type="LEAGUE_QUERY")
        assert (await hall.post("register_player", mixed))["error"]["code"] == -32602

    held(tmp_path, course)


def test_whoever_asks_with_its_token_is_itself_whatever_it_calls_itself(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall)
        await stranger.come()
        query = {"query_type": "GET_STANDINGS", "auth_token": stranger.token, "sender": "player:P77"}
        answer = await hall.post("query_the_league", {"message_type": "LEAGUE_QUERY", **query})
        assert answer["result"]["success"] is True
        assert {"000-L1372", "001-L1677", "000-L1084"} <= set(broken(hall, stranger.id))
        wrong = await hall.post("league_query", {"message_type": "LEAGUE_QUERY", **query, "auth_token": "guessed"})
        assert wrong["error"]["data"]["error_code"] == "E012"

    held(tmp_path, course)


def test_the_more_often_a_rule_is_broken_the_more_seldom_that_is_written_down(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall)
        await stranger.come()
        query = {"message_type": "LEAGUE_QUERY", "query_type": "GET_STANDINGS", "auth_token": stranger.token}
        for _ in range(200):
            await hall.post("league_query", query)
        log = [decode(record.event) for record in await hall.log.read(0, 10_000)]
        assert len([event for event in log if isinstance(event, RulesBroken)]) < 10
        assert broken(hall, stranger.id)["000-L1372"] == 128

    held(tmp_path, course)


def test_who_is_not_there_before_the_start_is_named_and_invited_all_the_same(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        await hall.fill("random", referees=1)
        stranger, gone = Stranger(hall, 9), Stranger(hall, 8)
        await stranger.come()
        await gone.come(params=hall.registration("player", 8, {"display_name": "Gone"}))
        hall.network.close(gone.url)
        assert (await hall.operate("status"))["unreachable"] == []
        # Nobody but the operator can have everybody called.
        refused = await hall.post("operator", {"command": "start", "admin_token": "guessed"})
        assert refused["error"]["data"]["error_code"] == "E012"
        assert not [one for one in hall.wire if one.url == stranger.url]
        (sentence,) = (await hall.operate("start"))["unreachable"]
        assert sentence.startswith(f"{gone.id} (Gone) did not answer at {gone.url} before the start")
        assert "invited like any other" in sentence
        await hall.end(PATIENCE)
        invited = [one for one in hall.wire if one.url == gone.url and one.method == "handle_game_invitation"]
        assert invited
        assert statuses(hall).count("TECHNICAL_LOSS") == 2

    held(tmp_path, course)


def test_a_league_that_starts_by_itself_looks_first_as_well(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        hall.manager.runner.start_when = (2, 1)
        await hall.fill("random", referees=1)
        stranger = Stranger(hall)
        await stranger.come()
        await hall.end(PATIENCE)
        assert next(one.method for one in hall.wire if one.url == stranger.url) == "ping"
        assert (await hall.operate("status"))["unreachable"] == []

    held(tmp_path, course)


# Added by the operator


def test_a_player_that_never_registers_is_added_by_hand_and_plays(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall)
        hall.network.listen(stranger.url, stranger.handle)  # type: ignore[arg-type]
        added = await hall.operate("add_player", endpoint=stranger.url, display_name="Otter")
        stranger.id = added["player_id"]
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert "000-L0209" in broken(hall, "P01")

    held(tmp_path, course)


@pytest.mark.parametrize("profile", ["spec", "open"])
def test_the_operator_adds_players_in_every_profile_but_not_just_anywhere(tmp_path: Path, profile: str) -> None:
    async def course(hall: Hall) -> None:
        async def refused(**fields: Any) -> str:
            given = {"command": "add_player", "admin_token": ADMIN, **fields}
            return str((await hall.post("operator", given))["error"]["data"]["error_code"])

        await hall.referee()
        url = url_of("player", 1)
        assert (await hall.operate("add_player", endpoint=url))["player_id"] == "P01"
        # Everybody sees its name, and nobody but the operator where it is.
        name = hall.league.players["P01"].meta.display_name
        assert name.startswith("Guest ")
        assert not any(part in name for part in ("127.0.0.1", "8101"))
        assert await refused(endpoint="nowhere") == "E044"
        assert await refused(endpoint=MANAGER_URL) == "E048"
        assert await refused(endpoint=url_of("player", 2), display_name=name) == "E047"
        assert await refused(endpoint=url) == "E048"
        assert (await hall.post("operator", {"command": "add_player", "endpoint": url_of("player", 2)}))["error"]
        await hall.operate("add_player", endpoint=url_of("player", 2))
        await hall.operate("start")
        assert await refused(endpoint=url_of("player", 3)) == "E019"

    held(tmp_path, course, profile=profile, require_seat=True)


# How referees speak


def knowing(*methods: str, answers: Answers = properly, otherwise: Any = None) -> Answers:
    """Answers these methods only."""

    async def answer(stranger: Stranger, call: Json) -> Any:
        if call["method"] in methods:
            return await answers(stranger, call)
        return otherwise or {
            "jsonrpc": "2.0",
            "error": {"code": -32601, "message": "Method not found"},
            "id": call["id"],
        }

    return answer


TYPES = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "GAME_ERROR")


def test_the_form_that_was_understood_is_remembered_told_to_the_manager_and_used_by_other_referees(
    tmp_path: Path,
) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=knowing(*TYPES))
        await hall.fill("random", "random", "random", referees=2, max_concurrent=1)
        await stranger.come()
        assert hall.league.players[stranger.id].form == "RPC"
        await hall.operate("start")
        await hall.end(PATIENCE)
        asked = stranger.asked("GAME_INVITATION", "CHOOSE_PARITY_CALL")
        expected = ["handle_game_invitation", *["GAME_INVITATION", "CHOOSE_PARITY_CALL"] * 6]
        assert [one["method"] for one in asked] == expected
        assert {one["sender"] for one in asked} == {"referee:REF01", "referee:REF02"}
        assert hall.league.players[stranger.id].form == "TYPE"
        sides = [one.params[side] for one in hall.sent("MATCH_ASSIGNMENT") for side in ("player_A", "player_B")]
        assert [side["form"] for side in sides if side["player_id"] == stranger.id] == ["RPC", *["TYPE"] * 5]
        # The manager's own messages come in that form as well.
        assert [one["method"] for one in stranger.asked("LEAGUE_COMPLETED")] == ["LEAGUE_COMPLETED"]
        learned = [decode(record.event) for record in await hall.log.read(0, 10_000)]
        assert [one.form for one in learned if isinstance(one, FormLearned) and one.player_id == stranger.id] == [
            "RPC",
            "TYPE",
        ]

    held(tmp_path, course, rounds="double")


def test_a_stranger_plays_the_moment_its_form_is_found_and_every_form_has_the_same_deadline(tmp_path: Path) -> None:
    async def slowly(stranger: Stranger, call: Json) -> Any:
        await asyncio.sleep(2)
        return {"status": "unknown_message_type"}

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=slowly)
        await play(hall, stranger)
        assert statuses(hall) == ["TECHNICAL_LOSS"]
        tried = [at for at, call in zip(stranger.at, stranger.heard, strict=True) if "round" not in call["method"]]
        # Three forms fit into five seconds; the next window opens two seconds after the limit.
        assert [round(at - tried[0], 3) for at in tried[:3]] == [0, 2, 4]
        assert min(at - tried[0] for at in tried[3:]) >= 5

    held(tmp_path, course)


def test_a_mere_acknowledgement_is_a_join_when_every_form_has_been_tried_and_later_at_once(tmp_path: Path) -> None:
    async def acknowledging(stranger: Stranger, call: Json) -> Any:
        if call["method"] == "handle_game_invitation":
            return {"status": "ACK"}
        if call["method"] in ("parity_choose", "notify_match_result"):
            return await properly(stranger, call)
        return HttpAnswer(404, b"Not Found")

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=acknowledging)
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        methods = [one["method"] for one in stranger.asked("GAME_INVITATION")]
        forms = ["handle_game_invitation", "GAME_INVITATION", "handle_message", "tools/call", "league.handle"]
        assert methods == [*forms, "handle_game_invitation"]
        assert broken(hall, stranger.id) == {"001-L0044": 2}

    held(tmp_path, course, rounds="double")


def test_who_acknowledges_and_then_refuses_the_same_invitation_has_accepted(tmp_path: Path) -> None:
    async def refusing(stranger: Stranger, call: Json) -> Any:
        if call["method"] == "handle_game_invitation":
            return {"status": "ok"}
        if call["method"] == "GAME_INVITATION":
            return stranger.word(call["params"], accept=False)
        return await properly(stranger, call)

    async def course(hall: Hall) -> None:
        await play(hall, Stranger(hall, answers=refusing))
        assert set(statuses(hall)) <= {"WIN", "DRAW"}

    held(tmp_path, course)


def test_a_refusal_of_the_first_invitation_is_one(tmp_path: Path) -> None:
    async def refusing(stranger: Stranger, call: Json) -> Any:
        return stranger.word(call["params"], accept=False)

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=refusing)
        await play(hall, stranger)
        assert [match.outcome.ruling for match in hall.league.matches.values()] == ["REFUSED_INVITATION"]
        assert len(stranger.asked("GAME_INVITATION")) == 1
        assert len(stranger.asked("GAME_OVER")) == 1

    held(tmp_path, course)


def test_who_accepted_too_late_to_be_heard_may_refuse_the_repeated_invitation(tmp_path: Path) -> None:
    async def late(stranger: Stranger, call: Json) -> Any:
        if call["params"]["message_type"] != "GAME_INVITATION":
            return await properly(stranger, call)
        if len(stranger.asked("GAME_INVITATION")) == 1:
            await asyncio.sleep(6)
        return stranger.word(call["params"], accept=len(stranger.asked("GAME_INVITATION")) == 1)

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=late)
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert len(stranger.asked("GAME_INVITATION")) == 2

    held(tmp_path, course)


def test_a_wrong_token_and_a_wrong_name_are_noted_and_cost_nothing(tmp_path: Path) -> None:
    async def pretending(stranger: Stranger, call: Json) -> Any:
        wrong = {"auth_token": call["params"]["auth_token"], "player_id": "P99", "sender": "player:P99"}
        return {"jsonrpc": "2.0", "result": stranger.word(call["params"], **wrong), "id": call["id"]}

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=pretending)
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert broken(hall, stranger.id) == {"000-L0609": 1, "000-L0831": 1, "000-L1372": 2, "decision 19": 2}

    held(tmp_path, course)


def test_a_wrong_choice_and_another_matchs_id_are_as_wrong_as_ever(tmp_path: Path) -> None:
    async def wrongly(stranger: Stranger, call: Json) -> Any:
        changes = {"match_id": "R9M9"} if stranger.id == "P02" else {"parity_choice": "maybe"}
        is_call = call["params"]["message_type"] == "CHOOSE_PARITY_CALL"
        return stranger.word(call["params"], **changes if is_call else {})

    async def course(hall: Hall) -> None:
        one, other = Stranger(hall, 9, wrongly), Stranger(hall, 8, wrongly)
        await hall.fill(referees=1)
        await one.come()
        meta = {"display_name": "Other"}
        await other.come(params=hall.registration("player", 8, meta))
        await hall.operate("start")
        await hall.end(PATIENCE)
        assert [match.outcome.ruling for match in hall.league.matches.values()] == ["INVALID_ANSWER"]
        assert {one.id, other.id} == {"P01", "P02"}
        assert len(one.asked("CHOOSE_PARITY_CALL")) == len(other.asked("CHOOSE_PARITY_CALL")) == 4

    held(tmp_path, course)


def test_who_understands_nothing_is_told_so_and_loses_and_hears_the_end_in_every_form(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=knowing())
        await play(hall, stranger)
        assert [match.outcome.ruling for match in hall.league.matches.values()] == ["INVALID_ANSWER"]
        assert len(stranger.asked("GAME_OVER")) == 5
        assert len(stranger.asked("GAME_ERROR")) == 4
        assert len(stranger.asked("GAME_INVITATION")) == 20

    held(tmp_path, course)


def test_who_hangs_up_on_forms_that_it_does_not_know_is_found_by_the_one_it_does(tmp_path: Path) -> None:
    async def hanging_up(stranger: Stranger, call: Json) -> Any:
        if call["method"] not in TYPES:
            raise asyncio.CancelledError
        return await properly(stranger, call)

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=hanging_up)
        hall.network.listen(stranger.url, stranger.handle)  # type: ignore[arg-type]
        stranger.id = (await hall.operate("add_player", endpoint=stranger.url))["player_id"]
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}

    held(tmp_path, course)


@pytest.mark.parametrize("is_known", [True, False])
def test_who_is_not_there_is_unreachable(tmp_path: Path, is_known: bool) -> None:
    async def course(hall: Hall) -> None:
        await hall.fill("random", referees=1)
        url = url_of("player", 9)
        if is_known:
            await hall.register("player", 9)
        else:
            await hall.operate("add_player", endpoint=url)
        await hall.operate("start")
        await hall.end(PATIENCE)
        assert [match.outcome.ruling for match in hall.league.matches.values()] == ["UNREACHABLE"]

    held(tmp_path, course)


def test_one_that_is_asked_too_much_is_asked_again(tmp_path: Path) -> None:
    async def busy(stranger: Stranger, call: Json) -> Any:
        if len(stranger.asked("GAME_INVITATION")) == 1 and call["params"]["message_type"] == "GAME_INVITATION":
            return HttpAnswer(429, b"slow down")
        return await properly(stranger, call)

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=busy)
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert [one["method"] for one in stranger.asked("GAME_INVITATION")] == ["handle_game_invitation"] * 2

    held(tmp_path, course)


@pytest.mark.parametrize("reported", ["TOOLS", "ENVELOPE", "\x1b[31mX<b>"])
@pytest.mark.parametrize("is_added", [False, True])
def test_a_false_report_of_a_players_form_costs_it_no_match_at_other_referees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reported: str, is_added: bool
) -> None:
    true = OpenPlayerClient.observations
    halls: list[Hall] = []

    def observations(self: OpenPlayerClient) -> PlayerObservations:
        seats = self._seats.values()
        is_bad = self._memory is halls[0].referees[1]._enter_open_profile()._memory
        return PlayerObservations(UNSET, {seat.player_id: reported for seat in seats}) if is_bad else true(self)

    monkeypatch.setattr(OpenPlayerClient, "observations", observations)

    async def hanging_up(stranger: Stranger, call: Json) -> Any:
        if call["method"] in ("tools/call", "league.handle"):
            raise asyncio.CancelledError
        return await properly(stranger, call)

    async def course(hall: Hall) -> None:
        halls.append(hall)
        await hall.fill(referees=2, max_concurrent=1)
        strangers = [Stranger(hall, number, hanging_up) for number in (6, 7, 8, 9)]
        for stranger in strangers:
            if is_added:
                hall.network.listen(stranger.url, stranger.handle)  # type: ignore[arg-type]
                stranger.id = (await hall.operate("add_player", endpoint=stranger.url))["player_id"]
            else:
                meta = {"display_name": stranger.name, "contact_endpoint": stranger.url}
                await stranger.come(params=hall.registration("player", 9, meta))
        await hall.operate("start")
        await hall.end(PATIENCE)
        assert {match.referee_id for match in hall.league.matches.values()} == {"REF01", "REF02"}
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert {player.form for player in hall.league.players.values()} == {"RPC"}
        assert not {call["method"] for one in strangers for call in one.heard} & {"tools/call", "league.handle"}

    held(tmp_path, course, rounds="double")


def test_a_form_that_only_the_manager_names_is_not_the_only_one_that_is_tried(tmp_path: Path) -> None:
    async def hanging_up(stranger: Stranger, call: Json) -> Any:
        if call["method"] not in TYPES:
            raise asyncio.CancelledError
        return await properly(stranger, call)

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=hanging_up)
        await stranger.come()
        assert hall.league.players[stranger.id].form == "RPC"
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}

    held(tmp_path, course)


# Answered later


def promising(later: Callable[[Stranger, Json], Awaitable[None]]) -> Answers:
    async def answer(stranger: Stranger, call: Json) -> Any:
        if call["params"]["message_type"] not in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"):
            return await properly(stranger, call)
        stranger.errands.append(asyncio.create_task(later(stranger, call["params"])))
        return {"status": "RECEIVED"}

    return answer


def test_a_promise_is_waited_for_without_another_try_and_what_is_posted_counts(tmp_path: Path) -> None:
    said: list[Json] = []

    async def later(stranger: Stranger, asked: Json) -> None:
        await asyncio.sleep(4.5)
        word = stranger.word(asked)
        del word["player_id"], word["sender"]
        said.append(await stranger.post(word, method="anything"))

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=promising(later))
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert len(stranger.asked("GAME_INVITATION", "CHOOSE_PARITY_CALL")) == 2
        assert not stranger.asked("GAME_ERROR")
        assert [one["result"]["status"] for one in said] == ["ACKNOWLEDGED"] * 2
        assert {"001-L0044", "000-L0609", "000-L0831"} <= set(broken(hall, stranger.id))
        kept = hall.referees[0].matches.remembered["R1M1"].transcript.entries()
        assert not [one for one in kept if one.what == "failed"]

    held(tmp_path, course)


def test_the_transcript_has_what_was_really_sent_and_received_without_tokens(tmp_path: Path) -> None:
    async def only_type(stranger: Stranger, call: Json) -> Any:
        if not call["method"].isupper():
            return HttpAnswer(404, b"Not Found: " + b"x" * 5_000)
        return stranger.word(call["params"], more="y" * 3_000, auth_token="a secret of mine")

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=only_type)
        await play(hall, stranger)
        [match] = [one.id for one in hall.league.matches.values()]
        entries = hall.referees[0].matches.remembered[match].transcript.entries()
        own = [one for one in entries if one.player_id == stranger.id and one.wire is not UNSET]
        notes = ["by handle_game_invitation", "HTTP 404", "by GAME_INVITATION", "HTTP 200"]
        assert [one.note for one in own[:4]] == notes
        _, refused, again, joined = (str(one.wire) for one in own[:4])
        assert refused == f"Not Found: {'x' * 2_037}…"
        assert '"method":"GAME_INVITATION"' in again
        assert '"game_invitation":{' in again
        assert "GAME_JOIN_ACK" in joined
        assert len(joined.encode()) <= MAX_WIRE_BYTES + 3
        assert not [one for one in own if re.search("drv-[0-9a-f]|secret of mine", str(one.wire))]
        assert [one.note for one in own[-2:]] == ["by GAME_OVER", "HTTP 200"]
        # On the page of the match the forms stand with the message before them.
        shown = [one for one in public_messages(entries) if one.message_type is None]
        assert len(shown) == 2
        assert "handle_game_invitation did not bring an answer" in shown[0].text
        invitation = next(one for one in public_messages(entries) if one.player_id == stranger.id)
        assert [one.partition(":")[0] for one in invitation.wire] == notes[:2]
        assert [one.partition(":")[0] for one in shown[0].wire] == notes[2:]

    held(tmp_path, course)


def test_a_promise_that_is_not_kept_is_a_time_out(tmp_path: Path) -> None:
    async def never(_stranger: Stranger, _asked: Json) -> None: ...

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=promising(never))
        await play(hall, stranger)
        assert [match.outcome.ruling for match in hall.league.matches.values()] == ["JOIN_TIMEOUT"]
        assert len(stranger.asked("GAME_INVITATION")) == 4

    held(tmp_path, course)


def test_what_is_posted_needs_the_players_own_token_and_no_match_id(tmp_path: Path) -> None:
    said: list[Any] = []

    async def later(stranger: Stranger, asked: Json) -> None:
        word = stranger.word(asked)
        if word["message_type"] != "GAME_JOIN_ACK":
            await stranger.post(word, method="CHOOSE_PARITY_RESPONSE")
            return
        for token in ("guessed", asked["auth_token"]):
            refused = await stranger.post(word | {"auth_token": token})
            said.append(refused["error"]["data"]["error_code"])
        del word["match_id"]
        said.append((await stranger.post({"message": word}, method="handle_message"))["result"]["message"]["status"])
        # What nobody understands is refused, and so is what belongs to no match.
        said.append((await stranger.post(stranger.word(asked) | {"accept": "yes"}))["error"]["data"]["error_code"])
        said.append((await stranger.post(stranger.word(asked, match_id="R7M7")))["error"]["data"]["error_code"])

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=promising(later))
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        assert said == ["E012", "E012", "ACKNOWLEDGED", "E043", "E050"]

    held(tmp_path, course)


def refusing(code: str) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "error": {"code": 1, "data": {"error_code": code}}, "id": 1}).encode()


@pytest.mark.parametrize(
    ("first", "second", "came"),
    [
        (b'{"result":{"status":"ACKNOWLEDGED"},"id":1}', b"", {"status": "ACKNOWLEDGED"}),
        # Another has the match than was announced, or the announced one is gone.
        (refusing("E050"), b'{"result":{"status":"ACKNOWLEDGED"},"id":1}', {"status": "ACKNOWLEDGED"}),
        (None, b'{"result":{"status":"ACKNOWLEDGED"},"id":1}', {"status": "ACKNOWLEDGED"}),
        (refusing("E012"), b'{"result":{"status":"ACKNOWLEDGED"},"id":1}', "E012"),
        (refusing("E050"), refusing("E050"), "here"),
        (None, None, "here"),
    ],
)
def test_what_was_posted_goes_to_whoever_has_the_match(
    tmp_path: Path, first: bytes | None, second: bytes | None, came: Any
) -> None:
    async def here(_request: RpcRequest, _peer: Peer) -> bytes:
        return refusing("here")

    async def course(hall: Hall) -> None:
        one, two, own = (url_of("referee", number) for number in (1, 2, 3))
        for url, answer in ((one, first), (two, second)):
            if answer is not None:
                hall.network.listen(url, lambda *_, answer=answer: asyncio.sleep(0, answer))
        door = OpenProfileHandler(hall.world("referee 3"), own, {}, here)
        matches = [
            {"match_id": f"R1M{number}", "game_type": "even_odd", "player_A_id": "P01", "player_B_id": "P02",
             "referee_endpoint": url}
            for number, url in enumerate((one, two, own), 1)
        ]  # fmt: skip
        door.record_announcement(msgspec.convert(
            {**hall.envelope("league_manager"), "message_type": "ROUND_ANNOUNCEMENT", "league_id": "l", "round_id": 1,
             "matches": matches}, m.RoundAnnouncement,
        ))  # fmt: skip
        call = {"jsonrpc": "2.0", "method": "GAME_JOIN_ACK", "params": {"match_id": "R1M1"}, "id": 1}
        answer = json.loads(await door.answer(RpcRequest(json.dumps(call).encode()), Peer("127.0.0.1")) or b"")
        assert answer.get("result", answer.get("error", {}).get("data", {}).get("error_code")) == came
        # What has been passed on once stays where it is.
        call["params"] = {"match_id": "R1M1", "passed_on": True}
        before = len(hall.wire)
        answer = json.loads(await door.answer(RpcRequest(json.dumps(call).encode()), Peer("127.0.0.1")) or b"")
        assert answer["error"]["data"]["error_code"] == "here"
        assert len(hall.wire) == before

    held(tmp_path, course)


def test_what_is_too_long_is_not_passed_on(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        await hall.fill("random", referees=2)
        stranger = Stranger(hall)
        await stranger.come()
        await hall.operate("start")
        await hall.until(lambda: hall.sent("ROUND_ANNOUNCEMENT", to=url_of("referee", 2)))
        await hall.quiet()
        elsewhere = url_of("referee", 2)
        long = {"message_type": "GAME_JOIN_ACK", "match_id": "R1M1", "x": "y" * MAX_BYTES}
        assert (await stranger.post(long, to=elsewhere))["error"]
        assert not [one for one in hall.wire if one.params.get("passed_on")]
        await hall.end(PATIENCE)

    held(tmp_path, course)


async def well(_stranger: Stranger, _call: Json) -> Any:
    return {"status": "ok"}


def test_after_a_restart_the_end_of_a_match_is_told_in_the_form_that_is_understood(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=knowing("tools/call", answers=well))
        await stranger.come()
        over, report = samples_of("GAME_OVER")[0], samples_of("MATCH_RESULT_REPORT")[0]
        agent = await hall.referee()
        ruling: Any = RulingRecord("R1M1", 1, report, [(stranger.url, over)], [(stranger.id, "TOOLS")])
        written: Any = msgspec.json.decode(msgspec.json.encode(ruling), type=RulingRecord)
        await resend_game_over(agent._world.caller, written)
        assert [one["method"] for one in stranger.asked("GAME_OVER")] == ["tools/call"]

    held(tmp_path, course)


# What is kept


def test_a_report_stays_small_whatever_players_get_wrong(tmp_path: Path) -> None:
    async def rambling(stranger: Stranger, call: Json) -> Any:
        noise = {"protocol": "x" * 300, "timestamp": "y" * 300, "sender": "z" * 300, "conversation_id": "c" * 300}
        noise |= {"auth_token": "t" * 600, "player_id": "p" * 300, "arrival_timestamp": "a" * 300}
        return {"error": None, "jsonrpc": "q" * 300, "id": "i" * 300, "result": stranger.word(call["params"], **noise)}

    async def course(hall: Hall) -> None:
        stranger = Stranger(hall, answers=rambling)
        await play(hall, stranger)
        assert set(statuses(hall)) <= {"WIN", "DRAW"}
        (report,) = hall.sent("MATCH_RESULT_REPORT")
        assert len(json.dumps(report.params)) < MAX_BYTES
        assert report.params["result"]["details"]["evidence"]["players"]
        assert len(broken(hall, stranger.id)) >= 8
        assert all(len(one.came) <= 200 for one in hall.league.broken_rules[stranger.id].values())

    held(tmp_path, course)


def test_the_operator_sees_how_agents_speak_and_what_they_get_wrong(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall)
        await stranger.come("league_register")
        (shown,) = (await hall.operate("agents"))["agents"]
        assert shown["form"] == "RPC"
        assert shown["broken_rules"] == [
            {
                "rule": "001-L0241",
                "first_at": hall.timestamp,
                "came": 'method: got "league_register"',
                "expected": "register_player, with flat params",
                "count": 1,
            }
        ]

    held(tmp_path, course)


def test_a_referee_forgets_the_oldest_invitations() -> None:
    memory = DialectMemory()
    for number in range(MAX_INVITATIONS + 1):
        memory.add_invitation(f"R{number}M1", "P01")
        memory.add_invitation(f"R{number}M1", "P01")
    assert not memory.is_invited_again("R0M1", "P01")
    assert memory.is_invited_again(f"R{MAX_INVITATIONS}M1", "P01")


def test_what_was_learned_survives_the_manager(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        stranger = Stranger(hall)
        await stranger.come("handle_message", {"message": hall.registration("player", 9)})
        await hall.crash()
        await hall.restart()
        (player,) = hall.league.players.values()
        assert player.form == "MESSAGE"
        assert set(broken(hall, player.id)) == {"001-L0241"}
        assert (await hall.post("league_register", {"player_meta": {}}))["error"]

    held(tmp_path, course)


# The spec profile


def test_in_the_spec_profile_the_same_strangers_are_refused(tmp_path: Path) -> None:
    async def course(hall: Hall) -> None:
        unknown = await hall.post("league_register", hall.registration("player", 9))
        assert unknown["error"]["code"] == -32601
        nobody = await hall.register("player", 9)
        assert "--profile open" in nobody["result"]["reason"]
        missing = await hall.post("register_player", {"player_meta": hall.registration("player", 9)["player_meta"]})
        assert missing["error"]["data"]["error_code"] == "E003"
        assert '"form"' not in json.dumps(await hall.operate("agents"))
        assert "unreachable" not in await hall.operate("status")

    held(tmp_path, course, profile="spec")


LEAGUES = """
import sys
from pathlib import Path
from leaguekit.sim import loop
from tests.agents.leagues import Hall
import leaguekit.manager.server
from leaguekit.cli.commands import host, manager, referee

async def main(profile):
    async with Hall(Path(sys.argv[1]) / profile, profile=profile) as hall:
        await hall.fill("random", "random", referees=2)
        await hall.operate("start")
        await hall.end()
        assert hall.league.state == "LEAGUE_COMPLETED"

for profile in ("spec", "open"):
    loop.run(main(profile))
    print(profile, any("dialects" in name or "agents.open" in name for name in sys.modules))
"""


def test_a_process_of_the_spec_profile_never_imports_the_dialects(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    command = [sys.executable, "-c", LEAGUES, str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["spec False", "open True"]
