"""Metrics for the operator's monitoring: the manager's figures for Prometheus, and how late its event loop is."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import perf_counter

from leaguekit.league.evidence import TIMEOUT, UNREACHABLE
from leaguekit.manager.manager import Manager
from leaguekit.manager.metrics import Histogram
from leaguekit.web.evidence_counts import merge_histograms, total_requests
from leaguekit.web.projection import Projection
from leaguekit.web.prometheus import Exposition
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
            self._cached = self._make_text()
            self._expires_at = now + (perf_counter() - began) / EXPOSITION_TIME_SHARE
        return self._cached

    def _make_text(self) -> bytes:
        league, meters, text = self._projection.league, self._manager.metrics, Exposition()
        evidence, requests = list(self._projection.evidence_counts.values()), total_requests(league)
        add = text.add
        add(
            "counter",
            "league_http_requests_total",
            "Requests to the dashboard, by route and status",
            [({"route": route, "status": str(status)}, n) for (route, status), n in sorted(self._requests.items())],
        )
        add(
            "histogram",
            "league_rpc_seconds",
            "Requests to /mcp that were answered with a result, by method",
            [({"method": method}, one) for method, one in sorted(meters.answered.items())],
        )
        add(
            "counter",
            "league_rpc_errors_total",
            "Requests to /mcp that were answered with an error, by method and code",
            [({"method": method, "code": code}, count) for (method, code), count in sorted(meters.refused.items())],
        )
        in_play = sum(len(referee.assigned_matches) for referee in league.referees.values())
        add("gauge", "league_matches_in_play", "Matches that a referee has in hand", in_play)
        add("gauge", "league_matches_waiting", "Matches that wait for a referee", len(league.waiting))
        add("gauge", "league_matches_held", "Matches that wait for the operator", len(league.held))
        played = len(league.matches) - league.outstanding
        add("gauge", "league_matches_played", "Matches that have ended", played)
        add("gauge", "league_matches", "Matches of the schedule", len(league.matches))
        add("gauge", "league_round", "The round announced last", league.current_round)
        add("gauge", "league_paused", "Whether the operator has paused the league", int(league.paused))
        agents = [("player", player.state) for player in league.players.values()]
        agents += [("referee", referee.state) for referee in league.referees.values()]
        add(
            "gauge",
            "league_agents",
            "Agents by role and state; the breaker of a SUSPENDED one is open",
            [({"role": role, "state": state}, count) for (role, state), count in sorted(Counter(agents).items())],
        )
        add(
            "counter",
            "league_match_failures_total",
            "Requests to players that had no answer, by code",
            [({"code": code}, sum(one.error_count(code) for one in evidence)) for code in (TIMEOUT, UNREACHABLE)],
        )
        add("counter", "league_match_wrong_answers_total", "Answers that did not count", requests.wrong)
        add("counter", "league_match_retries_total", "Errors after which a player was asked again", requests.retried)
        add("counter", "league_match_recoveries_total", "Of those, overcome by a retry", requests.recovered)
        times, ledger = merge_histograms([one.times for one in evidence]), self._manager.ledger
        delays = self._manager.runner.standings_delays
        add("histogram", "league_answer_seconds", "How long players took to answer", times)
        add("histogram", "league_log_commit_seconds", "From recording events until they were durable", ledger.writes)
        add("counter", "league_log_events_total", "Events in the log", ledger.number)
        add("histogram", "league_standings_seconds", "From a result until the standings went out", delays)
        late = "How late timers are, since the first look here"
        add("histogram", "league_loop_lag_seconds", late, self._lag.histogram)
        add("gauge", "league_spectators", "Open event streams", len(self._broadcaster))
        sent = self._broadcaster.sent_bytes
        add("counter", "league_stream_bytes_total", "Bytes of changes sent to spectators", sent)
        return text.text()
