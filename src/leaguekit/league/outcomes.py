"""Checks a referee's result by the rules: the match is played again, and the draw is compared with its seed.

A check is not possible if the referee leaves out a field that it needs. That is reported, and is not an error: the
documents require less than our own referees report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple, cast

from msgspec import UNSET, json

from leaguekit.games import find_game
from leaguekit.games.base import Game, Moves, Side, has_chance, is_same
from leaguekit.games.records import UnknownChance, awaited, move_text, positions, steps_from_choices
from leaguekit.league.records import Match
from leaguekit.league.settings import Settings
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


class _Played(NamedTuple):
    """A match that was played again: its steps, the first position and the one after each legal step, and what failed.

    By its choices, the record has only the legal steps.
    """

    record: Sequence[Moves]
    positions: list[Any]
    error: ValueError | None = None


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
    settings: Settings,
    match: Match,
    attempt: int,
    result: MatchResult,
    seed: bytes | None,
    *,
    has_seed: bool = True,
    posted: Sequence[Moves] | None = None,
) -> Judgement:
    """Check a consistent result by the rules. ``seed`` is the league's seed, if it is known.

    Without ``has_seed`` the referee does not know the seed, and draws its own numbers as the documents say. ``posted``
    is the record that was posted before the report, if it was too long for the report.
    """
    details = result.details
    faults = _ruling_faults(details)
    game = find_game(settings.game_type, settings.game_args or None)
    if game is None:
        why = f"the game {settings.game_name} is not known here; install its package, or give --game FILE.py:CLASS"
        return Judgement(faults, [why], False, False, False, [])
    own_seed = None if seed is None else match_seed(seed, match.id, attempt)
    played = _play_again(game, match, details, posted)
    not_checkable: list[str] = []
    doubts: list[str] = []
    done: list[bool] = []
    checks: list[Callable[[], bool]] = [lambda: _check_outcome(game, match, result, played, posted)]
    if has_chance(game):
        checks.append(lambda: _check_opening(game, details, own_seed))
        checks.append(lambda: _check_derivation(game, details, own_seed, played, has_seed=has_seed))
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
    is_replayed, is_opened, is_derived = done if has_chance(game) else (*done, False, False)
    return Judgement(faults, not_checkable, is_replayed, is_opened, is_derived, doubts)


def record_name(match_id: str, attempt: int) -> str:
    """The name under which the record of a long match is kept beside the log."""
    return f"record/{match_id}/{attempt}"


def read_record(kept: bytes | None, details: ResultDetails) -> list[Moves] | None:
    """The kept record of a match; None if there is none, or if it is not the one of the report."""
    if kept is None or sha256(kept).hexdigest() != details.record_sha256:
        return None
    return json.decode(kept, type=list[Moves])


def _play_again(game: Game[Any], match: Match, details: ResultDetails, posted: Sequence[Moves] | None) -> _Played:
    """Play a match again: by the record that was posted, by that of its report, or by its choices."""
    given = posted
    if given is None and details.record is not UNSET:
        # A step with other keys is not legal, and playing it again says so.
        given = cast("list[Moves]", details.record)
    record, places = list[Moves](given or ()), [game.start()]
    try:
        if given is not None:
            places += islice(positions(game, record), 1, None)
        else:
            choices: dict[Side, str | None] = {"A": details.choices.get(match.a), "B": details.choices.get(match.b)}
            for moves, position in steps_from_choices(game, details.drawn_number or None, choices):
                record.append(moves)
                places.append(position)
    except ValueError as error:
        return _Played(record, places, error)
    return _Played(record, places)


def _check_outcome(
    game: Game[Any], match: Match, result: MatchResult, played: _Played, posted: Sequence[Moves] | None
) -> bool:
    """Compare the result with that of the match that was played again. Return whether there was anything to play."""
    details = result.details
    if details.status == "TECHNICAL_LOSS":
        return False
    if details.record_sha256 is not UNSET and posted is None:
        raise _Doubtful("the record of the match is missing")
    has_record = posted is not None or details.record is not UNSET
    if not has_record and None in (details.choices.get(match.a), details.choices.get(match.b)):
        raise _Doubtful("the referee did not report what was chosen")
    if isinstance(played.error, UnknownChance):
        raise _Doubtful("the referee did not report what was drawn")
    outcome = None if played.error else game.outcome(played.positions[-1])
    if outcome is None:
        why = str(played.error or f"{awaited(game, played.positions[-1])} has not chosen")
        why = why.replace("{A}", match.a).replace("{B}", match.b)
        raise _Wrong(f"choices that {game.name} allows", f"{_describe_play(details)} ({why})")
    by_side: dict[Side | None, str | None] = {"A": match.a, "B": match.b, None: None}
    winner = by_side[outcome.winner]
    if winner != result.winner:
        raise _Wrong(f"{_describe_winner(winner)}, by {_describe_play(details)}", _describe_winner(result.winner))
    payoffs = None if outcome.payoffs is None else dict(zip(match.players, outcome.payoffs, strict=True))
    if (details.payoffs or None) != payoffs:
        raise _Wrong(f"the payoffs {payoffs}", f"the payoffs {details.payoffs or None}")
    return True


def _check_opening(game: Game[Any], details: ResultDetails, own_seed: bytes | None) -> bool:
    """Open the commitment to what chance gives. Return whether there was one."""
    if details.draw_commitment is UNSET:
        raise _NotCheckable("the referee did not commit to its draw")
    if details.draw_nonce is UNSET:
        raise _Wrong("the nonce that opens the draw's commitment", "none")
    revealed: int | str | None = details.match_seed or details.drawn_number or None
    if revealed is None and own_seed is not None:
        revealed = promise(game, own_seed)
    if revealed is None:
        raise _NotCheckable("nothing was drawn, and the league's seed is not known")
    if not opens(details.draw_commitment, details.draw_nonce, revealed):
        raise _Wrong(
            f"the commitment to {revealed} under its nonce {details.draw_nonce}",
            f"the commitment {details.draw_commitment}",
        )
    return True


def _check_derivation(
    game: Game[Any], details: ResultDetails, own_seed: bytes | None, played: _Played, *, has_seed: bool
) -> bool:
    """Compare what chance gave with what follows from the league's seed. Return whether it gave anything."""
    if not played.record:
        return False
    if not has_seed:
        raise _NotCheckable("the referee does not know the league's seed")
    if own_seed is None:
        raise _NotCheckable("the league's seed is not known")
    if details.match_seed and details.match_seed != own_seed.hex():
        raise _Wrong(f"the seed {own_seed.hex()} of the match", f"the seed {details.match_seed}")
    # A step that is not legal has no position after it.
    for step, (position, moves) in enumerate(zip(played.positions, played.record, strict=False)):
        if "chance" not in moves:
            continue
        rolled = game.roll(position, own_seed, step)
        if not is_same(rolled, moves["chance"]):
            if details.draw_commitment is UNSET:
                raise _Doubtful("the referee drew a number of its own")
            drawn = "the number " * (step == 0 and bool(details.drawn_number))
            raise _Wrong(
                f"{drawn}{move_text(rolled)}, drawn from the league's seed",
                f"{drawn}{move_text(moves['chance'])}",
            )
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
