"""``league schema``: the JSON Schema of every message, for authors of agents in any language."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from leaguekit.cli import CommandError, write_files
from leaguekit.protocol.schemas import encoded, index, message_schemas

EXAMPLES = """examples:
  league schema                        the message types
  league schema GAME_INVITATION        the schema of one
  league schema --out schemas          all of them, one file each, and index.json that accepts any
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("type", metavar="TYPE", nargs="?", help="a message type, such as GAME_INVITATION")
    parser.add_argument("--out", metavar="DIR", type=Path, help="write all schemas into this folder")


def run(options: argparse.Namespace) -> int:
    schemas = message_schemas()
    if options.out is not None:
        files = {"index": index(), **schemas}
        write_files({options.out / f"{name}.json": encoded(schema) for name, schema in files.items()})
        print(f"{len(schemas)} message types and index.json written to {options.out}")
    elif options.type is None:
        print("\n".join(schemas))
    elif (schema := schemas.get(options.type)) is not None:
        sys.stdout.write(encoded(schema).decode())
    else:
        raise CommandError(f"there is no message type {options.type!r}; `league schema` lists them")
    return 0
