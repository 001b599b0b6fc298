"""The course of a league: start, announcement, assignment, the end of a round and of the league."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, structs

from leaguekit.league import commands, queries
from leaguekit.league.events import LeagueCreated, decode
from leaguekit.league.fold import apply
from leaguekit.league.settings import Settings
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import match_numbers, player_id
from leaguekit.protocol.messages import TimeLimits
from tests.league.play import LEAGUE, Play, won


@pytest.mark.proves("001-L1917", "003-L0052", "003-L0061")
def test_a_league_first_waits_for_registrations() -> None:
    play = Play()
    assert play.league.state == "WAITING_FOR_REGISTRATIONS"
    assert isinstance(created := decode(play.log[0]), LeagueCreated)
    assert created.settings == Settings(league_id=LEAGUE)


@pytest.mark.proves("001-L1918", "001-L1919", "003-L0155a", "001-L0358", "003-L0168")
def test_with_the_registrations_closed_the_schedule_is_made_and_the_league_runs() -> None:
    play = Play(players=4, referees=1)
    closed, started = commands.start(play.league, play.now)
    play.do([closed])
    assert play.league.state == "CREATING_SCHEDULE"
    play.do([started])
    assert play.league.state == "RUNNING_LEAGUE"
    assert [len(round_.matches) for round_ in play.league.rounds] == [2, 2, 2]


@pytest.mark.proves("003-L0192", "003-L0198b")
def test_the_start_makes_agents_active() -> None:
    play = Play(players=2, referees=2)
    play.do(commands.referee_lost(play.league, "REF02", "silent", play.now))
    play.start()
    agents = {**play.league.players, **play.league.referees}
    assert {name: agent.state for name, agent in agents.items()} == {
        "P01": "ACTIVE",
        "P02": "ACTIVE",
        "REF01": "ACTIVE",
        "REF02": "SUSPENDED",
    }


@pytest.mark.parametrize(("players", "referees"), [(1, 1), (2, 0), (0, 0)])
def test_a_league_needs_two_players_and_a_referee(players: int, referees: int) -> None:
    with pytest.raises(ProtocolError, match=f"this one has {players} and {referees}"):
        Play(players=players, referees=referees).start()


def test_a_lost_referee_is_none() -> None:
    play = Play(players=2, referees=1)
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    with pytest.raises(ProtocolError, match="this one has 2 and 0"):
        play.start()


def test_a_league_starts_once() -> None:
    with pytest.raises(ProtocolError, match="E058"):
        Play(players=2, referees=1).begin().start()


def test_a_league_with_too_many_matches_is_not_started_and_the_sentence_says_how_many() -> None:
    # As in a log of an older release, which took 10,000 players.
    play = Play(players=1, referees=1, max_players=10_000)
    first = play.league.players["P01"].registered
    for number in range(2, 10_001):
        changes = {"display_name": f"Agent {number}", "contact_endpoint": f"http://10.0.0.7/{number}"}
        meta = structs.replace(first.meta, **changes)
        apply(play.league, structs.replace(first, player_id=player_id(number), meta=meta, verifier=str(number)))
    with pytest.raises(ProtocolError) as refused:
        play.start()
    assert refused.value.detail == (
        "10,000 players would have 49,995,000 matches, and at most 1,000,000 are allowed: withdraw players "
        "(`league withdraw`), and start again."
    )
    assert play.league.is_open


def test_a_league_is_not_started_with_more_matches_than_were_agreed_to() -> None:
    play = Play(players=4, referees=1)
    with pytest.raises(ProtocolError, match="4 players would have 6 matches, and at most 5 are allowed: confirm that"):
        commands.start(play.league, play.now, max_matches=5)
    assert len(commands.start(play.league, play.now, max_matches=6)) == 2


def test_the_schedule_goes_by_ids_and_not_by_who_came_first() -> None:
    play = Play(referees=1)
    for number in (3, 1, 2, 4):
        play.player(number, wanted_id=f"P0{number}")
    play.start()
    assert [play.match(name).players for name in ("R1M1", "R1M2")] == [("P01", "P02"), ("P03", "P04")]


def test_a_double_round_robin_has_twice_the_rounds() -> None:
    play = Play(players=4, referees=1, rounds="double")
    play.begin()
    assert len(play.league.rounds) == 6
    assert play.match("R4M1").players == ("P02", "P01")
    play.play_all()
    assert {row.played for row in queries.standings(play.league)} == {6}


@pytest.mark.proves("003-L0054", "003-L0063", "000-L0369", "003-L0053", "003-L0062", "000-L0360")
def test_matches_are_named_after_their_rounds_which_count_up_from_one() -> None:
    play = Play(players=6, referees=2)
    play.start()
    assert [round_.id for round_ in play.league.rounds] == [1, 2, 3, 4, 5]
    for round_ in play.league.rounds:
        assert [match_numbers(name) for name in round_.matches] == [(round_.id, number) for number in (1, 2, 3)]
    rounds = []
    while play.league.state == "RUNNING_LEAGUE":
        play.announce()
        rounds.append(play.league.current_round)
        play.play_round()
    assert rounds == [1, 2, 3, 4, 5]


@pytest.mark.proves("000-L0396", "003-L0158b", "000-L0323", "000-L0373", "003-L0055")
def test_the_announcement_lists_every_match_of_the_round_with_its_referee() -> None:
    play = Play(players=4, referees=2)
    play.start()
    play.announce()
    first, second = queries.announced_matches(play.league, play.league.rounds[0].matches)
    assert (first.match_id, first.player_A_id, first.player_B_id) == ("R1M1", "P01", "P02")
    assert (first.game_type, first.referee_endpoint) == ("even_odd", "http://localhost:8001/mcp")
    assert (second.match_id, second.referee_endpoint) == ("R1M2", "http://localhost:8002/mcp")
    assert not first.referee_id
    assert not first.player_A_endpoint


def test_the_copy_for_referees_says_who_and_where_everybody_is() -> None:
    play = Play(players=2, referees=1)
    play.start()
    play.announce()
    (match,) = queries.announced_matches(play.league, play.league.rounds[0].matches, to_referees=True)
    assert (match.referee_id, match.player_A_endpoint, match.player_B_endpoint) == (
        "REF01",
        "http://localhost:8101/mcp",
        "http://localhost:8102/mcp",
    )


@pytest.mark.proves("003-L0158c")
def test_matches_are_shared_out_among_referees_by_what_each_takes_at_once() -> None:
    play = Play(players=12)
    play.referee(1, capacity=1)
    play.referee(2, capacity=2)
    play.start()
    play.announce()
    planned = [play.match(name).planned for name in play.league.rounds[0].matches]
    assert sorted(planned) == ["REF01"] * 2 + ["REF02"] * 4


@pytest.mark.proves("001-L0372", "001-L0742", "001-L0645")
def test_a_round_is_announced_when_the_one_before_is_over_and_not_sooner() -> None:
    play = Play(players=4, referees=1)
    assert play.announce() == []
    play.start()
    assert play.announce() == ["RoundAnnounced"]
    assert play.announce() == []
    play.play_round()
    assert play.announce() == ["RoundAnnounced"]
    assert play.league.current_round == 2


def test_no_round_is_announced_without_a_referee_or_after_the_last() -> None:
    play = Play(players=2, referees=1)
    play.start()
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    assert play.announce() == []
    play.do(commands.referee_returned(play.league, "REF01", play.now))
    play.play_all()
    assert play.announce() == []


@pytest.mark.proves("000-L0088", "003-L0026b", "001-L0098")
def test_only_a_registered_referee_is_given_matches() -> None:
    play = Play(players=4, referees=1)
    play.begin()
    assert {play.match(name).referee_id for name in play.in_play} == {"REF01"}


def test_nothing_is_given_out_before_a_round_is_announced() -> None:
    play = Play(players=4, referees=1)
    assert play.assign() == []
    play.start()
    assert play.assign() == []


@pytest.mark.proves("003-L0026a")
def test_a_referee_has_at_most_as_many_matches_as_it_takes_at_once() -> None:
    play = Play(players=10)
    play.referee(1, capacity=1)
    play.referee(2, capacity=3)
    play.begin()
    assert [len(referee.assigned_matches) for referee in play.league.referees.values()] == [1, 3]
    assert play.assign() == []
    assert len(play.league.waiting) == 1


@pytest.mark.proves("001-L1473")
def test_after_its_report_a_referee_gets_the_next_match() -> None:
    play = Play(players=4)
    play.referee(1, capacity=1)
    play.begin()
    assert play.in_play == ["R1M1"]
    play.record("R1M1")
    assert play.assign() == ["R1M2"]


def test_the_planned_referee_is_preferred_and_any_free_one_takes_its_place() -> None:
    play = Play(players=8)
    for number in (1, 2):
        play.referee(number, capacity=1)
    play.begin()
    assert {name: play.match(name).referee_id for name in play.in_play} == {"R1M1": "REF01", "R1M2": "REF02"}
    play.record("R1M2")
    # R1M3 is planned for REF01, which is full.
    assert play.match("R1M3").planned == "REF01"
    play.assign()
    assert play.match("R1M3").referee_id == "REF02"


def test_after_a_void_attempt_a_match_waits_until_another_referee_has_room() -> None:
    play = Play(players=4)
    for number in (1, 2):
        play.referee(number, capacity=1)
    play.begin()
    play.do(commands.void_attempt(play.league, "R1M1", 1, "no route", play.now, outage=True))
    assert play.assign() == []
    play.record("R1M2")
    assert play.assign() == ["R1M1"]
    assert play.match("R1M1").referee_id == "REF02"
    play.do(commands.void_attempt(play.league, "R1M1", 2, "no route", play.now, outage=True))
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    # There is no other.
    assert play.assign() == ["R1M1"]


def test_a_lost_referees_matches_go_to_another() -> None:
    play = Play(players=4, referees=2)
    play.begin()
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    assert play.assign() == ["R1M1"]
    assert (play.match("R1M1").referee_id, play.match("R1M1").attempt) == ("REF02", 2)


@pytest.mark.proves("000-L0444", "001-L1467", "003-L0020")
def test_a_round_is_over_when_its_last_match_has_ended() -> None:
    play = Play(players=4, referees=2).begin()
    assert play.record("R1M2") == ["ResultRecorded"]
    assert play.record("R1M1") == ["ResultRecorded", "RoundCompleted"]


@pytest.mark.proves("001-L1920", "000-L0509", "003-L0198c", "003-L0194", "001-L0894")
def test_after_the_last_round_the_league_is_over_and_the_agents_are_done() -> None:
    play = Play(players=3, referees=2).begin()
    play.play_round()
    play.announce()
    play.play_round()
    play.announce()
    (last,) = play.assign()
    assert play.record(last) == ["ResultRecorded", "RoundCompleted", "LeagueCompleted"]
    assert play.league.state == "LEAGUE_COMPLETED"
    assert {agent.state for agent in (*play.league.players.values(), *play.league.referees.values())} == {"SHUTDOWN"}


@pytest.mark.proves("000-L0445", "000-L0405")
def test_a_rounds_summary_adds_up() -> None:
    play = Play(players=6, referees=2).begin()
    for name in play.in_play:
        play.record(name)
    summary = queries.round_summary(play.league, 1)
    assert summary.total_matches == 3 == summary.wins
    assert (summary.draws, summary.technical_losses) == (0, 0)


@pytest.mark.proves("000-L0433", "000-L0446")
def test_there_is_no_round_after_the_last() -> None:
    play = Play(players=4, referees=1).begin()
    assert [queries.next_round_id(play.league, number) for number in (1, 2, 3)] == [2, 3, None]


@pytest.mark.proves("000-L0510", "000-L0454")
def test_the_champion_is_the_first_of_the_final_standings() -> None:
    play = Play(players=4, referees=2).begin()
    while play.league.state == "RUNNING_LEAGUE":
        play.announce()
        play.assign()
        for name in play.in_play:
            match = play.match(name)
            play.record(name, won(match, max(match.players)))
    champion = queries.champion(play.league)
    assert (champion.player_id, champion.display_name, champion.points) == ("P04", "Agent 4", 9)
    final = queries.final_standings(play.league)
    assert [(row.rank, row.player_id, row.points) for row in final] == [
        (1, "P04", 9),
        (2, "P03", 6),
        (3, "P02", 3),
        (4, "P01", 0),
    ]


def test_a_large_league_is_played_to_its_end() -> None:
    play = Play(players=21, referees=3).begin().play_all()
    assert queries.status(play.league).matches_played == 210
    assert {row.played for row in queries.standings(play.league)} == {20}


def test_the_limits_of_a_league_are_the_specifications_unless_told_otherwise() -> None:
    assert Settings(league_id=LEAGUE).time_limits == TimeLimits(
        join_seconds=5, choice_seconds=30, game_over_seconds=5, max_retries=3, retry_seconds=2, backoff="fixed"
    )
    assert Settings(league_id=LEAGUE, choice_seconds=1.5).time_limits.choice_seconds == 1.5


OWN_TOKEN = {"token_scheme": UNSET}


def test_a_referee_that_begins_on_the_announcement_is_given_all_its_matches_at_once() -> None:
    play = Play(players=8)
    play.referee(1, capacity=1, meta=OWN_TOKEN)
    play.referee(2, capacity=1)
    play.start()
    play.announce()
    assert play.assign() == ["R1M1", "R1M2", "R1M3"]
    given = {match.id: match.referee_id for match in play.league.matches.values() if match.in_play}
    assert given == {"R1M1": "REF01", "R1M2": "REF02", "R1M3": "REF01"}
    # The fourth waits for the second referee. It is not assigned to the first, to which it was not announced.
    play.record("R1M1")
    assert play.assign() == []
    play.record("R1M2")
    assert play.assign() == ["R1M4"]
    assert play.match("R1M4").referee_id == "REF02"


def test_another_attempt_goes_to_a_referee_that_begins_on_the_announcement_last() -> None:
    play = Play(players=2)
    play.referee(1)
    play.referee(2, capacity=10, meta=OWN_TOKEN)
    play.referee(3)
    play.begin()
    for referee in ("REF01", "REF03"):
        assert play.match("R1M1").referee_id == referee
        play.do(commands.referee_lost(play.league, referee, "silent", play.now))
        play.assign()
    assert play.match("R1M1").referee_id == "REF02"


def test_players_are_told_by_what_a_referees_own_token_is_recognised() -> None:
    play = Play(players=2)
    play.referee(1, meta=OWN_TOKEN)
    play.begin()
    (match,) = queries.announced_matches(play.league, ["R1M1"])
    assert match.referee_verifier == play.league.referees["REF01"].registered.verifier


def test_waits_that_double_begin_with_one_second_unless_told_otherwise() -> None:
    doubling = {"league_id": LEAGUE, "backoff": "exponential"}
    chosen = msgspec.convert(doubling, Settings)
    assert (chosen.retry_seconds, chosen.time_limits.retry_seconds) == (1, 1)
    # What is written in the log is what counts, also in logs that were written when 2 was the default.
    assert msgspec.json.decode(msgspec.json.encode(chosen), type=Settings) == chosen
    assert msgspec.convert(doubling | {"retry_seconds": 2.0}, Settings).time_limits.retry_seconds == 2
    with pytest.raises(msgspec.ValidationError, match="retry_seconds"):
        msgspec.convert(doubling | {"retry_seconds": -1.0}, Settings)
