"""Runs the league: starts it, announces rounds, assigns matches, and informs all agents of the results.

The runner reacts to events of the ledger. A message is sent only when the events that it depends on are written. A
league that was interrupted continues from its log. A message that may not have been sent is then sent again, because
agents accept repeated messages.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime
from typing import Any

from leaguekit.agents.tasks import Tasks, cancel
from leaguekit.agents.world import World
from leaguekit.formats import parse_format
from leaguekit.league import commands, queries
from leaguekit.league import events as e
from leaguekit.league.commands.results import MAX_FAILURES
from leaguekit.league.commands.rounds import MAX_MATCHES, available_referees, match_count, start_fault
from leaguekit.manager.broadcasts import Broadcasts, RecipientLookup
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.rounds.announcements import Announcements
from leaguekit.manager.rounds.assignments import Assignments
from leaguekit.manager.rounds.final_messages import FinalMessages
from leaguekit.manager.rounds.league_messages import round_completed
from leaguekit.manager.rounds.outages import Outages
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from leaguekit.manager.rounds.progress_reports import ProgressReports
from leaguekit.manager.rounds.publishing import SendQueue, StandingsPublisher
from leaguekit.manager.rounds.returning_agents import ReturningAgents
from leaguekit.protocol import times

log = logging.getLogger(__name__)

# How long a match waits after its first and its second void attempt. A fault of the host may pass meanwhile.
VOID_PAUSES = (5.0, 60.0)
# The interval at which the wall clock is read before the start.
CLOCK_SECONDS = 10.0
# The key of a value beside the log. The value is the last round whose end was sent to all agents. When the end of the
# league was sent to all agents, it is "all" and the number of the last event at that time.
NOTIFIED_KEY = "told"
ALL = b"all"


async def _do_nothing() -> None: ...


class LeagueRunner:
    """Runs one league. ``run`` ends when all agents have got the message that the league has ended."""

    def __init__(
        self, world: World, ledger: Ledger, find_recipient: RecipientLookup, *, takes_over: bool = False
    ) -> None:
        self._world = world
        self._takes_over = takes_over
        self._now = world.timestamp
        self._ledger = ledger
        self._returning = ReturningAgents(world.caller, find_recipient)
        self._assignments = Assignments(world, ledger, find_recipient, self._returning)
        self.broadcasts = Broadcasts(world, find_recipient, self._is_suspended, self._note_outcome, self._wait_to_send)
        self._send_queue = SendQueue(ledger)
        self._standings = StandingsPublisher(world, ledger, self._send_queue, self.broadcasts)
        self.standings_delays = self._standings.delays
        self.progress = ProgressReports(ledger)
        # The league starts by itself with this many players and referees. None waits for the operator.
        self.start_when: tuple[int, int] | None = None
        # Called before the league starts by itself.
        self.before_start: Callable[[], Awaitable[None]] = _do_nothing
        # From this time on, the league starts as soon as two players and one referee have registered.
        self.start_at: str | None = None
        # Matches that are not assigned yet, because their last attempt was void.
        self._paused: dict[str, asyncio.TimerHandle] = {}
        # By match, the number of attempts that were void and not counted.
        self._uncounted_voids: Counter[str] = Counter()
        self._changed = asyncio.Event()
        # Checks again whether the league can start or go on, after a change that is not an event.
        self.wake = self._changed.set
        self.outages = Outages(world.caller, ledger, find_recipient, self.wake)
        self._tasks = Tasks(self._fail)
        self._announcements = Announcements(
            world,
            ledger,
            self.broadcasts,
            self._send_queue,
            returning=self._returning,
            tasks=self._tasks,
            is_suspended=self._is_suspended,
        )
        self._final_messages = FinalMessages(world, ledger, self.broadcasts)
        self._completed = asyncio.Event()
        self._is_over = False
        # Why the next round cannot be drawn.
        self._draw_problem: str | None = None
        self._first_match_at: float | None = None
        self._ended_at: float | None = None
        self._failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        ledger.listeners.append(self._react)

    async def run(self) -> None:
        """Run the league from its present state to its end. Raises StoreError if the log cannot be written."""
        self._tasks.start(self._assignments.watch(takes_over=self._takes_over))
        self._tasks.start(self.outages.watch())
        self._tasks.start(self._send_queue.run())
        if self.start_at is not None:
            self._tasks.start(self._start_at_time(times.parse_timestamp(self.start_at)))
        self._tasks.start(self._run_league())
        over = self._tasks.start(self._completed.wait())
        failures = (self._ledger.failed, self._failed)
        await asyncio.wait([over, *failures], return_when=asyncio.FIRST_COMPLETED)
        for failed in failures:
            if failed.done():
                raise failed.result()

    async def close(self) -> None:
        self._returning.close()
        self.broadcasts.close()
        self._standings.close()
        await cancel(*self._tasks)

    def play_status(self) -> dict[str, Any]:
        """How long the league has been in play, and whether all agents have got the message that it has ended."""
        now = asyncio.get_running_loop().time()
        since, until = self._first_match_at, now if self._ended_at is None else self._ended_at
        seconds = 0.0 if since is None else until - since
        return {"seconds": round(seconds, 3), "everybody_told": self._completed.is_set()}

    @property
    def waits_for(self) -> list[str]:
        """What the league waits for, apart from agents and the operator."""
        problem = self.outages.problem
        waits = [] if self._ledger.problem is None else [f"the store: {self._ledger.problem}"]
        waits += [] if problem is None else [f"the network: {problem}"]
        if self._draw_problem is not None:
            waits.append(f"the operator: {self._draw_problem}")
        if self._paused:
            matches = queries.list_matches(self._paused)
            waits.append(f"a pause to end: the last attempt at {matches} was void; `league log` says why")
        if problem is None:
            # During an outage players are silent without a fault.
            waits += self.progress.describe_silences()
        return waits

    def _fail(self, error: BaseException) -> None:
        """Let ``run`` raise what a task has raised: a write has failed, or there is an error in this program."""
        if not self._failed.done():
            self._failed.set_result(error)

    # Starting and running the league

    async def _run_league(self) -> None:
        league = self._ledger.league
        expected = league.players if self._takes_over else (*league.players, *league.referees)
        self._returning.expect(one for one in expected if not self._is_suspended(one))
        self._tasks.start(self._wake_when_all_are_back())
        if league.rounds and await self._resume():
            return
        while league.state != "LEAGUE_COMPLETED":
            self._changed.clear()
            if league.is_open and self._may_start():
                await self.before_start()
            if league.is_open and self._may_start():
                self._ledger.record(commands.start(league, self._now()))
            if not self.outages.is_on and commands.needs_draw(league):
                await self._draw()
            if not self.outages.is_on and (events := commands.announce_round(league, self._now())):
                self._ledger.record(events)
                await self._announcements.wait_until_matches_begin()
            if not self.outages.is_on and (events := commands.assign(league, self._now(), self._paused)):
                self._ledger.record(events)
            if not self._changed.is_set():
                await self._changed.wait()
        await self._finish()

    async def _draw(self) -> None:
        """Let the format draw the next round, or end the league. A change in the meantime makes the draw void."""
        league = self._ledger.league
        before = commands.tournament(league)
        self._draw_problem = None
        try:
            made = parse_format(league.settings.format_text)
            if (ended := made.ended(before)) is not None:
                self._ledger.record(commands.record_end(ended, self._now()))
                return
            engine = Py4Swiss() if made.needs_engine else None
            drawn = await self._world.blocking(made.pair_next_round, before, engine)
        except Exception as error:
            # The format of an author may raise anything. The operator repairs it, and starts the manager again.
            self._draw_problem = f"the next round cannot be drawn: {str(error) or type(error).__name__}"
            log.exception("the next round cannot be drawn")
            return
        if commands.needs_draw(league) and commands.tournament(league) == before:
            self._ledger.record(commands.record_draw(league, drawn, commands.drawn_by(made, engine), self._now()))
        else:
            self._changed.set()

    async def _start_at_time(self, at: datetime) -> None:
        """Let the league start at a time of the wall clock.

        The wall clock is read again and again, because it may be set, and because it goes on while the host sleeps.
        """
        while (left := (at - self._world.now()).total_seconds()) > 0:  # noqa: ASYNC110 - see above
            await asyncio.sleep(min(left, CLOCK_SECONDS))
        self.start_when = (2, 1)
        self.wake()

    async def _resume(self) -> bool:
        """Go on where an earlier run was interrupted. Returns True if there is nothing left to do."""
        league = self._ledger.league
        notified = await self._ledger.log.read_document(NOTIFIED_KEY) or b"0"
        if not re.fullmatch(rb"\d+|all( \d+)?", notified):
            log.warning("the record of sent messages cannot be read: they are sent again")
            notified = b"0"
        if notified.startswith(ALL):
            self._completed.set()
            for agent_id in await self._final_messages.registered_after(
                int(notified.removeprefix(ALL) or self._ledger.number)
            ):
                self._tasks.start(self._final_messages.send_to(agent_id))
            return True
        for referee in league.referees.values():
            for match_id in referee.assigned_matches:
                self._tasks.start(self._assignments.send_assignment(match_id))
        for match_id in league.waiting:
            if league.matches[match_id].voids:
                self._pause(match_id)
        if any(match.attempt for match in league.matches.values()):
            self._first_match_at = asyncio.get_running_loop().time()
        await self._send_again(int(notified))
        return False

    async def _send_again(self, notified_round: int) -> None:
        """Send again what some agents may not have got, in order: ends of rounds, the announcement, the standings.

        All agents have got the end of ``notified_round``.
        """
        league = self._ledger.league
        unsent = [round_.id for round_ in league.rounds if round_.completed and round_.id > notified_round]
        for round_id in unsent:
            self._close_round(round_id)
        if league.state == "LEAGUE_COMPLETED":
            self._ended_at = self._first_match_at
            return
        matches = league.rounds[league.current_round - 1].matches
        has_begun = league.round_in_play and any(league.matches[one].attempt for one in matches)
        waits = league.round_in_play and not has_begun
        if waits:
            self._announcements.announce(league.current_round, [*league.players, *league.referees])
        elif has_begun and unsent:
            # An agent that has not got the end of the last round has not got the announcement of this one either.
            self._announcements.announce(league.current_round, [*league.players])
        if league.current_round and (has_begun or not unsent):
            self._standings.publish_now()
        if waits:
            await self._announcements.wait_until_matches_begin()

    async def _wake_when_all_are_back(self) -> None:
        await self._returning.wait_for(*self._ledger.league.players, *self._ledger.league.referees)
        self._changed.set()

    def _may_start(self) -> bool:
        league = self._ledger.league
        if self.start_when is None or any(map(self._returning.is_expected, (*league.players, *league.referees))):
            return False
        players, referees = self.start_when
        count = len(league.table.rows)
        if match_count(league.settings, count) > MAX_MATCHES or start_fault(league.settings, count) is not None:
            return False
        return count >= max(players, 2) and len(available_referees(league)) >= max(referees, 1)

    async def _finish(self) -> None:
        """Send the end of the league to all agents, to each after all its other messages."""
        self._is_over = True
        self._standings.close()
        messages, number = self._final_messages.make(), self._ledger.number
        await self._ledger.wait_written()
        await self._send_queue.join()
        log.info("the league is over", extra={"message_type": "LEAGUE_COMPLETED"})
        undelivered = await self._final_messages.send(messages)
        self._completed.set()
        await self._final_messages.retry(undelivered)
        await self._ledger.log.write_document(NOTIFIED_KEY, b"%b %d" % (ALL, number))

    # Reacting to events

    def _react(self, event: e.Event) -> None:
        match event:
            case e.MatchAssigned():
                if self._first_match_at is None:
                    self._first_match_at = asyncio.get_running_loop().time()
                self._hand_over(event.match_id, event.referee_id)
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected() | e.MatchReplayed():
                self.progress.forget(event.match_id)
                self._end_pause(event.match_id)
                self._standings.schedule()
            case e.AttemptVoided():
                self.progress.forget(event.match_id)
                self._pause(event.match_id, outage=event.outage)
            case e.RoundAnnounced():
                self._announcements.announce(
                    event.round_id, [*self._ledger.league.players, *self._ledger.league.referees]
                )
            case e.RoundCompleted():
                self._close_round(event.round_id)
            case e.PlayerRegistered():
                # The referee of its match needs its present endpoint and token.
                playing = self._ledger.league.players[event.player_id].playing
                self._resend_to(event.player_id, [] if playing is None else [playing])
            case e.RefereeRegistered():
                # It may have forgotten its matches. If it has not, it ignores the repetition.
                self._resend_to(event.referee_id, self._ledger.league.referees[event.referee_id].assigned_matches)
            case e.LeagueCompleted():
                self._ended_at = asyncio.get_running_loop().time()
        self._changed.set()

    def _pause(self, match_id: str, *, outage: bool = False) -> None:
        """Let a match wait before its next attempt. A match of a lost referee is assigned to another one at once."""
        league = self._ledger.league
        match = league.matches[match_id]
        if match.held or league.referees[match.referee_id or ""].lost:
            return
        self._uncounted_voids[match_id] += outage
        number = self._uncounted_voids[match_id] if outage else match.voids
        self._end_pause(match_id)
        seconds = VOID_PAUSES[min(number, len(VOID_PAUSES)) - 1]
        self._paused[match_id] = asyncio.get_running_loop().call_later(seconds, self._end_pause, match_id)

    def _end_pause(self, match_id: str) -> None:
        if (timer := self._paused.pop(match_id, None)) is not None:
            timer.cancel()
            self._changed.set()

    def _hand_over(self, match_id: str, referee_id: str) -> None:
        """Send a match to its referee: by an assignment, or by the announcement if the referee knows only that."""
        if not self._ledger.league.referees[referee_id].shows_own_token:
            self._tasks.start(self._assignments.send_assignment(match_id))
        else:
            self._announcements.announce_match(match_id, referee_id)

    def _resend_to(self, agent_id: str, in_play: Iterable[str]) -> None:
        """Hand over the matches of an agent again that has just registered. Send it the end of the league, too."""
        for match_id in in_play:
            if agent_id in self._ledger.league.referees:
                self._hand_over(match_id, agent_id)
            else:
                self._tasks.start(self._assignments.send_assignment(match_id))
        if self._ledger.league.state == "LEAGUE_COMPLETED":
            self._tasks.start(self._final_messages.send_to(agent_id))

    def _close_round(self, round_id: int) -> None:
        """Send the standings and the end of a round to all agents."""
        league = self._ledger.league
        self._standings.cancel()
        # After a restart the next round may have results already. Then the table is not that of the end of this round.
        is_newest = all(one.remaining == len(one.matches) for one in league.rounds[round_id:])
        updates, since = self._standings.make_updates(round_id) if is_newest else ({}, None)
        message = round_completed(league, round_id, self._world.now())
        agents = [*league.players, *league.referees]

        def send() -> None:
            self._standings.send(updates, since, closing=True)
            answered = [self.broadcasts.send(agent, message) for agent in agents]
            self._tasks.start(self._remember_notified(round_id, answered))
            log.info("round %d is over", round_id, extra={"message_type": "ROUND_COMPLETED"})

        self._send_queue.put(send)

    async def _remember_notified(self, round_id: int, answered: list[asyncio.Future[bool]]) -> None:
        """Store, for the next start, that the end of a round was sent to all agents."""
        await asyncio.wait(answered)
        if not self._is_over:
            await self._ledger.log.write_document(NOTIFIED_KEY, b"%d" % round_id)

    # Agents

    def _is_suspended(self, agent_id: str) -> bool:
        """Whether an agent has left too many messages unanswered.

        The failures are counted here, because the agent's state does not show this after the end of the league.
        """
        league = self._ledger.league
        if (player := league.players.get(agent_id)) is not None:
            return player.failures >= MAX_FAILURES
        referee = league.referees.get(agent_id)
        return referee is not None and referee.lost

    async def _wait_to_send(self, agent_id: str) -> None:
        """Wait until an agent may be called. Raises StoreError if another manager has taken the league over."""
        await self._returning.wait_for(agent_id)
        if self._ledger.writer_check is not None:
            # This program may have been stopped since the message was made.
            await self._ledger.writer_check.confirm()

    def _note_outcome(self, agent_id: str, failures: int) -> None:
        """Count the failures of a broadcast to an agent. With 0 failures, the agent has answered."""
        league = self._ledger.league
        if failures and not self.outages.is_on:
            self.outages.request_check()
            self._ledger.record(commands.note_failures(league, agent_id, failures, self._now()))
        elif not failures and commands.has_missed_calls(league, agent_id):
            self._ledger.record(commands.note_answer(league, agent_id, self._now()))
