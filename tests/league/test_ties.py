"""How the table was decided, in words; the lot of a whole league; and leagues of older releases."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from leaguekit.league import events as e
from leaguekit.league import snapshot
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.fold import apply
from leaguekit.league.sentences import EventFormatter
from leaguekit.league.settings import Settings, with_game
from leaguekit.league.standings import PlacedRow
from leaguekit.league.state import League
from leaguekit.league.ties import describe_order, first_place, payoff_sentence, score_text, tie_sentences
from tests.league.play import BY_ID, Play, drawn, failed, won

DEFAULT_SETTINGS = Settings(league_id="any")
DEFAULT = DEFAULT_SETTINGS.tie_breaks
SEED = "5e" * 32
EQUAL_IN = "points, head-to-head, Sonneborn–Berger, wins and technical losses"
# The log of a league of two players with one draw, as version 1 wrote it.
VERSION_1 = Path(__file__).with_name("version_1.jsonl").read_bytes().splitlines()


def row(rank: int, points: int, **changes: object) -> PlacedRow:
    fields: dict[str, object] = {
        "rank": rank,
        "shown_rank": str(rank),
        "player_id": f"P{rank:02d}",
        "display_name": f"Agent {rank}",
        "played": 3,
        "wins": 0,
        "draws": 0,
        "losses": 0,
        "points": points,
    }
    return PlacedRow(**fields | changes)  # type: ignore[arg-type]


def draws(players: int, seed: str | None = SEED, **settings: object) -> Play:
    """A whole league in which every match is a draw."""
    play = Play(players=players, referees=2, seed_hex=seed, **settings).begin()
    while play.league.state == "RUNNING_LEAGUE":
        if not play.league.round_in_play:
            play.announce()
        for name in play.in_play or play.assign():
            play.record(name, drawn(play.match(name)))
    return play


def test_two_players_with_one_draw_share_the_first_place_and_a_lot_names_the_champion() -> None:
    rows = draws(2).league.table.placed_rows()
    lots = {name: hashlib.sha256(f"{SEED}:lot:{name}".encode()).hexdigest() for name in ("P01", "P02")}
    first, second = sorted(lots, key=lots.__getitem__)
    assert [(one.rank, one.shown_rank, one.player_id) for one in rows] == [(1, "1=", first), (2, "1=", second)]
    assert first_place(rows, is_over=True) == (
        f"{first} and {second} share the first place with 1 point each; the lot names {first} champion"
    )
    assert first_place(rows, is_over=False) == f"{first} and {second} share the lead with 1 point each"
    assert tie_sentences(rows, DEFAULT, 5) == [
        f"{first} and {second} are equal in {EQUAL_IN}; they share the place, listed by a lot."
    ]


def test_over_many_seeds_each_player_wins_the_lot_about_as_often() -> None:
    firsts = [next(iter(draws(2, f"{number:064x}").league.table.standings())) for number in range(200)]
    assert 70 < firsts.count("P01") < 130


def test_a_league_without_a_seed_draws_lots_that_anybody_can_foretell() -> None:
    lots = {name: hashlib.sha256(f":lot:{name}".encode()).hexdigest() for name in ("P01", "P02", "P03", "P04")}
    assert list(draws(4, None).league.table.standings()) == sorted(lots, key=lots.__getitem__)


def test_lots_are_drawn_when_the_league_starts_and_not_before() -> None:
    play = Play(players=9, referees=2, seed_hex=SEED)
    assert list(play.league.table.standings()) == [f"P0{number}" for number in range(1, 10)]
    play.start()
    assert list(play.league.table.standings()) != [f"P0{number}" for number in range(1, 10)]


def test_a_league_from_its_snapshot_has_the_same_lots() -> None:
    league = draws(8).league
    restored, _ = snapshot.restore(snapshot.save(league, 7))
    assert restored.table.placed_rows() == league.table.placed_rows()
    waiting = Play(players=9, seed_hex=SEED).league
    restored, _ = snapshot.restore(snapshot.save(waiting, 7))
    assert list(restored.table.standings()) == list(waiting.table.standings())


def test_whatever_decided_is_named_and_only_where_points_are_equal() -> None:
    rows = [
        row(1, 9),
        row(2, 7, head_to_head=4),
        row(3, 7, head_to_head=1, decided_by="head_to_head", sonneborn_berger=9.5),
        row(4, 7, head_to_head=1, decided_by="sonneborn_berger", sonneborn_berger=8.0),
        row(5, 3),
        row(6, 3, decided_by="technical_losses", shown_rank="6="),
        row(7, 3, decided_by="lot", shown_rank="6="),
    ]
    assert tie_sentences(rows, DEFAULT, 5) == [
        "P02, P03 and P04 have 7 points each; head-to-head and Sonneborn–Berger decided.",
        "P05, P06 and P07 have 3 points each; technical losses decided.",
        f"P06 and P07 are equal in {EQUAL_IN}; they share the place, listed by a lot.",
    ]
    assert first_place(rows, is_over=True) == "Champion: P01 with 9 points"
    assert first_place(rows, is_over=False) == "In the lead: P01 with 9 points"
    assert first_place(rows, is_over=True, by_points=False) == "Champion: P01"
    assert first_place([row(1, 1)], is_over=True) == "Champion: P01 with 1 point"


def test_before_anything_is_played_there_is_nothing_to_say() -> None:
    play = Play(players=3, referees=1, seed_hex=SEED).begin()
    assert tie_sentences(play.league.table.placed_rows(), DEFAULT, 5) == []
    assert tie_sentences([], DEFAULT, 5) == []


@pytest.mark.parametrize(
    ("pairs", "last"), [(3, "There is 1 more tie further down."), (5, "There are 3 more ties further down.")]
)
def test_of_many_ties_the_first_are_told(pairs: int, last: str) -> None:
    rows = [
        row(rank, 20 - (rank - 1) // 2, decided_by="wins" if rank % 2 == 0 else None)
        for rank in range(1, 2 * pairs + 1)
    ]
    assert tie_sentences(rows, DEFAULT, 2) == [
        "P01 and P02 have 20 points each; wins decided.",
        "P03 and P04 have 19 points each; wins decided.",
        last,
    ]


def test_of_many_equal_players_the_first_are_named() -> None:
    rows = draws(9).league.table.placed_rows()
    ids = [one.player_id for one in rows]
    assert first_place(rows, is_over=True).startswith(
        f"{', '.join(ids[:5])} and 4 more share the first place with 8 points"
    )


def test_the_order_is_told_in_words() -> None:
    default = Settings(league_id="cup")
    assert describe_order(default) == ("points, head-to-head, Sonneborn–Berger, wins, fewest technical losses, a lot")
    assert describe_order(replace(default, tie_breaks=BY_ID)).endswith("wins, fewest technical losses, the lower id")
    assert [score_text(score) for score in (None, 0.0, 12.5, 2_994_003.0)] == ["", "0", "12.5", "2994003"]


def test_a_real_league_is_decided_by_each_tie_break_in_turn() -> None:
    """Over some leagues everything decides now and then, and ranks are never equal."""
    deciders = set()
    for number in range(60):
        play = Play(players=6, referees=3, seed_hex=f"{number:02x}").begin()
        results = iter(hashlib.shake_256(b"%d" % number).digest(15))
        while play.league.state == "RUNNING_LEAGUE":
            if not play.league.round_in_play:
                play.announce()
            for name in play.in_play or play.assign():
                match, chance = play.match(name), next(results) % 8
                play.record(
                    name, drawn(match) if chance < 4 else failed(match, match.b) if chance < 5 else won(match, match.a)
                )
        rows = play.league.table.placed_rows()
        assert [one.rank for one in rows] == [1, 2, 3, 4, 5, 6]
        deciders |= {one.decided_by for one in rows}
    assert deciders >= {None, "head_to_head", "sonneborn_berger", "lot"}


# The commitment to the seed


def test_the_league_commits_to_its_seed_when_it_is_created() -> None:
    play = draws(2)
    committed = hashlib.sha256(SEED.encode()).hexdigest()
    formatter = EventFormatter()
    created, *_, completed = [formatter.as_json(e.decode(text)) for text in play.log]
    assert created["settings"]["seed_commitment"] == committed
    assert "seed_hex" not in created["settings"]
    assert hashlib.sha256(completed["seed_hex"].encode()).hexdigest() == committed
    assert committed in EventFormatter().as_text(e.decode(play.log[0]))


# Leagues of older releases


def test_a_league_of_an_older_release_keeps_the_id_as_its_last_tie_break() -> None:
    league, audit = League(), Audit()
    for number, text in enumerate(VERSION_1, 1):
        apply(league, e.decode(text))
        audit.take(number, text)
    assert audit.close() == []
    assert league.settings.tie_breaks == BY_ID
    rows = league.table.placed_rows()
    assert [(one.player_id, one.shown_rank, one.decided_by) for one in rows] == [
        ("P01", "1=", None),
        ("P02", "1=", "id"),
    ]
    assert tie_sentences(rows, BY_ID, 5) == [
        "P01 and P02 are equal in points, head-to-head, wins and technical losses; they share the place, listed by the "
        "lower id."
    ]
    assert first_place(rows, is_over=True).endswith("; the lower id names P01 champion")


def test_a_league_that_is_ranked_by_payoff_says_so() -> None:
    settings = with_game(Settings(league_id="any", game_type="prisoners_dilemma"))
    assert payoff_sentence(settings) == (
        "The table is ranked by payoff, the mean of all matches of a player (0 to 5); points decide only between equal "
        "payoffs."
    )
    assert describe_order(settings).startswith("payoff, points, head-to-head, ")
    assert payoff_sentence(with_game(DEFAULT_SETTINGS)) == ""


def test_in_a_format_that_ranks_the_players_itself_payoffs_do_not_count() -> None:
    settings = with_game(Settings(league_id="any", game_type="prisoners_dilemma", format="knockout"))
    assert settings.payoff_range is UNSET
    assert payoff_sentence(settings) == ""


def test_players_with_equal_payoffs_have_sentences_with_the_payoff() -> None:
    equal = {"payoff": 2.5, "head_to_head": 3}
    rows = [row(1, 4, **equal), row(2, 4, **equal, decided_by="head_to_head"), row(3, 9, payoff=1.0)]
    assert tie_sentences(rows, DEFAULT, 5) == [
        "P01 and P02 have a payoff of 2.500 and 4 points each; head-to-head decided."
    ]
    shared = {"payoff": 2.5, "shown_rank": "1="}
    (sentence,) = tie_sentences([row(1, 4, **shared), row(2, 4, **shared, decided_by="lot")], DEFAULT, 5)
    assert sentence == f"P01 and P02 are equal in payoff, {EQUAL_IN}; they share the place, listed by a lot."
