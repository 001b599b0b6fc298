"""Repeatable random numbers for strategies: the same key always gives the same numbers.

The bits are SHA-256 digests of a counter and the key. To seed Python's own generator takes 6 µs, which is half of a
whole simulated match. This generator does nothing until the first number is needed.
"""

from __future__ import annotations

import os
from hashlib import sha256
from random import Random
from typing import Any

_DIGEST_BITS = 256
_FLOAT_BITS = 53
# ``choice`` scales one number of this many bits to the length of the sequence. The bias is at most the length divided
# by 2 to the power of 64, which is too small to be measured. A loop that rejects numbers is therefore not needed.
_CHOICE_BITS = 64


class KeyedRandom(Random):
    """A ``random.Random`` whose numbers follow from a key. ``seed`` sets another key.

    The key of a seeded player is ``(seed, player_id, match_id, attempt)``.
    """

    __slots__ = ("_bits", "_counter", "_key", "_unused")

    def __init__(self, key: Any = None) -> None:
        super().__init__(key)

    def seed(self, a: Any = None, version: int = 2) -> None:  # noqa: ARG002 - Random's signature
        self._key = os.urandom(16) if a is None else a
        # The bits that were made and are not used yet, and their number.
        self._counter = self._bits = self._unused = 0
        self.gauss_next = None

    def random(self) -> float:
        return self.getrandbits(_FLOAT_BITS) / (1 << _FLOAT_BITS)

    def choice(self, seq: Any) -> Any:
        return seq[self.getrandbits(_CHOICE_BITS) * len(seq) >> _CHOICE_BITS]

    def getrandbits(self, k: int, /) -> int:
        if k < 0:
            raise ValueError("the number of bits cannot be negative")
        while self._unused < k:
            digest = sha256(f"{self._counter} {self._key!r}".encode()).digest()
            self._bits |= int.from_bytes(digest, "big") << self._unused
            self._counter += 1
            self._unused += _DIGEST_BITS
        drawn = self._bits & ((1 << k) - 1)
        self._bits >>= k
        self._unused -= k
        return drawn

    def getstate(self) -> tuple[Any, ...]:
        return (self._key, self._counter, self._bits, self._unused, self.gauss_next)

    def setstate(self, state: tuple[Any, ...]) -> None:
        self._key, self._counter, self._bits, self._unused, self.gauss_next = state
