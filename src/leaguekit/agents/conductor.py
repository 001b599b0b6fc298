"""What the manager does by itself: starts the league, announces rounds, hands out matches, watches referees.

It reacts to events of the ledger. Everything that it sends waits until what it depends on is written down.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from leaguekit.agents.broadcasts import Broadcasts, Parcel, Recipient, parcel
from leaguekit.agents.calls import ask, reachable
from leaguekit.agents.ledger import Ledger
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.league import commands, queries
from leaguekit.league import events as e
from leaguekit.league.records import Match, Referee
from leaguekit.league.results import MOST_FAILURES
from leaguekit.league.rounds import living_referees
from leaguekit.match.draw import match_seed
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.transport.base import CallerLate, CallFailed

log = logging.getLogger(__name__)

# How long a round's matches wait for players to answer its announcement.
ANNOUNCEMENT_SECONDS = 10.0
PING_EVERY = 2.0
PING_SECONDS = 2.0
PINGS_MISSED = 3
# What a referee may need beyond its players' limits: its own calls and reports.
REFEREE_SLACK = 20.0


class Conductor:
    """Conducts one league. ``run`` ends when everybody has been told that the league is over."""

    def __init__(self, world: World, ledger: Ledger, recipient: Callable[[str], Recipient | None]) -> None:
        self._world = world
        self._ledger = ledger
        self._recipient = recipient
        self.broadcasts = Broadcasts(world, recipient, self._is_suspended, self._heard)
        self.progress: dict[str, m.MatchProgress] = {}
        # How many of each must be there for the league to start by itself; None waits for the operator.
        self.start_when: tuple[int, int] | None = None
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._completed = asyncio.Event()
        # What is to go out once it is written down; nobody is told of the league's end before that.
        self._publishing: set[asyncio.Task[Any]] = set()
        self._is_over = False
        self._first_match_at: float | None = None
        self._ended_at: float | None = None
        self._failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        ledger.listeners.append(self._react)

    async def run(self) -> None:
        """Conduct the league from wherever it stands to its end. Raises StoreError if the log cannot be written."""
        self._task(self._watch_referees())
        conducting = self._task(self._conduct())
        failures = (self._ledger.failed, self._failed)
        await asyncio.wait([conducting, *failures], return_when=asyncio.FIRST_COMPLETED)
        for failed in failures:
            if failed.done():
                raise failed.result()
        conducting.result()

    async def close(self) -> None:
        self.broadcasts.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def course(self) -> dict[str, Any]:
        """How long the league has been in play, and whether everybody has been told of its end."""
        now = asyncio.get_running_loop().time()
        since, until = self._first_match_at, now if self._ended_at is None else self._ended_at
        seconds = 0.0 if since is None else until - since
        return {"seconds": round(seconds, 3), "everybody_told": self._completed.is_set()}

    def look_again(self) -> None:
        """Something outside the log has changed."""
        self._changed.set()

    def _task(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None and not self._failed.done():
            # A failed write, or a fault of ours: nothing may go on as if it had not happened.
            self._failed.set_result(error)

    def _now(self) -> str:
        return times.written(self._world.now())

    # The course of the league

    async def _conduct(self) -> None:
        league = self._ledger.league
        while league.state != "LEAGUE_COMPLETED":
            self._changed.clear()
            if league.is_open and self._may_start():
                self._ledger.record(commands.start(league, self._now()))
            if events := commands.announce_round(league, self._now()):
                self._ledger.record(events)
                await self._announce(league.current_round)
            if events := commands.assign(league, self._now()):
                self._ledger.record(events)
            if not self._changed.is_set():
                await self._changed.wait()
        await self._say_goodbye()

    def _may_start(self) -> bool:
        if self.start_when is None:
            return False
        players, referees = self.start_when
        league = self._ledger.league
        return len(league.table.rows) >= max(players, 2) and len(living_referees(league)) >= max(referees, 1)

    async def _announce(self, round_id: int) -> None:
        """Tell everybody of a round; its matches begin after the lead, when all have answered or had the time to."""
        league = self._ledger.league
        loop = asyncio.get_running_loop()
        to_players, to_referees = (self._announcement(round_id, to_referees=copy) for copy in (False, True))
        await self._ledger.settled()
        begins = loop.time() + league.settings.announce_lead
        latest = loop.time() + max(ANNOUNCEMENT_SECONDS, league.settings.announce_lead)
        for referee in league.referees:
            self.broadcasts.announce(referee, to_referees)
        expected = [self.broadcasts.announce(player, to_players) for player in league.players]
        log.info("round %d is announced", round_id, extra={"message_type": "ROUND_ANNOUNCEMENT"})
        if expected:
            await asyncio.wait(expected, timeout=latest - loop.time())
        if (rest := begins - loop.time()) > 0:
            await asyncio.sleep(rest)

    def _announcement(self, round_id: int, *, to_referees: bool) -> Parcel:
        league = self._ledger.league
        return parcel(
            m.RoundAnnouncement(
                **self._envelope(f"conv-round-{round_id}-announce"),
                league_id=league.settings.league_id,
                round_id=round_id,
                matches=queries.announced_matches(league, round_id, to_referees=to_referees),
            )
        )

    async def _say_goodbye(self) -> None:
        """Tell everybody that the league is over, each after everything else."""
        self._is_over = True
        league = self._ledger.league
        told = m.LeagueCompleted(
            **self._envelope("conv-league-complete"),
            league_id=league.settings.league_id,
            total_rounds=len(league.rounds),
            total_matches=len(league.matches),
            champion=queries.champion(league),
            final_standings=queries.final_standings(league),
            total_players=len(league.table.rows),
        )
        message = parcel(told)
        shown = {row.player_id for row in told.final_standings}
        messages = dict.fromkeys([*league.players, *league.referees], message)
        for player in [one for one in league.table.rows if one not in shown]:
            told.final_standings = queries.final_standings(league, player)
            messages[player] = parcel(told)
        await self._ledger.settled()
        while self._publishing:
            await asyncio.wait(self._publishing)
        log.info("the league is over", extra={"message_type": "LEAGUE_COMPLETED"})
        await asyncio.gather(*(self.broadcasts.tell_last(agent, told) for agent, told in messages.items()))
        self._completed.set()

    # What follows from events

    def _react(self, event: e.Event) -> None:
        match event:
            case e.MatchAssigned():
                if self._first_match_at is None:
                    self._first_match_at = asyncio.get_running_loop().time()
                self._task(self._hand_over(event))
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected() | e.MatchReplayed():
                self.progress.pop(event.match_id, None)
                self._publish_standings()
            case e.AttemptVoided():
                self.progress.pop(event.match_id, None)
            case e.RoundCompleted():
                self._close_round(event.round_id)
            case e.RefereeRegistered():
                # It may have forgotten what it has in hand; one that has not takes no harm.
                for name in self._ledger.league.referees[event.referee_id].in_hand:
                    self._task(self._hand_over(self._in_hand(name)))
            case e.LeagueCompleted():
                self._ended_at = asyncio.get_running_loop().time()
        self._changed.set()

    def _publish(self, send: Callable[[], None]) -> None:
        """Send what has been made of the league as it is now, once that is written down."""

        latest = self._ledger.latest

        async def published() -> None:
            await self._ledger.settled(latest)
            send()

        task = self._task(published())
        self._publishing.add(task)
        task.add_done_callback(self._publishing.discard)

    def _publish_standings(self) -> None:
        if not self._is_over:
            updates = self._standings()
            self._publish(lambda: self._send_standings(updates, closing=False))

    def _send_standings(self, updates: dict[str, Parcel], *, closing: bool) -> None:
        for player, update in updates.items():
            self.broadcasts.standings(player, update, closing=closing)

    def _standings(self) -> dict[str, Parcel]:
        """The standings as they are now, for each player."""
        league = self._ledger.league
        update = m.LeagueStandingsUpdate(
            **self._envelope(f"conv-round-{league.current_round}-standings"),
            league_id=league.settings.league_id,
            round_id=league.current_round,
            standings=queries.standings(league),
            total_players=len(league.table.rows),
        )
        updates = dict.fromkeys(league.players, parcel(update))
        shown = {row.player_id for row in update.standings}
        for player in [one for one in league.table.rows if one not in shown]:
            update.standings = queries.standings(league, player)
            updates[player] = parcel(update)
        return updates

    def _close_round(self, round_id: int) -> None:
        league = self._ledger.league
        updates = self._standings()
        summary = queries.round_summary(league, round_id)
        message = parcel(
            m.RoundCompleted(
                **self._envelope(f"conv-round-{round_id}-complete"),
                league_id=league.settings.league_id,
                round_id=round_id,
                matches_completed=summary.total_matches,
                matches_played=summary.total_matches,
                next_round_id=queries.next_round_id(league, round_id),
                summary=summary,
            )
        )
        agents = [*league.players, *league.referees]

        def send() -> None:
            self._send_standings(updates, closing=True)
            for agent in agents:
                self.broadcasts.tell(agent, message)
            log.info("round %d is over", round_id, extra={"message_type": "ROUND_COMPLETED"})

        self._publish(send)

    # Matches and their referees

    async def _hand_over(self, event: e.MatchAssigned) -> None:
        """Give a match to its referee, until the referee has it or the attempt is void."""
        match = self._ledger.league.matches[event.match_id]
        while match.in_play and match.attempt == event.attempt:
            recipient = self._recipient(event.referee_id)
            if recipient is None:
                return
            assignment = self._assignment(match, event, recipient.token)
            await self._ledger.settled()
            try:
                ack = await ask(self._world.caller, recipient.url, assignment, m.MatchAssignmentAck)
            except (CallFailed, CallerLate):
                # Whether the referee is gone is for those who watch it to say.
                await asyncio.sleep(PING_EVERY)
                continue
            except (RpcRefusal, ProtocolError) as error:
                self._void(event, f"{event.referee_id} refused the assignment: {error}")
                return
            if ack.status == "ACCEPTED":
                return
            # It may still be busy with a match that the manager has ended; in time it is free, or overdue.
            log.warning("%s did not take %s: %s", event.referee_id, event.match_id, ack.reason)
            await asyncio.sleep(PING_EVERY)

    def _void(self, event: e.MatchAssigned, reason: str) -> None:
        match = self._ledger.league.matches[event.match_id]
        if match.in_play and match.attempt == event.attempt:
            log.warning("%s, attempt %d, is void: %s", event.match_id, event.attempt, reason)
            self._ledger.record(
                commands.void_attempt(self._ledger.league, event.match_id, event.attempt, reason, self._now())
            )

    def _in_hand(self, match_id: str) -> e.MatchAssigned:
        """The assignment of a match that a referee has in hand."""
        match = self._ledger.league.matches[match_id]
        return e.MatchAssigned(
            at=self._now(), match_id=match_id, referee_id=match.referee_id or "", attempt=match.attempt
        )

    def _assignment(self, match: Match, event: e.MatchAssigned, token: str) -> m.MatchAssignment:
        league = self._ledger.league
        settings = league.settings
        seed = match_seed(bytes.fromhex(settings.seed_hex or ""), match.id, event.attempt)
        return m.MatchAssignment(
            **self._envelope(match_conversation(match.id, event.attempt)),
            auth_token=token,
            league_id=settings.league_id,
            round_id=match.round_id,
            match_id=match.id,
            game_type=settings.game_type,
            attempt=event.attempt,
            match_seed=seed.hex(),
            time_limits=settings.time_limits,
            player_A=self._assigned(match.a, match.id, event),
            player_B=self._assigned(match.b, match.id, event),
        )

    def _assigned(self, player_id: str, match_id: str, event: e.MatchAssigned) -> m.AssignedPlayer:
        league = self._ledger.league
        player = league.players[player_id]
        purpose = (player.key, league.settings.league_id, match_id, event.attempt, event.referee_id)
        return m.AssignedPlayer(
            player_id=player_id,
            endpoint=player.meta.contact_endpoint,
            state=player.state,
            record=queries.own_record(league, player_id),
            display_name=player.meta.display_name,
            shown_token=tokens.referee_to_player(*purpose),
            expected_token=tokens.player_to_referee(*purpose),
            verifier=player.registered.verifier,
        )

    async def _watch_referees(self) -> None:
        """Ping the referees that have matches in hand, or are lost, and void what takes longer than it can."""
        missed: dict[str, int] = {}
        while True:
            await asyncio.sleep(PING_EVERY)
            watched = [one for one in self._ledger.league.referees.values() if one.in_hand or one.lost]
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
        if recipient is None:
            return False
        try:
            await reachable(self._world.caller, recipient.url, PING_SECONDS)
        except CallerLate:
            return True
        except CallFailed:
            return False
        return True

    def _void_overdue(self) -> None:
        league = self._ledger.league
        limit = longest_match(league.settings.time_limits, game(league.settings.game_type).most_turns)
        now = self._world.now()
        for referee in league.referees.values():
            for name in list(referee.in_hand):
                match = league.matches[name]
                since = (now - times.read(match.assigned_at or self._now())).total_seconds()
                if since > limit:
                    reason = f"{referee.id} has had it for {since:.0f} s, longer than a match can take"
                    self._void(self._in_hand(name), reason)

    # Agents

    def _is_suspended(self, agent_id: str) -> bool:
        """Whether an agent has left too much unanswered; its state no longer says so once the league is over."""
        agent = self._ledger.league.agent(agent_id)
        if isinstance(agent, Referee):
            return agent.lost
        return agent is not None and agent.failures >= MOST_FAILURES

    def _heard(self, agent_id: str, failures: int) -> None:
        league, now = self._ledger.league, self._now()
        note = commands.note_failures(league, agent_id, failures, now) if failures else None
        self._ledger.record(commands.note_answer(league, agent_id, now) if note is None else note)

    def _envelope(self, conversation_id: str) -> m.Envelope:
        return m.envelope(MANAGER, self._world.now(), conversation_id)


def longest_match(limits: m.TimeLimits, turns: int) -> float:
    """How long a match can take when every call is answered at the last moment of its last retry."""
    waits = sum(
        limits.retry_seconds * (2**retry if limits.backoff == "exponential" else 1)
        for retry in range(limits.max_retries)
    )
    tries = limits.max_retries + 1
    join, choice = limits.join_seconds * tries + waits, limits.choice_seconds * tries + waits
    return join + turns * choice + limits.game_over_seconds + REFEREE_SLACK
