"""Courses: the machine plays each once, and what it said is the same for everybody who comes the same way."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, Game, Outcome, Question
from leaguekit.match.machine import Match
from leaguekit.match.signals import Ask, Finish, Joined, Limits, Moved, Seat
from leaguekit.sim.match_cache import Courses, Turn


class Fields(Game[tuple[Any, ...]]):
    """One side after the other names a field, a list of two numbers; who names the larger one wins."""

    name = "fields"
    max_turns = 2

    def __init__(self) -> None:
        self.started = 0

    def start(self, drawn):
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

    def choices(self, position):
        return dict(zip(SIDES, [*map(str, position), None, None], strict=False))


class Grumpy(Fields):
    """Offers what it then refuses."""

    def fault(self, position, side, move):
        return "Never"


def of_places(*places: int):
    """Chooses those places, one after the other."""
    rest = iter(places)
    return lambda _turn: next(rest)


def test_every_course_is_played_by_the_machine_once() -> None:
    game = Fields()
    courses = Courses(game)
    verdicts = [courses.play(None, of_places(a, b)) for a in (0, 1) for b in (0, 1) for _ in range(3)]
    assert [verdict.winner for verdict in verdicts] == [None] * 3 + ["B"] * 3 + ["A"] * 3 + [None] * 3
    # The first is played to its end; the others leave a known course at some turn and are played from there.
    assert game.started == 4


def test_what_is_beyond_the_limit_is_played_every_time() -> None:
    game = Fields()
    courses = Courses(game, max_remembered=2)
    for _ in range(3):
        assert courses.play(None, of_places(0, 0)).winner is None
    assert game.started == 1
    for _ in range(3):
        assert courses.play(None, of_places(1, 0)).winner == "A"
    assert game.started == 4


def test_verdicts_leave_open_who_plays() -> None:
    assert Courses(Fields()).play(None, of_places(1, 0)).reason == "{A} named [2, 2], {B} named [1, 1]"


def test_options_and_views_are_everybodys_own() -> None:
    courses = Courses(Fields())

    def spoil(turn: Turn) -> int:
        options, view = turn.own_options(), turn.own_view()
        assert options == [[1, 1], [2, 2]]
        assert view == {"named": [[2, 2]] if turn.side == "B" else []}
        options[1].clear()
        view["named"].append("nonsense")
        return 1

    assert [courses.play(None, spoil).winner for _ in range(3)] == [None] * 3


def test_a_game_that_refuses_its_own_options_is_named() -> None:
    with pytest.raises(RuntimeError, match="fields refuses a move that it has offered"):
        Courses(Grumpy()).play(None, lambda _turn: 0)


def played_by_hand(game: Game[Any], drawn: int | None, chance: Random):
    """A match by the machine itself: its verdict, and the places of the options chosen."""
    match = Match(game, "R1M1", {"A": Seat("{A}"), "B": Seat("{B}")}, Limits(), drawn)
    effects, places = match.start(0.0), []
    while not isinstance(effects[0], Finish):
        effect = effects.pop(0)
        if isinstance(effect, Ask) and effect.question is None:
            effects += match.handle(Joined(effect.side, effect.ask), 0.0)
        elif isinstance(effect, Ask):
            options = effect.question.valid_options
            places.append(chance.randrange(len(options)))
            effects += match.handle(Moved(effect.side, effect.ask, options[places[-1]]), 0.0)
    return effects[0].verdict, places


@pytest.mark.parametrize("name", GAMES)
def test_a_course_is_what_the_machine_says_to_the_last_word(name: str) -> None:
    game, chance = GAMES[name], Random(7)
    courses = Courses(game, max_remembered=200)
    for number in range(100):
        drawn = game.draw(b"%d" % number)
        verdict, places = played_by_hand(game, drawn, chance)
        again = courses.play(drawn, of_places(*places))
        assert again == verdict
        assert again.evidence == verdict.evidence
