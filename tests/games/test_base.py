"""What a game inherits: the default check of moves, chance by its odds, and games with arguments."""

from __future__ import annotations

from collections import Counter
from hashlib import sha256

import pytest

from leaguekit import games
from leaguekit.games.base import Game, Outcome, Question, asked, has_chance, is_same, pick, turn_error
from leaguekit.games.testing import check_game
from leaguekit.player.search import values_of_moves
from leaguekit.protocol.errors import ProtocolError


class Dice(Game):
    """A begins. The side to move says high or low, and wins if the die agrees. It is an author's whole game."""

    name = "dice"

    def __init__(self, faces: int = 6) -> None:
        if faces < 2:
            raise ValueError(f"faces must be at least 2, got {faces}")
        self.faces = faces

    def start(self):
        return ()

    def to_move(self, position):
        return [("A",), ("chance",), ()][len(position)]

    def question(self, position, side):
        return Question("say", ["high", "low"], self.view(position, side))

    def play(self, position, moves):
        return (*position, *moves.values())

    def odds(self, position):
        return [(face, 1) for face in range(1, self.faces + 1)]

    def outcome(self, position):
        if len(position) < 2:
            return None
        said, face = position
        return Outcome("A" if (said == "high") == (2 * face > self.faces) else "B", f"{{A}} said {said}, it was {face}")

    def view(self, position, side):
        return {"said": [*position]}

    def position(self, view):
        return tuple(view["said"])


DICE = Dice()


def test_a_game_with_chance_needs_no_more_than_its_rules() -> None:
    check_game(DICE)


def test_a_game_may_have_a_roll_of_its_own_that_has_no_odds() -> None:
    class Deck(Dice):
        def odds(self, position):
            return None

        def roll(self, position, seed, step):
            return seed[step % len(seed)] % self.faces + 1

    check_game(Deck())


@pytest.mark.parametrize("move", ["High", "", None, 1, ["high"], {"say": "high"}])
def test_by_default_what_is_not_listed_is_not_legal(move) -> None:
    assert str(DICE.move_error((), "A", move)).startswith("Move must be one of ['high', 'low'], got ")
    assert DICE.move_error((), "A", "low") is None


def test_by_default_a_side_waits_for_its_turn() -> None:
    assert DICE.move_error((), "B", "low") == "It is the other player's turn"
    assert DICE.move_error(("low",), "A", "low") == "Nobody is asked now"
    assert turn_error((), "A") == "The game is over"
    assert [asked(DICE, one) for one in ((), ("low",), ("low", 1))] == [("A",), (), ()]


def test_json_values_are_the_same_only_with_the_same_types() -> None:
    nested = {"a": [1, {"b": None}]}
    assert is_same(nested, {"a": [1, {"b": None}]})
    assert not is_same(nested, {"a": [1.0, {"b": None}]})
    assert not any(is_same(*pair) for pair in ((1, True), ([1], [1, 2]), ({"a": 1}, {"b": 1}), ("1", 1)))


def test_chance_follows_the_rule_of_the_reference() -> None:
    """The rule in words: N is the SHA-256 of "<seed in hex>:<step>"; N mod the weights counts off the outcomes."""
    number = int(sha256(b"00ff:3").hexdigest(), 16)
    assert pick([("a", 1), ("b", 2), ("c", 4)], b"\x00\xff", 3) == ["a", "b", "b", "c", "c", "c", "c"][number % 7]
    assert DICE.roll((), b"\x00\xff", 3) == number % 6 + 1


def test_a_number_that_would_favour_the_first_outcomes_is_hashed_again() -> None:
    # With a weight of almost the whole range, nearly half of all numbers are above its only multiple.
    total = (1 << 255) + 1
    numbers = [int.from_bytes(sha256(f"07:{step}".encode()).digest(), "big") for step in range(20)]
    assert any(number >= total for number in numbers)
    for step in range(20):
        digest = sha256(f"07:{step}".encode()).digest()
        while int.from_bytes(digest, "big") >= total:
            digest = sha256(digest).digest()
        expected = "first" if int.from_bytes(digest, "big") == 0 else "rest"
        assert pick([("first", 1), ("rest", total - 1)], b"\x07", step) == expected


def test_each_outcome_is_as_likely_as_its_weight() -> None:
    counts = Counter(pick([("a", 1), ("b", 3)], b"seed", step) for step in range(8_000))
    assert abs(counts["b"] - 6_000) < 4 * (8_000 * 3 / 16) ** 0.5


def test_only_a_game_with_odds_or_a_roll_has_chance() -> None:
    with_chance = [game.name for game in (DICE, *games.GAMES.values()) if has_chance(game)]
    assert with_chance == ["dice", "even_odd"]
    with pytest.raises(NotImplementedError, match="tic_tac_toe has neither odds nor a roll of its own"):
        games.GAMES["tic_tac_toe"].roll(None, b"", 0)


def test_search_weighs_what_chance_may_give() -> None:
    (high, low), _ = values_of_moves(Dice(faces=5), (), ["high", "low"])
    # With five faces, 3, 4 and 5 are high.
    assert (high.best, low.best) == (pytest.approx(0.2 * 0.99, abs=0.01), pytest.approx(-0.2 * 0.99, abs=0.01))


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("go", ("go", {})),
        (" go() ", ("go", {})),
        ("openspiel:go(board_size=9)", ("openspiel:go", {"board_size": 9})),
        (
            'x(a=1.5, b=true,c=False, d="a, b", e=word)',
            ("x", {"a": 1.5, "b": True, "c": False, "d": "a, b", "e": "word"}),
        ),
        ("x(a='a, b')", ("x", {"a": "a, b"})),
        ("x(inner=go(board_size=9),list=[1, 2])", ("x", {"inner": "go(board_size=9)", "list": [1, 2]})),
    ],
)
def test_a_game_is_written_with_its_arguments(text, parsed) -> None:
    assert games.parse_game(text) == parsed


@pytest.mark.parametrize(
    "text", ["go(", "go)", "(a=1)", "go(9)", "go(a=)", "go(a=1 b=2)x", "go(a=[1)", "go(a=1,a=2)", " (a=1)"]
)
def test_what_is_not_a_game_is_refused_with_the_way_to_write_one(text) -> None:
    with pytest.raises(ProtocolError, match=r"written as"):
        games.parse_game(text)


def test_a_game_with_arguments_is_described_as_it_is_written() -> None:
    assert games.describe_game("go", None) == "go"
    assert games.describe_game("go", {"size": 9, "rule": "x"}) == 'go(size=9, rule="x")'
    assert games.parse_game(games.describe_game("go", {"size": 9, "rule": "x"})) == ("go", {"size": 9, "rule": "x"})


def test_the_same_arguments_give_the_same_game(monkeypatch) -> None:
    monkeypatch.setitem(games.GAMES, "dice", DICE)
    made = games.game("dice(faces=20)")
    assert (made.faces, made.args) == (20, {"faces": 20})
    assert games.game("dice", {"faces": 20}) is made
    assert games.find_game("dice", {"faces": 20}) is made
    assert games.game("dice") is DICE
    assert games.rules("dice(faces=20)") == __doc__


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("dice(faces=1)", r"The game dice\(faces=1\) cannot be made: faces must be at least 2, got 1\."),
        (
            "dice(sides=3)",
            r"The game dice\(sides=3\) cannot be made: dice got an unexpected keyword",
        ),
        ("tic_tac_toe(size=4)", r"The game tic_tac_toe\(size=4\) cannot be made"),
    ],
)
def test_arguments_that_a_game_does_not_take_are_refused(text, why, monkeypatch) -> None:
    monkeypatch.setitem(games.GAMES, "dice", DICE)
    with pytest.raises(ProtocolError, match=why):
        games.game(text)
    assert games.find_game(text) is None
