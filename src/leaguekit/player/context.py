"""The matches of a player, and the context that its strategy gets with every question for a move.

Every field of a Context has a default. An author's test can make one with only the fields that the strategy uses:
``choose(Context(valid_options=["left", "right"]))``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from random import Random
from traceback import format_exception
from typing import Any, Literal, NamedTuple, get_args

from msgspec import Struct, field

from leaguekit.games.base import DEFAULT_GAME
from leaguekit.match.move_messages import DOCUMENTED_QUESTION, MoveCall
from leaguekit.protocol import times
from leaguekit.protocol.fields import MatchRole, Origin
from leaguekit.protocol.messages import GameOver, MoveInfo, OwnRecord, Standing
from leaguekit.protocol.methods import BY_REQUEST

Result = Literal["WIN", "DRAW", "LOSS"]

# Timestamps are rounded down to seconds, and the answer takes time to arrive.
MARGIN_SECONDS = 1.5
MIN_SECONDS = 0.2


class Forfeit(NamedTuple):
    """What a strategy returns if it has no move, and loses the match for that."""

    reason: str
    info: MoveInfo = MoveInfo()


class OngoingMatch(Struct):
    """What the player knows about a match that a referee has called it to."""

    referee_id: str
    attempt: int = 1
    # The token that the referee sends, and the fields of every answer. ``identity`` is that for which they were made.
    identity: object = None
    expected_token: str = ""
    answer_fields: dict[str, Any] = {}
    round_id: int | None = None
    opponent_id: str | None = None
    role: MatchRole | None = None
    chosen: bool = False
    # Set when the strategy forfeits the match. The referee may ask again before it ends the match.
    forfeit: Forfeit | None = None
    random: Random | None = None


class PastMatch(Struct, frozen=True, kw_only=True, gc=False):
    """A match that is over, as its referee reported it. ``choice`` is this player's choice."""

    match_id: str
    game_type: str
    result: Result
    opponent_id: str | None = None
    choice: str | None = None
    opponent_choice: str | None = None
    drawn_number: int | None = None
    # Whether it was decided without being played.
    technical: bool = False
    reason: str = ""
    round_id: int | None = None
    role: MatchRole | None = None


class ReplacedMove(NamedTuple):
    """A move that was played instead of a strategy's own. ``fault`` says why, and ``error`` is what it raised."""

    match_id: str
    move: Any
    fault: str
    error: BaseException | None = None

    @property
    def summary(self) -> str:
        """One line for the author."""
        return f"{self.match_id}: {self.fault}; played {self.move!r} instead."

    @property
    def trace(self) -> str:
        """The traceback of an error, after a new line."""
        return "" if self.error is None else "\n" + "".join(format_exception(self.error)).rstrip()

    def __str__(self) -> str:
        """The summary and the traceback."""
        return f"{self.summary}{self.trace}"


def record_of(matches: Iterable[PastMatch]) -> OwnRecord:
    """Wins, losses, draws and points in these matches."""
    results = [match.result for match in matches]
    wins, draws = results.count("WIN"), results.count("DRAW")
    return OwnRecord(wins=wins, losses=results.count("LOSS"), draws=draws, points=3 * wins + draws)


def past_match(message: GameOver, player_id: str, match: OngoingMatch) -> PastMatch:
    """A match as GAME_OVER reports it. The message has precedence over what the player knows."""
    result = message.game_result
    opponent = match.opponent_id or next((one for one in result.choices if one != player_id), None)
    outcome: Result = "WIN" if result.winner_player_id == player_id else "LOSS"
    return PastMatch(
        match_id=message.match_id,
        game_type=message.game_type,
        result="DRAW" if result.status == "DRAW" else outcome,
        opponent_id=opponent,
        choice=result.choices.get(player_id),
        opponent_choice=result.choices.get(opponent or ""),
        drawn_number=result.drawn_number or None,
        technical=result.status == "TECHNICAL_LOSS",
        reason=result.reason or message.reason or "",
        round_id=message.round_id or match.round_id,
        role=match.role,
    )


def seconds_for(call: MoveCall) -> float:
    """How long a strategy may think.

    This is the difference of the two times in the call, so that only the sender's clock matters.
    """
    stated = (times.parse_timestamp(call.deadline) - times.parse_timestamp(call.timestamp)).total_seconds()
    if stated < 0:
        stated = BY_REQUEST[type(call)].seconds
    return max(stated - MARGIN_SECONDS, stated / 2, MIN_SECONDS)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Context(Struct, frozen=True, kw_only=True):
    """One question to a strategy: what is asked, what is legal, and what may help to decide."""

    game_type: str = DEFAULT_GAME
    # The arguments of the game, if it has any.
    game_args: dict[str, Any] = {}
    move_type: str = DOCUMENTED_QUESTION.move_type
    # The legal moves. Any other move is replaced by one of these.
    valid_options: list[Any] = []
    # If more moves are legal than are listed, their number, and how a move is written.
    total: int | None = None
    syntax: str = ""
    # The position as this player may see it. It is empty in the default game.
    view: dict[str, Any] = {}

    league_id: str | None = None
    player_id: str = "P01"
    match_id: str = "R1M1"
    round_id: int | None = None
    opponent_id: str | None = None
    role: MatchRole | None = None

    record: OwnRecord = field(default_factory=lambda: record_of(()))
    # The latest table from the manager, in the order of ranks.
    standings: list[Standing] = []
    # This player's matches so far, the oldest first.
    history: tuple[PastMatch, ...] = ()

    # If the strategy has not chosen by then, another move is played. The time is by this machine's clock.
    deadline: datetime | None = None
    # In a seeded league the same match gives the same numbers.
    random: Random = field(default_factory=Random)
    now: Callable[[], datetime] = _utc_now

    @property
    def lists_all_moves(self) -> bool:
        return self.total is None or self.total <= len(self.valid_options)

    @property
    def seconds_left(self) -> float:
        """How long the strategy may still think."""
        if self.deadline is None:
            return float("inf")
        return max(0.0, (self.deadline - self.now()).total_seconds())

    @property
    def opponent(self) -> Standing | None:
        """The opponent's row in the latest table, with its name and its record. None before the first table."""
        return next((row for row in self.standings if row.player_id == self.opponent_id), None)

    def against(self, opponent_id: str | None = None) -> list[PastMatch]:
        """The matches against an opponent, the oldest first. The default is the opponent of this match.

        Empty unless a pair meets again, as in a league with ``--rounds double``. ``played`` has those against all.
        """
        wanted = opponent_id or self.opponent_id
        return [match for match in self.history if match.opponent_id == wanted]

    def played(self) -> list[PastMatch]:
        """The matches of this game that were decided by play, the oldest first."""
        game = self.game_type
        return [match for match in self.history if match.game_type == game and not match.technical]


class Move(Struct, frozen=True):
    """A move and its origin, for a strategy that asks something else, such as a language model.

    ``retried``: the model gave this move only when it was asked again. ``replaced``: the model gave no move, and this
    is another legal move. ``reason`` says why.
    """

    move: Any
    origin: Origin = "own"
    reason: str = ""
    # Further facts, for the league's records: the model, the tokens and so on.
    info: MoveInfo = MoveInfo()

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise ValueError(f"origin is one of {', '.join(get_args(Origin))}, got {self.origin!r}")


# A strategy is the function that the author of a player writes. It returns a move, or a Move. It may be ``async``.
Strategy = Callable[[Context], Any]


class UsageReporter(ABC):
    """A strategy that reports what it has used: ``account`` for files, and ``str`` of the strategy for people."""

    @abstractmethod
    def account(self) -> dict[str, Any]: ...
