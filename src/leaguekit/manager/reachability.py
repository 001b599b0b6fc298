"""Checks of the endpoint in a registration: whether the manager can call it, and how many players share its address."""

from __future__ import annotations

import logging
from functools import lru_cache

from leaguekit.agents.calls import claimed_identity, ping
from leaguekit.league.commands.registration import Applicant, Rejected
from leaguekit.league.endpoints import is_same_server, parse_endpoint
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import Role
from leaguekit.protocol.messages import PlayerMeta
from leaguekit.transport.addresses import (
    EVERY_ADDRESS,
    NEVER_ALLOWED,
    AddressPolicy,
    Url,
    is_in_networks,
    is_ip_address,
    is_loopback,
    suggest_url,
)
from leaguekit.transport.base import Caller, CallerLate, CallerUnable, CallFailed, NoRoute, Peer, TlsFailed, Unreachable
from leaguekit.transport.descriptors import is_broadcast
from leaguekit.transport.server.origin_headers import UNKNOWN_HOST, address_block

log = logging.getLogger(__name__)

PING_SECONDS = 2.0
_ASK = "Ask the operator for a seat code"


def check_address(role: Role, url: str, peer: Peer) -> None:
    """Raises Rejected for an address that leads to its caller or to the manager, or is never called."""
    where = parse_endpoint(url)
    better = suggest_url(url, peer.host)
    if where is not None and where.host in EVERY_ADDRESS and better is not None:
        raise Rejected(role, "E048", f"no agent is called at {where.host}; register with {better}")
    if (
        where is not None
        and is_ip_address(where.host)
        and (is_in_networks(where.host, NEVER_ALLOWED) or is_broadcast(where.host))
    ):
        raise Rejected(role, "E048", f"no agent is called at {where.host}, which is reserved or not of one machine")
    if better is not None:
        detail = f"{url} leads everybody to their own machine; listen at 0.0.0.0 and register with {better}"
        raise Rejected(role, "E048", detail)
    if peer.host == UNKNOWN_HOST and is_loopback(_host(url)):
        detail = f"{url} leads everybody to their own machine; register with an address that others can reach"
        raise Rejected(role, "E048", detail)
    if is_same_server(url, Url("http", *peer.server, "/").full):
        raise Rejected(role, "E048", f"{url} leads to the manager itself; register with where the agent listens")


def check_allowed(policy: AddressPolicy | None, role: Role, url: str) -> None:
    """Raises Rejected for an address that the manager will never call."""
    try:
        is_forbidden = policy is not None and policy.forbids(url)
    except Unreachable as error:
        raise Rejected(role, "E048", str(error)) from None
    if is_forbidden:
        remedy = "ask the operator to start it, and its referees, with --allow lan=NETWORK,… or --allow public"
        raise Rejected(role, "E048", f"this manager may not call {url}; {remedy}")


async def check_reachable(caller: Caller, role: Role, url: str, league_id: str) -> str | None:
    """Ping an agent at its URL. Returns the id that it claims to have in this league, or None.

    Raises Rejected if nothing answers there or TLS fails. Raises ProtocolError if this machine cannot call now.
    """
    try:
        claim = claimed_identity(await ping(caller, url, PING_SECONDS))
    except NoRoute as unable:
        detail = f"The manager's machine has no way to {url} ({unable.why}). Check the address, and register again."
        raise ProtocolError("E060", detail) from unable
    except CallerUnable as unable:
        detail = f"The manager cannot call anybody at the moment ({unable.why}). Register again in some seconds."
        raise ProtocolError("E060", detail) from unable
    except CallerLate:
        return None
    except TlsFailed as failure:
        log.info("a %s is rejected: %s", role, failure)
        needs = "it needs a certificate for this host that the manager's machine trusts, or an http URL"
        raise Rejected(role, "E048", f"something listens at {url}, but {failure.why}; {needs}") from None
    except CallFailed as failure:
        log.info("a %s is rejected: %s", role, failure)
        later = " (one that opens its port only after it has registered needs a league with --profile open)"
        raise Rejected(role, "E048", f"nothing answered at {url}{later}") from None
    return claim[0] if claim is not None and claim[1] == league_id else None


def check_players_per_address(league: League, applicant: Applicant[PlayerMeta], peer: Peer, limit: int) -> None:
    """Raises Rejected if ``limit`` players have registered from the applicant's address, or listen at its host.

    There is no limit for the manager's own machine: the operator decides how many players run there.
    """
    players = [player for player in league.players.values() if player.out is None]
    address = _block(applicant.address)
    is_local = is_loopback(peer.host) or peer.host == peer.server[0]
    if not is_local and limit <= sum(_block(player.registered.address) == address for player in players):
        raise Rejected("player", "E020", f"{limit} players have registered from {address}, and no more may. {_ASK}")
    host = _host(applicant.meta.contact_endpoint)
    is_local = is_loopback(host) or host == _host(applicant.manager_endpoint)
    if not is_local and limit <= sum(_host(player.meta.contact_endpoint) == host for player in players):
        raise Rejected("player", "E020", f"{limit} players listen at {host}, and no more may. {_ASK}")


# These are called for all players at each registration.
_block = lru_cache(maxsize=4_096)(address_block)


@lru_cache(maxsize=4_096)
def _host(url: str) -> str:
    """The address block of a URL's host. It is empty for a URL that cannot be called."""
    where = parse_endpoint(url)
    return "" if where is None else address_block(where.host)
