"""The messages of a match that are sent to its players without waiting for an answer: GAME_ERROR and GAME_OVER."""

from __future__ import annotations

import asyncio

from leaguekit.agents.tasks import cancel
from leaguekit.games.base import Side
from leaguekit.protocol import messages as m
from leaguekit.referee.player_client import PlayerClient
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript
from leaguekit.transport.base import CallerLate, CallFailed

# A message counts as sent after this time, or when its answer has come. No caller says when a message has left, so an
# answer is the only sure sign.
SENT_AFTER_SECONDS = 0.1


class PlayerNotifier:
    """Sends messages to the players of one match. The messages to one player are sent in order.

    A message is posted when the one before it to the same player has been sent. Its answer may come later.
    """

    def __init__(self, client: PlayerClient, seats: Seats, transcript: Transcript) -> None:
        self._client = client
        self._seats = seats
        self._transcript = transcript
        self._loop = asyncio.get_running_loop()
        self._posts: set[asyncio.Task[None]] = set()
        # By player, set when the last message to it has been sent.
        self._sent: dict[Side, asyncio.Event] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no message is under way, and none waits for the one before it."""
        return not self._posts

    def send(self, side: Side, message: m.Request, seconds: float) -> None:
        """Post a message when the one before it has been sent."""
        before, sent = self._sent.get(side), asyncio.Event()
        self._sent[side] = sent
        post = self._loop.create_task(self._post(side, message, seconds, before, sent))
        self._posts.add(post)
        post.add_done_callback(self._posts.discard)

    async def wait_sent(self, side: Side) -> None:
        """Wait until all messages to a player have been sent."""
        if (sent := self._sent.get(side)) is not None:
            await sent.wait()

    async def wait_answered(self) -> None:
        """Wait until every message has been answered, or could not be delivered."""
        while self._posts:
            await asyncio.wait(self._posts)

    async def close(self) -> None:
        """Cancel the messages that are under way or wait."""
        await cancel(*self._posts)

    async def _post(
        self, side: Side, message: m.Request, seconds: float, before: asyncio.Event | None, sent: asyncio.Event
    ) -> None:
        if before is not None:
            await before.wait()
        player_id = self._seats[side].player_id
        self._transcript.add("sent", player_id, message)
        timer = self._loop.call_later(SENT_AFTER_SECONDS, sent.set)
        try:
            await self._client.notify(side, message, seconds)
        except (CallFailed, CallerLate) as failure:
            self._transcript.add("failed", player_id, note=f"{m.message_type(message)}: {failure}")
        finally:
            timer.cancel()
            sent.set()
