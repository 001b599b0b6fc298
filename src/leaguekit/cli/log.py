"""``league log``: print what happened in a league, one line per event."""

from __future__ import annotations

import argparse
import asyncio

from leaguekit.cli import stores
from leaguekit.cli.tables import json_line
from leaguekit.league import events as e
from leaguekit.league.sentences import EventFormatter
from leaguekit.protocol.ids import match_id
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import LogReader, Stored

POLL_SECONDS = 0.2
EXAMPLES = """examples:
  league log                         the newest league under SHARED
  league log --follow                and what happens from now on, until Ctrl-C
  league log --match R2M3            one match
  league log --agent P07             an agent and its matches
  league log --json --after 100      one JSON object per line, for programs

No line has a token, or a hash of one. The league's seed is printed only when the league is over.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    parser.add_argument("--after", metavar="N", type=int, default=0, help="only events after this number")
    parser.add_argument("--match", metavar="MATCH", help="only this match, such as R2M3")
    parser.add_argument("--agent", metavar="ID", help="only this agent, such as P07 or REF01, and its matches")
    parser.add_argument("--follow", action="store_true", help="also print what is written from now on")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run(options: argparse.Namespace) -> int:
    return stores.run(options, lambda reader: _print_log(reader, options))


async def _print_log(reader: LogReader, options: argparse.Namespace) -> int:
    printer = _EventPrinter(options)
    last = 0
    while True:
        async for one in stores.iterate_events(reader, last):
            last = one.number
            printer.take(one)
        if not options.follow:
            return 0
        await asyncio.sleep(POLL_SECONDS)


class _EventPrinter:
    """Prints the selected events. It must see all events, because some define which matches are an agent's."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._after: int = options.after
        self._match: str | None = options.match
        self._agent: str | None = options.agent
        self._json: bool = options.json
        self._teller = EventFormatter()
        self._own_matches: set[str] = set()

    def take(self, one: Stored) -> None:
        event = stores.decode_event(one)
        if isinstance(event, e.LeagueStarted):
            self._own_matches = {
                match_id(number, order)
                for number, pairs in enumerate(event.rounds, start=1)
                for order, pair in enumerate(pairs, start=1)
                if self._agent in pair
            }
        if self._json:
            line = json_line({"number": one.number} | self._teller.as_json(event))
        else:
            line = sanitize_line(f"{one.number:6}  {event.at}  {self._teller.as_text(event)}")
        if one.number > self._after and self._is_selected(event):
            print(line, flush=True)

    def _is_selected(self, event: e.Event) -> bool:
        about = {getattr(event, name, None) for name in ("match_id", "player_id", "referee_id", "agent_id")}
        if self._match is not None and self._match not in about:
            return False
        return self._agent is None or self._agent in about or not self._own_matches.isdisjoint(about)
