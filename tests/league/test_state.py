"""The fold: the log alone makes the state, commands change nothing, and what must always hold always does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec import UNSET

from leaguekit.league import commands, queries
from leaguekit.league.commands import Rejected
from leaguekit.league.commands.registration import Applicant
from leaguekit.league.commands.results import MAX_FAILURES, MAX_VOIDS
from leaguekit.league.events import Event, decode, encode
from leaguekit.league.fold import apply, fold
from leaguekit.league.snapshot import restore, save
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError
from tests.league.play import Play, drawn, failed, whole, won


@pytest.mark.proves("003-L0008")
def test_a_league_is_the_fold_of_its_log() -> None:
    play = whole()
    again = fold(decode(line) for line in play.log)
    assert again.digest() == play.league.digest()
    assert queries.standings(again) == queries.standings(play.league)


def test_every_kind_of_event_occurs_and_survives_the_log() -> None:
    events = [decode(line) for line in whole().log + Play(players=3, referees=1, format="swiss").begin().log]
    assert {type(event) for event in events} == set(Event.__args__)
    assert [decode(encode(event)) for event in events] == events


def test_at_every_point_the_log_so_far_makes_the_state_so_far() -> None:
    log = [decode(line) for line in whole().log]
    league = League()
    for number, event in enumerate(log, start=1):
        apply(league, event)
        assert fold(log[:number]).digest() == league.digest()


def test_different_leagues_have_different_digests() -> None:
    play = Play(players=2, referees=1).begin()
    other = Play(players=2, referees=1).begin()
    assert play.league.digest() == other.league.digest()
    play.record("R1M1")
    other.record("R1M1", won(other.match("R1M1"), "P02"))
    assert play.league.digest() != other.league.digest()


def test_what_is_no_event_is_not_applied() -> None:
    with pytest.raises(TypeError, match="not an event"):
        apply(League(), "nonsense")


def test_every_event_carries_its_time() -> None:
    assert all(decode(line).at.endswith("Z") for line in whole().log)


class AnyLeague(RuleBasedStateMachine):
    """Commands in any order: those that are refused change nothing, and the rest keep the league in order."""

    play: Play

    @initialize(
        players=st.integers(2, 5),
        capacities=st.lists(st.integers(1, 3), min_size=1, max_size=3),
        rounds=st.sampled_from(["single", "double"]),
    )
    def create(self, players: int, capacities: list[int], rounds: str) -> None:
        self.play = Play(players=players, rounds=rounds, max_players=6)
        for number, capacity in enumerate(capacities, start=1):
            self.play.referee(number, capacity=capacity)

    def _give(self, command: Any, *arguments: Any, **more: Any) -> list[Event]:
        """Give a command; it must change nothing by itself."""
        before = self.play.league.digest()
        try:
            events = command(self.play.league, *arguments, **more)
        except (ProtocolError, Rejected):
            events = []
        assert self.play.league.digest() == before
        for event in events:
            self._before(event)
            self.play.do([event])
        return events

    def _before(self, event: Event) -> None:
        """What must hold when an event is about to be applied."""
        league = self.play.league
        match type(event).__name__:
            case "RoundCompleted":
                round_ = league.rounds[event.round_id - 1]
                assert all(league.matches[name].result is not None for name in round_.matches)
                summary = queries.round_summary(league, event.round_id)
                assert summary.total_matches == summary.wins + summary.draws + summary.technical_losses
            case "LeagueCompleted":
                assert all(match.result is not None for match in league.matches.values())
                assert all(round_.completed for round_ in league.rounds)
            case "RoundAnnounced":
                assert event.round_id == league.current_round + 1
            case "ResultRecorded":
                assert league.matches[event.match_id].result is None
                assert event.match_id in league.referees[event.referee_id].assigned_matches
            case "MatchAssigned":
                assert not league.paused
                referee = league.referees[event.referee_id]
                assert len(referee.assigned_matches) < referee.capacity
                assert not referee.lost
                assert all(league.players[name].playing is None for name in league.matches[event.match_id].players)

    @rule(number=st.integers(1, 8), known=st.booleans(), data=st.data())
    def register_player(self, number: int, known: bool, data: st.DataObject) -> None:
        more = {"returning_id": data.draw(st.sampled_from(list(self.play.league.players)))} if known else {}
        self._register("player", self.play.player_applicant(number, **more))

    @rule(number=st.integers(1, 4), added=st.booleans(), capacity=st.integers(1, 2), data=st.data())
    def register_referee(self, number: int, added: bool, capacity: int, data: st.DataObject) -> None:
        known = data.draw(st.sampled_from([None, *self.play.league.referees]))
        meta = {"max_concurrent_matches": capacity}
        self._register(
            "referee",
            self.play.referee_applicant(number, meta=meta, returning_id=known, added_by_operator=added),
        )

    def _register(self, role: str, applicant: Applicant) -> None:
        # Each verifier is another token's.
        verifier = len(self.play.log).to_bytes(32)
        command = commands.register_player if role == "player" else commands.register_referee
        self._give(command, applicant, verifier=verifier, key=b"key", at=self.play.now)

    @rule()
    def start(self) -> None:
        self._give(commands.start, self.play.now)

    @rule()
    def announce(self) -> None:
        self._give(commands.announce_round, self.play.now)

    @rule()
    def assign(self) -> None:
        self._give(commands.assign, self.play.now)

    def _match(self, data: st.DataObject, *, in_play: bool = False) -> str:
        names = self.play.in_play if in_play and self.play.in_play else list(self.play.league.matches)
        return data.draw(st.sampled_from(names))

    def _result(self, name: str, data: st.DataObject) -> Any:
        match = self.play.match(name)
        results = [
            won(match, match.a),
            won(match, match.b),
            drawn(match),
            failed(match, match.a),
            failed(match, match.a, match.b, failures=2),
        ]
        return data.draw(st.sampled_from(results))

    @precondition(lambda self: self.play.league.matches)
    @rule(data=st.data(), own=st.booleans())
    def report(self, data: st.DataObject, own: bool) -> None:
        name = self._match(data, in_play=True)
        match = self.play.match(name)
        referee = match.referee_id if own else data.draw(st.sampled_from(list(self.play.league.referees)))
        attempt = data.draw(st.sampled_from([max(1, match.attempt), match.attempt + 1, UNSET]))
        report = self.play.report(name, self._result(name, data), attempt=attempt)
        events = self._give(commands.record_result, report, referee or "REF01", self.play.now)
        if events:
            assert match.referee_id == referee
            assert attempt in (UNSET, match.attempt)

    @precondition(lambda self: self.play.in_play)
    @rule(data=st.data())
    def void(self, data: st.DataObject) -> None:
        match = self.play.match(self._match(data, in_play=True))
        self._give(commands.void_attempt, match.id, match.attempt, "late", self.play.now)

    @rule(data=st.data())
    def lose_referee(self, data: st.DataObject) -> None:
        referee = data.draw(st.sampled_from(list(self.play.league.referees)))
        self._give(commands.referee_lost, referee, "silent", self.play.now)
        assert not self.play.league.referees[referee].assigned_matches

    @rule(data=st.data())
    def find_referee(self, data: st.DataObject) -> None:
        referee = data.draw(st.sampled_from(list(self.play.league.referees)))
        self._give(commands.referee_returned, referee, self.play.now)

    @rule(data=st.data(), count=st.integers(0, 5))
    def note(self, data: st.DataObject, count: int) -> None:
        player = data.draw(st.sampled_from(list(self.play.league.players)))
        if count:
            self._give(commands.note_failures, player, count, self.play.now)
        else:
            self._give(commands.note_answer, player, self.play.now)

    @rule(command=st.sampled_from([commands.pause, commands.resume]))
    def pause(self, command: Any) -> None:
        self._give(command, "because", self.play.now)

    @rule(data=st.data(), command=st.sampled_from([commands.withdraw, commands.disqualify]))
    def leave(self, data: st.DataObject, command: Any) -> None:
        player = data.draw(st.sampled_from(list(self.play.league.players)))
        self._give(command, player, "because", self.play.now)

    @precondition(lambda self: self.play.league.matches)
    @rule(data=st.data())
    def rematch(self, data: st.DataObject) -> None:
        self._give(commands.rematch, self._match(data), "because", self.play.now)

    @precondition(lambda self: self.play.league.matches)
    @rule(data=st.data())
    def correct(self, data: st.DataObject) -> None:
        name = self._match(data)
        self._give(commands.correct, name, self._result(name, data), "because", self.play.now)

    @rule()
    def go_on_from_a_snapshot(self) -> None:
        before = save(self.play.league, len(self.play.log))
        self.play.league, number = restore(before)
        assert number == len(self.play.log)
        assert save(self.play.league, number) == before

    @precondition(lambda self: self.play.league.state == "RUNNING_LEAGUE")
    @rule()
    def play_on(self) -> None:
        """Let the league go on for a while, so that it also comes to its end."""
        self._give(commands.resume, "go on", self.play.now)
        self._give(commands.announce_round, self.play.now)
        self._give(commands.assign, self.play.now)
        for name in self.play.in_play:
            match = self.play.match(name)
            report = self.play.report(name, won(match, match.b))
            self._give(commands.record_result, report, match.referee_id, self.play.now)

    def teardown(self) -> None:
        again = fold(decode(line) for line in self.play.log)
        assert again.digest() == self.play.league.digest()
        # To the letter, and in the order in which everything is kept.
        assert save(again, 1) == save(self.play.league, 1)

    @invariant()
    def every_result_counts_once(self) -> None:
        league = self.play.league
        points: dict[str, int] = dict.fromkeys(league.table.rows, 0)
        played = dict.fromkeys(league.table.rows, 0)
        for match in league.matches.values():
            for player, score in match.result.score.items() if match.result else ():
                points[player] += score
                played[player] += 1
        for name, row in league.table.rows.items():
            assert row.points == points[name] == 3 * row.wins + row.draws
            assert row.played == played[name] == row.wins + row.draws + row.losses
            assert row.technical_losses <= row.losses
            assert sum(row.against.values()) == row.points

    @invariant()
    def agents_are_in_one_of_the_defined_states(self) -> None:
        league = self.play.league
        states = {agent.state for agent in (*league.players.values(), *league.referees.values())}
        assert states <= {"REGISTERED", "ACTIVE", "SUSPENDED", "SHUTDOWN"}
        if league.state == "LEAGUE_COMPLETED":
            assert states == {"SHUTDOWN"}

    @invariant()
    def ranks_are_in_order(self) -> None:
        rows = list(self.play.league.table.standings().values())
        assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
        assert [row.points for row in rows] == sorted((row.points for row in rows), reverse=True)

    @invariant()
    def what_is_kept_at_hand_is_right(self) -> None:
        league = self.play.league
        open_matches = [match for match in league.matches.values() if match.result is None]
        assert league.outstanding == len(open_matches)
        announced = {match.id for match in open_matches if match.round_id <= league.current_round}
        in_play = set(self.play.in_play)
        assert set(league.waiting) | set(league.held) | in_play == announced
        assert len(league.waiting) + len(league.held) + len(in_play) == len(announced)
        assert set(league.held) == {match.id for match in league.matches.values() if match.held}
        assert all(match.voids < MAX_VOIDS or match.held or match.result for match in league.matches.values())
        for player in league.players.values():
            assert list(player.unplayed) == [match.id for match in open_matches if player.id in match.players]
            assert player.playing in (None, *in_play)
            assert (player.state != "SUSPENDED") or player.failures >= MAX_FAILURES
        for round_ in league.rounds:
            results = [league.matches[name].result for name in round_.matches]
            assert round_.remaining == results.count(None)
            assert round_.wins + round_.draws + round_.technical_losses == len(results) - round_.remaining

    @invariant()
    def referees_have_in_hand_what_is_in_play(self) -> None:
        league = self.play.league
        hands = [(name, referee.id) for referee in league.referees.values() for name in referee.assigned_matches]
        assert sorted(hands) == sorted((name, league.matches[name].referee_id) for name in self.play.in_play)

    @invariant()
    def nobody_plays_two_matches_at_once_or_in_a_round(self) -> None:
        league = self.play.league
        playing = [player for name in self.play.in_play for player in league.matches[name].players]
        assert len(playing) == len(set(playing))
        for round_ in league.rounds:
            players = [player for name in round_.matches for player in league.matches[name].players]
            assert len(players) == len(set(players))


TestAnyLeague = pytest.mark.proves("000-L1019", "000-L0445", "000-L0397", "003-L0187")(AnyLeague.TestCase)
TestAnyLeague.settings = settings(stateful_step_count=60)
