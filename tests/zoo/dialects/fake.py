"""A fake agent: what somebody's program does with what it is sent, by its traits, and a record of what that was.

It is written from the description of the field alone, and by hand (json and asyncio), so that a misreading of ours is
not made twice. ``come`` lets it open its port and register in the order of its kind; ``handle`` is its server side.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from tests.zoo.dialects import answers, forms, insistences
from tests.zoo.dialects.answers import Answer, Refused
from tests.zoo.dialects.forms import MATCH_KINDS, Json, Understood
from tests.zoo.dialects.species import Species
from tests.zoo.dialects.traits import FORMS, REGISTRATIONS

FIXED_PORTS = {"REF01": 8001, "REF02": 8002}
REGISTRATION_SECONDS = 5.0
POST_SECONDS = 5.0
KNOCKS = 3
SECONDS_BETWEEN_KNOCKS = 4.0

_ACKNOWLEDGEMENTS = {"LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK"}


Handle = Callable[[bytes, Any], Awaitable[Answer]]


class Net(Protocol):
    """What a fake needs of a network; see hosting.py for memory and for sockets."""

    async def open(self, url: str, handle: Handle) -> None:
        """Listen at a URL."""

    async def close(self, url: str) -> None:
        """Listen there no more; what is being answered is still answered."""

    async def post(self, url: str, body: bytes, seconds: float) -> Answer:
        """POST a body. Raises OSError if there is no answer in time (TimeoutError is one)."""


@dataclass
class Seen:
    """A request as it came, what the program made of it, and what it answered."""

    at: datetime
    body: bytes
    kind: str = ""
    sender: str = ""
    # The form in which it was understood, or "" if it was refused unread.
    form: str = ""
    # What of it the program insists on and did not get.
    broken: tuple[str, ...] = ()
    answer: Answer | None = None


class Died(Exception):
    """The program crashed of itself."""


class Fake:
    """One agent of a species, at an endpoint of its own."""

    def __init__(
        self,
        species: Species,
        endpoint: str,
        manager: str,
        net: Net,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        fixed_ports: Mapping[str, int] = FIXED_PORTS,
    ) -> None:
        self.species = species
        self.endpoint = endpoint
        self.seen: list[Seen] = []
        # What it missed in the answer to its registration, and the status that it was given.
        self.missed: tuple[str, ...] = ()
        self.status = ""
        # The id that it was given; player_id is the one that it uses.
        self.given_id = ""
        self.player_id = species.wants
        self.token = ""
        self.registered = False
        self.listening = False
        self.exited = False
        # Matches that it joined, that it chose in, and that it was told the end of, in order.
        self.joined: list[str] = []
        self.chose: list[str] = []
        self.over: list[str] = []
        # What it posted by itself, to where, and what came of it.
        self.posted: list[tuple[str, Json, Answer | OSError]] = []
        self._manager = manager
        self._net = net
        self._clock = clock
        self._fixed_ports = fixed_ports
        self._forms = species.traits & FORMS.keys()
        self._referees: dict[str, str] = {}
        self._in_match = ""
        self._errands: set[asyncio.Task[None]] = set()

    def has(self, trait: str) -> bool:
        return trait in self.species.traits

    # What a test asks

    @property
    def broken(self) -> list[str]:
        """All that it insists on and did not get, in the order of its getting it."""
        return [*self.missed, *(what for seen in self.seen for what in seen.broken)]

    @property
    def wasted(self) -> list[Seen]:
        """Messages that it could not read, from somebody who had already been understood.

        The method of the choice is learnt by the first choice, everything else by the first message of a match. What
        it knows in no form at all is nobody's fault.
        """
        learnt: set[tuple[str, bool]] = set()
        found = []
        for seen in self.seen:
            lesson = (seen.sender, seen.kind == "CHOOSE_PARITY_CALL")
            if seen.kind in MATCH_KINDS and seen.form:
                learnt.add(lesson)
            elif seen.kind in MATCH_KINDS and lesson in learnt and self._knows(seen.kind):
                found.append(seen)
        return found

    def notes(self, given_id: str = "") -> frozenset[str]:
        """The rules that a host should have noted of it after a match (traits.RULES).

        ``given_id`` is for a fake that was added by hand, and cannot know the id that it was given.
        """
        # A fake that was added by hand and has chosen no id has none at all.
        foreign = not self.player_id or (self.has("own-id") and (given_id or self.given_id) != self.player_id)
        return self.species.notes | ({"player-id", "sender"} if foreign else set())

    # Its life

    async def come(self) -> None:
        """Open the port and register, in the order of its kind."""
        if self.has("never-comes"):
            return
        if self.has("dies-registering"):
            raise Died("player_meta: the endpoint must be bytes, not str")
        late = self.has("opens-late")
        if not late:
            await self._open()
        if not self.has("never-registers"):
            await self.register()
        if late and self.registered:
            await self._open()

    async def leave(self) -> None:
        """Stop listening, and drop what it was about to post."""
        if self.listening:
            self.listening = False
            await self._net.close(self.endpoint)
        for errand in self._errands:
            errand.cancel()
        await asyncio.gather(*self._errands, return_exceptions=True)

    async def _open(self) -> None:
        await self._net.open(self.endpoint, self.handle)
        self.listening = True

    async def register(self) -> None:
        """Ask the manager to be let in; it is in only if the answer has what its kind looks for."""
        form = next((trait for trait in _REGISTRATION_FORMS if self.has(trait)), "")
        method, params = forms.registration(form, self._registration())
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1}).encode()
        try:
            came = await self._net.post(self._manager, body, REGISTRATION_SECONDS)
        except TimeoutError:
            self.missed = ("registration answered within 5 s",)
            return
        answer = forms.registered(form, _object(came.body))
        self.status = str(answer.get("status", ""))
        if self.status == "REJECTED":
            return
        self.missed = tuple(self._missing_in_registration(answer))
        if self.missed:
            return
        self.registered = True
        self.token, self.given_id = answer["auth_token"], answer["player_id"]
        if not self.has("own-id"):
            self.player_id = self.given_id

    def _registration(self) -> Json:
        meta: Json = {
            "display_name": self.species.name.title(),
            "version": "1.0.0",
            "game_types": [self.species.game_type],
            "contact_endpoint": self.endpoint,
        }
        if self.has("wants-REGISTERED"):
            meta["protocol_version"] = "league.v2"
        if self.has("registers-bare-meta"):
            del meta["version"]
            return {"player_meta": meta}
        message: Json = {
            "protocol": "league.v2",
            "message_type": "LEAGUE_REGISTER_REQUEST",
            "sender": f"player:{self.species.wants or self.species.name}",
            "timestamp": self._time(),
            "conversation_id": f"conv-{self.species.name}-registration",
            "player_meta": meta,
        }
        if self.has("registers-without-envelope"):
            message = {name: message[name] for name in ("protocol", "message_type", "player_meta")}
        return self._typed(message)

    def _missing_in_registration(self, answer: Json) -> list[str]:
        wanted = ("sender", "conversation_id", "player_id", "auth_token", "league_id")
        missing = [f"{name} in the registration's answer" for name in wanted if not isinstance(answer.get(name), str)]
        status = "REGISTERED" if self.has("wants-REGISTERED") else "ACCEPTED"
        if answer.get("status") != status:
            missing.append(f"status {status} in the registration's answer")
        if self.has("insists-senders") and answer.get("sender") != "league_manager:LM01":
            missing.append("league_manager:LM01 as the sender of the registration's answer")
        return missing

    # What it is sent

    async def handle(self, body: bytes, _peer: Any = None) -> Answer:
        """Answer a request as its program would, and keep a record."""
        seen = Seen(self._clock(), body)
        self.seen.append(seen)
        call = _object(body)
        try:
            seen.answer = await self._answer(call, seen)
        except Refused as refused:
            seen.answer = answers.refusal(self.species.traits, call.get("id"), refused)
        return seen.answer

    async def _answer(self, call: Json, seen: Seen) -> Answer:
        found = forms.anywhere(call)
        seen.kind, seen.sender = str(found.get("message_type", "")), str(found.get("sender", ""))
        if self.has("insists-integer-id") and type(call.get("id")) is not int:
            seen.broken = ("integer id",)
            raise Refused(422, "id: Input should be a valid integer")
        read = forms.understood(call, self._forms)
        if read is None or not self._knows(read.kind):
            return answers.unknown(self.species.traits, call)
        seen.form, seen.kind = read.form, read.kind
        if lacking := insistences.lacking(self.species.traits, read):
            seen.broken = (lacking.what,)
            raise Refused(lacking.status, f"{read.kind} without {lacking.what}")
        if read.kind == "GAME_INVITATION":
            return await self._invited(call, read.message, seen)
        return self._answered(call, await self._reply(read))

    def _knows(self, kind: str) -> bool:
        if self.has("knows-half-the-broadcasts") and kind in ("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"):
            return False
        return forms.knows(self._forms, kind)

    # What it answers

    async def _invited(self, call: Json, message: Json, seen: Seen) -> Answer:
        inner = message["game_invitation"] if self.has("insists-nested") else message
        match_id = str(inner.get("match_id", ""))
        if self.has("stalls-without-8001"):
            await self._knock()
        accept = True
        if self.has("refuses-second-invitation") and match_id in self.joined:
            seen.broken, accept = ("one invitation a match",), False
        if self.has("stuck-until-game-over") and self._in_match not in ("", match_id):
            seen.broken, accept = ("GAME_OVER before the next invitation",), False
        if self.has("dies-joining"):
            raise Refused(500, "TypeError: Object of type datetime is not JSON serializable")
        if accept:
            self.joined.append(match_id)
            self._in_match = match_id
        if self.has("joins-later") or self.has("joins-at-fixed-port"):
            self._post_later(self._referee_of(match_id, message), self._join(message, match_id, accept, posted=True))
            return answers.in_json(200, {"status": "RECEIVED"})
        return self._answered(call, self._join(message, match_id, accept))

    def _join(self, message: Json, match_id: str, accept: bool, *, posted: bool = False) -> Json:
        if self.has("joins-by-ack"):
            return {"status": "ACK" if accept else "NACK"}
        join = self._message("GAME_JOIN_ACK", message, posted=posted) | {
            "match_id": match_id,
            "arrival_timestamp": self._time(),
            "accept": accept,
        }
        if self.has("joins-by-accept-alone"):
            return {"accept": accept}
        if self.has("joins-by-accepted"):
            join["accepted"] = join.pop("accept")
        if self.has("joins-by-status"):
            join["status"] = "ACCEPTED" if join.pop("accept") else "REJECTED"
        if self.has("no-accept") and accept:
            del join["accept"]
        if self.has("no-arrival_timestamp"):
            del join["arrival_timestamp"]
        return join

    async def _reply(self, read: Understood) -> Json:
        kind, message = read.kind, read.message
        if kind == "CHOOSE_PARITY_CALL":
            match_id = str((message["parity_context"] if self.has("insists-nested") else message).get("match_id", ""))
            self.chose.append(match_id)
            choice = ("even", "odd")[len(self.chose) % 2]
            key = "choice" if self.has("chooses-in-choice") else "parity_choice"
            return self._message("CHOOSE_PARITY_RESPONSE", message) | {"match_id": match_id, key: choice}
        if kind == "GAME_MOVE_CALL":
            match_id, options = str(message.get("match_id", "")), message["move_request"]["valid_options"]
            self.chose.append(match_id)
            return self._message("GAME_MOVE_RESPONSE", message) | {"match_id": match_id, "move_data": options[0]}
        if kind == "GAME_OVER":
            self.over.append(str(message.get("match_id", "")))
            self._in_match = "" if self._in_match == self.over[-1] else self._in_match
        if kind == "ROUND_ANNOUNCEMENT":
            self._referees |= {match["match_id"]: match["referee_endpoint"] for match in message.get("matches", ())}
        if kind == "LEAGUE_COMPLETED" and self.has("exits-on-LEAGUE_COMPLETED"):
            self.exited, self.listening = True, False
            await self._net.close(self.endpoint)
        acknowledgement = self._message(_ACKNOWLEDGEMENTS.get(kind, f"{kind}_ACK"), message)
        shared = {name: message[name] for name in ("match_id", "round_id") if name in message}
        return acknowledgement | shared | {"status": "ACKNOWLEDGED"}

    def _message(self, kind: str, request: Json, *, posted: bool = False) -> Json:
        """The fields that all its messages have. What it posts by itself says truly who it is."""
        message = self._typed(
            {
                "protocol": "league.v2",
                "message_type": kind,
                "sender": f"player:{self.player_id}",
                "timestamp": self._time(),
                "conversation_id": request.get("conversation_id", ""),
                "auth_token": self.token,
                "player_id": self.player_id,
            }
        )
        if not self.token:
            del message["auth_token"]
        if posted:
            return message
        if self.has("token-echoed"):
            message["auth_token"] = request.get("auth_token", "")
        wrong = {"player_id": "P99", "sender": f"{self.species.name}-agent", "token": "tok-of-my-own-invention"}
        for name, other in wrong.items():
            field = "auth_token" if name == "token" else name
            if self.has(f"{name}-wrong"):
                message[field] = other
            if self.has(f"{name}-missing"):
                message.pop(field, None)
        if self.has("no-conversation_id"):
            del message["conversation_id"]
        return message

    def _typed(self, message: Json) -> Json:
        """A message with its type in the field that its kind writes."""
        if self.has("writes-type"):
            return {"type" if name == "message_type" else name: value for name, value in message.items()}
        return message

    def _answered(self, call: Json, message: Json) -> Answer:
        call_id = f"answer-{len(self.seen)}" if self.has("other-ids") else call.get("id")
        return answers.wrapped(self.species.traits, call_id, message)

    def _time(self) -> str:
        return answers.written(self.species.traits, self._clock())

    # What it does by itself

    def _referee_of(self, match_id: str, message: Json) -> str | None:
        if self.has("joins-later"):
            return self._referees.get(match_id)
        return self._at_fixed_port("REF02" if message.get("sender") == "referee:REF02" else "REF01")

    def _at_fixed_port(self, referee: str) -> str:
        return f"http://127.0.0.1:{self._fixed_ports[referee]}/mcp"

    async def _knock(self) -> None:
        """What this is for in the field is not known, only that it takes 12 s where nobody listens."""
        body = json.dumps({"jsonrpc": "2.0", "method": "ping", "params": {}, "id": 1}).encode()
        for _ in range(KNOCKS):
            try:
                await self._net.post(self._at_fixed_port("REF01"), body, POST_SECONDS)
            except OSError:
                await asyncio.sleep(SECONDS_BETWEEN_KNOCKS)
            else:
                return

    def _post_later(self, url: str | None, message: Json) -> None:
        if url is not None:
            errand = asyncio.create_task(self._post(url, message))
            self._errands.add(errand)
            errand.add_done_callback(self._errands.discard)

    async def _post(self, url: str, message: Json) -> None:
        kind = message["message_type"]
        call = {"jsonrpc": "2.0", "method": kind, "params": message, "id": len(self.posted) + 1}
        came: Answer | OSError
        try:
            came = await self._net.post(url, json.dumps(call).encode(), POST_SECONDS)
        except OSError as error:
            came = error
        self.posted.append((url, message, came))


_REGISTRATION_FORMS = [trait for trait in REGISTRATIONS if trait.startswith("registers-")]


def _object(body: bytes) -> Json:
    """A body as an object; whatever else it is, a program finds nothing in it that it knows."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {}
