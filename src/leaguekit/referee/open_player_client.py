"""The player client of the ``open`` profile: it finds out which form of requests each player understands.

A request is sent in the form that a player is known to understand, or else in one form after another. All forms share
the one deadline of the request. The endpoint that was called identifies the player that answers. What is wrong with an
answer is noted, and does not cost the player the match.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
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
from leaguekit.protocol.methods import BY_REQUEST, OTHER_NAME_FORM
from leaguekit.protocol.rpc import MAX_BYTES, RpcError, RpcRefusal
from leaguekit.referee.player_client import PlayerClient, PlayerMessage, PlayerObservations
from leaguekit.referee.seats import Seats
from leaguekit.referee.transcripts import Transcript
from leaguekit.transport.base import TOO_MANY_REQUESTS, Caller, CallerLate, HttpAnswer, TimedOut, Unreachable
from leaguekit.transport.client.deadlines import LATE_SECONDS, MAX_EXTENSIONS
from leaguekit.transport.dialects.forms import Json
from leaguekit.transport.dialects.repairs import Repaired, broken_rule
from leaguekit.transport.dialects.requests import EncodedRequest, encode_in_forms, method_rule
from leaguekit.transport.dialects.responses import (
    Acknowledged,
    AnswerOutcome,
    Deferred,
    NoUsableAnswer,
    find_answer,
    is_refusal,
)

# The broken rules of one player in a report, and the characters of each text. A report must stay small.
MAX_RULES = 12
MAX_TEXT = 80
# The number of remembered invitations.
MAX_INVITATIONS = 1_000
# The forms that a document defines. A player that understands one of these at the first try has broken no rule.
_DOCUMENTED = ("RPC", OTHER_NAME_FORM, "TYPE")


class DialectMemory:
    """What a referee remembers about the dialects of players, in all its matches."""

    def __init__(self) -> None:
        # By player, the form of requests that it understands.
        self.forms: dict[str, str] = {}
        # Players that join with a mere acknowledgement. Every form was tried to find that out.
        self.only_acknowledge: set[str] = set()
        self._invitations: Counter[tuple[str, str]] = Counter()

    def add_invitation(self, match_id: str, player_id: str) -> None:
        self._invitations[match_id, player_id] += 1
        if len(self._invitations) > MAX_INVITATIONS:
            del self._invitations[next(iter(self._invitations))]

    def is_invited_again(self, match_id: str, player_id: str) -> bool:
        return self._invitations[match_id, player_id] > 1


class OpenPlayerClient(PlayerClient):
    """Calls the players of one match, each in the form that it understands."""

    def __init__(
        self,
        world: World,
        assignment: m.MatchAssignment,
        seats: Seats,
        transcript: Transcript,
        *,
        memory: DialectMemory,
    ) -> None:
        super().__init__(world, assignment, seats, transcript)
        self._world = world
        self._memory = memory
        self._loop = asyncio.get_running_loop()
        self._broken_rules: dict[str, dict[str, m.BrokenRule]] = {}

    async def ask(self, side: Side, request: m.Request, kind: type[PlayerMessage], seconds: float) -> PlayerMessage:
        """Send a request in one form after another until one brings the expected answer."""
        seat, deadline = self._seats[side], self._loop.time() + seconds
        failed_forms: list[str] = []
        # The first mere acknowledgement of an invitation, and the request that it answers.
        acknowledged: tuple[Acknowledged, EncodedRequest] | None = None
        unreachable: Unreachable | None = None
        if kind is m.GameJoinAck:
            self._memory.add_invitation(self._assignment.match_id, seat.player_id)
        for made in encode_in_forms(request, seat.player_id, self._form(side)):
            try:
                found = await self._try_form(side, made, request, kind, deadline)
            except Unreachable as error:
                # A form that another referee has reported may be wrong. A form that was understood here is right.
                if self._memory.forms.get(seat.player_id) == made.form:
                    raise
                unreachable = error
                continue
            if isinstance(found, Repaired | Deferred):
                self._remember_form(side, made, request, failed_forms)
                if isinstance(found, Repaired):
                    return self.accept(side, found, was_acknowledged=acknowledged is not None)
                self.note_broken_rules(side, found.broken)
                await self._wait_for_post(deadline)
            if isinstance(found, Acknowledged) and kind is m.GameJoinAck:
                acknowledged = acknowledged or (found, made)
                if seat.player_id in self._memory.only_acknowledge:
                    # Every form was tried before.
                    break
            failed_forms.append(made.form)
            note = f"{made.method} did not bring an answer: {_why(found)}"
            self._transcript.add("received", seat.player_id, note=note)
        if acknowledged is not None:
            return self._join(side, request, *acknowledged, failed_forms)
        expected, forms = m.message_type(kind), ", ".join(failed_forms)
        missing = ProtocolError("E045", f"{expected} was expected; in no form of request ({forms}) did it come.")
        raise missing if unreachable is None or failed_forms else unreachable

    def _join(
        self, side: Side, request: m.Request, found: Acknowledged, made: EncodedRequest, failed_forms: list[str]
    ) -> m.GameJoinAck:
        """The join of a player that has merely acknowledged its invitation."""
        self._memory.only_acknowledge.add(self._seats[side].player_id)
        self._remember_form(side, made, request, failed_forms)
        self.note_broken_rules(side, found.broken)
        return m.GameJoinAck(**self.known_fields(side, request), accept=True)

    async def _try_form(
        self, side: Side, made: EncodedRequest, request: m.Request, kind: type[PlayerMessage], deadline: float
    ) -> AnswerOutcome:
        seconds = deadline - self._loop.time()
        if seconds <= 0:
            raise TimedOut("the time was over before every form of request had been tried", connected=True)
        call_id, url = next_id(), self._seats[side].endpoint
        body, player_id = made.body(call_id), self._seats[side].player_id
        self._transcript.add("sent", player_id, note=f"by {made.method}", wire=body)
        answer = await self._caller.post(url, body, seconds, MAX_BYTES)
        self._transcript.add("received", player_id, note=f"HTTP {answer.status}", wire=answer.body)
        if answer.status == TOO_MANY_REQUESTS:
            raise RpcRefusal(RpcError(*rpc_number(None, "E059"), {"error_code": "E059"}))
        return find_answer(answer.body, call_id, kind, self.known_fields(side, request), self.certain_fields(side))

    async def _wait_for_post(self, deadline: float) -> NoReturn:
        """Wait until the deadline of a message that the player promised to post. The post itself ends this task."""
        late_in_all = 0.0
        for _ in range(1 + MAX_EXTENSIONS):
            while (seconds := deadline - self._loop.time()) > 0:  # noqa: ASYNC110 - a timer may ring a little early
                await asyncio.sleep(seconds)
            late = self._loop.time() - deadline
            if late <= LATE_SECONDS:
                raise TimedOut("what the player was to post did not come in time", connected=True)
            # This process was too busy to notice the deadline. A post may have arrived in time and be unread.
            deadline = self._loop.time() + late
            late_in_all += late
        raise CallerLate(late_in_all * 1000)

    async def notify(self, side: Side, message: m.Request, seconds: float) -> None:
        seat = self._seats[side]

        def record(method: str, body: bytes, answer: HttpAnswer) -> None:
            self._transcript.add("sent", seat.player_id, note=f"by {method}", wire=body)
            self._transcript.add("received", seat.player_id, note=f"HTTP {answer.status}", wire=answer.body)

        form = (seat.player_id, self._form(side))
        await notify_player(self._caller, seat.endpoint, message, form, seconds, record=record)

    def observations(self) -> PlayerObservations:
        players = [seat.player_id for seat in self._seats.values()]
        broken = {
            player: list(self._broken_rules[player].values()) for player in players if player in self._broken_rules
        }
        forms = {player: self._memory.forms[player] for player in players if player in self._memory.forms}
        return PlayerObservations(broken or UNSET, forms or UNSET)

    def note_broken_rules(self, side: Side, broken: Iterable[m.BrokenRule]) -> None:
        """Keep the rules that a player has broken, for the report."""
        kept = self._broken_rules.setdefault(self._seats[side].player_id, {})
        for rule in broken:
            if rule.rule in kept:
                kept[rule.rule].count += rule.count
            elif len(kept) < MAX_RULES:
                kept[rule.rule] = structs.replace(rule, came=rule.came[:MAX_TEXT], expected=rule.expected[:MAX_TEXT])

    def known_fields(self, side: Side, request: m.Request | None = None) -> Json:
        """The fields of a player's message that are known even if it omits them."""
        now = times.format_timestamp(self._world.now())
        match_id, attempt = self._assignment.match_id, self._assignment.attempt
        return {
            "protocol": "league.v2",
            "timestamp": now,
            "arrival_timestamp": now,
            "conversation_id": match_conversation(match_id, attempt) if request is None else request.conversation_id,
            "match_id": match_id,
            **self.certain_fields(side),
        }

    def certain_fields(self, side: Side) -> dict[str, str]:
        """The fields that identify the player. The called endpoint or the token proves them."""
        player_id = self._seats[side].player_id
        return {"player_id": player_id, "sender": sender_of("player", player_id)}

    def accept(self, side: Side, found: Repaired, *, was_acknowledged: bool = False) -> PlayerMessage:
        """A player's message as it counts. The rules that it breaks are noted.

        A token that is not the player's is removed. A refused invitation counts as accepted if the player was invited
        before: it may have accepted the first invitation.
        """
        self.note_broken_rules(side, found.broken)
        player_id, message = self._seats[side].player_id, cast("PlayerMessage", found.message)
        if message.auth_token is not UNSET and self._seats.is_foreign(side, message.auth_token):
            came = f"auth_token: {tokens.shorten_token(message.auth_token)}"
            self.note_broken_rules(side, [broken_rule("decision 19", came, f"the token of {player_id}, or none")])
            message = structs.replace(message, auth_token=UNSET)
        match_id, attempt = self._assignment.match_id, self._assignment.attempt
        was_invited = was_acknowledged or attempt > 1 or self._memory.is_invited_again(match_id, player_id)
        if isinstance(message, m.GameJoinAck) and not message.accept and was_invited:
            self._transcript.add("received", player_id, message, "refused, but invited before: that counts as accepted")
            message = structs.replace(message, accept=True)
        return message

    def _form(self, side: Side) -> str | None:
        seat = self._seats[side]
        return self._memory.forms.get(seat.player_id) or seat.form or None

    def _remember_form(self, side: Side, made: EncodedRequest, request: m.Request, failed_forms: list[str]) -> None:
        """Remember the form that a player understood.

        A form that no document defines breaks a rule. So does another method than the request's own, if other forms
        failed before.
        """
        self._memory.forms[self._seats[side].player_id] = made.form
        is_standard = made.method == BY_REQUEST[type(request)].name and made.form in _DOCUMENTED
        if not is_standard and (made.form not in _DOCUMENTED or failed_forms):
            self.note_broken_rules(side, [method_rule(type(request), f"understood only as {made.method}")])


def _why(found: AnswerOutcome) -> str:
    return found.why if isinstance(found, NoUsableAnswer) else found.broken[0].came


async def notify_player(
    caller: Caller,
    url: str,
    message: m.Request,
    form: tuple[str, str | None],
    seconds: float,
    *,
    record: Callable[[str, bytes, HttpAnswer], None] = lambda *_: None,
) -> None:
    """Send a message to a player. ``form`` is the player's id and the form that it is known to understand.

    GAME_OVER is sent in every form until one is accepted, because some players cannot leave a match without it.
    ``record`` is called with each method, the body that was sent, and its answer.
    """
    deadline = asyncio.get_running_loop().time() + seconds
    for made in islice(encode_in_forms(message, *form), None if isinstance(message, m.GameOver) else 1):
        remaining = max(0.001, deadline - asyncio.get_running_loop().time())
        body = made.body(next_id())
        answer = await caller.post(url, body, remaining)
        record(made.method, body, answer)
        if not is_refusal(answer.status, answer.body):
            return
