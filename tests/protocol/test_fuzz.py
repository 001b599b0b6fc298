"""Nothing that a peer can send makes the protocol raise anything but ProtocolError, or leave a request unanswered.

The suite tries 1,302 cases, the same in every run, and ``make long`` 5,208; ``make fuzz`` tries 1,041,600 new ones.
"""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Coroutine
from typing import Any

import jsonschema_rs
import msgspec
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from leaguekit.protocol import messages as m
from leaguekit.protocol import refusals, rpc
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.errors import CATALOGUE, InvalidMessage, ProtocolError
from leaguekit.protocol.explain import explain
from leaguekit.protocol.methods import METHODS, PING, read_call
from leaguekit.protocol.schemas import Schema, message_schemas
from tests.samples import NOW, SAMPLES, samples_of

TYPES = tuple(m.BY_TYPE)
CASES = {
    "valid messages": 8 * len(TYPES),
    "mutated messages": 600,
    "repeated fields": 200,
    "damaged texts": 1_300,
    "fragments": 800,
    "arbitrary bytes": 1_600,
    "single bodies": 300,
    "batches": 120,
}
SCALE = {"long": 1, "fuzz": 200}.get(os.environ.get("LEAGUEKIT_HYPOTHESIS", ""), 1 / 4)

# Judged after decoding, by rule: the decoder takes what the schema refuses.
BY_RULE = {"parity_choice", "query_type"}


def cases(count: int) -> settings:
    return settings(max_examples=int(count * SCALE), deadline=None, suppress_health_check=list(HealthCheck))


# --- values -----------------------------------------------------------------------------------------------------------

CHARACTERS = st.characters(codec="utf-8")
FRACTIONS = st.integers(-(2**40), 2**40).map(lambda number: number + 0.5) | st.sampled_from([0.1, -1e-300, 5e-324])
SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | FRACTIONS | st.text(CHARACTERS, max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(CHARACTERS, max_size=5), inner, max_size=3),
    max_leaves=6,
)


def written(value: Any) -> st.SearchStrategy[bytes]:
    return st.booleans().map(lambda ascii_only: json.dumps(value, ensure_ascii=ascii_only).encode())


# --- valid messages ---------------------------------------------------------------------------------------------------


def values(root: Schema, schema: Schema) -> st.SearchStrategy[Any]:
    """What a schema allows, for the keywords that ours use; conditions between fields are left to a filter."""
    if "$ref" in schema:
        return values(root, root["$defs"][schema["$ref"].rpartition("/")[2]])
    if "enum" in schema or "anyOf" in schema:
        return st.one_of(*map(st.just, schema.get("enum", ())), *(values(root, one) for one in schema.get("anyOf", ())))
    match schema.get("type"):
        case "object":
            return objects(root, schema)
        case "array":
            return st.lists(values(root, schema.get("items", {})), min_size=schema.get("minItems", 0), max_size=3)
        case "string":
            return texts(schema)
        case "integer":
            return st.integers(schema.get("minimum"), schema.get("maximum"))
        case "number":
            return st.integers(0, 2**70) | st.floats(0, allow_infinity=False)
        case kind:
            return {"boolean": st.booleans(), "null": st.none(), None: JSON}[kind]


def texts(schema: Schema) -> st.SearchStrategy[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength")
    if "pattern" not in schema:
        return st.text(CHARACTERS, min_size=least, max_size=20) | st.just("𝄞" * (most or 1_000))
    # In Python, unlike in JSON Schema, $ also matches before a newline at the end.
    found = st.from_regex(schema["pattern"].removesuffix("$") + r"\Z", alphabet=CHARACTERS)
    return found if most is None else found.filter(lambda text: len(text) <= most)


def objects(root: Schema, schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    if "properties" not in schema:
        keys = texts({"type": "string", **schema.get("propertyNames", {})})
        contents = values(root, schema.get("additionalProperties", {}))
        least, most = schema.get("minProperties", 0), schema.get("maxProperties", 3)
        return st.dictionaries(keys, contents, min_size=least, max_size=most)
    fields = {name: values(root, field) for name, field in schema["properties"].items()} | {"of_tomorrow": JSON}
    needed = set(schema.get("required", ()))
    complete = needed | conditional(schema.get("allOf", ()))
    return fixed(fields, needed) | fixed(fields, complete) if complete > needed else fixed(fields, needed)


def fixed(fields: dict[str, st.SearchStrategy[Any]], needed: set[str]) -> st.SearchStrategy[dict[str, Any]]:
    there = {name: field for name, field in fields.items() if name in needed}
    return st.fixed_dictionaries(there, optional={name: field for name, field in fields.items() if name not in needed})


def conditional(conditions: Any) -> set[str]:
    """Every field that a condition between fields names as required."""
    if isinstance(conditions, dict):
        inner = [conditional(value) for name, value in conditions.items() if name != "required"]
        return set(conditions.get("required", ())).union(*inner)
    return set().union(*map(conditional, conditions)) if isinstance(conditions, list | tuple) else set()


VALIDATORS = {name: jsonschema_rs.validator_for(schema) for name, schema in message_schemas().items()}
VALID = {
    name: st.deferred(lambda name=name, schema=schema: values(schema, schema).filter(VALIDATORS[name].is_valid))
    for name, schema in message_schemas().items()
}


@pytest.mark.parametrize("name", TYPES)
def test_what_the_schema_allows_is_read_and_comes_back_the_same(name: str) -> None:
    @cases(CASES["valid messages"] // len(TYPES))
    @given(VALID[name].flatmap(written))
    def agree(raw: bytes) -> None:
        message = decode(raw)
        assert m.message_type(message) == name
        assert decode(encode(message)) == message

    agree()


@pytest.mark.parametrize("sample", SAMPLES, ids=m.message_type)
def test_a_bare_message_is_explained_as_what_it_is(sample: m.Message) -> None:
    (part,) = explain(encode(sample))
    assert part.what.startswith(m.message_type(sample))
    assert part.wrong == []


# --- mutated messages -------------------------------------------------------------------------------------------------

SAMPLE_VALUES = [msgspec.json.decode(encode(sample)) for sample in SAMPLES]
ODD = [
    None, True, 0, -1, 1, 2**31, 2**63, 2**64, 10**30, 1.5, -0.5, "", " ", "P01", "P01\n", "P1", "p01", "R1M1\n",
    "R0M1", "é" * 600, "\u2028", "\x1c", "\x00", "even", "Even", "league.v1", "GAME_OVER", "2025-02-30T10:30:00Z",
    "20240229T103000Z", "http://x\x1cy", "http://x\ufeffy", "player:a\rb", [], {}, [[]], {"": None},
    [None, 1.5, "P01"],
]  # fmt: skip
JUNK = st.sampled_from(ODD) | JSON


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every member of every object and list within a value: (container, key)."""
    if not isinstance(value, dict | list):
        return []
    keys = list(value) if isinstance(value, dict) else range(len(value))
    return [place for key in keys for place in ((value, key), *places(value[key]))]


def drop(container: Any, key: Any, junk: Any) -> None:
    del container[key]


def replace(container: Any, key: Any, junk: Any) -> None:
    container[key] = junk


def nullify(container: Any, key: Any, junk: Any) -> None:
    container[key] = None


def wrap(container: Any, key: Any, junk: Any) -> None:
    container[key] = [container[key]]


def stringify(container: Any, key: Any, junk: Any) -> None:
    container[key] = str(container[key])


def extend(container: Any, key: Any, junk: Any) -> None:
    container[key] = f"{container[key]}\n" if isinstance(container[key], str) else {"junk": junk}


def rename(container: Any, key: Any, junk: Any) -> None:
    if isinstance(container, dict):
        container[f"{key}_"] = container.pop(key)


def add(container: Any, key: Any, junk: Any) -> None:
    if isinstance(container, dict):
        container[str(junk)] = junk
    else:
        container.append(junk)


MUTATIONS = [drop, replace, nullify, wrap, stringify, extend, rename, add]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    value = copy.deepcopy(draw(st.sampled_from(SAMPLE_VALUES)))
    for mutate, place, junk in draw(STEPS):
        if found := places(value):
            mutate(*found[place % len(found)], copy.deepcopy(junk))
    return json.dumps(value, ensure_ascii=False).encode()


PLACE = st.integers(0, 1_000)
STEPS = st.lists(st.tuples(st.sampled_from(MUTATIONS), PLACE, JUNK), min_size=1, max_size=3)


@st.composite
def repetitive(draw: st.DrawFn) -> bytes:
    """A message that has one of its fields twice."""
    value = draw(st.sampled_from(SAMPLE_VALUES))
    again = {draw(st.sampled_from(list(value))): draw(JUNK)}
    members = [json.dumps(part).encode()[1:-1] for part in (value, again)]
    return b"{%b}" % b",".join(draw(st.sampled_from([members, members[::-1]])))


@cases(CASES["mutated messages"])
@given(mutated())
def test_decoder_and_schema_agree_about_a_broken_message(raw: bytes) -> None:
    value = msgspec.json.decode(raw)
    name = value.get("message_type")
    schema_allows = isinstance(name, str) and name in TYPES and VALIDATORS[name].is_valid(value)
    explain(raw)
    try:
        decode(raw)
    except InvalidMessage as refusal:
        assert refusal.violations
        assert {one.code for one in refusal.violations} <= set(CATALOGUE)
        assert not schema_allows
    else:
        assert schema_allows or {one.path for one in violations(value)} <= BY_RULE


@pytest.mark.parametrize("odd", list("\n\r\t\x00\x1c\x1f\x7f\x85\xa0é\u2028\ufeff"), ids=ascii)
@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("LEAGUE_REGISTER_REQUEST", ("player_meta", "contact_endpoint"), "http://x{}y"),
        ("LEAGUE_REGISTER_REQUEST", ("player_meta", "contact_endpoint"), "http://x/{}"),
        ("LEAGUE_REGISTER_REQUEST", ("sender",), "player:a{}"),
        ("LEAGUE_REGISTER_REQUEST", ("sender",), "player:{}b"),
        ("GAME_INVITATION", ("match_id",), "R1M1{}"),
        ("GAME_INVITATION", ("timestamp",), "2025-01-15T10:30:00Z{}"),
    ],
)
def test_a_pattern_means_the_same_to_decoder_and_schema(name: str, path: tuple[str, ...], text: str, odd: str) -> None:
    value = msgspec.json.decode(encode(samples_of(name)[0]))
    container = value if len(path) == 1 else value[path[0]]
    container[path[-1]] = text.format(odd)
    if VALIDATORS[name].is_valid(value):
        decode(json.dumps(value).encode())
    else:
        with pytest.raises(InvalidMessage):
            decode(json.dumps(value).encode())


@cases(CASES["repeated fields"])
@given(repetitive())
def test_a_field_that_is_there_twice_is_refused_or_read(raw: bytes) -> None:
    refused_or_read(raw)


# --- bytes ------------------------------------------------------------------------------------------------------------

PIECES = [
    b"{", b"}", b"[", b"]", b'"', b",", b":", b" ", b"\n", b"\t", b"\x00", b"\x1f", b"\x7f", b"\\", b"/", b"'",
    b"null", b"true", b"false", b"nul", b"NaN", b"Infinity", b"-Infinity", b"0", b"-", b"-0", b"01", b"1.", b".5",
    b"1e", b"1.0", b"1e400", b"-1e400", b"1e-400", b"1" + b"0" * 400, b"1" * 5_000, b'"\\u0000"', b'"\\ud800"',
    b'"\\udc00"', b'"\\ud83d\\ude00"', b'"\\ud800\\ud800"', b'"\\u12"', b'"\\x41"', b'"\\', b'"\x01"',
    b"\xed\xa0\x80", b"\xff", b"\xc0\x80", b"\xe2\x80", b"\xf4\x90\x80\x80", b"\xef\xbb\xbf", '"é"'.encode(),
    '"\u2028"'.encode(), b"//", b"/**/", b"[" * 40, b"]" * 40, b'{"":' * 40, b"[]" * 40, b"[" * 2_000,
    b'["]",' * 2_000, b',"["]' * 40, b'"\\"[\\"]"', b'\\"' * 50, b'"[[[[', b'{"a":1,"a":2}', b'"a":',
    b'"message_type":', b'"GAME_OVER"', b'"protocol":"league.v2",', b'"method":', b'"params":', b'"jsonrpc":"2.0",',
    b'"id":1', b'"id":', b'"error":', b'"result":', b'"code":',
    b'{"jsonrpc":"2.0","method":"league_query","params":', b',"id":1}', b'{"message_type":',
    b'{"message_type":"LEAGUE_QUERY",', *(encode(sample) for sample in samples_of("GAME_OVER")[:1]),
]  # fmt: skip


@st.composite
def fragments(draw: st.DrawFn) -> bytes:
    text = b"".join(draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12)))
    return text[: draw(st.integers(0, len(text)))] if draw(st.integers(0, 4)) == 0 else text


def refused_or_read(raw: bytes) -> None:
    for read in (decode, explain):
        try:
            read(raw)
        except ProtocolError as error:
            assert error.code in CATALOGUE
    parsed = rpc.parse(raw)
    assert parsed.calls
    assert is_json(answered(raw))


def is_json(text: bytes | None) -> bool:
    return text is None or json.loads(text) is not None


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    text = draw(st.sampled_from(SAMPLE_TEXTS))
    place, lost, came = draw(DAMAGE)
    return text[: place % len(text)] + came + text[place % len(text) + lost :]


SAMPLE_TEXTS = [encode(sample) for sample in SAMPLES]
DAMAGE = st.tuples(PLACE, st.integers(0, 4), st.binary(max_size=6) | st.sampled_from(PIECES))


@cases(CASES["damaged texts"])
@given(damaged())
def test_damaged_messages_are_refused_or_read(raw: bytes) -> None:
    refused_or_read(raw)


@cases(CASES["arbitrary bytes"])
@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_refused_or_read(raw: bytes) -> None:
    refused_or_read(raw)


@cases(CASES["fragments"])
@given(fragments())
def test_broken_json_is_refused_or_read(raw: bytes) -> None:
    refused_or_read(raw)


# --- bodies -----------------------------------------------------------------------------------------------------------

IDS = [
    b"0", b"1", b"-1", b"1.0", b"1.5", b"1e400", b"1" + b"0" * 400, b"null", b'""', b'"a"', '"é"'.encode(),
    b'"\\u00e9"', b'"\\ud83d\\ude00"', b'"]"', b'"\\""',
]  # fmt: skip
WRONG_IDS = [b"true", b"false", b"[]", b"{}", b"[1]", b'{"id":1}']
VERSIONS = [b'"2.0"'] * 6 + [b'"1.0"', b"2.0", b"null", b"[]", b'"2.0 "']
NAMES = [one.name for one in METHODS] + [PING, "", "rpc.x", "é", "GAME_OVER", "game_over"]
METHOD_TEXTS = [json.dumps(name).encode() for name in NAMES]
WRONG_METHODS = [b"null", b"1", b"[]", b"{}", b"true"]
NO_OBJECTS = [b"null", b"1", b'"x"', b"[]", b"[1]", b"true", b"1e400"]
SPACES = [b"", b"", b"", b" ", b"\n\t\r "]

ROLES = ("league_manager", "referee", "player")
REFUSALS = {
    "league_manager": refusals.manager_refusal(lambda: NOW),
    "referee": refusals.referee_refusal("referee:REF01", lambda: NOW),
    "player": refusals.player_refusal,
}


class Member(msgspec.Struct):
    """A member of a body, and the id its answer must have (None: there must be no answer)."""

    text: bytes
    answer_id: bytes | None


class AnswerId(msgspec.Struct):
    """What all answers have."""

    jsonrpc: str
    id: msgspec.Raw
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


@st.composite
def requests(draw: st.DrawFn) -> Member:
    if draw(st.integers(0, 9)) == 0:
        return Member(draw(st.sampled_from(NO_OBJECTS)), b"null")
    fields: list[tuple[bytes, bytes]] = []
    version = draw(st.sampled_from([*VERSIONS, None]))
    method = draw(st.sampled_from([*METHOD_TEXTS, *WRONG_METHODS, None]))
    params = draw(st.none() | JUNK.flatmap(written) | mutated() | repetitive())
    call_id = draw(st.sampled_from([*IDS, *WRONG_IDS, None, None, None, None]))
    for name, value in ((b"jsonrpc", version), (b"method", method), (b"params", params), (b"id", call_id)):
        if value is not None:
            fields.append((name, value))
    if draw(st.integers(0, 9)) == 0:
        fields.append((b"of_tomorrow", b'{"id":7}'))
    turn = draw(st.integers(0, len(fields)))
    fields = fields[turn:] + fields[:turn]
    if call_id is not None and draw(st.integers(0, 9)) == 0:
        fields.insert(0, (b"id", draw(st.sampled_from(IDS))))
    space = draw(st.sampled_from(SPACES))
    text = b"{%b}" % b",".join(b'%b"%b"%b:%b%b%b' % (space, name, space, space, value, space) for name, value in fields)
    well_formed = version == b'"2.0"' and method in METHOD_TEXTS and (params is None or params[:1] in (b"{", b"["))
    if call_id is None:
        return Member(text, None if well_formed else b"null")
    return Member(text, call_id if call_id in IDS else b"null")


def finished(coroutine: Coroutine[Any, Any, bytes | None]) -> bytes | None:
    """The result of a coroutine that never waits."""
    with pytest.raises(StopIteration) as stopped:
        coroutine.send(None)
    return stopped.value.value


def answered(body: bytes, role: Any = "player", outcome: str = "read") -> bytes | None:
    async def handle(call: rpc.Call) -> Any:
        if outcome == "read":
            return read_call(call, role)[1]
        if outcome == "refuse":
            raise ProtocolError("E051")
        if outcome == "fail":
            raise ValueError(call.method)
        return object() if outcome == "unencodable" else {}

    return finished(rpc.answer(rpc.RpcRequest(body), handle, REFUSALS[role], rpc.MAX_TRUSTED_BYTES))


OUTCOMES = st.sampled_from(["read", "read", "answer", "refuse", "fail", "unencodable"])


def ids_of(answers: list[AnswerId]) -> list[bytes]:
    for one in answers:
        assert one.jsonrpc == "2.0"
        assert (one.result is msgspec.UNSET) != (one.error is msgspec.UNSET)
    return [bytes(one.id) for one in answers]


@cases(CASES["single bodies"])
@given(requests(), st.sampled_from(ROLES), OUTCOMES)
def test_a_request_is_answered_once_with_its_id(member: Member, role: str, outcome: str) -> None:
    assume(not member.text.startswith(b"["))
    answer = answered(member.text, role, outcome)
    explain_or_refuse(member.text)
    if member.answer_id is None:
        assert answer is None
    else:
        assert answer is not None
        assert ids_of([msgspec.json.decode(answer, type=AnswerId)]) == [member.answer_id]
    assert rpc.decode_valid_call(member.text, rpc.MAX_TRUSTED_BYTES) == read_with_care(member.text)


def read_with_care(body: bytes) -> rpc.Call | None:
    """What must be read in one step: a request, not a notification, with a message that can be read by itself."""
    (call,) = rpc.parse(body, rpc.MAX_TRUSTED_BYTES).calls
    try:
        message = decode(rpc.params_of(call)) if isinstance(call, rpc.Call) and call.id is not None else None
    except ProtocolError:
        message = None
    return None if message is None else rpc.Call(call.id, call.method, body, message)


@cases(CASES["batches"])
@given(st.lists(requests(), min_size=1, max_size=5), st.sampled_from(ROLES), OUTCOMES)
def test_each_request_of_a_batch_is_answered_once_with_its_id(members: list[Member], role: str, outcome: str) -> None:
    body = b"[%b]" % b",".join(member.text for member in members)
    answer = answered(body, role, outcome)
    explain_or_refuse(body)
    expected = [member.answer_id for member in members if member.answer_id is not None]
    found = [] if answer is None else ids_of(msgspec.json.decode(answer, type=list[AnswerId]))
    assert found == expected
    assert answer is None or expected


def explain_or_refuse(text: bytes) -> None:
    try:
        explain(text)
    except ProtocolError as error:
        assert error.code in CATALOGUE


def test_a_batch_that_is_too_long_gets_one_refusal() -> None:
    calls = [b'{"jsonrpc":"2.0","method":"ping","id":%d}' % number for number in range(rpc.MAX_IN_BATCH + 1)]
    answer = answered(b"[%b]" % b",".join(calls))
    assert answer is not None
    refusal = msgspec.json.decode(answer, type=AnswerId)
    assert refusal.error is not msgspec.UNSET
    assert bytes(refusal.id) == rpc.NULL


# --- known nasty inputs -----------------------------------------------------------------------------------------------

OVER = encode(samples_of("GAME_OVER")[0])
INVITATION = msgspec.json.decode(encode(samples_of("GAME_INVITATION")[0]))


def invitation(**changes: Any) -> bytes:
    return json.dumps(INVITATION | changes).encode()


def with_number(text: bytes) -> bytes:
    return invitation(round_id=0).replace(b'"round_id": 0', b'"round_id": ' + text)


NASTY: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "E040"),
    "space": (b" \n\t", "E040"),
    "a byte order mark": (b"\xef\xbb\xbf" + OVER, "E040"),
    "UTF-16": (OVER.decode().encode("utf-16"), "E040"),
    "Latin-1": (b'{"message_type":"\xe9"}', "E040"),
    "an overlong form": (b'{"message_type":"\xc0\xaf"}', "E040"),
    "a raw surrogate": (b'{"message_type":"\xed\xa0\x80"}', "E040"),
    "a lone high surrogate": (b'{"message_type":"\\ud800"}', "E040"),
    "a lone low surrogate": (b'{"message_type":"\\udc00x"}', "E040"),
    "half an escape": (b'{"message_type":"\\u12"}', "E040"),
    "an unknown escape": (b'{"message_type":"\\x41"}', "E040"),
    "a control character": (b'{"message_type":"\x01"}', "E040"),
    "a truncated text": (OVER[:-1], "E040"),
    "a truncated string": (OVER[:30], "E040"),
    "trailing garbage": (OVER + b"x", "E040"),
    "two messages": (OVER + OVER, "E040"),
    "a trailing comma": (OVER[:-1] + b",}", "E040"),
    "a comment": (b"/* hello */" + OVER, "E040"),
    "single quotes": (OVER.replace(b'"', b"'"), "E040"),
    "NaN": (with_number(b"NaN"), "E040"),
    "Infinity": (with_number(b"-Infinity"), "E040"),
    "a leading zero": (with_number(b"01"), "E040"),
    "hexadecimal": (with_number(b"0x1"), "E040"),
    "deep lists": (b"[" * 5_000 + b"]" * 5_000, "E040"),
    "deep objects": (b'{"a":' * 5_000 + b"1" + b"}" * 5_000, "E040"),
    "deep and unclosed": (b"[" * 5_000, "E040"),
    "deep with brackets in strings": (b'["]",' * 5_000, "E040"),
    "deep with brackets in strings, closed": (b'["]",' * 5_000 + b"1" + b',"["]' * 5_000, "E040"),
    "deep within a message": (OVER[:-1] + b',"x":' + b'["]",' * 5_000 + b"1" + b',"["]' * 5_000 + b"}", "E040"),
    "a list": (b"[%b]" % OVER, "E043"),
    "null": (b"null", "E043"),
    "text": (b'"GAME_OVER"', "E043"),
    "a number too large for a float": (with_number(b"1e400"), "E043"),
    "a number of 5,000 digits": (with_number(b"1" + b"0" * 5_000), "E043"),
    "a fraction": (with_number(b"1.5"), "E043"),
    "a number beyond 64 bits": (with_number(b"1%b" % (b"0" * 30)), "E044"),
    "a negative round": (with_number(b"-1"), "E044"),
    "a null that is made good": (b'{"timestamp":null,' + OVER[1:], "E043"),
    "a number for a player": (OVER.replace(b'"choices":{', b'"choices":{"0":5,'), "E043"),
    "a truth for a number": (with_number(b"true"), "E043"),
    "no type": (b"{}", "E003"),
    "a null type": (b'{"message_type":null}', "E003"),
    "a list for a type": (invitation(message_type=[]), "E045"),
    "an unknown type": (invitation(message_type="GAME_OVER "), "E045"),
    "a type in lower case": (invitation(message_type="game_over"), "E045"),
    "another protocol": (invitation(protocol="league.v1"), "E018"),
    "an id with a newline": (invitation(opponent_id="P02\n"), "E044"),
    "a match with a newline": (invitation(match_id="R1M1\n"), "E044"),
    "a time with a newline": (invitation(timestamp="2025-01-15T10:30:00Z\n"), "E021"),
    "digits of another script": (invitation(opponent_id="P٠١"), "E044"),
    "a day that does not exist": (invitation(timestamp="2023-02-29T10:30:00Z"), "E021"),
    "local time": (invitation(timestamp="2025-01-15T10:30:00+02:00"), "E021"),
}


@pytest.mark.parametrize(("text", "code"), NASTY.values(), ids=NASTY)
def test_a_nasty_message_has_the_right_code(text: bytes, code: str) -> None:
    with pytest.raises(ProtocolError) as refused:
        decode(text)
    assert refused.value.code == code


NASTY_BODIES: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "E040"),
    "an empty batch": (b"[]", "E041"),
    "a truncated batch": (b'[{"jsonrpc":"2.0","method":"ping","id":1}', "E040"),
    "trailing garbage": (b'{"jsonrpc":"2.0","method":"ping","id":1}]', "E040"),
    "a bad escape in a batch": (b'[{"\\x":1}]', "E040"),
    "a bad number in params": (b'{"jsonrpc":"2.0","method":"ping","params":{"x":01},"id":1}', "E040"),
    "a lone surrogate for an id": (b'{"jsonrpc":"2.0","method":"ping","id":"\\ud800"}', "E040"),
    "deep with brackets in strings": (b'["]",' * 2_000, "E040"),
    "a number": (b"1e400", "E041"),
    "an empty object": (b"{}", "E041"),
    "JSON-RPC 1.0": (b'{"method":"ping","params":[],"id":1}', "E041"),
    "a truth for an id": (b'{"jsonrpc":"2.0","method":"ping","id":true}', "E041"),
    "a number for a method": (b'{"jsonrpc":"2.0","method":1,"id":1}', "E041"),
    "text for params": (b'{"jsonrpc":"2.0","method":"ping","params":"x","id":1}', "E041"),
    "too many bytes": (b" " * 10_241, "E046"),
}


@pytest.mark.parametrize(("body", "code"), NASTY_BODIES.values(), ids=NASTY_BODIES)
def test_a_nasty_body_has_the_right_code(body: bytes, code: str) -> None:
    (refused,) = rpc.parse(body).calls
    assert isinstance(refused, rpc.InvalidCall)
    assert refused.error.code == code


@pytest.mark.parametrize(
    "text",
    [
        b'{"jsonrpc":"2.0","method":"league_query","params":{"message_type":[]},"id":1}',
        b'{"jsonrpc":"2.0","method":[],"params":{"message_type":{}},"id":{}}',
        b'{"jsonrpc":"2.0","error":{"code":[],"message":{}},"id":1}',
        b'{"jsonrpc":"2.0","result":{"message_type":[]},"id":1}',
        b'[{"jsonrpc":"2.0","method":[],"id":[]},{"jsonrpc":"2.0","result":{"message_type":{}},"id":[]}]',
    ],
)
def test_lists_and_objects_in_the_place_of_names_are_explained(text: bytes) -> None:
    assert any(part.wrong for part in explain(text))


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 33 + b'"' + b'\\"' * 10_000,
        b'["' * 10_000,
        b'"' * 20_000 + b"[" * 33,
        b"[" * 10_000 + b"]" * 10_000,
        b"[]" * 10_000,
        b"[%b]" % b",".join([b"[]"] * 7_000),
    ],
    ids=["quotes", "strings", "empty strings", "deep", "pairs", "wide"],
)
def test_twenty_kilobytes_are_never_slow(text: bytes) -> None:
    began = time.process_time()
    explain_or_refuse(text)
    assert time.process_time() - began < 0.5
