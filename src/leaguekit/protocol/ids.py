"""Identifiers: agents, matches, conversations, senders, and protocol versions."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

PROTOCOL: Literal["league.v2"] = "league.v2"
PROTOCOL_VERSION = "2.1.0"
OLDEST_VERSION = "2.0.0"

AgentRole = Literal["league_manager", "referee", "player"]
# The roles that register with a manager.
Role = Literal["player", "referee"]
MANAGER = "league_manager"
# How the ids of the leagues of ``league check`` begin.
CHECK_LEAGUE_PREFIX = "league_check_"

_VERSION = re.compile(r"2\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:\+[0-9A-Za-z.-]+)?")
_MATCH = re.compile(r"R([1-9][0-9]*)M([1-9][0-9]*)")


class Sender(NamedTuple):
    """The parts of a sender such as ``player:P01``. The manager needs no id."""

    role: AgentRole
    id: str | None


def player_id(number: int) -> str:
    """P01 … P99, P100: at least two digits."""
    return f"P{number:02d}"


def referee_id(number: int) -> str:
    return f"REF{number:02d}"


def match_id(round_id: int, number: int) -> str:
    return f"R{round_id}M{number}"


def is_match_id(text: str) -> bool:
    return _MATCH.fullmatch(text) is not None


def match_numbers(match: str) -> tuple[int, int]:
    """(round, number in the round) of a match id. Matches are sorted by it."""
    found = _MATCH.fullmatch(match)
    if found is None:
        raise ValueError(f"match id {match!r} is not of the form R1M1")
    return int(found[1]), int(found[2])


def match_conversation(match: str, attempt: int = 1) -> str:
    """The conversation id of an attempt at a match, such as ``conv-r1m1-001``."""
    return f"conv-{match.lower()}-{attempt:03d}"


def sender_of(role: Role, agent_id: str) -> str:
    return f"{role}:{agent_id}"


def read_sender(text: str) -> Sender:
    """The parts of a valid ``sender``. The decoder has already rejected invalid ones."""
    role, _, agent_id = text.partition(":")
    return Sender(role, agent_id or None)  # type: ignore[arg-type]  # the field's pattern allows these roles only


def is_supported_version(version: str) -> bool:
    """Whether a protocol version is supported: any release 2.x from 2.0.0 on."""
    return _VERSION.fullmatch(version) is not None
