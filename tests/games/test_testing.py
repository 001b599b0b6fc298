"""The kit for authors of games: it passes sound games, and names the rule that a broken one breaks."""

from __future__ import annotations

import re
import reprlib
from typing import Any, NamedTuple

import pytest

from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, Game, Outcome, Question
from leaguekit.games.even_odd import EvenOdd
from leaguekit.games.rock_paper_scissors import Position as Thrown
from leaguekit.games.rock_paper_scissors import RockPaperScissors
from leaguekit.games.testing import check_game, hashed_choice
from leaguekit.games.tic_tac_toe import Position as Marked
from leaguekit.games.tic_tac_toe import TicTacToe


class Guessed(NamedTuple):
    number: int
    guesses: tuple[int, ...] = ()


class Guess(Game[Guessed]):
    """The sides guess the number in turn; each guess was wrong as long as it goes on, and its end depends on it."""

    name = "guess"

    max_turns = 10

    def start(self):
        return Guessed(0)

    def odds(self, position):
        return [(number, number) for number in range(1, 11)]

    def to_move(self, position):
        if not position.number:
            return ("chance",)
        return () if position.number in position.guesses else (SIDES[len(position.guesses) % 2],)

    def question(self, position, side):
        left = [[number] for number in range(1, 11) if number not in position.guesses]
        return Question("guess", left, self.view(position, side))

    def move_error(self, position, side, move):
        if side not in self.to_move(position):
            return "Not now"
        return None if move in self.question(position, side).valid_options else "No such guess"

    def play(self, position, moves):
        if "chance" in moves:
            return Guessed(moves["chance"])
        return position._replace(guesses=(*position.guesses, *(number for move in moves.values() for number in move)))

    def outcome(self, position):
        if self.to_move(position):
            return None
        return Outcome(SIDES[1 - len(position.guesses) % 2], "Guessed by {A} or {B}")

    def view(self, position, side):
        return {"guesses": [*position.guesses], "nested": {"share": 0.5}}


@pytest.mark.proves("003-L0010", "003-L0012")
@pytest.mark.parametrize("name", GAMES)
def test_the_games_of_the_package_keep_every_rule(name):
    check_game(GAMES[name], seeds=range(100 if GAMES[name].max_turns < 10 else 3))


def test_a_game_whose_end_depends_on_the_number_keeps_every_rule():
    check_game(Guess())


def test_the_moves_are_those_of_the_chooser_that_is_passed_in():
    asked = []

    def first(text, options):
        asked.append((text, options))
        return options[0]

    check_game(TicTacToe(), seeds=[3], choose=first)
    # 0, 1, 2, 3, 4, 5 and 6: X has the diagonal 2, 4, 6.
    assert [text for text, _ in asked] == ["3 0 A", "3 1 B", "3 2 A", "3 3 B", "3 4 A", "3 5 B", "3 6 A"]
    assert asked[-1][1] == [6, 7, 8]


def test_the_hashed_choice_is_always_the_same_and_reaches_every_option():
    picked = [hashed_choice(f"{seed}", ["a", "b", "c"]) for seed in range(50)]
    assert picked == [hashed_choice(f"{seed}", ["a", "b", "c"]) for seed in range(50)]
    assert set(picked) == {"a", "b", "c"}


def broken(sound: type[Game[Any]], **changes: Any) -> Game[Any]:
    """A sound game with some of its parts replaced."""
    return type("Broken", (sound,), changes)()


def at_the_end(method: str, value: Any) -> Any:
    """A method that tells this value, but only once the game is over."""

    def changed(self, position, *rest):
        sound = super(type(self), self)
        return value if not sound.to_move(position) else getattr(sound, method)(position, *rest)

    return changed


def asking(**changes: Any) -> Any:
    """A question with some of its parts replaced."""
    return lambda self, position, side: super(type(self), self).question(position, side)._replace(**changes)


class Remembers(RockPaperScissors):
    """Shows one side what the other one has just answered."""

    last: Any = None

    def move_error(self, position, side, move):
        self.last = reprlib.repr(move)
        return super().move_error(position, side, move)

    def view(self, position, side):
        return super().view(position, side) | {"last": self.last}


class Moody(EvenOdd):
    """Every other game is played with another number than the one drawn."""

    games = 0

    def play(self, position, moves):
        if "chance" in moves:
            self.games += 1
            moves = {"chance": moves["chance"] if self.games % 5 else 11 - moves["chance"]}
        return super().play(position, moves)


class Rerolls(EvenOdd):
    rolls = 0

    def roll(self, position, seed, step):
        self.rolls += 1
        return self.rolls % 10 + 1


class OnOneBoard(Game[list]):
    """The position is a list that every move is added to."""

    name = "on_one_board"
    max_turns = 9

    def start(self):
        return []

    def to_move(self, position):
        return TicTacToe().to_move(Marked(tuple(position)))

    def question(self, position, side):
        return TicTacToe().question(Marked(tuple(position)), side)

    def move_error(self, position, side, move):
        return TicTacToe().move_error(Marked(tuple(position)), side, move)

    def play(self, position, moves):
        position.extend(moves.values())
        return position

    def outcome(self, position):
        return TicTacToe().outcome(Marked(tuple(position)))

    def view(self, position, side):
        return TicTacToe().view(Marked(tuple(position)), side)


class HandsOutItsOwn(OnOneBoard):
    """Makes new positions, but its views are the positions themselves."""

    def play(self, position, moves):
        return [*position, *moves.values()]

    def view(self, position, side):
        return super().view(position, side) | {"history": {"cells": position}}


class Endless(RockPaperScissors):
    """The position is how often both have thrown."""

    picture = Game.picture

    def start(self):
        return 0

    def to_move(self, position):
        return SIDES

    def move_error(self, position, side, move):
        return super().move_error(Thrown(), side, move)

    def play(self, position, moves):
        return position + 1

    def outcome(self, position):
        return None

    def view(self, position, side):
        return {"throws": position}


def first_come(self, position, moves):
    first, second = moves.values()
    return Thrown(first, second)


def raises(self, position, side, move):
    return None if move in {"rock", "paper", "scissors"} and self.to_move(position) else "No such throw"


def too_deep(self, position, side, move):
    return RockPaperScissors.move_error(self, position, side, move) and f"No such throw: {list(walked(move))}"


def walked(value):
    yield type(value)
    for inner in value if isinstance(value, list) else ():
        yield from walked(inner)


def lenient(*also):
    """A move_error that lets these moves pass too."""

    def move_error(self, position, side, move):
        sound = super(type(self), self).move_error(position, side, move)
        return None if any(type(move) is type(one) and move == one for one in also) else sound

    return move_error


def whoever(self, position, side, move):
    sides = self.to_move(position)
    return super(type(self), self).move_error(position, sides[0], move) if sides else "The game is over"


def never_over(self, position, side, move):
    return super(type(self), self).move_error(Thrown(), side, move)


def equal_is_enough(self, position, side, move):
    return None if side in self.to_move(position) and move in position.free() else "Not now"


TELLING = "must not depend on what A does not see"
ROLL = lambda odds: lambda self, position: odds  # noqa: E731
BROKEN = {
    "name missing": (
        type("Nameless", (OnOneBoard,), {"name": None})(),
        "name must be up to 50 lower-case letters, digits and underscores, got None",
    ),
    "name with a space": (broken(EvenOdd, name="even odd"), "name must be up to 50 lower-case letters"),
    "name too long": (broken(EvenOdd, name="e" * 51), "name must be up to 50 lower-case letters"),
    "flag": (broken(EvenOdd, luck=None), "luck must be a sentence, or empty"),
    "payoffs upside down": (broken(EvenOdd, payoff_range=(1, -1)), "payoff_range must be None, or the lowest and the"),
    "payoffs a list": (broken(EvenOdd, payoff_range=[0, 1]), "payoff_range must be None, or the lowest and the"),
    "no payoffs": (broken(EvenOdd, payoff_range=(0, 1)), "a game with a payoff_range must give payoffs at its end"),
    "payoffs out of range": (
        broken(
            RockPaperScissors, payoff_range=(0, 1), outcome=at_the_end("outcome", Outcome("A", "It won", (1.0, -1.0)))
        ),
        "payoffs must be two numbers within payoff_range, got (1.0, -1.0)",
    ),
    "payoffs without end": (
        broken(RockPaperScissors, outcome=at_the_end("outcome", Outcome("A", "It won", (float("inf"), 0)))),
        "payoffs must be two numbers within payoff_range, got (inf, 0)",
    ),
    "rolls 11": (broken(EvenOdd, roll=lambda *_: 11), "what chance gives must be one of its odds, got 11"),
    "rolls true": (broken(EvenOdd, roll=lambda *_: True), "what chance gives must be one of its odds, got True"),
    "rolls a set": (broken(EvenOdd, roll=lambda *_: {1}), "what chance gives must be plain JSON, got {1}"),
    "rolls anew": (Rerolls(), "roll must give the same for the same seed and step"),
    "no odds": (broken(Guess, odds=ROLL([])), "odds must be outcomes with weights, which are whole numbers from 1"),
    "odds of nothing": (broken(Guess, odds=ROLL([(1, 0), (2, 1)])), "odds must be outcomes with weights, which"),
    "odds as fractions": (broken(Guess, odds=ROLL([(1, 0.5), (2, 0.5)])), "odds must be outcomes with weights, which"),
    "odds of tuples": (broken(Guess, odds=ROLL([((1, 2), 1)])), "outcomes of chance must be plain JSON, each one once"),
    "odds twice": (broken(Guess, odds=ROLL([(1, 1), (1, 2)])), "outcomes of chance must be plain JSON, each one once"),
    "neither odds nor roll": (
        broken(RockPaperScissors, to_move=lambda self, position: ("chance",)),
        "a game in which chance moves must have odds, or a roll of its own",
    ),
    "to_move a list": (
        broken(RockPaperScissors, to_move=lambda self, position: ["A", "B"]),
        "to_move must be (), ('A',), ('B',), ('A', 'B') or ('chance',), got ['A', 'B']",
    ),
    "to_move a stranger": (broken(RockPaperScissors, to_move=lambda self, position: ("C",)), "to_move must be ()"),
    "to_move twice": (broken(RockPaperScissors, to_move=lambda self, position: ("A", "A")), "to_move must be ()"),
    "outcome too early": (
        broken(RockPaperScissors, outcome=lambda self, position: Outcome(None, "A draw")),
        "there must be no outcome while somebody is to move",
    ),
    "no outcome": (
        broken(RockPaperScissors, outcome=lambda self, position: None),
        "there must be an outcome when nobody is to move",
    ),
    "outcome a word": (
        broken(RockPaperScissors, outcome=at_the_end("outcome", "A wins")),
        "outcome must be None or an Outcome, got 'A wins'",
    ),
    "winner a stranger": (
        broken(RockPaperScissors, outcome=at_the_end("outcome", Outcome("P01", "Better"))),
        "the winner must be 'A', 'B' or None, got 'P01'",
    ),
    "no reason": (
        broken(RockPaperScissors, outcome=at_the_end("outcome", Outcome("A", " "))),
        "an outcome must have a reason in words",
    ),
    "reason with other names": (
        broken(RockPaperScissors, outcome=at_the_end("outcome", Outcome("A", "{winner} was better"))),
        "a reason must have no braces but {A} and {B}",
    ),
    "view a tuple": (
        broken(RockPaperScissors, view=lambda self, position, side: {"cells": (1, 2)}),
        "a view must be plain JSON, got {'cells': (1, 2)}",
    ),
    "view with numbers as keys": (
        broken(RockPaperScissors, view=lambda self, position, side: {"cells": [{1: "X"}]}),
        "a view must be plain JSON",
    ),
    "view with infinity": (
        broken(RockPaperScissors, view=lambda self, position, side: {"value": float("inf")}),
        "a view must be plain JSON",
    ),
    "public view no object": (
        broken(RockPaperScissors, view=lambda self, position, side: {} if side else []),
        "a view must be plain JSON, got []",
    ),
    "view at the end": (
        broken(RockPaperScissors, view=at_the_end("view", {"throws": {"rock"}})),
        "a view must be plain JSON, got {'throws': {'rock'}}",
    ),
    "question a tuple": (
        broken(RockPaperScissors, question=lambda self, position, side: ("throw", ["rock"], {})),
        "question must be a Question",
    ),
    "move_type": (broken(RockPaperScissors, question=asking(move_type="")), "move_type must be text"),
    "options a tuple": (
        broken(RockPaperScissors, question=asking(valid_options=("rock",))),
        "valid_options must be plain JSON, got ('rock',)",
    ),
    "options of tuples": (
        broken(RockPaperScissors, question=asking(valid_options=[(0, 1)])),
        "valid_options must be plain JSON, got [(0, 1)]",
    ),
    "no options": (
        broken(RockPaperScissors, question=asking(valid_options=[])),
        "a side that is to move must have a legal move",
    ),
    "option twice": (
        broken(RockPaperScissors, question=asking(valid_options=["rock", "paper", "rock"])),
        "no option comes twice",
    ),
    "context": (
        broken(RockPaperScissors, question=asking(context={"cells": {1, 2}})),
        "a context must be plain JSON, got {'cells': {1, 2}}",
    ),
    "too many options": (
        broken(RockPaperScissors, question=asking(valid_options=[*map(str, range(501))])),
        "at most 500 options are listed; give their number as total",
    ),
    "total of what is listed": (
        broken(RockPaperScissors, question=asking(total=3, syntax="a throw")),
        "total must be more than is listed, got 3",
    ),
    "no syntax": (
        broken(RockPaperScissors, question=asking(total=4)),
        "where not all moves are listed, there must be a syntax",
    ),
    "picture of sets": (
        broken(RockPaperScissors, picture=lambda self, view: {"kind": "text", "text": {1}}),
        "a picture must be plain JSON, got {'kind': 'text', 'text': {1}}",
    ),
    "picture of a kind of its own": (
        broken(RockPaperScissors, picture=lambda self, view: {"kind": "film"}),
        "a picture must be a dict whose kind is one of grid, cards, text",
    ),
    "an option is a fault": (
        broken(RockPaperScissors, question=asking(valid_options=["rock", "well"])),
        "every valid option must be legal, but of 'well' move_error says: Throw must be 'rock', 'paper' or 'scissors'",
    ),
    "takes null": (
        broken(RockPaperScissors, move_error=lenient(None)),
        "only the valid options must be legal, but move_error takes None",
    ),
    "takes another case": (
        broken(EvenOdd, move_error=lenient("Even")),
        "only the valid options must be legal, but move_error takes 'Even'",
    ),
    "takes an abbreviation": (
        broken(EvenOdd, move_error=lenient("o")),
        "only the valid options must be legal, but move_error takes 'o'",
    ),
    "takes blanks": (
        broken(EvenOdd, move_error=lenient("odd\n")),
        "only the valid options must be legal, but move_error takes 'odd\\n'",
    ),
    "takes a wrapped move": (
        broken(EvenOdd, move_error=lenient(["odd"])),
        "only the valid options must be legal, but move_error takes ['odd']",
    ),
    "takes true for 1": (
        broken(TicTacToe, move_error=equal_is_enough),
        "only the valid options must be legal, but move_error takes True",
    ),
    "takes 4.0 for 4": (
        broken(TicTacToe, move_error=lenient(4.0)),
        "only the valid options must be legal, but move_error takes 4.0",
    ),
    "takes text for a number": (
        broken(TicTacToe, move_error=lenient("4")),
        "only the valid options must be legal, but move_error takes '4'",
    ),
    "move_error raises": (
        broken(RockPaperScissors, move_error=raises),
        "move_error must never raise, but [] made it raise TypeError",
    ),
    "move_error raises on deep nesting": (
        broken(RockPaperScissors, move_error=too_deep),
        "move_error must never raise, but [[[[[[[...]]]]]]] made it raise RecursionError",
    ),
    "move_error no sentence": (
        broken(RockPaperScissors, move_error=lambda self, position, side, move: False),
        "move_error must be None or a sentence, got False",
    ),
    "move_error without words": (
        broken(RockPaperScissors, move_error=lambda self, position, side, move: ""),
        "move_error must be None or a sentence, got ''",
    ),
    "legal out of turn": (broken(TicTacToe, move_error=whoever), "a side that is not to move must have no legal move"),
    "legal after the end": (
        broken(RockPaperScissors, move_error=never_over),
        "a side that is not to move must have no legal move",
    ),
    "shows answers": (Remembers(), "what a side answers must not show before it is played"),
    "views of its inside": (HandsOutItsOwn(), "what is done to a view must not change the position"),
    "changes positions": (OnOneBoard(), "play must make a new position and leave the old one as it was"),
    "first come": (
        broken(RockPaperScissors, play=first_come),
        "play must lead to the same position whichever move came in first",
    ),
    "moody": (Moody(), "the same moves must always lead to the same positions"),
    "number in the public view": (
        broken(
            EvenOdd,
            view=lambda self, position, side: {} if side else {"number": position.number},
            picture=Game.picture,
        ),
        "the public must not see what A does not see",
    ),
    "number in a question": (
        broken(
            EvenOdd, question=lambda self, position, side: Question("choose", ["even", "odd"], {"n": position.number})
        ),
        TELLING,
    ),
    "number in the order of options": (
        broken(
            EvenOdd,
            question=lambda self, position, side: Question(
                "choose", ["even", "odd"] if (position.number or 0) % 2 else ["odd", "even"], {}
            ),
        ),
        TELLING,
    ),
    "number in a fault": (
        broken(
            EvenOdd,
            move_error=lambda self, position, side, move: (
                EvenOdd.move_error(self, position, side, move) and f"No: {position.number}"
            ),
        ),
        TELLING,
    ),
}


@pytest.mark.parametrize(("game", "rule"), BROKEN.values(), ids=BROKEN)
def test_a_broken_game_is_told_which_rule_it_breaks(game, rule):
    with pytest.raises(AssertionError, match=re.escape(rule)):
        check_game(game, seeds=range(30))


def test_a_game_that_does_not_end_is_stopped():
    with pytest.raises(AssertionError, match="a game must end within 5 turns"):
        check_game(Endless(), max_turns=5)


def test_a_game_may_take_as_many_turns_as_are_allowed():
    check_game(TicTacToe(), seeds=range(20), max_turns=9)


def test_nothing_to_play_with_is_no_proof():
    with pytest.raises(AssertionError, match="there must be a seed to play with"):
        check_game(EvenOdd(), seeds=[])


class Forgetful(TicTacToe):
    def position(self, view):
        return Marked()


def test_a_position_that_is_not_the_one_of_the_view_is_noticed():
    with pytest.raises(AssertionError, match=r"^position must give a position with the same moves"):
        check_game(Forgetful())
