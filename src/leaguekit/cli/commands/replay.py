"""``league replay``: print one match as its referee saw it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from leaguekit.cli import CommandError, stores
from leaguekit.cli.boards import plain_lines
from leaguekit.cli.tables import json_line
from leaguekit.games import find_game
from leaguekit.games.base import DEFAULT_GAME, Moves
from leaguekit.games.pictures import game_picture, name_players
from leaguekit.league import events as e
from leaguekit.league.audit.transcripts import check_transcript
from leaguekit.league.evidence import read_evidence
from leaguekit.league.fold import apply
from leaguekit.league.outcomes import Judgement, judge
from leaguekit.league.records import Match
from leaguekit.league.sentences import EventFormatter, describe_event
from leaguekit.league.state import League
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.ids import is_match_id
from leaguekit.protocol.messages import MatchTranscript, ResultDetails, TranscriptEntry
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.referee.transcripts import describe_message
from leaguekit.store.base import LogReader

EXAMPLES = """examples:
  league replay R2M3                    of the newest league under SHARED
  league replay league.db R2M3
  league replay R2M3 --json             one JSON object: events, transcript, and what was verified

It prints the match's events, every message that its referee sent and received, the last board, the ruling with its
evidence, and whether the draw is the one that was committed to. Only referees of leaguekit deliver the messages.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    parser.add_argument("match_id", metavar="MATCH", help="such as R2M3")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    if is_match_id(options.store or "") and not is_match_id(options.match_id):
        options.store, options.match_id = options.match_id, options.store
    return stores.run(options, lambda reader: _replay(reader, options.match_id, as_json=options.json))


async def _replay(reader: LogReader, name: str, *, as_json: bool) -> int:
    league, events = League(), list[e.Event]()

    def take(event: e.Event) -> None:
        apply(league, event)
        if getattr(event, "match_id", None) == name:
            events.append(event)

    await stores.feed_events(reader, take)
    if (match := league.matches.get(name)) is None:
        hint = f"there are {', '.join([*league.matches][:5])} …" if league.matches else "it has no schedule yet"
        raise CommandError(f"there is no match {name} in this league; {hint}")
    recorded = next((event for event in reversed(events) if isinstance(event, e.ResultRecorded)), None)
    posted = None if recorded is None else await stores.read_posted_record(reader, recorded)
    history = _MatchHistory(league, match, events, await stores.read_transcript(reader, name), posted)
    lines = [json_line(history.as_json())] if as_json else map(sanitize_line, history.as_text())
    print("\n".join(lines))
    return 0


class _MatchHistory(NamedTuple):
    """Everything that the store has about one match."""

    league: League
    match: Match
    events: list[e.Event]
    transcript: MatchTranscript | None
    posted: list[Moves] | None

    @property
    def _last_report(self) -> e.ResultRecorded | None:
        """The last report of a referee."""
        return next((event for event in reversed(self.events) if isinstance(event, e.ResultRecorded)), None)

    def _judgement(self) -> Judgement | None:
        recorded, settings = self._last_report, self.league.settings
        if recorded is None:
            return None
        judgement = judge(
            settings,
            self.match,
            recorded.attempt,
            recorded.result,
            bytes.fromhex(settings.seed_hex or ""),
            has_seed=not self.league.referees[recorded.referee_id].registered.shows_own_token,
            posted=self.posted,
        )
        if self.transcript is not None and self.transcript.attempt == recorded.attempt:
            judgement.faults.extend(check_transcript(recorded, self.transcript))
        return judgement

    def _name(self, player_id: str) -> str:
        return self.league.players[player_id].meta.display_name

    def as_json(self) -> dict[str, Any]:
        match, judgement = self.match, self._judgement()
        return {
            "match_id": match.id,
            "round_id": match.round_id,
            "game_type": self.league.settings.game_type,
            "players": [{"player_id": name, "display_name": self._name(name)} for name in match.players],
            "events": [EventFormatter().as_json(event) for event in self.events],
            "transcript": None if self.transcript is None else msgspec.to_builtins(self.transcript),
            "verification": None if judgement is None else msgspec.to_builtins(judgement._asdict()),
        }

    def as_text(self) -> Iterator[str]:
        match = self.match
        a, b = (f"{name} ({self._name(name)})" for name in match.players)
        yield f"{match.id}: {a} – {b}, {self.league.settings.game_name}, round {match.round_id}"
        yield ""
        yield from (f"  {event.at}  {describe_event(event).removeprefix(f'{match.id}: ')}" for event in self.events)
        if not self.events:
            yield "  Nothing has happened yet."
        yield from self._transcript_text()
        if (recorded := self._last_report) is not None:
            yield from self._last_board(recorded)
            yield from _ruling(recorded, self.league.settings.game_type)
        if (judgement := self._judgement()) is not None:
            yield from _verified(judgement)

    def _last_board(self, recorded: e.ResultRecorded) -> Iterator[str]:
        """The board at the end, if the game has a picture of one."""
        position, game = recorded.result.details.position, find_game(self.league.settings.game_name)
        picture = game_picture(game, position) if game is not None and position else None
        if picture is not None and picture["kind"] != "cards":
            yield ""
            yield from (f"  {line}" for line in plain_lines(name_players(picture, *self.match.players)))

    def _transcript_text(self) -> Iterator[str]:
        transcript, recorded = self.transcript, self._last_report
        if transcript is None:
            if recorded is not None:
                yield ""
                yield f"There is no transcript: {recorded.referee_id} delivered none."
            return
        yield ""
        yield f"Attempt {transcript.attempt} as {transcript.sender} saw it, in seconds since it began:"
        for entry in transcript.entries:
            yield f"{entry.seconds:10.3f}  {_line(entry)}"
            if entry.wire is not UNSET:
                yield f"{'':12}{entry.wire}"


def _line(entry: TranscriptEntry) -> str:
    player = "" if entry.player_id is UNSET else entry.player_id
    directions = {"sent": f"to   {player}", "received": f"from {player}", "failed": f"with {player}" if player else ""}
    direction = directions.get(entry.what, "")
    texts = [] if entry.note is UNSET else [entry.note]
    if entry.message_type is not UNSET:
        text = describe_message(entry.message_type, entry.body or {})
        texts = [f"{entry.message_type}: {text}".removesuffix(": "), *texts]
    what = {"failed": "failed ", "ruled": "ruled "}.get(entry.what, "")
    return f"{direction:10} {what}{'; '.join(texts)}".rstrip()


def _ruling(recorded: e.ResultRecorded, game_type: str) -> Iterator[str]:
    details = recorded.result.details
    yield ""
    yield f"Ruling: {details.ruling or details.status}"
    # Without a fault, the messages above say as much. --json has all of it.
    if details.evidence and details.status == "TECHNICAL_LOSS":
        yield from (f"  {line}" for line in _evidence(details))
    if details.draw_commitment and details.draw_nonce:
        what = "number" if game_type == DEFAULT_GAME else "seed"
        yield ""
        revealed = details.drawn_number or details.match_seed or "not revealed, for the match was not played out"
        yield f"{'Draw' if what == 'number' else 'Seed'}: {revealed}"
        yield f"  nonce {details.draw_nonce}"
        yield f"  committed to before the choices as SHA-256 of nonce:{what}, {details.draw_commitment}"


def _evidence(details: ResultDetails) -> Iterator[str]:
    """How each player answered each request, in a line; or the evidence as it is if it has another form."""
    players = read_evidence(details)
    if not players:
        yield msgspec.json.encode(details.evidence).decode()
    for player, evidence in players.items():
        events = [f"{_answer_text(entry.what)} at {entry.at:.3f}" for entry in evidence.events]
        wrong = f"; the last wrong answer: {evidence.last_wrong}" if evidence.last_wrong else ""
        yield f"{player}: {', '.join(events) or 'no answer'}{wrong}"


def _answer_text(what: str) -> str:
    return f"{what} {CATALOGUE[what].name}" if what in CATALOGUE else what


def _verified(judgement: Judgement) -> Iterator[str]:
    yield ""
    yield "Verified:"
    confirmed = {
        "the result is what the game's rules make of the choices": judgement.is_replayed,
        "the draw is the one that was committed to": judgement.is_opened,
        "the draw is the one that the league's seed gives": judgement.is_derived,
    }
    faults = [f"  WRONG: expected {fault.expected}, found {fault.found}" for fault in judgement.faults]
    yield from faults or (f"  {what}" for what, is_done in confirmed.items() if is_done)
    yield from (f"  not checkable: {reason}" for reason in judgement.not_checkable)
    if not faults and not judgement.not_checkable and not any(confirmed.values()):
        yield "  nothing: the match was not played out"
