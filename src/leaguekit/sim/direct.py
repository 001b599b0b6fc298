"""The direct engine: a league of strategies without network, clock and log, for comparing them over many seeds.

Schedule, match machine, games, strategies and table are those of every other league, and so is all chance: for the same
seed and the same players the results are the same as when manager, referees and players are programs of their own. What
is left out is what cannot happen here, for nobody is late and nobody fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import iscoroutine
from typing import Any, NamedTuple

from msgspec import Struct, field

from leaguekit.games import game
from leaguekit.games.base import Game, Side
from leaguekit.league.schedule import round_robin
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Row, Table
from leaguekit.league.ties import MAX_TIES, PlacedRow, placed_rows, tie_sentences
from leaguekit.match.draw import league_seed, match_seeds
from leaguekit.match.rulings import DRAW_POINTS, WIN_POINTS, Verdict
from leaguekit.player.context import Context, PastMatch, Result, Strategy, record_of
from leaguekit.player.decisions import StrategyResult, validate_result
from leaguekit.player.keyed_random import KeyedRandom, match_key
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.fields import Role
from leaguekit.protocol.ids import match_id, player_id
from leaguekit.protocol.messages import MatchResult, MoveInfo, MoveOrigins, ResultDetails, Standing
from leaguekit.sim.match_cache import MAX_REMEMBERED, Courses, Turn

# The first attempt at a match always succeeds.
_ATTEMPT = 1
_ROLES: dict[Side, Role] = {"A": "PLAYER_A", "B": "PLAYER_B"}
_RESULTS: dict[int, Result] = {WIN_POINTS: "WIN", DRAW_POINTS: "DRAW", 0: "LOSS"}

# A match's id and its result.
Seen = Callable[[str, MatchResult], None]


class Entrant(NamedTuple):
    """Who plays: a name for the table, and the function that chooses."""

    name: str
    strategy: Strategy


class Player(Struct):
    """A player, and what it has done in the league so far."""

    id: str
    name: str
    strategy: Strategy
    chance: KeyedRandom
    row: Row
    history: list[PastMatch] = []
    # Where its moves came from.
    origins: MoveOrigins = field(default_factory=MoveOrigins)

    def begin(self) -> None:
        """Enter a new league."""
        self.row, self.history = Row(self.id, self.name), []
        self.origins = MoveOrigins()


class _Planned(Struct, frozen=True):
    """A match of the schedule."""

    id: str
    round_id: int
    a: Player
    b: Player


class _Context(Context, frozen=True):
    def played(self) -> list[PastMatch]:
        """All there were: here is one game, and every match is decided by play."""
        return [*self.history]


class CannotAsk(ValueError):
    """A strategy cannot be asked here."""


class DirectLeague:
    """A league that can be played again and again, each seed giving another one.

    With ``fresh`` no strategy is shown anything of earlier matches: no history, no record, no table.
    """

    def __init__(
        self,
        settings: Settings,
        entrants: Sequence[Entrant],
        max_remembered: int = MAX_REMEMBERED,
        *,
        fresh: bool = False,
    ) -> None:
        self._settings = settings
        self._fresh = fresh
        self.game = game(settings.game_type)
        self._courses = Courses(self.game, max_remembered)
        self.players = {
            (one := player_id(number)): Player(
                one, entrant.name, entrant.strategy, KeyedRandom(), Row(one, entrant.name)
            )
            for number, entrant in enumerate(entrants, start=1)
        }
        self._rounds = [
            [
                _Planned(match_id(round_id, number), round_id, self.players[a], self.players[b])
                for number, (a, b) in enumerate(pairs, start=1)
            ]
            for round_id, pairs in enumerate(round_robin([*self.players], settings.rounds), start=1)
        ]
        self.matches = sum(map(len, self._rounds))
        self._has_chance = type(self.game).draw is not Game.draw
        # Ours look at no table; for an author's strategy it is made after every round.
        self._shows_table = not fresh and any(entrant.strategy not in STRATEGIES.values() for entrant in entrants)
        self._standings: list[Standing] = []
        self._seed = b""

    def seat(self, entrants: Sequence[Entrant]) -> None:
        """Give the seats to the same entrants in another order, from the next league on."""
        for player, entrant in zip(self.players.values(), entrants, strict=True):
            player.name, player.strategy = entrant

    def play(self, seed: int, seen: Seen | None = None) -> list[Standing]:
        """Play the league of a seed: its final table. ``seen`` is called with every match and its result."""
        for _ in self.play_rounds(seed, seen):
            pass
        return self.standings()

    def play_rounds(self, seed: int, seen: Seen | None = None) -> Iterator[int]:
        """The same round by round: how many matches each had. Raises CannotAsk."""
        for player in self.players.values():
            player.begin()
        self._standings = []
        self._seed = league_seed(seed)
        draws = self._draws()
        for matches in self._rounds:
            for planned in matches:
                for player in (planned.a, planned.b):
                    player.chance.seed(match_key(seed, player.id, planned.id, _ATTEMPT))
                verdict = self._courses.play(draws.get(planned.id), partial(self._choose, planned))
                self._remember(planned, verdict)
                if seen is not None:
                    seen(planned.id, _result(planned, verdict))
            if self._shows_table:
                self._standings = self.standings()
            yield len(matches)

    def standings(self) -> list[Standing]:
        """The table of the league played last, as far as it was played."""
        return [*self._table().standings().values()]

    def placed(self) -> list[PlacedRow]:
        """The same with what decided the ranks."""
        return placed_rows(self._table())

    def ties(self) -> list[str]:
        """What decided between players with equal points, in words."""
        return tie_sentences(self.placed(), self._settings.tie_breaks, MAX_TIES)

    def _table(self) -> Table:
        rows = [player.row for player in self.players.values()]
        return Table.of(self._settings.tie_breaks, rows, self._seed.hex())

    def _draws(self) -> dict[str, int | None]:
        """The number of each match; none for a game without chance."""
        if not self._has_chance:
            return {}
        seed_of = match_seeds(self._seed)
        return {
            planned.id: self.game.draw(seed_of(planned.id, _ATTEMPT)) for matches in self._rounds for planned in matches
        }

    def _choose(self, planned: _Planned, turn: Turn) -> int:
        """Ask the player whose turn it is."""
        if turn.side == "A":
            player, opponent = planned.a, planned.b
        else:
            player, opponent = planned.b, planned.a
        ctx = _Context(
            game_type=self.game.name,
            move_type=turn.move_type,
            valid_options=turn.own_options(),
            # The call for a parity shows nothing of the position.
            view={} if self.game.asks_for_parity else turn.own_view(),
            league_id=self._settings.league_id,
            player_id=player.id,
            match_id=planned.id,
            round_id=planned.round_id,
            opponent_id=opponent.id,
            role=_ROLES[turn.side],
            record=record_of(()) if self._fresh else player.row.record,
            standings=[*self._standings],
            history=tuple(player.history),
            random=player.chance,
        )
        try:
            move = player.strategy(ctx)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
            return _judge(player, StrategyResult(error=error), ctx, turn.options)
        # Nearly always it is one of the very objects that are offered; what else counts as one is judged as ever.
        for place, option in enumerate(turn.options):
            if option is move:
                player.origins.own += 1
                return place
        return _judge(player, StrategyResult(move), ctx, turn.options)

    def _remember(self, planned: _Planned, verdict: Verdict) -> None:
        """Tell both players how their match ended."""
        a, b, chosen = planned.a, planned.b, verdict.choices
        reason = verdict.reason.replace("{A}", a.id).replace("{B}", b.id)
        sides: tuple[tuple[Side, Player, Player, Side], ...] = (("A", a, b, "B"), ("B", b, a, "A"))
        for side, player, opponent, other_side in sides:
            points = verdict.score[side]
            player.row.count(opponent.id, points)
            if self._fresh:
                continue
            player.history.append(
                PastMatch(
                    match_id=planned.id,
                    game_type=self.game.name,
                    result=_RESULTS[points],
                    opponent_id=opponent.id,
                    choice=chosen[side],
                    opponent_choice=chosen[other_side],
                    drawn_number=verdict.drawn,
                    reason=reason,
                    round_id=planned.round_id,
                    role=_ROLES[side],
                )
            )


def _judge(player: Player, thought: StrategyResult, ctx: Context, options: list[Any]) -> int:
    """The place of the option that a strategy means, or of the one that is played for it, as in every league."""
    if iscoroutine(thought.move):
        thought.move.close()
        raise CannotAsk(f"the strategy of {player.name} is asynchronous, and only plain functions can be asked here")
    decision = validate_result(thought, ctx, options)
    player.origins.count(MoveInfo(origin=decision.origin, reason=decision.reason))
    return next(place for place, option in enumerate(options) if option is decision.move)


def _result(planned: _Planned, verdict: Verdict) -> MatchResult:
    """A verdict as the manager would record it."""
    ids = {"A": planned.a.id, "B": planned.b.id}
    score: dict[str, Any] = {ids[side]: points for side, points in verdict.score.items()}
    return MatchResult(
        winner=None if verdict.winner is None else ids[verdict.winner],
        score=score,
        details=ResultDetails(
            drawn_number=verdict.drawn,
            choices={ids[side]: choice for side, choice in verdict.choices.items()},
            status=verdict.status,
            ruling=verdict.ruling,
        ),
    )
