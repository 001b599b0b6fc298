"""By what the sender of a body is known before the body is read: what its first bytes show."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

from leaguekit.transport.base import Peer

_FIELD = re.compile(rb'"(auth_token|match_id|sender|secret|code)"\s*:\s*"([^"\\]{1,200})"')


class Known(NamedTuple):
    """Whom a token belongs to."""

    role: Literal["player", "referee", "operator", "manager"]
    id: str = ""


# The beginning of a body and where it comes from → whom the token in it belongs to.
Recognise = Callable[[bytes, Peer], Known | None]


class Credentials(NamedTuple):
    """The first value of each of these fields; empty where there is none."""

    auth_token: str = ""
    match_id: str = ""
    sender: str = ""
    # Of a relay, and of a seat.
    secret: str = ""
    code: str = ""


def credentials_in(beginning: bytes) -> Credentials:
    """What the beginning of a body shows."""
    found: dict[str, str] = {}
    for name, value in _FIELD.findall(beginning):
        found.setdefault(name.decode(), value.decode(errors="replace"))
    return Credentials(**found)
