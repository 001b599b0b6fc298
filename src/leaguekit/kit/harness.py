"""What the checks of all agents share: calls of the agent under test, and what is kept of them.

Harness       the state of the checks of one agent
AgentHarness  the kit as the manager of a player or a referee, which registers with it
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from leaguekit.agents.world import World
from leaguekit.games.base import Side
from leaguekit.kit.checks import Check, CheckSettings, Evidence, NotRun, display, run_checks
from leaguekit.kit.exchanges import (
    Exchange,
    ExchangesByName,
    Inbox,
    IncomingRequest,
    Json,
    Network,
    RecordingClient,
    conversation_in,
)
from leaguekit.kit.field_checks import MessagesByName, value
from leaguekit.kit.report import Report
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import CHECK_LEAGUE_PREFIX, MANAGER, AgentRole, match_conversation
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST, PING, Method
from leaguekit.transport.dialects.responses import is_refusal

METHOD_NOT_FOUND = -32601
PING_SECONDS = 2.0
# How long the agent may take for an answer whose time no document limits.
SECONDS = 10.0
# Between two pings of an agent that should start or stop.
PING_INTERVAL_SECONDS = 0.5


def is_understood(exchange: Exchange) -> bool:
    """Whether an agent has answered, and knows the method. Some answer unknown methods with only a status."""
    if exchange.answer is None:
        return False
    if isinstance(exchange.error, dict) and "code" in exchange.error:
        return bool(exchange.error["code"] != METHOD_NOT_FOUND)
    is_bare_status = isinstance(exchange.value, dict) and exchange.value.keys() <= {"status", "message", "error"}
    return not is_bare_status and not is_refusal(exchange.answer.status, exchange.answer.body)


class Harness(ABC):
    """The state of the checks of one agent. Exchanges and messages that several checks look at are kept by name."""

    def __init__(self, world: World, network: Network, settings: CheckSettings) -> None:
        self.world = world
        self.network = network
        self.settings = settings
        self.answers = ExchangesByName()
        self.messages = MessagesByName()
        self.client = RecordingClient(network.caller)
        self.league_id = ""
        # The methods that the agent knows by another name: that name, and the refusal of the usual name.
        self.other_names: dict[str, tuple[str, Exchange]] = {}
        # The methods that it knows by their usual names.
        self._known_methods: set[str] = set()

    @property
    @abstractmethod
    def url(self) -> str:
        """The URL at which the agent listens."""

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the agent, for people."""

    @abstractmethod
    def good_call(self) -> m.Request:
        """Return a message that the agent must accept any number of times."""

    def first(self, name: str) -> IncomingRequest:
        """Return the first message that is kept under a name."""
        return self.messages[name][0].request

    async def post(self, body: bytes, call_id: int | str | None = None) -> Exchange:
        """Post any body to the agent."""
        return await self.client.post(self.url, body, SECONDS, call_id)

    async def ping(self, seconds: float = PING_SECONDS) -> Exchange:
        return await self.client.call(self.url, PING, {}, seconds)

    async def call(self, message: m.Request | Json, *, method: str = "", call_id: int | str | None = None) -> Exchange:
        """Call the agent with a message. ``method`` replaces the usual method."""
        known = BY_REQUEST[m.BY_TYPE[message["message_type"]] if isinstance(message, dict) else type(message)]
        if method:
            return await self.client.call(self.url, method, message, known.seconds, call_id)
        return await self.call_by_any_name(self.url, known, message, known.seconds, call_id)

    async def call_by_any_name(
        self, url: str, known: Method, message: m.Request | Json, seconds: float, call_id: int | str | None = None
    ) -> Exchange:
        """Call a method by the name by which the agent knows it. Until that is known, try the usual name first."""
        exchange = await self.client.call(url, self.method_name(known.request), message, seconds, call_id)
        if exchange.answer is None or known.name in self.other_names or known.name in self._known_methods:
            return exchange
        if is_understood(exchange):
            self._known_methods.add(known.name)
            return exchange
        for name in (*known.other_names, m.message_type(known.request)):
            again = await self.client.call(url, name, message, seconds, call_id)
            if again.answer is None:
                break
            if is_understood(again):
                self.other_names[known.name] = name, exchange
                self.settings.on_progress(f"{self.name} knows {known.name} only as {name}: that is used from now on")
                return again
        return exchange

    def method_name(self, kind: type[m.Message]) -> str:
        """Return the name by which the agent knows the method of a request."""
        usual = BY_REQUEST[kind].name
        return self.other_names[usual][0] if usual in self.other_names else usual

    async def send(self, name: str, message: m.Request | Json, *, method: str = "") -> Exchange:
        """Do the same, and keep the exchange under ``name``."""
        self.answers[name] = await self.call(message, method=method)
        return self.answers[name]


class AgentHarness(Harness):
    """The league around one agent. ``inbox`` has the requests that the agent sends.

    An agent that never registers is reached at a URL that the user gives.
    """

    role: ClassVar[AgentRole]
    # The id that the kit gives the agent.
    agent_id: ClassVar[str]

    def __init__(self, world: World, network: Network, url: str | None, settings: CheckSettings) -> None:
        super().__init__(world, network, settings)
        self.manager_url = ""
        self.inbox = Inbox(self.respond, world.now)
        self.league_id = f"{CHECK_LEAGUE_PREFIX}{world.entropy(4).hex()}"
        self.token = tokens.new_token(self.agent_id, world.entropy(tokens.ENTROPY_BYTES))
        self.key = tokens.signing_key(self.token)
        self.why_not_registered = f"the {self.role} does not register: its URL was given"
        self._given_url = url
        self._registration: IncomingRequest | None = None
        self._answered = asyncio.Event()

    async def check(self, checks: Sequence[Check[Self]], port: int) -> Report:
        """Run checks of the agent that registers at ``port``.

        The network stays open, because the agent may still need it.
        """
        await self.open(port)
        # The name of the agent is known only after its registration.
        outcomes = await run_checks(checks, self, self.settings)
        return Report(self.role, self.name, outcomes, display(self.remark()))

    def remark(self) -> str:
        """Return what the conclusion says beside the checks; usually nothing."""
        return ""

    async def open(self, port: int = 0) -> None:
        """Listen as the manager, and ask the person at the terminal to start the agent."""
        self.manager_url = await self.network.open(self.inbox, port)
        if self.expects_registration:
            waiting = f"waiting {self.settings.timeout_seconds:g} s for it to register"
            self.settings.on_progress(
                f"Start your {self.role} with {self.manager_url} as its manager's URL; {waiting}."
            )

    @abstractmethod
    async def respond(self, request: IncomingRequest) -> Any:
        """Return the manager's answer to a request of the agent. Raises Refusal for an error."""

    # Registration

    @property
    def expects_registration(self) -> bool:
        """Whether the agent registers. An agent whose URL was given does not."""
        return self._given_url is None

    @property
    def registration(self) -> IncomingRequest:
        """The registration of the agent. Raises NotRun if there is none."""
        if self._registration is None:
            raise NotRun(f"no {self.role} has registered" if self.expects_registration else self.why_not_registered)
        return self._registration

    async def wait_for_registration(self) -> Evidence:
        """Wait until a registration has arrived and was answered. Raises Failed if none arrives in time."""
        if not self.expects_registration:
            raise NotRun(self.why_not_registered)
        kind = m.message_type(BY_NAME[f"register_{self.role}"].request)
        expected = f"{kind} posted to {self.manager_url} within {self.settings.timeout_seconds:g} s"
        request = await self.inbox.wait_with_progress(
            self.is_registration, self.settings.timeout_seconds, self.role, self.settings.on_progress
        )
        if request is None:
            raise self.inbox.missing(expected)
        await self._answered.wait()
        return request.evidence(expected)

    @abstractmethod
    def is_registration(self, request: IncomingRequest) -> bool:
        """Return whether a request is meant as a registration. It may have faults."""

    def registration_message(self, request: IncomingRequest) -> Json:
        """Return the message in a registration."""
        return request.message

    @property
    def registered_message(self) -> Json:
        """The message of the registration. Raises NotRun if there is none."""
        return self.registration_message(self.registration)

    def meta_value(self, request: IncomingRequest, name: str) -> Any:
        """Return a value of ``player_meta`` or ``referee_meta`` in a registration."""
        return value(self.registration_message(request), f"{self.role}_meta.{name}")

    @property
    def url(self) -> str:
        if self._given_url is not None:
            return self._given_url
        endpoint = self.meta_value(self.registration, "contact_endpoint")
        return endpoint if isinstance(endpoint, str) else ""

    @property
    def name(self) -> str:
        name = None if self._registration is None else self.meta_value(self._registration, "display_name")
        return name if isinstance(name, str) and name else self._given_url or f"the {self.role}"

    async def register(self, request: IncomingRequest) -> Json:
        """Return the answer to a registration. Only the first agent is accepted. It may register again."""
        answer = self.answer_to(self.registration_message(request), BY_NAME[f"register_{self.role}"].answer)
        first = self._registration or request
        if self.meta_value(request, "contact_endpoint") != self.meta_value(first, "contact_endpoint"):
            reason = f"The kit checks one {self.role} at a time, and another one has come first."
            return answer | {"status": "REJECTED", f"{self.role}_id": None, "reason": reason, "error_code": "E020"}
        if self._registration is None:
            self._registration = request
            self.settings.on_progress(f"{self.name} registers")
            try:
                await self.before_first_answer()
            finally:
                # Also if the agent has closed the connection meanwhile.
                self._answered.set()
        return answer | {
            "status": "ACCEPTED",
            f"{self.role}_id": self.agent_id,
            "auth_token": self.token,
            "league_id": self.league_id,
            "reason": None,
            "token_scheme": tokens.SCHEME,
        }

    async def before_first_answer(self) -> None:
        """Is called while the agent waits for the answer to its first registration."""

    # Messages of the manager

    def answer_to(self, message: Json, kind: type[m.Message]) -> Json:
        """Return the type and the envelope of an answer."""
        return {**m.envelope(MANAGER, self.world.now(), conversation_in(message)), "message_type": m.message_type(kind)}

    def envelope(self, conversation: str) -> dict[str, Any]:
        """Return the envelope of a message to the agent, with the token that proves who the manager is."""
        token = tokens.manager_to_agent(self.key, self.league_id, self.agent_id)
        return {**m.envelope(MANAGER, self.world.now(), conversation), "auth_token": token, "league_id": self.league_id}

    def assignment(
        self, round_id: int, name: str, game: str, limits: m.TimeLimits, players: dict[Side, m.AssignedPlayer]
    ) -> m.MatchAssignment:
        """Return the assignment of a match, as a referee gets it."""
        return m.MatchAssignment(
            **self.envelope(match_conversation(name)),
            round_id=round_id,
            match_id=name,
            game_type=game,
            attempt=1,
            match_seed=self.world.entropy(32).hex(),
            time_limits=limits,
            player_A=players["A"],
            player_B=players["B"],
        )

    async def ping_until(self, seconds: float, *, until_there: bool) -> Exchange:
        """Ping the agent until it answers, or until it no longer answers. Return the last ping.

        Give up after ``seconds``.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            exchange = await self.ping()
            if (exchange.answer is not None) is until_there or loop.time() + PING_INTERVAL_SECONDS > deadline:
                return exchange
            await asyncio.sleep(PING_INTERVAL_SECONDS)
