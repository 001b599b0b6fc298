"""One question to an OpenAI-compatible server: ``POST …/chat/completions``, and what came of it.

Failed says in one sentence what went wrong, and whether it is of use to ask again. The key appears in no text.
"""

from __future__ import annotations

import contextlib
import functools
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec
from msgspec import Struct

from leaguekit.player.llm.prompt import Message
from leaguekit.player.llm.spending import Usage
from leaguekit.protocol.plain_text import harmless
from leaguekit.transport.addresses import is_loopback, read_url

try:
    import httpx2
except ModuleNotFoundError as missing:
    told = f"{missing.name} is not installed. Install it with: pip install 'leaguekit[llm]'"
    raise ModuleNotFoundError(told, name=missing.name) from None

MAX_BYTES = 1_048_576
MAX_ERROR_CHARACTERS = 200
# Who is asked to wait for longer than this does not know when to come back.
MAX_WAIT = 3600.0
_TOO_MANY = 429
# These pass; what else a server refuses, it refuses the next time as well.
_PASSING = {408, _TOO_MANY}


class Failed(Exception):
    """There is no answer. ``passing`` says whether there may be one later; ``wait``, when the server wants to be asked
    again, if it says so."""

    def __init__(self, why: str, *, kind: str = "server", passing: bool = False, wait: float | None = None) -> None:
        self.kind = kind
        self.passing = passing
        self.wait = wait
        super().__init__(why)


class _Said(Struct):
    content: str | None = None


class _Choice(Struct):
    message: _Said
    finish_reason: str | None = None


class Completion(Struct):
    """A server's answer, as far as we look at it."""

    choices: list[_Choice]
    usage: Usage | None = None

    @property
    def text(self) -> str:
        return (self.choices[0].message.content or "") if self.choices else ""

    @property
    def is_cut(self) -> bool:
        return bool(self.choices) and self.choices[0].finish_reason == "length"


Ask = Callable[[list[Message]], Awaitable[Completion]]
_completions = msgspec.json.Decoder(Completion)


class Chat:
    """A model at a server. It is asked over a connection of its own for each move: between moves there is nothing to
    close, and no loop that it belongs to."""

    def __init__(
        self, base_url: str, model: str, key: str | None, *, max_tokens: int, temperature: float | None
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._key = key
        self._body: dict[str, Any] = {"model": model, "stream": False, "max_tokens": max_tokens}
        if temperature is not None:
            self._body["temperature"] = temperature
        # A proxy is a way out, and this machine needs none.
        self._by_proxy = not is_loopback(read_url(base_url).host)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Ask]:
        """A connection, as what asks once over it and raises Failed. Time is the caller's to limit."""
        headers = {"accept": "application/json", "user-agent": "leaguekit"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        async with httpx2.AsyncClient(
            headers=headers, verify=_certificates(), trust_env=self._by_proxy, timeout=None, follow_redirects=False
        ) as client:
            yield functools.partial(self._ask, client)

    async def _ask(self, client: httpx2.AsyncClient, messages: list[Message]) -> Completion:
        body = msgspec.json.encode(self._body | {"messages": messages})
        headers = {"content-type": "application/json"}
        try:
            async with client.stream("POST", self._url, content=body, headers=headers) as answer:
                content = await _read(answer)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise Failed(self._shown(f"{type(error).__name__} {error}"), kind="connection", passing=True) from None
        if answer.status_code != 200:
            raise self._refused(answer, content)
        try:
            return _completions.decode(content)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Failed(self._shown(f"the server's answer is no chat completion: {error}")) from None

    def _refused(self, answer: httpx2.Response, content: bytes) -> Failed:
        status = answer.status_code
        why = self._shown(f"HTTP {status}: {_error_in(content)}")
        if status == 400 and "max_completion_tokens" in why and "max_tokens" in self._body:
            # Newer models take the same limit under another name, and say so.
            self._body["max_completion_tokens"] = self._body.pop("max_tokens")
            return Failed(why, passing=True, wait=0.0)
        passing = status in _PASSING or status >= 500
        kind = "rate limit" if status == _TOO_MANY else "server"
        return Failed(why, kind=kind, passing=passing, wait=_wait_in(answer) if passing else None)

    def _shown(self, text: str) -> str:
        """A text of the server's for people: on one line, short, and without the key if the server repeats it."""
        hidden = text if self._key is None else text.replace(self._key, "[the key]")
        return harmless(" ".join(hidden.split()))[:MAX_ERROR_CHARACTERS]


@functools.cache
def _certificates() -> ssl.SSLContext:
    # It takes 30 ms to make.
    return httpx2.create_ssl_context()


async def _read(answer: httpx2.Response) -> bytes:
    """The whole body, if that is not too much."""
    content = b""
    async for part in answer.aiter_bytes():
        content += part
        if len(content) > MAX_BYTES:
            raise Failed(f"the server sent more than {MAX_BYTES:,} bytes")
    return content


def _error_in(content: bytes) -> str:
    """What a server says of its refusal: the message in it, or its beginning."""
    try:
        found = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return content[:MAX_ERROR_CHARACTERS].decode(errors="replace")
    while isinstance(found, dict):
        found = found.get("error") or found.get("message") or found.get("detail") or str(found)
    return str(found)


def _wait_in(answer: httpx2.Response) -> float | None:
    """The seconds in Retry-After, which is a number or a date."""
    told = answer.headers.get("retry-after", "")
    try:
        seconds = float(told)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(told) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(0.0, seconds), MAX_WAIT)
