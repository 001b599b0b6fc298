"""Matches in the hands of referees: handed over, watched, and taken back when the referee is lost or takes too long."""

from __future__ import annotations

import asyncio
import logging

from msgspec import UNSET

from leaguekit.agents.calls import ask, cause_of, is_there, passes
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.league import commands, queries
from leaguekit.league.records import Match
from leaguekit.league.rounds import available_referees
from leaguekit.manager.broadcasts import RecipientLookup
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.returning_agents import ReturningAgents
from leaguekit.match.draw import match_seed
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.transport.base import CallerLate, CallFailed

log = logging.getLogger(__name__)

PING_EVERY = 2.0
PING_SECONDS = 2.0
PINGS_MISSED = 3
# How often a referee refuses a match until another gets it, and how much of its reason is written down.
MAX_REFUSALS = 5
MAX_REASON = 200
# What a referee may need beyond its players' limits: its own calls and reports.
REFEREE_SLACK = 20.0


class Assignments:
    """The matches in play. Everything sent waits until what it depends on is written down."""

    def __init__(self, world: World, ledger: Ledger, recipient: RecipientLookup, attendance: ReturningAgents) -> None:
        self._world = world
        self._ledger = ledger
        self._recipient = recipient
        self._attendance = attendance
        # Since when this process has known an attempt in play. Not by the wall clock, which may be set, and goes on
        # while the manager is down.
        self._since: dict[tuple[str, int, int], float] = {}

    async def send_assignment(self, match_id: str) -> None:
        """Give a match to its referee, until the referee has it or the attempt is void.

        One that begins on the announcement is not called: it has the match since then.

        A referee that has it already goes on, one that has ruled delivers that, and one that has forgotten it plays it
        anew: it is the same attempt, with the same draw.
        """
        match = self._ledger.league.matches[match_id]
        attempt, referee_id = match.attempt, match.referee_id or ""
        if self._ledger.league.referees[referee_id].shows_own_token:
            return
        await self._attendance.there(referee_id, *match.players)
        refusals = 0
        while match.in_play and match.attempt == attempt:
            recipient = self._recipient(referee_id)
            if recipient is None:
                return
            assignment = self._assignment(match, recipient.token)
            await self._ledger.wait_written()
            try:
                ack = await ask(self._world.caller, recipient.url, assignment, m.MatchAssignmentAck)
            except (CallFailed, CallerLate):
                # Whether the referee is gone is for those who watch it to say.
                await asyncio.sleep(PING_EVERY)
                continue
            except (RpcRefusal, ProtocolError) as error:
                if isinstance(error, RpcRefusal) and (passes(error) or cause_of(error) in ("E011", "E012")):
                    # It is starting again, and does not know its manager yet.
                    await asyncio.sleep(PING_EVERY)
                    continue
                self._void(match, attempt, f"{referee_id} refused the assignment: {error}")
                return
            if ack.status == "ACCEPTED":
                return
            # It may still be busy with a match that the manager has ended; in time it is free, or overdue.
            log.warning("%s did not take %s: %s", referee_id, match_id, ack.reason)
            refusals += 1
            if refusals >= MAX_REFUSALS and len(available_referees(self._ledger.league)) > 1:
                self._void(match, attempt, f"{referee_id} did not take it: {str(ack.reason)[:MAX_REASON]}")
                return
            await asyncio.sleep(PING_EVERY)

    async def watch(self) -> None:
        """Ping the referees that have matches in hand, or are lost, and void what takes longer than it can."""
        missed: dict[str, int] = {}
        while True:
            await asyncio.sleep(PING_EVERY)
            watched = [
                one
                for one in self._ledger.league.referees.values()
                if (one.assigned_matches or one.lost) and not self._attendance.expects(one.id)
            ]
            alive = await asyncio.gather(*(self._answers(referee.id) for referee in watched))
            missed = {
                referee.id: 0 if answered else missed.get(referee.id, 0) + 1
                for referee, answered in zip(watched, alive, strict=True)
            }
            for referee, answered in zip(watched, alive, strict=True):
                if answered and referee.lost:
                    log.info("%s is back", referee.id)
                    self._ledger.record(commands.referee_returned(self._ledger.league, referee.id, self._now()))
                elif missed[referee.id] >= PINGS_MISSED and not referee.lost:
                    reason = f"{referee.id} left {PINGS_MISSED} pings unanswered"
                    log.warning("%s; its matches are assigned again", reason)
                    self._ledger.record(commands.referee_lost(self._ledger.league, referee.id, reason, self._now()))
            self._void_overdue()

    async def _answers(self, referee_id: str) -> bool:
        recipient = self._recipient(referee_id)
        return recipient is not None and await is_there(self._world.caller, recipient.url, referee_id, PING_SECONDS)

    def _void_overdue(self) -> None:
        league = self._ledger.league
        limit = max_match_seconds(league.settings.time_limits, game(league.settings.game_type).max_turns)
        now = asyncio.get_running_loop().time()
        # A referee that begins on the announcement has more matches than it plays at once: each that it ends gives the
        # others new time.
        in_play = {
            (name, league.matches[name].attempt, len(referee.assigned_matches) if referee.shows_own_token else 0): name
            for referee in league.referees.values()
            for name in referee.assigned_matches
        }
        self._since = {key: self._since.get(key, now) for key in in_play}
        for key, name in in_play.items():
            match, since = league.matches[name], now - self._since[key]
            if since > limit:
                reason = f"{match.referee_id} has had it for {since:.0f} s, longer than a match can take"
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
            player_A=self._assigned(match.a, match),
            player_B=self._assigned(match.b, match),
            profile=UNSET if settings.profile == "spec" else settings.profile,
        )

    def _assigned(self, player_id: str, match: Match) -> m.AssignedPlayer:
        league = self._ledger.league
        player = league.players[player_id]
        purpose = (player.key, league.settings.league_id, match.id, match.attempt, match.referee_id or "")
        return m.AssignedPlayer(
            player_id=player_id,
            endpoint=player.meta.contact_endpoint,
            state=player.state,
            record=queries.own_record(league, player_id),
            display_name=player.meta.display_name,
            form=player.form or UNSET,
            shown_token=tokens.referee_to_player(*purpose),
            expected_token=tokens.player_to_referee(*purpose),
            verifier=player.registered.verifier,
        )

    def _now(self) -> str:
        return times.format_timestamp(self._world.now())


def max_match_seconds(limits: m.TimeLimits, turns: int) -> float:
    """How long a match can take when every call is answered at the last moment of its last retry."""
    waits = sum(
        limits.retry_seconds * (2**retry if limits.backoff == "exponential" else 1)
        for retry in range(limits.max_retries)
    )
    tries = limits.max_retries + 1
    join, choice = limits.join_seconds * tries + waits, limits.choice_seconds * tries + waits
    return join + turns * choice + limits.game_over_seconds + REFEREE_SLACK
