"""``league token``: void a token that others may have seen, and make a new one."""

from __future__ import annotations

import argparse
from typing import Any

from leaguekit.cli.commands.operate import add_options
from leaguekit.cli.manager_client import adding_remedies, admin_token, call
from leaguekit.cli.tables import json_line

EXAMPLES = """examples:
  league token rotate P07               P07's token is void at once; its seat's code brings it back
  league token rotate --admin           a new admin token, in the same file
  league token rotate --referee-code    a new code for referees; registered referees stay registered

An agent comes back when it is started with its seat code: league player --manager 'http://…/mcp?seat=CODE'. A player or
referee without a seat gets one, and its code is shown once. Until it is back, its matches are lost or assigned again:
use `league pause` first if there is time. If others may have seen the seat's code, revoke that first (`league seats
revoke`).
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["rotate"])
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("agent_id", metavar="AGENT", nargs="?", help="its id, such as P07 or REF01, or its name")
    which.add_argument("--admin", action="store_true", help="the admin token")
    which.add_argument("--referee-code", action="store_true", help="the code that lets referees in")
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    command = "token_rotate"
    if options.admin or options.referee_code:
        command += "_admin" if options.admin else "_referee_code"
    params = {"command": command, "admin_token": admin_token(options), "agent_id": options.agent_id or ""}
    with adding_remedies(options):
        answer = call(options.manager, params)
    print(json_line(answer) if options.json else _as_text(answer))
    return 0


def _as_text(answer: dict[str, Any]) -> str:
    if "admin_token" in answer:
        return f"The new admin token (shown once; the manager's file has it, too): {answer['admin_token']}"
    if "referee_code" in answer:
        return f"The new referee code: {answer['referee_code']}"
    agent, seat = answer["agent_id"], answer["seat"]
    lost = f"if that is lost, `league seats revoke {seat['id']}` and rotate again"
    old = f"the code of its seat {seat['id']} ({lost})"
    way = f"this seat code (shown once): {seat['code']}" if seat["code"] else old
    return f"The token of {agent} is void. {agent} comes back with {way}"
