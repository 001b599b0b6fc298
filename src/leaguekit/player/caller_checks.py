"""Who speaks to a player as a match's referee, and what the player shows it: tokens that were made for this match.

Where the league does not derive tokens nobody can tell, and anybody may be the referee. Where the manager has announced
a match with a ``referee_verifier``, its referee shows its own token, and that one token counts for that match, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents.credentials import Credentials, Known
from leaguekit.agents.registration import Identity
from leaguekit.player.context import OngoingMatch
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.ids import PROTOCOL, sender_of

# The attempts at a match that a player tries a token for if it has forgotten the invitation.
MAX_ATTEMPTS = 9

RefereeMessage = m.GameInvitation | m.ChooseParityCall | m.GameMoveCall | m.GameOver | m.GameError


class RefereeOwnToken(NamedTuple):
    """A referee's own token: by what it is recognised, and the addresses from which it counts."""

    verifier: bytes
    hosts: frozenset[str]


class CallerVerifier(Struct, frozen=True, kw_only=True):
    """By what a gateway recognises the callers of a relayed player: its manager, and the referees of its matches."""

    player_id: str
    league_id: str
    key: bytes
    # Of referees that show their own tokens.
    verifiers: list[bytes] = []

    def recognise(self, shown: Credentials) -> Known | None:
        """The caller that shows this, if the player would take its token."""
        token = shown.auth_token
        if not token:
            return None
        if tokens.same(token, tokens.manager_to_agent(self.key, self.league_id, self.player_id)):
            return Known("manager", "the manager")
        made_for, referee_id = (self.key, self.league_id, shown.match_id), shown.sender.partition(":")[2]
        is_referees = any(tokens.recognised(token, verifier) for verifier in self.verifiers) or any(
            tokens.same(token, tokens.referee_to_player(*made_for, attempt, referee_id))
            for attempt in range(1, MAX_ATTEMPTS + 1)
        )
        return Known("referee", tokens.shortened(token)) if is_referees else None


def match_of(
    matches: dict[str, OngoingMatch], message: RefereeMessage, match_id: str, me: Identity, own: RefereeOwnToken | None
) -> OngoingMatch | None:
    """The match that a message is about, which is kept among the others; None if its sender is not the referee.

    ``own`` is the referee's own token, if the referee of this match shows that.
    """
    known = matches.get(match_id)
    referee_id = message.sender.partition(":")[2]
    if own is not None and message.auth_token and tokens.recognised(message.auth_token, own.verifier):
        # It does not know of attempts, and so begins whenever it invites.
        if known is None or known.referee_id != referee_id or isinstance(message, m.GameInvitation):
            known = matches[match_id] = OngoingMatch(referee_id, 1 if known is None else known.attempt)
        return known
    if isinstance(message, m.GameInvitation):
        attempt = message.attempt or 1
        if known is None or known.attempt != attempt or known.referee_id != referee_id:
            invited = _attempt(message, match_id, referee_id, (attempt,), me)
            # A referee whose match was given to another is answered, but not followed.
            if invited is not None and (known is None or attempt >= known.attempt):
                matches[match_id] = invited
            return invited
    if known is None:
        known = _attempt(message, match_id, referee_id, range(1, MAX_ATTEMPTS + 1), me)
        if known is not None:
            matches[match_id] = known
        return known
    if known.referee_id != referee_id:
        return None if _attempt(message, match_id, referee_id, (known.attempt,), me) is None else known
    return known if _shows(message, known, match_id, me) else None


def is_referees(
    matches: dict[str, OngoingMatch], shown: Credentials, me: Identity, own: RefereeOwnToken | None
) -> bool:
    """Whether a message that shows this is from the referee of the match that it names."""
    if own is not None and tokens.recognised(shown.auth_token, own.verifier):
        return True
    known, referee_id = matches.get(shown.match_id), shown.sender.partition(":")[2]
    attempts = range(1, MAX_ATTEMPTS + 1) if known is None else (known.attempt,)
    return _attempt(shown, shown.match_id, referee_id, attempts, me) is not None


def common_of(match: OngoingMatch, match_id: str, me: Identity) -> dict[str, Any]:
    """What every answer to a match's referee carries: under the scheme, a token that was made for it and the match."""
    if match.identity is not me:
        _prepare(match, match_id, me)
    return match.common


def _attempt(
    message: RefereeMessage | Credentials, match_id: str, referee_id: str, attempts: Iterable[int], me: Identity
) -> OngoingMatch | None:
    """The one of these attempts at a match that a message is of; under the scheme its token says so."""
    for attempt in attempts:
        match = OngoingMatch(referee_id, attempt)
        if _shows(message, match, match_id, me):
            return match
    return None


def _shows(message: RefereeMessage | Credentials, match: OngoingMatch, match_id: str, me: Identity) -> bool:
    """Whether a message shows the token of the match's referee."""
    if not me.derived:
        return True
    if match.identity is not me:
        _prepare(match, match_id, me)
    return message.auth_token is not UNSET and tokens.same(message.auth_token, match.expected_token)


def _prepare(match: OngoingMatch, match_id: str, me: Identity) -> None:
    """Make what the referee shows, and what every answer to it carries: once a match, for it takes longer than the rest
    of an answer.
    """
    own_token: str | UnsetType = me.auth_token or UNSET
    if me.derived:
        made_for = (me.key, str(me.league_id), match_id, match.attempt, match.referee_id)
        match.expected_token = tokens.referee_to_player(*made_for)
        own_token = tokens.player_to_referee(*made_for)
    match.identity = me
    match.common = {
        "protocol": PROTOCOL,
        "sender": sender_of("player", me.agent_id),
        "auth_token": own_token,
        "player_id": me.agent_id,
        "match_id": match_id,
    }
