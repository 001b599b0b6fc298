"""Whether an agent that registers can be called where it says it listens."""

from __future__ import annotations

from typing import Literal

from leaguekit.agents.calls import reachable
from leaguekit.league.registration import Rejected
from leaguekit.transport.addresses import url_to_use
from leaguekit.transport.base import Caller, CallerLate, CallFailed, Peer

SECONDS = 2.0


async def check_reachable(caller: Caller, role: Literal["player", "referee"], url: str, peer: Peer) -> None:
    """Call an agent at the URL that it gave. Raises Rejected if nothing answers there, or nothing of the agent's."""
    if (better := url_to_use(url, peer.host)) is not None:
        detail = f"{url} leads everybody to their own machine; listen at 0.0.0.0 and register with {better}"
        raise Rejected(role, "E048", detail)
    try:
        await reachable(caller, url, SECONDS)
    except CallerLate:
        return
    except CallFailed:
        detail = f"nothing answered at {url}"
        raise Rejected(role, "E048", detail) from None
