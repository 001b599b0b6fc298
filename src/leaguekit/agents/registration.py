"""Registration: how a player or a referee comes into a league, and comes back with the token that it was given.

Registrar            registers an agent, as often as need be
Identity             who the agent is in its league
Kind                 what differs between players and referees
RegistrationRefused  the league does not take the agent
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import re
from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents.calls import MAX_ANY_ANSWER_BYTES, ask, error_code_of, is_transient, next_id, registration_digest
from leaguekit.agents.logs import log_fields
from leaguekit.agents.world import World
from leaguekit.protocol import codes, tokens
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE, ProtocolError
from leaguekit.protocol.ids import Role, sender_of
from leaguekit.protocol.methods import read_pong
from leaguekit.protocol.rpc import RpcRefusal, request
from leaguekit.store.base import StoreError
from leaguekit.store.files import safe_name
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import TOO_MANY_REQUESTS, Caller, CallerLate, CallFailed, TimedOut, Unreachable
from leaguekit.transport.eager import ensure_task

log = logging.getLogger(__name__)

PING_SECONDS = 10.0
# HTTP statuses of a server that is too busy, and of a proxy whose server does not answer.
_FOR_NOW = (TOO_MANY_REQUESTS, 502, 503, 504)
FIRST_PAUSE = 0.25
LONGEST_PAUSE = 5.0
# How long a call waits for the answer that says how to know the caller: shorter than any caller's time limit.
SETTLING_SECONDS = 2.5
# Where an agent's files lie when its manager does not say which league this is.
UNNAMED_LEAGUE = "league"
# How often one is told that nothing answers where it listens until it believes that. Who was in the league before
# knows better.
MAX_UNREACHABLE = 4
# How often an agent that has a token pings again before it believes that the manager knows no ping, and before it
# believes the refusal of such a manager.
MAX_PING_RETRIES = 4
# By chance, in the conversation_id of a registration: nobody finds it by its hash, which a ping shows.
CONVERSATION_BYTES = 8
# The longest text of a LEAGUE_ERROR that is shown.
MAX_TEXT = 500
# How long a file waits that could not be written.
WRITE_RETRY_SECONDS = 5.0

T = TypeVar("T")
Response = m.LeagueRegisterResponse | m.RefereeRegisterResponse
# Who an agent was before in a league of this name: nobody that it knows of, the same, or somebody whom this league does
# not know. A league that is kept nowhere may be begun again under its name.
Before = Literal["nobody", "same", "another"]


class RegistrationRefused(Exception):
    """The league does not take the agent: why, and what to do. ``code`` is the catalogue's, if there is one."""

    def __init__(self, reason: str, remedy: str, code: str | None = None) -> None:
        self.reason = reason
        self.remedy = remedy
        self.code = code
        is_said = remedy.rstrip(".").lower() in reason.lower()
        super().__init__(f"{reason.rstrip('.')}." if is_said else f"{reason.rstrip('.')}. {remedy}")


class _NotReached(RegistrationRefused):
    """Because nothing answered where the agent says it listens: something may a moment later."""


class Identity(Struct, frozen=True, kw_only=True, dict=True):
    """Who an agent is in its league, as the registration's answer and the state file say."""

    agent_id: str
    auth_token: str | None
    league_id: str | None
    # Whether the league is one of ours: callers show derived tokens, and are to be shown some.
    derived: bool = False
    # When it was first registered there.
    joined_at: str = ""

    @cached_property
    def key(self) -> bytes:
        return tokens.signing_key(self.auth_token or "")

    @cached_property
    def _managers(self) -> str:
        """What its manager shows."""
        return tokens.manager_to_agent(self.key, str(self.league_id), self.agent_id)

    def may_be_manager(self, shown: str | UnsetType) -> bool:
        """Whether its manager shows this token; where tokens are not derived nobody can tell, and anybody may be."""
        return not self.derived or (shown is not UNSET and tokens.are_equal(shown, self._managers))


class Kind(NamedTuple):
    """What differs between players and referees that register."""

    role: Role
    request: Callable[..., m.Request]
    response: type[Response]


class _Asked(Struct):
    """By what a manager knows the repeat of a registration."""

    conversation_id: str
    timestamp: str
    # None where the manager had not said.
    league_id: str | None = None


def league_in(pong: bytes) -> str | None:
    """The league that the answer to a ping names, if it does."""
    league_id = read_pong(pong).get("league_id")
    return league_id if isinstance(league_id, str) else None


async def fetch_league_id(caller: Caller, url: str) -> str | None:
    """The league that a manager names in its answer to a ping; None if it knows no ping.

    Raises CallFailed or CallerLate. A refusal that holds for now only counts as no answer.
    """
    came = await caller.post(url, request("ping", b"{}", next_id()), PING_SECONDS, MAX_ANY_ANSWER_BYTES)
    if came.status in _FOR_NOW:
        raise Unreachable(f"{url} answers with the HTTP status {came.status}", connected=True)
    return league_in(came.body)


class Registrar:
    """Registers an agent and keeps what it was given in a private file.

    ``prepare`` is called with every identity, and who the agent was before, ahead of any call by the manager that is
    answered under it. ``wanted_id`` asks for an id, which a manager may grant.
    """

    def __init__(
        self,
        world: World,
        manager_url: str,
        kind: Kind,
        meta: m.PlayerMeta | m.RefereeMeta,
        prepare: Callable[[Identity, Before], Awaitable[None]],
        *,
        wanted_id: str | None = None,
    ) -> None:
        self.name = meta.display_name
        self.manager_url = manager_url
        self.endpoint = meta.contact_endpoint
        # Without the seat or referee code, which is for registering only.
        self._address = codes.without_codes(manager_url)
        self.identity: Identity | None = None
        self._world = world
        self._kind = kind
        self.role = kind.role
        self._meta = meta
        self._prepare = prepare
        # Not among the files of its league, which a manager that was slow to say has not named.
        self._asked_file = self.folder(None) / "asked.json"
        # Why what an earlier run wrote cannot be read.
        self._unread = ""
        self._unanswered_pings = 0
        self._slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or kind.role
        self._sender = sender_of(kind.role, wanted_id or self._slug)
        # Of the request that waits for its answer.
        self._mark: str | None = None
        self._doubting: asyncio.Task[None] | None = None
        self._writing: dict[Path, asyncio.Task[None]] = {}
        self._one_at_a_time = asyncio.Lock()
        self._settled = asyncio.Event()
        self._settled.set()
        # Whether no answer is awaited that may change who the agent is.
        self.is_settled = self._settled.is_set

    @property
    def sender(self) -> str:
        """The agent's name as a sender: with its id, once it has one."""
        return self._sender if self.identity is None else sender_of(self._kind.role, self.identity.agent_id)

    @property
    def pong(self) -> dict[str, str]:
        """What the answer to a ping says of a registration under way. It proves that the applicant listens here."""
        return {} if self._mark is None or self.identity is not None else {"registering": self._mark}

    def folder(self, league_id: str | None) -> Path:
        """Where this agent's own files of a league lie."""
        return agent_folder(self._world.data_root, league_id or UNNAMED_LEAGUE, self._kind.role, self.name)

    async def register(self) -> Identity:
        """Be taken on, for as long as it takes. Raises RegistrationRefused."""
        try:
            read_url(self.manager_url)
        except Unreachable as error:
            raise RegistrationRefused(str(error), "Give the manager's URL as http://HOST:PORT/mcp.") from error
        async with self._one_at_a_time:
            return await self._register()

    async def renew(self, refused: str | None) -> None:
        """Register again, unless that has been done since this token was refused. Raises RegistrationRefused."""
        async with self._one_at_a_time:
            if self.identity is None or self.identity.auth_token == refused:
                await self._register()

    def doubt(self) -> None:
        """A caller showed a token that was not made for us. If that is because ours is void, a seat brings us back; a
        stranger must not make us give up a token that is good.
        """
        if self._doubting is None and self.manager_url != self._address:
            self._doubting = asyncio.create_task(self._come_back())
            self._doubting.add_done_callback(self._reassured)

    def _reassured(self, _doubting: asyncio.Task[None]) -> None:
        self._doubting = None

    async def _come_back(self) -> None:
        identity = self.identity
        if identity is None or identity.auth_token is None or identity.league_id is None:
            return
        query = m.LeagueQuery(
            **m.envelope(sender_of(self._kind.role, identity.agent_id), self._world.now(), f"conv-{self._slug}-known"),
            auth_token=identity.auth_token,
            league_id=identity.league_id,
            query_type="GET_STATUS",
        )
        try:
            await ask(self._world.caller, self._address, query, m.LeagueQueryResponse)
        except RpcRefusal as refusal:
            if error_code_of(refusal) == "E012":
                with contextlib.suppress(RegistrationRefused):
                    await self.renew(identity.auth_token)
        except (CallFailed, CallerLate, ProtocolError) as failure:
            log.debug("whether our token is good cannot be told: %s", failure)

    async def close(self) -> None:
        tasks = [task for task in (self._doubting, *self._writing.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def settled(self) -> Identity | None:
        """Who the agent is; while an answer is awaited that may change it, wait for that."""
        if not self.is_settled():
            await ensure_task()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLING_SECONDS):
                    await self._settled.wait()
        return self.identity

    async def _register(self) -> Identity:
        if self.identity is None:
            # Whoever calls knows the agent from an earlier run, and had rather wait than hear of nobody.
            self._settled.clear()
        try:
            return await self._ask_until_taken_on()
        except RegistrationRefused as refused:
            if not self._unread:
                raise
            remedy = (
                "Put the file back, or ask the operator for `league token rotate`, whose code brings the agent back."
            )
            reason = f"{refused.reason.rstrip('.')}. {self._unread}"
            raise RegistrationRefused(reason, remedy, refused.code) from refused
        finally:
            self._settled.set()

    async def _ask_until_taken_on(self) -> Identity:
        request: m.Request | None = None
        kept: Identity | None = None
        failures = refusals = 0
        while True:
            try:
                league_id = await self._league_there()
                kept = await self._world.blocking(self._kept, league_id) or self.identity
                offered = UNSET if kept is None else kept.auth_token or UNSET
                # Repeated to the letter: that is how a manager knows the retry of a lost answer.
                if request is None or request.auth_token != offered:
                    request = await self._request(offered, league_id)
                self._settled.clear()
                self._mark = registration_digest(request.conversation_id, request.timestamp)
                return await self._taken_on(request, league_id, kept)
            except (CallFailed, CallerLate) as failure:
                why: Exception = failure
            except (RpcRefusal, _NotReached) as refusal:
                _check_passes(refusal, math.inf if kept else MAX_UNREACHABLE - failures)
                why = refusal
            except RegistrationRefused as refused:
                # A manager that answers no ping may know us all the same: it may have been stopped.
                may_retry = self._unanswered_pings and refusals < MAX_PING_RETRIES
                if not (may_retry and await self._world.blocking(self._has_token)):
                    raise
                refusals += 1
                why = refused
            except ProtocolError as error:
                reason = f"What answers at {self._address} is no League Manager of league.v2: {error.detail}"
                raise RegistrationRefused(reason, "Check the manager's URL; it ends in /mcp.", error.code) from error
            finally:
                if self.identity is not None:
                    self._settled.set()
            if not failures:
                log.warning("The manager does not take registrations yet (%s). Trying until it does.", why)
            await asyncio.sleep(pause_after(failures))
            failures += 1

    async def _league_there(self) -> str | None:
        """Which league the manager runs, if it says so: a token is offered only to the league it came from."""
        try:
            league_id = await fetch_league_id(self._world.caller, self._address)
        except TimedOut:
            self._unanswered_pings += 1
            may_retry = self.identity is None and self._unanswered_pings <= MAX_PING_RETRIES
            if may_retry and await self._world.blocking(self._has_token):
                # Only the league that it came from may see the token, and this may be that league.
                raise
            # It may know no ping.
            return None
        self._unanswered_pings = 0
        if league_id is not None and self.identity is not None and self.identity.league_id not in (None, league_id):
            raise Unreachable(f"another league, {league_id}, is at {self._address}")
        return league_id

    def _kept(self, league_id: str | None) -> Identity | None:
        """Who we were in that league, if we have been there."""
        if league_id is None:
            return None
        kept = self._read(self._state_file(league_id), Identity)
        return kept if kept is not None and kept.league_id == league_id else None

    def _asked(self) -> _Asked | None:
        """The request without a token that was sent last."""
        return self._read(self._asked_file, _Asked)

    def _has_token(self) -> bool:
        """Whether the answer to that request is kept, from a manager that knows pings."""
        asked = self._asked()
        kept = None if asked is None else self._kept(asked.league_id)
        return kept is not None and kept.derived

    def _read(self, path: Path, kind: type[T]) -> T | None:
        """What an earlier run wrote to a file of its own; None if there is nothing, or nothing of use."""
        try:
            content = self._world.files.read(path)
            return None if content is None else msgspec.json.decode(content, type=kind)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("%s is left aside: %s", path, error)
            self._unread = f"{path} cannot be read: {error}."
        except StoreError as error:
            log.warning("%s", error)
            self._unread = str(error)
        return None

    async def _request(self, token: str | UnsetType, league_id: str | None) -> m.Request:
        """A request; without a token, the one that an earlier run sent and did not see answered.

        A manager that was restarted gives the repeat of a request a new token, and the one that is kept is void.
        """
        conversation = f"conv-{self._slug}-reg-{self._world.entropy(CONVERSATION_BYTES).hex()}"
        envelope = m.envelope(self._sender, self._world.now(), conversation)
        if token is UNSET:
            asked = await self._world.blocking(self._asked)
            if asked is None or (league_id and asked.league_id not in (None, league_id)):
                await self._write(self._asked_file, _Asked(conversation, envelope["timestamp"], league_id))
            elif not await self._world.blocking(self._has_token):
                envelope |= {"conversation_id": asked.conversation_id, "timestamp": asked.timestamp}
        return self._kind.request(**envelope, auth_token=token, **{f"{self._kind.role}_meta": self._meta})

    async def _taken_on(self, request: m.Request, pinged: str | None, kept: Identity | None) -> Identity:
        response = await ask(self._world.caller, self.manager_url, request, self._kind.response)
        if response.status == "REJECTED":
            refused = _refused(response.reason or "No reason was given", response.error_code or None)
            raise _NotReached(refused.reason, refused.remedy, refused.code) if refused.code == "E048" else refused
        token = response.auth_token or (None if kept is None else kept.auth_token)
        league_id = response.league_id or pinged
        identity = Identity(
            agent_id=str(getattr(response, f"{self._kind.role}_id")),
            auth_token=token,
            league_id=league_id,
            derived=response.token_scheme == tokens.SCHEME and bool(token and league_id),
            joined_at=(kept.joined_at if kept is not None else "") or self._world.timestamp(),
        )
        if token and league_id:
            await self._write(self._state_file(league_id), identity)
            if pinged is None and request.auth_token is UNSET:
                await self._write(self._asked_file, _Asked(request.conversation_id, request.timestamp, league_id))
        log.info("%s is %s in %s", self.name, identity.agent_id, league_id, extra=log_fields(response))
        await self._prepare(identity, self._before(kept, identity))
        # Not before: nothing is answered under an identity that is not prepared for it.
        self.identity = identity
        return identity

    def _before(self, kept: Identity | None, now: Identity) -> Before:
        if kept is None:
            return "nobody"
        # Who offers a token and is given another is not known by it; a seat gives a new one to the same agent.
        has_seat = codes.shown_in(urlsplit(self.manager_url).query, "seat") is not None
        return "same" if has_seat or now.auth_token == kept.auth_token else "another"

    async def _write(self, path: Path, what: Struct) -> None:
        """Keep something for a later run; if that cannot be done now, as soon as it can be."""
        if (before := self._writing.pop(path, None)) is not None:
            before.cancel()
        content = msgspec.json.encode(what)
        try:
            await self._world.blocking(self._keep, path, content)
        except StoreError as error:
            log.warning("%s", error)
            self._writing[path] = asyncio.create_task(self._write_later(path, content))

    async def _write_later(self, path: Path, content: bytes) -> None:
        while True:
            await asyncio.sleep(WRITE_RETRY_SECONDS)
            with contextlib.suppress(StoreError):
                await self._world.blocking(self._keep, path, content)
                return

    def _keep(self, path: Path, content: bytes) -> None:
        self._world.files.write(path, content, private=True)

    def _state_file(self, league_id: str) -> Path:
        return self.folder(league_id) / "state.json"


def agent_folder(data_root: Path, league_id: str, role: Role, name: str) -> Path:
    """Where an agent's own files of a league lie."""
    return data_root / "agents" / safe_name(league_id) / f"{role}-{safe_name(name)}"


def pause_after(failures: int) -> float:
    """How long to wait before asking again, after so many failures."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * (1 << min(failures, 5)))


def describe_league_error(error: m.LeagueError) -> str:
    """What a manager says is wrong, as a sentence."""
    detail = (error.context or {}).get("detail") or error.action_required or ""
    about_message = f" about {error.original_message_type}" if error.original_message_type else ""
    text = f"The manager reports {error.error_code} {error.error_description}{about_message}. {detail}"
    return text.strip()[:MAX_TEXT]


def _check_passes(refusal: RpcRefusal | _NotReached, more_tries: float) -> None:
    """Raise RegistrationRefused unless it is worth asking again."""
    if isinstance(refusal, RpcRefusal):
        if not is_transient(refusal):
            raise _refused(_reason(refusal), error_code_of(refusal)) from refusal
    elif more_tries <= 0:
        raise refusal


def _reason(refusal: RpcRefusal) -> str:
    text, data = refusal.error.message, refusal.error.data
    context = data.get("context") if isinstance(data, dict) else None
    detail = context.get("detail") if isinstance(context, dict) else None
    return f"{text}: {detail}" if detail else text


def _refused(reason: str, code: str | None) -> RegistrationRefused:
    remedy = CATALOGUE[code].remedy if code in CATALOGUE else "Ask the league's operator."
    refused = RegistrationRefused(reason, remedy, code)
    log.warning("The registration was refused: %s", refused)
    return refused
