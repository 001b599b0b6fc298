"""The direct engine: a league of strategies without network, clock and log, for comparing them over many seeds.

Schedule, match machine, games, strategies and table are those of every other league, and so is all chance: for the same
seed and the same players the results are the same as when manager, referees and players are programs of their own. What
is left out is what cannot happen here, for nobody is late and nobody fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from leaguekit.agents.chance import Chance
from leaguekit.agents.context import Context, PastMatch, Result, Strategy
from leaguekit.agents.strategies import STRATEGIES, Thought, judged
from leaguekit.games import game
from leaguekit.games.base import SIDES, Game, Side, other
from leaguekit.league.schedule import round_robin
from leaguekit.league.settings import Settings
from leaguekit.league.standings import Row, Table
from leaguekit.match.draw import league_seed, match_seeds
from leaguekit.match.rulings import DRAW_POINTS, WIN_POINTS, Verdict
from leaguekit.protocol.fields import Role
from leaguekit.protocol.ids import match_id, player_id
from leaguekit.protocol.messages import MatchResult, OwnRecord, ResultDetails, Standing
from leaguekit.sim.courses import MOST_TURNS, Courses, Turn

# The first attempt at a match always succeeds.
_ATTEMPT = 1
_ROLES: dict[Side, Role] = {"A": "PLAYER_A", "B": "PLAYER_B"}
_RESULTS: dict[int, Result] = {WIN_POINTS: "WIN", DRAW_POINTS: "DRAW", 0: "LOSS"}


class Entrant(NamedTuple):
    """Who plays: a name for the table, and the function that chooses."""

    name: str
    strategy: Strategy


class _Player(Struct):
    """A player and what it has done in the league so far."""

    id: str
    name: str
    strategy: Strategy
    chance: Chance
    # In the order of the schedule, and the points taken from each so far.
    opponents: list[str] = []
    taken: list[int] = []
    history: list[PastMatch] = []
    # Moves that were made for the strategy, because its own were none, and what was wrong with the first.
    replaced: int = 0
    fault: str | None = None

    def record(self) -> OwnRecord:
        wins, draws = self.taken.count(WIN_POINTS), self.taken.count(DRAW_POINTS)
        losses, points = len(self.taken) - wins - draws, WIN_POINTS * wins + DRAW_POINTS * draws
        return OwnRecord(wins=wins, losses=losses, draws=draws, points=points)

    def row(self) -> Row:
        against: dict[str, int] = {}
        for opponent, points in zip(self.opponents, self.taken, strict=False):
            against[opponent] = against.get(opponent, 0) + points
        record = self.record()
        return Row(self.id, self.name, record.wins, record.draws, record.losses, 0, against)


class Planned(Struct, frozen=True):
    """A match of the schedule."""

    id: str
    round_id: int
    a: _Player
    b: _Player
    

class DirectLeague:
    """A league that can be played again and again, each seed giving another one."""

    def __init__(self, settings: Settings, entrants: Sequence[Entrant], most_turns: int = MOST_TURNS) -> None:
        self.settings = settings
        self.game = game(settings.game_type)
        self._courses = Courses(self.game, most_turns)
        self.players = {
            (name := player_id(number)): _Player(name, entrant.name, entrant.strategy, Chance())
            for number, entrant in enumerate(entrants, start=1)
        }
        self.rounds = [
            [self._planned(round_id, number, *pair) for number, pair in enumerate(pairs, start=1)]
            for round_id, pairs in enumerate(round_robin([*self.players], settings.rounds), start=1)
        ]
        self.matches = sum(map(len, self.rounds))
        self._draws = type(self.game).draw is not Game.draw
        # Ours look at no table; for an author's strategy it is made after every round.
        self._shows_table = any(entrant.strategy not in STRATEGIES.values() for entrant in entrants)
        self._standings: list[Standing] = []

    def _planned(self, round_id: int, number: int, a: str, b: str) -> Planned:
        self.players[a].opponents.append(b)
        self.players[b].opponents.append(a)
        return Planned(match_id(round_id, number), round_id, self.players[a], self.players[b])

    def play(self, seed: int, seen: Callable[[str, MatchResult], None] | None = None) -> list[Standing]:
        """Play the league of a seed: its final table. ``seen`` is called with every match and its result."""
        for player in self.players.values():
            player.taken, player.history = [], []
        self._standings = []
        draws = self._drawn(seed)
        for matches in self.rounds:
            for planned in matches:
                planned.a.chance.seed((seed, planned.a.id, planned.id, _ATTEMPT))
                planned.b.chance.seed((seed, planned.b.id, planned.id, _ATTEMPT))
                verdict = self._courses.play(draws.get(planned.id), partial(self._choose, planned))
                self._count(planned, verdict)
                if seen is not None:
                    seen(planned.id, _result(planned, verdict))
            if self._shows_table:
                self._standings = self._table()
        return self._table()

    def _drawn(self, seed: int) -> dict[str, int | None]:
        """The numbers of all matches; none for a game without chance."""
        if not self._draws:
            return {}
        seed_of = match_seeds(league_seed(seed))
        return {
            planned.id: self.game.draw(seed_of(planned.id, _ATTEMPT)) for matches in self.rounds for planned in matches
        }

    def _choose(self, planned: Planned, turn: Turn) -> int:
        """Ask whoever's turn it is."""
        if turn.side == "A":
            player, opponent = planned.a, planned.b
        else:
            player, opponent = planned.b, planned.a
        move_type, options, _ = turn.question
        ctx = Context(
            game_type=self.game.name,
            move_type=move_type,
            valid_options=[*options],
            # A call for a parity shows nothing of the position.
            view={} if self.game.asks_for_parity else msgspec.json.decode(turn.view),
            league_id=self.settings.league_id,
            player_id=player.id,
            match_id=planned.id,
            round_id=planned.round_id,
            opponent_id=opponent.id,
            role=_ROLES[turn.side],
            record=player.record(),
            standings=self._standings,
            history=tuple(player.history),
            random=player.chance,
        )
        try:
            move = player.strategy(ctx)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
            return self._replaced(player, Thought(error=error), ctx, options)
        for place, option in enumerate(options):
            if option is move:
                return place
        return self._replaced(player, Thought(move), ctx, options)

    def _replaced(self, player: _Player, thought: Thought, ctx: Context, options: list[Any]) -> int:
        """What a strategy means by something else than an option, judged as if it played in a league."""
        decision = judged(thought, ctx, options)
        if decision.fault is not None:
            player.replaced += 1
            player.fault = player.fault or decision.fault
        return options.index(decision.move)

    def _count(self, planned: Planned, verdict: Verdict) -> None:
        a, b = planned.a, planned.b
        reason = verdict.reason.replace("{A}", a.id).replace("{B}", b.id)
        for side, player, opponent in (("A", a, b), ("B", b, a)):
            points = verdict.score[side]
            player.taken.append(points)
            player.history.append(
                PastMatch(
                    match_id=planned.id,
                    game_type=self.game.name,
                    result=_RESULTS[points],
                    opponent_id=opponent.id,
                    choice=verdict.choices[side],
                    opponent_choice=verdict.choices["B" if side == "A" else "A"],
                    drawn_number=verdict.drawn,
                    reason=reason,
                    round_id=planned.round_id,
                    role=_ROLES[side],
                )
            )

    def _table(self) -> list[Standing]:
        table = Table.of(self.settings.tie_breaks, [player.row() for player in self.players.values()])
        return [*table.standings().values()]


def _result(planned: Planned, verdict: Verdict) -> MatchResult:
    """A verdict as the manager would record it."""
    ids = {"A": planned.a.id, "B": planned.b.id}
    return MatchResult(
        winner=None if verdict.winner is None else ids[verdict.winner],
        score={ids[side]: points for side, points in verdict.score.items()},
        details=ResultDetails(
            drawn_number=verdict.drawn,
            choices={ids[side]: choice for side, choice in verdict.choices.items()},
            status=verdict.status,
            ruling=verdict.ruling,
        ),
    )
