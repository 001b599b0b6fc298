"""Decodes messages: fast for valid ones, and with a full list of violations for invalid ones.

msgspec decodes and validates a message in about a microsecond, but reports only the first error. So if it rejects a
message, the published schema finds all violations. Each has its path, what came, what was expected, and the
requirement.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate, islice
from typing import Any, TypeVar, Union

import jsonschema_rs
import msgspec

from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import InvalidMessage, ProtocolError, Violation
from leaguekit.protocol.fields import ERROR_CODE, INT32_MAX, REQUIREMENT
from leaguekit.protocol.messages import BY_TYPE, EVERY_MESSAGE, Message, message_type
from leaguekit.protocol.patterns import checker
from leaguekit.protocol.schemas import Schema, message_schemas
from leaguekit.protocol.tokens import redact

MessageT = TypeVar("MessageT", bound=Message)

MAX_DEPTH = 32
# Objects and lists in one text. For a megabyte of empty ones Python would create objects for half a second.
MAX_CONTAINERS = 20_000
# Numbers with an exponent of 200 or more, or of -200 or less. Each takes the decoder 10 µs.
MAX_EXTREME_NUMBERS = 100
MAX_JSON = 60
# A longer path is shortened. The sender chooses the keys of a map, and so the length of a path.
MAX_PATH = 200
MAX_VIOLATIONS = 20
# Of a longer message only the first violation is reported. To find all of them takes far longer than decoding.
MAX_EXPLAINED_BYTES = 10_240
# Items of a list, and of all lists of a message, that are checked for violations. No schema allows more than 100.
_MAX_ITEMS, _MAX_ITEMS_IN_ALL = 101, 200
# A token that begins within the first ``MAX_JSON`` bytes ends within this number of bytes.
_MAX_REDACTED = MAX_JSON + 200

_decoder: msgspec.json.Decoder[Message] = msgspec.json.Decoder(Union[EVERY_MESSAGE])  # noqa: UP007
_decode = _decoder.decode
_encoder = msgspec.json.Encoder()
_LIST = ord("[")
_BRACKETS = b"[{]}"
_ALL_BUT_BRACKETS_AND_QUOTES = bytes(byte for byte in range(256) if byte not in _BRACKETS + b'"')
# Two patterns, because a pattern that begins with a fixed letter is four times as fast.
_EXTREME = [re.compile(rb"%b(?<=[0-9].)[-+]?0*[23][0-9]{2}" % letter) for letter in (b"e", b"E")]
# Maps each bracket to a signed byte: the change of the depth.
_STEPS = bytes.maketrans(_BRACKETS, b"\x01\x01\xff\xff")


def encode(message: Message) -> bytes:
    return _encoder.encode(message)


def decode(raw: bytes | msgspec.Raw) -> Message:
    """Decode a message of any type. Raises InvalidMessage, or ProtocolError if the text is not JSON."""
    try:
        message = _decode(raw)
    except DECODE_ERRORS as error:
        raise refusal(raw, error) from None
    if checker(type(message))(message):
        return message
    raise refusal(raw)


def of_type(kind: type[MessageT], message: Message) -> MessageT:
    """Return the message if it is of that type. Raises InvalidMessage otherwise."""
    if isinstance(message, kind):
        return message
    came, expected = message_type(message), message_type(kind)
    raise InvalidMessage([Violation("message_type", "E045", f"got {came!r}", f"{expected!r}", "000-L1503")])


def check_text(text: bytes, unscanned_bytes: int = MAX_EXPLAINED_BYTES) -> None:
    """Raise ProtocolError if a text is not UTF-8, is nested too deeply, or has too many parts.

    A text of at most ``unscanned_bytes`` is not searched for extreme numbers. It cannot have enough of them to take
    long, unless it is decoded several times.
    """
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise ProtocolError("E040", f"The body is not UTF-8: byte {error.start} is wrong.") from None
    if len(text) > unscanned_bytes and _has_extreme_numbers(text):
        raise ProtocolError(
            "E040", f"The JSON has more than {MAX_EXTREME_NUMBERS} numbers with exponents of 200 or more."
        )
    # Most messages have no list. To find that out takes a tenth of the time of counting brackets.
    if _LIST in text or text.count(b"{") > MAX_DEPTH:
        check_depth(text)


def _has_extreme_numbers(text: bytes) -> bool:
    return any(any(islice(pattern.finditer(text), MAX_EXTREME_NUMBERS, None)) for pattern in _EXTREME)


def check_depth(text: bytes) -> None:
    """Raise ProtocolError if a text is nested so deeply that processing it could exhaust the stack."""
    # Most texts have at most one list. To find its bracket from both ends takes a tenth of the time of counting.
    lists = 1 if text.find(b"[") == text.rfind(b"[") else text.count(b"[")
    opened = lists + text.count(b"{")
    if opened > MAX_CONTAINERS:
        raise ProtocolError("E040", f"The JSON has more than {MAX_CONTAINERS:,} objects and lists.")
    # "},{" does not change the depth. So a table in a text need not be examined, which would take 20 µs.
    if opened > MAX_DEPTH and opened - text.count(b"},{") > MAX_DEPTH and _depth(text) > MAX_DEPTH:
        raise ProtocolError("E040", f"The JSON is nested more than {MAX_DEPTH} levels deep.")


def refusal(raw: bytes | msgspec.Raw, error: Exception | None = None) -> ProtocolError:
    """The error for a message that the decoder rejected, with all violations up to a limit."""
    check_text(bytes(raw))
    if len(bytes(raw)) > MAX_EXPLAINED_BYTES:
        return _first_error_only(error)
    try:
        value = msgspec.json.decode(raw)
    except msgspec.DecodeError as malformed:
        # A number that is too large for Python's types is well-formed JSON, but not an allowed value.
        if isinstance(malformed, msgspec.ValidationError):
            return InvalidMessage([_from_msgspec(malformed)])
        return ProtocolError("E040", f"The body is not JSON: {malformed}.")
    # The decoder checks both values of a duplicate field, but ``value`` has only the last one.
    return InvalidMessage(violations(value) or [_from_msgspec(error)])


def _first_error_only(error: Exception | None) -> ProtocolError:
    """The error for a long message: only what the decoder reports. It does not report texts that match no pattern."""
    if error is None:
        came = "a value has a wrong form"
        return InvalidMessage([Violation("(message)", "E044", came, "what the schema says (see league explain)")])
    if isinstance(error, msgspec.ValidationError):
        return InvalidMessage([_from_msgspec(error)])
    return ProtocolError("E040", f"The body is not JSON: {error}.")


def violations(value: Any) -> list[Violation]:
    """The violations of the published schema in a decoded message, at most ``MAX_VIOLATIONS``."""
    if not isinstance(value, dict):
        return [Violation("(message)", "E043", f"got {shorten_json(value)}", "an object")]
    name = value.get("message_type")
    if isinstance(name, str) and name in BY_TYPE:
        return _by_schema(name, value) or _by_decoder(value)
    came = "missing" if "message_type" not in value else f"got {shorten_json(name)}"
    code = "E003" if name is None else "E045"
    unknown = Violation("message_type", code, came, f"one of the {len(BY_TYPE)} message types", "000-L1371")
    # Of an unknown message only the envelope can be checked.
    envelope = [one for one in _by_schema("LEAGUE_ERROR", value) if one.path in _ENVELOPE]
    return [unknown, *envelope]


_ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id")


def shorten_json(value: Any) -> str:
    """A value as JSON for error texts: redacted, and shortened to ``MAX_JSON`` characters."""
    text = redact(_encoder.encode(value)[:_MAX_REDACTED].decode(errors="ignore"))
    return text if len(text) <= MAX_JSON else f"{text[:MAX_JSON]}…"


@cache
def _validator(name: str) -> jsonschema_rs.Validator:
    return jsonschema_rs.validator_for(message_schemas()[name])


def _by_schema(name: str, value: dict[str, Any]) -> list[Violation]:
    root, validator = message_schemas()[name], _validator(name)
    found: dict[str, Violation] = {}
    # ``iter_errors`` finds all errors before it returns the first.
    errors = [*validator.iter_errors(_shortened(value, [_MAX_ITEMS_IN_ALL]))] or _first_error(validator, value)
    for error in errors:
        for violation in _explained(root, error):
            found.setdefault(violation.path, violation)
        if len(found) >= MAX_VIOLATIONS:
            break
    return list(found.values())[:MAX_VIOLATIONS]


def _first_error(validator: jsonschema_rs.Validator, value: Any) -> list[jsonschema_rs.ValidationError]:
    try:
        validator.validate(value)
    except jsonschema_rs.ValidationError as error:
        return [error]
    return []


def _shortened(value: Any, left: list[int]) -> Any:
    """A value whose lists are cut to the items that are checked. ``left`` is the number of items still allowed."""
    if isinstance(value, dict):
        return {name: _shortened(one, left) for name, one in value.items()}
    if isinstance(value, list):
        items = value[: min(_MAX_ITEMS, left[0])]
        left[0] -= len(items)
        return [_shortened(one, left) for one in items]
    return value


def _by_decoder(value: dict[str, Any]) -> list[Violation]:
    """The violation that only the decoder finds: in a schema, 1.0 is an integer too."""
    try:
        _decode(_encoder.encode(value))
    except msgspec.ValidationError as error:
        return [_from_msgspec(error)]
    return []


def _explained(root: Schema, error: jsonschema_rs.ValidationError) -> list[Violation]:
    path = list(error.instance_path)
    keyword = error.schema_path[-1]
    if keyword == "required":
        return [_missing(root, path, error.kind.property)]  # type: ignore[attr-defined]
    if keyword == "anyOf" and "allOf" in error.schema_path:
        # A condition between fields: one of several must be there.
        wanted = [option["required"][0] for option in _at(root, error.schema_path)]
        return [_missing(root, path, wanted[0])._replace(path=_dotted([*path, " or ".join(wanted)]))]
    if keyword == "anyOf" and isinstance(error.instance, dict):
        # An object that may also be null: the errors are within the object.
        within: list[jsonschema_rs.ValidationError] = error.kind.context[0]  # type: ignore[attr-defined]
        return [one for inner in within for one in _explained(root, inner)]
    if keyword == "not":
        # Only conditions have "not": null is not allowed because of the value of another field.
        return [_missing(root, path[:-1], str(path[-1]))._replace(came="got null")]
    if "propertyNames" in error.schema_path:
        return [Violation(_dotted(path), "E044", f"got the key {shorten_json(error.instance)}", "player ids as keys")]
    schema = _field(root, path)
    code, came = _code(schema, error.instance, keyword), f"got {shorten_json(error.instance)}"
    return [Violation(_dotted(path), code, came, describe_schema(schema), schema.get(REQUIREMENT))]


def _missing(root: Schema, path: list[str | int], name: str) -> Violation:
    schema = _field(root, [*path, name])
    return Violation(_dotted([*path, name]), "E003", "missing", describe_schema(schema), schema.get(REQUIREMENT))


def _code(schema: Schema, value: Any, keyword: str | int) -> str:
    own: str | None = schema.get(ERROR_CODE)
    if value is None and own not in _OWN_EVEN_FOR_NULL:
        return "E003"
    if own is not None:
        return own
    return "E043" if keyword in ("type", "anyOf") else "E044"


# A null choice is a wrong choice, and a null token is a missing token. Any other null is a missing field.
_OWN_EVEN_FOR_NULL = ("E004", "E011")


def _at(root: Schema, path: list[str | int]) -> Any:
    for step in path:
        root = root[step]  # type: ignore[index]  # a schema's lists are walked by number
    return root


def _field(root: Schema, path: list[str | int]) -> Schema:
    """The schema of the field at a path, with its description and its requirement."""
    schema = root
    for step in path:
        reference = schema.get("$ref") or schema.get("anyOf", [{}])[0].get("$ref")
        if reference is not None:
            schema = root["$defs"][reference.rpartition("/")[2]]
        # A key such as "0" in a map is a number in the path, too.
        schema = schema.get("items") or schema.get("properties", {}).get(step) or schema["additionalProperties"]
    return schema


def _dotted(path: list[str | int]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    text = text.removeprefix(".") or "(message)"
    return text if len(text) <= MAX_PATH else f"{text[:MAX_PATH]}…"


def describe_schema(schema: Schema) -> str:
    """A schema in words, for error texts."""
    if "enum" in schema:
        return " or ".join(shorten_json(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(describe_schema(option) for option in schema["anyOf"])
    match schema.get("type"):
        case "string":
            return _described_text(schema)
        case "integer":
            return f"a whole number{_range(schema)}"
        case "number":
            return f"a number{_range(schema)}"
        case "boolean":
            return "true or false"
        case "null":
            return "null"
        case "array":
            least = schema.get("minItems", 0)
            return f"a list of at least {least}" if least else "a list"
        case None if "$ref" not in schema:
            return "a value"
        case _:
            return "an object"


def _described_text(schema: Schema) -> str:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    length = f" of {least} to {most} characters" if most is not None else ""
    link = "in the form" if "pattern" in schema else "such as"
    example = f" {link} {shorten_json(schema['examples'][0])}" if "examples" in schema else ""
    return f"text{length}{example}"


def _range(schema: Schema) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None:
        return ""
    return f" from {least} to {most}" if most is not None and most < INT32_MAX else f" of at least {least}"


def _from_msgspec(error: Exception | None) -> Violation:
    """A violation that the schema cannot find, such as a number that is too large."""
    what, _, path = str(error).partition(" - at `$")
    expected, _, came = (part[:MAX_PATH] for part in what.removeprefix("Expected ").replace("`", "").partition(", "))
    return Violation(path.strip("`.")[:MAX_PATH] or "(message)", "E043", came or "cannot be read", expected)


def _depth(text: bytes) -> int:
    """The depth of nested brackets, without brackets in strings."""
    if b"\\" in text:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    # Strings without brackets become empty and are removed, so that little of a long text remains to split.
    remaining = text.translate(None, delete=_ALL_BUT_BRACKETS_AND_QUOTES).replace(b'""', b"")
    brackets = b"".join(remaining.split(b'"')[::2])
    return max(accumulate(memoryview(brackets.translate(_STEPS)).cast("b")), default=0)
