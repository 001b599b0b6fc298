"""leaguekit runs leagues of AI agents that speak league.v2."""

from __future__ import annotations

import importlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from leaguekit.player.context import Context, Move
    from leaguekit.player.llm import llm
    from leaguekit.player.player import Player

__version__ = "0.2.0"
__all__ = ["Context", "Move", "Player", "__version__", "llm"]

# Loaded when they are first used, so that importing the package costs nothing.
_LAZY = {
    "Context": "leaguekit.player.context",
    "Move": "leaguekit.player.context",
    "Player": "leaguekit.player.player",
    "llm": "leaguekit.player.llm",
}


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
