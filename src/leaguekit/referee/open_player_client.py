"""How a referee speaks in the ``open`` profile: in the form that a player is known to understand, or in each in turn.

All forms share the one deadline of the request. Who answers is known by the endpoint that was called; what was wrong
with an answer is noted, and takes nobody's match away.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import NoReturn, cast

from msgspec import UNSET, structs

from leaguekit.agents.calls import next_id
from leaguekit.agents.world import World
from leaguekit.games.base import Side
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import ProtocolError, rpc_number
from leaguekit.protocol.ids import match_conversation, sender_of
from leaguekit.protocol.methods import BY_REQUEST
from leaguekit.protocol.rpc import MAX_BYTES, RpcError, RpcRefusal
from leaguekit.referee.player_client import PlayerMessage, PlayerObservations
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript
from leaguekit.transport.base import TOO_OFTEN, Caller, CallerLate, TimedOut, Unreachable
from leaguekit.transport.client.deadlines import LATE_SECONDS, MAX_EXTENSIONS
from leaguekit.transport.dialects.forms import Json
from leaguekit.transport.dialects.repairs import Repaired, broken_rule
from leaguekit.transport.dialects.requests import Written, method_rule, written
from leaguekit.transport.dialects.responses import Acknowledged, Found, Later, Nothing, find, is_refusal

# So many rules are told of a player's match, in so many characters each: a report must stay small.
MAX_RULES = 12
MAX_TEXT = 80
# So many invitations are remembered.
MAX_INVITATIONS = 1_000
# What some document has; a player that is spoken to so at once has broken nothing.
_DOCUMENTED = ("RPC", "RPC_CHOOSE_PARITY", "TYPE")


class DialectMemory:
    """What a referee remembers of how players speak, in all its matches."""

    def __init__(self) -> None:
        self.forms: dict[str, str] = {}
        # Who joins with a mere acknowledgement, as was found by trying every form.
        self.only_acknowledge: set[str] = set()
        self._invited: Counter[tuple[str, str]] = Counter()

    def invite(self, match_id: str, player_id: str) -> None:
        self._invited[match_id, player_id] += 1
        if len(self._invited) > MAX_INVITATIONS:
            del self._invited[next(iter(self._invited))]

    def is_invited_again(self, match_id: str, player_id: str) -> bool:
        return self._invited[match_id, player_id] > 1


@dataclass(slots=True)
class _Tries:
    """What the forms that were tried for one request have brought so far."""

    missed: list[str] = field(default_factory=list)
    # The first mere acknowledgement, and to which request it came.
    acknowledged: Acknowledged | None = None
    as_written: Written | None = None
    hung_up: Unreachable | None = None


class OpenPlayerClient:
    """Speaks to the players of one match as they understand it."""

    def __init__(
        self,
        world: World,
        assignment: m.MatchAssignment,
        seats: Seats,
        transcript: Transcript,
        *,
        memory: DialectMemory,
    ) -> None:
        self._world = world
        self._assignment = assignment
        self._seats = seats
        self._transcript = transcript
        self._memory = memory
        self._caller = world.caller
        self._loop = asyncio.get_running_loop()
        self._broken: dict[str, dict[str, m.BrokenRule]] = {}

    async def ask(self, side: Side, request: m.Request, kind: type[PlayerMessage], seconds: float) -> PlayerMessage:
        """Ask in one form after the other until one brings the word that is wanted."""
        seat, deadline = self._seats[side], self._loop.time() + seconds
        known_form, tries = self._form(side), _Tries()
        if kind is m.GameJoinAck:
            self._memory.invite(self._assignment.match_id, seat.player_id)
        for made in written(request, seat.player_id, known_form):
            try:
                found = await self._tried(side, made, request, kind, deadline)
            except Unreachable as error:
                # A form that others have reported may be wrong. One that was understood here is not.
                if self._memory.forms.get(seat.player_id) == made.form:
                    raise
                tries.hung_up = error
                continue
            if isinstance(found, Repaired | Later):
                self._understood(side, made, request, tries)
                self.note(side, found.broken)
                if isinstance(found, Repaired):
                    return self._settled(side, found, had_word=tries.acknowledged is not None)
                await self._until_posted(deadline)
            if self._is_join(found, kind, made, tries, seat.player_id):
                break
            tries.missed.append(made.form)
            note = f"{made.method} did not bring an answer: {_why(found)}"
            self._transcript.add("received", seat.player_id, note=note)
        return self._at_last(side, request, kind, tries)

    def _is_join(self, found: Found, kind: type[PlayerMessage], made: Written, tries: _Tries, player_id: str) -> bool:
        """Whether a mere acknowledgement is a join already: where every form has been tried before."""
        if not isinstance(found, Acknowledged) or kind is not m.GameJoinAck:
            return False
        if tries.acknowledged is None:
            tries.acknowledged, tries.as_written = found, made
        return player_id in self._memory.only_acknowledge

    def _at_last(self, side: Side, request: m.Request, kind: type[PlayerMessage], tries: _Tries) -> PlayerMessage:
        """What it comes to when no form has brought the word."""
        if tries.acknowledged is not None and tries.as_written is not None:
            self._memory.only_acknowledge.add(self._seats[side].player_id)
            self._understood(side, tries.as_written, request, tries)
            self.note(side, tries.acknowledged.broken)
            return m.GameJoinAck(**self.known(side, request), accept=True)
        if tries.hung_up is not None and not tries.missed:
            raise tries.hung_up
        detail = f"{m.message_type(kind)} was expected; in no form of request ({', '.join(tries.missed)}) did it come."
        raise ProtocolError("E045", detail)

    async def _tried(
        self, side: Side, made: Written, request: m.Request, kind: type[PlayerMessage], deadline: float
    ) -> Found:
        rest = deadline - self._loop.time()
        if rest <= 0:
            raise TimedOut("the time was over before every form of request had been tried", connected=True)
        call_id, url = next_id(), self._seats[side].endpoint
        came = await self._caller.post(url, made.body(call_id), rest, MAX_BYTES)
        if came.status == TOO_OFTEN:
            raise RpcRefusal(RpcError(*rpc_number(None, "E059"), {"error_code": "E059"}))
        return find(came.body, call_id, kind, self.known(side, request), self.certain(side))

    async def _until_posted(self, deadline: float) -> NoReturn:
        """Wait for what the player promised to post: when it comes, nobody waits here any more."""
        late_in_all = 0.0
        for _ in range(1 + MAX_EXTENSIONS):
            while (rest := deadline - self._loop.time()) > 0:  # noqa: ASYNC110 - a timer may ring a little early
                await asyncio.sleep(rest)
            late = self._loop.time() - deadline
            if late <= LATE_SECONDS:
                raise TimedOut("what the player was to post did not come in time", connected=True)
            # What came in the meantime is still unread, and was in time.
            deadline = self._loop.time() + late
            late_in_all += late
        raise CallerLate(late_in_all * 1000)

    async def tell(self, side: Side, message: m.Request, seconds: float) -> None:
        """Send a message; the end of a match in every form until one is taken, for some stay stuck in it otherwise."""
        seat = self._seats[side]
        await tell(self._caller, seat.endpoint, message, (seat.player_id, self._form(side)), seconds)

    def learned(self) -> PlayerObservations:
        players = [seat.player_id for seat in self._seats.values()]
        broken = {player: list(self._broken[player].values()) for player in players if player in self._broken}
        forms = {player: self._memory.forms[player] for player in players if player in self._memory.forms}
        return PlayerObservations(broken or UNSET, forms or UNSET)

    def note(self, side: Side, broken: Iterable[m.BrokenRule]) -> None:
        """Keep what a player got wrong."""
        kept = self._broken.setdefault(self._seats[side].player_id, {})
        for one in broken:
            if one.rule in kept:
                kept[one.rule].count += one.count
            elif len(kept) < MAX_RULES:
                kept[one.rule] = structs.replace(one, came=one.came[:MAX_TEXT], expected=one.expected[:MAX_TEXT])

    def known(self, side: Side, request: m.Request | None = None) -> Json:
        """What is known of a player's word without its saying so."""
        now = times.written(self._world.now())
        of = self._assignment
        asked = match_conversation(of.match_id, of.attempt) if request is None else request.conversation_id
        return {
            "protocol": "league.v2",
            "timestamp": now,
            "arrival_timestamp": now,
            "conversation_id": asked,
            "match_id": of.match_id,
            **self.certain(side),
        }

    def certain(self, side: Side) -> dict[str, str]:
        """Who it is, for the endpoint that was called or the token that was shown says so."""
        player_id = self._seats[side].player_id
        return {"player_id": player_id, "sender": sender_of("player", player_id)}

    def taken(self, side: Side, word: Repaired) -> PlayerMessage:
        """A word that a player has posted."""
        self.note(side, word.broken)
        return self._settled(side, word, had_word=False)

    def _settled(self, side: Side, found: Repaired, *, had_word: bool) -> PlayerMessage:
        """A player's word as it counts: with no token but its own, and no refusal of what it may have accepted."""
        own, word = self._seats[side].player_id, cast("PlayerMessage", found.message)
        if word.auth_token is not UNSET and self._seats.is_foreign(side, word.auth_token):
            came = f"auth_token: {tokens.shortened(word.auth_token)}"
            self.note(side, [broken_rule("decision 19", came, f"the token of {own}, or none")])
            word = structs.replace(word, auth_token=UNSET)
        assignment = self._assignment
        again = had_word or assignment.attempt > 1 or self._memory.is_invited_again(assignment.match_id, own)
        if isinstance(word, m.GameJoinAck) and not word.accept and again:
            self._transcript.add("received", own, word, "refused, but invited before: that counts as accepted")
            word = structs.replace(word, accept=True)
        return word

    def _form(self, side: Side) -> str | None:
        seat = self._seats[side]
        return self._memory.forms.get(seat.player_id) or seat.form or None

    def _understood(self, side: Side, made: Written, request: m.Request, tries: _Tries) -> None:
        """Remember the form; one that no document has, or in which it had to be asked again, breaks a rule."""
        self._memory.forms[self._seats[side].player_id] = made.form
        is_standard = made.method == BY_REQUEST[type(request)].name and made.form in _DOCUMENTED
        if not is_standard and (made.form not in _DOCUMENTED or tries.missed):
            self.note(side, [method_rule(type(request), f"understood only as {made.method}")])


def _why(found: Found) -> str:
    return found.why if isinstance(found, Nothing) else found.broken[0].came


async def tell(caller: Caller, url: str, message: m.Request, to: tuple[str, str | None], seconds: float) -> bool:
    """Send a message to a player in its form, the end of a match in every form until it is taken; whether it was."""
    deadline = asyncio.get_running_loop().time() + seconds
    for made in islice(written(message, *to), None if isinstance(message, m.GameOver) else 1):
        rest = max(0.001, deadline - asyncio.get_running_loop().time())
        came = await caller.post(url, made.body(next_id()), rest)
        if not is_refusal(came.status, came.body):
            return True
    return False
