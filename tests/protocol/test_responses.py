"""Answers to our own calls: the result, the peer's refusal, or what makes it no answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, encode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import Message
from leaguekit.protocol.responses import answer_of
from leaguekit.protocol.rpc import RpcRefusal, read_answer
from tests.samples import SAMPLES


@pytest.mark.proves("001-L0043", "001-L0044", "001-L0045")
@pytest.mark.parametrize(
    "body",
    [b'{"jsonrpc":"2.0","result":{"a":1},"id":7}', b'{"id":7,"error":null,"result":{"a":1}}'],
)
def test_the_result_is_taken_as_it_came(body: bytes) -> None:
    assert bytes(read_answer(body, 7)) == b'{"a":1}'


@pytest.mark.proves("001-L0050", "001-L0051", "001-L0052", "001-L0053", "001-L0054")
def test_a_refusal_keeps_its_number_text_and_data() -> None:
    with pytest.raises(RpcRefusal, match="5003 Duplicate report") as refusal:
        read_answer(b'{"jsonrpc":"2.0","error":{"code":5003,"message":"Duplicate report","data":{"x":1}},"id":7}', 7)
    assert refusal.value.error.data == {"x": 1}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "E040"),
        (b"<html>", "E040"),
        (b"\xff", "E040"),
        (b"[" * 100 + b"]" * 100, "E040"),
        (b"[]", "E041"),
        (b'{"result":{},"id":8}', "E041"),
        (b'{"result":{},"id":"7"}', "E041"),
        (b'{"result":{}}', "E041"),
        (b'{"id":7}', "E041"),
        (b'{"id":7,"error":"no"}', "E041"),
    ],
)
def test_what_is_no_answer_is_said_to_be_none(body: bytes, code: str) -> None:
    with pytest.raises(ProtocolError) as refusal:
        read_answer(body, 7)
    assert refusal.value.code == code


def outcome(read: Callable[[], Message]) -> Any:
    try:
        return read()
    except (ProtocolError, RpcRefusal) as error:
        return type(error), str(error), getattr(error, "code", None)


def same_with_care(kind: type[Message], body: bytes, call_id: int = 7) -> Any:
    """What comes of an answer, which must be what the careful way alone makes of it."""
    came = outcome(lambda: answer_of(kind, body, call_id))
    assert came == outcome(lambda: of_type(kind, decode(read_answer(body, call_id))))
    return came


@pytest.mark.parametrize("message", SAMPLES, ids=lambda message: type(message).__name__)
def test_any_message_is_read_from_an_answer(message: Message) -> None:
    body = b'{"jsonrpc":"2.0","result":%b,"id":7}' % encode(message)
    assert same_with_care(type(message), body) == message


CHOICE = next(one for one in SAMPLES if isinstance(one, m.ChooseParityResponse))
RESULT = encode(CHOICE)
DEEP = b"[" * 40 + b"]" * 40
STANDING_ALONE = [
    b'{"result":%b,"id":7}',
    b' { "id" : 7 ,\n"error":null,\t"result" : %b } \r\n',
    b'{"jsonrpc":1,"more":["\xc3\xa9"],"result":%b,"id":7}',
    b'{"result":5,"result":%b,"id":"x","id":7}',
    b'{"error":{"code":1,"message":""},"error":null,"result":%b,"id":7}',
]


@pytest.mark.parametrize("body", STANDING_ALONE)
def test_an_answer_may_be_written_in_any_way(body: bytes) -> None:
    assert same_with_care(m.ChooseParityResponse, body % RESULT) == CHOICE


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{%b",
        b'{"result":%b}',
        b'{"result":%b,"id":8}',
        b'{"result":%b,"id":7.0}',
        b'{"result":%b,"id":"7"}',
        b'{"result":%b,"id":null}',
        b'{"result":%b,"id":7}}',
        b'{"result":%b,"id":7,"error":{"code":5003,"message":"Duplicate"}}',
        b'{"result":%b,"id":7,"error":5}',
        b'{"id":7,"error":{"code":5003,"message":"Duplicate"},"x":%b}',
        b'{"result":{},"id":7,"x":%b}',
        b'{"result":%b,"result":null,"id":7}',
        b'{"result":%b,"id":7,"x":"\xff"}',
        b'{"result":%b,"id":7,"x":' + DEEP + b"}",
    ],
)
def test_what_is_wrong_with_an_answer_is_found_with_care(body: bytes) -> None:
    body = body % RESULT if b"%b" in body else body
    assert isinstance(same_with_care(m.ChooseParityResponse, body), tuple)


@pytest.mark.parametrize("change", [(b'"R1M1"', b'"R1"'), (b"player:P01", b"player P01")])
def test_a_message_in_an_answer_is_checked_like_any_other(change: tuple[bytes, bytes]) -> None:
    assert change[0] in RESULT
    kind, _, code = same_with_care(m.ChooseParityResponse, b'{"result":%b,"id":7}' % RESULT.replace(*change))
    assert issubclass(kind, ProtocolError), code


def test_an_answer_with_another_message_is_refused() -> None:
    kind, text, _ = same_with_care(m.GameJoinAck, b'{"result":%b,"id":7}' % RESULT)
    assert (kind.__name__, "GAME_JOIN_ACK" in text) == ("InvalidMessage", True)


@given(st.sampled_from(STANDING_ALONE), st.integers(0, 400), st.binary(max_size=3), st.integers(0, 3))
def test_a_spoilt_answer_is_what_the_careful_way_says(body: bytes, place: int, put: bytes, cut: int) -> None:
    body = body % RESULT
    same_with_care(m.ChooseParityResponse, body[:place] + put + body[place + cut :])
