"""Types of the API's pages. What they have in common with the stream is in ``api_types``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import field

from leaguekit.league.analysis.figures import Mark
from leaguekit.protocol.fields import AgentState
from leaguekit.web.api_types import (
    AgentListRow,
    AgentName,
    InPlay,
    JsonObject,
    LeagueView,
    MatchRow,
    NewsItem,
    Page,
    StandingRow,
    described,
)


class ListPage(Page):
    """Part of a list."""

    total: int
    offset: int


class LeaguePage(Page):
    """The league, with its settings."""

    league: LeagueView
    tie_breaks: list[str]
    schedule: Annotated[Literal["single", "double"], described("Whether everybody meets once or twice")]
    profile: str
    limits: Annotated[dict[str, float], described("Seconds, and how many retries")]
    announce_lead: float
    format: Annotated[str, described("Who plays whom, such as swiss(rounds=5)")] = "round_robin"
    advancement: Annotated[str, described("One sentence about how a player advances, or what decides")] = ""
    end_reason: Annotated[str, described("What the format said at the end; empty in a round-robin")] = ""


class StandingsPage(ListPage):
    """Part of the table."""

    rows: list[StandingRow]


class RoundRow(JsonObject):
    """A round: the number of its matches, and of the results."""

    round_id: int
    matches: int
    played: int
    wins: int
    draws: int
    technical_losses: int
    completed: bool
    announced_at: str | None
    label: Annotated[str, described("What the format calls it, such as Semi-finals; empty in a round-robin")] = ""
    byes: Annotated[list[str], described("The players with a bye, which counts as a win")] = field(default_factory=list)


class RoundsPage(ListPage):
    """Part of the rounds."""

    rounds: list[RoundRow]


class RoundPage(Page):
    """One round and part of its matches."""

    round: RoundRow
    rests: Annotated[list[AgentName], described("The players without a match in it")]
    total: int
    offset: int
    matches: list[MatchRow]
    byes: Annotated[list[AgentName], described("Of those without a match, the players with a bye")] = field(
        default_factory=list
    )
    points: Annotated[
        dict[str, int], described("Of each player before the round; empty if all rounds are known at the start")
    ] = field(default_factory=dict)


class Cell(JsonObject, array_like=True):
    """[column, match_id, mark], seen from the row's player.

    The mark is 1, ½ or 0; + and - if it was decided without play; null before the match has ended.
    """

    column: int
    match_id: str
    mark: Mark | None


class RankedAgent(AgentName):
    """A player and its rank as people write it."""

    shown_rank: str = ""


class CrossTable(ListPage):
    """Everybody against everybody, in the order of ranks; beyond 100 players in windows of rows and columns."""

    columns_offset: int
    rows: list[RankedAgent]
    columns: list[AgentName]
    cells: Annotated[list[list[Cell]], described("For each row its matches against players in the columns")]


class PointsRow(AgentName):
    """A player's points after each round."""

    points: list[int]


class PointsPage(ListPage):
    """Points over the rounds that have begun, of players in the order of ranks."""

    rounds: int
    players: list[PointsRow]


class Times(JsonObject):
    """How long answers took. The last of ``counts`` is of answers above the last bound."""

    answers: int
    median: Annotated[float | None, described("Seconds, as exactly as the bounds allow")]
    p95: float | None
    longest: float | None
    counts: list[int]


class AnswerTimesRow(AgentName):
    """A player's answer times."""

    times: Times


class TimesPage(Page):
    """The distribution of answer times to invitations and calls, of all and of players in the order of ranks."""

    bounds: Annotated[list[float], described("Seconds: each count is of answers that took at most that long")]
    limit: Annotated[float, described("The time limit for a choice")]
    all: Times
    total: int
    offset: int
    players: list[AnswerTimesRow]


class Message(JsonObject):
    """An entry of a referee's transcript: a message, a failure or a ruling."""

    seconds: Annotated[float, described("Since the match began")]
    what: Literal["sent", "received", "failed", "ruled"]
    player_id: str | None
    message_type: str | None
    text: str
    body: Annotated[dict[str, Any], described("What the message says, without addresses and tokens")] = field(
        default_factory=dict
    )
    wire: Annotated[
        list[str],
        described("What was really sent and received, with the method or the HTTP status: the first 2 KB of each"),
    ] = field(default_factory=list)


class Draw(JsonObject):
    """A draw that was committed to before the choices: SHA-256 of the text ``nonce:number``, or ``nonce:seed``."""

    number: int | None
    commitment: str
    nonce: str | None
    opens: Annotated[
        bool | None, described("Whether nonce and number, or seed, are those committed to; null if one is not known")
    ]
    seed: Annotated[str | None, described("The seed of the match, from which follows what chance gave")] = None


class Verification(JsonObject):
    """What the manager found when it played the match again."""

    replayed: Annotated[bool, described("The result is what the game's rules make of the choices")]
    opened: Annotated[bool, described("The draw is the one that was committed to")]
    derived: Annotated[bool, described("The draw is the one that the league's seed gives")]
    faults: list[str]
    not_checkable: list[str]


class Step(JsonObject):
    """A position of the game as everybody may see it, after moves of these sides (none at the beginning)."""

    moves: Annotated[dict[str, Any], described("By side: A or B")]
    view: Annotated[dict[str, Any], described("The game's plain view; /api/pictures has it to be drawn")]


class Moves(JsonObject):
    """Where moves came from, by the agent's own statement."""

    own: Annotated[int, described("Its strategy chose them")]
    retried: Annotated[int, described("Its strategy chose them when it was asked again")]
    replaced: Annotated[int, described("Other legal moves were played for it")]
    illegal: Annotated[int, described("It stated an illegal move at first")]
    reason: Annotated[str | None, described("Why the first was replaced")]


class MatchPage(Page):
    """Everything public about one match. Its messages are shown once it has ended."""

    match: MatchRow
    game_type: str
    in_play: InPlay | None
    voids: Annotated[int, described("Attempts without a result")]
    flags: Annotated[list[str], described("What the operator should look at")]
    evidence: Annotated[dict[str, Any] | None, described("What the ruling rests on, as the referee reported it")]
    draw: Draw | None
    verification: Verification | None
    steps: Annotated[list[Step], described("The game from its beginning, position by position")]
    messages: Annotated[list[Message], described("Empty if the referee sent no transcript")]
    news: list[NewsItem]
    game: Annotated[str, described("The game with its arguments, such as `my_game(turns=50)`")] = ""
    moves: Annotated[dict[str, Moves], described("By player; one that states nothing is not in it")] = field(
        default_factory=dict
    )
    meetings: Annotated[
        list[MatchRow], described("Earlier matches of the two players that have ended, the latest first; at most 5")
    ] = field(default_factory=list)
    before: Annotated[str | None, described("The match before it in the schedule")] = None
    after: Annotated[str | None, described("The match after it in the schedule")] = None


class PicturesPage(ListPage):
    """The pictures of steps of a match that is over, in the order of the steps."""

    pictures: Annotated[list[dict[str, Any]], described("Each a grid, cards or text, as docs/games.md describes them")]


class Counts(JsonObject):
    """The requests that referees sent to a player, by outcome."""

    asked: int
    answered: int
    timeouts: int
    unreachable: int
    wrong: int
    illegal: Annotated[int, described("Of the wrong answers, illegal moves")]
    retried: Annotated[int, described("Failures and wrong answers after which it could be asked again")]
    recovered: Annotated[int, described("Of those, how many were then answered well")]
    missed: Annotated[int, described("Notices of the manager that it left unanswered")]


class ErrorRow(JsonObject):
    """A kind of error that an agent made."""

    code: str
    name: str
    count: int
    meaning: str
    remedy: str
    detail: Annotated[str | None, described("The latest, in its referee's words")]
    last_at: str
    last_match: str | None


class ViolationRow(JsonObject):
    """A rule of the protocol that an agent breaks and the open profile tolerates."""

    rule: Annotated[str, described("Its place in the documents")]
    count: int
    came: Annotated[str, described("What the agent sent, the first time")]
    expected: str
    first_at: str


class AgentPage(Page):
    """Everything public about one agent."""

    agent: AgentListRow
    version: str | None
    registered_at: str
    out_reason: str | None
    record: Annotated[StandingRow | None, described("Of a player in the table")]
    counts: Counts | None
    times: Times | None
    times_bounds: list[float]
    errors: list[ErrorRow]
    violations: list[ViolationRow]
    to_fix: Annotated[list[str], described("What its author should do, the most urgent first")]
    total_to_come: int
    to_come: Annotated[list[MatchRow], described("The next matches")]
    total_played: int
    offset: int
    played: Annotated[list[MatchRow], described("Matches that have ended, the latest first")]
    moves: Annotated[Moves | None, described("Of all its matches that were reported; null if it states nothing")] = None


class ProblemRow(AgentName):
    """An agent with problems."""

    state: AgentState
    out: str | None
    unreachable_since: Annotated[str | None, described("Null if it answered the latest call")]
    sentences: Annotated[list[str], described("What went wrong, the worst first")]


class RefusedRow(JsonObject):
    """A registration that was refused. The applicant has not registered since."""

    role: str
    name: str
    code: str
    reason: str
    at: str


class AgentsPage(ListPage):
    """Part of the agents: referees first, then players in the order of their ids."""

    agents: list[AgentListRow]
    problems: Annotated[list[ProblemRow], described("The agents with problems, the worst first; at most 100")] = field(
        default_factory=list
    )
    refused: Annotated[list[RefusedRow], described("Refused registrations, the latest first; at most 100")] = field(
        default_factory=list
    )
    moves: Annotated[dict[str, Moves], described("By player; one that states nothing is not in it")] = field(
        default_factory=dict
    )


class NewsPage(Page):
    """Part of the events in words, the latest last."""

    after: int
    news: list[NewsItem]


class RatingRow(JsonObject):
    """A player's rating in points above the league's average, with its 95 % interval.

    A player that has played no match has none.

    400 points more are ten wins for each loss.
    """

    rank: int
    id: str
    name: str
    points: int
    rating: int | None
    low: int | None
    high: int | None
    matches: Annotated[int, described("Played to their end")]
    own_rate: Annotated[float | None, described("Share of moves that it chose itself at once, as it states")] = None
    illegal_rate: Annotated[
        float | None, described("Share of moves for which it stated an illegal move at first, as it states")
    ] = None


class FiguresPage(Page):
    """What the table means: ratings fitted over all matches, and in plain sentences what of it is more than chance."""

    sentences: list[str]
    champions_chance: Annotated[
        float | None,
        described("How likely one of equally strong players would get as many points as the first, at most"),
    ]
    alike_chance: Annotated[float | None, described("How likely equally strong players would differ as much")]
    total: int
    offset: int
    players: list[RatingRow]
    certainty: Annotated[str, described("Of the sentences, the one that says how certain the first place is")] = ""


class Metric(JsonObject):
    """A success metric of the specification (000 §13) beside its goal."""

    id: Annotated[str, described("The requirement")]
    name: str
    goal: Annotated[str, described("In words")]
    value: Annotated[float | None, described("null while there is nothing to measure")]
    unit: Literal["share", "seconds"]
    of: Annotated[int, described("How many were counted")]
    met: bool | None
    counted: Annotated[str, described("What was counted, and since when")]


class MetricsPage(Page):
    """The success metrics."""

    metrics: list[Metric]
