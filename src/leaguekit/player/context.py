"""What a player remembers of its matches, and what its strategy sees of them when it is asked for a move.

Everything in a Context has a default, so that an author's test can build one by hand and name only what the strategy
looks at: ``choose(Context(valid_options=["even", "odd"]))``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from random import Random
from traceback import format_exception
from typing import Any, Literal, NamedTuple, get_args

from msgspec import UNSET, Struct, UnsetType, field

from leaguekit.games.even_odd import PARITIES
from leaguekit.protocol import times
from leaguekit.protocol.fields import Origin, Role
from leaguekit.protocol.messages import ChooseParityCall, GameMoveCall, GameOver, MoveRequest, OwnRecord, Standing
from leaguekit.protocol.methods import BY_REQUEST

Result = Literal["WIN", "DRAW", "LOSS"]
MoveCall = ChooseParityCall | GameMoveCall

# Timestamps are cut to seconds, and the answer has to travel.
MARGIN_SECONDS = 1.5
LEAST_SECONDS = 0.2


class OngoingMatch(Struct):
    """What the player knows of a match that it was called to, and by whom."""

    referee_id: str
    attempt: int = 1
    # Who the player was when these were made: what the referee shows, and what every answer to it carries.
    identity: object = None
    expected_token: str = ""
    common: dict[str, Any] = {}
    round_id: int | None = None
    opponent_id: str | None = None
    role: Role | None = None
    chosen: bool = False
    random: Random | None = None


class PastMatch(Struct, frozen=True, kw_only=True):
    """A match that is over, as its referee told it. ``choice`` is what this player chose."""

    match_id: str
    game_type: str
    result: Result
    opponent_id: str | None = None
    choice: str | None = None
    opponent_choice: str | None = None
    drawn_number: int | None = None
    # Whether it was decided without play.
    technical: bool = False
    reason: str = ""
    round_id: int | None = None
    role: Role | None = None


class ReplacedMove(NamedTuple):
    """A move that was played for a strategy because its own was none, and why; ``error`` is what it raised."""

    match_id: str
    move: Any
    fault: str
    error: BaseException | None = None

    def __str__(self) -> str:
        """What its author is told: with the lines of the author's own code that an error came from."""
        trace = "" if self.error is None else "\n" + "".join(format_exception(self.error)).rstrip()
        return f"{self.match_id}: {self.fault}; played {self.move!r} instead.{trace}"


def record_of(matches: Iterable[PastMatch]) -> OwnRecord:
    """Wins, losses, draws and points in these matches."""
    results = [match.result for match in matches]
    wins, draws = results.count("WIN"), results.count("DRAW")
    return OwnRecord(wins=wins, losses=results.count("LOSS"), draws=draws, points=3 * wins + draws)


def past_match(message: GameOver, player_id: str, match: OngoingMatch) -> PastMatch:
    """A match as its end was told: the referee's word always wins over what the player remembers."""
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


class History(Struct, kw_only=True):
    """The history file, for people and their tools."""

    player_id: str
    league_id: str | None
    # When the player first registered in that league.
    joined_at: str
    display_name: str
    record: OwnRecord
    matches: list[PastMatch]
    # The own row of the final table and the champion, once the league is over.
    final: dict[str, Any] | None = None
    # What its strategy has used, if it keeps a tally.
    account: dict[str, Any] | UnsetType = UNSET


_EVEN_ODD = MoveRequest(move_type="choose_parity", valid_options=[*PARITIES], context={})


def question_of(call: MoveCall) -> MoveRequest:
    """What a call asks for; even/odd has a message of its own that leaves it unsaid."""
    return _EVEN_ODD if isinstance(call, ChooseParityCall) else call.move_request


def seconds_for(call: MoveCall) -> float:
    """How long a strategy may think: from the call's own two times, so that no clock but its sender's matters."""
    stated = (times.read(call.deadline) - times.read(call.timestamp)).total_seconds()
    if stated < 0:
        stated = BY_REQUEST[type(call)].seconds
    return max(stated - MARGIN_SECONDS, stated / 2, LEAST_SECONDS)


def _utc_now() -> datetime:
    return datetime.now(UTC)


class Context(Struct, frozen=True, kw_only=True):
    """One question to a strategy: what is asked, what is legal, and what may help to decide."""

    game_type: str = "even_odd"
    move_type: str = "choose_parity"
    # A legal move is one of these; anything else is replaced by one of them.
    valid_options: list[Any] = []
    # The position as this player may see it; empty in even/odd, where there is nothing to see.
    view: dict[str, Any] = {}

    league_id: str | None = None
    player_id: str = "P01"
    match_id: str = "R1M1"
    round_id: int | None = None
    opponent_id: str | None = None
    role: Role | None = None

    record: OwnRecord = field(default_factory=lambda: record_of(()))
    # The newest table that the manager sent, in the order of ranks.
    standings: list[Standing] = []
    # This player's matches so far, the oldest first.
    history: tuple[PastMatch, ...] = ()

    # When a move is played for the strategy if it has none, by this machine's clock.
    deadline: datetime | None = None
    # In a seeded league the same numbers come again in the same match.
    random: Random = field(default_factory=Random)
    now: Callable[[], datetime] = _utc_now

    @property
    def seconds_left(self) -> float:
        """How long the strategy may still think."""
        if self.deadline is None:
            return float("inf")
        return max(0.0, (self.deadline - self.now()).total_seconds())

    @property
    def opponent(self) -> Standing | None:
        """The opponent's row in the newest table, with its name and its record; None before the first table."""
        return next((row for row in self.standings if row.player_id == self.opponent_id), None)

    def against(self, opponent_id: str | None = None) -> list[PastMatch]:
        """The matches against one opponent, the oldest first; against the one of this match if none is named."""
        wanted = opponent_id or self.opponent_id
        return [match for match in self.history if match.opponent_id == wanted]

    def played(self) -> list[PastMatch]:
        """The matches of this game that were decided by play, the oldest first: the rest says nothing of choices."""
        game = self.game_type
        return [match for match in self.history if match.game_type == game and not match.technical]


class Move(Struct, frozen=True):
    """A move and its origin, for a strategy that does not always choose by itself.

    ``retried``: what it asks gave a move only when it was asked again. ``replaced``: it gave none, and this is another
    legal move. ``reason`` says why.
    """

    move: Any
    origin: Origin = "own"
    reason: str = ""

    def __post_init__(self) -> None:
        if self.origin not in get_args(Origin):
            raise ValueError(f"origin is one of {', '.join(get_args(Origin))}, got {self.origin!r}")


# A strategy: what the author of a player writes. It returns a move, or a Move. It may also be an ``async def``.
Strategy = Callable[[Context], Any]


class Tally(ABC):
    """A strategy that keeps a tally of what it uses: ``account`` is for files, and ``str`` of it for people."""

    @abstractmethod
    def account(self) -> dict[str, Any]: ...


def tally_of(strategy: object) -> Tally | None:
    """A strategy, if it keeps one."""
    return strategy if isinstance(strategy, Tally) else None
