"""The files of a web page, from the package: read and compressed once, and sent again only when they have changed."""

from __future__ import annotations

import gzip
import re
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from leaguekit.web.responses import Content, etag_of

CONTENT_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
_ALREADY_COMPRESSED = ("png", "woff2")
# What a browser does not need: indentation, and lines that are comments. All lines keep their numbers.
_UNNEEDED = {"js": re.compile(rb"^ *//.*|^ +", re.MULTILINE), "css": re.compile(rb"^ +", re.MULTILINE)}


class PageFile(NamedTuple):
    """A file as it is sent."""

    content: Content
    content_type: str


@cache
def page_files(package: str = "leaguekit.web") -> dict[str, PageFile]:
    """All files below a package's static/, by their names there.

    A name that a client asks for is looked up here. It is never used as a path on the disk.
    """
    found: dict[str, PageFile] = {}
    folders = [("", files(package).joinpath("static"))]
    while folders:
        prefix, folder = folders.pop()
        for entry in folder.iterdir():
            extension = entry.name.rpartition(".")[2]
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif extension in CONTENT_TYPES:
                found[prefix + entry.name] = _page_file(entry.read_bytes(), extension)
    return found


def _page_file(body: bytes, extension: str) -> PageFile:
    if (unneeded := _UNNEEDED.get(extension)) is not None:
        body = unneeded.sub(b"", body)
    compressed = None if extension in _ALREADY_COMPRESSED else gzip.compress(body, mtime=0)
    return PageFile(Content(body, compressed, etag_of(body)), CONTENT_TYPES[extension])
