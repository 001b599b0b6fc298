"""Reads the answers of ``answers/*.toml`` with the parser, and counts what it reads correctly, wrongly and not at all.

python -m tests.player.llm.answer_figures
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Literal, NamedTuple

from leaguekit.player.llm.move_parsing import read_answer

ANSWERS = Path(__file__).with_name("answers")
Reading = Literal["correct", "wrong", "refused", "rightly refused"]


class Answer(NamedTuple):
    """An answer of a model to a question. ``states`` says whether it states one legal move."""

    file: str
    question: str
    options: list[Any]
    text: str
    states: bool
    move: Any

    def read(self) -> Reading:
        moves = read_answer(self.text, self.options).moves
        if len(moves) != 1:
            return "refused" if self.states else "rightly refused"
        return "correct" if self.states and _is_same(moves[0], self.move) else "wrong"


def answers() -> list[Answer]:
    """All answers, by file and question."""
    return [
        Answer(path.stem, name, question["options"], one["text"], "move" in one, one.get("move"))
        for path in sorted(ANSWERS.glob("*.toml"))
        for name, question in tomllib.loads(path.read_text(encoding="utf-8")).items()
        for one in question["answers"]
    ]


def _is_same(move: Any, other: Any) -> bool:
    return json.dumps(move, sort_keys=True) == json.dumps(other, sort_keys=True)


def main() -> None:
    counts = {path.stem: Counter[Reading]() for path in sorted(ANSWERS.glob("*.toml"))}
    for answer in answers():
        reading = answer.read()
        counts[answer.file][reading] += 1
        if reading in ("wrong", "refused"):
            sys.stdout.write(f"{reading}: {answer.question}: {answer.text!r}\n")
    for file, count in (*counts.items(), ("all", sum(counts.values(), Counter[Reading]()))):
        stated = count["correct"] + count["refused"]
        sys.stdout.write(
            f"{file}: {count.total()} answers. {count['correct']} read correctly, {count['wrong']} read wrongly, "
            f"{count['refused']} refused though they state a move; {count['rightly refused']} state none and were "
            f"refused ({stated + count['wrong'] + count['rightly refused']} in all)\n"
        )


if __name__ == "__main__":
    main()
