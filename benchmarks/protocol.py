"""How fast the five hottest messages are read and written, against Pydantic and against bare JSON.

Run with ``make bench``; QUICK=1 measures less. Contenders take turns within every round, so that a slow moment of the
machine hits all alike. The last line is one JSON object with the figures.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.decoding import decode, encode

QUICK = bool(os.environ.get("QUICK"))
ROUNDS = 7 if QUICK else 15
LOOPS = 500 if QUICK else 4_000
STARTS = 9 if QUICK else 31

ENVELOPE = {"protocol": "league.v2", "timestamp": "2025-01-15T10:30:00Z", "conversation_id": "conv-r1m1-001"}
REFEREE = ENVELOPE | {"sender": "referee:REF01", "auth_token": "drv-5XmD0cYJ2cVbWcY1n6kZsC2m8m3g4yWwQvYp1oXr0aE"}
PLAYER = ENVELOPE | {"sender": "player:P01", "auth_token": "drv-9pQw3ZkVtE1aRr7sUu5yXx2cNn4mBb6hGg8jKk0lLoI"}
MATCH = {"league_id": "league_2025_even_odd", "round_id": 1, "match_id": "R1M1"}
COMMITMENT = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

CONTENT: dict[str, dict[str, Any]] = {
    "GAME_INVITATION": {
        **REFEREE,
        **MATCH,
        "game_type": "even_odd",
        "role_in_match": "PLAYER_A",
        "opponent_id": "P02",
        "player_id": "P01",
    },
    "GAME_JOIN_ACK": {
        **PLAYER,
        "match_id": "R1M1",
        "player_id": "P01",
        "arrival_timestamp": "2025-01-15T10:30:01Z",
        "accept": True,
    },
    "CHOOSE_PARITY_CALL": {
        **REFEREE,
        **MATCH,
        "player_id": "P01",
        "game_type": "even_odd",
        "deadline": "2025-01-15T10:30:30Z",
        "context": {
            "opponent_id": "P02",
            "round_id": 1,
            "your_standings": {"wins": 2, "losses": 1, "draws": 0, "points": 6},
            "draw_commitment": COMMITMENT,
        },
    },
    "CHOOSE_PARITY_RESPONSE": {**PLAYER, "match_id": "R1M1", "player_id": "P01", "parity_choice": "even"},
    "MATCH_RESULT_REPORT": {
        **REFEREE,
        **MATCH,
        "game_type": "even_odd",
        "attempt": 1,
        "result": {
            "winner": "P01",
            "score": {"P01": 3, "P02": 0},
            "details": {
                "choices": {"P01": "even", "P02": "odd"},
                "drawn_number": 8,
                "status": "WIN",
                "ruling": "WIN",
                "failures": {"P01": 0, "P02": 0},
                "draw_commitment": COMMITMENT,
                "draw_nonce": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
            },
        },
    },
}

Timestamp = Annotated[str, Field(min_length=1, pattern=f"^(?:{times.PATTERN})$")]
SENDER = "^(?:league_manager(?::.+)?|(?:referee|player):.+)$"
Sender = Annotated[str, Field(min_length=1, max_length=100, pattern=SENDER)]
ConversationId = Annotated[str, Field(min_length=1, max_length=200)]
Token = Annotated[str, Field(min_length=1, max_length=512)]
LeagueId = Annotated[str, Field(min_length=1, max_length=100)]
MatchId = Annotated[str, Field(min_length=1, pattern="^R[1-9][0-9]{0,8}M[1-9][0-9]{0,8}$")]
PlayerId = Annotated[str, Field(min_length=1, pattern="^P[0-9]{2,9}$")]
GameType = Annotated[str, Field(min_length=1, max_length=50)]
Count = Annotated[int, Field(ge=0, le=2**31 - 1)]
Positive = Annotated[int, Field(ge=1, le=2**31 - 1)]
Int32 = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
DrawnNumber = Annotated[int, Field(ge=1, le=10)]


class Strict(BaseModel):
    """As our decoder does: no conversions between types, unknown fields ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")


class Request(Strict):
    """The envelope of a request."""

    message_type: str
    protocol: Literal["league.v2"]
    sender: Sender
    timestamp: Timestamp
    conversation_id: ConversationId
    auth_token: Token | None = None


class Answer(Request):
    """The envelope of an answer."""

    sender: Sender | None = None
    conversation_id: ConversationId | None = None


class GameInvitation(Request):
    """GAME_INVITATION in Pydantic."""

    message_type: Literal["GAME_INVITATION"]
    league_id: LeagueId
    round_id: Positive
    match_id: MatchId
    game_type: GameType
    role_in_match: Literal["PLAYER_A", "PLAYER_B"]
    opponent_id: PlayerId
    player_id: PlayerId | None = None


class GameJoinAck(Answer):
    """GAME_JOIN_ACK in Pydantic."""

    message_type: Literal["GAME_JOIN_ACK"]
    match_id: MatchId
    player_id: PlayerId
    arrival_timestamp: Timestamp
    accept: bool


class OwnRecord(Strict):
    """A player's own record."""

    wins: Count
    losses: Count
    draws: Count
    points: Int32 | None = None


class CallContext(Strict):
    """What a player may know."""

    opponent_id: PlayerId | None = None
    round_id: Positive | None = None
    your_standings: OwnRecord | None = None
    draw_commitment: str | None = None


class ChooseParityCall(Request):
    """CHOOSE_PARITY_CALL in Pydantic."""

    message_type: Literal["CHOOSE_PARITY_CALL"]
    match_id: MatchId
    player_id: PlayerId
    game_type: GameType
    deadline: Timestamp
    context: CallContext | None = None
    league_id: LeagueId | None = None
    round_id: Positive | None = None


class ChooseParityResponse(Answer):
    """CHOOSE_PARITY_RESPONSE in Pydantic; the choice is judged later, as in ours."""

    message_type: Literal["CHOOSE_PARITY_RESPONSE"]
    match_id: MatchId
    player_id: PlayerId
    parity_choice: Any


class ResultDetails(Strict):
    """What happened in a match."""

    choices: dict[PlayerId, str | None]
    drawn_number: DrawnNumber | None = None
    status: Literal["WIN", "DRAW", "TECHNICAL_LOSS"] | None = None
    ruling: str | None = None
    evidence: dict[str, Any] | None = None
    failures: dict[PlayerId, Count] | None = None
    draw_commitment: str | None = None
    draw_nonce: str | None = None
    position: dict[str, Any] | None = None


class MatchResult(Strict):
    """A match's outcome."""

    winner: PlayerId | None
    score: dict[PlayerId, Literal[0, 1, 3]]
    details: ResultDetails


class MatchResultReport(Request):
    """MATCH_RESULT_REPORT in Pydantic."""

    message_type: Literal["MATCH_RESULT_REPORT"]
    league_id: LeagueId
    round_id: Positive
    match_id: MatchId
    game_type: GameType
    result: MatchResult
    attempt: Positive | None = None


MODELS: dict[str, type[Request]] = {
    "GAME_INVITATION": GameInvitation,
    "GAME_JOIN_ACK": GameJoinAck,
    "CHOOSE_PARITY_CALL": ChooseParityCall,
    "CHOOSE_PARITY_RESPONSE": ChooseParityResponse,
    "MATCH_RESULT_REPORT": MatchResultReport,
}
CONTENDERS = ("leaguekit", "pydantic", "json")

STARTED = {"bare": ("-c", "pass"), "import": ("-c", "import leaguekit"), "help": ("-m", "leaguekit", "--help")}

Job = Callable[[Any], Any]
Seconds = dict[tuple[str, str, str], list[float]]


def jobs() -> Iterable[tuple[tuple[str, str, str], Job, Any]]:
    """(direction, message, contender), what is done, and to what."""
    for name, fields in CONTENT.items():
        content = {"message_type": name, **fields}
        text = json.dumps(content, separators=(",", ":")).encode()
        message, model = decode(text), MODELS[name].model_validate_json(text)
        check(name, content, message, model)
        yield ("decode", name, "leaguekit"), decode, text
        yield ("decode", name, "pydantic"), MODELS[name].model_validate_json, text
        yield ("decode", name, "json"), json.loads, text
        yield ("encode", name, "leaguekit"), encode, message
        yield ("encode", name, "pydantic"), written_by_pydantic, model
        yield ("encode", name, "json"), json.dumps, content


def written_by_pydantic(model: BaseModel) -> str:
    return model.model_dump_json(exclude_unset=True)


def check(name: str, content: dict[str, Any], message: m.Message, model: BaseModel) -> None:
    if json.loads(encode(message)) != content or json.loads(written_by_pydantic(model)) != content:
        raise SystemExit(f"{name} does not come back as it was")


def measured() -> Seconds:
    """Seconds for one message, a figure for every round."""
    work = list(jobs())
    found: Seconds = {key: [] for key, _, _ in work}
    for _ in range(ROUNDS):
        for key, job, subject in work:
            loops = range(LOOPS)
            began = time.perf_counter()
            for _ in loops:
                job(subject)
            found[key].append((time.perf_counter() - began) / LOOPS)
    return found


def ratios(found: Seconds, direction: str, name: str) -> list[float]:
    """How many times as long Pydantic takes, round by round."""
    ours, theirs = found[direction, name, "leaguekit"], found[direction, name, "pydantic"]
    return [slow / fast for fast, slow in zip(ours, theirs, strict=True)]


def spread(figures: list[float]) -> str:
    low, _, high = statistics.quantiles(figures, n=4)
    return f"{statistics.median(figures):7.2f} ({low:.2f}–{high:.2f})"


def table(found: Seconds, direction: str) -> None:
    print(f"\n{direction}: median µs a message (quartiles), {ROUNDS} rounds of {LOOPS:,}")
    heads = "".join(f"{contender:>24}" for contender in (*CONTENDERS, "pydantic/leaguekit"))
    print(f"{'':24}{heads}")
    for name in CONTENT:
        cells = [spread([1e6 * one for one in found[direction, name, contender]]) for contender in CONTENDERS]
        cells.append(spread(ratios(found, direction, name)))
        print(f"{name:24}" + "".join(f"{cell:>24}" for cell in cells))


def start_ms() -> dict[str, float | None]:
    """Median wall time of starting Python in each way, or None where it fails."""
    found: dict[str, list[float]] = {name: [] for name in STARTED}
    failed = set()
    for _ in range(STARTS):
        for name, arguments in STARTED.items():
            began = time.perf_counter()
            done = subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
            found[name].append(1e3 * (time.perf_counter() - began))
            if done.returncode != 0:
                failed.add(name)
    return {name: None if name in failed else statistics.median(one) for name, one in found.items()}


def rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)


def over_all(found: Seconds, direction: str) -> dict[str, float]:
    middle = {name: statistics.median(found[direction, name, "leaguekit"]) for name in CONTENT}
    return {name: round(1e6 * seconds, 2) for name, seconds in middle.items()}


def times_pydantic(found: Seconds, direction: str) -> dict[str, float]:
    return {name: round(statistics.median(ratios(found, direction, name)), 2) for name in CONTENT}


def both(found: Seconds) -> dict[str, float]:
    """How many times as long Pydantic takes to read a message and write it again."""
    found = found | {
        ("both", name, contender): [
            sum(pair) for pair in zip(found["decode", name, contender], found["encode", name, contender], strict=True)
        ]
        for name in CONTENT
        for contender in CONTENDERS
    }
    table(found, "both")
    return times_pydantic(found, "both")


def main() -> None:
    found = measured()
    for direction in ("decode", "encode"):
        table(found, direction)
    started = start_ms()
    bare, imported = started["bare"], started["import"]
    figures = {
        "times_pydantic": both(found),
        "decode_times_pydantic": times_pydantic(found, "decode"),
        "encode_times_pydantic": times_pydantic(found, "encode"),
        "decode_us": over_all(found, "decode"),
        "encode_us": over_all(found, "encode"),
        "help_ms": rounded(started["help"]),
        "import_ms": None if bare is None or imported is None else rounded(imported - bare),
        "python": platform.python_version(),
    }
    print(f"\n{json.dumps(figures)}")


if __name__ == "__main__":
    main()
