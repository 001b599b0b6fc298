"""``leaguekit.testing``: matches, series and leagues in memory, played by the real agents."""

from __future__ import annotations

import asyncio
import re
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from traceback import extract_tb
from typing import Any

import pytest

from leaguekit import Context, Player
from leaguekit.games import GAMES
from leaguekit.player import move_limit
from leaguekit.player.strategy_loading import NoSuchStrategy
from leaguekit.protocol.errors import ProtocolError
from leaguekit.testing import StrategyFailed, play_league, play_match, play_series


def first(ctx: Context) -> Any:
    return ctx.valid_options[0]


@pytest.fixture(autouse=True)
def _nothing_but_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file is written and no port opened."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(socket.socket, "bind", None)
    yield
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("role", ["PLAYER_A", "PLAYER_B"])
def test_a_match_of_every_game_is_played_from_the_invitation_to_its_result(game: str, role: Any) -> None:
    match = play_match(first, "random", game=game, role=role)
    assert (match.game_type, match.role, match.replaced) == (game, role, [])
    assert (match.result == "WIN", match.result == "LOSS") == (match.winner == "P01", match.winner == "P02")
    kinds = [entry.message_type for entry in match.messages if entry.player_id == "P01"]
    assert kinds[:2] == ["GAME_INVITATION", "GAME_JOIN_ACK"]
    assert kinds[-1] == "GAME_OVER"
    invited = match.messages[0 if role == "PLAYER_A" else 1]
    assert (invited.player_id, invited.body["role_in_match"]) == ("P01", role)
    assert match.choice is not None
    assert match.reason in match.messages[-1].body["reason"]


def test_the_same_seed_gives_the_same_match_and_another_seed_another_one() -> None:
    def chosen(seed: int) -> list[Any]:
        match = play_match("random", "random", game="tic_tac_toe", seed=seed)
        return [match.choices, match.winner, match.position]

    assert chosen(3) == chosen(3)
    assert len({str(chosen(seed)) for seed in range(5)}) > 1


def test_the_strategy_sees_what_it_would_see_in_a_league() -> None:
    seen: list[Context] = []

    def choose(ctx: Context) -> Any:
        seen.append(ctx)
        return first(ctx)

    played = play_series(choose, "always_odd", matches=3)
    assert [(ctx.player_id, ctx.opponent_id, ctx.round_id, ctx.match_id) for ctx in seen] == [
        ("P01", "P02", 1, "R1M1"),
        ("P01", "P02", 2, "R2M1"),
        ("P01", "P02", 3, "R3M1"),
    ]
    assert [ctx.role for ctx in seen] == ["PLAYER_A", "PLAYER_B", "PLAYER_A"] == [match.role for match in played]
    assert [match.result for match in seen[2].history] == [match.result for match in played[:2]]
    assert seen[2].record.wins == sum(match.result == "WIN" for match in played[:2])


def boom(ctx: Context) -> Any:
    raise ZeroDivisionError("my mistake")


async def slow(ctx: Context) -> Any:
    await asyncio.sleep(1000)


def shouting(ctx: Context) -> Any:
    return "EVEN"


FAILING = [
    (boom, "the strategy raised ZeroDivisionError"),
    (slow, "the strategy took longer than 28.5 s"),
    (shouting, "the strategy chose 'EVEN', which is none of"),
]


@pytest.mark.parametrize(("choose", "why"), FAILING)
def test_a_strategy_that_fails_fails_the_test_with_the_reason(choose: Any, why: str) -> None:
    with pytest.raises(StrategyFailed, match=why) as failed:
        play_match(choose)
    assert [one.match_id for one in failed.value.replaced] == ["R1M1"]
    assert isinstance(failed.value.__cause__, ZeroDivisionError) == (choose is boom)
    with pytest.raises(StrategyFailed, match=f"its opponent: R1M1: {why}"):
        play_match("random", choose)
    with pytest.raises(StrategyFailed, match=f"Mine: R1M1: {why}"):
        play_league({"Mine": choose, "Theirs": "random"})


def endless(ctx: Context) -> Any:
    while True:
        ctx.random.random()


async def endless_async(ctx: Context) -> Any:
    while True:
        ctx.random.random()


@pytest.mark.parametrize("choose", [endless, endless_async])
def test_a_strategy_that_does_not_return_fails_the_test_and_shows_its_line(
    choose: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_limit, "MOVE_SECONDS", 0.25)
    with pytest.raises(StrategyFailed, match=r"the strategy took longer than 0\.25 s; played") as failed:
        play_match(choose)
    assert failed.value.__cause__ is not None
    assert extract_tb(failed.value.__cause__.__traceback__)[0].name == choose.__name__


def test_a_strict_match_does_not_wait_for_moves_after_the_first_replaced_one() -> None:
    moves = iter((None, endless))

    def choose(ctx: Context) -> Any:
        move = next(moves, None)
        return move(ctx) if move else ctx.valid_options[0] if ctx.view["board"].strip(".") else "illegal"

    began = time.monotonic()
    with pytest.raises(StrategyFailed, match="'illegal'"):
        play_match(choose, game="tic_tac_toe")
    assert next(moves, None) is None
    assert time.monotonic() - began < move_limit.MOVE_SECONDS


def test_the_first_ctrl_c_ends_a_strategy_where_it_is() -> None:
    def interrupted(ctx: Context) -> Any:
        signal.raise_signal(signal.SIGINT)
        raise AssertionError("it went on")

    # Commands that other tests run in this process leave the handler of their closed event loop.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt) as ended:
            play_match(interrupted)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert extract_tb(ended.value.__traceback__)[-1].name == "interrupted"


def test_a_failure_shows_the_author_only_what_is_the_authors(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(StrategyFailed) as failed:
        play_match(boom, game="tic_tac_toe")
    # The functions that pytest hides, and no other of leaguekit or asyncio.
    functions = [frame.name for frame in extract_tb(failed.value.__traceback__)][1:]
    assert functions == ["play_match", "_play_series"]
    cause = failed.value.__cause__
    assert cause is not None
    assert [frame.name for frame in extract_tb(cause.__traceback__)] == ["boom"]
    # The trace is that of the cause, and nothing is repeated in the log.
    assert "\n" not in str(failed.value)
    assert caplog.records == []


def test_all_moves_of_a_small_board_are_listed() -> None:
    all_moves = re.escape(str([*range(9)]))
    with pytest.raises(StrategyFailed, match=rf"chose 9, which is none of {all_moves}; played \d instead"):
        play_match(lambda ctx: 9, game="tic_tac_toe")


@pytest.mark.parametrize(("choose", "why"), FAILING)
def test_what_a_league_makes_of_a_failing_strategy_can_be_looked_at(choose: Any, why: str) -> None:
    match = play_match(choose, strict=False)
    assert match.ruling in ("WIN", "DRAW")
    assert [one.fault.startswith(why) for one in match.replaced] == [True]
    assert match.seconds == (28.5 if choose is slow else 0.0)
    assert [len(match.replaced) for match in play_series(choose, matches=25, strict=False)] == [1] * 25


def test_an_asynchronous_strategy_that_waits_costs_no_time() -> None:
    async def choose(ctx: Context) -> Any:
        await asyncio.sleep(20)
        return first(ctx)

    assert play_match(choose).seconds == 20.0


def test_a_league_is_played_from_the_registrations_to_the_table() -> None:
    tables: list[int] = []

    def choose(ctx: Context) -> Any:
        tables.append(len(ctx.standings))
        return first(ctx)

    played = play_league({"Mine": Player("Another name", choose), "Two": "random", "Three": "frequency"}, seed=7)
    assert sorted(row.display_name for row in played.standings) == ["Mine", "Three", "Two"]
    assert played.champion == played.standings[0].display_name
    assert {name: len(matches) for name, matches in played.matches.items()} == {"Mine": 2, "Two": 2, "Three": 2}
    assert tables[-1] == 3
    assert played.standings == play_league({"Mine": choose, "Two": "random", "Three": "frequency"}, seed=7).standings


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: play_match(first, "clever"), NoSuchStrategy, "There is no strategy 'clever'; there are random"),
        (lambda: play_match(first, game="chess"), ProtocolError, "There is no game 'chess' here"),
        (lambda: play_league({"Mine": first}, game="chess"), ProtocolError, "There is no game 'chess' here"),
        (lambda: play_league({"Mine": first}), ValueError, "at least two players, got 1"),
        (
            lambda: play_match(first, "always_even", game="tic_tac_toe"),
            ValueError,
            "the strategy always_even cannot play tic_tac_toe; these can: random, ",
        ),
    ],
)
def test_what_cannot_be_played_is_told_at_once(call: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        call()
