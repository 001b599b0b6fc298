"""One match as its referee carries it out.

What the match machine asks for goes over the network, and what comes of it goes back into the machine; the rules are
the machine's. Both players are dealt with at once, each in its own tasks, and each message to a player is on its way
before the next one to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from leaguekit.agents.calls import cause_of
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.games.base import SIDES, Side
from leaguekit.match import signals as s
from leaguekit.match.draw import commitment
from leaguekit.match.machine import Match
from leaguekit.match.rulings import Verdict
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.referee.match_messages import MatchMessages
from leaguekit.referee.player_client import PlayerClientFactory, PlayerMessage, SpecPlayerClient
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript
from leaguekit.transport.base import CallerLate, CallerUnable, CallFailed, TimedOut

log = logging.getLogger(__name__)

# How long a message may take to be on its way: no caller says when it is, but an answer is a sure sign.
HANDED_SECONDS = 0.1
# How often and for how long a call is tried again that this machine could not make; then the attempt is void.
UNABLE_PAUSE = 1.0
UNABLE_SECONDS = 30.0
NONCE_BYTES = 16

Ended: TypeAlias = s.Finish | s.Void


class RulingRecord(Struct, frozen=True):
    """An entry of the journal: the report to the manager, and what each player is told at its endpoint, A first."""

    match_id: str
    attempt: int
    report: m.MatchResultReport
    game_over: list[tuple[str, m.GameOver]]
    # In the open profile, who each of them is and in which form it understands that.
    speaks: list[tuple[str, str | None]] = []


class MatchRunner:
    """One attempt at a match: ``play`` it, then ``send_result``; meanwhile ``take`` what players post by themselves.

    Making one raises ProtocolError or ValueError if the assignment cannot be carried out. ``entered`` is called at
    every new stage. ``make_client`` makes the client that calls the players.
    """

    def __init__(
        self,
        world: World,
        assignment: m.MatchAssignment,
        referee_id: str,
        entered: Callable[[MatchRunner], None],
        make_client: PlayerClientFactory = SpecPlayerClient,
    ) -> None:
        self.assignment = assignment
        self.world = world
        self._entered = entered
        self.seats = Seats(assignment)
        rules = game(assignment.game_type)
        self._move_kind: type[PlayerMessage] = m.ChooseParityResponse if rules.asks_for_parity else m.GameMoveResponse
        drawn = rules.draw(bytes.fromhex(assignment.match_seed))
        nonce = world.entropy(NONCE_BYTES)
        opening = (UNSET, UNSET) if drawn is None else (commitment(nonce, drawn), nonce.hex())
        self.messages = MatchMessages(world, assignment, referee_id, *opening, seats=self.seats)
        self._limits = _limits(assignment.time_limits)
        seats = {side: s.Seat(seat.player_id, seat.state == "SUSPENDED") for side, seat in self.seats.items()}
        self.match = Match(rules, assignment.match_id, seats, self._limits, drawn)
        self._loop = asyncio.get_running_loop()
        self._entered_at = world.timestamp()
        self.transcript = Transcript(self._loop.time)
        self._deadlines: dict[Side, float] = {}
        self._ended: asyncio.Future[Ended] = self._loop.create_future()
        self._working: set[asyncio.Task[None]] = set()
        self._posting: set[asyncio.Task[None]] = set()
        # Of each player, what is done when the last message to it is on its way.
        self._handed: dict[Side, asyncio.Future[None]] = {}
        self._closed = False
        self.client = make_client(world, assignment, self.seats, self.transcript)

    @property
    def match_id(self) -> str:
        return self.assignment.match_id

    @property
    def is_at_rest(self) -> bool:
        """Whether it is over, and no message to a player is under way or waits for the one before it."""
        return self._ended.done() and not self._posting and all(handed.done() for handed in self._handed.values())

    async def play(self) -> Ended:
        """Play the match to its end."""
        self.transcript.began = self._loop.time()
        self._guarded(self.match.start)
        try:
            return await self._ended
        finally:
            # What still runs waits for an answer that the player has posted instead.
            for task in self._working:
                task.cancel()

    async def ended(self) -> Ended:
        """How it ended, once it has."""
        return await asyncio.shield(self._ended)

    def ruling(self, verdict: Verdict) -> RulingRecord:
        """What follows from a verdict, as it is written down before anybody hears of it."""
        position, learned = self.match.view(None), self.client.learned()
        return RulingRecord(
            match_id=self.assignment.match_id,
            attempt=self.assignment.attempt,
            report=self.messages.report(verdict, position, learned, self.match.origins),
            game_over=[
                (self.seats[side].endpoint, over) for side, over in self.messages.game_over(verdict, position).items()
            ],
            speaks=[(seat.player_id, learned.forms.get(seat.player_id)) for seat in self.seats.values()]
            if learned.forms
            else [],
        )

    async def send_result(self, verdict: Verdict, ruling: RulingRecord) -> None:
        """Send GAME_OVER to both; this returns when both are on their way, and waits for no acknowledgement."""
        self.transcript.add("ruled", note=f"{verdict.ruling}: {verdict.reason}")
        for side, (_, over) in zip(SIDES, ruling.game_over, strict=True):
            self._send(side, over, self.assignment.time_limits.game_over_seconds)
        for handed in self._handed.values():
            await handed

    async def told(self) -> None:
        """Wait until both have acknowledged the result, or cannot be told."""
        while self._posting:
            await asyncio.wait(self._posting)

    async def close(self) -> None:
        """Break everything off."""
        self._closed = True
        tasks = [*self._working, *self._posting]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def expects(self, side: Side) -> s.What | None:
        """What a player may post now: its join, its move, or nothing."""
        return self.match.posted(side)

    def state(self) -> dict[str, Any]:
        """Where the match stands, for whoever asks: no choices."""
        return {
            "match_id": self.match_id,
            "attempt": self.assignment.attempt,
            "stage": self.match.stage,
            "entered_at": self._entered_at,
            "arrived": self._arrived(),
            "deadline": self._deadline(),
        }

    def progress(self) -> m.MatchProgress:
        """The same for the manager."""
        return self.messages.progress(self.match.stage, self._entered_at, self._deadline(), self._arrived())

    # What players say

    def take(self, message: PlayerMessage) -> m.MatchMessageAck:
        """Take what a player posts by itself. Raises ProtocolError if it does not count."""
        side = next((side for side in SIDES if self.seats[side].player_id == message.player_id), None)
        if side is None:
            raise ProtocolError("E005", f"{message.player_id} does not play in {self.match_id}.")
        if message.auth_token is UNSET:
            raise ProtocolError("E011")
        if not self.seats.can_verify(side):
            raise ProtocolError("E012", "This referee was not told by which token to know the player.")
        self._identify(side, message)
        self._check_state(side, message)
        self.transcript.add("received", message.player_id, message, "posted by the player itself")
        if (fault := self._hand_in(_input(side, None, message))) is not None:
            self.transcript.add("failed", message.player_id, note=f"{fault.code}: {fault.detail}")
            error = msgspec.to_builtins(self._game_error(side, fault))
            raise ProtocolError(fault.code, fault.detail, data=error)
        return self.messages.acknowledged(side, message.conversation_id)

    def _identify(self, side: Side, message: PlayerMessage) -> None:
        """Judge who speaks, by the token if one is shown and by what the message says, and of which match."""
        own, token = self.seats[side].player_id, message.auth_token
        if token is not UNSET and self.seats.is_foreign(side, token):
            shown = {"provided_token": tokens.shortened(token)}
            raise ProtocolError("E012", f"That is not the token of {own}.", context=shown)
        sender = sender_of("player", own)
        if message.player_id != own or message.sender not in (UNSET, sender):
            said = message.sender or sender
            raise ProtocolError("E055", f"{own} was asked; the answer is from {said} for {message.player_id}.")
        if message.match_id != self.match_id:
            ids = {"expected_match_id": self.match_id, "received_match_id": message.match_id}
            raise ProtocolError("E015", f"This is the match {self.match_id}.", context=ids)

    def _check_state(self, side: Side, message: PlayerMessage) -> None:
        """Judge whether a player may post this now."""
        what: s.What = "join" if isinstance(message, m.GameJoinAck) else "move"
        missed: s.What = "move" if side in self.match.arrived else "join"
        retries = self.match.timed_out(side)
        if retries is not None and what == missed:
            seconds = self._limits.join if what == "join" else self._limits.choice
            data = {
                "player_id": message.player_id,
                "timeout_seconds": seconds,
                "retry_count": retries,
                "max_retries": self._limits.max_retries,
            }
            raise ProtocolError("E001", f"The time limit of {seconds:g} s has passed.", data=data)
        if self.match.posted(side) != what:
            raise ProtocolError("E051", f"Nothing of that kind is asked now; the match is in {self.match.stage}.")
        if what == "move" and not isinstance(message, self._move_kind):
            expected = m.message_type(self._move_kind)
            raise ProtocolError("E045", f"A move in {self.assignment.game_type} is a {expected}.")

    # What the machine asks for

    def _hand_in(self, given: s.Input) -> s.GameFault | None:
        """Tell the machine what happened, and do what follows; gives what it says to a post that does not count."""
        return self._guarded(self.match.handle, given)

    def _guarded(self, step: Callable[..., list[s.Effect]], *given: s.Input) -> s.GameFault | None:
        try:
            return self._perform(step(*given, self._loop.time()))
        except Exception as error:  # noqa: BLE001 - a game may be anybody's, and every match ends
            self._break_down(error)
            return None

    def _break_down(self, error: BaseException) -> None:
        log.error("%s broke down", self.match_id, exc_info=error)
        self._end(s.Void("The referee or the game broke down; the referee's log says why.", {}))

    def _end(self, ended: Ended) -> None:
        if not self._ended.done():
            self._ended.set_result(ended)

    def _perform(self, effects: list[s.Effect]) -> s.GameFault | None:
        answer: s.GameFault | None = None
        for effect in effects:
            match effect:
                case s.Ask():
                    self._deadlines[effect.side] = effect.deadline
                    self._task(self._ask(effect))
                case s.Tell(ask=None):
                    answer = effect.fault
                case s.Tell():
                    error = self._game_error(effect.side, effect.fault)
                    self._send(effect.side, error, BY_REQUEST[m.GameError].seconds)
                case s.Entered():
                    self._entered_at = self.world.timestamp()
                    self._entered(self)
                case s.Finish() | s.Void():
                    self._end(effect)
        return answer

    async def _ask(self, asked: s.Ask) -> None:
        if asked.send_at > self._loop.time():
            await self._until(asked.send_at)
        if (before := self._handed.get(asked.side)) is not None and not before.done():
            # Not awaited itself: it must outlive this task.
            await asyncio.wait([before])
        latest = self._loop.time() + UNABLE_SECONDS
        while self.match.is_open(asked.ask):
            came = await self._came_of(asked)
            if not (isinstance(came, s.Late) and came.why) or self._loop.time() >= latest:
                self._hand_in(came)
                return
            await asyncio.sleep(UNABLE_PAUSE)

    async def _came_of(self, asked: s.Ask) -> s.Input:
        """Call a player, and what that comes to."""
        side, seat = asked.side, self.seats[asked.side]
        # Counted from now and not from when it was to be sent: that we are late is not the player's fault.
        seconds = asked.deadline - asked.send_at
        request, kind = self._request(asked, seconds)
        self.transcript.add("sent", seat.player_id, request)
        try:
            answer = await self.client.ask(side, request, kind, seconds)
            self.transcript.add("received", seat.player_id, answer)
            self._identify(side, answer)
        except CallFailed as failure:
            if self.match.is_open(asked.ask):
                # Otherwise the answer has been posted meanwhile, and nobody waits for this one.
                self.transcript.add("failed", seat.player_id, note=f"{failure.code}: {failure}")
            code: Literal["E001", "E009"] = "E001" if isinstance(failure, TimedOut) else "E009"
            return s.Failed(side, asked.ask, code, failure.connected)
        except CallerLate as late:
            self.transcript.add("failed", seat.player_id, note=str(late))
            return s.Late(side, asked.ask, late.late_ms, late.why if isinstance(late, CallerUnable) else "")
        except RpcRefusal as refusal:
            detail = f"{m.message_type(kind)} was expected, and an error came: {refusal}"
            self.transcript.add("received", seat.player_id, note=detail)
            if cause_of(refusal) == "E005":
                # The player has been started again and has not registered yet: it is asked again as if it were away.
                return s.Failed(side, asked.ask, "E009")
            return s.Wrong(side, asked.ask, "E045", detail)
        except ProtocolError as error:
            self.transcript.add("failed", seat.player_id, note=str(error))
            return s.Wrong(side, asked.ask, error.code, error.detail, error.context)
        return _input(side, asked.ask, answer)

    def _request(self, asked: s.Ask, seconds: float) -> tuple[m.Request, type[PlayerMessage]]:
        """The invitation or the call, and what kind of answer it wants."""
        if asked.question is None:
            return self.messages.invitation(asked.side), m.GameJoinAck
        for_parity = self.match.game.asks_for_parity
        return self.messages.call(asked.side, asked.question, seconds, for_parity=for_parity), self._move_kind

    def _game_error(self, side: Side, fault: s.GameFault) -> m.GameError:
        again = None if fault.next_retry_at is None else fault.next_retry_at - self._loop.time()
        return self.messages.game_error(side, fault, self.match.stage, again)

    # Messages that nobody waits for

    def _send(self, side: Side, message: m.Request, seconds: float) -> None:
        """Post a message as soon as the one before it is on its way."""
        before, handed = self._handed.get(side), self._loop.create_future()
        self._handed[side] = handed
        if before is None or before.done():
            self._begin_posting(side, message, seconds, handed)
        else:
            before.add_done_callback(lambda _before: self._begin_posting(side, message, seconds, handed))

    def _begin_posting(self, side: Side, message: m.Request, seconds: float, handed: asyncio.Future[None]) -> None:
        """Post a message; it is handed over when it is answered, or surely on its way."""
        if self._closed:
            return
        surely = self._loop.call_later(HANDED_SECONDS, _settle, handed)

        def end(posting: asyncio.Task[None]) -> None:
            self._posting.discard(posting)
            surely.cancel()
            _settle(handed)

        posting = self._loop.create_task(self._post(side, message, seconds))
        self._posting.add(posting)
        posting.add_done_callback(end)

    async def _post(self, side: Side, message: m.Request, seconds: float) -> None:
        player_id = self.seats[side].player_id
        self.transcript.add("sent", player_id, message)
        try:
            await self.client.tell(side, message, seconds)
        except (CallFailed, CallerLate) as failure:
            self.transcript.add("failed", player_id, note=f"{m.message_type(message)}: {failure}")

    # The pieces

    def _task(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._break_down(error)

    async def _until(self, at: float) -> None:
        while (rest := at - self._loop.time()) > 0:  # noqa: ASYNC110 - a timer may ring a little early
            await asyncio.sleep(rest)

    def _deadline(self) -> str | None:
        """Until when those players have time of whom something is wanted now."""
        wanted = [self._deadlines[side] for side in SIDES if self.match.posted(side) is not None]
        return self.messages.written(max(wanted) - self._loop.time()) if wanted else None

    def _arrived(self) -> list[str]:
        return [self.seats[side].player_id for side in self.match.arrived]


def _limits(limits: m.TimeLimits) -> s.Limits:
    return s.Limits(
        join=limits.join_seconds,
        choice=limits.choice_seconds,
        max_retries=limits.max_retries,
        retry_delay=limits.retry_seconds,
        backoff=limits.backoff,
    )


def _settle(handed: asyncio.Future[None]) -> None:
    if not handed.done():
        handed.set_result(None)


def _input(side: Side, asked: int | None, word: PlayerMessage) -> s.Input:
    """What a player's word means to the machine."""
    match word:
        case m.GameJoinAck(accept=True):
            return s.Joined(side, asked)
        case m.GameJoinAck():
            return s.Declined(side, asked)
        case m.ChooseParityResponse():
            return s.Moved(side, asked, word.parity_choice, word.move_info)
        case m.GameMoveResponse():
            return s.Moved(side, asked, word.move_data, word.move_info)
