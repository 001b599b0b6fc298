"""How a referee handles requests in the ``open`` profile.

It accepts what players post in any form, and forwards what was meant for another referee.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import get_args

from leaguekit.agents.calls import read_error_code
from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Side
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import MAX_BYTES, RpcRequest
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.open_player_client import DialectMemory, OpenPlayerClient
from leaguekit.referee.player_client import PlayerClient, PlayerClientFactory, PlayerMessage
from leaguekit.transport.base import CallerLate, CallFailed, Handler, Peer
from leaguekit.transport.dialects import requests
from leaguekit.transport.dialects.forms import Json
from leaguekit.transport.dialects.requests import Incoming
from leaguekit.transport.dialects.responses import find_message

log = logging.getLogger(__name__)

FORWARD_SECONDS = 5.0
# A field of a forwarded message, so that it is not forwarded again.
FORWARDED_FIELD = "passed_on"
NO_SUCH_MATCH = "E050"

_PLAYER_MESSAGES: tuple[type[PlayerMessage], ...] = get_args(PlayerMessage)


class OpenProfileHandler:
    """Handles every request to a referee first, and passes it to ``inner`` as a request of document 001.

    ``runners`` are the matches of this referee by their ids.
    """

    def __init__(self, world: World, endpoint: str, runners: Mapping[str, MatchRunner], inner: Handler) -> None:
        self._world = world
        self._endpoint = endpoint
        self._runners = runners
        self._inner = inner
        self._memory = DialectMemory()
        # By match of the announced round, the endpoint of its referee.
        self._referees: dict[str, str] = {}

    @property
    def make_client(self) -> PlayerClientFactory:
        """The factory of player clients. All clients of this referee share one memory of the players' dialects."""
        return partial(OpenPlayerClient, memory=self._memory)

    def record_announcement(self, announcement: m.RoundAnnouncement) -> None:
        """Remember which referee has which match."""
        self._referees = {match.match_id: match.referee_endpoint for match in announcement.matches}

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer any request. The answer to a player's message has the form of that message."""
        incoming = requests.read_request(request.body)
        if incoming is None or incoming.kind not in _PLAYER_MESSAGES:
            return await self._inner(request, peer)
        answer = await self._forward(incoming) or await self._inner(RpcRequest(self._standard_request(incoming)), peer)
        return None if answer is None else requests.encode_answer(incoming, answer)

    def _standard_request(self, incoming: Incoming) -> bytes:
        """A posted message as a request of document 001, repaired if its sender is known."""
        client, side = self._find_sender(incoming.message) or (None, "A")
        kind = next((kind for kind in _PLAYER_MESSAGES if kind is incoming.kind), None)
        if not isinstance(client, OpenPlayerClient) or kind is None:
            return requests.encode_standard(incoming)
        try:
            repaired = find_message(incoming.message, kind, client.known_fields(side), client.certain_fields(side))
        except ProtocolError:
            repaired = None
        if repaired is None:
            return requests.encode_standard(incoming)
        client.note_broken_rules(side, incoming.broken)
        return requests.encode_standard(incoming, client.accept(side, repaired))

    def _find_sender(self, message: Json) -> tuple[PlayerClient, Side] | None:
        """The player that has posted a message. Only its token identifies it."""
        token, match_id = str(message.get("auth_token", "")), message.get("match_id")
        named = self._runners.get(str(match_id))
        for runner in self._runners.values() if match_id is None else filter(None, [named]):
            for side in SIDES:
                is_expected = runner is named or runner.expected_from(side) is not None
                if runner.seats.is_token_of(side, token) and is_expected:
                    return runner.player_client, side
        return None

    async def _forward(self, incoming: Incoming) -> bytes | None:
        """The answer of the referee that has the match, if that is another one. Some players know only one port."""
        match_id = str(incoming.message.get("match_id"))
        if match_id in self._runners or match_id not in self._referees or FORWARDED_FIELD in incoming.message:
            return None
        body = requests.encode_standard(incoming._replace(message=incoming.message | {FORWARDED_FIELD: True}))
        if len(body) > MAX_BYTES:
            return None
        # The announced referee is asked first. The match may have been given to another one since.
        others = dict.fromkeys([self._referees[match_id], *self._referees.values()])
        for url in [url for url in others if url != self._endpoint]:
            try:
                answer = await self._world.caller.post(url, body, FORWARD_SECONDS)
            except (CallFailed, CallerLate) as failure:
                log.debug("what was posted for %s is not passed on: %s", match_id, failure)
                continue
            if read_error_code(answer.body) != NO_SUCH_MATCH:
                return answer.body
        return None
