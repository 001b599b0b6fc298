"""What the dashboard's API streams, and answers are made of: shapes that a page, a report or a program may rely on.

An allow-list: nothing leaves through the web but what stands here and in ``page_shapes``. There are no endpoints,
codes, tokens and seeds in it (the league's seed is told when the league is over), and no choices before a match has
ended.

Times are ISO 8601 in UTC; ``seq`` is the number of the last event in what is shown.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import AgentState, LeagueState, MatchState, ResultStatus
from leaguekit.protocol.ids import Role


def told(sentence: str) -> Meta:
    return Meta(description=sentence)


Seq = Annotated[int, told("The number of the last event in what is shown")]
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
    pure_chance: Annotated[bool, told("Whether luck alone decides between any two players")]
    state: LeagueState
    paused: bool
    round: Annotated[int, told("The round announced last; 0 before the first")]
    total_rounds: int
    matches_played: int
    total_matches: int
    players: int
    referees: int
    starts_at: Annotated[str | None, told("When the league, or the round announced last, begins; null if not set")]
    waits_for: Annotated[list[str], told("What the league cannot go on without, in words")]
    created_at: str | None
    started_at: str | None
    ended_at: str | None
    champion: Annotated[Champion | None, told("Once the league is over")]
    seed_hex: Annotated[str | None, told("What all draws were made from; once the league is over")]
    seed_commitment: Annotated[str, told("The SHA-256 of seed_hex, from the beginning")] = ""
    order: Annotated[str, told("What decides the order of the table, in words")] = ""
    first: Annotated[str | None, told("Which player is first, or which players are, in words; null before play")] = None
    ties: Annotated[list[str], told("What decided between players with equal points, in words")] = []


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
        int | None, told("Ranks gained (below 0: lost) since the round before was over; null in the first")
    ]
    state: AgentState
    out: Annotated[str | None, told("WITHDRAWAL or DISQUALIFICATION, for who has left")]
    shown_rank: Annotated[str, told("1= for players who are equal in everything but the lot or the id")] = ""
    decided_by: Annotated[
        str | None, told("The tie-break between this player and the one before it; null if points decided")
    ] = None
    head_to_head: Annotated[
        int | None, told("Points in the matches among the players with equal points; null where it was not needed")
    ] = None
    sonneborn_berger: Annotated[
        float | None, told("Points of beaten opponents, half of those drawn with; null where it was not needed")
    ] = None


class MatchRow(Shape):
    """A match in a list; from ``winner`` on only once it has ended."""

    match_id: str
    round_id: int
    a: Who
    b: Who
    status: MatchStatus
    referee_id: str | None = None
    attempt: Annotated[int, told("0 before the first")] = 0
    ended_at: str | None = None
    winner: Annotated[str | None, told("The winner's id; null for none")] = None
    points: Annotated[tuple[int, int] | None, told("Of a and of b")] = None
    result: ResultStatus | None = None
    ruling: Annotated[str | None, told("From the closed list of rulings")] = None
    choices: Annotated[tuple[str | None, str | None] | None, told("Of a and of b")] = None
    drawn_number: int | None = None
    reason: Annotated[str | None, told("Why it ended so, in words")] = None
    decided_by: DecidedBy | None = None


class InPlay(Shape):
    """A match in play. A referee that is not ours tells no stage."""

    match_id: str
    round_id: int
    a: Who
    b: Who
    referee_id: str | None
    attempt: int
    since: Annotated[str | None, told("When the attempt was given out")]
    stage: MatchState | None = None
    stage_since: str | None = None
    deadline: Annotated[str | None, told("When the stage ends at the latest")] = None
    arrived: Annotated[list[str], told("Who has come to the match")] = []


class AgentListRow(Shape):
    """An agent in a list."""

    id: str
    role: Role
    name: str
    state: AgentState
    out: str | None = None
    playing: Annotated[list[str], told("The matches that it plays, or has in hand, now")] = []


class NewsItem(Shape):
    """An event in words."""

    number: int
    at: str
    event: Annotated[str, told("The event's type")]
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
    now: Annotated[str, told("The manager's clock")]
    league: LeagueView
    standings: Annotated[dict[str, StandingRow], told("By player")]
    playing: Annotated[dict[str, InPlay], told("By match")]
    results: Annotated[dict[str, MatchRow], told("By match; the latest by ended_at")]
    agents: Annotated[dict[str, AgentListRow], told("By id: all referees, and the players in the standings shown")]
    news: Annotated[dict[str, NewsItem], told("By number")]


class ChangedItems(Shape, omit_defaults=True):
    """Items of ``Live`` that are new or changed; ``league`` whole."""

    league: LeagueView | None = None
    standings: dict[str, StandingRow] = {}
    playing: dict[str, InPlay] = {}
    results: dict[str, MatchRow] = {}
    agents: dict[str, AgentListRow] = {}
    news: dict[str, NewsItem] = {}


class RemovedKeys(Shape, omit_defaults=True):
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
    set: ChangedItems
    drop: RemovedKeys | UnsetType = UNSET


class Problem(Shape):
    """Why a request has no answer."""

    error: str
