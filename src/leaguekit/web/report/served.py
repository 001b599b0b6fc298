"""The report of a league that is over, as a page of the dashboard."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import AsyncIterator
from time import perf_counter

from starlette.types import Receive

from leaguekit.agents.world import World
from leaguekit.league import events as e
from leaguekit.league.analysis.figures import figures
from leaguekit.league.flat_tables import LeagueTables
from leaguekit.manager.ledger import PAGE, Ledger
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.messages import MatchTranscript
from leaguekit.web.report.page import LINKED_STYLE, Period, Report, ReportedMatch
from leaguekit.web.responses import Content, etag_of
from leaguekit.web.shared_work import SharedTask, TimeShareLimiter

# The share of the time that may be spent on making reports.
REPORT_TIME_SHARE = 0.25


class ServedReport:
    """Makes the report when it is asked for, and again only after further events."""

    def __init__(self, world: World, ledger: Ledger) -> None:
        self._world = world
        self._ledger = ledger
        self._made: Content | None = None
        # The number of the last event in it.
        self._number = 0
        self._task: SharedTask[Content] | None = None
        self._limiter = TimeShareLimiter(REPORT_TIME_SHARE)

    async def content(self, receive: Receive) -> Content:
        """The report as it is now. Raises Busy, and ClientDisconnect if the client leaves."""
        if self._made is not None and self._number == self._ledger.number:
            return self._made
        if self._task is None or self._task.is_over:
            self._task = SharedTask(self._make())
        return await self._task.result(receive)

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _make(self) -> Content:
        await self._limiter.wait()
        await self._ledger.wait_to_answer()
        began = perf_counter()
        listing, number, since, until = LeagueTables(), 0, "", ""
        while page := await self._ledger.log.read(number, PAGE):
            for stored in page:
                event = e.decode(stored.event)
                listing.take(event)
                since, until = since or event.at, event.at
            number = page[-1].number
        found = await self._world.blocking(figures, listing.league)
        report = Report(listing.league, found, Period(since, until), [])
        pieces = []
        async for piece in report.page(self._matches(listing, report), style=LINKED_STYLE):
            pieces.append(piece)
            # Let the event loop serve others between two matches.
            await asyncio.sleep(0)
        body = "".join(pieces).encode()
        compressed = await self._world.blocking(gzip.compress, body)
        self._made, self._number = Content(body, compressed, etag_of(body)), number
        self._limiter.record(perf_counter() - began)
        return self._made

    async def _matches(self, listing: LeagueTables, report: Report) -> AsyncIterator[ReportedMatch]:
        reasons = {row.match_id: row.reason for row in listing.results()}
        for match in listing.league.matches.values():
            wanted = match.has_ended and report.full_from is None
            kept = await self._ledger.log.read_document(f"transcript/{match.id}") if wanted else None
            transcript = None if kept is None else of_type(MatchTranscript, decode(kept))
            yield ReportedMatch(match, reasons.get(match.id), transcript)
