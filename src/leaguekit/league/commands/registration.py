"""Registration of players and referees: which applicants are accepted, under which id, and why others are rejected.

A registration has two steps, because a token is made for an id. ``admit_…`` returns the id that the applicant gets.
The manager makes a token for that id, and ``register_…`` returns the event. The league must not change in between.

    Rejected          a well-formed request that policy declines; answered with status REJECTED
    ProtocolError     a name that is taken; a JSON-RPC error, because no document gives it another form
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Generic, NamedTuple, TypeVar

from msgspec import UNSET, structs

from leaguekit.league import names
from leaguekit.league.commands.access import seat_of
from leaguekit.league.commands.tournaments import late_player_fault
from leaguekit.league.endpoints import canonical_endpoint, is_same_host, is_same_server, parse_endpoint
from leaguekit.league.events import Event, PlayerRegistered, RefereeRegistered
from leaguekit.league.records import Player, Referee
from leaguekit.league.state import League
from leaguekit.protocol import times
from leaguekit.protocol.errors import ProtocolError, documented_number
from leaguekit.protocol.ids import OLDEST_VERSION, PROTOCOL_VERSION, Role, is_supported_version, player_id, referee_id
from leaguekit.protocol.messages import PlayerMeta, RefereeMeta
from leaguekit.protocol.tokens import SCHEME

MAX_NAME = 50
# A repeat of a registration is recognised within this time.
REPEAT_SECONDS = 600.0
# The beginning of the reason for rejecting a player without a code.
SEATS_ONLY = "Players come in with a seat code only"
# The reason for rejecting a player that was withdrawn or disqualified. The operator's reason follows it.
HAS_LEFT = "This player has left the league"
MetaT = TypeVar("MetaT", PlayerMeta, RefereeMeta)
AnyMetaT = TypeVar("AnyMetaT", bound=PlayerMeta | RefereeMeta)

# The beginnings of reasons: the words of document 000, and of document 001 for too many referees.
_REASONS: dict[tuple[Role, str], str] = {
    ("player", "E018"): "Protocol version mismatch",
    ("player", "E019"): "Registration closed - league already started",
    ("player", "E020"): "Maximum players reached",
    ("player", "E048"): "Contact endpoint unreachable",
    ("player", "E049"): "Unsupported game type",
    ("referee", "E018"): "Protocol version mismatch",
    ("referee", "E019"): "League already started",
    ("referee", "E020"): "Maximum referees already registered",
    ("referee", "E048"): "Endpoint unreachable",
    ("referee", "E049"): "Unsupported game type",
}
# The beginnings of reasons for an endpoint that another agent has.
_ENDPOINT_TAKEN: dict[Role, str] = {"player": "Contact endpoint taken", "referee": "Endpoint taken"}


class Rejected(Exception):
    """An applicant was rejected. ``code`` is from the catalogue, ``number`` from document 001 if it has one."""

    def __init__(
        self, role: Role, code: str, detail: str = "", data: dict[str, Any] | None = None, *, reason: str = ""
    ) -> None:
        reason = reason or _REASONS.get((role, code), "")
        self.reason = f"{reason}: {detail}" if reason and detail else reason or detail
        self.code = code
        self.number = documented_number(f"register_{role}", code)
        self.data = data or {}
        super().__init__(f"{code} {self.reason}")


class Applicant(NamedTuple, Generic[MetaT]):
    """A request to register, and what the manager knows about its sender."""

    meta: MetaT
    conversation_id: str
    timestamp: str
    # The manager's own endpoint.
    manager_endpoint: str
    # The sender in the request, and the network address that it came from.
    sender: str = ""
    address: str = ""
    # The agent whose token the request has. With a token alone, an agent may move only to another port of its host.
    returning_id: str | None = None
    # The verifier of the seat code in the request. The holder of a seat may register from any address.
    seat: str | None = None
    # Whether its endpoint is at a server that was started together with the manager: a referee, or the gateway.
    is_at_own_server: bool = False
    # Whether the request has the referees' code, or comes from an address that needs no code.
    may_be_referee: bool = True
    # The id that the agent states when it is asked. An agent that knows its id has received the answer to its
    # registration, so the request is a late copy.
    claimed_id: str | None = None
    # Whether the request may be recognised as a repeat. It may not after many failed attempts, which may be guesses.
    may_repeat: bool = True
    # The id to assign if it is free.
    wanted_id: str | None = None
    # Whether the operator added the agent. Then a player needs no seat. A referee may come after the start then, and a
    # player if the format takes it.
    added_by_operator: bool = False


def admit_player(league: League, applicant: Applicant[PlayerMeta], at: str) -> str:
    """The id that a player gets, or has already. Raises Rejected, or ProtocolError for a name that is taken."""
    by_seat = _seat_holder("player", league, league.players, applicant)
    is_authorised = (
        applicant.seat is not None or applicant.returning_id in league.players or applicant.added_by_operator
    )
    if league.settings.require_seat and not is_authorised:
        raise Rejected("player", "E058", f"{SEATS_ONLY}, in the manager's URL: /mcp?seat=CODE")
    known = by_seat or _recognised(league, league.players, applicant, at)
    if known is None:
        if not league.is_open:
            fault = (
                late_player_fault(league) if applicant.added_by_operator else _lost_token_hint(league, applicant.meta)
            )
            if fault is not None:
                raise Rejected("player", "E019", fault)
        count, limit = len(league.table.rows), league.settings.max_players
        if count >= limit:
            full = {"max_players": limit, "current_players": count}
            raise Rejected("player", "E020", f"{count} of {limit} places are taken", full)
    elif league.players[known].out is not None:
        raise Rejected("player", "E058", f"{HAS_LEFT}: {league.players[known].out_reason}")
    _check_content("player", league, applicant.meta, league.players.get(known or ""))
    _check_unlike_others(league, applicant.meta, known)
    may_move = by_seat or applicant.is_at_own_server
    stays_with = league.players[known].meta.contact_endpoint if known and not may_move else None
    _check_endpoint("player", league, applicant, known, stays_with)
    wanted = applicant.wanted_id
    return known or (wanted if wanted and wanted not in league.players else player_id(league.next_player))


def number_name(league: League, applicant: Applicant[PlayerMeta]) -> Applicant[PlayerMeta]:
    """The applicant with a number after its name, if a player at another endpoint has that name.

    Several programs of the field have the same default name. A program at the same endpoint may be the same player, so
    its name is not changed.
    """
    seat = league.seats.get(applicant.seat or "")
    owner = endpoint_owner(league, applicant.meta.contact_endpoint)
    own = (None, applicant.returning_id, None if seat is None else seat.holder, owner)
    name, number = names.normalize(applicant.meta.display_name), 1
    numbered = name
    while any(league.names.get(form) not in own for form in names.confusable_forms(numbered)):
        number += 1
        numbered = f"{name[: MAX_NAME - 1 - len(str(number))].rstrip()} {number}"
    return (
        applicant
        if numbered == name
        else applicant._replace(meta=structs.replace(applicant.meta, display_name=numbered))
    )


def register_player(
    league: League, applicant: Applicant[PlayerMeta], *, verifier: bytes, key: bytes, at: str
) -> list[Event]:
    """Register a player. ``verifier`` and ``key`` belong to the token that was made for its id."""
    return [
        PlayerRegistered(
            at=at,
            player_id=admit_player(league, applicant, at),
            meta=_with_normal_name(applicant.meta),
            conversation_id=applicant.conversation_id,
            timestamp=applicant.timestamp,
            verifier=verifier.hex(),
            key=key.hex(),
            sender=applicant.sender,
            address=applicant.address,
            seat=applicant.seat,
            by_operator=applicant.added_by_operator,
        )
    ]


def admit_referee(league: League, applicant: Applicant[RefereeMeta], at: str) -> str:
    """The id that a referee gets, or has already. Raises Rejected. Referees' names need not differ."""
    by_seat = _seat_holder("referee", league, league.referees, applicant)
    if not (by_seat or applicant.may_be_referee or applicant.returning_id in league.referees):
        detail = "Referees come in with the code that the manager shows at its start, in its URL: /mcp?referee=CODE"
        raise Rejected("referee", "E058", detail)
    if league.settings.strict_referees and applicant.meta.token_scheme != SCHEME:
        detail = f'This league takes only referees whose referee_meta.token_scheme is "{SCHEME}" (--strict-referees)'
        raise Rejected("referee", "E058", detail)
    known = by_seat or _recognised(league, league.referees, applicant, at)
    if known is None:
        if not (league.is_open or applicant.added_by_operator):
            raise Rejected("referee", "E019")
        count, limit = len(league.referees), league.settings.max_referees
        if count >= limit:
            full = {"max_referees": limit, "current_referees": count}
            raise Rejected("referee", "E020", f"{count} of {limit} places are taken", full)
    if known is not None and not by_seat:
        _check_shown_token(league.referees[known], applicant.meta)
    _check_content("referee", league, applicant.meta, league.referees.get(known or ""))
    # With the code besides its token, a referee may move to another host.
    may_move = by_seat or applicant.is_at_own_server or applicant.may_be_referee
    stays_with = league.referees[known].meta.contact_endpoint if known and not may_move else None
    _check_endpoint("referee", league, applicant, known, stays_with)
    return known or _new_referee_id(league, applicant.meta.display_name)


def _new_referee_id(league: League, name: str) -> str:
    """The id of a new referee. A referee with the name "Referee 2" becomes REF02 if that is free."""
    named = re.fullmatch(r"Referee ([1-9][0-9]{0,3})", name)
    numbers = [int(named[1])] if named and int(named[1]) <= league.settings.max_referees else []
    free = (referee_id(number) for number in (*numbers, *range(1, len(league.referees) + 2)))
    return next(one for one in free if one not in league.referees)


def _check_shown_token(referee: Referee, meta: RefereeMeta) -> None:
    """Reject a change of a referee that is authorised only by a token that players have seen."""
    if not referee.shows_own_token:
        return
    if meta.token_scheme == SCHEME or parse_endpoint(meta.contact_endpoint) != parse_endpoint(
        referee.meta.contact_endpoint
    ):
        detail = f"Players have seen the token of {referee.id}: it can change neither its endpoint nor its token_scheme"
        raise Rejected("referee", "E058", f"{detail}; ask the operator for `league token rotate {referee.id}`")


def register_referee(
    league: League, applicant: Applicant[RefereeMeta], *, verifier: bytes, key: bytes, at: str
) -> list[Event]:
    """Register a referee. ``verifier`` and ``key`` belong to the token that was made for its id."""
    return [
        RefereeRegistered(
            at=at,
            referee_id=admit_referee(league, applicant, at),
            meta=_with_normal_name(applicant.meta),
            conversation_id=applicant.conversation_id,
            timestamp=applicant.timestamp,
            verifier=verifier.hex(),
            key=key.hex(),
            shows_own_token=applicant.meta.token_scheme != SCHEME,
            sender=applicant.sender,
            address=applicant.address,
        )
    ]


def _seat_holder(
    role: Role,
    league: League,
    registry: Mapping[str, Player] | Mapping[str, Referee],
    applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta],
) -> str | None:
    """The holder of the seat whose code is in the request, if there is one. Raises Rejected for an invalid code."""
    if applicant.seat is None:
        return None
    seat = league.seats.get(applicant.seat)
    if seat is None or seat.revoked:
        raise Rejected(role, "E058", "That seat code opens nothing here, or no longer; ask the operator for another")
    if (seat.holder is None and role == "referee") or (seat.holder is not None and seat.holder not in registry):
        raise Rejected(role, "E058", f"That seat does not belong to a {role}")
    return seat.holder


def contested_owner(
    league: League, applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta], role: Role, at: str
) -> str | None:
    """The player that has the applicant's endpoint, if the applicant may take the endpoint over.

    The applicant may do so if it proves that its own program listens there. A player that the operator added keeps its
    endpoint. After the start all players do.
    """
    owner = endpoint_owner(league, applicant.meta.contact_endpoint)
    if not league.is_open or owner not in league.players or applicant.returning_id is not None:
        return None
    is_repeat = role == "player" and _recognised(league, league.players, applicant, at) is not None
    is_protected = seat_of(league, owner) is not None or league.players[owner].registered.by_operator
    return None if is_repeat or is_protected else owner


def _recognised(
    league: League,
    registry: Mapping[str, Player] | Mapping[str, Referee],
    applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta],
    at: str,
) -> str | None:
    """The registered agent that sent this request: by its token, or because the request repeats a registration.

    An agent repeats a registration if the answer was lost. A repeat has the same content, sender and address. It comes
    within ten minutes. It may come after the start, because the registration whose answer was lost may have started the
    league.
    """
    if applicant.returning_id in registry:
        return applicant.returning_id
    agent = registry.get(league.endpoints.get(str(parse_endpoint(applicant.meta.contact_endpoint)), ""))
    if agent is None:
        return None
    if isinstance(agent, Player) and agent.readmitted:
        is_same = names.normalize(applicant.meta.display_name) == agent.meta.display_name
        return agent.id if is_same else None
    if not applicant.may_repeat:
        return None
    before = agent.registered
    one = (applicant.conversation_id, applicant.timestamp, applicant.sender, applicant.address)
    other = (before.conversation_id, before.timestamp, before.sender, before.address)
    if one != other or _with_normal_name(applicant.meta) != before.meta:
        return None
    if (times.parse_timestamp(at) - times.parse_timestamp(before.at)).total_seconds() > REPEAT_SECONDS:
        return None
    # An agent with a seat sends its code again. An agent that knows its id has received the answer.
    has_seat = seat_of(league, agent.id) is not None
    return None if has_seat or applicant.claimed_id == agent.id else agent.id


def _with_normal_name(meta: AnyMetaT) -> AnyMetaT:
    """An agent's description with its name in the normal form."""
    return structs.replace(meta, display_name=names.normalize(meta.display_name))


def _lost_token_hint(league: League, meta: PlayerMeta) -> str:
    """What to do if the applicant is a player that has lost its token: it has the name and the endpoint of one."""
    owner = endpoint_owner(league, meta.contact_endpoint) or ""
    player = league.players.get(owner)
    if player is None or player.meta.display_name != names.normalize(meta.display_name):
        return ""
    remedy = f"ask the operator for `league readmit {owner}`, and start it again"
    return f"If {owner} is your program and has lost its token, {remedy}"


def _check_unlike_others(league: League, meta: PlayerMeta, known: str | None) -> None:
    name = names.normalize(meta.display_name)
    for form in names.confusable_forms(name):
        other = league.names.get(form, known)
        if other is not None and other != known:
            called = league.players[other].meta.display_name
            why = f"Another player is called {called!r}"
            detail = f"{why}." if called == name else f"{why}, and {name!r} looks like it."
            if hint := _lost_token_hint(league, meta):
                detail = f"{detail} {hint}."
            data = {"display_name": name, "suggestion": "Choose a different display_name"}
            raise ProtocolError("E047", detail, data=data)


def _check_content(role: Role, league: League, meta: PlayerMeta | RefereeMeta, known: Player | Referee | None) -> None:
    # An agent that registers again may keep a name that an earlier release accepted.
    is_kept = known is not None and known.meta.display_name == names.normalize(meta.display_name)
    if not is_kept and (wrong := names.find_fault(meta.display_name)) is not None:
        raise Rejected(role, "E044", f"This display_name cannot be used: {wrong}")
    version = PROTOCOL_VERSION if meta.protocol_version is UNSET else meta.protocol_version
    if not is_supported_version(version):
        here = f"this league speaks 2.x from {OLDEST_VERSION} on, not {version}"
        raise Rejected(role, "E018", here)
    game = league.settings.game_type
    if game not in meta.game_types:
        raise Rejected(role, "E049", f"this league plays {game}")


def _check_endpoint(
    role: Role,
    league: League,
    applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta],
    known: str | None,
    stays_with: str | None,
) -> None:
    endpoint = applicant.meta.contact_endpoint
    if parse_endpoint(endpoint) is None:
        raise Rejected(role, "E048", "it is not a valid address")
    if is_same_server(endpoint, applicant.manager_endpoint):
        raise Rejected(role, "E048", "it is the manager's own address")
    owner = endpoint_owner(league, endpoint)
    if owner not in (None, known):
        raise Rejected(role, "E048", _endpoint_taken(league, endpoint, owner), reason=_ENDPOINT_TAKEN[role])
    if stays_with is not None and not is_same_host(endpoint, stays_with):
        raise Rejected(role, "E058", "A token moves an agent to another port of its host only; ask the operator")


def endpoint_owner(league: League, endpoint: str) -> str | None:
    """The agent that has an endpoint, in any spelling of the endpoint.

    In a log of an earlier release two agents may share an endpoint. Each may register again with its own spelling.
    """
    if (owner := league.endpoints.get(str(parse_endpoint(endpoint)))) is not None:
        return owner
    canonical = canonical_endpoint(endpoint)
    agents = (league.players.get(name) or league.referees[name] for name in league.endpoints.values())
    return next((agent.id for agent in agents if canonical_endpoint(agent.meta.contact_endpoint) == canonical), None)


def _endpoint_taken(league: League, endpoint: str, owner: str) -> str:
    agent = league.players.get(owner) or league.referees[owner]
    remedy = "Register with an address at which only your program listens"
    if league.is_open and owner in league.players:
        remedy = f"If your program listens there, ask the operator for `league withdraw {owner}`, and register again"
    return f"{owner} ({agent.meta.display_name!r}) has already registered with {endpoint}. {remedy}"
