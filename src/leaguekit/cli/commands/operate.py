"""The operator's commands to a running manager: ``league start``, ``pause``, ``status`` and others."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.cli import CommandError, add_data_dir_option, add_manager_option
from leaguekit.cli.manager_client import (
    CONFIRM_ABOVE_MATCHES,
    ManagerClient,
    adding_remedies,
    admin_token,
    confirm,
    confirm_start,
    fetch_schedule,
)
from leaguekit.cli.program import dashboard_url
from leaguekit.cli.tables import DEPARTURES, json_line, pluralize, standings_table, table
from leaguekit.league.problems import Problems
from leaguekit.league.sentences import add_player_names
from leaguekit.league.settings import full_name
from leaguekit.protocol import times
from leaguekit.protocol.fields import QUERY_TYPES
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import escaped, sanitize_line, sanitize_lines

PUBLIC_COMMANDS = ("status", "standings", "schedule")
# At most this number of players is named in a question.
MAX_NAMED = 5
# The technical losses of an agent that are listed.
MAX_LOSSES = 5
EXAMPLES = """examples:
  league status
  league standings --json
  league schedule --round 2
  league agents --problems      (the worst first; and the registrations that were refused)
  league query GET_PLAYER_STATS --player "Bob's agent"
  league pause --reason "lunch"
  league resume
  league add-player --endpoint http://127.0.0.1:8107/mcp --name Bob      (it never registers, or is late for a Swiss)
  league start --yes      (without a question, whatever the number of matches)
  league withdraw P07 --reason "the author asked for it"
  league withdraw P10-P99 P120 --reason "registered by a program" --yes      (without a question)
  league withdraw --from 10.0.0.7      (all that registered from this address: `league agents`)
  league disqualify "Bob's agent" --reason "it attacked others"      (a player's id or its name)
  league readmit P07      (it plays on, and may register again without its token: same name, same endpoint)
  league set      (print the settings)
  league set choice_seconds=60 announce_lead=5 title="Winter Cup"
  league rematch R2M3 --reason "power cut"
  league rematch --held      (all matches that came to nothing too often)
  league correct R2M3 P01 --reason "the referee erred"      (a player's id or name, draw, or none)
"""


_CONFIRMED = {"--yes": {"action": "store_true", "help": "do not ask; without a terminal nothing is asked"}}
_ROUND = {"--round": {"metavar": "N", "dest": "round_id", "type": int, "help": "this round only"}}
_DEPARTURE: dict[str, dict[str, Any]] = {
    "players": {"metavar": "PLAYER", "nargs": "*", "help": "such as P07, P10-P99, or a player's name"},
    "--from": {"metavar": "ADDRESS", "dest": "address", "help": "all that registered from this address"},
}
_QUERY: dict[str, dict[str, Any]] = {
    "query_type": {"metavar": "TYPE", "choices": QUERY_TYPES, "help": ", ".join(QUERY_TYPES)},
    "--player": {
        "metavar": "PLAYER",
        "dest": "player_id",
        "help": "for GET_NEXT_MATCH, GET_PLAYER_STATS: its id or name",
    },
}
_DEPARTS = """Matches that were played keep their results. The player loses those that are not played, also of later
rounds. `league readmit` brings it back. Both `league withdraw` and `league disqualify` do this. They differ in what the
pages say: withdrawn, or disqualified (for breaking rules)."""
# The arguments of each command beside the common ones.
_ARGUMENTS: dict[str, dict[str, dict[str, Any]]] = {
    "agents": {
        "--problems": {
            "action": "store_true",
            "help": "only those with problems, the worst first, and refused applicants; those that have left come last",
        }
    },
    "add-player": {
        "--endpoint": {"metavar": "URL", "required": True, "help": "where it listens"},
        "--name": {"metavar": "NAME", "dest": "display_name", "help": "its name in the league"},
    },
    "withdraw": _DEPARTURE | _CONFIRMED,
    "disqualify": _DEPARTURE | _CONFIRMED,
    "readmit": {"player_id": {"metavar": "PLAYER", "help": "such as P07, or a player's name"}},
    "start": {
        "--yes": {
            "action": "store_true",
            "help": f"do not ask if seats are free, or if there are over {CONFIRM_ABOVE_MATCHES:,} matches",
        }
    },
    "set": {"changes": {"metavar": "KEY=VALUE", "nargs": "*", "help": "docs/settings.md lists the keys"}},
    "rematch": {
        "matches": {"metavar": "MATCH", "nargs": "*", "help": "such as R2M3"},
        "--held": {"action": "store_true", "help": "all matches that wait for the operator"},
    },
    "correct": {
        "match_id": {"metavar": "MATCH", "help": "such as R2M3"},
        "outcome": {"metavar": "OUTCOME", "help": "the winner's id or name, draw, or none"},
    }
    | _CONFIRMED,
    "query": _QUERY | _ROUND,
    "schedule": _ROUND,
}


def configure(parser: argparse.ArgumentParser) -> None:
    command = parser.prog.rpartition(" ")[2]
    for name, settings in _ARGUMENTS.get(command, {}).items():
        parser.add_argument(name, **settings)
    if command not in (*PUBLIC_COMMANDS, "add-player", "agents", "query", "start"):
        parser.add_argument("--reason", default="", help="why; everybody can read it: pages and the report may show it")
    add_options(parser)
    if command in ("withdraw", "disqualify"):
        parser.description = f"{parser.description}\n\n{_DEPARTS}"
    own = [line for line in EXAMPLES.splitlines() if f"{line} ".startswith(f"  league {command} ")]
    parser.epilog = "\n".join(["examples:", *own])


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command to a manager."""
    add_manager_option(parser)
    parser.add_argument("--admin-token-file", metavar="FILE", type=Path, help="default: the newest under --data-dir")
    add_data_dir_option(parser, None)
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    params = {
        name: getattr(options, name)
        for name in ("player_id", "endpoint", "display_name", "match_id", "round_id", "reason", "outcome", "query_type")
        if getattr(options, name, None) is not None
    }
    if options.command == "agents" and options.problems:
        options.command = "problems"
    params["command"] = options.command.replace("-", "_")
    if options.command == "set":
        params |= {"settings": _read_changes(options.changes)} if options.changes else {"command": "settings"}
    if options.command not in PUBLIC_COMMANDS:
        try:
            params["admin_token"] = admin_token(options)
        except CommandError as error:
            if options.command in ("agents", "problems"):
                raise CommandError(
                    f"{error}. Its page shows the agents, too: {dashboard_url(options.manager)}"
                ) from None
            raise
    with adding_remedies(options):
        if options.command == "start" and not options.yes:
            params |= confirm_start(options.manager, params["admin_token"])
        answer = asyncio.run(_send(options, params))
    print(json_line(answer) if options.json else _format(options.command, answer))
    # A query that the league answers with an error.
    return 1 if options.command == "query" and not answer.get("success", True) else 0


def _read_changes(texts: Sequence[str]) -> dict[str, str | int | float]:
    """The changes of settings on the command line. A value is a number if it looks like one, except in a title."""
    changes: dict[str, str | int | float] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise CommandError(f"a change is KEY=VALUE, such as choice_seconds=60, got {text!r}")
        is_number = name != "title" and re.fullmatch(r"-?\d+(\.\d+)?", value)
        changes[name] = value if not is_number else float(value) if "." in value else int(value)
    return changes


async def _send(options: argparse.Namespace, params: dict[str, Any]) -> dict[str, Any]:
    async with ManagerClient(options.manager) as manager:
        if options.command == "schedule":
            return await fetch_schedule(manager.call, params)
        if options.command in ("withdraw", "disqualify"):
            return await _remove_players(manager, options, params)
        if options.command == "rematch":
            return await _rematch(manager, options, params)
        if options.command == "correct":
            _confirm(options, f"Set the result of {options.match_id} to {options.outcome}?")
        return await manager.call(params)


def _confirm(options: argparse.Namespace, question: str) -> None:
    """Ask the operator on a terminal. Raises CommandError if the answer is no."""
    if sys.stdin.isatty() and not options.yes:
        confirm(question, "nothing is changed")


async def _remove_players(
    manager: ManagerClient, options: argparse.Namespace, params: dict[str, Any]
) -> dict[str, Any]:
    """Withdraw or disqualify players, one after the other. Returns the status after the last."""
    if not options.players and not options.address:
        raise CommandError("name players, such as P07 or P10-P99, or an address with --from")
    answer = await manager.call(params | {"command": "agents"})
    chosen = _select_players(options, answer["agents"])
    names = {one["id"]: one["display_name"] for one in answer["agents"]}
    who = ", ".join(f"{names[one]} ({one})" if one in names else one for one in chosen[:MAX_NAMED])
    more = f" and {len(chosen) - MAX_NAMED} more" if len(chosen) > MAX_NAMED else ""
    _confirm(options, f"{options.command.capitalize()} {who}{more}? Their matches that are not played are lost.")
    for player_id in chosen:
        answer = await manager.call(params | {"player_id": player_id})
    several = {"done": f"{pluralize(len(chosen), 'player')} left the league: {', '.join(chosen)}."}
    return answer | {"left": chosen} | (several if len(chosen) > 1 else {})


def _select_players(options: argparse.Namespace, agents: list[dict[str, Any]]) -> list[str]:
    """The players that the options name, and those in the ranges and from the address that are still in the league."""
    there = {one["id"]: one for one in agents if one["state"] != "SHUTDOWN" and re.fullmatch(r"P\d+", one["id"])}
    by_name = {one["display_name"].casefold(): name for name, one in there.items()}
    chosen = [name for name, one in there.items() if options.address and one.get("address") == options.address]
    for text in options.players:
        in_range = ids_in_range(text, "P", there)
        chosen += [by_name.get(text.casefold(), text)] if in_range is None else in_range
    if not chosen:
        named = " ".join([*options.players, *([f"--from {options.address}"] if options.address else [])])
        raise CommandError(f"no player of this league is meant by {named}")
    return list(dict.fromkeys(chosen))


def ids_in_range(text: str, letter: str, known: Iterable[str]) -> list[str] | None:
    """The ids that a range such as P10-P99 means. None if the text is not a range of such ids."""
    ends = re.fullmatch(rf"{letter}(\d+)-{letter}(\d+)", text, re.IGNORECASE)
    return None if ends is None else [one for one in known if int(ends[1]) <= int(one[1:]) <= int(ends[2])]


async def _rematch(manager: ManagerClient, options: argparse.Namespace, params: dict[str, Any]) -> dict[str, Any]:
    """Order rematches, one after the other. Returns the status after the last."""
    if not options.matches and not options.held:
        raise CommandError("name matches, such as R2M3, or add --held for all that wait for the operator")
    answer = await manager.call({"command": "status"})
    # A manager of an older release does not send which matches are held.
    chosen = [*dict.fromkeys([*options.matches, *(answer.get("held", ()) if options.held else ())])]
    for match_id in chosen:
        answer = await manager.call(params | {"match_id": match_id})
    if len(chosen) == 1:
        return answer
    several = f"{pluralize(len(chosen), 'match', 'es')} are played again: {', '.join(chosen)}."
    return answer | {"done": several if chosen else "Nothing has changed: no match waits for the operator."}


def _format(command: str, answer: dict[str, Any]) -> str:
    if command == "standings" and not answer["standings"]:
        return "There are no players yet."
    if command == "standings":
        names = {row["player_id"]: row["display_name"] for row in answer["standings"]}
        sentences = [*filter(None, [answer.get("ranked_by")]), *answer.get("ties", ())]
        ties = [sanitize_line(add_player_names(sentence, names)) for sentence in sentences]
        # A manager of an older release does not send the order.
        order = [f"Order: {sanitize_line(answer['order'])}."] if "order" in answer else []
        return "\n".join([standings_table(answer["standings"], answer.get("tie_breaks", ())), "", *ties, *order])
    if command == "schedule":
        return _format_schedule(answer) if answer["schedule"] else "There is no schedule yet."
    if command == "query":
        return escaped(json.dumps(answer["data"], ensure_ascii=False, indent=2))
    if command == "problems":
        return _format_problems(answer)
    if command == "agents":
        return "\n".join([_format_agents(answer["agents"]), *_format_refused(answer)])
    if "settings" in answer:
        rows = [
            [name, json.dumps(value, ensure_ascii=False), "yes" if name in answer["changeable"] else "no"]
            for name, value in answer["settings"].items()
        ]
        return table(["setting", "value", "may change"], rows)
    if "done" in answer:
        # A manager of an older release does not send it.
        return sanitize_lines(answer["done"])
    # A manager of an older release does not send the name of the round.
    round_ = sanitize_line(answer.get("round", f"round {answer['current_round']}"))
    lines = [
        f"{full_name(answer.get('title', ''), answer['league_id'])}: {answer['state']}"
        f"{' (paused)' if answer['paused'] else ''}",
        f"{round_}, {answer['matches_played']} of {answer['total_matches']} matches played, "
        f"{pluralize(answer['players'], 'player')}, {pluralize(answer['referees'], 'referee')}",
        # A manager of an older release does not send these.
        *([f"{answer['format']}: {answer['advancement']}"] if "advancement" in answer else []),
        *([f"SHA-256 of the seed: {answer['seed_commitment']}"] if "seed_commitment" in answer else []),
        *(
            [f"a start now would make {pluralize(answer['planned_matches'], 'match', 'es')}"]
            if answer.get("planned_matches")
            else []
        ),
        # A manager of an older release does not send it.
        *([f"free seats: {answer['free_seats']} (`league seats list`)"] if answer.get("free_seats") else []),
        *(
            [f"starts at {times.parse_timestamp(answer['starts_at']).astimezone():%Y-%m-%d %H:%M %Z}"]
            if "starts_at" in answer
            else []
        ),
        *([answer["first"]] if "first" in answer else []),
        *(f"waits for {reason}" for reason in answer["waits_for"]),
        *(f"look at {flag}" for flag in answer["flags"]),
        *answer.get("unreachable", ()),
    ]
    return "\n".join(map(sanitize_line, lines))


def _format_schedule(answer: dict[str, Any]) -> str:
    """The matches as a table with the names of players."""
    names = {one: f"{name} ({one})" for one, name in answer.get("names", {}).items()}
    rows = []
    for match in answer["schedule"]:
        players = [names.get(one, one) for one in (match["player_A_id"], match["player_B_id"])]
        rows.append([match["match_id"], *players, _outcome(match, names)])
    return table(["match", "A", "B", "result"], rows)


def _format_agents(agents: list[dict[str, Any]]) -> str:
    """The agents as a table. Below it: technical losses, the origins of moves, and broken rules (open profile)."""
    form = ["form"] if any("form" in one for one in agents) else []
    names = ["id", "display_name", "state", "endpoint", "address", *form]
    rows = [[str(one.get(name) or "-") for name in names] for one in agents]
    lines = [table(["id", "name", "state", "endpoint", "registered from", *form], rows)]
    # First what cost matches.
    lines += [_format_losses(one) for one in agents if one.get("lost_technically")]
    lines += [
        f"{one['id']} knows only the documents: it shows players its own token"
        for one in agents
        if "shows_own_token" in one
    ]
    moves = {one["id"]: msgspec.convert(one["moves"], MoveOrigins) for one in agents if "moves" in one}
    lines += [sanitize_line(f"moves of {agent}, as it states: {origins}") for agent, origins in moves.items()]
    for one in agents:
        lines += [
            sanitize_line(
                f"{one['id']} breaks {broken['rule']} ({_format_count(broken)} {broken['first_at']}): "
                f"{broken['came']}; expected {broken['expected']}"
            )
            for broken in one.get("broken_rules", ())
        ]
    return "\n".join(lines)


def _format_problems(answer: dict[str, Any]) -> str:
    """What the league waits for, the agents with problems, and the refused registrations, one per line."""
    # A manager of an older release does not send it.
    lines = [sanitize_line(f"waits for {reason}") for reason in answer.get("waits_for", ())]
    for one in msgspec.convert(answer, Problems).agents:
        since = f", no answer since {_local_time(one.unreachable_since)}" if one.unreachable_since else ""
        state = DEPARTURES.get(one.out or "", one.state.lower())
        lines.append(sanitize_line(f"{one.agent_id} {one.display_name} ({state}): {', '.join(one.sentences)}{since}"))
    return "\n".join([*(lines or ["No agent of the league has problems."]), *_format_refused(answer)])


def _local_time(at: str) -> str:
    return f"{times.parse_timestamp(at).astimezone():%H:%M:%S}"


def _format_losses(agent: dict[str, Any]) -> str:
    lost = agent["lost_technically"]
    shown = ", ".join(f"{one['match_id']} {one['ruling']}" for one in lost[:MAX_LOSSES])
    more = f" and {len(lost) - MAX_LOSSES} more" if len(lost) > MAX_LOSSES else ""
    replay = f"`league replay {lost[-1]['match_id']}` shows the last"
    return sanitize_line(
        f"{agent['id']} lost {pluralize(len(lost), 'match', 'es')} technically: {shown}{more}; {replay}"
    )


def _format_refused(answer: dict[str, Any]) -> list[str]:
    """The agents that tried to register and were refused, the latest first. An older manager does not send them."""
    refused = answer.get("refused", ())
    lines = [
        f"refused: {one['display_name'] or 'without a name'}, a {one['role']} at {one['endpoint'] or 'no endpoint'}, "
        f"from {one['address'] or 'unknown'} ({_times(one)} {one['last_at']}): {one['reason']} ({one['code']})"
        for one in refused
    ]
    if answer.get("unrecorded"):
        lines.append(f"refused: {answer['unrecorded']:,} more attempts since the manager was started")
    return ["", *map(sanitize_line, lines)] if lines else []


def _times(refused: dict[str, Any]) -> str:
    return "once, at" if refused["count"] == 1 else f"{refused['count']} times, last at"


def _format_count(broken: dict[str, Any]) -> str:
    return "once, at" if broken["count"] == 1 else f"{broken['count']} times, first at"


def _outcome(match: dict[str, Any], names: dict[str, str]) -> str:
    result = match.get("result")
    if result is None:
        return "-"
    status = result["details"].get("status", "DRAW")
    if result["winner"] is None:
        return str(status.replace("_", " ").lower())
    return f"{names.get(result['winner'], result['winner'])} wins{' by default' if status == 'TECHNICAL_LOSS' else ''}"
