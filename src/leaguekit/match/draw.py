"""The chance of a match: its seed, and how a referee commits to it before the choices and discloses it after them.

The commitment is the SHA-256 of the text ``<nonce in hex>:<number>`` in the game of the documents, and of
``<nonce in hex>:<seed in hex>`` in all other games with chance. While the nonce is secret, the commitment says nothing
about them. When both are published, anybody can check that nothing was chosen afterwards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

# The size of a block of SHA-256, and the two paddings of an HMAC, as tables for ``bytes.translate``.
_BLOCK = 64
_INNER, _OUTER = bytes(byte ^ 0x36 for byte in range(256)), bytes(byte ^ 0x5C for byte in range(256))


def commitment(nonce: bytes, promised: int | str) -> str:
    """The commitment that a referee publishes before the choices."""
    return hashlib.sha256(f"{nonce.hex()}:{promised}".encode()).hexdigest()


def record_sha256(record: Sequence[Mapping[Any, Any]]) -> str:
    """The SHA-256 of a record: of its JSON without spaces, with the keys of every object in alphabetical order."""
    return hashlib.sha256(msgspec.json.encode(record, order="sorted")).hexdigest()


def opens(committed: str, nonce_hex: str, promised: int | str) -> bool:
    """Whether a commitment was made with this nonce, and with this number or seed."""
    try:
        return committed == commitment(bytes.fromhex(nonce_hex), promised)
    except ValueError:
        return False


# The manager needs it twice: to assign a match, and to check its result.
@lru_cache(maxsize=1_024)
def match_seed(league_seed: bytes, match_id: str, attempt: int) -> bytes:
    """The seed of a match's draw: 256 bits that differ for every league, match and attempt."""
    return match_seeds(league_seed)(match_id, attempt)


@lru_cache(maxsize=16)
def match_seeds(league_seed: bytes) -> Callable[[str, int], bytes]:
    """The function ``match_seed`` of one league, for many matches: the league's seed is processed once.

    This is HMAC-SHA256 with the league's seed as its key. An object of ``hmac`` takes longer to copy than its hashes.
    """
    key = league_seed if len(league_seed) <= _BLOCK else hashlib.sha256(league_seed).digest()
    key = key.ljust(_BLOCK, b"\0")
    inner, outer = hashlib.sha256(key.translate(_INNER)), hashlib.sha256(key.translate(_OUTER))

    def seed(match_id: str, attempt: int) -> bytes:
        number = str(attempt)
        first, second = inner.copy(), outer.copy()
        # The lengths make the text unambiguous: no other match and attempt have the same text.
        first.update(f"{len(match_id)}:{match_id}{len(number)}:{number}".encode())
        second.update(first.digest())
        return second.digest()

    return seed


def league_seed(number: int) -> bytes:
    """The seed of a league for a number that the operator chose: 256 bits, as many as a random seed has."""
    return hashlib.sha256(b"leaguekit seed %d" % number).digest()
