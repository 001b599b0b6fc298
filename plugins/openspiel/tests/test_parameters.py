"""Bad names and parameters are errors with a remedy. They never end the process that is asked."""

from __future__ import annotations

import pytest

from leaguekit.agents.game_loading import NoSuchGame, load_game


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("openspiel:ches", "OpenSpiel has no game 'ches'; the nearest is 'chess'."),
        ("openspiel:zzzz", "OpenSpiel has no game 'zzzz'; `league games openspiel` lists its games."),
        ("openspiel", "There is no game 'openspiel'; write openspiel:NAME; `league games openspiel` lists its games."),
        ("openspiel:go(bord_size=9)", "go has no parameter bord_size; the nearest is board_size."),
        (
            "openspiel:go(x=9)",
            "no parameter x; its parameters are: board_size, handicap, komi, max_game_length.",
        ),
        ("openspiel:go(board_size=nine)", "board_size must be a whole number, such as 19; got 'nine'."),
        ("openspiel:go(board_size=true)", "board_size must be a whole number, such as 19; got True."),
        ("openspiel:go(komi=null)", "komi must be a number, such as 7.5; got None."),
        (
            "openspiel:go(board_size=1000000)",
            "OpenSpiel refuses them: The current Go implementation supports",
        ),
        ("openspiel:breakthrough(columns=-1)", "OpenSpiel refuses them: cols_ > 1"),
        ("openspiel:crazy_eights(players=3)", "crazy_eights would have 3 players, and a match has two."),
        ('openspiel:kriegspiel(fen="x")', "fen must be a position as FEN writes it; got 'x'."),
        ("openspiel:misere", "misere is made from another game or a file, and cannot be loaded by its name."),
        ("openspiel:solitaire", "solitaire is not a game for two players."),
        ("openspiel:mfg_crowd_modelling", "mfg_crowd_modelling is "),
    ],
)
def test_a_bad_name_or_parameter_is_told_with_what_would_be_right(text: str, why: str) -> None:
    with pytest.raises(NoSuchGame) as refused:
        load_game(text)
    assert why in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        # OpenSpiel itself is ended by these: by an abort, and by access to memory that it does not own.
        "openspiel:hanabi(colors=0)",
        "openspiel:connect_four(rows=0)",
        "openspiel:havannah(board_size=-1)",
    ],
)
def test_parameters_that_end_openspiel_do_not_end_this_process(text: str) -> None:
    with pytest.raises(NoSuchGame, match="OpenSpiel breaks down in "):
        load_game(text)


def test_parameters_that_take_forever_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("leaguekit_openspiel._TRIAL_SECONDS", 1)
    with pytest.raises(NoSuchGame, match="OpenSpiel takes more than 1 seconds to begin blotto with these"):
        load_game("openspiel:blotto(coins=1000000)")


def test_whole_numbers_are_numbers_where_openspiel_wants_a_fraction() -> None:
    assert load_game("openspiel:go(board_size=9, komi=7)").args == {"board_size": 9, "komi": 7}
