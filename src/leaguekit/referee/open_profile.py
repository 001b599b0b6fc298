"""What a referee does besides in the ``open`` profile: it takes what players post in any form, and passes on what was
meant for another referee.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial

from leaguekit.agents.calls import cause_in
from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Side
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import MAX_BYTES, RpcRequest
from leaguekit.referee.match_runner import MatchRunner
from leaguekit.referee.open_player_client import DialectMemory, OpenPlayerClient
from leaguekit.referee.player_client import PlayerClient, PlayerClientFactory
from leaguekit.transport.base import CallerLate, CallFailed, Handler, Peer
from leaguekit.transport.dialects import requests
from leaguekit.transport.dialects.forms import Json
from leaguekit.transport.dialects.requests import Incoming
from leaguekit.transport.dialects.responses import word_in

log = logging.getLogger(__name__)

WORDS = (m.GameJoinAck, m.ChooseParityResponse, m.GameMoveResponse)
PASSING_SECONDS = 5.0
# In what is passed on, so that it is not passed on again.
PASSED_ON = "passed_on"
NO_SUCH_MATCH = "E050"


class OpenProfileHandler:
    """Stands before a referee. ``inner`` is how it answers a request of document 001; ``matches`` are its own."""

    def __init__(self, world: World, endpoint: str, matches: Mapping[str, MatchRunner], inner: Handler) -> None:
        self._world = world
        self._endpoint = endpoint
        self._matches = matches
        self._inner = inner
        self._memory = DialectMemory()
        # Who is to referee which match of the round, as the manager has announced it.
        self._referees: dict[str, str] = {}

    @property
    def make_client(self) -> PlayerClientFactory:
        """Makes the client of a match; all clients of this referee share what is remembered of the players."""
        return partial(OpenPlayerClient, memory=self._memory)

    def record_announcement(self, announcement: m.RoundAnnouncement) -> None:
        self._referees = {one.match_id: one.referee_endpoint for one in announcement.matches}

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a request, whatever it is; what a player posts, in its own form."""
        incoming = requests.read_request(request.body)
        if incoming is None or incoming.kind not in WORDS:
            return await self._inner(request, peer)
        answer = await self._passed_on(incoming) or await self._inner(RpcRequest(self._in_order(incoming)), peer)
        return None if answer is None else requests.answered(incoming, answer)

    def _in_order(self, incoming: Incoming) -> bytes:
        """What a player has posted, as its own word; what cannot be told is for the referee to refuse."""
        client, side = self._whose(incoming.message) or (None, "A")
        kind = next((one for one in WORDS if one is incoming.kind), None)
        if not isinstance(client, OpenPlayerClient) or kind is None:
            return requests.standard(incoming)
        try:
            word = word_in(incoming.message, kind, client.known(side), client.certain(side))
        except ProtocolError:
            word = None
        if word is None:
            return requests.standard(incoming)
        client.note(side, incoming.broken)
        return requests.standard(incoming, client.taken(side, word))

    def _whose(self, message: Json) -> tuple[PlayerClient, Side] | None:
        """Whose word it is, by its token: nothing else vouches for what was posted."""
        token, match_id = str(message.get("auth_token", "")), message.get("match_id")
        named = self._matches.get(str(match_id))
        for match in self._matches.values() if match_id is None else filter(None, [named]):
            for side in SIDES:
                if match.seats.is_token_of(side, token) and (match is named or match.expects(side) is not None):
                    return match.client, side
        return None

    async def _passed_on(self, incoming: Incoming) -> bytes | None:
        """The answer of the referee that has the match, if another has: one program knows only the usual ports."""
        match_id = str(incoming.message.get("match_id"))
        if match_id in self._matches or match_id not in self._referees or PASSED_ON in incoming.message:
            return None
        body = requests.standard(incoming._replace(message=incoming.message | {PASSED_ON: True}))
        if len(body) > MAX_BYTES:
            return None
        # The one that was announced first; another may have it since.
        others = dict.fromkeys([self._referees[match_id], *self._referees.values()])
        for url in [one for one in others if one != self._endpoint]:
            try:
                came = await self._world.caller.post(url, body, PASSING_SECONDS)
            except (CallFailed, CallerLate) as failure:
                log.debug("what was posted for %s is not passed on: %s", match_id, failure)
                continue
            if cause_in(came.body) != NO_SUCH_MATCH:
                return came.body
        return None
