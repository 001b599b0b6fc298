"""Whether an agent that registers can be called where it says it listens."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Literal

from leaguekit.agents.calls import reachable, said_to_be
from leaguekit.league.registration import Rejected
from leaguekit.protocol.errors import ProtocolError
from leaguekit.transport.addresses import Resolver, is_literal, is_loopback, meant, read_url, url_to_use
from leaguekit.transport.base import Caller, CallerLate, CallerUnable, CallFailed, Peer, Unreachable

SECONDS = 2.0


Role = Literal["player", "referee"]


def check_address(role: Role, url: str, peer: Peer) -> None:
    """Raises Rejected for an address that leads everybody to themselves."""
    if (better := url_to_use(url, peer.host)) is not None:
        detail = f"{url} leads everybody to their own machine; listen at 0.0.0.0 and register with {better}"
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
