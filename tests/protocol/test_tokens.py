"""Tokens: what recognises one, what is derived from one, and what is shown of one."""

from __future__ import annotations

import base64
import hmac
import itertools

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.protocol import tokens
from leaguekit.protocol.fields import Token

ENTROPY = bytes(range(32))
TOKEN = tokens.new_token("P01", ENTROPY)
KEY = tokens.signing_key(TOKEN)
BETWEEN = (tokens.referee_to_player, tokens.player_to_referee)
LEAGUE, MATCH, ATTEMPT, REFEREE = "league_2025_even_odd", "R1M1", 1, "REF01"


def test_a_token_is_tok_the_id_and_256_bits():
    assert TOKEN == "tok-p01-AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"
    assert tokens.new_token("REF01", ENTROPY).startswith("tok-ref01-")


@given(st.binary(min_size=32, max_size=32), st.binary(min_size=32, max_size=32))
def test_tokens_are_equal_only_if_their_entropy_is(one, other):
    assert (tokens.new_token("P01", one) == tokens.new_token("P01", other)) == (one == other)


@pytest.mark.parametrize("length", [0, 1, 16, 31, 33, 64])
def test_entropy_of_another_length_is_refused(length):
    with pytest.raises(ValueError, match=f"a token needs 32 random bytes, got {length}"):
        tokens.new_token("P01", bytes(length))


def test_all_tokens_are_tokens_that_messages_take():
    derived = [one(KEY, LEAGUE, MATCH, ATTEMPT, REFEREE) for one in BETWEEN]
    for token in (TOKEN, *derived, tokens.manager_to_agent(KEY, LEAGUE, "P01")):
        assert msgspec.convert(token, Token) == token


@given(st.text(max_size=80))
def test_a_verifier_recognises_its_token_and_no_other(shown):
    assert tokens.matches_verifier(TOKEN, tokens.verifier(TOKEN))
    assert tokens.matches_verifier(shown, tokens.verifier(TOKEN)) == (shown == TOKEN)
    assert tokens.matches_verifier(shown, tokens.verifier(shown))


def test_what_is_too_long_to_be_remembered_is_recognised_as_well():
    long = "x" * (tokens.MAX_CACHED + 1)
    assert tokens.matches_verifier(long, tokens.verifier(long))
    assert not tokens.matches_verifier(long[1:], tokens.verifier(long))


@pytest.mark.parametrize(
    "shown", ["", TOKEN[:-1], f"{TOKEN}x", TOKEN.upper(), f" {TOKEN}", f"{TOKEN}\n", f"verify{TOKEN}"]
)
def test_what_resembles_a_token_is_not_recognised(shown):
    assert not tokens.matches_verifier(shown, tokens.verifier(TOKEN))


def test_neither_of_the_two_values_kept_tells_the_token_or_the_other():
    verifier = tokens.verifier(TOKEN)
    assert len({verifier, KEY, ENTROPY}) == 3
    assert not tokens.matches_verifier(TOKEN, KEY)
    assert tokens.referee_to_player(KEY, LEAGUE, MATCH, ATTEMPT, REFEREE) != tokens.referee_to_player(
        verifier, LEAGUE, MATCH, ATTEMPT, REFEREE
    )


def test_a_derived_token_is_the_same_each_time_and_opens_nothing_else():
    for derive in BETWEEN:
        derived = derive(KEY, LEAGUE, MATCH, ATTEMPT, REFEREE)
        assert derived == derive(KEY, LEAGUE, MATCH, ATTEMPT, REFEREE)
        assert derived.startswith("drv-")
        assert not tokens.matches_verifier(derived, tokens.verifier(TOKEN))


def test_derived_tokens_differ_in_key_purpose_league_match_attempt_and_referee():
    keys = (KEY, tokens.signing_key(tokens.new_token("P02", ENTROPY)))
    derived = [
        derive(key, league, match, attempt, referee)
        for derive, key, league, match, attempt, referee in itertools.product(
            BETWEEN, keys, ("league-a", "league-b"), ("R1M1", "R1M2"), (1, 2), ("REF01", "REF02")
        )
    ]
    derived += [
        tokens.manager_to_agent(key, league, agent)
        for key, league, agent in itertools.product(keys, ("league-a", "league-b"), ("P01", "P02", "REF01"))
    ]
    assert len(set(derived)) == len(derived) == 64 + 12


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("", "abc"), ("abc", "")),
        (("a1:b", "c"), ("a", "1:bc")),
        (("1:a", "b"), ("1", ":ab")),
        (("é", "a"), ("é"[:0], "éa")),
    ],
)
def test_the_parts_of_a_derived_token_do_not_run_together(one, other):
    assert tokens.manager_to_agent(KEY, *one) != tokens.manager_to_agent(KEY, *other)
    for derive in BETWEEN:
        assert derive(KEY, *one, 1, REFEREE) != derive(KEY, *other, 1, REFEREE)


def test_match_and_attempt_do_not_run_together():
    for derive in BETWEEN:
        assert derive(KEY, LEAGUE, "R1M1", 11, REFEREE) != derive(KEY, LEAGUE, "R1M11", 1, REFEREE)


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_derived_tokens_are_equal_only_if_their_parts_are(one, other):
    assert (tokens.manager_to_agent(KEY, *one) == tokens.manager_to_agent(KEY, *other)) == (one == other)


def test_a_derived_token_is_the_hmac_that_agents_elsewhere_compute_too():
    code = hmac.digest(KEY, b"7:manager8:league-a3:P01", "sha256")
    expected = base64.urlsafe_b64encode(code).decode().rstrip("=")
    assert tokens.manager_to_agent(KEY, "league-a", "P01") == f"drv-{expected}"


@given(st.text(max_size=60), st.text(max_size=60))
def test_derived_tokens_are_compared_whole(shown, expected):
    assert tokens.are_equal(shown, expected) == (shown == expected)
    assert tokens.are_equal(expected, expected)


@pytest.mark.parametrize(
    ("token", "text"),
    [(TOKEN, "tok-p01-…"), ("", "…"), ("a", "…"), ("ab", "a…"), ("secret", "sec…"), ("x" * 17, "xxxxxxxx…")],
)
def test_a_token_is_shown_by_its_first_characters(token, text):
    assert tokens.shorten_token(token) == text


@given(st.text(max_size=600))
def test_no_more_than_half_of_a_token_nor_more_than_8_characters_are_shown(token):
    shown = tokens.shorten_token(token)
    assert shown.endswith("…")
    assert token.startswith(shown[:-1])
    assert len(shown[:-1]) <= min(8, len(token) / 2)
