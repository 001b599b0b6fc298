"""The player in the ``open`` profile: it plays under managers and referees that deviate from the documents.

A registration is sent in one form after another until the manager answers it. A call in any form is converted into one
of document 001 and answered in its own form. Ids of any form are replaced by ids of the documents inside the player,
and by the original ones in everything that is sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import msgspec

from leaguekit.agents.calls import next_id
from leaguekit.agents.world import World
from leaguekit.games.base import DEFAULT_GAME
from leaguekit.match.move_messages import number_fields
from leaguekit.player.caller_checks import ManagerMessage
from leaguekit.protocol import messages as m
from leaguekit.protocol import times
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import MatchId, PlayerId
from leaguekit.protocol.ids import MANAGER
from leaguekit.protocol.methods import CHOICE_SECONDS
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, RpcError, RpcRefusal, RpcRequest, request, success
from leaguekit.transport.base import Caller, Handler, Peer
from leaguekit.transport.dialects import requests
from leaguekit.transport.dialects.forms import FORMS, Json
from leaguekit.transport.dialects.repairs import repair
from leaguekit.transport.dialects.requests import NESTED, Incoming
from leaguekit.transport.dialects.responses import find_objects

REGISTRATION_SECONDS = 10.0
# The number of ids that are replaced. A league has fewer.
MAX_IDS = 10_000
_REJECTED = ("REJECTED", "REFUSED", "DENIED", "ERROR", "FAILED")
_METHOD_NOT_FOUND = -32601
_ID_FIELDS = ("player_id", "opponent_id", "winner_player_id", "winner", "player_A_id", "player_B_id")
# Objects whose names are players' ids.
_BY_PLAYER = ("choices", "score")


class IdTable:
    """Ids of other forms, each with an id of the documents that replaces it."""

    def __init__(self) -> None:
        self._internal: dict[tuple[str, str], str] = {}
        self._foreign: dict[str, Any] = {}

    def player(self, foreign: Any) -> str:
        return foreign if valid(PlayerId, foreign) else self._replace(foreign, "P9{:06}")

    def match(self, foreign: Any) -> str:
        return foreign if valid(MatchId, foreign) else self._replace(foreign, "R1M9{:06}")

    def _replace(self, foreign: Any, form: str) -> str:
        # The same id may be a number in one place and the name of a field in another.
        key = (form, str(foreign))
        if key not in self._internal:
            if len(self._internal) >= MAX_IDS:
                raise ProtocolError("E044", "There are too many ids of other forms.")
            internal = self._internal[key] = form.format(len(self._internal))
            self._foreign[internal] = foreign
        return self._internal[key]

    def to_internal(self, value: Any, name: str = "") -> Any:
        """A JSON value in which ids are replaced by those of the documents."""
        if isinstance(value, list):
            return [self.to_internal(one, name) for one in value]
        if isinstance(value, dict):
            by_player = name in _BY_PLAYER
            return {
                self.player(key) if by_player and key else key: self.to_internal(one, key) for key, one in value.items()
            }
        is_id = isinstance(value, str | int) and not isinstance(value, bool) and value != ""
        if is_id and name in _ID_FIELDS:
            return self.player(value)
        return self.match(value) if is_id and name == "match_id" else value

    def to_foreign(self, value: Any) -> Any:
        """A JSON value with the original ids."""
        if isinstance(value, list):
            return [self.to_foreign(one) for one in value]
        if isinstance(value, dict):
            return {key: self.to_foreign(one) for key, one in value.items()}
        if not isinstance(value, str):
            return value
        role, colon, agent_id = value.rpartition(":")
        if colon and agent_id in self._foreign:
            return f"{role}:{self._foreign[agent_id]}"
        return self._foreign.get(value, value)


class OpenPlayerProfile:
    """Converts the messages to and from one player.

    ``inner`` answers requests of document 001. ``report`` is called with a sentence about each thing that could not be
    understood. ``finish`` is called when the league is over and the message about it could not be read.
    """

    def __init__(self, world: World, inner: Handler, report: Callable[[str], None], finish: Callable[[], None]) -> None:
        self._world = world
        self._inner = inner
        self._report = report
        self._finish = finish
        self._ids = IdTable()
        self._player_id = ""
        self._league_id = "league"
        self._round_id = 1

    # Registration

    async def ask(
        self, caller: Caller, url: str, message: m.Request, _kind: type[m.LeagueRegisterResponse]
    ) -> m.LeagueRegisterResponse:
        """Send a registration in one form after another, and return the first answer.

        Raises RpcRefusal, CallFailed, CallerLate, or ProtocolError if no form is answered.
        """
        refusals: list[RpcRefusal] = []
        came = []
        for method, params in _registrations(msgspec.to_builtins(message)):
            answer = await caller.post(
                url, request(method, msgspec.json.encode(params), next_id()), REGISTRATION_SECONDS, MAX_TRUSTED_BYTES
            )
            found = find_objects(answer.body)
            for one in found:
                if (response := self._read_registration(one)) is not None:
                    return response
            refusals += [RpcRefusal(error) for one in found if (error := _error_in(one)) is not None]
            came.append(f"{method}: HTTP {answer.status} {answer.body[:200].decode(errors='replace')}")
        for text in came:
            self._report(f"The manager did not accept the registration by {text}")
        if reasons := [one for one in refusals if one.error.code != _METHOD_NOT_FOUND] or refusals:
            raise reasons[0]
        raise ProtocolError("E045", f"no form of registration was answered ({'; '.join(came)[:500]})")

    def _read_registration(self, found: Json) -> m.LeagueRegisterResponse | None:
        """The answer to a registration in an object, or None."""
        status, player_id = str(found.get("status", "")).upper(), found.get("player_id")
        common = m.envelope(MANAGER, self._world.now(), str(found.get("conversation_id") or "conv-registration"))
        if status in _REJECTED and "error" not in found and not player_id:
            reason = found.get("reason") or found.get("message") or "No reason was given"
            return m.LeagueRegisterResponse(**common, status="REJECTED", reason=str(reason))
        if not isinstance(player_id, str | int) or player_id == "":
            return None
        self._player_id = self._ids.player(player_id)
        if isinstance(league_id := found.get("league_id"), str) and league_id:
            self._league_id = league_id
        texts = {
            name: found[name]
            for name in ("auth_token", "token_scheme", "display_name")
            if isinstance(found.get(name), str) and found[name]
        }
        return m.LeagueRegisterResponse(
            **common, **texts, status="ACCEPTED", league_id=self._league_id, player_id=self._player_id
        )

    # Calls

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer any request, in its own form."""
        incoming = requests.read_request(request.body)
        if incoming is None or incoming.kind is None:
            return await self._inner(request, peer)
        try:
            message = self._repair(incoming, incoming.kind)
        except ProtocolError as error:
            return await self._answer_unreadable(incoming, peer, error)
        answer = await self._inner(RpcRequest(requests.encode_standard(incoming, message)), peer)
        return None if answer is None else self._encode(incoming, answer)

    def _repair(self, incoming: Incoming, kind: type[m.Message]) -> m.Message:
        """The message of document 001 that the sender meant. Raises ProtocolError if that cannot be found out."""
        message = dict(incoming.message)
        # Some referees write the fields of a message only there.
        for name in NESTED.values():
            if isinstance(inner := message.get(name), dict):
                message = inner | {field: value for field, value in message.items() if value is not None}
        message = self._ids.to_internal(message)
        self._round_id = _round_in(message) or self._round_id
        known = self._known_fields(message, kind)
        nulls = [name for name, value in message.items() if value is None and name in known]
        repaired = repair({name: value for name, value in message.items() if name not in nulls}, kind, known, {})
        return repaired.message

    def _known_fields(self, message: Json, kind: type[m.Message]) -> Json:
        now = self._world.now()
        stated, role = str(message.get("sender") or "unknown"), str(message.get("role_in_match") or "PLAYER_A").upper()
        result = message.get("game_result")
        has_winner = isinstance(result, dict) and result.get("winner_player_id") is not None
        is_of_manager = issubclass(kind, ManagerMessage)
        return {
            "protocol": "league.v2",
            "timestamp": times.format_timestamp(now),
            "sender": MANAGER if is_of_manager else f"referee:{stated.rpartition(':')[2]}",
            "conversation_id": f"conv-{message.get('match_id') or 'open'}",
            "league_id": self._league_id,
            "round_id": self._round_id,
            "player_id": self._player_id,
            "opponent_id": "P00",
            "game_type": DEFAULT_GAME,
            "role_in_match": role if role in ("PLAYER_A", "PLAYER_B") else "PLAYER_A",
            "deadline": times.format_timestamp(now + timedelta(seconds=CHOICE_SECONDS)),
            "context": {"opponent_id": "P00", "round_id": self._round_id},
            "context.round_id": self._round_id,
            "context.opponent_id": "P00",
            "game_result.choices": {},
            **{f"game_result.{name}": value for name, value in number_fields(None).items()},
            "game_result.winner_player_id": None,
            "game_result.status": "WIN" if has_winner else "DRAW",
            "next_round_id": None,
        }

    async def _answer_unreadable(self, incoming: Incoming, peer: Peer, error: ProtocolError) -> bytes | None:
        """Answer a message that cannot be read. A broadcast needs no more than to be acknowledged."""
        if incoming.kind is None or not issubclass(incoming.kind, ManagerMessage):
            answer = await self._inner(RpcRequest(requests.encode_standard(incoming)), peer)
            return None if answer is None else self._encode(incoming, answer)
        kind = m.message_type(incoming.kind)
        self._report(f"{kind} of the manager cannot be read, and is acknowledged: {error.detail}")
        if incoming.kind is m.LeagueCompleted:
            self._finish()
        ack = {
            "protocol": "league.v2",
            "message_type": f"{kind}_ACK",
            "sender": f"player:{self._player_id}",
            "timestamp": self._world.timestamp(),
            "player_id": self._player_id,
            "status": "ACKNOWLEDGED",
        }
        body = success(incoming.id or b"null", msgspec.json.encode(ack))
        return None if incoming.id is None else self._encode(incoming, body)

    def _encode(self, incoming: Incoming, answer: bytes) -> bytes:
        """An answer in the form of its request, with the original ids."""
        value = self._ids.to_foreign(msgspec.json.decode(answer))
        return requests.encode_answer(incoming, msgspec.json.encode(value))


def _registrations(message: Json) -> Iterator[tuple[str, Json]]:
    """The methods and params by which managers of the field accept a registration."""
    yield "register_player", message
    yield "league_register", message
    yield "LEAGUE_REGISTER_REQUEST", message
    yield FORMS["MESSAGE"].write(message)
    yield "tools/call", {"name": "register_player", "arguments": message}
    yield FORMS["ENVELOPE"].write(message)


def _error_in(found: Json) -> RpcError | None:
    """The JSON-RPC error in an object, in any form."""
    error = found.get("error")
    if isinstance(error, str):
        return RpcError(0, error)
    if not isinstance(error, dict):
        return None
    code = error.get("code")
    return RpcError(code if isinstance(code, int) else 0, str(error.get("message") or error), error.get("data"))


def _round_in(message: Json) -> int | None:
    """The number of the round that a message names, also if it is a text such as "round_2"."""
    stated = message.get("round_id")
    digits = re.search(r"[1-9][0-9]{0,8}", str(stated)) if isinstance(stated, str | int) else None
    return None if digits is None or isinstance(stated, bool) else int(digits[0])
