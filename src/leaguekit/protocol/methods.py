"""The JSON-RPC methods: who calls them, what they carry, what answers them, and how long that may take.

Document 001 gives each a name of its own, document 002 takes the message type for one; we send the former and accept
both, in either case.
"""

from __future__ import annotations

from typing import NamedTuple

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, of_type, prepare_decoder
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.ids import AgentRole
from leaguekit.protocol.messages import Message, message_type
from leaguekit.protocol.rpc import Call, params_of


class Method(NamedTuple):
    """One row of the table. ``seconds`` is the time limit for the answer."""

    name: str
    request: type[Message]
    answer: type[Message]
    receivers: tuple[AgentRole, ...]
    seconds: float = 10.0
    other_names: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name it is called by: its own, the message type in either case, and what agents are known to send."""
        wire = message_type(self.request)
        return (self.name, wire, wire.lower(), *self.other_names)


_MANAGER: tuple[AgentRole, ...] = ("league_manager",)
_REFEREE: tuple[AgentRole, ...] = ("referee",)
_PLAYER: tuple[AgentRole, ...] = ("player",)
_EVERYBODY = _PLAYER + _REFEREE

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
    Method("notify_round", m.RoundAnnouncement, m.RoundAnnouncementAck, _EVERYBODY),
    Method("update_standings", m.LeagueStandingsUpdate, m.StandingsUpdateAck, _PLAYER),
    Method("notify_round_completed", m.RoundCompleted, m.RoundCompletedAck, _EVERYBODY),
    Method("notify_league_completed", m.LeagueCompleted, m.LeagueCompletedAck, _EVERYBODY),
    Method("handle_game_invitation", m.GameInvitation, m.GameJoinAck, _PLAYER, 5.0),
    Method("parity_choose", m.ChooseParityCall, m.ChooseParityResponse, _PLAYER, 30.0, ("choose_parity",)),
    Method("choose_move", m.GameMoveCall, m.GameMoveResponse, _PLAYER, 30.0),
    Method("notify_match_result", m.GameOver, m.GameOverAck, _PLAYER, 5.0),
    Method("notify_game_error", m.GameError, m.GameErrorAck, _PLAYER),
    # Document 001 gives it no name; a manager may send it as document 002 says.
    Method("league_error", m.LeagueError, m.LeagueErrorAck, _EVERYBODY, other_names=("notify_league_error",)),
)

BY_NAME: dict[str, Method] = {name: method for method in METHODS for name in method.names}
BY_REQUEST: dict[type[Message], Method] = {method.request: method for method in METHODS}
# Checks that somebody is there; empty params, any answer will do.
PING = "ping"


def prepare_decoders(role: AgentRole) -> None:
    """Do now what the first calls to an agent of that role would else wait for: a millisecond or two each."""
    for method in METHODS:
        if role in method.receivers:
            prepare_decoder(method.request)


def read_call(call: Call, role: AgentRole) -> tuple[Method, Message]:
    """What a call asks an agent of that role to do. Raises ProtocolError for an unknown method or a wrong message."""
    method = BY_NAME.get(call.method)
    if method is None or role not in method.receivers:
        known = ", ".join(one.name for one in METHODS if role in one.receivers)
        raise ProtocolError("E042", f"There is no method {call.method[:50]!r} here; there are {known}, {PING}.")
    message = call.message
    if message is None:
        message = decode(params_of(call))
    return method, message if type(message) is method.request else of_type(method.request, message)
