"""Queries: all five kinds, before, during and after the league, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET

from leaguekit.league import commands, queries
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import encode
from leaguekit.protocol.errors import ProtocolError, rpc_number
from tests.league.play import BY_ID, Play, failed, won


def _params(**params: Any) -> dict[str, m.QueryParams]:
    return {"query_params": m.QueryParams(**params)}


@pytest.fixture
def play() -> Play:
    """Four players; in the first round P01 has won, and P04 has failed."""
    play = Play(players=4, referees=2, tie_breaks=BY_ID).begin()
    play.record("R1M1", won(play.match("R1M1"), "P01", ruling="WIN", evidence={"late_ms": 0}))
    play.record("R1M2", failed(play.match("R1M2"), "P04"))
    return play


@pytest.mark.proves("000-L1087", "000-L1138", "000-L1054", "004-L0435", "001-L1796")
def test_the_standings_are_the_ranking_of_the_moment(play: Play) -> None:
    data = play.query("GET_STANDINGS", **_params())
    assert [(row.rank, row.player_id, row.points) for row in data.standings] == [
        (1, "P01", 3),
        (2, "P03", 3),
        (3, "P02", 0),
        (4, "P04", 0),
    ]
    assert data.standings[0] == m.FinalStanding(
        rank=1, player_id="P01", points=3, display_name="Agent 1", played=1, wins=1, draws=0, losses=0
    )


@pytest.mark.proves("000-L1567")
def test_of_many_rows_the_reader_sees_its_own() -> None:
    play = Play(players=120, referees=1)
    data = play.query("GET_STANDINGS", reader="P120")
    assert (len(data.standings), data.standings[-1].player_id) == (100, "P120")


def test_what_an_answer_depends_on_is_all_that_it_depends_on() -> None:
    def depends(query_type: Any, reader: str = "P01", **changes: Any) -> Any:
        return queries.cache_key(play.league, play.asked(query_type, **changes), reader)

    play = Play(players=3, referees=1)
    about = {"query_params": m.QueryParams(player_id="P01", round_id=1)}
    other = {"query_params": m.QueryParams(player_id="P02", round_id=2)}
    matters = {"GET_STANDINGS": False, "GET_SCHEDULE": True, "GET_NEXT_MATCH": True, "GET_PLAYER_STATS": True}
    for query_type, it_matters in matters.items():
        assert (depends(query_type, **about) != depends(query_type, **other)) == it_matters
        assert (depends(query_type) != depends(query_type, **about)) == it_matters
        assert depends(query_type, **about) == depends(query_type, "P02", **about)
    assert len({depends(one, **about) for one in (*matters, "GET_STATUS")}) == 5
    many = Play(players=101, referees=1)
    asked = many.asked("GET_STANDINGS")
    assert queries.cache_key(many.league, asked, "P01") != queries.cache_key(many.league, asked, "P02")


@pytest.mark.proves("000-L1088", "000-L1065", "004-L0436")
def test_the_schedule_has_all_rounds_or_one(play: Play) -> None:
    whole = play.query("GET_SCHEDULE").schedule
    assert [match.match_id for match in whole] == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    second = play.query("GET_SCHEDULE", **_params(round_id=2)).schedule
    assert [(match.match_id, match.player_A_id, match.player_B_id) for match in second] == [
        ("R2M1", "P01", "P03"),
        ("R2M2", "P02", "P04"),
    ]
    assert play.query("GET_SCHEDULE", **_params(round_id=9)).schedule == []


def test_a_played_match_shows_its_result_in_the_schedule_without_the_evidence(play: Play) -> None:
    first, second, third, *_ = queries.schedule(play.league)
    assert first.result == m.MatchResult(
        winner="P01",
        score={"P01": 3, "P02": 0},
        details=m.ResultDetails(choices={"P01": "odd", "P02": "even"}, drawn_number=5, status="WIN", ruling="WIN"),
    )
    assert second.result.details.status == "TECHNICAL_LOSS"
    assert not third.result


@pytest.mark.proves("000-L1089", "000-L1121", "000-L1043", "004-L0437", "004-L0461b")
def test_the_next_match_is_told_by_id_round_opponent_and_referee(play: Play) -> None:
    expected = m.NextMatch(match_id="R2M1", round_id=2, opponent_id="P03", referee_endpoint="http://localhost:8001/mcp")
    assert play.query("GET_NEXT_MATCH", **_params(player_id="P01")).next_match == expected
    play.announce()
    assert play.query("GET_NEXT_MATCH", **_params(player_id="P01")).next_match == expected


def test_the_next_match_names_the_referee_that_has_it(play: Play) -> None:
    play.announce()
    assert queries.next_match(play.league, "P01").referee_endpoint == "http://localhost:8001/mcp"
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    assert queries.next_match(play.league, "P01").referee_endpoint == "http://localhost:8002/mcp"
    play.assign()
    assert queries.next_match(play.league, "P01").referee_endpoint == "http://localhost:8002/mcp"


def test_with_all_referees_lost_the_next_match_names_one_of_them() -> None:
    play = Play(players=2, referees=1)
    play.start()
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    assert queries.next_match(play.league, "P01").referee_endpoint == "http://localhost:8001/mcp"


def test_there_is_no_next_match_before_the_start_after_the_end_or_for_who_has_left(play: Play) -> None:
    assert Play(players=1).query("GET_NEXT_MATCH", **_params(player_id="P01")).next_match is None
    play.do(commands.withdraw(play.league, "P03", "ill", play.now))
    # P01's match with P03 will not be played; P03 has none.
    assert queries.next_match(play.league, "P01").opponent_id == "P04"
    assert queries.next_match(play.league, "P03") is None
    play.do(commands.withdraw(play.league, "P04", "ill", play.now))
    assert queries.next_match(play.league, "P01") is None
    play.play_all()
    assert play.query("GET_NEXT_MATCH", **_params(player_id="P02")).next_match is None


@pytest.mark.proves("000-L1090", "000-L1077", "004-L0438")
def test_a_players_statistics_are_its_row_and_what_it_is_made_of(play: Play) -> None:
    data = play.query("GET_PLAYER_STATS", **_params(player_id="P04"))
    assert data.player_stats == m.PlayerStats(
        rank=4,
        player_id="P04",
        display_name="Agent 4",
        played=1,
        wins=0,
        draws=0,
        losses=1,
        points=0,
        technical_losses=1,
        opponents=[m.OpponentRecord(opponent_id="P03", played=1, losses=1)],
        opponents_left_out=0,
        choices=[],
        choices_left_out=0,
        failures=m.PlayerFailures(technical_losses=1, causes={"JOIN_TIMEOUT": 1}, unanswered_in_a_row=4),
        form=[m.PastResult(match_id="R1M2", round_id=1, opponent_id="P03", result="LOSS", technical=True)],
    )
    winner = play.query("GET_PLAYER_STATS", **_params(player_id="P01")).player_stats
    assert winner.opponents == [m.OpponentRecord(opponent_id="P02", played=1, wins=1, points=3)]
    assert winner.form == [m.PastResult(match_id="R1M1", round_id=1, opponent_id="P02", result="WIN", technical=False)]
    assert [(one.count, one.choice in ("even", "odd")) for one in winner.choices] == [(1, True)]
    # A player that wins because the other fails has not failed.
    other = play.query("GET_PLAYER_STATS", **_params(player_id="P03")).player_stats
    assert (other.failures.causes, other.form[0].result, other.form[0].technical) == ({}, "WIN", True)


@pytest.mark.proves("000-L1090")
def test_a_players_figures_add_up_over_a_double_schedule() -> None:
    play = Play(players=5, referees=2, rounds="double").begin().play_all()
    rows = play.league.table.standings()
    for player_id, row in rows.items():
        stats = play.query("GET_PLAYER_STATS", **_params(player_id=player_id)).player_stats
        assert {one.opponent_id for one in stats.opponents} == rows.keys() - {player_id}
        for name in ("played", "wins", "draws", "losses", "points"):
            assert sum(getattr(one, name) for one in stats.opponents) == getattr(row, name) == getattr(stats, name)
        assert sum(one.count for one in stats.choices) == row.played
        assert [one.round_id for one in stats.form] == sorted((one.round_id for one in stats.form), reverse=True)


@pytest.mark.proves("000-L1090")
def test_a_players_statistics_count_what_became_of_the_requests_that_it_was_sent() -> None:
    play = Play(players=4, referees=2).begin()
    events = [
        {"at": 0.1, "what": "E001", "ask": 1},
        {"at": 0.2, "what": "E009", "ask": 1},
        {"at": 0.3, "what": "joined", "ask": 1},
        {"at": 0.4, "what": "E004", "ask": 2},
        {"at": 0.5, "what": "moved", "ask": 2},
        {"at": 0.6, "what": "E001"},
        {"at": 0.7, "what": "something else", "ask": 3},
    ]
    told = {"P01": {"events": events}, "P02": {"events": events[2:3]}}
    play.record("R1M1", won(play.match("R1M1"), "P01", ruling="WIN", evidence={"players": told}))
    requests = {
        player_id: play.query("GET_PLAYER_STATS", **_params(player_id=player_id)).player_stats.requests
        for player_id in play.league.players
    }
    assert requests == {
        "P01": m.RequestCounts(answered=2, timeouts=1, unreachable=1, wrong=1, illegal=1, retried=2, recovered=2),
        "P02": m.RequestCounts(answered=1),
        # Nothing is known of these.
        "P03": UNSET,
        "P04": UNSET,
    }


@pytest.mark.parametrize(
    "evidence", [{}, {"players": 1}, {"players": {"P77": {"events": []}}}, {"players": {"P01": None}}]
)
def test_evidence_that_cannot_be_read_or_is_about_another_player_is_not_counted(evidence: dict[str, Any]) -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", won(play.match("R1M1"), "P01", ruling="WIN", evidence=evidence))
    assert play.league.requests == {}


def test_a_match_that_is_to_be_played_again_counts_in_no_figure(play: Play) -> None:
    assert play.query("GET_PLAYER_STATS", **_params(player_id="P01")).player_stats.form != []
    play.do(commands.rematch(play.league, "R1M1", "appeal", play.now))
    stats = play.query("GET_PLAYER_STATS", **_params(player_id="P01")).player_stats
    assert (stats.played, stats.opponents, stats.choices, stats.form) == (0, [], [], [])


def test_statistics_stay_small_in_a_large_league_and_say_what_was_left_out() -> None:
    play = Play(players=130, referees=10).begin()
    for number, name in enumerate(play.league.matches):
        match = play.league.matches[name]
        # Some are one character longer than what is listed.
        choice = f"{number % 70:𝄞>{50 + (number % 7 == 6)}}"
        result = m.MatchResult(
            winner=None,
            score=dict.fromkeys(match.players, 1),
            details=m.ResultDetails(choices=dict.fromkeys(match.players, choice), status="DRAW"),
        )
        match.end(result, play.now)
    stats = play.query("GET_PLAYER_STATS", **_params(player_id="P130")).player_stats
    assert (len(stats.opponents), stats.opponents_left_out) == (40, 89)
    assert (len(stats.choices), len(stats.form)) == (10, 10)
    assert sum(one.count for one in stats.choices) + stats.choices_left_out == 129
    assert all(len(one.choice) <= 50 for one in stats.choices)
    assert len(encode(stats)) < 9_000


def test_before_the_start_there_is_nothing_to_tell_of_a_player_but_its_row() -> None:
    stats = Play(players=2).query("GET_PLAYER_STATS", **_params(player_id="P01")).player_stats
    assert (stats.played, stats.opponents, stats.choices, stats.form) == (0, [], [], [])


def test_the_status_says_where_the_league_stands(play: Play) -> None:
    assert play.query("GET_STATUS").status == m.LeagueStatus(
        state="RUNNING_LEAGUE",
        current_round=1,
        total_rounds=3,
        matches_played=2,
        total_matches=6,
        players=4,
        referees=2,
    )
    assert Play(players=1).query("GET_STATUS").status == m.LeagueStatus(
        state="WAITING_FOR_REGISTRATIONS",
        current_round=0,
        total_rounds=0,
        matches_played=0,
        total_matches=0,
        players=1,
        referees=0,
    )


@pytest.mark.proves("000-L1167", "004-L0470b", "000-L1093", "000-L1178", "000-L1495")
@pytest.mark.parametrize(
    ("query_type", "field"),
    [
        ("GET_STANDINGS", "standings"),
        ("GET_SCHEDULE", "schedule"),
        ("GET_NEXT_MATCH", "next_match"),
        ("GET_PLAYER_STATS", "player_stats"),
        ("GET_STATUS", "status"),
    ],
)
def test_the_data_have_the_field_that_the_query_asks_for_and_no_other(play: Play, query_type: str, field: str) -> None:
    data = play.query(query_type, **_params(player_id="P01"))
    assert [name for name in data.__struct_fields__ if getattr(data, name)] == [field]


@pytest.mark.proves("000-L1100", "000-L1227", "000-L1179")
@pytest.mark.parametrize("query_type", ["GET_NEXT_MATCH", "GET_PLAYER_STATS"])
def test_a_missing_or_unknown_player_is_explained(play: Play, query_type: str) -> None:
    missing = play.query(query_type)
    assert (missing.error_code, missing.error_name) == ("E003", "MISSING_REQUIRED_FIELD")
    assert "player_id" in missing.error_description
    unknown = play.query(query_type, **_params(player_id="P99"))
    assert (unknown.error_code, unknown.error_name) == ("E005", "PLAYER_NOT_REGISTERED")
    assert "P99" in unknown.error_description


@pytest.mark.proves("000-L1099")
@pytest.mark.parametrize("query_type", ["GET_WEATHER", "get_standings", 7, ["GET_STANDINGS"]])
def test_an_unknown_type_is_refused(play: Play, query_type: Any) -> None:
    with pytest.raises(ProtocolError) as caught:
        play.query(query_type)
    assert rpc_number("league_query", caught.value.code) == (6002, "Invalid query type")


def test_an_unknown_league_is_refused(play: Play) -> None:
    with pytest.raises(ProtocolError) as caught:
        play.query("GET_STANDINGS", league_id="another")
    assert rpc_number("league_query", caught.value.code) == (6003, "League not found")


@pytest.mark.proves("001-L1795")
def test_a_query_changes_nothing(play: Play) -> None:
    before = play.league.digest()
    for query_type in ("GET_STANDINGS", "GET_SCHEDULE", "GET_NEXT_MATCH", "GET_PLAYER_STATS", "GET_STATUS"):
        play.query(query_type, **_params(player_id="P01"))
    assert play.league.digest() == before


def test_a_players_own_record_goes_with_its_matches(play: Play) -> None:
    assert play.league.table.rows["P01"].record == m.OwnRecord(wins=1, losses=0, draws=0, points=3)


def test_a_league_waits_for_a_referee_and_for_the_operator_who_is_told_of_a_few_matches() -> None:
    play = Play(players=14, referees=1)
    assert queries.waits_for(play.league) == []
    play.begin()
    while len(play.league.held) < 7:
        play.assign()
        for name in [*play.league.referees["REF01"].assigned_matches]:
            play.do(commands.void_attempt(play.league, name, None, "a full disk", play.now))
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    referee, operator = queries.waits_for(play.league)
    assert referee == "a referee: none answers"
    assert operator.startswith("the operator: R1M1, R1M2, R1M3, R1M4, R1M5 and 2 more came to nothing too often (")
    assert queries.list_matches(["R10M1", "R2M1"]) == "R2M1, R10M1"
