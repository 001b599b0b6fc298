"""Whether an agent that registers can be called where it says it listens, and whether too many others are there."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import ip_address
from typing import Literal

from leaguekit.agents.calls import reachable, said_to_be
from leaguekit.league.endpoints import place
from leaguekit.league.registration import Applicant, Rejected
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import PlayerMeta
from leaguekit.transport.addresses import Resolver, is_literal, is_loopback, meant, read_url, url_to_use
from leaguekit.transport.base import Caller, CallerLate, CallerUnable, CallFailed, Peer, Unreachable
from leaguekit.transport.origins import UNKNOWN_HOST, neighbourhood

SECONDS = 2.0
_ASK = "Ask the operator for a seat code"

Role = Literal["player", "referee"]


def check_address(role: Role, url: str, peer: Peer) -> None:
    """Raises Rejected for an address that leads everybody to themselves."""
    if (better := url_to_use(url, peer.host)) is not None:
        detail = f"{url} leads everybody to their own machine; listen at 0.0.0.0 and register with {better}"
        raise Rejected(role, "E048", detail)
    if peer.host == UNKNOWN_HOST and is_loopback(_host(url)):
        detail = f"{url} leads everybody to their own machine; register with an address that others can reach"
        raise Rejected(role, "E048", detail)


async def check_reachable(caller: Caller, role: Role, url: str, league_id: str) -> str | None:
    """Call an agent at the URL that it gave: the id that it says it has in this league, if it does.

    Raises Rejected if nothing answers there, and ProtocolError if this machine cannot call at the moment.
    """
    try:
        said = said_to_be(await reachable(caller, url, SECONDS))
    except CallerUnable as unable:
        detail = f"The manager cannot call anybody at the moment ({unable.why}). Register again in some seconds."
        raise ProtocolError("E060", detail) from unable
    except CallerLate:
        return None
    except CallFailed:
        later = " (one that opens its port only after it has registered needs a league with --profile open)"
        raise Rejected(role, "E048", f"nothing answered at {url}{later}") from None
    return said[0] if said is not None and said[1] == league_id else None


def check_crowd(league: League, applicant: Applicant[PlayerMeta], peer: Peer, most: int) -> None:
    """Raises Rejected if ``most`` players have registered from the applicant's address, or listen at its host.

    The manager's own machine is not counted: the operator decides how many players run there.
    """
    players = [player for player in league.players.values() if player.out is None]
    address = _counted(applicant.address)
    is_here = is_loopback(peer.host) or peer.host == peer.server[0]
    if not is_here and most <= sum(_counted(player.registered.address) == address for player in players):
        raise Rejected("player", "E020", f"{most} players have registered from {address}, and no more may. {_ASK}")
    host = _host(applicant.meta.contact_endpoint)
    is_here = is_loopback(host) or host == _host(applicant.manager_endpoint)
    if not is_here and most <= sum(_host(player.meta.contact_endpoint) == host for player in players):
        raise Rejected("player", "E020", f"{most} players listen at {host}, and no more may. {_ASK}")


# These are asked for all players with each registration.
_counted = lru_cache(maxsize=4_096)(neighbourhood)


@lru_cache(maxsize=4_096)
def _host(url: str) -> str:
    """The host of a URL that leads somewhere, as it is counted."""
    where = place(url)
    return "" if where is None else neighbourhood(where.host)


async def addresses_of(url: str, resolver: Resolver) -> frozenset[str]:
    """The addresses that the host of a URL leads to; empty if it leads nowhere."""
    try:
        _, host, port, _ = read_url(url)
        found = [host] if is_loopback(host) else await resolver.resolve(host, port)
        return frozenset(map(plain_address, found))
    except (Unreachable, OSError, ValueError):
        return frozenset()


def plain_address(host: str) -> str:
    """An address in the form in which two of one machine are equal: every loopback address is the same one."""
    if is_loopback(host):
        return "127.0.0.1"
    return str(meant(ip_address(host))) if is_literal(host) else host
