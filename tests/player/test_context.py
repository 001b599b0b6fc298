"""The context of a strategy, and the past matches of a player."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from leaguekit import Context
from leaguekit.player.context import OngoingMatch, PastMatch, past_match, record_of, seconds_for
from leaguekit.protocol import messages as m
from tests.samples import samples_of

NOW = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


def past(match_id: str = "R1M1", result: str = "WIN", opponent: str = "P02", **more) -> PastMatch:
    return PastMatch(match_id=match_id, game_type="even_odd", result=result, opponent_id=opponent, **more)


def test_a_context_can_be_built_by_hand_with_only_what_matters() -> None:
    ctx = Context(valid_options=["even", "odd"])
    assert (ctx.game_type, ctx.history, ctx.standings, ctx.view) == ("even_odd", (), [], {})
    assert ctx.random.choice(ctx.valid_options) in ("even", "odd")
    assert ctx.seconds_left == float("inf")


def test_the_seconds_left_run_down_and_never_below_nothing() -> None:
    moments = iter([NOW, NOW + timedelta(seconds=9.5), NOW + timedelta(seconds=11)])
    ctx = Context(deadline=NOW + timedelta(seconds=10), now=lambda: next(moments))
    assert [ctx.seconds_left, ctx.seconds_left, ctx.seconds_left] == [10.0, 0.5, 0.0]


def test_matches_against_one_opponent_are_found_in_order() -> None:
    history = (past("R1M1", opponent="P02"), past("R2M1", opponent="P03"), past("R4M1", opponent="P02"))
    ctx = Context(history=history, opponent_id="P02")
    assert [match.match_id for match in ctx.against()] == ["R1M1", "R4M1"]
    assert [match.match_id for match in ctx.against("P03")] == ["R2M1"]
    assert ctx.against("P04") == []


def test_a_context_cannot_be_changed_by_mistake() -> None:
    with pytest.raises(AttributeError):
        Context().round_id = 3  # type: ignore[misc]


@pytest.mark.proves("001-L1310")
def test_a_record_counts_wins_losses_draws_and_points() -> None:
    record = record_of([past(result=result) for result in ("WIN", "DRAW", "WIN", "LOSS", "DRAW")])
    assert (record.wins, record.losses, record.draws, record.points) == (2, 1, 2, 8)


@pytest.mark.parametrize(
    ("number", "player", "expected"),
    [
        (0, "P01", ("WIN", "even", "odd", 8, False)),
        (0, "P02", ("LOSS", "odd", "even", 8, False)),
        (1, "P01", ("DRAW", "odd", "odd", 4, False)),
        (2, "P01", ("WIN", "even", None, None, True)),
        (2, "P02", ("LOSS", None, "even", None, True)),
        (3, "P01", ("LOSS", None, None, None, True)),
        (3, "P02", ("LOSS", None, None, None, True)),
    ],
)
@pytest.mark.proves("003-L0293a")
def test_a_match_is_remembered_as_the_referee_told_its_end(number: int, player: str, expected: tuple) -> None:
    match = past_match(samples_of("GAME_OVER")[number], player, OngoingMatch("REF01"))
    assert (match.result, match.choice, match.opponent_choice, match.drawn_number, match.technical) == expected
    assert match.opponent_id == ("P02" if player == "P01" else "P01")
    assert match.round_id == 1
    assert match.reason


def test_what_the_invitation_said_is_remembered_with_the_match() -> None:
    bare = msgspec.structs.replace(samples_of("GAME_OVER")[0], round_id=msgspec.UNSET)
    match = past_match(bare, "P01", OngoingMatch("REF01", round_id=3, opponent_id="P02", role="PLAYER_B"))
    assert (match.round_id, match.role) == (3, "PLAYER_B")


@pytest.mark.parametrize(
    ("deadline", "seconds"),
    [
        ("2025-01-15T10:30:30Z", 28.5),
        ("2025-01-15T10:30:02Z", 1.0),
        ("2025-01-15T10:30:01Z", 0.5),
        ("2025-01-15T10:30:00Z", 0.2),
        ("2025-01-15T10:32:00Z", 118.5),
        # A deadline before the message's own time is ignored, and the specification's limit is used.
        ("2025-01-15T08:30:30Z", 28.5),
    ],
)
def test_a_strategy_may_think_until_shortly_before_the_deadline(deadline: str, seconds: float) -> None:
    call = msgspec.structs.replace(samples_of("CHOOSE_PARITY_CALL")[0], deadline=deadline)
    assert isinstance(call, m.ChooseParityCall)
    assert seconds_for(call) == seconds


def test_the_opponents_row_is_found_in_the_table() -> None:
    table = samples_of("LEAGUE_STANDINGS_UPDATE")[0].standings
    ctx = Context(standings=table, opponent_id=table[1].player_id)
    assert ctx.opponent is table[1]
    assert Context(standings=table, opponent_id="P77").opponent is None
