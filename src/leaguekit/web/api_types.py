"""Types of the stream's events, and of what several pages of the API have in common.

They are an allow-list. The web shows nothing but the fields of these types and of those in ``page_types``. None of them
is an endpoint, a code or a token. The league's seed is shown once the league is over, and choices once the match has
ended.

Times are ISO 8601 in UTC. ``seq`` is the number of the last event that the data include.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import AgentState, LeagueState, MatchState, ResultStatus
from leaguekit.protocol.ids import Role


def described(sentence: str) -> Meta:
    """The description of a field in the JSON Schema."""
    return Meta(description=sentence)


DecidedBy = Literal["referee", "manager", "operator"]
MatchStatus = Literal["scheduled", "waiting", "in_play", "held", "ended"]


class JsonObject(Struct, kw_only=True):
    """A JSON object."""


class Page(JsonObject):
    """Data that include the events up to a number."""

    seq: Annotated[int, described("The number of the last event in what is shown")]


class AgentName(JsonObject):
    """An agent by its id and the name it gave itself."""

    id: str
    name: str


class Champion(AgentName):
    """The leader of the final table."""

    points: int


class LeagueView(JsonObject):
    """The current state of the league."""

    league_id: str
    game_type: str
    pure_chance: Annotated[bool, described("Whether luck alone decides between any two players")]
    state: LeagueState
    paused: bool
    round: Annotated[int, described("The round announced last; 0 before the first")]
    total_rounds: int
    matches_played: int
    total_matches: int
    players: int
    referees: int
    starts_at: Annotated[str | None, described("When the league, or the round announced last, begins; null if not set")]
    waits_for: Annotated[list[str], described("What the league cannot go on without, in words")]
    created_at: str | None
    started_at: str | None
    ended_at: str | None
    champion: Annotated[Champion | None, described("Once the league is over")]
    seed_hex: Annotated[str | None, described("What all draws were made from; once the league is over")]
    title: Annotated[str, described("What the league is called: its title, or its id")] = ""
    seed_commitment: Annotated[str, described("The SHA-256 of seed_hex, from the beginning")] = ""
    order: Annotated[str, described("What decides the order of the table, in words")] = ""
    first: Annotated[
        str | None, described("Which player is first, or which players are, in words; null before play")
    ] = None
    ties: Annotated[list[str], described("What decided between players with equal points, in words")] = []


class StandingRow(JsonObject):
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
        int | None, described("Ranks gained (below 0: lost) since the round before was over; null in the first")
    ]
    state: AgentState
    out: Annotated[str | None, described("WITHDRAWAL or DISQUALIFICATION, for a player that has left")]
    shown_rank: Annotated[str, described("1= for players who are equal in everything but the lot or the id")] = ""
    decided_by: Annotated[
        str | None, described("The tie-break between this player and the one before it; null if points decided")
    ] = None
    head_to_head: Annotated[
        int | None, described("Points in the matches among the players with equal points; null where it was not needed")
    ] = None
    sonneborn_berger: Annotated[
        float | None, described("Points of beaten opponents, half of those drawn with; null where it was not needed")
    ] = None


class MatchRow(JsonObject):
    """A match in a list. The fields from ``winner`` on are set once it has ended."""

    match_id: str
    round_id: int
    a: AgentName
    b: AgentName
    status: MatchStatus
    referee_id: str | None = None
    attempt: Annotated[int, described("0 before the first")] = 0
    ended_at: str | None = None
    winner: Annotated[str | None, described("The winner's id; null for none")] = None
    points: Annotated[tuple[int, int] | None, described("Of a and of b")] = None
    result: ResultStatus | None = None
    ruling: Annotated[str | None, described("From the closed list of rulings")] = None
    choices: Annotated[tuple[str | None, str | None] | None, described("Of a and of b")] = None
    drawn_number: int | None = None
    reason: Annotated[str | None, described("Why it ended so, in words")] = None
    decided_by: DecidedBy | None = None


class InPlay(JsonObject):
    """A match in play. Only our own referees report its stage."""

    match_id: str
    round_id: int
    a: AgentName
    b: AgentName
    referee_id: str | None
    attempt: int
    since: Annotated[str | None, described("When the attempt was given out")]
    stage: MatchState | None = None
    stage_since: str | None = None
    deadline: Annotated[str | None, described("When the try ends at the latest that runs now")] = None
    try_number: Annotated[int | None, described("Which try runs now: a player that is silent is asked again")] = None
    max_tries: int | None = None
    arrived: Annotated[list[str], described("The players that have come to the match")] = []
    missing: Annotated[list[str], described("The players that are asked now and have not answered")] = []
    position: Annotated[dict[str, Any] | None, described("The position, as everybody may see it")] = None
    picture: Annotated[
        dict[str, Any] | None,
        described("The same to be drawn: a grid, cards or text. /api/live has those of the first 8 matches only"),
    ] = None


class AgentListRow(JsonObject):
    """An agent in a list."""

    id: str
    role: Role
    name: str
    state: AgentState
    out: str | None = None
    playing: Annotated[list[str], described("The matches that it plays or referees now")] = []


class NewsItem(JsonObject):
    """An event in words."""

    number: int
    at: str
    event: Annotated[str, described("The event's type")]
    text: str
    match_id: str | None = None
    agent_id: str | None = None
    by_operator: bool = False


# The stream


class Live(Page):
    """Everything on the front page, and the data of the stream's event ``snapshot``.

    Standings are the first 100 ranks. Results and news are the latest 20 each. The beginning and the end of a match are
    not among the news.
    """

    now: Annotated[str, described("The manager's clock")]
    league: LeagueView
    standings: Annotated[dict[str, StandingRow], described("By player")]
    playing: Annotated[dict[str, InPlay], described("By match")]
    results: Annotated[dict[str, MatchRow], described("By match; the latest by ended_at")]
    agents: Annotated[dict[str, AgentListRow], described("By id: all referees, and the players in the standings shown")]
    news: Annotated[dict[str, NewsItem], described("By number")]


class ChangedItems(JsonObject, omit_defaults=True):
    """Items of ``Live`` that are new or changed. ``league`` is complete."""

    league: LeagueView | None = None
    standings: dict[str, StandingRow] = {}
    playing: dict[str, InPlay] = {}
    results: dict[str, MatchRow] = {}
    agents: dict[str, AgentListRow] = {}
    news: dict[str, NewsItem] = {}


class RemovedKeys(JsonObject, omit_defaults=True):
    """Keys of ``Live`` that are no longer there."""

    standings: list[str] = []
    playing: list[str] = []
    results: list[str] = []
    agents: list[str] = []
    news: list[str] = []


class Change(Page, omit_defaults=True):
    """The data of the stream's event ``change``.

    The client puts every item of ``set`` in its place, and removes the keys in ``drop``.
    """

    now: str
    set: ChangedItems
    drop: RemovedKeys | UnsetType = UNSET


class Problem(JsonObject):
    """The reason why a request has no answer."""

    error: str
