"""Functions that put texts of agents into HTML. Every such text goes through one of them, so it is never markup."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from leaguekit.league.sentences import PLAYER
from leaguekit.protocol.plain_text import sanitize_line


def escape_text(value: object) -> str:
    """A text for an element or a quoted attribute. Invisible characters become visible."""
    return escape(sanitize_line(value))


def isolate_name(value: object) -> str:
    """A name in an element of its own: if it is written from right to left, the text around it is not."""
    return f"<bdi>{escape_text(value)}</bdi>"


def insert_names(sentence: str | None, names: Mapping[str, str]) -> str:
    """A sentence with the name of each player before its id."""
    parts = PLAYER.split(sentence or "")
    return "".join(f"{isolate_name(names[part])} ({part})" if part in names else escape_text(part) for part in parts)
