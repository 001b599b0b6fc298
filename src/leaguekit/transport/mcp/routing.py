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


def is_mcp(body: bytes | bytearray, marked: bool) -> bool:
    """Whether a posted body is for MCP; ``marked`` says that it came with a header that only MCP's clients send."""
    # Without the rare letters of MCP's names it is the league's: to look for a byte takes a tenth of all else.
    if not marked and _SLASH not in body and _Z not in body:
        return False
    try:
        method = _asked.decode(body).method
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # A batch is JSON-RPC's; what is no JSON at all is answered as its sender would be.
        return marked and not body.lstrip(b" \t\n\r").startswith(b"[")
    if marked:
        return not isinstance(method, str) or method not in BY_NAME
    return isinstance(method, str) and (method == _INITIALIZE or ("/" in method and method != _TOOLS_CALL))
