"""Checks of the messages that an agent sends as requests: one check for the request, and one for each field.

A harness keeps the messages that it has received under a name, each with the values that some of its fields must have.
All checks of a message look there. One wrong field fails one check.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from leaguekit.kit.answer_checks import is_same, is_within
from leaguekit.kit.checks import Area, Check, CheckFunction, Evidence, NotRun
from leaguekit.kit.exchanges import IncomingRequest, Json, encode
from leaguekit.kit.field_checks import Field, add_field_check
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.messages import BY_TYPE, Message, message_type
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST

MISSING = object()
_NUMBERED = re.compile(r"\[\d+\]")


class StartsWith(str):
    """Stands for a wanted value: any text that starts with this one."""

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


class Harness(Protocol):
    """What these checks need of a harness."""

    messages: MessagesByName


HarnessT = TypeVar("HarnessT", bound=Harness)


def kind_of(request: IncomingRequest) -> type[Message] | None:
    """Return the type of the message in a request, by its message_type or else by its method."""
    if (known := BY_TYPE.get(request.type)) is not None:
        return known
    method = BY_NAME.get(request.method)
    return None if method is None else method.request


def is_a(kind: type[Message]) -> Callable[[IncomingRequest], bool]:
    """Return a predicate: whether a request has a message of that type."""
    return lambda request: kind_of(request) is kind


def values(message: Any, path: str) -> list[Any]:
    """Return the values at a path: one, or one for each member of a list. MISSING stands for an absent value."""
    found = [message]
    for step in path.replace("[]", ".[]").split("."):
        if step == "[]":
            found = [one for many in found for one in (many if isinstance(many, list) and many else [MISSING])]
        else:
            found = [one.get(step, MISSING) if isinstance(one, dict) else MISSING for one in found]
    return found


def has(message: Any, wanted: Json) -> bool:
    """Return whether a message has these values."""
    return isinstance(message, dict) and all(is_same(message.get(name), one) for name, one in wanted.items())


def value(message: Any, path: str) -> Any:
    """Return the value at a path, or None."""
    found = values(message, path)[0]
    return None if found is MISSING else found


def have_value(path: str, wanted: Any, *requests: IncomingRequest) -> Evidence:
    """Check that the messages in requests have a value in a field."""
    for request in requests:
        found = value(request.message, path)
        if not is_same(found, wanted):
            raise request.failed(f"{path}: {wanted}", f"{path}: {found}")
    return requests[-1].evidence(f"{path}: {wanted}")


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
    sentence = f"{message_type(kind)} is a JSON-RPC 2.0 request by {BY_REQUEST[kind].name}, or by the message type."
    is_required = any(field.is_required for field in fields)
    requirements = (*methods, "001-L0035", "001-L0037", "002-L0064")
    return [
        area.check(*requirements, name="request", sentence=sentence, is_required=is_required, needs=needs)(
            _request_check(name, kind)
        ),
        *(add_field_check(area, kind, field, needs, _field_check(name, kind, field)) for field in fields),
    ]


def _request_check(name: str, kind: type[Message]) -> CheckFunction[Any]:
    async def check(harness: Harness) -> Evidence:
        expected = f'{{"jsonrpc": "2.0", "method": "{BY_REQUEST[kind].name}", "params": {{…}}, "id": a number or text}}'
        for request, _ in harness.messages[name]:
            body = request.value
            wrong = [
                member
                for member, is_right in (
                    ("jsonrpc", body.get("jsonrpc") == "2.0"),
                    ("method", request.method in BY_REQUEST[kind].names),
                    ("params", bool(request.message)),
                    ("id", isinstance(body.get("id"), int | float | str) and not isinstance(body["id"], bool)),
                )
                if not is_right
            ]
            if wrong:
                raise request.failed(expected, f"{', '.join(wrong)} missing or wrong")
        return harness.messages[name][0].request.evidence(expected)

    return check


def _field_check(name: str, kind: type[Message], field: Field) -> CheckFunction[Any]:
    async def check(harness: Harness) -> Evidence:
        for request, wanted in harness.messages[name]:
            _check_field(request, kind, field, {"message_type": message_type(kind)} | wanted)
        return harness.messages[name][0].request.evidence(f"{field.path} as it is")

    return check


def _check_field(request: IncomingRequest, kind: type[Message], field: Field, wanted: Json) -> None:
    found = values(request.message, field.path)
    came = "; ".join("nothing" if one is MISSING else encode(one).decode() for one in found)
    if MISSING in found:
        raise request.failed(f"{field.path}, which is missing")
    if field.path in wanted:
        if not all(_has_value(one, wanted[field.path]) for one in found):
            expected = encode(wanted[field.path]).decode()
            raise request.failed(f"{field.path}: {expected}", f"{field.path}: {came}")
        return
    if wrong := _expected_in(request.message, kind, field.path):
        raise request.failed(f"{field.path}: {'; '.join(wrong)}", f"{field.path}: {came}")


def _has_value(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, StartsWith):
        return isinstance(found, str) and found.startswith(wanted)
    return is_same(found, wanted)


def _expected_in(message: Json, kind: type[Message], path: str) -> list[str]:
    """Return what the schema expects, for each violation in a field."""
    found = violations(message | {"message_type": message_type(kind)})
    return [one.expected for one in found if is_within(_NUMBERED.sub("[]", one.path), path)]
