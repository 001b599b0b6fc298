"""Messages of a match: invitation, choice or move, and the result that is sent to the players."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from leaguekit.protocol.fields import (
    ERROR_CODE,
    INT32_MAX,
    Attempt,
    ByRule,
    Choice,
    Count,
    GameType,
    LeagueId,
    MatchId,
    MatchRole,
    Origin,
    Parity,
    PlayerId,
    ResultStatus,
    RoundId,
    Timestamp,
    doc,
)
from leaguekit.protocol.messages.base import AgentAnswer, Conditional, Needs, Request
from leaguekit.protocol.messages.rounds import Acknowledged

# One step of a match: what A, B or chance did.
Step = Annotated[dict[str, Any], Meta(min_length=1, max_length=2)]
Payoffs = Annotated[
    dict[PlayerId, float],
    Meta(min_length=2, max_length=2),
    doc("What each player won, in games with payoffs", "003-L0012"),
]
MatchSeed = Annotated[
    Annotated[str, Meta(pattern="^[0-9a-f]{2,128}$")],
    doc("The seed that was committed to; what chance gave follows from it", "001-L1188"),
]
GameArgs = Annotated[dict[str, Any] | UnsetType, doc("The game's arguments, if it has any", "003-L0012")]
DrawnNumber = Annotated[int, Meta(ge=1, le=10)]
# The length of a reason in move_info, and of the name of a model, in characters.
MAX_REASON = 200
MAX_MODEL = 100
Amount = Annotated[float, Meta(ge=0)]
ModelName = Annotated[str, Meta(max_length=MAX_MODEL)]
Sha256 = Annotated[str, Meta(max_length=64)]
Reason = Annotated[str, Meta(max_length=MAX_REASON)]

# Our referees send both in every message of a match. The documents ask for them in some messages.
LeagueOfMatch = Annotated[LeagueId | UnsetType, doc("The league", "003-L0119")]
RoundOfMatch = Annotated[RoundId | UnsetType, doc("The round", "003-L0120")]


class GameInvitation(Request, kw_only=True, tag="GAME_INVITATION"):
    """A referee invites a player to a match."""

    league_id: Annotated[LeagueId, doc("The league", "000-L0543")]
    round_id: Annotated[RoundId, doc("The round", "000-L0544")]
    match_id: Annotated[MatchId, doc("The match", "000-L0545")]
    game_type: Annotated[GameType, doc("The game to be played", "000-L0546")]
    role_in_match: Annotated[MatchRole, doc("Which side the player is on", "000-L0548")]
    opponent_id: Annotated[PlayerId, doc("The other player", "000-L0552")]
    player_id: Annotated[PlayerId | UnsetType, doc("The player invited", "000-L1379")] = UNSET
    attempt: Annotated[
        Attempt | UnsetType, doc("Which attempt at the match, for checking the token", "decision 19")
    ] = UNSET


class GameJoinAck(AgentAnswer, kw_only=True, tag="GAME_JOIN_ACK"):
    """A player comes to the match, or declines."""

    match_id: Annotated[MatchId, doc("The match of the invitation", "000-L0608")]
    player_id: Annotated[PlayerId, doc("The player that answers", "000-L0609")]
    arrival_timestamp: Annotated[Timestamp, doc("When the player arrived, by its own clock", "000-L0610")]
    accept: Annotated[bool, doc("true to play; false gives the match away", "000-L0614")]


class OwnRecord(Struct, kw_only=True):
    """A player's own record so far."""

    wins: Annotated[Count, doc("Matches won so far", "000-L0785")]
    losses: Annotated[Count, doc("Matches lost so far", "000-L0786")]
    draws: Annotated[Count, doc("Matches drawn so far", "000-L0787")]
    points: Annotated[Count | UnsetType, doc("Points so far", "001-L1075")] = UNSET


class CallContext(Struct, kw_only=True):
    """What a player may know when it decides."""

    opponent_id: Annotated[PlayerId, doc("The other player", "000-L0782")]
    round_id: Annotated[RoundId, doc("The round", "000-L0783")]
    your_standings: Annotated[OwnRecord | UnsetType, doc("The player's own record", "000-L0784")] = UNSET
    draw_commitment: Annotated[
        str | UnsetType,
        doc("SHA-256 of the nonce and the number drawn, made before the choices and revealed after", "000-L0781"),
    ] = UNSET


class ChooseParityCall(Request, kw_only=True, tag="CHOOSE_PARITY_CALL"):
    """A referee asks a player for even or odd."""

    match_id: Annotated[MatchId, doc("The match", "000-L0777")]
    player_id: Annotated[PlayerId, doc("The player asked", "000-L0778")]
    game_type: Annotated[GameType, doc("The game, even_odd", "000-L0779")]
    deadline: Annotated[Timestamp, doc("When the answer must be there", "000-L0789")]
    context: Annotated[CallContext | UnsetType, doc("What may help to decide", "000-L0781")] = UNSET
    league_id: LeagueOfMatch = UNSET
    round_id: RoundOfMatch = UNSET


class MoveInfo(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """What a player's program states about a move. It is for the league's records: no opponent is sent it."""

    origin: Annotated[
        Origin | UnsetType,
        doc("own, retried (the strategy was asked again) or replaced (another legal move was played)", "decision 22"),
    ] = UNSET
    reason: Annotated[Reason | UnsetType, doc("Why it is not the strategy's own first move", "decision 22")] = UNSET
    illegal: Annotated[Count | UnsetType, doc("Illegal moves that it stated before this one", "decision 22")] = UNSET
    retries: Annotated[Count | UnsetType, doc("How often a language model was asked again", "decision 22")] = UNSET
    model: Annotated[ModelName | UnsetType, doc("The language model that was asked", "decision 22")] = UNSET
    prompt_hash: Annotated[Sha256 | UnsetType, doc("SHA-256 of the first prompt, as JSON", "decision 22")] = UNSET
    tokens_in: Annotated[Count | UnsetType, doc("Tokens that the model was sent for this move", "decision 22")] = UNSET
    tokens_out: Annotated[Count | UnsetType, doc("Tokens that it wrote", "decision 22")] = UNSET
    cost: Annotated[Amount | UnsetType, doc("What they cost, by the player's prices", "decision 22")] = UNSET
    seconds: Annotated[Amount | UnsetType, doc("How long the model took", "decision 22")] = UNSET


StatedInfo = Annotated[
    MoveInfo | UnsetType, doc("Where the move came from, by the player's own statement", "decision 22")
]


class MoveOrigins(Struct, kw_only=True, omit_defaults=True):
    """How many moves of a player were own, retried and replaced, by its own statement."""

    own: Annotated[Count, doc("Moves that the strategy chose", "decision 22")] = 0
    retried: Annotated[Count, doc("Moves that it chose when it was asked again", "decision 22")] = 0
    replaced: Annotated[Count, doc("Moves that were played in its place", "decision 22")] = 0
    reason: Annotated[Reason | UnsetType, doc("Why the first of them was replaced", "decision 22")] = UNSET
    illegal: Annotated[Count, doc("Moves for which it stated an illegal move at first", "decision 22")] = 0

    @property
    def total(self) -> int:
        """All moves with an origin."""
        return self.own + self.retried + self.replaced

    @property
    def own_rate(self) -> float | None:
        """The share of own moves, from 0 to 1."""
        return round(self.own / self.total, 4) if self.total else None

    @property
    def illegal_rate(self) -> float | None:
        """The share of moves for which it stated an illegal move at first, from 0 to 1."""
        return round(self.illegal / self.total, 4) if self.total else None

    def count(self, info: MoveInfo) -> None:
        """Count one move."""
        self.illegal += bool(info.illegal)
        match info.origin:
            case "own":
                self.own += 1
            case "retried":
                self.retried += 1
            case "replaced":
                self.replaced += 1
                self.reason = self.reason or info.reason

    def add(self, other: MoveOrigins) -> None:
        """Count the moves of another match."""
        self.own = min(self.own + other.own, INT32_MAX)
        self.retried = min(self.retried + other.retried, INT32_MAX)
        self.replaced = min(self.replaced + other.replaced, INT32_MAX)
        self.illegal = min(self.illegal + other.illegal, INT32_MAX)
        self.reason = self.reason or other.reason

    def describe_replaced(self, name: str) -> str:
        """The moves of a player that were replaced, as a clause. Empty if there were none."""
        if not self.replaced:
            return ""
        moves = "1 move" if self.total == 1 else f"{self.total:,} moves"
        each = "was replaced by another legal move" if self.replaced == 1 else "were replaced by other legal moves"
        why = f", {'the first ' * (self.replaced > 1)}because {self.reason}" if self.reason else ""
        return f"{self.replaced:,} of {moves} of {name} {each}{why}"

    def __str__(self) -> str:
        counts = {"own": self.own, "retried": self.retried, "replaced": self.replaced}
        said_counts = ", ".join(f"{count:,} {origin}" for origin, count in counts.items() if count)
        illegal = f", {self.illegal:,} illegal at first" if self.illegal else ""
        return said_counts + (f" (the first because {self.reason})" if self.reason else "") + illegal


class ChooseParityResponse(AgentAnswer, kw_only=True, tag="CHOOSE_PARITY_RESPONSE"):
    """A player chooses even or odd."""

    match_id: Annotated[MatchId, doc("The match of the call", "000-L0830")]
    player_id: Annotated[PlayerId, doc("The player that chooses", "000-L0831")]
    parity_choice: Annotated[
        ByRule, doc("Exactly even or odd", "000-L0832", enum=["even", "odd"], **{ERROR_CODE: "E004"})
    ]
    move_info: StatedInfo = UNSET


class MoveRequest(Struct, kw_only=True):
    """What a player is asked for, in a game other than even/odd."""

    move_type: Annotated[str, Meta(min_length=1), doc("The kind of move, named by the game", "003-L0012")]
    valid_options: Annotated[list[Any], doc("The moves that are legal now", "003-L0031")]
    context: Annotated[dict[str, Any], doc("The position, as this player may see it", "000-L0781")]
    total_options: Annotated[
        Count | UnsetType, doc("How many moves are legal, if not all of them are listed", "003-L0031")
    ] = UNSET
    syntax: Annotated[str | UnsetType, doc("In that case, how a move is written", "003-L0031")] = UNSET


class GameMoveCall(Request, kw_only=True, tag="GAME_MOVE_CALL"):
    """A referee asks a player for a move, in a game other than even/odd (an extension)."""

    match_id: Annotated[MatchId, doc("The match", "000-L0777")]
    player_id: Annotated[PlayerId, doc("The player asked", "000-L0778")]
    game_type: Annotated[GameType, doc("The game", "000-L0779")]
    move_request: Annotated[MoveRequest, doc("What is asked for", "003-L0030")]
    deadline: Annotated[Timestamp, doc("When the answer must be there", "000-L0789")]
    game_args: GameArgs = UNSET
    context: Annotated[CallContext | UnsetType, doc("What may help to decide", "000-L0781")] = UNSET
    league_id: LeagueOfMatch = UNSET
    round_id: RoundOfMatch = UNSET


class GameMoveResponse(AgentAnswer, kw_only=True, tag="GAME_MOVE_RESPONSE"):
    """A player moves, in a game other than even/odd (an extension)."""

    match_id: Annotated[MatchId, doc("The match of the call", "000-L0830")]
    player_id: Annotated[PlayerId, doc("The player that moves", "000-L0831")]
    move_data: Annotated[ByRule, doc("The move: one of the call's valid_options", "003-L0031")]
    move_info: StatedInfo = UNSET


class GameResult(Conditional, kw_only=True):
    """How a match ended, revealed to both players."""

    conditions = (Needs(("winner_player_id",), "status", "WIN"),)

    status: Annotated[ResultStatus, doc("How the match ended", "000-L0703")]
    choices: Annotated[dict[PlayerId, Choice | None], doc("What each player chose; null for none", "000-L0718")]
    winner_player_id: Annotated[PlayerId | UnsetType | None, doc("The winner; null for none", "000-L0706")] = UNSET
    drawn_number: Annotated[DrawnNumber | UnsetType | None, doc("The number drawn; null if none was", "000-L0710")] = (
        UNSET
    )
    number_parity: Annotated[Parity | UnsetType | None, doc("Its parity; null if none was drawn", "000-L0714")] = UNSET
    reason: Annotated[str | UnsetType, doc("The outcome in words", "000-L0723")] = UNSET
    draw_commitment: Annotated[str | UnsetType, doc("What the call's context announced", "000-L0739")] = UNSET
    draw_nonce: Annotated[str | UnsetType, doc("Opens the commitment, so that anyone can check it", "000-L0739")] = (
        UNSET
    )
    match_seed: MatchSeed | UnsetType = UNSET
    payoffs: Payoffs | UnsetType = UNSET
    details: Annotated[
        dict[str, Any] | UnsetType, doc("What the game itself reveals, such as the final position", "000-L0738")
    ] = UNSET


class GameOver(Request, kw_only=True, tag="GAME_OVER"):
    """A referee informs both players how the match ended."""

    match_id: Annotated[MatchId, doc("The match", "000-L0699")]
    game_type: Annotated[GameType, doc("The game", "000-L0700")]
    game_result: Annotated[GameResult, doc("How it ended", "000-L0702")]
    reason: Annotated[str | UnsetType, doc("The outcome in words, where document 004 looks for it", "004-L0254")] = (
        UNSET
    )
    league_id: LeagueOfMatch = UNSET
    round_id: RoundOfMatch = UNSET


class GameOverAck(AgentAnswer, kw_only=True, tag="GAME_OVER_ACK"):
    """A player knows how the match ended."""

    status: Acknowledged
    player_id: Annotated[PlayerId, doc("The player that acknowledges", "001-L1273")]
    match_id: Annotated[MatchId, doc("The match", "001-L1274")]


class MatchMessageAck(AgentAnswer, kw_only=True, tag="MATCH_MESSAGE_ACK"):
    """A referee has what a player posted by itself (an extension)."""

    status: Annotated[Literal["ACKNOWLEDGED"], doc("The message has arrived and counts", "001-L0439")]
    match_id: Annotated[MatchId, doc("The match", "000-L0830")]
    player_id: Annotated[PlayerId, doc("The player whose message it was", "000-L0831")]
