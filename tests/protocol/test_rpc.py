"""JSON-RPC 2.0: bodies taken apart, answers put together, and nothing a peer sends ever raises."""

from __future__ import annotations

import asyncio
import json
import logging

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from leaguekit.protocol import rpc
from leaguekit.protocol.decoding import MAX_DEPTH, _depth, check_depth, decode, encode
from leaguekit.protocol.errors import ProtocolError, rpc_number
from leaguekit.protocol.messages import message_type
from leaguekit.protocol.rpc import MAX_BYTES, MAX_IN_BATCH, MAX_TRUSTED_BYTES, Call, InvalidCall, RpcError
from tests.marks import proves
from tests.samples import SAMPLES

ODD_IDS = (
    b"1",
    b"-7",
    b"0",
    b"-0",
    b"1.0",
    b"1e400",
    b"-2.50E-3",
    b"9" * 400,
    b"18446744073709551616",
    b'"abc"',
    b'""',
    b'" "',
    b'"\xc3\xa9"',
    b'"\\u00e9"',
    b'"\\ud83d\\ude00"',
    b'"a\\"b\\\\"',
    b'"null"',
    b'"[{"',
    b"null",
)
NOT_IDS = (b"true", b"false", b"{}", b"[]", b"[1]", b'{"id":1}')
NOT_OBJECTS = (b"1", b'"text"', b"null", b"true", b"1.5", b"1e999", b"9" * 30)


def request_text(
    call_id: bytes | None = b"1",
    *,
    version: bytes | None = b'"2.0"',
    method: bytes | None = b'"echo"',
    params: bytes | None = b"{}",
) -> bytes:
    members = {b"jsonrpc": version, b"method": method, b"params": params, b"id": call_id}
    return b"{%b}" % b",".join(b'"%b":%b' % (name, value) for name, value in members.items() if value is not None)


def batch_text(*members: bytes) -> bytes:
    return b"[%b]" % b",".join(members)


async def handle(call: Call):
    match call.method:
        case "refuse":
            raise ProtocolError("E019")
        case "crash":
            raise RuntimeError("a fault of ours")
        case "unencodable":
            return object()
        case _:
            return {"method": call.method}


def refuse(error: ProtocolError, call: Call | InvalidCall) -> RpcError:
    number, text = rpc_number(call.method, error.code)
    return RpcError(number, text, {"error_code": error.code, "detail": error.detail})


def answer(body: bytes, max_bytes: int = MAX_BYTES) -> bytes | None:
    return asyncio.run(rpc.answer(rpc.RpcRequest(body), handle, refuse, max_bytes))


def answered(body: bytes, max_bytes: int = MAX_BYTES):
    text = answer(body, max_bytes)
    assert text is not None
    return json.loads(text)


def only(body: bytes, max_bytes: int = MAX_BYTES) -> Call | InvalidCall:
    parsed = rpc.parse(body, max_bytes)
    assert not parsed.is_batch
    (call,) = parsed.calls
    return call


@pytest.mark.proves("001-L0035", "001-L0036", "001-L0037", "001-L0038", "002-L0063")
def test_a_request_is_taken_apart():
    call = only(b' {"id": 7 , "params": {"a": 1} , "method": "league_query", "jsonrpc": "2.0", "more": []} \n')
    assert call == Call(b"7", "league_query", Raw(b'{"a": 1}'))


def test_names_and_methods_may_be_written_with_escapes():
    call = only(b'{"jsonrpc":"2.0","\\u006dethod":"\\u0065cho","params":{},"\\u0069d":5}')
    assert call == Call(b"5", "echo", Raw(b"{}"))


def test_of_a_name_that_comes_twice_the_last_counts():
    assert only(b'{"jsonrpc":"2.0","method":"echo","id":1,"id":2}').id == b"2"


@pytest.mark.proves("001-L1857", "001-L0035", "001-L0036", "001-L0037", "001-L0038", "002-L0063")
def test_our_own_requests_have_four_members_and_an_integer_id():
    body = rpc.request("league_query", b'{"a":1}', 7)
    assert json.loads(body) == {"jsonrpc": "2.0", "method": "league_query", "params": {"a": 1}, "id": 7}
    assert only(body) == Call(b"7", "league_query", Raw(b'{"a":1}'))


@pytest.mark.proves("001-L0043", "001-L0044", "001-L0045", "001-L1858", "002-L0081", "002-L0082", "002-L0087")
def test_a_success_has_jsonrpc_result_and_the_id_of_its_request():
    assert answered(request_text(b"7")) == {"jsonrpc": "2.0", "result": {"method": "echo"}, "id": 7}


def test_a_failure_has_jsonrpc_an_error_object_and_the_id_of_its_request():
    came = answered(request_text(b'"r-1"', method=b'"refuse"'))
    assert came == {
        "jsonrpc": "2.0",
        "error": {
            "code": 19,
            "message": "LATE_REGISTRATION",
            "data": {"error_code": "E019", "detail": "The league has started; registration is closed."},
        },
        "id": "r-1",
    }


proves(
    test_a_failure_has_jsonrpc_an_error_object_and_the_id_of_its_request,
    "001-L0050", "001-L0051", "001-L0052", "001-L0053", "001-L0054", "001-L0056", "001-L1859", "002-L0095",
    "002-L0096", "002-L0097", "002-L0098", "002-L0100",
)  # fmt: skip


@pytest.mark.proves("001-L0009", "001-L0030", "001-L1856", "002-L0057", "002-L0065", "001-L1964")
@pytest.mark.parametrize("message", SAMPLES, ids=message_type)
def test_every_message_goes_into_an_envelope_and_comes_out_again(message):
    sent = only(rpc.request("any", encode(message), 1), MAX_TRUSTED_BYTES)
    assert decode(rpc.params_of(sent)) == message
    came = msgspec.json.decode(rpc.success(b"1", encode(message)), type=dict[str, Raw])
    assert decode(came["result"]) == message


@pytest.mark.parametrize("message", SAMPLES, ids=message_type)
def test_what_is_read_at_one_go_is_what_is_read_with_care(message):
    for call_id in ODD_IDS:
        check_both_ways_of_reading(message, call_id)


def check_both_ways_of_reading(message, call_id):
    body = request_text(call_id, params=encode(message))
    call, careful = rpc.decode_valid_call(body, MAX_TRUSTED_BYTES), only(body, MAX_TRUSTED_BYTES)
    assert (call.id, call.method, call.params) == (careful.id, careful.method, careful.params)
    assert call.message == decode(careful.params)
    assert careful.message is None


@pytest.mark.parametrize(
    "body",
    [
        request_text(params=encode(SAMPLES[0])) + b" " * MAX_BYTES,
        request_text(params=encode(SAMPLES[0])) + b"}",
        request_text(b'"\xff"', params=encode(SAMPLES[0])),
        request_text(b'"\\ud800"', method=b'"\\ud800"', params=encode(SAMPLES[0])),
        request_text(params=encode(SAMPLES[0])[:-1] + b',"deep":' + b"[" * MAX_DEPTH + b"]" * MAX_DEPTH + b"}"),
        request_text(params=encode(SAMPLES[0]).replace(b"league.v2", b"league.v1")),
        request_text(params=encode(SAMPLES[0]).replace(b"Z", b"+02:00")),
        request_text(version=b'"1.0"', params=encode(SAMPLES[0])),
        request_text(None, params=encode(SAMPLES[0])),
        *(request_text(call_id, params=encode(SAMPLES[0])) for call_id in NOT_IDS),
        request_text(),
        batch_text(request_text(params=encode(SAMPLES[0]))),
    ],
)
def test_what_is_not_plainly_right_is_looked_at_with_care(body):
    assert rpc.decode_valid_call(body) is None


def test_a_message_may_be_given_back():
    async def give(call: Call):
        return call.message

    body = request_text(params=encode(SAMPLES[0]))
    came = asyncio.run(rpc.answer(rpc.RpcRequest(body), give, refuse))
    assert came == rpc.success(b"1", encode(SAMPLES[0]))


@pytest.mark.proves("001-L0038", "001-L0045", "001-L0056", "002-L0087", "002-L0100")
@pytest.mark.parametrize("method", [b'"echo"', b'"refuse"', b'"crash"'])
@pytest.mark.parametrize("call_id", ODD_IDS)
def test_an_id_returns_byte_for_byte(call_id, method):
    text = answer(request_text(call_id, method=method))
    assert text.endswith(b',"id":%b}' % call_id)
    assert answer(batch_text(request_text(call_id, method=method))) == batch_text(text)


@pytest.mark.parametrize("call_id", NOT_IDS)
def test_an_id_that_is_none_is_refused_under_null(call_id):
    came = answered(request_text(call_id))
    assert came["id"] is None
    assert came["error"]["code"] == -32600
    assert call_id.decode() in came["error"]["data"]["detail"]


@pytest.mark.parametrize("method", [b'"echo"', b'"refuse"', b'"unknown"'])
@pytest.mark.parametrize("params", [b"{}", b"[]", None])
def test_a_notification_gets_no_answer(method, params):
    assert answer(request_text(None, method=method, params=params)) is None


def test_a_notification_is_handled_all_the_same():
    seen = []

    async def note(call: Call) -> None:
        seen.append(call)

    assert asyncio.run(rpc.answer(rpc.RpcRequest(request_text(None)), note, refuse)) is None
    assert seen == [Call(None, "echo", Raw(b"{}"))]


def test_a_notification_that_crashes_gets_no_answer_but_is_logged(caplog):
    assert answer(request_text(None, method=b'"crash"')) is None
    assert "a fault of ours" in caplog.text


def test_a_request_whose_id_is_null_is_no_notification():
    assert answered(request_text(b"null")) == {"jsonrpc": "2.0", "result": {"method": "echo"}, "id": None}


@pytest.mark.proves("001-L0035", "002-L0063")
@pytest.mark.parametrize("version", [None, b'"1.0"', b'"2"', b"2.0", b"2", b"null", b'" 2.0"', b"{}", b'["2.0"]'])
def test_another_version_of_jsonrpc_is_an_invalid_request(version):
    came = answered(request_text(b"7", version=version))
    assert (came["error"]["code"], came["error"]["message"], came["id"]) == (-32600, "Invalid Request", 7)
    assert came["error"]["data"]["detail"].startswith('jsonrpc must be "2.0", got ')


@pytest.mark.proves("001-L0036")
@pytest.mark.parametrize("method", [None, b"1", b"null", b"true", b"[]", b"{}", b'["echo"]'])
def test_a_method_that_is_not_text_is_an_invalid_request(method):
    came = answered(request_text(b"7", method=method))
    assert (came["error"]["code"], came["id"]) == (-32600, 7)
    shown = "nothing" if method is None else method.decode()
    assert came["error"]["data"]["detail"] == f"method must be text, got {shown}."


@pytest.mark.proves("001-L0037")
@pytest.mark.parametrize("params", [b"null", b"1", b'"text"', b"true", b"false", b"-1.5"])
def test_params_that_are_no_structure_are_an_invalid_request(params):
    came = answered(request_text(b"7", params=params))
    assert (came["error"]["code"], came["id"]) == (-32600, 7)
    assert came["error"]["data"]["detail"] == f"params must be an object, got {params.decode()}."


@pytest.mark.parametrize("member", [b"{}", request_text(None, version=None), request_text(None, method=b"1")])
def test_what_has_no_id_and_is_no_notification_is_refused_under_null(member):
    came = answered(member)
    assert (came["error"]["code"], came["id"]) == (-32600, None)


def test_a_refused_request_keeps_the_method_it_named():
    refused = only(request_text(b"7", version=None, method=b'"league_query"'))
    assert isinstance(refused, InvalidCall)
    assert refused.method == "league_query"


def test_what_is_shown_of_a_wrong_request_is_cut_short():
    detail = answered(request_text(method=b"[%b]" % b",".join([b"1"] * 1000)))["error"]["data"]["detail"]
    assert detail.endswith("….")
    assert len(detail) < 100


@pytest.mark.proves("001-L0037")
def test_the_params_of_a_call_are_an_object():
    assert rpc.params_of(Call(b"1", "echo", Raw(b'{"a":1}'))) == Raw(b'{"a":1}')


@pytest.mark.proves("001-L0037")
@pytest.mark.parametrize(("params", "code"), [(None, "E003"), (b"[]", "E043"), (b'[{"a":1}]', "E043")])
def test_missing_params_and_a_list_are_valid_json_rpc_but_no_message(params, code):
    call = only(request_text(params=params))
    assert isinstance(call, Call)
    with pytest.raises(ProtocolError) as caught:
        rpc.params_of(call)
    assert caught.value.code == code


@pytest.mark.parametrize("body", NOT_OBJECTS)
def test_a_body_that_is_no_object_is_an_invalid_request(body):
    came = answered(body)
    assert (came["error"]["code"], came["id"]) == (-32600, None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b" \n",
        b"garbage",
        b"{",
        b"[",
        b"]",
        b"nul",
        b'"open',
        request_text()[:-1],
        batch_text(request_text())[:-1],
        batch_text(request_text(), request_text()[:-1]),
        request_text() + b"x",
        request_text() + request_text(),
        b"[] x",
        b"[1] [2]",
        b"1 2",
        b"123abc",
        b'"text" more',
        b"null}",
        b"\xef\xbb\xbf" + request_text(),
        b"\x00" + request_text(),
        request_text().replace(b'"', b"'"),
        b"{1:2}",
        b"[1,]",
        b'{"a":1,}',
        request_text(b"NaN"),
        request_text(b"Infinity"),
        request_text(b"-Infinity"),
        request_text(b"01"),
        request_text(b"1."),
        request_text(b"+1"),
        request_text(b"truth"),
        request_text(b'"\\x"'),
        request_text(b'"a\nb"'),
        request_text(b'"\\ud800"'),
        request_text(params=b'{"a":NaN}'),
        request_text(params=b'{"a":}'),
        batch_text(request_text(), request_text(params=b'{"a":NaN}')),
    ],
)
def test_what_is_not_json_is_a_parse_error(body):
    came = answered(body)
    assert (came["error"]["code"], came["error"]["message"], came["id"]) == (-32700, "Parse error", None)


@pytest.mark.proves("000-L1587")
@pytest.mark.parametrize("wrong", [b"\xff", b"\xc3", b"\xe9", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"])
def test_text_that_is_not_utf_8_is_a_parse_error(wrong):
    for body in (request_text(b'"%b"' % wrong), batch_text(request_text(params=b'{"a":"%b"}' % wrong))):
        came = answered(body)
        assert (came["error"]["code"], came["id"]) == (-32700, None)
        assert "not UTF-8: byte" in came["error"]["data"]["detail"]


@pytest.mark.proves("000-L1587")
def test_text_in_utf_8_arrives_unchanged():
    assert answered(request_text(method='"é 中 😀"'.encode()))["result"] == {"method": "é 中 😀"}


def nested(levels: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    """A request in which ``levels`` brackets are open at once."""
    inside = levels - 2
    return request_text(params=b'{"a":%b1%b}' % (opening * inside, closing * inside))


@pytest.mark.parametrize(("opening", "closing"), [(b"[", b"]"), (b'{"a":', b"}"), (b'["[",', b"]")])
def test_nesting_is_refused_beyond_its_limit(opening, closing):
    assert isinstance(only(nested(MAX_DEPTH, opening, closing)), Call)
    came = answered(nested(MAX_DEPTH + 1, opening, closing))
    assert (came["error"]["code"], came["id"]) == (-32700, None)
    assert f"more than {MAX_DEPTH} levels" in came["error"]["data"]["detail"]


@pytest.mark.parametrize("body", [b"[" * 10_000, b'{"a":' * 2_000, b"[" * 5_000 + b"]" * 5_000, b"]" * 10_000])
def test_nesting_without_end_is_a_parse_error(body):
    assert answered(body)["error"]["code"] == -32700


@pytest.mark.parametrize(
    "text",
    [b"[" * 100, b"{" * 100, b"[{" * 100, b"]" * 100, b'\\"' + b"[" * 100, b"[" * 100 + b'\\"' + b"[", b"\\\\[[" * 50],
)
def test_brackets_within_strings_are_no_nesting(text):
    assert answered(request_text(params=b'{"a":"%b","%b":[]}' % (text, text)))["result"] == {"method": "echo"}


def test_many_brackets_side_by_side_are_no_nesting():
    params = b'{"a":[%b]}' % b",".join([b'{"b":[]}'] * 200)
    assert answered(request_text(params=params))["result"] == {"method": "echo"}


@given(st.lists(st.sampled_from(["[", "{", "]", "}", "},{", '"', "\\", ","]), max_size=200))
def test_the_quick_look_at_depth_lets_nothing_pass(marks):
    text = "".join(["{" * 20, *marks]).encode()
    if _depth(text) <= MAX_DEPTH:
        check_depth(text)
    else:
        with pytest.raises(ProtocolError, match=f"more than {MAX_DEPTH} levels"):
            check_depth(text)


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 100, 1_010])
def test_brackets_within_strings_do_not_hide_nesting(levels):
    body = nested(levels, b'["]",', b',"["]')
    assert len(body) <= MAX_BYTES
    assert answered(body)["error"]["code"] == -32700


@pytest.mark.parametrize("batch", [False, True])
def test_10240_bytes_are_taken_and_one_more_is_not(batch):
    def padded(size: int) -> bytes:
        body = request_text(params=b'{"a":""}')
        body = batch_text(body) if batch else body
        return body.replace(b'""', b'"%b"' % (b"x" * (size - len(body))))

    assert len(padded(10_240)) == 10_240
    assert b'"result"' in answer(padded(10_240))
    came = answered(padded(10_241))
    assert (came["error"]["code"], came["error"]["message"], came["id"]) == (-32600, "Invalid Request", None)
    assert came["error"]["data"] == {
        "error_code": "E046",
        "detail": "The message has 10,241 bytes; at most 10,240 are taken.",
    }


@pytest.mark.settles("000-L1566")
def test_from_above_an_agent_takes_a_megabyte():
    body = request_text(params=b'{"a":"%b"}' % (b"x" * 10_240))
    assert answered(body, MAX_TRUSTED_BYTES)["result"] == {"method": "echo"}
    most = request_text() + b" " * (MAX_TRUSTED_BYTES - len(request_text()))
    assert answered(most, MAX_TRUSTED_BYTES)["result"] == {"method": "echo"}
    assert answered(most + b" ", MAX_TRUSTED_BYTES)["error"]["data"]["error_code"] == "E046"


@pytest.mark.parametrize("method", ["crash", "unencodable"])
def test_a_fault_of_ours_is_an_internal_error_and_is_logged(method, caplog):
    came = answered(request_text(b"7", method=b'"%b"' % method.encode()))
    assert (came["error"]["code"], came["error"]["message"], came["id"]) == (-32603, "Internal error", 7)
    assert "a fault of ours" not in json.dumps(came)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.getMessage() == f"internal error while answering {method}"
    assert record.exc_info is not None


def test_a_refusal_is_not_logged_as_a_fault(caplog):
    answer(request_text(method=b'"refuse"'))
    assert not caplog.records


def test_one_crash_does_not_spoil_the_rest_of_a_batch():
    came = answered(batch_text(request_text(b"1"), request_text(b"2", method=b'"crash"'), request_text(b"3")))
    assert [(one["id"], "result" in one) for one in came] == [(1, True), (2, False), (3, True)]


def test_cancellation_is_not_taken_for_a_fault():
    async def cancelled(call: Call) -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(rpc.answer(rpc.RpcRequest(request_text()), cancelled, refuse))


def test_a_mixed_batch_gets_an_answer_for_each_member_but_the_notifications():
    came = answered(
        batch_text(
            request_text(b"1"),
            request_text(None),
            b"1",
            b'{"foo": "boo"}',
            request_text(b'"2"', method=b'"refuse"'),
            request_text(b"3", version=None),
            request_text(b"[]"),
            request_text(None, method=b'"crash"'),
            request_text(b"9.0"),
        )
    )
    assert [(one["id"], one.get("error", {}).get("code")) for one in came] == [
        (1, None),
        (None, -32600),
        (None, -32600),
        ("2", 19),
        (3, -32600),
        (None, -32600),
        (9.0, None),
    ]


def test_a_batch_of_one_is_answered_with_a_list():
    assert isinstance(answered(b" \t\r\n" + batch_text(request_text())), list)


def test_an_empty_batch_is_one_invalid_request():
    came = answered(b" [ ] ")
    assert (came["error"]["code"], came["id"]) == (-32600, None)


@pytest.mark.parametrize("count", [1, 2, MAX_IN_BATCH])
def test_a_batch_of_notifications_gets_no_answer(count):
    assert answer(batch_text(*[request_text(None)] * count)) is None


@pytest.mark.parametrize("member", [*NOT_OBJECTS, b"[]", b"[[]]", batch_text(request_text())])
def test_a_member_that_is_no_object_is_refused_by_itself(member):
    refused, taken = answered(batch_text(member, request_text(b"2")))
    assert (refused["error"]["code"], refused["id"]) == (-32600, None)
    assert taken["result"] == {"method": "echo"}


def test_a_hundred_members_are_taken():
    came = answered(batch_text(*(request_text(b"%d" % number) for number in range(100))))
    assert [one["id"] for one in came] == list(range(100))
    assert all("result" in one for one in came)


@pytest.mark.parametrize("member", [request_text(b"1"), request_text(None), b"1", b'{"id":1}'])
@pytest.mark.parametrize("count", [101, 9_000])
def test_of_a_larger_batch_nothing_is_done_and_it_gets_one_refusal(member, count):
    came = answered(batch_text(*[member] * count), MAX_BYTES * count)
    assert (came["error"]["code"], came["id"]) == (-32600, None)
    assert came["error"]["data"]["detail"] == "A batch has at most 100 members; this one has more."


def test_a_batch_whose_answers_grow_too_long_is_carried_out_in_part_and_every_id_is_answered():
    async def handle(call: Call) -> Raw:
        carried_out.append(call.id)
        return Raw(b'"%b"' % (b"x" * 5_000))

    carried_out: list[bytes | None] = []
    members = [request_text(b"%d" % number) for number in range(100)]
    batch = batch_text(*members[:98], request_text(None), members[99])
    text = asyncio.run(rpc.answer(rpc.RpcRequest(batch), handle, refuse))
    came = json.loads(text or b"")
    assert [one["id"] for one in came] == [*range(98), 99]
    done = [one["id"] for one in came if "result" in one]
    assert 1 < len(done) == len(carried_out) < 20
    assert len(text or b"") <= 65_536
    assert came[-1]["error"]["data"]["error_code"] == "E059"


@pytest.mark.parametrize("body", [request_text(b"5"), batch_text(request_text(b"5"))])
def test_an_answer_is_json_without_needless_space(body):
    answers = {b'{"jsonrpc":"2.0","result":{"method":"echo"},"id":5}'}
    assert answer(body).strip(b"[]") in answers


MEMBERS = st.sampled_from(["request", "refused", "crashing", "notification", "wrong version", "wrong id", "no object"])


def written_member(kind: str, number: int) -> tuple[bytes, int | str | None]:
    """A member of a batch, and the id under which it is answered: "none" where it is not."""
    call_id = b"%d" % number
    match kind:
        case "request":
            return request_text(call_id), number
        case "refused":
            return request_text(call_id, method=b'"refuse"'), number
        case "crashing":
            return request_text(call_id, method=b'"unencodable"'), number
        case "notification":
            return request_text(None), "none"
        case "wrong version":
            return request_text(call_id, version=b"2"), number
        case "wrong id":
            return request_text(b"[%b]" % call_id), None
        case _:
            return call_id, None


@pytest.mark.proves("001-L0045", "001-L0056")
@given(st.lists(MEMBERS, min_size=1, max_size=20))
def test_every_request_with_an_id_gets_exactly_one_answer_with_that_id(kinds):
    members, ids = zip(*(written_member(kind, number) for number, kind in enumerate(kinds)), strict=True)
    text = answer(batch_text(*members))
    expected = [one for one in ids if one != "none"]
    assert [one["id"] for one in json.loads(text or b"[]")] == expected
    assert (text is None) == (not expected)


@given(st.binary(max_size=200) | st.text(alphabet='[]{}",:\\u0de1 ntf.-', max_size=60).map(str.encode))
def test_whatever_comes_gets_a_valid_answer_or_none(body):
    text = answer(body)
    if text is not None:
        answers = json.loads(text)
        for one in answers if isinstance(answers, list) else [answers]:
            assert one["jsonrpc"] == "2.0"
            assert ("result" in one) != ("error" in one)
