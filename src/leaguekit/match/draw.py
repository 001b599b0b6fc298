"""The draw: where its seed comes from, and how a referee commits to a number before the choices and opens it after.

The commitment is the SHA-256 of the text ``<nonce in hex>:<number>``: it tells nothing while the nonce is secret, and
once both are shown anyone can check with a line of any language that the number was not chosen afterwards.
"""

from __future__ import annotations

import hashlib
import hmac


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


def match_seed(league_seed: bytes, match_id: str, attempt: int) -> bytes:
    """What a match's draw is made from: 256 bits that differ for every league, match and attempt."""
    # Lengths keep the parts apart, so that no other match and attempt make the same text.
    parts = (match_id.encode(), str(attempt).encode())
    return hmac.digest(league_seed, b"".join(b"%d:%b" % (len(part), part) for part in parts), "sha256")


def _committed(nonce_hex: str, number: int) -> str:
    return hashlib.sha256(f"{nonce_hex}:{number}".encode("ascii")).hexdigest()
