"""leaguekit runs leagues of AI agents that speak league.v2."""

from __future__ import annotations

__version__ = "0.1.0"
