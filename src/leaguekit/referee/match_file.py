"""The JSON file of one match, as its referee reported it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Raw

from leaguekit.protocol.messages import MatchResult, TranscriptEntry
from leaguekit.store.files import Views


def match_view(
    paths: Views,
    *,
    league_id: str,
    round_id: int,
    match_id: str,
    game_type: str,
    attempt: int,
    referee_id: str | None,
    reported_at: str,
    result: MatchResult,
    transcript: Sequence[TranscriptEntry] | Raw,
) -> tuple[Path, Any]:
    """The path of a match's file, and its content.

    The content comes from the event log and the kept transcripts only, so that the file can be made again.
    """
    view = {
        "league_id": league_id,
        "round_id": round_id,
        "match_id": match_id,
        "game_type": game_type,
        "attempt": attempt,
        "referee_id": referee_id,
        "reported_at": reported_at,
        "result": result,
        "transcript": transcript,
    }
    return paths.match(league_id, match_id), view
