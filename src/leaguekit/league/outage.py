"""Detects network outages: whether a silent player is at fault, or the network.

If most players become unreachable within a minute, the fault lies with the network or with this machine, not with the
players.

The only observation about a player is whether a connection to it succeeds. A player that answers slowly is not
unreachable.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping

from msgspec import UNSET

from leaguekit.league.evidence import read_evidence
from leaguekit.protocol.messages import MatchResult

# Players that become unreachable within this time are taken to do so for the same reason.
TOGETHER_SECONDS = 60.0
# A single unreachable player may be at fault itself.
MIN_PLAYERS = 2
_SILENT = ("UNREACHABLE", "JOIN_TIMEOUT", "CHOICE_TIMEOUT")


class OutageDetector:
    """Tracks which players are unreachable, and detects outages. The caller passes the time in."""

    def __init__(self) -> None:
        self._unreachable_since: dict[str, float] = {}
        # During an outage: the players that were reachable before it, or became unreachable with it.
        self._affected: frozenset[str] = frozenset()
        # When the last outage ended.
        self._ended = -math.inf

    @property
    def is_on(self) -> bool:
        return bool(self._affected)

    def note(self, player_id: str, now: float, *, connected: bool) -> None:
        """Record whether the latest connection to a player succeeded."""
        if connected:
            self._unreachable_since.pop(player_id, None)
        else:
            self._unreachable_since.setdefault(player_id, now)

    def unreachable(self, players: Collection[str]) -> list[str]:
        """The players, of those given, whose latest connection failed."""
        return [player for player in players if player in self._unreachable_since]

    def update(self, hosts: Mapping[str, str], now: float) -> bool:
        """Decide whether there is an outage now. Return whether that has changed.

        ``hosts`` has the players of the league, each with its host. A host is reachable if one of its players is. So
        players that collude to be unreachable cause an outage only if they are a majority on a majority of the hosts.
        """
        was_on = self.is_on
        if was_on:
            expected = [player for player in hosts if player in self._affected]
        else:
            expected = [
                player for player in hosts if now - self._unreachable_since.get(player, now) <= TOGETHER_SECONDS
            ]
        unreachable = self.unreachable(expected)
        reachable_hosts = {hosts[player] for player in expected if player not in unreachable}
        unreachable_hosts = {hosts[player] for player in unreachable} - reachable_hosts
        is_on = (
            len(unreachable) >= MIN_PLAYERS
            and 2 * len(unreachable) > len(expected)
            and len(unreachable_hosts) > len(reachable_hosts)
        )
        self._affected = frozenset(expected) if is_on else frozenset()
        if was_on and not is_on:
            self._ended = now
        return was_on != is_on

    def has_occurred_since(self, began: float) -> bool:
        """Whether there has been an outage at any time since ``began``."""
        return self.is_on or began < self._ended


def unconnected_players(result: MatchResult) -> list[str]:
    """The players that the referee could not connect to, if its own network may be the cause.

    These are both players, or one player in a match without any move. After a move, one unconnected player is at fault
    itself: a player must not get another game by disconnecting in the middle of one.
    """
    unconnected = [player for player, evidence in read_evidence(result.details).items() if not evidence.connected]
    has_moves = any(result.details.choices.get(player) is not None for player in result.score)
    return [] if has_moves and len(unconnected) < len(result.score) else unconnected


def is_lost_by_silence(result: MatchResult) -> bool:
    """Whether a player lost because it did not answer. Without a ruling, a missing choice counts as no answer."""
    details = result.details
    if details.ruling is UNSET:
        return any(details.choices.get(player) is None for player in result.score)
    if details.ruling in _SILENT:
        return True
    # The ruling names only the graver of two faults.
    return details.status == "TECHNICAL_LOSS" and details.failures is not UNSET and any(details.failures.values())
