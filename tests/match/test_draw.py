"""The draw: commitments that bind and open, and seeds that differ for every match and attempt."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.games import GAMES
from leaguekit.match.draw import commitment, league_seed, match_seed, match_seeds, opens

NONCE = bytes(range(16))
nonces = st.binary(min_size=16, max_size=16)
numbers = st.integers(1, 10)


def test_a_commitment_is_the_sha_256_of_the_nonce_in_hex_a_colon_and_the_number():
    text = b"000102030405060708090a0b0c0d0e0f:8"
    assert commitment(NONCE, 8) == hashlib.sha256(text).hexdigest()
    # Worked out with: printf '%s' 000102030405060708090a0b0c0d0e0f:8 | sha256sum
    assert commitment(NONCE, 8) == "1a5c81e5877032943e0a6219c8721415db126fece6639380544d96ae4ebd567e"


@given(nonces, numbers)
def test_a_commitment_opens_with_its_nonce_and_number(nonce, number):
    assert opens(commitment(nonce, number), nonce.hex(), number)
    assert opens(commitment(nonce, number), nonce.hex().upper(), number)


@given(nonces, numbers, nonces, numbers)
def test_a_commitment_opens_with_nothing_else(nonce, number, other_nonce, other_number):
    same = (nonce, number) == (other_nonce, other_number)
    assert opens(commitment(nonce, number), other_nonce.hex(), other_number) == same


@pytest.mark.parametrize("nonce", ["", "no hex", "0", "é", f"{NONCE.hex()}:1"])
def test_what_is_no_nonce_opens_nothing(nonce):
    assert not opens(commitment(NONCE, 8), nonce, 8)


@given(nonces)
def test_the_ten_commitments_under_one_nonce_differ(nonce):
    assert len({commitment(nonce, number) for number in range(1, 11)}) == 10


def test_a_match_seed_is_the_same_every_time_and_another_for_every_league_match_and_attempt():
    seeds = {
        match_seed(league, match, attempt)
        for league in (b"", b"one", b"two")
        for match in ("R1M1", "R1M11", "R11M1")
        for attempt in (1, 2, 11)
    }
    assert len(seeds) == 27
    assert {len(seed) for seed in seeds} == {32}
    assert match_seed(b"one", "R1M1", 1) in seeds


def test_a_match_seed_is_the_hmac_of_match_and_attempt_under_the_leagues_seed():
    for league in (b"", bytes(range(64)), bytes(range(65)), b"one"):
        expected = hmac.digest(league, b"5:R12M32:10", "sha256")
        assert match_seed(league, "R12M3", 10) == expected
    seed_of = match_seeds(b"one")
    assert [seed_of("R12M3", 10), seed_of("R1M1", 1), seed_of("R12M3", 10)] == [
        expected,
        match_seed(b"one", "R1M1", 1),
        expected,
    ]


def test_a_number_makes_a_whole_seed():
    assert league_seed(7) == hashlib.sha256(b"leaguekit seed 7").digest()
    assert len({league_seed(number) for number in range(-5, 5)}) == 10


def test_parts_of_a_seed_do_not_run_into_each_other():
    assert match_seed(b"one", "R1M1", 11) != match_seed(b"one", "R1M11", 1)


@pytest.mark.proves("001-L1188")
def test_draws_from_match_seeds_reach_every_number_about_equally_often():
    game = GAMES["even_odd"]
    drawn = [game.roll(game.start(), match_seed(b"league", f"R{number}M1", 1), 0) for number in range(1, 10_001)]
    assert set(drawn) == set(range(1, 11))
    assert all(850 < drawn.count(number) < 1150 for number in range(1, 11))
