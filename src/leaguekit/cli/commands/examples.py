"""``league examples``: an example of every message of the documents, for authors of agents."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from leaguekit.cli import CommandError, write_files
from leaguekit.protocol.examples import TOPICS, examples

EXAMPLES = """examples:
  league examples                              the names of all examples
  league examples --out messageexamples        write them, one file each
  league explain messageexamples/gameflow/GAME_OVER.json

DIR gets three folders: registration, gameflow and errors. Each file is a JSON-RPC request or answer with the whole
message in it. Nothing that is there is ever overwritten.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", metavar="DIR", type=Path, help="write the examples into this folder")


def run(options: argparse.Namespace) -> int:
    files = {f"{one.topic}/{one.name}.json": one.body for one in examples()}
    if options.out is None:
        print("\n".join(files))
        return 0
    for topic in TOPICS:
        if (options.out / topic).exists():
            raise CommandError(f"{options.out / topic} is there already; give another --out, or remove it first")
    texts = {name: json.dumps(json.loads(body), indent=2, ensure_ascii=False) for name, body in files.items()}
    write_files({options.out / name: f"{text}\n" for name, text in texts.items()})
    print(f"{len(files)} examples written to {options.out}")
    return 0
