"""A referee's appointment: how it comes into a league, and how it comes back with the token that it was given."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from leaguekit.agents.calls import ask, reachable
from leaguekit.agents.world import World
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.store.files import read_private, safe_name, write_private
from leaguekit.transport.base import CallerLate, CallFailed

log = logging.getLogger(__name__)

PING_SECONDS = 5.0
FIRST_WAIT = 0.5
LONGEST_WAIT = 10.0
# How long a call by the manager waits for the answer that says how to know it.
SETTLING_SECONDS = 5.0
# Where a referee's files lie when its manager does not say which league this is.
UNNAMED = "league"
DERIVED = "derived"
_INTERNAL_ERROR = -32603


class RegistrationRefused(Exception):
    """The league does not take this referee; the text says why. ``code`` is the catalogue's, if the manager said."""

    def __init__(self, reason: str, code: str | None = None) -> None:
        self.code = code
        super().__init__(reason)


class Appointment(NamedTuple):
    """What a referee is in its league. ``manager_token`` is what the manager must show it; None where none is."""

    league_id: str | None
    referee_id: str
    token: str | UnsetType
    manager_token: str | None

    @property
    def is_derived(self) -> bool:
        """Whether the league is one of ours: tokens are derived, and progress and transcripts are taken."""
        return self.manager_token is not None


class _State(msgspec.Struct):
    league_id: str
    referee_id: str
    auth_token: str


class _Pong(msgspec.Struct):
    class Result(msgspec.Struct):
        league_id: str

    result: Result


class Registrar:
    """Registers a referee, as often as need be, and keeps what it was given in a private file.

    ``prepare`` is called with every appointment, before any call by the manager is answered under it.
    """

    def __init__(
        self,
        world: World,
        manager_url: str,
        meta: m.RefereeMeta,
        prepare: Callable[[Appointment], Awaitable[None]],
    ) -> None:
        self._world = world
        self._manager_url = manager_url
        self._meta = meta
        self._prepare = prepare
        self.appointment: Appointment | None = None
        self._one_at_a_time = asyncio.Lock()
        self._settled = asyncio.Event()
        self._settled.set()

    def folder(self, league_id: str | None) -> Path:
        """Where this referee's files of a league lie."""
        name = self._meta.display_name
        return self._world.data_root / "agents" / safe_name(league_id or UNNAMED) / safe_name(name)

    async def register(self) -> Appointment:
        """Be taken on. Waits for a manager that is not there yet; raises RegistrationRefused."""
        async with self._one_at_a_time:
            return await self._register()

    async def renew(self, refused: str | UnsetType) -> None:
        """Register again, unless that has been done since this token was refused."""
        async with self._one_at_a_time:
            if self.appointment is None or self.appointment.token == refused:
                await self._register()

    async def settled(self) -> Appointment | None:
        """The appointment; while an answer is awaited that may change it, wait for that."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(SETTLING_SECONDS):
                await self._settled.wait()
        return self.appointment

    async def _register(self) -> Appointment:
        wait = FIRST_WAIT
        # Made once a league: a repeat to the letter is how a manager knows the retry of a lost answer.
        requests: dict[str | None, m.RefereeRegisterRequest] = {}
        while True:
            try:
                league_id = await self._league_there()
                if league_id not in requests:
                    requests[league_id] = self._request(await self._token_for(league_id))
                self._settled.clear()
                return await self._taken_on(requests[league_id], league_id)
            except RpcRefusal as refusal:
                if refusal.error.code != _INTERNAL_ERROR:
                    code = refusal.error.data.get("error_code") if isinstance(refusal.error.data, dict) else None
                    raise RegistrationRefused(f"The manager refused: {refusal}.", code) from None
                log.warning("the manager failed; trying again in %g s", wait)
            except ProtocolError as error:
                raise RegistrationRefused(f"What answers at {self._manager_url} is no manager: {error}") from None
            except (CallFailed, CallerLate) as failure:
                log.warning("the manager is not there (%s); trying again in %g s", failure, wait)
            finally:
                self._settled.set()
            await self._world.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _league_there(self) -> str | None:
        """Which league the manager runs, if it says so: a token is offered only to the league it came from."""
        body = await reachable(self._world.caller, self._manager_url, PING_SECONDS)
        try:
            return msgspec.json.decode(body, type=_Pong).result.league_id
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    async def _token_for(self, league_id: str | None) -> str | UnsetType:
        if league_id is None:
            return UNSET
        path = self._state_file(league_id)
        stored = await self._world.blocking(read_private, path)
        try:
            state = None if stored is None else msgspec.json.decode(stored, type=_State)
        except msgspec.DecodeError as error:
            log.warning("%s is left aside: %s", path, error)
            return UNSET
        return state.auth_token if state is not None and state.league_id == league_id else UNSET

    def _request(self, token: str | UnsetType) -> m.RefereeRegisterRequest:
        name = "".join(char if char.isprintable() else "?" for char in self._meta.display_name)
        conversation = f"conv-register-{self._world.entropy(8).hex()}"
        envelope = m.envelope(sender_of("referee", name), self._world.now(), conversation)
        return m.RefereeRegisterRequest(**envelope, auth_token=token, referee_meta=self._meta)

    async def _taken_on(self, request: m.RefereeRegisterRequest, pinged: str | None) -> Appointment:
        answer = await ask(self._world.caller, self._manager_url, request, m.RefereeRegisterResponse)
        if answer.status == "REJECTED" or not answer.referee_id:
            raise RegistrationRefused(answer.reason or "The manager gave no reason.", answer.error_code or None)
        league_id, token = answer.league_id or pinged, answer.auth_token or UNSET
        manager_token = None
        if league_id is not None and token is not UNSET:
            if answer.token_scheme == DERIVED:
                key = tokens.signing_key(token)
                manager_token = tokens.manager_to_agent(key, league_id, answer.referee_id)
            state = _State(league_id, answer.referee_id, token)
            await self._world.blocking(write_private, self._state_file(league_id), msgspec.json.encode(state))
        self.appointment = Appointment(league_id, answer.referee_id, token, manager_token)
        log.info(
            "registered as %s in %s", answer.referee_id, league_id, extra={"message_type": "REFEREE_REGISTER_RESPONSE"}
        )
        await self._prepare(self.appointment)
        return self.appointment

    def _state_file(self, league_id: str) -> Path:
        return self.folder(league_id) / "state.json"
