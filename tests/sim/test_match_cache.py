"""The match cache: the machine plays each sequence of moves once, and the result is the same for every player."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from leaguekit.games import GAMES
from leaguekit.games.base import CHANCE, SIDES, Game, Outcome, Question
from leaguekit.match.signals import Ask, Finish, Joined, Limits, Moved, Seat
from leaguekit.sim.match_cache import MatchCache, Turn
from tests.chance import RollingMatch


class TwoFieldGame(Game[tuple[Any, ...]]):
    """One side after the other names a field, a list of two numbers. The side that names the larger field wins."""

    name = "fields"
    max_turns = 2

    def __init__(self) -> None:
        self.started = 0

    def start(self):
        self.started += 1
        return ()

    def to_move(self, position):
        return SIDES[len(position) : len(position) + 1]

    def question(self, position, side):
        return Question("name", [[1, 1], [2, 2]], {"named": list(position)})

    def fault(self, position, side, move):
        return None if move in ([1, 1], [2, 2]) else "No such field"

    def play(self, position, moves):
        return (*position, *moves.values())

    def outcome(self, position):
        if len(position) < 2:
            return None
        a, b = position
        return Outcome(None if a == b else "A" if a > b else "B", f"{{A}} named {a}, {{B}} named {b}")

    def view(self, position, side):
        return {"named": list(position)}


def choose_indexes(*indexes: int):
    """A player that chooses these options, one after the other."""
    rest = iter(indexes)
    return lambda _turn: next(rest)


def test_every_course_is_played_by_the_machine_once() -> None:
    game = TwoFieldGame()
    cache = MatchCache(game)
    verdicts = [cache.play(b"", choose_indexes(a, b)) for a in (0, 1) for b in (0, 1) for _ in range(3)]
    assert [verdict.winner for verdict in verdicts] == [None] * 3 + ["B"] * 3 + ["A"] * 3 + [None] * 3
    # The first is played to its end; the others leave a known course at some turn and are played from there.
    assert game.started == 4


def test_what_is_beyond_the_limit_is_played_every_time() -> None:
    game = TwoFieldGame()
    cache = MatchCache(game, max_entries=2)
    for _ in range(3):
        assert cache.play(b"", choose_indexes(0, 0)).winner is None
    assert game.started == 1
    for _ in range(3):
        assert cache.play(b"", choose_indexes(1, 0)).winner == "A"
    assert game.started == 4


def test_verdicts_leave_open_who_plays() -> None:
    assert MatchCache(TwoFieldGame()).play(b"", choose_indexes(1, 0)).reason == "{A} named [2, 2], {B} named [1, 1]"


def test_options_and_views_are_everybodys_own() -> None:
    cache = MatchCache(TwoFieldGame())

    def spoil(turn: Turn) -> int:
        options, view = turn.copy_options(), turn.copy_view()
        assert options == [[1, 1], [2, 2]]
        assert view == {"named": [[2, 2]] if turn.side == "B" else []}
        options[1].clear()
        view["named"].append("nonsense")
        return 1

    assert [cache.play(b"", spoil).winner for _ in range(3)] == [None] * 3


def play_without_cache(game: Game[Any], drawn: int | None, rng: Random):
    """A match by the machine itself: its verdict, and the places of the options chosen."""
    match = RollingMatch(game, "R1M1", {"A": Seat("{A}"), "B": Seat("{B}")}, Limits(), given=drawn)
    effects, indexes = match.start(0.0), []
    while not isinstance(effects[0], Finish):
        effect = effects.pop(0)
        if isinstance(effect, Ask) and effect.question is None:
            effects += match.handle(Joined(effect.side, effect.ask), 0.0)
        elif isinstance(effect, Ask):
            options = effect.question.valid_options
            indexes.append(rng.randrange(len(options)))
            effects += match.handle(Moved(effect.side, effect.ask, options[indexes[-1]]), 0.0)
    return effects[0].verdict, indexes


@pytest.mark.parametrize("name", GAMES)
def test_a_course_is_what_the_machine_says_to_the_last_word(name: str) -> None:
    game, rng = GAMES[name], Random(7)
    cache = MatchCache(game, max_entries=200)
    for number in range(100):
        drawn = game.roll(game.start(), b"%d" % number, 0) if game.to_move(game.start()) == CHANCE else None
        verdict, indexes = play_without_cache(game, drawn, rng)
        again = cache.play(b"%d" % number, choose_indexes(*indexes))
        assert replace(again, make_evidence=dict) == replace(verdict, record=(), make_evidence=dict)
