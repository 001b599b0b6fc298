"""The two players of one match, from the manager's assignment."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from leaguekit.games.base import Side
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens


class Seats(dict[Side, m.AssignedPlayer]):
    """The players by side, and the tokens by which each is identified.

    The constructor raises ValueError if a verifier in the assignment is not hexadecimal.
    """

    def __init__(self, assignment: m.MatchAssignment) -> None:
        super().__init__()
        self._verifiers: dict[Side, bytes | None] = {}
        self.renew(assignment)

    def renew(self, assignment: m.MatchAssignment) -> None:
        """Replace the players by those of a newer assignment: a player may have a new endpoint or a new token."""
        self |= {"A": assignment.player_A, "B": assignment.player_B}
        for side, player in self.items():
            self._verifiers[side] = None if player.verifier is UNSET else bytes.fromhex(player.verifier)

    def can_verify(self, side: Side) -> bool:
        """Whether the assignment says how to check this player's token."""
        return self[side].expected_token is not UNSET or self._verifiers[side] is not None

    def is_foreign(self, side: Side, token: str | UnsetType) -> bool:
        """Whether a token is known to belong to another agent than this player."""
        return token is not UNSET and self.can_verify(side) and not self.is_token_of(side, token)

    def is_token_of(self, side: Side, token: str) -> bool:
        """Whether a token belongs to this player: the token derived for this match, or the player's own token."""
        derived, verifier = self[side].expected_token, self._verifiers[side]
        return (derived is not UNSET and tokens.are_equal(token, derived)) or (
            verifier is not None and tokens.matches_verifier(token, verifier)
        )
