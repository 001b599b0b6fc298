"""One player's statistics: against each opponent, its choices, its failures and its latest results.

All of it is in the league's state. The answer is small in a league of any size: each list is shortened, and the number
of items that were left out is given.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec import UNSET, structs

from leaguekit.league.analysis.figures import Mark, mark, matches_of
from leaguekit.league.records import Match
from leaguekit.league.standings import WIN_POINTS
from leaguekit.league.state import League
from leaguekit.protocol import messages as m

MAX_OPPONENTS = 40
# The number of different choices, and of causes of failures; and the length of each.
MAX_KINDS = 10
MAX_TEXT = 50
MAX_RESULTS = 10

_RESULTS: dict[Mark, Literal["WIN", "DRAW", "LOSS"]] = {"1": "WIN", "+": "WIN", "½": "DRAW", "0": "LOSS", "-": "LOSS"}


def player_stats(league: League, player_id: str) -> m.PlayerStats:
    """A player's row of the table, with the details that it results from."""
    ended = [match for match in matches_of(league, player_id) if match.has_ended]
    opponents = _opponents(ended, player_id)
    choices = Counter(choice for match in ended if (choice := _choice(match, player_id)) is not None)
    common = [one for one in choices.most_common() if len(one[0]) <= MAX_TEXT][:MAX_KINDS]
    return m.PlayerStats(
        **structs.asdict(league.table.standings()[player_id]),
        opponents=opponents[:MAX_OPPONENTS],
        opponents_left_out=max(0, len(opponents) - MAX_OPPONENTS),
        choices=[m.ChoiceCount(choice=choice, count=count) for choice, count in common],
        choices_left_out=choices.total() - sum(count for _, count in common),
        failures=_failures(league, ended, player_id),
        requests=league.requests.get(player_id, UNSET),
        form=[_past(match, player_id) for match in ended[: -MAX_RESULTS - 1 : -1]],
    )


def _opponents(ended: list[Match], player_id: str) -> list[m.OpponentRecord]:
    """The record against each opponent. The latest opponent comes first."""
    records: dict[str, m.OpponentRecord] = {}
    for match in reversed(ended):
        opponent = match.opponent_of(player_id)
        record = records.setdefault(opponent, m.OpponentRecord(opponent_id=opponent))
        result = _RESULTS[mark(match, player_id)]
        record.played += 1
        record.wins += result == "WIN"
        record.draws += result == "DRAW"
        record.losses += result == "LOSS"
        record.points = WIN_POINTS * record.wins + record.draws
    return [*records.values()]


def _choice(match: Match, player_id: str) -> str | None:
    outcome = match.outcome
    return None if outcome is None else outcome.choice_a if player_id == match.a else outcome.choice_b


def _failures(league: League, ended: list[Match], player_id: str) -> m.PlayerFailures:
    lost = [match.outcome for match in ended if mark(match, player_id) == "-"]
    causes = Counter(((outcome and outcome.ruling) or "UNKNOWN")[:MAX_TEXT] for outcome in lost)
    return m.PlayerFailures(
        technical_losses=len(lost),
        causes=dict(causes.most_common(MAX_KINDS)),
        unanswered_in_a_row=league.players[player_id].failures,
    )


def _past(match: Match, player_id: str) -> m.PastResult:
    how = mark(match, player_id)
    return m.PastResult(
        match_id=match.id,
        round_id=match.round_id,
        opponent_id=match.opponent_of(player_id),
        result=_RESULTS[how],
        technical=how in ("+", "-"),
    )
