"""The audit of a league's log: everything that must hold in it, checked event by event.

The log is folded as the manager folds it. Before each event the league must be in a state in which it could happen,
and each result must be what the game's rules and the draw make of it; at the end the table is made from scratch and
held against the fold's. An event that cannot have happened is left out, so that one fault does not look like many.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec
from msgspec import Struct

from leaguekit.league import events as e
from leaguekit.league.outcomes import Fault, judge
from leaguekit.league.preconditions import ImpossibleEvent, check_preconditions
from leaguekit.league.recount import Counted, Line, counted, table
from leaguekit.league.state import League
from leaguekit.league.transcripts import check_transcript
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchTranscript

# A log that is broken from the start has a fault at every event; the first ones tell why.
MAX_FINDINGS = 1_000


class Finding(NamedTuple):
    """What is wrong, and at which event; a warning does not make a league wrong."""

    number: int
    match_id: str | None
    expected: str
    found: str
    is_warning: bool = False

    def __str__(self) -> str:
        where = f"event {self.number}" if self.match_id is None else f"event {self.number} ({self.match_id})"
        return f"{where}: expected {self.expected}, found {self.found}"


class Counts(Struct, kw_only=True):
    """What was looked at. ``not_checkable`` has the reasons why something was not, each with how often."""

    events: int = 0
    players: int = 0
    referees: int = 0
    rounds: int = 0
    matches: int = 0
    # Matches that have a result, and how many of these are technical losses.
    ended: int = 0
    technical_losses: int = 0
    # Reports of referees, rulings of the manager, the operator's corrections and rematches, and void attempts.
    results: int = 0
    forfeits: int = 0
    corrections: int = 0
    rematches: int = 0
    voids: int = 0
    # Results played again by the game's rules; draws opened, and made again from the seed; transcripts compared.
    outcomes_replayed: int = 0
    draws_opened: int = 0
    draws_derived: int = 0
    transcripts: int = 0
    not_checkable: dict[str, int] = {}


_COUNTED: dict[type, str] = {
    e.ResultRecorded: "results",
    e.ResultCorrected: "corrections",
    e.MatchReplayed: "rematches",
    e.AttemptVoided: "voids",
}


class Audit:
    """Takes a log event by event; after ``close``, ``findings`` has the first that is wrong, ``faults`` how much is."""

    def __init__(self) -> None:
        self.league = League()
        self.findings: list[Finding] = []
        self.faults = 0
        self.warnings = 0
        self.counts = Counts()
        self._is_created = False
        self._seed: bytes | None = None
        self._standing: dict[str, Counted] = {}
        # Matches whose result is the manager's ruling.
        self._forfeits: set[str] = set()
        self._number = 0
        self._at = ""

    @property
    def league_id(self) -> str | None:
        return self.league.settings.league_id if self._is_created else None

    def take(self, number: int, text: bytes) -> e.Event | None:
        """Check the next event; None for one that cannot be read, or cannot have happened."""
        self.counts.events += 1
        expected, self._number = self._number + 1, number
        if number != expected:
            self._note(Fault(f"event {expected}", f"event {number}"))
        try:
            event = e.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            self._note(Fault("an event that this version knows", f"one that it cannot read ({error})"))
            return None
        return event if self._is_regular(event) else None

    def transcript(self, recorded: e.ResultRecorded, text: bytes) -> None:
        """Hold what is kept of a match against the result that was just taken."""
        try:
            transcript = of_type(MatchTranscript, decode(text))
        except ProtocolError as error:
            self._note(Fault("a transcript", f"one that cannot be read ({error})"), recorded.match_id)
            return
        if transcript.attempt != recorded.attempt:
            self._skip("the transcript is of another attempt")
            return
        self.counts.transcripts += 1
        for fault in check_transcript(recorded, transcript):
            self._note(fault, recorded.match_id)

    def close(self) -> list[Finding]:
        """Check what must hold wherever a log ends; all findings."""
        if not self.counts.events:
            self._note(Fault("LeagueCreated, which begins a league", "no event at all"))
        if self._is_created:
            self._close()
        return self.findings

    def _note(self, fault: Fault, match_id: str | None = None, *, is_warning: bool = False) -> None:
        self.faults += not is_warning
        self.warnings += is_warning
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(self._number, match_id, *fault, is_warning))

    def _skip(self, reason: str) -> None:
        self.counts.not_checkable[reason] = self.counts.not_checkable.get(reason, 0) + 1

    # Each event

    def _is_regular(self, event: e.Event) -> bool:
        """Check and fold an event; whether that could be done."""
        match_id = getattr(event, "match_id", None)
        self._check_time(event.at)
        try:
            if self._is_created:
                for fault in check_preconditions(event, self.league):
                    self._note(fault, match_id)
            elif not self._begins(event):
                return False
            self.league.apply(event)
        except ImpossibleEvent as impossible:
            self._note(impossible.fault, match_id)
            return False
        except (LookupError, ValueError) as error:
            found = f"{type(event).__name__}, which does not ({error!r})"
            self._note(Fault("an event that fits those before it", found), match_id)
            return False
        self._count(event)
        return True

    def _check_time(self, at: str) -> None:
        # As texts, for all are of one form. Wall clocks are set back now and then: that is no fault.
        if at < self._at:
            self._note(Fault(f"no time before {self._at}", at), is_warning=True)
        self._at = max(at, self._at)

    def _begins(self, event: e.Event) -> bool:
        if not isinstance(event, e.LeagueCreated):
            # Said once: without its beginning nothing of a league can be judged.
            if self.counts.events == 1:
                self._note(Fault("LeagueCreated, which begins a league", type(event).__name__))
            return False
        self._is_created = True
        try:
            self._seed = bytes.fromhex(event.settings.seed_hex or "")
        except ValueError:
            self._note(Fault("a seed in hex", "another text"))
        return True

    def _count(self, event: e.Event) -> None:
        """Take note of an event that was folded."""
        if name := _COUNTED.get(type(event)):
            setattr(self.counts, name, getattr(self.counts, name) + 1)
        if isinstance(event, e.MatchForfeited):
            self._forfeits.add(event.match_id)
        elif isinstance(event, e.ResultCorrected | e.MatchReplayed):
            self._forfeits.discard(event.match_id)
        match event:
            case e.ResultRecorded():
                self._judge(event)
                self._standing[event.match_id] = counted(event.result)
            case e.ResultCorrected():
                self._standing[event.match_id] = counted(event.result)
            case e.MatchForfeited():
                players = self.league.matches[event.match_id].players
                one, other = ((player, 0 if player in event.losers else 3) for player in players)
                self._standing[event.match_id] = Counted((one, other), is_technical=True)
            case e.MatchReplayed():
                self._standing.pop(event.match_id, None)

    def _judge(self, event: e.ResultRecorded) -> None:
        match = self.league.matches[event.match_id]
        has_seed = not self.league.referees[event.referee_id].shows_own_token
        game_type = self.league.settings.game_type
        judged = judge(game_type, match, event.attempt, event.result, self._seed, has_seed=has_seed)
        for fault in judged.faults:
            self._note(fault, event.match_id)
        for reason in judged.not_checkable:
            self._skip(reason)
        self.counts.outcomes_replayed += judged.is_replayed
        self.counts.draws_opened += judged.is_opened
        self.counts.draws_derived += judged.is_derived

    # The end

    def _close(self) -> None:
        league, counts = self.league, self.counts
        counts.players, counts.referees = len(league.players), len(league.referees)
        counts.rounds, counts.matches = len(league.rounds), len(league.matches)
        counts.ended = len(self._standing)
        counts.forfeits = len(self._forfeits)
        counts.technical_losses = sum(one.is_technical for one in self._standing.values())
        for match in league.matches.values():
            gone = [name for name in match.players if league.players[name].out is not None]
            if gone and match.round_id <= league.current_round and match.id not in self._standing:
                self._note(Fault(f"a loss of {' and '.join(gone)}, having left the league", "no result"), match.id)
        for round_ in league.rounds[: league.current_round]:
            if not round_.completed and self._standing.keys() >= set(round_.matches):
                self._note(Fault(f"RoundCompleted for round {round_.id}, whose matches have ended", "no such event"))
        if league.matches and counts.ended == counts.matches and league.state != "LEAGUE_COMPLETED":
            self._note(Fault("LeagueCompleted, for all matches have ended", "no such event"))
        self._check_table()

    def _check_table(self) -> None:
        league = self.league
        lot_seed = (league.settings.seed_hex or "") if league.rounds else None
        scratch = table(league.table.rows, self._standing.values(), league.settings.tie_breaks, lot_seed)
        for made, row in zip(scratch, league.table.standings().values(), strict=True):
            line = Line(
                row.player_id, row.played, row.wins, row.draws, row.losses, row.points, row.technical_losses or 0
            )
            if line != made:
                self._note(Fault(f"{made} at rank {row.rank}, from the results", str(line)))
