"""Compares the transcript of a match with its result: did the referee send the players what it reported?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from leaguekit.league.events import ResultRecorded
from leaguekit.league.outcomes import Discrepancy
from leaguekit.match.move_messages import CALL_TYPES, DOCUMENTED, number_fields
from leaguekit.protocol.messages import MatchTranscript, ResultDetails, TranscriptEntry, message_type


def check_transcript(recorded: ResultRecorded, transcript: MatchTranscript) -> Iterator[Discrepancy]:
    """The discrepancies between a result and the transcript of the same attempt."""
    details = recorded.result.details
    for entry in transcript.entries:
        body: dict[str, Any] = {} if entry.body is UNSET else entry.body
        if entry.what == "sent" and entry.message_type in CALL_TYPES:
            yield from _check_call(entry, body, details)
        if entry.what == "sent" and entry.message_type == "GAME_OVER":
            yield from _check_game_over(entry, body, recorded)
    yield from _check_choices(transcript, details)


def _check_call(entry: TranscriptEntry, body: dict[str, Any], details: ResultDetails) -> Iterator[Discrepancy]:
    context = body.get("context")
    sent = context.get("draw_commitment") if isinstance(context, dict) else None
    committed = None if details.draw_commitment is UNSET else details.draw_commitment
    if sent != committed:
        yield Discrepancy(f"the commitment {committed} in the call to {entry.player_id}", f"the commitment {sent}")


def _check_game_over(entry: TranscriptEntry, body: dict[str, Any], recorded: ResultRecorded) -> Iterator[Discrepancy]:
    details = recorded.result.details
    reported = {
        "status": details.status,
        "winner_player_id": recorded.result.winner,
        "choices": details.choices,
        **number_fields(details.drawn_number or None),
        "draw_nonce": details.draw_nonce,
    }
    game_result = body.get("game_result")
    for name, value in reported.items():
        sent = game_result.get(name) if isinstance(game_result, dict) else None
        if value is not UNSET and sent != value:
            yield Discrepancy(f"{name} {_json(value)} in GAME_OVER to {entry.player_id}", f"{name} {_json(sent)}")


def _check_choices(transcript: MatchTranscript, details: ResultDetails) -> Iterator[Discrepancy]:
    """Find choices in the result that the players did not send. Only a documented response has the whole choice."""
    answers = [entry for entry in transcript.entries if entry.message_type == message_type(DOCUMENTED.response)]
    if not answers or any(entry.what == "failed" and entry.player_id is UNSET for entry in transcript.entries):
        # Another game, or a transcript that was too long and is incomplete.
        return
    for player, choice in details.choices.items():
        sent = [entry.body.get(DOCUMENTED.field) for entry in answers if entry.player_id == player and entry.body]
        if choice is not None and choice not in sent:
            yield Discrepancy(f"an answer {choice!r} of {player}, as reported", f"{_json(sent)} from it")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
