"""Leagues whose format draws the rounds: draws, byes, corrections, the table, the audit, and what agents are told."""

from __future__ import annotations

import msgspec
import pytest
from msgspec import UNSET, structs

from leaguekit.formats import FORMATS
from leaguekit.formats.base import Format, NextRound
from leaguekit.formats.knockout import Knockout
from leaguekit.league import commands, queries
from leaguekit.league import events as e
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.commands.tournaments import draws_more
from leaguekit.league.fold import fold
from leaguekit.league.sentences import describe_event
from leaguekit.league.settings import Settings, format_fault, plain_format
from leaguekit.league.snapshot import restore, save
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.messages import NextMatch
from tests.league.play import LEAGUE, Play, drawn, failed, won

FORMAT_TEXTS = ("swiss", "knockout", "knockout(best_of=3, third_place=True)", "gauntlet", "round_robin")


def audited(log: list[bytes], *, engine: bool = True) -> Audit:
    audit = Audit(Py4Swiss() if engine else None)
    for number, line in enumerate(log, start=1):
        audit.take(number, line)
    audit.close()
    return audit


def findings(log: list[bytes], **options: bool) -> list[str]:
    return [str(finding) for finding in audited(log, **options).findings]


def replaced(log: list[bytes], kind: type[e.Event], number: int, **changes: object) -> list[bytes]:
    """The log with other fields in one event of a kind."""
    places = [place for place, line in enumerate(log) if isinstance(e.decode(line), kind)]
    place = places[number]
    event = structs.replace(e.decode(log[place]), **changes)
    return [*log[:place], e.encode(event), *log[place + 1 :]]


@pytest.mark.proves("000-L0397", "000-L0398", "000-L0492", "000-L0511", "000-L1019")
@pytest.mark.parametrize("text", FORMAT_TEXTS)
@pytest.mark.parametrize("players", [2, 5])
def test_a_league_in_each_format_ends_and_its_log_holds(text: str, players: int) -> None:
    play = Play(players=players, referees=2, format=text, seed_hex="ab" * 32)
    play.begin().play_all()
    assert findings(play.log) == []
    assert play.league.state == "LEAGUE_COMPLETED"
    ranks = [(row.rank, row.player_id) for row in queries.standings(play.league)]
    assert [rank for rank, _ in ranks] == [*range(1, players + 1)]
    assert all(row.played == row.wins + row.draws + row.losses for row in queries.standings(play.league))
    for round_ in play.league.rounds:
        playing = [player for name in round_.matches for player in play.match(name).players]
        assert len(set(playing)) == len(playing)
    assert fold(map(e.decode, play.log)).digest() == play.league.digest()


@pytest.mark.parametrize("text", ["swiss", "knockout(best_of=3)"])
def test_after_a_crash_at_any_event_the_same_round_is_drawn(text: str) -> None:
    play = Play(players=7, referees=2, format=text, seed_hex="cd" * 32)
    play.begin().play_all()
    events = [e.decode(line) for line in play.log]
    draws = 0
    for number, event in enumerate(events):
        if isinstance(event, e.RoundDrawn):
            again = Play(format=text)
            again.league, again.log = fold(events[:number]), play.log[:number]
            restored, _ = restore(save(again.league, number))
            assert restored.digest() == again.league.digest()
            again.settings, again.league = again.league.settings, restored
            again.draw()
            assert e.decode(again.log[-1]) == structs.replace(event, at=e.decode(again.log[-1]).at)
            draws += 1
    assert draws >= 3


@pytest.mark.parametrize(
    ("text", "first", "names"),
    [
        ("round_robin", "round 1 of 5", ["round 4 of 5", "round 5 of 5"]),
        ("gauntlet", "round 1 of 4", ["round 3 of 4", "round 4 of 4"]),
        ("swiss", "round 1 of 3", ["round 2 of 3", "round 3 of 3"]),
        ("knockout", "round 1, Quarter-finals", ["round 2, Semi-finals", "round 3, Final"]),
        (
            "knockout(best_of=3)",
            "round 1, Quarter-finals, game 1",
            ["round 8, Final, game 2", "round 9, Final, game 3"],
        ),
    ],
)
def test_a_round_is_called_by_its_label_and_of_how_many_only_where_that_is_known(
    text: str, first: str, names: list[str]
) -> None:
    play = Play(players=5, referees=3, format=text)
    assert commands.describe_round(play.league, 0) == "round 0 of 0"
    play.begin()
    assert commands.describe_round(play.league, 1) == first
    play.play_all()
    total = len(play.league.rounds)
    assert [commands.describe_round(play.league, number) for number in (total - 1, total)] == names


class TestSwiss:
    def test_a_bye_counts_as_a_win_when_the_round_is_over(self) -> None:
        """FIDE, C.04.1.3."""
        play = Play(players=3, referees=1, format="swiss").begin()
        (bye,) = play.league.rounds[0].byes
        assert play.points()[bye] == 0
        play.record("R1M1")
        row = play.league.table.rows[bye]
        assert (row.played, row.wins, row.points, row.byes, row.against) == (1, 1, 3, 1, {})
        assert sum(play.points().values()) == 6

    def test_buchholz_is_the_points_of_all_opponents_and_own_points_for_a_round_without_a_game(self) -> None:
        play = Play(players=5, referees=2, format="swiss(rounds=3)").begin().play_all()
        assert play.league.settings.tie_breaks[0] == "buchholz"
        points = play.points()
        for row in play.league.table.placed_rows():
            games = [
                match.opponent_of(row.player_id)
                for match in play.league.matches.values()
                if row.player_id in match.players
            ]
            own = (3 - len(games)) * row.points
            assert row.buchholz == sum(points[one] for one in games) + own
        assert findings(play.log) == []

    def test_a_technical_loss_is_a_forfeit_and_the_pair_may_meet_again(self) -> None:
        """FIDE, C.04.2.3.5."""
        play = Play(players=4, referees=2, format="swiss(rounds=3)").begin()
        play.record("R1M1", failed(play.match("R1M1"), play.match("R1M1").b))
        play.record("R1M2", failed(play.match("R1M2"), *play.match("R1M2").players))
        games = commands.tournament(play.league).rounds[0].games
        assert [(game.points, game.forfeit) for game in games] == [((3, 0), True), ((0, 0), True)]
        assert [row.unplayed for row in play.league.table.rows.values()] == [1, 1, 1, 1]
        play.play_all()
        assert findings(play.log) == []

    def test_who_has_left_is_not_paired_and_who_comes_back_is(self) -> None:
        """FIDE, C.04.2.3.2."""
        play = Play(players=6, referees=3, format="swiss(rounds=4)").begin()
        play.do(commands.withdraw(play.league, "P01", "ill", play.now))
        play.play_round()
        play.draw()
        absent = play.league.rounds[1]
        assert not any("P01" in play.match(name).players for name in absent.matches)
        assert len(absent.byes) == 1
        play.announce()
        play.play_round()
        play.do(commands.readmit(play.league, "P01", "well", play.now))
        play.draw()
        assert any("P01" in play.match(name).players for name in play.league.rounds[2].matches)
        play.play_all()
        assert findings(play.log) == []

    def test_a_late_player_is_paired_from_the_next_draw_on_and_has_lost_the_rounds_before(self) -> None:
        play = Play(players=8, referees=4, format="swiss(rounds=4)", seeding="lot", seed_hex="ef" * 32).begin()
        play.play_round()
        play.draw()
        play.announce()
        # The second round is in play. The first one counts as an absence at once, the second one at its end.
        late = play.player(9, added_by_operator=True)
        assert (play.league.seeding[-1], play.league.players[late].state) == (late, "ACTIVE")
        assert (play.league.table.rows[late].unplayed, play.league.starters) == (1, 8)
        play.play_round()
        assert play.league.table.rows[late].unplayed == 2
        play.draw()
        third = play.league.rounds[2]
        assert late in {player for name in third.matches for player in play.match(name).players} | {*third.byes}
        assert len(third.matches) == 4
        play.play_all()
        assert len(play.league.rounds) == 4
        assert findings(play.log) == []
        assert fold(map(e.decode, play.log)).digest() == play.league.digest()
        restored, _ = restore(save(play.league, len(play.log)))
        assert restored.digest() == play.league.digest()

    def test_a_player_that_left_before_the_start_comes_back_as_a_late_player(self) -> None:
        play = Play(players=5, referees=2, format="swiss(rounds=3)")
        play.do(commands.withdraw(play.league, "P02", "ill", play.now))
        play.begin().play_round()
        assert play.league.seeding == ["P01", "P03", "P04", "P05"]
        play.do(commands.readmit(play.league, "P02", "well", play.now))
        assert (play.league.seeding[-1], play.league.table.rows["P02"].unplayed) == ("P02", 1)
        play.draw()
        second = play.league.rounds[1]
        assert "P02" in {player for name in second.matches for player in play.match(name).players} | {*second.byes}
        play.play_all()
        assert findings(play.log) == []
        assert restore(save(play.league, len(play.log)))[0].digest() == play.league.digest()

    def test_after_the_last_draw_it_does_not_come_back(self) -> None:
        play = Play(players=5, referees=2, format="swiss(rounds=1)")
        play.do(commands.withdraw(play.league, "P02", "ill", play.now))
        play.begin()
        with pytest.raises(ProtocolError, match="P02 left before the start, and the last round is drawn"):
            commands.readmit(play.league, "P02", "well", play.now)
        returned = e.encode(e.PlayerReadmitted(at=play.now, player_id="P02", reason="well"))
        assert "the return of a player that is in the schedule" in findings([*play.log, returned])[0]

    @pytest.mark.parametrize(
        ("seeding", "seeds", "wanted"),
        [
            ("rating", {"Agent 2": 1700, "Agent 5": 1600, "Agent 1": 1600, "Agent 3": 1500}, 3),
            ("rating", {"Agent 2": 1700, "Agent 1": 1600}, 5),
            ("file", {"Agent 4": 1, "Agent 5": 2, "Agent 1": 3}, 2),
            ("lot", {}, 5),
        ],
    )
    def test_a_late_player_gets_the_place_of_its_rating(
        self, seeding: str, seeds: dict[str, float], wanted: int
    ) -> None:
        """FIDE, C.04.2.2.4."""
        play = Play(players=4, referees=2, format="swiss(rounds=3)", seeding=seeding, seeds=seeds or UNSET)
        play.begin()
        late = play.player(5, added_by_operator=True)
        assert play.league.seeding.index(late) + 1 == wanted
        play.play_all()
        assert findings(play.log) == []

    @pytest.mark.proves("000-L0303", "000-L1231")
    def test_nobody_else_comes_in_late(self) -> None:
        play = Play(players=4, referees=2, format="swiss(rounds=2)").begin()
        with pytest.raises(commands.Rejected, match=r"E019 Registration closed - league already started$"):
            play.player(5)
        play.play_round()
        play.draw()
        with pytest.raises(commands.Rejected, match=r"E019 .*: the last round is drawn"):
            play.player(5, added_by_operator=True)
        play.play_all()
        with pytest.raises(commands.Rejected, match=r"E019 .*: the last round is drawn"):
            play.player(5, added_by_operator=True)
        for text in ("knockout", "round_robin"):
            other = Play(players=4, referees=2, format=text).begin()
            with pytest.raises(commands.Rejected, match=rf"E019 .*: the format {text} takes nobody after the start"):
                other.player(5, added_by_operator=True)

    def test_a_late_player_that_the_operator_did_not_add_or_that_is_one_too_many_is_a_finding(self) -> None:
        play = Play(players=4, referees=2, format="swiss(rounds=3)").begin()
        play.player(5, added_by_operator=True)
        place = len(play.log) - 1
        registered = e.decode(play.log[place])
        assert isinstance(registered, e.PlayerRegistered)
        forged = [*play.log[:place], e.encode(structs.replace(registered, by_operator=False))]
        assert "no new players after the start" in findings(forged)[0]
        # A format that is not known here cannot be judged.
        unknown = replaced(
            play.log, e.LeagueCreated, 0, settings=Settings(league_id=LEAGUE, format="missing.py:Format")
        )
        assert not any("no new players" in one for one in findings(unknown))

    def test_it_ends_when_fewer_than_two_are_left(self) -> None:
        play = Play(players=3, referees=1, format="swiss").begin()
        for player in ("P01", "P02"):
            play.do(commands.withdraw(play.league, player, "ill", play.now))
        play.play_round()
        assert play.draw() == ["LeagueCompleted"]
        assert play.league.end_reason == "Fewer than two players are left."
        assert findings(play.log) == []

    def test_a_correction_after_the_next_draw_changes_the_table_only(self) -> None:
        play = Play(players=4, referees=2, format="swiss(rounds=2)").begin()
        play.play_round()
        play.draw()
        pairs = [play.match(name).players for name in play.league.rounds[1].matches]
        loser = play.match("R1M1").b
        play.do(commands.correct(play.league, "R1M1", won(play.match("R1M1"), loser), "wrong", play.now))
        assert play.points()[loser] == 3
        assert [play.match(name).players for name in play.league.rounds[1].matches] == pairs
        play.play_all()
        assert findings(play.log) == []

    def test_a_correction_before_the_next_draw_changes_the_pairings(self) -> None:
        play = Play(players=4, referees=2, format="swiss(rounds=2)").begin()
        play.play_round()
        play.do(commands.pause(play.league, "check", play.now))
        assert not commands.needs_draw(play.league)
        match = play.match("R1M1")
        play.do(commands.correct(play.league, "R1M1", won(match, match.b), "wrong", play.now))
        play.do(commands.resume(play.league, "go on", play.now))
        play.draw()
        winners = {match.b, play.match("R1M2").a}
        assert winners in [set(play.match(name).players) for name in play.league.rounds[1].matches]

    def test_a_match_that_is_played_again_delays_the_draw(self) -> None:
        play = Play(players=4, referees=2, format="swiss(rounds=2)").begin()
        play.play_round()
        play.do(commands.rematch(play.league, "R1M1", "again", play.now))
        assert not commands.needs_draw(play.league)
        assert play.draw() == []
        play.assign()
        play.record("R1M1")
        assert play.draw() == ["RoundDrawn"]

    @pytest.mark.parametrize(
        ("players", "text", "why"),
        [
            (4, "swiss(rounds=4)", "a Swiss of 4 players has at most 3 rounds, not 4: nobody meets twice"),
            (2, "gauntlet(challengers=2)", "a gauntlet of 2 challengers needs more than 2 players"),
            (2, "missing.py:Format", "there is no format 'missing.py:Format'"),
        ],
    )
    def test_a_start_that_the_format_does_not_allow_is_refused(self, players: int, text: str, why: str) -> None:
        play = Play(players=players, referees=1, format=text)
        with pytest.raises(ProtocolError, match=why):
            play.start()
        assert play.league.is_open

    def test_above_400_players_a_sentence_says_why_not(self) -> None:
        made = Settings(league_id=LEAGUE, format="swiss").known_format
        assert made is not None
        assert made.player_count_error(400) is None
        assert "at most 400 players, not 1,000: the pairing engine takes 5 seconds" in str(
            made.player_count_error(1_000)
        )


class TestKnockout:
    def test_a_tie_is_decided_by_one_more_game_and_then_by_a_lot(self) -> None:
        play = Play(players=2, referees=1, format="knockout", seed_hex="12" * 32).begin()
        play.record("R1M1", drawn(play.match("R1M1")))
        play.draw()
        assert play.league.rounds[1].label == "Final, deciding game"
        first, second = play.match("R1M1"), play.match("R2M1")
        assert (second.a, second.b) == (first.b, first.a), "the sides are swapped"
        play.announce()
        play.assign()
        play.record("R2M1", drawn(play.match("R2M1")))
        assert play.draw() == ["LeagueCompleted"]
        assert play.league.end_reason.endswith("by the league's lot.")
        champions = set()
        for seed in range(20):
            other = Play(players=2, referees=1, format="knockout", seed_hex=f"{seed:064x}").begin()
            other.record("R1M1", drawn(other.match("R1M1")))
            other.draw()
            other.announce()
            other.assign()
            other.record("R2M1", drawn(other.match("R2M1")))
            other.draw()
            assert findings(other.log) == []
            champions.add(queries.champion(other.league).player_id)
        assert champions == {"P01", "P02"}, "the lot depends on the seed"

    def test_the_champion_is_the_winner_of_the_final_whatever_the_points(self) -> None:
        play = Play(players=3, referees=1, format="knockout(third_place=True)").begin()
        # The first of the seeding rests, and wins one match only.
        assert play.match("R1M1").players == ("P02", "P03")
        play.record("R1M1", drawn(play.match("R1M1")))
        play.play_all()
        first = queries.champion(play.league).player_id
        final = list(play.league.matches.values())[-1]
        assert first == final.a
        assert next(row.player_id for row in play.league.table.placed_rows()) == first
        assert all(row.decided_by is None for row in play.league.table.placed_rows())
        assert findings(play.log) == []

    def test_a_correction_that_lets_another_player_advance_is_refused(self) -> None:
        play = Play(players=4, referees=2, format="knockout").begin()
        play.play_round()
        match = play.match("R1M1")
        other = won(match, match.b)
        # Before the next draw it may still change.
        before = commands.correct(play.league, "R1M1", other, "wrong", play.now)
        assert [type(event).__name__ for event in before] == ["ResultCorrected"]
        play.draw()
        why = f"{match.a} has advanced against {match.b}, and a later round is drawn"
        for result in (other, drawn(match)):
            with pytest.raises(ProtocolError, match=why):
                commands.correct(play.league, "R1M1", result, "wrong", play.now)
        with pytest.raises(ProtocolError, match=f"cannot be played again: {why}"):
            commands.rematch(play.league, "R1M1", "again", play.now)
        # The same winner in another way is not an objection.
        play.do(commands.correct(play.league, "R1M1", failed(match, match.b), "wrong", play.now))
        play.play_all()
        final = play.match("R2M1")
        with pytest.raises(ProtocolError, match=r"P0\d has won against P0\d, and their places are decided"):
            commands.correct(play.league, "R2M1", won(final, final.b), "wrong", play.now)
        assert findings(play.log) == []

    def test_who_has_left_loses_without_play(self) -> None:
        play = Play(players=4, referees=2, format="knockout").begin()
        play.play_round()
        play.draw()
        final = play.match("R2M1")
        for player in final.players:
            play.do(commands.withdraw(play.league, player, "ill", play.now))
        play.play_all()
        assert play.league.end_reason.endswith("by the league's lot.")
        assert len(play.league.rounds) == 3
        assert findings(play.log) == []


class TestAgents:
    @pytest.mark.proves("000-L0432", "000-L0433", "000-L0446")
    def test_rounds_are_counted_as_far_as_they_are_known(self) -> None:
        swiss = Play(players=4, referees=2, format="swiss(rounds=3)").begin()
        status = queries.status(swiss.league)
        assert (status.total_rounds, status.format) == (3, "swiss(rounds=3)")
        assert queries.status(Play(format="round_robin").league).format is UNSET
        assert [match.round_id for match in queries.schedule(swiss.league)] == [1, 1]
        knockout = Play(players=4, referees=2, format="knockout").begin()
        assert queries.status(knockout.league).total_rounds == 1
        knockout.play_round()
        assert queries.next_round_id(knockout.league, 1) == 2
        assert knockout.query("GET_NEXT_MATCH", query_params=queries.m.QueryParams(player_id="P01")).next_match is None
        knockout.draw()
        (final,) = (knockout.match(name) for name in knockout.league.rounds[1].matches)
        assert isinstance(queries.next_match(knockout.league, final.a), NextMatch)
        knockout.play_all()
        assert queries.next_round_id(knockout.league, 2) is None
        assert queries.status(knockout.league).total_rounds == 2

    @pytest.mark.parametrize(
        ("text", "known"), [("swiss(rounds=2)", [True, False]), ("knockout", [True, True]), ("gauntlet", [False] * 3)]
    )
    def test_the_number_of_matches_is_known_when_no_more_rounds_are_drawn(self, text: str, known: list[bool]) -> None:
        play = Play(players=4, referees=2, format=text)
        assert not draws_more(play.league)
        play.begin()
        seen = []
        while play.league.state == "RUNNING_LEAGUE":
            seen.append(draws_more(play.league))
            play.play_round()
            play.draw()
            play.announce()
        assert (seen, draws_more(play.league)) == (known, False)

    def test_an_unknown_format_of_an_old_log_is_shown_as_far_as_possible(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Cup(Knockout):
            name = "cup"

        monkeypatch.setitem(FORMATS, "cup", Cup)
        play = Play(players=4, referees=2, format="cup").begin().play_all()
        assert findings(play.log) == []
        text = play.league.settings.advancement
        monkeypatch.delitem(FORMATS, "cup")
        # The format of a text is remembered.
        monkeypatch.setattr("leaguekit.league.settings.find_format", lambda _: None)
        assert text != play.league.settings.advancement == "The format is cup."
        audit = audited(play.log)
        assert audit.findings == []
        assert "the format cup is not known here" in audit.counts.not_checkable
        league = fold(e.decode(line) for line in play.log[:-1])
        assert queries.next_round_id(league, 2) is None
        assert queries.status(league).total_rounds == 2
        final = league.matches["R2M1"]
        assert commands.objection(league, final, won(final, final.b)) is None


class TestSeeding:
    def test_players_are_seeded_by_registration_rating_file_or_lot(self) -> None:
        names = {f"P{number:02}": f"Agent {number}" for number in range(1, 5)}

        def seeded(**settings: object) -> list[str]:
            made = msgspec.convert({"league_id": LEAGUE, "seed_hex": "ab" * 32, **settings}, Settings)
            return commands.seed_players(made, names)

        assert seeded() == ["P01", "P02", "P03", "P04"]
        ratings = {"Agent 2": 1500.0, "Agent 4": 1800.0}
        assert seeded(seeding="rating", seeds=ratings) == ["P04", "P02", "P01", "P03"]
        places = {"Agent 3": 1, "Agent 1": 2, "Nobody": 3}
        assert seeded(seeding="file", seeds=places) == ["P03", "P01", "P02", "P04"]
        lots = {tuple(seeded(seeding="lot", seed_hex=f"{seed:064x}")) for seed in range(30)}
        assert len(lots) > 10
        assert seeded(seeding="lot") == seeded(seeding="lot")

    def test_the_seeding_is_recorded_at_the_start_unless_it_is_the_order_of_ids(self) -> None:
        play = Play(players=4, referees=2, format="knockout", seeding="file", seeds={"Agent 3": 1.0}).begin()
        assert play.league.seeding == ["P03", "P01", "P02", "P04"]
        assert [play.match(name).players for name in play.league.rounds[0].matches] == [("P03", "P04"), ("P01", "P02")]
        assert findings(play.log) == []
        wrong = replaced(play.log, e.LeagueStarted, 0, seeding=["P01"])
        assert "expected a seeding of the players that are registered, found P01" in findings(wrong)[0]

    @pytest.mark.parametrize(
        ("settings", "why"),
        [
            ({"format": "swiss(rounds=0)"}, "rounds must be from 1 to 99, got 0"),
            ({"format": "swiss", "rounds": "double"}, "rounds = double belongs to round_robin"),
            ({"tie_breaks": ["wins", "lot", "wins"]}, "each tie-break once, got wins, lot, wins"),
            ({"tie_breaks": ["buchholz"]}, "the tie-break buchholz belongs to a Swiss"),
            ({"seeding": "rating"}, "seeding = 'rating' and seeds do not go together"),
            ({"seeds": {"A": 1.0}}, "seeding = 'registration' and seeds do not go together"),
        ],
    )
    def test_settings_that_contradict_each_other_are_refused(self, settings: dict[str, object], why: str) -> None:
        made = msgspec.convert({"league_id": LEAGUE, **settings}, Settings)
        assert why in str(format_fault(made))
        assert format_fault(Settings(league_id=LEAGUE)) is None

    def test_a_round_robin_is_written_as_in_older_releases(self) -> None:
        assert plain_format("round_robin") == {"rounds": "single", "format": UNSET}
        assert plain_format("round_robin(legs=2)") == {"rounds": "double", "format": UNSET}
        assert plain_format("swiss( rounds=5)") == {"format": "swiss(rounds=5)"}
        assert Settings(league_id=LEAGUE, rounds="double").format_text == "round_robin(legs=2)"
        assert b"format" not in msgspec.json.encode(Settings(league_id=LEAGUE))
        assert b"seeding" not in Play(players=3, referees=1).begin().log[-1]


class TestAudit:
    def test_other_pairs_than_the_format_draws_are_found(self) -> None:
        log = Play(players=4, referees=2, format="swiss(rounds=2)").begin().log
        event = next(one for one in map(e.decode, log) if isinstance(one, e.RoundDrawn))
        swapped = [(b, a) for a, b in event.pairs]
        (found, *_) = findings(replaced(log, e.RoundDrawn, 0, pairs=swapped))
        assert "expected the pairings of round 1 by swiss 1, py4swiss 0.3.1, found other pairings" in found

    def test_a_draw_by_another_version_is_not_checkable(self) -> None:
        log = Play(players=4, referees=2, format="swiss(rounds=2)").begin().log
        audit = audited(replaced(log, e.RoundDrawn, 0, engine="swiss 1, py4swiss 9.9"))
        assert audit.findings == []
        reason = next(iter(audit.counts.not_checkable))
        assert reason == "the pairings were drawn by swiss 1, py4swiss 9.9, and this is swiss 1, py4swiss 0.3.1"
        assert [*audited(log, engine=False).counts.not_checkable] == [
            "the pairings were drawn by swiss 1, py4swiss 0.3.1, and this is swiss 1"
        ]

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            ({"round_id": 2}, "expected the draw of round 1, found that of round 2"),
            ({"pairs": [("P01", "P77")]}, "expected a draw of the league's players, found P77 in it"),
            ({"ranking": ["P01"]}, "expected a ranking of all players, found one of 1"),
            ({"byes": ["P01"]}, "expected everybody at most once in round 1"),
        ],
    )
    def test_a_draw_that_cannot_be_is_found(self, changes: dict[str, object], why: str) -> None:
        log = Play(players=4, referees=2, format="knockout").begin().log
        assert why in findings(replaced(log, e.RoundDrawn, 0, **changes))[0]

    def test_a_draw_at_the_wrong_time_is_found(self) -> None:
        log = Play(players=4, referees=2, format="knockout").begin().log
        place = next(place for place, line in enumerate(log) if isinstance(e.decode(line), e.RoundDrawn))
        twice = [*log[: place + 1], log[place], *log[place + 1 :]]
        assert "expected a draw when all rounds are over, found the draw of round 1" in findings(twice)[0]

    def test_an_end_that_the_format_does_not_decide_is_found(self) -> None:
        log = Play(players=4, referees=2, format="knockout").begin().play_all().log
        assert (
            "expected the end that knockout decides, found another one: luck"
            in findings(replaced(log, e.LeagueCompleted, 0, reason="luck"))[0]
        )
        wrong = findings(replaced(log, e.LeagueCompleted, 0, ranking=["P01"]))
        assert "expected a final ranking of all players, found P01" in wrong[0]
        more = Play(players=2, referees=1, format="knockout").begin()
        more.play_round()
        event = commands.record_draw(more.league, NextRound([("P01", "P02")], [], "", []), "knockout 1", more.now)
        assert (
            "expected the league's end: P01 won against P02 in the final., found the draw of round 2"
            in findings([*more.log, e.encode(event[0])])[0]
        )

    def test_another_schedule_than_that_of_the_format_is_found(self) -> None:
        log = Play(players=3, referees=1, format="gauntlet").begin().log
        found = findings(replaced(log, e.LeagueStarted, 0, rounds=[[("P01", "P02")]]))
        assert any("expected the schedule of gauntlet, found another one" in one for one in found)


def test_events_of_draws_are_told_in_sentences() -> None:
    play = Play(players=3, referees=1, format="swiss(rounds=2)").begin().play_all()
    told = [describe_event(e.decode(line)) for line in play.log]
    assert told[0].endswith("even_odd, swiss(rounds=2)")
    assert "The league starts" in told
    assert "Round 1 is drawn: 1 match; P03 has a bye" in told
    assert told[-1] == "The league is over: All 2 rounds have been played"
    cup = Play(players=4, referees=1, format="knockout").begin()
    assert "Round 1 (Semi-finals) is drawn: 2 matches" in [describe_event(e.decode(line)) for line in cup.log]


def test_every_format_says_how_a_player_advances() -> None:
    for made in FORMATS.values():
        assert issubclass(made, Format)
        assert made().advancement.endswith(".")
        assert made().advancement[0].isupper()
    assert "best of 3" in Knockout(3).advancement
