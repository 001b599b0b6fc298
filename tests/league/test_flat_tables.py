"""A league as flat tables: one row a match, a player, an agent, and no secret in any."""

from __future__ import annotations

import msgspec
import pytest

from leaguekit.league import commands, queries
from leaguekit.league.events import decode
from leaguekit.league.flat_tables import LeagueTables
from tests.league.play import Play
from tests.played import by_hand, played


def listed(lines: list[bytes]) -> LeagueTables:
    listing = LeagueTables()
    for line in lines:
        listing.take(decode(line))
    return listing


def test_a_played_match_has_all_that_its_referee_told() -> None:
    first, *others = listed(played().log).results()
    row = msgspec.to_builtins(first)
    assert len(row.pop("draw_commitment")) == 64
    assert len(row.pop("draw_nonce")) == 32
    assert row == {
        "match_id": "R1M1",
        "round_id": 1,
        "player_A_id": "P01",
        "player_A_name": "Player 1",
        "player_B_id": "P02",
        "player_B_name": "Player 2",
        "winner": None,
        "status": "DRAW",
        "ruling": "DRAW",
        "score_A": 1,
        "score_B": 1,
        "choice_A": "even",
        "choice_B": "even",
        "drawn_number": 1,
        "decided_by": "REF01",
        "attempt": 1,
        "ended_at": "2025-01-15T10:30:00Z",
        "reason": None,
        "own_A": 1,
        "retried_A": 0,
        "replaced_A": 0,
        "illegal_A": 0,
        "own_B": 1,
        "retried_B": 0,
        "replaced_B": 0,
        "illegal_B": 0,
    }
    assert [other.match_id for other in others] == ["R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]


def test_each_match_has_one_row_whoever_decided_it() -> None:
    rows = {row.match_id: row for row in listed(by_hand().log).results()}
    assert len(rows) == 10
    corrected, forfeited, by_both = rows["R1M1"], rows["R2M1"], rows["R4M2"]
    assert (corrected.decided_by, corrected.reason, corrected.status) == ("operator", "wrong", "DRAW")
    assert (forfeited.decided_by, forfeited.winner, forfeited.ruling) == ("manager", "P01", "DISQUALIFICATION")
    assert (forfeited.score_A, forfeited.score_B, forfeited.reason) == (3, 0, "cheated")
    assert (by_both.winner, by_both.score_A, by_both.score_B) == (None, 0, 0)


def test_a_match_that_is_to_be_played_again_has_no_row() -> None:
    play = Play(players=4, referees=1).begin()
    play.record("R1M1")
    assert [row.match_id for row in listed(play.log).results()] == ["R1M1"]
    play.do(commands.rematch(play.league, "R1M1", "", play.now))
    assert listed(play.log).results() == []


def test_results_are_in_the_order_of_the_schedule() -> None:
    play = Play(players=24, referees=1).begin()
    for name in ("R1M2", "R1M1"):
        play.record(name)
    assert [row.match_id for row in listed(play.log).results()] == ["R1M1", "R1M2"]


def test_the_whole_table_is_listed_however_long() -> None:
    play = Play(players=120, referees=1)
    standings = listed(play.log).standings()
    assert len(queries.standings(play.league)) == 100
    assert [row.rank for row in standings] == list(range(1, 121))


@pytest.mark.parametrize("endpoints", [False, True])
def test_agents_are_listed_by_their_ids_and_with_their_endpoints_only_if_asked(endpoints: bool) -> None:
    rows = [msgspec.to_builtins(row) for row in listed(played().log).agents(endpoints=endpoints)]
    assert [row["agent_id"] for row in rows] == ["P01", "P02", "P03", "P04", "REF01", "REF02"]
    assert {row["role"] for row in rows[4:]} == {"referee"}
    assert rows[0]["display_name"] == "Player 1"
    assert rows[0].get("contact_endpoint") == ("http://127.0.0.1:8101/mcp" if endpoints else None)
    assert not {"verifier", "key", "seat"} & set(rows[0])


def test_the_person_of_a_seat_is_known_to_every_table() -> None:
    play = Play(players=1, referees=1)
    play.do(
        commands.issue_seats(play.league, [b"one", b"two"], play.now, people=[("Ada", "ada@example.org"), ("B", "")])
    )
    play.player(2, seat=b"one".hex())
    play.do(commands.void_token(play.league, "P01", key=b"key", code=b"three", at=play.now))
    # The seat that a person was given is named, and not the one of a token that was made void later.
    play.do(commands.revoke_seat(play.league, "S01", play.now))
    play.do(commands.void_token(play.league, "P02", key=b"key", code=b"four", at=play.now))
    assert listed(play.log).people() == {
        "P01": {"seat": "S03", "person": "", "email": ""},
        "P02": {"seat": "S01", "person": "Ada", "email": "ada@example.org"},
    }
