"""One match as its referee runs it: the shell around the state machine of ``leaguekit.match``.

The machine decides, and the runner acts. The runner sends the requests that the machine asks for, and gives it what
came of them. Both players are called at the same time, each in its own tasks. A request to a player is sent only when
the message before it to the same player has been sent.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Struct

from leaguekit.agents.calls import error_code_of, ping
from leaguekit.agents.tasks import Tasks, cancel
from leaguekit.agents.world import World
from leaguekit.games import game
from leaguekit.games.base import SIDES, Side, other
from leaguekit.games.pictures import game_picture
from leaguekit.match import signals as s
from leaguekit.match.draw import commitment
from leaguekit.match.machine import Match
from leaguekit.match.move_messages import messages_of, move_of, promise
from leaguekit.match.rulings import Verdict
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import RpcRefusal
from leaguekit.referee.match_messages import MatchMessages
from leaguekit.referee.player_client import PlayerClient, PlayerClientFactory, PlayerMessage
from leaguekit.referee.player_notifier import PlayerNotifier
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript
from leaguekit.transport.base import CallerLate, CallerUnable, CallFailed, TimedOut

log = logging.getLogger(__name__)

# A call that this machine could not make is repeated after a pause. After a longer time the attempt is void.
UNABLE_PAUSE_SECONDS = 1.0
MAX_UNABLE_SECONDS = 30.0
PING_SECONDS = 2.0
NONCE_BYTES = 16

MatchEnd: TypeAlias = s.Finish | s.Void


class RulingRecord(Struct, frozen=True):
    """An entry of the journal: the report to the manager, and GAME_OVER for each player's endpoint, side A first."""

    match_id: str
    attempt: int
    report: m.MatchResultReport
    game_over: list[tuple[str, m.GameOver]]
    # In the open profile, the id of each player and the form of requests that it understands.
    speaks: list[tuple[str, str | None]] = []
    # The record of a match that is too long for its report.
    record: m.MatchRecord | None = None


class MatchRunner:
    """One attempt at a match: ``play`` it, then ``send_result``. ``receive`` takes what players post meanwhile.

    The constructor raises ProtocolError or ValueError if the assignment cannot be carried out. ``on_stage`` is called
    at every new stage and every new turn. ``make_client`` makes the client that calls the players.
    """

    def __init__(
        self,
        world: World,
        assignment: m.MatchAssignment,
        referee_id: str,
        on_stage: Callable[[MatchRunner], None],
        make_client: PlayerClientFactory = PlayerClient,
    ) -> None:
        self.assignment = assignment
        self._world = world
        self._on_stage = on_stage
        self.seats = Seats(assignment)
        self._rules = game(assignment.game_type, assignment.game_args or None)
        self._move_kind: type[PlayerMessage] = messages_of(self._rules).response
        self._seed = bytes.fromhex(assignment.match_seed)
        promised = promise(self._rules, self._seed)
        nonce = world.entropy(NONCE_BYTES)
        opening = (UNSET, UNSET) if promised is None else (commitment(nonce, promised), nonce.hex())
        self.messages = MatchMessages(world, assignment, referee_id, *opening, seats=self.seats)
        limits = assignment.time_limits
        self._limits = s.Limits(
            join=limits.join_seconds,
            choice=limits.choice_seconds,
            max_retries=limits.max_retries,
            retry_delay=limits.retry_seconds,
            backoff=limits.backoff,
        )
        seats = {
            side: s.Seat(
                seat.player_id,
                suspended=seat.state == "SUSPENDED",
                move_retries=None if seat.move_retries is UNSET else seat.move_retries,
            )
            for side, seat in self.seats.items()
        }
        self._machine = Match(self._rules, assignment.match_id, seats, self._limits)
        self._loop = asyncio.get_running_loop()
        self._stage_entered_at = world.timestamp()
        self.transcript = Transcript(self._loop.time)
        self._deadlines: dict[Side, float] = {}
        self._end: asyncio.Future[MatchEnd] = self._loop.create_future()
        self._tasks = Tasks(self._break_down)
        self.player_client = make_client(world, assignment, self.seats, self.transcript)
        self._notifier = PlayerNotifier(self.player_client, self.seats, self.transcript)

    @property
    def match_id(self) -> str:
        return self.assignment.match_id

    @property
    def is_over(self) -> bool:
        """Whether it is decided how the match ends. Its ruling may not have been written yet."""
        return self._end.done()

    @property
    def is_idle(self) -> bool:
        """Whether the match is over, and no message to a player is under way or waits for the one before it."""
        return self.is_over and self._notifier.is_idle

    async def play(self) -> MatchEnd:
        """Play the match to its end."""
        self.transcript.began = self._loop.time()
        self._step(self._machine.start)
        try:
            return await self._end
        finally:
            # A task that still runs waits for an answer that the player has posted instead.
            for task in self._tasks:
                task.cancel()

    async def wait_ended(self) -> MatchEnd:
        """Wait until the match is over, and return how it ended."""
        return await asyncio.shield(self._end)

    def make_ruling(self, verdict: Verdict) -> RulingRecord:
        """Make the messages that follow from a verdict. They are written to the journal before they are sent."""
        position, observations = self._machine.view(None), self.player_client.observations()
        game_over = self.messages.game_over(verdict, position)
        report = self.messages.report(verdict, position, observations, self._machine.origins)
        is_long = report.result.details.record_sha256 is not UNSET
        forms = observations.forms
        return RulingRecord(
            match_id=self.assignment.match_id,
            attempt=self.assignment.attempt,
            report=report,
            game_over=[(self.seats[side].endpoint, message) for side, message in game_over.items()],
            speaks=[(seat.player_id, forms.get(seat.player_id)) for seat in self.seats.values()] if forms else [],
            record=self.messages.record(verdict) if is_long else None,
        )

    async def send_result(self, verdict: Verdict, ruling: RulingRecord) -> None:
        """Send GAME_OVER to both players. This returns when both are sent, and waits for no acknowledgement."""
        self.transcript.add("ruled", note=f"{verdict.ruling}: {verdict.reason}")
        seconds = self.assignment.time_limits.game_over_seconds
        for side, (_, game_over) in zip(SIDES, ruling.game_over, strict=True):
            self._notifier.send(side, game_over, seconds)
        for side in SIDES:
            await self._notifier.wait_sent(side)

    async def wait_acknowledged(self) -> None:
        """Wait until both players have acknowledged the result, or cannot be reached."""
        await self._notifier.wait_answered()

    async def close(self) -> None:
        """Cancel everything that is under way."""
        await cancel(*self._tasks)
        await self._notifier.close()

    def expected_from(self, side: Side) -> s.RequestKind | None:
        """What a player may post now: its join, its move, or nothing."""
        return self._machine.expected_from(side)

    def state(self) -> dict[str, Any]:
        """The public state of the match. It contains no choices."""
        return {
            "match_id": self.match_id,
            "attempt": self.assignment.attempt,
            "stage": self._machine.stage,
            "entered_at": self._stage_entered_at,
            "arrived": self._arrived(),
            "deadline": self._deadline(),
        }

    def progress(self) -> m.MatchProgress:
        """The same as ``state`` with the position and its picture, as a message to the manager."""
        position = self._machine.view(None)
        progress = self.messages.progress(
            self._machine.stage,
            self._stage_entered_at,
            self._deadline(),
            self._arrived(),
            position,
        )
        progress.picture = game_picture(self._rules, position) or UNSET
        asked = [side for side in SIDES if self._machine.expected_from(side) is not None]
        if asked:
            progress.try_number, progress.max_tries = max(map(self._machine.tries, asked))
            progress.missing = [self.seats[side].player_id for side in asked]
        return progress

    # Messages that players post by themselves

    def receive(self, message: PlayerMessage) -> m.MatchMessageAck:
        """Give a posted message to the machine, and acknowledge it. Raises ProtocolError if it does not count."""
        side = next((side for side in SIDES if self.seats[side].player_id == message.player_id), None)
        if side is None:
            raise ProtocolError("E005", f"{message.player_id} does not play in {self.match_id}.")
        if message.auth_token is UNSET:
            raise ProtocolError("E011")
        if not self.seats.can_verify(side):
            raise ProtocolError("E012", "The assignment did not say by which token to know the player.")
        self._check_sender(side, message)
        self._check_state(side, message)
        self.transcript.add("received", message.player_id, message, "posted by the player itself")
        if (fault := self._step(self._machine.handle, _to_input(side, None, message))) is not None:
            self.transcript.add("failed", message.player_id, note=f"{fault.code}: {fault.detail}")
            error = msgspec.to_builtins(self._game_error(side, fault))
            raise ProtocolError(fault.code, fault.detail, data=error)
        return self.messages.acknowledged(side, message.conversation_id)

    def _check_sender(self, side: Side, message: PlayerMessage) -> None:
        """Check that a message is from the player of a side, and about this match.

        The answer to a call need not have a token. ``receive`` has checked that a posted message has one.
        """
        player_id, token = self.seats[side].player_id, message.auth_token
        if token is not UNSET and self.seats.is_foreign(side, token):
            context = {"provided_token": tokens.shorten_token(token)}
            raise ProtocolError("E012", f"That is not the token of {player_id}.", context=context)
        sender = sender_of("player", player_id)
        if message.player_id != player_id or message.sender not in (UNSET, sender):
            stated = message.sender or sender
            raise ProtocolError("E055", f"{player_id} was asked; the answer is from {stated} for {message.player_id}.")
        if message.match_id != self.match_id:
            ids = {"expected_match_id": self.match_id, "received_match_id": message.match_id}
            raise ProtocolError("E015", f"This is the match {self.match_id}.", context=ids)

    def _check_state(self, side: Side, message: PlayerMessage) -> None:
        """Check that a player may post this message now."""
        what: s.RequestKind = "join" if isinstance(message, m.GameJoinAck) else "move"
        missed: s.RequestKind = "move" if side in self._machine.arrived else "join"
        retries = self._machine.timed_out(side)
        if retries is not None and what == missed:
            seconds = self._limits.join if what == "join" else self._limits.choice
            data = {
                "player_id": message.player_id,
                "timeout_seconds": seconds,
                "retry_count": retries,
                "max_retries": self._machine.tries(side)[1] - 1,
            }
            raise ProtocolError("E001", f"The time limit of {seconds:g} s has passed.", data=data)
        if self._machine.expected_from(side) != what:
            raise ProtocolError("E051", f"Nothing of that kind is asked now; the match is in {self._machine.stage}.")
        if what == "move" and not isinstance(message, self._move_kind):
            expected = m.message_type(self._move_kind)
            raise ProtocolError("E045", f"A move in {self.assignment.game_type} is a {expected}.")

    # The machine and its effects

    def _step(self, step: Callable[..., list[s.Effect]], *inputs: s.Input) -> s.GameFault | None:
        """Let the machine start or handle an input, and perform its effects.

        Returns the fault of a post that does not count.
        """
        try:
            return self._perform(step(*inputs, self._loop.time()))
        except Exception as error:  # noqa: BLE001 - a game may be anybody's, and every match ends
            self._break_down(error)
            return None

    def _break_down(self, error: BaseException) -> None:
        log.error("%s broke down", self.match_id, exc_info=error)
        why = f"The referee or the game broke down ({error!r:.200}); the referee's log says where."
        self._set_end(s.Void(why, {}))

    def _set_end(self, end: MatchEnd) -> None:
        if not self._end.done():
            self._end.set_result(end)

    def _perform(self, effects: list[s.Effect]) -> s.GameFault | None:
        """Perform effects. Returns the fault that answers a post."""
        fault: s.GameFault | None = None
        is_new_turn = False
        for effect in effects:
            match effect:
                case s.Roll():
                    # What follows is performed in this loop, too.
                    rolled = s.Rolled(effect.step, self._rules.roll(effect.position, self._seed, effect.step))
                    effects += self._machine.handle(rolled, self._loop.time())
                case s.Ask():
                    self._deadlines[effect.side] = effect.deadline
                    self._tasks.start(self._ask(effect))
                    is_new_turn = True
                case s.SendError(ask=None):
                    fault = effect.fault
                case s.SendError():
                    error = self._game_error(effect.side, effect.fault)
                    self._notifier.send(effect.side, error, BY_REQUEST[m.GameError].seconds)
                case s.StageEntered():
                    self._stage_entered_at = self._world.timestamp()
                    is_new_turn = True
                case s.Finish() | s.Void():
                    self._set_end(effect)
        if is_new_turn:
            self._on_stage(self)
        return fault

    async def _ask(self, ask: s.Ask) -> None:
        """Send a request at its time, and give the machine what came of it."""
        while (seconds := ask.send_at - self._loop.time()) > 0:  # noqa: ASYNC110 - a timer may ring a little early
            await asyncio.sleep(seconds)
        await self._notifier.wait_sent(ask.side)
        last_try_at = self._loop.time() + MAX_UNABLE_SECONDS
        while self._machine.is_open(ask.ask):
            outcome = await self._call_player(ask)
            is_unable = isinstance(outcome, s.RefereeLate) and bool(outcome.why)
            if not is_unable or self._loop.time() >= last_try_at:
                self._step(self._machine.handle, outcome)
                return
            await asyncio.sleep(UNABLE_PAUSE_SECONDS)

    async def _call_player(self, ask: s.Ask) -> s.Input:
        """Send a request to a player, and return its answer or its failure as an input of the machine."""
        side, seat = ask.side, self.seats[ask.side]
        # The time limit begins now, even if the request is sent late: the delay is ours and not the player's.
        seconds = ask.deadline - ask.send_at
        request, kind = self._request(ask, seconds)
        self.transcript.add("sent", seat.player_id, request)
        try:
            answer = await self.player_client.ask(side, request, kind, seconds)
            self.transcript.add("received", seat.player_id, answer)
            self._check_sender(side, answer)
        except CallFailed as failure:
            # If the ask is closed, the player has posted its answer, and this failure does not matter.
            if self._machine.is_open(ask.ask):
                self.transcript.add("failed", seat.player_id, note=f"{failure.code}: {failure}")
            code: Literal["E001", "E009"] = "E001" if isinstance(failure, TimedOut) else "E009"
            opponent_connected = None if failure.connected else await self._can_connect_to_opponent(side)
            return s.NoAnswer(side, ask.ask, code, failure.connected, opponent_connected)
        except CallerLate as late:
            self.transcript.add("failed", seat.player_id, note=str(late))
            return s.RefereeLate(side, ask.ask, late.late_ms, late.why if isinstance(late, CallerUnable) else "")
        except RpcRefusal as refusal:
            detail = f"{m.message_type(kind)} was expected, and an error came: {refusal}"
            self.transcript.add("received", seat.player_id, note=detail, wire=refusal.answer)
            if error_code_of(refusal) == "E005":
                # The player was restarted and has not registered yet. It is asked again, as if it were unreachable.
                return s.NoAnswer(side, ask.ask, "E009")
            return s.InvalidAnswer(side, ask.ask, "E045", detail)
        except ProtocolError as error:
            self.transcript.add("failed", seat.player_id, note=str(error), wire=error.answer)
            return s.InvalidAnswer(side, ask.ask, error.code, error.detail, error.context)
        return _to_input(side, ask.ask, answer)

    async def _can_connect_to_opponent(self, side: Side) -> bool | None:
        """Whether the referee can connect to the opponent of a player; None if that is not known.

        If it can connect to neither player, its own network is at fault. In a game with turns only one player is asked,
        so the opponent is pinged.
        """
        if self._machine.expected_from(other(side)) is not None:
            return None
        try:
            await ping(self._world.caller, self.seats[other(side)].endpoint, PING_SECONDS)
        except CallFailed as failure:
            return failure.connected
        except CallerLate:
            return None
        return True

    def _request(self, ask: s.Ask, seconds: float) -> tuple[m.Request, type[PlayerMessage]]:
        """The invitation or the call for a move, and the type of the expected answer."""
        if ask.question is None:
            return self.messages.invitation(ask.side), m.GameJoinAck
        return self.messages.call(ask.side, ask.question, seconds), self._move_kind

    def _game_error(self, side: Side, fault: s.GameFault) -> m.GameError:
        next_retry_in = None if fault.next_retry_at is None else fault.next_retry_at - self._loop.time()
        return self.messages.game_error(side, fault, self._machine.stage, next_retry_in)

    # Helpers

    def _deadline(self) -> str | None:
        """The latest deadline of the players that are asked for something now."""
        deadlines = [self._deadlines[side] for side in SIDES if self._machine.expected_from(side) is not None]
        return self.messages.time_in(max(deadlines) - self._loop.time()) if deadlines else None

    def _arrived(self) -> list[str]:
        return [self.seats[side].player_id for side in self._machine.arrived]


def _to_input(side: Side, ask: int | None, message: PlayerMessage) -> s.Input:
    """A player's message as an input of the machine. ``ask`` is the request that it answers; None if it was posted."""
    match message:
        case m.GameJoinAck(accept=True):
            return s.Joined(side, ask)
        case m.GameJoinAck():
            return s.Declined(side, ask)
        case _:
            return s.Moved(side, ask, move_of(message), message.move_info)
