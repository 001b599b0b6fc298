"""Answers to our own calls: the result, the peer's refusal, or what makes it no answer."""

from __future__ import annotations

import pytest

from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import RpcRefusal, read_answer


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
