"""How a match can end: the closed list of rulings, and the verdict with its ruling, reason and evidence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from leaguekit.games.base import SIDES, Moves, Outcome, Side, other
from leaguekit.protocol.fields import ResultStatus

WIN_POINTS, DRAW_POINTS, LOSS_POINTS = 3, 1, 0


class Ruling(StrEnum):
    """All rulings. If two players have different faults, the one that is listed first is the ruling of the match."""

    WIN = "WIN"
    DRAW = "DRAW"
    DISQUALIFICATION = "DISQUALIFICATION"
    WITHDRAWAL = "WITHDRAWAL"
    WRONG_TOKEN = "WRONG_TOKEN"  # noqa: S105 - a ruling, not a secret
    INVALID_ANSWER = "INVALID_ANSWER"
    REFUSED_INVITATION = "REFUSED_INVITATION"
    UNREACHABLE = "UNREACHABLE"
    JOIN_TIMEOUT = "JOIN_TIMEOUT"
    CHOICE_TIMEOUT = "CHOICE_TIMEOUT"
    VOID = "VOID"


class Row(NamedTuple):
    """What a ruling means: the status of the match (None if it does not count), who decides, and a sentence."""

    status: ResultStatus | None
    ruled_by: Literal["game", "referee", "manager"]
    sentence: str


RULINGS: dict[Ruling, Row] = {
    Ruling.WIN: Row("WIN", "game", "{player} won"),
    Ruling.DRAW: Row("DRAW", "game", "nobody won"),
    Ruling.DISQUALIFICATION: Row("TECHNICAL_LOSS", "manager", "{player} was disqualified"),
    Ruling.WITHDRAWAL: Row("TECHNICAL_LOSS", "manager", "{player} was withdrawn from the league"),
    Ruling.WRONG_TOKEN: Row("TECHNICAL_LOSS", "referee", "{player} answered with a wrong token"),
    Ruling.INVALID_ANSWER: Row("TECHNICAL_LOSS", "referee", "{player} gave no valid answer"),
    Ruling.REFUSED_INVITATION: Row("TECHNICAL_LOSS", "referee", "{player} refused the invitation"),
    Ruling.UNREACHABLE: Row("TECHNICAL_LOSS", "referee", "{player} could not be reached"),
    Ruling.JOIN_TIMEOUT: Row("TECHNICAL_LOSS", "referee", "{player} did not answer the invitation in time"),
    Ruling.CHOICE_TIMEOUT: Row("TECHNICAL_LOSS", "referee", "{player} did not choose in time"),
    Ruling.VOID: Row(None, "referee", "the referee was itself too late to judge {player}"),
}


class Verdict(Struct, frozen=True, kw_only=True):
    """How a match ended. ``faults`` has the sides that lost technically, each with its ruling."""

    status: ResultStatus
    ruling: Ruling
    winner: Side | None
    faults: dict[Side, Ruling]
    score: dict[Side, int]
    reason: str
    drawn: int | None
    choices: dict[Side, str | None]
    # The steps of a match that was played to its end, and what A and B have won in it.
    record: Sequence[Moves] = ()
    payoffs: tuple[float, float] | None = None
    # Builds the evidence when it is first needed.
    make_evidence: Callable[[], dict[str, Any]]

    @property
    def evidence(self) -> dict[str, Any]:
        return self.make_evidence()


def verdict_by_play(
    outcome: Outcome,
    players: dict[Side, str],
    *,
    drawn: int | None,
    choices: dict[Side, str | None],
    make_evidence: Callable[[], dict[str, Any]],
    record: Sequence[Moves] = (),
) -> Verdict:
    """The verdict on a match that was played to its end."""
    return Verdict(
        status="DRAW" if outcome.winner is None else "WIN",
        ruling=Ruling.DRAW if outcome.winner is None else Ruling.WIN,
        winner=outcome.winner,
        faults={},
        score=score(outcome.winner, drawn_game=outcome.winner is None),
        # Not str.format: a game may quote a move that has braces of its own.
        reason=outcome.reason.replace("{A}", players["A"]).replace("{B}", players["B"]),
        make_evidence=make_evidence,
        drawn=drawn,
        choices=choices,
        record=record,
        payoffs=outcome.payoffs,
    )


def verdict_by_fault(
    faults: dict[Side, Ruling],
    players: dict[Side, str],
    *,
    choices: dict[Side, str | None],
    make_evidence: Callable[[], dict[str, Any]],
) -> Verdict:
    """The verdict on a match in which one side or both sides are at fault. If both are, nobody wins."""
    winner = None if len(faults) == 2 else other(next(iter(faults)))
    sentences = " and ".join(describe_ruling(faults[side], players[side]) for side in SIDES if side in faults)
    return Verdict(
        status="TECHNICAL_LOSS",
        ruling=min(faults.values(), key=list(Ruling).index),
        winner=winner,
        faults=faults,
        score=score(winner, drawn_game=False),
        reason=f"{sentences} - {'no winner' if winner is None else f'{players[winner]} wins by default'}",
        make_evidence=make_evidence,
        drawn=None,
        choices=choices,
    )


def describe_ruling(ruling: Ruling, player_id: str) -> str:
    """A ruling in a sentence, such as "P02 did not choose in time"."""
    return RULINGS[ruling].sentence.format(player=player_id)


def score(winner: Side | None, *, drawn_game: bool) -> dict[Side, int]:
    """3–0 for a winner, 1–1 for a draw, 0–0 when both are at fault."""
    if drawn_game:
        return dict.fromkeys(SIDES, DRAW_POINTS)
    return {side: WIN_POINTS if side == winner else LOSS_POINTS for side in SIDES}
