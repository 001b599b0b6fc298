"""``league watch``: display a league in progress, live in a terminal or as lines for other programs."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from operator import itemgetter

import msgspec

from leaguekit.agents.serving import run_until_first
from leaguekit.cli import CommandError, add_manager_option, program
from leaguekit.cli.live_display import LiveDisplay
from leaguekit.cli.live_view import bracket_lines, news_text, result_text
from leaguekit.cli.screen import supports_screen
from leaguekit.cli.stream import Follower
from leaguekit.cli.tables import json_line, standings_table
from leaguekit.league.sentences import add_player_names
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.web.api_types import Live, MatchRow, NewsItem

EXAMPLES = """examples:
  league watch                                          the league at http://127.0.0.1:8000
  league watch --manager http://192.168.1.10:8000/mcp
  league watch | tee news.txt                           piped: one line per event, and the table at the end
  league watch --json                                   one JSON object per line: the whole state at every change

It ends with the league, or with Ctrl-C. If the manager does not answer for a while, it waits.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    add_manager_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run(options: argparse.Namespace) -> int:
    return program.run(lambda stop: _watch(options, stop))


async def _watch(options: argparse.Namespace, stop: program.Stop) -> int:
    try:
        follower = Follower(options.manager)
    except ValueError as error:
        raise CommandError(f"--manager: {error}") from None
    await run_until_first(follower.run(), _display(follower, options), stop.wait())
    if stop.is_set():
        return 130
    if not options.json and follower.live is not None:
        print("\n".join(final_lines(follower.live)))
    return 0


async def _display(follower: Follower, options: argparse.Namespace) -> None:
    """Display a league until it is over. Raises CommandError if the manager does not answer at the beginning."""
    await follower.changed.wait()
    if follower.live is None:
        why = f"no league can be watched at {options.manager}: {follower.error}"
        raise CommandError(f"{why}; is the manager running, or elsewhere (--manager)?")
    if options.json or not supports_screen(sys.stdout):
        await _print(follower, as_json=options.json)
    else:
        await LiveDisplay(follower, program.dashboard_url(options.manager)).run()


async def _print(follower: Follower, *, as_json: bool) -> None:
    """Print the news, or the whole state as JSON, until the league is over."""
    last_number, printed = 0, set[tuple[str, str | None]]()
    while True:
        follower.changed.clear()
        live = follower.live
        if live is not None:
            if as_json:
                print(json_line(msgspec.to_builtins(live)), flush=True)
            news = [one for one in live.news.values() if one.number > last_number]
            last_number = max([last_number, *(one.number for one in news)])
            ended = {(one.match_id, one.ended_at): one for one in live.results.values()}
            results = [one for key, one in ended.items() if key not in printed]
            printed = {*ended}
            if not as_json:
                for line in news_lines(live, news, results):
                    print(line, flush=True)
            if follower.is_over:
                return
        await follower.changed.wait()


def news_lines(live: Live, news: Iterable[NewsItem], results: Iterable[MatchRow]) -> list[str]:
    """News and results as lines, by time. Within a second, the results of a round come before its end."""
    lines, place = [], (0, 0)
    for one in news:
        if found := re.match(r"Round (\d+) ", one.text):
            place = int(found[1]), 2 if one.event == "RoundCompleted" else 0
        lines.append((one.at, place, news_text(one, live)))
    lines += [(row.ended_at or "", (row.round_id, 1), f"{row.match_id}: {result_text(row)}") for row in results]
    return [sanitize_line(f"{at}  {text}") for at, _, text in sorted(lines, key=itemgetter(0, 1))]


def final_lines(live: Live) -> Iterator[str]:
    """The bracket, the final table and the champion, as lines."""
    yield from (sanitize_line(line) for line in bracket_lines(live))
    rows = [msgspec.to_builtins(row) for row in sorted(live.standings.values(), key=lambda row: row.rank)]
    yield standings_table(
        [row | {"player_id": row["id"], "display_name": row["name"]} for row in rows], live.league.tie_breaks
    )
    names = {row["id"]: row["name"] for row in rows}
    sentences = [*([live.league.ranked_by] if live.league.ranked_by else []), *live.league.ties]
    if sentences:
        yield ""
    yield from (sanitize_line(add_player_names(sentence, names)) for sentence in sentences)
    if live.league.champion is not None and live.league.first is not None:
        yield ""
        reason = f". {live.league.end_reason}" if live.league.view == "bracket" else ""
        yield sanitize_line(add_player_names(f"{live.league.first}{reason}", names))
