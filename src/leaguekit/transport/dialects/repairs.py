"""Repairs messages with missing or wrong fields: known values are put in, and every broken rule is noted.

The published schema says which rule was broken and what it requires. Only rules that a schema cannot express are
written here. A message that needs no repair costs one more decoding.
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
from leaguekit.transport.dialects.forms import Json, stated_type

MAX_TEXT = 200
# Fields that are removed if their values are wrong.
_REMOVABLE = ("auth_token", "player_meta.protocol_version", "move_info", "move_info.origin", "move_info.reason")
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
    replaced_by: Mapping[str, str] | None = None,
) -> Repaired:
    """Make a valid message of a kind. Raises ProtocolError if a field is wrong whose value is not known.

    ``known`` has values for fields that are missing or wrong, by path. ``certain`` has values that replace those in the
    message. ``replaced_by`` describes, by path, the field that the agent used instead.
    """
    message, name, broken = dict(value), message_type(kind), []
    if message.get("message_type") != name:
        broken.append(_wrong_type(message, name))
        message["message_type"] = name
    for field, correct in certain.items():
        if message.get(field, correct) != correct:
            rule = _requirement(kind, field)
            broken.append(
                broken_rule(rule, f"{field}: got {shorten_json(message[field])}", f'"{correct}", who was asked')
            )
            message[field] = correct
    try:
        valid = decode(msgspec.json.encode(message))
    except ProtocolError:
        for fault in violations(message):
            came, expected = f"{fault.path}: {fault.came}", fault.expected
            if replaced_by and fault.path in replaced_by:
                # The value may be right. The name of the field is wrong.
                came, expected = replaced_by[fault.path], f"{fault.path}: {expected}"
            broken.append(broken_rule(fault.requirement or fault.code, came, expected))
            _put_known_value(message, fault.path, known)
        valid = decode(msgspec.json.encode(message))
    broken += [
        broken_rule("decision 5", f"{field}: got {shorten_json(value[field])}", "YYYY-MM-DDTHH:MM:SSZ")
        for field in _TIMES
        if _COMPACT.match(str(value.get(field, "")))
    ]
    return Repaired(valid, broken)


def _wrong_type(message: Json, expected: str) -> BrokenRule:
    """The rule that a message breaks which does not state its type, or states another one."""
    stated = stated_type(message)
    if "message_type" in message:
        rule = "000-L1371" if stated is None else "000-L1503"
        return broken_rule(rule, f"message_type: got {shorten_json(stated)}", f'"{expected}"')
    came = "message_type: missing" if stated is None else f"type: got {shorten_json(stated)}"
    return broken_rule("000-L1371", came, f'message_type: "{expected}"')


def _put_known_value(message: Json, path: str, known: Mapping[str, Any]) -> None:
    """Put in the known value of a field, or remove the field if that is allowed."""
    *parents, last = path.split(".")
    for step in parents:
        if not isinstance(message.get(step), dict):
            return
        message[step] = message = dict(message[step])
    if path in known:
        message[last] = known[path]
    elif path in _REMOVABLE:
        message.pop(last, None)


def _requirement(kind: type[Message], field: str) -> str:
    """The id of the requirement for a field of a message."""
    missing = violations({"message_type": message_type(kind), field: None})
    return next((one.requirement or one.code for one in missing if one.path == field), "000-L1372")
