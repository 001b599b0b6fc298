"""The page's own files, from the package: read once, compressed once, and sent again only when they have changed."""

from __future__ import annotations

import gzip
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from typing import NamedTuple

# Names are looked up in a list of what there is: no path that is asked for ever reaches the disk.
TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "woff2": "font/woff2",
}
_COMPRESSED = ("png", "woff2")


class File(NamedTuple):
    """A file as it is sent."""

    content: bytes
    compressed: bytes | None
    content_type: str
    etag: str


@cache
def page_files(package: str = "leaguekit.web") -> dict[str, File]:
    """All files of a package's page, by their names below static/."""
    found: dict[str, File] = {}
    folders = [("", files(package).joinpath("static"))]
    while folders:
        prefix, folder = folders.pop()
        for entry in folder.iterdir():
            kind = entry.name.rpartition(".")[2]
            if entry.is_dir():
                folders.append((f"{prefix}{entry.name}/", entry))
            elif kind in TYPES:
                found[prefix + entry.name] = _file(entry.read_bytes(), kind)
    return found


def _file(content: bytes, kind: str) -> File:
    compressed = None if kind in _COMPRESSED else gzip.compress(content, mtime=0)
    return File(content, compressed, TYPES[kind], f'W/"{blake2b(content, digest_size=9).hexdigest()}"')
