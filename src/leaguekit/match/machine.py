"""One match as a state machine: inputs in, effects out. It does no I/O, and the time is passed in.

The caller carries out the effects and reports the outcome of each. It passes in exactly one input for every ``Ask``:
an answer, ``InvalidAnswer``, ``NoAnswer`` or ``RefereeLate``. Then the match is certain to end. A message that a player
sends on its own initiative (a post) has no ask (``None``). A ``SendError`` without an ask is the answer to a post.

The table has the phases of a side, and what each input does in a phase. Any other input changes nothing.

             Joined  Declined  Moved  InvalidAnswer  NoAnswer  RefereeLate
    IDLE
    INVITED  join    decline          wrong          fail      void
    JOINED
    CALLED                     move   wrong          fail      void
    MOVED
    OUT

When neither side has an open ask, the match goes on: to the calls, to the next turn, or to its end.

A player may be taken out of the league meanwhile. The machine does not know it: the manager rules the matches of such a
player by itself.

Chance is an effect and an input, too: the caller answers a ``Roll`` at once by ``Rolled``. The machine itself has no
randomness, so it can be played again from the record of its steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct

from leaguekit.games.base import CHANCE, SIDES, Game, Moves, Question, Side, other
from leaguekit.games.records import choices_of
from leaguekit.match.move_messages import drawn_number, messages_of
from leaguekit.match.rulings import Ruling, Verdict, describe_ruling, verdict_by_fault, verdict_by_play
from leaguekit.match.signals import (
    Ask,
    Declined,
    Effect,
    Finish,
    GameFault,
    Input,
    InvalidAnswer,
    Joined,
    Limits,
    Moved,
    NoAnswer,
    RefereeLate,
    RequestKind,
    Roll,
    Rolled,
    Seat,
    SendError,
    StageEntered,
    Void,
)
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.fields import MatchState, Origin
from leaguekit.protocol.messages import MoveOrigins, message_type

# An invalid answer may be repeated this number of times before the deadline. The next one loses the match.
MAX_REPEATS = 3
_REPEAT_CONSEQUENCE = f"Technical loss at wrong answer {MAX_REPEATS + 1}, or if no valid one comes before the deadline."
# A suspended player has at most this time to join. It has one try for each request until it has made a move.
SUSPENDED_SECONDS = 5.0
# Limits of the evidence, because the report must be small. The transcript has everything.
MAX_EVENTS = 24
MAX_DETAIL = 100


# The phases of a side. The table above has a row for each.
Phase = Literal[
    "IDLE",  # before the start
    "INVITED",
    "JOINED",  # and waits for the other, or for its turn
    "CALLED",
    "MOVED",  # and waits for the other
    "OUT",  # at fault
]


# The kind of request that a side has to answer in a phase.
_REQUESTED: dict[Phase, RequestKind] = {"INVITED": "join", "CALLED": "move"}
_TIMEOUTS: dict[RequestKind, Ruling] = {"join": Ruling.JOIN_TIMEOUT, "move": Ruling.CHOICE_TIMEOUT}


class _Entry(Struct, frozen=True):
    """An entry of the evidence: what happened to a request or a post of a player, by the caller's clock."""

    at: float
    what: str
    ask: int | None
    asked_at: float
    late_ms: int | None


class _Player(Struct):
    side: Side
    id: str
    suspended: bool
    move_retries: int
    phase: Phase = "IDLE"
    # The open request: its question, its number, when it was sent, and its deadline.
    question: Question | None = None
    ask: int = 0
    asked_at: float = 0.0
    deadline: float = 0.0
    # After no answer, a retry has a new deadline. After an invalid answer, a repeat has the same deadline.
    retries: int = 0
    repeats: int = 0
    wrong: InvalidAnswer | None = None
    fault: Ruling | None = None
    # Consecutive requests without an answer, over the whole match.
    failures: int = 0
    answered: bool = False
    # Whether the latest connection to it succeeded.
    connected: bool = True
    joined: bool = False
    # Rejected posts are only counted: as entries they would displace the other evidence.
    refused: int = 0
    # The origins of its moves, as it states.
    origins: MoveOrigins | None = None
    events: list[_Entry] = []

    def note_answer(self) -> None:
        """Record that the player has answered."""
        self.answered = self.connected = True
        self.failures = 0

    def late_ms(self, now: float) -> int | None:
        """How long after the deadline the caller reported the failure; None if it was not late."""
        return round(max(0.0, now - self.deadline) * 1000) or None

    def note(self, what: str, ask: int | None, now: float, late_ms: int | None = None) -> None:
        """Add an entry to the evidence."""
        self.events.append(_Entry(now, what, ask, self.asked_at, late_ms))


class _Evidence(Struct, frozen=True):
    """Builds the evidence as JSON. Times are in seconds since the start of the match."""

    stage: MatchState
    began: float
    players: dict[Side, _Player]

    def __call__(self) -> dict[str, Any]:
        return {
            "stage": self.stage,
            "players": {
                player.id: {
                    "phase": player.phase,
                    "answered": player.answered,
                    **({} if player.connected else {"connected": False}),
                    "failures": player.failures,
                    "refused_posts": player.refused,
                    "last_wrong": None if player.wrong is None else player.wrong.detail[:MAX_DETAIL],
                    "events": [self._as_json(entry) for entry in player.events[-MAX_EVENTS:]],
                }
                for player in self.players.values()
            },
        }

    def _as_json(self, entry: _Entry) -> dict[str, Any]:
        fields: dict[str, Any] = {"at": round(entry.at - self.began, 3), "what": entry.what}
        if entry.ask is not None:
            fields["ask"] = entry.ask
            fields["asked_at"] = round(entry.asked_at - self.began, 3)
        if entry.late_ms is not None:
            fields["late_ms"] = entry.late_ms
        return fields


class Match:
    """One attempt at a match. Call ``start`` once, and then ``handle`` with each input."""

    def __init__(self, game: Game[Any], match_id: str, players: dict[Side, Seat], limits: Limits) -> None:
        self.game = game
        self.match_id = match_id
        self._limits = limits
        self._seconds: dict[RequestKind, float] = {"join": limits.join, "move": limits.choice}
        self._position = game.start()
        # The steps that were played, and the moves of the present step.
        self.record: list[Moves] = []
        self._moves: Moves = {}
        self._awaits_chance = False
        self._players = {side: self._make_player(side, players[side]) for side in SIDES}
        self.stage: MatchState = "WAITING_FOR_PLAYERS"
        self._in_play = False
        self._began = 0.0
        self._asks = 0

    def _make_player(self, side: Side, seat: Seat) -> _Player:
        move_retries = self._limits.max_retries if seat.move_retries is None else seat.move_retries
        return _Player(side, seat.player_id, seat.suspended, move_retries)

    @property
    def arrived(self) -> tuple[Side, ...]:
        """The sides that have accepted their invitations."""
        return tuple(side for side in SIDES if self._players[side].joined)

    def expected_from(self, side: Side) -> RequestKind | None:
        """The kind of request that this side has to answer now, and may answer by a post; None if there is none."""
        return _REQUESTED.get(self._players[side].phase) if self._in_play else None

    def is_open(self, ask: int) -> bool:
        """Whether a request still waits for its answer. A post may answer a request before it is sent."""
        a, b = self._players.values()
        asked = a if a.ask == ask else b
        return self._in_play and asked.ask == ask and asked.phase in _REQUESTED

    def timed_out(self, side: Side) -> int | None:
        """The number of retries of a side that has lost by a time limit; None for any other side."""
        player = self._players[side]
        return player.retries if player.fault in _TIMEOUTS.values() else None

    def tries(self, side: Side) -> tuple[int, int]:
        """Which try of its present request a side is at, and how many it has."""
        player = self._players[side]
        return player.retries + 1, self._max_retries(player) + 1

    @property
    def origins(self) -> dict[str, MoveOrigins]:
        """The origins of the moves of each player, by its id. A player that states nothing is not in it."""
        return {player.id: player.origins for player in self._players.values() if player.origins is not None}

    def view(self, side: Side | None) -> dict[str, Any]:
        """The position as a side may see it, or the public (None)."""
        return self.game.view(self._position, side)

    def start(self, now: float) -> list[Effect]:
        """Invite both players."""
        self._in_play = True
        self._began = now
        invitations = [self._request(player, "INVITED", None, now) for player in self._players.values()]
        return [StageEntered(self.stage), *invitations]

    def handle(self, given: Input, now: float) -> list[Effect]:
        """The effects of an input. There are none if it comes too late, twice, or for an old request."""
        if not self._in_play:
            return []
        if isinstance(given, Rolled):
            return self._roll(given, now)
        player = self._players[given.side]
        handler = self._TABLE.get((player.phase, type(given)))
        if handler is None or (given.ask is not None and given.ask != player.ask):
            return []
        return handler(self, player, given, now) + self._continue(now)

    # The handlers of the inputs.

    def _join(self, player: _Player, given: Joined, now: float) -> list[Effect]:
        player.joined = True
        return self._answer(player, "JOINED", "joined", given.ask, now)

    def _decline(self, player: _Player, given: Declined, now: float) -> list[Effect]:
        player.fault = Ruling.REFUSED_INVITATION
        return self._answer(player, "OUT", "refused", given.ask, now)

    def _move(self, player: _Player, given: Moved, now: float) -> list[Effect]:
        if (fault := self.game.move_error(self._position, given.side, given.move)) is not None:
            code = messages_of(self.game).error_code
            valid = self.game.question(self._position, given.side).valid_options
            context = {"invalid_choice": given.move, "valid_choices": valid}
            effects = self._wrong(player, InvalidAnswer(given.side, given.ask, code, fault, context), now)
            if player.phase == "OUT":
                self._count_origin(player, given, {"replaced"})
            return effects
        self._moves[given.side] = given.move
        player.suspended = False
        self._count_origin(player, given, {"own", "retried", "replaced"})
        return self._answer(player, "MOVED", "moved", given.ask, now)

    def _count_origin(self, player: _Player, given: Moved, origins: set[Origin]) -> None:
        """Count where a move came from. One that loses the match counts if its player had no move of its own."""
        if given.info is not UNSET and given.info.origin in origins:
            player.origins = player.origins or MoveOrigins()
            player.origins.count(given.info)

    def _wrong(self, player: _Player, given: InvalidAnswer, now: float) -> list[Effect]:
        if given.ask is None:
            return self._refuse(player, given, now)
        player.note_answer()
        player.wrong = given
        player.note(given.code, given.ask, now)
        if player.repeats < MAX_REPEATS and now < player.deadline:
            player.repeats += 1
            return [self._invalid_answer_error(player, given, now), self._ask(player, now, player.deadline)]
        player.fault = Ruling.WRONG_TOKEN if given.code == "E012" else Ruling.INVALID_ANSWER
        error = self._invalid_answer_error(player, given, now)
        player.phase = "OUT"
        return [error]

    def _refuse(self, player: _Player, given: InvalidAnswer, now: float) -> list[Effect]:
        """Answer an invalid post. It has no other consequence: with a wrong token, anybody may have sent it."""
        if given.code == "E012":
            return []
        player.refused += 1
        return [self._invalid_answer_error(player, given, now)]

    def _fail(self, player: _Player, given: NoAnswer, now: float) -> list[Effect]:
        kind = _REQUESTED[player.phase]
        player.failures += 1
        player.connected = given.connected
        if given.opponent_connected is not None:
            self._players[other(given.side)].connected = given.opponent_connected
        player.note(given.code, given.ask, now, player.late_ms(now))
        max_retries = self._max_retries(player)
        if player.retries < max_retries:
            player.retries += 1
            player.repeats = 0
            retry_at = now + self._limits.delay(player.retries)
            error = self._no_answer_error(player, given, kind, max_retries, retry_at)
            return [error, self._ask(player, retry_at, retry_at + self._seconds[kind])]
        error = self._no_answer_error(player, given, kind, max_retries, None)
        unreachable = (player.suspended and not player.answered) or given.code == "E009"
        player.fault = Ruling.UNREACHABLE if unreachable else _TIMEOUTS[kind]
        player.phase = "OUT"
        return [error]

    def _void(self, player: _Player, given: RefereeLate, now: float) -> list[Effect]:
        player.note("late", given.ask, now, round(given.late_ms))
        self._in_play = False
        late = f"{describe_ruling(Ruling.VOID, player.id)}: {given.late_ms:.0f} ms"
        if not given.why:
            return [Void(late, self._evidence()())]
        return [Void(f"the referee could not call {player.id}: {given.why}", self._evidence()(), player.id)]

    def _roll(self, given: Rolled, now: float) -> list[Effect]:
        if not self._awaits_chance or given.step != len(self.record):
            return []
        self._awaits_chance = False
        self._moves = {"chance": given.outcome}
        self._play()
        return self._go_on(now)

    # The table of the module's docstring.
    _TABLE: ClassVar[dict[tuple[Phase, type[Input]], Callable[[Match, _Player, Any, float], list[Effect]]]] = {
        ("INVITED", Joined): _join,
        ("INVITED", Declined): _decline,
        ("INVITED", InvalidAnswer): _wrong,
        ("INVITED", NoAnswer): _fail,
        ("INVITED", RefereeLate): _void,
        ("CALLED", Moved): _move,
        ("CALLED", InvalidAnswer): _wrong,
        ("CALLED", NoAnswer): _fail,
        ("CALLED", RefereeLate): _void,
    }

    # The course of the match.

    def _continue(self, now: float) -> list[Effect]:
        """If no request is open, decide the match or send the next requests."""
        a, b = self._players.values()
        if a.phase in _REQUESTED or b.phase in _REQUESTED:
            return []
        if a.fault or b.fault:
            return self._forfeit()
        effects: list[Effect] = []
        if self.stage == "WAITING_FOR_PLAYERS":
            effects.append(self._enter("COLLECTING_CHOICES"))
        else:
            self._play()
        return [*effects, *self._go_on(now)]

    def _play(self) -> None:
        self._position = self.game.play(self._position, self._moves)
        self.record.append(self._moves)
        self._moves = {}

    def _go_on(self, now: float) -> list[Effect]:
        """Ask the sides that move now, or chance, or decide the match."""
        game, position = self.game, self._position
        if (outcome := game.outcome(position)) is not None:
            verdict = verdict_by_play(
                outcome,
                self._ids(),
                drawn=drawn_number(game, self.record),
                choices=choices_of(self.record),
                make_evidence=self._evidence(),
                record=self.record,
            )
            return [self._enter("DRAWING_NUMBER"), *self._finish(verdict)]
        movers = game.to_move(position)
        if movers == CHANCE:
            self._awaits_chance = True
            return [Roll(len(self.record), position)]
        return [
            self._request(self._players[side], "CALLED", game.question(position, side), now)
            for side in SIDES
            if side in movers
        ]

    def _forfeit(self) -> list[Effect]:
        faults = {side: player.fault for side, player in self._players.items() if player.fault is not None}
        # The result includes a choice that was made before the other side failed.
        choices = choices_of([*self.record, self._moves])
        return self._finish(verdict_by_fault(faults, self._ids(), choices=choices, make_evidence=self._evidence()))

    def _finish(self, verdict: Verdict) -> list[Effect]:
        self._in_play = False
        return [self._enter("FINISHED"), Finish(verdict)]

    def _enter(self, stage: MatchState) -> StageEntered:
        self.stage = stage
        return StageEntered(stage)

    def _max_retries(self, player: _Player) -> int:
        """The number of retries of a side's present request."""
        if player.suspended:
            return 0
        return player.move_retries if player.joined else self._limits.max_retries

    # Building effects.

    def _ids(self) -> dict[Side, str]:
        return {side: player.id for side, player in self._players.items()}

    def _answer(self, player: _Player, phase: Phase, what: str, ask: int | None, now: float) -> list[Effect]:
        player.note_answer()
        player.phase = phase
        player.note(what, ask, now)
        return []

    def _request(self, player: _Player, phase: Phase, question: Question | None, now: float) -> Ask:
        player.phase = phase
        player.question = question
        player.retries = player.repeats = 0
        seconds = self._seconds[_REQUESTED[phase]]
        if player.suspended and phase == "INVITED":
            seconds = min(seconds, SUSPENDED_SECONDS)
        return self._ask(player, now, now + seconds)

    def _ask(self, player: _Player, send_at: float, deadline: float) -> Ask:
        self._asks += 1
        player.ask = self._asks
        player.asked_at = send_at
        player.deadline = deadline
        return Ask(player.side, player.ask, _REQUESTED[player.phase], player.question, send_at, deadline)

    def _no_answer_error(
        self, player: _Player, given: NoAnswer, kind: RequestKind, max_retries: int, retry_at: float | None
    ) -> SendError:
        fault = GameFault(
            code=given.code,
            detail=CATALOGUE[given.code].sentence,
            action_required=self._action(kind),
            retry_count=player.retries,
            max_retries=max_retries,
            retryable=retry_at is not None,
            consequence="Technical loss: no tries are left."
            if retry_at is None
            else f"Technical loss if no answer comes within {max_retries} retr{'y' if max_retries == 1 else 'ies'}.",
            next_retry_at=retry_at,
        )
        return SendError(given.side, given.ask, fault)

    def _invalid_answer_error(self, player: _Player, given: InvalidAnswer, now: float) -> SendError:
        fault = GameFault(
            code=given.code,
            detail=given.detail,
            action_required=self._action(_REQUESTED[player.phase]),
            retry_count=player.repeats,
            max_retries=MAX_REPEATS,
            retryable=player.fault is None,
            consequence=_REPEAT_CONSEQUENCE if player.fault is None else "Technical loss: no tries are left.",
            time_remaining=max(0.0, player.deadline - now),
            context=given.context,
        )
        return SendError(given.side, given.ask, fault)

    def _action(self, kind: RequestKind) -> str:
        return "GAME_JOIN_ACK" if kind == "join" else message_type(messages_of(self.game).response)

    def _evidence(self) -> _Evidence:
        return _Evidence(self.stage, self._began, self._players)
