"""Bodies that are not valid requests, without end: broken by mutation of valid ones, from the corpus, and by chance."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random

from leaguekit.protocol.methods import METHODS
from tests.protocol.test_fuzz import MUTATIONS, NASTY, NASTY_BODIES, ODD, PIECES, SAMPLE_TEXTS, SAMPLE_VALUES, places

NAMES = [name for method in METHODS for name in method.names] + ["operator", "ping", "", "rpc.discover"]
CORPUS = [text for text, _ in (*NASTY.values(), *NASTY_BODIES.values())]
# Each by itself, for what comes after one of them is not read.
HTTP = [
    b"\r\n\r\n\r\n\r\nGET",
    b"GET\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 300,
    b"POST /mcp HTTP/9.9\r\nhost: localhost\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999999\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\na: b\x00c\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: evil.example\r\ncontent-length: 0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\norigin: http://evil.example\r\ncontent-length: 0\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 40_000 + b"\r\n\r\n",
    b"POST /mcp HTTP/1.1\r\n" + b"x: y\r\n" * 7_000 + b"\r\n",
    b"POST /" + b"m" * 40_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
    b"CONNECT localhost:80 HTTP/1.1\r\n\r\n",
    b"DELETE /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    b"GET /health?\xff\xfe HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    b"POST /transcripts/%00 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
    b"POST /transcripts/R1M1 HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\nconnection: close\r\n\r\n\xff",
]


def bodies(seed: int) -> Iterator[bytes]:
    """Malformed bodies; the same seed gives the same."""
    chance = Random(seed)
    while True:
        yield chance.choice((_mutated, _mutated, _damaged, _assembled, _arbitrary, _nasty))(chance)


def _call(chance: Random, message: bytes) -> bytes:
    call_id = chance.choice((b"1", b'"a"', b"1.5", b"-1"))
    method = chance.choice(NAMES).encode()
    return b'{"jsonrpc":"2.0","method":"%b","params":%b,"id":%b}' % (method, message, call_id)


def _mutated(chance: Random) -> bytes:
    value = copy.deepcopy(chance.choice(SAMPLE_VALUES))
    for _ in range(chance.randint(1, 3)):
        if found := places(value):
            chance.choice(MUTATIONS)(*chance.choice(found), copy.deepcopy(chance.choice(ODD)))
    return _call(chance, json.dumps(value, ensure_ascii=chance.random() < 0.5).encode())


def _damaged(chance: Random) -> bytes:
    text = _call(chance, chance.choice(SAMPLE_TEXTS))
    place = chance.randrange(len(text))
    came = chance.choice((chance.choice(PIECES), chance.randbytes(chance.randint(0, 6))))
    return text[:place] + came + text[place + chance.randint(0, 4) :]


def _assembled(chance: Random) -> bytes:
    return b"".join(chance.choice(PIECES) for _ in range(chance.randint(1, 12)))


def _arbitrary(chance: Random) -> bytes:
    return chance.randbytes(chance.randint(0, 300))


def _nasty(chance: Random) -> bytes:
    text = chance.choice(CORPUS)
    return _call(chance, text) if chance.random() < 0.5 else text
