"""The table entries from which checks of single fields are made.

A field of a message cites its requirement once, in the Struct (``protocol.messages``). A ``Field`` adds the sentence of
the check, and only those requirements that the Struct does not cite.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from leaguekit.kit.checks import Area, Check, CheckFunction
from leaguekit.protocol.fields import REQUIREMENT
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.schemas import Schema, message_schemas

HarnessT = TypeVar("HarnessT")

ANYTHING = object()
# Fields that mean the same in every message.
_SUBJECTS = {"league_id": "the league", "round_id": "the round", "match_id": "the match", "game_type": "the game"}
# The fields of the envelope. The number is how many lines below ``protocol`` document 001 prints the field, the last
# text a requirement that all messages share.
_ENVELOPE = (
    ("message_type", 1, "The message_type is {name}.", ()),
    ("protocol", 0, "{name} names the protocol league.v2.", ("000-L0062",)),
    ("sender", 2, "The sender of {name} is {sender}.", ("000-L0064",)),
    ("timestamp", 3, "The timestamp of {name} is ISO 8601 in UTC.", ("000-L1406",)),
    ("conversation_id", 4, "{name} has a conversation_id.", ("000-L0066",)),
    ("auth_token", 5, "{name} carries an auth_token.", ("000-L1377b",)),
)
_LINE = re.compile(r"(\d{3}-L)(\d{4})")


class Field(NamedTuple):
    """A field of a message. ``[]`` in its path stands for every member of a list."""

    path: str
    sentence: str
    # Requirements in addition to the one that the Struct cites.
    also: tuple[str, ...] = ()
    # Requirements in its place.
    instead: tuple[str, ...] = ()
    # The value that a field of an answer must have. Without it, every value is right that the schema allows.
    value: Any = ANYTHING
    value_in: Callable[[Any], Any] | None = None
    is_required: bool = True
    # Whether an answer may leave the field out. A field that is present must still be right.
    may_be_absent: bool = False


def recommended(*fields: Field) -> list[Field]:
    """Return the same fields as recommendations."""
    return [field._replace(is_required=False) for field in fields]


def named(subject: str, *paths: str) -> list[Field]:
    """Return fields whose sentence follows from their name, such as "The report names the match."."""
    return [Field(path, f"{subject} names {_SUBJECTS[path]}.") for path in paths]


def envelope(kind: type[Message], sender: str, source: str, *, has_token: bool = False) -> list[Field]:
    """Return the fields that every message has.

    ``source`` is the line of document 001 with the message's ``protocol``. The other fields of the envelope are in the
    lines below it. If ``source`` is not a line, it is the source of them all.
    """
    line = _LINE.fullmatch(source)
    fields: list[Field] = []
    for path, offset, sentence, common in _ENVELOPE if has_token else _ENVELOPE[:-1]:
        own = f"{line[1]}{int(line[2]) + offset:04d}" if line else source
        text = sentence.format(name=message_type(kind), sender=sender)
        fields.append(Field(path, text, instead=(own, *common)))
    return fields


def add_field_check(
    area: Area[HarnessT],
    kind: type[Message],
    field: Field,
    needs: Sequence[Check[HarnessT]],
    function: CheckFunction[HarnessT],
) -> Check[HarnessT]:
    """Add the check of a field of ``kind`` to an area. Its id is the field's path."""
    requirements = field.instead or (requirement_of(kind, field.path), *field.also)
    add = area.check(
        *requirements, name=field.path, sentence=field.sentence, is_required=field.is_required, needs=needs
    )
    return add(function)


def requirement_of(kind: type[Message], path: str) -> str:
    """Return the requirement that the Struct cites for a field."""
    root = message_schemas()[message_type(kind)]
    schema = root
    for name in path.replace("[]", "").split("."):
        schema = _object_in(schema, root)["properties"][name]
    return str(schema[REQUIREMENT])


def _object_in(schema: Schema, root: Schema) -> Schema:
    """Return the schema of the object that a field holds, directly or in a list."""
    for option in (schema, *schema.get("anyOf", ())):
        if "$ref" in option:
            found: Schema = root["$defs"][option["$ref"].rpartition("/")[2]]
            return found
        if "items" in option:
            return _object_in(option["items"], root)
    return schema
