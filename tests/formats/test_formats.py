"""The kit for authors of formats, the texts of ``--format``, and schedules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from leaguekit.formats import FORMATS, find_format, parse_call, parse_format
from leaguekit.formats.base import Ended, Format, FormatError, NextRound, PairingEngine, Tournament
from leaguekit.formats.gauntlet import Gauntlet
from leaguekit.formats.round_robin import RoundRobin
from leaguekit.formats.swiss import Swiss
from leaguekit.formats.testing import check_format, play_tournament
from leaguekit.manager.rounds.pairing_engine import Py4Swiss


class TestTexts:
    def test_the_four_formats_are_found(self) -> None:
        assert {*FORMATS} == {"gauntlet", "knockout", "round_robin", "swiss"}

    @pytest.mark.parametrize(
        ("text", "wanted"),
        [
            ("swiss", "swiss"),
            ("swiss()", "swiss"),
            (" swiss ( rounds = 5 ) ", "swiss(rounds=5)"),
            ("swiss(rounds=auto)", "swiss"),
            ("swiss(rounds='auto')", "swiss"),
            ("round_robin(legs=1)", "round_robin"),
            ("round_robin(legs=2)", "round_robin(legs=2)"),
            ("knockout(third_place=true,best_of=3)", "knockout(best_of=3, third_place=True)"),
            ("knockout(third_place=false)", "knockout"),
            ("gauntlet(challengers=2, legs=2)", "gauntlet(challengers=2, legs=2)"),
        ],
    )
    def test_a_text_is_a_format_with_arguments(self, text: str, wanted: str) -> None:
        made = parse_format(text)
        assert str(made) == wanted
        assert str(parse_format(str(made))) == wanted

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("swis", "there is no format 'swis'; did you mean 'swiss'?"),
            ("ladder_of_fame", "there is no format 'ladder_of_fame'; the formats are gauntlet, "),
            ("swiss(5)", r"a format is written as NAME or NAME\(ARGUMENT=VALUE, …\), got '5'"),
            ("swiss(rounds=5", "a format is written as"),
            ("swiss(rounds=5) + 1", "a format is written as"),
            ("swiss(rounds=f(1))", r"rounds must be from 1 to 99, got 'f\(1\)'"),
            ("swiss(rounds=5, rounds=6)", "a format is written as .*, got ' rounds=6'"),
            ("swiss(**x)", "a format is written as"),
            ("swiss(round=5)", "swiss has no argument 'round'; its arguments are rounds"),
            ("swiss(rounds=0)", "rounds must be from 1 to 99, got 0"),
            ("swiss(rounds=True)", "rounds must be from 1 to 99, got True"),
            ("swiss(rounds=many)", "rounds must be from 1 to 99, got 'many'"),
            ("round_robin(legs=3)", "legs must be 1 or 2, got 3"),
            ("knockout(best_of=2)", "best_of must be 1, 3, 5, 7 or 9, got 2"),
            ("knockout(third_place=7)", "third_place must be true or false, got 7"),
            ("gauntlet(challengers='x')", "challengers must be from 1 to 100, got 'x'"),
        ],
    )
    def test_a_wrong_text_is_refused_with_a_remedy(self, text: str, why: str) -> None:
        with pytest.raises(FormatError, match=why):
            parse_format(text)
        assert find_format(text) is None

    def test_a_format_without_arguments_says_so(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(FORMATS, "plain", Plain)
        with pytest.raises(FormatError, match="plain has no argument 'x'; it has no arguments"):
            parse_format("plain(x=1)")
        assert parse_call("my.py:Plain(x=1)") == ("my.py:Plain", {"x": 1})


class Plain(Format):
    """The first two players meet, once."""

    name = "plain"
    max_players = 4

    @property
    def advancement(self) -> str:
        return "The winner has won."

    def ended(self, tournament: Tournament) -> Ended | None:
        return Ended("Over.", []) if tournament.rounds else None

    def pair_next_round(self, tournament: Tournament, engine: PairingEngine | None = None) -> NextRound:
        return NextRound([tournament.entrants[:2]], [], "", [])  # type: ignore[list-item]


class TestKit:
    def test_it_passes_a_sound_format(self) -> None:
        check_format(Plain())
        assert Plain().player_count_error(5) == "plain has at most 4 players, not 5"
        assert (Plain().full_schedule(["P01"]), Plain().total_rounds(2)) == (None, None)
        empty = Tournament((), ())
        assert Plain().objection(empty, empty) is None

    @pytest.mark.parametrize(
        ("drawn", "why"),
        [
            (NextRound([], ["P01"], "", []), "has no pair"),
            (NextRound([("P01", "P01")], [], "", []), "has a player twice"),
            (NextRound([("P01", "P02")], ["P02"], "", []), "has a player twice"),
            (NextRound([("P01", "P77")], [], "", []), "has an unknown player"),
            (NextRound([("P01", "P02")], [], "", ["P01"]), "its ranking is not of all players"),
        ],
    )
    def test_it_names_what_is_wrong_with_a_round(
        self, drawn: NextRound, why: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(Plain, "pair_next_round", lambda *_: drawn)
        with pytest.raises(AssertionError, match=why):
            check_format(Plain(), [3])

    @pytest.mark.parametrize(
        ("ended", "why"),
        [
            (lambda _self, _one: None, "does not end"),
            (lambda _self, _one: Ended("Over.", []), "ends before its first round"),
            (lambda _self, one: Ended("", []) if one.rounds else None, "ends without a reason"),
            (lambda _self, one: Ended("Over.", ["P01"]) if one.rounds else None, "its ranking is not of all"),
        ],
    )
    def test_it_names_what_is_wrong_with_the_end(self, ended: Any, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("leaguekit.formats.testing.MAX_ROUNDS", 20)
        monkeypatch.setattr(Plain, "ended", ended)
        with pytest.raises(AssertionError, match=why):
            check_format(Plain(), [3])

    def test_two_draws_of_a_round_must_be_equal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pairs = iter([[("P01", "P02")], [("P02", "P01")]])
        monkeypatch.setattr(Plain, "pair_next_round", lambda *_: NextRound(next(pairs), [], "", []))
        with pytest.raises(AssertionError, match="two draws of round 1 differ"):
            check_format(Plain(), [2])

    def test_a_schedule_must_be_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Plain, "full_schedule", lambda *_: [[("P02", "P01")]])
        with pytest.raises(AssertionError, match="round 1 is not that of the schedule"):
            check_format(Plain(), [2])


SCHEDULED = (RoundRobin(), RoundRobin(2), Gauntlet(), Gauntlet(3, 2), Gauntlet(2))


@pytest.mark.parametrize("made", SCHEDULED, ids=str)
def test_a_schedule_is_sound(made: RoundRobin | Gauntlet) -> None:
    check_format(made, range(2, 12), seeds=range(1))
    for size in range(2, 12):
        if made.player_count_error(size) is None:
            rounds = made.full_schedule([f"P{number:02}" for number in range(size)])
            assert made.match_count(size) == sum(map(len, rounds))
            assert made.total_rounds(size) == len(rounds)


def test_in_a_gauntlet_the_challengers_meet_everybody_and_the_others_only_them() -> None:
    players = [f"P{number:02}" for number in range(9)]
    for challengers, legs in ((1, 1), (3, 1), (8, 1), (2, 2)):
        rounds = Gauntlet(challengers, legs).full_schedule(players)
        met = Counter(frozenset(pair) for pairs in rounds for pair in pairs)
        wanted = {frozenset((one, other)) for one in players[:challengers] for other in players if one != other}
        assert met == Counter(dict.fromkeys(wanted, legs))
        sides = Counter(a for pairs in rounds for a, _ in pairs)
        assert all(abs(2 * sides[one] - legs * 8) <= legs * (1 + challengers // 2) for one in players[:challengers])
    assert Gauntlet(3).player_count_error(3) == "a gauntlet of 3 challengers needs more than 3 players"
    assert "Each of the first 3" in Gauntlet(3).advancement
    assert "once" in Gauntlet().advancement


def test_a_repetition_happens_only_when_it_must() -> None:
    """Two players are left after a round of three, and have met."""
    tournament, _, drawn = play_tournament(Swiss(), 3, 3, engine=Py4Swiss())
    assert "P03" in tournament.out
    assert [{*one.pairs[0]} for one in drawn] == [{"P01", "P02"}] * 2
