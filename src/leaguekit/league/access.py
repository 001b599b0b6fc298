"""Commands by which the operator controls access: seats, the referees' code, and revoked tokens."""

from __future__ import annotations

from collections.abc import Sequence

from leaguekit.league.events import Event, RefereeCodeSet, SeatRevoked, SeatsIssued, TokenVoided
from leaguekit.league.records import Seat
from leaguekit.league.state import League
from leaguekit.protocol.errors import ProtocolError


def issue_seats(
    league: League,
    verifiers: Sequence[bytes],
    at: str,
    *,
    holder: str | None = None,
    people: Sequence[tuple[str, str]] = (),
) -> list[Event]:
    """Issue seats whose codes have these verifiers. With a ``holder``, the seats belong to that agent.

    ``people`` has the name and the e-mail address of the person that each seat is for.
    """
    first = len(league.seats) + 1
    seats = [(f"S{number:02d}", verifier.hex()) for number, verifier in enumerate(verifiers, first)]
    return [SeatsIssued(at=at, seats=seats, holder=holder, people=[*people])]


def find_seat(league: League, text: str) -> str | None:
    """The verifier of the seat with this id, or for the person with this name. None if there is not one such seat."""
    wanted = text.casefold()
    found = [key for key, seat in league.seats.items() if wanted in (seat.id.casefold(), seat.name.casefold())]
    return found[0] if wanted and len(found) == 1 else None


def revoke_seat(league: League, seat_or_verifier: str, at: str) -> list[Event]:
    """Make the code of a seat invalid. An agent that registered with it stays in the league and keeps its token."""
    seat = league.seats.get(find_seat(league, seat_or_verifier) or seat_or_verifier)
    if seat is None:
        raise ProtocolError("E044", "There is no such seat: name its id, such as S07, or its code.")
    return [] if seat.revoked else [SeatRevoked(at=at, seat_id=seat.id)]


def set_referee_code(verifier: bytes, at: str) -> list[Event]:
    return [RefereeCodeSet(at=at, verifier=verifier.hex())]


def void_token(league: League, agent_id: str, *, key: bytes, code: bytes, at: str) -> list[Event]:
    """Revoke an agent's token. An agent without a seat gets one; ``code`` is the verifier of its code."""
    if league.agent(agent_id) is None:
        raise ProtocolError("E005", f"There is no agent {agent_id} in this league.")
    new_seat = [] if seat_of(league, agent_id) else issue_seats(league, [code], at, holder=agent_id)
    return [TokenVoided(at=at, agent_id=agent_id, key=key.hex()), *new_seat]


def seat_of(league: League, agent_id: str) -> Seat | None:
    """The newest valid seat of an agent."""
    own = [seat for seat in league.seats.values() if seat.holder == agent_id and not seat.revoked]
    return own[-1] if own else None
