"""Publishes messages in the order in which they were decided, once the events that they depend on are written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from leaguekit.agents.world import World
from leaguekit.manager.broadcasts import STANDINGS_PAUSE_SECONDS, Broadcasts, EncodedMessage
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.metrics import Histogram
from leaguekit.manager.rounds.league_messages import standings_updates

SentT = TypeVar("SentT")

# With 1,000 players, making and reading the table once per second would take a third of two cores.
PAUSE_SECONDS_PER_PLAYER = 0.004


class SendQueue:
    """A queue of functions that send messages. ``run`` calls each one when the write that it waits for is done."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._queue: asyncio.Queue[tuple[asyncio.Future[int] | None, Callable[[], None]]] = asyncio.Queue()

    def put(self, send: Callable[[], SentT]) -> asyncio.Future[SentT]:
        """Call ``send`` when everything recorded so far is written, and after all functions that were put in before.

        The future has the result of ``send``.
        """
        sent: asyncio.Future[SentT] = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((self._ledger.latest, lambda: sent.set_result(send())))
        return sent

    async def run(self) -> None:
        while True:
            latest, send = await self._queue.get()
            await self._ledger.wait_written(latest)
            send()
            self._queue.task_done()

    async def join(self) -> None:
        """Wait until the queue is empty."""
        await self._queue.join()


class StandingsPublisher:
    """Sends the standings to all players after results, at most once per second, and more rarely to many players.

    A large table takes long to make. So it is not made before it can be sent.
    """

    def __init__(self, world: World, ledger: Ledger, send_queue: SendQueue, broadcasts: Broadcasts) -> None:
        self._world = world
        self._ledger = ledger
        self._send_queue = send_queue
        self._broadcasts = broadcasts
        self._next_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._is_closed = False
        # When the first result came that no published standings contain.
        self._unpublished_since: float | None = None
        # How long it took from a result until standings with it were sent.
        self.delays = Histogram()

    def schedule(self) -> None:
        """Publish the standings soon, because a result has changed."""
        loop = asyncio.get_running_loop()
        if self._unpublished_since is None:
            self._unpublished_since = loop.time()
        if self._timer is None and not self._is_closed:
            self._timer = loop.call_at(max(loop.time(), self._next_at), self.publish_now)

    def publish_now(self) -> None:
        self._timer = None
        pause = max(STANDINGS_PAUSE_SECONDS, PAUSE_SECONDS_PER_PLAYER * len(self._ledger.league.players))
        self._next_at = asyncio.get_running_loop().time() + pause
        updates, since = self.make_updates(self._ledger.league.current_round)
        self._send_queue.put(lambda: self.send(updates, since, closing=False))

    def cancel(self) -> None:
        """Do not publish what was scheduled."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        """Publish nothing any more."""
        self._is_closed = True
        self.cancel()

    def make_updates(self, round_id: int) -> tuple[dict[str, EncodedMessage], float | None]:
        """The standings for each player, and the time of the first result since the last standings."""
        since, self._unpublished_since = self._unpublished_since, None
        return standings_updates(self._ledger.league, round_id, self._world.now()), since

    def send(self, updates: dict[str, EncodedMessage], since: float | None, *, closing: bool) -> None:
        if since is not None:
            self.delays.add(asyncio.get_running_loop().time() - since)
        for player, update in updates.items():
            self._broadcasts.send_standings(player, update, closing=closing)
