"""The JSON file of one match, as its referee reported it."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Raw, Struct

from leaguekit.protocol.messages import MatchResult, TranscriptEntry


class MatchFile(Struct, kw_only=True):
    """The content comes from the event log and the kept transcripts only, so that the file can be made again."""

    league_id: str
    round_id: int
    match_id: str
    game_type: str
    attempt: int
    referee_id: str | None
    reported_at: str
    result: MatchResult
    transcript: Sequence[TranscriptEntry] | Raw
