"""Tokens of agents, verifiers to recognise them, and tokens that are derived from them.

The manager makes a token at registration. It stores two values instead of the token: the ``verifier``, by which it
recognises the token, and the ``signing_key``, which never leaves the manager. An agent does not send its token to
another agent. It sends a token that is derived under the signing key for one purpose. The derived token proves the
identity of the sender for that purpose, and cannot be used for anything else.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import urlsafe_b64encode
from functools import lru_cache
from hmac import compare_digest

ENTROPY_BYTES = 32
# Only tokens up to this length are cached, so that invalid ones cannot fill the memory. Valid tokens are much shorter.
MAX_CACHED = 128
# The value of ``token_scheme`` for tokens that are derived as below.
SCHEME = "derived"
# Tokens and codes in a text.
_TOKEN = re.compile(r"\b(?:tok|drv|adm)-[\w-]{20,}")
_CODE = re.compile(r"\b[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}\b")
# Parts of tokens and codes. Most texts have none of them, and searching for them takes a tenth of the time.
_IN_TOKEN = ("tok-", "drv-", "adm-")
_IN_CODE = re.compile(r"-[0-9A-HJKMNP-TV-Z]{4}-")


def new_token(agent_id: str, entropy: bytes) -> str:
    """A token of 256 random bits, such as ``tok-p01-…``. The random bytes are passed in."""
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a token needs {ENTROPY_BYTES} random bytes, got {len(entropy)}")
    return f"tok-{agent_id.lower()}-{_text(entropy)}"


def verifier(token: str) -> bytes:
    """The value by which a token is recognised."""
    return _verifier(token) if len(token) <= MAX_CACHED else _hashed(token)


def _hashed(token: str) -> bytes:
    return hashlib.sha256(b"verify" + token.encode()).digest()


# Every request has a token, and the manager checks it twice. The cache takes 0.2 µs instead of 1 µs.
_verifier = lru_cache(maxsize=1_024)(_hashed)


@lru_cache(maxsize=16)
def signing_key(token: str) -> bytes:
    return hashlib.sha256(b"sign" + token.encode()).digest()


def matches_verifier(token: str, known: bytes) -> bool:
    """Whether a token has this verifier, compared in constant time."""
    return compare_digest(verifier(token), known)


def are_equal(given: str, expected: str) -> bool:
    """Whether two tokens are equal, compared in constant time."""
    try:
        return compare_digest(given, expected)
    except TypeError:
        # ``compare_digest`` accepts only ASCII in texts.
        return compare_digest(given.encode(), expected.encode())


def referee_to_player(key: bytes, league_id: str, match_id: str, attempt: int, referee_id: str) -> str:
    """The token that a referee sends to a player, under the player's key. Valid for one match, attempt and referee."""
    return _derived(key, "referee to player", league_id, match_id, str(attempt), referee_id)


def player_to_referee(key: bytes, league_id: str, match_id: str, attempt: int, referee_id: str) -> str:
    """The token that a player sends to a referee, under the player's key. Valid for one match, attempt and referee."""
    return _derived(key, "player to referee", league_id, match_id, str(attempt), referee_id)


def manager_to_agent(key: bytes, league_id: str, agent_id: str) -> str:
    """The token that the manager sends to an agent, under the agent's key."""
    return _derived(key, "manager", league_id, agent_id)


def shorten_token(token: str) -> str:
    """The first characters of a token, for people. They are too few to guess the rest."""
    return f"{token[: min(8, len(token) // 2)]}…"


def redact(text: str) -> str:
    """A text for a log or a file, in which tokens and codes are shortened."""
    if any(beginning in text for beginning in _IN_TOKEN):
        text = _TOKEN.sub(lambda found: shorten_token(found[0]), text)
    return _CODE.sub("…", text) if _IN_CODE.search(text) else text


# An agent sends or expects the same token several times per match, and its manager's token in every call. A program may
# have 1,000 players.
@lru_cache(maxsize=8_192)
def _derived(key: bytes, *parts: str) -> str:
    # The lengths make the text unambiguous: ("ab", "c") and ("a", "bc") must have different texts.
    text = "".join([f"{len(part.encode())}:{part}" for part in parts])
    code = _keyed(key).copy()
    code.update(text.encode())
    return f"drv-{_text(code.digest())}"


# In every match at least two tokens are derived under a player's key. Processing the key takes most of the time.
@lru_cache(maxsize=2_048)
def _keyed(key: bytes) -> hmac.HMAC:
    return hmac.new(key, digestmod="sha256")


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()
