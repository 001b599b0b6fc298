"""Registers players and referees: decides whether an applicant is admitted, under which id, and with which token."""

from __future__ import annotations

import asyncio
import hmac
import logging
import sys
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import UNSET

from leaguekit.agents.calls import has_registration_digest, ping, registration_digest
from leaguekit.agents.logs import log_fields
from leaguekit.agents.world import World
from leaguekit.league import commands, names
from leaguekit.league.endpoints import is_same_server
from leaguekit.league.records import Player, Referee
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.reachability import (
    PING_SECONDS,
    check_address,
    check_allowed,
    check_players_per_address,
    check_reachable,
)
from leaguekit.manager.refused_registrations import RefusedRegistrations
from leaguekit.protocol import codes, ids, tokens
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import PlayerId
from leaguekit.protocol.ids import MANAGER, Role, read_sender
from leaguekit.protocol.patterns import valid
from leaguekit.transport.addresses import (
    MAX_THREADS_FOR_APPLICANTS,
    Resolver,
    addresses_of,
    canonical_address,
    is_loopback,
)
from leaguekit.transport.base import Caller, CallerLate, CallFailed, Peer
from leaguekit.transport.eager import ensure_task
from leaguekit.transport.server.origin_headers import address_block, peer_address
from leaguekit.transport.token_buckets import TokenBuckets
from leaguekit.transport.wait_limits import WaitLimitReached, WaitLimits

# The number of registrations whose endpoints are called at the same time. Registrations with a token or a seat code are
# counted apart.
MAX_CHECKS, MAX_CHECKS_PER_ADDRESS = 500, 200
MAX_CHECKS_PER_AGENT = 2
# The number of wrong repeats of a registration after which no repeat of it is accepted.
MAX_WRONG_REPEATS = 5
# How often a registered agent may register again. Each registration adds an event to the log.
RETURNS_BURST, RETURNS_PER_SECOND = 30.0, 0.5
# How often applicants from one address may prove that an endpoint is their own. Each proof withdraws a player.
CONFLICTS_BURST, CONFLICTS_PER_SECOND = 20.0, 0.1

log = logging.getLogger(__name__)


class _IssuedToken(NamedTuple):
    """A token, and the registration request in whose answer it was issued."""

    conversation_id: str
    timestamp: str
    token: str


class Admission:
    """Registers agents. ``referee_code`` is an additional code for referees, besides the league's own.

    ``max_per_address`` is the number of players that may register from one address, or listen at one host.
    ``own_servers`` are the URLs of the servers that were started together with the manager. Their agents move with it.
    """

    def __init__(
        self,
        world: World,
        ledger: Ledger,
        endpoint: str,
        refused: RefusedRegistrations,
        *,
        grant_ids: bool,
        referee_code: str | None,
        max_per_address: int,
        own_servers: Collection[str] = (),
    ) -> None:
        self._world = world
        self._now = world.timestamp
        self._ledger = ledger
        self._endpoint = endpoint
        self._refused = refused
        self._grant_ids = grant_ids
        self._max_per_address = max_per_address
        self._own_servers = own_servers
        # By agent, the last token that this process has issued.
        self._issued: dict[str, _IssuedToken] = {}
        # By referee, for those that show players their own token: the addresses from which that token is accepted.
        self._token_hosts: dict[str, frozenset[str]] = {}
        self._resolver = Resolver(max_threads=MAX_THREADS_FOR_APPLICANTS)
        # The endpoints that are being called for applicants without a token and a seat code: the time limit of each
        # call, with the address of the applicant. The oldest comes first.
        self._checks: dict[asyncio.Timeout, str] = {}
        # Players whose endpoints other applicants have named, too, and for which this was logged.
        self._logged_conflicts: set[str] = set()
        # By agent, the number of requests with its endpoint that were neither by itself nor a repeat of its own.
        self._wrong_repeats: Counter[str] = Counter()
        self._checks_of_agents = WaitLimits(sys.maxsize, MAX_CHECKS_PER_AGENT)
        clock = asyncio.get_running_loop().time
        self._returns = TokenBuckets(RETURNS_PER_SECOND, RETURNS_BURST, clock=clock)
        self._conflicts = TokenBuckets(CONFLICTS_PER_SECOND, CONFLICTS_BURST, clock=clock)
        self._additional_code = None if referee_code is None else codes.verifier("referee", referee_code).hex()

    async def recover(self) -> None:
        """Resolve again the addresses that an earlier process has resolved."""
        for referee in self._ledger.league.referees.values():
            if referee.shows_own_token:
                self._token_hosts[referee.id] = await addresses_of(referee.meta.contact_endpoint, self._resolver)

    def accepts_token_from(self, agent: Player | Referee, peer: Peer) -> bool:
        """Whether an agent's token is accepted from an address.

        Players have seen the token of a referee that shows its own. So that token is accepted only from the referee's
        addresses.
        """
        if not (isinstance(agent, Referee) and agent.shows_own_token):
            return True
        return canonical_address(peer.host) in self._token_hosts.get(agent.id, ())

    async def register_player(self, request: m.LeagueRegisterRequest, peer: Peer) -> m.LeagueRegisterResponse:
        player_id, fields = await self._register("player", request, request.player_meta, peer)
        response = m.LeagueRegisterResponse(**self._echo(request), **fields, player_id=player_id)
        name = self._ledger.league.players[player_id].meta.display_name if player_id else ""
        if name and name != names.normalize(request.player_meta.display_name):
            response.display_name = name
        return response

    async def register_referee(self, request: m.RefereeRegisterRequest, peer: Peer) -> m.RefereeRegisterResponse:
        referee_id, fields = await self._register("referee", request, request.referee_meta, peer)
        if referee_id and self._ledger.league.referees[referee_id].shows_own_token:
            log.warning(
                "%s knows only the documents: it shows players its own token", referee_id, extra=log_fields(request)
            )
        return m.RefereeRegisterResponse(**self._echo(request), **fields, referee_id=referee_id)

    async def _register(
        self, role: Role, request: m.LeagueRegisterRequest | m.RefereeRegisterRequest, meta: Any, peer: Peer
    ) -> tuple[str | None, dict[str, Any]]:
        """Register an agent. Returns its id, or None if it is rejected, and the other fields of the answer."""
        applicant, hosts = self._applicant(request, meta, peer), frozenset[str]()
        if role == "player" and self._ledger.league.settings.profile == "open":
            applicant = commands.number_name(self._ledger.league, applicant)
        try:
            await self._resolve_conflict(role, applicant, peer)
            with self._count_wrong_repeats(applicant):
                self._admit(role, applicant, peer)
            async with self._limit_checks(applicant, peer):
                applicant = await self._check_endpoint(role, applicant, peer)
                if role == "referee":
                    hosts = await addresses_of(meta.contact_endpoint, self._resolver)
            agent_id = self._admit(role, applicant, peer)
            self._limit_returns(agent_id)
        except commands.Rejected as rejected:
            self._refused.note(
                role, meta.display_name, meta.contact_endpoint, peer, code=rejected.code, reason=rejected.reason
            )
            return None, {
                "status": "REJECTED",
                "reason": rejected.reason,
                "error_code": rejected.code,
                "code": rejected.number,
                **rejected.data,
            }
        token, proof = self._issue_token(agent_id, applicant, request)
        self._token_hosts[agent_id] = hosts
        register = commands.register_player if role == "player" else commands.register_referee
        self._ledger.record(register(self._ledger.league, applicant, **proof, at=self._now()))
        log.info("%s registered as %s", applicant.meta.display_name, agent_id, extra=log_fields(request))
        return agent_id, {
            "status": "ACCEPTED",
            "reason": None,
            "auth_token": token,
            "league_id": self._ledger.league.settings.league_id,
            "token_scheme": tokens.SCHEME,
        }

    def is_referee_code(self, code: str | None) -> bool:
        """Whether referees may register with a code."""
        verifier = codes.verifier("referee", code or "").hex()
        known = [self._ledger.league.referee_code or "", self._additional_code or ""]
        # All are compared, always: the time must not show which one is right.
        return any([hmac.compare_digest(verifier, one) for one in known])  # noqa: C419

    def _is_additional_code(self, code: str | None) -> bool:
        verifier = codes.verifier("referee", code or "").hex()
        return self._additional_code is not None and hmac.compare_digest(verifier, self._additional_code)

    def _applicant(
        self, request: m.LeagueRegisterRequest | m.RefereeRegisterRequest, meta: Any, peer: Peer
    ) -> commands.Applicant[Any]:
        known = None
        if request.auth_token is not UNSET:
            known = self._ledger.league.agent_with(tokens.verifier(request.auth_token))
            known = known if known is not None and self.accepts_token_from(known, peer) else None
        seat, referee_code = codes.code_in_query(peer.query, "seat"), codes.code_in_query(peer.query, "referee")
        return commands.Applicant(
            meta=meta,
            conversation_id=request.conversation_id,
            timestamp=request.timestamp,
            manager_endpoint=self._endpoint,
            sender=request.sender,
            address=peer_address(peer.host),
            returning_id=None if known is None else known.id,
            seat=None if seat is None else codes.verifier("seat", seat).hex(),
            is_at_own_server=any(is_same_server(meta.contact_endpoint, one) for one in self._own_servers),
            may_be_referee=self._is_local(peer) or self.is_referee_code(referee_code),
            # A referee of `league host` can also replace one that is lost after the start.
            added_by_operator=isinstance(meta, m.RefereeMeta) and self._is_additional_code(referee_code),
            may_repeat=self._wrong_repeats[self._owner(meta)] < MAX_WRONG_REPEATS,
            wanted_id=self._wanted_id(request.sender),
        )

    @contextmanager
    def _count_wrong_repeats(self, applicant: commands.Applicant[Any]) -> Iterator[None]:
        """Count an applicant that is refused, and names the endpoint of another agent."""
        try:
            yield
        except (commands.Rejected, ProtocolError):
            if applicant.returning_id is None and applicant.seat is None:
                self._wrong_repeats[self._owner(applicant.meta)] += 1
            raise

    def _owner(self, meta: m.PlayerMeta | m.RefereeMeta) -> str:
        """The id of the agent at an endpoint, or an empty string."""
        return commands.endpoint_owner(self._ledger.league, meta.contact_endpoint) or ""

    def _admit(self, role: Role, applicant: commands.Applicant[Any], peer: Peer) -> str:
        league = self._ledger.league
        if role == "referee":
            return commands.admit_referee(league, applicant, self._now())
        player_id = commands.admit_player(league, applicant, self._now())
        if player_id not in league.players and applicant.seat is None:
            check_players_per_address(league, applicant, peer, self._max_per_address)
        return player_id

    @asynccontextmanager
    async def _limit_checks(self, applicant: commands.Applicant[Any], peer: Peer) -> AsyncIterator[None]:
        """Limit the endpoints that are called at the same time. Raises ProtocolError if there are too many."""
        agent = applicant.returning_id or applicant.seat
        try:
            if agent is None:
                async with self._limit_unknown_checks(address_block(peer.host)):
                    yield
            else:
                with self._checks_of_agents.counted(agent):
                    yield
        except (WaitLimitReached, TimeoutError):
            raise ProtocolError("E059", "Too many registrations are being checked: try again in 2 s.") from None

    @asynccontextmanager
    async def _limit_unknown_checks(self, address: str) -> AsyncIterator[None]:
        """Limit the checks of applicants without token and seat code. If there are too many, the oldest check is ended.

        An endpoint that can be reached would have answered long before.
        """
        await ensure_task()
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

    def _limit_returns(self, agent_id: str) -> None:
        """Raises ProtocolError if a registered agent registers too often."""
        if self._ledger.league.agent(agent_id) is not None and (seconds := self._returns.take(agent_id)):
            raise ProtocolError("E059", f"{agent_id} has registered too often: try again in {max(seconds, 0.1):.1f} s.")

    async def _resolve_conflict(self, role: Role, applicant: Any, peer: Peer) -> None:
        """Withdraw a player that has registered with an endpoint at which the applicant's own program listens.

        Any applicant can name any endpoint. But a program of leaguekit shows in its answer to a ping which registration
        it has sent. So an applicant can take over an endpoint only if its program really listens there.
        """
        league = self._ledger.league
        holder = commands.contested_owner(league, applicant, role, self._now())
        if holder is None or self._conflicts.take(address_block(peer.host)):
            return
        # The URL at which the holder is called. The applicant's own URL may lead to another program.
        url = league.players[holder].meta.contact_endpoint
        mark = registration_digest(applicant.conversation_id, applicant.timestamp)
        async with self._limit_checks(applicant, peer):
            try:
                is_own_program = has_registration_digest(await ping(self._caller(applicant), url, PING_SECONDS), mark)
            except (CallFailed, CallerLate):
                is_own_program = False
        if commands.contested_owner(league, applicant, role, self._now()) != holder:
            return
        name = applicant.meta.display_name
        if not is_own_program:
            if holder not in self._logged_conflicts:
                # This is logged once per player, so that many requests do not fill the log.
                self._logged_conflicts.add(holder)
                log.warning("%s is refused: %s has registered with its endpoint %s before", name, holder, url)
            return
        reason = f"the program at its endpoint is that of {name!r}"
        self._ledger.record(commands.withdraw(league, holder, reason, self._now()))
        log.warning("%s is withdrawn: %s", holder, reason)

    async def _check_endpoint(
        self, role: Role, applicant: commands.Applicant[Any], peer: Peer
    ) -> commands.Applicant[Any]:
        """Call the endpoint of an applicant. Returns the applicant with the id that the endpoint claims to have.

        Raises Rejected if the endpoint cannot be called, or may not be.
        """
        url, settings = applicant.meta.contact_endpoint, self._ledger.league.settings
        check_address(role, url, peer)
        check_allowed(self._world.policy, role, url)
        if role == "player" and settings.profile == "open":
            # Many players open their port only after the answer. They are called before the start instead.
            return applicant
        claimed_id = await check_reachable(self._caller(applicant), role, url, settings.league_id)
        return applicant._replace(claimed_id=claimed_id)

    def _caller(self, applicant: commands.Applicant[Any]) -> Caller:
        is_known = applicant.returning_id is not None or applicant.seat is not None
        return self._world.caller if is_known else self._world.applicants_caller or self._world.caller

    def _is_local(self, peer: Peer) -> bool:
        """Whether a caller is on this machine, and the manager listens for this machine only."""
        listens_at = urlsplit(self._endpoint).hostname or ""
        return all(is_loopback(host) for host in (peer.host, peer.server[0], listens_at))

    def _wanted_id(self, sender: str) -> str | None:
        wanted = read_sender(sender).id or ""
        grants = self._grant_ids or self._ledger.league.settings.profile == "open"
        if not (grants and valid(PlayerId, wanted)):
            return None
        # P090 could be mistaken for P90, and P00 is not a player.
        number = int(wanted[1:])
        return wanted if number and wanted == ids.player_id(number) else None

    def _issue_token(
        self, agent_id: str, applicant: commands.Applicant[Any], request: m.Request
    ) -> tuple[str, dict[str, bytes]]:
        # An agent that registers again with its token keeps it. Then a lost answer does not lock it out, and the tokens
        # that were derived from it for a match in play stay valid.
        kept = request.auth_token if applicant.returning_id == agent_id else UNSET
        token = kept or self._issued_before(agent_id, request)
        token = token or tokens.new_token(agent_id, self._world.entropy(tokens.ENTROPY_BYTES))
        self._issued[agent_id] = _IssuedToken(request.conversation_id, request.timestamp, token)
        return token, {"verifier": tokens.verifier(token), "key": tokens.signing_key(token)}

    def _issued_before(self, agent_id: str, request: m.Request) -> str | None:
        """The token in an earlier answer to the same request, or None.

        Either answer may be lost, so both must have the same token.
        """
        issued, agent = self._issued.get(agent_id), self._ledger.league.agent(agent_id)
        if issued is None or agent is None or issued[:2] != (request.conversation_id, request.timestamp):
            return None
        # A token that was voided since then stays void.
        return issued.token if agent.registered.verifier == tokens.verifier(issued.token).hex() else None

    def _echo(self, request: m.Request) -> m.Envelope:
        return m.envelope(MANAGER, self._world.now(), request.conversation_id)
