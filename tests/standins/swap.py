"""``make swap``: leagues whose manager, referees and players are ours or were written from the documents.

python -m tests.standins.swap [--short]

Every mixture plays a whole league over real sockets, with every agent in a process of its own. A league is good if
those have met that meet in its format, there is no technical loss, and every agent has ended by itself with code 0.
"""

from __future__ import annotations

import itertools
import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple, cast

from tests.programs import Program, league
from tests.transport.mcp.node import node_of_wheel

HERE = Path(__file__).parent
SECONDS = 60.0
NODE = str(node_of_wheel() or shutil.which("node") or "")
PLAYERS = 4
# In a Swiss one of five has a bye in each round. In a knockout three of them rest in the first stage.
DRAWN_PLAYERS = 5
LEAGUE_ID = "league_2025_even_odd"
MANAGERS = ("ours", "ours, open profile", "python")
REFEREES = (("ours",), ("python",), ("javascript",), ("ours", "python"))
PLAYER_KINDS = (("ours",), ("python",), ("javascript",), ("ours", "python", "javascript"))
COMMANDS = {
    ("python", "manager"): (sys.executable, str(HERE / "python_manager" / "manager.py")),
    ("python", "referee"): (sys.executable, str(HERE / "python_referee" / "referee.py")),
    ("python", "player"): (sys.executable, str(HERE / "python_player" / "player.py")),
    ("javascript", "referee"): (NODE, str(HERE / "javascript_referee" / "referee.mjs")),
    ("javascript", "player"): (NODE, str(HERE / "javascript_player" / "player.mjs")),
}


class Mixture(NamedTuple):
    """Of which kind the manager is, each referee, and the players in turn."""

    manager: str
    referees: tuple[str, ...]
    players: tuple[str, ...]
    format: str = "round_robin"

    def __str__(self) -> str:
        agents = f"referees {' + '.join(self.referees)}; players {' + '.join(self.players)}"
        return f"{self.format}; manager {self.manager}; {agents}"

    @property
    def size(self) -> int:
        return PLAYERS if self.format == "round_robin" else DRAWN_PLAYERS

    @property
    def needs_node(self) -> bool:
        return "javascript" in (*self.referees, *self.players)


# The formats whose rounds are drawn one by one. Only our manager has them.
DRAWN = [
    Mixture("ours", ("python", "javascript"), ("ours", "python", "javascript"), "swiss"),
    Mixture("ours", ("python", "javascript"), ("ours", "python", "javascript"), "knockout(third_place=true)"),
]
# All of them; and for CI few in which each of ours meets each of theirs.
ALL = [*(Mixture(*parts) for parts in itertools.product(MANAGERS, REFEREES, PLAYER_KINDS)), *DRAWN]
SHORT = [
    *DRAWN,
    Mixture("ours", ("python",), ("ours", "python", "javascript")),
    Mixture("ours", ("ours", "javascript"), ("ours", "python", "javascript")),
    Mixture("ours, open profile", ("python", "javascript"), ("ours", "python", "javascript")),
    Mixture("python", ("ours",), ("ours", "python", "javascript")),
    Mixture("python", ("ours", "python", "javascript"), ("ours",)),
]


def play(mixture: Mixture, folder: Path) -> list[str]:
    """Play one league; what is wrong with it."""
    with ExitStack() as stack:
        manager = stack.enter_context(_manager(mixture, folder))
        port = manager.said(r"(?:http://127\.0\.0\.1:|listening on )(\d+)")[1]
        agents = {
            name: stack.enter_context(agent) for name, agent in _agents(mixture, f"http://127.0.0.1:{port}/mcp", folder)
        }
        faults = [fault for name, agent in agents.items() for fault in _end(name, agent)]
        if mixture.manager == "python":
            faults += _end("the manager", manager)
            results = [one["result"] for one in _written(folder / "table.json")]
        else:
            results = _recorded(folder)
            faults += _verified(folder)
    faults += _wrong_pairs(mixture, results)
    faults += [f"a technical loss: {json.dumps(one)}" for one in results if _is_technical(one)]
    return faults


def _wrong_pairs(mixture: Mixture, results: list[dict[str, object]]) -> list[str]:
    """What is wrong with who met whom. A Swiss of five has three rounds of two matches."""
    met = Counter(frozenset(cast("dict[str, int]", one["score"])) for one in results)
    if mixture.format.startswith("knockout"):
        # All but one are out in the end, and there is the match for the third place. A tie is played again, once.
        wanted, most = mixture.size, 2
    else:
        wanted, most = (6 if mixture.format == "swiss" else mixture.size * (mixture.size - 1) // 2), 1
    if len(met) != wanted or max(met.values()) > most:
        return [f"{len(met)} pairs have met in {len(results)} matches"]
    return []


def _manager(mixture: Mixture, folder: Path) -> Program:
    referees = str(len(mixture.referees))
    if mixture.manager == "python":
        where = ["--port", "0", "--lead", "0", "--league", LEAGUE_ID, "--out", folder / "table.json"]
        command = COMMANDS["python", "manager"]
        return Program("--players", str(mixture.size), "--referees", referees, *where, command=command, cwd=folder)
    profile = "open" if "open" in mixture.manager else "spec"
    start = f"players={mixture.size},referees={referees}"
    where = ["--port", "0", "--store", folder / "league.db", "--data-dir", folder / "SHARED"]
    more = ["--profile", profile, "--start-when", start, "--announce-lead", "0", "--league-id", LEAGUE_ID]
    more += ["--format", mixture.format]
    return Program("manager", *where, *more, cwd=folder)


def _agents(mixture: Mixture, url: str, folder: Path) -> Iterator[tuple[str, Program]]:
    for number, kind in enumerate(mixture.referees, 1):
        yield f"referee {number} ({kind})", _agent("referee", kind, f"Referee {number}", url, folder)
    for number, kind in zip(range(1, mixture.size + 1), itertools.cycle(mixture.players), strict=False):
        yield f"player {number} ({kind})", _agent("player", kind, f"Player Nr. {number}", url, folder)


def _agent(role: str, kind: str, name: str, url: str, folder: Path) -> Program:
    where = ["--manager", url, "--port", "0", "--name", name]
    if kind == "ours":
        return Program(role, *where, "--data-dir", folder / "SHARED", cwd=folder)
    return Program(*where, command=COMMANDS[kind, role], cwd=folder)


def _end(name: str, agent: Program) -> list[str]:
    try:
        code = agent.ended(SECONDS)
    except Exception:  # noqa: BLE001 - whatever kept it, it has not ended
        return [f"{name} has not ended: {agent.stdout[-300:]}{agent.stderr[-800:]}"]
    return [] if code == 0 else [f"{name} ended with {code}: {agent.stdout[-300:]}{agent.stderr[-800:]}"]


def _written(path: Path) -> list[dict[str, dict[str, object]]]:
    results: list[dict[str, dict[str, object]]] = json.loads(path.read_text())["results"] if path.exists() else []
    return results


def _recorded(folder: Path) -> list[dict[str, object]]:
    printed = league("log", folder / "league.db", "--json").stdout
    events = [json.loads(line) for line in printed.splitlines()]
    return [event["result"] for event in events if event["event"] == "ResultRecorded"]


def _verified(folder: Path) -> list[str]:
    verified = league("verify", folder / "league.db")
    return [] if verified.process.returncode == 0 else [f"verify: {verified.stdout[-500:]}{verified.stderr[-500:]}"]


def _is_technical(result: dict[str, object]) -> bool:
    details = result["details"]
    return isinstance(details, dict) and (
        details.get("status") == "TECHNICAL_LOSS" or None in details.get("choices", {}).values()
    )


def main() -> int:
    chosen = SHORT if "--short" in sys.argv else ALL
    if not NODE:
        print("Node is missing: mixtures with JavaScript are left out.")
        chosen = [one for one in chosen if not one.needs_node]
    failed = 0
    for number, mixture in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory() as folder:
            faults = play(mixture, Path(folder))
        failed += bool(faults)
        print(f"{number}/{len(chosen)} {mixture}: {'good' if not faults else 'BAD'}", flush=True)
        for fault in faults:
            print(f"    {fault}", flush=True)
    print(f"{len(chosen) - failed} of {len(chosen)} mixtures played a whole league without a technical loss")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
