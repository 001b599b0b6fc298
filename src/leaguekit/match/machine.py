"""One match as a state machine: inputs in, effects out; no I/O, and the time is passed in.

The shell carries the effects out and reports what came of them. It hands in one input for every ``Ask`` (an answer,
``Wrong``, ``Failed`` or ``Late``); then the match ends. What a player posts by itself has no ask (``None``), and a
``SendError`` with no ask is the answer to such a post.

What a side is doing, and what an input then does (anything else changes nothing):

             Joined  Declined  Moved  Wrong  Failed  Late
    IDLE
    INVITED  join    decline          wrong  fail    void
    JOINED
    CALLED                     move   wrong  fail    void
    MOVED
    OUT

When neither side is asked for anything any more, the match goes on: to the calls, to the next turn, or to its end.
``Withdrawn`` ends it at any time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

from msgspec import UNSET, Struct

from leaguekit.games.base import SIDES, Game, Question, Side
from leaguekit.match.rulings import Ruling, Verdict, sentence, verdict_by_fault, verdict_by_play
from leaguekit.match.signals import (
    Ask,
    Declined,
    Effect,
    Failed,
    Finish,
    GameFault,
    Input,
    Joined,
    Late,
    Limits,
    Moved,
    Seat,
    SendError,
    StageEntered,
    Void,
    What,
    Withdrawn,
    Wrong,
)
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.fields import MatchState
from leaguekit.protocol.messages import MoveOrigins

# How often a wrong answer is asked for again inside its window; the next wrong answer loses the match.
MAX_REPEATS = 3
_WRONG_AGAIN = f"Technical loss at wrong answer {MAX_REPEATS + 1}, or if no valid one comes before the deadline."
# Evidence goes into the report, which must stay small; the transcript has everything.
MAX_EVENTS = 24
MAX_DETAIL = 100


# What a side is doing; the table above has a row for each.
Phase = Literal[
    "IDLE",  # before the start
    "INVITED",
    "JOINED",  # and waits for the other, or for its turn
    "CALLED",
    "MOVED",  # and waits for the other
    "OUT",  # at fault
]


# What is wanted of a side that is asked.
_WANTED: dict[Phase, What] = {"INVITED": "join", "CALLED": "move"}
_TIMEOUTS: dict[What, Ruling] = {"join": Ruling.JOIN_TIMEOUT, "move": Ruling.CHOICE_TIMEOUT}


class _Noted(Struct, frozen=True):
    """Something that a player did, or that was done to it, by the shell's clock."""

    at: float
    what: str
    ask: int | None
    asked_at: float
    late_ms: int | None


class _Player(Struct):
    side: Side
    id: str
    suspended: bool
    phase: Phase = "IDLE"
    # What it is asked now, under which number, from when and until when.
    question: Question | None = None
    ask: int = 0
    asked_at: float = 0.0
    deadline: float = 0.0
    # Retries open a new window after no answer; repeats follow wrong answers inside one.
    retries: int = 0
    repeats: int = 0
    wrong: Wrong | None = None
    fault: Ruling | None = None
    # In a row, over the whole match.
    failures: int = 0
    answered: bool = False
    # Whether it could be connected to when it was called last.
    connected: bool = True
    joined: bool = False
    # Posts that were refused: counted only, or they would push out the rest of the evidence.
    refused: int = 0
    # Where its moves came from, as it states.
    origins: MoveOrigins | None = None
    events: list[_Noted] = []

    def heard(self) -> None:
        """It has given a sign of life."""
        self.suspended = False
        self.answered = self.connected = True
        self.failures = 0

    def late_ms(self, now: float) -> int | None:
        """How long after its deadline we noticed."""
        return round(max(0.0, now - self.deadline) * 1000) or None

    def note(self, what: str, ask: int | None, now: float, late_ms: int | None = None) -> None:
        """Keep what happened for the evidence, which is put into words only when it is asked for."""
        self.events.append(_Noted(now, what, ask, self.asked_at, late_ms))


class _Evidence(Struct, frozen=True):
    """What each player did and when, in seconds since the start; what has an ask came of that request."""

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
                    "events": [self._told(noted) for noted in player.events[-MAX_EVENTS:]],
                }
                for player in self.players.values()
            },
        }

    def _told(self, noted: _Noted) -> dict[str, Any]:
        told: dict[str, Any] = {"at": round(noted.at - self.began, 3), "what": noted.what}
        if noted.ask is not None:
            told["ask"] = noted.ask
            told["asked_at"] = round(noted.asked_at - self.began, 3)
        if noted.late_ms is not None:
            told["late_ms"] = noted.late_ms
        return told


class Match:
    """One attempt at a match. Call ``start`` once, then ``handle`` with everything that happens."""

    def __init__(
        self, game: Game[Any], match_id: str, players: dict[Side, Seat], limits: Limits, drawn: int | None
    ) -> None:
        self.game = game
        self.match_id = match_id
        self._limits = limits
        self._seconds: dict[What, float] = {"join": limits.join, "move": limits.choice}
        self._drawn = drawn
        self._position = game.start(drawn)
        self._moves: dict[Side, Any] = {}
        self._players = {side: _Player(side, players[side].player_id, players[side].suspended) for side in SIDES}
        self.stage: MatchState = "WAITING_FOR_PLAYERS"
        self._in_play = False
        self._began = 0.0
        self._asks = 0

    @property
    def arrived(self) -> tuple[Side, ...]:
        """Who has accepted its invitation."""
        return tuple(side for side in SIDES if self._players[side].joined)

    def posted(self, side: Side) -> What | None:
        """What a message that this player posts now would be for."""
        return _WANTED.get(self._players[side].phase) if self._in_play else None

    def is_open(self, ask: int) -> bool:
        """Whether an ask still waits for its answer; one that is to be sent later may be closed by a post."""
        a, b = self._players.values()
        asked = a if a.ask == ask else b
        return self._in_play and asked.ask == ask and asked.phase in _WANTED

    def timed_out(self, side: Side) -> int | None:
        """How many retries a side had that has lost by its time limit; None for any other."""
        player = self._players[side]
        return player.retries if player.fault in _TIMEOUTS.values() else None

    @property
    def origins(self) -> dict[str, MoveOrigins]:
        """Where the moves of each player came from, by its id; a player that states nothing is not in it."""
        return {player.id: player.origins for player in self._players.values() if player.origins is not None}

    def view(self, side: Side | None) -> dict[str, Any]:
        """The position as a side, or the public, may see it."""
        return self.game.view(self._position, side)

    def start(self, now: float) -> list[Effect]:
        """Invite both."""
        self._in_play = True
        self._began = now
        invitations = [self._request(player, "INVITED", None, now) for player in self._players.values()]
        return [StageEntered(self.stage), *invitations]

    def handle(self, given: Input, now: float) -> list[Effect]:
        """What follows from an input; nothing if it comes too late, twice, or for an old ask."""
        if not self._in_play:
            return []
        if isinstance(given, Withdrawn):
            return self._withdraw(given, now)
        player = self._players[given.side]
        handler = self._TABLE.get((player.phase, type(given)))
        if handler is None or (given.ask is not None and given.ask != player.ask):
            return []
        return handler(self, player, given, now) + self._go_on(now)

    # What an input does.

    def _join(self, player: _Player, given: Joined, now: float) -> list[Effect]:
        player.joined = True
        return self._answer(player, "JOINED", "joined", given.ask, now)

    def _decline(self, player: _Player, given: Declined, now: float) -> list[Effect]:
        player.fault = Ruling.REFUSED_INVITATION
        return self._answer(player, "OUT", "refused", given.ask, now)

    def _move(self, player: _Player, given: Moved, now: float) -> list[Effect]:
        if (fault := self.game.fault(self._position, given.side, given.move)) is not None:
            code = "E004" if self.game.asks_for_parity else "E057"
            valid = self.game.question(self._position, given.side).valid_options
            context = {"invalid_choice": given.move, "valid_choices": valid}
            return self._wrong(player, Wrong(given.side, given.ask, code, fault, context), now)
        self._moves[given.side] = given.move
        if given.info is not UNSET and given.info.origin is not UNSET:
            player.origins = player.origins or MoveOrigins()
            player.origins.count(given.info)
        return self._answer(player, "MOVED", "moved", given.ask, now)

    def _wrong(self, player: _Player, given: Wrong, now: float) -> list[Effect]:
        if given.ask is None:
            return self._refuse(player, given, now)
        player.heard()
        player.wrong = given
        player.note(given.code, given.ask, now)
        if player.repeats < MAX_REPEATS and now < player.deadline:
            player.repeats += 1
            return [self._tell_wrong(player, given, now), self._ask(player, now, player.deadline)]
        player.fault = Ruling.WRONG_TOKEN if given.code == "E012" else Ruling.INVALID_ANSWER
        told = self._tell_wrong(player, given, now)
        player.phase = "OUT"
        return [told]

    def _refuse(self, player: _Player, given: Wrong, now: float) -> list[Effect]:
        """What a player posts wrongly is answered, and no more; a wrong token there proves nothing of the player."""
        if given.code == "E012":
            return []
        player.refused += 1
        return [self._tell_wrong(player, given, now)]

    def _fail(self, player: _Player, given: Failed, now: float) -> list[Effect]:
        what = _WANTED[player.phase]
        player.failures += 1
        player.connected = given.connected
        player.note(given.code, given.ask, now, player.late_ms(now))
        most = 0 if player.suspended else self._limits.max_retries
        if player.retries < most:
            player.retries += 1
            player.repeats = 0
            again = now + self._limits.delay(player.retries)
            told = self._tell_failed(player, given, what, most, again)
            return [told, self._ask(player, again, again + self._seconds[what])]
        told = self._tell_failed(player, given, what, most, None)
        unreachable = player.suspended or given.code == "E009"
        player.fault = Ruling.UNREACHABLE if unreachable else _TIMEOUTS[what]
        player.phase = "OUT"
        return [told]

    def _void(self, player: _Player, given: Late, now: float) -> list[Effect]:
        player.note("late", given.ask, now, round(given.late_ms))
        self._in_play = False
        late = f"{sentence(Ruling.VOID, player.id)}: {given.late_ms:.0f} ms"
        if not given.why:
            return [Void(late, self._evidence()())]
        return [Void(f"the referee could not call {player.id}: {given.why}", self._evidence()(), player.id)]

    def _withdraw(self, given: Withdrawn, now: float) -> list[Effect]:
        player = self._players[given.side]
        player.note(given.ruling, None, now)
        player.fault = Ruling(given.ruling)
        player.phase = "OUT"
        return self._forfeit()

    # The table of the module's docstring.
    _TABLE: ClassVar[dict[tuple[Phase, type[Input]], Callable[[Match, _Player, Any, float], list[Effect]]]] = {
        ("INVITED", Joined): _join,
        ("INVITED", Declined): _decline,
        ("INVITED", Wrong): _wrong,
        ("INVITED", Failed): _fail,
        ("INVITED", Late): _void,
        ("CALLED", Moved): _move,
        ("CALLED", Wrong): _wrong,
        ("CALLED", Failed): _fail,
        ("CALLED", Late): _void,
    }

    # How the match goes on.

    def _go_on(self, now: float) -> list[Effect]:
        """When neither side is asked for anything any more: rule, or ask what comes next."""
        a, b = self._players.values()
        if a.phase in _WANTED or b.phase in _WANTED:
            return []
        if a.fault or b.fault:
            return self._forfeit()
        effects: list[Effect] = []
        if self.stage == "WAITING_FOR_PLAYERS":
            effects.append(self._enter("COLLECTING_CHOICES"))
        else:
            self._position = self.game.play(self._position, self._moves)
            self._moves = {}
        outcome = self.game.outcome(self._position)
        if outcome is None:
            return [*effects, *self._call(now)]
        choices = self.game.choices(self._position)
        verdict = verdict_by_play(
            outcome, self._ids(), drawn=self._drawn, choices=choices, make_evidence=self._evidence()
        )
        return [*effects, self._enter("DRAWING_NUMBER"), *self._finish(verdict)]

    def _call(self, now: float) -> list[Effect]:
        game, position = self.game, self._position
        return [
            self._request(self._players[side], "CALLED", game.question(position, side), now)
            for side in game.to_move(position)
        ]

    def _forfeit(self) -> list[Effect]:
        faults = {side: player.fault for side, player in self._players.items() if player.fault is not None}
        # A choice that was made before the other side failed is shown.
        choices = self.game.choices(self._position) | {side: str(move) for side, move in self._moves.items()}
        return self._finish(verdict_by_fault(faults, self._ids(), choices=choices, make_evidence=self._evidence()))

    def _finish(self, verdict: Verdict) -> list[Effect]:
        self._in_play = False
        return [self._enter("FINISHED"), Finish(verdict)]

    def _enter(self, stage: MatchState) -> StageEntered:
        self.stage = stage
        return StageEntered(stage)

    # The pieces that effects are made of.

    def _ids(self) -> dict[Side, str]:
        return {side: player.id for side, player in self._players.items()}

    def _answer(self, player: _Player, phase: Phase, what: str, ask: int | None, now: float) -> list[Effect]:
        player.heard()
        player.phase = phase
        player.note(what, ask, now)
        return []

    def _request(self, player: _Player, phase: Phase, question: Question | None, now: float) -> Ask:
        player.phase = phase
        player.question = question
        player.retries = player.repeats = 0
        return self._ask(player, now, now + self._seconds[_WANTED[phase]])

    def _ask(self, player: _Player, send_at: float, deadline: float) -> Ask:
        self._asks += 1
        player.ask = self._asks
        player.asked_at = send_at
        player.deadline = deadline
        return Ask(player.side, player.ask, _WANTED[player.phase], player.question, send_at, deadline)

    def _tell_failed(self, player: _Player, given: Failed, what: What, most: int, again: float | None) -> SendError:
        fault = GameFault(
            code=given.code,
            detail=CATALOGUE[given.code].sentence,
            action_required=self._action(what),
            retry_count=player.retries,
            max_retries=most,
            retryable=again is not None,
            consequence="Technical loss: no tries are left."
            if again is None
            else f"Technical loss if no answer comes within {most} retries.",
            next_retry_at=again,
        )
        return SendError(given.side, given.ask, fault)

    def _tell_wrong(self, player: _Player, given: Wrong, now: float) -> SendError:
        fault = GameFault(
            code=given.code,
            detail=given.detail,
            action_required=self._action(_WANTED[player.phase]),
            retry_count=player.repeats,
            max_retries=MAX_REPEATS,
            retryable=player.fault is None,
            consequence=_WRONG_AGAIN if player.fault is None else "Technical loss: no tries are left.",
            time_remaining=max(0.0, player.deadline - now),
            context=given.context,
        )
        return SendError(given.side, given.ask, fault)

    def _action(self, what: What) -> str:
        move = "CHOOSE_PARITY_RESPONSE" if self.game.asks_for_parity else "GAME_MOVE_RESPONSE"
        return "GAME_JOIN_ACK" if what == "join" else move

    def _evidence(self) -> _Evidence:
        return _Evidence(self.stage, self._began, self._players)
