"""Every game of OpenSpiel for two players keeps the rules of the interface, and ends as OpenSpiel says."""

from __future__ import annotations

import re
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import pyspiel
import pytest
from comparing import compare_end, play_beside
from game_list import COMPARED, FAST, PLAYED, REFUSED, SLOW
from leaguekit_openspiel import OpenSpielGame

from leaguekit.games import game, rules
from leaguekit.games.base import SIDES, has_chance
from leaguekit.games.pictures import picture_error
from leaguekit.games.testing import check_game
from leaguekit.protocol.errors import ProtocolError

# Playthroughs of each game here. `make games` makes 500.
PLAYTHROUGHS = 20


def test_the_list_names_every_game_for_two_players_once() -> None:
    kinds = pyspiel.registered_games()
    for_two = {
        kind.short_name
        for kind in kinds
        if kind.min_num_players <= 2 <= kind.max_num_players
        and kind.default_loadable
        and kind.dynamics != pyspiel.GameType.Dynamics.MEAN_FIELD
    }
    assert sorted([*PLAYED, *REFUSED]) == sorted(for_two)
    assert sorted(OpenSpielGame.names()) == sorted(PLAYED)
    assert len(PLAYED) >= 75
    assert len(COMPARED) == len({*COMPARED}) == 20


@pytest.mark.parametrize("name", REFUSED)
def test_a_game_that_cannot_be_played_is_refused_with_the_reason(name: str) -> None:
    with pytest.raises(ProtocolError, match=f"The game openspiel:{name} cannot be made: {name} {REFUSED[name]}"):
        game(f"openspiel:{name}")


@pytest.mark.parametrize("name", FAST)
def test_a_game_keeps_every_rule_of_the_interface(name: str) -> None:
    check_game(game(f"openspiel:{name}"), seeds=range(1))


@pytest.mark.long
@pytest.mark.parametrize("name", SLOW)
def test_a_slow_game_keeps_every_rule_of_the_interface(name: str) -> None:
    check_game(game(f"openspiel:{name}"), seeds=range(1))


@pytest.mark.parametrize("name", COMPARED)
def test_random_games_end_with_the_returns_of_openspiel(name: str) -> None:
    for seed in range(PLAYTHROUGHS):
        compare_end(name, seed)


# In these a person writes a number too: that of a pit.
NUMBERED = ("mancala",)


@pytest.mark.parametrize("name", [name for name in FAST if name not in NUMBERED])
def test_moves_are_words_and_not_the_numbers_of_actions(name: str) -> None:
    for _, (ours, position, state) in zip(range(40), play_beside(name, 2), strict=False):
        for side in SIDES:
            if side in ours.to_move(position):
                actions = state.legal_actions(SIDES.index(side))
                options = ours.question(position, side).valid_options
                assert not {str(action) for action in actions} & {*options}
                assert not any(option.startswith(f"{action} -") for action in actions for option in options)


@pytest.mark.parametrize(
    ("name", "moves"),
    [
        ("chess", ["e4", "e5", "Nf3", "Nc6", "Bb5", "a6", "Bxc6"]),
        ("kuhn_poker", [{"chance": "Deal:0"}, {"chance": "Deal:2"}, "Bet", "Pass"]),
        ("go(board_size=9)", ["e5", "c3", "PASS"]),
        ("connect_four", ["x3", "o3"]),
        ("oshi_zumo(coins=9)", [{"A": "Bid: 3", "B": "Bid: 1"}, {"A": "Bid: 6", "B": "Bid: 0"}]),
        ("nim", ["pile:3, take:3", "pile:4, take:1"]),
        ("backgammon", [{"chance": "X starts, (roll: 13)"}, "8/5 6/5", {"chance": "(roll: 66)"}]),
        ("leduc_poker", [{"chance": "1"}, {"chance": "5"}, "Raise", "Call", {"chance": "0"}]),
    ],
)
def test_moves_are_written_as_a_person_would_write_them(name: str, moves: list[object]) -> None:
    ours = game(f"openspiel:{name}")
    position = ours.start()
    for move in moves:
        movers = ours.to_move(position)
        step = move if isinstance(move, dict) else {movers[0]: move}
        for side in movers:
            if side == "chance":
                assert step[side] in dict(ours.odds(position) or ())
            else:
                assert ours.move_error(position, side, step[side]) is None
        position = ours.play(position, step)


def test_the_games_say_whether_they_have_chance_and_what_they_are() -> None:
    chances = {
        name: has_chance(game(f"openspiel:{name}")) for name in ("chess", "kuhn_poker", "backgammon", "goofspiel")
    }
    assert chances == {"chess": False, "kuhn_poker": True, "backgammon": True, "goofspiel": True}
    assert rules("openspiel:go(board_size=9)").startswith("Go, as OpenSpiel plays it, with board_size 9, ")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("chess", "grid"),
        ("go(board_size=9)", "grid"),
        ("connect_four", "grid"),
        ("backgammon", "grid"),
        ("leduc_poker", "text"),
    ],
)
def test_boards_are_recognised_and_everything_else_is_text(name: str, kind: str) -> None:
    *_, (ours, position, _) = (one for _, one in zip(range(6), play_beside(name, 1), strict=False))
    picture = ours.picture(ours.view(position, None))
    assert picture is not None
    assert picture_error(picture) is None
    assert picture["kind"] == kind


@pytest.mark.parametrize(("name", "others"), [("go(board_size=9)", ["PASS"]), ("othello", [])])
def test_moves_that_are_the_names_of_cells_are_made_on_the_board(name: str, others: list[str]) -> None:
    ours = game(f"openspiel:{name}")
    question = ours.question(ours.start(), "A")
    picture = ours.picture(question.context)
    assert picture is not None
    cells = [move for row in picture["moves"] for move in row]
    assert [move for move in question.valid_options if move not in cells] == others
    first = cells.index(question.valid_options[0])
    column, row = first % len(picture["column_labels"]), first // len(picture["column_labels"])
    assert question.valid_options[0] == f"{picture['column_labels'][column].lower()}{picture['row_labels'][row]}"


def test_the_stones_of_go_are_drawn_as_discs() -> None:
    ours = game("openspiel:go(board_size=9)")
    position = ours.play(ours.play(ours.start(), {"A": "a9"}), {"B": "b9"})
    picture = ours.picture(ours.view(position, None))
    assert picture is not None
    last = {"text": "●", "colour": "white", "marked": True}
    assert picture["rows"][0][:3] == [{"text": "●", "colour": "black"}, last, ""]


def test_every_checker_of_backgammon_is_on_the_point_that_its_moves_name() -> None:
    for _, (ours, position, _) in zip(range(300), play_beside("backgammon", 5), strict=False):
        picture = ours.picture(ours.view(position, None))
        assert picture is not None
        assert picture_error(picture) is None
        above, *rows, below = picture["rows"]
        points: dict[str, dict[str, int]] = {}
        for column in [*range(6), *range(7, 13)]:
            for label, half in ((above[column]["text"], rows[:5]), (below[column]["text"], rows[6:])):
                cells = [row[column] for row in half if row[column]]
                counted = [int(one["text"]) for one in cells if one["text"].isdigit()] or [len(cells)]
                points[label] = {one["colour"]: counted[0] for one in cells}
        for side, colour, count in (("A", "red", 15), ("B", "yellow", 15)):
            elsewhere = re.findall(
                rf"on the bar: (\d+) of {{{side}}}|{{{side}}} has borne off (\d+)", picture["caption"]
            )
            on_board = sum(of.get(colour, 0) for of in points.values())
            assert on_board + sum(int(one or another) for one, another in elsewhere) == count
            if side in ours.to_move(position):
                for move in ours.question(position, side).valid_options:
                    starts = re.findall(r"(?:^| )(\d+)/", move)
                    assert all(points[start].get(colour) or "Bar" in move for start in starts), move


MEN = ("♚♛♜♝♞♟", "♔♕♖♗♘♙", "{B} has White, {A} has Black")


@pytest.mark.parametrize(
    ("name", "of_a", "of_b", "caption"),
    [
        *[(name, *MEN) for name in ("antichess", "chess", "crazyhouse")],
        ("go(board_size=9)", ["black"], ["white"], "{A} has Black, {B} has White"),
        *[
            (name, "x", "o", "{A} has x, {B} has o")
            for name in ("connect_four", "hex", "lines_of_action", "mnk", "othello", "tic_tac_toe")
        ],
        ("ultimate_tic_tac_toe", "x", "o", "{A} has x, {B} has o"),
        ("amazons", "X#", "O#", "{A} has X, {B} has O"),
        ("clobber", "o", "x", "{A} has o, {B} has x"),
        ("checkers", "o", "+", "{A} has o, {B} has +"),
        *[(name, "b", "w", "{A} has b, {B} has w") for name in ("breakthrough", "gomoku")],
        *[
            (name, ascii_uppercase, ascii_lowercase, "{A} has capitals, {B} has small letters")
            for name in ("shogi", "xiangqi")
        ],
    ],
)
def test_a_caption_says_whose_pieces_are_which_and_the_last_move_is_marked(
    name: str, of_a: Any, of_b: Any, caption: str
) -> None:
    before: list[str] = []
    moved: dict[Any, set[str]] = {"A": set(), "B": set()}
    for _, (ours, position, _) in zip(range(16), play_beside(name, 2), strict=False):
        picture = ours.picture(ours.view(position, None))
        assert picture is not None
        assert picture_error(picture) is None
        assert picture["caption"].partition(";")[0] == caption
        cells = [one if isinstance(one, dict) else {"text": one} for row in picture["rows"] for one in row]
        pieces = [one.get("colour") or one["text"] for one in cells]
        if position.last:
            ((mover, move),) = position.last.items()
            moved[mover] |= {now for was, now in zip(before, pieces, strict=True) if now not in (was, "")}
            if name in ("chess", "checkers", "go(board_size=9)", "othello"):
                (marked,) = (number for number, one in enumerate(cells) if one.get("marked"))
                row, column = divmod(marked, len(picture["rows"][0]))
                square = f"{picture['column_labels'][column]}{picture['row_labels'][row]}".lower()
                assert square in move[-3:]
        before = pieces
    assert moved["A"]
    assert moved["A"] <= {*of_a}
    assert moved["B"] <= {*of_b}


def test_pieces_in_hand_are_in_the_caption_and_shogi_has_labels_of_its_own() -> None:
    view = {"observation": "4k4/9/9/9/9/9/9/9/R3K2+P1 w Pp 31", "last": {"A": "N*9h"}}
    picture = game("openspiel:shogi").picture(view)
    assert picture is not None
    assert (picture["row_labels"][0], picture["column_labels"][0]) == ("a", "9")
    assert picture["rows"][-1] == ["R", "", "", "", "K", "", "", "+P", ""]
    assert picture["caption"].endswith("; in hand: Pp")
    chess = "rnbqkbnr/pppppppp/8/8/8/8/8/RNBQK~BNR[PQ] b - - 0 31"
    drops = game("openspiel:crazyhouse").picture({"observation": chess})
    assert drops is not None
    assert drops["caption"].endswith("; in hand: PQ")
    assert drops["rows"][-1] == [*"♖♘♗♕♔♗♘♖"]


def test_the_cards_of_kuhn_poker_are_seen_by_their_owners_and_at_the_end_by_all() -> None:
    ours = game("openspiel:kuhn_poker")
    position = ours.play(ours.play(ours.start(), {"chance": "Deal:0"}), {"chance": "Deal:2"})
    for side, move in (("A", "Pass"), ("B", "Bet")):
        position = ours.play(position, {side: move})

    def drawn(side: Any) -> tuple[list[Any], str]:
        picture = ours.picture(ours.view(position, side))
        assert picture is not None
        assert picture_error(picture) is None
        assert [hand["label"] for hand in picture["hands"]] == ["{A}", "{B}"]
        return [card for hand in picture["hands"] for card in hand["cards"]], picture["caption"]

    said = "{A} passes, {B} bets"
    assert [drawn(side) for side in ("A", "B", None)] == [
        (["0", None], said),
        ([None, "2"], said),
        ([None, None], said),
    ]
    position = ours.play(position, {"A": "Bet"})
    assert [drawn(side) for side in ("A", "B", None)] == [(["0", "2"], f"{said}, {{A}} bets")] * 3


def test_a_view_of_another_game_is_refused() -> None:
    with pytest.raises(ValueError, match="this view has no observation"):
        game("openspiel:chess").picture({"board": "........."})
