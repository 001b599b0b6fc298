"""Who is taken into the league, under which id, and why others are not.

A registration has two steps, because a token is made for an id: ``admit_…`` says which id the applicant gets, the
shell makes a token for it, and ``register_…`` gives the event. Nothing may happen in between.

    Rejected          a well-formed request that policy declines: answered with status REJECTED
    ProtocolError     a name that is taken: a JSON-RPC error, the only form that any document gives it
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from msgspec import UNSET, structs

from leaguekit.league import names
from leaguekit.league.access import seat_of
from leaguekit.league.endpoints import canonical_endpoint, is_same_host, is_same_server, place
from leaguekit.league.events import Event, PlayerRegistered, RefereeRegistered
from leaguekit.league.records import Player, Referee
from leaguekit.league.state import League
from leaguekit.protocol import times
from leaguekit.protocol.errors import ProtocolError, documented_number
from leaguekit.protocol.ids import OLDEST_VERSION, PROTOCOL_VERSION, player_id, referee_id, speaks
from leaguekit.protocol.messages import PlayerMeta, RefereeMeta
from leaguekit.protocol.tokens import SCHEME

Role = Literal["player", "referee"]
# How long after a registration its repeat is known as such.
REPEAT_SECONDS = 60.0
# The reason for which a player is refused that was withdrawn or disqualified; what was said about it follows.
HAS_LEFT = "This player has left the league"
MetaT = TypeVar("MetaT", PlayerMeta, RefereeMeta)
AnyMetaT = TypeVar("AnyMetaT", bound=PlayerMeta | RefereeMeta)

# What a reason begins with: document 000's words, and 001's for a referee too many.
_WORDS: dict[tuple[Role, str], str] = {
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
# For an endpoint at which something may well answer.
_TAKEN: dict[Role, str] = {"player": "Contact endpoint taken", "referee": "Endpoint taken"}


class Rejected(Exception):
    """An applicant that is not taken. ``code`` is the catalogue's, ``number`` document 001's, if it has one."""

    def __init__(
        self, role: Role, code: str, detail: str = "", data: dict[str, Any] | None = None, *, words: str = ""
    ) -> None:
        words = words or _WORDS.get((role, code), "")
        self.reason = f"{words}: {detail}" if words and detail else words or detail
        self.code = code
        self.number = documented_number(f"register_{role}", code)
        self.data = data or {}
        super().__init__(f"{code} {self.reason}")


class Applicant(NamedTuple, Generic[MetaT]):
    """A request to register, and what the shell knows about who sent it."""

    meta: MetaT
    conversation_id: str
    timestamp: str
    # Where the manager itself listens.
    manager_endpoint: str
    # The request's sender, and the address that it came from.
    sender: str = ""
    address: str = ""
    # Whose token it showed; a token moves an agent to another port of its host at most.
    returning_id: str | None = None
    # By what the seat code that it showed is recognised; a seat's holder may come from anywhere.
    seat: str | None = None
    # Whether it showed the referees' code, or needs none where it comes from.
    may_be_referee: bool = True
    # The id that it says it has, if it was asked. Who knows its id has had an answer: this is a late copy of a request.
    claimed_id: str | None = None
    # Whether it may be a repeat. It may not where many have tried to repeat a registration, for they guess.
    may_repeat: bool = True
    # An id it is to have if that is free.
    wanted_id: str | None = None
    # Whether the operator lets it in: a player without a seat, a referee also after the start.
    added_by_operator: bool = False


def admit_player(league: League, applicant: Applicant[PlayerMeta], at: str) -> str:
    """The id that a player gets, or had. Raises Rejected, or ProtocolError for a name that is taken."""
    by_seat = _holder("player", league, league.players, applicant)
    is_let_in = applicant.seat is not None or applicant.returning_id in league.players or applicant.added_by_operator
    if league.settings.require_seat and not is_let_in:
        raise Rejected("player", "E058", "Players come in with a seat code only, in the manager's URL: /mcp?seat=CODE")
    known = by_seat or _known(league, league.players, applicant, at)
    if known is None:
        if not league.is_open:
            raise Rejected("player", "E019")
        count, most = len(league.table.rows), league.settings.max_players
        if count >= most:
            full = {"max_players": most, "current_players": count}
            raise Rejected("player", "E020", f"{count} of {most} places are taken", full)
    elif league.players[known].out is not None:
        raise Rejected("player", "E058", f"{HAS_LEFT}: {league.players[known].out_reason}")
    _check_content("player", league, applicant.meta, league.players.get(known or ""))
    _check_unlike_others(league, names.normal(applicant.meta.display_name), known)
    stays_with = league.players[known].meta.contact_endpoint if known and not by_seat else None
    _check_endpoint("player", league, applicant, known, stays_with)
    wanted = applicant.wanted_id
    return known or (wanted if wanted and wanted not in league.players else player_id(league.next_player))


def register_player(
    league: League, applicant: Applicant[PlayerMeta], *, verifier: bytes, key: bytes, at: str
) -> list[Event]:
    """Take a player in, with the two values of the token that was made for its id."""
    return [
        PlayerRegistered(
            at=at,
            player_id=admit_player(league, applicant, at),
            meta=_as_shown(applicant.meta),
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
    """The id that a referee gets, or had. Raises Rejected. Referees' names need not differ."""
    by_seat = _holder("referee", league, league.referees, applicant)
    if not (by_seat or applicant.may_be_referee or applicant.returning_id in league.referees):
        detail = "Referees come in with the code that the manager shows at its start, in its URL: /mcp?referee=CODE"
        raise Rejected("referee", "E058", detail)
    if league.settings.strict_referees and applicant.meta.token_scheme != SCHEME:
        detail = f'This league takes only referees whose referee_meta.token_scheme is "{SCHEME}" (--strict-referees)'
        raise Rejected("referee", "E058", detail)
    known = by_seat or _known(league, league.referees, applicant, at)
    if known is None:
        if not (league.is_open or applicant.added_by_operator):
            raise Rejected("referee", "E019")
        count, most = len(league.referees), league.settings.max_referees
        if count >= most:
            full = {"max_referees": most, "current_referees": count}
            raise Rejected("referee", "E020", f"{count} of {most} places are taken", full)
    if known is not None and not by_seat:
        _check_shown_token(league.referees[known], applicant.meta)
    _check_content("referee", league, applicant.meta, league.referees.get(known or ""))
    stays_with = league.referees[known].meta.contact_endpoint if known and not by_seat else None
    _check_endpoint("referee", league, applicant, known, stays_with)
    return known or referee_id(len(league.referees) + 1)


def _check_shown_token(referee: Referee, meta: RefereeMeta) -> None:
    """Refuse to change a referee by a token that its players have seen."""
    if not referee.shows_own_token:
        return
    if meta.token_scheme == SCHEME or place(meta.contact_endpoint) != place(referee.meta.contact_endpoint):
        detail = f"Players have seen the token of {referee.id}: it can change neither its endpoint nor its token_scheme"
        raise Rejected("referee", "E058", f"{detail}; ask the operator for `league token rotate {referee.id}`")


def register_referee(
    league: League, applicant: Applicant[RefereeMeta], *, verifier: bytes, key: bytes, at: str
) -> list[Event]:
    """Take a referee on, with the two values of the token that was made for its id."""
    return [
        RefereeRegistered(
            at=at,
            referee_id=admit_referee(league, applicant, at),
            meta=_as_shown(applicant.meta),
            conversation_id=applicant.conversation_id,
            timestamp=applicant.timestamp,
            verifier=verifier.hex(),
            key=key.hex(),
            shows_own_token=applicant.meta.token_scheme != SCHEME,
            sender=applicant.sender,
            address=applicant.address,
        )
    ]


def _holder(
    role: Role,
    league: League,
    registry: Mapping[str, Player] | Mapping[str, Referee],
    applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta],
) -> str | None:
    """Whose seat this is, if a seat's code was shown and the seat is taken. A code that opens nothing is refused."""
    if applicant.seat is None:
        return None
    seat = league.seats.get(applicant.seat)
    if seat is None or seat.revoked:
        raise Rejected(role, "E058", "That seat code opens nothing here, or no longer; ask the operator for another")
    if (seat.holder is None and role == "referee") or (seat.holder is not None and seat.holder not in registry):
        raise Rejected(role, "E058", f"That seat is no {role}'s")
    return seat.holder


def contested_owner(
    league: League, applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta], role: Role, at: str
) -> str | None:
    """The player that gives way if the applicant proves that its own program listens at the endpoint of both.

    A player that the operator let in stays, and so do all after the start.
    """
    owner = endpoint_owner(league, applicant.meta.contact_endpoint)
    if not league.is_open or owner not in league.players or applicant.returning_id is not None:
        return None
    is_repeat = role == "player" and _known(league, league.players, applicant, at) is not None
    is_let_in = seat_of(league, owner) is not None or league.players[owner].registered.by_operator
    return None if is_repeat or is_let_in else owner


def _known(
    league: League,
    registry: Mapping[str, Player] | Mapping[str, Referee],
    applicant: Applicant[PlayerMeta] | Applicant[RefereeMeta],
    at: str,
) -> str | None:
    """Whose return this is: by its token, or because it repeats a registration whose answer was lost.

    A repeat has the same content, sender and address. It comes within a minute, also after the start: that may follow
    at once from the registration whose answer was lost.
    """
    if applicant.returning_id in registry:
        return applicant.returning_id
    agent = registry.get(league.endpoints.get(str(place(applicant.meta.contact_endpoint)), ""))
    if agent is None or not applicant.may_repeat:
        return None
    before = agent.registered
    one = (applicant.conversation_id, applicant.timestamp, applicant.sender, applicant.address)
    other = (before.conversation_id, before.timestamp, before.sender, before.address)
    if one != other or _as_shown(applicant.meta) != before.meta:
        return None
    if (times.read(at) - times.read(before.at)).total_seconds() > REPEAT_SECONDS:
        return None
    # An agent that has a seat shows its code again. One that knows its id has had the answer.
    has_seat = seat_of(league, agent.id) is not None
    return None if has_seat or applicant.claimed_id == agent.id else agent.id


def _as_shown(meta: AnyMetaT) -> AnyMetaT:
    """What is kept of an agent's description: its name is the one that everybody is shown."""
    return structs.replace(meta, display_name=names.normal(meta.display_name))


def _check_unlike_others(league: League, name: str, known: str | None) -> None:
    for likeness in names.confusable_forms(name):
        other = league.names.get(likeness, known)
        if other is not None and other != known:
            called = league.players[other].meta.display_name
            why = f"Another player is called {called!r}"
            detail = f"{why}." if called == name else f"{why}, and {name!r} looks like it."
            data = {"display_name": name, "suggestion": "Choose a different display_name"}
            raise ProtocolError("E047", detail, data=data)


def _check_content(role: Role, league: League, meta: PlayerMeta | RefereeMeta, known: Player | Referee | None) -> None:
    # An agent that returns keeps a name that an earlier release let in.
    is_kept = known is not None and known.meta.display_name == names.normal(meta.display_name)
    if not is_kept and (wrong := names.fault(meta.display_name)) is not None:
        raise Rejected(role, "E044", f"This display_name cannot be used: {wrong}")
    version = PROTOCOL_VERSION if meta.protocol_version is UNSET else meta.protocol_version
    if not speaks(version):
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
    if place(endpoint) is None:
        raise Rejected(role, "E048", "it is no address")
    if is_same_server(endpoint, applicant.manager_endpoint):
        raise Rejected(role, "E048", "it is the manager's own address")
    owner = endpoint_owner(league, endpoint)
    if owner not in (None, known):
        raise Rejected(role, "E048", _taken(league, endpoint, owner), words=_TAKEN[role])
    if stays_with is not None and not is_same_host(endpoint, stays_with):
        raise Rejected(role, "E058", "A token moves an agent to another port of its host only; ask the operator")


def endpoint_owner(league: League, endpoint: str) -> str | None:
    """The agent that is called at an endpoint, however it is written.

    In a log of an earlier release two may share one: each may return to where it is.
    """
    if (owner := league.endpoints.get(str(place(endpoint)))) is not None:
        return owner
    where = canonical_endpoint(endpoint)
    agents = (league.players.get(name) or league.referees[name] for name in league.endpoints.values())
    return next((agent.id for agent in agents if canonical_endpoint(agent.meta.contact_endpoint) == where), None)


def _taken(league: League, endpoint: str, owner: str) -> str:
    agent = league.players.get(owner) or league.referees[owner]
    remedy = "Register with an address at which only your program listens"
    if league.is_open and owner in league.players:
        remedy = f"If your program listens there, ask the operator for `league withdraw {owner}`, and register again"
    return f"{owner} ({agent.meta.display_name!r}) has already registered with {endpoint}. {remedy}"
