"""The checks of a player: the kit is its manager, its referee and its opponent, through a whole small league."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from leaguekit.agents.world import World
from leaguekit.games.base import Game
from leaguekit.kit.checks import Check, Outcome, examine
from leaguekit.kit.exchanges import Ground
from leaguekit.kit.player import limits, manners, matches, registration, trouble
from leaguekit.kit.player.scene import PlayerScene
from leaguekit.kit.report import Report

AREAS = (
    registration.REGISTER,
    registration.REACH,
    matches.ROUND,
    matches.JOIN,
    matches.CHOICE,
    matches.OVER,
    matches.STANDINGS,
    matches.ROUND_OVER,
    trouble.ERROR,
    trouble.REPEAT,
    trouble.LOSS,
    trouble.TOLERANCE,
    manners.RPC,
    manners.TOKENS,
    manners.ALIVE,
    limits.LIMITS,
    limits.END,
    manners.OWN,
)
# In the order in which they are made.
CHECKS: list[Check[PlayerScene]] = [check for area in AREAS for check in area.checks]


async def check_player(
    world: World,
    ground: Ground,
    game: Game[Any],
    *,
    port: int = 0,
    url: str | None = None,
    patience: float = 60.0,
    full: bool = False,
    tell: Callable[[str], None] = lambda _text: None,
    heard: Callable[[Outcome], None] = lambda _outcome: None,
) -> Report:
    """Check the player that registers at our port, or the one at ``url``, which need not register.

    ``tell`` hears how it goes, ``heard`` each outcome. The ground is left open, for the player may still need it.
    """
    scene = PlayerScene(world, ground, game, url=url, patience=patience, full=full, tell=tell)
    scene.here = await ground.open(scene.desk, port)
    if url is None:
        tell(f"Start your player with {scene.here} as its manager's URL; waiting {patience:g} s for it to register.")
    outcomes = await examine(CHECKS, scene, full=full, tell=heard)
    return Report("player", scene.name, outcomes)
