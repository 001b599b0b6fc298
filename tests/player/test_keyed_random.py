"""Keyed random numbers: repeatable, evenly distributed, and with every method of Python's own generator."""

from __future__ import annotations

import pickle
import statistics
from collections import Counter
from hashlib import sha256

import pytest

from leaguekit.player.keyed_random import KeyedRandom

KEY = (7, "P01", "R1M1", 1)


def numbers(generator: KeyedRandom) -> list[object]:
    deck = [*range(20)]
    generator.shuffle(deck)
    return [
        generator.random(),
        generator.getrandbits(1_000),
        generator.choice("abcdef"),
        generator.randint(1, 6),
        generator.sample(deck, 3),
        generator.gauss(0, 1),
        deck,
    ]


def test_the_same_key_gives_the_same_numbers_and_another_key_others() -> None:
    others = [(8, "P01", "R1M1", 1), (7, "P02", "R1M1", 1), (7, "P01", "R1M2", 1), (7, "P01", "R1M1", 2), b"x", 7, "7"]
    assert numbers(KeyedRandom(KEY)) == numbers(KeyedRandom(KEY))
    assert len({str(numbers(KeyedRandom(key))) for key in [KEY, *others]}) == 8
    assert numbers(KeyedRandom()) != numbers(KeyedRandom())


def test_the_bits_are_those_of_sha_256_of_the_count_and_the_key() -> None:
    first, second = (int.from_bytes(sha256(b"%d 'key'" % count).digest(), "big") for count in (0, 1))
    whole = second << 256 | first
    generator = KeyedRandom("key")
    taken = [generator.getrandbits(bits) for bits in (0, 3, 53, 400, 56)]
    assert taken == [0, whole & 7, whole >> 3 & (1 << 53) - 1, whole >> 56 & (1 << 400) - 1, whole >> 456]


def test_a_new_key_leaves_nothing_of_the_old_one() -> None:
    generator = KeyedRandom("another")
    numbers(generator)
    generator.gauss(0, 1)
    generator.seed(KEY)
    assert numbers(generator) == numbers(KeyedRandom(KEY))


def test_its_state_can_be_kept_and_taken_up() -> None:
    generator = KeyedRandom(KEY)
    numbers(generator)
    kept, copy = generator.getstate(), pickle.loads(pickle.dumps(generator))
    later = numbers(generator)
    generator.setstate(kept)
    assert numbers(generator) == later == numbers(copy)


def test_its_numbers_are_spread_evenly() -> None:
    generator = KeyedRandom(KEY)
    floats = [generator.random() for _ in range(10_000)]
    assert all(0 <= number < 1 for number in floats)
    assert abs(statistics.fmean(floats) - 1 / 2) < 0.01
    assert abs(statistics.pvariance(floats) - 1 / 12) < 0.003
    firsts = Counter(KeyedRandom((1, "P01", f"R{number}M1", 1)).choice("abc") for number in range(3_000))
    assert set(firsts) == {*"abc"}
    assert all(900 < count < 1_100 for count in firsts.values())


@pytest.mark.parametrize("wrong", [-1, -100])
def test_there_are_no_fewer_than_no_bits(wrong: int) -> None:
    with pytest.raises(ValueError, match="negative"):
        KeyedRandom(KEY).getrandbits(wrong)


def test_of_nothing_nothing_can_be_chosen() -> None:
    with pytest.raises(IndexError):
        KeyedRandom(KEY).choice([])
