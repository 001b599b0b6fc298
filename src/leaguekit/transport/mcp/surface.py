"""What a server offers by MCP: tools, resources, prompts, and word of what has changed. No SDK is needed to say it.

Surface    all that one server offers
Tool       something that can be called
Resource   something that can be read, at one URI or at all that fit a template
Prompt     a text to begin with
Visit      one call: who makes it, and a way to say meanwhile how it goes
Refused    what a tool raises to say, in a sentence, why it does not do what it was asked
Unknown    what reading raises if there is no such thing
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from leaguekit.transport.base import Peer
from leaguekit.transport.server.connection_slots import ConnectionControl

Json = dict[str, Any]


class ToolRefused(Exception):
    """The tool does not do what it was asked; the text says why, and is read by the model that asked."""


class UnknownResource(Exception):
    """There is nothing to read under that URI."""


async def _untold(_done: float, _of: float | None, _text: str | None) -> None: ...


class ToolContext(NamedTuple):
    """One call of a tool. ``progress`` (done, of how much, in words) reaches clients that asked for it.

    ``line`` is its connection, if it came by one.
    """

    peer: Peer
    progress: Callable[[float, float | None, str | None], Awaitable[None]] = _untold
    line: ConnectionControl | None = None


@dataclass(frozen=True, slots=True)
class Tool:
    """What can be called; none takes away what was there. ``call`` gives an object that fits ``output``, or text if
    there is no ``output``."""

    name: str
    title: str
    description: str
    input: Json
    call: Callable[[Json, ToolContext], Awaitable[Json | str]]
    output: Json | None = None
    # Clients may call it without asking anybody.
    is_read_only: bool = False
    # To call it twice does no more than to call it once.
    is_idempotent: bool = False


@dataclass(frozen=True, slots=True)
class Resource:
    """What can be read: ``uri`` may have names in braces, and ``read`` gets what stands there. Raises Unknown."""

    uri: str
    name: str
    title: str
    description: str
    read: Callable[[Mapping[str, str]], Awaitable[Json]]

    @property
    def is_template(self) -> bool:
        return "{" in self.uri

    def fits(self, uri: str) -> dict[str, str] | None:
        """What stands in a URI in the place of the names; None if it is none of these."""
        pattern = re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(self.uri))
        found = re.fullmatch(pattern, uri)
        return None if found is None else found.groupdict()


@dataclass(frozen=True, slots=True)
class Prompt:
    """A text to begin with; ``arguments`` are names and what they mean, and none of them must be given."""

    name: str
    title: str
    description: str
    text: Callable[[Mapping[str, str]], str]
    arguments: Mapping[str, str] = field(default_factory=dict)


class ChangeNotifier:
    """Word of resources that have changed, to whoever listens."""

    def __init__(self) -> None:
        self._listeners: dict[object, Callable[[str], None]] = {}

    def __bool__(self) -> bool:
        """Whether anybody listens."""
        return bool(self._listeners)

    def tell(self, uri: str) -> None:
        for listener in list(self._listeners.values()):
            listener(uri)

    def listen(self, listener: Callable[[str], None]) -> Callable[[], None]:
        """Be told from now on, until what is given back is called."""
        key = object()
        self._listeners[key] = listener

        def stop() -> None:
            self._listeners.pop(key, None)

        return stop


@dataclass(frozen=True, slots=True)
class Surface:
    """All that one server offers. ``instructions`` tell a model what it is for."""

    name: str
    title: str
    instructions: str
    tools: Sequence[Tool] = ()
    resources: Sequence[Resource] = ()
    prompts: Sequence[Prompt] = ()
    # Only a server whose resources change has it.
    changes: ChangeNotifier | None = None
