"""A match that the kit referees for the player under test: its messages, and the state of the game."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Game, Moves, Side, other
from leaguekit.games.records import choices_of
from leaguekit.kit.documented_game import ChoiceCall
from leaguekit.match.draw import commitment
from leaguekit.match.move_messages import drawn_number, promise
from leaguekit.match.rulings import Ruling, Verdict, verdict_by_fault, verdict_by_play
from leaguekit.match.signals import GameFault
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.fields import MatchState
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.referee.match_messages import MatchMessages

LIMITS = m.TimeLimits(
    join_seconds=BY_REQUEST[m.GameInvitation].seconds,
    choice_seconds=BY_REQUEST[ChoiceCall].seconds,
    game_over_seconds=BY_REQUEST[m.GameOver].seconds,
    max_retries=3,
    retry_seconds=2.0,
)


class RefereedMatch:
    """One match. ``side`` is that of the player. The opponent always takes its first option."""

    def __init__(
        self, world: World, assignment: m.MatchAssignment, referee_id: str, game: Game[Any], side: Side
    ) -> None:
        self.match_id = assignment.match_id
        self.side = side
        self._game = game
        self._seed = bytes.fromhex(assignment.match_seed)
        promised = promise(game, self._seed)
        nonce = world.entropy(16)
        opening = (UNSET, UNSET) if promised is None else (commitment(nonce, promised), nonce.hex())
        players: dict[Side, m.AssignedPlayer] = {"A": assignment.player_A, "B": assignment.player_B}
        self._players: dict[Side, str] = {side: player.player_id for side, player in players.items()}
        self._messages = MatchMessages(world, assignment, referee_id, *opening, seats=players)
        self._position = game.start()
        self._record: list[Moves] = []
        self._advance()

    @property
    def is_over(self) -> bool:
        return self._game.outcome(self._position) is not None

    def invitation(self) -> m.GameInvitation:
        return self._messages.invitation(self.side)

    def call(self) -> m.Request:
        """Return the call for the player's next choice."""
        question = self._game.question(self._position, self.side)
        return self._messages.call(self.side, question, LIMITS.choice_seconds)

    def move_error(self, move: Any) -> str | None:
        """Return what is wrong with a choice, or None."""
        return self._game.move_error(self._position, self.side, move)

    def options(self) -> list[Any]:
        return self._game.question(self._position, self.side).valid_options

    def play(self, move: Any) -> None:
        """Play the player's choice, or its first option if the choice is not legal."""
        legal = move if self.move_error(move) is None else self.options()[0]
        self._play_turn({self.side: legal})
        self._advance()

    def _advance(self) -> None:
        """Let chance and the opponent play until it is the player's turn."""
        while not self.is_over and self.side not in self._game.to_move(self._position):
            self._play_turn({})

    def _play_turn(self, moves: dict[Side, Any]) -> None:
        """Play one step. A side without a move takes its first option."""
        step: Moves = {}
        for mover in self._game.to_move(self._position):
            if mover == "chance":
                step[mover] = self._game.roll(self._position, self._seed, len(self._record))
            else:
                options = self._game.question(self._position, mover).valid_options
                step[mover] = moves.get(mover, options[0])
        self._position = self._game.play(self._position, step)
        self._record.append(step)

    def error(self, code: str, detail: str, stage: MatchState = "COLLECTING_CHOICES") -> m.GameError:
        """Return the error about a wrong or a missing answer, which the player may repeat."""
        fault = GameFault(
            code=code,
            detail=detail,
            action_required=CATALOGUE[code].remedy,
            retry_count=1,
            max_retries=LIMITS.max_retries,
            retryable=True,
            consequence="A technical loss if no valid answer comes in time.",
            time_remaining=LIMITS.choice_seconds,
        )
        return self._messages.game_error(self.side, fault, stage, LIMITS.retry_seconds)

    def game_over(self) -> m.GameOver:
        """Return the end of the match. If it was not played to its end, the player has lost it."""
        outcome = self._game.outcome(self._position)
        if outcome is None:
            return self.technical_loss(self.side)
        drawn, choices = drawn_number(self._game, self._record), choices_of(self._record)
        return self._game_over_message(
            verdict_by_play(outcome, self._players, drawn=drawn, choices=choices, make_evidence=dict)
        )

    def technical_loss(self, loser: Side | None = None) -> m.GameOver:
        """Return the end of the match by a technical loss, of the opponent if ``loser`` is None."""
        faults = {loser or other(self.side): Ruling.CHOICE_TIMEOUT}
        return self._game_over_message(
            verdict_by_fault(faults, self._players, choices=dict.fromkeys(SIDES), make_evidence=dict)
        )

    def _game_over_message(self, verdict: Verdict) -> m.GameOver:
        return self._messages.game_over(verdict, self._game.view(self._position, None))[self.side]
