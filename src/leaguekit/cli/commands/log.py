"""``league log``: print what happened in a league, one line per event."""

from __future__ import annotations

import argparse
import asyncio
import sys

from leaguekit.cli import stores
from leaguekit.cli.tables import json_line
from leaguekit.league import events as e
from leaguekit.league.sentences import EventFormatter, name_players_once, registered_id
from leaguekit.protocol.ids import match_id
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import LogReader

POLL_SECONDS = 0.2
EXAMPLES = """examples:
  league log                         the newest league under SHARED
  league log --follow                and what happens from now on, until Ctrl-C
  league log --match R2M3            one match
  league log --agent P07             an agent and its matches; its name is accepted as well
  league log --json --after 100      one JSON object per line, for programs

No line has a token, or a hash of one. The league's seed is printed only when the league is over. The exit code is 1 if
the league does not have the match or the agent.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    parser.add_argument("--after", metavar="N", type=int, default=0, help="only events after this number")
    parser.add_argument("--match", metavar="MATCH", type=str.upper, help="only this match, such as R2M3")
    parser.add_argument("--agent", metavar="AGENT", help="only this agent, by its id or its name, and its matches")
    parser.add_argument("--follow", action="store_true", help="also print what is written from now on")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run(options: argparse.Namespace) -> int:
    return stores.run(options, lambda reader: _print_log(reader, options))


async def _print_log(reader: LogReader, options: argparse.Namespace) -> int:
    """Print the selected events. All events are read, because some define which matches are an agent's."""
    formatter, last = EventFormatter(), 0
    agent, agents, matches, own_matches = options.agent, dict[str, str](), set[str](), set[str]()
    while True:
        async for one in stores.iterate_events(reader, last):
            last, event = one.number, stores.decode_event(one)
            if isinstance(event, e.PlayerRegistered | e.RefereeRegistered):
                one_id = registered_id(event)
                agents[one_id] = event.meta.display_name
                if agent is not None and agent.casefold() in (one_id.casefold(), event.meta.display_name.casefold()):
                    agent = one_id
            pairs = _matches_of(event)
            matches.update(pairs)
            own_matches.update(name for name, pair in pairs.items() if agent in pair)
            if options.json:
                line = json_line({"number": last} | formatter.as_json(event))
            else:
                line = sanitize_line(f"{last:6}  {event.at}  {_as_text(formatter, event, agents)}")
            about = {getattr(event, name, None) for name in ("match_id", "player_id", "referee_id", "agent_id")}
            is_of_agent = agent in (None, *about) or not own_matches.isdisjoint(about)
            if last > options.after and options.match in (None, *about) and is_of_agent:
                print(line, flush=True)
        if not options.follow:
            unknown = [("agent", agent)] if agent not in (None, *agents) else []
            unknown += [("match", options.match)] if options.match not in (None, *matches) else []
            for what, name in unknown:
                print(sanitize_line(f"There is no {what} {name} in this league"), file=sys.stderr)
            return 1 if unknown else 0
        await asyncio.sleep(POLL_SECONDS)


def _matches_of(event: e.Event) -> dict[str, tuple[str, str]]:
    """The players of each match that an event puts into the schedule."""
    rounds: dict[int, list[tuple[str, str]]] = {}
    if isinstance(event, e.LeagueStarted):
        rounds = dict(enumerate(event.rounds, start=1))
    elif isinstance(event, e.RoundDrawn):
        rounds = {event.round_id: event.pairs}
    return {match_id(number, order): pair for number, pairs in rounds.items() for order, pair in enumerate(pairs, 1)}


def _as_text(formatter: EventFormatter, event: e.Event, names: dict[str, str]) -> str:
    """An event with the names of players. The events of registrations have them already."""
    text = formatter.as_text(event)
    return text if isinstance(event, e.PlayerRegistered | e.RegistrationRefused) else name_players_once(text, names)
