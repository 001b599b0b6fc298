"""Describes what a server offers by MCP: tools, resources, prompts and notifications. It does not need the SDK.

Surface          all that one server offers
Tool             a function that can be called
Resource         data that can be read, at one URI or at all URIs of a template
Prompt           a text to begin with
ToolContext      the caller of a tool, and a way to report progress
ToolRefused      raised by a tool to refuse a call, with the reason
UnknownResource  raised if there is nothing to read
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leaguekit.transport.base import Peer
from leaguekit.transport.server.connection_base import BaseConnection

Json = dict[str, Any]


class ToolRefused(Exception):
    """The tool refuses the call. The text gives the reason to the model that called it."""


class UnknownResource(Exception):
    """There is nothing to read at that URI."""


async def _ignore_progress(_done: float, _of: float | None, _text: str | None) -> None: ...


class ToolContext(NamedTuple):
    """The context of one call of a tool.

    ``progress`` (done, total, text) reports to clients that asked for progress. ``connection`` is the connection of the
    call, if there is one.
    """

    peer: Peer
    progress: Callable[[float, float | None, str | None], Awaitable[None]] = _ignore_progress
    connection: BaseConnection | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that can be called, and that deletes nothing.

    ``call`` returns an object that matches the schema ``output``, or text if there is no ``output``.
    """

    name: str
    title: str
    description: str
    input: Json
    call: Callable[[Json, ToolContext], Awaitable[Json | str]]
    output: Json | None = None
    # Clients may call it without asking their user.
    is_read_only: bool = False
    # To call it twice has the same effect as to call it once.
    is_idempotent: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """Data that can be read. ``uri`` may have names in braces; ``read`` gets their values. Raises UnknownResource."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[[Mapping[str, str]], Awaitable[Json]]

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def match_uri(self, uri: str) -> dict[str, str] | None:
        """The values of the names in a URI, or None if the URI does not match."""
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.uri))
        found = re.fullmatch(pattern, uri)
        return None if found is None else found.groupdict()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to begin with. ``arguments`` are names with their descriptions. All are optional."""

    name: str
    title: str
    description: str
    text: Callable[[Mapping[str, str]], str]
    arguments: Mapping[str, str] = field(default_factory=dict)


class ChangeNotifier:
    """Notifies subscribers of resources that have changed."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[str], None]] = {}

    def __bool__(self) -> bool:
        """Whether there are subscribers."""
        return bool(self._listeners)

    def notify(self, uri: str) -> None:
        for listener in list(self._listeners.values()):
            listener(uri)

    def subscribe(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Call ``listener`` with the URI of every changed resource. Return a function that ends this."""
        key = object()
        self._listeners[key] = listener

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop


@dataclass(frozen=True, slots=True)
class Surface:
    """All that one server offers. ``instructions`` explain it to a model."""

    name: str
    title: str
    instructions: str
    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    # None if the resources of the server do not change.
    changes: ChangeNotifier | None = None
