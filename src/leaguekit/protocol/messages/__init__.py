"""All messages of league.v2 as msgspec Structs. Decoders, schemas and checks are derived from them.

The docstrings of the Structs and the descriptions of their fields are published in the schemas.
"""

from __future__ import annotations

from leaguekit.protocol.messages.base import *
from leaguekit.protocol.messages.extensions import *
from leaguekit.protocol.messages.faults import *
from leaguekit.protocol.messages.matches import *
from leaguekit.protocol.messages.registration import *
from leaguekit.protocol.messages.results import *
from leaguekit.protocol.messages.rounds import *

# The catalogue of document 000, in its order.
SPECIFIED: tuple[type[Message], ...] = (
    RefereeRegisterRequest,
    RefereeRegisterResponse,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RoundAnnouncement,
    RoundCompleted,
    LeagueCompleted,
    GameInvitation,
    GameJoinAck,
    ChooseParityCall,
    ChooseParityResponse,
    GameOver,
    MatchResultReport,
    LeagueStandingsUpdate,
    LeagueError,
    GameError,
    LeagueQuery,
    LeagueQueryResponse,
)
# The acknowledgements that document 001 adds.
ACKNOWLEDGEMENTS: tuple[type[Message], ...] = (
    RoundAnnouncementAck,
    StandingsUpdateAck,
    RoundCompletedAck,
    LeagueCompletedAck,
    GameOverAck,
    MatchResultAck,
    GameErrorAck,
)
# Messages that the documents do not define.
EXTENSIONS: tuple[type[Message], ...] = (
    MatchAssignment,
    MatchAssignmentAck,
    MatchProgress,
    MatchProgressAck,
    MatchTranscript,
    MatchRecord,
    MatchVoidReport,
    MatchVoidAck,
    GameMoveCall,
    GameMoveResponse,
    MatchMessageAck,
    LeagueErrorAck,
)
EVERY_MESSAGE = SPECIFIED + ACKNOWLEDGEMENTS + EXTENSIONS


def message_type(message: type[Message] | Message) -> str:
    """The wire name of a message or of its class: GAME_OVER."""
    return str(message.__struct_config__.tag)


BY_TYPE: dict[str, type[Message]] = {message_type(message): message for message in EVERY_MESSAGE}
