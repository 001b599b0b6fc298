"""The kit for authors of formats, the texts of ``--format``, and the four formats in random tournaments."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leaguekit.formats import FORMATS, find_format, parse_call, parse_format
from leaguekit.formats.base import Drawn, Ended, Format, FormatError, PairingEngine, Tournament
from leaguekit.formats.gauntlet import Gauntlet
from leaguekit.formats.knockout import Knockout
from leaguekit.formats.round_robin import RoundRobin
from leaguekit.formats.swiss import Swiss
from leaguekit.formats.testing import check_format, play_tournament
from leaguekit.manager.pairing_engine import Py4Swiss


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
        return "Whoever wins has won."

    def ended(self, tournament: Tournament) -> Ended | None:
        return Ended("Over.", []) if tournament.rounds else None

    def draw(self, tournament: Tournament, engine: PairingEngine | None = None) -> Drawn:
        return Drawn([tournament.entrants[:2]], [], "", [])  # type: ignore[list-item]


class TestKit:
    def test_it_passes_a_sound_format(self) -> None:
        check_format(Plain())
        assert Plain().fault(5) == "plain has at most 4 players, not 5"
        assert (Plain().whole(["P01"]), Plain().total_rounds(2)) == (None, None)
        empty = Tournament((), ())
        assert Plain().objection(empty, empty) is None

    @pytest.mark.parametrize(
        ("drawn", "why"),
        [
            (Drawn([], ["P01"], "", []), "has no pair"),
            (Drawn([("P01", "P01")], [], "", []), "has a player twice"),
            (Drawn([("P01", "P02")], ["P02"], "", []), "has a player twice"),
            (Drawn([("P01", "P77")], [], "", []), "has an unknown player"),
            (Drawn([("P01", "P02")], [], "", ["P01"]), "its ranking is not of all players"),
        ],
    )
    def test_it_names_what_is_wrong_with_a_round(self, drawn: Drawn, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Plain, "draw", lambda *_: drawn)
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
        monkeypatch.setattr(Plain, "draw", lambda *_: Drawn(next(pairs), [], "", []))
        with pytest.raises(AssertionError, match="two draws of round 1 differ"):
            check_format(Plain(), [2])

    def test_a_schedule_must_be_followed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(Plain, "whole", lambda *_: [[("P02", "P01")]])
        with pytest.raises(AssertionError, match="round 1 is not that of the schedule"):
            check_format(Plain(), [2])


SCHEDULED = (RoundRobin(), RoundRobin(2), Gauntlet(), Gauntlet(3, 2), Gauntlet(2))


@pytest.mark.parametrize("made", SCHEDULED, ids=str)
def test_a_schedule_is_sound(made: RoundRobin | Gauntlet) -> None:
    check_format(made, range(2, 12), seeds=range(1))
    for size in range(2, 12):
        if made.fault(size) is None:
            rounds = made.whole([f"P{number:02}" for number in range(size)])
            assert made.match_count(size) == sum(map(len, rounds))
            assert made.total_rounds(size) == len(rounds)


def test_in_a_gauntlet_the_challengers_meet_everybody_and_the_others_only_them() -> None:
    players = [f"P{number:02}" for number in range(9)]
    for challengers, legs in ((1, 1), (3, 1), (8, 1), (2, 2)):
        rounds = Gauntlet(challengers, legs).whole(players)
        met = Counter(frozenset(pair) for pairs in rounds for pair in pairs)
        wanted = {frozenset((one, other)) for one in players[:challengers] for other in players if one != other}
        assert met == Counter(dict.fromkeys(wanted, legs))
        sides = Counter(a for pairs in rounds for a, _ in pairs)
        assert all(abs(2 * sides[one] - legs * 8) <= legs * (1 + challengers // 2) for one in players[:challengers])
    assert Gauntlet(3).fault(3) == "a gauntlet of 3 challengers needs more than 3 players"
    assert "Each of the first 3" in Gauntlet(3).advancement
    assert "once" in Gauntlet().advancement


@settings(max_examples=300, deadline=None)
@given(st.integers(2, 40), st.integers(0, 10**6), st.sampled_from((1, 3)), st.booleans())
def test_a_knockout_has_one_decided_pairing_less_than_players(
    size: int, seed: int, best_of: int, third_place: bool
) -> None:
    made = Knockout(best_of, third_place)
    tournament, ended, drawn = play_tournament(made, size, seed)
    ties = [tie for stage in made.stages(tournament) for tie in stage.ties]
    has_third_place = third_place and size >= 4
    assert len(ties) == size - 1 + has_third_place
    assert len({frozenset(tie.players) for tie in ties}) == len(ties)
    losers = Counter(tie.loser for tie in (ties[:-1] if has_third_place else ties))
    assert losers == Counter(set(tournament.entrants) - {ended.ranking[0]}), "everybody but the champion loses once"
    for tie in ties:
        assert len(tie.games) <= best_of + 1
        # The sides are swapped from game to game.
        assert all(one.a == other.b for one, other in zip(tie.games, tie.games[1:], strict=False))
    final = made.stages(tournament)[-1].ties[0]
    assert ended.ranking[:2] == [final.winner, final.loser]
    if has_third_place:
        assert ended.ranking[2:4] == [ties[-1].winner, ties[-1].loser]
    assert all(not one.byes for one in drawn), "a rest in a knockout is not a win"


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 20), st.integers(0, 10**6))
def test_in_a_swiss_the_sides_and_the_byes_are_even(size: int, seed: int) -> None:
    """FIDE, C.04.1.4, C.04.1.6 and C.04.1.7."""
    tournament, _, _ = play_tournament(Swiss(), size, seed, engine=Py4Swiss(), withdrawals=False)
    byes = Counter(player for past in tournament.rounds for player in past.byes)
    assert max(byes.values(), default=0) <= 1
    assert all(len(past.byes) == size % 2 for past in tournament.rounds)
    for player in tournament.entrants:
        sides = [
            game.a == player
            for past in tournament.rounds
            for game in past.games
            if not game.forfeit and player in (game.a, game.b)
        ]
        # For players in the lead, the last round is an exception.
        before = sides[:-1]
        assert abs(2 * sum(before) - len(before)) <= 2
        assert not any(len({*before[start : start + 3]}) == 1 for start in range(len(before) - 2))


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 16), st.integers(0, 10**9), st.integers(1, 9))
def test_in_a_swiss_players_meet_again_only_if_there_is_no_other_way(size: int, seed: int, rounds: int) -> None:
    """FIDE, C.04.1.2."""
    _check_meetings(size, seed, rounds)


@pytest.mark.long
@settings(max_examples=2_000, deadline=None)
@given(st.integers(2, 14), st.integers(0, 10**9), st.integers(1, 9))
def test_in_thousands_of_swiss_tournaments_they_do_not_meet_again_either(size: int, seed: int, rounds: int) -> None:
    _check_meetings(size, seed, rounds)


def _check_meetings(size: int, seed: int, rounds: int) -> None:
    made = Swiss(rounds)
    if made.fault(size) is not None:
        return
    tournament, _, _ = play_tournament(made, size, seed, engine=Py4Swiss())
    met: set[frozenset[str]] = set()
    had_bye: Counter[str] = Counter()
    for number, past in enumerate(tournament.rounds):
        pairs = [frozenset((game.a, game.b)) for game in past.games]
        if met & {*pairs}:
            players = sorted({player for pair in pairs for player in pair} | past.byes.keys())
            fewest = min(had_bye[player] for player in players)
            resting = [player for player in players if had_bye[player] == fewest] if len(players) % 2 else [""]
            for bye in resting:
                assert not _can_pair([one for one in players if one != bye], met), f"round {number + 1}"
        met |= {frozenset((game.a, game.b)) for game in past.games if not game.forfeit}
        had_bye.update([*past.byes])


def _can_pair(players: list[str], met: set[frozenset[str]]) -> bool:
    """Whether these players can be paired so that nobody meets anybody again."""
    if not players:
        return True
    first, *others = players
    return any(
        frozenset((first, other)) not in met and _can_pair([one for one in others if one != other], met)
        for other in others
    )


def test_a_repetition_happens_only_when_it_must() -> None:
    """Two players are left after a round of three, and have met."""
    tournament, _, drawn = play_tournament(Swiss(), 3, 3, engine=Py4Swiss())
    assert "P03" in tournament.out
    assert [{*one.pairs[0]} for one in drawn] == [{"P01", "P02"}] * 2
