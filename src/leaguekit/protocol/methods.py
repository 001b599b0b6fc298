"""The JSON-RPC methods: receivers, request and answer messages, and time limits.

Document 001 gives each method a name. Document 002 uses the message type as the name. We send the name of document 001
and accept both, in upper and in lower case.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from leaguekit.protocol import messages as m
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import AgentRole
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.patterns import checker
from leaguekit.protocol.rpc import Call, params_of

# The time limits of the documents for a player's answers: the defaults of a league's settings. A call has these limits
# if its deadline does not say another one.
JOIN_SECONDS = 5.0
CHOICE_SECONDS = 30.0
GAME_OVER_SECONDS = 5.0


class Method(NamedTuple):
    """A method. ``seconds`` is the time limit for the answer."""

    name: str
    request: type[Message]
    answer: type[Message]
    receivers: tuple[AgentRole, ...]
    seconds: float = 10.0
    other_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All accepted names: its own, the message type in both cases, and other names that agents use."""
        wire = message_type(self.request)
        return (self.name, wire, wire.lower(), *self.other_names)


_MANAGER: tuple[AgentRole, ...] = ("league_manager",)
_REFEREE: tuple[AgentRole, ...] = ("referee",)
_PLAYER: tuple[AgentRole, ...] = ("player",)
_PLAYER_AND_REFEREE = _PLAYER + _REFEREE

METHODS: tuple[Method, ...] = (
    Method("register_referee", m.RefereeRegisterRequest, m.RefereeRegisterResponse, _MANAGER),
    Method("register_player", m.LeagueRegisterRequest, m.LeagueRegisterResponse, _MANAGER),
    Method("report_match_result", m.MatchResultReport, m.MatchResultAck, _MANAGER),
    Method("report_match_progress", m.MatchProgress, m.MatchProgressAck, _MANAGER),
    Method("report_match_void", m.MatchVoidReport, m.MatchVoidAck, _MANAGER),
    Method("league_query", m.LeagueQuery, m.LeagueQueryResponse, _MANAGER),
    Method("start_match", m.MatchAssignment, m.MatchAssignmentAck, _REFEREE),
    Method("game_join_ack", m.GameJoinAck, m.MatchMessageAck, _REFEREE),
    Method("choose_parity_response", m.ChooseParityResponse, m.MatchMessageAck, _REFEREE),
    Method("game_move_response", m.GameMoveResponse, m.MatchMessageAck, _REFEREE),
    Method("notify_round", m.RoundAnnouncement, m.RoundAnnouncementAck, _PLAYER_AND_REFEREE),
    Method("update_standings", m.LeagueStandingsUpdate, m.StandingsUpdateAck, _PLAYER),
    Method("notify_round_completed", m.RoundCompleted, m.RoundCompletedAck, _PLAYER_AND_REFEREE),
    Method("notify_league_completed", m.LeagueCompleted, m.LeagueCompletedAck, _PLAYER_AND_REFEREE),
    # A referee uses the limits of its league (league/settings.py) instead of these four.
    Method("handle_game_invitation", m.GameInvitation, m.GameJoinAck, _PLAYER, JOIN_SECONDS),
    Method("parity_choose", m.ChooseParityCall, m.ChooseParityResponse, _PLAYER, CHOICE_SECONDS, ("choose_parity",)),
    Method("choose_move", m.GameMoveCall, m.GameMoveResponse, _PLAYER, CHOICE_SECONDS),
    Method("notify_match_result", m.GameOver, m.GameOverAck, _PLAYER, GAME_OVER_SECONDS),
    Method("notify_game_error", m.GameError, m.GameErrorAck, _PLAYER),
    # Document 001 gives it no name. A manager may send it as document 002 says.
    Method("league_error", m.LeagueError, m.LeagueErrorAck, _PLAYER_AND_REFEREE, other_names=("notify_league_error",)),
)

BY_NAME: dict[str, Method] = {name: method for method in METHODS for name in method.names}
BY_REQUEST: dict[type[Message], Method] = {method.request: method for method in METHODS}
# The form of requests in which a method has the first of its other names. The log contains this word.
OTHER_NAME_FORM = "RPC_CHOOSE_PARITY"
# Checks that an agent answers. Its params are empty, and any answer is accepted.
PING = "ping"


class Pong(msgspec.Struct):
    """The answer to a ping. An agent may state its id, its league, and the registration that it has sent."""

    result: dict[str, Any]


def read_pong(body: bytes) -> dict[str, Any]:
    """The fields that an agent states in its answer to a ping; empty if the answer has another form."""
    try:
        return msgspec.json.decode(body, type=Pong).result
    except DECODE_ERRORS:
        return {}


def prepare_decoders(role: AgentRole) -> None:
    """Prepare the decoders of all calls to an agent of that role. Each takes a millisecond or two."""
    for method in METHODS:
        if role in method.receivers:
            checker(method.request)


def read_call(call: Call, role: AgentRole) -> tuple[Method, Message]:
    """The method and the message of a call to an agent of that role. Raises ProtocolError if either is not valid."""
    method = BY_NAME.get(call.method)
    if method is None or role not in method.receivers:
        known = ", ".join(one.name for one in METHODS if role in one.receivers)
        raise ProtocolError("E042", f"There is no method {call.method[:50]!r} here; there are {known}, {PING}.")
    message = call.message
    if message is None:
        message = decode(params_of(call))
    return method, message if type(message) is method.request else of_type(method.request, message)
