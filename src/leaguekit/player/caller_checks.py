"""How a player checks who calls it, and the tokens that it sends in its answers.

If the league derives tokens, the manager and the referee of each match have tokens that were made for their calls to
this player. If it does not, no caller can be identified, and every caller is accepted as a referee.

The manager may announce a match with a ``referee_verifier``. The referee of such a match sends its own token, and that
token is accepted for that match as well, from the hosts of the referee's endpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents.credentials import Credentials, TokenOwner, credentials_in
from leaguekit.agents.identity import Identity
from leaguekit.agents.registration import Registrar
from leaguekit.match.move_messages import MoveCall
from leaguekit.player.context import OngoingMatch
from leaguekit.protocol import messages as m
from leaguekit.protocol import tokens
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import PROTOCOL, sender_of
from leaguekit.transport.addresses import Resolver, addresses_of, canonical_address
from leaguekit.transport.base import Peer

# The attempts that are tried for a token of a match whose invitation the player does not know.
ATTEMPTS = range(1, 10)

ManagerMessage = m.RoundAnnouncement | m.LeagueStandingsUpdate | m.RoundCompleted | m.LeagueCompleted
RefereeMessage = m.GameInvitation | MoveCall | m.GameOver | m.GameError


class RefereeOwnToken(NamedTuple):
    """The verifier of a referee's own token, and the addresses from which that token is accepted."""

    verifier: bytes
    hosts: frozenset[str]


class CallerVerifier(Struct, frozen=True, kw_only=True):
    """What a gateway needs to identify the callers of a relayed player: its manager and its referees."""

    player_id: str
    league_id: str
    key: bytes
    # The verifiers of referees that send their own tokens.
    verifiers: list[bytes] = []

    def recognise(self, credentials: Credentials, attempts: Sequence[int] = ATTEMPTS) -> TokenOwner | None:
        """The caller with these credentials, or None if the player would not accept its token.

        ``attempts`` are the attempts at the match whose tokens are accepted.
        """
        token = credentials.auth_token
        if not token:
            return None
        if tokens.are_equal(token, tokens.manager_to_agent(self.key, self.league_id, self.player_id)):
            return TokenOwner("manager", "the manager")
        made_for, referee_id = (self.key, self.league_id, credentials.match_id), credentials.sender.partition(":")[2]
        is_referee = any(tokens.matches_verifier(token, verifier) for verifier in self.verifiers) or any(
            tokens.are_equal(token, tokens.referee_to_player(*made_for, attempt, referee_id)) for attempt in attempts
        )
        # The token is the id. The sender's name is not proved for a referee that sends its own token.
        return TokenOwner("referee", tokens.shorten_token(token)) if is_referee else None


class CallerChecks:
    """Identifies the callers of one player, and keeps the matches that it was called to, by their ids."""

    def __init__(self, registrar: Registrar) -> None:
        self.matches: dict[str, OngoingMatch] = {}
        self._registrar = registrar
        # By match, what the manager has announced about a referee that sends its own token.
        self.own_tokens: dict[str, RefereeOwnToken] = {}
        self._resolver = Resolver()

    def check_manager(self, message: ManagerMessage | m.LeagueError, identity: Identity) -> None:
        """Raise ProtocolError if a message is not from the manager."""
        if not identity.may_be_manager(message.auth_token):
            raise self._unknown_caller()

    def check_host(self, message: RefereeMessage, peer: Peer, current_match: str | None) -> None:
        """Raise ProtocolError if a referee's own token comes from another host: other players know that token."""
        own = self.own_tokens.get(message.match_id or current_match or "")
        if own is None or not message.auth_token or not tokens.matches_verifier(message.auth_token, own.verifier):
            return
        # A relay does not say from which host a call came.
        if peer.host and canonical_address(peer.host) not in own.hosts:
            raise self._unknown_caller()

    def find_match(self, message: RefereeMessage, match_id: str, identity: Identity) -> OngoingMatch:
        """The match of a referee's message. Raises ProtocolError if the sender is not the referee of that match."""
        match = self._find_match(message, match_id, identity)
        if match is None:
            raise self._unknown_caller()
        return match

    def identify(self, beginning: bytes) -> TokenOwner | None:
        """The caller whose token is in the beginning of a body: the manager, or the referee of a match."""
        verifier, credentials = self.verifier(), credentials_in(beginning)
        known = self.matches.get(credentials.match_id)
        attempts = ATTEMPTS if known is None else (known.attempt,)
        return None if verifier is None else verifier.recognise(credentials, attempts)

    def verifier(self) -> CallerVerifier | None:
        """What a gateway needs to identify the callers. None while the player accepts every caller, or none."""
        identity = self._registrar.identity
        if identity is None or not identity.derived:
            return None
        return CallerVerifier(
            player_id=identity.agent_id,
            league_id=str(identity.league_id),
            key=identity.key,
            verifiers=sorted({own.verifier for own in self.own_tokens.values()}),
        )

    async def add_own_tokens(self, matches: list[m.AnnouncedMatch]) -> None:
        """Accept the own tokens of the referees of these matches, from the hosts of their endpoints."""
        urls = {match.referee_endpoint for match in matches}
        hosts = {url: await addresses_of(url, self._resolver) for url in urls}
        for match in matches:
            verifier = bytes.fromhex(str(match.referee_verifier))
            self.own_tokens[match.match_id] = RefereeOwnToken(verifier, hosts[match.referee_endpoint])

    def _find_match(self, message: RefereeMessage, match_id: str, identity: Identity) -> OngoingMatch | None:
        """The match of a message, which is added to ``matches``. None if the sender is not its referee."""
        matches, own = self.matches, self.own_tokens.get(match_id)
        known = matches.get(match_id)
        # The sender is ``referee:ID``.
        referee_id = message.sender.partition(":")[2]
        if own is not None and message.auth_token and tokens.matches_verifier(message.auth_token, own.verifier):
            # Such a referee does not number its attempts. Each invitation begins a new one.
            if known is None or known.referee_id != referee_id or isinstance(message, m.GameInvitation):
                known = matches[match_id] = OngoingMatch(referee_id, 1 if known is None else known.attempt)
            return known
        attempts: Sequence[int] = ATTEMPTS if known is None else (known.attempt,)
        if is_invitation := isinstance(message, m.GameInvitation):
            attempts = (message.attempt or 1,)
        if known is not None and known.referee_id == referee_id and known.attempt in attempts:
            return known if _has_token(message, known, match_id, identity) else None
        found = _find_attempt(message, match_id, referee_id, attempts, identity)
        # The referee of an earlier attempt is answered, but its attempt does not replace the newer one.
        if found is not None and (known is None or (is_invitation and found.attempt >= known.attempt)):
            matches[match_id] = found
        return found if found is None or known is None or is_invitation else known

    def _unknown_caller(self) -> ProtocolError:
        identity = self._registrar.identity
        self._registrar.check_own_token()
        detail = "The auth_token is not the one that was made for this caller."
        return ProtocolError("E012", detail, data={"player_id": None if identity is None else identity.agent_id})


def _find_attempt(
    message: RefereeMessage, match_id: str, referee_id: str, attempts: Sequence[int], identity: Identity
) -> OngoingMatch | None:
    """The attempt at a match for which the token of a message was made."""
    for attempt in attempts:
        match = OngoingMatch(referee_id, attempt)
        if _has_token(message, match, match_id, identity):
            return match
    return None


def _has_token(message: RefereeMessage, match: OngoingMatch, match_id: str, identity: Identity) -> bool:
    """Whether a message has the token of the match's referee."""
    if not identity.derived:
        return True
    if match.identity is not identity:
        prepare_match(match, match_id, identity)
    return message.auth_token is not UNSET and tokens.are_equal(message.auth_token, match.expected_token)


def prepare_match(match: OngoingMatch, match_id: str, identity: Identity) -> None:
    """Make the expected token and the fields of every answer, once per match.

    To derive the tokens takes longer than the rest of an answer.
    """
    own_token: str | UnsetType = identity.auth_token or UNSET
    if identity.derived:
        made_for = (identity.key, str(identity.league_id), match_id, match.attempt, match.referee_id)
        match.expected_token = tokens.referee_to_player(*made_for)
        own_token = tokens.player_to_referee(*made_for)
    match.identity = identity
    match.answer_fields = {
        "protocol": PROTOCOL,
        "sender": sender_of("player", identity.agent_id),
        "auth_token": own_token,
        "player_id": identity.agent_id,
        "match_id": match_id,
    }
