"""A match that the kit referees against the player: what it sends at each turn, and where the game stands."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from leaguekit.agents.world import World
from leaguekit.games.base import SIDES, Game, Side, other
from leaguekit.match.draw import commitment
from leaguekit.match.rulings import Ruling, Verdict, by_fault, by_play
from leaguekit.match.signals import GameFault
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.protocol.fields import MatchState
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.referee.match_messages import MatchMessages

LIMITS = m.TimeLimits(
    join_seconds=BY_REQUEST[m.GameInvitation].seconds,
    choice_seconds=BY_REQUEST[m.ChooseParityCall].seconds,
    game_over_seconds=BY_REQUEST[m.GameOver].seconds,
    max_retries=3,
    retry_seconds=2.0,
)


class Bout:
    """One match. The opponent always takes its first option; ``side`` is the player's."""

    def __init__(
        self, world: World, assignment: m.MatchAssignment, referee_id: str, game: Game[Any], side: Side
    ) -> None:
        self.match_id = assignment.match_id
        self.side = side
        self._game = game
        self._drawn = game.draw(bytes.fromhex(assignment.match_seed))
        nonce = world.entropy(16)
        opening = (UNSET, UNSET) if self._drawn is None else (commitment(nonce, self._drawn), nonce.hex())
        seats = {"A": assignment.player_A, "B": assignment.player_B}
        self._players: dict[Side, str] = {one: seats[one].player_id for one in SIDES}
        self._messages = MatchMessages(
            world, assignment, referee_id, *opening, seats={one: seats[one] for one in SIDES}
        )
        self._position = game.start(self._drawn)
        self._advance()

    @property
    def is_over(self) -> bool:
        return self._game.outcome(self._position) is not None

    def invitation(self) -> m.GameInvitation:
        return self._messages.invitation(self.side)

    def call(self) -> m.ChooseParityCall | m.GameMoveCall:
        """The call for the player's choice as the game stands."""
        question = self._game.question(self._position, self.side)
        return self._messages.call(self.side, question, LIMITS.choice_seconds, for_parity=self._game.asks_for_parity)

    def fault(self, move: Any) -> str | None:
        """What is wrong with a choice, in a sentence."""
        return self._game.fault(self._position, self.side, move)

    def options(self) -> list[Any]:
        return self._game.question(self._position, self.side).valid_options

    def play(self, move: Any) -> None:
        """Carry out the player's choice, or its first option if that is not legal."""
        legal = move if self.fault(move) is None else self.options()[0]
        self._played({self.side: legal})
        self._advance()

    def _advance(self) -> None:
        """Let the opponent play until the player is asked."""
        while not self.is_over and self.side not in self._game.to_move(self._position):
            self._played({})

    def _played(self, moves: dict[Side, Any]) -> None:
        for side in self._game.to_move(self._position):
            moves.setdefault(side, self._game.question(self._position, side).valid_options[0])
        # In the order of the game's own list, whoever was asked first.
        ordered = {side: moves[side] for side in self._game.to_move(self._position)}
        self._position = self._game.play(self._position, ordered)

    def error(self, code: str, detail: str, stage: MatchState = "COLLECTING_CHOICES") -> m.GameError:
        """What a referee says of a wrong or a missing answer that may be given again."""
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

    def over(self) -> m.GameOver:
        """The end of a match that was played; one that was not is lost by the player."""
        outcome = self._game.outcome(self._position)
        if outcome is None:
            return self.lost(self.side)
        choices = self._game.choices(self._position)
        return self._told(by_play(outcome, self._players, drawn=self._drawn, choices=choices, recall=dict))

    def lost(self, loser: Side | None = None) -> m.GameOver:
        """A technical loss: of the opponent, if nobody is named."""
        faults = {loser or other(self.side): Ruling.CHOICE_TIMEOUT}
        return self._told(by_fault(faults, self._players, choices=dict.fromkeys(SIDES), recall=dict))

    def _told(self, verdict: Verdict) -> m.GameOver:
        return self._messages.game_over(verdict, self._game.view(self._position, None))[self.side]
