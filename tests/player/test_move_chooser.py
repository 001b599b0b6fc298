"""How a player asks its strategy for moves."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leaguekit.player.context import Context, Move
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol import messages as m
from tests.player.player_setup import (
    TOKEN,
    PlayerSetup,
    invitation,
    league_completed,
    move_call,
    parity_call,
    run_script,
)


def boom(ctx: Context) -> str:
    raise ZeroDivisionError("my mistake")


async def slow(ctx: Context) -> str:
    await asyncio.sleep(1000)
    return "even"


def shouting(ctx: Context) -> str:
    return "EVEN"


@pytest.mark.parametrize(
    ("choose", "text", "seconds"),
    [
        (boom, "R1M1: the strategy raised ZeroDivisionError('my mistake'); played ", 0),
        (slow, "R1M1: the strategy took longer than 28.5 s; played ", 28.5),
        (shouting, "R1M1: the strategy chose 'EVEN', which is none of ['even', 'odd']; played ", 0),
    ],
)
@pytest.mark.proves("000-L1473", "000-L1475", "000-L1518", "001-L1047", "003-L0180", "000-L1574", "002-L0216")
def test_a_legal_choice_is_made_in_time_whatever_the_authors_code_does(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, choose: Any, text: str, seconds: float
) -> None:
    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        answered = await setup.call(parity_call())
        assert answered.parity_choice in ("even", "odd")
        assert asyncio.get_running_loop().time() == seconds
        assert setup.agent.state == "WAITING_FOR_RESULT"

    run_script(script, PlayerSetup(tmp_path, choose))
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert record.getMessage().startswith(text)
    assert (record.exc_info is not None and record.exc_info[0] is ZeroDivisionError) == (choose is boom)


def test_the_author_is_told_of_every_move_that_was_played_for_the_strategy_and_of_the_place(tmp_path: Path) -> None:
    told: list[str] = []

    async def script(setup: PlayerSetup) -> None:
        for match_id in ("R1M1", "R2M1"):
            await setup.call(invitation(match_id))
            await setup.call(parity_call(match_id))
        for _ in range(2):
            await setup.call(league_completed())

    setup = PlayerSetup(tmp_path, boom, notify=told.append)
    run_script(script, setup)
    first, second, place, summary = told
    assert re.match(r"R1M1: the strategy raised ZeroDivisionError\('my mistake'\); played '\w+' instead\.\n", first)
    # The traceback begins at the author's own line.
    assert first.count("File ") == 1
    assert ", in boom\n" in first
    # The same traceback is not repeated.
    assert re.fullmatch(r"R2M1: the strategy raised ZeroDivisionError\('my mistake'\); played '\w+' instead\.", second)
    assert place == "Agent Alpha is number 1 with 3 points"
    assert summary.startswith(
        "Moves of Agent Alpha since it was started: 2 replaced (the first because the strategy raised ZeroDivisionError"
    )
    assert (setup.agent.origins.replaced, [one.match_id for one in setup.agent.replaced]) == (2, ["R1M1", "R2M1"])


def answer_of(tmp_path: Path, choose: Any, call: Callable[[], m.Message] = parity_call) -> Any:
    answers: list[Any] = []

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation())
        answers.append(await setup.call(call()))

    run_script(script, PlayerSetup(tmp_path, choose))
    return answers[0]


@pytest.mark.parametrize(
    ("choose", "info"),
    [
        (lambda ctx: ctx.valid_options[0], m.MoveInfo(origin="own")),
        (STRATEGIES["alternating"], m.MoveInfo(origin="own")),
        (lambda ctx: Move(ctx.valid_options[0], "retried", "busy"), m.MoveInfo(origin="retried", reason="busy")),
        (lambda ctx: Move(ctx.valid_options[0], "replaced", "down"), m.MoveInfo(origin="replaced", reason="down")),
        (boom, m.MoveInfo(origin="replaced", reason="the strategy raised ZeroDivisionError('my mistake')")),
        (lambda ctx: "EVEN", None),
    ],
)
def test_every_answer_states_where_its_move_came_from(tmp_path: Path, choose: Any, info: m.MoveInfo | None) -> None:
    for call in (parity_call, lambda: move_call("X........", [3, 5])):
        stated = answer_of(tmp_path, choose, call).move_info
        if info is None:
            assert (stated.origin, "which is none of" in stated.reason) == ("replaced", True)
        else:
            assert stated == info


def test_a_stated_reason_is_short_on_one_line_and_without_tokens(tmp_path: Path) -> None:
    def choose(ctx: Context) -> Any:
        raise ValueError(f"line\n\nline {TOKEN} " + "x" * 500)

    reason = answer_of(tmp_path, choose).move_info.reason
    assert len(reason) == 200
    assert reason.endswith("x…")
    assert TOKEN not in reason

    stated = answer_of(tmp_path, lambda ctx: Move("odd", "retried", "a\nb"))
    assert stated.move_info.reason == "a b"


def test_a_strategy_knows_how_long_it_has_whatever_the_two_clocks_say(tmp_path: Path) -> None:
    left: list[float] = []

    async def choose(ctx: Context) -> str:
        left.append(ctx.seconds_left)
        await asyncio.sleep(4)
        left.append(ctx.seconds_left)
        return "even"

    async def script(setup: PlayerSetup) -> None:
        call = parity_call()
        call.timestamp, call.deadline = "2031-01-01T00:00:00Z", "2031-01-01T00:00:20Z"
        assert (await setup.call(call)).parity_choice == "even"

    run_script(script, PlayerSetup(tmp_path, choose))
    assert left == [18.5, 14.5]


def drawn(tmp_path: Path, seed: int | None, match_id: str = "R1M1", attempt: int = 1) -> list[float]:
    numbers: list[float] = []

    def choose(ctx: Context) -> str:
        numbers.extend(ctx.random.random() for _ in range(3))
        return "even"

    async def script(setup: PlayerSetup) -> None:
        await setup.call(invitation(match_id, attempt))
        await setup.call(parity_call(match_id, attempt))

    run_script(script, PlayerSetup(tmp_path, choose, seed=seed))
    return numbers


def test_in_a_seeded_league_the_same_match_and_attempt_gets_the_same_random_numbers(tmp_path: Path) -> None:
    assert drawn(tmp_path, 7) == drawn(tmp_path, 7)
    others = [drawn(tmp_path, 8), drawn(tmp_path, 7, "R1M2"), drawn(tmp_path, 7, attempt=2)]
    assert len({tuple(numbers) for numbers in [drawn(tmp_path, 7), *others]}) == 4


def test_in_any_other_league_random_numbers_come_from_the_worlds_entropy(tmp_path: Path) -> None:
    numbers: list[float] = []
    counter = iter(range(100))

    def choose(ctx: Context) -> str:
        numbers.append(ctx.random.random())
        return "even"

    async def script(setup: PlayerSetup) -> None:
        await setup.call(parity_call("R1M1"))
        await setup.call(parity_call("R2M1"))

    run_script(script, PlayerSetup(tmp_path, choose, entropy=lambda size: bytes([next(counter)] * size)))
    assert numbers[0] != numbers[1]
