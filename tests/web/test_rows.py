"""Rows of the pages, of games whose choices do not tell how a match went."""

from __future__ import annotations

import pytest

from leaguekit import games
from leaguekit.web.rows import match_row
from tests.league.test_records import Shares, begun, only, played, record, reported


def test_the_reason_is_that_of_the_record_or_else_the_payoffs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(games.GAMES, "shares", Shares())
    play = begun()
    match = only(play)
    steps = played(match)
    play.do(record(play, match, reported(match, steps)))
    number = steps[0]["chance"]
    assert match_row(play.league, match, steps).reason == f"the number was {number}"
    assert match_row(play.league, match).reason == f"{match.a} got {number} and {match.b} got 0"
    # A record that is not one of this game, or that does not end it, has no reason.
    assert match_row(play.league, match, steps[:1]).reason == f"{match.a} got {number} and {match.b} got 0"
