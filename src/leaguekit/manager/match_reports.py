"""What referees send about their matches: results, void attempts, progress, transcripts and records.

A loss by silence, and a player that could not be called, may be the fault of the network or of the referee. So the
manager finds out what it can reach itself, before it records them.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Container
from datetime import datetime
from typing import NoReturn

from msgspec import UNSET, json, structs

from leaguekit.agents.logs import log_fields
from leaguekit.agents.world import World
from leaguekit.games.base import Moves
from leaguekit.league import commands
from leaguekit.league.evidence import parse_evidence
from leaguekit.league.outage import is_lost_by_silence, unconnected_players
from leaguekit.league.outcomes import read_record, record_name
from leaguekit.league.records import Player, Referee
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.rounds.league_runner import LeagueRunner
from leaguekit.manager.sender_check import SenderCheck
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.decoding import check_text, decode, encode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER
from leaguekit.store.base import StoreError
from leaguekit.transport.base import HttpAnswer, Peer

log = logging.getLogger(__name__)

# A void attempt is not counted if only the referee had no connection to the players: the manager had one. That holds
# for 10 attempts of a match if both players were silent. It holds for one attempt if a single player was silent: such a
# player may have refused the referee's connection on purpose, to avoid a loss.
MAX_EXCUSED_ATTEMPTS = 10
MAX_EXCUSES_OF_ONE_PLAYER = 1
# Timestamps are of whole seconds. A smaller difference to the clock of a referee cannot be seen.
MAX_CLOCK_DIFFERENCE_SECONDS = 2.0


class MatchReports:
    """Receives what referees report. ``misunderstood`` are players that rejected messages in their known form."""

    misunderstood: Container[str] = ()

    def __init__(self, world: World, ledger: Ledger, runner: LeagueRunner, senders: SenderCheck) -> None:
        self._world = world
        self._now = world.timestamp
        self._ledger = ledger
        self._runner = runner
        self._senders = senders
        # By match, the number of void attempts that were not counted (see MAX_EXCUSED_ATTEMPTS).
        self._excused: Counter[str] = Counter()

    async def receive_result(self, report: m.MatchResultReport, peer: Peer) -> m.Message:
        referee = self._senders.agent_of(report, peer, Referee)
        if is_lost_by_silence(report.result):
            return await self._judge_silence(report, referee)
        return await self._record_result(report, referee)

    async def _judge_silence(self, report: m.MatchResultReport, referee: Player | Referee) -> m.Message:
        """Count a loss of a player that did not answer, unless the network was at fault.

        The network was at fault if most players could not be reached at that time, or if the manager can reach the
        players that the referee could not. A single silent player is excused only once per match, because it may have
        hidden from the referee.
        """
        if (excuse := await self._excuse(report, referee)) is not None:
            reason, outage = excuse
            league, attempt = self._ledger.league, None if report.attempt is UNSET else report.attempt
            events = commands.void_attempt(
                league, report.match_id, attempt, reason, self._now(), referee_id=referee.id, outage=outage
            )
            self._ledger.record(events)
            error = ProtocolError("E050", f"That attempt at {report.match_id} is void: {reason}.")
            await self._raise_when_written(error)
        return await self._record_result(report, referee)

    async def _excuse(self, report: m.MatchResultReport, referee: Player | Referee) -> tuple[str, bool] | None:
        """Find out why players that did not answer are not at fault. Returns None if they are.

        Returns a sentence, and whether the attempt is not counted.
        """
        outages, match = self._runner.outages, self._ledger.league.matches.get(report.match_id)
        if await outages.has_affected(report.match_id):
            return outages.latest_description, True
        if match is None or not match.in_play:
            return None
        silent = unconnected_players(report.result)
        reachable = await outages.find_reachable(silent)
        is_excused = self._excused[match.id] < (MAX_EXCUSED_ATTEMPTS if len(silent) == 2 else MAX_EXCUSES_OF_ONE_PLAYER)
        if not reachable or (len(silent) == 1 and not is_excused):
            return None
        self._excused[match.id] += 1
        return f"{referee.id} had no connection to {' and '.join(reachable)}, and the manager had one", is_excused

    async def _record_result(self, report: m.MatchResultReport, referee: Player | Referee) -> m.Message:
        league = self._ledger.league
        try:
            posted = await self._posted_record(report)
            events = commands.record_result(
                league, report, referee.id, self._now(), misunderstood=self.misunderstood, posted=posted
            )
            self._ledger.record(events)
        except ProtocolError as error:
            log.warning(
                "%s's report of %s is refused: %s", referee.id, report.match_id, error, extra=log_fields(report)
            )
            if error.code == "E054":
                self._ledger.record(commands.flag_second_report(league, report, referee.id, self._now()))
                await self._raise_when_written(error)
            raise
        return m.MatchResultAck(
            **self._echo(report), status="ACCEPTED", match_id=report.match_id, round_id=report.round_id
        )

    async def _posted_record(self, report: m.MatchResultReport) -> list[Moves] | None:
        """The record that was posted before a report, if the report has only its SHA-256."""
        details, match = report.result.details, self._ledger.league.matches.get(report.match_id)
        if details.record_sha256 is UNSET or match is None:
            return None
        return read_record(await self._ledger.log.read_document(record_name(match.id, match.attempt)), details)

    async def _raise_when_written(self, error: ProtocolError) -> NoReturn:
        await self._ledger.wait_to_answer()
        raise error

    async def receive_progress(self, report: m.MatchProgress, peer: Peer) -> m.MatchProgressAck:
        referee = self._senders.agent_of(report, peer, Referee)
        match = self._ledger.league.matches.get(report.match_id)
        if match is None or not match.in_play or (referee.id, report.attempt) != (match.referee_id, match.attempt):
            raise ProtocolError("E050", f"{referee.id} is not playing {report.match_id}.")
        _correct_deadline(report, self._world.now())
        self._runner.progress.note(report)
        return m.MatchProgressAck(**self._echo(report), status="ACKNOWLEDGED", match_id=report.match_id)

    async def receive_void(self, report: m.MatchVoidReport, peer: Peer) -> m.Message:
        referee = self._senders.agent_of(report, peer, Referee)
        if report.could_not_call is UNSET:
            return self._void(report, referee, outage=False)
        return await self._judge_unable_referee(report, referee, report.could_not_call)

    async def _judge_unable_referee(
        self, report: m.MatchVoidReport, referee: Player | Referee, player_id: str
    ) -> m.MatchVoidAck:
        """Judge who is at fault when a referee could not call a player.

        The player is at fault if the manager cannot call it either. Otherwise the referee is at fault, and the attempt
        is not counted. But an attempt with moves is always counted, because a player could otherwise leave a lost game
        and play it again, as often as it wants.
        """
        outages, match = self._runner.outages, self._ledger.league.matches.get(report.match_id)
        if match is None or player_id not in match.players:
            return self._void(report, referee, outage=False)
        if await outages.has_affected(match.id):
            return self._void(report, referee, outage=True)
        unreachable, evidence = await outages.find_unreachable(match.players), parse_evidence(report.evidence)
        # An outage may have begun after the first check.
        if player_id in unreachable and await outages.has_affected(match.id):
            return self._void(report, referee, outage=True)
        if player_id in unreachable:
            silent = [one for one in unreachable if one in evidence and not evidence[one].has_answered]
            losers = [one for one in match.players if one == player_id or one in silent]
            league, now = self._ledger.league, self._now()
            events = commands.forfeit_unreachable(league, match.id, report.attempt, losers, now, referee_id=referee.id)
            self._ledger.record(events)
            return self._void_ack(report)
        self._excused[match.id] += 1
        is_excused = self._excused[match.id] <= MAX_EXCUSED_ATTEMPTS and not any(
            one.has_moved for one in evidence.values()
        )
        ack = self._void(report, referee, outage=is_excused)
        why = report.reason.partition(": ")[2]
        sentence = f"{referee.id} cannot call {player_id}" + (f": {why}" if why else "")
        outages.note_unable_referee(match.id, referee.id, sentence)
        return ack

    def _void(self, report: m.MatchVoidReport, referee: Player | Referee, *, outage: bool) -> m.MatchVoidAck:
        league, reason = self._ledger.league, report.reason
        events = commands.void_attempt(
            league, report.match_id, report.attempt, reason, self._now(), referee_id=referee.id, outage=outage
        )
        self._ledger.record(events)
        return self._void_ack(report)

    def _void_ack(self, report: m.MatchVoidReport) -> m.MatchVoidAck:
        return m.MatchVoidAck(**self._echo(report), status="ACCEPTED", match_id=report.match_id, attempt=report.attempt)

    async def receive_document(self, path: str, body: bytes) -> HttpAnswer:
        """Keep what a referee posts about a match, by the path that it was posted to: a transcript, or a record."""
        kind, _, match_id = path.rpartition("/")
        try:
            check_text(body)
            if kind == "/records":
                await self.keep_record(of_type(m.MatchRecord, decode(body)), match_id)
            else:
                await self.keep_transcript(of_type(m.MatchTranscript, decode(body)), match_id)
        except ProtocolError as error:
            status = 503 if error.code == "E060" else 400
            return HttpAnswer(status, json.encode({"error_code": error.code, "error": error.detail}))
        return HttpAnswer(200, json.encode({"status": "ACCEPTED", "match_id": match_id}))

    async def keep_transcript(self, transcript: m.MatchTranscript, match_id: str) -> None:
        """Store a referee's transcript of a match beside the log.

        Raises ProtocolError if another referee had that match.
        """
        referee = self._senders.agent_of(transcript, Peer(""), Referee)
        match = self._ledger.league.matches.get(match_id)
        if match is None or (transcript.match_id, referee.id) != (match_id, match.referee_id):
            raise ProtocolError("E050", f"{referee.id} has not refereed {match_id}.")
        await self._keep(f"transcript/{match_id}", encode(structs.replace(transcript, auth_token=UNSET)))

    async def keep_record(self, posted: m.MatchRecord, match_id: str) -> None:
        """Store the record of a match that a referee plays, beside the log. It is durable when this returns.

        Raises ProtocolError if the referee does not play that match.
        """
        referee = self._senders.agent_of(posted, Peer(""), Referee)
        match = self._ledger.league.matches.get(match_id)
        if match is None or (posted.match_id, referee.id) != (match_id, match.referee_id):
            raise ProtocolError("E050", f"{referee.id} does not play {match_id}.")
        if not match.in_play or posted.attempt != match.attempt:
            # A result that counts keeps its record.
            raise ProtocolError("E050", f"That attempt at {match_id} is over.")
        await self._keep(record_name(match_id, posted.attempt), json.encode(posted.record, order="sorted"))

    async def _keep(self, name: str, document: bytes) -> None:
        """Store a document beside the log. Raises ProtocolError if that takes too long."""
        try:
            await self._ledger.keep_in_time(name, document)
        except StoreError as error:
            raise store_unavailable() from error

    def _echo(self, request: m.Request) -> m.Envelope:
        return m.envelope(MANAGER, self._world.now(), request.conversation_id)


def store_unavailable() -> ProtocolError:
    """The error while the log cannot be written, or slowly."""
    return ProtocolError("E060", "The manager waits for its store: send this again in a while.")


def _correct_deadline(report: m.MatchProgress, now: datetime) -> None:
    """Put the deadline of a report that arrives now on the manager's clock, if the referee's clock is another."""
    ahead = times.parse_timestamp(report.timestamp) - now
    if report.deadline is not UNSET and abs(ahead.total_seconds()) > MAX_CLOCK_DIFFERENCE_SECONDS:
        report.deadline = times.format_timestamp(times.parse_timestamp(report.deadline) - ahead)
