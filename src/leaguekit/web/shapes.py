"""What the dashboard's API answers and streams: every shape that a page, a report or a program may rely on.

An allow-list: nothing leaves through the web but what stands here. There are no endpoints, codes, tokens and seeds in
it (the league's seed is told when the league is over), and no choices before a match has ended.

Times are ISO 8601 in UTC; ``seq`` is the number of the last event in what is shown.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.league.figures import Mark
from leaguekit.protocol.fields import AgentState, LeagueState, MatchState, ResultStatus


def _told(sentence: str) -> Meta:
    return Meta(description=sentence)


Seq = Annotated[int, _told("The number of the last event in what is shown")]
Role = Literal["player", "referee"]
DecidedBy = Literal["referee", "manager", "operator"]
MatchStatus = Literal["scheduled", "waiting", "in_play", "held", "ended"]


class Shape(Struct, kw_only=True):
    """A JSON object."""


class Who(Shape):
    """An agent by its id and the name it gave itself."""

    id: str
    name: str


class Champion(Shape):
    """Who leads the final table."""

    id: str
    name: str
    points: int


class LeagueView(Shape):
    """The league as it stands."""

    league_id: str
    game_type: str
    pure_chance: Annotated[bool, _told("Whether luck alone decides between any two players")]
    state: LeagueState
    paused: bool
    round: Annotated[int, _told("The round announced last; 0 before the first")]
    total_rounds: int
    matches_played: int
    total_matches: int
    players: int
    referees: int
    starts_at: Annotated[str | None, _told("When the league, or the round announced last, begins; null if not set")]
    waits_for: Annotated[list[str], _told("What the league cannot go on without, in words")]
    created_at: str | None
    started_at: str | None
    ended_at: str | None
    champion: Annotated[Champion | None, _told("Once the league is over")]
    seed_hex: Annotated[str | None, _told("What all draws were made from; once the league is over")]


class StandingRow(Shape):
    """A row of the table."""

    rank: int
    id: str
    name: str
    played: int
    wins: int
    draws: int
    losses: int
    technical_losses: int
    points: int
    movement: Annotated[
        int | None, _told("Ranks gained (below 0: lost) since the round before was over; null in the first")
    ]
    state: AgentState
    out: Annotated[str | None, _told("WITHDRAWAL or DISQUALIFICATION, for who has left")]


class MatchLine(Shape):
    """A match in a list; from ``winner`` on only once it has ended."""

    match_id: str
    round_id: int
    a: Who
    b: Who
    status: MatchStatus
    referee_id: str | None = None
    attempt: Annotated[int, _told("0 before the first")] = 0
    ended_at: str | None = None
    winner: Annotated[str | None, _told("The winner's id; null for none")] = None
    points: Annotated[tuple[int, int] | None, _told("Of a and of b")] = None
    result: ResultStatus | None = None
    ruling: Annotated[str | None, _told("From the closed list of rulings")] = None
    choices: Annotated[tuple[str | None, str | None] | None, _told("Of a and of b")] = None
    drawn_number: int | None = None
    reason: Annotated[str | None, _told("Why it ended so, in words")] = None
    decided_by: DecidedBy | None = None


class InPlay(Shape):
    """A match in play. A referee that is not ours tells no stage."""

    match_id: str
    round_id: int
    a: Who
    b: Who
    referee_id: str | None
    attempt: int
    since: Annotated[str | None, _told("When the attempt was given out")]
    stage: MatchState | None = None
    stage_since: str | None = None
    deadline: Annotated[str | None, _told("When the stage ends at the latest")] = None
    arrived: Annotated[list[str], _told("Who has come to the match")] = []


class AgentLine(Shape):
    """An agent in a list."""

    id: str
    role: Role
    name: str
    state: AgentState
    out: str | None = None
    playing: Annotated[list[str], _told("The matches that it plays, or has in hand, now")] = []


class News(Shape):
    """An event in words."""

    number: int
    at: str
    event: Annotated[str, _told("The event's type")]
    text: str
    match_id: str | None = None
    agent_id: str | None = None
    by_operator: bool = False


# The stream


class Live(Shape):
    """All that the front page shows, and what the stream's event ``snapshot`` carries.

    Standings are the first 100 ranks; results and news the latest 20 each. That a match began or ended is no news.
    """

    seq: Seq
    now: Annotated[str, _told("The manager's clock")]
    league: LeagueView
    standings: Annotated[dict[str, StandingRow], _told("By player")]
    playing: Annotated[dict[str, InPlay], _told("By match")]
    results: Annotated[dict[str, MatchLine], _told("By match; the latest by ended_at")]
    agents: Annotated[dict[str, AgentLine], _told("By id: all referees, and the players in the standings shown")]
    news: Annotated[dict[str, News], _told("By number")]


class Parts(Shape, omit_defaults=True):
    """Items of ``Live`` that are new or changed; ``league`` whole."""

    league: LeagueView | None = None
    standings: dict[str, StandingRow] = {}
    playing: dict[str, InPlay] = {}
    results: dict[str, MatchLine] = {}
    agents: dict[str, AgentLine] = {}
    news: dict[str, News] = {}


class Gone(Shape, omit_defaults=True):
    """Keys of ``Live`` that are no longer there."""

    standings: list[str] = []
    playing: list[str] = []
    results: list[str] = []
    agents: list[str] = []
    news: list[str] = []


class Change(Shape, omit_defaults=True):
    """What the stream's event ``change`` carries: put every item of ``set`` in its place, and take away ``drop``."""

    seq: Seq
    now: str
    set: Parts
    drop: Gone | UnsetType = UNSET


# Pages


class LeaguePage(Shape):
    """The league, with what was settled before it began."""

    seq: Seq
    league: LeagueView
    tie_breaks: list[str]
    schedule: Annotated[Literal["single", "double"], _told("Whether everybody meets once or twice")]
    profile: str
    limits: Annotated[dict[str, float], _told("Seconds, and how many retries")]
    announce_lead: float


class StandingsPage(Shape):
    """Part of the table."""

    seq: Seq
    total: int
    offset: int
    rows: list[StandingRow]


class RoundLine(Shape):
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
    rounds: list[RoundLine]


class RoundPage(Shape):
    """One round and part of its matches."""

    seq: Seq
    round: RoundLine
    rests: Annotated[list[Who], _told("Who has no match in it")]
    total: int
    offset: int
    matches: list[MatchLine]


class Cell(Shape, array_like=True):
    """[column, match_id, mark], seen from the row's player.

    The mark is 1, ½ or 0; + and - if it was decided without play; null before the match has ended.
    """

    column: int
    match_id: str
    mark: Mark | None


class CrossTable(Shape):
    """Everybody against everybody, in the order of ranks; beyond 100 players in windows of rows and columns."""

    seq: Seq
    total: int
    offset: int
    columns_offset: int
    rows: list[Who]
    columns: list[Who]
    cells: Annotated[list[list[Cell]], _told("For each row its matches against players in the columns")]


class PointsLine(Shape):
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
    players: list[PointsLine]


class Times(Shape):
    """How long answers took. ``counts`` has one more than there are bounds: what took longer than the last."""

    answers: int
    median: Annotated[float | None, _told("Seconds, as far as the bounds tell")]
    p95: float | None
    longest: float | None
    counts: list[int]


class TimesLine(Shape):
    """A player's answer times."""

    id: str
    name: str
    times: Times


class TimesPage(Shape):
    """The distribution of answer times to invitations and calls, of all and of players in the order of ranks."""

    seq: Seq
    bounds: Annotated[list[float], _told("Seconds: each count is of answers that took at most so long")]
    limit: Annotated[float, _told("The time limit for a choice")]
    all: Times
    total: int
    offset: int
    players: list[TimesLine]


class Message(Shape):
    """A message of a match, or what became of it, as its referee saw it."""

    seconds: Annotated[float, _told("Since the match began")]
    what: Literal["sent", "received", "failed", "ruled"]
    player_id: str | None
    message_type: str | None
    text: str
    body: Annotated[dict[str, Any], _told("What the message says, without addresses and tokens")] = {}


class Draw(Shape):
    """A draw that was committed to before the choices: SHA-256 of the text ``nonce:number``."""

    number: int | None
    commitment: str
    nonce: str | None
    opens: Annotated[bool | None, _told("Whether nonce and number are those committed to; null if one is not known")]


class Verification(Shape):
    """What the manager found when it played the match again."""

    replayed: Annotated[bool, _told("The result is what the game's rules make of the choices")]
    opened: Annotated[bool, _told("The draw is the one that was committed to")]
    derived: Annotated[bool, _told("The draw is the one that the league's seed gives")]
    faults: list[str]
    not_checkable: list[str]


class Step(Shape):
    """A position of the game as everybody may see it, after moves of these sides (none at the beginning)."""

    moves: Annotated[dict[str, Any], _told("By side: A or B")]
    view: Annotated[dict[str, Any], _told("The game's plain view; tic_tac_toe has board and moves")]


class MatchPage(Shape):
    """All that is known of one match. What was said in it is shown once it has ended."""

    seq: Seq
    match: MatchLine
    game_type: str
    in_play: InPlay | None
    voids: Annotated[int, _told("Attempts that came to nothing")]
    flags: Annotated[list[str], _told("What asks for the operator's eye")]
    evidence: Annotated[dict[str, Any] | None, _told("What the ruling rests on, as the referee tells it")]
    draw: Draw | None
    verification: Verification | None
    steps: Annotated[list[Step], _told("The game from its beginning, position by position")]
    messages: Annotated[list[Message], _told("Empty if the referee handed no transcript in")]
    news: list[News]


class Counts(Shape):
    """What came of the requests that referees sent to a player."""

    asked: int
    answered: int
    timeouts: int
    unreachable: int
    wrong: int
    retried: Annotated[int, _told("Failures and wrong answers after which it could be asked again")]
    recovered: Annotated[int, _told("Of those, how many were then answered well")]
    missed: Annotated[int, _told("Notices of the manager that it left unanswered")]


class ErrorLine(Shape):
    """A kind of error that an agent made."""

    code: str
    name: str
    count: int
    meaning: str
    remedy: str
    detail: Annotated[str | None, _told("The latest, in its referee's words")]
    last_at: str
    last_match: str | None


class ViolationLine(Shape):
    """How an agent departs from the letter of the protocol and is hosted all the same (profile open)."""

    rule: Annotated[str, _told("Its place in the documents")]
    count: int
    came: Annotated[str, _told("What the agent sent, the first time")]
    expected: str
    first_at: str


class AgentPage(Shape):
    """All that is known of one agent."""

    seq: Seq
    agent: AgentLine
    version: str | None
    registered_at: str
    out_reason: str | None
    record: Annotated[StandingRow | None, _told("Of a player in the table")]
    counts: Counts | None
    times: Times | None
    times_bounds: list[float]
    errors: list[ErrorLine]
    violations: list[ViolationLine]
    to_fix: Annotated[list[str], _told("What its author should do, the most urgent first")]
    total_to_come: int
    to_come: Annotated[list[MatchLine], _told("The next matches")]
    total_played: int
    offset: int
    played: Annotated[list[MatchLine], _told("Matches that have ended, the latest first")]


class AgentsPage(Shape):
    """Part of the agents: referees first, then players in the order of their ids."""

    seq: Seq
    total: int
    offset: int
    agents: list[AgentLine]


class NewsPage(Shape):
    """Part of the events in words, the latest last."""

    seq: Seq
    after: int
    news: list[News]


class RatingLine(Shape):
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
    matches: Annotated[int, _told("Played to their end")]


class FiguresPage(Shape):
    """What the table means: ratings fitted over all matches, and in plain sentences what of it is more than chance."""

    seq: Seq
    sentences: list[str]
    champions_chance: Annotated[
        float | None, _told("How likely one of equally strong players would get as many points as the first")
    ]
    alike_chance: Annotated[float | None, _told("How likely equally strong players would differ as much")]
    total: int
    offset: int
    players: list[RatingLine]


class Metric(Shape):
    """A success metric of the specification (000 §13) beside its goal."""

    id: Annotated[str, _told("The requirement")]
    name: str
    goal: Annotated[str, _told("In words")]
    value: Annotated[float | None, _told("null while there is nothing to measure")]
    unit: Literal["share", "seconds"]
    of: Annotated[int, _told("How many were counted")]
    met: bool | None
    counted: Annotated[str, _told("What was counted, and since when")]


class MetricsPage(Shape):
    """The success metrics."""

    seq: Seq
    metrics: list[Metric]


class Problem(Shape):
    """Why a request has no answer."""

    error: str
