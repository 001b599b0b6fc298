"""``league rebuild-files``: write the JSON files for other tools again, from a league's log."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from leaguekit.cli import stores
from leaguekit.league.events import Event, ResultRecorded
from leaguekit.league.fold import apply
from leaguekit.league.state import League
from leaguekit.manager.json_files import agents_file, rounds_file, standings_file
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.referee.match_file import MatchFile
from leaguekit.store.base import LogReader
from leaguekit.store.disk import DISK
from leaguekit.store.json_files import JsonPaths, write_json

EXAMPLES = """examples:
  league rebuild-files                                    of the newest league under SHARED
  league rebuild-files league.db --data-dir elsewhere

It writes agents_config.json, standings.json and rounds.json of the league, and a file for each match that a referee
reported, under --data-dir. They are the same as the manager and its referees wrote. config/agents/agents_config.json is
written too, unless it belongs to a league that was created later. The players' own histories are not changed.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)


def run(options: argparse.Namespace) -> int:
    return stores.run(options, lambda reader: _rebuild(reader, options.data_dir))


async def _rebuild(reader: LogReader, data_dir: Path) -> int:
    league, paths = League(), JsonPaths(data_dir)
    created_at = ""

    def take(event: Event) -> None:
        nonlocal created_at
        created_at = created_at or event.at
        apply(league, event)

    await stores.feed_events(reader, take)
    files = [agents_file(league, paths, created_at), standings_file(league, paths), rounds_file(league, paths)]
    print(sanitize_line(f"{league.settings.league_id}: {league.state}"))
    for path, value in files:
        write_json(DISK, path, value)
        print(f"  {path}")
    matches: set[Path] = set()
    with stores.Progress("matches written") as progress:
        async for one in stores.iterate_events(reader):
            # If a match was played again, its last report is the one that stays.
            if isinstance(event := stores.decode_event(one), ResultRecorded):
                path, value = await _match(reader, event, league, paths)
                write_json(DISK, path, value)
                matches.add(path)
                progress.update(len(matches))
    print(f"  {paths.match(league.settings.league_id, 'R1M1').parent}: {len(matches):,} matches")
    return 0


async def _match(reader: LogReader, report: ResultRecorded, league: League, paths: JsonPaths) -> tuple[Path, Any]:
    transcript = await stores.read_transcript(reader, report.match_id)
    if transcript is not None and transcript.attempt != report.attempt:
        transcript = None
    value = MatchFile(
        league_id=league.settings.league_id,
        round_id=league.matches[report.match_id].round_id,
        match_id=report.match_id,
        game_type=league.settings.game_type,
        attempt=report.attempt,
        referee_id=report.referee_id,
        reported_at=report.at if transcript is None else transcript.timestamp,
        result=report.result,
        transcript=[] if transcript is None else transcript.entries,
    )
    return paths.match(value.league_id, value.match_id), value
