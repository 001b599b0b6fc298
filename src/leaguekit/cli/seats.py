"""``league seats``: create, list and revoke seats. A player registers with the code of its seat."""

from __future__ import annotations

import argparse
import csv
import io
from pathlib import Path
from typing import Any

from leaguekit.cli import CommandError, read_input
from leaguekit.cli.manager_client import admin_token, naming_token_file
from leaguekit.cli.operate import add_options, call
from leaguekit.cli.tables import csv_row, json_line, table
from leaguekit.protocol.plain_text import sanitize_line

EXAMPLES = """examples:
  league seats new 30                   thirty codes, one per student; they are shown once
  league seats new --names roster.csv   one per line of the file: a name, and an e-mail address if there is one
  league seats new --names roster.csv --csv > codes.csv       for a mail merge: seat, name, email, code
  league seats list                     who has which seat
  league seats revoke S07               its code is no longer valid (the name or the code instead of S07 works, too)

A player registers with its code in the manager's URL: league player --manager 'http://…/mcp?seat=CODE'. The same code
gives the same id, with a new token, at any time and from any machine. A player whose seat is revoked stays in the
league: `league token rotate` voids its token, `league withdraw` removes it. A seat is required only with
`league manager --require-seat`.
The first line of a roster may have the names of the columns, in any order: name and email. Names and e-mail addresses
are shown to the operator only. The CSV files of `league export` and `league report` have the seat and the e-mail
address of each player.
"""
MAX_PERSON_LENGTH = 200


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["new", "list", "revoke"])
    parser.add_argument("what", metavar="N|SEAT", nargs="?", help="how many (new); a seat's id, name or code (revoke)")
    parser.add_argument("--names", metavar="FILE", type=Path, help="new: the people, as CSV: name, email")
    parser.add_argument("--csv", action="store_true", help="new and list: print CSV")
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    params = _params(options) | {"admin_token": admin_token(options)}
    with naming_token_file(options):
        answer = call(options.manager, params)
    print(json_line(answer) if options.json else _as_text(options, answer))
    return 0


def _params(options: argparse.Namespace) -> dict[str, Any]:
    action, what = options.action, options.what
    if options.names is not None and (action != "new" or what is not None):
        raise CommandError("--names is for `league seats new` without a number: it makes one seat per line of the file")
    if action == "list":
        return {"command": "seats"}
    if action == "revoke":
        if what is None:
            raise CommandError("name the seat to revoke by its id, such as S07, by its person, or by its code")
        return {"command": "seats_revoke", "seat": what}
    if options.names is not None:
        return {"command": "seats_new", "people": _read_roster(options.names)}
    if what is None or not what.isdecimal():
        raise CommandError(f"say how many seats, such as `league seats new 30`, got {what!r}")
    return {"command": "seats_new", "count": int(what)}


def _read_roster(path: Path) -> list[tuple[str, str]]:
    """The name and the e-mail address of each person in a file. Raises CommandError."""
    try:
        text = read_input(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8. Save it as CSV in UTF-8") from None
    delimiter = ";" if text.partition("\n")[0].count(";") else ","
    try:
        rows = [[cell.strip() for cell in row] for row in csv.reader(io.StringIO(text), delimiter=delimiter)]
    except csv.Error as error:
        raise CommandError(f"{path} is not CSV: {error}") from None
    rows = [row for row in rows if any(row)]
    if not rows:
        raise CommandError(f"{path} has no names: write one per line")
    name_at, email_at = 0, 1
    heads = [head.casefold().replace("-", "") for head in rows[0]]
    if "name" in heads:
        name_at, email_at = heads.index("name"), heads.index("email") if "email" in heads else len(heads)
        rows = rows[1:]
    people = []
    for number, row in enumerate(rows, start=1):
        name, email = (row[at] if at < len(row) else "" for at in (name_at, email_at))
        if not name or len(name) > MAX_PERSON_LENGTH or len(email) > MAX_PERSON_LENGTH or ("@" not in email and email):
            wanted = "a name and an e-mail address, such as Ada Lovelace,ada@example.org"
            raise CommandError(sanitize_line(f"{path}: row {number} must have {wanted}; got {', '.join(row)}"))
        people.append((name, email))
    return people


def _as_text(options: argparse.Namespace, answer: dict[str, Any]) -> str:
    seats = answer["seats"]
    if not seats:
        return "There are no seats; `league seats new 30` makes some."
    columns = {"seat": "id", "name": "name", "email": "email"}
    # A manager of an older release does not send the people.
    columns = {head: key for head, key in columns.items() if any(one.get(key) for one in seats) or options.csv}
    if options.action == "new":
        columns["code" if options.csv else "code (shown once)"] = "code"
    else:
        columns |= {"state": "state", "holder": "holder", "player": "display_name"}
    rows = [[one.get(key) or "" for key in columns.values()] for one in seats]
    if options.csv:
        return "".join(map(csv_row, [[*columns], *rows])).rstrip("\r\n")
    return "\n".join([table([*columns], [[cell or "-" for cell in row] for row in rows]), *_done(answer)])


def _done(answer: dict[str, Any]) -> list[str]:
    return ["", sanitize_line(answer["done"])] if "done" in answer else []
