"""The types of message fields: which values are valid, and which error an invalid value is.

A type has its rule as msgspec constraints or as a pattern, which the decoder enforces. It has a description and an
example for the published schema. If the catalogue has an error code for invalid values of the type, it has that code as
``x-error-code``. ``doc(...)`` adds the description of a field and the requirement behind it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from leaguekit.protocol import times
from leaguekit.protocol.patterns import Pattern

REQUIREMENT = "x-requirement"
ERROR_CODE = "x-error-code"

# A sum of counts is cut to it: referees may report any count.
INT32_MAX = 2**31 - 1


def doc(description: str, requirement: str, **schema: Any) -> Meta:
    """The description of a field, and its requirement: a document and line, or a decision of docs/why.md."""
    return Meta(description=description, extra_json_schema={REQUIREMENT: requirement, **schema})


def _text(example: str, pattern: str | None = None, max_length: int | None = None, **schema: Any) -> Meta:
    if pattern is None:
        return Meta(min_length=1, max_length=max_length, examples=[example], extra_json_schema=schema or None)
    return Meta(
        min_length=1,
        max_length=max_length,
        examples=[example],
        extra={"pattern": Pattern(pattern)},
        extra_json_schema={"pattern": f"^(?:{pattern})$", **schema},
    )


# The documents ask for signed 32-bit integers. Counts are not negative.
Count = Annotated[int, Meta(ge=0, le=INT32_MAX)]
Rank = Annotated[int, Meta(ge=1, le=INT32_MAX)]
RoundId = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Attempt = Annotated[int, Meta(ge=1, le=INT32_MAX)]
Seconds = Annotated[float, Meta(ge=0)]

Timestamp = Annotated[str, _text("2025-01-15T10:30:00Z", times.PATTERN, **{ERROR_CODE: "E021"})]
Sender = Annotated[
    str, _text("player:P01", r"league_manager(?::[^\x00-\x1f\x7f]+)?|(?:referee|player):[^\x00-\x1f\x7f]+", 100)
]
ConversationId = Annotated[str, _text("conv-r1m1-001", max_length=200)]
Token = Annotated[str, _text("tok-p01-…", max_length=512, **{ERROR_CODE: "E011"})]
LeagueId = Annotated[str, _text("league_2025_even_odd", max_length=100)]
MatchId = Annotated[str, _text("R1M1", r"R[1-9][0-9]{0,8}M[1-9][0-9]{0,8}")]
PlayerId = Annotated[str, _text("P01", r"P[0-9]{2,9}")]
RefereeId = Annotated[str, _text("REF01", r"REF[0-9]{2,9}")]
GameType = Annotated[str, _text("even_odd", max_length=50)]
DisplayName = Annotated[str, _text("Agent Alpha", max_length=50)]
Url = Annotated[str, _text("http://localhost:8101/mcp", r"https?://[!-.0->@-~]+[!-~]*", 500)]
Version = Annotated[
    str,
    _text("1.0.0", r"(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)\.(?:0|[1-9][0-9]*)(?:[-+][0-9A-Za-z.+-]+)?", 50),
]
ErrorCode = Annotated[str, _text("E001", r"E[0-9]{3}")]
Name = Annotated[str, _text("GAME_OVER", max_length=100)]
EXAMPLE_CHOICE = "even"
Choice = Annotated[str, _text(EXAMPLE_CHOICE, max_length=100)]
Form = Annotated[str, _text("RPC", max_length=30)]

Origin = Literal["own", "retried", "replaced"]
Parity = Literal["even", "odd"]
Profile = Literal["spec", "open"]
RegistrationStatus = Literal["ACCEPTED", "REJECTED"]
ResultStatus = Literal["WIN", "DRAW", "TECHNICAL_LOSS"]
MatchRole = Literal["PLAYER_A", "PLAYER_B"]
MatchState = Literal["WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER", "FINISHED"]
LeagueState = Literal["WAITING_FOR_REGISTRATIONS", "CREATING_SCHEDULE", "RUNNING_LEAGUE", "LEAGUE_COMPLETED"]
AgentState = Literal["INIT", "REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"]
PlayerState = Literal["UNREGISTERED", "REGISTERED", "WAITING_FOR_ROUND", "IN_MATCH", "WAITING_FOR_RESULT"]
QUERY_TYPES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_STATUS")

# The decoder accepts any value for fields with an error code of their own. A rule checks the value after the identity
# of the sender: a wrong choice is E004, not a type error. The published schema states which values are allowed.
ByRule = Any
ByRuleNotNull = str | int | float | bool | list[Any] | dict[str, Any]
