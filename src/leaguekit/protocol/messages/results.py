"""Messages of results, standings and queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import (
    ERROR_CODE,
    EXAMPLE_CHOICE,
    QUERY_TYPES,
    Attempt,
    ByRuleNotNull,
    Choice,
    Count,
    DisplayName,
    ErrorCode,
    Form,
    GameType,
    LeagueId,
    LeagueState,
    MatchId,
    Name,
    PlayerId,
    Rank,
    ResultStatus,
    RoundId,
    Url,
    doc,
)
from leaguekit.protocol.messages.base import Answer, Conditional, Needs, Request
from leaguekit.protocol.messages.matches import DrawnNumber, MatchSeed, MoveOrigins, Payoffs, Step
from leaguekit.protocol.messages.rounds import MAX_STANDINGS, FinalStanding, TotalPlayers


class BrokenRule(Struct, kw_only=True, omit_defaults=True):
    """A rule that an agent broke and was forgiven for, in the ``open`` profile."""

    rule: Annotated[str, Meta(min_length=1, max_length=50), doc("The requirement or decision", "decision 22")]
    came: Annotated[str, Meta(max_length=200), doc("What came, the first time", "decision 22")]
    expected: Annotated[str, Meta(max_length=200), doc("What the rule asks for", "decision 22")]
    count: Annotated[Count, doc("How often", "decision 22")] = 1


class ResultDetails(Struct, kw_only=True):
    """What happened in a match; from ``ruling`` on, what our referees add."""

    choices: Annotated[dict[PlayerId, Choice | None], doc("What each player chose; null for none", "000-L0937")]
    drawn_number: Annotated[DrawnNumber | UnsetType | None, doc("The number drawn; null if none was", "000-L0936")] = (
        UNSET
    )
    status: Annotated[ResultStatus | UnsetType, doc("How the match ended", "001-L1357")] = UNSET
    ruling: Annotated[str | UnsetType, doc("The ruling, from the closed list", "000-L0944")] = UNSET
    evidence: Annotated[dict[str, Any] | UnsetType, doc("What the ruling rests on", "000-L0944")] = UNSET
    failures: Annotated[
        dict[PlayerId, Count] | UnsetType, doc("Calls in a row that each player left unanswered", "002-L0332")
    ] = UNSET
    draw_commitment: Annotated[str | UnsetType, doc("The commitment made before the choices", "000-L0944")] = UNSET
    draw_nonce: Annotated[str | UnsetType, doc("What opens the commitment", "000-L0944")] = UNSET
    position: Annotated[dict[str, Any] | UnsetType, doc("The game's final position", "000-L0944")] = UNSET
    broken_rules: Annotated[
        dict[PlayerId, list[BrokenRule]] | UnsetType, doc("What each player was forgiven", "decision 22")
    ] = UNSET
    forms: Annotated[
        dict[PlayerId, Form] | UnsetType, doc("The form of request that each player understood", "decision 22")
    ] = UNSET
    move_origins: Annotated[
        dict[PlayerId, MoveOrigins] | UnsetType,
        doc("How many moves were own, retried and replaced, as each player states; absent without one", "decision 22"),
    ] = UNSET
    record: Annotated[
        list[Step] | UnsetType, doc("The steps of the match, if the choices do not tell them", "003-L0012")
    ] = UNSET
    record_sha256: Annotated[
        Annotated[str, Meta(pattern="^[0-9a-f]{64}$")] | UnsetType,
        doc("In place of a record that is too long: the SHA-256 of the one that was posted", "003-L0012"),
    ] = UNSET
    match_seed: MatchSeed | UnsetType = UNSET
    payoffs: Payoffs | UnsetType = UNSET


class MatchResult(Struct, kw_only=True):
    """A match's outcome in points."""

    winner: Annotated[PlayerId | None, doc("The winner; null for none", "000-L0925")]
    score: Annotated[
        dict[PlayerId, Literal[0, 1, 3]],
        Meta(min_length=2, max_length=2),
        doc("Points of each of the two: 3, 1 or 0", "000-L0929"),
    ]
    details: Annotated[ResultDetails, doc("What happened", "000-L0935")]


class MatchResultReport(Request, kw_only=True, tag="MATCH_RESULT_REPORT"):
    """A referee reports how a match ended."""

    league_id: Annotated[LeagueId, doc("The league", "000-L0919")]
    round_id: Annotated[RoundId, doc("The round", "000-L0920")]
    match_id: Annotated[MatchId, doc("The match", "000-L0921")]
    game_type: Annotated[GameType, doc("The game", "000-L0922")]
    result: Annotated[MatchResult, doc("How it ended", "000-L0924")]
    attempt: Annotated[Attempt | UnsetType, doc("Which attempt at the match this was", "001-L1440")] = UNSET


class MatchResultAck(Answer, kw_only=True, tag="MATCH_RESULT_ACK"):
    """The manager has recorded the result."""

    status: Annotated[Literal["ACCEPTED"], doc("The result counts", "001-L1407")]
    match_id: Annotated[MatchId, doc("The match", "001-L1408")]
    round_id: Annotated[RoundId, doc("The round", "001-L1409")]


# It has only texts and numbers, so the garbage collector need not track the hundred of them in a message.
class Standing(Struct, kw_only=True, gc=False):
    """One row of the standings."""

    rank: Annotated[Rank, doc("The rank, 1 for the first; no two alike", "000-L0998")]
    player_id: Annotated[PlayerId, doc("The player", "000-L0999")]
    display_name: Annotated[DisplayName, doc("The player's name", "000-L1000")]
    played: Annotated[Count, doc("Matches played: wins, draws and losses", "000-L1001")]
    wins: Annotated[Count, doc("Matches won", "000-L1002")]
    draws: Annotated[Count, doc("Matches drawn", "000-L1003")]
    losses: Annotated[Count, doc("Matches lost", "000-L1004")]
    points: Annotated[Count, doc("Three a win, one a draw", "000-L1005")]
    technical_losses: Annotated[
        Count | UnsetType, doc("Losses without play; fewer rank higher among equals", "000-L1020")
    ] = UNSET
    payoff: Annotated[
        float | UnsetType, doc("The mean payoff of a match, if the league is ranked by it", "003-L0012")
    ] = UNSET


def final_rows(rows: Iterable[Standing]) -> list[FinalStanding]:
    """Rows of the standings in the form of LEAGUE_COMPLETED and of query answers."""
    return [FinalStanding(**{name: getattr(row, name) for name in FinalStanding.__struct_fields__}) for row in rows]


class OpponentRecord(Struct, kw_only=True):
    """A player's record against one opponent."""

    opponent_id: Annotated[PlayerId, doc("The other player", "000-L1090")]
    played: Annotated[Count, doc("Matches played against it", "000-L1090")] = 0
    wins: Annotated[Count, doc("Matches won", "000-L1090")] = 0
    draws: Annotated[Count, doc("Matches drawn", "000-L1090")] = 0
    losses: Annotated[Count, doc("Matches lost", "000-L1090")] = 0
    points: Annotated[Count, doc("Points from these matches", "000-L1090")] = 0


class ChoiceCount(Struct, kw_only=True):
    """How often a player made a choice."""

    choice: Annotated[str, doc("The choice", "000-L1090", examples=[EXAMPLE_CHOICE])]
    count: Annotated[Count, doc("In how many matches", "000-L1090")]


class PlayerFailures(Struct, kw_only=True):
    """What a player lost without play."""

    technical_losses: Annotated[Count, doc("Matches lost without play", "000-L1090")]
    causes: Annotated[dict[str, Count], doc("How often by each ruling", "000-L1090")]
    unanswered_in_a_row: Annotated[Count, doc("Calls in a row left unanswered until now", "000-L1090")]


class RequestCounts(Struct, kw_only=True):
    """What became of the requests that referees sent to a player, by the evidence in their reports."""

    answered: Annotated[Count, doc("Answers that counted", "000-L1090")] = 0
    timeouts: Annotated[Count, doc("Requests without an answer in time", "000-L1090")] = 0
    unreachable: Annotated[Count, doc("Requests that found no connection", "000-L1090")] = 0
    wrong: Annotated[Count, doc("Answers that did not count", "000-L1090")] = 0
    illegal: Annotated[Count, doc("Of the answers that did not count, illegal moves", "000-L1090")] = 0
    retried: Annotated[Count, doc("Failures after which it could be asked again", "000-L1090")] = 0
    recovered: Annotated[Count, doc("Of those, how many were then answered well", "000-L1090")] = 0

    @property
    def asked(self) -> int:
        """All requests."""
        return self.answered + self.timeouts + self.unreachable + self.wrong


class PastResult(Struct, kw_only=True):
    """How a match ended for a player."""

    match_id: Annotated[MatchId, doc("The match", "000-L1090")]
    round_id: Annotated[RoundId, doc("Its round", "000-L1090")]
    opponent_id: Annotated[PlayerId, doc("The other player", "000-L1090")]
    result: Annotated[Literal["WIN", "DRAW", "LOSS"], doc("How it ended for the player", "000-L1090")]
    technical: Annotated[bool, doc("Whether it was decided without play", "000-L1090")]


class PlayerStats(Standing, kw_only=True):
    """A player's row of the standings and the figures behind it; other managers may give the row alone."""

    opponents: Annotated[
        list[OpponentRecord] | UnsetType, doc("Its record against each opponent, the latest met first", "000-L1090")
    ] = UNSET
    opponents_left_out: Annotated[Count | UnsetType, doc("How many further opponents there are", "000-L1090")] = UNSET
    choices: Annotated[list[ChoiceCount] | UnsetType, doc("Its choices, the most frequent first", "000-L1090")] = UNSET
    choices_left_out: Annotated[
        Count | UnsetType, doc("In how many matches it made a choice that is not listed", "000-L1090")
    ] = UNSET
    failures: Annotated[PlayerFailures | UnsetType, doc("What it lost without play", "000-L1090")] = UNSET
    requests: Annotated[
        RequestCounts | UnsetType, doc("What became of the requests that referees sent to it", "000-L1090")
    ] = UNSET
    form: Annotated[list[PastResult] | UnsetType, doc("Its latest results, the latest first", "000-L1090")] = UNSET


Standings = Annotated[list[Standing], Meta(max_length=MAX_STANDINGS)]


class LeagueStandingsUpdate(Request, kw_only=True, tag="LEAGUE_STANDINGS_UPDATE"):
    """The standings have changed."""

    league_id: Annotated[LeagueId, doc("The league", "000-L0990")]
    round_id: Annotated[RoundId, doc("The round", "000-L0991")]
    standings: Annotated[Standings, doc("The table in the order of ranks", "000-L0993")]
    total_players: TotalPlayers = UNSET


class QueryParams(Struct, kw_only=True):
    """What a query is about."""

    player_id: Annotated[
        PlayerId | UnsetType, doc("For GET_NEXT_MATCH and GET_PLAYER_STATS: the player", "000-L1092")
    ] = UNSET
    round_id: Annotated[RoundId | UnsetType, doc("For GET_SCHEDULE: this round only", "000-L1092")] = UNSET


class LeagueQuery(Request, kw_only=True, tag="LEAGUE_QUERY"):
    """An agent asks the manager for information."""

    league_id: Annotated[LeagueId, doc("The league", "000-L1084")]
    query_type: Annotated[
        ByRuleNotNull, doc("What is asked for", "000-L1085", enum=list(QUERY_TYPES), **{ERROR_CODE: "E052"})
    ]
    query_params: Annotated[QueryParams | UnsetType, doc("What it is about", "000-L1092")] = UNSET


class QueryError(Struct, kw_only=True):
    """Why a query has no answer."""

    error_code: Annotated[ErrorCode, doc("The catalogue's code", "000-L1171")]
    error_name: Annotated[Name, doc("The code's name", "000-L1172", examples=["PLAYER_NOT_REGISTERED"])]
    error_description: Annotated[str, doc("What is wrong, in a sentence", "000-L1173")]


class NextMatch(Struct, kw_only=True):
    """A player's next match."""

    match_id: Annotated[MatchId, doc("The match", "004-L0459")]
    round_id: Annotated[RoundId, doc("Its round", "004-L0460")]
    opponent_id: Annotated[PlayerId, doc("The other player", "004-L0461a")]
    referee_endpoint: Annotated[Url, doc("Where its referee listens", "004-L0462")]


class ScheduledMatch(Struct, kw_only=True):
    """One match of the schedule, with its result once it has one."""

    match_id: Annotated[MatchId, doc("The match", "000-L0368")]
    round_id: Annotated[RoundId, doc("Its round", "000-L0358")]
    game_type: Annotated[GameType, doc("The game", "000-L0372")]
    player_A_id: Annotated[PlayerId, doc("The first player", "000-L0375")]
    player_B_id: Annotated[PlayerId, doc("The second player", "000-L0378")]
    result: Annotated[MatchResult | UnsetType, doc("How it ended, once it has", "000-L0924")] = UNSET


class LeagueStatus(Struct, kw_only=True):
    """Where the league stands."""

    state: Annotated[LeagueState, doc("The league's state", "001-L1917")]
    current_round: Annotated[Count, doc("The round in play; 0 before the start", "001-L1729")]
    total_rounds: Annotated[Count, doc("Rounds in all; 0 before the schedule is made", "000-L0483")]
    matches_played: Annotated[Count, doc("Matches that have ended", "000-L0431")]
    total_matches: Annotated[Count, doc("Matches in all", "000-L0484")]
    players: Annotated[Count, doc("Players registered", "003-L0018")]
    referees: Annotated[Count, doc("Referees registered", "003-L0028")]
    format: Annotated[
        str | UnsetType, doc("Who plays whom, such as swiss(rounds=5); round_robin when left out", "decision 36")
    ] = UNSET


class QueryData(Struct, kw_only=True):
    """The answer to a query: the field that its type names."""

    next_match: Annotated[
        NextMatch | UnsetType | None, doc("For GET_NEXT_MATCH; null when there is none", "004-L0458")
    ] = UNSET
    standings: Annotated[
        Annotated[list[FinalStanding], Meta(max_length=MAX_STANDINGS)] | UnsetType,
        doc("For GET_STANDINGS", "000-L1087"),
    ] = UNSET
    schedule: Annotated[list[ScheduledMatch] | UnsetType, doc("For GET_SCHEDULE", "000-L1088")] = UNSET
    player_stats: Annotated[PlayerStats | UnsetType, doc("For GET_PLAYER_STATS", "000-L1090")] = UNSET
    status: Annotated[LeagueStatus | UnsetType, doc("For GET_STATUS", "001-L1693")] = UNSET


class LeagueQueryResponse(Answer, Conditional, kw_only=True, tag="LEAGUE_QUERY_RESPONSE"):
    """The manager answers a query; document 001's form has the standings and no ``success``."""

    conditions = (
        Needs(("success", "standings")),
        Needs(("data",), "success", True),
        Needs(("error",), "success", False),
    )

    query_type: Annotated[str, doc("The query's type, echoed", "000-L1162", enum=list(QUERY_TYPES))]
    success: Annotated[bool | UnsetType, doc("Whether there is an answer", "000-L1163")] = UNSET
    data: Annotated[QueryData | UnsetType, doc("The answer, by query type", "000-L1166")] = UNSET
    error: Annotated[QueryError | UnsetType, doc("Why there is none", "000-L1170")] = UNSET
    standings: Annotated[Standings | UnsetType, doc("For GET_STANDINGS, as document 001 has it", "001-L1728")] = UNSET
    current_round: Annotated[Count | UnsetType, doc("The round in play; 0 before the start", "001-L1729")] = UNSET
