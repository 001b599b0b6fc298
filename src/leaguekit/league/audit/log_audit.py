"""The audit of a league's log: checks event by event that the log is consistent.

The events are applied as the manager applies them. Before each event its preconditions are checked. Each result is
checked by the rules of the game and by the draw. At the end the table is recounted and compared with the table of the
league. An event that cannot have happened is not applied, so that one error is not reported many times.
"""

from __future__ import annotations

from typing import NamedTuple

from msgspec import UNSET, Struct

from leaguekit.formats.base import NextRound, PairingEngine
from leaguekit.games.base import Moves
from leaguekit.league import events as e
from leaguekit.league.audit.preconditions import ImpossibleEvent, check_preconditions
from leaguekit.league.audit.recount import CountedResult, RecountedRow, count_result, recount_table
from leaguekit.league.audit.transcripts import check_transcript
from leaguekit.league.commands.tournaments import drawn_by, tournament
from leaguekit.league.fold import apply
from leaguekit.league.outcomes import Discrepancy, judge, read_record
from leaguekit.league.state import League
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import MatchTranscript

# A log that is broken from the start has an error at every event. The first findings show the cause.
MAX_FINDINGS = 1_000


class Finding(NamedTuple):
    """What is wrong, and at which event. A warning does not mean that the log is wrong."""

    number: int
    match_id: str | None
    expected: str
    found: str
    is_warning: bool = False

    def __str__(self) -> str:
        where = f"event {self.number}" if self.match_id is None else f"event {self.number} ({self.match_id})"
        return f"{where}: expected {self.expected}, found {self.found}"


class Counts(Struct, kw_only=True):
    """What was checked. ``not_checkable`` counts the checks that were not possible, by reason."""

    events: int = 0
    players: int = 0
    referees: int = 0
    rounds: int = 0
    matches: int = 0
    # Matches that have a result, and how many of these are technical losses.
    ended: int = 0
    technical_losses: int = 0
    # Reports of referees, forfeits, corrections, rematches, and void attempts.
    results: int = 0
    forfeits: int = 0
    corrections: int = 0
    rematches: int = 0
    voids: int = 0
    # Results that were played again; draws that were opened, and derived from the seed; transcripts that were compared.
    outcomes_replayed: int = 0
    draws_opened: int = 0
    draws_derived: int = 0
    # Rounds that the format drew again, with the same pairings.
    draws_repeated: int = 0
    transcripts: int = 0
    not_checkable: dict[str, int] = {}


class Audit:
    """Checks a log event by event.

    After ``close``, ``findings`` has the first findings, and ``faults`` is the number of errors.
    """

    def __init__(self, engine: PairingEngine | None = None) -> None:
        """``engine`` draws the rounds of a Swiss again."""
        self.league = League()
        self.findings: list[Finding] = []
        self.faults = 0
        self.warnings = 0
        self.counts = Counts()
        self._is_created = False
        self._seed: bytes | None = None
        self._valid_results: dict[str, CountedResult] = {}
        # Matches that the manager decided.
        self._forfeits: set[str] = set()
        # For each completed round that the format drew, the players with a bye, and the other players without a match.
        self._byes: list[str] = []
        # Who played in each completed round, or had a bye.
        self._present: list[set[str]] = []
        self._ranking: list[str] = []
        self._engine = engine
        self._number = 0
        self._at = ""

    @property
    def league_id(self) -> str | None:
        return self.league.settings.league_id if self._is_created else None

    def take(self, number: int, text: bytes) -> e.Event | None:
        """Check the next event. Return None if it cannot be decoded, or cannot have happened."""
        self.counts.events += 1
        expected, self._number = self._number + 1, number
        if number != expected:
            self._note(Discrepancy(f"event {expected}", f"event {number}"))
        try:
            event = e.decode(text)
        except DECODE_ERRORS as error:
            self._note(Discrepancy("an event that this version knows", f"one that it cannot read ({error})"))
            return None
        return event if self._check_and_apply(event) else None

    def record(self, recorded: e.ResultRecorded, kept: bytes | None) -> None:
        """Check the result of a long match by its record, which is kept beside the log."""
        posted = read_record(kept, recorded.result.details)
        if posted is None:
            expected = f"the record {recorded.result.details.record_sha256}"
            self._note(Discrepancy(expected, "none" if kept is None else "another one"), recorded.match_id)
            return
        self._judge(recorded, posted)

    def transcript(self, recorded: e.ResultRecorded, text: bytes) -> None:
        """Compare the transcript of a match with the result that was just checked."""
        try:
            transcript = of_type(MatchTranscript, decode(text))
        except ProtocolError as error:
            self._note(Discrepancy("a transcript", f"one that cannot be read ({error})"), recorded.match_id)
            return
        if transcript.attempt != recorded.attempt:
            self._skip("the transcript is of another attempt")
            return
        self.counts.transcripts += 1
        for fault in check_transcript(recorded, transcript):
            self._note(fault, recorded.match_id)

    def close(self) -> list[Finding]:
        """Check what must hold at the end of any log. Return the findings."""
        if not self.counts.events:
            self._note(Discrepancy("LeagueCreated, which begins a league", "no event at all"))
        if self._is_created:
            self._close()
        return self.findings

    def _note(self, fault: Discrepancy, match_id: str | None = None, *, is_warning: bool = False) -> None:
        self.faults += not is_warning
        self.warnings += is_warning
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(self._number, match_id, *fault, is_warning))

    def _skip(self, reason: str) -> None:
        self.counts.not_checkable[reason] = self.counts.not_checkable.get(reason, 0) + 1

    # Each event

    def _check_and_apply(self, event: e.Event) -> bool:
        """Check an event and apply it. Return whether it could be applied."""
        match_id = getattr(event, "match_id", None)
        self._check_time(event.at)
        try:
            if self._is_created:
                for fault in check_preconditions(event, self.league):
                    self._note(fault, match_id)
                self._draw_again(event)
            elif not self._is_beginning(event):
                return False
            apply(self.league, event)
        except ImpossibleEvent as impossible:
            self._note(impossible.fault, match_id)
            return False
        except (LookupError, ValueError) as error:
            found = f"{type(event).__name__}, which does not ({error!r})"
            self._note(Discrepancy("an event that fits those before it", found), match_id)
            return False
        self._count(event)
        return True

    def _draw_again(self, event: e.Event) -> None:
        """Let the format draw the round again, or end the league, and compare."""
        made = self.league.settings.known_format
        if not isinstance(event, (e.RoundDrawn, e.LeagueCompleted)) or not self.league.draws_rounds:
            return
        if made is None:
            self._skip(f"the format {self.league.settings.format_text} is not known here")
            return
        before = tournament(self.league)
        ended = made.ended(before)
        if isinstance(event, e.LeagueCompleted):
            expected = None if ended is None else (ended.reason, ended.ranking)
            if expected != (event.reason, event.ranking):
                self._note(Discrepancy(f"the end that {made} decides", f"another one: {event.reason}"))
            return
        if ended is not None:
            self._note(Discrepancy(f"the league's end: {ended.reason}", f"the draw of round {event.round_id}"))
        elif event.engine != (by := drawn_by(made, self._engine)):
            self._skip(f"the pairings were drawn by {event.engine}, and this is {by}")
        else:
            drawn = made.pair_next_round(before, self._engine)
            self.counts.draws_repeated += 1
            if drawn != NextRound(event.pairs, event.byes, event.label, event.ranking):
                self._note(Discrepancy(f"the pairings of round {event.round_id} by {by}", "other pairings"))

    def _check_time(self, at: str) -> None:
        # Timestamps of one form compare as texts. A clock that was set back is not an error.
        if at < self._at:
            self._note(Discrepancy(f"no time before {self._at}", at), is_warning=True)
        self._at = max(at, self._at)

    def _is_beginning(self, event: e.Event) -> bool:
        if not isinstance(event, e.LeagueCreated):
            # Reported once: without its beginning, nothing else in a log can be checked.
            if self.counts.events == 1:
                self._note(Discrepancy("LeagueCreated, which begins a league", type(event).__name__))
            return False
        self._is_created = True
        try:
            self._seed = bytes.fromhex(event.settings.seed_hex or "")
        except ValueError:
            self._note(Discrepancy("a seed in hex", "another text"))
        return True

    def _count(self, event: e.Event) -> None:
        """Count an event that was applied, and check its result."""
        match event:
            case e.ResultRecorded():
                self.counts.results += 1
                # Without its record, a long match cannot be played again here: see ``record``.
                if event.result.details.record_sha256 is UNSET:
                    self._judge(event)
                self._valid_results[event.match_id] = count_result(event.result)
            case e.ResultCorrected():
                self.counts.corrections += 1
                self._forfeits.discard(event.match_id)
                self._valid_results[event.match_id] = count_result(event.result)
            case e.RoundCompleted() if self.league.draws_rounds:
                round_ = self.league.rounds[event.round_id - 1]
                playing = {player for name in round_.matches for player in self.league.matches[name].players}
                self._byes += round_.byes
                self._present.append(playing | {*round_.byes})
            case e.RoundDrawn():
                self._ranking = event.ranking
            case e.LeagueCompleted():
                self._ranking = event.ranking or self._ranking
            case e.AttemptVoided():
                self.counts.voids += 1
            case e.MatchForfeited():
                self._forfeits.add(event.match_id)
                players = self.league.matches[event.match_id].players
                one, other = ((player, 0 if player in event.losers else 3) for player in players)
                self._valid_results[event.match_id] = CountedResult((one, other), is_technical=True)
            case e.MatchReplayed():
                self.counts.rematches += 1
                self._forfeits.discard(event.match_id)
                self._valid_results.pop(event.match_id, None)

    def _judge(self, event: e.ResultRecorded, posted: list[Moves] | None = None) -> None:
        match = self.league.matches[event.match_id]
        has_seed = not self.league.referees[event.referee_id].shows_own_token
        settings = self.league.settings
        judged = judge(settings, match, event.attempt, event.result, self._seed, has_seed=has_seed, posted=posted)
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
        counts.ended = len(self._valid_results)
        counts.forfeits = len(self._forfeits)
        counts.technical_losses = sum(one.is_technical for one in self._valid_results.values())
        for match in league.matches.values():
            departed = [name for name in match.players if league.players[name].out is not None]
            if departed and match.round_id <= league.current_round and match.id not in self._valid_results:
                self._note(
                    Discrepancy(f"a loss of {' and '.join(departed)}, having left the league", "no result"), match.id
                )
        for round_ in league.rounds[: league.current_round]:
            if not round_.completed and self._valid_results.keys() >= set(round_.matches):
                self._note(
                    Discrepancy(f"RoundCompleted for round {round_.id}, whose matches have ended", "no such event")
                )
        is_decided = league.matches and not league.draws_rounds and counts.ended == counts.matches
        if is_decided and league.state != "LEAGUE_COMPLETED":
            self._note(Discrepancy("LeagueCompleted, for all matches have ended", "no such event"))
        self._check_table()

    def _check_table(self) -> None:
        league = self.league
        lot_seed = (league.settings.seed_hex or "") if league.seeding else None
        recounted = recount_table(
            league.table.rows,
            self._valid_results.values(),
            league.settings.tie_breaks,
            lot_seed,
            league.settings.payoff_range,
            byes=self._byes,
            absences=[player for present in self._present for player in league.table.rows.keys() - present],
            ranking=self._ranking,
        )
        for expected, row in zip(recounted, league.table.standings().values(), strict=True):
            found = RecountedRow(
                row.player_id,
                row.played,
                row.wins,
                row.draws,
                row.losses,
                row.points,
                row.technical_losses or 0,
                None if row.payoff is UNSET else row.payoff,
            )
            if found != expected:
                self._note(Discrepancy(f"{expected} at rank {row.rank}, from the results", str(found)))
