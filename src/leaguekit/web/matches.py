"""The page of one match: its events, its transcript, the game step by step, and what the manager verified."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice, takewhile
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from leaguekit.games import find_game
from leaguekit.games.base import Moves, Side
from leaguekit.games.pictures import name_players, picture_of
from leaguekit.games.records import positions, steps_from_choices
from leaguekit.league import events as e
from leaguekit.league.analysis.figures import matches_of
from leaguekit.league.audit.transcripts import check_transcript
from leaguekit.league.outcomes import judge, read_record, record_name
from leaguekit.league.records import Match, Outcome
from leaguekit.league.state import League
from leaguekit.manager.ledger import Ledger
from leaguekit.match.draw import opens
from leaguekit.match.move_messages import MOVE_MESSAGES
from leaguekit.protocol.messages import MatchProgress, MatchTranscript, ResultDetails, TranscriptEntry
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.referee.transcripts import describe_message, redact_wire
from leaguekit.store.base import LogReader
from leaguekit.web.api_types import InPlay
from leaguekit.web.page_types import Draw, MatchPage, Message, PicturesPage, Step, Verification
from leaguekit.web.pages import NotFound
from leaguekit.web.pictures import match_picture
from leaguekit.web.projection import Projection
from leaguekit.web.rows import in_play_row, match_row, move_counts

MAX_MEETINGS = 5
# A match that was voided and replayed many times has more events than anybody reads.
MAX_NEWS = 50
# The pictures of one answer, and the steps beyond which there are none.
MAX_PICTURES, MAX_STEPS = 50, 10_000
# The public fields of a message, beside its type: no secrets and no addresses.
PUBLIC_FIELDS = (
    "role_in_match",
    "opponent_id",
    "accept",
    "deadline",
    "context",
    "move_request",
    *(messages.field for messages in MOVE_MESSAGES),
    "move_info",
    "error_code",
    "error_name",
    "error_description",
    "action_required",
    "consequence",
    "retry_count",
    "max_retries",
    "retryable",
    "game_result",
    "reason",
    "status",
    "timestamp",
)
# Failed calls, without the address that was called.
_FAILURES = {"E001": "E001: no answer in time", "E009": "E009: could not be reached"}


async def match_page(
    projection: Projection, ledger: Ledger, match_id: str, progress: MatchProgress | None
) -> MatchPage:
    """Everything public about a match. Raises NotFound."""
    league = projection.league
    match = _find_match(league, match_id)
    page = MatchPage(
        seq=projection.number,
        match=match_row(league, match),
        game_type=league.settings.game_type,
        game=league.settings.game_name,
        in_play=_in_play(league, match, progress) if match.in_play else None,
        voids=match.voids,
        flags=remove_addresses(list(league.flags.get(match_id, ()))),
        evidence=None,
        draw=None,
        verification=None,
        moves={},
        steps=[],
        messages=[],
        news=[],
        meetings=[match_row(league, one) for one in _meetings(league, match)],
        before=_neighbour(league, match, -1),
        after=_neighbour(league, match, 1),
    )
    outcome, reader = match.outcome, ledger.log
    events = await _events(projection, ledger, match_id)
    page.news = [projection.news_item(number, event) for number, event in events]
    if outcome is not None:
        recorded, posted = await _recorded(reader, match_id, events)
        record = _record(recorded, posted)
        page.match = match_row(league, match, record if match.reported else None)
        page.steps = game_steps(league.settings.game_name, outcome, record)
        transcript = await _transcript(reader, match_id)
        page.messages = [] if transcript is None else public_messages(transcript.entries)
        if recorded is not None:
            details = recorded.result.details
            page.evidence = None if details.evidence is UNSET else remove_addresses(details.evidence)
            page.draw = _draw(details)
            page.moves = {name: move_counts(origins) for name, origins in (details.move_origins or {}).items()}
            page.verification = _verification(projection, match, recorded, transcript, posted)
    return page


async def pictures_page(projection: Projection, ledger: Ledger, match_id: str, offset: int, limit: int) -> PicturesPage:
    """The pictures of some steps of a match that is over. Raises NotFound."""
    league = projection.league
    match, number = _find_match(league, match_id), projection.number
    steps: list[Step] = []
    if (outcome := match.outcome) is not None:
        events = await _events(projection, ledger, match_id)
        record = _record(*await _recorded(ledger.log, match_id, events))
        steps = game_steps(league.settings.game_name, outcome, record)
    game, shown = find_game(league.settings.game_name), steps[offset : offset + limit]
    pictures = [name_players(picture_of(game, step.view), match.a, match.b) for step in shown]
    return PicturesPage(seq=number, total=len(steps), offset=offset, pictures=pictures)


def _find_match(league: League, match_id: str) -> Match:
    if (match := league.matches.get(match_id)) is not None:
        return match
    there_are = "they are called R1M1, R1M2 …" if league.matches else "there is no schedule yet"
    raise NotFound(f"There is no match {match_id[:50]} in this league; {there_are}.")


def _in_play(league: League, match: Match, progress: MatchProgress | None) -> InPlay:
    picture = match_picture(league.settings.game_name, match, progress)
    return in_play_row(league, match, progress, picture)


def _meetings(league: League, match: Match) -> list[Match]:
    """The matches of the same two players that have ended and come before a match in the schedule, the latest first."""
    met = takewhile(lambda one: one is not match, matches_of(league, match.a))
    ended = [one for one in met if one.has_ended and match.b in one.players]
    return ended[: -MAX_MEETINGS - 1 : -1]


def _neighbour(league: League, match: Match, step: Literal[-1, 1]) -> str | None:
    """The match before or after a match in the schedule."""
    names = league.rounds[match.round_id - 1].matches
    place = names.index(match.id) + step
    if 0 <= place < len(names):
        return names[place]
    round_id = match.round_id + step
    if not 1 <= round_id <= len(league.rounds):
        return None
    return league.rounds[round_id - 1].matches[min(step, 0)]


async def _events(projection: Projection, ledger: Ledger, match_id: str) -> list[tuple[int, e.Event]]:
    """The latest events about a match, with their numbers."""
    numbers = projection.event_numbers(match_id)[-MAX_NEWS:]
    # The latest of these events may not be in the log yet.
    await ledger.wait_to_answer()
    stored = [(number, await ledger.log.read(number - 1, 1)) for number in numbers]
    return [(number, e.decode(one.event)) for number, (one,) in stored]


async def _recorded(
    reader: LogReader, match_id: str, events: list[tuple[int, e.Event]]
) -> tuple[e.ResultRecorded | None, Sequence[Any] | None]:
    """The last result that a referee reported, and the record of the match if that was posted by itself."""
    recorded = next((event for _, event in reversed(events) if isinstance(event, e.ResultRecorded)), None)
    if recorded is None or recorded.result.details.record_sha256 is UNSET:
        return recorded, None
    kept = await reader.read_document(record_name(match_id, recorded.attempt))
    return recorded, read_record(kept, recorded.result.details)


def _record(recorded: e.ResultRecorded | None, posted: Sequence[Any] | None) -> Sequence[Any] | None:
    return posted or (None if recorded is None else recorded.result.details.record or None)


async def _transcript(reader: LogReader, match_id: str) -> MatchTranscript | None:
    kept = await reader.read_document(f"transcript/{match_id}")
    return None if kept is None else msgspec.json.decode(kept, type=MatchTranscript)


# A note such as ``by NAME`` or ``HTTP 200``. Its entry has the form in which the message of the entry before it was
# sent or answered.
_FORM = re.compile(r"by \S+|HTTP [0-9]+")


def public_messages(entries: Iterable[TranscriptEntry]) -> list[Message]:
    """The entries of a transcript for everybody. The forms of a message are part of the entry before them."""
    messages: list[Message] = []
    latest: dict[str, Message] = {}
    for entry in entries:
        player, note = entry.player_id or "", entry.note or ""
        is_form = _FORM.fullmatch(note) is not None
        if not is_form:
            messages.append(public_message(entry))
            latest[player] = messages[-1]
        if entry.wire is not UNSET and player in latest:
            text = remove_addresses(redact_wire(entry.wire))
            latest[player].wire.append(f"{note}: {text}" if is_form else text)
    return messages


def public_message(entry: TranscriptEntry) -> Message:
    """An entry of a transcript, without secrets and addresses."""
    kind = "" if entry.message_type is UNSET else entry.message_type
    fields = {} if entry.body is UNSET else entry.body
    body = remove_addresses({name: fields[name] for name in PUBLIC_FIELDS if name in fields})
    note = "" if entry.note is UNSET else entry.note
    if entry.what == "failed":
        note = _FAILURES.get(note[:4], note)
    sentences = [one for one in (describe_message(kind, body) if kind else "", remove_addresses(note)) if one]
    return Message(
        seconds=entry.seconds,
        what=entry.what,
        player_id=None if entry.player_id is UNSET else entry.player_id,
        message_type=kind or None,
        text="; ".join(sentences),
        body=body,
    )


def _draw(details: ResultDetails) -> Draw | None:
    if details.draw_commitment is UNSET:
        return None
    number, seed = details.drawn_number or None, details.match_seed or None
    promised = number or seed
    nonce = None if details.draw_nonce is UNSET else details.draw_nonce
    is_open = None if nonce is None or promised is None else opens(details.draw_commitment, nonce, promised)
    return Draw(number=number, seed=seed, commitment=details.draw_commitment, nonce=nonce, opens=is_open)


def _verification(
    projection: Projection,
    match: Match,
    recorded: e.ResultRecorded,
    transcript: MatchTranscript | None,
    posted: Sequence[Moves] | None,
) -> Verification:
    settings = projection.league.settings
    seed = None if settings.seed_hex is None else bytes.fromhex(settings.seed_hex)
    has_seed = not projection.league.referees[recorded.referee_id].shows_own_token
    judged = judge(settings, match, recorded.attempt, recorded.result, seed, has_seed=has_seed, posted=posted)
    faults = judged.faults
    if transcript is not None and transcript.attempt == recorded.attempt:
        faults = [*faults, *check_transcript(recorded, transcript)]
    return Verification(
        replayed=judged.is_replayed,
        opened=judged.is_opened,
        derived=judged.is_derived,
        faults=[f"expected {fault.expected}, found {fault.found}" for fault in faults],
        not_checkable=judged.not_checkable,
    )


def game_steps(game_name: str, outcome: Outcome, record: Sequence[Moves] | None = None) -> list[Step]:
    """A game played again from its record, or else as far as its choices are known; empty if it cannot be."""
    if (game := find_game(game_name)) is None:
        return []
    choices: dict[Side, str | None] = {"A": outcome.choice_a, "B": outcome.choice_b}
    steps = [Step(moves={}, view=game.view(game.start(), None))]
    played: Iterable[tuple[Moves, Any]] = steps_from_choices(game, outcome.drawn_number, choices)
    if record is not None:
        played = zip(record, islice(positions(game, record), 1, None), strict=False)
    try:
        for moves, position in played:
            view = game.view(position, None)
            # What chance gave in secret is not a step that can be seen.
            if "chance" not in moves or view != steps[-1].view:
                steps.append(Step(moves=dict(moves.items()), view=view))
    except (ValueError, TypeError, LookupError):
        # The match was not played to its end, or the referee reported something impossible.
        return steps
    return steps
