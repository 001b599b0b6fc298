"""The answers of ``answers/*.toml``: which moves the parser reads, and that it reads none that was not stated."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.player.llm.answer_figures import answers, main

ANSWERS = answers()
# A model whose answer is refused is asked again.
MAX_REFUSED = 0.13


def test_no_move_is_read_that_the_model_did_not_state() -> None:
    assert len(ANSWERS) >= 960
    assert [answer for answer in ANSWERS if answer.read() == "wrong"] == []


def test_few_answers_are_refused_that_state_a_move() -> None:
    counts = Counter(answer.read() for answer in ANSWERS)
    assert counts["refused"] <= MAX_REFUSED * (counts["correct"] + counts["refused"])


def test_every_answer_is_there_once() -> None:
    assert len({(answer.question, answer.text, str(answer.options)) for answer in ANSWERS}) == len(ANSWERS)


def test_the_command_prints_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith(f"all: {len(ANSWERS)} answers. ")
    assert " 0 read wrongly" in last
