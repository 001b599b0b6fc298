"""How an ASGI application gets the connection of its request."""

from __future__ import annotations

from starlette.types import Scope

from leaguekit.transport.server.connection_base import BaseConnection

# The key of the connection in an ASGI scope: scope["extensions"][CONNECTION_EXTENSION][CONNECTION_EXTENSION].
CONNECTION_EXTENSION = "leaguekit.connection"


def connection_of(scope: Scope) -> BaseConnection | None:
    """The connection of an application's request, or None if it did not come through this server."""
    connection: BaseConnection | None = (
        scope.get("extensions", {}).get(CONNECTION_EXTENSION, {}).get(CONNECTION_EXTENSION)
    )
    return connection
