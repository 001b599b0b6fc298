"""The table of the dashboard's routes. The router and the OpenAPI description are both made from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import cache, partial, wraps
from typing import Any, NamedTuple, get_type_hints

import msgspec
from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from leaguekit.league import events as e
from leaguekit.league.state import League
from leaguekit.manager.manager import Manager
from leaguekit.transport.server.connection_base import connection_of
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.web import api_types, figures_cache, page_types, pages
from leaguekit.web.api_types import JsonObject
from leaguekit.web.figures_cache import FiguresCache
from leaguekit.web.files import CONTENT_TYPES, page_files
from leaguekit.web.front_page import has_report
from leaguekit.web.matches import MAX_PICTURES, MAX_STEPS, match_page, pictures_page
from leaguekit.web.metrics_exporter import MetricsExporter
from leaguekit.web.openapi import Description, PageDescription, StreamDescription, openapi_document
from leaguekit.web.parameters import BadParameter, Parameter, clamp, read_parameters
from leaguekit.web.projection import Projection
from leaguekit.web.prometheus import CONTENT_TYPE
from leaguekit.web.report.served import ServedReport
from leaguekit.web.report.style import STYLE
from leaguekit.web.response_cache import ResponseCache
from leaguekit.web.responses import accepts_gzip, content_response, error_response, not_found_response
from leaguekit.web.shared_work import Busy
from leaguekit.web.stream import Broadcaster, EventStreamResponse
from leaguekit.web.success_metrics import metrics

MAX_NEWS = 100
# The label, in the metrics, of requests that reached no route.
NO_ROUTE = "other"


class DashboardContext(NamedTuple):
    """What the handlers of the routes work with."""

    manager: Manager
    projection: Projection
    broadcaster: Broadcaster
    figures: FiguresCache
    responses: ResponseCache
    exporter: MetricsExporter
    report: ServedReport


Handler = Callable[[DashboardContext, Request], Awaitable[Response]]


class DashboardRoute(NamedTuple):
    """A path of the dashboard, in Starlette's notation, and what answers requests to it."""

    path: str
    handler: Handler
    # None if OpenAPI does not mention it.
    description: Description | None = None
    # The route's label in the metrics.
    label: str = NO_ROUTE
    # Whether pages of other sites may load it.
    allows_other_sites: bool = False
    # Whether the whole log must have been read before.
    reads_league: bool = True


# Routes of the API

# Makes a page from the context and the request's parameters.
MakePage = Callable[..., Awaitable[JsonObject]]


async def _no_preparation(_context: DashboardContext) -> None: ...


def _page_route(
    path: str,
    summary: str,
    make: MakePage,
    parameters: Iterable[Parameter] = (),
    *,
    max_offset: Callable[[League], int] = lambda league: len(league.table.rows),
    prepare: Callable[[DashboardContext], Awaitable[None]] = _no_preparation,
) -> DashboardRoute:
    """A route that answers with a JSON object, of the type that ``make`` is annotated to return.

    An offset above ``max_offset`` has the same answer as ``max_offset``. ``prepare`` is awaited before ``make``.
    """
    description = PageDescription(summary, get_type_hints(make)["return"], tuple(parameters))

    async def handler(context: DashboardContext, request: Request) -> Response:
        league = context.projection.league
        maxima = {
            "offset": max_offset(league),
            "columns_offset": len(league.table.rows),
            "after": context.projection.number,
        }
        try:
            values = read_parameters(description.parameters, request.path_params, request.query_params)
            clamp(values, maxima)
            content = await context.responses.get(
                f"{path} {values}",
                partial(prepare, context),
                partial(make, context, **values),
                _address_block(request),
                request.receive,
            )
        except BadParameter as error:
            return error_response(str(error), 400)
        except pages.NotFound as error:
            return error_response(str(error), 404)
        except Busy as error:
            return error_response(str(error), 503, {"retry-after": "1"})
        return content_response(content, "application/json", request)

    return DashboardRoute(path, handler, description, path)


def _address_block(request: Request) -> str:
    return address_block(request.client.host if request.client else "")


def _of_projection(make: Callable[..., JsonObject]) -> MakePage:
    """A function that makes a page from the projection alone, as one that makes it from the context."""

    @wraps(make)
    async def made(context: DashboardContext, **values: Any) -> JsonObject:
        return make(context.projection, **values)

    return made


async def _live(context: DashboardContext) -> api_types.Live:
    return context.projection.live(context.manager.world.now())


async def _match(context: DashboardContext, match_id: str) -> page_types.MatchPage:
    manager = context.manager
    return await match_page(context.projection, manager.ledger, match_id, manager.runner.progress.latest.get(match_id))


async def _pictures(context: DashboardContext, match_id: str, offset: int, limit: int) -> page_types.PicturesPage:
    return await pictures_page(context.projection, context.manager.ledger, match_id, offset, limit)


async def _news(context: DashboardContext, after: int | None, limit: int) -> page_types.NewsPage:
    number = context.projection.number
    first = max(0, number - limit) if after is None else after
    # The latest events may not be in the log yet.
    await context.manager.ledger.wait_to_answer()
    stored = await context.manager.ledger.log.read(first, limit)
    news = [context.projection.news_item(one.number, e.decode(one.event)) for one in stored]
    return page_types.NewsPage(seq=number, after=first, news=news)


async def _figures(context: DashboardContext, offset: int, limit: int) -> page_types.FiguresPage:
    page = context.figures.page
    if page is None:
        maximum = figures_cache.MAX_RATED_PLAYERS
        too_many = f"Ratings of more than {maximum} players take long: `league report` makes them."
        return page_types.FiguresPage(
            seq=context.projection.number,
            sentences=[too_many],
            certainty=too_many,
            champions_chance=None,
            alike_chance=None,
            total=0,
            offset=0,
            players=[],
        )
    return structs.replace(page, offset=offset, players=page.players[offset : offset + limit])


async def _metrics(context: DashboardContext) -> page_types.MetricsPage:
    manager = context.manager
    return metrics(context.projection, manager.metrics, manager.runner.standings_delays)


def _limit(maximum: int) -> Parameter:
    return Parameter("limit", "How many to show at most", default=maximum, maximum=maximum)


_OFFSET = Parameter("offset", "How many to leave out", default=0, maximum=1_000_000)
_COLUMNS_OFFSET = Parameter("columns_offset", "How many columns to leave out", default=0, maximum=1_000_000)
_ROUND_ID = Parameter("round_id", "From 1", maximum=1_000_000)
_MATCH_ID = Parameter("match_id", "Such as R2M3")
_AGENT_ID = Parameter("agent_id", "Such as P01 or REF01")
_AFTER = Parameter("after", "The number of an event", maximum=1_000_000_000)
_ROWS = (_OFFSET, _limit(pages.MAX_ROWS))

_API_ROUTES = (
    _page_route("/api/live", "The front page: what the stream's snapshot has", _live),
    _page_route("/api/league", "The league and its settings", _of_projection(pages.league_page)),
    _page_route("/api/standings", "The table", _of_projection(pages.standings_page), _ROWS),
    _page_route(
        "/api/rounds",
        "The rounds",
        _of_projection(pages.rounds_page),
        (_OFFSET, _limit(pages.MAX_ROUNDS)),
        max_offset=lambda league: len(league.rounds),
    ),
    _page_route(
        "/api/rounds/{round_id}",
        "A round and its matches",
        _of_projection(pages.round_page),
        (_ROUND_ID, _OFFSET, _limit(pages.MAX_MATCHES)),
        max_offset=lambda league: len(league.matches),
    ),
    _page_route(
        "/api/matches/{match_id}",
        "A match: what was said in it, the ruling and its evidence, the draw, the game step by step",
        _match,
        (_MATCH_ID,),
    ),
    _page_route(
        "/api/pictures/{match_id}",
        "The pictures of the steps of a match that is over",
        _pictures,
        (_MATCH_ID, _OFFSET, _limit(MAX_PICTURES)),
        max_offset=lambda _: MAX_STEPS,
    ),
    _page_route(
        "/api/agents",
        "All agents",
        _of_projection(pages.agents_page),
        _ROWS,
        max_offset=lambda league: len(league.players) + len(league.referees),
    ),
    _page_route(
        "/api/agents/{agent_id}",
        "An agent: its record, answer times, errors, and what its author needs to fix",
        _of_projection(pages.agent_page),
        (_AGENT_ID, *_ROWS),
        max_offset=lambda league: len(league.matches),
    ),
    _page_route(
        "/api/crosstable",
        "Everybody against everybody",
        _of_projection(pages.crosstable_page),
        (*_ROWS, _COLUMNS_OFFSET),
    ),
    _page_route("/api/points", "Points over the rounds", _of_projection(pages.points_page), _ROWS),
    _page_route(
        "/api/figures",
        "Ratings, and what of the table is more than chance",
        _figures,
        _ROWS,
        prepare=lambda context: context.figures.refresh(),
    ),
    _page_route("/api/times", "The distribution of answer times", _of_projection(pages.times_page), _ROWS),
    _page_route(
        "/api/news",
        "The events in words; without after, the latest",
        _news,
        (_AFTER, _limit(MAX_NEWS)),
    ),
    _page_route(
        "/api/operations",
        "What the operators did, in words, the latest last",
        _of_projection(pages.operations_page),
    ),
    _page_route(
        "/api/metrics",
        "The success metrics of the specification, beside their goals",
        _metrics,
    ),
)


# Other routes


async def _static_file(_context: DashboardContext, request: Request) -> Response:
    file = page_files().get(request.path_params.get("name", "index.html"))
    if file is None:
        return not_found_response("There is no such file.", request)
    return content_response(file.content, file.content_type, request)


async def _report(context: DashboardContext, request: Request) -> Response:
    if not has_report(context.manager.ledger.league):
        return not_found_response("The league has no report here before its end, and none if it is large.", request)
    try:
        return content_response(await context.report.content(request.receive), CONTENT_TYPES["html"], request)
    except Busy as error:
        return error_response(str(error), 503, {"retry-after": "1"})


async def _report_style(_context: DashboardContext, _request: Request) -> Response:
    return Response(STYLE, media_type="text/css")


async def _openapi(_context: DashboardContext, _request: Request) -> Response:
    return Response(_encoded_document(), media_type="application/json")


@cache
def _encoded_document() -> bytes:
    return msgspec.json.encode(openapi_document(DESCRIPTIONS))


async def _events(context: DashboardContext, request: Request) -> Response:
    connection, address = connection_of(request.scope), _address_block(request)
    if connection is None or not context.broadcaster.has_room_for(address):
        return error_response("Too many are watching. Try again later, or ask /api/live now and then.", 503)
    return EventStreamResponse(context.broadcaster, connection, address, compressed=accepts_gzip(request))


async def _prometheus(context: DashboardContext, _request: Request) -> Response:
    headers = {"content-type": CONTENT_TYPE, "cache-control": "no-store"}
    return Response(context.exporter.text(), headers=headers)


async def _not_found(_context: DashboardContext, request: Request) -> Response:
    return not_found_response("There is nothing here. /openapi.json describes what there is.", request)


_EVENTS_DESCRIPTION = StreamDescription(
    "The league as it goes",
    "Server-sent events: first `snapshot`, then `change` at most four times per second; each with its sequence "
    "number as `id`. A page that comes back gets a new snapshot, and so does one that was too slow.",
    {"snapshot": api_types.Live, "change": api_types.Change},
)

ROUTES = (
    DashboardRoute("/", _static_file, label="/", allows_other_sites=True, reads_league=False),
    DashboardRoute("/static/{name:path}", _static_file, label="/static", allows_other_sites=True, reads_league=False),
    DashboardRoute("/report", _report, label="/report", allows_other_sites=True),
    DashboardRoute("/report.css", _report_style, label="/static", reads_league=False),
    DashboardRoute("/openapi.json", _openapi, label="/openapi.json", reads_league=False),
    *_API_ROUTES,
    DashboardRoute("/events", _events, _EVENTS_DESCRIPTION, label="/events"),
    DashboardRoute("/metrics", _prometheus, label="/metrics"),
)
# For every other path.
NOT_FOUND = DashboardRoute("", _not_found)
DESCRIPTIONS: dict[str, Description] = {
    route.path: route.description for route in ROUTES if route.description is not None
}
