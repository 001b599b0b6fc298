"""The operator's commands: ``league start``, ``pause``, ``status`` … on a running manager."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.cli import CommandError
from leaguekit.cli.tables import counted, json_line, standings_table, table
from leaguekit.league.sentences import with_names
from leaguekit.protocol import times
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import QUERY_TYPES
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import escaped, harmless
from leaguekit.protocol.rpc import RpcRefusal, read_answer, request
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import TOO_OFTEN, CallerLate, CallFailed
from leaguekit.transport.client.caller import HttpCaller

MANAGER = "http://127.0.0.1:8000/mcp"
LOOKS = ("status", "standings", "schedule")
# So many matches take hours: 100 players have 4,950.
ASK_ABOVE = 5_000
# The shortest admin token. An operator may write one of its own into the file.
MIN_TOKEN = 20
EXAMPLES = """examples:
  league status
  league standings --json
  league pause --reason "lunch"
  league add-player --endpoint http://127.0.0.1:8107/mcp --name Bob      (one that never registers)
  league start --yes      (without a question, whatever the number of matches)
  league withdraw P07 --reason "the author asked for it"
  league withdraw P10-P99 P120 --reason "registered by a program"
  league withdraw --from 10.0.0.7      (all that registered from this address: `league agents`)
  league rematch R2M3 --reason "power cut"
  league rematch --held      (all matches that came to nothing too often)
  league correct R2M3 P01 --reason "the referee erred"      (a player's id, draw, or none)
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    command = parser.prog.rpartition(" ")[2]
    if command == "add-player":
        parser.add_argument("--endpoint", metavar="URL", required=True, help="where it listens")
        parser.add_argument("--name", metavar="NAME", dest="display_name", help="its name in the league")
    if command in ("withdraw", "disqualify"):
        parser.add_argument("players", metavar="PLAYER", nargs="*", help="such as P07, or P10-P99")
        parser.add_argument("--from", metavar="ADDRESS", dest="address", help="all that registered from this address")
    if command == "start":
        parser.add_argument("--yes", action="store_true", help=f"do not ask if there are over {ASK_ABOVE:,} matches")
    if command == "rematch":
        parser.add_argument("matches", metavar="MATCH", nargs="*", help="such as R2M3")
        parser.add_argument("--held", action="store_true", help="all matches that wait for the operator")
    if command == "correct":
        parser.add_argument("match_id", metavar="MATCH", help="such as R2M3")
        parser.add_argument("outcome", metavar="OUTCOME", help="the winner's id, draw, or none")
    if command == "query":
        parser.add_argument("query_type", metavar="TYPE", help=", ".join(QUERY_TYPES))
        parser.add_argument("--player", metavar="ID", dest="player_id", help="for GET_NEXT_MATCH, GET_PLAYER_STATS")
    if command in ("schedule", "query"):
        parser.add_argument("--round", metavar="N", dest="round_id", type=int, help="this round only")
    if command not in (*LOOKS, "add-player", "agents", "query", "start"):
        parser.add_argument("--reason", default="", help="why; kept in the league's log")
    add_options(parser)
    parser.set_defaults(run=run)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command to a manager."""
    parser.add_argument("--manager", metavar="URL", default=MANAGER, help=f"default {MANAGER}")
    parser.add_argument("--admin-token-file", metavar="FILE", type=Path, help="default: the newest under --data-dir")
    parser.add_argument("--data-dir", metavar="DIR", type=Path, default=Path("SHARED"))
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    params = {
        name: getattr(options, name)
        for name in ("player_id", "endpoint", "display_name", "match_id", "round_id", "reason", "outcome", "query_type")
        if getattr(options, name, None) is not None
    }
    params["command"] = options.command.replace("-", "_")
    if options.command not in LOOKS:
        params["admin_token"] = admin_token(options)
    if options.command == "start" and not options.yes:
        params |= _agreed(options.manager)
    if options.command == "schedule":
        shown = asyncio.run(_schedule(options.manager, params))
    elif options.command in ("withdraw", "disqualify"):
        shown = asyncio.run(_put_out(options, params))
    elif options.command == "rematch":
        shown = asyncio.run(_rematch(options, params))
    else:
        shown = call(options.manager, params)
    print(json_line(shown) if options.json else _as_text(options.command, shown))
    return 0


def _agreed(manager: str) -> dict[str, int]:
    """How many matches the operator agrees to. Asks if there are many. Raises CommandError if the answer is no."""
    status = call(manager, {"command": "status"})
    # A manager of an older release does not tell it.
    matches = status.get("planned_matches")
    if matches is None:
        return {}
    if matches > ASK_ABOVE:
        would = f"{status['players']:,} players would have {matches:,} matches"
        if not sys.stdin.isatty():
            raise CommandError(f"{would}: add --yes to start the league")
        print(f"{would}. Start the league? [y/N] ", end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise CommandError("the league is not started")
    # Others may register meanwhile.
    return {"most_matches": max(matches, ASK_ABOVE)}


async def _put_out(options: argparse.Namespace, params: dict[str, Any]) -> dict[str, Any]:
    """Withdraw or disqualify players, one after the other; the status after the last."""
    if not options.players and not options.address:
        raise CommandError("name players, such as P07 or P10-P99, or an address with --from")
    caller = HttpCaller(AddressPolicy.only(options.manager))
    try:
        shown: dict[str, Any] = {}
        agents = await ask_manager(caller, options.manager, params | {"command": "agents"})
        chosen = _chosen(options, agents["agents"])
        for player_id in chosen:
            shown = await ask_manager(caller, options.manager, params | {"player_id": player_id})
    finally:
        await caller.close()
    return shown | {"left": chosen}


def _chosen(options: argparse.Namespace, agents: list[dict[str, Any]]) -> list[str]:
    """The ids that are named, and those in the ranges and from the address that are still in the league."""
    there = {one["id"]: one for one in agents if one["state"] != "SHUTDOWN" and re.fullmatch(r"P\d+", one["id"])}
    chosen = [name for name, one in there.items() if options.address and one.get("address") == options.address]
    for text in options.players:
        if (ends := re.fullmatch(r"P(\d+)-P(\d+)", text)) is None:
            chosen.append(text)
        else:
            wanted = range(int(ends[1]), int(ends[2]) + 1)
            chosen += [name for name in there if int(name[1:]) in wanted]
    if not chosen:
        named = " ".join([*options.players, *([f"--from {options.address}"] if options.address else [])])
        raise CommandError(f"no player of this league is meant by {named}")
    return list(dict.fromkeys(chosen))


async def _rematch(options: argparse.Namespace, params: dict[str, Any]) -> dict[str, Any]:
    """Have matches played again, one after the other; the status after the last."""
    if not options.matches and not options.held:
        raise CommandError("name matches, such as R2M3, or add --held for all that wait for the operator")
    caller = HttpCaller(AddressPolicy.only(options.manager))
    try:
        shown: dict[str, Any] = await ask_manager(caller, options.manager, {"command": "status"})
        # A manager of an older release does not tell which matches are held.
        for match_id in dict.fromkeys([*options.matches, *(shown.get("held", ()) if options.held else ())]):
            shown = await ask_manager(caller, options.manager, params | {"match_id": match_id})
    finally:
        await caller.close()
    return shown


def call(manager: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the manager answers to a command."""
    return asyncio.run(_call(manager, params))


async def _call(manager: str, params: dict[str, Any]) -> dict[str, Any]:
    # The operator names the manager: wherever that is, it may be called.
    caller = HttpCaller(AddressPolicy.only(manager))
    try:
        return await ask_manager(caller, manager, params)
    finally:
        await caller.close()


async def _schedule(manager: str, params: dict[str, Any]) -> dict[str, Any]:
    caller = HttpCaller(AddressPolicy.only(manager))
    try:
        return await fetch_schedule(partial(ask_manager, caller, manager), params)
    finally:
        await caller.close()


async def fetch_schedule(
    ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]], params: dict[str, Any]
) -> dict[str, Any]:
    """The schedule, which a manager shows in parts."""
    shown = part = await ask(params)
    while part["schedule"] and "next_offset" in part:
        part = await ask(params | {"offset": part["next_offset"]})
        shown["schedule"] += part["schedule"]
    shown.pop("next_offset", None)
    return shown


async def ask_manager(caller: HttpCaller, manager: str, params: dict[str, Any]) -> dict[str, Any]:
    """What the manager answers to a command. Raises CommandError, with what to do."""
    asked = request("operator", msgspec.json.encode(params), 1)
    try:
        for pause in (0.1, 0.2, 0.4, 0.8, 1.6):
            came = await caller.post(manager, asked, 10.0)
            if came.status != TOO_OFTEN:
                break
            # Somebody else at this address asks all the time.
            await asyncio.sleep(pause)
        shown: dict[str, Any] = msgspec.json.decode(read_answer(came.body, 1))
    except (CallFailed, CallerLate) as error:
        raise CommandError(
            f"no manager answers at {manager} ({error}); is it running, or elsewhere (--manager)?"
        ) from None
    except RpcRefusal as error:
        data = error.error.data if isinstance(error.error.data, dict) else {}
        raise CommandError(str(data.get("context", {}).get("detail", error))) from None
    except ProtocolError as error:
        raise CommandError(f"{manager} is no manager of leaguekit: {error.detail}") from None
    return shown


def admin_token(options: argparse.Namespace) -> str:
    """The admin token, from its file."""
    files: list[Path]
    if options.admin_token_file is not None:
        files = [options.admin_token_file]
    else:
        files = sorted(options.data_dir.glob("agents/*/manager/admin_token"), key=lambda file: file.stat().st_mtime)
    if not files:
        raise CommandError(f"there is no admin token under {options.data_dir}; name its file: --admin-token-file")
    if (token := read_admin_token(files[-1])) is None:
        raise CommandError(f"cannot read the admin token: there is none in {files[-1]}")
    return token


def read_admin_token(file: Path) -> str | None:
    """The admin token in a file; None if there is no file, or nothing in it. Raises CommandError."""
    try:
        content = file.read_bytes().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandError(f"cannot read the admin token: {error}") from None
    if content and re.fullmatch(rb"[!-~]{%d,}" % MIN_TOKEN, content) is None:
        raise CommandError(
            f"{file} holds no admin token: that is {MIN_TOKEN} printable characters or more, without spaces. Write it "
            "there again. If it is lost, remove the file, and the manager makes a new one at its next start"
        )
    return content.decode() or None


def _as_text(command: str, shown: dict[str, Any]) -> str:
    if command == "standings":
        names = {row["player_id"]: row["display_name"] for row in shown["standings"]}
        ties = [harmless(with_names(sentence, names)) for sentence in shown.get("ties", ())]
        return "\n".join([standings_table(shown["standings"]), *([""] if ties else []), *ties])
    if command == "schedule":
        rows = [[one["match_id"], one["player_A_id"], one["player_B_id"], _outcome(one)] for one in shown["schedule"]]
        return table(["match", "A", "B", "result"], rows) if rows else "There is no schedule yet."
    if command == "query":
        return escaped(json.dumps(shown["data"], ensure_ascii=False, indent=2))
    if command == "agents":
        return _agents(shown["agents"])
    lines = [
        *([f"{shown['player_id']} is taken in"] if command == "add-player" else []),
        *([f"{counted(len(shown['left']), 'player')} left the league"] if "left" in shown else []),
        f"{shown['league_id']}: {shown['state']}{' (paused)' if shown['paused'] else ''}",
        f"round {shown['current_round']} of {shown['total_rounds']}, "
        f"{shown['matches_played']} of {shown['total_matches']} matches played, "
        f"{counted(shown['players'], 'player')}, {counted(shown['referees'], 'referee')}",
        # A manager of an older release does not tell it.
        *([f"SHA-256 of the seed: {shown['seed_commitment']}"] if "seed_commitment" in shown else []),
        *([f"a start now would make {shown['planned_matches']:,} matches"] if shown.get("planned_matches") else []),
        *(
            [f"starts at {times.read(shown['starts_at']).astimezone():%Y-%m-%d %H:%M %Z}"]
            if "starts_at" in shown
            else []
        ),
        *(f"waits for {reason}" for reason in shown["waits_for"]),
        *(f"look at {flag}" for flag in shown["flags"]),
        *shown.get("unreachable", ()),
    ]
    return "\n".join(map(harmless, lines))


def _local(at: str) -> str:
    return f"{times.read(at).astimezone():%Y-%m-%d %H:%M %Z}"


def _agents(agents: list[dict[str, Any]]) -> str:
    """The agents, and below them where their moves came from and what those of the open profile are forgiven."""
    spoken = ["form"] if any("form" in one for one in agents) else []
    names = ["id", "display_name", "state", "endpoint", "address", *spoken]
    rows = [[str(one.get(name) or "-") for name in names] for one in agents]
    lines = [table(["id", "name", "state", "endpoint", "registered from", *spoken], rows)]
    lines += [
        f"{one['id']} knows only the documents: it shows players its own token"
        for one in agents
        if "shows_own_token" in one
    ]
    moves = {one["id"]: msgspec.convert(one["moves"], MoveOrigins) for one in agents if "moves" in one}
    lines += [harmless(f"moves of {agent}, as it states: {origins}") for agent, origins in moves.items()]
    for one in agents:
        lines += [
            harmless(
                f"{one['id']} breaks {broken['rule']} ({_how_often(broken)} {broken['first_at']}): "
                f"{broken['came']}; expected {broken['expected']}"
            )
            for broken in one.get("broken_rules", ())
        ]
    return "\n".join(lines)


def _how_often(broken: dict[str, Any]) -> str:
    return "once, at" if broken["count"] == 1 else f"{broken['count']} times, first at"


def _outcome(match: dict[str, Any]) -> str:
    result = match.get("result")
    if result is None:
        return "-"
    return str(result["winner"] or result["details"].get("status", "DRAW").replace("_", " ").lower())
