"""What operations people watch: the manager's figures for Prometheus, and how late its event loop is."""

from __future__ import annotations

import asyncio
from collections import Counter
from time import perf_counter

from leaguekit.league.evidence import TIMEOUT, UNREACHABLE
from leaguekit.manager.manager import Manager
from leaguekit.manager.metrics import Histogram
from leaguekit.web.evidence_counts import together
from leaguekit.web.projection import Projection
from leaguekit.web.prometheus import Exposition, Labels
from leaguekit.web.stream import Broadcaster

LAG_PAUSE = 0.5


class LoopLag:
    """How much later than asked for a timer of this loop comes, from the first look on."""

    def __init__(self) -> None:
        self.seen = Histogram()
        self._timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        if self._timer is None:
            self._set()

    def _set(self) -> None:
        # Not the loop's own clock: that stands still while the loop is busy.
        due = perf_counter() + LAG_PAUSE
        self._timer = asyncio.get_running_loop().call_later(LAG_PAUSE, self._rings, due)

    def _rings(self, due: float) -> None:
        self.seen.add(max(0.0, perf_counter() - due))
        self._set()


def exposition(
    manager: Manager, shown: Projection, broadcaster: Broadcaster, requests: Counter[tuple[str, int]], lag: LoopLag
) -> bytes:
    """The text of /metrics."""
    league, meters, text = shown.league, manager.meters, Exposition()
    tallies, asked = list(shown.tallies.values()), list(shown.league.requests.values())
    of_league: Labels = {}
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
    text.gauge("league_matches_in_play", "Matches that a referee has in hand", [(of_league, _in_play(shown))])
    text.gauge("league_matches_waiting", "Matches that wait for a referee", [(of_league, len(league.waiting))])
    text.gauge("league_matches_held", "Matches that wait for the operator", [(of_league, len(league.held))])
    played = len(league.matches) - league.outstanding
    text.gauge("league_matches_played", "Matches that have ended", [(of_league, played)])
    text.gauge("league_matches", "Matches of the schedule", [(of_league, len(league.matches))])
    text.gauge("league_round", "The round announced last", [(of_league, league.current_round)])
    text.gauge("league_paused", "Whether the operator has paused the league", [(of_league, int(league.paused))])
    agents = [*(("player", one.state) for one in league.players.values())]
    agents += [*(("referee", one.state) for one in league.referees.values())]
    text.gauge(
        "league_agents",
        "Agents by role and state; the breaker of a SUSPENDED one is open",
        [({"role": role, "state": state}, count) for (role, state), count in sorted(Counter(agents).items())],
    )
    text.counter(
        "league_match_failures_total",
        "Requests to players that had no answer, by code",
        [({"code": code}, sum(one.failed(code) for one in tallies)) for code in (TIMEOUT, UNREACHABLE)],
    )
    text.counter(
        "league_match_wrong_answers_total", "Answers that did not count", [({}, sum(one.wrong for one in asked))]
    )
    text.counter(
        "league_match_retries_total",
        "Errors after which a player was asked again",
        [({}, sum(one.retried for one in asked))],
    )
    text.counter(
        "league_match_recoveries_total",
        "Of those, overcome by a retry",
        [({}, sum(one.recovered for one in asked))],
    )
    text.histogram(
        "league_answer_seconds", "How long players took to answer", [({}, together([t.times for t in tallies]))]
    )
    text.histogram(
        "league_log_commit_seconds", "From recording events until they were durable", [({}, manager.ledger.writes)]
    )
    text.counter("league_log_events_total", "Events in the log", [({}, manager.ledger.number)])
    text.histogram(
        "league_standings_seconds",
        "From a result until the standings went out",
        [({}, manager.conductor.standings_delays)],
    )
    text.histogram("league_loop_lag_seconds", "How late timers are, since the first look here", [({}, lag.seen)])
    text.gauge("league_spectators", "Open event streams", [({}, len(broadcaster))])
    text.counter("league_stream_bytes_total", "Bytes of changes sent to spectators", [({}, broadcaster.sent_bytes)])
    return text.text()


def _in_play(shown: Projection) -> int:
    return sum(len(referee.assigned_matches) for referee in shown.league.referees.values())
