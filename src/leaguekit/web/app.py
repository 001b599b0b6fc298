"""The dashboard's application: the page, its API, the stream of events, and figures for operations.

It is made when somebody first looks. Then it reads the log from the beginning, and follows it from there on.
"""

from __future__ import annotations

import asyncio
import gzip
import logging
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import blake2b
from time import perf_counter, sleep, thread_time
from typing import Any, NamedTuple

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from leaguekit.league import events as e
from leaguekit.league.figures import figures
from leaguekit.league.snapshot import restore, save
from leaguekit.league.state import League
from leaguekit.manager.ledger import PAGE
from leaguekit.manager.manager import Manager
from leaguekit.store.base import StoreError
from leaguekit.transport.server.connection import LINE
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.web import api_types, page_types, pages
from leaguekit.web.files import File, page_files
from leaguekit.web.matches import match_page
from leaguekit.web.metrics_exporter import LoopLag, exposition
from leaguekit.web.openapi import Described, Parameter, document
from leaguekit.web.projection import Projection, news_item
from leaguekit.web.prometheus import CONTENT_TYPE
from leaguekit.web.shared_work import Busy, Shared, TimeShareLimiter
from leaguekit.web.stream import HEAD, PAUSE, SHARE, Broadcaster
from leaguekit.web.success_metrics import metrics

log = logging.getLogger(__name__)

# Answers are made once for all who ask within the time that the stream too takes its time, and so many are kept.
MAX_KEPT, MAX_KEPT_BYTES = 256, 8_000_000
# Different answers that are made at the same time: in all, and for one address.
MAX_MAKING, MAX_MAKING_EACH = 64, 16
# The part of the time that is spent on making answers, and on computing figures.
ANSWERS_PART, FIGURES_PART = 0.25, 0.25
# A shorter text is not worth compressing.
COMPRESS_FROM = 1_000
MAX_NEWS = 100
# Fitting ratings takes a third of a second for a hundred players, and eight times that for twice as many.
MAX_RATED = 200

FIGURES = "/api/figures"

Make = Callable[["Dashboard", dict[str, Any]], Awaitable[api_types.Shape]]


class BadParameter(Exception):
    """A parameter cannot be what it is; the text says what it can be."""


class Stopped(Exception):
    """Figures are no longer wanted."""


class KeptFigures(NamedTuple):
    """The figures after an event, and until when they are shown although there are later events."""

    number: int
    until: float
    page: page_types.FiguresPage


class Answer(NamedTuple):
    """An answer of the API, and until when it may be given again."""

    until: float
    body: bytes
    compressed: bytes | None
    etag: str


OFFSET = Parameter("offset", "How many to leave out", default=0, most=1_000_000)


def _limit(most: int) -> Parameter:
    return Parameter("limit", "How many to show at most", default=most, most=most)


_ROWS = (OFFSET, _limit(pages.MAX_ROWS))
_COLUMNS = Parameter("columns_offset", "How many columns to leave out", default=0, most=1_000_000)


def _page(make: Callable[..., api_types.Shape]) -> Make:
    async def made(dashboard: Dashboard, asked: dict[str, Any]) -> api_types.Shape:
        return make(dashboard.shown, **asked)

    return made


async def _live(dashboard: Dashboard, _asked: dict[str, Any]) -> api_types.Shape:
    return dashboard.shown.live(dashboard.manager.world.now())


async def _match(dashboard: Dashboard, asked: dict[str, Any]) -> api_types.Shape:
    name, conductor = asked["match_id"], dashboard.manager.conductor
    return await match_page(dashboard.shown, dashboard.manager.ledger, name, conductor.progress.get(name))


async def _news(dashboard: Dashboard, asked: dict[str, Any]) -> api_types.Shape:
    limit, number = asked["limit"], dashboard.shown.number
    after = max(0, number - limit) if asked["after"] is None else asked["after"]
    await dashboard.manager.ledger.settled()
    stored = await dashboard.manager.ledger.log.read(after, limit)
    told = [news_item(one.number, e.decode(one.event)) for one in stored]
    return page_types.NewsPage(seq=number, after=after, news=told)


async def _figures(dashboard: Dashboard, asked: dict[str, Any]) -> api_types.Shape:
    whole = dashboard.figures
    if whole is None:
        too_many = f"Ratings of more than {MAX_RATED} players take long: `league report` makes them."
        return page_types.FiguresPage(
            seq=dashboard.shown.number, sentences=[too_many], champions_chance=None, alike_chance=None, total=0,
            offset=0, players=[],
        )  # fmt: skip
    offset, limit = asked["offset"], asked["limit"]
    return structs.replace(whole, offset=offset, players=whole.players[offset : offset + limit])


def _computed(snapshot: bytes, stop: threading.Event) -> page_types.FiguresPage | None:
    """The figures of all players; None if they were no longer wanted."""

    def check() -> None:
        # The event loop's thread goes first.
        sleep(0)
        if stop.is_set():
            raise Stopped

    league, number = restore(snapshot)
    try:
        return pages.figures(number, figures(league, check))
    except Stopped:
        return None


async def _metrics(dashboard: Dashboard, _asked: dict[str, Any]) -> api_types.Shape:
    manager = dashboard.manager
    return metrics(dashboard.shown, manager.meters, manager.conductor.standings_delays)


API: dict[Described, Make] = {
    Described("/api/live", "The front page: what the stream's snapshot has", api_types.Live): _live,
    Described("/api/league", "The league and its settings", page_types.LeaguePage): _page(pages.league),
    Described("/api/standings", "The table", page_types.StandingsPage, _ROWS): _page(pages.standings),
    Described("/api/rounds", "The rounds", page_types.RoundsPage, (OFFSET, _limit(pages.MAX_ROUNDS))): _page(
        pages.rounds
    ),
    Described(
        "/api/rounds/{round_id}",
        "A round and its matches",
        page_types.RoundPage,
        (Parameter("round_id", "From 1", most=1_000_000), OFFSET, _limit(pages.MAX_MATCHES)),
    ): _page(pages.round_),
    Described(
        "/api/matches/{match_id}",
        "A match: what was said in it, the ruling and its evidence, the draw, the game step by step",
        page_types.MatchPage,
        (Parameter("match_id", "Such as R2M3"),),
    ): _match,
    Described("/api/agents", "All agents", page_types.AgentsPage, _ROWS): _page(pages.agents),
    Described(
        "/api/agents/{agent_id}",
        "An agent: its record, answer times, errors, and what its author needs to fix",
        page_types.AgentPage,
        (Parameter("agent_id", "Such as P01 or REF01"), OFFSET, _limit(pages.MAX_ROWS)),
    ): _page(pages.agent),
    Described("/api/crosstable", "Everybody against everybody", page_types.CrossTable, (*_ROWS, _COLUMNS)): _page(
        pages.crosstable
    ),
    Described("/api/points", "Points over the rounds", page_types.PointsPage, _ROWS): _page(pages.points),
    Described(FIGURES, "Ratings, and what of the table is more than chance", page_types.FiguresPage, _ROWS): (_figures),
    Described("/api/times", "The distribution of answer times", page_types.TimesPage, _ROWS): _page(pages.times),
    Described(
        "/api/news",
        "The events in words; without after, the latest",
        page_types.NewsPage,
        (Parameter("after", "The number of an event", most=1_000_000_000), _limit(MAX_NEWS)),
    ): _news,
    Described("/api/operations", "What the operators did, in words, the latest last", page_types.NewsPage): _page(
        pages.operations
    ),
    Described("/api/metrics", "The success metrics of the specification, beside their goals", page_types.MetricsPage): (
        _metrics
    ),
}


class Dashboard:
    """The ASGI application of one manager's dashboard."""

    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.shown = Projection(manager.ledger.league, manager.conductor)
        self.broadcaster = Broadcaster(manager.world, manager.ledger, self.shown, manager.conductor.progress)
        self.lag = LoopLag()
        self._requests: Counter[tuple[str, int]] = Counter()
        self._answers: dict[str, Answer] = {}
        self._kept_bytes = 0
        self._making: dict[str, Shared[Answer]] = {}
        self._making_pace = TimeShareLimiter(ANSWERS_PART)
        self._figures: KeptFigures | None = None
        self._computing: Shared[None] | None = None
        self._computing_pace = TimeShareLimiter(FIGURES_PART)
        self._one_computation = asyncio.Lock()
        self._exposition: tuple[float, bytes] = (0.0, b"")
        self._is_closed = False
        self._opening: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route, answer = await self._routed(scope, receive, send)
        if answer is not None:
            await answer(scope, receive, send)
            self._requests[route, answer.status_code] += 1

    async def _routed(self, scope: Scope, receive: Receive, send: Send) -> tuple[str, Response | None]:
        """What a path leads to, and the answer to it; None for a stream, which answers for itself."""
        path = scope["path"]
        request = Request(scope)
        if request.method not in ("GET", "HEAD"):
            return "other", _problem("This can only be looked at: use GET.", 405, allow="GET, HEAD")
        if path == "/":
            return "/", _file(page_files()["index.html"], request)
        if path.startswith("/static/"):
            file = page_files().get(path.removeprefix("/static/"))
            return "/static", _problem("There is no such file.", 404) if file is None else _file(file, request)
        if request.headers.get("sec-fetch-site") == "cross-site":
            return "other", _problem("Pages of other sites get nothing from here: open this address by itself.", 403)
        if path == "/openapi.json":
            return path, Response(_description(), media_type="application/json")
        try:
            await self.opened()
            if path == "/events":
                return path, await self._stream(scope, receive, send)
            if path == "/metrics":
                return path, await self._exposed()
            return await self._asked(request, path, receive)
        except StoreError as error:
            # Where the store is concerns nobody who looks.
            log.debug("a page cannot be shown: %s", error)
            return "other", _problem("The store of this league does not work now. Try again in a while.", 503)

    def close(self) -> None:
        """Make no more answers. Clients that wait for one are refused."""
        self._is_closed = True
        for making in self._making.values():
            making.cancel()

    # Following the log

    async def opened(self) -> None:
        """Wait until everything that is in the log so far has been taken."""
        if self._opening is None:
            self._opening = asyncio.create_task(self._open())
        await asyncio.shield(self._opening)

    async def _open(self) -> None:
        ledger = self.manager.ledger
        known, meanwhile = ledger.number, list[e.Event]()
        ledger.listeners.append(meanwhile.append)
        try:
            await ledger.settled()
            while (number := self.shown.number) < known:
                for one in await ledger.log.read(number, min(PAGE, known - number)):
                    self.shown.take(one.number, e.decode(one.event))
        except StoreError:
            # The next who looks has it read on from there.
            self._opening = None
            raise
        finally:
            ledger.listeners.remove(meanwhile.append)
        for event in meanwhile:
            self._take(event)
        ledger.listeners.append(self._take)

    def _take(self, event: e.Event) -> None:
        self.shown.take(self.shown.number + 1, event)

    # Answering

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> Response | None:
        line = scope.get("extensions", {}).get(LINE, {}).get(LINE)
        address = address_block(scope["client"][0] if scope["client"] else "")
        if line is None or not self.broadcaster.has_room(address):
            return _problem("Too many are watching. Try again later, or ask /api/live now and then.", 503)
        compressed = "gzip" in Request(scope).headers.get("accept-encoding", "")
        head = [*HEAD, (b"content-encoding", b"gzip")] if compressed else HEAD
        await send({"type": "http.response.start", "status": 200, "headers": head})
        line.become_stream()
        self._requests["/events", 200] += 1
        try:
            await self.broadcaster.join(line, address, compressed=compressed)
            while (await receive())["type"] != "http.disconnect":
                pass
        finally:
            self.broadcaster.leave(line)
        return None

    async def _exposed(self) -> Response:
        self.lag.watch()
        until, text = self._exposition
        if (now := asyncio.get_running_loop().time()) >= until:
            began = perf_counter()
            text = exposition(self.manager, self.shown, self.broadcaster, self._requests, self.lag)
            self._exposition = (now + (perf_counter() - began) / ANSWERS_PART, text)
        return Response(text, headers={"content-type": CONTENT_TYPE, "cache-control": "no-store"})

    async def _asked(self, request: Request, path: str, receive: Receive) -> tuple[str, Response]:
        found = _found(path)
        if found is None:
            return "other", _problem("There is nothing here. /openapi.json describes what there is.", 404)
        described, in_path = found
        try:
            asked = _parameters(described, in_path, request)
            _clamp(asked, described, self.shown)
            answer = await self._answered(described, asked, request, receive)
        except BadParameter as error:
            return described.path, _problem(str(error), 400)
        except pages.NotFound as error:
            return described.path, _problem(str(error), 404)
        except Busy as error:
            return described.path, _problem(str(error), 503, **{"retry-after": "1"})
        headers = {"content-type": "application/json", "etag": answer.etag, "cache-control": "no-cache"}
        return described.path, _sent(answer.body, answer.compressed, headers, request)

    async def _answered(
        self, described: Described, asked: dict[str, Any], request: Request, receive: Receive
    ) -> Answer:
        key = f"{described.path} {asked}"
        kept = self._answers.get(key)
        if kept is not None and asyncio.get_running_loop().time() < kept.until:
            return kept
        making = self._making.get(key)
        if making is None or making.is_over:
            address = address_block(request.client.host if request.client else "")
            self._check_room(address)
            making = self._making[key] = Shared(self._made(key, described, asked), address)
        return await making.result(receive)

    def _check_room(self, address: str) -> None:
        self._making = {key: making for key, making in self._making.items() if not making.is_over}
        own = sum(making.address == address for making in self._making.values())
        if self._is_closed:
            raise Busy("The manager is stopping.")
        if len(self._making) >= MAX_MAKING or own >= MAX_MAKING_EACH:
            raise Busy("Too many different pages are asked for at once. Try again in a second.")

    async def _made(self, key: str, described: Described, asked: dict[str, Any]) -> Answer:
        if described.path == FIGURES:
            await self._compute_figures()
        await self._making_pace.turn()
        worked = thread_time()
        body = msgspec.json.encode(await API[described](self, asked))
        # The time in which the log was waited for is no work.
        took = thread_time() - worked
        self._making_pace.rest(took)
        # Nothing is shown before it is written down.
        await self.manager.ledger.settled()
        began = perf_counter()
        compressed = gzip.compress(body, 6, mtime=0) if len(body) >= COMPRESS_FROM else None
        etag = f'W/"{blake2b(body, digest_size=9).hexdigest()}"'
        took += perf_counter() - began
        self._making_pace.rest(perf_counter() - began)
        size = len(body) + len(compressed or b"")
        if len(self._answers) >= MAX_KEPT or self._kept_bytes + size > MAX_KEPT_BYTES:
            self._answers.clear()
            self._kept_bytes = 0
        self._kept_bytes += size
        until = asyncio.get_running_loop().time() + max(PAUSE, took / SHARE)
        answer = self._answers[key] = Answer(until, body, compressed, etag)
        return answer

    # Figures

    @property
    def figures(self) -> page_types.FiguresPage | None:
        """The figures of all players as they were last computed; None if there are too many players."""
        return None if self._figures is None or self._is_too_large else self._figures.page

    @property
    def _is_too_large(self) -> bool:
        return len(self.shown.league.table.rows) > MAX_RATED

    async def _compute_figures(self) -> None:
        """Compute the figures, unless those that are kept are recent enough."""
        kept = self._figures
        if kept is not None and (kept.number == self.shown.number or asyncio.get_running_loop().time() < kept.until):
            return
        if self._is_too_large:
            return
        if self._computing is None or self._computing.is_over:
            self._computing = Shared(self._compute())
        await self._computing.result()

    async def _compute(self) -> None:
        """Compute the figures in a thread, one computation at a time. Cancelled, it waits for the thread to end."""
        async with self._one_computation:
            await self._computing_pace.turn()
            began, stop, number = perf_counter(), threading.Event(), self.shown.number
            # Of a copy, for meanwhile the league goes on.
            work = self.manager.world.blocking(_computed, save(self.shown.league, number), stop)
            working = asyncio.ensure_future(work)
            try:
                await asyncio.wait((working,))
            except asyncio.CancelledError:
                stop.set()
                await asyncio.wait((working,))
                raise
            finally:
                took = perf_counter() - began
                self._computing_pace.rest(took)
            if (page := working.result()) is not None:
                until = asyncio.get_running_loop().time() + max(PAUSE, took / SHARE)
                self._figures = KeptFigures(number, until, page)


def _found(path: str) -> tuple[Described, str] | None:
    """What a path means, and what stands in it where the description has a parameter."""
    head, _, last = path.rpartition("/")
    for described in API:
        if described.path == path:
            return described, ""
        if "{" in described.path and described.path.partition("/{")[0] == head and last:
            return described, last
    return None


def _parameters(described: Described, in_path: str, request: Request) -> dict[str, Any]:
    asked: dict[str, Any] = {}
    for one in described.parameters:
        is_in_path = f"{{{one.name}}}" in described.path
        text = in_path if is_in_path else request.query_params.get(one.name)
        if is_in_path and one.most is None:
            asked[one.name] = text
        elif text is None:
            asked[one.name] = one.default
        else:
            most = one.most or 0
            if not (text.isascii() and text.isdecimal() and len(text) <= 10 and int(text) <= most):
                raise BadParameter(f"{one.name} must be a number from 0 to {most:,}, got {text[:50]!r}.")
            asked[one.name] = int(text)
    return asked


def _clamp(asked: dict[str, Any], described: Described, shown: Projection) -> None:
    """Lower numbers that lie beyond all that there is: what they ask for is the same."""
    league = shown.league
    most = {
        "offset": _TOTALS.get(described.path, _players)(league),
        "columns_offset": len(league.table.rows),
        "after": shown.number,
    }
    for name in asked.keys() & most.keys():
        if asked[name] is not None:
            asked[name] = min(asked[name], most[name])


def _players(league: League) -> int:
    return len(league.table.rows)


_TOTALS: dict[str, Callable[[League], int]] = {
    "/api/rounds": lambda league: len(league.rounds),
    "/api/rounds/{round_id}": lambda league: len(league.matches),
    "/api/agents": lambda league: len(league.players) + len(league.referees),
    "/api/agents/{agent_id}": lambda league: len(league.matches),
}


@cache
def _description() -> bytes:
    return msgspec.json.encode(document(API))


def _file(file: File, request: Request) -> Response:
    headers = {"content-type": file.content_type, "etag": file.etag, "cache-control": "no-cache"}
    return _sent(file.content, file.compressed, headers, request)


def _sent(body: bytes, compressed: bytes | None, headers: dict[str, str], request: Request) -> Response:
    if headers["etag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers["vary"] = "accept-encoding"
    if compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(compressed, headers={**headers, "content-encoding": "gzip"})
    return Response(body, headers=headers)


def _problem(sentence: str, status: int, **headers: str) -> Response:
    return JSONResponse({"error": sentence}, status, headers)
