"""Metrics for the operator's monitoring: the manager's figures for Prometheus, and how late its event loop is."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import perf_counter

from leaguekit.league.evidence import TIMEOUT, UNREACHABLE
from leaguekit.league.state import League
from leaguekit.manager.manager import Manager
from leaguekit.manager.metrics import Histogram
from leaguekit.web.evidence_counts import merge_histograms
from leaguekit.web.projection import Projection
from leaguekit.web.prometheus import Exposition, Labels
from leaguekit.web.stream import Broadcaster

LAG_INTERVAL_SECONDS = 0.5
# The share of the time that may be spent on making the text.
EXPOSITION_TIME_SHARE = 0.25


class LoopLag:
    """Measures how late the event loop runs a timer, from the first call of ``start`` on."""

    def __init__(self) -> None:
        self.histogram = Histogram()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        if self._timer is None:
            self._schedule()

    def _schedule(self) -> None:
        # Not the loop's own clock: in virtual time that does not advance while the loop is busy.
        due = perf_counter() + LAG_INTERVAL_SECONDS
        self._timer = asyncio.get_running_loop().call_later(LAG_INTERVAL_SECONDS, self._record, due)

    def _record(self, due: float) -> None:
        self.histogram.add(max(0.0, perf_counter() - due))
        self._schedule()


class MetricsExporter:
    """Makes the text of /metrics, and counts the requests to the dashboard for it."""

    def __init__(self, manager: Manager, projection: Projection, broadcaster: Broadcaster) -> None:
        self._manager = manager
        self._projection = projection
        self._broadcaster = broadcaster
        self._requests: Counter[tuple[str, int]] = Counter()
        self._lag = LoopLag()
        self._cached = b""
        self._expires_at = 0.0

    def count_request(self, route: str, status: int) -> None:
        self._requests[route, status] += 1

    def text(self) -> bytes:
        """The text; the last one if making it again would take too much of the time."""
        self._lag.start()
        if (now := asyncio.get_running_loop().time()) >= self._expires_at:
            began = perf_counter()
            self._cached = exposition(self._manager, self._projection, self._broadcaster, self._requests, self._lag)
            self._expires_at = now + (perf_counter() - began) / EXPOSITION_TIME_SHARE
        return self._cached


def exposition(
    manager: Manager,
    projection: Projection,
    broadcaster: Broadcaster,
    requests: Counter[tuple[str, int]],
    lag: LoopLag,
) -> bytes:
    """The text of /metrics."""
    league, meters, text = projection.league, manager.metrics, Exposition()
    evidence, requests_to_players = list(projection.evidence_counts.values()), list(league.requests.values())
    no_labels: Labels = {}
    text.counter(
        "league_http_requests_total",
        "Requests to the dashboard, by route and status",
        [({"route": route, "status": str(status)}, count) for (route, status), count in sorted(requests.items())],
    )
    text.histogram(
        "league_rpc_seconds",
        "Requests to /mcp that were answered with a result, by method",
        [({"method": method}, one) for method, one in sorted(meters.answered.items())],
    )
    text.counter(
        "league_rpc_errors_total",
        "Requests to /mcp that were answered with an error, by method and code",
        [({"method": method, "code": code}, count) for (method, code), count in sorted(meters.refused.items())],
    )
    text.gauge("league_matches_in_play", "Matches that a referee has in hand", [(no_labels, _in_play(league))])
    text.gauge("league_matches_waiting", "Matches that wait for a referee", [(no_labels, len(league.waiting))])
    text.gauge("league_matches_held", "Matches that wait for the operator", [(no_labels, len(league.held))])
    played = len(league.matches) - league.outstanding
    text.gauge("league_matches_played", "Matches that have ended", [(no_labels, played)])
    text.gauge("league_matches", "Matches of the schedule", [(no_labels, len(league.matches))])
    text.gauge("league_round", "The round announced last", [(no_labels, league.current_round)])
    text.gauge("league_paused", "Whether the operator has paused the league", [(no_labels, int(league.paused))])
    agents = [("player", player.state) for player in league.players.values()]
    agents += [("referee", referee.state) for referee in league.referees.values()]
    text.gauge(
        "league_agents",
        "Agents by role and state; the breaker of a SUSPENDED one is open",
        [({"role": role, "state": state}, count) for (role, state), count in sorted(Counter(agents).items())],
    )
    text.counter(
        "league_match_failures_total",
        "Requests to players that had no answer, by code",
        [({"code": code}, sum(one.error_count(code) for one in evidence)) for code in (TIMEOUT, UNREACHABLE)],
    )
    text.counter(
        "league_match_wrong_answers_total",
        "Answers that did not count",
        [(no_labels, sum(one.wrong for one in requests_to_players))],
    )
    text.counter(
        "league_match_retries_total",
        "Errors after which a player was asked again",
        [(no_labels, sum(one.retried for one in requests_to_players))],
    )
    text.counter(
        "league_match_recoveries_total",
        "Of those, overcome by a retry",
        [(no_labels, sum(one.recovered for one in requests_to_players))],
    )
    text.histogram(
        "league_answer_seconds",
        "How long players took to answer",
        [(no_labels, merge_histograms([one.times for one in evidence]))],
    )
    text.histogram(
        "league_log_commit_seconds",
        "From recording events until they were durable",
        [(no_labels, manager.ledger.writes)],
    )
    text.counter("league_log_events_total", "Events in the log", [(no_labels, manager.ledger.number)])
    text.histogram(
        "league_standings_seconds",
        "From a result until the standings went out",
        [(no_labels, manager.runner.standings_delays)],
    )
    text.histogram(
        "league_loop_lag_seconds", "How late timers are, since the first look here", [(no_labels, lag.histogram)]
    )
    text.gauge("league_spectators", "Open event streams", [(no_labels, len(broadcaster))])
    text.counter(
        "league_stream_bytes_total", "Bytes of changes sent to spectators", [(no_labels, broadcaster.sent_bytes)]
    )
    return text.text()


def _in_play(league: League) -> int:
    return sum(len(referee.assigned_matches) for referee in league.referees.values())
