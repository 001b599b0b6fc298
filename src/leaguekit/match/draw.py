"""The draw: where its seed comes from, and how a referee commits to a number before the choices and opens it after.

The commitment is the SHA-256 of the text ``<nonce in hex>:<number>``: it tells nothing while the nonce is secret, and
once both are shown anyone can check with a line of any language that the number was not chosen afterwards.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from functools import lru_cache


def commitment(nonce: bytes, number: int) -> str:
    """What a referee publishes before the choices."""
    return _committed(nonce.hex(), number)


def opens(commitment: str, nonce_hex: str, number: int) -> bool:
    """Whether a nonce and a number are those of a commitment."""
    try:
        nonce = bytes.fromhex(nonce_hex)
    except ValueError:
        return False
    return commitment == _committed(nonce.hex(), number)


# The manager needs it twice: to assign a match, and to judge its result.
@lru_cache(maxsize=1_024)
def match_seed(league_seed: bytes, match_id: str, attempt: int) -> bytes:
    """What a match's draw is made from: 256 bits that differ for every league, match and attempt."""
    return match_seeds(league_seed)(match_id, attempt)


@lru_cache(maxsize=16)
def match_seeds(league_seed: bytes) -> Callable[[str, int], bytes]:
    """The same for many matches of a league; its seed is taken in once."""
    keyed = hmac.new(league_seed, digestmod="sha256")

    def seed(match_id: str, attempt: int) -> bytes:
        code = keyed.copy()
        # Lengths keep the parts apart, so that no other match and attempt make the same text.
        code.update(f"{len(match_id)}:{match_id}{len(str(attempt))}:{attempt}".encode())
        return code.digest()

    return seed


def league_seed(number: int) -> bytes:
    """The seed of a league whose operator chose a number: 256 bits, like one that was drawn."""
    return hashlib.sha256(b"leaguekit seed %d" % number).digest()


def _committed(nonce_hex: str, number: int) -> str:
    return hashlib.sha256(f"{nonce_hex}:{number}".encode("ascii")).hexdigest()
