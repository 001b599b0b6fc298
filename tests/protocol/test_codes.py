"""Codes: easy to pass on, hard to guess, recognised however they were typed, and never left in a URL that is shown."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.protocol import codes, tokens

ENTROPY = st.binary(min_size=codes.ENTROPY_BYTES, max_size=codes.ENTROPY_BYTES)


def test_a_code_is_sixteen_signs_in_fours_with_eighty_bits() -> None:
    code = codes.new_code(bytes(range(10)))
    assert code == "000G-40R4-0M30-E209"
    assert math.log2(len(codes.ALPHABET) ** 16) == 80
    assert len(set(codes.ALPHABET)) == 32
    assert not set(codes.ALPHABET) & set("OILU")


@given(ENTROPY, ENTROPY)
def test_two_codes_are_alike_only_if_their_chance_is(one: bytes, two: bytes) -> None:
    assert (codes.new_code(one) == codes.new_code(two)) == (one == two)


@pytest.mark.parametrize("size", [0, 9, 11])
def test_a_code_needs_exactly_its_chance(size: int) -> None:
    with pytest.raises(ValueError, match=f"10 random bytes, got {size}"):
        codes.new_code(bytes(size))


@given(ENTROPY)
def test_a_code_is_recognised_however_it_was_typed(entropy: bytes) -> None:
    code = codes.new_code(entropy)
    known = codes.verifier("seat", code)
    for typed in (code.lower(), code.replace("-", ""), f" {code.replace('-', ' ')}\t", code.replace("0", "O")):
        assert codes.verifier("seat", typed) == known
    assert codes.verifier("seat", code.replace("1", "l")) == known
    assert codes.verifier("seat", f" {code}\r\n") == known


def test_a_seats_code_is_no_referees() -> None:
    code = codes.new_code(bytes(10))
    assert codes.verifier("seat", code) != codes.verifier("referee", code)


@given(ENTROPY)
def test_a_url_shows_its_code_to_the_manager_and_nobody_else(entropy: bytes) -> None:
    code = codes.new_code(entropy)
    for url in ("http://10.0.0.5:8000/mcp", "https://league.example/mcp?class=3%26b"):
        shown = codes.with_code(url, "seat", code)
        assert codes.code_in_query(shown.partition("?")[2], "seat") == code
        assert codes.code_in_query(shown.partition("?")[2], "referee") is None
        assert codes.without_codes(shown) == url
    assert codes.without_codes(f"http://10.0.0.5/mcp?seat={code}&referee={code}") == "http://10.0.0.5/mcp"


@pytest.mark.parametrize("query", ["", "seat", "seat=", "x=1", "%", "&&=", "SEAT=1"])
def test_a_query_without_a_code_shows_none(query: str) -> None:
    assert codes.code_in_query(query, "seat") is None


@given(ENTROPY, st.binary(min_size=32, max_size=32))
def test_a_redacted_text_holds_neither_tokens_nor_codes(entropy: bytes, random: bytes) -> None:
    code, token = codes.new_code(entropy), tokens.new_token("P01", random)
    derived = tokens.manager_to_agent(tokens.signing_key(token), "league", "P01")
    text = tokens.redact(f'{{"a": "{token}", "b":"{derived}"}} ?seat={code}&x (adm-{random.hex()})')
    assert not any(secret in text for secret in (token, derived, code, random.hex()))
    assert text.startswith('{"a": "tok-p01-…", "b":"drv-')
    assert text.endswith("?seat=…&x (adm-" + random.hex()[:4] + "…)")


def test_ordinary_text_is_left_alone() -> None:
    text = "tok-p04-wrong is not tok-{agent_id}-{hash}; see 000-L0110, 2025-01-15T10:30:00Z, conv-r1m1-001 and R1M1"
    assert tokens.redact(text) == text


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://10.0.0.5:8000", "http://10.0.0.5:8000/mcp"),
        ("http://10.0.0.5:8000/", "http://10.0.0.5:8000/mcp"),
        ("http://10.0.0.5:8000/#/agents", "http://10.0.0.5:8000/mcp"),
        ("http://10.0.0.5:8000/?seat=7K2M#/", "http://10.0.0.5:8000/mcp?seat=7K2M"),
        ("https://example.org/league/", "https://example.org/league/mcp"),
        ("http://10.0.0.5:8000/mcp?seat=7K2M", "http://10.0.0.5:8000/mcp?seat=7K2M"),
        ("http://10.0.0.5:8000/rpc", "http://10.0.0.5:8000/rpc"),
        ("10.0.0.5:8000", "http://10.0.0.5:8000/mcp"),
        ("localhost:8000/?seat=7K2M", "http://localhost:8000/mcp?seat=7K2M"),
        ("ftp://10.0.0.5:8000/mcp", "ftp://10.0.0.5:8000/mcp"),
        ("nonsense", "nonsense"),
    ],
)
def test_the_address_of_a_page_leads_to_the_server_behind_it(given: str, url: str) -> None:
    assert codes.mcp_url(given) == url
