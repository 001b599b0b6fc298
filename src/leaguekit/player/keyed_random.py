"""A strategy's chance: the random numbers that a key gives, the same ones every time.

They are cut from SHA-256 of a count and the key. Python's own generator spends 6 µs on being seeded, which is half of a
whole simulated match; this one does nothing until the first number is wanted.
"""

from __future__ import annotations

import os
from hashlib import sha256
from random import Random
from typing import Any

_DIGEST_BITS = 256
_FLOAT_BITS = 53
# So many bits choose as good as fairly, and at one go.
_CHOICE_BITS = 64


def match_key(seed: int, player_id: str, match_id: str, attempt: int) -> tuple[int, str, str, int]:
    """The key of a seeded player's chance in one attempt at a match."""
    return (seed, player_id, match_id, attempt)


class KeyedRandom(Random):
    """Random numbers by a key, with everything that ``random.Random`` can do; ``seed`` gives it another key."""

    __slots__ = ("_bits", "_count", "_key", "_left")

    def __init__(self, key: Any = None) -> None:
        super().__init__(key)

    def seed(self, a: Any = None, version: int = 2) -> None:  # noqa: ARG002 - Random's signature
        self._key = os.urandom(16) if a is None else a
        # Bits that were made and are not used yet, and how many.
        self._count = self._bits = self._left = 0
        self.gauss_next = None

    def random(self) -> float:
        return self.getrandbits(_FLOAT_BITS) / (1 << _FLOAT_BITS)

    def choice(self, seq: Any) -> Any:
        return seq[self.getrandbits(_CHOICE_BITS) * len(seq) >> _CHOICE_BITS]

    def getrandbits(self, k: int, /) -> int:
        if k < 0:
            raise ValueError("the number of bits cannot be negative")
        while self._left < k:
            digest = sha256(f"{self._count} {self._key!r}".encode()).digest()
            self._bits |= int.from_bytes(digest, "big") << self._left
            self._count += 1
            self._left += _DIGEST_BITS
        drawn = self._bits & ((1 << k) - 1)
        self._bits >>= k
        self._left -= k
        return drawn

    def getstate(self) -> tuple[Any, ...]:
        return (self._key, self._count, self._bits, self._left, self.gauss_next)

    def setstate(self, state: tuple[Any, ...]) -> None:
        self._key, self._count, self._bits, self._left, self.gauss_next = state
