"""Tokens: made at registration, recognised by a verifier, and derived for whoever must not learn the real one.

The manager keeps two values of a token and forgets the token itself: ``verifier``, by which it recognises the token,
and ``signing_key``, which never leaves the manager. What one agent shows another is derived under that key for one
purpose, so that it proves who is speaking and opens nothing else.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from functools import lru_cache
from hmac import compare_digest

ENTROPY_BYTES = 32
# Ours are much shorter; what strangers send instead must not fill the memory.
LONGEST_REMEMBERED = 128
# What a manager's ``token_scheme`` says when callers show tokens that are derived as below.
SCHEME = "derived"
# What tokens and codes look like in a text.
_TOKEN = re.compile(r"\b(?:tok|drv|adm)-[\w-]{20,}")
_CODE = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}\b")
# What is within them: most texts have none of it, and looking for these takes a tenth of the time.
_IN_TOKEN = ("tok-", "drv-", "adm-")
_IN_CODE = re.compile(r"-[0-9A-HJKMNP-TV-Z]{4}-")


def new_token(agent_id: str, entropy: bytes) -> str:
    """A token of 256 random bits, ``tok-p01-…``; the randomness is passed in."""
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a token needs {ENTROPY_BYTES} random bytes, got {len(entropy)}")
    return f"tok-{agent_id.lower()}-{_text(entropy)}"


def verifier(token: str) -> bytes:
    """What a token is recognised by."""
    return _verifier(token) if len(token) <= LONGEST_REMEMBERED else _hashed(token)


def _hashed(token: str) -> bytes:
    return hashlib.sha256(b"verify" + token.encode()).digest()


# Every request shows a token, and the manager looks at it twice: 0.2 instead of 1 µs each time.
_verifier = lru_cache(maxsize=1_024)(_hashed)


@lru_cache(maxsize=16)
def signing_key(token: str) -> bytes:
    return hashlib.sha256(b"sign" + token.encode()).digest()


def recognised(token: str, known: bytes) -> bool:
    """Whether this is the token behind a verifier, in constant time."""
    return compare_digest(verifier(token), known)


def same(shown: str, expected: str) -> bool:
    """Whether a derived token is the expected one, in constant time."""
    try:
        return compare_digest(shown, expected)
    except TypeError:
        # As texts it compares ASCII only.
        return compare_digest(shown.encode(), expected.encode())


def referee_to_player(key: bytes, league_id: str, match_id: str, attempt: int, referee_id: str) -> str:
    """What a referee shows a player, under the player's key: for this match, attempt and referee only."""
    return _derived(key, "referee to player", league_id, match_id, str(attempt), referee_id)


def player_to_referee(key: bytes, league_id: str, match_id: str, attempt: int, referee_id: str) -> str:
    """What a player shows a referee, under the player's own key: for this match, attempt and referee only."""
    return _derived(key, "player to referee", league_id, match_id, str(attempt), referee_id)


def manager_to_agent(key: bytes, league_id: str, agent_id: str) -> str:
    """What the manager shows an agent in its own calls, under that agent's key."""
    return _derived(key, "manager", league_id, agent_id)


def shorten_token(token: str) -> str:
    """A token for people's eyes: its first characters, too few to guess the rest."""
    return f"{token[: min(8, len(token) // 2)]}…"


def redact(text: str) -> str:
    """A text for a log or a file, without the tokens and codes in it, whoever put them there."""
    if any(beginning in text for beginning in _IN_TOKEN):
        text = _TOKEN.sub(lambda found: shorten_token(found[0]), text)
    return _CODE.sub("…", text) if _IN_CODE.search(text) else text


# An agent shows or expects the same token several times in a match, and that of its manager in every call.
@lru_cache(maxsize=1_024)
def _derived(key: bytes, *parts: str) -> str:
    # Lengths keep the parts apart: ("ab", "c") and ("a", "bc") must not meet.
    text = "".join([f"{len(part.encode())}:{part}" for part in parts])
    code = _keyed(key).copy()
    code.update(text.encode())
    return f"drv-{_text(code.digest())}"


# Two tokens or more are derived under a player's key in every match: to take the key in takes longer than all the rest.
@lru_cache(maxsize=1_024)
def _keyed(key: bytes) -> hmac.HMAC:
    return hmac.new(key, digestmod="sha256")


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
