"""Responses of the dashboard: content with an ETag, compressed if the client accepts that, and errors as JSON."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

# In the place of each @ is the way from the requested path to the page of the league.
_NOT_FOUND_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Not here</title>
<link rel="icon" href="@static/icon.svg" type="image/svg+xml">
<script src="@static/theme.js"></script>
<link rel="stylesheet" href="@static/colours.css">
<link rel="stylesheet" href="@static/style.css">
</head>
<body>
<main>
<section class="instead">
<h1>Not here</h1>
<p>This league has no page at this address.</p>
<p class="more"><a href="@#/">The league</a><a href="@#/rounds">Its rounds</a><a href="@#/agents">Its agents</a></p>
</section>
</main>
</body>
</html>
"""


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


def not_found_response(sentence: str, request: Request) -> Response:
    """A page with links for a browser, and the sentence as JSON for a program."""
    if "text/html" not in request.headers.get("accept", ""):
        return error_response(sentence, 404)
    # The path of a proxy in front is not known here, so the links are relative.
    way = "../" * (request.url.path.count("/") - 1) or "./"
    return HTMLResponse(_NOT_FOUND_PAGE.replace("@", way), 404)


def error_response(sentence: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return JSONResponse({"error": sentence}, status, headers)
