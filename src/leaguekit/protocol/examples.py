"""An example of every message of the documents, as it goes over the wire, by topic.

The topics are those of the appendix of document 002. In the league of these messages Ada (P01) meets Bob (P02).
"""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal, NamedTuple

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import MANAGER, match_conversation
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.refusals import manager_refusal
from leaguekit.protocol.rpc import Call, failure, request, success

Topic = Literal["registration", "gameflow", "errors"]
TOPICS: tuple[Topic, ...] = ("registration", "gameflow", "errors")


class Example(NamedTuple):
    """A JSON-RPC request or answer. ``name`` is its message type, and a word if there are others of that type."""

    topic: Topic
    name: str
    body: bytes


class _Exchange(NamedTuple):
    topic: Topic
    variant: str
    request: m.Request
    answer: m.Message | ProtocolError


_Fields = dict[str, Any]

_NOW = datetime(2026, 1, 15, 10, 30, tzinfo=UTC)
_AT, _RETRY_AT, _DEADLINE = "2026-01-15T10:30:00Z", "2026-01-15T10:30:07Z", "2026-01-15T10:30:30Z"
_NONCE = "00112233445566778899aabbccddeeff"
_ADA, _REFEREE = "http://localhost:8101/mcp", "http://localhost:8001/mcp"
_LEAGUE: _Fields = {"league_id": "my_league"}
_COMMITMENT: _Fields = {"draw_commitment": sha256(f"{_NONCE}:8".encode()).hexdigest()}
_DRAW: _Fields = {**_COMMITMENT, "draw_nonce": _NONCE}


def _by(sender: str, conversation: str, token: str = "") -> _Fields:
    """The envelope of a sender, with a token if it shows one."""
    shown = {"auth_token": token} if token else {}
    return {**m.envelope(sender, _NOW, conversation), **shown}


# The manager and the referee show tokens that are derived for the receiver, and so does a player to a referee.
_MATCH = match_conversation("R1M1", 1)
_manager_tells = _by(MANAGER, "conv-my-league", "drv-example") | _LEAGUE
_referee_tells = _by("referee:REF01", _MATCH, "drv-example") | _LEAGUE | {"round_id": 1, "match_id": "R1M1"}
_referee_reports = _referee_tells | {"auth_token": "tok-ref01-example"}
_in_match = _by("player:P01", _MATCH, "drv-p01-example") | {"player_id": "P01", "match_id": "R1M1"}
_acknowledged = _by("player:P01", "conv-my-league", "tok-p01-example") | {"player_id": "P01", "status": "ACKNOWLEDGED"}


def examples() -> list[Example]:
    """Every example, each answer behind its request."""
    found = []
    for number, (topic, variant, message, answer) in enumerate([*_registration(), *_gameflow(), *_errors()], 1):
        ending, call_id = f"_{variant}" if variant else "", b"%d" % number
        asked = request(BY_REQUEST[type(message)].name, encode(message), number)
        found.append(Example(topic, m.message_type(message) + ending, asked))
        if isinstance(answer, ProtocolError):
            call = Call(call_id, BY_REQUEST[type(message)].name, encode(message))
            refused = failure(call_id, manager_refusal(lambda: _NOW)(answer, call))
            found.append(Example(topic, f"LEAGUE_ERROR{ending}", refused))
        else:
            found.append(Example(topic, m.message_type(answer) + ending, success(call_id, encode(answer))))
    return found


def _registration() -> list[_Exchange]:
    described: _Fields = {"version": "1.0.0", "game_types": ["even_odd"], "protocol_version": "2.1.0"}
    referee = m.RefereeRegisterRequest(
        **_by("referee:alpha", "conv-alpha-reg"),
        referee_meta=m.RefereeMeta(
            display_name="Referee Alpha", contact_endpoint=_REFEREE, max_concurrent_matches=2, **described
        ),
    )
    player = m.LeagueRegisterRequest(
        **_by("player:ada", "conv-ada-reg"),
        player_meta=m.PlayerMeta(display_name="Ada", contact_endpoint=_ADA, **described),
    )
    accepted: _Fields = {"status": "ACCEPTED", "reason": None, "token_scheme": "derived", **_LEAGUE}
    full: _Fields = {"status": "REJECTED", "error_code": "E020"}
    to_referee, to_player = _by(MANAGER, "conv-alpha-reg"), _by(MANAGER, "conv-ada-reg")
    referee_taken = m.RefereeRegisterResponse(
        **to_referee | accepted | {"auth_token": "tok-ref01-example"}, referee_id="REF01"
    )
    referee_refused = m.RefereeRegisterResponse(
        **to_referee | full,
        referee_id=None,
        reason="Maximum referees already registered: 2 of 2 places are taken",
        code=1001,
        max_referees=2,
        current_referees=2,
    )
    player_taken = m.LeagueRegisterResponse(**to_player | accepted | {"auth_token": "tok-p01-example"}, player_id="P01")
    player_refused = m.LeagueRegisterResponse(
        **to_player | full,
        player_id=None,
        reason="Maximum players reached: 4 of 4 places are taken",
        code=2001,
        max_players=4,
        current_players=4,
    )
    return [
        _Exchange("registration", "", referee, referee_taken),
        _Exchange("registration", "rejected", referee, referee_refused),
        _Exchange("registration", "", player, player_taken),
        _Exchange("registration", "rejected", player, player_refused),
    ]


def _gameflow() -> list[_Exchange]:
    table = [_standing(1, "P01", "Ada", wins=1), _standing(2, "P02", "Bob", wins=0)]
    pages: list[tuple[m.Request, m.Message]] = [
        (
            m.RoundAnnouncement(**_manager_tells, round_id=1, matches=[_announced("R1M1", "P02")]),
            m.RoundAnnouncementAck(**_acknowledged, round_id=1),
        ),
        (
            m.GameInvitation(
                **_referee_tells,
                game_type="even_odd",
                role_in_match="PLAYER_A",
                opponent_id="P02",
                player_id="P01",
                attempt=1,
            ),
            m.GameJoinAck(**_in_match, arrival_timestamp=_AT, accept=True),
        ),
        (
            m.ChooseParityCall(
                **_referee_tells,
                player_id="P01",
                game_type="even_odd",
                context=m.CallContext(
                    opponent_id="P02",
                    round_id=1,
                    your_standings=m.OwnRecord(wins=0, losses=0, draws=0, points=0),
                    **_COMMITMENT,
                ),
                deadline=_DEADLINE,
            ),
            m.ChooseParityResponse(**_in_match, parity_choice="even"),
        ),
        (
            m.MatchResultReport(
                **_referee_reports,
                game_type="even_odd",
                attempt=1,
                result=m.MatchResult(
                    winner="P01",
                    score={"P01": 3, "P02": 0},
                    details=m.ResultDetails(
                        drawn_number=8, choices={"P01": "even", "P02": "odd"}, status="WIN", **_DRAW
                    ),
                ),
            ),
            m.MatchResultAck(**_by(MANAGER, _MATCH), status="ACCEPTED", match_id="R1M1", round_id=1),
        ),
        (
            m.LeagueStandingsUpdate(**_manager_tells, round_id=1, standings=table, total_players=2),
            m.StandingsUpdateAck(**_acknowledged, round_id=1),
        ),
        (
            m.RoundCompleted(
                **_manager_tells,
                round_id=1,
                next_round_id=None,
                matches_completed=1,
                matches_played=1,
                summary=m.RoundSummary(total_matches=1, wins=1, draws=0, technical_losses=0),
            ),
            m.RoundCompletedAck(**_acknowledged, round_id=1),
        ),
        (
            m.LeagueCompleted(
                **_manager_tells,
                total_rounds=1,
                total_matches=1,
                champion=m.Champion(player_id="P01", display_name="Ada", points=3),
                final_standings=m.final_rows(table),
                total_players=2,
            ),
            m.LeagueCompletedAck(**_acknowledged),
        ),
    ]
    found = [_Exchange("gameflow", "", message, answer) for message, answer in pages]
    over = m.GameOverAck(**_in_match, status="ACKNOWLEDGED")
    found[3:3] = [
        _Exchange("gameflow", "", _game_over("WIN", "P01", 8, ("even", "odd"), "P01 chose even, and 8 is even"), over),
        _Exchange(
            "gameflow", "draw", _game_over("DRAW", None, 8, ("odd", "odd"), "Both chose odd, and 8 is even"), over
        ),
        _Exchange(
            "gameflow",
            "technical_loss",
            _game_over("TECHNICAL_LOSS", "P01", None, ("even", None), "P02 did not answer in time"),
            over,
        ),
    ]
    standings = m.QueryData(standings=m.final_rows(table))
    following = m.NextMatch(match_id="R1M1", round_id=1, opponent_id="P02", referee_endpoint=_REFEREE)
    return [
        *found,
        _asked("standings", "GET_STANDINGS", {}, {"data": standings, "standings": table, "current_round": 1}),
        _asked("next_match", "GET_NEXT_MATCH", {"player_id": "P01"}, {"data": m.QueryData(next_match=following)}),
    ]


def _errors() -> list[_Exchange]:
    retried: _Fields = {
        "player_id": "P01",
        "action_required": "CHOOSE_PARITY_RESPONSE",
        "consequence": "Technical loss at wrong answer 4, or if no valid one comes before the deadline.",
        "retryable": True,
        "retry_count": 1,
        "max_retries": 3,
        "game_state": "COLLECTING_CHOICES",
    }
    fields = {name: value for name, value in _referee_tells.items() if name not in _by("", "")}
    envelope = m.envelope("referee:REF01", _NOW, _MATCH)
    silent = m.game_error(
        envelope,
        code="E001",
        detail="No answer came within 30 seconds.",
        next_retry_at=_RETRY_AT,
        **fields | retried,
    )
    wrong = m.game_error(
        envelope,
        code="E004",
        detail="'Even' is not exactly even or odd.",
        time_remaining=25.5,
        context={"invalid_choice": "Even", "valid_choices": ["even", "odd"]},
        **fields | retried,
    )
    noted = m.GameErrorAck(**_in_match, status="ACKNOWLEDGED")
    unknown = m.QueryError(
        error_code="E005", error_name="PLAYER_NOT_REGISTERED", error_description="There is no player P99."
    )
    refused = ProtocolError("E012", context={"provided_token": "tok-p0…", "expected_format": "tok-{agent_id}-{hash}"})
    return [
        _Exchange("errors", "timeout", silent, noted),
        _Exchange("errors", "invalid_choice", wrong, noted),
        _asked("unknown_player", "GET_PLAYER_STATS", {"player_id": "P99"}, {"error": unknown}, "errors"),
        _Exchange("errors", "invalid_token", _query("GET_STANDINGS", {}, "tok-p01-wrong"), refused),
    ]


def _announced(match_id: str, opponent: str) -> m.AnnouncedMatch:
    return m.AnnouncedMatch(
        match_id=match_id, game_type="even_odd", player_A_id="P01", player_B_id=opponent, referee_endpoint=_REFEREE
    )


def _game_over(
    status: Any, winner: str | None, number: int | None, choices: tuple[str, str | None], why: str
) -> m.GameOver:
    result = m.GameResult(
        status=status,
        winner_player_id=winner,
        drawn_number=number,
        number_parity=None if number is None else "even",
        choices=dict(zip(("P01", "P02"), choices, strict=True)),
        reason=why,
        **_DRAW,
    )
    return m.GameOver(**_referee_tells, game_type="even_odd", game_result=result, reason=why)


def _standing(rank: int, player_id: str, name: str, wins: int) -> m.Standing:
    return m.Standing(
        rank=rank,
        player_id=player_id,
        display_name=name,
        played=1,
        wins=wins,
        draws=0,
        losses=1 - wins,
        points=3 * wins,
        technical_losses=0,
    )


def _query(query_type: str, params: _Fields, token: str = "tok-p01-example") -> m.LeagueQuery:  # noqa: S107
    fields = _by("player:P01", "conv-ada-query", token) | _LEAGUE
    return m.LeagueQuery(**fields, query_type=query_type, query_params=m.QueryParams(**params))


def _asked(variant: str, query_type: str, params: _Fields, found: _Fields, topic: Topic = "gameflow") -> _Exchange:
    envelope = _by(MANAGER, "conv-ada-query")
    answer = m.LeagueQueryResponse(**envelope, query_type=query_type, success="error" not in found, **found)
    return _Exchange(topic, variant, _query(query_type, params), answer)
