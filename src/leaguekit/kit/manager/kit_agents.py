"""The kit's players and referees in a manager's league: they take whatever they are sent, and keep it."""

from __future__ import annotations

from typing import Any, Literal

from leaguekit.agents.world import World
from leaguekit.kit.exchanges import Arrived, Desk, Json, Refusal, conversation_in
from leaguekit.kit.incoming import Beginning, kind_of
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import PROTOCOL_VERSION, sender_of
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST, PING
from leaguekit.protocol.tokens import SCHEME

Role = Literal["player", "referee"]
GAME = "even_odd"
# The manager's, bare or with an id.
SENDER = Beginning("league_manager")
# How many matches a referee of the kit's plays at once: all of a round.
CAPACITY = 4


class Member:
    """One agent of the kit's. ``id`` and ``token`` are what the manager gave it, once it has."""

    def __init__(self, world: World, role: Role, name: str) -> None:
        self.role: Role = role
        self.name = name
        self.id = ""
        self.token = ""
        self.url = ""
        # The request by which it was taken.
        self.asked: Json = {}
        self.desk = Desk(self._script, world.now)
        self._now = world.now

    @property
    def sender(self) -> str:
        return sender_of(self.role, self.id or self.name)

    def got(self, kind: type[Message]) -> list[Arrived]:
        """The messages of a kind that have come."""
        return [one for one in self.desk.arrived if kind_of(one) is kind]

    def envelope(self, conversation: str) -> dict[str, Any]:
        """The envelope of what it sends, with its token if it has one."""
        token = {"auth_token": self.token} if self.token else {}
        return {**m.envelope(self.sender, self._now(), conversation), **token}

    def registration(self, **meta: Any) -> Json:
        """Its request to be taken; ``meta`` changes the description of itself, and ... takes a field away."""
        described = {
            "display_name": self.name,
            "version": "1.0.0",
            "game_types": [GAME],
            "contact_endpoint": self.url,
            "protocol_version": PROTOCOL_VERSION,
            **({"max_concurrent_matches": CAPACITY, "token_scheme": SCHEME} if self.role == "referee" else {}),
            **meta,
        }
        kind = m.RefereeRegisterRequest if self.role == "referee" else m.LeagueRegisterRequest
        return {
            **self.envelope(f"conv-{self.name.lower().replace(' ', '-')}-register"),
            "message_type": message_type(kind),
            f"{self.role}_meta": {name: value for name, value in described.items() if value is not ...},
        }

    async def _script(self, arrived: Arrived) -> Any:
        kind = kind_of(arrived)
        if kind is None or self.role not in BY_REQUEST[kind].receivers:
            if arrived.method == PING:
                return {"status": "ok"}
            raise Refusal(-32601, f"a {self.role} has no method {arrived.method!r}")
        answer = {
            **self.envelope(conversation_in(arrived.message)),
            "message_type": message_type(BY_REQUEST[kind].answer),
            "status": "ACCEPTED" if kind is m.MatchAssignment else "ACKNOWLEDGED",
            f"{self.role}_id": self.id,
        }
        echoed = {name: arrived.message[name] for name in ("match_id", "round_id") if name in arrived.message}
        attempt = arrived.message.get("attempt")
        # A manager may get it wrong, and still be able to read an answer.
        return answer | echoed | {"attempt": attempt if type(attempt) is int and attempt > 0 else 1}
