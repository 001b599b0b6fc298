"""Who is at fault when a player is silent.

If most players became unreachable together, the network is at fault, or this machine, and no player.

Of a player it is only known whether it can be connected to. One that takes long to answer is not unreachable.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from msgspec import UNSET

from leaguekit.league.evidence import read_evidence
from leaguekit.protocol.messages import MatchResult

# The time within which players become unreachable together.
TOGETHER_SECONDS = 60.0
# One player alone may be at fault itself.
LEAST_PLAYERS = 2
_SILENT = ("UNREACHABLE", "JOIN_TIMEOUT", "CHOICE_TIMEOUT")


class Outage:
    """Which players can be connected to, by a clock that is passed in."""

    def __init__(self) -> None:
        self._gone_since: dict[str, float] = {}
        # While most are gone: those that were there before.
        self._affected: frozenset[str] = frozenset()
        # When the last outage ended.
        self._ended = -math.inf

    @property
    def is_on(self) -> bool:
        return bool(self._affected)

    def note(self, player_id: str, now: float, *, there: bool) -> None:
        """A player was called: whether there was a connection."""
        if there:
            self._gone_since.pop(player_id, None)
        else:
            self._gone_since.setdefault(player_id, now)

    def gone(self, players: Collection[str]) -> list[str]:
        """Those of these players that could not be connected to when they were called last."""
        return [player for player in players if player in self._gone_since]

    def judge(self, hosts: Mapping[str, str], now: float) -> bool:
        """Whether the outage began or ended now, with these players in the league, each with the host that it is at.

        A host at which one player can be connected to is there. So players that agree to hide together make an
        outage only if they are the most and have most hosts.
        """
        was_on = self.is_on
        if was_on:
            expected = [player for player in hosts if player in self._affected]
        else:
            expected = [one for one in hosts if now - self._gone_since.get(one, now) <= TOGETHER_SECONDS]
        gone = self.gone(expected)
        there = {hosts[player] for player in expected if player not in gone}
        hosts_gone = {hosts[player] for player in gone} - there
        is_on = len(gone) >= LEAST_PLAYERS and 2 * len(gone) > len(expected) and len(hosts_gone) > len(there)
        self._affected = frozenset(expected) if is_on else frozenset()
        if was_on and not is_on:
            self._ended = now
        return was_on != is_on

    def spans(self, began: float) -> bool:
        """Whether there has been an outage at some time since then."""
        return self.is_on or began < self._ended


def unconnected_players(result: MatchResult) -> list[str]:
    """The players to whom the referee alone may have lost its way: both, or one in a match in which nobody has moved.

    A player that hides in the middle of a game must not gain another game by that.
    """
    unconnected = [player for player, told in read_evidence(result.details).items() if not told.connected]
    has_moves = any(result.details.choices.get(player) is not None for player in result.score)
    return [] if has_moves and len(unconnected) < len(result.score) else unconnected


def is_lost_by_silence(result: MatchResult) -> bool:
    """Whether a player lost because it did not answer; also where the referee does not tell why it lost."""
    details = result.details
    if details.ruling is UNSET:
        return any(details.choices.get(player) is None for player in result.score)
    if details.ruling in _SILENT:
        return True
    # The ruling names the graver of two faults.
    return details.status == "TECHNICAL_LOSS" and details.failures is not UNSET and any(details.failures.values())
