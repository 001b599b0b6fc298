"""The match cache: the machine plays each sequence of moves once, and the result is the same for every player."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from leaguekit.games import GAMES
from leaguekit.games.base import CHANCE, SIDES, Game, Outcome, Question
from leaguekit.match.signals import Ask, Finish, Joined, Limits, Moved, Seat
from leaguekit.sim.comparison.match_cache import ENTRY_BYTES, MatchCache, Turn, Unlisted
from tests.chance import RollingMatch

# A turn with its options and its view takes at most this much.
SIZE = ENTRY_BYTES + 100


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

    def move_error(self, position, side, move):
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
    cache = MatchCache(game, max_bytes=2 * SIZE)
    for _ in range(3):
        assert cache.play(b"", choose_indexes(0, 0)).winner is None
    assert game.started == 1
    for _ in range(3):
        assert cache.play(b"", choose_indexes(1, 0)).winner == "A"
    assert game.started == 4


class LongViews(TwoFieldGame):
    """The same game with a view of ten thousand characters."""

    def question(self, position, side):
        return Question("name", [[1, 1], [2, 2]], {"named": list(position), "told": "x" * 10_000})


def test_long_views_take_the_room_of_many_short_ones() -> None:
    short, long = TwoFieldGame(), LongViews()
    for game in (short, long):
        cache = MatchCache(game, max_bytes=8 * SIZE)
        for _ in range(3):
            for a, b in [(0, 0), (0, 1), (1, 0), (1, 1)]:
                cache.play(b"", choose_indexes(a, b))
    # There is room for all courses; or for none of them.
    assert (short.started, long.started) == (4, 12)


def test_a_legal_move_that_is_not_listed_is_played_and_cached() -> None:
    game = TwoFieldGame()
    cache = MatchCache(game)
    for _ in range(3):
        moves = iter([Unlisted([3, 3]), 1])
        assert cache.play(b"", lambda _turn, moves=moves: next(moves)).reason == "{A} named [3, 3], {B} named [2, 2]"
    assert game.started == 1


class Texts(TwoFieldGame):
    """Chance gives a number or the same number as a text, and that decides."""

    def to_move(self, position):
        return () if position else CHANCE

    def odds(self, position):
        return [(1, 1), ("1", 1), ([1], 1)]

    def outcome(self, position):
        return Outcome(None, f"it was {position[0]!r}") if position else None


def test_what_chance_gives_is_not_taken_for_another_value_with_the_same_text() -> None:
    game = Texts()
    cache = MatchCache(game)
    seeds = [b"%d" % number for number in range(20)]
    reasons = [cache.play(seed, choose_indexes()).reason for seed in seeds * 2]
    assert reasons == [f"it was {game.roll((), seed, 0)!r}" for seed in seeds * 2]
    assert set(reasons) == {"it was 1", "it was '1'", "it was [1]"}


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
    cache = MatchCache(game, max_bytes=200 * SIZE)
    for number in range(100):
        drawn = game.roll(game.start(), b"%d" % number, 0) if game.to_move(game.start()) == CHANCE else None
        verdict, indexes = play_without_cache(game, drawn, rng)
        again = cache.play(b"%d" % number, choose_indexes(*indexes))
        assert replace(again, make_evidence=dict) == replace(verdict, record=(), make_evidence=dict)
