"""The ``league`` command, with its calls to other programs tapped: as ``python tapped.py COMMAND …``.

BENCH_RECORD names a folder: when the program ends, it leaves there how many calls of each kind it has made, and some of
them with their answers. BENCH_SILENT answers broadcasts at once, so that a league is played without sending them.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from agents import ANNOUNCEMENT, ASSIGNMENT, PING, ROUND_OVER, STANDINGS, TRANSCRIPT

from leaguekit.cli import main
from leaguekit.transport.base import HttpAnswer
from leaguekit.transport.client.caller import HttpCaller

# So many of a kind are kept whole.
MAX_KEPT = 200
BROADCASTS = {ANNOUNCEMENT, STANDINGS, ROUND_OVER}
METHOD = b'"method":"'


def kind_of(url: str, body: bytes) -> str:
    if not url.partition("?")[0].endswith("/mcp"):
        return TRANSCRIPT
    return body.partition(METHOD)[2].partition(b'"')[0].decode()


class ExchangeListener:
    """Stands before the caller of this process."""

    def __init__(self, folder: str | None, *, silent: bool) -> None:
        self._silent = silent
        self._counts: Counter[str] = Counter()
        self._kept: dict[str, list[tuple[str, str]]] = {}
        self._post = HttpCaller.post
        if folder is not None:
            atexit.register(self._leave, Path(folder))

    async def post(self, caller: HttpCaller, url: str, body: bytes, *limits: Any) -> HttpAnswer:
        kind = kind_of(url, body)
        if self._silent and kind in BROADCASTS:
            return HttpAnswer(200, b"{}")
        answer = await self._post(caller, url, body, *limits)
        # Until matches are given out, pings only see who is there.
        if kind != PING or self._counts[ASSIGNMENT]:
            self._counts[kind] += 1
            kept = self._kept.setdefault(kind, [])
            if len(kept) < MAX_KEPT:
                kept.append((body.decode(), answer.body.decode()))
        return answer

    def _leave(self, folder: Path) -> None:
        folder.joinpath(f"{os.getpid()}.json").write_text(json.dumps({"counts": self._counts, "kept": self._kept}))


if __name__ == "__main__":
    tap = ExchangeListener(os.environ.get("BENCH_RECORD"), silent="BENCH_SILENT" in os.environ)

    async def post(caller: HttpCaller, url: str, body: bytes, *limits: Any) -> HttpAnswer:
        return await tap.post(caller, url, body, *limits)

    HttpCaller.post = post  # type: ignore[method-assign]
    sys.exit(main())
