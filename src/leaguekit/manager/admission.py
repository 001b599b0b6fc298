"""The manager's door: who comes in as a player or a referee, under which id, and with which token."""

from __future__ import annotations

import asyncio
import hmac
import logging
import sys
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from leaguekit.agents.calls import mark_of, reachable, shows_mark
from leaguekit.agents.logs import about
from leaguekit.agents.world import World
from leaguekit.league import commands
from leaguekit.league.records import Player, Referee
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.reachability import (
    SECONDS,
    check_address,
    check_allowed,
    check_players_per_address,
    check_reachable,
)
from leaguekit.protocol import codes, ids, times, tokens
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import PlayerId
from leaguekit.protocol.ids import MANAGER, Role, read_sender
from leaguekit.protocol.patterns import valid
from leaguekit.transport.addresses import (
    MAX_THREADS_FOR_APPLICANTS,
    Resolver,
    addresses_of,
    is_loopback,
    plain_address,
)
from leaguekit.transport.base import Caller, CallerLate, CallFailed, Peer
from leaguekit.transport.eager import in_a_task
from leaguekit.transport.server.origin_headers import address_block, peer_address
from leaguekit.transport.token_buckets import TokenBuckets
from leaguekit.transport.wait_limits import WaitLimitReached, WaitLimits

# Registrations whose endpoints are being called at the same time. Those of agents that the league knows, by a token or
# a seat code, are counted by themselves.
MAX_CHECKS, MAX_CHECKS_PER_ADDRESS = 500, 200
MAX_CHECKS_PER_AGENT = 2
# The number of wrong repeats of a registration after which no repeat of it counts.
MAX_WRONG_REPEATS = 5
# How often an agent that is registered may register again. Each time takes a line in the log.
RETURNS_BURST, RETURNS_PER_SECOND = 30.0, 0.5
# How often somebody at an address may show that an endpoint is its own. Each time a player is withdrawn.
CONFLICTS_BURST, CONFLICTS_PER_SECOND = 20.0, 0.1

log = logging.getLogger(__name__)


class _Given(NamedTuple):
    conversation_id: str
    timestamp: str
    token: str


class Admission:
    """Registers agents. ``referee_code`` is one more code for referees, besides the league's own.

    ``max_per_address`` is how many players may register from one address, and listen at one host.
    """

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        endpoint: str,
        *,
        grant_ids: bool,
        referee_code: str | None,
        max_per_address: int,
    ) -> None:
        self._world = world
        self._ledger = ledger
        self._endpoint = endpoint
        self._grant_ids = grant_ids
        self._max_per_address = max_per_address
        # What this process has given to whom, and to which request.
        self._given: dict[str, _Given] = {}
        # Of each referee that shows players its own token, the addresses from which that token counts.
        self._token_hosts: dict[str, frozenset[str]] = {}
        self._resolver = Resolver(most=MAX_THREADS_FOR_APPLICANTS)
        # The time limits of the checks of strangers, the oldest first, each with its address.
        self._checks: dict[asyncio.Timeout, str] = {}
        # Players whose endpoints others have named, too.
        self._noted: set[str] = set()
        # How many requests with an agent's endpoint were neither a return nor a repeat.
        self._wrong_repeats: Counter[str] = Counter()
        self._checks_of_agents = WaitLimits(sys.maxsize, MAX_CHECKS_PER_AGENT)
        self._returns = TokenBuckets(RETURNS_PER_SECOND, RETURNS_BURST, clock=lambda: asyncio.get_running_loop().time())
        self._contests = TokenBuckets(
            CONFLICTS_PER_SECOND, CONFLICTS_BURST, clock=lambda: asyncio.get_running_loop().time()
        )
        self._further_code = None if referee_code is None else codes.verifier("referee", referee_code).hex()

    async def recover(self) -> None:
        """Look up what an earlier process knew."""
        for referee in self._ledger.league.referees.values():
            if referee.shows_own_token:
                self._token_hosts[referee.id] = await addresses_of(referee.meta.contact_endpoint, self._resolver)

    def accepts_token_from(self, agent: Player | Referee, peer: Peer) -> bool:
        """Whether an agent's token counts from where it came: players have seen that of a referee which shows it."""
        if not (isinstance(agent, Referee) and agent.shows_own_token):
            return True
        return plain_address(peer.host) in self._token_hosts.get(agent.id, ())

    async def player(self, request: m.LeagueRegisterRequest, peer: Peer) -> m.LeagueRegisterResponse:
        applicant = self._applicant(request, request.player_meta, peer)
        league = self._ledger.league
        try:
            await self._settle_endpoint("player", applicant, peer)
            with self._counting_wrong_repeats(applicant):
                self._admit_player(applicant, peer)
            async with self._checking(applicant, peer):
                applicant = await self._asked("player", applicant, peer)
            player_id = self._admit_player(applicant, peer)
            self._count_return(player_id)
        except commands.Rejected as rejected:
            return m.LeagueRegisterResponse(**self._echo(request), **_rejection(rejected), player_id=None)
        token, proof = self._token(player_id, applicant, request)
        self._ledger.record(commands.register_player(league, applicant, **proof, at=self._now()))
        log.info("%s registered as %s", request.player_meta.display_name, player_id, extra=about(request))
        return m.LeagueRegisterResponse(**self._echo(request), **self._accepted(token), player_id=player_id)

    async def referee(self, request: m.RefereeRegisterRequest, peer: Peer) -> m.RefereeRegisterResponse:
        applicant = self._applicant(request, request.referee_meta, peer)
        league = self._ledger.league
        try:
            await self._settle_endpoint("referee", applicant, peer)
            with self._counting_wrong_repeats(applicant):
                commands.admit_referee(league, applicant, self._now())
            async with self._checking(applicant, peer):
                applicant = await self._asked("referee", applicant, peer)
                hosts = await addresses_of(applicant.meta.contact_endpoint, self._resolver)
            referee_id = commands.admit_referee(league, applicant, self._now())
            self._count_return(referee_id)
        except commands.Rejected as rejected:
            return m.RefereeRegisterResponse(**self._echo(request), **_rejection(rejected), referee_id=None)
        token, proof = self._token(referee_id, applicant, request)
        self._token_hosts[referee_id] = hosts
        self._ledger.record(commands.register_referee(league, applicant, **proof, at=self._now()))
        log.info("%s registered as %s", request.referee_meta.display_name, referee_id, extra=about(request))
        if self._ledger.league.referees[referee_id].shows_own_token:
            log.warning("%s knows only the documents: it shows players its own token", referee_id, extra=about(request))
        return m.RefereeRegisterResponse(**self._echo(request), **self._accepted(token), referee_id=referee_id)

    def is_referee_code(self, code: str | None) -> bool:
        """Whether a code lets referees in."""
        shown = codes.verifier("referee", code or "").hex()
        known = [self._ledger.league.referee_code or "", self._further_code or ""]
        return any([hmac.compare_digest(shown, one) for one in known])  # noqa: C419 - all of them, always

    def _applicant(
        self, request: m.LeagueRegisterRequest | m.RefereeRegisterRequest, meta: Any, peer: Peer
    ) -> commands.Applicant[Any]:
        known = None
        if request.auth_token is not UNSET:
            known = self._ledger.league.agent_with(tokens.verifier(request.auth_token))
            known = known if known is not None and self.accepts_token_from(known, peer) else None
        seat = codes.shown_in(peer.query, "seat")
        return commands.Applicant(
            meta=meta,
            conversation_id=request.conversation_id,
            timestamp=request.timestamp,
            manager_endpoint=self._endpoint,
            sender=request.sender,
            address=peer_address(peer.host),
            returning_id=None if known is None else known.id,
            seat=None if seat is None else codes.verifier("seat", seat).hex(),
            may_be_referee=self._is_local(peer) or self.is_referee_code(codes.shown_in(peer.query, "referee")),
            may_repeat=self._wrong_repeats[self._owner(meta)] < MAX_WRONG_REPEATS,
            wanted_id=self._wanted_id(request.sender),
        )

    @contextmanager
    def _counting_wrong_repeats(self, applicant: commands.Applicant[Any]) -> Iterator[None]:
        try:
            yield
        except (commands.Rejected, ProtocolError):
            if applicant.returning_id is None and applicant.seat is None:
                self._wrong_repeats[self._owner(applicant.meta)] += 1
            raise

    def _owner(self, meta: m.PlayerMeta | m.RefereeMeta) -> str:
        """The agent at an endpoint, or an empty text."""
        return commands.endpoint_owner(self._ledger.league, meta.contact_endpoint) or ""

    def _admit_player(self, applicant: commands.Applicant[m.PlayerMeta], peer: Peer) -> str:
        league = self._ledger.league
        player_id = commands.admit_player(league, applicant, self._now())
        if player_id not in league.players and applicant.seat is None:
            check_players_per_address(league, applicant, peer, self._max_per_address)
        return player_id

    @asynccontextmanager
    async def _checking(self, applicant: commands.Applicant[Any], peer: Peer) -> AsyncIterator[None]:
        """Count an applicant whose endpoint is being called. Raises ProtocolError if there are too many."""
        agent = applicant.returning_id or applicant.seat
        try:
            if agent is None:
                async with self._checking_stranger(address_block(peer.host)):
                    yield
            else:
                with self._checks_of_agents.one(agent):
                    yield
        except (WaitLimitReached, TimeoutError):
            raise ProtocolError("E059", "Too many registrations are being checked: try again in 2 s.") from None

    @asynccontextmanager
    async def _checking_stranger(self, address: str) -> AsyncIterator[None]:
        """If there are too many, the oldest check ends: an endpoint that is there has answered long before."""
        await in_a_task()
        of_address = [limit for limit, other in self._checks.items() if other == address]
        if len(of_address) >= MAX_CHECKS_PER_ADDRESS:
            self._end_check(of_address[0])
        elif len(self._checks) >= MAX_CHECKS:
            self._end_check(next(iter(self._checks)))
        async with asyncio.timeout(None) as limit:
            self._checks[limit] = address
            try:
                yield
            finally:
                self._checks.pop(limit, None)

    def _end_check(self, limit: asyncio.Timeout) -> None:
        del self._checks[limit]
        limit.reschedule(asyncio.get_running_loop().time())

    def _count_return(self, agent_id: str) -> None:
        """Raises ProtocolError if an agent registers too often."""
        if self._ledger.league.agent(agent_id) is not None and (seconds := self._returns.take(agent_id)):
            raise ProtocolError("E059", f"{agent_id} has registered too often: try again in {max(seconds, 0.1):.1f} s.")

    async def _settle_endpoint(self, role: Role, applicant: Any, peer: Peer) -> None:
        """Withdraw a player that has registered with the endpoint of the applicant's own program.

        Anybody can register any endpoint. A program of ours shows in its answer to a ping which registration it has
        sent. So an applicant that is not there takes nobody's endpoint away.
        """
        league = self._ledger.league
        holder = commands.contested_owner(league, applicant, role, self._now())
        if holder is None or self._contests.take(address_block(peer.host)):
            return
        # Where the holder is called: the applicant's own address may lead to another program.
        url = league.players[holder].meta.contact_endpoint
        mark = mark_of(applicant.conversation_id, applicant.timestamp)
        async with self._checking(applicant, peer):
            try:
                is_there = shows_mark(await reachable(self._caller(applicant), url, SECONDS), mark)
            except (CallFailed, CallerLate):
                is_there = False
        if commands.contested_owner(league, applicant, role, self._now()) != holder:
            return
        name = applicant.meta.display_name
        if not is_there:
            if holder not in self._noted:
                # Once for each: a flood of requests must not become one of lines.
                self._noted.add(holder)
                log.warning("%s is refused: %s has registered with its endpoint %s before", name, holder, url)
            return
        reason = f"the program at its endpoint is that of {name!r}"
        self._ledger.record(commands.withdraw(league, holder, reason, self._now()))
        log.warning("%s is withdrawn: %s", holder, reason)

    async def _asked(self, role: Role, applicant: commands.Applicant[Any], peer: Peer) -> commands.Applicant[Any]:
        """An applicant that was called, with what it says. Raises Rejected if it cannot be."""
        url, settings = applicant.meta.contact_endpoint, self._ledger.league.settings
        check_address(role, url, peer)
        check_allowed(self._world.policy, role, url)
        if role == "player" and settings.profile == "open":
            # Many open their port only when they have the answer: who is there is looked at before the start.
            return applicant
        says = await check_reachable(self._caller(applicant), role, url, settings.league_id)
        return applicant._replace(claimed_id=says)

    def _caller(self, applicant: commands.Applicant[Any]) -> Caller:
        is_known = applicant.returning_id is not None or applicant.seat is not None
        return self._world.caller if is_known else self._world.applicants_caller or self._world.caller

    def _is_local(self, peer: Peer) -> bool:
        """Whether a caller is on this machine, and the manager is there for this machine only."""
        listens_at = urlsplit(self._endpoint).hostname or ""
        return all(is_loopback(host) for host in (peer.host, peer.server[0], listens_at))

    def _wanted_id(self, sender: str) -> str | None:
        wanted = read_sender(sender).id or ""
        grants = self._grant_ids or self._ledger.league.settings.profile == "open"
        if not (grants and valid(PlayerId, wanted)):
            return None
        # P090 could be taken for P90, and nobody is P00.
        number = int(wanted[1:])
        return wanted if number and wanted == ids.player_id(number) else None

    def _token(
        self, agent_id: str, applicant: commands.Applicant[Any], request: m.Request
    ) -> tuple[str, dict[str, bytes]]:
        # Who comes back with its token keeps it: then an answer that is lost locks nobody out, and what was derived
        # for a match in play still holds.
        kept = request.auth_token if applicant.returning_id == agent_id else UNSET
        token = kept or self._given_before(agent_id, request)
        token = token or tokens.new_token(agent_id, self._world.entropy(tokens.ENTROPY_BYTES))
        self._given[agent_id] = _Given(request.conversation_id, request.timestamp, token)
        return token, {"verifier": tokens.verifier(token), "key": tokens.signing_key(token)}

    def _given_before(self, agent_id: str, request: m.Request) -> str | None:
        """The token that the answer to the same request had: of two answers, who knows which arrives?"""
        given, agent = self._given.get(agent_id), self._ledger.league.agent(agent_id)
        if given is None or agent is None or given[:2] != (request.conversation_id, request.timestamp):
            return None
        # One that is void stays so.
        return given.token if agent.registered.verifier == tokens.verifier(given.token).hex() else None

    def _now(self) -> str:
        return times.format_timestamp(self._world.now())

    def _echo(self, request: m.Request) -> m.Envelope:
        return m.envelope(MANAGER, self._world.now(), request.conversation_id)

    def _accepted(self, token: str) -> dict[str, Any]:
        return {
            "status": "ACCEPTED",
            "reason": None,
            "auth_token": token,
            "league_id": self._ledger.league.settings.league_id,
            "token_scheme": tokens.SCHEME,
        }


def _rejection(rejected: commands.Rejected) -> dict[str, Any]:
    return {
        "status": "REJECTED",
        "reason": rejected.reason,
        "error_code": rejected.code,
        "code": rejected.number,
        **rejected.data,
    }
