"""What a league sends: every kind of exchange with real bodies, and how many, recorded from a real league.

Of what every league sends, the schedule says how many there are. What depends on the time that a league takes, such as
standings within a round, comes as often a match as in the recorded one.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import leagues
from agents import (
    ANNOUNCEMENT,
    ASSIGNMENT,
    CALL,
    INVITATION,
    LEAGUE_OVER,
    OVER,
    PING,
    PROGRESS,
    REPORT,
    ROUND_OVER,
    STANDINGS,
    TRANSCRIPT,
)
from leagues import Shape

from leaguekit.formats.round_robin import RoundRobin

NEEDED = (ANNOUNCEMENT, ASSIGNMENT, CALL, INVITATION, OVER, REPORT, ROUND_OVER, STANDINGS, TRANSCRIPT)
# Not sent in every recorded league; the one in its place is about as long.
STAND_INS = {LEAGUE_OVER: STANDINGS, PING: ROUND_OVER, PROGRESS: ASSIGNMENT}


class Recorded(NamedTuple):
    """What the agents of ``agents.py`` play, what was counted, and how many MB a player took."""

    script: dict[str, Any]
    counts: Counter[str]
    mb_per_player: float


def record(shape: Shape) -> Recorded:
    counts: Counter[str] = Counter()
    seen: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as folder:
        memory = leagues.record(shape, Path(folder))
        for path in Path(folder).iterdir():
            left = json.loads(path.read_text())
            counts.update(left["counts"])
            for kind, kept in left["kept"].items():
                seen[kind] += map(tuple, kept)
    if missing := [kind for kind in NEEDED if not counts[kind]]:
        raise SystemExit(f"the recorded league has sent no {', '.join(missing)}: does the tap see everything?")
    # Of each kind the one of middling size.
    messages = {kind: sorted(kept, key=_size)[len(kept) // 2] for kind, kept in seen.items()}
    messages |= {kind: messages[other] for kind, other in STAND_INS.items() if kind not in messages}
    rounds = RoundRobin().full_schedule([str(player) for player in range(shape.players)])[: shape.rounds]
    everybody = shape.players + shape.referees
    extra = {
        STANDINGS: counts[STANDINGS] / shape.players - counts[ROUND_OVER] / everybody,
        PROGRESS: counts[PROGRESS],
        PING: counts[PING] / shape.referees,
    }
    script = {
        "players": shape.players,
        "referees": shape.referees,
        "together": shape.together,
        "rounds": [[(int(a), int(b)) for a, b in one] for one in rounds],
        "warm_up": shape.warm_up,
        "messages": messages,
        "extra": {kind: max(0.0, count / counts[REPORT]) for kind, count in extra.items()},
    }
    return Recorded(script, counts, memory)


def _size(exchange: tuple[str, str]) -> int:
    return len(exchange[0]) + len(exchange[1])
