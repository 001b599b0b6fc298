"""The messages of one match as its referee sends them. Each has every field that any document asks for."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from msgspec import UNSET, Raw, UnsetType

from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.games.base import SIDES, Question, Side, other
from leaguekit.games.records import is_told_by_choices
from leaguekit.match.draw import record_sha256
from leaguekit.match.move_messages import DOCUMENTED, MoveCall, make_call, messages_of, number_fields
from leaguekit.match.rulings import Verdict
from leaguekit.match.signals import GameFault, Void
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.fields import MatchRole, MatchState
from leaguekit.protocol.ids import PROTOCOL, match_conversation, sender_of
from leaguekit.protocol.rpc import MAX_BYTES
from leaguekit.referee.player_client import NO_OBSERVATIONS, PlayerObservations
from leaguekit.referee.transcripts import WrittenTranscript

# The bytes of a request that are not the report: the token and JSON-RPC.
REPORT_MARGIN_BYTES = 1_024
# The fields that are left out of a report that would be too long, in this order, and what replaces each.
_LEFT_OUT: tuple[tuple[str, Any], ...] = (
    ("position", UNSET),
    ("broken_rules", UNSET),
    ("evidence", {"left_out": "The evidence is too long for a report."}),
)

_ROLES: dict[Side, MatchRole] = {"A": "PLAYER_A", "B": "PLAYER_B"}


class MatchMessages:
    """Makes the messages of one attempt at a match. Only the last ones contain the nonce that opens the commitment."""

    def __init__(
        self,
        world: World,
        assignment: m.MatchAssignment,
        referee_id: str,
        draw_commitment: str | UnsetType,
        draw_nonce: str | UnsetType,
        *,
        seats: Mapping[Side, m.AssignedPlayer],
    ) -> None:
        self._now = world.now
        self._timestamp = world.timestamp
        self._assignment = assignment
        self._seats = seats
        self._commitment = draw_commitment
        self._nonce = draw_nonce
        self._game = game(assignment.game_type, assignment.game_args or None)
        # The commitment is to the seed, except in the game of the documents: there it is to the number drawn.
        self._match_seed: str | UnsetType = UNSET
        if draw_commitment is not UNSET and messages_of(self._game) is not DOCUMENTED:
            self._match_seed = bytes.fromhex(assignment.match_seed).hex()
        self._sender = sender_of("referee", referee_id)
        self._conversation = match_conversation(assignment.match_id, assignment.attempt)
        # The fields of every message but the time. They are made once, because a match has about ten messages.
        self._common: dict[str, Any] = {
            **self._envelope(),
            "league_id": assignment.league_id,
            "round_id": assignment.round_id,
            "match_id": assignment.match_id,
        }
        del self._common["timestamp"]

    # To a player

    def invitation(self, side: Side) -> m.GameInvitation:
        seat = self._seats[side]
        return m.GameInvitation(
            **self._common,
            timestamp=self._timestamp(),
            auth_token=seat.shown_token,
            player_id=seat.player_id,
            game_type=self._assignment.game_type,
            role_in_match=_ROLES[side],
            opponent_id=self._seats[other(side)].player_id,
            attempt=self._assignment.attempt,
        )

    def call(self, side: Side, question: Question, seconds: float) -> MoveCall:
        """The call for a choice or a move, with a deadline that is ``seconds`` from now."""
        seat = self._seats[side]
        context = m.CallContext(
            opponent_id=self._seats[other(side)].player_id,
            round_id=self._assignment.round_id,
            your_standings=seat.record,
            draw_commitment=self._commitment,
        )
        fields: dict[str, Any] = {
            **self._common,
            "timestamp": self._timestamp(),
            "auth_token": seat.shown_token,
            "player_id": seat.player_id,
            "game_type": self._assignment.game_type,
            "deadline": self.time_in(seconds),
            "context": context,
        }
        return make_call(self._game, question, fields)

    def game_error(self, side: Side, fault: GameFault, stage: MatchState, next_retry_in: float | None) -> m.GameError:
        return m.game_error(
            self._envelope(),
            code=fault.code,
            match_id=self._assignment.match_id,
            player_id=self._seats[side].player_id,
            action_required=fault.action_required,
            consequence=fault.consequence,
            retryable=fault.retryable,
            retry_count=fault.retry_count,
            max_retries=fault.max_retries,
            detail=fault.detail,
            game_state=stage,
            next_retry_at=UNSET if next_retry_in is None else self.time_in(next_retry_in),
            time_remaining=UNSET if fault.time_remaining is None else round(fault.time_remaining, 3),
            context=fault.context,
            auth_token=self._seats[side].shown_token,
            league_id=self._assignment.league_id,
            round_id=self._assignment.round_id,
        )

    def game_over(self, verdict: Verdict, position: dict[str, Any]) -> dict[Side, m.GameOver]:
        """GAME_OVER for each side. Both are equal but for the token."""
        result = m.GameResult(
            status=verdict.status,
            choices=self._choices(verdict),
            winner_player_id=self._winner(verdict),
            **number_fields(verdict.drawn),
            reason=verdict.reason,
            draw_commitment=self._commitment,
            draw_nonce=self._nonce,
            match_seed=self._match_seed,
            payoffs=self._payoffs(verdict),
            details={"position": position},
        )
        common = {
            **self._common,
            "timestamp": self._timestamp(),
            "game_type": self._assignment.game_type,
            "game_result": result,
            "reason": verdict.reason,
        }
        return {side: m.GameOver(**common, auth_token=self._seats[side].shown_token) for side in SIDES}

    def acknowledged(self, side: Side, conversation_id: str | UnsetType) -> m.MatchMessageAck:
        """The answer to a message that a player posts by itself."""
        envelope = self._envelope()
        envelope["conversation_id"] = conversation_id or envelope["conversation_id"]
        return m.MatchMessageAck(
            **envelope,
            auth_token=self._seats[side].shown_token,
            status="ACKNOWLEDGED",
            match_id=self._assignment.match_id,
            player_id=self._seats[side].player_id,
        )

    # To the manager. The token is added when a message is sent.

    def progress(
        self, stage: MatchState, entered_at: str, deadline: str | None, arrived: list[str], position: dict[str, Any]
    ) -> m.MatchProgress:
        return m.MatchProgress(
            **self._common,
            timestamp=self._timestamp(),
            attempt=self._assignment.attempt,
            stage=stage,
            entered_at=entered_at,
            deadline=deadline or UNSET,
            arrived=arrived,
            position=position,
        )

    def report(
        self,
        verdict: Verdict,
        position: dict[str, Any],
        observations: PlayerObservations = NO_OBSERVATIONS,
        origins: dict[str, m.MoveOrigins] | None = None,
    ) -> m.MatchResultReport:
        """The report of a verdict, small enough for the manager to accept."""
        evidence = verdict.evidence
        score: dict[str, Any] = {self._seats[side].player_id: points for side, points in verdict.score.items()}
        details = m.ResultDetails(
            drawn_number=verdict.drawn,
            choices=self._choices(verdict),
            status=verdict.status,
            ruling=verdict.ruling,
            evidence=evidence,
            failures={player: facts["failures"] for player, facts in evidence["players"].items()},
            draw_commitment=self._commitment,
            draw_nonce=self._nonce,
            match_seed=self._match_seed,
            payoffs=self._payoffs(verdict),
            record=self._record(verdict),
            position=position,
            broken_rules=observations.broken_rules,
            forms=observations.forms,
            move_origins=origins or UNSET,
        )
        report = m.MatchResultReport(
            **self._common,
            timestamp=self._timestamp(),
            game_type=self._assignment.game_type,
            attempt=self._assignment.attempt,
            result=m.MatchResult(winner=self._winner(verdict), score=score, details=details),
        )
        # Nothing is lost: the transcript contains all of it.
        for name, replacement in _LEFT_OUT:
            if len(encode(report)) <= MAX_BYTES - REPORT_MARGIN_BYTES:
                break
            setattr(details, name, replacement)
        if details.record is not UNSET and len(encode(report)) > MAX_BYTES - REPORT_MARGIN_BYTES:
            details.record_sha256 = record_sha256(details.record)
            details.record = UNSET
        return report

    def record(self, verdict: Verdict) -> m.MatchRecord:
        """The record of a match that is too long for its report."""
        return m.MatchRecord(
            **self._envelope(),
            league_id=self._assignment.league_id,
            match_id=self._assignment.match_id,
            attempt=self._assignment.attempt,
            record=self._record(verdict) or [],
        )

    def void(self, void: Void) -> m.MatchVoidReport:
        """The report of an attempt that does not count."""
        return m.MatchVoidReport(
            **self._common,
            timestamp=self._timestamp(),
            attempt=self._assignment.attempt,
            reason=void.reason,
            evidence=void.evidence,
            could_not_call=void.could_not_call or UNSET,
        )

    def transcript(self, entries: Raw) -> WrittenTranscript:
        return WrittenTranscript(
            **self._envelope(),
            league_id=self._assignment.league_id,
            match_id=self._assignment.match_id,
            attempt=self._assignment.attempt,
            entries=entries,
        )

    # Helpers

    def time_in(self, seconds: float) -> str:
        """The timestamp of the moment that is ``seconds`` from now."""
        return times.format_timestamp(self._now() + timedelta(seconds=seconds))

    def _choices(self, verdict: Verdict) -> dict[str, str | None]:
        return {self._seats[side].player_id: verdict.choices.get(side) for side in SIDES}

    def _record(self, verdict: Verdict) -> list[m.Step] | UnsetType:
        """The record of a match that was played, unless it follows from its choices."""
        # Everything follows from the drawn number and a choice of each side.
        if not verdict.record or verdict.drawn is not None:
            return UNSET
        if is_told_by_choices(self._game, verdict.choices, verdict.record):
            return UNSET
        return [dict(step.items()) for step in verdict.record]

    def _payoffs(self, verdict: Verdict) -> dict[str, float] | UnsetType:
        if verdict.payoffs is None:
            return UNSET
        return {self._seats[side].player_id: payoff for side, payoff in zip(SIDES, verdict.payoffs, strict=True)}

    def _winner(self, verdict: Verdict) -> str | None:
        return None if verdict.winner is None else self._seats[verdict.winner].player_id

    def _envelope(self) -> m.Envelope:
        return {
            "protocol": PROTOCOL,
            "sender": self._sender,
            "timestamp": self._timestamp(),
            "conversation_id": self._conversation,
        }
