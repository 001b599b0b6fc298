"""What the dashboard's API answers, page by page; what pages have in common with the stream stands in ``shapes``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import field

from leaguekit.league.figures import Mark
from leaguekit.web.api_types import (
    AgentListRow,
    InPlay,
    LeagueView,
    MatchRow,
    NewsItem,
    Seq,
    Shape,
    StandingRow,
    Who,
    told,
)


class LeaguePage(Shape):
    """The league, with what was settled before it began."""

    seq: Seq
    league: LeagueView
    tie_breaks: list[str]
    schedule: Annotated[Literal["single", "double"], told("Whether everybody meets once or twice")]
    profile: str
    limits: Annotated[dict[str, float], told("Seconds, and how many retries")]
    announce_lead: float


class StandingsPage(Shape):
    """Part of the table."""

    seq: Seq
    total: int
    offset: int
    rows: list[StandingRow]


class RoundRow(Shape):
    """A round: how many matches, and how those that ended did."""

    round_id: int
    matches: int
    played: int
    wins: int
    draws: int
    technical_losses: int
    completed: bool
    announced_at: str | None


class RoundsPage(Shape):
    """Part of the rounds."""

    seq: Seq
    total: int
    offset: int
    rounds: list[RoundRow]


class RoundPage(Shape):
    """One round and part of its matches."""

    seq: Seq
    round: RoundRow
    rests: Annotated[list[Who], told("Who has no match in it")]
    total: int
    offset: int
    matches: list[MatchRow]


class Cell(Shape, array_like=True):
    """[column, match_id, mark], seen from the row's player.

    The mark is 1, ½ or 0; + and - if it was decided without play; null before the match has ended.
    """

    column: int
    match_id: str
    mark: Mark | None


class RankedAgent(Who):
    """A player and its rank as people write it."""

    shown_rank: str = ""


class CrossTable(Shape):
    """Everybody against everybody, in the order of ranks; beyond 100 players in windows of rows and columns."""

    seq: Seq
    total: int
    offset: int
    columns_offset: int
    rows: list[RankedAgent]
    columns: list[Who]
    cells: Annotated[list[list[Cell]], told("For each row its matches against players in the columns")]


class PointsRow(Shape):
    """A player's points after each round."""

    id: str
    name: str
    points: list[int]


class PointsPage(Shape):
    """Points over the rounds that have begun, of players in the order of ranks."""

    seq: Seq
    total: int
    offset: int
    rounds: int
    players: list[PointsRow]


class Times(Shape):
    """How long answers took. ``counts`` has one more than there are bounds: what took longer than the last."""

    answers: int
    median: Annotated[float | None, told("Seconds, as far as the bounds tell")]
    p95: float | None
    longest: float | None
    counts: list[int]


class AnswerTimesRow(Shape):
    """A player's answer times."""

    id: str
    name: str
    times: Times


class TimesPage(Shape):
    """The distribution of answer times to invitations and calls, of all and of players in the order of ranks."""

    seq: Seq
    bounds: Annotated[list[float], told("Seconds: each count is of answers that took at most so long")]
    limit: Annotated[float, told("The time limit for a choice")]
    all: Times
    total: int
    offset: int
    players: list[AnswerTimesRow]


class Message(Shape):
    """A message of a match, or what became of it, as its referee saw it."""

    seconds: Annotated[float, told("Since the match began")]
    what: Literal["sent", "received", "failed", "ruled"]
    player_id: str | None
    message_type: str | None
    text: str
    body: Annotated[dict[str, Any], told("What the message says, without addresses and tokens")] = field(
        default_factory=dict
    )


class Draw(Shape):
    """A draw that was committed to before the choices: SHA-256 of the text ``nonce:number``."""

    number: int | None
    commitment: str
    nonce: str | None
    opens: Annotated[bool | None, told("Whether nonce and number are those committed to; null if one is not known")]


class Verification(Shape):
    """What the manager found when it played the match again."""

    replayed: Annotated[bool, told("The result is what the game's rules make of the choices")]
    opened: Annotated[bool, told("The draw is the one that was committed to")]
    derived: Annotated[bool, told("The draw is the one that the league's seed gives")]
    faults: list[str]
    not_checkable: list[str]


class Step(Shape):
    """A position of the game as everybody may see it, after moves of these sides (none at the beginning)."""

    moves: Annotated[dict[str, Any], told("By side: A or B")]
    view: Annotated[dict[str, Any], told("The game's plain view; tic_tac_toe has board and moves")]


class Moves(Shape):
    """Where moves came from, by the agent's own statement."""

    own: Annotated[int, told("Its strategy chose them")]
    retried: Annotated[int, told("Its strategy chose them when it was asked again")]
    replaced: Annotated[int, told("Other legal moves were played for it")]
    reason: Annotated[str | None, told("Why the first was replaced")]


class MatchPage(Shape):
    """All that is known of one match. What was said in it is shown once it has ended."""

    seq: Seq
    match: MatchRow
    game_type: str
    in_play: InPlay | None
    voids: Annotated[int, told("Attempts that came to nothing")]
    flags: Annotated[list[str], told("What asks for the operator's eye")]
    evidence: Annotated[dict[str, Any] | None, told("What the ruling rests on, as the referee tells it")]
    draw: Draw | None
    verification: Verification | None
    steps: Annotated[list[Step], told("The game from its beginning, position by position")]
    messages: Annotated[list[Message], told("Empty if the referee handed no transcript in")]
    news: list[NewsItem]
    moves: Annotated[dict[str, Moves], told("By player; one that states nothing is not in it")] = field(
        default_factory=dict
    )


class Counts(Shape):
    """What came of the requests that referees sent to a player."""

    asked: int
    answered: int
    timeouts: int
    unreachable: int
    wrong: int
    retried: Annotated[int, told("Failures and wrong answers after which it could be asked again")]
    recovered: Annotated[int, told("Of those, how many were then answered well")]
    missed: Annotated[int, told("Notices of the manager that it left unanswered")]


class ErrorRow(Shape):
    """A kind of error that an agent made."""

    code: str
    name: str
    count: int
    meaning: str
    remedy: str
    detail: Annotated[str | None, told("The latest, in its referee's words")]
    last_at: str
    last_match: str | None


class ViolationRow(Shape):
    """How an agent departs from the letter of the protocol and is hosted all the same (profile open)."""

    rule: Annotated[str, told("Its place in the documents")]
    count: int
    came: Annotated[str, told("What the agent sent, the first time")]
    expected: str
    first_at: str


class AgentPage(Shape):
    """All that is known of one agent."""

    seq: Seq
    agent: AgentListRow
    version: str | None
    registered_at: str
    out_reason: str | None
    record: Annotated[StandingRow | None, told("Of a player in the table")]
    counts: Counts | None
    times: Times | None
    times_bounds: list[float]
    errors: list[ErrorRow]
    violations: list[ViolationRow]
    to_fix: Annotated[list[str], told("What its author should do, the most urgent first")]
    total_to_come: int
    to_come: Annotated[list[MatchRow], told("The next matches")]
    total_played: int
    offset: int
    played: Annotated[list[MatchRow], told("Matches that have ended, the latest first")]
    moves: Annotated[Moves | None, told("Of all its matches that were reported; null if it states nothing")] = None


class AgentsPage(Shape):
    """Part of the agents: referees first, then players in the order of their ids."""

    seq: Seq
    total: int
    offset: int
    agents: list[AgentListRow]
    moves: Annotated[dict[str, Moves], told("By player; one that states nothing is not in it")] = field(
        default_factory=dict
    )


class NewsPage(Shape):
    """Part of the events in words, the latest last."""

    seq: Seq
    after: int
    news: list[NewsItem]


class RatingRow(Shape):
    """A player's rating in points above the league's average, with its 95 % interval; null for who has played nothing.

    400 points more are ten wins for each loss.
    """

    rank: int
    id: str
    name: str
    points: int
    rating: int | None
    low: int | None
    high: int | None
    matches: Annotated[int, told("Played to their end")]


class FiguresPage(Shape):
    """What the table means: ratings fitted over all matches, and in plain sentences what of it is more than chance."""

    seq: Seq
    sentences: list[str]
    champions_chance: Annotated[
        float | None, told("How likely one of equally strong players would get as many points as the first")
    ]
    alike_chance: Annotated[float | None, told("How likely equally strong players would differ as much")]
    total: int
    offset: int
    players: list[RatingRow]


class Metric(Shape):
    """A success metric of the specification (000 §13) beside its goal."""

    id: Annotated[str, told("The requirement")]
    name: str
    goal: Annotated[str, told("In words")]
    value: Annotated[float | None, told("null while there is nothing to measure")]
    unit: Literal["share", "seconds"]
    of: Annotated[int, told("How many were counted")]
    met: bool | None
    counted: Annotated[str, told("What was counted, and since when")]


class MetricsPage(Shape):
    """The success metrics."""

    seq: Seq
    metrics: list[Metric]
