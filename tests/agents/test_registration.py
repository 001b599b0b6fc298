"""Registration of players and referees: which failures are retried, which are final, and what is stored."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from leaguekit.agents.identity import Identity
from leaguekit.agents.registration import Registrar, RegistrationRefused
from leaguekit.agents.world import World
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER
from leaguekit.protocol.methods import BY_REQUEST, PING, read_call
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import Call, RpcRequest, answer, request
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim.loop import run
from leaguekit.transport.base import HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork
from tests.samples import samples_of

LEAGUE = "league_2025_even_odd"
MANAGER_URL = "http://127.0.0.1:8000/mcp"
AGENT_URL = "http://127.0.0.1:8001/mcp"
IDS = {"player": "P01", "referee": "REF01"}
PONG = {"status": "ok", "league_id": LEAGUE}


def now() -> datetime:
    return datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


def token_of(role: str) -> str:
    return tokens.new_token(IDS[role], b"t" * 32)


class ScriptedManager:
    """Takes everybody, once it has given the answers that it is to give before."""

    def __init__(self) -> None:
        # The HTTP statuses of the first answers.
        self.statuses: list[int] = []
        self.before: list[ProtocolError] = []
        self.rejecting: list[str] = []
        self.said: dict[str, Any] = {}
        # What the first pings are answered with, and all others; None for no answer.
        self.pongs: list[Any] = []
        self.pong: Any = PONG
        self.came: list[m.Request] = []

    async def handle(self, body: bytes, peer: Peer) -> bytes | HttpAnswer | None:
        if self.statuses:
            return HttpAnswer(self.statuses.pop(0), b"{}")
        return await answer(RpcRequest(body), self._answer, manager_refusal(now))

    async def _answer(self, call: Call) -> Any:
        if call.method == PING:
            pong = self.pongs.pop(0) if self.pongs else self.pong
            if pong is None:
                await asyncio.Event().wait()
            return pong
        method, came = read_call(call, "league_manager")
        assert isinstance(came, m.Request)
        self.came.append(came)
        if self.before:
            raise self.before.pop(0)
        role = "player" if isinstance(came, m.LeagueRegisterRequest) else "referee"
        if self.rejecting:
            rejected = {"status": "REJECTED", "reason": "no", "error_code": self.rejecting.pop(0), f"{role}_id": None}
            return method.answer(**m.envelope(MANAGER, now(), came.conversation_id), **rejected)
        accepted = {"status": "ACCEPTED", "auth_token": token_of(role), "league_id": LEAGUE, "token_scheme": "derived"}
        fields = {f"{role}_id": IDS[role]} | accepted | self.said
        assert method is BY_REQUEST[type(came)]
        return method.answer(**m.envelope(MANAGER, now(), came.conversation_id), **fields)


class Office:
    """A manager, and an agent of either role that registers with it."""

    def __init__(
        self, root: Path, role: str, manager: ScriptedManager | None = None, name: str = "Alpha", entropy: bytes = b"e"
    ) -> None:
        network = MemoryNetwork()
        self.role = role
        self.manager = manager or ScriptedManager()
        network.listen(MANAGER_URL, self.manager.handle)
        world = World(MemoryCaller(network), root, now, lambda size: entropy * size, inline=True)
        self.agent: PlayerAgent | RefereeAgent = (
            PlayerAgent(Player(name, STRATEGIES["random"]), world, MANAGER_URL, AGENT_URL)
            if role == "player"
            else RefereeAgent(world, manager_url=MANAGER_URL, endpoint=AGENT_URL, name=name)
        )

    @property
    def registrar(self) -> Registrar:
        return self.agent.registrar

    def register(self) -> tuple[Identity, float]:
        """The identity that the agent got, and how long that took."""

        async def main() -> tuple[Identity, float]:
            try:
                return await self.agent.register(), asyncio.get_running_loop().time()
            finally:
                await self.agent.close()

        return run(main())


@pytest.fixture(params=["player", "referee"])
def role(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def office(tmp_path: Path, role: str) -> Callable[..., Office]:
    return lambda **more: Office(tmp_path, role, **more)


def test_what_passes_is_waited_for_and_the_request_repeated_to_the_letter(office: Callable[..., Office]) -> None:
    taking = office()
    taking.manager.before = [ProtocolError("E059"), ProtocolError("E060"), ProtocolError("E059")]
    identity, seconds = taking.register()
    assert seconds == 0.25 + 0.5 + 1
    assert identity.derived
    assert len({encode(one) for one in taking.manager.came}) == 1
    assert len(taking.manager.came) == 4


def test_an_agent_whose_registration_nobody_answers_refuses_calls_within_three_seconds(
    office: Callable[..., Office], role: str
) -> None:
    unanswered = office()
    unanswered.manager.pong = None
    announcement = samples_of("ROUND_ANNOUNCEMENT")[0]

    async def main() -> None:
        registering = asyncio.ensure_future(unanswered.agent.register())
        await asyncio.sleep(1)
        answered = await unanswered.agent.handle(request("notify_round", encode(announcement), 1), Peer("127.0.0.1"))
        assert asyncio.get_running_loop().time() - 1 < 3
        cause = {"player": "E005", "referee": "E012"}[role]
        assert json.loads(answered or b"")["error"]["data"]["error_code"] == cause
        registering.cancel()
        await unanswered.agent.close()

    run(main())


@pytest.mark.parametrize("code", ["E012", "E018", "E019", "E020", "E047", "E058"])
def test_everything_else_is_final(office: Callable[..., Office], code: str) -> None:
    refusing = office()
    refusing.manager.before = [ProtocolError(code)]
    with pytest.raises(RegistrationRefused) as refused:
        refusing.register()
    assert refused.value.code == code
    assert str(refused.value) == f"{refused.value.reason.rstrip('.')}. {refused.value.remedy}"
    assert len(refusing.manager.came) == 1


def test_who_comes_back_to_its_league_shows_its_token_and_in_another_it_does_not(
    office: Callable[..., Office], role: str
) -> None:
    office().register()
    back = office()
    back.register()
    elsewhere = office()
    elsewhere.manager.pong = PONG | {"league_id": "another_league"}
    elsewhere.register()
    assert [one.manager.came[0].auth_token for one in (back, elsewhere)] == [token_of(role), msgspec.UNSET]


def test_who_comes_back_while_pings_are_refused_for_now_waits_and_shows_its_token(
    office: Callable[..., Office], role: str
) -> None:
    office().register()
    back = office()
    back.manager.statuses = [429, 502, 503, 504]
    assert back.register()[1] == 0.25 + 0.5 + 1 + 2
    assert [one.auth_token for one in back.manager.came] == [token_of(role)]


def test_a_manager_that_does_not_repeat_a_token_means_the_one_that_it_was_shown(
    office: Callable[..., Office], role: str
) -> None:
    office().register()
    back = office()
    back.manager.said = {"auth_token": None}
    assert back.register()[0].auth_token == token_of(role)


def test_a_manager_that_knows_no_ping_is_registered_with_without_a_token(office: Callable[..., Office]) -> None:
    deaf = office()
    deaf.manager.pong, deaf.manager.said = None, {"league_id": "another_league"}
    assert deaf.register()[1] == 10
    assert deaf.manager.came[0].auth_token is msgspec.UNSET


def test_who_has_a_token_of_another_league_registers_without_it_where_no_ping_is_known(
    office: Callable[..., Office],
) -> None:
    office().register()
    deaf = office()
    deaf.manager.pong, deaf.manager.said = None, {"league_id": "another_league"}
    assert deaf.register()[1] == 5 * 10 + 0.25 + 0.5 + 1 + 2
    assert deaf.manager.came[0].auth_token is msgspec.UNSET


def test_a_refusal_by_a_manager_that_was_stopped_is_not_believed_before_it_was_shown_the_token(
    office: Callable[..., Office], role: str
) -> None:
    office().register()
    back = office()
    back.manager.pongs, back.manager.rejecting = [None] * 5, ["E019"]
    back.register()
    assert [one.auth_token for one in back.manager.came] == [msgspec.UNSET, token_of(role)]


def test_a_manager_that_answers_no_ping_and_always_refuses_is_believed(office: Callable[..., Office]) -> None:
    office().register()
    back = office()
    back.manager.pong, back.manager.rejecting = None, ["E019"] * 10
    with pytest.raises(RegistrationRefused):
        back.register()


@pytest.mark.parametrize("said_league", [True, False])
def test_a_request_whose_answer_is_kept_is_never_repeated_without_the_token(
    office: Callable[..., Office], *, said_league: bool
) -> None:
    """The manager would take that for the retry of a lost answer, and replace the token that the agent has."""
    first = office()
    first.manager.pong = PONG if said_league else None
    first.register()
    back = office(entropy=b"f")
    back.manager.pong = None
    back.register()
    (asked,), (again,) = first.manager.came, back.manager.came
    assert again.auth_token is msgspec.UNSET
    assert again.conversation_id != asked.conversation_id


def test_a_manager_of_another_scheme_that_knows_no_ping_is_not_pinged_again(office: Callable[..., Office]) -> None:
    for _ in range(2):
        deaf = office()
        deaf.manager.pong, deaf.manager.said = None, {"token_scheme": msgspec.UNSET}
        assert deaf.register()[1] == 10


def test_who_is_registered_renews_its_token_although_a_ping_is_lost(office: Callable[..., Office], role: str) -> None:
    renewing = office()

    async def main() -> float:
        await renewing.registrar.register()
        renewing.manager.pong = None
        await renewing.registrar.renew(token_of(role))
        await renewing.agent.close()
        return asyncio.get_running_loop().time()

    assert run(main()) == 10
    assert [one.auth_token for one in renewing.manager.came] == [msgspec.UNSET, token_of(role)]


def test_a_request_whose_answer_was_lost_is_repeated_by_the_next_run(office: Callable[..., Office]) -> None:
    first = office()
    first.manager.before = [ProtocolError("E019")]
    with pytest.raises(RegistrationRefused):
        first.register()
    back = office(entropy=b"f")
    back.manager.pong = None
    back.register()
    assert encode(back.manager.came[0]) == encode(first.manager.came[0])


def test_who_has_a_token_waits_for_the_manager_to_say_its_league(office: Callable[..., Office], role: str) -> None:
    office().register()
    back = office(entropy=b"f")
    back.manager.pongs = [None, None]
    _, seconds = back.register()
    assert seconds == 10 + 0.25 + 10 + 0.5
    assert [one.auth_token for one in back.manager.came] == [token_of(role)]


def test_a_state_file_that_cannot_be_written_stops_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "agents").write_text("a file where a folder should be")
    identity, _ = Office(tmp_path, "player").register()
    assert identity.agent_id == "P01"
    assert "cannot be written" in caplog.text


def test_a_player_and_a_referee_of_the_same_name_keep_their_files_apart(tmp_path: Path) -> None:
    for role, name in (("player", "Alpha"), ("referee", "Alpha")):
        Office(tmp_path, role, name=name).register()
    folder = tmp_path / "agents" / LEAGUE
    kept = {path.parent.name: json.loads(path.read_text())["agent_id"] for path in folder.glob("*/state.json")}
    assert kept == {"player-Alpha": "P01", "referee-Alpha": "REF01"}


def test_a_refused_token_is_renewed_once_however_many_ask(office: Callable[..., Office], role: str) -> None:
    renewing = office()

    async def main() -> None:
        registrar = renewing.registrar
        await registrar.register()
        renewing.manager.said = {"auth_token": "tok-new"}
        await asyncio.gather(*(registrar.renew(token_of(role)) for _ in range(3)))
        identity = await registrar.settled()
        assert identity is not None
        assert identity.auth_token == "tok-new"
        await renewing.agent.close()

    run(main())
    assert len(renewing.manager.came) == 2


def test_only_where_tokens_are_derived_can_the_manager_be_told_from_others() -> None:
    derived = Identity(agent_id="P01", auth_token="tok-p01", league_id=LEAGUE, derived=True)
    right = tokens.manager_to_agent(derived.key, LEAGUE, "P01")
    assert derived.may_be_manager(right)
    assert not any(derived.may_be_manager(shown) for shown in ("", "tok-p01", right[:-1], msgspec.UNSET))
    assert Identity(agent_id="P01", auth_token="tok-p01", league_id=LEAGUE).may_be_manager(msgspec.UNSET)


def test_who_was_in_the_league_before_waits_until_it_can_be_reached(office: Callable[..., Office]) -> None:
    office().register()
    back = office()
    back.manager.rejecting = ["E048"] * 12
    assert back.register()[0].auth_token == token_of(back.role)
    assert len(back.manager.came) == 13


def test_a_stranger_that_cannot_be_reached_is_told_so_once_and_after_a_few_tries(
    office: Callable[..., Office], caplog: pytest.LogCaptureFixture
) -> None:
    stranger = office()
    stranger.manager.rejecting = ["E048"] * 12
    with pytest.raises(RegistrationRefused) as refused:
        stranger.register()
    assert refused.value.code == "E048"
    assert len(stranger.manager.came) == 5
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warning == f"The league does not take the agent yet: {refused.value} Trying again."


def test_a_state_that_cannot_be_written_now_is_written_as_soon_as_it_can_be(tmp_path: Path) -> None:
    office = Office(tmp_path, "player")
    path = office.registrar.folder(LEAGUE) / "state.json"
    path.parent.parent.parent.mkdir(parents=True)
    path.parent.parent.write_text("a file where a folder should be")

    async def main() -> None:
        await office.agent.register()
        await asyncio.sleep(60)
        path.parent.parent.unlink()
        await asyncio.sleep(10)
        await office.agent.close()

    run(main())
    assert json.loads(path.read_text())["auth_token"] == token_of("player")


@dataclass(frozen=True, slots=True)
class SlowWorld(World):
    """A world whose disk takes its time."""

    async def blocking(self, work: Callable[..., Any], *arguments: Any) -> Any:
        await asyncio.sleep(5)
        return work(*arguments)


def test_a_referee_is_nobody_before_its_journal_is_open(tmp_path: Path) -> None:
    office = Office(tmp_path, "referee")
    world = SlowWorld(office.registrar._world.caller, tmp_path, now, lambda size: b"e" * size, inline=True)
    referee = RefereeAgent(world, manager_url=MANAGER_URL, endpoint=AGENT_URL, name="Slow")

    async def main() -> None:
        registering = asyncio.create_task(referee.register())
        while not registering.done():
            assert referee.registrar.identity is None
            await asyncio.sleep(0.5)
        assert referee.matches.journal.file.pending() == []
        await referee.close()

    run(main())
