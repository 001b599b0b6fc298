"""An offline league plays the same leagues as real agents, and its cache does not change them."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, Game, Outcome, Question
from leaguekit.league.settings import Settings, with_game
from leaguekit.match.draw import league_seed
from leaguekit.player import move_limit, search
from leaguekit.player.context import Context, Forfeit, Move, Strategy
from leaguekit.player.move_limit import move_timeout
from leaguekit.player.strategies import STRATEGIES, strategies_for
from leaguekit.protocol.messages import MatchResult
from leaguekit.sim import loop
from leaguekit.sim.comparison.offline_league import CALLER, Entrant, GameBrokeDown, OfflineLeague, UnusableStrategy
from tests.agents.leagues import Hall

LEAGUE = "league_2025_even_odd"
ALL = tuple(STRATEGIES)


@pytest.fixture(autouse=True)
def _search_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole search takes long in connect four."""
    monkeypatch.setattr(search, "MAX_POSITIONS", 60)


def offline(game: str, strategies: tuple[str | Strategy, ...], **more: Any) -> OfflineLeague:
    functions = [STRATEGIES[one] if isinstance(one, str) else one for one in strategies]
    entrants = [Entrant(f"Player {number}", function) for number, function in enumerate(functions, start=1)]
    return OfflineLeague(Settings(league_id=LEAGUE, game_type=game), entrants, **more)


def summarize(result: MatchResult | None) -> tuple[Any, ...]:
    assert result is not None
    details = result.details
    return (result.winner, result.score, details.drawn_number, details.choices, details.status, details.ruling)


def through_the_agents(root: Path, game: str, strategies: tuple[str | Strategy, ...], seed: int) -> Any:
    """A league of real agents in virtual time: results by match, the table, and what each player remembers."""

    async def main() -> Any:
        payoffs = with_game(Settings(league_id=LEAGUE, game_type=game)).payoff_range
        async with Hall(root, game_type=game, seed_hex=league_seed(seed).hex(), payoff_range=payoffs) as hall:
            await hall.fill(*strategies, seed=seed)
            await hall.operate("start")
            await hall.end()
            results = {name: summarize(match.result) for name, match in hall.league.matches.items()}
            histories = {agent.player_id: [*agent.history.values()] for agent in hall.players}
            return results, [*hall.league.table.standings().values()], histories

    return loop.run(main())


def play_offline(league: OfflineLeague, seed: int) -> Any:
    results: dict[str, tuple[Any, ...]] = {}
    standings = league.play(seed, lambda name, result: results.update({name: summarize(result)}))
    return results, standings, {name: player.history for name, player in league.players.items()}


@pytest.mark.parametrize(
    ("strategies", "seed"),
    [
        (ALL, 1),
        pytest.param(("random",) * 5, 2, marks=pytest.mark.long),
        pytest.param(("frequency", "history_based", "random") * 2, 3, marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("game", GAMES)
def test_both_engines_give_the_same_results_for_the_same_seed(
    tmp_path: Path, game: str, strategies: tuple[str, ...], seed: int
) -> None:
    strategies = tuple(name for name in strategies if name in strategies_for(game))
    by_agents = through_the_agents(tmp_path, game, strategies, seed)
    assert play_offline(offline(game, strategies), seed) == by_agents
    assert play_offline(offline(game, strategies), seed + 1)[0] != by_agents[0]


def seen_by(seen: list[dict[str, Any]]) -> Strategy:
    """A strategy that notes all that it is shown, and makes full use of chance."""

    def choose(ctx: Context) -> Any:
        shown = {name: getattr(ctx, name) for name in Context.__struct_fields__ if name not in ("deadline", "now")}
        numbers = (ctx.random.random(), ctx.random.getrandbits(300), ctx.random.gauss(0, 1), ctx.random.randint(1, 6))
        seen.append(shown | {"random": numbers})
        ctx.random.shuffle(ctx.valid_options)
        return ctx.valid_options[0]

    return choose


@pytest.mark.parametrize("game", GAMES)
def test_a_strategy_is_shown_the_same_by_both_engines_but_for_the_table_after_its_first_move(
    tmp_path: Path, game: str
) -> None:
    """Agents see the table change while others end their matches. An offline league plays one match at a time."""
    by_agents: list[dict[str, Any]] = []
    others = [name for name in strategies_for(game) if name in ("alternating", "frequency", "always_C")]
    expected = through_the_agents(tmp_path, game, ("random", seen_by(by_agents), *others), 5)
    ours: list[dict[str, Any]] = []
    assert play_offline(offline(game, ("random", seen_by(ours), *others)), 5) == expected
    assert len(ours) >= 3
    for seen in (ours, by_agents):
        matches: set[str] = set()
        for one in seen:
            if one["match_id"] in matches:
                del one["standings"]
            matches.add(one["match_id"])
    assert ours == by_agents


def raises(ctx: Context) -> Any:
    raise LookupError(ctx.match_id)


@pytest.mark.parametrize("strategy", [raises, lambda _ctx: "sideways", lambda _ctx: None, lambda ctx: [ctx]])
def test_what_is_no_move_is_replaced_as_in_every_league(tmp_path: Path, strategy: Strategy) -> None:
    strategies = (strategy, "random", "always_odd")
    league = offline("even_odd", strategies)
    assert play_offline(league, 4) == through_the_agents(tmp_path, "even_odd", strategies, 4)
    origins, others = league.players["P01"].origins, league.players["P02"].origins
    assert (origins.own, origins.replaced) == (0, 2)
    assert str(origins.reason).startswith("the strategy ")
    assert (others.own, others.replaced, others.reason) == (2, 0, UNSET)


def test_an_origin_that_a_strategy_states_is_counted() -> None:
    league = offline("even_odd", (lambda _ctx: Move("odd", "retried", "busy"), "always_even"))
    league.play(1)
    assert str(league.players["P01"].origins) == "1 retried"


def test_a_move_that_only_looks_like_an_option_is_none() -> None:
    league = offline("tic_tac_toe", (lambda ctx: float(ctx.valid_options[0]), lambda ctx: ctx.valid_options[0]))
    league.play(1)
    assert league.players["P01"].origins.replaced > 0
    assert league.players["P02"].origins.replaced == 0


def test_a_move_that_is_an_option_in_other_words_is_taken_as_it() -> None:
    league = offline("rock_paper_scissors", (lambda _ctx: b"rock".decode(), lambda _ctx: "paper"))
    assert league.play(1)[0].player_id == "P02"
    assert league.players["P01"].origins.replaced == 0


@pytest.mark.parametrize("game", GAMES)
def test_what_is_remembered_of_a_course_changes_nothing(game: str) -> None:
    remembering, forgetting = offline(game, ALL), offline(game, ALL, max_bytes=0)
    for seed in (1, 2):
        assert play_offline(remembering, seed) == play_offline(forgetting, seed)


def spoil(ctx: Context) -> Any:
    """Leaves nothing as it was."""
    move = ctx.valid_options[-1]
    ctx.valid_options.clear()
    for part in ctx.view.values():
        if hasattr(part, "clear"):
            part.clear()
    ctx.view.clear()
    ctx.standings.clear()
    return move


@pytest.mark.parametrize("game", GAMES)
def test_a_strategy_can_spoil_nothing_for_others(game: str) -> None:
    def last(ctx: Context) -> Any:
        return ctx.valid_options[-1]

    spoiled, unspoiled = offline(game, (spoil, last, spoil, last)), offline(game, (last,) * 4)
    for seed in (1, 1, 2):
        assert play_offline(spoiled, seed) == play_offline(unspoiled, seed)


def test_leagues_of_one_object_know_nothing_of_each_other() -> None:
    league = offline("even_odd", ALL)
    first = play_offline(league, 1)
    league.play(2)
    assert play_offline(league, 1) == first == play_offline(offline("even_odd", ALL), 1)


def test_a_round_at_a_time_it_is_the_same_league() -> None:
    league = offline("even_odd", ALL[:5])
    whole = league.play(3)
    assert [*league.play_rounds(3)] == [2] * 5
    assert league.standings() == whole
    half = league.play_rounds(3)
    next(half)
    assert Counter(row.played for row in league.standings()) == {1: 4, 0: 1}


def test_a_double_round_robin_is_counted_whole() -> None:
    entrants = [Entrant(name, STRATEGIES[name]) for name in ALL[:3]]
    league = OfflineLeague(Settings(league_id=LEAGUE, rounds="double"), entrants)
    assert league.matches == 6
    assert {row.played for row in league.play(1)} == {4}


def test_a_strategy_that_must_be_awaited_cannot_be_asked() -> None:
    async def choose(ctx: Context) -> Any:
        return ctx.valid_options[0]

    with pytest.raises(UnusableStrategy, match="the strategy Player 1 is asynchronous"):
        offline("even_odd", (choose, "random")).play(1)


def test_a_strategy_that_does_not_return_is_named_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def choose(ctx: Context) -> Any:
        while True:
            # Even if it handles what is raised in it.
            with contextlib.suppress(Exception):
                ctx.random.random()

    monkeypatch.setattr(move_limit, "MOVE_SECONDS", 0.25)
    why = rf"the strategy Player 1 took longer than 0.25 s for a move \(line \d+ of {Path(__file__).name}\)"
    with move_timeout(CALLER), pytest.raises(UnusableStrategy, match=why):
        offline("even_odd", (choose, "random")).play(1)


def test_a_game_that_raises_is_named_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("no rule for this")

    monkeypatch.setattr(GAMES["tic_tac_toe"], "play", broken, raising=False)
    said = r"the game tic_tac_toe broke down: RuntimeError\('no rule for this'\) \(line \d+ of test_offline_league.py\)"
    with pytest.raises(GameBrokeDown, match=said):
        offline("tic_tac_toe", ("random", "random")).play(1)


@pytest.mark.parametrize("game", GAMES)
def test_fresh_matches_show_a_strategy_nothing_of_earlier_ones(game: str) -> None:
    seen: list[dict[str, Any]] = []
    league = offline(game, (seen_by(seen), "frequency", "random", "alternating"), fresh=True)
    standings = league.play(1)
    assert {(one["history"], one["record"].wins + one["record"].losses, len(one["standings"])) for one in seen} == {
        ((), 0, 0)
    }
    assert {one["round_id"] for one in seen} == {1, 2, 3}
    assert {row.played for row in standings} == {3}


def test_the_first_round_is_the_same_in_fresh_matches() -> None:
    fresh, as_ever = (play_offline(offline("rock_paper_scissors", ALL, fresh=fresh), 1)[0] for fresh in (True, False))
    assert {name: fresh[name] for name in fresh if name.startswith("R1")} == {
        name: as_ever[name] for name in as_ever if name.startswith("R1")
    }
    assert fresh != as_ever


def test_entrants_in_other_seats_are_another_league() -> None:
    league, other = (
        offline("even_odd", ("always_even", "always_odd")),
        offline("even_odd", ("always_odd", "always_even")),
    )
    league.assign_seats([Entrant("Player 1", STRATEGIES["always_odd"]), Entrant("Player 2", STRATEGIES["always_even"])])
    assert play_offline(league, 3) == play_offline(other, 3)


def test_replaced_moves_are_those_of_the_last_league() -> None:
    league = offline("even_odd", (raises, "random"))
    league.play(1)
    league.play(2)
    assert league.players["P01"].origins.replaced == 1


class Highest(Game[tuple[int, ...]]):
    """Both name a number up to a thousand, of which three are listed; the higher one wins."""

    name = "highest"

    def start(self):
        return ()

    def to_move(self, position):
        return () if position else SIDES

    def question(self, position, side):
        return Question("name", [1, 2, 3], {}, total=1_000, syntax="a number from 1 to 1000")

    def move_error(self, position, side, move):
        return None if type(move) is int and 1 <= move <= 1_000 else "no number from 1 to 1000"

    def play(self, position, moves):
        return (moves["A"], moves["B"])

    def outcome(self, position):
        if not position:
            return None
        a, b = position
        return Outcome(None if a == b else "A" if a > b else "B", f"{a} against {b}")

    def view(self, position, side):
        return {}


@pytest.fixture
def highest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(GAMES, "highest", Highest())


@pytest.mark.usefixtures("highest")
def test_a_legal_move_that_is_not_listed_is_played() -> None:
    asked: list[tuple[int | None, str]] = []

    def unlisted(ctx: Context) -> Any:
        asked.append((ctx.total, ctx.syntax))
        return 999

    league = offline("highest", (unlisted, lambda _: 3))
    results, _, _ = play_offline(league, 1)
    assert results["R1M1"] == ("P01", {"P01": 3, "P02": 0}, None, {"P01": "999", "P02": "3"}, "WIN", "WIN")
    assert asked == [(1_000, "a number from 1 to 1000")]
    assert [player.origins.own for player in league.players.values()] == [1, 1]


@pytest.mark.usefixtures("highest")
@pytest.mark.parametrize("move", [1_001, True, [1], Forfeit("no money left")], ids=repr)
def test_an_illegal_move_that_is_not_listed_is_replaced_by_a_listed_one(move: Any) -> None:
    league = offline("highest", (lambda _: move, lambda _: 3))
    results, _, _ = play_offline(league, 1)
    choices = results["R1M1"][3]
    assert choices["P01"] in ("1", "2", "3")
    assert choices["P02"] == "3"
    assert league.players["P01"].origins.replaced == 1
