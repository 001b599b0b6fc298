"""The dashboard's application: the page, its API, the stream of events, and metrics for operators.

It is created at the first request for it. Then it reads the log from the beginning, and follows it from there on.
"""

from __future__ import annotations

import asyncio
import logging
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router, request_response
from starlette.types import Receive, Scope, Send

from leaguekit.league import events as e
from leaguekit.manager.ledger import PAGE
from leaguekit.manager.manager import Manager
from leaguekit.store.base import StoreError
from leaguekit.web.figures_cache import FiguresCache
from leaguekit.web.metrics_exporter import MetricsExporter
from leaguekit.web.projection import Projection
from leaguekit.web.report.served import ServedReport
from leaguekit.web.response_cache import ResponseCache
from leaguekit.web.responses import error_response
from leaguekit.web.routes import NO_ROUTE, NOT_FOUND, ROUTES, DashboardContext, DashboardRoute
from leaguekit.web.stream import Broadcaster

log = logging.getLogger(__name__)


class Dashboard:
    """The ASGI application of one manager's dashboard."""

    def __init__(self, manager: Manager) -> None:
        self.manager = manager
        self.projection = Projection(manager.ledger.league, manager.runner, manager.gateway_page)
        self.broadcaster = Broadcaster(manager.world, manager.ledger, self.projection)
        self.responses = ResponseCache(manager.ledger)
        self._exporter = MetricsExporter(manager, self.projection, self.broadcaster)
        self._report = ServedReport(manager.world, manager.ledger)
        self._context = DashboardContext(
            manager,
            self.projection,
            self.broadcaster,
            FiguresCache(manager.world, self.projection),
            self.responses,
            self._exporter,
            self._report,
        )
        self._router = Router(
            [Route(route.path, partial(self._respond, route)) for route in ROUTES],
            redirect_slashes=False,
            default=request_response(partial(self._respond, NOT_FOUND)),
        )
        self._catching_up: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] in ("GET", "HEAD"):
            await self._router(scope, receive, send)
            return
        refusal = error_response("This can only be looked at: use GET.", 405, {"allow": "GET, HEAD"})
        await refusal(scope, receive, send)
        self._exporter.count_request(NO_ROUTE, refusal.status_code)

    async def _respond(self, route: DashboardRoute, request: Request) -> Response:
        """Answer a request by its route, unless it is from another site or the log has failed; and count it."""
        label = route.label
        if not route.allows_other_sites and request.headers.get("sec-fetch-site") == "cross-site":
            label = NO_ROUTE
            response = error_response("Pages of other sites get nothing from here: open this address by itself.", 403)
        else:
            try:
                if route.reads_league:
                    await self.catch_up()
                response = await route.handler(self._context, request)
            except StoreError as error:
                # The text of the error may say where the store is, and that is not public.
                log.debug("a page cannot be shown: %s", error)
                sentence = "The store of this league does not work now. Try again in a while."
                label, response = NO_ROUTE, error_response(sentence, 503)
        self._exporter.count_request(label, response.status_code)
        return response

    def close(self) -> None:
        """Make no more responses. Clients that wait for one are refused."""
        self.responses.close()
        self._report.close()

    # Following the log

    async def catch_up(self) -> None:
        """Wait until the projection has all events that are in the log so far."""
        if self._catching_up is None:
            self._catching_up = asyncio.create_task(self._read_log())
        await asyncio.shield(self._catching_up)

    async def _read_log(self) -> None:
        ledger = self.manager.ledger
        known, meanwhile = ledger.number, list[e.Event]()
        ledger.listeners.append(meanwhile.append)
        try:
            await ledger.wait_to_answer()
            while (number := self.projection.number) < known:
                for stored in await ledger.log.read(number, min(PAGE, known - number)):
                    self.projection.apply(stored.number, e.decode(stored.event))
        except StoreError:
            # The next request makes it read on from there.
            self._catching_up = None
            raise
        finally:
            ledger.listeners.remove(meanwhile.append)
        for event in meanwhile:
            self._apply(event)
        ledger.listeners.append(self._apply)

    def _apply(self, event: e.Event) -> None:
        self.projection.apply(self.projection.number + 1, event)
