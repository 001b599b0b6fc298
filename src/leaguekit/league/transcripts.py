"""Whether what a referee told the players of a match is what it reported of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from leaguekit.league.events import ResultRecorded
from leaguekit.league.outcomes import Fault
from leaguekit.protocol.messages import MatchTranscript, ResultDetails, TranscriptEntry

_CALLS = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")


def check_transcript(recorded: ResultRecorded, transcript: MatchTranscript) -> Iterator[Fault]:
    """What does not fit the result in a transcript of the same attempt."""
    details = recorded.result.details
    for entry in transcript.entries:
        body: dict[str, Any] = {} if entry.body is UNSET else entry.body
        if entry.what == "sent" and entry.message_type in _CALLS:
            yield from _in_call(entry, body, details)
        if entry.what == "sent" and entry.message_type == "GAME_OVER":
            yield from _in_game_over(entry, body, recorded)
    yield from _invented_choices(transcript, details)


def _in_call(entry: TranscriptEntry, body: dict[str, Any], details: ResultDetails) -> Iterator[Fault]:
    context = body.get("context")
    shown = context.get("draw_commitment") if isinstance(context, dict) else None
    committed = None if details.draw_commitment is UNSET else details.draw_commitment
    if shown != committed:
        yield Fault(f"the commitment {committed} in the call to {entry.player_id}", f"the commitment {shown}")


def _in_game_over(entry: TranscriptEntry, body: dict[str, Any], recorded: ResultRecorded) -> Iterator[Fault]:
    details = recorded.result.details
    number = details.drawn_number or None
    reported = {
        "status": details.status,
        "winner_player_id": recorded.result.winner,
        "choices": details.choices,
        "drawn_number": number,
        "number_parity": None if number is None else ("odd" if number % 2 else "even"),
        "draw_nonce": details.draw_nonce,
    }
    told = body.get("game_result")
    for name, value in reported.items():
        said = told.get(name) if isinstance(told, dict) else None
        if value is not UNSET and said != value:
            yield Fault(f"{name} {_json(value)} in GAME_OVER to {entry.player_id}", f"{name} {_json(said)}")


def _invented_choices(transcript: MatchTranscript, details: ResultDetails) -> Iterator[Fault]:
    """Choices in the result that their players never sent; only even/odd has them in one message."""
    answers = [entry for entry in transcript.entries if entry.message_type == "CHOOSE_PARITY_RESPONSE"]
    if not answers or any(entry.what == "failed" and entry.player_id is UNSET for entry in transcript.entries):
        # Another game, or a transcript that was too long and has a hole.
        return
    for player, choice in details.choices.items():
        sent = [entry.body.get("parity_choice") for entry in answers if entry.player_id == player and entry.body]
        if choice is not None and choice not in sent:
            yield Fault(f"an answer {choice!r} of {player}, as reported", f"{_json(sent)} from it")


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()
