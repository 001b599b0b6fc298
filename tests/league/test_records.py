"""Results with a record and payoffs: what the manager and the audit find wrong, and how the table counts payoffs."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import UNSET, json, structs

from leaguekit import games
from leaguekit.games.base import CHANCE, SIDES, Game, Moves, Outcome, Question
from leaguekit.league import commands
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.audit.recount import count_result, recount_table
from leaguekit.league.events import Event, ResultRecorded
from leaguekit.league.outcomes import judge, read_record
from leaguekit.league.records import Match
from leaguekit.league.standings import Table
from leaguekit.league.ties import first_place
from leaguekit.match.draw import commitment, match_seed, record_sha256
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from tests.league.play import Play, failed

NONCE = bytes(16)


class Shares(Game[tuple[Any, ...]]):
    """Chance gives a number from 1 to 9, both take or leave, and a side that takes has the number as its payoff."""

    name = "shares"
    payoff_range = (0, 10)

    def start(self):
        return ()

    def to_move(self, position):
        return (CHANCE, SIDES, ())[len(position)]

    def odds(self, position):
        return [(number, 1) for number in range(1, 10)]

    def question(self, position, side):
        return Question("share", ["take", "leave"], {})

    def play(self, position, moves):
        return (*position, moves.get("chance") or (moves["A"], moves["B"]))

    def outcome(self, position):
        if len(position) < 2:
            return None
        number, chosen = position
        a, b = (number * (move == "take") for move in chosen)
        return Outcome(None if a == b else "A" if a > b else "B", f"the number was {number}", (a, b))

    def view(self, position, side):
        return {}


@pytest.fixture(autouse=True)
def shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(games.GAMES, "shares", Shares())


def seed_of(match: Match) -> bytes:
    return match_seed(b"", match.id, match.attempt)


def played(match: Match, a: str = "take", b: str = "leave") -> list[Moves]:
    number = games.GAMES["shares"].roll((), seed_of(match), 0)
    return [{"chance": number}, {"A": a, "B": b}]


def reported(match: Match, steps: list[Moves], **changes: Any) -> m.MatchResult:
    """The report of our own referee about a match with these steps, or about one that it changes."""
    number, chosen = steps[0]["chance"], steps[1]
    payoffs = {name: number * (chosen[side] == "take") for side, name in zip(SIDES, match.players, strict=True)}
    winner = max(payoffs, key=lambda name: payoffs[name]) if len({*payoffs.values()}) == 2 else None
    details = m.ResultDetails(
        choices={name: chosen[side] for side, name in zip(SIDES, match.players, strict=True)},
        drawn_number=None,
        status="WIN" if winner else "DRAW",
        draw_commitment=commitment(NONCE, seed_of(match).hex()),
        draw_nonce=NONCE.hex(),
        match_seed=seed_of(match).hex(),
        record=[dict(step.items()) for step in steps],
        payoffs=payoffs,
    )
    points = {name: (3 if winner == name else 0) if winner else 1 for name in match.players}
    return m.MatchResult(winner=winner, score=points, details=structs.replace(details, **changes))


def begun() -> Play:
    play = Play(game_type="shares", payoff_range=(0, 10))
    meta = {"game_types": ["shares"]}
    play.referee(1, meta=meta)
    for number in (1, 2, 3):
        play.player(number, meta=meta)
    return play.begin()


def record(play: Play, match: Match, result: m.MatchResult, posted: list[Moves] | None = None) -> list[Event]:
    """The events of a report."""
    report = play.report(match.id, result, game_type="shares")
    return commands.record_result(play.league, report, match.referee_id or "", play.now, posted=posted)


def only(play: Play) -> Match:
    return play.match(play.in_play[0])


def faults(play: Play, match: Match, result: m.MatchResult, posted: list[Moves] | None = None) -> list[tuple[str, str]]:
    return [*map(tuple, judge(play.settings, match, match.attempt, result, b"", posted=posted).faults)]


def test_a_true_record_is_played_again_opened_and_derived() -> None:
    play = begun()
    match = only(play)
    judged = judge(play.settings, match, 1, reported(match, played(match)), b"")
    assert (judged.faults, judged.doubts, judged.not_checkable) == ([], [], [])
    assert judged.is_replayed
    assert judged.is_opened
    assert judged.is_derived


def test_false_payoffs_are_refused() -> None:
    play = begun()
    match = only(play)
    true = reported(match, played(match)).details.payoffs
    assert true is not UNSET
    for false in ({match.a: 10, match.b: 0}, UNSET):
        ((expected, found),) = faults(play, match, reported(match, played(match), payoffs=false))
        assert expected == f"the payoffs {true}"
        assert found == f"the payoffs {false or None}"
    with pytest.raises(ProtocolError, match="the payoffs") as refused:
        record(play, match, reported(match, played(match), payoffs={match.a: 10, match.b: 0}))
    assert refused.value.code == "E056"


def test_a_false_seed_is_refused_even_with_its_own_commitment() -> None:
    play = begun()
    match = only(play)
    false = "ab" * 32
    told = {"match_seed": false, "draw_commitment": commitment(NONCE, false)}
    ((expected, found),) = faults(play, match, reported(match, played(match), **told))
    assert (expected, found) == (f"the seed {seed_of(match).hex()} of the match", f"the seed {false}")


def test_a_seed_that_was_not_promised_is_refused() -> None:
    play = begun()
    match = only(play)
    ((expected, _),) = faults(play, match, reported(match, played(match), draw_commitment="cd" * 32))
    assert expected == f"the commitment to {seed_of(match).hex()} under its nonce {NONCE.hex()}"


def test_what_chance_cannot_have_given_by_the_seed_is_refused() -> None:
    play = begun()
    match = only(play)
    steps = played(match)
    given = steps[0]["chance"]
    false = given % 9 + 1
    ((expected, found),) = faults(play, match, reported(match, [{"chance": false}, steps[1]]))
    assert (expected, found) == (f"{given}, drawn from the league's seed", str(false))


@pytest.mark.parametrize(
    ("false", "why"),
    [
        ([], "chance has not chosen"),
        ([{"chance": 10}], "chance cannot have given 10"),
        ([{"chance": 3}, {"A": "take"}], "a step is expected from A and B"),
        ([{"chance": 3}, {"A": "take", "B": "steal"}], "P02 cannot have chosen that"),
    ],
)
def test_a_record_that_is_not_legal_is_refused(false: list[Moves], why: str) -> None:
    play = begun()
    match = structs.replace(only(play), a="P01", b="P02")
    found = faults(play, match, reported(match, played(match), record=false))
    assert any(why in one for _, one in found)


def test_a_long_record_that_was_not_posted_is_refused_until_it_is() -> None:
    play = begun()
    match = only(play)
    steps = played(match)
    result = reported(match, steps, record=UNSET, record_sha256=record_sha256(steps))
    assert judge(play.settings, match, 1, result, b"").doubts == ["the record of the match is missing"]
    with pytest.raises(ProtocolError) as refused:
        record(play, match, result)
    assert refused.value.code == "E061"
    kept = json.encode(steps, order="sorted")
    assert read_record(None, result.details) is None
    assert read_record(kept + b" ", result.details) is None
    posted = read_record(kept, result.details)
    play.do(record(play, match, result, posted))
    assert match.outcome is not None


def test_the_audit_names_a_record_that_is_missing() -> None:
    play = begun()
    match = only(play)
    steps = played(match)
    result = reported(match, steps, record=UNSET, record_sha256=record_sha256(steps))
    events = record(play, match, result, steps)
    recorded = next(event for event in events if isinstance(event, ResultRecorded))
    play.do(events)
    for kept, named in ((json.encode(steps, order="sorted"), False), (None, True), (b"[]", True)):
        audit = Audit()
        for number, line in enumerate(play.log, start=1):
            audit.take(number, line)
        audit.record(recorded, kept)
        assert (f"the record {result.details.record_sha256}" in str([*map(str, audit.close())])) is named


def payoffs(play: Play) -> dict[str, float]:
    return {row.player_id: row.payoff for row in play.league.table.standings().values() if row.payoff is not UNSET}


def test_a_corrected_result_takes_its_payoffs_back() -> None:
    play = begun()
    match = only(play)
    steps = played(match)
    number = steps[0]["chance"]
    play.do(record(play, match, reported(match, steps)))
    assert payoffs(play) == {"P01": 0, "P02": 0, "P03": 0} | {match.a: number}
    other = played(match, "leave", "take")
    play.do(commands.correct(play.league, match.id, reported(match, other), "it was the other", play.now))
    assert payoffs(play) == {"P01": 0, "P02": 0, "P03": 0} | {match.b: number}
    play.do(commands.correct(play.league, match.id, failed(match, match.b), "it did not play", play.now))
    # A technical loss is the lowest payoff, and the win by it the highest.
    assert payoffs(play) == {"P01": 0, "P02": 0, "P03": 0} | {match.a: 10}


def test_the_first_place_names_the_payoff_and_other_payoffs_are_other_places() -> None:
    play = begun()
    match = only(play)
    play.do(record(play, match, reported(match, played(match))))
    rows = play.league.table.placed_rows()
    assert [row.payoff for row in rows] == [played(match)[0]["chance"], 0, 0]
    assert (rows[0].shown_rank, rows[1].decided_by) == ("1", None)
    assert first_place(rows, is_over=True) == (f"Champion: {match.a} with a payoff of {rows[0].payoff:.3f} per match")


def test_only_players_with_equal_payoffs_and_points_need_a_tie_break() -> None:
    def results(payoffs: dict[tuple[str, str], tuple[float, float]]) -> list[m.MatchResult]:
        """Of wins of the first of each pair."""
        return [
            m.MatchResult(
                winner=won,
                score={won: 3, lost: 0},
                details=m.ResultDetails(choices={}, drawn_number=None, status="WIN", payoffs={won: one, lost: other}),
            )
            for (won, lost), (one, other) in payoffs.items()
        ]

    # Everybody has three points from a circle, and P01 has another payoff than the two others.
    played_out = results({("P01", "P02"): (5, 1), ("P02", "P03"): (3, 0), ("P03", "P01"): (4, 0)})
    table = Table(("head_to_head", "wins"), payoff_range=(0, 10))
    for player in ("P01", "P02", "P03"):
        table.add_player(player, player)
    for result in played_out:
        table.count(result)
    rows = table.placed_rows()
    assert [(row.player_id, row.payoff, row.head_to_head, row.decided_by) for row in rows] == [
        ("P01", 2.5, None, None),
        ("P02", 2.0, 3, None),
        ("P03", 2.0, 0, "head_to_head"),
    ]
    counted = recount_table(table.rows, map(count_result, played_out), ("head_to_head", "wins"), None, (0, 10))
    assert [(row.player_id, row.payoff) for row in counted] == [("P01", 2.5), ("P02", 2.0), ("P03", 2.0)]
