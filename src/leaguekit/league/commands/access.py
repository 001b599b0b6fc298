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
    again: bool = False,
) -> list[Event]:
    """Issue seats whose codes have these verifiers. With a ``holder``, the seats belong to that agent.

    ``people`` has the name and the e-mail address of the person that each seat is for. Raises ProtocolError if some of
    them have a valid seat, unless they are to get seats ``again``.
    """
    if not again:
        _check_not_seated(league, people)
    first = len(league.seats) + 1
    seats = [(f"S{number:02d}", verifier.hex()) for number, verifier in enumerate(verifiers, first)]
    return [SeatsIssued(at=at, seats=seats, holder=holder, people=[*people])]


def _check_not_seated(league: League, people: Sequence[tuple[str, str]]) -> None:
    named = {_normalize_person(*person) for person in people}
    seats = [seat for seat in league.seats.values() if not seat.revoked]
    seated = [seat for seat in seats if _normalize_person(seat.name, seat.email) in named]
    if seated:
        which = " to ".join(dict.fromkeys((seated[0].id, seated[-1].id)))
        count = len({_normalize_person(one.name, one.email) for one in seated})
        have = "1 of these people has a seat" if count == 1 else f"{count} of these people have a seat"
        remedy = "Name only the others, revoke these seats if their codes are lost, or make further ones with --again"
        raise ProtocolError("E058", f"{have} already ({which}). {remedy}.")


def _normalize_person(name: str, email: str) -> tuple[str, str]:
    return name.casefold(), email.casefold()


def find_seat(league: League, text: str) -> Seat | None:
    """The seat with this id, or for the person with this name. Raises ProtocolError if the person has several."""
    wanted = text.casefold()
    found = [seat for seat in league.seats.values() if wanted and wanted in (seat.id.casefold(), seat.name.casefold())]
    valid = [seat for seat in found if not seat.revoked] or found
    if len(valid) > 1:
        raise ProtocolError("E044", f"{valid[0].name} has {' and '.join(seat.id for seat in valid)}; name one of them.")
    return valid[0] if valid else None


def revoke_seat(league: League, seat_or_verifier: str, at: str) -> list[Event]:
    """Make the code of a seat invalid. An agent that registered with it stays in the league and keeps its token."""
    seat = find_seat(league, seat_or_verifier) or league.seats.get(seat_or_verifier)
    if seat is None:
        raise ProtocolError("E044", "There is no such seat: name its id, such as S07, its person, or its code.")
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
