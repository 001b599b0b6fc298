"""Taps the calls of ``league`` commands to other programs.

A tapped command that ends leaves in a folder how many calls of each kind it has made, and some of them with their
answers. One that is silent answers broadcasts at once, so that a league is played without sending them.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from agents import ANNOUNCEMENT, ASSIGNMENT, PING, ROUND_OVER, STANDINGS, TRANSCRIPT

from leaguekit.cli import forked_process
from leaguekit.transport.base import HttpAnswer
from leaguekit.transport.client.caller import HttpCaller

# This number of exchanges of a kind is kept whole.
MAX_KEPT = 200
BROADCASTS = {ANNOUNCEMENT, STANDINGS, ROUND_OVER}
METHOD = b'"method":"'


def kind_of(url: str, body: bytes) -> str:
    if not url.partition("?")[0].endswith("/mcp"):
        return TRANSCRIPT
    return body.partition(METHOD)[2].partition(b'"')[0].decode()


class ExchangeListener:
    """Stands before the caller of a process."""

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._counts: Counter[str] = Counter()
        self._kept: dict[str, list[tuple[str, str]]] = {}

    async def post(self, send: Callable[..., Awaitable[HttpAnswer]], url: str, body: bytes, *limits: Any) -> HttpAnswer:
        kind = kind_of(url, body)
        if self._silent and kind in BROADCASTS:
            return HttpAnswer(200, b"{}")
        answer = await send(url, body, *limits)
        # Until matches are given out, pings only see who is there.
        if kind != PING or self._counts[ASSIGNMENT]:
            self._counts[kind] += 1
            kept = self._kept.setdefault(kind, [])
            if len(kept) < MAX_KEPT:
                kept.append((body.decode(), answer.body.decode()))
        return answer

    def leave(self, folder: Path) -> None:
        folder.joinpath(f"{os.getpid()}.json").write_text(json.dumps({"counts": self._counts, "kept": self._kept}))


@contextmanager
def tapped(folder: Path | None, *, silent: bool = False) -> Iterator[None]:
    """Tap the commands that are forked meanwhile."""
    listener = ExchangeListener(silent=silent)
    plain_post, plain_main = HttpCaller.post, forked_process.main

    async def post(caller: HttpCaller, url: str, body: bytes, *limits: Any) -> HttpAnswer:
        return await listener.post(partial(plain_post, caller), url, body, *limits)

    def main(arguments: list[str]) -> int:
        try:
            return plain_main(arguments)
        finally:
            if folder is not None:
                listener.leave(folder)

    HttpCaller.post, forked_process.main = post, main  # type: ignore[method-assign]
    try:
        yield
    finally:
        HttpCaller.post, forked_process.main = plain_post, plain_main  # type: ignore[method-assign]
