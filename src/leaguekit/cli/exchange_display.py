"""Exchanges with one agent, shown as they go: a line for each message and for whatever is wrong with it, or JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from leaguekit.cli.tables import json_line
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.explain import explain
from leaguekit.protocol.plain_text import harmless, harmless_lines
from leaguekit.referee.transcripts import describe_message
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import Caller, CallFailed, HttpAnswer, Unreachable

MAX_SHOWN = 300
TO, FROM = "→", "←"
OK = 200


class Show:
    """What goes to an agent and what comes from it; ``faults`` counts what was wrong with the latter."""

    def __init__(self, *, as_json: bool) -> None:
        self._as_json = as_json
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._is_read = True
        self.faults = 0

    def to_agent(self, body: bytes) -> None:
        self._tell(TO, body, [])

    def from_agent(self, body: bytes, answering: bytes | None = None, status: int = OK) -> None:
        """A request of the agent's own, or its answer to a request, and everything that is wrong with it."""
        self._tell(FROM, body, _wrong(body, answering), status)

    def failed(self, failure: str) -> None:
        """There was no answer."""
        self._line({"way": FROM, "failed": failure}, f"{FROM} nothing: {failure}", [])
        self.faults += 1

    def end(self, outcome: dict[str, Any], text: str) -> None:
        """How the match ended."""
        self._print(json_line(outcome) if self._as_json else f"\n{harmless_lines(text)}")
        if not self._is_read:
            raise BrokenPipeError

    def _tell(self, way: str, body: bytes, wrong: list[str], status: int = OK) -> None:
        try:
            value = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            value = body.decode(errors="replace")
        self.faults += bool(wrong)
        kind, words = _in_words(value)
        short = words if len(words) <= MAX_SHOWN else f"{words[:MAX_SHOWN]}…"
        whole = {"way": way, "message": value, "wrong": wrong}
        if status != OK:
            whole["http_status"], short = status, f"HTTP {status} {short}"
        self._line(whole, f"{way} {kind:24} {short}".rstrip(), wrong)

    def _line(self, whole: dict[str, Any], short: str, below: Iterable[str]) -> None:
        seconds = self._loop.time() - self._began
        if self._as_json:
            self._print(json_line({"seconds": round(seconds, 3)} | whole))
            return
        self._print(f"{seconds:8.3f}  {harmless(short)}")
        for text in below:
            self._print(f"{'':10}wrong: {harmless(text)}")

    def _print(self, line: str) -> None:
        """Who read the beginning may have seen enough; the match is still played to its end."""
        if self._is_read:
            try:
                print(line, flush=True)
            except BrokenPipeError:
                self._is_read = False


def _in_words(value: Any) -> tuple[str, str]:
    """What a request or an answer of JSON-RPC is, and what it says."""
    if not isinstance(value, dict):
        # What is no JSON is often a page of many lines.
        return "?", " ".join(value.split()) if isinstance(value, str) else json_line(value)
    # What is no JSON-RPC at all may be a message by itself.
    inner = value.get("params", value.get("result", value))
    if isinstance(inner, dict) and isinstance(kind := inner.get("message_type"), str):
        return kind, (_OF_LEAGUE.get(kind) or partial(describe_message, kind))(inner)
    if isinstance(error := value.get("error"), dict):
        return "error", f"{error.get('code')} {error.get('message')}: {json_line(error.get('data'))}"
    return (str(value["method"]), "") if "method" in value else ("answer", json_line(inner))


def _applicant(body: dict[str, Any]) -> str:
    meta = body.get("player_meta")
    return json_line(meta.get("display_name")) if isinstance(meta, dict) else ""


def _admission(body: dict[str, Any]) -> str:
    return f"{body.get('status')} as {body.get('player_id')}" if body.get("player_id") else str(body.get("reason"))


def _table(rows: object) -> str:
    """The first places of a table."""
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return ", ".join(f"{row.get('player_id')} {row.get('points')}" for row in found[:5])


# What matters in the messages of the league; those of matches are put into words as in transcripts.
_OF_LEAGUE: dict[str, Callable[[dict[str, Any]], str]] = {
    "LEAGUE_REGISTER_REQUEST": _applicant,
    "LEAGUE_REGISTER_RESPONSE": _admission,
    "ROUND_ANNOUNCEMENT": lambda body: f"round {body.get('round_id')}",
    "ROUND_COMPLETED": lambda body: f"round {body.get('round_id')}",
    "LEAGUE_STANDINGS_UPDATE": lambda body: _table(body.get("standings")),
    "LEAGUE_COMPLETED": lambda body: _table(body.get("final_standings")),
}


def _wrong(body: bytes, answering: bytes | None) -> list[str]:
    """Everything that is wrong with a request, or with the answer to one of ours."""
    if answering is not None and b'"ping"' in answering:
        # Any answer will do.
        return []
    try:
        parts = explain(body)
        if answering is not None:
            parts = explain(b"[%b,%b]" % (answering, body))
    except ProtocolError as error:
        return [error.detail if body else "there is nothing in it"]
    found = [f"{one.code} {one}" for part in parts for one in part.wrong]
    what = parts[-1].what
    if answering is not None and "JSON-RPC error" in what:
        found.append("a refusal, and a result was expected")
    elif answering is not None and "JSON-RPC" not in what:
        found.append("E041 this is no answer of JSON-RPC 2.0: the message belongs into its result")
    return found


class ShownCaller:
    """A Caller that shows what it sends to an agent and gets from it; ``own`` are the URLs of those that are not it."""

    def __init__(self, caller: Caller, show: Show, own: Iterable[str]) -> None:
        self._caller = caller
        self._show = show
        self._own = {read_url(url)[1:3] for url in own}

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        """As Caller.post."""
        if self._is_own(url):
            return await self._caller.post(url, body, seconds, max_bytes)
        self._show.to_agent(body)
        try:
            answer = await self._caller.post(url, body, seconds, max_bytes)
        except CallFailed as failure:
            self._show.failed(f"{failure.code} {failure}")
            raise
        self._show.from_agent(answer.body, body, answer.status)
        return answer

    async def close(self) -> None:
        await self._caller.close()

    def _is_own(self, url: str) -> bool:
        try:
            return read_url(url)[1:3] in self._own
        except Unreachable:
            return False
