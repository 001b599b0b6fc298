"""Messages as we send them, each with the union of what the documents ask for; several where the content varies."""

from __future__ import annotations

from datetime import UTC, datetime

from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import MANAGER

NOW = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)
THEN = "2025-01-15T10:30:30Z"
LEAGUE = "league_2025_even_odd"

_manager = m.envelope(MANAGER, NOW, "conv-league-001")
_referee = m.envelope("referee:REF01", NOW, "conv-r1m1-001")
_player = m.envelope("player:P01", NOW, "conv-r1m1-001")
_of_manager = {"auth_token": "drv-manager", "league_id": LEAGUE, "round_id": 1}
_of_match = {"auth_token": "drv-referee", "league_id": LEAGUE, "round_id": 1, "match_id": "R1M1"}
_acknowledged = {"auth_token": "tok-p01-secret", "status": "ACKNOWLEDGED"}


def _standing(rank: int, player: str, wins: int, draws: int) -> m.Standing:
    return m.Standing(
        rank=rank,
        player_id=player,
        display_name=f"Agent {player}",
        played=2,
        wins=wins,
        draws=draws,
        losses=2 - wins - draws,
        points=3 * wins + draws,
        technical_losses=0,
    )


_STANDINGS = [_standing(1, "P01", 2, 0), _standing(2, "P03", 1, 1), _standing(3, "P02", 0, 1)]
_RECORD = m.OwnRecord(wins=2, losses=1, draws=0, points=6)
_CONTEXT = m.CallContext(opponent_id="P02", round_id=1, your_standings=_RECORD, draw_commitment="ab" * 32)


def _game_over(
    status: str, winner: str | None, number: int | None, parity: str | None, choices: dict[str, str | None], reason: str
) -> m.GameOver:
    result = m.GameResult(
        status=status,
        winner_player_id=winner,
        drawn_number=number,
        number_parity=parity,
        choices=choices,
        reason=reason,
        draw_commitment="ab" * 32,
        draw_nonce="cd" * 16,
    )
    return m.GameOver(**_referee, **_of_match, game_type="even_odd", game_result=result, reason=reason)


def _report(
    winner: str | None, score: dict[str, int], number: int | None, choices: dict[str, str | None], status: str
) -> m.MatchResultReport:
    details = m.ResultDetails(
        drawn_number=number,
        choices=choices,
        status=status,
        ruling="WIN_BY_PLAY",
        evidence={"lateness_ms": 0},
        failures={"P01": 0, "P02": 4},
        draw_commitment="ab" * 32,
        draw_nonce="cd" * 16,
    )
    result = m.MatchResult(winner=winner, score=score, details=details)
    return m.MatchResultReport(
        **_referee, **_of_match | {"auth_token": "tok-ref01-secret"}, game_type="even_odd", result=result, attempt=1
    )


def _error(code: str, *, next_retry: bool) -> m.GameError:
    return m.game_error(
        _referee,
        **_of_match,
        code=code,
        player_id="P02",
        action_required="CHOOSE_PARITY_RESPONSE",
        consequence="Technical loss if no valid choice arrives in time",
        retryable=True,
        retry_count=1,
        max_retries=3,
        detail="No answer came within 30 seconds.",
        game_state="COLLECTING_CHOICES",
        **({"next_retry_at": THEN} if next_retry else {"time_remaining": 15.3}),
        context={"invalid_choice": "Even", "valid_choices": ["even", "odd"]},
    )


_LIMITS = m.TimeLimits(
    join_seconds=5.0, choice_seconds=30.0, game_over_seconds=5.0, max_retries=3, retry_seconds=2.0, backoff="fixed"
)


def _assigned(player: str, port: int) -> m.AssignedPlayer:
    return m.AssignedPlayer(
        player_id=player,
        endpoint=f"http://localhost:{port}/mcp",
        state="ACTIVE",
        record=_RECORD,
        display_name=f"Agent {player}",
        form="RPC",
        shown_token="drv-a",
        expected_token="drv-b",
        verifier="ef" * 32,
    )


SAMPLES: tuple[m.Message, ...] = (
    m.RefereeRegisterRequest(
        **m.envelope("referee:alpha", NOW, "conv-ref-alpha-reg-001"),
        auth_token="tok-ref01-secret",
        referee_meta=m.RefereeMeta(
            display_name="Referee Alpha",
            version="1.0.0",
            game_types=["even_odd"],
            contact_endpoint="http://localhost:8001/mcp",
            max_concurrent_matches=2,
            protocol_version="2.1.0",
        ),
    ),
    m.RefereeRegisterResponse(
        **_manager,
        status="ACCEPTED",
        referee_id="REF01",
        auth_token="tok-ref01-secret",
        league_id=LEAGUE,
        reason=None,
        token_scheme="derived",
    ),
    m.RefereeRegisterResponse(
        **_manager, status="REJECTED", referee_id=None, reason="League already started", error_code="E019", code=None
    ),
    m.LeagueRegisterRequest(
        **m.envelope("player:alpha", NOW, "conv-player-alpha-reg-001"),
        auth_token="tok-p01-secret",
        player_meta=m.PlayerMeta(
            display_name="Agent Alpha",
            version="1.0.0",
            game_types=["even_odd"],
            contact_endpoint="http://localhost:8101/mcp",
            protocol_version="2.1.0",
        ),
    ),
    m.LeagueRegisterResponse(
        **_manager,
        status="ACCEPTED",
        player_id="P01",
        auth_token="tok-p01-secret",
        league_id=LEAGUE,
        reason=None,
        token_scheme="derived",
    ),
    m.LeagueRegisterResponse(
        **_manager, status="REJECTED", player_id=None, reason="Maximum players reached", error_code="E020", code=2001
    ),
    m.RoundAnnouncement(
        **_manager,
        **_of_manager,
        matches=[
            m.AnnouncedMatch(
                match_id="R1M1",
                game_type="even_odd",
                player_A_id="P01",
                player_B_id="P02",
                referee_endpoint="http://localhost:8001/mcp",
                referee_id="REF01",
                player_A_endpoint="http://localhost:8101/mcp",
                player_B_endpoint="http://localhost:8102/mcp",
            )
        ],
    ),
    m.RoundCompleted(
        **_manager,
        **_of_manager,
        matches_completed=2,
        matches_played=2,
        next_round_id=2,
        summary=m.RoundSummary(total_matches=2, wins=1, draws=1, technical_losses=0),
    ),
    m.RoundCompleted(
        **_manager,
        **_of_manager | {"round_id": 3},
        matches_completed=1,
        matches_played=1,
        next_round_id=None,
        summary=m.RoundSummary(total_matches=1, wins=0, draws=0, technical_losses=1),
    ),
    m.LeagueCompleted(
        **_manager,
        auth_token="drv-manager",
        league_id=LEAGUE,
        total_rounds=3,
        total_matches=6,
        champion=m.Champion(player_id="P01", display_name="Agent P01", points=6),
        final_standings=[
            m.FinalStanding(
                rank=row.rank,
                player_id=row.player_id,
                display_name=row.display_name,
                points=row.points,
                played=row.played,
                wins=row.wins,
                draws=row.draws,
                losses=row.losses,
            )
            for row in _STANDINGS
        ],
        total_players=3,
    ),
    m.GameInvitation(
        **_referee,
        **_of_match,
        game_type="even_odd",
        role_in_match="PLAYER_A",
        opponent_id="P02",
        player_id="P01",
        attempt=1,
    ),
    m.GameJoinAck(
        **_player,
        auth_token="tok-p01-secret",
        match_id="R1M1",
        player_id="P01",
        arrival_timestamp="2025-01-15T10:30:00Z",
        accept=True,
    ),
    m.ChooseParityCall(**_referee, **_of_match, player_id="P01", game_type="even_odd", context=_CONTEXT, deadline=THEN),
    m.ChooseParityResponse(
        **_player, auth_token="tok-p01-secret", match_id="R1M1", player_id="P01", parity_choice="even"
    ),
    _game_over("WIN", "P01", 8, "even", {"P01": "even", "P02": "odd"}, "P01 chose even, and 8 is even"),
    _game_over("DRAW", None, 4, "even", {"P01": "odd", "P02": "odd"}, "Both chose odd, and 4 is even"),
    _game_over("TECHNICAL_LOSS", "P01", None, None, {"P01": "even", "P02": None}, "P02 did not answer in time"),
    _game_over("TECHNICAL_LOSS", None, None, None, {"P01": None, "P02": None}, "Neither player answered in time"),
    _report("P01", {"P01": 3, "P02": 0}, 8, {"P01": "even", "P02": "odd"}, "WIN"),
    _report(None, {"P01": 1, "P02": 1}, 4, {"P01": "odd", "P02": "odd"}, "DRAW"),
    _report("P01", {"P01": 3, "P02": 0}, None, {"P01": "even", "P02": None}, "TECHNICAL_LOSS"),
    m.LeagueStandingsUpdate(**_manager, **_of_manager, standings=_STANDINGS, total_players=3),
    m.LeagueError(
        **_manager,
        error_code="E012",
        error_description="AUTH_TOKEN_INVALID",
        error_name="AUTH_TOKEN_INVALID",
        original_message_type="LEAGUE_QUERY",
        affected_player="P01",
        action_required="Send the token of your latest registration.",
        retryable=False,
        consequence="This message does not count.",
        retry_info=m.RetryInfo(retry_count=1, max_retries=3, next_retry_at=THEN, time_remaining=1.5),
        context={
            "detail": "The auth_token is not valid here.",
            "action": "LEAGUE_QUERY",
            "provided_token": "tok-inva…",
            "expected_format": "tok-{agent_id}-{hash}",
            "player_id": "P01",
        },
    ),
    _error("E001", next_retry=True),
    _error("E004", next_retry=False),
    m.LeagueQuery(
        **_player,
        auth_token="tok-p01-secret",
        league_id=LEAGUE,
        query_type="GET_STANDINGS",
        query_params=m.QueryParams(),
    ),
    m.LeagueQuery(
        **_player,
        auth_token="tok-p01-secret",
        league_id=LEAGUE,
        query_type="GET_NEXT_MATCH",
        query_params=m.QueryParams(player_id="P01"),
    ),
    m.LeagueQuery(
        **_player,
        auth_token="tok-p01-secret",
        league_id=LEAGUE,
        query_type="GET_SCHEDULE",
        query_params=m.QueryParams(round_id=2),
    ),
    m.LeagueQueryResponse(
        **_manager,
        query_type="GET_STANDINGS",
        success=True,
        data=m.QueryData(standings=[m.FinalStanding(rank=1, player_id="P01", points=6)]),
        standings=_STANDINGS,
        current_round=1,
    ),
    m.LeagueQueryResponse(
        **_manager,
        query_type="GET_NEXT_MATCH",
        success=True,
        data=m.QueryData(
            next_match=m.NextMatch(
                match_id="R2M1", round_id=2, opponent_id="P03", referee_endpoint="http://localhost:8001/mcp"
            )
        ),
    ),
    m.LeagueQueryResponse(
        **_manager,
        query_type="GET_NEXT_MATCH",
        success=False,
        error=m.QueryError(
            error_code="E005", error_name="PLAYER_NOT_REGISTERED", error_description="There is no player P99."
        ),
    ),
    m.RoundAnnouncementAck(**_player, **_acknowledged, player_id="P01", round_id=1),
    m.RoundAnnouncementAck(**_referee, **_acknowledged, referee_id="REF01", round_id=1),
    m.StandingsUpdateAck(**_player, **_acknowledged, player_id="P01", round_id=1),
    m.RoundCompletedAck(**_player, **_acknowledged, player_id="P01", round_id=1),
    m.LeagueCompletedAck(**_player, **_acknowledged, player_id="P01"),
    m.GameOverAck(**_player, **_acknowledged, player_id="P01", match_id="R1M1"),
    m.MatchResultAck(**_manager, status="ACCEPTED", match_id="R1M1", round_id=1),
    m.GameErrorAck(**_player, **_acknowledged, player_id="P01", match_id="R1M1"),
    m.LeagueErrorAck(**_player, **_acknowledged, player_id="P01"),
    m.MatchAssignment(
        **_manager,
        **_of_manager,
        match_id="R1M1",
        game_type="even_odd",
        attempt=1,
        match_seed="12" * 32,
        time_limits=_LIMITS,
        player_A=_assigned("P01", 8101),
        player_B=_assigned("P02", 8102),
    ),
    m.MatchAssignmentAck(**_referee, status="ACCEPTED", match_id="R1M1", attempt=1, reason=None),
    m.MatchProgress(
        **_referee,
        **_of_match,
        attempt=1,
        stage="COLLECTING_CHOICES",
        entered_at=THEN,
        deadline=THEN,
        arrived=["P01"],
        position={"board": "X........"},
        picture={"kind": "grid", "rows": [["X", "", ""], ["", "", ""], ["", "", ""]]},
    ),
    m.MatchProgressAck(**_manager, status="ACKNOWLEDGED", match_id="R1M1"),
    m.MatchRecord(
        **_referee,
        auth_token="tok-ref01-secret",
        league_id=LEAGUE,
        match_id="R1M1",
        attempt=1,
        record=[{"chance": 4}, {"A": "x", "B": [1]}],
    ),
    m.MatchTranscript(
        **_referee,
        auth_token="tok-ref01-secret",
        league_id=LEAGUE,
        match_id="R1M1",
        attempt=1,
        entries=[
            m.TranscriptEntry(
                seconds=0.5,
                what="sent",
                player_id="P01",
                message_type="GAME_INVITATION",
                body={"match_id": "R1M1"},
                note="first try",
            )
        ],
    ),
    m.MatchVoidReport(**_referee, **_of_match, attempt=1, reason="The referee was late.", evidence={"late_ms": 180}),
    m.MatchVoidAck(**_manager, status="ACCEPTED", match_id="R1M1", attempt=1),
    m.GameMoveCall(
        **_referee,
        **_of_match,
        player_id="P01",
        game_type="tic_tac_toe",
        move_request=m.MoveRequest(move_type="place_mark", valid_options=[0, 4, 8], context={"board": "X.O......"}),
        context=_CONTEXT,
        deadline=THEN,
    ),
    m.GameMoveResponse(**_player, auth_token="tok-p01-secret", match_id="R1M1", player_id="P01", move_data=4),
    m.MatchMessageAck(**_referee, status="ACKNOWLEDGED", match_id="R1M1", player_id="P01"),
)


def samples_of(message_type: str) -> list[m.Message]:
    return [sample for sample in SAMPLES if m.message_type(sample) == message_type]
