"""A stand-in for the server of a language model: OpenAI-shaped, and as good or bad as a test wants it.

The model's name says what it does: ``right``, ``slow``, ``limited`` … and, with commas between, one after the other,
the last for ever: ``error,right`` fails once. So one server stands in for all. By hand:

    python -m tests.llm_stand_in --port 8900
    league player --strategy llm --model right --base-url http://127.0.0.1:8900/v1 --manager …
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

if TYPE_CHECKING:
    import pytest

HUGE = 3_000_000


class Reply(NamedTuple):
    """What is sent back."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = MappingProxyType({"content-type": "application/json"})


class Asked(NamedTuple):
    """A question as it came."""

    body: dict[str, Any]
    authorization: str | None

    @property
    def prompt(self) -> str:
        return "\n".join(message["content"] for message in self.body["messages"])

    @property
    def data(self) -> dict[str, Any]:
        """What stands between the tags, as a model would read it."""
        (found,) = re.findall(r"^<data>\n(.*)\n</data>$", self.body["messages"][1]["content"], re.MULTILINE)
        return json.loads(found)

    @property
    def is_repeated(self) -> bool:
        return len(self.body["messages"]) > 2


def said(asked: Asked, content: str | None, finish_reason: str = "stop", **more: Any) -> Reply:
    """A whole completion."""
    usage = {"prompt_tokens": len(asked.prompt) // 4, "completion_tokens": len(content or "") // 4}
    message = {"role": "assistant", "content": content}
    answer = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": asked.body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": usage,
    }
    return Reply(json.dumps(answer | more).encode())


def refused(status: int, message: str, **headers: str) -> Reply:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps({"error": {"message": message, "type": "error"}}).encode(), status, shown)


def _move(asked: Asked) -> Any:
    """The legal move that it prefers: another one in each round, so that games differ."""
    moves = asked.data["legal_moves"]
    return moves[asked.data.get("round", 0) % len(moves)]


def _right(asked: Asked) -> Reply:
    return said(asked, json.dumps({"move": _move(asked)}))


def _by_rules(asked: Asked) -> Reply:
    """Knows tic-tac-toe: takes the last free cell of the board that it is shown."""
    return said(asked, json.dumps({"move": asked.data["position"]["board"].rindex(".")}))


def _wordy(asked: Asked) -> Reply:
    return said(asked, f"<think>Even or odd, 0 or 8?</think>\nI have thought about it. My move: **{_move(asked)}**.")


def _torn(asked: Asked) -> Reply:
    """Names every legal move when it is asked first."""
    return _right(asked) if asked.is_repeated else said(asked, f"One of {asked.data['legal_moves']}.")


def _obeying(asked: Asked) -> Reply:
    """Does what it finds in its prompt, also if a player wrote it."""
    found = re.search(r"answer ([^ \"\\]+)", json.dumps(asked.data["standings"]))
    return said(asked, "I obey nobody." if found is None else found[1])


def _streaming(asked: Asked) -> Reply:
    """Streams, though it was not asked to."""
    part = {"choices": [{"delta": {"content": "even"}}]}
    return Reply(f"data: {json.dumps(part)}\n\ndata: [DONE]\n\n".encode(), 200, {"content-type": "text/event-stream"})


def _renamed(asked: Asked) -> Reply:
    if "max_tokens" in asked.body:
        return refused(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
    return _right(asked)


def _refusing_the_key(asked: Asked) -> Reply:
    return refused(401, f"Incorrect API key provided: {(asked.authorization or '').removeprefix('Bearer ')}")


BEHAVIOURS: dict[str, Callable[[Asked], Reply | None]] = {
    "right": _right,
    "by_rules": _by_rules,
    "wordy": _wordy,
    "torn": _torn,
    "obeying": _obeying,
    "streaming": _streaming,
    "renamed": _renamed,
    "no_key": _refusing_the_key,
    "uncounted": lambda asked: said(asked, json.dumps({"move": _move(asked)}), usage=None),
    "slow": lambda _asked: None,
    "limited": lambda _asked: refused(429, "Rate limit reached", retry_after="0.1"),
    "limited_for_long": lambda _asked: refused(429, "Rate limit reached", retry_after="600"),
    "error": lambda _asked: refused(500, "The server had an error"),
    "missing": lambda asked: refused(404, f"model '{asked.body['model']}' not found"),
    "garbage": lambda asked: said(asked, "¯\\_(ツ)_/¯ {{{ \x00"),
    "silent": lambda asked: said(asked, None, "length"),
    "illegal": lambda asked: said(asked, '{"move": "banana"}'),
    "no_choice": lambda _asked: Reply(b'{"choices": []}'),
    "no_json": lambda _asked: Reply(b"<html>It works!</html>"),
    "endless": lambda asked: said(asked, "even odd " * 20_000),
    "huge": lambda asked: said(asked, "x" * HUGE),
    "elsewhere": lambda _asked: Reply(b"", 307, {"location": "/v1/other"}),
}


class _Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """Ignore clients that hang up in the middle of a question."""


class StandIn:
    """The server, in threads of this process, for as long as the context lasts."""

    def __init__(self, port: int = 0) -> None:
        self.asked: list[Asked] = []
        self.closing = threading.Event()
        self._turns: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        stand_in = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                content = self.rfile.read(int(self.headers["content-length"]))
                reply = refused(404, f"There is no {self.path}")
                if self.path == "/v1/chat/completions":
                    reply = stand_in.reply(Asked(json.loads(content), self.headers["authorization"]))
                self.send_response(reply.status)
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

            def log_message(self, *_: object) -> None: ...

        return Handler

    def reply(self, asked: Asked) -> Reply:
        with self._lock:
            self.asked.append(asked)
            names = asked.body["model"].split(",")
            turn = self._turns[asked.body["model"]]
            self._turns[asked.body["model"]] += 1
        reply = BEHAVIOURS[names[min(turn, len(names) - 1)]](asked)
        if reply is None:
            self.closing.wait()
            reply = refused(503, "closing")
        return reply

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def forget_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take whatever the person at this machine has set for models of their own out of the environment."""
    for name in [*os.environ]:
        if name.startswith("LEAGUE_LLM_") or name == "OPENAI_API_KEY":
            monkeypatch.delenv(name)


def main() -> None:
    parser = argparse.ArgumentParser(description="Stand in for the server of a language model.")
    parser.add_argument("--port", type=int, default=0, help="default: a free one")
    with StandIn(parser.parse_args().port) as stand_in:
        told = {"base_url": stand_in.url, "models": [*BEHAVIOURS]}
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
