"""``make stress``: siege, registrations, time limits, readers, floods, held connections, streams and strangers.

Each prints what it found.

python -m tests.stress [siege] [registrations] [limits] [readers] [floods] [slots] [streams] [strangers] [--short]
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from leaguekit.cli.program import raise_file_limit
from tests.stress import floods, limits, readers, registrations, siege, slots, strangers, streams

STRESSES = {
    "siege": siege.stress,
    "registrations": registrations.stress,
    "limits": limits.stress,
    "readers": readers.stress,
    "floods": floods.stress,
    "slots": slots.stress,
    "streams": streams.stress,
    "strangers": strangers.stress,
}


def main() -> int:
    raise_file_limit()
    short = "--short" in sys.argv
    chosen = [name for name in sys.argv[1:] if name in STRESSES] or list(STRESSES)
    failures = []
    for name in chosen:
        print(f"== {name}", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            told, faults = asyncio.run(STRESSES[name](Path(folder), short))
        print(json.dumps(told, indent=1), flush=True)
        failures += [f"{name}: {fault}" for fault in faults]
    print("\n".join(failures) or "all is well")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
