"""Matches a second of one size of league: real, at the limit, and on what the field uses.

They take turns, each with new processes, and ratios are made within a turn, so that a slow moment of the machine hits
all alike.
"""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any, NamedTuple

import leagues
from exchanges import Recorded, record
from leagues import Shape
from programs import HERE, told

# The limit is over in a moment. It is played this often before and after the league, to see the same machine.
LIMIT_PLAYS = 2
# The slow field plays only some rounds of a long league, and others before the clock starts: a league's slow
# beginning would weigh too much.
FIELD_ROUNDS, FIELD_WARM_UP = 4, 2


class Rates:
    """Figures of one size of league, turn by turn."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.league: list[float] = []
        self.limit: list[float] = []
        # The same on asyncio's own loop instead of uvloop.
        self.limit_asyncio: list[float] = []
        self.field: list[float] = []
        self.share: list[float] = []
        self.share_asyncio: list[float] = []
        # By CPU per match.
        self.times: list[float] = []
        self.field_cpu_ms: list[float] = []
        self.limit_cpu_ms: list[float] = []
        self.cpu_ms: defaultdict[str, list[float]] = defaultdict(list)
        # A player, in the league that was recorded.
        self.mb: list[float] = []
        self._recorded: Recorded | None = None

    def record(self) -> str:
        self._recorded = record(self.shape)
        self.mb.append(self._recorded.mb_per_player)
        return f"{self._recorded.counts.total():,} exchanges"

    def play(self) -> str:
        """A real league, between plays of the limit."""
        limits = self._limits()
        on_asyncio = [_played("limit", self._script, BENCH_ASYNCIO="1").rate]
        played = leagues.play(self.shape)
        on_asyncio.append(_played("limit", self._script, BENCH_ASYNCIO="1").rate)
        limits += self._limits()
        self.league.append(played.rate)
        self.limit.append(sorted(one.rate for one in limits)[len(limits) // 2])
        self.limit_cpu_ms += [one.cpu_ms for one in limits]
        self.share.append(self.league[-1] / self.limit[-1])
        self.limit_asyncio.append(sum(on_asyncio) / len(on_asyncio))
        self.share_asyncio.append(self.league[-1] / self.limit_asyncio[-1])
        for role, ms in played.cpu_ms.items():
            self.cpu_ms[role].append(ms)
        return f"{self.league[-1]:,.0f} matches per second of {self.limit[-1]:,.0f}"

    def play_field(self) -> str:
        """The field's, after a real league."""
        script = self._script
        if len(script["rounds"]) > FIELD_WARM_UP + FIELD_ROUNDS:
            script = script | {"rounds": script["rounds"][: FIELD_WARM_UP + FIELD_ROUNDS], "warm_up": FIELD_WARM_UP}
        played = _played("field", script)
        self.field.append(played.rate)
        self.field_cpu_ms.append(played.cpu_ms)
        self.times.append(played.cpu_ms / self.sums_ms[-1])
        return f"{self.field[-1]:,.0f} matches per second"

    @property
    def sums_ms(self) -> list[float]:
        """CPU per match of all programs."""
        return [sum(of_turn) for of_turn in zip(*self.cpu_ms.values(), strict=True)]

    @property
    def servers_ms(self) -> list[float]:
        """CPU per match of the manager and the referees."""
        return [sum(of_turn) for of_turn in zip(self.cpu_ms["manager"], self.cpu_ms["referees"], strict=True)]

    @property
    def _script(self) -> dict[str, Any]:
        if self._recorded is None:
            self.record()
        assert self._recorded is not None
        return self._recorded.script

    def _limits(self) -> list[_Played]:
        return [_played("limit", self._script) for _ in range(LIMIT_PLAYS)]


class _Played(NamedTuple):
    """Matches a second, and CPU per match, of a league's exchanges without a league."""

    rate: float
    cpu_ms: float


def _played(contender: str, script: dict[str, Any], **environment: str) -> _Played:
    found = told(str(HERE / f"{contender}_agents.py"), given=json.dumps(script), **environment)
    if "failure" in found:
        raise SystemExit(f"{contender}: {found['failure']}")
    return _Played(found["matches"] / found["seconds"], 1e3 * found["cpu_seconds"] / found["matches"])


class Growth:
    """What a match takes of all processors, in a small and in a large league, and how many they play in a second.

    Those that are silent send no broadcasts.
    """

    def __init__(self, small: Shape, large: Shape, *, silent: bool) -> None:
        self._small, self._large, self._silent = small, large, silent
        self.small_ms: list[float] = []
        self.large_ms: list[float] = []
        self.ratios: list[float] = []
        self.small_rates: list[float] = []
        self.large_rates: list[float] = []
        self.rate_ratios: list[float] = []
        self.mb_per_player: list[float] = []

    def play(self) -> str:
        """A large one between two small ones, which see the same machine."""
        before, large, after = (
            leagues.play(shape, silent=self._silent) for shape in (self._small, self._large, self._small)
        )
        small_ms, large_ms = [one.total_ms for one in (before, after)], large.total_ms
        self.small_ms += small_ms
        self.large_ms.append(large_ms)
        self.ratios.append(large_ms / (sum(small_ms) / 2))
        self.small_rates += [before.rate, after.rate]
        self.large_rates.append(large.rate)
        self.rate_ratios.append(large.rate / ((before.rate + after.rate) / 2))
        if large.mb_per_player is not None:
            self.mb_per_player.append(large.mb_per_player)
        return f"{large_ms:.1f} ms per match, {self.ratios[-1]:.2f} of the small one's"
