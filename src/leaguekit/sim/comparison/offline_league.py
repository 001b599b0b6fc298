"""Plays leagues without network, clock and log, to compare strategies over many seeds.

It uses the same schedule, match machine, games, strategies, table and random numbers as every other league. So for the
same seed and the same players the results are the same as those of a league of separate programs. It leaves out only
what cannot happen here: no player is late and no player fails. An illegal move is replaced, also one that is not
listed: in other leagues the referee refuses that one, and asks again.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from inspect import iscoroutine
from pathlib import Path
from traceback import walk_tb
from typing import NamedTuple

from msgspec import Struct, field, json, structs

from leaguekit.formats import FormatError, parse_format
from leaguekit.formats.base import GameResult, Pair, PastRound, Tournament
from leaguekit.games import game
from leaguekit.games.base import Side, has_chance
from leaguekit.league.settings import Settings, with_game
from leaguekit.league.standings import MILLION, PlacedRow, Row, Table
from leaguekit.league.ties import MAX_TIES, tie_sentences
from leaguekit.manager.rounds.pairing_engine import Py4Swiss
from leaguekit.match.draw import league_seed, match_seeds
from leaguekit.match.move_messages import DOCUMENTED, messages_of
from leaguekit.match.rulings import DRAW_POINTS, WIN_POINTS, Verdict
from leaguekit.player import context
from leaguekit.player.context import PastMatch, Result, Strategy, record_of
from leaguekit.player.decisions import StrategyResult, decision_from, replace_move
from leaguekit.player.keyed_random import KeyedRandom
from leaguekit.player.move_limit import MoveTooSlow
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.fields import MatchRole
from leaguekit.protocol.ids import match_id, player_id
from leaguekit.protocol.messages import MatchResult, MoveInfo, MoveOrigins, Standing
from leaguekit.sim.comparison.match_cache import MAX_BYTES, MatchCache, Turn, Unlisted, result_of
from leaguekit.sim.interrupts import is_interrupted

# The first attempt at a match always succeeds.
_ATTEMPT = 1
_ROLES: dict[Side, MatchRole] = {"A": "PLAYER_A", "B": "PLAYER_B"}
_RESULTS: dict[int, Result] = {WIN_POINTS: "WIN", DRAW_POINTS: "DRAW", 0: "LOSS"}

# Called with a match's id and its result.
OnResult = Callable[[str, MatchResult], None]


class Entrant(NamedTuple):
    """A participant: its name in the table, its strategy, and the name of the strategy if it is another."""

    name: str
    strategy: Strategy
    strategy_name: str = ""


class Player(Struct):
    """A player, and its results in the league so far."""

    id: str
    name: str
    strategy: Strategy
    random: KeyedRandom
    row: Row
    # For errors.
    strategy_name: str
    history: list[PastMatch] = []
    # The number of matches against each opponent. It is not counted in a single round-robin.
    met: dict[str, int] = {}
    # The payoffs against each opponent, in millionths. They are counted if the league is ranked by payoff.
    payoffs: dict[str, int] = {}
    # The latest context in the match that is played.
    context: Context | None = None
    # The number of its moves by origin.
    origins: MoveOrigins = field(default_factory=MoveOrigins)

    def reset(self) -> None:
        """Prepare for a new league."""
        self.row, self.history, self.met, self.payoffs, self.context = Row(self.id, self.name), [], {}, {}, None
        self.origins = MoveOrigins()


class _ScheduledMatch(Struct, frozen=True):
    """A match of the schedule."""

    id: str
    round_id: int
    a: Player
    b: Player


class Context(context.Context, frozen=True):
    """What a strategy is given. It has the name of its base class, which authors see in errors."""

    def played(self) -> list[PastMatch]:
        """The whole history: an offline league has one game, and every match is decided by play."""
        return [*self.history]


class UnusableStrategy(ValueError):
    """A strategy that an offline league cannot call: it is asynchronous, or does not return."""


class GameBrokeDown(ValueError):
    """A game that raised an error."""


class OfflineLeague:
    """A league that can be played many times, with a different seed each time.

    With ``fresh`` the strategies see no history, no record and no table. With ``same_chance`` the game's chance is the
    same in all matches of a league.
    """

    def __init__(
        self,
        settings: Settings,
        entrants: Sequence[Entrant],
        max_bytes: int = MAX_BYTES,
        *,
        fresh: bool = False,
        same_chance: bool = False,
    ) -> None:
        self._settings = settings = with_game(settings)
        self._fresh = fresh
        self._same_chance = same_chance
        self.game = game(settings.game_name)
        self._game_name, self._league_id = self.game.name, settings.league_id
        self._cache = MatchCache(self.game, max_bytes)
        self.players = {
            (one := player_id(number)): Player(
                one,
                entrant.name,
                entrant.strategy,
                KeyedRandom(),
                Row(one, entrant.name),
                entrant.strategy_name or entrant.name,
            )
            for number, entrant in enumerate(entrants, start=1)
        }
        self._format = parse_format(settings.format_text)
        if (fault := self._format.player_count_error(len(self.players))) is not None:
            raise FormatError(fault)
        self._engine = Py4Swiss() if self._format.needs_engine else None
        # In a single round-robin, the number of meetings is known without counting.
        self.counts_meetings = str(self._format) != "round_robin"
        # None if the format draws each round.
        self._rounds = (
            None
            if (whole := self._format.full_schedule([*self.players])) is None
            else [self._schedule(round_id, pairs) for round_id, pairs in enumerate(whole, start=1)]
        )
        self._ranking: list[str] = []
        # The documented call has no field for the view.
        self._shows_view = messages_of(self.game) is not DOCUMENTED
        self._has_chance = has_chance(self.game)
        # Whether a context is used for several questions.
        self._is_long = self.game.max_turns > 1
        self._has_args = bool(self.game.args)
        # The built-in strategies do not look at the table. For others it is computed after every round.
        self._shows_table = not fresh and any(entrant.strategy not in STRATEGIES.values() for entrant in entrants)
        self._standings: list[Standing] = []
        self._seed = b""

    def assign_seats(self, entrants: Sequence[Entrant]) -> None:
        """Give the seats to the same entrants in another order. This takes effect in the next league."""
        for player, entrant in zip(self.players.values(), entrants, strict=True):
            player.name, player.strategy = entrant.name, entrant.strategy
            player.strategy_name = entrant.strategy_name or entrant.name

    def play(self, seed: int, on_result: OnResult | None = None) -> list[Standing]:
        """Play the league of a seed, and call ``on_result`` with each result. Returns the final table."""
        for _ in self.play_rounds(seed, on_result):
            pass
        return self.standings()

    def play_rounds(self, seed: int, on_result: OnResult | None = None) -> Iterator[int]:
        """Play the league round by round. Yields the number of matches of each.

        Raises UnusableStrategy and GameBrokeDown.
        """
        for player in self.players.values():
            player.reset()
        self._standings = []
        self._seed = league_seed(seed)
        seed_of = match_seeds(self._seed)
        for matches in self._all_rounds():
            for match in matches:
                for player in (match.a, match.b):
                    player.random.seed((seed, player.id, match.id, _ATTEMPT))
                key = "any" if self._same_chance else match.id
                match_seed = seed_of(key, _ATTEMPT) if self._has_chance else b""
                try:
                    verdict = self._cache.play(match_seed, partial(self._choose, match))
                except UnusableStrategy:
                    raise
                except Exception as error:
                    # Strategies raise nothing here.
                    raise GameBrokeDown(f"the game {self._game_name} broke down: {_describe(error)}") from error
                self._record(match, verdict)
                if self._rounds is None:
                    self._games.append(GameResult(match.a.id, match.b.id, (verdict.score["A"], verdict.score["B"])))
                if on_result is not None:
                    on_result(match.id, result_of(verdict, match.a.id, match.b.id))
            if self._shows_table:
                self._standings = self.standings()
            yield len(matches)

    def standings(self) -> list[Standing]:
        """The current table of the league that is or was played last."""
        return [*self._table().standings().values()]

    def placed(self) -> list[PlacedRow]:
        """The rows of this table, each with what decided its rank."""
        return self._table().placed_rows()

    def ties(self) -> list[str]:
        """Sentences that say what decided between players with equal points."""
        return tie_sentences(self.placed(), self._settings.tie_breaks, MAX_TIES)

    @property
    def matches(self) -> int:
        """The number of matches; about that number if the format draws each round."""
        if self._rounds is not None:
            return sum(map(len, self._rounds))
        size = len(self.players)
        return size // 2 * (self._format.total_rounds(size) or 2)

    def _schedule(self, round_id: int, pairs: Sequence[Pair]) -> list[_ScheduledMatch]:
        return [
            _ScheduledMatch(match_id(round_id, number), round_id, self.players[a], self.players[b])
            for number, (a, b) in enumerate(pairs, start=1)
        ]

    def _all_rounds(self) -> Iterator[list[_ScheduledMatch]]:
        """The rounds. If the format draws a round, the previous one has been played."""
        self._ranking = []
        if self._rounds is not None:
            yield from self._rounds
            return
        tournament = Tournament(tuple(self.players), (), self._seed)
        while (ended := self._format.ended(tournament)) is None:
            drawn = self._format.pair_next_round(tournament, self._engine)
            self._games: list[GameResult] = []
            matches = self._schedule(len(tournament.rounds) + 1, drawn.pairs)
            self._ranking = drawn.ranking
            yield matches
            playing = {player for pair in drawn.pairs for player in pair}
            for player in self.players.values():
                if player.id not in playing:
                    player.row.count_without_game(is_bye=player.id in drawn.byes)
            past = PastRound(tuple(self._games), dict.fromkeys(drawn.byes, "bye"), drawn.label)
            tournament = tournament._replace(rounds=(*tournament.rounds, past))
        self._ranking = ended.ranking

    def _table(self) -> Table:
        rows = [player.row for player in self.players.values()]
        table = Table.of(self._settings.tie_breaks, rows, self._seed.hex(), self._settings.payoff_range)
        table.ranking = self._ranking
        return table

    def _choose(self, match: _ScheduledMatch, turn: Turn) -> int | Unlisted:
        """Ask the player whose turn it is. Returns the index of its option, or a move that is not listed."""
        if turn.side == "A":
            player, opponent = match.a, match.b
        else:
            player, opponent = match.b, match.a
        question = turn.question
        if player.context is not None:
            ctx = self._next_context(player.context, turn)
        else:
            ctx = Context(
                game_type=self._game_name,
                move_type=question.move_type,
                valid_options=turn.copy_options(),
                view=turn.copy_view() if self._shows_view else {},
                league_id=self._league_id,
                player_id=player.id,
                match_id=match.id,
                round_id=match.round_id,
                opponent_id=opponent.id,
                role=_ROLES[turn.side],
                record=record_of(()) if self._fresh else player.row.record,
                standings=[*self._standings],
                history=tuple(player.history),
                random=player.random,
            )
            if self._has_args or question.total is not None:
                # All fields at once would make Python pass the arguments in a slower way.
                ctx = structs.replace(ctx, total=question.total, syntax=question.syntax, game_args={**self.game.args})
            if self._is_long:
                player.context = ctx
        try:
            move = player.strategy(ctx)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the author's code may raise anything
            return self._judge(player, StrategyResult(error=error), ctx, turn)
        except MoveTooSlow as error:
            fault = "had chosen no move when Ctrl-C was pressed" if is_interrupted() else f"{error} for a move"
            raise UnusableStrategy(f"the strategy {player.strategy_name} {fault}{_line_of(error)}") from None
        # A fast path: a move is nearly always the same text as an option, or one of the very objects that were offered.
        options = question.valid_options
        if type(move) is str and move in options:
            player.origins.own += 1
            return options.index(move)
        for index, option in enumerate(options):
            if option is move:
                player.origins.own += 1
                return index
        return self._judge(player, StrategyResult(move), ctx, turn)

    def _next_context(self, ctx: Context, turn: Turn) -> Context:
        """The context of a later question in the same match. It is made from the first one, which is much faster."""
        question = turn.question
        return structs.replace(
            ctx,
            move_type=question.move_type,
            valid_options=turn.copy_options(),
            total=question.total,
            syntax=question.syntax,
            view=turn.copy_view() if self._shows_view else {},
            standings=[*self._standings],
        )

    def _judge(self, player: Player, thought: StrategyResult, ctx: Context, turn: Turn) -> int | Unlisted:
        """What a strategy means: an option, a legal move that is not listed, or the option that is played instead."""
        if iscoroutine(thought.move):
            thought.move.close()
            raise UnusableStrategy(
                f"the strategy {player.strategy_name} is asynchronous, and only plain functions can be asked here"
            )
        options = turn.options
        decision = decision_from(thought, ctx, options)
        chosen: int | Unlisted | None = next((i for i, option in enumerate(options) if option is decision.move), None)
        if chosen is None:
            # As it would be sent.
            move = json.decode(json.encode(decision.move))
            fault = decision.reason if decision.forfeit else self.game.move_error(turn.position, turn.side, move)
            if fault is None:
                chosen = Unlisted(move)
            else:
                decision = replace_move(ctx, options, f"the strategy chose {reprlib.repr(move)}: {fault}")
                chosen = next(i for i, option in enumerate(options) if option is decision.move)
        player.origins.count(MoveInfo(origin=decision.origin, reason=decision.reason + _line_of(decision.error)))
        return chosen

    def _record(self, match: _ScheduledMatch, verdict: Verdict) -> None:
        """Record the result of a match with both players."""
        a, b, chosen, payoffs = match.a, match.b, verdict.choices, verdict.payoffs
        reason = verdict.reason.replace("{A}", a.id).replace("{B}", b.id)
        sides: tuple[tuple[Side, Player, Player, Side], ...] = (("A", a, b, "B"), ("B", b, a, "A"))
        for side, player, opponent, other_side in sides:
            points = verdict.score[side]
            player.row.count(opponent.id, points)
            player.context = None
            if payoffs is not None:
                payoff = payoffs[side == "B"]
                player.row.count_payoff(payoff)
                player.payoffs[opponent.id] = player.payoffs.get(opponent.id, 0) + round(MILLION * payoff)
            if self.counts_meetings:
                player.met[opponent.id] = player.met.get(opponent.id, 0) + 1
                player.row.count_opponent(opponent.id, technical=False, step=1)
            if self._fresh:
                continue
            player.history.append(
                PastMatch(
                    match_id=match.id,
                    game_type=self._game_name,
                    result=_RESULTS[points],
                    opponent_id=opponent.id,
                    choice=chosen[side],
                    opponent_choice=chosen[other_side],
                    drawn_number=verdict.drawn,
                    reason=reason,
                    round_id=match.round_id,
                    role=_ROLES[side],
                )
            )


# Where a strategy runs, for ``move_timeout``.
CALLER = OfflineLeague._choose.__code__  # noqa: SLF001 - of this module


def _describe(error: Exception) -> str:
    """An error, and the line where it was raised."""
    *_, (frame, line) = walk_tb(error.__traceback__)
    return f"{error!r:.200} (line {line} of {Path(frame.f_code.co_filename).name})"


def _line_of(error: BaseException | None) -> str:
    """The last line of the strategy's own file in the traceback of an error."""
    # The first frame is the call in this module.
    trace = [] if error is None else [(frame.f_code.co_filename, line) for frame, line in walk_tb(error.__traceback__)]
    lines = [line for file, line in trace[1:] if file == trace[1][0]]
    return f" (line {lines[-1]} of {Path(trace[1][0]).name})" if lines else ""
