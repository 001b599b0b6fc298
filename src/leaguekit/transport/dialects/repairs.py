"""Messages that lack something or have it wrong: what is known is put in, and every rule that was broken is noted.

Which rule that is, and what it asks for, is said by the schema that we publish; only what no schema can see is said
here. A message that needs no repair costs one more decoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from leaguekit.protocol.decoding import decode, shorten_json, violations
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import BrokenRule, Message, message_type
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.transport.dialects.forms import Json

MAX_TEXT = 200
# What a message may do without, if it is wrong there.
_OPTIONAL = ("auth_token", "player_meta.protocol_version", "move_info", "move_info.origin", "move_info.reason")
_TIMES = ("timestamp", "arrival_timestamp")
_COMPACT = re.compile(r"[0-9]{8}T[0-9]{6}")


class Repaired(NamedTuple):
    """A message as it should have been, and the rules that it broke."""

    message: Message
    broken: list[BrokenRule]


def broken_rule(rule: str, came: str, expected: str) -> BrokenRule:
    return BrokenRule(rule=rule, came=sanitize_line(came)[:MAX_TEXT], expected=expected[:MAX_TEXT])


def repair(
    value: Json,
    kind: type[Message],
    known: Mapping[str, Any],
    certain: Mapping[str, str],
    in_place_of: Mapping[str, str] | None = None,
) -> Repaired:
    """A message of that kind from what came. Raises ProtocolError if something is wrong that is not known.

    ``known`` has values for fields that may be missing or wrong, by their paths; ``certain`` has those that are so
    whatever the message says. ``in_place_of`` names the field that stood in the place of another.
    """
    message, name, broken = dict(value), message_type(kind), []
    if (said := message.get("message_type")) != name:
        came = f"message_type: got {shorten_json(said)}" if "message_type" in message else "message_type: missing"
        broken.append(broken_rule("000-L1371" if said is None else "000-L1503", came, f'"{name}"'))
        message["message_type"] = name
    for field, own in certain.items():
        if message.get(field, own) != own:
            rule = _requirement(kind, field)
            broken.append(broken_rule(rule, f"{field}: got {shorten_json(message[field])}", f'"{own}", who was asked'))
            message[field] = own
    try:
        good = decode(msgspec.json.encode(message))
    except ProtocolError:
        for fault in violations(message):
            came, expected = f"{fault.path}: {fault.came}", fault.expected
            if in_place_of and fault.path in in_place_of:
                # What was said may be right: it is the field that is wrong.
                came, expected = in_place_of[fault.path], f"{fault.path}: {expected}"
            broken.append(broken_rule(fault.requirement or fault.code, came, expected))
            _put(message, fault.path, known)
        good = decode(msgspec.json.encode(message))
    broken += [
        broken_rule("decision 5", f"{field}: got {shorten_json(value[field])}", "YYYY-MM-DDTHH:MM:SSZ")
        for field in _TIMES
        if _COMPACT.match(str(value.get(field, "")))
    ]
    return Repaired(good, broken)


def _put(message: Json, path: str, known: Mapping[str, Any]) -> None:
    """Put in what is known of a field, or leave it out if it may be."""
    *way, last = path.split(".")
    for step in way:
        if not isinstance(message.get(step), dict):
            return
        message[step] = message = dict(message[step])
    if path in known:
        message[last] = known[path]
    elif path in _OPTIONAL:
        message.pop(last, None)


def _requirement(kind: type[Message], field: str) -> str:
    """Who asks for a field of a message."""
    missing = violations({"message_type": message_type(kind), field: None})
    return next((one.requirement or one.code for one in missing if one.path == field), "000-L1372")
