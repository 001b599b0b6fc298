"""What a player may state about a move, and how that is counted."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from leaguekit.protocol.decoding import decode, encode
from leaguekit.protocol.errors import InvalidMessage
from leaguekit.protocol.fields import INT32_MAX
from leaguekit.protocol.messages import ChooseParityResponse, MoveInfo, MoveOrigins
from tests.samples import samples_of


def answer(info: Any) -> bytes:
    (sample, *_) = samples_of("CHOOSE_PARITY_RESPONSE")
    return msgspec.json.encode(msgspec.to_builtins(sample) | {"move_info": info})


@pytest.mark.parametrize(
    "info", [{}, {"origin": "own"}, {"origin": "retried", "reason": "r" * 200}, {"model": "later"}]
)
def test_a_statement_may_say_less_or_more_than_is_known_here(info: Any) -> None:
    assert isinstance(read := decode(answer(info)), ChooseParityResponse)
    assert decode(encode(read)) == read


@pytest.mark.parametrize(
    ("info", "path"),
    [
        ("own", "move_info"),
        ({"origin": "mine"}, "move_info.origin"),
        ({"reason": "r" * 201}, "move_info.reason"),
    ],
)
def test_a_statement_of_another_form_is_refused_by_its_path(info: Any, path: str) -> None:
    with pytest.raises(InvalidMessage, match=path):
        decode(answer(info))


def test_moves_are_counted_by_origin_with_the_first_reason() -> None:
    origins = MoveOrigins()
    assert (str(origins), origins.total) == ("", 0)
    stated: list[tuple[Any, Any]] = [
        ("own", UNSET),
        ("own", UNSET),
        ("retried", "not counted"),
        ("replaced", UNSET),
        ("replaced", "down"),
        ("replaced", "later"),
        (UNSET, "nothing"),
    ]
    for origin, reason in stated:
        origins.count(MoveInfo(origin=origin, reason=reason))
    assert str(origins) == "2 own, 1 retried, 3 replaced (the first because down)"
    assert origins.total == 6
    total = MoveOrigins(own=1_000)
    total.add(origins)
    total.add(MoveOrigins(replaced=1, reason="another"))
    assert str(total) == "1,002 own, 1 retried, 4 replaced (the first because down)"


def test_sums_of_any_counts_can_be_read_again() -> None:
    most = MoveOrigins(own=INT32_MAX, retried=INT32_MAX, replaced=INT32_MAX)
    total = MoveOrigins(own=1, retried=1, replaced=1)
    total.add(most)
    assert msgspec.json.decode(msgspec.json.encode(total), type=MoveOrigins) == most


def test_own_moves_alone_take_little_room() -> None:
    assert msgspec.json.encode({"P01": MoveOrigins(own=1)}) == b'{"P01":{"own":1}}'
