"""The table: points, ranks, tie-breaks, and how much of it is shown."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Sequence
from itertools import groupby, pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.league.records import Match
from leaguekit.league.settings import Settings
from leaguekit.league.standings import MAX_CHANGES, Table
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import player_id
from tests.league.play import BY_ID, drawn, failed, won

DEFAULT = Settings(league_id="any").tie_breaks
SEED = "5e" * 32


def _table(count: int, tie_breaks=DEFAULT) -> Table:
    table = Table(tie_breaks)
    for number in range(1, count + 1):
        table.add_player(player_id(number), f"Agent {number}")
    return table


def _match(a: str, b: str) -> Match:
    return Match(id="R1M1", round_id=1, a=a, b=b)


def _win(table: Table, winner: str, loser: str) -> None:
    table.count(won(_match(winner, loser), winner))


def _draw(table: Table, one: str, other: str) -> None:
    table.count(drawn(_match(one, other)))


def _order(table: Table) -> list[str]:
    return list(table.standings())


def test_a_player_without_a_point_has_a_row_too() -> None:
    row = _table(2).standings()["P02"]
    assert row == m.Standing(
        rank=2,
        player_id="P02",
        display_name="Agent 2",
        played=0,
        wins=0,
        draws=0,
        losses=0,
        points=0,
        technical_losses=0,
    )


@pytest.mark.proves("000-L1006", "000-L1018", "000-L1524", "001-L1464", "001-L1465")
def test_a_win_brings_three_points_a_draw_one_and_a_loss_none() -> None:
    table = _table(2)
    _win(table, "P01", "P02")
    _draw(table, "P02", "P01")
    first, second = table.standings().values()
    assert (first.player_id, first.wins, first.draws, first.losses, first.points) == ("P01", 1, 1, 0, 4)
    assert (second.player_id, second.wins, second.draws, second.losses, second.points) == ("P02", 0, 1, 1, 1)


@pytest.mark.proves("000-L1019")
def test_matches_played_are_wins_draws_and_losses_together() -> None:
    table = _table(2)
    _win(table, "P01", "P02")
    _draw(table, "P01", "P02")
    _win(table, "P02", "P01")
    assert [row.played for row in table.standings().values()] == [3, 3]


def test_a_technical_loss_gives_the_other_a_win_and_counts_as_a_loss() -> None:
    table = _table(2)
    table.count(failed(_match("P01", "P02"), "P01"))
    assert (table.rows["P01"].losses, table.rows["P01"].technical_losses) == (1, 1)
    assert (table.rows["P02"].wins, table.rows["P02"].technical_losses, table.rows["P02"].points) == (1, 0, 3)


def test_when_both_fail_both_lose_and_nobody_gets_a_point() -> None:
    table = _table(2)
    table.count(failed(_match("P01", "P02"), "P01", "P02"))
    rows = table.standings().values()
    assert [(row.losses, row.technical_losses, row.points) for row in rows] == [(1, 1, 0), (1, 1, 0)]


def test_points_decide_first() -> None:
    table = _table(3)
    _win(table, "P03", "P01")
    _win(table, "P02", "P01")
    _draw(table, "P02", "P03")
    _draw(table, "P03", "P02")
    _win(table, "P03", "P01")
    assert _order(table) == ["P03", "P02", "P01"]


@pytest.mark.proves("000-L1020")
def test_among_equal_points_the_matches_between_those_tied_decide() -> None:
    table = _table(4)
    _win(table, "P02", "P01")
    _win(table, "P01", "P03")
    # Both have three points; P02 won their match.
    assert _order(table)[:2] == ["P02", "P01"]


@pytest.mark.proves("000-L1020")
def test_then_sonneborn_berger_decides() -> None:
    table = _table(6)
    _win(table, "P01", "P03")
    _win(table, "P02", "P04")
    _win(table, "P04", "P05")
    _draw(table, "P03", "P06")
    # P01, P02 and P04 have three points. P02 has beaten P04 among them; P01 has beaten somebody with one point.
    assert _order(table)[:3] == ["P02", "P01", "P04"]
    placings = {row.player_id: row for row in table.placed_rows()}
    assert [placings[name].head_to_head for name in ("P02", "P01", "P04")] == [3, 0, 0]
    assert [placings[name].sonneborn_berger for name in ("P02", "P01", "P04")] == [None, 1.0, 0.0]
    assert [placings[name].decided_by for name in ("P02", "P01", "P04")] == [None, "head_to_head", "sonneborn_berger"]


def test_half_the_points_of_a_drawn_opponent_count_and_two_matches_count_twice() -> None:
    table = _table(3, ("sonneborn_berger",))
    _win(table, "P03", "P01")
    _draw(table, "P01", "P03")
    _win(table, "P02", "P03")
    _draw(table, "P03", "P02")
    _draw(table, "P02", "P01")
    _draw(table, "P01", "P02")
    # P01 has 3 points, P02 has 6, P03 has 5; their scores are made of the others' points.
    assert {name: row.points for name, row in table.rows.items()} == {"P01": 3, "P02": 6, "P03": 5}
    scores = {name: table._score(name) / 2 for name in table.rows}
    assert scores == {"P01": 5 / 2 + 6 / 2 + 6 / 2, "P02": 5 + 5 / 2 + 3 / 2 + 3 / 2, "P03": 3 + 3 / 2 + 6 / 2}


@pytest.mark.proves("000-L1020")
def test_then_wins_decide() -> None:
    table = _table(8)
    for one, other in (("P01", "P03"), ("P01", "P04"), ("P01", "P05"), ("P03", "P06"), ("P07", "P06"), ("P07", "P08")):
        _draw(table, one, other)
    _win(table, "P02", "P07")
    # Three points each, no match between them, and a score of two; P02 has a win.
    first, second = [
        (row.player_id, row.head_to_head, row.sonneborn_berger, row.decided_by) for row in table.placed_rows()[:2]
    ]
    assert first == ("P02", 0, 2.0, None)
    assert second == ("P01", 0, 2.0, "wins")


@pytest.mark.proves("000-L1020")
def test_then_fewer_technical_losses_decide() -> None:
    table = _table(4)
    table.count(failed(_match("P01", "P04"), "P01"))
    _win(table, "P04", "P02")
    assert _order(table) == ["P04", "P02", "P03", "P01"]


def test_a_lot_from_the_seed_decides_at_last_and_its_players_share_a_rank() -> None:
    table = _table(20)
    table.draw_lots(SEED)
    _win(table, "P11", "P12")
    lots = {name: hashlib.sha256(f"{SEED}:lot:{name}".encode()).hexdigest() for name in table.rows}
    equal = sorted(table.rows.keys() - {"P11"}, key=lots.__getitem__)
    assert _order(table) == ["P11", *equal]
    first, *others = table.placed_rows()
    assert (first.shown_rank, first.decided_by, first.head_to_head, first.sonneborn_berger) == ("1", None, None, None)
    assert {(one.shown_rank, one.head_to_head, one.sonneborn_berger) for one in others} == {("2=", 0, 0.0)}
    assert [one.decided_by for one in others] == [None, *["lot"] * 18]
    assert [row.rank for row in table.standings().values()] == list(range(1, 21))
    table.draw_lots(SEED[::-1])
    assert _order(table) != ["P11", *equal]


def test_before_lots_are_drawn_the_lower_id_decides_so_that_nobody_can_choose_a_lot() -> None:
    table = _table(20)
    assert _order(table) == list(table.rows)
    assert {one.shown_rank for one in table.placed_rows()} == {"1="}
    assert table.placed_rows()[1].decided_by == "id"


def test_the_lower_id_decides_at_last_and_by_its_number() -> None:
    table = Table(BY_ID, SEED)
    for number in (100, 99, 9):
        table.add_player(player_id(number), "Agent")
    assert _order(table) == ["P09", "P99", "P100"]


def test_the_settings_say_in_which_order_tie_breaks_are_used() -> None:
    table = _table(5, ("wins",))
    for opponent in ("P03", "P04", "P05"):
        _draw(table, "P01", opponent)
    _win(table, "P02", "P03")
    _win(table, "P03", "P02")
    assert _order(table)[:2] == ["P03", "P02"]
    assert _order(_table(3, ())) == ["P01", "P02", "P03"]


@pytest.mark.proves("000-L0492", "000-L0511", "000-L0994", "000-L1017", "000-L1523", "001-L0522b")
@given(st.data())
def test_ranks_are_one_to_n_in_order_and_points_never_rise(data: st.DataObject) -> None:
    table = _table(6)
    for a, b in data.draw(st.lists(st.sampled_from(list(permutations(table.rows, 2))), max_size=20)):
        match = _match(a, b)
        table.count(data.draw(st.sampled_from([won(match, a), drawn(match), failed(match, a), failed(match, a, b)])))
    rows = list(table.standings().values())
    assert [row.rank for row in rows] == [1, 2, 3, 4, 5, 6]
    assert all(one.points >= other.points for one, other in pairwise(rows))


@given(st.data())
def test_the_order_kept_up_to_date_is_that_of_a_table_made_at_once(data: st.DataObject) -> None:
    table, results = _table(5), []
    for a, b in data.draw(st.lists(st.sampled_from(list(permutations(table.rows, 2))), max_size=25, unique=True)):
        match = _match(a, b)
        result = data.draw(st.sampled_from([won(match, a), won(match, b), drawn(match), failed(match, a)]))
        results.append(result)
        table.count(result)
        if data.draw(st.booleans()):
            table.standings()
        if data.draw(st.integers(0, 3)) == 0:
            table.count(results.pop(data.draw(st.integers(0, len(results) - 1))), undo=True)
    fresh = _table(5)
    for result in results:
        fresh.count(result)
    assert table.standings() == fresh.standings()
    assert _order(table) == _order(fresh)


def test_nothing_is_sorted_again_until_something_changes() -> None:
    table = _table(3)
    before = table.standings()
    assert table.standings() is before
    _win(table, "P03", "P01")
    assert table.standings() is not before


def test_a_player_may_take_another_name_and_leave_before_it_has_played() -> None:
    table = _table(2)
    table.standings()
    table.add_player("P01", "New name")
    assert table.standings()["P01"].display_name == "New name"
    table.remove_player("P01")
    assert _order(table) == ["P02"]
    table.remove_player("P02")
    assert _order(table) == []


@pytest.mark.proves("000-L1567")
def test_up_to_a_hundred_rows_are_shown_to_everybody() -> None:
    assert len(_table(100).rows_for("P100")) == 100


@pytest.mark.settles("000-L0493", "000-L0512", "000-L0995", "000-L0491")
@pytest.mark.proves("000-L1567")
@pytest.mark.parametrize(
    ("reader", "last"), [("P150", "P150"), ("P100", "P100"), ("P99", "P100"), ("P01", "P100"), (None, "P100")]
)
def test_of_a_longer_table_the_first_99_and_the_readers_own_row_are_shown(reader: str | None, last: str) -> None:
    rows = _table(150).rows_for(reader)
    assert [row.rank for row in rows[:99]] == list(range(1, 100))
    assert (len(rows), rows[-1].player_id, rows[-1].rank) == (100, last, int(last[1:]))


def test_a_table_of_rows_that_were_counted_elsewhere_is_the_same_table() -> None:
    table = _table(4)
    _win(table, "P03", "P01")
    _draw(table, "P02", "P04")
    _win(table, "P04", "P01")
    table.count(failed(_match("P02", "P03"), "P02"))
    again = Table.of(DEFAULT, copy.deepcopy([*reversed(table.rows.values())]))
    assert [*again.standings().values()] == [*table.standings().values()]
    again.count(won(_match("P01", "P02"), "P01"))
    _win(table, "P01", "P02")
    assert [*again.standings().values()] == [*table.standings().values()]


# The same once more, by brute force

Matches = Sequence[tuple[str, str, m.MatchResult]]


def _points(player: str, matches: Matches, opponents: Sequence[str]) -> int:
    return sum(
        result.score[player] for a, b, result in matches if player in (a, b) and {a, b} - {player} <= {*opponents}
    )


def _score(player: str, matches: Matches, players: Sequence[str]) -> float:
    worth = {3: 1.0, 1: 0.5, 0: 0.0}
    opponents = [(b if player == a else a, result) for a, b, result in matches if player in (a, b)]
    return sum(_points(one, matches, players) * worth[result.score[player]] for one, result in opponents)


def _reference(
    players: Sequence[str], matches: Matches, tie_breaks: Sequence[str], seed: str | None
) -> list[list[str]]:
    """Groups of players who are equal in everything but the lot and the id, the best first, each in its order."""
    points = {player: _points(player, matches, players) for player in players}

    def value(player: str, name: str) -> float:
        mine = [result for a, b, result in matches if player in (a, b)]
        match name:
            case "head_to_head":
                return _points(player, matches, [one for one in players if points[one] == points[player]])
            case "sonneborn_berger":
                return _score(player, matches, players)
            case "wins":
                return sum(result.winner == player for result in mine)
            case _:
                lost = [result for result in mine if result.details.status == "TECHNICAL_LOSS"]
                return -sum(result.score[player] == 0 for result in lost)

    def merit(player: str) -> list[float]:
        return [points[player], *(value(player, name) for name in tie_breaks if name != "lot")]

    def chance(player: str) -> tuple[str, int]:
        drawn_lot = seed is not None and "lot" in tie_breaks
        lot = hashlib.sha256(f"{seed}:lot:{player}".encode()).hexdigest() if drawn_lot else ""
        return lot, int(player[1:])

    ordered = sorted(players, key=merit, reverse=True)
    return [sorted(group, key=chance) for _, group in groupby(ordered, key=merit)]


@given(st.data())
def test_the_order_and_the_shared_ranks_are_those_of_a_reference_made_by_brute_force(data: st.DataObject) -> None:
    tie_breaks = data.draw(st.sampled_from([DEFAULT, BY_ID, ("wins", "sonneborn_berger"), ("lot",), ()]))
    seed = data.draw(st.sampled_from([SEED, None]))
    table = _table(data.draw(st.integers(2, 7)), tie_breaks)
    if seed is not None:
        table.draw_lots(seed)
    matches = []
    # Each pair at most twice, as in a double round-robin; draws are frequent, so that much is equal.
    for a, b in data.draw(st.lists(st.sampled_from(list(permutations(table.rows, 2))), max_size=42, unique=True)):
        match = _match(a, b)
        result = data.draw(st.sampled_from([drawn(match), won(match, a), failed(match, a), failed(match, a, b)]))
        matches.append((a, b, result))
        table.count(result)
        if data.draw(st.booleans()):
            table.standings()
    groups = _reference(list(table.rows), matches, tie_breaks, seed)
    assert _order(table) == [player for group in groups for player in group]
    shown = [row.shown_rank for row in table.placed_rows()]
    ranks = [1 + sum(map(len, groups[:place])) for place in range(len(groups))]
    assert shown == [
        f"{rank}=" if len(group) > 1 else str(rank) for rank, group in zip(ranks, groups, strict=True) for _ in group
    ]


def test_scores_are_right_after_more_changes_than_are_remembered() -> None:
    """Forty players, everybody against everybody, with and without a look after each result."""
    looked_at, counted = _table(40), _table(40)
    for number, (a, b) in enumerate(permutations(looked_at.rows, 2)):
        match = _match(a, b)
        result = drawn(match) if number % 3 else won(match, min(a, b, key=lambda one: (int(one[1:]) * 7 + number) % 11))
        for table in (looked_at, counted):
            table.count(result)
        looked_at.standings()
    assert len(looked_at._changes) <= MAX_CHANGES + 2
    assert looked_at.placed_rows() == counted.placed_rows()
    assert any(one.decided_by == "sonneborn_berger" for one in counted.placed_rows())
