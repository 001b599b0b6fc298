"""Responses of the dashboard: content with an ETag, compressed if the client accepts that, and errors as JSON."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response


class Content(NamedTuple):
    """The body of a response in its two encodings, and the ETag of both."""

    body: bytes
    compressed: bytes | None
    etag: str


def etag_of(body: bytes) -> str:
    """A weak ETag: the compressed body has the same."""
    return f'W/"{blake2b(body, digest_size=9).hexdigest()}"'


def content_response(content: Content, content_type: str, request: Request) -> Response:
    """The content, or only the status 304 if the client has it already."""
    headers = {"content-type": content_type, "etag": content.etag, "cache-control": "no-cache"}
    if content.etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    headers["vary"] = "accept-encoding"
    if content.compressed is not None and accepts_gzip(request):
        return Response(content.compressed, headers={**headers, "content-encoding": "gzip"})
    return Response(content.body, headers=headers)


def accepts_gzip(request: Request) -> bool:
    return "gzip" in request.headers.get("accept-encoding", "")


def error_response(sentence: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers)
