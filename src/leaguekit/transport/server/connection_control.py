"""The interface of a connection for ASGI applications."""

from __future__ import annotations

from typing import Protocol

from starlette.types import Scope

# The key of the connection in an ASGI scope: scope["extensions"][CONNECTION_EXTENSION][CONNECTION_EXTENSION].
CONNECTION_EXTENSION = "leaguekit.connection"


class ConnectionControl(Protocol):
    """The interface of a connection for ASGI applications."""

    def release(self) -> None:
        """Give up the slot of the connection until the response is sent, because the request waits for a change."""

    def belongs_to(self, name: str) -> None:
        """Note that it is the connection of a known agent."""

    def has_gone(self) -> bool:
        """Whether the connection is closed, so that no response can be sent."""

    def become_stream(self) -> None:
        """Stop counting as a connection with a request in progress, after the head of the response is sent."""

    def write(self, data: bytes) -> None:
        """Send a part of the body of a stream."""

    def unsent(self) -> int:
        """The number of bytes that wait to be sent."""

    def end(self) -> None:
        """Close the connection."""


def connection_of(scope: Scope) -> ConnectionControl | None:
    """The connection of an application's request, or None if it did not come through this server."""
    connection: ConnectionControl | None = (
        scope.get("extensions", {}).get(CONNECTION_EXTENSION, {}).get(CONNECTION_EXTENSION)
    )
    return connection
