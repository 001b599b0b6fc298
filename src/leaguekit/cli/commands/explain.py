"""``league explain``: what a message is, and everything that is wrong with it."""

from __future__ import annotations

import argparse

from leaguekit.cli import CommandError, read_input
from leaguekit.cli.tables import json_line
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.explain import Explanation, explain
from leaguekit.protocol.plain_text import sanitize_line

EXAMPLES = """examples:
  league explain message.json
  echo '{"message_type": "GAME_JOIN_ACK"}' | league explain -
  league explain --json exchange.json    for programs

A file holds a bare message, a JSON-RPC request, answer or batch, or an exchange: a list of requests and answers.
Each violation names its code, its path, what came, what was expected, and the requirement (document and line).
The exit code is 0 if all is right, 1 if something is wrong, 2 if there is nothing to explain.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a file with JSON in it, or - for standard input")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of text")


def run(options: argparse.Namespace) -> int:
    try:
        parts = explain(read_input(options.file))
    except ProtocolError as error:
        raise CommandError(error.detail) from None
    print(_as_json(parts) if options.json else "\n".join(_as_text(part) for part in parts))
    return 1 if any(part.wrong for part in parts) else 0


def _as_text(part: Explanation) -> str:
    wrong = [f"  {violation.code} {violation}" for violation in part.wrong]
    return "\n".join(map(sanitize_line, [part.what, *(wrong or ["  nothing is wrong"])]))


def _as_json(parts: list[Explanation]) -> str:
    plain = [{"what": part.what, "violations": [one.plain() for one in part.wrong]} for part in parts]
    return json_line({"valid": not any(part.wrong for part in parts), "parts": plain})
