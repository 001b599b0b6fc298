"""What the manager does by itself: starts the league, announces rounds, gives out matches, tells everybody how it goes.

It reacts to events of the ledger. Everything that it sends waits until what it depends on is written down. A league
that was broken off is taken up from its log: what may not have gone out goes out again, for nobody minds a repeat.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from datetime import datetime
from typing import Any, TypeVar

from msgspec import UNSET

from leaguekit.agents.world import World
from leaguekit.league import commands, queries
from leaguekit.league import events as e
from leaguekit.league.records import Round
from leaguekit.league.results import MAX_FAILURES
from leaguekit.league.rounds import available_referees
from leaguekit.league.schedule import MAX_MATCHES, match_count
from leaguekit.manager.assignments import Assignments
from leaguekit.manager.broadcasts import (
    STANDINGS_PAUSE_SECONDS,
    Broadcasts,
    EncodedMessage,
    RecipientLookup,
    encode_message,
)
from leaguekit.manager.ledger import Ledger
from leaguekit.manager.metrics import Histogram
from leaguekit.manager.outages import Outages
from leaguekit.manager.returning_agents import ReturningAgents
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.ids import MANAGER

log = logging.getLogger(__name__)

# How long a round's matches wait for players to answer its announcement.
ANNOUNCEMENT_SECONDS = 10.0
# How long after the end those are told again that could not be told.
FAREWELL_PAUSES = (30.0, 60.0, 120.0, 240.0, 480.0)
# How long a match waits after its first and its second void attempt, so that a fault of the host may pass meanwhile.
VOID_PAUSES = (5.0, 60.0)
# How often the wall clock is looked at before the start.
CLOCK_SECONDS = 10.0
# What is kept beside the log: the last round of whose end everybody has been told, or that all have been told of the
# league's, and the number of the event up to which they had come.
NOTIFIED_KEY = "told"
ALL = b"all"

SentT = TypeVar("SentT")


async def _nothing() -> None: ...


class LeagueRunner:
    """Conducts one league. ``run`` ends when everybody has been told that the league is over."""

    def __init__(self, world: World, ledger: Ledger, recipient: RecipientLookup) -> None:
        self._world = world
        self._ledger = ledger
        self._attendance = ReturningAgents(world.caller, recipient)
        self._assignments = Assignments(world, ledger, recipient, self._attendance)
        self.broadcasts = Broadcasts(world, recipient, self._is_suspended, self._heard, self._attendance.there)
        self.progress: dict[str, m.MatchProgress] = {}
        # How many of each must be there for the league to start by itself; None waits for the operator.
        self.start_when: tuple[int, int] | None = None
        # What is done before the league starts by itself.
        self.before_start: Callable[[], Awaitable[None]] = _nothing
        # At this time the league starts as soon as two players and a referee are there.
        self.start_at: str | None = None
        # Matches of referees that begin on the announcement, until it is sent.
        self._to_announce: dict[str, list[str]] = {}
        # Matches that are not given out yet, because their last attempt was void.
        self._resting: dict[str, asyncio.TimerHandle] = {}
        # How many attempts at a match were void and not counted.
        self._outages_of: Counter[str] = Counter()
        self._changed = asyncio.Event()
        self.outages = Outages(world.caller, ledger, recipient, self._changed.set)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._completed = asyncio.Event()
        # Of the last announcement, once it is sent: whether each agent has answered it.
        self._announced: asyncio.Future[dict[str, asyncio.Future[bool]]]
        # What is to be sent, in the order in which it was decided, each with the write that it waits for.
        self._decided: asyncio.Queue[tuple[asyncio.Future[int] | None, Callable[[], None]]] = asyncio.Queue()
        self._is_over = False
        # Standings that nobody would be sent yet are not made: a large table takes long.
        self._next_standings_at = 0.0
        self._standings_due: asyncio.TimerHandle | None = None
        # Since when there is a result that no standings sent out show, and how long that took.
        self._unpublished_since: float | None = None
        self.standings_delays = Histogram()
        self._first_match_at: float | None = None
        self._ended_at: float | None = None
        self._failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        ledger.listeners.append(self._react)

    async def run(self) -> None:
        """Conduct the league from wherever it stands to its end. Raises StoreError if the log cannot be written."""
        self._task(self._assignments.watch())
        self._task(self.outages.watch())
        self._task(self._publish_decided())
        if self.start_at is not None:
            self._task(self._start_in_time(times.parse_timestamp(self.start_at)))
        self._task(self._conduct())
        over = self._task(self._completed.wait())
        failures = (self._ledger.failed, self._failed)
        await asyncio.wait([over, *failures], return_when=asyncio.FIRST_COMPLETED)
        for failed in failures:
            if failed.done():
                raise failed.result()

    async def close(self) -> None:
        self._attendance.close()
        self.broadcasts.close()
        self._drop_standings()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def course(self) -> dict[str, Any]:
        """How long the league has been in play, and whether everybody has been told of its end."""
        now = asyncio.get_running_loop().time()
        since, until = self._first_match_at, now if self._ended_at is None else self._ended_at
        seconds = 0.0 if since is None else until - since
        return {"seconds": round(seconds, 3), "everybody_told": self._completed.is_set()}

    @property
    def trouble(self) -> str | None:
        """Why the league waits although everybody does what it should; None if it does not."""
        return self.outages.trouble

    @property
    def waits_for(self) -> list[str]:
        """What the league waits for, but for agents and the operator."""
        waits = [] if self.trouble is None else [f"the network: {self.trouble}"]
        if self._resting:
            waits.append(f"a pause to end: the last attempt at {queries.list_matches(self._resting)} was void")
        return waits

    def wake(self) -> None:
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
        return times.format_timestamp(self._world.now())

    def _round(self) -> Round:
        return self._ledger.league.rounds[self._ledger.league.current_round - 1]

    # The course of the league

    async def _conduct(self) -> None:
        league = self._ledger.league
        self._attendance.expect(one for one in (*league.players, *league.referees) if not self._is_suspended(one))
        self._task(self._look_when_all_are_there())
        if league.rounds and await self._take_up():
            return
        while league.state != "LEAGUE_COMPLETED":
            self._changed.clear()
            if league.is_open and self._may_start():
                await self.before_start()
            if league.is_open and self._may_start():
                self._ledger.record(commands.start(league, self._now()))
            if not self.outages.is_on and (events := commands.announce_round(league, self._now())):
                self._ledger.record(events)
                await self._until_matches_begin()
            if not self.outages.is_on and (events := commands.assign(league, self._now(), self._resting)):
                self._ledger.record(events)
            if not self._changed.is_set():
                await self._changed.wait()
        await self._say_goodbye()

    async def _start_in_time(self, at: datetime) -> None:
        """Let the league start at a time of the wall clock, which may be set, and goes on while the host sleeps."""
        while (rest := (at - self._world.now()).total_seconds()) > 0:  # noqa: ASYNC110 - see above
            await asyncio.sleep(min(rest, CLOCK_SECONDS))
        self.start_when = (2, 1)
        self.wake()

    async def _take_up(self) -> bool:
        """Go on where an earlier run was broken off; whether there is nothing left to do."""
        league = self._ledger.league
        told = await self._ledger.log.kept(NOTIFIED_KEY) or b"0"
        if not re.fullmatch(rb"\d+|all( \d+)?", told):
            log.warning("it cannot be read who has been told of what: all are told again")
            told = b"0"
        if told.startswith(ALL):
            self._completed.set()
            for agent_id in await self._came_after(int(told.removeprefix(ALL) or self._ledger.number)):
                self._task(self._say_goodbye_to(agent_id))
            return True
        for referee in league.referees.values():
            for match_id in referee.assigned_matches:
                self._task(self._assignments.send_assignment(match_id))
        for match_id in league.waiting:
            if league.matches[match_id].voids:
                self._rest(match_id)
        if any(match.attempt for match in league.matches.values()):
            self._first_match_at = asyncio.get_running_loop().time()
        await self._tell_again(int(told))
        return False

    async def _tell_again(self, told: int) -> None:
        """Tell again what not all have certainly heard, in its order: ends of rounds, the announcement, standings."""
        league = self._ledger.league
        untold = [round_.id for round_ in league.rounds if round_.completed and round_.id > told]
        for round_id in untold:
            self._close_round(round_id)
        if league.state == "LEAGUE_COMPLETED":
            self._ended_at = self._first_match_at
            return
        has_begun = league.round_in_play and any(league.matches[one].attempt for one in self._round().matches)
        waits = league.round_in_play and not has_begun
        if waits:
            self._announce(league.current_round, [*league.players, *league.referees])
        elif has_begun and untold:
            # An agent that has not heard of the end of the round before has not heard of this one.
            self._announce(league.current_round, [*league.players])
        if league.current_round and (has_begun or not untold):
            self._publish_newest()
        if waits:
            await self._until_matches_begin()

    async def _came_after(self, number: int) -> list[str]:
        """Who has come back since an event: it may not have been told of the end before the manager went down."""
        found: dict[str, None] = {}
        async for _, event in self._ledger.events_after(number):
            match event:
                case e.PlayerRegistered(player_id=agent_id) | e.RefereeRegistered(referee_id=agent_id):
                    found[agent_id] = None
        return [*found]

    async def _look_when_all_are_there(self) -> None:
        await self._attendance.there(*self._ledger.league.players, *self._ledger.league.referees)
        self._changed.set()

    def _may_start(self) -> bool:
        league = self._ledger.league
        if self.start_when is None or any(map(self._attendance.expects, (*league.players, *league.referees))):
            return False
        players, referees = self.start_when
        count = len(league.table.rows)
        if match_count(count, league.settings.rounds) > MAX_MATCHES:
            return False
        return count >= max(players, 2) and len(available_referees(league)) >= max(referees, 1)

    def _announce(self, round_id: int, agents: list[str]) -> None:
        """Tell agents of a round."""
        league = self._ledger.league
        players, names = league.players, league.rounds[round_id - 1].matches
        to_players, to_referees = (self._announcement(round_id, names, to_referees=copy) for copy in (False, True))
        # A referee that begins on the announcement gets it when its matches may begin.
        planned = [league.referees[one] for name in names if (one := league.matches[name].planned) is not None]
        later = {referee.id for referee in planned if referee.shows_own_token}

        def send() -> dict[str, asyncio.Future[bool]]:
            log.info("round %d is announced", round_id, extra={"message_type": "ROUND_ANNOUNCEMENT"})
            return {
                one: self.broadcasts.tell(one, to_players if one in players else to_referees)
                for one in agents
                if one not in later
            }

        self._announced = self._publish(send)

    async def _until_matches_begin(self) -> None:
        """Wait until all players have answered the announcement, or ten seconds have passed, and the lead is over.

        The lead is counted from the last answer, because an agent that answers has received the announcement. An answer
        that comes after the ten seconds counts as if it had come at their end.
        """
        league, loop = self._ledger.league, asyncio.get_running_loop()
        told = await self._announced
        answers, latest = [loop.time()], loop.time() + ANNOUNCEMENT_SECONDS

        def note(one: asyncio.Future[bool]) -> None:
            if one.result():
                answers.append(min(loop.time(), latest))

        for one in told.values():
            one.add_done_callback(note)
        players = [one.id for one in league.players.values() if one.out is None and not self._is_suspended(one.id)]
        if expected := [told[one] for one in players]:
            await asyncio.wait(expected, timeout=ANNOUNCEMENT_SECONDS)
        while (rest := answers[-1] + league.settings.announce_lead - loop.time()) > 0:  # noqa: ASYNC110 - or a later one
            await asyncio.sleep(rest)

    async def _announce_to(self, referee_id: str) -> None:
        """Announce to a referee that begins on the announcement what it has been given.

        That is the whole round where these are the matches that were planned for it, and otherwise only these, for it
        may have played others. Then the players do not know yet that it shows them its own token.
        """
        league = self._ledger.league
        given = [league.matches[name] for name in self._to_announce.pop(referee_id)]
        await self._attendance.there(referee_id, *(player for match in given for player in match.players))
        await self._ledger.wait_written()
        for round_id in sorted({match.round_id for match in given}):
            matches = [match for match in given if match.round_id == round_id]
            names, whole = [match.id for match in matches], league.rounds[round_id - 1].matches
            planned = [name for name in whole if league.matches[name].planned == referee_id]
            if names == planned and all(match.attempt == 1 for match in matches):
                names = whole
            else:
                to_players = self._announcement(round_id, names, to_referees=False)
                players = [player for match in matches for player in match.players]
                expected = [self.broadcasts.tell(player, to_players) for player in players]
                await asyncio.wait(expected, timeout=ANNOUNCEMENT_SECONDS)
            self.broadcasts.tell(referee_id, self._announcement(round_id, names, to_referees=True))

    def _announcement(self, round_id: int, names: list[str], *, to_referees: bool) -> EncodedMessage:
        league = self._ledger.league
        return encode_message(
            m.RoundAnnouncement(
                **self._envelope(f"conv-round-{round_id}-announce"),
                league_id=league.settings.league_id,
                round_id=round_id,
                matches=queries.announced_matches(league, names, to_referees=to_referees),
                profile="open" if to_referees and league.settings.profile == "open" else UNSET,
            )
        )

    async def _say_goodbye(self) -> None:
        """Tell everybody that the league is over, each after everything else."""
        self._is_over = True
        self._drop_standings()
        messages, number = self._farewells(), self._ledger.number
        await self._ledger.wait_written()
        await self._decided.join()
        log.info("the league is over", extra={"message_type": "LEAGUE_COMPLETED"})
        missed = await self._tell_last(messages)
        self._completed.set()
        await self._insist(missed)
        await self._ledger.log.keep(NOTIFIED_KEY, b"%b %d" % (ALL, number))

    async def _say_goodbye_to(self, agent_id: str) -> None:
        """Tell one that has come back after the end."""
        messages = {agent_id: self._farewells()[agent_id]}
        await self._ledger.wait_written()
        await self._insist(await self._tell_last(messages))

    async def _insist(self, messages: dict[str, EncodedMessage]) -> None:
        """Tell those again that could not be told: they may only have been away, and wait for it."""
        for pause in FAREWELL_PAUSES:
            if not messages:
                return
            await asyncio.sleep(pause)
            messages = await self._tell_last(messages)

    async def _tell_last(self, messages: dict[str, EncodedMessage]) -> dict[str, EncodedMessage]:
        """Tell agents of the end, all at once; those that could not be told."""
        told = await asyncio.gather(*(self.broadcasts.send_final(agent, one) for agent, one in messages.items()))
        return {agent: one for (agent, one), reached in zip(messages.items(), told, strict=True) if not reached}

    def _farewells(self) -> dict[str, EncodedMessage]:
        """What each agent is told of the league's end."""
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
        message = encode_message(told)
        shown = {row.player_id for row in told.final_standings}
        messages = dict.fromkeys([*league.players, *league.referees], message)
        for player in [one for one in league.table.rows if one not in shown]:
            told.final_standings = queries.final_standings(league, player)
            messages[player] = encode_message(told)
        return messages

    # What follows from events

    def _react(self, event: e.Event) -> None:
        match event:
            case e.MatchAssigned():
                if self._first_match_at is None:
                    self._first_match_at = asyncio.get_running_loop().time()
                self._give(event.match_id, event.referee_id)
            case e.ResultRecorded() | e.MatchForfeited() | e.ResultCorrected() | e.MatchReplayed():
                self.progress.pop(event.match_id, None)
                self._end_rest(event.match_id)
                self._publish_standings()
            case e.AttemptVoided():
                self.progress.pop(event.match_id, None)
                self._rest(event.match_id, outage=event.outage)
            case e.RoundAnnounced():
                self._announce(event.round_id, [*self._ledger.league.players, *self._ledger.league.referees])
            case e.RoundCompleted():
                self._close_round(event.round_id)
            case e.PlayerRegistered():
                # The referee of its match must know where it is now, and by which token.
                playing = self._ledger.league.players[event.player_id].playing
                self._welcome(event.player_id, [] if playing is None else [playing])
            case e.RefereeRegistered():
                # It may have forgotten what it has in hand; one that has not takes no harm.
                self._welcome(event.referee_id, self._ledger.league.referees[event.referee_id].assigned_matches)
            case e.LeagueCompleted():
                self._ended_at = asyncio.get_running_loop().time()
        self._changed.set()

    def _rest(self, match_id: str, *, outage: bool = False) -> None:
        """Let a match wait before its next attempt. That of a lost referee goes to another one at once."""
        league = self._ledger.league
        match = league.matches[match_id]
        if match.held or league.referees[match.referee_id or ""].lost:
            return
        self._outages_of[match_id] += outage
        number = self._outages_of[match_id] if outage else match.voids
        self._end_rest(match_id)
        pause = VOID_PAUSES[min(number, len(VOID_PAUSES)) - 1]
        self._resting[match_id] = asyncio.get_running_loop().call_later(pause, self._end_rest, match_id)

    def _end_rest(self, match_id: str) -> None:
        if (timer := self._resting.pop(match_id, None)) is not None:
            timer.cancel()
            self._changed.set()

    def _give(self, match_id: str, referee_id: str) -> None:
        """Let a referee begin a match: by an assignment, or by the announcement if it knows only that."""
        if not self._ledger.league.referees[referee_id].shows_own_token:
            self._task(self._assignments.send_assignment(match_id))
        elif referee_id in self._to_announce:
            self._to_announce[referee_id].append(match_id)
        else:
            self._to_announce[referee_id] = [match_id]
            self._task(self._announce_to(referee_id))

    def _welcome(self, agent_id: str, in_play: Iterable[str]) -> None:
        for match_id in in_play:
            if agent_id in self._ledger.league.referees:
                self._give(match_id, agent_id)
            else:
                self._task(self._assignments.send_assignment(match_id))
        if self._ledger.league.state == "LEAGUE_COMPLETED":
            self._task(self._say_goodbye_to(agent_id))

    def _publish(self, send: Callable[[], SentT]) -> asyncio.Future[SentT]:
        """Send what has been made of the league as it is now, once that is written: after what was decided before."""
        sent: asyncio.Future[SentT] = asyncio.get_running_loop().create_future()
        self._decided.put_nowait((self._ledger.latest, lambda: sent.set_result(send())))
        return sent

    async def _publish_decided(self) -> None:
        while True:
            latest, send = await self._decided.get()
            await self._ledger.wait_written(latest)
            send()
            self._decided.task_done()

    def _publish_standings(self) -> None:
        if self._unpublished_since is None:
            self._unpublished_since = asyncio.get_running_loop().time()
        if self._standings_due is None and not self._is_over:
            loop = asyncio.get_running_loop()
            self._standings_due = loop.call_at(max(loop.time(), self._next_standings_at), self._publish_newest)

    def _publish_newest(self) -> None:
        self._standings_due = None
        self._next_standings_at = asyncio.get_running_loop().time() + STANDINGS_PAUSE_SECONDS
        updates, since = self._standings(self._ledger.league.current_round)
        self._publish(lambda: self._send_standings(updates, since, closing=False))

    def _drop_standings(self) -> None:
        if self._standings_due is not None:
            self._standings_due.cancel()
            self._standings_due = None

    def _send_standings(self, updates: dict[str, EncodedMessage], since: float | None, *, closing: bool) -> None:
        if since is not None:
            self.standings_delays.add(asyncio.get_running_loop().time() - since)
        for player, update in updates.items():
            self.broadcasts.standings(player, update, closing=closing)

    def _standings(self, round_id: int) -> tuple[dict[str, EncodedMessage], float | None]:
        """The standings as they are now, for each player, and since when they have been waiting to be sent."""
        since, self._unpublished_since = self._unpublished_since, None
        league = self._ledger.league
        update = m.LeagueStandingsUpdate(
            **self._envelope(f"conv-round-{round_id}-standings"),
            league_id=league.settings.league_id,
            round_id=round_id,
            standings=queries.standings(league),
            total_players=len(league.table.rows),
        )
        updates = dict.fromkeys(league.players, encode_message(update))
        shown = {row.player_id for row in update.standings}
        for player in [one for one in league.table.rows if one not in shown]:
            update.standings = queries.standings(league, player)
            updates[player] = encode_message(update)
        return updates, since

    def _close_round(self, round_id: int) -> None:
        league = self._ledger.league
        self._drop_standings()
        # After a restart the next round may have results already, and the table is no longer the one that closed this.
        is_newest = all(one.remaining == len(one.matches) for one in league.rounds[round_id:])
        updates, since = self._standings(round_id) if is_newest else ({}, None)
        summary = queries.round_summary(league, round_id)
        message = encode_message(
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
            self._send_standings(updates, since, closing=True)
            told = [self.broadcasts.tell(agent, message) for agent in agents]
            self._task(self._keep_told(round_id, told))
            log.info("round %d is over", round_id, extra={"message_type": "ROUND_COMPLETED"})

        self._publish(send)

    async def _keep_told(self, round_id: int, told: list[asyncio.Future[bool]]) -> None:
        """Remember, for the next start, that everybody has been told of a round's end."""
        await asyncio.wait(told)
        if not self._is_over:
            await self._ledger.log.keep(NOTIFIED_KEY, b"%d" % round_id)

    # Agents

    def _is_suspended(self, agent_id: str) -> bool:
        """Whether an agent has left too much unanswered; its state no longer says so once the league is over."""
        league = self._ledger.league
        if (player := league.players.get(agent_id)) is not None:
            return player.failures >= MAX_FAILURES
        referee = league.referees.get(agent_id)
        return referee is not None and referee.lost

    def _heard(self, agent_id: str, failures: int) -> None:
        league = self._ledger.league
        if failures and not self.outages.is_on:
            self.outages.suspect()
            self._ledger.record(commands.note_failures(league, agent_id, failures, self._now()))
        elif not failures and commands.has_missed_calls(league, agent_id):
            self._ledger.record(commands.note_answer(league, agent_id, self._now()))

    def _envelope(self, conversation_id: str) -> m.Envelope:
        return m.envelope(MANAGER, self._world.now(), conversation_id)
