"""Tests for authors of formats: ``check_format(MyFormat())`` plays many tournaments and reports a broken rule."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from leaguekit.formats.base import (
    DRAW,
    LOSS,
    WIN,
    Ended,
    Format,
    GameResult,
    NextRound,
    Pair,
    PairingEngine,
    PastRound,
    Tournament,
)

MAX_ROUNDS = 1_000


def check_format(
    made: Format,
    sizes: Iterable[int] = range(2, 18),
    *,
    seeds: Iterable[int] = range(3),
    engine: PairingEngine | None = None,
    withdrawals: bool = True,
) -> None:
    """Play a tournament of each size and seed, with forfeits and withdrawals. Raises AssertionError."""
    for size in sizes:
        if made.player_count_error(size) is None:
            for seed in seeds:
                play_tournament(made, size, seed, engine=engine, withdrawals=withdrawals)


def play_tournament(
    made: Format, size: int, seed: int, *, engine: PairingEngine | None = None, withdrawals: bool = True
) -> tuple[Tournament, Ended, list[NextRound]]:
    """Play one tournament with random results, and check every round. Returns what was drawn."""
    entrants = tuple(f"P{number:02}" for number in range(1, size + 1))
    tournament = Tournament(entrants, (), sha256(b"%d" % seed).digest())
    where = f"{made} with {size} players and seed {seed}"
    whole = made.full_schedule(entrants)
    drawn: list[NextRound] = []
    while (ended := made.ended(tournament)) is None:
        number = len(tournament.rounds) + 1
        _require(number <= MAX_ROUNDS, f"{where} does not end")
        one, again = made.pair_next_round(tournament, engine), made.pair_next_round(tournament, engine)
        _require(one == again, f"{where}: two draws of round {number} differ: {one} and {again}")
        check_round(one, tournament, f"{where}: round {number}")
        if whole is not None:
            _require(one.pairs == whole[number - 1], f"{where}: round {number} is not that of the schedule")
        drawn.append(one)
        games = tuple(_game(pair, f"{seed}:{number}", tournament.out) for pair in one.pairs)
        past = PastRound(games, dict.fromkeys(one.byes, "bye"), one.label)
        out = tournament.out
        if withdrawals and _hash(f"{seed}:{number}:leaves") % 3 == 0:
            out |= {entrants[_hash(f"{seed}:{number}:who") % size]}
        tournament = tournament._replace(rounds=(*tournament.rounds, past), out=out)
    _require(bool(tournament.rounds) or len(tournament.active()) < 2, f"{where} ends before its first round")
    _require(
        not ended.ranking or sorted(ended.ranking) == sorted(entrants), f"{where}: its ranking is not of all players"
    )
    _require(bool(ended.reason), f"{where} ends without a reason")
    return tournament, ended, drawn


def check_round(drawn: NextRound, tournament: Tournament, where: str) -> None:
    """Everybody plays at most once, nobody is unknown, and the ranking is of all players."""
    playing = [player for pair in drawn.pairs for player in pair] + drawn.byes
    _require(bool(drawn.pairs), f"{where} has no pair")
    _require(len(playing) == len(set(playing)), f"{where} has a player twice: {playing}")
    _require(set(playing) <= set(tournament.entrants), f"{where} has an unknown player: {playing}")
    ranking = drawn.ranking
    _require(
        not ranking or sorted(ranking) == sorted(tournament.entrants), f"{where}: its ranking is not of all players"
    )


def _require(holds: bool, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def _hash(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:8], "big")


def _game(pair: Pair, text: str, out: frozenset[str]) -> GameResult:
    """A random result. A player that has left forfeits."""
    a, b = pair
    if gone := [player for player in pair if player in out]:
        points = (LOSS, LOSS) if len(gone) == 2 else (LOSS, WIN) if a in out else (WIN, LOSS)
        return GameResult(a, b, points, forfeit=True)
    number = _hash(f"{text}:{a}:{b}") % 40
    if number < 3:
        return GameResult(a, b, ((WIN, LOSS), (LOSS, WIN), (LOSS, LOSS))[number], forfeit=True)
    return GameResult(a, b, ((WIN, LOSS), (LOSS, WIN), (DRAW, DRAW))[number % 3])
