"""The table: points, ranks, tie-breaks, and how much of it is shown."""

from __future__ import annotations

import copy
from itertools import pairwise, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaguekit.league.records import Match
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Table
from leaguekit.protocol import messages as m
from leaguekit.protocol.ids import player_id
from tests.league.play import drawn, failed, won

DEFAULT = Settings(league_id="any").tie_breaks


def _table(count: int, tie_breaks=DEFAULT) -> Table:
    table = Table(tie_breaks)
    for number in range(1, count + 1):
        table.enter(player_id(number), f"Agent {number}")
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
def test_then_wins_decide() -> None:
    table = _table(5)
    for opponent in ("P03", "P04", "P05"):
        _draw(table, "P01", opponent)
    _win(table, "P02", "P03")
    # Three points each and no match between them; P02 has a win.
    assert _order(table)[:2] == ["P02", "P01"]


@pytest.mark.proves("000-L1020")
def test_then_fewer_technical_losses_decide() -> None:
    table = _table(4)
    table.count(failed(_match("P01", "P04"), "P01"))
    _win(table, "P04", "P02")
    assert _order(table) == ["P04", "P02", "P03", "P01"]


def test_the_lower_id_decides_at_last_and_by_its_number() -> None:
    table = Table(DEFAULT)
    for number in (100, 99, 9):
        table.enter(player_id(number), "Agent")
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
    for a, b in data.draw(st.lists(st.sampled_from(list(permutations(table.rows, 2))), max_size=25)):
        match = _match(a, b)
        result = data.draw(st.sampled_from([won(match, a), won(match, b), drawn(match), failed(match, a)]))
        results.append(result)
        table.count(result)
        if data.draw(st.booleans()):
            table.standings()
        if data.draw(st.integers(0, 3)) == 0:
            table.count(results.pop(data.draw(st.integers(0, len(results) - 1))), back=True)
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
    table.enter("P01", "New name")
    assert table.standings()["P01"].display_name == "New name"
    table.leave("P01")
    assert _order(table) == ["P02"]
    table.leave("P02")
    assert _order(table) == []


@pytest.mark.proves("000-L1567")
def test_up_to_a_hundred_rows_are_shown_to_everybody() -> None:
    assert len(_table(100).shown_to("P100")) == 100


@pytest.mark.settles("000-L0493", "000-L0512", "000-L0995", "000-L0491")
@pytest.mark.proves("000-L1567")
@pytest.mark.parametrize(
    ("reader", "last"), [("P150", "P150"), ("P100", "P100"), ("P99", "P100"), ("P01", "P100"), (None, "P100")]
)
def test_of_a_longer_table_the_first_99_and_the_readers_own_row_are_shown(reader: str | None, last: str) -> None:
    rows = _table(150).shown_to(reader)
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
