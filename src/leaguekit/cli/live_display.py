"""Displays a league in progress on the terminal, and keeps the display up to date."""

from __future__ import annotations

import asyncio
import contextlib

from leaguekit.cli.live_view import render_league
from leaguekit.cli.screen import Cell, Screen
from leaguekit.cli.stream import Follower

# The display is redrawn at most and at least this often. It could not be read if it changed more often.
MIN_REFRESH_SECONDS = 0.1
MAX_REFRESH_SECONDS = 1.0


class LiveDisplay:
    """Displays a league on the terminal and keeps it up to date.

    ``notes`` are lines at its foot. They are drawn at the next refresh.
    """

    def __init__(self, follower: Follower, page: str) -> None:
        self._follower = follower
        self._page = page
        self.notes: list[str] = []

    async def run(self, *, until_over: bool = True) -> None:
        """Run until the task is cancelled, or with ``until_over`` until the league is over."""
        with Screen() as screen:
            while not (until_over and self._follower.is_over):
                self._follower.changed.clear()
                self._draw(screen)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._follower.changed.wait(), MAX_REFRESH_SECONDS)
                await asyncio.sleep(MIN_REFRESH_SECONDS)

    def _draw(self, screen: Screen) -> None:
        live, error = self._follower.live, self._follower.error
        if live is None:
            screen.draw([[Cell(0, "The league is being started …", "dim")]])
            return
        notes = [*self.notes, *([f"The manager does not answer: {error}"] if error else [])]
        screen.draw(render_league(live, self._follower.now(), screen.size, self._page, notes))
