"""Sends matches to their referees, pings the referees, and voids the attempts of those that are lost or too slow."""

from __future__ import annotations

import asyncio
import logging

from msgspec import UNSET

from leaguekit.agents.calls import answers_ping, ask, error_code_of, is_transient
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.league import commands
from leaguekit.league.commands.rounds import available_referees
from leaguekit.league.records import Match
from leaguekit.manager.broadcasts import RecipientLookup
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.rounds.returning_agents import ReturningAgents
from leaguekit.match.draw import match_seed
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.transport.base import CallerLate, CallFailed

log = logging.getLogger(__name__)

PING_PAUSE_SECONDS = 2.0
QUICK_PAUSE_SECONDS = 0.5
PING_SECONDS = 2.0
MAX_MISSED_PINGS = 3
# How often a referee may refuse a match before another referee gets it.
MAX_REFUSALS = 5
# The maximum length of its reason in the log.
MAX_REASON_CHARS = 200
# The time that a referee may need in addition to the time limits of its players, for its own calls and reports.
REFEREE_SLACK_SECONDS = 20.0


class Assignments:
    """The matches in play. An assignment is sent only when the events that it depends on are written."""

    def __init__(
        self, world: World, ledger: Ledger, find_recipient: RecipientLookup, returning: ReturningAgents
    ) -> None:
        self._world = world
        self._now = world.timestamp
        self._ledger = ledger
        self._find_recipient = find_recipient
        self._returning = returning
        # When this process first saw an attempt in play, by the loop's time, and how long the attempt may take. The
        # wall clock cannot be used: it may be set, and it goes on while the manager is stopped.
        self._seen_since: dict[tuple[str, int, int], tuple[float, float]] = {}

    async def send_assignment(self, match_id: str) -> None:
        """Send a match to its referee, again and again until the referee accepts it or the attempt is void.

        A referee that begins on the announcement is not called: the announcement has given it the match.

        A repetition does no harm. A referee that plays the match continues. A referee that has ruled delivers its
        ruling. A referee that has forgotten the match plays it again: it is the same attempt, with the same draw.
        """
        match = self._ledger.league.matches[match_id]
        attempt, referee_id = match.attempt, match.referee_id or ""
        if self._ledger.league.referees[referee_id].shows_own_token:
            return
        await self._returning.wait_for(referee_id, *match.players)
        refusals = 0
        while match.in_play and match.attempt == attempt:
            recipient = self._find_recipient(referee_id)
            if recipient is None:
                return
            assignment = self._assignment(match, recipient.token)
            await self._ledger.wait_written()
            try:
                ack = await ask(self._world.caller, recipient.url, assignment, m.MatchAssignmentAck)
            except (CallFailed, CallerLate):
                # ``watch`` decides whether the referee is lost.
                pass
            except (RpcRefusal, ProtocolError) as error:
                # A referee that is starting again does not know its manager yet.
                if isinstance(error, ProtocolError) or not (
                    is_transient(error) or error_code_of(error) in ("E011", "E012")
                ):
                    self._void(match, attempt, f"{referee_id} refused the assignment: {error}")
                    return
            else:
                if ack.status == "ACCEPTED":
                    return
                # It may still play a match that the manager has ended. Later it accepts this one, or is overdue.
                log.warning("%s did not take %s: %s", referee_id, match_id, ack.reason)
                refusals += 1
                if refusals >= MAX_REFUSALS and len(available_referees(self._ledger.league)) > 1:
                    self._void(match, attempt, f"{referee_id} did not take it: {str(ack.reason)[:MAX_REASON_CHARS]}")
                    return
            await asyncio.sleep(PING_PAUSE_SECONDS)

    async def watch(self, *, takes_over: bool) -> None:
        """Ping the referees that have matches or are lost. Void attempts that take longer than a match can take.

        If this manager takes the league over from another one, referees may have died with that one: it finds them
        soon.
        """
        missed: dict[str, int] = {}
        quick_pings = MAX_MISSED_PINGS if takes_over else 0
        while True:
            await asyncio.sleep(QUICK_PAUSE_SECONDS if quick_pings > 0 else PING_PAUSE_SECONDS)
            quick_pings -= 1
            watched = [
                one
                for one in self._ledger.league.referees.values()
                if (one.assigned_matches or one.lost) and not self._returning.is_expected(one.id)
            ]
            alive = await asyncio.gather(*(self._answers(referee.id) for referee in watched))
            before, missed = missed, {}
            for referee, answered in zip(watched, alive, strict=True):
                missed[referee.id] = 0 if answered else before.get(referee.id, 0) + 1
                if answered and referee.lost:
                    log.info("%s is back", referee.id)
                    self._ledger.record(commands.referee_returned(self._ledger.league, referee.id, self._now()))
                elif missed[referee.id] >= MAX_MISSED_PINGS and not referee.lost:
                    reason = f"{referee.id} left {MAX_MISSED_PINGS} pings unanswered"
                    log.warning("%s; its matches are assigned again", reason)
                    self._ledger.record(commands.referee_lost(self._ledger.league, referee.id, reason, self._now()))
            self._void_overdue()

    async def _answers(self, referee_id: str) -> bool:
        recipient = self._find_recipient(referee_id)
        return recipient is not None and await answers_ping(self._world.caller, recipient.url, PING_SECONDS, referee_id)

    def _void_overdue(self) -> None:
        league = self._ledger.league
        limit = max_match_seconds(league.settings.time_limits, game(league.settings.game_name).max_turns)
        now = asyncio.get_running_loop().time()
        # A referee that shows its own token knows only the documents: it begins all its matches on the announcement.
        # It may have more of them than it can play at the same time. So the number of its matches is part of the key:
        # each match that it ends restarts the time of the others.
        in_play = {
            (name, league.matches[name].attempt, len(referee.assigned_matches) if referee.shows_own_token else 0): name
            for referee in league.referees.values()
            for name in referee.assigned_matches
        }
        # The limit is that of the first look: the operator may change the settings while a match is in play.
        self._seen_since = {key: self._seen_since.get(key, (now, limit)) for key in in_play}
        for key, name in in_play.items():
            match, (since, limit) = league.matches[name], self._seen_since[key]
            if (seconds := now - since) > limit:
                reason = f"{match.referee_id} has had it for {seconds:.0f} s, longer than a match can take"
                self._void(match, match.attempt, reason)

    def _void(self, match: Match, attempt: int, reason: str) -> None:
        if match.in_play and match.attempt == attempt:
            log.warning("%s, attempt %d, is void: %s", match.id, attempt, reason)
            self._ledger.record(commands.void_attempt(self._ledger.league, match.id, attempt, reason, self._now()))

    def _assignment(self, match: Match, token: str) -> m.MatchAssignment:
        settings = self._ledger.league.settings
        seed = match_seed(bytes.fromhex(settings.seed_hex or ""), match.id, match.attempt)
        return m.MatchAssignment(
            **m.envelope(MANAGER, self._world.now(), match_conversation(match.id, match.attempt)),
            auth_token=token,
            league_id=settings.league_id,
            round_id=match.round_id,
            match_id=match.id,
            game_type=settings.game_type,
            attempt=match.attempt,
            match_seed=seed.hex(),
            time_limits=settings.time_limits,
            player_A=self._assigned_player(match.a, match),
            player_B=self._assigned_player(match.b, match),
            profile=UNSET if settings.profile == "spec" else settings.profile,
            game_args=settings.game_args,
        )

    def _assigned_player(self, player_id: str, match: Match) -> m.AssignedPlayer:
        league = self._ledger.league
        player = league.players[player_id]
        scope = (player.key, league.settings.league_id, match.id, match.attempt, match.referee_id or "")
        return m.AssignedPlayer(
            player_id=player_id,
            endpoint=player.meta.contact_endpoint,
            state=player.state,
            move_retries=0 if player.left_move_unanswered else UNSET,
            record=league.table.rows[player_id].record,
            display_name=player.meta.display_name,
            form=player.form or UNSET,
            shown_token=tokens.referee_to_player(*scope),
            expected_token=tokens.player_to_referee(*scope),
            verifier=player.registered.verifier,
        )


def max_match_seconds(limits: m.TimeLimits, turns: int) -> float:
    """The duration of a match in which every call is answered at the last moment of its last retry."""
    pauses = sum(
        limits.retry_seconds * (2**retry if limits.backoff == "exponential" else 1)
        for retry in range(limits.max_retries)
    )
    tries = limits.max_retries + 1
    join, choice = limits.join_seconds * tries + pauses, limits.choice_seconds * tries + pauses
    return join + turns * choice + limits.game_over_seconds + REFEREE_SLACK_SECONDS
