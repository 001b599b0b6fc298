"""Checks of what an agent sends by itself, made from tables: the request around it, and the message field by field.

A scene keeps what has come under a name (``told``), each message with the values that some of its fields must have; all
checks of that message look there. One wrong field fails one check.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from leaguekit.kit.answer_checks import same
from leaguekit.kit.checks import Area, Check, Evidence, Failed, NotRun
from leaguekit.kit.exchanges import Arrived, Json, encode, text_of
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.messages import BY_TYPE, Message, message_type
from leaguekit.protocol.methods import BY_NAME, BY_REQUEST

MISSING = object()
_NUMBERED = re.compile(r"\[\d+\]")


class Beginning(str):
    """In the place of a wanted value: any text that begins so."""

    __slots__ = ()


class Came(NamedTuple):
    """A message that came, and what some of its fields must be, by their paths."""

    arrived: Arrived
    wanted: Json


class Told(dict[str, list[Came]]):
    """What has come, by name, for all checks that look at it; ``why`` says of some why they are not there."""

    def __init__(self) -> None:
        super().__init__()
        self.why: dict[str, str] = {}

    def __missing__(self, name: str) -> list[Came]:
        raise NotRun(self.why.get(name, f"there is no {name} to look at"))


class Scene(Protocol):
    """A scene keeps what an agent sends by name."""

    told: Told


SceneT = TypeVar("SceneT", bound=Scene)
Look = Callable[[SceneT], Awaitable[Evidence]]


class Part(NamedTuple):
    """A field of a message; ``[]`` in its path stands for every member of a list."""

    path: str
    sentence: str
    requirements: tuple[str, ...]
    is_required: bool = True
    # Whether the message may leave it out, though if it is there it must be right.
    may_be_absent: bool = False


def kind_of(arrived: Arrived) -> type[Message] | None:
    """What a request is, by its message_type, or by its method where that says nothing."""
    if (known := BY_TYPE.get(arrived.type)) is not None:
        return known
    method = BY_NAME.get(arrived.method)
    return None if method is None else method.request


def is_a(kind: type[Message]) -> Callable[[Arrived], bool]:
    return lambda arrived: kind_of(arrived) is kind


def evidence(arrived: Arrived, expected: str, came: str = "") -> Evidence:
    """A request that came, as evidence; ``came`` says first what in it matters."""
    return Evidence(came=f"{came} in {text_of(arrived.body)}" if came else text_of(arrived.body), expected=expected)


def values(message: Any, path: str) -> list[Any]:
    """What stands at a path: one value, or one for each member of a list; MISSING where there is nothing."""
    found = [message]
    for step in path.replace("[]", ".[]").split("."):
        if step == "[]":
            found = [one for many in found for one in (many if isinstance(many, list) and many else [MISSING])]
        else:
            found = [one.get(step, MISSING) if isinstance(one, dict) else MISSING for one in found]
    return found


def has(message: Any, wanted: Json) -> bool:
    """Whether a message has these values."""
    return isinstance(message, dict) and all(same(message.get(name), one) for name, one in wanted.items())


def value(message: Any, path: str) -> Any:
    """The one value at a path, or None."""
    found = values(message, path)[0]
    return None if found is MISSING else found


def judged(
    area: Area[SceneT],
    name: str,
    kind: type[Message],
    parts: Sequence[Part],
    *,
    needs: Iterable[Check[SceneT]],
    methods: tuple[str, ...] = (),
) -> list[Check[SceneT]]:
    """Add a check of the request itself (its id ends in ``request``), and one for each field, whose id is its path."""
    is_required = any(part.is_required for part in parts)
    add = area.required if is_required else area.recommended
    sentence = f"{message_type(kind)} is a JSON-RPC 2.0 request by {BY_REQUEST[kind].name}, or by the message type."
    made = [
        add("request", sentence, *methods, "001-L0035", "001-L0037", "002-L0064", needs=needs)(_request(name, kind))
    ]
    for part in parts:
        add = area.required if part.is_required else area.recommended
        made.append(add(part.path, part.sentence, *part.requirements, needs=needs)(_looking_at(name, kind, part)))
    return made


def envelope(kind: type[Message], sender: str, requirements: Sequence[str], *more: str) -> list[Part]:
    """The fields that every message has.

    ``requirements`` are of the type, the protocol, the sender, the timestamp and the conversation; ``more`` is of the
    token, where there is to be one.
    """
    name = message_type(kind)
    own_type, protocol, who, when, conversation = requirements
    parts = [
        Part("message_type", f"The message_type is {name}.", (own_type,)),
        Part("protocol", f"{name} names the protocol league.v2.", (protocol, "000-L0062")),
        Part("sender", f"The sender of {name} is {sender}.", (who, "000-L0064")),
        Part("timestamp", f"The timestamp of {name} is ISO 8601 in UTC.", (when, "000-L1406")),
        Part("conversation_id", f"{name} has a conversation_id.", (conversation, "000-L0066")),
    ]
    tokens = [Part("auth_token", f"{name} carries an auth_token.", (one, "000-L1377b")) for one in more]
    return parts + tokens


def _request(name: str, kind: type[Message]) -> Look[Any]:
    async def look(scene: Scene) -> Evidence:
        expected = f'{{"jsonrpc": "2.0", "method": "{BY_REQUEST[kind].name}", "params": {{…}}, "id": a number or text}}'
        for arrived, _ in scene.told[name]:
            body = arrived.value
            wrong = [
                member
                for member, is_right in (
                    ("jsonrpc", body.get("jsonrpc") == "2.0"),
                    ("method", arrived.method in BY_REQUEST[kind].names),
                    ("params", bool(arrived.message)),
                    ("id", isinstance(body.get("id"), int | float | str) and not isinstance(body["id"], bool)),
                )
                if not is_right
            ]
            if wrong:
                raise Failed(evidence(arrived, expected, f"{', '.join(wrong)} missing or wrong"))
        return evidence(scene.told[name][0].arrived, expected)

    return look


def _looking_at(name: str, kind: type[Message], part: Part) -> Look[Any]:
    async def look(scene: Scene) -> Evidence:
        for arrived, wanted in scene.told[name]:
            _check_field(arrived, kind, part, wanted)
        return evidence(scene.told[name][0].arrived, f"{part.path} as it is")

    return look


def _check_field(arrived: Arrived, kind: type[Message], part: Part, wanted: Json) -> None:
    found = values(arrived.message, part.path)
    came = "; ".join("nothing" if one is MISSING else encode(one).decode() for one in found)
    if MISSING in found:
        if not part.may_be_absent:
            raise Failed(evidence(arrived, f"{part.path}, which is missing"))
        return
    if part.path in wanted:
        if not all(_is(one, wanted[part.path]) for one in found):
            expected = encode(wanted[part.path]).decode()
            raise Failed(evidence(arrived, f"{part.path}: {expected}", f"{part.path}: {came}"))
        return
    if wrong := faults(arrived.message, kind, part.path):
        raise Failed(evidence(arrived, f"{part.path}: {'; '.join(wrong)}", f"{part.path}: {came}"))


def _is(found: Any, wanted: Any) -> bool:
    return isinstance(found, str) and found.startswith(wanted) if isinstance(wanted, Beginning) else same(found, wanted)


def faults(message: Json, kind: type[Message], path: str) -> list[str]:
    """What would be right in a field, or within it, where the schema of a type finds it wrong."""
    found = violations(message | {"message_type": message_type(kind)})
    return [one.expected for one in found if _is_within(_NUMBERED.sub("[]", one.path), path)]


def _is_within(place: str, path: str) -> bool:
    return place == path or place.startswith((f"{path}.", f"{path}["))
