"""``league verify``: fold a league's log and check everything that must hold in it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import msgspec

from leaguekit.cli import stores
from leaguekit.cli.tables import json_line
from leaguekit.league.audit import Audit
from leaguekit.league.events import ResultRecorded
from leaguekit.protocol.plain import harmless
from leaguekit.store.base import LogReader

MOST_SHOWN = 20
EXAMPLES = """examples:
  league verify                                  the newest league under SHARED
  league verify SHARED/agents/…/manager/league.db
  league verify postgresql://user@host/league
  league verify --json                           one JSON object, with everything that was found

Every event must be one that could happen then; each match counts once, with points as ruled; each result is played
again by the game's rules, each draw held against its commitment and made again from the league's seed, and the table
made again from the results. What a referee did not tell cannot be checked: that is counted, and is no fault.
It may be asked while the league runs. The exit code is 0 if all is right, 1 if something is wrong.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    stores.add_options(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    return stores.run(options, lambda reader: _verify(reader, as_json=options.json))


async def _verify(reader: LogReader, *, as_json: bool) -> int:
    audit = Audit()
    transcripts = set(await reader.names("transcript/"))
    with stores.Progress("events checked") as progress:
        async for one in stores.stored(reader):
            progress.show(one.number)
            event = audit.take(one.number, one.event)
            if isinstance(event, ResultRecorded) and (name := f"transcript/{event.match_id}") in transcripts:
                audit.transcript(event, await reader.kept(name) or b"")
    audit.close()
    print(_as_json(audit) if as_json else "\n".join(_as_text(audit)))
    return 1 if audit.faults else 0


def _as_json(audit: Audit) -> str:
    told = {
        "league_id": audit.league_id,
        "state": audit.league.state,
        "ok": not audit.faults,
        "seed_commitment": audit.league.settings.seed_commitment if audit.league_id else None,
        "faults": audit.faults,
        "warnings": audit.warnings,
        "counts": msgspec.to_builtins(audit.counts),
        "findings": [finding._asdict() for finding in audit.findings],
    }
    return json_line(told)


def _as_text(audit: Audit) -> Iterator[str]:
    counts = audit.counts
    yield harmless(f"{audit.league_id or 'No league'}: {audit.league.state}")
    if audit.league_id:
        yield f"SHA-256 of the seed, shown from the beginning: {audit.league.settings.seed_commitment}"
    for count, what in (
        (counts.events, "events in their order"),
        (counts.players, f"players and {counts.referees} referees"),
        (counts.matches, f"matches in {counts.rounds} rounds, {counts.ended} of them ended and counted once"),
        (counts.technical_losses, f"technical losses, {counts.forfeits} of them ruled by the manager"),
        (counts.voids, f"void attempts, {counts.rematches} rematches, {counts.corrections} corrections"),
        (counts.results, f"reports of referees, {counts.outcomes_replayed} of them played again by the rules"),
        (counts.draws_opened, f"draws opened, {counts.draws_derived} made again from the league's seed"),
        (counts.transcripts, "transcripts held against the results"),
    ):
        yield f"{count:9,} {what}"
    for reason, count in counts.not_checkable.items():
        yield f"{count:9,} not checkable: {harmless(reason)}"
    for finding in audit.findings[:MOST_SHOWN]:
        yield f"{'warning' if finding.is_warning else 'FAULT':>9} {harmless(finding)}"
    if (more := audit.faults + audit.warnings - MOST_SHOWN) > 0:
        yield f"          … and {more:,} more (--json has the first {len(audit.findings):,})"
    warnings = f"; {audit.warnings:,} warnings" if audit.warnings else ""
    if audit.faults:
        yield f"NOT OK: {audit.faults:,} faults{warnings}"
    else:
        yield f"OK: everything holds, and the table is the one that its results make{warnings}"
