"""A league of 400 players whose moves take 10 to 30 seconds, as those of language models do: nobody may lose for that.

The players are async strategies that wait, in processes of 50; half a minute and a few seconds more are allowed for a
move. Almost all of the time is waiting, so every match of a round is played at once. What is measured: losses that were
decided without a game (there must be none), how much longer than its strategy a move took by the referee's clock, how
long the manager takes to answer meanwhile, memory and CPU.

Run with ``python benchmarks/slow_moves.py [PLAYERS [ROUNDS]]``; three rounds take two minutes. The last line is one
JSON object. It fails if a match was not decided by its game.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any

from leagues import PATIENCE, REFEREE_MATCHES, League, Shape
from observed import matches
from programs import HERE, data_folder, end, megabytes, programs

PLAYERS, ROUNDS = 400, 3
PLAYERS_PER_PROCESS = 50
# What the strategies take at most is 30 s (slow_strategy.py). A player stops waiting 1.5 s before its time is up.
CHOICE_SECONDS = 33.0
ASK_PAUSE_SECONDS = 0.1


class SlowLeague(League):
    """A league with time limits of its own, and its players in several processes."""

    def __init__(self, players: int, rounds: int, folder: Path, started: list[Any]) -> None:
        super().__init__(Shape(players, -(-players // 2 // REFEREE_MATCHES), True), folder, started)
        config = folder / "league.toml"
        config.write_text(f'choice_seconds = {CHOICE_SECONDS}\nformat = "swiss(rounds={rounds})"\n')
        self.manager_options = ("--config", str(config))

    def start_players(self, url: str) -> None:
        players = self._shape.players
        for first in range(0, players, PLAYERS_PER_PROCESS):
            self._start("players", "players", "--manager", url, "--strategy", f"{HERE / 'slow_strategy.py'}:choose",
                        "--count", str(min(PLAYERS_PER_PROCESS, players - first)),
                        "--name", f"Slow {first // PLAYERS_PER_PROCESS + 1}.")  # fmt: skip


def play(players: int, rounds: int) -> dict[str, Any]:
    with data_folder() as folder, programs() as started:
        league = SlowLeague(players, rounds, folder, started)
        league.gather()
        cpu_before = league.cpu()
        league.begin()
        began, answered, mb = time.monotonic(), [], {}
        latest = began + rounds * (2 * CHOICE_SECONDS + PATIENCE)
        while True:
            asked = time.perf_counter()
            status = league.ask(command="status")
            answered.append(1e3 * (time.perf_counter() - asked))
            if status["current_round"] == (rounds + 1) // 2 and not mb:
                mb = {role: sum(map(megabytes, of_role)) for role, of_role in league.roles.items()}
            if status["state"] == "LEAGUE_COMPLETED" and status["everybody_told"]:
                break
            if time.monotonic() > latest:
                raise SystemExit(f"the league is not over: {status}")
            time.sleep(ASK_PAUSE_SECONDS)
        seconds = time.monotonic() - began
        cpu = {role: taken - cpu_before[role] for role, taken in league.cpu().items()}
        # The files of the last matches are written by then.
        for role in ("players", "referees", "manager"):
            end(league.roles[role])
        played = [one for _, one in matches(folder)]
    return found(played, answered) | {
        "players": players,
        "referees": len(league.roles["referees"]),
        "seconds": round(seconds, 1),
        "mb": {role: round(taken, 1) for role, taken in mb.items()},
        "cpu_seconds": {role: round(taken, 2) for role, taken in cpu.items()},
    }


def found(played: list[Any], answered: list[float]) -> dict[str, Any]:
    moves, later_ms = [], []
    for one in played:
        sent: dict[str, float] = {}
        for entry in one["transcript"]:
            if entry.get("message_type") == "CHOOSE_PARITY_CALL":
                sent[entry["player_id"]] = entry["seconds"]
            elif entry.get("message_type") == "CHOOSE_PARITY_RESPONSE":
                moves.append(entry["body"]["move_info"]["seconds"])
                later_ms.append(1e3 * (entry["seconds"] - sent[entry["player_id"]] - moves[-1]))
    return {
        "matches": len(played),
        "not_decided_by_the_game": [
            one["match_id"] for one in played if one["result"]["details"]["ruling"] not in ("WIN", "DRAW")
        ],
        "move_seconds": percentiles(moves),
        "later_ms": percentiles(later_ms),
        "answered_ms": percentiles(answered),
    }


def percentiles(figures: list[float]) -> dict[str, float]:
    """Some of the figures: the least, the middle, the largest of 99 in a hundred, and the largest."""
    ordered = sorted(figures)
    at = {"least": 0, "median": len(ordered) // 2, "p99": len(ordered) * 99 // 100, "most": -1}
    return {name: round(ordered[place], 2) for name, place in at.items() if ordered}


def main() -> int:
    players, rounds = (int(given) for given in (*sys.argv[1:3], *(PLAYERS, ROUNDS)[len(sys.argv) - 1 :]))
    told = play(players, rounds)
    lost = told["not_decided_by_the_game"]
    print(f"{told['matches']:,} matches of {players:,} players, {len(lost)} of them not decided by their game")
    print(f"a move took {told['move_seconds']} s, and by the referee's clock {told['later_ms']} ms longer")
    print(f"the manager answered within {told['answered_ms']} ms")
    print(f"memory in MB: {told['mb']}; CPU in seconds: {told['cpu_seconds']}")
    print(f"\n{json.dumps(told | {'python': platform.python_version(), 'cores': os.cpu_count()})}")
    return 1 if lost or told["matches"] != rounds * (players // 2) else 0


if __name__ == "__main__":
    sys.exit(main())
