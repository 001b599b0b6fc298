"""A client of an OpenAI-compatible server: ``POST …/chat/completions``.

ChatError says in one sentence what went wrong, and whether a retry may help. No text contains the key.
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
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.transport.addresses import is_loopback, read_url

try:
    import httpx2
except ModuleNotFoundError as missing:
    message = f"{missing.name} is not installed. Install it with: pip install 'leaguekit[llm]'"
    raise ModuleNotFoundError(message, name=missing.name) from None

MAX_BYTES = 1_048_576
MAX_ERROR_CHARACTERS = 200
# The longest Retry-After that is obeyed.
MAX_RETRY_SECONDS = 3600.0
_TOO_MANY_REQUESTS = 429
# The client errors for which a retry may help.
_TRANSIENT_STATUSES = {408, _TOO_MANY_REQUESTS}


class ChatError(Exception):
    """There is no answer. ``is_transient`` says whether a retry may help.

    ``retry_after`` is the number of seconds after which the server wants to be asked again, if it states one.
    """

    def __init__(
        self, reason: str, *, kind: str = "server", is_transient: bool = False, retry_after: float | None = None
    ) -> None:
        self.kind = kind
        self.is_transient = is_transient
        self.retry_after = retry_after
        super().__init__(reason)


class _ChoiceMessage(Struct):
    content: str | None = None


class _Choice(Struct):
    message: _ChoiceMessage
    finish_reason: str | None = None


class Completion(Struct):
    """A server's answer, with the fields that are used here."""

    choices: list[_Choice]
    usage: Usage | None = None

    @property
    def text(self) -> str:
        return (self.choices[0].message.content or "") if self.choices else ""

    @property
    def is_truncated(self) -> bool:
        return bool(self.choices) and self.choices[0].finish_reason == "length"


Ask = Callable[[list[Message]], Awaitable[Completion]]
_completions = msgspec.json.Decoder(Completion)


class ChatClient:
    """A model on a server.

    Each move uses its own connection. Between moves there is nothing to close, and nothing that belongs to an event
    loop.
    """

    def __init__(
        self, base_url: str, model: str, key: str | None, *, max_tokens: int, temperature: float | None
    ) -> None:
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._key = key
        self._body: dict[str, Any] = {"model": model, "stream": False, "max_tokens": max_tokens}
        if temperature is not None:
            self._body["temperature"] = temperature
        # A server on this machine is not called through a proxy.
        self._uses_proxy = not is_loopback(read_url(base_url).host)

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[Ask]:
        """Open a connection. The result is a function that asks once, and raises ChatError. It has no time limit."""
        headers = {"accept": "application/json", "user-agent": "leaguekit"}
        if self._key is not None:
            headers["authorization"] = f"Bearer {self._key}"
        async with httpx2.AsyncClient(
            headers=headers, verify=_certificates(), trust_env=self._uses_proxy, timeout=None, follow_redirects=False
        ) as client:
            yield functools.partial(self._ask, client)

    async def _ask(self, client: httpx2.AsyncClient, messages: list[Message]) -> Completion:
        body = msgspec.json.encode(self._body | {"messages": messages})
        headers = {"content-type": "application/json"}
        try:
            async with client.stream("POST", self._url, content=body, headers=headers) as response:
                content = await _read(response)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = self._redact(f"{type(error).__name__} {error}")
            raise ChatError(reason, kind="connection", is_transient=True) from None
        if response.status_code != 200:
            raise self._refusal(response, content)
        try:
            return _completions.decode(content)
        except DECODE_ERRORS as error:
            raise ChatError(self._redact(f"the server's answer is not a chat completion: {error}")) from None

    def _refusal(self, response: httpx2.Response, content: bytes) -> ChatError:
        status = response.status_code
        reason = self._redact(f"HTTP {status}: {_error_text(content)}")
        if status == 400 and "max_completion_tokens" in reason and "max_tokens" in self._body:
            # Newer models have another name for the same limit, and their error names it.
            self._body["max_completion_tokens"] = self._body.pop("max_tokens")
            return ChatError(reason, is_transient=True, retry_after=0.0)
        is_transient = status in _TRANSIENT_STATUSES or status >= 500
        kind = "rate limit" if status == _TOO_MANY_REQUESTS else "server"
        retry_after = _retry_after(response) if is_transient else None
        return ChatError(reason, kind=kind, is_transient=is_transient, retry_after=retry_after)

    def _redact(self, text: str) -> str:
        """A text of the server, on one line, shortened, and without the key."""
        redact = text if self._key is None else text.replace(self._key, "[the key]")
        return sanitize_line(" ".join(redact.split()))[:MAX_ERROR_CHARACTERS]


@functools.cache
def _certificates() -> ssl.SSLContext:
    # To make one takes 30 ms.
    return httpx2.create_ssl_context()


async def _read(response: httpx2.Response) -> bytes:
    """The whole body. Raises ChatError if it is too long."""
    content = b""
    async for part in response.aiter_bytes():
        content += part
        if len(content) > MAX_BYTES:
            raise ChatError(f"the server sent more than {MAX_BYTES:,} bytes")
    return content


def _error_text(content: bytes) -> str:
    """The error message in the body of a refusal, or else the beginning of the body."""
    try:
        found = msgspec.json.decode(content)
    except DECODE_ERRORS:
        return content[:MAX_ERROR_CHARACTERS].decode(errors="replace")
    while isinstance(found, dict):
        found = found.get("error") or found.get("message") or found.get("detail") or str(found)
    return str(found)


def _retry_after(response: httpx2.Response) -> float | None:
    """The header Retry-After in seconds. It contains a number or a date."""
    value = response.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = (parsedate_to_datetime(value) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError):
            return None
    return min(max(0.0, seconds), MAX_RETRY_SECONDS)
