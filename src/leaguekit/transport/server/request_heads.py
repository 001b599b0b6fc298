"""The head of a request, remembered: the next request on its connection with the same head need not be read again.

Clients repeat their heads to the byte, but for the length of the body, and reading one with all its headers costs as
much as everything else between a request's bytes and its handler. Only a head is remembered that a parser has read and
that is plain, so that there is no second opinion of what it says or where it ends; and only data that are one request
with that head, whole and nothing more, are taken to be one.
"""

from __future__ import annotations

from collections.abc import Sequence

from leaguekit.transport.base import Peer

# So much, at most, is kept of a connection.
MAX_HEAD = 4_096
_MAX_DIGITS = 7
# What makes the same bytes mean more than a head and a body of that length.
_NOT_PLAIN = frozenset((b"transfer-encoding", b"expect", b"upgrade"))


class Head:
    """A head but for the digits of its content-length, and who sent it."""

    __slots__ = ("_before", "_behind", "_most", "_start", "peer")

    def __init__(self, before: bytes, behind: bytes, peer: Peer) -> None:
        self._before = before
        self._behind = behind
        self._start = len(before)
        self._most = len(before) + _MAX_DIGITS + len(behind)
        self.peer = peer

    def body_in(self, data: bytes, max_bytes: int) -> bytes | None:
        """The body of a request with this head, if the data are just that and it has at most so many bytes."""
        if not data.startswith(self._before):
            return None
        end = data.find(self._behind, self._start, self._most)
        if end < 0 or not (digits := data[self._start : end]).isdigit():
            return None
        body = data[end + len(self._behind) :]
        return body if len(body) == int(digits) <= max_bytes else None


def plain_head(
    data: bytes, body_bytes: int, url: bytes, headers: Sequence[tuple[bytes, bytes]], peer: Peer
) -> Head | None:
    """The head of data that a parser has read as one POST with these headers and a body of that length.

    None if it is not written in the one way that everybody reads alike.
    """
    head = data[: len(data) - body_bytes]
    first, *lines = head.split(b"\r\n")
    if len(head) > MAX_HEAD or first != b"POST %b HTTP/1.1" % url or lines[len(headers) :] != [b"", b""]:
        return None
    start, before, behind = len(first) + 2, b"", b""
    for line, (name, value) in zip(lines, headers, strict=False):
        lower, end = name.lower(), start + len(line)
        if lower in _NOT_PLAIN or line != b"%b: %b" % (name, value):
            return None
        if lower == b"content-length":
            if before or not value.isdigit():
                return None
            before, behind = head[: end - len(value)], head[end:]
        start = end + 2
    return Head(before, behind, peer) if before else None
