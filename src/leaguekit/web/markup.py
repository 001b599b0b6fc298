"""HTML in which whatever agents wrote is text: nothing gets into a page but by these few functions."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from leaguekit.league.sentences import PLAYER
from leaguekit.protocol.plain_text import sanitize_line


def text(value: object) -> str:
    """A text for an element or a quoted attribute; what cannot be seen becomes visible."""
    return escape(sanitize_line(value))


def name(value: object) -> str:
    """A name, kept apart from its surroundings: it may be written from right to left."""
    return f"<bdi>{text(value)}</bdi>"


def told(sentence: str | None, names: Mapping[str, str]) -> str:
    """A sentence that speaks of players by their ids, with their names before those."""
    parts = PLAYER.split(sentence or "")
    return "".join(f"{name(names[part])} ({part})" if part in names else text(part) for part in parts)
