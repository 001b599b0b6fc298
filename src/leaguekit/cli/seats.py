"""``league seats``: create, list and revoke seats. A player registers with the code of its seat."""

from __future__ import annotations

import argparse
from typing import Any

from leaguekit.cli import CommandError
from leaguekit.cli.manager_client import admin_token, naming_token_file
from leaguekit.cli.operate import add_options, call
from leaguekit.cli.tables import json_line, table

EXAMPLES = """examples:
  league seats new 30                   thirty codes, one per student; they are shown once
  league seats list                     who has which seat
  league seats revoke S07               its code is no longer valid (the code instead of S07 works, too)

A player registers with its code in the manager's URL: league player --manager 'http://…/mcp?seat=CODE'. The same code
gives the same id, with a new token, at any time and from any machine. A player whose seat is revoked stays in the
league: `league token rotate` voids its token, `league withdraw` removes it. A seat is required only with
`league manager --require-seat`.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["new", "list", "revoke"])
    parser.add_argument("what", metavar="N|SEAT", nargs="?", help="how many (new); a seat's id or code (revoke)")
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    params = {"admin_token": admin_token(options), **_params(options.action, options.what)}
    with naming_token_file(options):
        answer = call(options.manager, params)
    print(json_line(answer) if options.json else _as_text(options.action, answer))
    return 0


def _params(action: str, what: str | None) -> dict[str, Any]:
    if action == "list":
        return {"command": "seats"}
    if action == "revoke":
        if what is None:
            raise CommandError("name the seat to revoke by its id, such as S07, or by its code")
        return {"command": "seats_revoke", "seat": what}
    if what is None or not what.isdecimal():
        raise CommandError(f"say how many seats, such as `league seats new 30`, got {what!r}")
    return {"command": "seats_new", "count": int(what)}


def _as_text(action: str, answer: dict[str, Any]) -> str:
    seats = answer["seats"]
    if action == "new":
        return table(["seat", "code (shown once)"], [[one["id"], one["code"]] for one in seats])
    if not seats:
        return "There are no seats; `league seats new 30` makes some."
    rows = [[one["id"], one["state"], one["holder"] or "-", one["display_name"] or "-"] for one in seats]
    return table(["seat", "state", "holder", "name"], rows)
