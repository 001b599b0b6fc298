"""Displays the exchanges with one agent: a line per message and per violation in it, or JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import msgspec

from leaguekit.cli.boards import plain_lines
from leaguekit.cli.tables import json_line
from leaguekit.games.base import Game
from leaguekit.games.pictures import game_picture, name_players
from leaguekit.match.move_messages import stated_info
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError, Violation
from leaguekit.protocol.explain import explain
from leaguekit.protocol.messages import MoveOrigins
from leaguekit.protocol.plain_text import sanitize_line, sanitize_lines
from leaguekit.referee.transcripts import describe_message
from leaguekit.transport.addresses import read_url
from leaguekit.transport.base import Caller, CallFailed, HttpAnswer, Unreachable
from leaguekit.transport.dialects.forms import unwrapped_messages
from leaguekit.transport.dialects.requests import read_request

MAX_TEXT_LENGTH = 300
TO, FROM = "→", "←"
OK = 200
# The fields by which a message is recognised that is sent again in another form.
_IDENTIFYING = ("message_type", "conversation_id", "timestamp", "match_id")


class _MoveRequest(msgspec.Struct):
    context: dict[str, Any] = {}


class _ResultDetails(msgspec.Struct):
    position: dict[str, Any] = {}


class _GameResult(msgspec.Struct):
    details: _ResultDetails = msgspec.field(default_factory=_ResultDetails)


class _Positions(msgspec.Struct):
    """The two places of a message that may have a position: as a player sees it, and at the end."""

    move_request: _MoveRequest = msgspec.field(default_factory=_MoveRequest)
    game_result: _GameResult = msgspec.field(default_factory=_GameResult)


class _Positioned(msgspec.Struct):
    params: _Positions


class ExchangeDisplay:
    """Prints the messages to and from an agent. ``faults`` counts the agent's messages with violations.

    ``origins`` counts its moves by the origin that it states. Below a call for a move and the result, the position of
    ``game`` is drawn, if the game has a picture of it.

    With ``is_open``, a message is sent in one form after another until the agent understands it. Only the answer to the
    last form is counted.
    """

    def __init__(self, game: Game[Any] | None = None, *, as_json: bool, is_open: bool = False) -> None:
        self._game = game
        self._as_json = as_json
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._is_output_open = True
        self.faults = 0
        self.origins = MoveOrigins()
        self._is_open = is_open
        # The methods by which messages were sent whose answers were counted as faults, by the messages.
        self._counted: dict[str, str] = {}

    def to_agent(self, body: bytes) -> None:
        message, method = self._identify(body)
        if message in self._counted and self._counted[message] != method:
            del self._counted[message]
            self.faults -= 1
            note = "the same in another form: that the agent did not understand the one before is not counted"
            self._print_line({"way": TO, "note": note}, f"{TO} ({note})", [])
        self._print_message(TO, body, [])

    def from_agent(self, body: bytes, answering: bytes | None = None, status: int = OK) -> None:
        """Print a request of the agent, or its answer to the request ``answering``, with its violations."""
        wrong = _find_violations(body, answering)
        self._print_message(FROM, body, wrong, status)
        message, method = self._identify(answering or b"")
        if message and wrong:
            self._counted[message] = method

    def failed(self, failure: str, answering: bytes) -> None:
        """Print that there was no answer to a request. A ping only finds out whether the agent listens already."""
        self._print_line({"way": FROM, "failed": failure}, f"{FROM} nothing: {failure}", [])
        self.faults += not (self._is_open and _is_ping(answering))

    def _identify(self, body: bytes) -> tuple[str, str]:
        """A text that identifies the message in a request in any form, and the method; both empty if it has none."""
        incoming = read_request(body) if self._is_open else None
        if incoming is None or incoming.kind is None:
            return "", ""
        return json_line([incoming.message.get(name) for name in _IDENTIFYING]), incoming.method

    def end(self, outcome: dict[str, Any], text: str) -> None:
        """Print the outcome of the match."""
        self._print(json_line(outcome) if self._as_json else f"\n{sanitize_lines(text)}")
        if not self._is_output_open:
            raise BrokenPipeError

    def _print_message(self, direction: str, body: bytes, wrong: list[str], status: int = OK) -> None:
        try:
            value = msgspec.json.decode(body)
        except DECODE_ERRORS:
            value = body.decode(errors="replace")
        self.faults += bool(wrong)
        if direction == FROM and isinstance(value, dict) and isinstance(result := value.get("result"), dict):
            self.origins.count(stated_info(result))
        kind, text = _summarize(value)
        short = text if len(text) <= MAX_TEXT_LENGTH else f"{text[:MAX_TEXT_LENGTH]}…"
        whole = {"way": direction, "message": value, "wrong": wrong}
        if status != OK:
            whole["http_status"], short = status, f"HTTP {status} {short}"
        below = [f"wrong: {text}" for text in wrong]
        if direction == TO and not self._as_json:
            below += self._draw_position(value)
        self._print_line(whole, f"{direction} {kind:24} {short}".rstrip(), below)

    def _draw_position(self, request: Any) -> list[str]:
        """The position in a request, as lines; empty if it has none, or if its moves say as much."""
        try:
            call = msgspec.convert(request, _Positioned).params
        except msgspec.ValidationError:
            return []
        view = call.move_request.context or call.game_result.details.position
        picture = game_picture(self._game, view) if view else None
        if picture is None or picture["kind"] == "cards":
            return []
        return plain_lines(name_players(picture, "PLAYER_A", "PLAYER_B"))

    def _print_line(self, whole: dict[str, Any], short: str, below: Iterable[str]) -> None:
        seconds = self._loop.time() - self._began
        if self._as_json:
            self._print(json_line({"seconds": round(seconds, 3)} | whole))
            return
        self._print(f"{seconds:8.3f}  {sanitize_line(short)}")
        for text in below:
            self._print(f"{'':10}{sanitize_line(text)}")

    def _print(self, line: str) -> None:
        """Print a line. If the output was closed, the match is still played to its end."""
        if self._is_output_open:
            try:
                print(line, flush=True)
            except BrokenPipeError:
                self._is_output_open = False


def _summarize(value: Any) -> tuple[str, str]:
    """The kind of a JSON-RPC request or answer, and a summary of it."""
    if not isinstance(value, dict):
        # Text that is not JSON is often an HTML page of many lines.
        return "?", " ".join(value.split()) if isinstance(value, str) else json_line(value)
    # A value that is not JSON-RPC may be a bare message.
    inner = value.get("params", value.get("result", value))
    if isinstance(inner, dict):
        for path, message in [("", inner), *unwrapped_messages(inner), ("arguments", inner.get("arguments"))]:
            if isinstance(message, dict) and isinstance(kind := message.get("message_type"), str):
                text = (_LEAGUE_SUMMARIES.get(kind) or partial(describe_message, kind))(message)
                return kind, f"{text} (in {path})".lstrip() if path else text
    if isinstance(error := value.get("error"), dict):
        return "error", f"{error.get('code')} {error.get('message')}: {json_line(error.get('data'))}"
    return (str(value["method"]), "") if "method" in value else ("answer", json_line(inner))


def _summarize_registration(body: dict[str, Any]) -> str:
    meta = body.get("player_meta")
    return json_line(meta.get("display_name")) if isinstance(meta, dict) else ""


def _summarize_response(body: dict[str, Any]) -> str:
    return f"{body.get('status')} as {body.get('player_id')}" if body.get("player_id") else str(body.get("reason"))


def _summarize_table(rows: object) -> str:
    """The first rows of a table."""
    found = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return ", ".join(f"{row.get('player_id')} {row.get('points')}" for row in found[:5])


# Summaries of the messages of the league. Those of matches are summarized as in transcripts.
_LEAGUE_SUMMARIES: dict[str, Callable[[dict[str, Any]], str]] = {
    "LEAGUE_REGISTER_REQUEST": _summarize_registration,
    "LEAGUE_REGISTER_RESPONSE": _summarize_response,
    "ROUND_ANNOUNCEMENT": lambda body: f"round {body.get('round_id')}",
    "ROUND_COMPLETED": lambda body: f"round {body.get('round_id')}",
    "LEAGUE_STANDINGS_UPDATE": lambda body: _summarize_table(body.get("standings")),
    "LEAGUE_COMPLETED": lambda body: _summarize_table(body.get("final_standings")),
}


def _find_violations(body: bytes, answering: bytes | None) -> list[str]:
    """Everything that is wrong with a request, or with the answer to the request ``answering``."""
    if answering is not None and _is_ping(answering):
        # Every answer to a ping is right.
        return []
    own: list[Violation] = []
    try:
        parts = explain(body)
        if answering is not None:
            # A request of ours in another form than that of the documents is not the agent's fault.
            own = explain(answering)[0].wrong
            parts = explain(b"[%b,%b]" % (answering, body))
    except ProtocolError as error:
        return [error.detail if body else "there is nothing in it"]
    found = [f"{one.code} {one}" for part in parts for one in part.wrong if one not in own]
    what = parts[-1].what
    if answering is not None and "JSON-RPC error" in what:
        found.append("a refusal, and a result was expected")
    elif answering is not None and "JSON-RPC" not in what:
        found.append("E041 this is not an answer of JSON-RPC 2.0: the message belongs into its result")
    return found


def _is_ping(body: bytes) -> bool:
    return b'"ping"' in body


class DisplayingCaller:
    """A ``Caller`` that displays its exchanges with the agent. Calls to the URLs ``own`` are not displayed."""

    def __init__(self, caller: Caller, display: ExchangeDisplay, own: Iterable[str]) -> None:
        self._caller = caller
        self._display = display
        self._own_addresses = {read_url(url)[1:3] for url in own}

    async def post(self, url: str, body: bytes, seconds: float, max_bytes: int = 1_048_576) -> HttpAnswer:
        """See ``Caller.post``."""
        if self._is_own_address(url):
            return await self._caller.post(url, body, seconds, max_bytes)
        self._display.to_agent(body)
        try:
            answer = await self._caller.post(url, body, seconds, max_bytes)
        except CallFailed as failure:
            self._display.failed(f"{failure.code} {failure}", body)
            raise
        self._display.from_agent(answer.body, body, answer.status)
        return answer

    async def close(self) -> None:
        await self._caller.close()

    def _is_own_address(self, url: str) -> bool:
        try:
            return read_url(url)[1:3] in self._own_addresses
        except Unreachable:
            return False
