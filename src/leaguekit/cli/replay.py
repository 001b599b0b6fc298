"""``league replay``: print one match as its referee saw it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import UNSET

from leaguekit.cli import CommandError, stores
from leaguekit.cli.tables import json_line
from leaguekit.league import events as e
from leaguekit.league.outcomes import Judgement, judge
from leaguekit.league.records import Match
from leaguekit.league.sentences import EventFormatter, sentence
from leaguekit.league.transcripts import check_transcript
from leaguekit.protocol.ids import match_id
from leaguekit.protocol.messages import MatchTranscript, TranscriptEntry
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.referee.transcripts import describe_message
from leaguekit.store.base import LogReader

EXAMPLES = """examples:
  league replay R2M3                    of the newest league under SHARED
  league replay league.db R2M3
  league replay R2M3 --json             one JSON object: events, transcript, and what was verified

It prints the match's events, every message that its referee sent and received, the ruling with its evidence, and
whether the draw is the one that was committed to. Only referees of leaguekit deliver the messages.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    stores.add_options(parser)
    parser.add_argument("match_id", metavar="MATCH", help="such as R2M3")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(options: argparse.Namespace) -> int:
    return stores.run(options, lambda reader: _replay(reader, options.match_id, as_json=options.json))


async def _replay(reader: LogReader, name: str, *, as_json: bool) -> int:
    history = _MatchHistory(name)
    await stores.feed_events(reader, history.take)
    if history.match is None:
        hint = f"there are {', '.join(history.others)} …" if history.others else "it has no schedule yet"
        raise CommandError(f"there is no match {name} in this league; {hint}")
    history.transcript = await stores.read_transcript(reader, name)
    lines = [json_line(history.as_json())] if as_json else map(sanitize_line, history.as_text())
    print("\n".join(lines))
    return 0


class _MatchHistory:
    """Everything that the store has about one match."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.match: Match | None = None
        # The first matches of the league, as a hint if the named match does not exist.
        self.others: list[str] = []
        self.transcript: MatchTranscript | None = None
        self._names: dict[str, str] = {}
        # The referees, each with whether it does not know the seed.
        self._without_seed: dict[str, bool] = {}
        self._events: list[e.Event] = []
        self._game = ""
        self._seed: bytes | None = None

    def take(self, event: e.Event) -> None:
        match event:
            case e.LeagueCreated():
                self._game = event.settings.game_type
                self._seed = bytes.fromhex(event.settings.seed_hex or "")
            case e.PlayerRegistered():
                self._names[event.player_id] = event.meta.display_name
            case e.RefereeRegistered():
                self._without_seed[event.referee_id] = event.shows_own_token
            case e.LeagueStarted():
                self._find(event.rounds)
        if getattr(event, "match_id", None) == self._name:
            self._events.append(event)

    def _find(self, rounds: list[list[tuple[str, str]]]) -> None:
        for number, pairs in enumerate(rounds, start=1):
            for order, (a, b) in enumerate(pairs, start=1):
                name = match_id(number, order)
                if name == self._name:
                    self.match = Match(id=name, round_id=number, a=a, b=b)
                if len(self.others) < 5:
                    self.others.append(name)

    @property
    def _last_report(self) -> e.ResultRecorded | None:
        """The last report of a referee."""
        reports = [event for event in self._events if isinstance(event, e.ResultRecorded)]
        return reports[-1] if reports else None

    def _judgement(self, match: Match) -> Judgement | None:
        recorded = self._last_report
        if recorded is None:
            return None
        has_seed = not self._without_seed.get(recorded.referee_id)
        judgement = judge(self._game, match, recorded.attempt, recorded.result, self._seed, has_seed=has_seed)
        if self.transcript is not None and self.transcript.attempt == recorded.attempt:
            judgement.faults.extend(check_transcript(recorded, self.transcript))
        return judgement

    def as_json(self) -> dict[str, Any]:
        match = self._require_match()
        judgement = self._judgement(match)
        return {
            "match_id": match.id,
            "round_id": match.round_id,
            "game_type": self._game,
            "players": [{"player_id": name, "display_name": self._names[name]} for name in match.players],
            "events": [EventFormatter().as_json(event) for event in self._events],
            "transcript": None if self.transcript is None else msgspec.to_builtins(self.transcript),
            "verification": None if judgement is None else msgspec.to_builtins(judgement._asdict()),
        }

    def as_text(self) -> Iterator[str]:
        match = self._require_match()
        a, b = (f"{name} ({self._names[name]})" for name in match.players)
        yield f"{match.id}: {a} – {b}, {self._game}, round {match.round_id}"
        yield ""
        yield from (f"  {event.at}  {sentence(event).removeprefix(f'{match.id}: ')}" for event in self._events)
        if not self._events:
            yield "  Nothing has happened yet."
        yield from self._transcript_text()
        if (recorded := self._last_report) is not None:
            yield from _ruling(recorded)
        if (judgement := self._judgement(match)) is not None:
            yield from _verified(judgement)

    def _require_match(self) -> Match:
        if self.match is None:
            raise RuntimeError("the match was looked for before")
        return self.match

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


def _format_value(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _ruling(recorded: e.ResultRecorded) -> Iterator[str]:
    details = recorded.result.details
    yield ""
    yield f"Ruling: {details.ruling or details.status}"
    if details.evidence:
        yield from (f"  {line}" for line in _outline(details.evidence))
    if details.draw_commitment and details.draw_nonce:
        yield ""
        yield f"Draw: {details.drawn_number or 'not revealed, for the match was not played out'}"
        yield f"  nonce {details.draw_nonce}"
        yield f"  committed to before the choices as SHA-256 of nonce:number, {details.draw_commitment}"


def _outline(value: dict[str, Any]) -> Iterator[str]:
    """The evidence as indented lines: plain values on one line, and nested ones below it."""
    plain = [f"{name} {_format_value(inner)}" for name, inner in value.items() if not isinstance(inner, dict | list)]
    if plain:
        yield ", ".join(plain)
    for name, inner in value.items():
        if isinstance(inner, dict):
            yield f"{name}:"
            yield from (f"  {line}" for line in _outline(inner))
        elif isinstance(inner, list):
            yield f"{name}:"
            for one in inner:
                yield from (f"  {line}" for line in (_outline(one) if isinstance(one, dict) else [_format_value(one)]))


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
        yield "  nothing: the match was not played"
