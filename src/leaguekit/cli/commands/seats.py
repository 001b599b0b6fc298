"""``league seats``: create, list and revoke seats. A player registers with the code of its seat."""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import re
from pathlib import Path
from typing import Any

from leaguekit.cli import CommandError, read_input
from leaguekit.cli.commands.operate import add_options, ids_in_range
from leaguekit.cli.manager_client import ManagerClient, adding_remedies, admin_token
from leaguekit.cli.tables import csv_row, json_line, pluralize, table
from leaguekit.protocol.plain_text import sanitize_line

EXAMPLES = """examples:
  league seats new 30                   thirty codes, one per student; they are shown once
  league seats new --names roster.csv   one per line of the file: a name, and an e-mail address if there is one
  league seats new --names roster.csv --csv > codes-1.csv     for a mail merge: seat, name, email, code
  league seats list                     who has which seat
  league seats revoke S07               its code is no longer valid (the name or the code instead of S07 works, too)
  league seats revoke S13-S24 S30       several

A player registers with its code in the manager's URL: league player --manager 'http://…/mcp?seat=CODE'. The same code
gives the same id, with a new token, at any time and from any machine. A player whose seat is revoked stays in the
league: `league token rotate` voids its token, `league withdraw` removes it. A seat is required only with
`league manager --require-seat`.
Write to a new file each time (codes-2.csv): the shell empties a file also if the command is refused. Codes cannot be
shown again: revoke the seats whose codes are lost, and make new ones.
The first line of a roster may have the names of the columns, in any order: name and email. Names and e-mail addresses
are shown to the operator only. A person who has a seat already gets another one only with --again. The CSV files of
`league export` and `league report` have the seat and the e-mail address of each player. CSV is in UTF-8: in Excel, open
it with Data > From Text/CSV.
"""
MAX_PERSON_LENGTH = 200
# The name of a column of a roster, such as "name", "Last name" or "E-mail address".
_HEAD = re.compile(r"(.* )?name|(e-?)?mail( address)?")
_IN_QUOTES = "put the name in quotes"


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["new", "list", "revoke"])
    parser.add_argument(
        "what",
        metavar="N|SEAT",
        nargs="*",
        help="new: how many; revoke: seats by id, such as S07 or S13-S24, by name or by code",
    )
    parser.add_argument("--names", metavar="FILE", type=Path, help="new: the people, as CSV: name, email")
    parser.add_argument("--again", action="store_true", help="new: also for people who have a seat already")
    parser.add_argument("--csv", action="store_true", help="new and list: print CSV")
    add_options(parser)


def run(options: argparse.Namespace) -> int:
    params = _params(options) | {"admin_token": admin_token(options)}
    with adding_remedies(options):
        answer = asyncio.run(_send(options, params))
    print(json_line(answer) if options.json else _as_text(options, answer))
    return 0


async def _send(options: argparse.Namespace, params: dict[str, Any]) -> dict[str, Any]:
    async with ManagerClient(options.manager) as manager:
        if options.action != "revoke":
            return await manager.call(params)
        before = {one["id"]: one for one in (await manager.call(params | {"command": "seats"}))["seats"]}
        chosen: list[str] = []
        for text in options.what:
            in_range = ids_in_range(text, "S", before)
            if in_range == []:
                raise CommandError(f"there is no seat in {text}")
            chosen += [text] if in_range is None else in_range
        for one in chosen:
            answer = await manager.call(params | {"seat": one})
        revoked = [one["id"] for one in answer["seats"] if one != before.get(one["id"])]
        several = f"{pluralize(len(revoked), 'seat')} revoked: {', '.join(revoked) or 'all were revoked already'}."
        return answer | {"revoked": revoked} | ({"done": several} if len(chosen) > 1 else {})


def _params(options: argparse.Namespace) -> dict[str, Any]:
    action, what = options.action, options.what
    if options.names is not None and (action != "new" or what):
        raise CommandError("--names is for `league seats new` without a number: it makes one seat per line of the file")
    if action == "list":
        return {"command": "seats"}
    if action == "revoke":
        if not what:
            raise CommandError("name the seats to revoke by ids, such as S07 or S13-S24, by persons, or by codes")
        return {"command": "seats_revoke"}
    if options.names is not None:
        return {"command": "seats_new", "people": _read_roster(options.names), "again": options.again}
    if len(what) != 1 or not what[0].isdecimal():
        got = f", got {' '.join(what)!r}" if what else ""
        raise CommandError(f"say how many seats, such as `league seats new 30`{got}")
    return {"command": "seats_new", "count": int(what[0])}


def _read_roster(path: Path) -> list[tuple[str, str]]:
    """The name and the e-mail address of each person in a file. Raises CommandError."""
    try:
        text = read_input(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8. Save it as CSV in UTF-8") from None
    # A table that is copied from a spreadsheet has tabs.
    delimiter = next((one for one in "\t;" if one in text.partition("\n")[0]), ",")
    reader = csv.reader(io.StringIO(text), delimiter=delimiter)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise CommandError(f"{path} is not CSV: {error}") from None
    rows = [(line, row) for line, row in rows if any(row)]
    if not rows:
        raise CommandError(f"{path} has no names: write one per line")
    columns = 2
    name_at, email_at = 0, 1
    heads = [head.casefold() for head in rows[0][1]]
    if any(_HEAD.fullmatch(head) for head in heads):
        # "E-Mail", "email" or "e-mail address".
        unknown = [head for head in rows[0][1] if head and head.casefold() != "name" and "mail" not in head.casefold()]
        if unknown or "name" not in heads:
            fault = f"unknown column {', '.join(unknown)}" if unknown else "there is no column name"
            raise CommandError(sanitize_line(f"{path}: line {rows[0][0]}: {fault}; known are name and email"))
        columns = len(heads)
        name_at, email_at = (
            heads.index("name"),
            next((at for at, head in enumerate(heads) if "mail" in head), columns),
        )
        rows = rows[1:]
    people: list[tuple[str, str]] = []
    lines: dict[str, int] = {}
    for line, row in rows:
        where = f"{path}: line {line}"
        if any(row[columns:]):
            fault = f"has {len(row)} columns, but known are name and email; got {', '.join(row)}"
            raise CommandError(sanitize_line(f"{where} {fault}. If a name has a comma, {_IN_QUOTES}"))
        name, email = (row[at] if at < len(row) else "" for at in (name_at, email_at))
        if not name or len(name) > MAX_PERSON_LENGTH or len(email) > MAX_PERSON_LENGTH or ("@" not in email and email):
            wanted = "a name and an e-mail address, such as Ada Lovelace,ada@example.org"
            remedy = f"If a name has a comma, {_IN_QUOTES}"
            raise CommandError(sanitize_line(f"{where} must have {wanted}; got {', '.join(row)}. {remedy}"))
        who = email or name
        if (first := lines.setdefault(who.casefold(), line)) != line:
            raise CommandError(sanitize_line(f"{where}: {who} is also on line {first}"))
        people.append((name, email))
    return people


def _as_text(options: argparse.Namespace, answer: dict[str, Any]) -> str:
    seats = answer["seats"]
    if options.action == "revoke":
        seats = [one for one in seats if one["id"] in answer["revoked"]]
        if not seats:
            return "\n".join(_done(answer)).strip()
    # Revoked seats come last.
    seats = sorted(seats, key=lambda one: one.get("state") == "revoked")
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
        return "".join(map(csv_row, [[*columns], *rows])).rstrip("\n")
    return "\n".join([table([*columns], [[cell or "-" for cell in row] for row in rows]), *_done(answer)])


def _done(answer: dict[str, Any]) -> list[str]:
    return ["", sanitize_line(answer["done"])] if "done" in answer else []
