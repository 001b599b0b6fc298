"""The kit as the manager of a player or referee under test, which registers here or is at a URL that was given."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from leaguekit.agents.world import World
from leaguekit.kit.checks import CheckSettings, NotRun
from leaguekit.kit.exchanges import Arrived, Desk, Exchange, Ground, Json, Line, Seen, conversation_in
from leaguekit.kit.incoming import value
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import MANAGER, AgentRole
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_NAME, PING

PING_SECONDS = 2.0
# Between two looks whether the agent is there.
LOOK_SECONDS = 0.5


class Host(ABC):
    """A scene with one agent in it. ``open`` puts its desk up; whatever the agent sends by itself arrives there."""

    role: ClassVar[AgentRole]
    # The id that the agent is given.
    agent_id: ClassVar[str]

    def __init__(self, world: World, ground: Ground, url: str | None, terms: CheckSettings) -> None:
        self.world = world
        self.ground = ground
        self.terms = terms
        self.here = ""
        self.seen = Seen()
        self.line = Line(ground.caller)
        self.desk = Desk(self.script, world.now)
        self.league_id = f"league_check_{world.entropy(4).hex()}"
        self.token = tokens.new_token(self.agent_id, world.entropy(tokens.ENTROPY_BYTES))
        self.key = tokens.signing_key(self.token)
        self.never = f"the {self.role} does not register: its URL was given"
        self._given_url = url
        self._registration: Arrived | None = None
        self._answered = asyncio.Event()

    async def open(self, port: int = 0) -> None:
        self.here = await self.ground.open(self.desk, port)
        if self.registers:
            waiting = f"waiting {self.terms.patience:g} s for it to register"
            self.terms.tell(f"Start your {self.role} with {self.here} as its manager's URL; {waiting}.")

    @abstractmethod
    async def script(self, arrived: Arrived) -> Any:
        """What the manager answers to what the agent sends; raises Refusal."""

    # Its registration

    @property
    def registers(self) -> bool:
        """Whether the agent is one that registers; a given URL is for those that never do."""
        return self._given_url is None

    @property
    def registration(self) -> Arrived:
        """The request by which the agent came. Raises NotRun if there is none."""
        if self._registration is None:
            raise NotRun(f"no {self.role} has registered" if self.registers else self.never)
        return self._registration

    async def registered(self) -> Arrived | None:
        """The agent's registration once it was answered; None if none comes in time."""
        if not self.registers:
            raise NotRun(self.never)
        arrived = await self.desk.comes(self.is_registration, self.terms.patience, self.role, self.terms.tell)
        if arrived is not None:
            await self._answered.wait()
        return arrived

    @abstractmethod
    def is_registration(self, arrived: Arrived) -> bool:
        """Whether a request is to register, whatever is wrong with it."""

    def introduction(self, arrived: Arrived) -> Json:
        """The message in a registration."""
        return arrived.message

    def stated(self, arrived: Arrived, name: str) -> Any:
        """What the agent says of itself in a registration."""
        return value(self.introduction(arrived), f"{self.role}_meta.{name}")

    @property
    def url(self) -> str:
        """Where the agent listens."""
        if self._given_url is not None:
            return self._given_url
        endpoint = self.stated(self.registration, "contact_endpoint")
        return endpoint if isinstance(endpoint, str) else ""

    @property
    def name(self) -> str:
        """What the agent is called, for people."""
        name = None if self._registration is None else self.stated(self._registration, "display_name")
        return name if isinstance(name, str) and name else self._given_url or f"the {self.role}"

    async def register(self, arrived: Arrived) -> Json:
        """The answer to a registration: the first agent that comes is taken, however often it asks."""
        answer = self.answer_to(self.introduction(arrived), BY_NAME[f"register_{self.role}"].answer)
        first = self._registration or arrived
        if self.stated(arrived, "contact_endpoint") != self.stated(first, "contact_endpoint"):
            reason = f"The kit checks one {self.role} at a time, and another one has come first."
            return answer | {"status": "REJECTED", f"{self.role}_id": None, "reason": reason, "error_code": "E020"}
        if self._registration is None:
            self._registration = arrived
            self.terms.tell(f"{self.name} registers")
            try:
                await self.look_at_newcomer()
            finally:
                # Also if the agent has hung up meanwhile.
                self._answered.set()
        return answer | {
            "status": "ACCEPTED",
            f"{self.role}_id": self.agent_id,
            "auth_token": self.token,
            "league_id": self.league_id,
            "reason": None,
            "token_scheme": tokens.SCHEME,
        }

    async def look_at_newcomer(self) -> None:  # noqa: B027 - a scene need not look
        """What is done while the agent waits for the answer to its first registration."""

    # What the manager says

    def answer_to(self, message: Json, kind: type[Message]) -> Json:
        """The beginning of an answer: its type and envelope."""
        return {**m.envelope(MANAGER, self.world.now(), conversation_in(message)), "message_type": message_type(kind)}

    def envelope(self, conversation: str) -> dict[str, Any]:
        """The envelope of what the manager sends, with the token by which the agent knows it."""
        shown = tokens.manager_to_agent(self.key, self.league_id, self.agent_id)
        return {**m.envelope(MANAGER, self.world.now(), conversation), "auth_token": shown, "league_id": self.league_id}

    async def pinged(self, seconds: float, *, until_there: bool) -> Exchange:
        """The last of the pings that are sent until the agent answers, or until it no longer does, for so long."""
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        while True:
            exchange = await self.line.call(self.url, PING, {}, PING_SECONDS)
            if (exchange.answer is not None) is until_there or loop.time() + LOOK_SECONDS > until:
                return exchange
            await asyncio.sleep(LOOK_SECONDS)
