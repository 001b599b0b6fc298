"""The kit's players and referees in a manager's league. They accept and record every message."""

from __future__ import annotations

from typing import Any

from leaguekit.agents.world import World
from leaguekit.kit.documented_game import GAME
from leaguekit.kit.exchanges import IncomingRequest, Json, KitAgent, conversation_in, with_changes
from leaguekit.kit.field_checks import StartsWith
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import PROTOCOL_VERSION, Role, sender_of
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.tokens import SCHEME

# The sender of a manager's message: ``league_manager``, or the same with an id.
MANAGER_SENDER = StartsWith("league_manager")
# The matches that a referee of the kit can play at the same time: all of a round.
MAX_CONCURRENT_MATCHES = 4


class LeagueAgent(KitAgent):
    """A player or a referee of the kit. ``id`` and ``token`` are empty until the manager has registered it."""

    def __init__(self, world: World, role: Role, name: str) -> None:
        super().__init__(world, role)
        self.name = name
        self.id = ""
        self.token = ""
        # The request that the manager accepted.
        self.registration_request: Json = {}

    @property
    def sender(self) -> str:
        return sender_of(self.role, self.id or self.name)

    def envelope(self, conversation: str) -> dict[str, Any]:
        """Return the envelope of its messages, with its token if it has one."""
        token = {"auth_token": self.token} if self.token else {}
        return {**m.envelope(self.sender, self.now(), conversation), **token}

    def registration(self, **meta: Any) -> Json:
        """Return its registration. ``meta`` changes fields of its description; the value ``...`` removes the field."""
        described: Json = {
            "display_name": self.name,
            "version": "1.0.0",
            "game_types": [GAME.name],
            "contact_endpoint": self.url,
            "protocol_version": PROTOCOL_VERSION,
        }
        if self.role == "referee":
            described |= {"max_concurrent_matches": MAX_CONCURRENT_MATCHES, "token_scheme": SCHEME}
        kind = m.RefereeRegisterRequest if self.role == "referee" else m.LeagueRegisterRequest
        return {
            **self.envelope(f"conv-{self.name.lower().replace(' ', '-')}-register"),
            "message_type": m.message_type(kind),
            f"{self.role}_meta": with_changes(described, meta),
        }

    async def reply(self, kind: type[m.Message], request: IncomingRequest) -> Json:
        answer = {
            **self.envelope(conversation_in(request.message)),
            "message_type": m.message_type(BY_REQUEST[kind].answer),
            "status": "ACCEPTED" if kind is m.MatchAssignment else "ACKNOWLEDGED",
            f"{self.role}_id": self.id,
        }
        echoed = {name: request.message[name] for name in ("match_id", "round_id") if name in request.message}
        attempt = request.message.get("attempt")
        # Also a manager that sends a wrong attempt gets a valid answer.
        return answer | echoed | {"attempt": attempt if type(attempt) is int and attempt > 0 else 1}
