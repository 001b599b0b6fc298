"""Which requests to /mcp are MCP's, and which the league's: by their headers and the name of their method.

The league's own methods are always the league's, so that no header slows or diverts them. None of their names has a
slash in it, and all of MCP's have but ``initialize`` and ``ping``.
"""

from __future__ import annotations

from typing import Any

import msgspec

from leaguekit.protocol.methods import BY_NAME


class _Asked(msgspec.Struct):
    method: Any = None


_asked = msgspec.json.Decoder(_Asked)
# Sent without a header of MCP it is a form in which agents of the field speak league.v2.
_TOOLS_CALL = "tools/call"
_INITIALIZE = "initialize"
_SLASH, _Z = b"/z"
# No method of the league begins as that does.
_NOT_INITIALIZE = tuple(
    b'{"jsonrpc":"2.0","method":"%b' % first for first in sorted({name[:1].encode() for name in BY_NAME})
)


def is_mcp(body: bytes | bytearray, marked: bool) -> bool:
    """Whether a posted body is for MCP; ``marked`` says that it came with a header that only MCP's clients send."""
    # To look for a byte takes a tenth of all else, and without MCP's rare letters it is the league's. One of them is in
    # half of all tokens; but requests as we write them show at once whether they may be ``initialize``.
    if not marked and _SLASH not in body and (_Z not in body or body.startswith(_NOT_INITIALIZE)):
        return False
    try:
        method = _asked.decode(body).method
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A batch is JSON-RPC's; what is no JSON at all is answered as its sender would be.
        return marked and not body.lstrip(b" \t\n\r").startswith(b"[")
    if marked:
        return not isinstance(method, str) or method not in BY_NAME
    return isinstance(method, str) and (method == _INITIALIZE or ("/" in method and method != _TOOLS_CALL))
