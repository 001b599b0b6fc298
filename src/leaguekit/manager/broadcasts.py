"""Broadcasts: what the manager tells everybody, each agent at its own pace, so that a slow one holds up nobody else.

Each agent has a queue. Its messages are sent in the order in which they were given, one after the other: the next one
is sent when the one before was answered or given up. Within a round, a standings update that waits is replaced by a
newer one, and one per second is sent at most. Any HTTP answer is delivery, only failed connections are tried again, and
one that is suspended or has left is told of nothing but the league's end; who has left, only once.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from leaguekit.agents.calls import MAX_OF_ANY, is_not_known, next_id, refuses_token
from leaguekit.agents.world import World
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import request
from leaguekit.transport.base import CallerLate, CallerUnable, CallFailed, HttpAnswer, TimedOut

log = logging.getLogger(__name__)

SECONDS = 10.0
STANDINGS_PAUSE_SECONDS = 1.0
RETRIES = 3
RETRY_SECONDS = 2.0
# Of a request, what follows the last field of its message.
_CLOSING = b'},"id":%d}'


class EncodedMessage:
    """A message encoded once for everybody: each receiver's own token is put in at its end, if it is shown one."""

    __slots__ = ("_body", "_opening", "kind", "method")

    def __init__(self, method: str, kind: str, body: bytes) -> None:
        self.method = method
        self.kind = kind
        self._body = body
        # The whole request as far as it is the same for everybody: a table of 100 is not to be copied three times.
        self._opening = request(method, body, 0).removesuffix(_CLOSING % 0)

    def addressed(self, token: str | None) -> bytes:
        if token is None:
            return self._body
        return b'%b,"auth_token":"%b"}' % (self._body[:-1], token.encode())

    def request(self, token: str | None, call_id: int) -> bytes:
        """The request that carries it."""
        if token is None:
            return self._opening + _CLOSING % call_id
        return b'%b,"auth_token":"%b"%b' % (self._opening, token.encode(), _CLOSING % call_id)


def encode_message(message: Message) -> EncodedMessage:
    return EncodedMessage(BY_REQUEST[type(message)].name, message_type(message), encode(message))


# Writes a request from its method, its params and its id.
Writer = Callable[[str, bytes, int], bytes]


class Recipient(NamedTuple):
    """Where an agent listens, what the manager shows it, and whether it is out.

    ``write`` is how a request to it is written, if it needs another form than everybody; ``answered`` is then called
    with each answer.
    """

    url: str
    token: str
    write: Writer | None = None
    answered: Callable[[HttpAnswer], None] | None = None
    has_left: bool = False


# The recipient of an id; None for one that is nowhere any more.
RecipientLookup = Callable[[str], Recipient | None]


@dataclass(slots=True)
class _Outbox:
    # Each with the future of ``tell``; standings have none.
    waiting: deque[tuple[EncodedMessage, asyncio.Future[bool] | None]] = field(default_factory=deque)
    # The update that waits for its second.
    standings: EncodedMessage | None = None
    next_standings_at: float = 0.0
    worker: asyncio.Task[None] | None = None
    # Ends the pause between two standings updates, when there is something else to send or nothing any more.
    hurry: asyncio.Event = field(default_factory=asyncio.Event)

    def queue_standings(self) -> None:
        """Let them wait for nothing but what was decided before."""
        if self.standings is not None:
            self.waiting.append((self.standings, None))
            self.standings = None


class Broadcasts:
    """The outboxes of all agents. ``heard`` is told of each agent's answer (0) or failures (how many).

    ``there`` waits for an agent that is not to be called yet.
    """

    def __init__(
        self,
        world: World,
        recipient: RecipientLookup,
        is_suspended: Callable[[str], bool],
        heard: Callable[[str, int], None],
        there: Callable[[str], Awaitable[None]],
    ) -> None:
        self._world = world
        self._recipient = recipient
        self._is_suspended = is_suspended
        self._heard = heard
        self._there = there
        self._outboxes: defaultdict[str, _Outbox] = defaultdict(_Outbox)
        # Agents that do not know the token scheme and have taken a message without a token after refusing it with one.
        self._without_token: set[str] = set()

    def standings(self, agent_id: str, message: EncodedMessage, *, closing: bool) -> None:
        """Tell of new standings; those that close a round are not held back, and stay in their order."""
        box = self._outboxes[agent_id]
        if closing:
            box.standings = None
            box.waiting.append((message, None))
            box.hurry.set()
        else:
            box.standings = message
        self._work(agent_id, box)

    def tell(self, agent_id: str, message: EncodedMessage) -> asyncio.Future[bool]:
        """Send after everything that was decided before; the result is whether the agent has answered."""
        box = self._outboxes[agent_id]
        if box.standings is not None:
            box.queue_standings()
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        box.waiting.append((message, done))
        box.hurry.set()
        self._work(agent_id, box)
        return done

    async def send_final(self, agent_id: str, message: EncodedMessage) -> bool:
        """Send when nothing else is under way to that agent any more; False if it may be worth trying later."""
        box = self._outboxes[agent_id]
        box.standings = None
        box.hurry.set()
        while box.worker is not None:
            await asyncio.wait([box.worker])
        return await self._send(agent_id, message, last=True) is not False

    def close(self) -> None:
        for box in self._outboxes.values():
            if box.worker is not None:
                box.worker.cancel()

    def _work(self, agent_id: str, box: _Outbox) -> None:
        if box.worker is None:
            box.worker = asyncio.create_task(self._empty(agent_id, box))

    async def _empty(self, agent_id: str, box: _Outbox) -> None:
        loop = asyncio.get_running_loop()
        try:
            while box.waiting or box.standings is not None:
                if not box.waiting:
                    if (pause := box.next_standings_at - loop.time()) > 0 and await _hurried(box, pause):
                        continue
                    box.next_standings_at = loop.time() + STANDINGS_PAUSE_SECONDS
                    box.queue_standings()
                    continue
                message, done = box.waiting.popleft()
                answered = await self._send(agent_id, message)
                if done is not None:
                    done.set_result(answered is True)
        finally:
            box.worker = None

    async def _send(self, agent_id: str, message: EncodedMessage, *, last: bool = False) -> bool | None:
        """Send, and again after a failed connection.

        True if the agent has answered, None if it is not to be told, False if it may be worth trying later.
        """
        await self._there(agent_id)
        for retry in range(RETRIES + 1):
            recipient = self._recipient(agent_id)
            if recipient is None or ((recipient.has_left or self._is_suspended(agent_id)) and not last):
                return None
            try:
                answer = await self._post(agent_id, message, recipient)
            except CallerUnable as error:
                log.warning("%s was not delivered to %s: %s", message.kind, agent_id, error)
            except CallerLate:
                # Our own lateness says nothing about the agent, and a broadcast is best effort.
                return False
            except CallFailed as error:
                log.warning(
                    "%s was not delivered to %s: %s",
                    message.kind,
                    agent_id,
                    error,
                    extra={"message_type": message.kind, "data": {"agent": agent_id, "retry": retry}},
                )
                if recipient.has_left:
                    return None
                self._heard(agent_id, 1)
                # Nobody may wait for one that this has suspended.
                if isinstance(error, TimedOut) or (self._is_suspended(agent_id) and not last):
                    return False
            else:
                self._answered(agent_id, recipient, answer)
                return recipient.has_left or not (last and is_not_known(answer.body))
            if retry < RETRIES:
                await asyncio.sleep(RETRY_SECONDS)
        return False

    def _answered(self, agent_id: str, recipient: Recipient, answer: HttpAnswer) -> None:
        self._heard(agent_id, 0)
        if recipient.answered is not None:
            recipient.answered(answer)

    async def _post(self, agent_id: str, message: EncodedMessage, recipient: Recipient) -> HttpAnswer:
        """Post a message; once more without a token if the agent refuses the token.

        Document 001 lets a player refuse a token that is not its own, and shows no token in the manager's messages.
        """
        token = None if agent_id in self._without_token else recipient.token
        answer = await self._world.caller.post(recipient.url, _written(message, recipient, token), SECONDS, MAX_OF_ANY)
        if token is None or b'"error"' not in answer.body or not refuses_token(answer.body):
            return answer
        answer = await self._world.caller.post(recipient.url, _written(message, recipient, None), SECONDS, MAX_OF_ANY)
        if not (refuses_token(answer.body) or is_not_known(answer.body)):
            self._without_token.add(agent_id)
        return answer


def _written(message: EncodedMessage, recipient: Recipient, token: str | None) -> bytes:
    if recipient.write is None:
        return message.request(token, next_id())
    return recipient.write(message.method, message.addressed(token), next_id())


async def _hurried(box: _Outbox, seconds: float) -> bool:
    """Wait so long, or until there is something else to do; whether there is."""
    box.hurry.clear()
    try:
        await asyncio.wait_for(box.hurry.wait(), seconds)
    except TimeoutError:
        return False
    return True
