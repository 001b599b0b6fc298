"""``league verify``: fold a league's log and check everything that must hold in it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from leaguekit.cli import stores
from leaguekit.cli.tables import json_line, pluralize
from leaguekit.games import find_game
from leaguekit.games.base import has_chance
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.events import ResultRecorded
from leaguekit.league.outcomes import record_name
from leaguekit.manager.rounds.pairing_engine import Py4Swiss, installed_version
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.base import LogReader, is_postgres
from leaguekit.store.head_file import MissingEnd, missing_end, read_head

MAX_PRINTED_FINDINGS = 20
EXAMPLES = """examples:
  league verify                                  the newest league under SHARED
  league verify SHARED/agents/…/manager/league.db
  league verify postgresql://user@host/league
  league verify --json                           one JSON object, with everything that was found

Every event must be possible at its position. Each match counts once, with points as ruled. Each result is played again
by the game's rules. Each draw is compared with its commitment, and made again from the league's seed. The table is made
again from the results. The format draws each round again. What a referee did not report, and what another version drew,
cannot be checked: that is counted, and is not a fault.
The beginning of a log is a valid log, too. So the log must also reach the number in league.db.head, which a manager
keeps beside a SQLite store. Without that file there is nothing to compare with. PostgreSQL does not need it.
The league may run meanwhile. The exit code is 0 if all is right, 1 if something is wrong.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    stores.add_format_option(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    try:
        return stores.run(options, lambda reader: _verify(reader, options.store, as_json=options.json), warns=False)
    except MissingEnd:
        return _print_result(Audit(), Completeness(options.store, 0, read_head(options.store)), as_json=options.json)


class Completeness(NamedTuple):
    """How far a log is complete: the number of its last event, and the number in its head file."""

    store: str | Path
    last: int
    head: int | None

    @property
    def is_missing_end(self) -> bool:
        return self.head is not None and self.last < self.head

    @property
    def sentence(self) -> str:
        if self.head is None:
            known = "PostgreSQL keeps a log whole" if is_postgres(self.store) else "nothing to compare with"
            return f"complete as far as event {self.last:,}; {known}"
        if self.is_missing_end:
            return missing_end(self.store, self.last, self.head)
        more = f"; it goes on to event {self.last:,}" if self.last > self.head else ""
        return f"complete as far as event {self.head:,}, as {Path(self.store).name}.head says{more}"


async def _verify(reader: LogReader, store: str | Path, *, as_json: bool) -> int:
    audit = Audit(Py4Swiss() if installed_version() else None)
    # Read before the log, to which a manager may append meanwhile.
    head = read_head(store)
    last = 0
    transcripts = set(await reader.document_names("transcript/"))
    with stores.Progress("events checked") as progress:
        async for one in stores.iterate_events(reader):
            progress.update(one.number)
            last = one.number
            event = audit.take(one.number, one.event)
            if isinstance(event, ResultRecorded) and event.result.details.record_sha256:
                audit.record(event, await reader.read_document(record_name(event.match_id, event.attempt)))
            if isinstance(event, ResultRecorded) and (name := f"transcript/{event.match_id}") in transcripts:
                audit.transcript(event, await reader.read_document(name) or b"")
    return _print_result(audit, Completeness(store, last, head), as_json=as_json)


def _print_result(audit: Audit, complete: Completeness, *, as_json: bool) -> int:
    audit.close()
    print(_as_json(audit, complete) if as_json else "\n".join(_as_text(audit, complete)))
    return 1 if audit.faults or complete.is_missing_end else 0


def _as_json(audit: Audit, complete: Completeness) -> str:
    result = {
        "league_id": audit.league_id,
        "state": audit.league.state,
        "ok": not audit.faults and not complete.is_missing_end,
        "seed_commitment": audit.league.settings.seed_commitment if audit.league_id else None,
        "last_event": complete.last,
        "head": complete.head,
        "completeness": complete.sentence,
        "faults": audit.faults + complete.is_missing_end,
        "warnings": audit.warnings,
        "counts": msgspec.to_builtins(audit.counts),
        "findings": [finding._asdict() for finding in audit.findings],
    }
    return json_line(result)


def _describe_draws(audit: Audit) -> str:
    game = find_game(audit.league.settings.game_name) if audit.league_id else None
    if game is not None and not has_chance(game):
        return "random draws: this game leaves nothing to chance"
    return f"draws opened, {audit.counts.draws_derived} made again from the league's seed"


def _as_text(audit: Audit, complete: Completeness) -> Iterator[str]:
    counts = audit.counts
    yield sanitize_line(f"{audit.league_id or 'No league'}: {audit.league.state}")
    if audit.league_id:
        yield f"SHA-256 of the seed, shown from the beginning: {audit.league.settings.seed_commitment}"
    for count, what in (
        (counts.events, "events in their order"),
        (counts.players, f"players and {counts.referees} referees"),
        (counts.matches, f"matches in {counts.rounds} rounds, {counts.ended} of them ended and counted once"),
        (counts.technical_losses, f"technical losses, {counts.forfeits} of them ruled by the manager"),
        (counts.voids, f"void attempts, {counts.rematches} rematches, {counts.corrections} corrections"),
        (counts.results, f"reports of referees, {counts.outcomes_replayed} of them played again by the rules"),
        (counts.draws_opened, _describe_draws(audit)),
        *([(counts.draws_repeated, "rounds drawn again by the format")] if counts.draws_repeated else []),
        (counts.transcripts, "transcripts held against the results"),
    ):
        yield f"{count:9,} {what}"
    for reason, count in counts.not_checkable.items():
        yield f"{count:9,} not checkable: {sanitize_line(reason)}"
    yield f"{'FAULT' if complete.is_missing_end else '':>9} {sanitize_line(complete.sentence)}"
    for finding in audit.findings[:MAX_PRINTED_FINDINGS]:
        yield f"{'warning' if finding.is_warning else 'FAULT':>9} {sanitize_line(finding)}"
    if (more := audit.faults + audit.warnings - MAX_PRINTED_FINDINGS) > 0:
        yield f"          … and {more:,} more (--json has the first {len(audit.findings):,})"
    warnings = f"; {pluralize(audit.warnings, 'warning')}" if audit.warnings else ""
    if faults := audit.faults + complete.is_missing_end:
        yield f"NOT OK: {pluralize(faults, 'fault')}{warnings}"
    elif not counts.ended:
        yield f"OK so far: everything holds, but no match has ended{warnings}"
    elif counts.not_checkable:
        yield f"OK as far as it can be checked, and the table is the one that its results make{warnings}"
    else:
        yield f"OK: everything holds, and the table is the one that its results make{warnings}"
