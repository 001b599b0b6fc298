"""``league watch``: a league in progress, as a picture in the terminal or as lines for other programs."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Coroutine, Iterator
from typing import Any

import msgspec

from leaguekit.cli import CommandError, program
from leaguekit.cli.live_view import news_text, picture
from leaguekit.cli.operate import MANAGER
from leaguekit.cli.screen import Cell, Screen, can_show
from leaguekit.cli.stream import Follower
from leaguekit.cli.tables import json_line, standings_table
from leaguekit.league.sentences import with_names
from leaguekit.protocol.plain_text import harmless
from leaguekit.web.api_types import Live

# A picture that changes more often than this cannot be read.
LEAST_SECONDS = 0.1
MAX_SECONDS = 1.0
EXAMPLES = """examples:
  league watch                                          the league at http://127.0.0.1:8000
  league watch --manager http://192.168.1.10:8000/mcp
  league watch | tee news.txt                           piped: a line an event, and the table at the end
  league watch --json                                   a JSON object a line: the whole state whenever it changes

It ends with the league, or with Ctrl-C. If the manager is away for a while, it waits for it.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("--manager", metavar="URL", default=MANAGER, help=f"default {MANAGER}")
    parser.add_argument("--json", action="store_true", help="print a JSON object a line")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return program.run(lambda stop: _watch(options, stop))


async def _watch(options: argparse.Namespace, stop: program.Stop) -> int:
    try:
        follower = Follower(options.manager)
    except ValueError as error:
        raise CommandError(f"--manager: {error}") from None
    in_terminal = not options.json and can_show(sys.stdout)
    showing = (
        Painter(follower, program.dashboard(options.manager)).run()
        if in_terminal
        else _print(follower, as_json=options.json)
    )
    following, stopping = asyncio.create_task(follower.run()), asyncio.create_task(stop.wait())
    show = asyncio.create_task(_when_there(follower, options.manager, showing))
    try:
        await asyncio.wait([show, stopping], return_when=asyncio.FIRST_COMPLETED)
        if not show.done():
            return 130
        await show
    finally:
        for task in (show, following, stopping):
            task.cancel()
        await asyncio.gather(show, following, stopping, return_exceptions=True)
    if not options.json and follower.live is not None:
        print("\n".join(last_words(follower.live)))
    return 0


async def _when_there(follower: Follower, manager: str, showing: Coroutine[Any, Any, None]) -> None:
    """Show a league; a manager that is not there from the beginning is an error."""
    try:
        await follower.changed.wait()
        if follower.live is None:
            why = f"no league can be watched at {manager}: {follower.trouble}"
            raise CommandError(f"{why}; is the manager running, or elsewhere (--manager)?")
        await showing
    finally:
        showing.close()


class Painter:
    """Keeps a picture of a league in the terminal up to date, and gives the terminal back when the league is over.

    ``notes`` are lines for its foot; whoever adds one need not tell anybody.
    """

    def __init__(self, follower: Follower, page: str) -> None:
        self._follower = follower
        self._page = page
        self.notes: list[str] = []

    async def run(self) -> None:
        """Until the league is over, or this is cancelled."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGWINCH, self._follower.changed.set)
        try:
            with Screen() as screen:
                while not _is_over(self._follower.live):
                    self._follower.changed.clear()
                    self._paint(screen)
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(self._follower.changed.wait(), MAX_SECONDS)
                    await asyncio.sleep(LEAST_SECONDS)
        finally:
            loop.remove_signal_handler(signal.SIGWINCH)

    def _paint(self, screen: Screen) -> None:
        live, trouble = self._follower.live, self._follower.trouble
        if live is None:
            screen.show([[Cell(0, "The league is being started …", "dim")]])
            return
        notes = [*self.notes, *([f"The manager does not answer: {trouble}"] if trouble else [])]
        screen.show(picture(live, self._follower.now(), screen.size, self._page, notes))


async def _print(follower: Follower, *, as_json: bool) -> None:
    """Print what is new, until the league is over."""
    told = 0
    while True:
        follower.changed.clear()
        live = follower.live
        if live is not None:
            if as_json:
                print(json_line(msgspec.to_builtins(live)), flush=True)
            for one in sorted(live.news.values(), key=lambda one: one.number):
                if one.number > told and not as_json:
                    print(harmless(f"{one.at}  {news_text(one, live)}"), flush=True)
                told = max(told, one.number)
            if _is_over(live):
                return
        await follower.changed.wait()


def _is_over(live: Live | None) -> bool:
    return live is not None and live.league.state == "LEAGUE_COMPLETED"


def last_words(live: Live) -> Iterator[str]:
    """The table and the champion."""
    rows = [msgspec.to_builtins(row) for row in sorted(live.standings.values(), key=lambda row: row.rank)]
    yield standings_table([row | {"player_id": row["id"], "display_name": row["name"]} for row in rows])
    names = {row["id"]: row["name"] for row in rows}
    if live.league.ties:
        yield ""
    yield from (harmless(with_names(sentence, names)) for sentence in live.league.ties)
    if live.league.champion is not None and live.league.first is not None:
        yield ""
        yield harmless(with_names(live.league.first, names))
