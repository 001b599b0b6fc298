"""Snapshots: a league that was saved and restored is the same league, and other bytes are refused."""

from __future__ import annotations

import sys
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import msgpack

from leaguekit.league import commands, queries, snapshot
from leaguekit.league.events import decode
from leaguekit.league.fold import apply, fold
from leaguekit.league.snapshot import BadSnapshot, restore, save
from leaguekit.league.state import League
from tests.league.play import Play, drawn, failed, whole, won


def test_at_every_point_of_a_log_a_snapshot_and_the_rest_make_what_all_events_make() -> None:
    log = [decode(line) for line in whole().log]
    everything = fold(log)
    for number in range(1, len(log) + 1):
        league, last = restore(save(fold(log[:number]), number))
        assert last == number
        for event in log[number:]:
            apply(league, event)
        assert league.digest() == everything.digest()
        assert queries.standings(league) == queries.standings(everything)
        # Also in the order in which everything is kept, for that decides what is assigned next.
        assert save(league, 1) == save(everything, 1)


def test_everything_that_a_league_consists_of_is_saved() -> None:
    # What is not declared in the class would be left out.
    assert set(vars(whole().league)) == set(get_type_hints(League))


@given(st.data())
def test_a_restored_league_decides_as_the_saved_one(data: st.DataObject) -> None:
    play = Play(players=data.draw(st.integers(2, 7)), referees=2).begin()
    for _ in range(data.draw(st.integers(0, 15))):
        if not play.in_play:
            play.announce()
            play.assign()
            continue
        match = play.match(data.draw(st.sampled_from(play.in_play)))
        results = [won(match, match.b), drawn(match), failed(match, match.a), failed(match, *match.players)]
        play.record(match.id, data.draw(st.sampled_from(results)))
    league, _ = restore(save(play.league, len(play.log)))
    assert commands.assign(league, play.now) == commands.assign(play.league, play.now)
    assert commands.announce_round(league, play.now) == commands.announce_round(play.league, play.now)
    assert queries.schedule(league) == queries.schedule(play.league)


def test_a_match_keeps_of_its_result_what_a_schedule_shows_and_the_log_keeps_the_rest() -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", failed(play.match("R1M1"), "P02"))
    (kept,) = queries.schedule(play.league)
    assert (kept.result.winner, kept.result.details.ruling) == ("P01", "JOIN_TIMEOUT")
    assert kept.result.details.choices == {"P01": "even", "P02": None}
    assert not kept.result.details.evidence
    recorded = next(event for event in map(decode, play.log) if type(event).__name__ == "ResultRecorded")
    assert recorded.result.details.evidence == {"late_ms": 0}


def test_texts_that_recur_are_kept_once_also_in_a_restored_league() -> None:
    play = whole()
    for league in (play.league, restore(save(play.league, 1))[0]):
        texts = [
            text
            for match in league.matches.values()
            for text in (match.id, match.a, match.b, match.planned, match.ended_at, match.outcome.choice_a)
            if text is not None
        ]
        texts += [name for round_ in league.rounds for name in round_.matches]
        texts += [name for row in league.table.rows.values() for name in row.against]
        assert len({id(text) for text in texts}) == len(set(texts))


def test_a_result_takes_little_room() -> None:
    play = Play(players=16, referees=2, rounds="double").begin()
    play.play_all()
    own = sum(sys.getsizeof(match) + sys.getsizeof(match.outcome) for match in play.league.matches.values())
    assert own / len(play.league.matches) < 250
    assert len(save(play.league, 1)) / len(play.league.matches) < 250


@given(st.data())
def test_a_damaged_snapshot_is_refused(data: st.DataObject) -> None:
    good = save(Play(players=3, referees=1).begin().league, 12)
    place = data.draw(st.integers(0, len(good) - 1))
    changed = bytearray(good)
    changed[place] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(changed), good[:place], good + b"\0"):
        with pytest.raises(BadSnapshot):
            restore(bad)


def test_a_snapshot_of_another_release_is_refused_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as other:
        other.setattr(snapshot, "_WRITER", "leaguekit-99.0.0-1")
        newer = save(whole().league, 1)
    with pytest.raises(BadSnapshot, match=r"written by 'leaguekit-99\.0\.0-1', and this is leaguekit-0"):
        restore(newer)


@pytest.mark.parametrize("state", [b"", b"\x93\x01\x02\x03", msgpack.encode(["nonsense"])])
def test_what_holds_no_league_is_refused(state: bytes) -> None:
    head = f"{snapshot._WRITER} 1 {len(state)} {snapshot._checksum(1, [state])}\n"
    with pytest.raises(BadSnapshot, match="does not hold a league"):
        restore(head.encode() + state)


def test_a_snapshot_whose_first_line_lacks_a_number_is_damaged() -> None:
    head, _, rest = save(whole().league, 1).partition(b"\n")
    with pytest.raises(BadSnapshot, match="its first line says too little"):
        restore(head.rpartition(b" ")[0] + b"\n" + rest)
