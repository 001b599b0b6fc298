"""Types of the stream's events, and of what several pages of the API have in common.

They are an allow-list. The web shows nothing but the fields of these types and of those in ``page_types``. None of them
is an endpoint, a code or a token. The league's seed is shown once the league is over, and choices once the match has
ended.

Times are ISO 8601 in UTC. ``seq`` is the number of the last event that the data include.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.league.analysis.figures import Mark
from leaguekit.league.pairings import View
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


class StartCondition(JsonObject):
    """How many agents must have registered before the league begins by itself."""

    players: int
    referees: int


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
    game: Annotated[str, described("The game with its arguments, such as `my_game(turns=50)`")] = ""
    title: Annotated[str, described("What the league is called: its title, or its id")] = ""
    seed_commitment: Annotated[str, described("The SHA-256 of seed_hex, from the beginning")] = ""
    order: Annotated[str, described("What decides the order of the table, in words")] = ""
    first: Annotated[
        str | None, described("Which player is first, or which players are, in words; null before play")
    ] = None
    ties: Annotated[list[str], described("What decided between players with equal points, in words")] = []
    view: Annotated[View, described("How pages show who meets whom: a bracket, challengers, or rounds")] = "rounds"
    draws_more: Annotated[bool, described("Whether more rounds are drawn: total_matches grows then")] = False
    round_label: Annotated[str, described("What the format calls the round announced last; may be empty")] = ""
    advancement: Annotated[str, described("One sentence about how a player advances, or what decides")] = ""
    tie_breaks: Annotated[
        list[str], described("The tie-breaks of the table in their order; none if the format ranks the players")
    ] = []
    end_reason: Annotated[str, described("What the format said at the end; empty in a round-robin")] = ""
    format: Annotated[str, described("Who plays whom, such as swiss(rounds=5)")] = ""
    starts_with: Annotated[
        StartCondition | None, described("Before the league begins; null if the operator or the time begins it")
    ] = None
    needs_seat: Annotated[bool, described("Whether a player needs a seat code to register")] = False
    gateway: Annotated[
        str | None, described("Where people and chat applications take part, if `league host` started a gateway")
    ] = None
    has_report: Annotated[bool, described("Whether /report has the report of the league")] = False
    ranked_by: Annotated[
        str | UnsetType, described("One sentence, if the table is ranked by payoff; otherwise there is none")
    ] = UNSET


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
    buchholz: Annotated[int | None, described("Points of all opponents; null if the league does not use it")] = None
    payoff: Annotated[
        float | UnsetType, described("The mean payoff of a match; there is none in a game without payoffs")
    ] = UNSET
    form: Annotated[
        str, described("The marks of its last five matches in the order of the schedule, as in the cross-table")
    ] = ""


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
    deadline: Annotated[str | None, described("The deadline of the present try")] = None
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


class PairingGame(JsonObject):
    """A game of a pairing. The marks are those of a and of b, as in the cross-table; null before it has ended."""

    match_id: str
    marks: tuple[Mark, Mark] | None = None


class Pairing(JsonObject):
    """Two players that meet: in a stage of a bracket, or in a round. Or a player that does not meet anybody.

    Until it is known who comes there, ``a`` and ``b`` are null.
    """

    stage: Annotated[int, described("The number of the stage, of the challenger or of the round, from 1")]
    label: Annotated[str, described("Such as Semi-finals; it may have an id, such as P01 against everybody")]
    a: AgentName | None
    b: AgentName | None
    games: list[PairingGame] = []
    winner: Annotated[str | None, described("The id of the player that advances, or that won")] = None
    by_lot: Annotated[bool, described("Whether the league's lot decided")] = False
    alone: Annotated[
        Literal["bye", "rests"] | None,
        described("Why a has no opponent: a bye counts as a win; a player that rests in a bracket advances"),
    ] = None
    title: Annotated[str, described("What is at stake if it is not the next stage, such as the third place")] = ""
    points: Annotated[tuple[int, int] | None, described("Of a and of b before the round; null in a bracket")] = None


class Highlight(JsonObject):
    """A match of a league that is over which is worth a look, and why."""

    reason: Annotated[str, described("One sentence with the ids of its players")]
    match: MatchRow


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
    pairings: Annotated[
        dict[str, Pairing],
        described(
            "By stage and place: the bracket, the opponents of each challenger, or the round drawn last. Stages of a "
            "bracket with more than 64 places are left out. Of a round it is the first 64 pairings; of all challengers "
            "together, 256"
        ),
    ] = {}
    upcoming: Annotated[
        dict[str, MatchRow],
        described("By match: at most 6 of this round or, if none of this is left, of the next; the best players first"),
    ] = {}
    highlights: Annotated[dict[str, Highlight], described("By match: those worth a look, once the league is over")] = {}


class ChangedItems(JsonObject, omit_defaults=True):
    """Items of ``Live`` that are new or changed. ``league`` is complete."""

    league: LeagueView | None = None
    standings: dict[str, StandingRow] = {}
    playing: dict[str, InPlay] = {}
    results: dict[str, MatchRow] = {}
    agents: dict[str, AgentListRow] = {}
    news: dict[str, NewsItem] = {}
    pairings: dict[str, Pairing] = {}
    upcoming: dict[str, MatchRow] = {}
    highlights: dict[str, Highlight] = {}


class RemovedKeys(JsonObject, omit_defaults=True):
    """Keys of ``Live`` that are no longer there."""

    standings: list[str] = []
    playing: list[str] = []
    results: list[str] = []
    agents: list[str] = []
    news: list[str] = []
    pairings: list[str] = []
    upcoming: list[str] = []
    highlights: list[str] = []


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
