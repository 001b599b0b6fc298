"""Broadcasts: messages that the manager sends to all agents. A slow agent does not delay the others.

Each agent has a queue. Its messages are sent in the order in which they were added, one after the other: the next
message is sent when the one before was answered, or was given up. Within a round, a standings update that waits is
replaced by a newer one. At most one standings update per second is sent.

Every HTTP answer counts as delivery. Only failed connections are tried again. An agent that is suspended or has left
gets only the message that the league has ended. An agent that has left gets it only once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from leaguekit.agents.calls import MAX_ANY_ANSWER_BYTES, is_caller_unknown, next_id, refuses_token
from leaguekit.agents.world import World
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import request
from leaguekit.store.base import StoreError
from leaguekit.transport.base import CallerLate, CallerUnable, CallFailed, HttpAnswer, TimedOut

log = logging.getLogger(__name__)

ANSWER_SECONDS = 10.0
STANDINGS_PAUSE_SECONDS = 1.0
MAX_RETRIES = 3
RETRY_PAUSE_SECONDS = 2.0


class EncodedMessage(NamedTuple):
    """A message that is encoded once for all agents. The token for each agent is put at its beginning.

    An agent reads no more of a long message than its beginning if there is no token in that.
    """

    method: str
    kind: str
    body: bytes

    def params(self, token: str | None) -> bytes:
        """The params of the request, with a token if there is one."""
        return self.body if token is None else b'{"auth_token":"%b",%b' % (token.encode(), self.body[1:])


def encode_message(message: Message) -> EncodedMessage:
    return EncodedMessage(BY_REQUEST[type(message)].name, message_type(message), encode(message))


# Encodes a request from its method, its params and its id.
RequestEncoder = Callable[[str, bytes, int], bytes]


class Recipient(NamedTuple):
    """Where an agent listens, which token the manager shows it, and whether it has left the league.

    An agent that needs requests in another form has its own ``encode_request``. Its ``on_answer`` is called with each
    of its answers.
    """

    url: str
    token: str
    encode_request: RequestEncoder = request
    on_answer: Callable[[HttpAnswer], None] = lambda _answer: None
    has_left: bool = False


# Finds the recipient with an id. Returns None for an agent that listens nowhere any more.
RecipientLookup = Callable[[str], Recipient | None]


@dataclass(slots=True)
class _Outbox:
    """The messages that wait for one agent."""

    # Each message with the future of ``send``. Standings have no future.
    waiting: deque[tuple[EncodedMessage, asyncio.Future[bool] | None]] = field(default_factory=deque)
    # The standings update that waits until the pause after the last one is over.
    standings: EncodedMessage | None = None
    next_standings_at: float = 0.0
    worker: asyncio.Task[None] | None = None
    # Ends the pause between two standings updates early: another message waits, or the update was dropped.
    end_pause: asyncio.Event = field(default_factory=asyncio.Event)

    def queue_standings(self) -> None:
        """End the pause of the standings update: it now waits only for the messages before it."""
        if self.standings is not None:
            self.waiting.append((self.standings, None))
            self.standings = None


class Broadcasts:
    """The outboxes of all agents.

    ``on_outcome`` is called with an agent and its number of new failures, which is 0 after an answer.
    ``wait_to_send`` waits until an agent may be called. If it raises StoreError, the message is not sent.
    """

    def __init__(
        self,
        world: World,
        find_recipient: RecipientLookup,
        is_suspended: Callable[[str], bool],
        on_outcome: Callable[[str, int], None],
        wait_to_send: Callable[[str], Awaitable[None]],
    ) -> None:
        self._world = world
        self._find_recipient = find_recipient
        self._is_suspended = is_suspended
        self._on_outcome = on_outcome
        self._wait_to_send = wait_to_send
        self._outboxes: defaultdict[str, _Outbox] = defaultdict(_Outbox)
        # Agents that do not know the token scheme: they refused a message with a token, and accepted it without one.
        self._without_token: set[str] = set()

    def send_standings(self, agent_id: str, message: EncodedMessage, *, closing: bool) -> None:
        """Send new standings. Those that close a round are sent without a pause, and are never replaced."""
        box = self._outboxes[agent_id]
        if closing:
            box.standings = None
            box.waiting.append((message, None))
            box.end_pause.set()
        else:
            box.standings = message
        self._start_worker(agent_id, box)

    def send(self, agent_id: str, message: EncodedMessage) -> asyncio.Future[bool]:
        """Send a message after all earlier ones. The future's result is whether the agent has answered."""
        box = self._outboxes[agent_id]
        if box.standings is not None:
            box.queue_standings()
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        box.waiting.append((message, done))
        box.end_pause.set()
        self._start_worker(agent_id, box)
        return done

    async def send_final(self, agent_id: str, message: EncodedMessage) -> bool:
        """Send a message after all others to that agent. Returns False if another try later may succeed."""
        box = self._outboxes[agent_id]
        box.standings = None
        box.end_pause.set()
        while box.worker is not None:
            await asyncio.wait([box.worker])
        return await self._deliver(agent_id, message, last=True) is not False

    def close(self) -> None:
        for box in self._outboxes.values():
            if box.worker is not None:
                box.worker.cancel()

    def _start_worker(self, agent_id: str, box: _Outbox) -> None:
        if box.worker is None:
            box.worker = asyncio.create_task(self._send_waiting(agent_id, box))

    async def _send_waiting(self, agent_id: str, box: _Outbox) -> None:
        loop = asyncio.get_running_loop()
        try:
            while box.waiting or box.standings is not None:
                if not box.waiting:
                    if (pause := box.next_standings_at - loop.time()) > 0 and await _pause_ended_early(box, pause):
                        continue
                    box.next_standings_at = loop.time() + STANDINGS_PAUSE_SECONDS
                    box.queue_standings()
                    continue
                message, done = box.waiting.popleft()
                answered = await self._deliver(agent_id, message)
                if done is not None:
                    done.set_result(answered is True)
        finally:
            box.worker = None

    async def _deliver(self, agent_id: str, message: EncodedMessage, *, last: bool = False) -> bool | None:
        """Send a message, and try again after a failed connection.

        Returns True if the agent has answered, None if it must not get the message, and False if another try later may
        succeed.
        """
        for retry in range(MAX_RETRIES + 1):
            try:
                await self._wait_to_send(agent_id)
                recipient = self._find_recipient(agent_id)
                if recipient is None or ((recipient.has_left or self._is_suspended(agent_id)) and not last):
                    return None
                has_left = recipient.has_left
                answer = await self._post(agent_id, message, recipient)
            except CallerUnable as error:
                log.warning("%s was not delivered to %s: %s", message.kind, agent_id, error)
            except (CallerLate, StoreError):
                # The delay was on this machine, so the agent is not at fault. A broadcast is best effort.
                return False
            except CallFailed as error:
                log.warning(
                    "%s was not delivered to %s: %s",
                    message.kind,
                    agent_id,
                    error,
                    extra={"message_type": message.kind, "data": {"agent": agent_id, "retry": retry}},
                )
                if has_left:
                    return None
                self._on_outcome(agent_id, 1)
                # If this failure has suspended the agent, nothing may wait for it any longer.
                if isinstance(error, TimedOut) or (self._is_suspended(agent_id) and not last):
                    return False
            else:
                self._on_outcome(agent_id, 0)
                recipient.on_answer(answer)
                return has_left or not (last and is_caller_unknown(answer.body))
            if retry < MAX_RETRIES:
                await asyncio.sleep(RETRY_PAUSE_SECONDS)
        return False

    async def _post(self, agent_id: str, message: EncodedMessage, recipient: Recipient) -> HttpAnswer:
        """Post a message. If the agent refuses the token, post it once more without a token.

        Document 001 has no token in the manager's messages, and a player may refuse a token that is not its own.
        """
        token = None if agent_id in self._without_token else recipient.token
        while True:
            body = recipient.encode_request(message.method, message.params(token), next_id())
            answer = await self._world.caller.post(recipient.url, body, ANSWER_SECONDS, MAX_ANY_ANSWER_BYTES)
            is_refused = b'"error"' in answer.body and refuses_token(answer.body)
            if token is None and not (is_refused or is_caller_unknown(answer.body)):
                self._without_token.add(agent_id)
            if token is None or not is_refused:
                return answer
            token = None
            # This program may have been stopped while it waited for the answer.
            await self._wait_to_send(agent_id)


async def _pause_ended_early(box: _Outbox, seconds: float) -> bool:
    """Wait for a number of seconds, or until the pause is ended early. Returns whether it was."""
    box.end_pause.clear()
    try:
        await asyncio.wait_for(box.end_pause.wait(), seconds)
    except TimeoutError:
        return False
    return True
