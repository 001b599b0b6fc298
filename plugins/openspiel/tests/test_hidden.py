"""Only their owner sees hidden things: views are OpenSpiel's observations, and the rest does not depend on them."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pyspiel
import pytest
from comparing import play_beside
from game_list import FAST
from leaguekit_openspiel import OpenSpielGame, Position

from leaguekit.games import game
from leaguekit.games.base import SIDES, Game

_IMPERFECT = pyspiel.GameType.Information.IMPERFECT_INFORMATION
_KINDS = {kind.short_name: kind for kind in pyspiel.registered_games()}
HIDDEN = [name for name in FAST if _KINDS[name].information == _IMPERFECT]
# OpenSpiel can change what a player does not see in these.
RESAMPLED = ("bargaining", "kuhn_poker", "leduc_poker", "universal_poker")
GAMES, MAX_STEPS = 5, 60


def seen(ours: Game[Any], position: Any, viewer: Any) -> bytes:
    """All that a viewer is given: its view, the picture of it, and its question."""
    view = ours.view(position, viewer)
    question = ours.question(position, viewer) if viewer in ours.to_move(position) else None
    return json.dumps([view, ours.picture(view), question, ours.to_move(position)], sort_keys=True).encode()


def test_there_are_games_with_hidden_things() -> None:
    assert len(HIDDEN) >= 25


@pytest.mark.parametrize("name", HIDDEN)
def test_each_view_is_openspiel_s_observation_of_that_player_and_nothing_else(name: str) -> None:
    kind = _KINDS[name]
    for seed in range(GAMES):
        for _, (ours, position, state) in zip(range(MAX_STEPS), play_beside(name, seed), strict=False):
            for player, side in enumerate(SIDES):
                view = ours.view(position, side)
                expected = {"you": f"player {player}"}
                observed = (
                    state.observation_string if kind.provides_observation_string else state.information_state_string
                )
                expected["observation"] = observed(player)
                if kind.provides_information_state_string:
                    expected["information_state"] = state.information_state_string(player)
                if state.is_terminal():
                    expected["end"] = str(state)
                assert view == expected
                if side in ours.to_move(position):
                    assert ours.question(position, side).context == view
                    assert len(ours.question(position, side).valid_options) <= len(state.legal_actions(player))


@pytest.mark.parametrize("name", RESAMPLED)
def test_nothing_that_is_told_depends_on_what_the_viewer_does_not_see(name: str) -> None:
    differed = 0
    for seed in range(3 * GAMES):
        rng = Random(seed)
        for _, (ours, position, state) in zip(range(MAX_STEPS), play_beside(name, seed), strict=False):
            if state.is_terminal() or state.is_chance_node():
                continue
            for player, side in enumerate(SIDES):
                other = Position(state.resample_from_infostate(player, rng.random))
                differed += str(other.state) != str(state)
                assert seen(ours, other, side) == seen(ours, position, side)
                assert seen(ours, other, None) == seen(ours, position, None)
    assert differed > 20, "what is hidden did not differ"


def test_the_public_sees_the_same_bytes_whatever_the_cards_are() -> None:
    ours = game("openspiel:kuhn_poker")
    assert isinstance(ours, OpenSpielGame)
    lines: dict[tuple[str, ...], set[bytes]] = {}
    deals = [(a, b) for a in range(3) for b in range(3) if a != b]
    for a, b in deals:
        dealt = ours.start()
        for card in (a, b):
            dealt = ours.play(dealt, {"chance": f"Deal:{card}"})
        for bets in ((), ("Pass",), ("Bet",), ("Pass", "Bet")):
            position = dealt
            for bet in bets:
                position = ours.play(position, {ours.to_move(position)[0]: bet})
            lines.setdefault(bets, set()).add(seen(ours, position, None))
            # The owner sees its own card, and the other one does not: three cards, three texts.
            assert len({ours.view(position, side)["observation"] for side in SIDES}) == 2
    assert [len(told) for told in lines.values()] == [1] * 4


def test_a_player_sees_as_many_different_things_as_it_has_cards() -> None:
    ours = game("openspiel:kuhn_poker")
    told: dict[str, set[bytes]] = {side: set() for side in SIDES}
    for a, b in [(a, b) for a in range(3) for b in range(3) if a != b]:
        position = ours.play(ours.play(ours.start(), {"chance": f"Deal:{a}"}), {"chance": f"Deal:{b}"})
        for side in SIDES:
            told[side].add(seen(ours, position, side))
    assert {side: len(views) for side, views in told.items()} == {"A": 3, "B": 3}
