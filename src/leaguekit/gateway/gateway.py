"""The gateway itself: who sits where, who may speak for a seat, and what is kept for the next run.

A seat's code is its owner's identity: the one that the operator gave out (``league seats new``), or where none is
needed, one that is made here. Where a seat is called is made from its code, and does not lead back to it. Every seat
has a folder of its own: a name is no secret, and must not lead to the token of whoever has the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from leaguekit.agents.calls import ask
from leaguekit.agents.credentials import Known, credentials_in
from leaguekit.agents.rate_limits import refuse_too_many
from leaguekit.agents.registration import (
    SETTLING_SECONDS,
    UNNAMED,
    WRITE_AGAIN_SECONDS,
    league_at,
    pause_after,
)
from leaguekit.agents.world import World
from leaguekit.gateway.relays import MAX_CALLS_PER_TOKEN, Relays, TooManyUnknownCalls, ping_id
from leaguekit.gateway.seats import Seat
from leaguekit.league.settings import MAX_PER_ADDRESS
from leaguekit.player.player import RegistrationRefused
from leaguekit.player.relay import GIVE, TAKE, RelayGiveRequest, RelayTakeRequest, endpoint_id
from leaguekit.protocol import codes
from leaguekit.protocol import messages as m
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import DisplayName
from leaguekit.protocol.ids import sender_of
from leaguekit.protocol.methods import PING
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_BYTES_FROM_ABOVE, Call, RpcRefusal, RpcRequest, answer, params_of
from leaguekit.store.base import StoreError
from leaguekit.store.files import safe_name
from leaguekit.transport.addresses import is_loopback
from leaguekit.transport.base import CallerLate, CallFailed, NoAnswer, Peer, TimedOut
from leaguekit.transport.eager import in_a_task
from leaguekit.transport.server.connection_slots import ConnectionControl
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import FREE_BYTES
from leaguekit.transport.wait_limits import WaitLimitReached, WaitLimits

log = logging.getLogger(__name__)

# Behind the ? of the gateway's URL, what says who is called.
AT = "at"
JOIN_SECONDS = 20.0
# As many players as a league takes by default.
MAX_SEATS = 1_000
# How long a person who asks for a seat waits until it is known which seats are taken.
MAX_OPENING_SECONDS = 20.0
# The table is asked for once for all who look within that time.
FRESH_SECONDS = 1.0
# Requests that wait for a seat's news. Every seat may have one, and further ones are counted by address too.
MAX_WAITS_PER_SEAT = 8
MAX_EXTRA_WAITS, MAX_EXTRA_WAITS_PER_ADDRESS = 500, 100
# Requests of the owners of seats that wait for the manager, and calls that wait for a seat.
MAX_WAITS_FOR_MANAGER, MAX_WAITS_FOR_MANAGER_PER_ADDRESS = 600, 300
MAX_CALLS, MAX_CALLS_PER_SEAT = 2_000, 32
# The same of callers whose token a seat takes. Nobody else takes their places.
MAX_KNOWN_CALLS = 2_000
# Calls for seats and relays of which a gateway that was started again has not heard yet, and for how long after that.
MAX_CALLS_TO_UNKNOWN = 1_000
COMING_BACK_SECONDS = 30.0

MANAGER_SILENT = "The league's manager does not answer. Try again in a while."
CODE_HELPS = "Ask the league's operator for a seat code."
CODE_WANTED = "This league wants a seat code of everybody: ask its operator for yours."

T = TypeVar("T")


class NotAllowed(Exception):
    """Whoever asks may not, or cannot now; the text says why and what to do."""


class NotAllowedNow(NotAllowed):
    """Whoever asks may, but must ask again later."""


class TooManyWaiting(NotAllowedNow):
    """As many of the same kind wait as may."""


class Table(Struct, kw_only=True):
    """What anybody may know: the league, and its table."""

    league_id: str | None
    standings: list[m.Standing]
    seats: int


class _KeptSeat(Struct):
    """What another run of the gateway needs to take a seat up again."""

    name: str
    code: str
    # Whether the operator gave the code out.
    is_the_managers: bool
    # The address that it was taken from.
    address: str = ""


class Gateway:
    """Seats and relays beside one manager. ``open`` it when its address is served, and ``close`` it before that ends.

    ``endpoint`` is its own URL, as the league's agents call it.
    """

    def __init__(self, world: World, manager_url: str, endpoint: str) -> None:
        self.manager_url = codes.without_codes(manager_url)
        self.endpoint = endpoint
        self.league_id: str | None = None
        self.seats: dict[str, Seat] = {}
        self.relays = Relays(self._endpoint_of, world.entropy)
        self._world = world
        self._kept: dict[str, _KeptSeat] = {}
        # Of two writes at the same time the older one might come last.
        self._one_write = asyncio.Lock()
        self._writing_later: asyncio.Task[None] | None = None
        # From which address each seat was taken.
        self._addresses: dict[str, str] = {}
        self._opened = asyncio.Event()
        self._has_seats = False
        self._coming_back: list[asyncio.Task[None]] = []
        self._joining: dict[str, asyncio.Task[None]] = {}
        self._table: tuple[float, asyncio.Future[Table]] | None = None
        self._waits_of_seats = WaitLimits(sys.maxsize, MAX_WAITS_PER_SEAT)
        self._further_waits = WaitLimits(MAX_EXTRA_WAITS, MAX_EXTRA_WAITS_PER_ADDRESS)
        self._waits_for_manager = WaitLimits(MAX_WAITS_FOR_MANAGER, MAX_WAITS_FOR_MANAGER_PER_ADDRESS)
        self._calls = WaitLimits(MAX_CALLS, MAX_CALLS_PER_SEAT)
        self._calls_of_known = WaitLimits(MAX_KNOWN_CALLS, MAX_CALLS_PER_TOKEN)
        self._calls_of_unknown = WaitLimits(MAX_CALLS_TO_UNKNOWN, MAX_CALLS_TO_UNKNOWN // 2)
        self._began = 0.0

    async def open(self, tell: Callable[[str], None] = log.info) -> None:
        """Ask the manager which league this is, for as long as it takes, and take up the seats of an earlier run."""
        self._began = asyncio.get_running_loop().time()
        failures = 0
        while True:
            try:
                self.league_id = await league_at(self._world.caller, self.manager_url)
                break
            except (CallFailed, CallerLate) as failure:
                if not failures:
                    log.warning("The manager does not answer yet (%s). Trying until it does.", failure)
                    tell(f"The manager does not answer yet ({failure}). Trying until it does.")
                # Who has waited for an answer need not wait again: seats are called as soon as the manager is back.
                seconds = pause_after(0 if isinstance(failure, TimedOut) else failures)
            await asyncio.sleep(seconds)
            failures += 1
        await self._read_seats(tell)
        for place, kept in self._kept.items():
            self.seats[place] = self._seat(place, kept)
            self._addresses[place] = kept.address
        self._has_seats = True
        self._opened.set()
        self._coming_back = [asyncio.create_task(self._come_back(seat)) for seat in self.seats.values()]

    async def close(self) -> None:
        self._opened.set()
        self.relays.close()
        tasks = [*self._coming_back, *self._joining.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._writing_later is not None:
            self._writing_later.cancel()
            await self._keep(is_last=True)
        await asyncio.gather(*(seat.close() for seat in self.seats.values()))

    # What the league calls

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer a body, whatever it is."""
        return await self.answer(RpcRequest(body), peer)

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a request. The query of the URL names the seat that it is for. Raises NoAnswer if nobody is there."""
        body = request.body
        place = dict(parse_qsl(peer.query)).get(AT)
        if place is None:
            if not self._has_seats and ping_id(body) is not None:
                # The manager must not believe that whoever has a seat could be called.
                raise NoAnswer
            return await answer(request, lambda call: self._answer(call, peer), player_refusal, MAX_BYTES_FROM_ABOVE)
        try:
            if place not in self.relays and place not in self.seats:
                with self._calls_of_unknown.one(address_block(peer.host)):
                    await self._wait_for(place)
            if (seat := self.seats.get(place)) is None:
                return await self.relays.forward(place, body)
            if ping_id(body) is not None:
                # It waits for nothing, and so is not counted.
                return await seat.agent.answer(request, peer)
            known = seat.agent.caller(body[:FREE_BYTES], peer)
            with self._calls.one(place) if known is None else self._calls_of_known.one((place, known.id)):
                return await seat.answer(request, peer)
        except WaitLimitReached:
            raise NoAnswer from None
        except TooManyUnknownCalls as many:
            return await refuse_too_many(request, many.seconds, player_refusal, MAX_BYTES_FROM_ABOVE)

    async def _wait_for(self, place: str) -> None:
        """Wait a little for one who is not there, if this run is so young that it may still come back."""
        await self._wait_for_seats(SETTLING_SECONDS)
        if place not in self.seats and asyncio.get_running_loop().time() < self._began + COMING_BACK_SECONDS:
            await self.relays.wait_for(place, SETTLING_SECONDS)

    def admits(self, beginning: bytes, peer: Peer) -> bool:
        """Whether the rest of a large body is read: if a seat or a relay knows its sender, as far as can be known."""
        place = dict(parse_qsl(peer.query)).get(AT)
        if place is None:
            return self.relays.is_one(credentials_in(beginning).secret)
        if place in self.relays:
            return self.relays.admits(place, beginning)
        seat = self.seats.get(place)
        return seat.agent.admits(beginning, peer) if seat is not None else not self._opened.is_set()

    def caller(self, beginning: bytes, peer: Peer) -> Known | None:
        """Whom the beginning of a body shows to be calling: an owner of a seat or a relay, or one whom either knows."""
        place = dict(parse_qsl(peer.query)).get(AT)
        if place is None:
            shown = credentials_in(beginning)
            code = shown.code or codes.shown_in(peer.query, "seat") or ""
            own = endpoint_id("relay", shown.secret) if self.relays.is_one(shown.secret) else code and _place(code)
            return Known("player", own) if own in self.seats or own in self.relays else None
        if place in self.relays:
            known = self.relays.caller(place, beginning, peer.host)
        else:
            seat = self.seats.get(place)
            known = None if seat is None else seat.agent.caller(beginning, peer)
        return None if known is None else known._replace(id=f"{known.id} at {place}")

    async def _answer(self, call: Call, peer: Peer) -> Any:
        if call.method == PING:
            return {"status": "ok", "league_id": self.league_id}
        if call.method == TAKE:
            return await self.relays.take(_params(call, RelayTakeRequest), peer.host)
        if call.method == GIVE:
            return self.relays.give(_params(call, RelayGiveRequest))
        known = f"{TAKE}, {GIVE}, {PING}"
        raise ProtocolError("E042", f"There is no method {call.method[:50]!r} here; there are {known}.")

    async def _wait_for_seats(self, seconds: float = MAX_OPENING_SECONDS) -> None:
        if not self._opened.is_set():
            await in_a_task()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._opened.wait()

    # What owners of seats ask

    @contextmanager
    def counted_wait(self, seat: Seat, host: str, line: ConnectionControl | None) -> Iterator[None]:
        """Count a request that waits for a seat's news; its connection is released. Raises TooMany."""
        is_first = not self._waits_of_seats[seat]
        try:
            with (
                self._waits_of_seats.one(seat),
                nullcontext() if is_first else self._further_waits.one(address_block(host)),
            ):
                if line is not None:
                    line.belongs_to(str(seat.agent.player_id))
                    line.release()
                yield
        except WaitLimitReached:
            raise TooManyWaiting("Too many requests wait for this seat's news already. Use one at a time.") from None

    @contextmanager
    def _waiting_for_manager(self, host: str) -> Iterator[None]:
        try:
            with self._waits_for_manager.one(address_block(host)):
                yield
        except WaitLimitReached:
            raise TooManyWaiting("Too many requests wait for the league's manager. Try again in a while.") from None

    async def _check_seats(self, host: str) -> None:
        """Until the manager has said which league this is, nobody's seat is known here, nor unknown."""
        if not self._opened.is_set():
            with self._waiting_for_manager(host):
                await self._wait_for_seats()
        if not self._has_seats:
            raise NotAllowedNow(MANAGER_SILENT)

    async def join(self, code: str | None, name: str | None, host: str) -> tuple[str, Seat]:
        """Take a seat, or come back to it: its code, and the seat. Raises NotAllowed."""
        await self._check_seats(host)
        if code and (seat := self.seats.get(place := _place(code))) is not None:
            joining = self._joining.get(place)
            if joining is not None or seat.agent.identity is None:
                with self._waiting_for_manager(host):
                    await (self._registered(seat) if joining is None else asyncio.shield(joining))
            return code, seat
        if not name or not valid(DisplayName, name):
            raise NotAllowed(f"To take a seat, say what you are called, in 1 to 50 characters; got {name!r}.")
        self._check_crowd(host, self._joining if code else self._addresses)
        new_code = code or codes.new_code(self._world.entropy(codes.ENTROPY_BYTES))
        kept = _KeptSeat(name, new_code, bool(code), address_block(host))
        place = _place(kept.code)
        with self._waiting_for_manager(host):
            seat = self.seats[place] = self._seat(place, kept)
            self._addresses[place] = kept.address
            # Who hangs up meanwhile and comes back must find a seat that is taken and kept, or none.
            joining = self._joining[place] = asyncio.create_task(self._take(place, kept, seat))
            joining.add_done_callback(lambda _: self._joining.pop(place))
            await asyncio.shield(joining)
        return kept.code, seat

    async def _take(self, place: str, kept: _KeptSeat, seat: Seat) -> None:
        try:
            await self._registered(seat)
        except NotAllowed as refused:
            self.seats.pop(place, None)
            self._addresses.pop(place, None)
            await seat.close()
            # With a code of the manager's the same person may come again, and ask whether it was registered.
            if not (isinstance(refused, NotAllowedNow) and kept.is_the_managers):
                await self._world.blocking(shutil.rmtree, self._folder() / place, True)
            raise
        self._kept[place] = kept
        # There may have been nobody to ask it with.
        self._table = None
        await self._keep()
        log.info("%s has taken a seat as %s", seat.name, seat.agent.player_id)

    async def seat(self, code: str, host: str) -> Seat:
        """The seat that a code opens. Raises NotAllowed."""
        await self._check_seats(host)
        seat = self.seats.get(_place(code))
        if seat is None:
            raise NotAllowed("No seat here has that code: take one first, with your code and a name.")
        return seat

    def place_of_owner(self, code: str) -> str | None:
        """The place of the seat that a code opens; None if there is none."""
        place = _place(code) if code else None
        return place if place in self.seats else None

    async def table(self, host: str) -> Table:
        """The league's table, fresh enough. Raises TooMany."""
        loop = asyncio.get_running_loop()
        if self._table is None or loop.time() >= self._table[0]:
            asking: asyncio.Future[Table] = asyncio.ensure_future(self._ask_table())
            self._table = (loop.time() + FRESH_SECONDS, asking)
        with self._waiting_for_manager(host):
            return await asyncio.shield(self._table[1])

    async def _ask_table(self) -> Table:
        """By the token of any seat: the manager answers agents only."""
        table = Table(league_id=self.league_id, standings=[], seats=len(self.seats))
        for seat in self.seats.values():
            identity = seat.agent.identity
            if identity is None or identity.auth_token is None or identity.league_id is None:
                continue
            query = m.LeagueQuery(
                **m.envelope(sender_of("player", identity.agent_id), self._world.now(), "conv-gateway-table"),
                auth_token=identity.auth_token,
                league_id=identity.league_id,
                query_type="GET_STANDINGS",
            )
            try:
                came = await ask(self._world.caller, self.manager_url, query, m.LeagueQueryResponse)
            except RpcRefusal as refusal:
                # Of one who has left the league, perhaps; another may still ask.
                log.debug("the table is not told to %s: %s", seat.name, refusal)
                continue
            except (CallFailed, CallerLate, ProtocolError) as failure:
                log.debug("the table cannot be had: %s", failure)
                table.standings = seat.agent.standings
                return table
            table.standings = came.standings or []
            return table
        return table

    def _check_crowd(self, host: str, places: Collection[str]) -> None:
        """Raises NotAllowed if too many places are taken, in all or from one address other than loopback."""
        address = address_block(host)
        taken = sum(self._addresses.get(place) == address for place in places)
        if taken >= MAX_PER_ADDRESS and not is_loopback(host):
            raise NotAllowed(f"{taken} seats are taken from {address}, and no more may be. {CODE_HELPS}")
        if len(places) >= MAX_SEATS:
            raise NotAllowed(f"All {MAX_SEATS:,} seats of this gateway are taken. {CODE_HELPS}")

    async def _registered(self, seat: Seat) -> None:
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                await seat.register()
        except RegistrationRefused as refused:
            is_code_wanted = refused.code == "E058" and codes.without_codes(seat.manager_url) == seat.manager_url
            raise NotAllowed(CODE_WANTED if is_code_wanted else str(refused)) from None
        except TimeoutError:
            raise NotAllowedNow(MANAGER_SILENT) from None

    async def _come_back(self, seat: Seat) -> None:
        with contextlib.suppress(RegistrationRefused):
            await seat.register()

    def _seat(self, place: str, kept: _KeptSeat) -> Seat:
        world = replace(self._world, data_root=self._folder() / place)
        url = codes.with_code(self.manager_url, "seat", kept.code) if kept.is_the_managers else self.manager_url
        return Seat(kept.name, world, url, self._endpoint_of(place))

    def _endpoint_of(self, place: str) -> str:
        return f"{self.endpoint}{'&' if '?' in self.endpoint else '?'}{AT}={place}"

    # What is kept

    def _folder(self) -> Path:
        return self._world.data_root / "agents" / safe_name(self.league_id or UNNAMED) / "gateway"

    def _file(self) -> Path:
        return self._folder() / "seats.json"

    async def _read_seats(self, tell: Callable[[str], None]) -> None:
        """Read which seats there are, for as long as it takes: the next seat would overwrite what was not read."""
        failures = 0
        while True:
            try:
                self._kept = await self._world.blocking(self._read)
                break
            except StoreError as error:
                if not failures:
                    log.warning("%s", error)
                    tell(f"{error} Trying again until it works.")
            await asyncio.sleep(pause_after(failures))
            failures += 1

    def _read(self) -> dict[str, _KeptSeat]:
        content = self._world.files.read(self._file())
        try:
            return {} if content is None else msgspec.json.decode(content, type=dict[str, _KeptSeat])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            log.warning("%s is left aside: %s", self._file(), error)
            return {}

    async def _keep(self, *, is_last: bool = False) -> None:
        """Write down which seats there are; if that cannot be done now, as soon as it can be."""
        try:
            async with self._one_write:
                await self._world.blocking(self._write)
        except StoreError as error:
            log.warning("%s", error)
            if self._writing_later is None and not is_last:
                self._writing_later = asyncio.create_task(self._keep_later())

    async def _keep_later(self) -> None:
        await asyncio.sleep(WRITE_AGAIN_SECONDS)
        self._writing_later = None
        await self._keep()

    def _write(self) -> None:
        self._world.files.write(self._file(), msgspec.json.encode(self._kept), private=True)


def _place(code: str) -> str:
    """Where the seat of a code is called, however the code was typed."""
    return endpoint_id("seat", codes.verifier("seat", code).hex())


def _params(call: Call, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(params_of(call), type=kind)
    except msgspec.DecodeError as error:
        raise ProtocolError("E043", f"{error}.") from None
