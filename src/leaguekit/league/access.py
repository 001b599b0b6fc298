"""Who may come in, as the operator decides it: seats, the referees' code, and tokens that are taken away."""

from __future__ import annotations

from collections.abc import Sequence

from leaguekit.league.events import Event, RefereeCodeSet, SeatRevoked, SeatsIssued, TokenVoided
from leaguekit.league.records import Seat
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError


def issue_seats(league: League, verifiers: Sequence[bytes], at: str, *, holder: str | None = None) -> list[Event]:
    """Give out seats whose codes are recognised by these; with a ``holder`` they are that agent's own."""
    first = len(league.seats) + 1
    seats = [(f"S{number:02d}", verifier.hex()) for number, verifier in enumerate(verifiers, first)]
    return [SeatsIssued(at=at, seats=seats, holder=holder)]


def revoke_seat(league: League, id_or_verifier: str, at: str) -> list[Event]:
    """Let a seat's code open nothing any more. Who has come in with it keeps its place and its token."""
    named = [seat for seat in league.seats.values() if seat.id == id_or_verifier.upper()]
    seat = named[0] if named else league.seats.get(id_or_verifier)
    if seat is None:
        raise ProtocolError("E044", "There is no such seat: name its id, such as S07, or its code.")
    return [] if seat.revoked else [SeatRevoked(at=at, seat_id=seat.id)]


def set_referee_code(verifier: bytes, at: str) -> list[Event]:
    return [RefereeCodeSet(at=at, verifier=verifier.hex())]


def void_token(league: League, agent_id: str, *, key: bytes, code: bytes, at: str) -> list[Event]:
    """Take an agent's token away. Without a seat of its own it gets one, with the code that is recognised by this."""
    if league.agent(agent_id) is None:
        raise ProtocolError("E005", f"There is no agent {agent_id} in this league.")
    seated = [] if seat_of(league, agent_id) else issue_seats(league, [code], at, holder=agent_id)
    return [TokenVoided(at=at, agent_id=agent_id, key=key.hex()), *seated]


def seat_of(league: League, agent_id: str) -> Seat | None:
    """The newest seat by which an agent can come back."""
    own = [seat for seat in league.seats.values() if seat.holder == agent_id and not seat.revoked]
    return own[-1] if own else None
