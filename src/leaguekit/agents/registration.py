"""Registration: how a player or a referee joins a league, and returns to it with the token that it was given.

Registrar            registers an agent, with retries
RegistrationRefused  the league refuses the agent
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET, UnsetType

from leaguekit.agents.calls import (
    MAX_ANY_ANSWER_BYTES,
    ask,
    detail_of,
    error_code_of,
    is_transient,
    next_id,
    registration_digest,
)
from leaguekit.agents.identity import Identity, IdentityFiles, SentRequest
from leaguekit.agents.logs import log_fields
from leaguekit.agents.retries import Backoff
from leaguekit.agents.tasks import cancel
from leaguekit.agents.world import World
from leaguekit.protocol import codes, tokens
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE, ProtocolError
from leaguekit.protocol.ids import Role, sender_of
from leaguekit.protocol.methods import read_pong
from leaguekit.protocol.rpc import RpcRefusal, request
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import (
    TOO_MANY_REQUESTS,
    UNAVAILABLE_STATUSES,
    Caller,
    CallerLate,
    CallFailed,
    TimedOut,
    Unreachable,
)
from leaguekit.transport.eager import ensure_task

log = logging.getLogger(__name__)

PING_SECONDS = 10.0
# HTTP statuses of a server that is too busy, and of a proxy whose server does not answer.
_TRANSIENT_STATUSES = (TOO_MANY_REQUESTS, *UNAVAILABLE_STATUSES)
# How long an incoming call waits while a registration is in progress. It is shorter than the time limits of all calls.
SETTLING_SECONDS = 2.5
# The code with which a manager says that it cannot reach the agent's endpoint.
UNREACHABLE = "E048"
# The number of attempts of a new agent while the manager says that it cannot reach the agent's endpoint. An agent that
# has been in the league before tries without a limit.
MAX_UNREACHABLE = 4
# An agent that has a token repeats a ping that is not answered. After this number of repetitions it assumes that the
# manager does not know ping. If such a manager refuses the registration, the agent tries again as many times.
MAX_PING_RETRIES = 4
# Random bytes in the conversation_id of a registration, so that it cannot be found by its hash in the answer to a ping.
CONVERSATION_BYTES = 8
# The maximum length of a description of a LEAGUE_ERROR.
MAX_TEXT = 500
# The number of failed attempts after which a failure is reported again.
FIRST_REPEATED_REPORT = 8

Response = m.LeagueRegisterResponse | m.RefereeRegisterResponse
# The registration of each role, and the answer to it.
_MESSAGES: dict[Role, tuple[Callable[..., m.Request], type[Response]]] = {
    "player": (m.LeagueRegisterRequest, m.LeagueRegisterResponse),
    "referee": (m.RefereeRegisterRequest, m.RefereeRegisterResponse),
}
# Sends a registration to a URL, and returns the answer of the given type. It raises the same exceptions as ``ask``.
SendRegistration = Callable[[Caller, str, m.Request, type[Any]], Awaitable[Any]]
# What an agent was before in a league with this id: nobody that it knows of, the same agent, or another agent that this
# league does not know. The last happens if a league that was not stored is started again with the same id.
Before = Literal["nobody", "same", "another"]


class RegistrationRefused(Exception):
    """The league refuses the agent. The text says why and what to do. ``code`` is the catalogue's, if it has one."""

    def __init__(self, reason: str, remedy: str, code: str | None = None) -> None:
        self.reason = reason
        self.remedy = remedy
        self.code = code
        is_repeated = remedy.rstrip(".").lower() in reason.lower()
        super().__init__(f"{reason.rstrip('.')}." if is_repeated else f"{reason.rstrip('.')}. {remedy}")


class NamedLeague(NamedTuple):
    """What a manager says of its league in its answer to a ping. None is what it does not say."""

    league_id: str | None = None
    game_type: str | None = None


async def ping_manager(caller: Caller, url: str) -> NamedLeague:
    """Ping a manager, and return the league that it names.

    Raises CallFailed or CallerLate. A transient HTTP error counts as no answer.
    """
    response = await caller.post(url, request("ping", b"{}", next_id()), PING_SECONDS, MAX_ANY_ANSWER_BYTES)
    if response.status in _TRANSIENT_STATUSES:
        raise Unreachable(f"{url} answers with the HTTP status {response.status}", connected=True)
    pong = read_pong(response.body)
    named = (pong.get(field) for field in NamedLeague._fields)
    return NamedLeague(*(value if isinstance(value, str) else None for value in named))


class Registrar:
    """Registers an agent, and keeps its identity in a private file.

    ``prepare`` is called with every new identity and with what the agent was before. No incoming call is answered
    under the new identity until it returns. ``takes_game`` says whether the agent also takes a game that it does not
    list; it may raise RegistrationRefused. ``wanted_id`` is the id that the agent asks for, which a manager may grant.
    ``send`` sends a registration and returns the answer.
    """

    def __init__(
        self,
        world: World,
        manager_url: str,
        role: Role,
        meta: m.PlayerMeta | m.RefereeMeta,
        prepare: Callable[[Identity, Before], Awaitable[None]],
        *,
        takes_game: Callable[[str], bool] = lambda _game_type: False,
        wanted_id: str | None = None,
        send: SendRegistration = ask,
    ) -> None:
        self.name = meta.display_name
        self.manager_url = manager_url
        self.endpoint = meta.contact_endpoint
        # The URL without a seat code or referee code. These are sent only with registrations.
        self._address = codes.without_codes(manager_url)
        self.identity: Identity | None = None
        self._world = world
        self.role = role
        self._meta = meta
        self._prepare = prepare
        self._takes_game = takes_game
        self._send = send
        self._files = IdentityFiles(world, role, self.name)
        self.folder = self._files.folder
        self._unanswered_pings = 0
        self._slug = re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or role
        self._sender = sender_of(role, wanted_id or self._slug)
        # The digest of the registration in progress.
        self._registration_digest: str | None = None
        self._token_check: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._settled = asyncio.Event()
        self._settled.set()
        # Whether no registration is in progress that may change the identity.
        self.is_settled = self._settled.is_set

    @property
    def sender(self) -> str:
        """The sender of its messages. It contains the agent's id, once it has one."""
        return self._sender if self.identity is None else sender_of(self.role, self.identity.agent_id)

    @property
    def pong(self) -> dict[str, str]:
        """Fields for the answer to a ping during a registration. They prove that the applicant listens here."""
        digest = self._registration_digest if self.identity is None else None
        return {} if digest is None else {"registering": digest}

    async def register(self) -> Identity:
        """Register, with retries until the manager accepts or refuses. Raises RegistrationRefused."""
        try:
            read_url(self.manager_url)
        except Unreachable as error:
            raise RegistrationRefused(str(error), "Give the manager's URL as http://HOST:PORT/mcp.") from error
        async with self._lock:
            return await self._register()

    async def renew(self, refused: str | None) -> None:
        """Register again, unless that has been done since this token was refused. Raises RegistrationRefused."""
        async with self._lock:
            if self.identity is None or self.identity.auth_token == refused:
                await self._register()

    def check_own_token(self) -> None:
        """Check the own token with the manager, because a caller had a token that was not derived from it.

        If the manager refuses the token, register again with the seat code. If the token is valid, keep it: a wrong
        caller must not be able to make the agent discard a valid token. Without a seat code, do nothing.
        """
        is_checking = self._token_check is not None and not self._token_check.done()
        if not is_checking and self.manager_url != self._address:
            self._token_check = asyncio.create_task(self._check_token())

    async def _check_token(self) -> None:
        token = None if self.identity is None else self.identity.auth_token
        try:
            await self.query("GET_STATUS", f"conv-{self._slug}-known")
        except RpcRefusal as refusal:
            if error_code_of(refusal) == "E012":
                with contextlib.suppress(RegistrationRefused):
                    await self.renew(token)
        except (CallFailed, CallerLate, ProtocolError) as failure:
            log.debug("the own token cannot be checked: %s", failure)

    async def query(self, query_type: str, conversation_id: str) -> m.LeagueQueryResponse | None:
        """Query the manager. None if this agent has no token for that. Raises the same exceptions as ``ask``."""
        identity = self.identity
        if identity is None or identity.auth_token is None or identity.league_id is None:
            return None
        query = m.LeagueQuery(
            **m.envelope(self.sender, self._world.now(), conversation_id),
            auth_token=identity.auth_token,
            league_id=identity.league_id,
            query_type=query_type,
        )
        return await ask(self._world.caller, self._address, query, m.LeagueQueryResponse)

    async def close(self) -> None:
        await cancel(self._token_check)
        await self._files.close()

    async def settled(self) -> Identity | None:
        """The identity. While a registration is in progress that may change it, wait for that, within a time limit."""
        if not self.is_settled():
            await ensure_task()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(SETTLING_SECONDS):
                    await self._settled.wait()
        return self.identity

    async def _register(self) -> Identity:
        if self.identity is None:
            # A caller may know the agent from an earlier run. Its call waits until the agent has its identity again.
            self._settled.clear()
        try:
            return await self._register_with_retries()
        except RegistrationRefused as refused:
            # The program prints why it ends.
            log.info("The registration was refused: %s", refused)
            if not self._files.read_error:
                raise
            remedy = (
                "Put the file back, or ask the operator for `league token rotate`, whose code brings the agent back."
            )
            reason = f"{refused.reason.rstrip('.')}. {self._files.read_error}"
            raise RegistrationRefused(reason, remedy, refused.code) from refused
        finally:
            self._settled.set()

    async def _register_with_retries(self) -> Identity:
        request: m.Request | None = None
        stored: Identity | None = None
        backoff, refusals = Backoff(), 0
        while True:
            try:
                league_id = await self._find_league()
                stored = await self._world.blocking(self._files.stored_identity, league_id) or self.identity
                offered = UNSET if stored is None else stored.auth_token or UNSET
                # The request is repeated unchanged. By that a manager recognises a retry after a lost answer.
                if request is None or request.auth_token != offered:
                    request = await self._request(offered, league_id)
                self._settled.clear()
                self._registration_digest = registration_digest(request.conversation_id, request.timestamp)
                return await self._send_registration(request, league_id, stored)
            except (CallFailed, CallerLate) as failure:
                reason: Exception = failure
            except RpcRefusal as refusal:
                _check_is_transient(refusal)
                reason = refusal
            except RegistrationRefused as refused:
                is_unreachable = refused.code == UNREACHABLE
                refusals += not is_unreachable
                may_retry = stored is not None or backoff.failures < MAX_UNREACHABLE
                if not (may_retry if is_unreachable else refusals <= MAX_PING_RETRIES and await self._may_be_known()):
                    raise
                reason = refused
            except ProtocolError as error:
                text = f"What answers at {self._address} is not a League Manager of league.v2: {error.detail}"
                raise RegistrationRefused(text, "Check the manager's URL; it ends in /mcp.", error.code) from error
            finally:
                if self.identity is not None:
                    self._settled.set()
            if _is_reported(backoff.failures):
                log.warning("%s", _describe_failure(reason))
            await backoff.pause()

    async def _find_league(self) -> str | None:
        """The id of the manager's league, if it names one. A token is sent only to the league that it came from."""
        try:
            league_id, game_type = await ping_manager(self._world.caller, self._address)
        except TimedOut:
            self._unanswered_pings += 1
            may_retry = self.identity is None and self._unanswered_pings <= MAX_PING_RETRIES
            if may_retry and await self._may_be_known():
                # Ping again. This may be the league of the token, and without its id the token cannot be sent.
                raise
            # It may have no ping.
            return None
        self._unanswered_pings = 0
        if game_type is not None and game_type not in self._meta.game_types and self._takes_game(game_type):
            self._meta.game_types.append(game_type)
        if league_id is not None and self.identity is not None and self.identity.league_id not in (None, league_id):
            raise Unreachable(f"another league, {league_id}, is at {self._address}")
        return league_id

    async def _may_be_known(self) -> bool:
        """Whether a manager that answered no ping may still know this agent: it may have been stopped for a while."""
        return self._unanswered_pings > 0 and await self._world.blocking(self._files.has_derived_token)

    async def _request(self, token: str | UnsetType, league_id: str | None) -> m.Request:
        """Make a registration. Without a token, repeat the one that an earlier run sent without getting an answer.

        Do not repeat one whose answer is stored. A manager that was restarted would give a new token to the repeat, and
        the stored token would be void.
        """
        conversation = f"conv-{self._slug}-reg-{self._world.entropy(CONVERSATION_BYTES).hex()}"
        envelope = m.envelope(self._sender, self._world.now(), conversation)
        if token is UNSET:
            sent = await self._world.blocking(self._files.sent_request)
            if sent is None or (league_id and sent.league_id not in (None, league_id)):
                await self._files.write_sent_request(SentRequest(conversation, envelope["timestamp"], league_id))
            elif not await self._world.blocking(self._files.has_derived_token):
                envelope |= {"conversation_id": sent.conversation_id, "timestamp": sent.timestamp}
        return _MESSAGES[self.role][0](**envelope, auth_token=token, **{f"{self.role}_meta": self._meta})

    async def _send_registration(self, request: m.Request, pinged: str | None, stored: Identity | None) -> Identity:
        response = await self._send(self._world.caller, self.manager_url, request, _MESSAGES[self.role][1])
        if response.status == "REJECTED":
            raise _refused(response.reason or "No reason was given", response.error_code or None)
        token = response.auth_token or (None if stored is None else stored.auth_token)
        league_id = response.league_id or pinged
        identity = Identity(
            agent_id=str(getattr(response, f"{self.role}_id")),
            auth_token=token,
            league_id=league_id,
            derived=response.token_scheme == tokens.SCHEME and bool(token and league_id),
            joined_at=(stored.joined_at if stored is not None else "") or self._world.timestamp(),
        )
        if token and league_id:
            await self._files.write_identity(identity)
            if pinged is None and request.auth_token is UNSET:
                await self._files.write_sent_request(SentRequest(request.conversation_id, request.timestamp, league_id))
        log.info("%s is %s in %s", self.name, identity.agent_id, league_id, extra=log_fields(response))
        await self._prepare(identity, self._previous_identity(stored, identity))
        # Not before ``prepare`` returns: no call may be answered under an identity that is not prepared.
        self.identity = identity
        return identity

    def _previous_identity(self, stored: Identity | None, now: Identity) -> Before:
        if stored is None:
            return "nobody"
        # An agent that sent a token and gets another one was not recognised by it. But a seat gives the same agent a
        # new token.
        has_seat = codes.code_in_query(urlsplit(self.manager_url).query, "seat") is not None
        return "same" if has_seat or now.auth_token == stored.auth_token else "another"


def describe_league_error(error: m.LeagueError) -> str:
    """A sentence about a LEAGUE_ERROR of the manager."""
    detail = (error.context or {}).get("detail") or error.action_required or ""
    about_message = f" about {error.original_message_type}" if error.original_message_type else ""
    text = f"The manager reports {error.error_code} {error.error_description}{about_message}. {detail}"
    return text.strip()[:MAX_TEXT]


def _is_reported(failures: int) -> bool:
    """Whether the next failed attempt is reported: the first, the one after 23 s, and then ever fewer."""
    return failures == 0 or (failures >= FIRST_REPEATED_REPORT and failures.bit_count() == 1)


def _describe_failure(reason: Exception) -> str:
    if isinstance(reason, CallFailed) and not reason.connected:
        text = f"No League Manager can be reached: {reason}. Is its address right (--manager), and is it running?"
        return f"{text} Trying until it answers."
    if isinstance(reason, RegistrationRefused):
        return f"The league does not take the agent yet: {reason} Trying again."
    return f"The manager does not take registrations yet ({reason}). Trying until it does."


def _check_is_transient(refusal: RpcRefusal) -> None:
    """Raise RegistrationRefused unless the same registration may succeed later."""
    if not is_transient(refusal):
        text, detail = refusal.error.message, detail_of(refusal)
        raise _refused(f"{text}: {detail}" if detail else text, error_code_of(refusal)) from refusal


def _refused(reason: str, code: str | None) -> RegistrationRefused:
    remedy = CATALOGUE[code].remedy if code in CATALOGUE else "Ask the league's operator."
    return RegistrationRefused(reason, remedy, code)
