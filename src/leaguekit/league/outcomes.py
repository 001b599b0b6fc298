"""Checks a referee's result by the rules: the match is played again, and the draw is compared with its seed.

A check is not possible if the referee leaves out a field that it needs. That is reported, and is not an error: the
documents require less than our own referees report.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import UNSET

from leaguekit.games import GAMES
from leaguekit.games.base import Game, Side, has_chance
from leaguekit.games.records import record_from_choices, replay
from leaguekit.league.records import Match
from leaguekit.match.draw import match_seed, opens
from leaguekit.match.move_messages import promise
from leaguekit.match.rulings import RULINGS
from leaguekit.protocol.messages import MatchResult, ResultDetails

_RULING_ROWS = {ruling.value: row for ruling, row in RULINGS.items()}


class Discrepancy(NamedTuple):
    """A difference between what was expected and what was found."""

    expected: str
    found: str


class Judgement(NamedTuple):
    """The outcome of checking a result: errors, checks that were not possible, and checks that were made."""

    faults: list[Discrepancy]
    not_checkable: list[str]
    is_replayed: bool
    is_opened: bool
    is_derived: bool
    # The reasons in ``not_checkable`` that an operator should know.
    doubts: list[str]


class _NotCheckable(Exception):
    """The referee or the game does not give the information that a check needs."""


class _Doubtful(_NotCheckable):
    """The referee leaves out what every document requires, or does not use the league's seed."""


class _Wrong(Exception):
    """A check has failed."""

    def __init__(self, expected: str, found: str) -> None:
        super().__init__(expected)
        self.fault = Discrepancy(expected, found)


def judge(
    game_type: str, match: Match, attempt: int, result: MatchResult, seed: bytes | None, *, has_seed: bool = True
) -> Judgement:
    """Check a consistent result by the rules. ``seed`` is the league's seed, if it is known.

    Without ``has_seed`` the referee does not know the seed, and draws its own numbers as the documents say.
    """
    details = result.details
    faults = _ruling_faults(details)
    game = GAMES.get(game_type)
    if game is None:
        return Judgement(faults, [f"the game {game_type} is not known here"], False, False, False, [])
    promised = None if seed is None else promise(game, match_seed(seed, match.id, attempt))
    derived = promised if isinstance(promised, int) else None
    not_checkable: list[str] = []
    doubts: list[str] = []
    done: list[bool] = []
    checks: tuple[Callable[[], bool], ...] = (
        lambda: _check_outcome(game, match, result),
        lambda: _check_opening(game, details, derived),
        lambda: _check_derivation(game, details, derived, has_seed=has_seed),
    )
    for check in checks:
        try:
            done.append(check())
        except _Wrong as wrong:
            faults.append(wrong.fault)
            done.append(True)
        except _NotCheckable as reason:
            not_checkable.append(str(reason))
            doubts += [str(reason)] * isinstance(reason, _Doubtful)
            done.append(False)
    is_replayed, is_opened, is_derived = done
    return Judgement(faults, not_checkable, is_replayed, is_opened, is_derived, doubts)


def _check_outcome(game: Game[Any], match: Match, result: MatchResult) -> bool:
    """Play the match again. Return whether there was anything to play."""
    details = result.details
    if details.status == "TECHNICAL_LOSS":
        return False
    choices: dict[Side, str | None] = {"A": details.choices.get(match.a), "B": details.choices.get(match.b)}
    number = details.drawn_number or None
    if None in choices.values():
        raise _Doubtful("the referee did not tell what was chosen")
    if number is None and has_chance(game):
        raise _Doubtful("the referee did not tell what was drawn")
    try:
        outcome = replay(game, record_from_choices(game, number, choices))
    except ValueError as error:
        why = str(error).replace("{A}", match.a).replace("{B}", match.b)
        raise _Wrong(f"choices that {game.name} allows", f"{_describe_play(details)} ({why})") from None
    by_side: dict[Side | None, str | None] = {"A": match.a, "B": match.b, None: None}
    winner = by_side[outcome.winner]
    if winner != result.winner:
        raise _Wrong(f"{_describe_winner(winner)}, by {_describe_play(details)}", _describe_winner(result.winner))
    return True


def _check_opening(game: Game[Any], details: ResultDetails, derived: int | None) -> bool:
    """Open the commitment to the draw. Return whether there was one."""
    if not has_chance(game):
        return False
    if details.draw_commitment is UNSET:
        raise _NotCheckable("the referee did not commit to its draw")
    if details.draw_nonce is UNSET:
        raise _Wrong("the nonce that opens the draw's commitment", "none")
    number = details.drawn_number or derived
    if number is None:
        raise _NotCheckable("nothing was drawn, and the league's seed is not known")
    if not opens(details.draw_commitment, details.draw_nonce, number):
        raise _Wrong(
            f"the commitment to {number} under its nonce {details.draw_nonce}",
            f"the commitment {details.draw_commitment}",
        )
    return True


def _check_derivation(game: Game[Any], details: ResultDetails, derived: int | None, *, has_seed: bool) -> bool:
    """Compare the draw with the draw from the league's seed. Return whether there was a draw."""
    number = details.drawn_number or None
    if number is None or not has_chance(game):
        return False
    if not has_seed:
        raise _NotCheckable("the referee does not know the league's seed")
    if derived is None:
        raise _NotCheckable("the league's seed is not known")
    if derived != number:
        if details.draw_commitment is UNSET:
            raise _Doubtful("the referee drew a number of its own")
        raise _Wrong(f"the number {derived}, drawn from the league's seed", f"the number {number}")
    return True


def _ruling_faults(details: ResultDetails) -> list[Discrepancy]:
    # Only our own referees use the rulings of the list.
    row = _RULING_ROWS.get(details.ruling or "")
    if row is None or (row.status == details.status and row.ruled_by != "manager"):
        return []
    return [Discrepancy(f"a referee's ruling of {details.status}", f"the ruling {details.ruling}")]


def _describe_winner(winner: str | None) -> str:
    return "a draw" if winner is None else f"a win of {winner}"


def _describe_play(details: ResultDetails) -> str:
    chosen = " and ".join(f"{player}'s {choice}" for player, choice in details.choices.items())
    return chosen if not details.drawn_number else f"{chosen} and the number {details.drawn_number}"
