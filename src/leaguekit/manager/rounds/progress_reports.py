"""How far the matches in play are, by the progress reports of their referees, and which players are silent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from leaguekit.manager.ledger import Ledger
from leaguekit.protocol import messages as m

# After this time a player that is asked for the first time is named as silent. At most this number of matches is named.
SILENCE_SECONDS, MAX_SILENT = 10.0, 5


class ProgressReports:
    """The latest progress report of each match in play. The listeners are called with each one of a silent player."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.latest: dict[str, m.MatchProgress] = {}
        # By match, the latest report in which a player is silent.
        self._silent: dict[str, m.MatchProgress] = {}
        self.silence_listeners: list[Callable[[m.MatchProgress], None]] = []

    def note(self, report: m.MatchProgress) -> None:
        """Take a referee's report of how far a match is. A player is silent if it is asked again, or thinks long."""
        self.latest[report.match_id] = report
        self._silent.pop(report.match_id, None)
        if not report.missing:
            return
        if (report.try_number or 1) > 1:
            self._note_silence(report)
        else:
            asyncio.get_running_loop().call_later(SILENCE_SECONDS, self._note_silence, report)

    def _note_silence(self, report: m.MatchProgress) -> None:
        if self.latest.get(report.match_id) is report:
            self._silent[report.match_id] = report
            for listener in self.silence_listeners:
                listener(report)

    def describe_silence(self, report: m.MatchProgress) -> str:
        """Which players a match waits for."""
        players = self._ledger.league.players
        who = [f"{players[one].meta.display_name} ({one})" for one in report.missing or () if one in players]
        return f"{' and '.join(who)} in {report.match_id}: try {report.try_number or 1} of {report.max_tries or '?'}"

    def describe_silences(self) -> list[str]:
        """The same for the first matches in which players are silent."""
        return [*map(self.describe_silence, self._silent.values())][:MAX_SILENT]

    def forget(self, match_id: str) -> None:
        self.latest.pop(match_id, None)
        self._silent.pop(match_id, None)
