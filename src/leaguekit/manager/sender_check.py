"""Finds the agent that has sent a request, by the token in it."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import UNSET

from leaguekit.league.records import Player, Referee
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import sender_of
from leaguekit.transport.base import Peer

# Requests that need the token of a registered agent.
AgentRequest = (
    m.MatchResultReport | m.MatchProgress | m.MatchVoidReport | m.MatchTranscript | m.MatchRecord | m.LeagueQuery
)


class SenderCheck:
    """Checks the tokens of requests. ``accepts_token_from`` says whether an agent's token counts if a peer sends it."""

    def __init__(self, ledger: Ledger, accepts_token_from: Callable[[Player | Referee, Peer], bool]) -> None:
        self._ledger = ledger
        self._accepts_token_from = accepts_token_from

    def agent_of(
        self, request: AgentRequest, peer: Peer, kind: type[Player | Referee] | None = None
    ) -> Player | Referee:
        """The agent whose token a request carries.

        Raises ProtocolError if there is none, if its ``sender`` is another agent, or if it may not send this request.
        """
        if request.auth_token is UNSET:
            raise ProtocolError("E011")
        agent = self._ledger.league.agent_with(tokens.verifier(request.auth_token))
        if isinstance(agent, Referee) and agent.shows_own_token:
            self._check_shown_token(agent, request, peer)
        if agent is None or (kind is not None and type(agent) is not kind):
            context = {
                "provided_token": tokens.shorten_token(request.auth_token),
                "expected_format": "tok-{agent_id}-{hash}",
            }
            raise ProtocolError("E012", context=context)
        sender = sender_of(agent.role, agent.id)
        if request.sender != sender:
            raise ProtocolError("E055", f"This is the token of {sender}, not of {request.sender}.")
        league_id = self._ledger.league.settings.league_id
        if request.league_id != league_id:
            raise ProtocolError("E053", f"This is the league {league_id}.")
        return agent

    def _check_shown_token(self, agent: Referee, request: AgentRequest, peer: Peer) -> None:
        """Check the token of a referee that shows it to players. Raises ProtocolError if it may not be used here.

        Such a token counts only for the messages of document 001, and only from the host of the referee's endpoint.
        """
        if not isinstance(request, m.MatchResultReport | m.LeagueQuery):
            raise ProtocolError("E012", f"Players have seen the token of {agent.id}: it does not count for this.")
        if not self._accepts_token_from(agent, peer):
            detail = f"The token of {agent.id} counts only from the host of {agent.meta.contact_endpoint}"
            raise ProtocolError("E012", f"{detail}; this came from {peer.host}.")
