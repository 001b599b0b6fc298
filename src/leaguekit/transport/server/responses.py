"""HTTP responses that a server makes itself, as bytes: of the short path for /mcp, and refusals that close."""

from __future__ import annotations

import math
from http import HTTPStatus

from leaguekit.protocol.rpc import NULL, RpcError, failure

OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
_WITH_STATUS = b"HTTP/1.1 %d %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
NO_CONTENT = b"HTTP/1.1 204 No Content\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
# Replaces the end of the status line in the last response of a connection.
CONNECTION_CLOSE = b"\r\nconnection: close\r\n"
INTERNAL_ERROR = failure(NULL, RpcError(-32603, "Internal error", None))

_TOO_MANY_REQUESTS = (
    b"HTTP/1.1 429 Too Many Requests\r\nretry-after: %d\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b"
)


def with_status(status: int, body: bytes) -> bytes:
    """A JSON response with any status."""
    return _WITH_STATUS % (status, HTTPStatus(status).phrase.encode(), len(body), body)


def too_many_requests(body: bytes, seconds: float) -> bytes:
    """A response with the status 429, after which the connection stays open."""
    return _TOO_MANY_REQUESTS % (math.ceil(seconds), len(body), body)


def refusal(status: bytes, body: bytes, more: bytes = b"") -> bytes:
    """A response after which the connection is closed. ``more`` has further header lines."""
    head = b"content-type: application/json\r\ncontent-length: %d\r\n%bconnection: close" % (len(body), more)
    return b"HTTP/1.1 %b\r\n%b\r\n\r\n%b" % (status, head, body)


BAD_REQUEST = refusal(b"400 Bad Request", b'{"error":"This is not a valid HTTP/1.1 request."}')
TOO_SLOW = refusal(b"408 Request Timeout", b'{"error":"The request did not arrive in time."}')
HEAD_TOO_LARGE = refusal(b"431 Request Header Fields Too Large", b'{"error":"The headers are too large."}')
TOO_MANY_CONNECTIONS = refusal(
    b"429 Too Many Requests",
    b'{"error":"Too many connections. Use fewer, and use them again."}',
    b"retry-after: 1\r\n",
)
FOREIGN_PAGE = refusal(b"403 Forbidden", b'{"error":"Pages of other sites may not speak to this server."}')
WRONG_PORT = refusal(
    b"403 Forbidden",
    b'{"error":"Origin and Host name the same host with different ports. A proxy must pass the port on'
    b' (nginx: proxy_set_header Host $http_host), or --endpoint must name the address of its pages."}',
)

_ONLY_POST = b'{"error":"Messages are posted here: use POST, with a JSON-RPC 2.0 request as the body."}'
WRONG_METHOD_HEAD = (
    b"HTTP/1.1 405 Method Not Allowed\r\nallow: POST\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
) % len(_ONLY_POST)
WRONG_METHOD = WRONG_METHOD_HEAD + _ONLY_POST
