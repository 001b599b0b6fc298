"""Checks of single fields of messages, made from tables.

A field of a message cites its requirement once, in the Struct (``protocol.messages``). A ``Field`` adds the sentence of
the check, and only those requirements that the Struct does not cite.

A harness keeps its exchanges and the messages that it has received under names. All checks of a message look there. The
published schema decides about each field separately, so that one wrong field fails one check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

from leaguekit.kit.answer_checks import is_same
from leaguekit.kit.checks import Area, Check, CheckFunction, Evidence, NotRun
from leaguekit.kit.exchanges import IncomingRequest, Json, Observed, encode
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import Violation
from leaguekit.protocol.fields import REQUIREMENT
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.schemas import Schema, message_schemas

HarnessT = TypeVar("HarnessT")

ANYTHING = object()
MISSING = object()
_NUMBERED = re.compile(r"\[\d+\]")
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


class StartsWith(str):
    """A wanted value: any text that starts with this one."""

    __slots__ = ()


class ReceivedMessage(NamedTuple):
    """A message that the kit has received, and the values that some of its fields must have, by path."""

    request: IncomingRequest
    wanted: Json


class MessagesByName(dict[str, list[ReceivedMessage]]):
    """Messages that several checks look at. A missing one means that the check cannot run, for the reason given."""

    def __init__(self) -> None:
        super().__init__()
        self.reasons: dict[str, str] = {}

    def __missing__(self, name: str) -> list[ReceivedMessage]:
        raise NotRun(self.reasons.get(name, f"there is no {name} to look at"))


class Field(NamedTuple):
    """A field of a message. ``[]`` in its path means every member of a list."""

    path: str
    sentence: str
    # Requirements in addition to the one that the Struct cites.
    also: tuple[str, ...] = ()
    # Requirements in its place.
    instead: tuple[str, ...] = ()
    # The value that a field of an answer must have, or a function that takes the harness and returns it. Without it,
    # every value is right that the schema allows.
    value: Any = ANYTHING
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


# The values of fields


def values(message: Any, path: str) -> list[Any]:
    """Return the values at a path: one, or one for each member of a list. MISSING is the value of an absent one."""
    found = [message]
    for step in path.replace("[]", ".[]").split("."):
        if step == "[]":
            found = [one for many in found for one in (many if isinstance(many, list) and many else [MISSING])]
        else:
            found = [one.get(step, MISSING) if isinstance(one, dict) else MISSING for one in found]
    return found


def value(message: Any, path: str) -> Any:
    """Return the value at a path, or None."""
    found = values(message, path)[0]
    return None if found is MISSING else found


def has(message: Any, wanted: Json) -> bool:
    """Return whether a message has these values."""
    return isinstance(message, dict) and all(is_same(message.get(name), one) for name, one in wanted.items())


def have_value(path: str, wanted: Any, *requests: Observed) -> Evidence:
    """Check that the messages in requests have a value in a field."""
    for request in requests:
        found = value(request.message, path)
        evidence = request.fail_if(not is_same(found, wanted), f"{path}: {wanted}", f"{path}: {found}")
    return evidence


def violations_in(message: Json, kind: type[Message], path: str = "") -> list[Violation]:
    """Return the violations of a schema in a message or in one of its fields, whatever type the message names."""
    found = violations(message | {"message_type": message_type(kind)})
    return [one for one in found if not path or _touches(_NUMBERED.sub("[]", one.path), path)]


def _touches(path: str, other: str) -> bool:
    """Return whether one of two paths is the other one, or within it."""
    return path == other or path.startswith((f"{other}.", f"{other}[")) or other.startswith((f"{path}.", f"{path}["))


def field_is(seen: Observed, kind: type[Message], path: str, wanted: Any = ANYTHING) -> Evidence:
    """Check that a field has the wanted value, or else a value that the schema allows."""
    found = values(seen.message, path)
    came = f"{path}: {'; '.join('nothing' if one is MISSING else encode(one).decode() for one in found)}"
    if wanted is ANYTHING:
        expected = "; ".join(one.expected for one in violations_in(seen.message, kind, path))
        is_right = not expected
    else:
        expected = encode(wanted).decode()
        is_right = all(_has_value(None if one is MISSING else one, wanted) for one in found)
    if not is_right:
        raise seen.failed(f"{path}: {expected}", came)
    return seen.evidence(f"{path}: {expected or 'as it is'}", came)


def is_valid(seen: Observed, kind: type[Message]) -> Evidence:
    """Check that the schema finds nothing wrong with a message."""
    found = violations_in(seen.message, kind)
    return seen.fail_if(bool(found), f"a valid {message_type(kind)}", "; ".join(map(str, found)))


def _has_value(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, StartsWith):
        return isinstance(found, str) and found.startswith(wanted)
    return is_same(found, wanted)


# The checks


def add_answer_checks(
    area: Area[HarnessT],
    name: str,
    kind: type[Message],
    fields: Iterable[Field],
    needs: Sequence[Check[HarnessT]],
    *,
    kind_in: Callable[[HarnessT], type[Message]] | None = None,
) -> list[Check[HarnessT]]:
    """Add a check for each field of an answer. ``name`` is the name under which the harness keeps the exchange.

    Where the type of the answer depends on the harness, ``kind_in`` gives it, and ``kind`` is the type whose
    requirements are cited.
    """

    def make(field: Field) -> CheckFunction[Any]:
        async def check(harness: Any) -> Evidence:
            exchange, own_kind = harness.answers[name], kind if kind_in is None else kind_in(harness)
            if field.may_be_absent and isinstance(exchange.result, dict) and field.path not in exchange.result:
                found: Evidence = exchange.evidence(f"{field.path}, if it is there, is right", "it is left out")
                return found
            wanted = field.value(harness) if callable(field.value) else field.value
            return field_is(
                exchange, own_kind, field.path, message_type(own_kind) if field.path == "message_type" else wanted
            )

        return check

    return [add_field_check(area, kind, field, needs, make(field)) for field in fields]


def add_request_checks(
    area: Area[HarnessT],
    name: str,
    kind: type[Message],
    fields: Sequence[Field],
    *,
    needs: Sequence[Check[HarnessT]],
    methods: tuple[str, ...] = (),
) -> list[Check[HarnessT]]:
    """Add a check of the request itself, whose id ends in ``request``, and one for each field.

    ``name`` is the name under which the harness keeps the messages. ``methods`` are the requirements of the method.
    """
    method = BY_REQUEST[kind]

    def make(field: Field) -> CheckFunction[Any]:
        async def check(harness: Any) -> Evidence:
            messages: list[ReceivedMessage] = harness.messages[name]
            for request, wanted in messages:
                if MISSING in values(request.message, field.path):
                    raise request.failed(f"{field.path}, which is missing")
                known = {"message_type": message_type(kind)} | wanted
                field_is(request, kind, field.path, known.get(field.path, ANYTHING))
            return messages[0].request.evidence(f"{field.path} as it is")

        return check

    @area.check(
        *(*methods, "001-L0035", "001-L0037", "002-L0064"),
        name="request",
        is_required=any(field.is_required for field in fields),
        needs=needs,
        message=message_type(kind),
        method=method.name,
    )
    async def is_request(harness: Any) -> Evidence:
        """{message} is a JSON-RPC 2.0 request by {method}, or by the message type."""
        expected = f'{{"jsonrpc": "2.0", "method": "{method.name}", "params": {{…}}, "id": a number or text}}'
        messages: list[ReceivedMessage] = harness.messages[name]
        for request, _ in messages:
            are_right = {
                "jsonrpc": request.value.get("jsonrpc") == "2.0",
                "method": request.method in method.names,
                "params": bool(request.message),
                "id": is_call_id(request.value.get("id")),
            }
            if wrong := [member for member, is_right in are_right.items() if not is_right]:
                raise request.failed(expected, f"{', '.join(wrong)} missing or wrong")
        return messages[0].request.evidence(expected)

    return [is_request, *(add_field_check(area, kind, field, needs, make(field)) for field in fields)]


def is_call_id(found: Any) -> bool:
    """Return whether a value can be the id of a JSON-RPC request."""
    return isinstance(found, int | float | str) and not isinstance(found, bool)
