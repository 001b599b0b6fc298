"""The built-in strategies, how others are loaded, and how a strategy is asked."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import traceback
from itertools import count
from pathlib import Path

import pytest

from leaguekit import Context, Move
from leaguekit.games import GAMES
from leaguekit.games.base import SIDES
from leaguekit.games.records import choices_of
from leaguekit.player import search
from leaguekit.player.context import PastMatch
from leaguekit.player.decisions import Decision, decide
from leaguekit.player.strategies import STRATEGIES, CannotPlay, check_can_play, games_of, strategies_for
from leaguekit.player.strategy_loading import NoSuchStrategy, load
from leaguekit.protocol.fields import Origin
from leaguekit.sim.loop import run
from tests.chance import begin

_numbers = count(1)


def past(game: str, result: str, mine: str | None, theirs: str | None, opponent: str = "P02", **more) -> PastMatch:
    return PastMatch(
        match_id=f"R{next(_numbers)}M1",
        game_type=game,
        result=result,
        choice=mine,
        opponent_choice=theirs,
        opponent_id=opponent,
        **more,
    )


def even_odd(*history: PastMatch, seed: int = 1) -> Context:
    return Context(valid_options=["even", "odd"], history=history, opponent_id="P02", random=random.Random(seed))


def throws(*history: PastMatch, seed: int = 1) -> Context:
    return Context(
        game_type="rock_paper_scissors",
        valid_options=["rock", "paper", "scissors"],
        history=history,
        opponent_id="P02",
        random=random.Random(seed),
    )


def board(cells: str, mark: str) -> Context:
    return Context(
        game_type="tic_tac_toe",
        valid_options=[cell for cell, found in enumerate(cells) if found == "."],
        view={"board": cells, "moves": [], "your_mark": mark},
        random=random.Random(1),
    )


@pytest.mark.parametrize(("game_name", "name"), [(game, name) for game in GAMES for name in strategies_for(game)])
@pytest.mark.proves("003-L0040")
def test_every_strategy_plays_its_games_to_their_end_with_legal_moves(
    name: str, game_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The whole search takes long in connect four, and it is the same.
    monkeypatch.setattr(search, "MAX_POSITIONS", 200)
    game, chance = GAMES[game_name], random.Random(f"{name} {game_name}")
    history: list[PastMatch] = []
    for number in range(4 if name == "search" else 20):
        position, record = begin(game, bytes([number])), []
        while to_move := game.to_move(position):
            moves = {}
            for side in to_move:
                question = game.question(position, side)
                ctx = Context(
                    game_type=game_name,
                    move_type=question.move_type,
                    valid_options=question.valid_options,
                    view=question.context,
                    history=tuple(history) if side == "A" else (),
                    opponent_id="P02",
                    random=chance,
                )
                moves[side] = STRATEGIES[name](ctx)
                assert game.move_error(position, side, moves[side]) is None
            position = game.play(position, moves)
            record.append(moves)
        outcome, choices = game.outcome(position), choices_of(record)
        drawn = game.view(position, None).get("number")
        assert outcome is not None
        result = {"A": "WIN", "B": "LOSS", None: "DRAW"}[outcome.winner]
        history.append(past(game_name, result, *(choices[side] for side in SIDES), drawn_number=drawn))


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_strategy_plays_a_game_that_it_has_never_heard_of_or_says_that_it_cannot(name: str) -> None:
    options = [{"row": 1}, {"row": 2}, "pass"]
    ctx = Context(game_type="nim", valid_options=options, history=(past("nim", "WIN", "pass", None),))
    if name in strategies_for("nim"):
        assert STRATEGIES[name](ctx) in options
        return
    with pytest.raises(CannotPlay, match=f"{name} cannot play nim"):
        STRATEGIES[name](ctx)


def test_the_strategies_that_fit_a_game_are_those_with_an_idea_of_it() -> None:
    for_every_game = ["random", "alternating", "history_based"]
    assert strategies_for("even_odd") == ["random", "always_even", "always_odd", *for_every_game[1:], "frequency"]
    assert strategies_for("rock_paper_scissors") == [*for_every_game, "frequency"]
    assert strategies_for("tic_tac_toe") == [*for_every_game, "frequency", "search"]
    assert strategies_for("connect_four") == [*for_every_game, "frequency", "search"]
    assert strategies_for("prisoners_dilemma") == ["random", "always_C", "always_D", *for_every_game[1:]]
    assert strategies_for("nim") == for_every_game


def test_a_strategy_that_does_not_fit_is_named_with_those_that_do() -> None:
    check_can_play("always_even", STRATEGIES["always_even"], "even_odd")
    check_can_play("my_agent:choose", lambda ctx: ctx.valid_options[0], "tic_tac_toe")
    expected = "always_even cannot play tic_tac_toe; these can: random, alternating, history_based, frequency"
    with pytest.raises(CannotPlay, match=expected):
        check_can_play("always_even", STRATEGIES["always_even"], "tic_tac_toe")


def test_an_author_s_strategy_may_be_an_object_without_a_hash() -> None:
    class Choose:
        __hash__ = None  # type: ignore[assignment]

        def __call__(self, ctx: Context) -> str:
            return "odd"

    assert games_of(Choose()) == tuple(GAMES)


@pytest.mark.parametrize("name", strategies_for("rock_paper_scissors"))
def test_the_same_chance_makes_the_same_moves(name: str) -> None:
    def moves(seed: int) -> list:
        ctx = throws(seed=seed)
        return [STRATEGIES[name](ctx) for _ in range(50)]

    assert moves(7) == moves(7)


@pytest.mark.proves("000-L1473", "000-L1474", "004-L0576")
def test_always_even_and_always_odd_are_what_they_say() -> None:
    assert {STRATEGIES["always_even"](even_odd(seed=seed)) for seed in range(20)} == {"even"}
    assert {STRATEGIES["always_odd"](even_odd(seed=seed)) for seed in range(20)} == {"odd"}


def test_random_plays_everything() -> None:
    assert {STRATEGIES["random"](throws(seed=seed)) for seed in range(50)} == {"rock", "paper", "scissors"}


def test_alternating_takes_the_options_in_turn() -> None:
    history: list[PastMatch] = []
    played = []
    for _ in range(4):
        played.append(STRATEGIES["alternating"](even_odd(*history)))
        history.append(past("even_odd", "DRAW", played[-1], "odd"))
    assert played == ["even", "odd", "even", "odd"]


@pytest.mark.proves("001-L1311")
def test_history_based_plays_what_won() -> None:
    won = past("even_odd", "WIN", "odd", "even")
    lost = past("even_odd", "LOSS", "even", "odd")
    assert {STRATEGIES["history_based"](even_odd(won, lost, seed=seed)) for seed in range(20)} == {"odd"}


def test_history_based_learns_nothing_from_what_was_not_played_or_was_another_game() -> None:
    technical = past("even_odd", "WIN", "odd", None, technical=True)
    elsewhere = past("rock_paper_scissors", "WIN", "odd", "even")
    chosen = {STRATEGIES["history_based"](even_odd(technical, elsewhere, seed=seed)) for seed in range(20)}
    assert chosen == {"even", "odd"}


def test_history_based_remembers_which_cells_served_it() -> None:
    won = past("tic_tac_toe", "WIN", "0,4,8", "1,2")
    ctx = Context(game_type="tic_tac_toe", valid_options=[0, 1, 2], history=(won,))
    assert STRATEGIES["history_based"](ctx) == 0


@pytest.mark.proves("001-L1311")
def test_frequency_beats_what_the_opponent_throws_most() -> None:
    rocks = [past("rock_paper_scissors", "LOSS", "scissors", "rock") for _ in range(3)]
    others = [past("rock_paper_scissors", "LOSS", "rock", "paper", opponent="P03") for _ in range(9)]
    assert STRATEGIES["frequency"](throws(*rocks, *others)) == "paper"


def test_frequency_goes_by_all_opponents_until_it_has_met_this_one() -> None:
    others = [past("rock_paper_scissors", "LOSS", "rock", "paper", opponent="P03") for _ in range(3)]
    assert STRATEGIES["frequency"](throws(*others)) == "scissors"


def test_frequency_avoids_a_draw_in_even_odd() -> None:
    met = [past("even_odd", "DRAW", "even", "even", drawn_number=number) for number in (3, 4, 5, 6)]
    assert {STRATEGIES["frequency"](even_odd(*met, seed=seed)) for seed in range(20)} == {"odd"}


def test_frequency_follows_the_numbers_where_they_lean() -> None:
    drawn = [past("even_odd", "LOSS", "odd", theirs, drawn_number=8) for theirs in ("even", "odd") * 5]
    assert {STRATEGIES["frequency"](even_odd(*drawn, seed=seed)) for seed in range(20)} == {"even"}


@pytest.mark.parametrize(
    ("cells", "mark", "move"),
    [
        ("XX.OO....", "X", 2),  # wins rather than blocks
        ("XX.O.....", "O", 2),  # blocks
        ("X........", "O", 4),  # takes the centre
        ("X.O.O...X", "X", 6),  # blocks the diagonal
    ],
)
def test_frequency_knows_tic_tac_toe(cells: str, mark: str, move: int) -> None:
    assert STRATEGIES["frequency"](board(cells, mark)) == move


def test_frequency_takes_a_corner_when_the_centre_is_gone() -> None:
    assert STRATEGIES["frequency"](board("....X....", "O")) in (0, 2, 6, 8)


def test_frequency_says_so_where_it_cannot_read_the_board() -> None:
    ctx = Context(game_type="tic_tac_toe", valid_options=[3, 5], view={"grid": []})
    with pytest.raises(CannotPlay, match="frequency cannot read the board None"):
        STRATEGIES["frequency"](ctx)


# Loading strategies.


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    return tmp_path


def test_a_strategy_is_found_by_its_name() -> None:
    assert all(load(name) is function for name, function in STRATEGIES.items())


def test_an_authors_own_is_found_where_its_author_is(here: Path) -> None:
    (here / "my_own_agent.py").write_text("def choose(ctx):\n    return ctx.valid_options[-1]\n")
    assert load("my_own_agent:choose")(even_odd()) == "odd"
    assert load("my_own_agent.py:choose") is load("./my_own_agent.py:choose") is load("my_own_agent:choose")


def test_an_authors_own_is_found_by_its_file_in_any_folder(here: Path) -> None:
    folder = here / "elsewhere"
    folder.mkdir()
    (folder / "beside.py").write_text("MOVE = 'even'\n")
    # The name of a module that is already loaded.
    (folder / "json.py").write_text("from beside import MOVE\ndef choose(ctx):\n    return MOVE\n")
    assert load(f"{folder}/json.py:choose")(even_odd()) == "even"
    assert load("elsewhere/json.py:choose") is load(f"{folder}/json.py:choose")
    assert sys.modules["json"].__file__ != f"{folder}/json.py"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("frequncy", "did you mean 'frequency'?"),
        ("mine", "name the function in mine.py as well: mine:FUNCTION."),
        ("./mine.py", "name the function in ./mine.py as well: ./mine.py:FUNCTION."),
    ],
)
def test_a_name_that_is_nearly_a_strategys_is_answered_with_what_was_meant(here: Path, name: str, remedy: str) -> None:
    (here / "mine.py").write_text("")
    with pytest.raises(NoSuchStrategy) as refused:
        load(name)
    assert str(refused.value) == f"There is no strategy {name!r}; {remedy}"


@pytest.mark.parametrize("name", ["clever", "", ":", "module:", ":function"])
def test_a_name_that_is_no_strategys_is_answered_with_those_there_are(name: str) -> None:
    with pytest.raises(NoSuchStrategy, match=r"there are random, always_even, .*, or your own as module:function"):
        load(name)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("no_such_agent:choose", "'no_such_agent' cannot be imported: there is no such module in "),
        ("no_such_package.agent:choose", "cannot be imported: there is no such module in "),
        ("needy_agent:choose", "cannot be imported: ModuleNotFoundError: No module named 'no_such_library'"),
        ("broken_agent:choose", "cannot be imported: ZeroDivisionError: "),
        ("empty_agent:choose", "There is nothing called 'choose' in .*empty_agent.py"),
        ("odd_agent:choose", "There is no function called 'choose' in .*odd_agent.py"),
        ("nowhere.py:choose", "There is no file '.*/nowhere.py'"),
        ("broken_agent.py:choose", "The file '.*/broken_agent.py' cannot be imported: line 1: ZeroDivisionError: "),
        ("near_agent:chose", "There is nothing called 'chose' in .*near_agent.py; did you mean 'choose'?"),
    ],
)
def test_what_cannot_be_loaded_is_told_with_its_reason(here: Path, name: str, sentence: str) -> None:
    (here / "needy_agent.py").write_text("import no_such_library\n")
    (here / "broken_agent.py").write_text("1 / 0\n")
    (here / "empty_agent.py").write_text("")
    (here / "odd_agent.py").write_text("choose = 'odd'\n")
    (here / "near_agent.py").write_text("def choose(ctx):\n    return 'odd'\n")
    with pytest.raises(NoSuchStrategy, match=sentence):
        load(name)


# Asking a strategy.


def asked(strategy, ctx: Context | None = None, seconds: float = 10.0) -> Decision:
    return run(decide(strategy, ctx or even_odd(), seconds, inline=True))


def test_the_strategys_own_move_is_played() -> None:
    assert asked(lambda ctx: "odd") == Decision("odd")


def test_a_strategy_may_be_asynchronous() -> None:
    async def choose(ctx: Context) -> str:
        await asyncio.sleep(5)
        return "odd"

    assert asked(choose) == Decision("odd")


@pytest.mark.parametrize("error", [ValueError("no idea"), StopIteration(), SystemExit(3), RecursionError()])
def test_a_legal_move_is_played_for_a_strategy_that_raises(error: BaseException) -> None:
    def choose(ctx: Context) -> str:
        raise error

    decision = asked(choose)
    assert decision.move in ("even", "odd")
    assert decision.fault == decision.reason == f"the strategy raised {error!r}"
    assert decision.error is error
    assert decision.origin == "replaced"


@pytest.mark.parametrize("error", [ValueError("no idea"), SystemExit(3), asyncio.CancelledError()])
def test_a_legal_move_is_played_for_an_asynchronous_strategy_that_raises(error: BaseException) -> None:
    async def choose(ctx: Context) -> str:
        await asyncio.sleep(1)
        raise error

    decision = asked(choose)
    assert decision.move in ("even", "odd")
    assert decision.fault is not None
    assert type(decision.error) is type(error)
    assert decision.origin == "replaced"


@pytest.mark.parametrize("origin", ["own", "retried", "replaced"])
def test_a_strategy_may_state_where_its_move_came_from(origin: Origin) -> None:
    assert asked(lambda ctx: Move("odd", origin, "why")) == Decision("odd", None, None, origin, "why")


def test_a_stated_move_must_be_legal_and_its_origin_known() -> None:
    decision = asked(lambda ctx: Move("ODD", "retried"))
    assert (decision.origin, decision.move in ("even", "odd")) == ("replaced", True)
    assert decision.fault is not None
    assert "chose 'ODD'" in decision.fault
    decision = asked(lambda ctx: Move("odd", "Retried"))  # type: ignore[arg-type]
    assert decision.fault == (
        """the strategy raised ValueError("origin is one of own, retried, replaced, got 'Retried'")"""
    )


def test_a_legal_move_is_played_for_a_strategy_that_thinks_too_long() -> None:
    stopped = []

    async def choose(ctx: Context) -> str:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(asyncio.get_running_loop().time())
        return "odd"

    async def main() -> tuple[Decision, float]:
        decision = await decide(choose, even_odd(), 28.5, inline=True)
        then = asyncio.get_running_loop().time()
        await asyncio.sleep(0)
        return decision, then

    decision, then = run(main())
    assert decision.move in ("even", "odd")
    assert decision.fault == "the strategy took longer than 28.5 s"
    assert then == 28.5
    assert stopped == [28.5]


@pytest.mark.parametrize("move", ["Even", None, 0, True, ["even"], {"choice": "even"}, object(), "\ud800", b"even"])
@pytest.mark.proves("000-L1473", "000-L1474", "000-L1518")
def test_a_legal_move_is_played_for_one_that_is_not(move) -> None:
    decision = asked(lambda ctx: move)
    assert decision.move in ("even", "odd")
    assert "which is none of ['even', 'odd']" in (decision.fault or "")


def test_an_endless_value_is_no_move() -> None:
    endless: list = []
    endless.append(endless)
    assert asked(lambda ctx: endless).fault is not None


@pytest.mark.parametrize("move", [True, 1.0, "1"])
def test_what_only_looks_like_a_legal_move_is_none(move) -> None:
    ctx = Context(game_type="tic_tac_toe", valid_options=[1, 2])
    decision = asked(lambda ctx: move, ctx)
    assert type(decision.move) is int
    assert decision.fault is not None


def test_a_move_that_says_the_same_as_an_option_is_that_option() -> None:
    ctx = Context(game_type="nim", valid_options=[{"from": [0, 1], "take": 2}])
    assert asked(lambda ctx: {"take": 2, "from": (0, 1)}, ctx) == Decision({"from": [0, 1], "take": 2})


def test_a_strategy_cannot_make_a_move_legal_by_changing_the_options() -> None:
    def choose(ctx: Context) -> str:
        ctx.valid_options[:] = ["both"]
        return "both"

    assert asked(choose).move in ("even", "odd")


def test_where_the_game_names_no_options_any_move_is_played() -> None:
    ctx = Context(game_type="poetry", valid_options=[])
    assert asked(lambda ctx: "a rhyme", ctx) == Decision("a rhyme")
    assert asked(lambda ctx: object(), ctx).move is None
    assert asked(STRATEGIES["random"], ctx).move is None


def test_an_authors_function_that_blocks_holds_up_nothing_else() -> None:
    released = threading.Event()

    async def main() -> Decision:
        loop, blocked = asyncio.get_running_loop(), asyncio.Event()

        def choose(ctx: Context) -> str:
            loop.call_soon_threadsafe(blocked.set)
            released.wait()
            return "odd"

        asking = asyncio.ensure_future(decide(choose, even_odd(), 60))
        await blocked.wait()
        # The event loop still runs while the author's function waits for this.
        released.set()
        return await asking

    assert asyncio.run(main()) == Decision("odd")


def test_an_authors_function_that_never_returns_is_given_up() -> None:
    released = threading.Event()

    def choose(ctx: Context) -> str:
        released.wait()
        return "odd"

    decision = asyncio.run(decide(choose, even_odd(), 0.01))
    released.set()
    assert decision.fault == "the strategy took longer than 0.01 s"


def test_a_function_that_raises_in_its_thread_is_told_as_any_other() -> None:
    def choose(ctx: Context) -> str:
        raise StopIteration

    assert isinstance(asyncio.run(decide(choose, even_odd(), 60)).error, StopIteration)


def test_a_function_that_gives_a_coroutine_is_waited_for() -> None:
    async def think() -> str:
        return "odd"

    assert asyncio.run(decide(lambda ctx: think(), even_odd(), 60)) == Decision("odd")


def test_an_asynchronous_function_that_blocks_is_given_up_like_any_other_and_so_is_the_next() -> None:
    released = threading.Event()

    async def choose(ctx: Context) -> str:
        released.wait()
        return "odd"

    async def main() -> list[Decision]:
        return [await decide(choose, even_odd(), 0.01) for _ in range(2)]

    decisions = asyncio.run(main())
    released.set()
    assert [one.fault for one in decisions] == ["the strategy took longer than 0.01 s"] * 2


def test_what_an_asynchronous_function_opened_is_still_open_in_the_next_match() -> None:
    loops = []

    async def choose(ctx: Context) -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return "odd"

    # Two leagues, each with its own event loop.
    assert [asyncio.run(decide(choose, even_odd(), 60)) for _ in range(2)] == [Decision("odd")] * 2
    assert loops[0] is loops[1]


@pytest.mark.parametrize("inline", [False, True])
@pytest.mark.parametrize("kind", ["plain", "asynchronous"])
def test_an_error_is_traced_from_the_authors_own_first_line(inline: bool, kind: str) -> None:
    def choose(ctx: Context) -> str:
        return {}["nothing"]

    async def think(ctx: Context) -> str:
        return {}["nothing"]

    strategy = choose if kind == "plain" else think
    error = (asyncio.run if not inline else run)(decide(strategy, even_odd(), 60, inline=inline)).error
    assert error is not None
    assert [frame.name for frame in traceback.extract_tb(error.__traceback__)] == [strategy.__name__]


@pytest.mark.parametrize(
    ("cells", "mark", "best"),
    [
        ("XX.OO....", "X", [2]),  # win
        ("XX.O.....", "O", [2]),  # block
        ("X........", "O", [4]),  # any other loses
        ("X...O...X", "O", [1, 3, 5, 7]),  # a corner would lose to a fork
        ("XO.......", "X", [3, 4, 6]),  # a fork, whatever the reply
    ],
)
def test_search_looks_ahead(cells: str, mark: str, best: list[int]) -> None:
    assert STRATEGIES["search"](board(cells, mark)) in best


def test_search_never_loses() -> None:
    """Every game that an opponent can play against it, with either mark."""
    game = GAMES["tic_tac_toe"]

    def outcomes(position, mine) -> set:
        if (outcome := game.outcome(position)) is not None:
            return {outcome.winner}
        (side,) = game.to_move(position)
        options = game.question(position, side).valid_options
        if side == mine:
            view = game.view(position, side)
            options = [STRATEGIES["search"](Context(game_type=game.name, valid_options=options, view=view))]
        return set().union(*(outcomes(game.play(position, {side: option}), mine) for option in options))

    assert outcomes(game.start(), "A") == {"A", None}
    assert outcomes(game.start(), "B") == {"B", None}


def test_search_plays_what_it_has_found_when_a_game_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_kept", {})
    monkeypatch.setattr(search, "MAX_POSITIONS", 60)
    assert STRATEGIES["search"](board("XX.OO....", "X")) == 2
    assert STRATEGIES["search"](board(".........", "X")) in range(9)


def test_search_refuses_what_it_cannot_play() -> None:
    assert games_of(STRATEGIES["search"]) == ("connect_four", "tic_tac_toe")
    for ctx, why in ((even_odd(), "search cannot play even_odd"), (board("?", "X"), "search cannot read the board")):
        with pytest.raises(CannotPlay, match=f"^{why}"):
            STRATEGIES["search"](ctx)
