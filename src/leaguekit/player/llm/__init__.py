"""A language model as a player: a strategy that asks an OpenAI-compatible server for each move.

llm           the strategy: ``Player("me", llm("llama3.2", base_url="http://127.0.0.1:11434/v1"))``
from_options  makes the strategy from the options of a command and from environment variables

It needs the extra ``leaguekit[llm]``, and is imported only where it is used.
"""

from __future__ import annotations

from leaguekit.player.llm.model import LanguageModel, from_options, llm

__all__ = ["LanguageModel", "from_options", "llm"]
