"""The gateway itself: its seats and relays, the permission to use a seat, and what is kept for the next run.

A seat's code is the identity of its owner. The operator issues codes (``league seats new``). If the league needs none,
the gateway makes one. The agents of the league call a seat or a relay at the gateway's URL with its id in the query
(``?at=…``): the recipient of the call. A seat's id is a hash of its code, so the code cannot be found from it.

Every seat has a folder of its own, named by that id. A folder named by the player's name would not be safe: names are
public, and two seats may have the same one, so the second would find the first one's token.
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

from leaguekit.agents.credentials import TokenOwner, credentials_in
from leaguekit.agents.identity import UNNAMED_LEAGUE, WRITE_RETRY_SECONDS
from leaguekit.agents.rate_limits import refuse_too_many
from leaguekit.agents.registration import SETTLING_SECONDS, RegistrationRefused, ping_manager
from leaguekit.agents.retries import Backoff
from leaguekit.agents.world import World
from leaguekit.gateway.public_league import PublicLeague, ask_standings, ask_status
from leaguekit.gateway.relays import MAX_CALLS_PER_TOKEN, Relays, TooManyUnknownCalls, ping_id
from leaguekit.gateway.seats import Seat
from leaguekit.league.commands.registration import SEATS_ONLY
from leaguekit.league.settings import MAX_PER_ADDRESS
from leaguekit.player.relay import GIVE, TAKE, RelayGiveRequest, RelayTakeRequest, endpoint_id
from leaguekit.protocol import codes
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.fields import DisplayName
from leaguekit.protocol.methods import PING
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MAX_TRUSTED_BYTES, Call, RpcRequest, answer, params_of
from leaguekit.store.base import StoreError
from leaguekit.store.json_files import safe_name
from leaguekit.transport.addresses import is_loopback
from leaguekit.transport.base import CallerLate, CallFailed, NoAnswer, Peer, TimedOut
from leaguekit.transport.eager import ensure_task
from leaguekit.transport.server.connection_base import BaseConnection
from leaguekit.transport.server.origin_headers import address_block
from leaguekit.transport.server.pending_requests import BYTES_BEFORE_ADMISSION
from leaguekit.transport.wait_limits import WaitLimitReached, WaitLimits

log = logging.getLogger(__name__)

# The parameter with the recipient in the query of the gateway's URL.
RECIPIENT_PARAMETER = "at"
JOIN_SECONDS = 20.0
# The number of players that a league takes by default.
MAX_SEATS = 1_000
# How long a request for a seat waits until the gateway has opened.
MAX_OPENING_SECONDS = 20.0
# How long an answer of the manager about its league is used again.
LEAGUE_SECONDS = 1.0
# Requests that wait for a change of a seat. The first one of a seat is always allowed. Further ones also count towards
# the limits of all extra requests, and of those from one address.
MAX_WAITS_PER_SEAT = 8
MAX_EXTRA_WAITS, MAX_EXTRA_WAITS_PER_ADDRESS = 500, 100
# Requests of owners of seats that wait for the manager, and calls that wait for a seat.
MAX_WAITS_FOR_MANAGER, MAX_WAITS_FOR_MANAGER_PER_ADDRESS = 600, 300
MAX_CALLS, MAX_CALLS_PER_SEAT = 2_000, 32
# Calls with a token that the seat accepts. They are counted apart from other calls.
MAX_KNOWN_CALLS = 2_000
# Calls to recipients that the gateway does not know. After a restart, it waits this long for relays to come back.
MAX_CALLS_TO_UNKNOWN = 1_000
COMING_BACK_SECONDS = 30.0

MANAGER_SILENT = "The league's manager does not answer. Try again in a while."
CODE_HELPS = "Ask the league's operator for a seat code."
CODE_WANTED = "This league wants a seat code of everybody: ask its operator for yours."

T = TypeVar("T")


class NotAllowed(Exception):
    """The request is not allowed, or not possible now; the text says why and what to do."""


class NotAllowedNow(NotAllowed):
    """The request is possible later."""


class TooManyWaiting(NotAllowedNow):
    """The limit of requests of the same kind that wait is reached."""


class _SavedSeat(Struct):
    """What the next run of the gateway needs to open a seat again."""

    name: str
    code: str
    # Whether the operator issued the code.
    is_issued: bool = msgspec.field(name="is_the_managers")
    # The address of the client that took it.
    address: str = ""


class Gateway:
    """Seats and relays for one manager's league.

    ``open`` it when its server has started, and ``close`` it before that stops. ``endpoint`` is its own URL, as the
    league's agents call it.
    """

    def __init__(self, world: World, manager_url: str, endpoint: str) -> None:
        self.manager_url = codes.without_codes(manager_url)
        self.endpoint = endpoint
        self.league_id: str | None = None
        self.seats: dict[str, Seat] = {}
        self.relays = Relays(self._endpoint_of, world.entropy)
        self._world = world
        self._saved_seats: dict[str, _SavedSeat] = {}
        # Of two writes at the same time, the older one might come last.
        self._write_lock = asyncio.Lock()
        self._saving_later: asyncio.Task[None] | None = None
        # The address from which each seat was taken.
        self._addresses: dict[str, str] = {}
        self._has_opened = asyncio.Event()
        self._are_seats_known = False
        # Whether the manager has refused a player because it had no code.
        self._wants_codes = False
        self._returning: list[asyncio.Task[None]] = []
        self._joining: dict[str, asyncio.Task[None]] = {}
        self._league: tuple[float, asyncio.Future[PublicLeague]] | None = None
        self._waits_of_seats = WaitLimits(sys.maxsize, MAX_WAITS_PER_SEAT)
        self._extra_waits = WaitLimits(MAX_EXTRA_WAITS, MAX_EXTRA_WAITS_PER_ADDRESS)
        self._waits_for_manager = WaitLimits(MAX_WAITS_FOR_MANAGER, MAX_WAITS_FOR_MANAGER_PER_ADDRESS)
        self._calls = WaitLimits(MAX_CALLS, MAX_CALLS_PER_SEAT)
        self._known_calls = WaitLimits(MAX_KNOWN_CALLS, MAX_CALLS_PER_TOKEN)
        self._calls_to_unknown = WaitLimits(MAX_CALLS_TO_UNKNOWN, MAX_CALLS_TO_UNKNOWN // 2)
        self._opened_at = 0.0

    async def open(self, report: Callable[[str], None] = log.info) -> None:
        """Ask the manager which league this is, until it answers, and open the seats of the last run."""
        self._opened_at = asyncio.get_running_loop().time()
        backoff, has_warned = Backoff(), False
        while True:
            try:
                self.league_id = (await ping_manager(self._world.caller, self.manager_url)).league_id
                break
            except (CallFailed, CallerLate) as failure:
                if not has_warned:
                    has_warned = True
                    log.warning("The manager does not answer yet (%s). Trying until it does.", failure)
                    report(f"The manager does not answer yet ({failure}). Trying until it does.")
                if isinstance(failure, TimedOut):
                    # The next pause is short, so that seats can be called as soon as the manager is back.
                    backoff = Backoff()
            await backoff.pause()
        await self._load_seats(report)
        for seat_id, saved in self._saved_seats.items():
            self.seats[seat_id] = self._seat(seat_id, saved)
            self._addresses[seat_id] = saved.address
        self._are_seats_known = True
        self._has_opened.set()
        self._returning = [asyncio.create_task(self._register_again(seat)) for seat in self.seats.values()]

    async def close(self) -> None:
        self._has_opened.set()
        self.relays.close()
        tasks = [*self._returning, *self._joining.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._saving_later is not None:
            self._saving_later.cancel()
            await self._save(is_last=True)
        await asyncio.gather(*(seat.close() for seat in self.seats.values()))

    # Calls of the league's agents

    async def handle(self, body: bytes, peer: Peer) -> bytes | None:
        """Answer a call by its body, for networks in memory. Raises NoAnswer."""
        return await self.answer(RpcRequest(body), peer)

    async def answer(self, request: RpcRequest, peer: Peer) -> bytes | None:
        """Answer a call to the recipient in the URL's query. Raises NoAnswer if there is no such recipient."""
        body, recipient = request.body, _recipient(peer)
        if recipient is None:
            if not self._are_seats_known and ping_id(body) is not None:
                # The manager must not conclude that the seats can be called already.
                raise NoAnswer
            return await answer(request, lambda call: self._answer(call, peer), player_refusal, MAX_TRUSTED_BYTES)
        try:
            if recipient not in self.relays and recipient not in self.seats:
                with self._calls_to_unknown.counted(address_block(peer.host)):
                    await self._wait_for(recipient)
            if (seat := self.seats.get(recipient)) is None:
                return await self.relays.forward(recipient, body)
            if ping_id(body) is not None:
                # A ping is answered at once, so it is not counted.
                return await seat.agent.answer(request, peer)
            known = seat.agent.identify_sender(body[:BYTES_BEFORE_ADMISSION], peer)
            with self._calls.counted(recipient) if known is None else self._known_calls.counted((recipient, known.id)):
                return await seat.answer(request, peer)
        except WaitLimitReached:
            raise NoAnswer from None
        except TooManyUnknownCalls as error:
            return await refuse_too_many(request, error.seconds, player_refusal, MAX_TRUSTED_BYTES)

    async def _wait_for(self, recipient: str) -> None:
        """Wait for an unknown recipient for a moment, if this run has just begun: it may still come back."""
        await self._wait_for_seats(SETTLING_SECONDS)
        if recipient not in self.seats and asyncio.get_running_loop().time() < self._opened_at + COMING_BACK_SECONDS:
            await self.relays.wait_for(recipient, SETTLING_SECONDS)

    def admits_large_body(self, beginning: bytes, peer: Peer) -> bool:
        """Whether the rest of a large body is read: only if the recipient knows its sender by the beginning."""
        recipient = _recipient(peer)
        if recipient is None:
            return self.relays.has_secret(credentials_in(beginning).secret)
        if recipient in self.relays:
            return self.relays.admits_large_body(recipient, beginning)
        seat = self.seats.get(recipient)
        return seat.agent.admits_large_body(beginning, peer) if seat is not None else not self._has_opened.is_set()

    def identify_sender(self, beginning: bytes, peer: Peer) -> TokenOwner | None:
        """The caller, by the beginning of a body: the owner of a seat or relay, or an agent that one of these knows."""
        recipient = _recipient(peer)
        if recipient is None:
            credentials = credentials_in(beginning)
            code = credentials.code or codes.code_in_query(peer.query, "seat") or ""
            secret = credentials.secret
            own = endpoint_id("relay", secret) if self.relays.has_secret(secret) else code and _seat_id(code)
            return TokenOwner("player", own) if own in self.seats or own in self.relays else None
        if recipient in self.relays:
            known = self.relays.identify_sender(recipient, beginning, peer.host)
        else:
            seat = self.seats.get(recipient)
            known = None if seat is None else seat.agent.identify_sender(beginning, peer)
        return None if known is None else TokenOwner(known.role, f"{known.id} at {recipient}")

    async def _answer(self, call: Call, peer: Peer) -> Any:
        if call.method == PING:
            return {"status": "ok", "league_id": self.league_id}
        if call.method == TAKE:
            return await self.relays.poll_calls(_params(call, RelayTakeRequest), peer.host)
        if call.method == GIVE:
            return self.relays.deliver_answer(_params(call, RelayGiveRequest))
        known = f"{TAKE}, {GIVE}, {PING}"
        raise ProtocolError("E042", f"There is no method {call.method[:50]!r} here; there are {known}.")

    async def _wait_for_seats(self, seconds: float = MAX_OPENING_SECONDS) -> None:
        if not self._has_opened.is_set():
            await ensure_task()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._has_opened.wait()

    # Requests of the owners of seats

    @contextmanager
    def counted_wait(self, seat: Seat, host: str, connection: BaseConnection | None) -> Iterator[None]:
        """Count a request that waits for a change of a seat, and release its connection. Raises TooManyWaiting."""
        is_first = not self._waits_of_seats[seat]
        try:
            with (
                self._waits_of_seats.counted(seat),
                nullcontext() if is_first else self._extra_waits.counted(address_block(host)),
            ):
                if connection is not None:
                    connection.belongs_to(str(seat.agent.player_id))
                    connection.release()
                yield
        except WaitLimitReached:
            raise TooManyWaiting("Too many requests wait for this seat's news already. Use one at a time.") from None

    @contextmanager
    def _waiting_for_manager(self, host: str) -> Iterator[None]:
        try:
            with self._waits_for_manager.counted(address_block(host)):
                yield
        except WaitLimitReached:
            raise TooManyWaiting("Too many requests wait for the league's manager. Try again in a while.") from None

    async def _wait_until_seats_are_known(self, host: str) -> None:
        """Wait until the seats of the last run are known. Raises NotAllowedNow if the manager does not answer."""
        if not self._has_opened.is_set():
            with self._waiting_for_manager(host):
                await self._wait_for_seats()
        if not self._are_seats_known:
            raise NotAllowedNow(MANAGER_SILENT)

    async def join(self, code: str | None, name: str | None, host: str) -> tuple[str, Seat]:
        """Take a seat, or come back to it. Returns its code and the seat. Raises NotAllowed."""
        await self._wait_until_seats_are_known(host)
        if code and (seat := self.seats.get(seat_id := _seat_id(code))) is not None:
            joining = self._joining.get(seat_id)
            if joining is not None or seat.agent.identity is None:
                with self._waiting_for_manager(host):
                    await (self._register(seat) if joining is None else asyncio.shield(joining))
            return code, seat
        if not name or not valid(DisplayName, name):
            raise NotAllowed(f"To take a seat, say what you are called, in 1 to 50 characters; got {name!r}.")
        if self._wants_codes and not code:
            # The operator would see a refused registration of somebody who may be in the league.
            raise NotAllowed(CODE_WANTED)
        self._check_seat_limits(host, self._joining if code else self._addresses)
        seat_code = code or codes.new_code(self._world.entropy(codes.ENTROPY_BYTES))
        saved = _SavedSeat(name, seat_code, bool(code), address_block(host))
        seat_id = _seat_id(saved.code)
        with self._waiting_for_manager(host):
            seat = self.seats[seat_id] = self._seat(seat_id, saved)
            self._addresses[seat_id] = saved.address
            # A task, because a client that disconnects now and comes back must find a complete seat or none.
            joining = self._joining[seat_id] = asyncio.create_task(self._take(seat_id, saved, seat))
            joining.add_done_callback(lambda _: self._joining.pop(seat_id))
            await asyncio.shield(joining)
        return saved.code, seat

    async def _take(self, seat_id: str, saved: _SavedSeat, seat: Seat) -> None:
        try:
            await self._register(seat)
        except NotAllowed as refused:
            self.seats.pop(seat_id, None)
            self._addresses.pop(seat_id, None)
            await seat.close()
            # The owner of an issued code may come again, and must then find out whether it was registered.
            if not (isinstance(refused, NotAllowedNow) and saved.is_issued):
                await self._world.blocking(shutil.rmtree, self._folder() / seat_id, True)
            raise
        self._saved_seats[seat_id] = saved
        # Without this seat there may have been no token to ask for the standings with.
        self._league = None
        await self._save()
        log.info("%s has taken a seat as %s", seat.name, seat.agent.player_id)

    async def seat(self, code: str, host: str) -> Seat:
        """The seat that a code opens. Raises NotAllowed."""
        await self._wait_until_seats_are_known(host)
        seat = self.seats.get(_seat_id(code))
        if seat is None:
            raise NotAllowed("No seat here has that code: take one first, with your code and a name.")
        return seat

    def seat_id_of(self, code: str) -> str | None:
        """The id of the seat that a code opens; None if there is none."""
        seat_id = _seat_id(code) if code else None
        return seat_id if seat_id in self.seats else None

    async def league(self, host: str) -> PublicLeague:
        """The league's state and table, at most one second old. Raises TooManyWaiting."""
        loop = asyncio.get_running_loop()
        if self._league is None or loop.time() >= self._league[0]:
            asking: asyncio.Future[PublicLeague] = asyncio.ensure_future(self._ask_league())
            self._league = (loop.time() + LEAGUE_SECONDS, asking)
        with self._waiting_for_manager(host):
            return await asyncio.shield(self._league[1])

    async def _ask_league(self) -> PublicLeague:
        return PublicLeague(
            league_id=self.league_id,
            standings=await ask_standings(self.seats.values()),
            seats=len(self.seats),
            dashboard=self.manager_url.removesuffix("mcp"),
            status=await ask_status(self._world.caller, self.manager_url),
        )

    def _check_seat_limits(self, host: str, seat_ids: Collection[str]) -> None:
        """Raise NotAllowed if too many seats are taken, in all or from one address other than loopback."""
        address = address_block(host)
        taken = sum(self._addresses.get(seat_id) == address for seat_id in seat_ids)
        if taken >= MAX_PER_ADDRESS and not is_loopback(host):
            raise NotAllowed(f"{taken} seats are taken from {address}, and no more may be. {CODE_HELPS}")
        if len(seat_ids) >= MAX_SEATS:
            raise NotAllowed(f"All {MAX_SEATS:,} seats of this gateway are taken. {CODE_HELPS}")

    async def _register(self, seat: Seat) -> None:
        try:
            async with asyncio.timeout(JOIN_SECONDS):
                await seat.register()
        except RegistrationRefused as refused:
            if refused.code == "E058" and codes.without_codes(seat.manager_url) == seat.manager_url:
                self._wants_codes |= SEATS_ONLY in str(refused)
                raise NotAllowed(CODE_WANTED) from None
            raise NotAllowed(str(refused)) from None
        except TimeoutError:
            raise NotAllowedNow(MANAGER_SILENT) from None

    async def _register_again(self, seat: Seat) -> None:
        with contextlib.suppress(RegistrationRefused):
            await seat.register()

    def _seat(self, seat_id: str, saved: _SavedSeat) -> Seat:
        world = replace(self._world, data_root=self._folder() / seat_id)
        url = codes.with_code(self.manager_url, "seat", saved.code) if saved.is_issued else self.manager_url
        return Seat(saved.name, world, url, self._endpoint_of(seat_id))

    def _endpoint_of(self, recipient: str) -> str:
        return f"{self.endpoint}{'&' if '?' in self.endpoint else '?'}{RECIPIENT_PARAMETER}={recipient}"

    # The file with the seats

    def _folder(self) -> Path:
        return self._world.data_root / "agents" / safe_name(self.league_id or UNNAMED_LEAGUE) / "gateway"

    def _file(self) -> Path:
        return self._folder() / "seats.json"

    async def _load_seats(self, report: Callable[[str], None]) -> None:
        """Read the file with the seats, until that works: the next seat would overwrite what was not read."""
        backoff = Backoff()
        while True:
            try:
                self._saved_seats = await self._world.blocking(self._read_seats)
                break
            except StoreError as error:
                if not backoff.failures:
                    log.warning("%s", error)
                    report(f"{error} Trying again until it works.")
            await backoff.pause()

    def _read_seats(self) -> dict[str, _SavedSeat]:
        content = self._world.files.read(self._file())
        try:
            return {} if content is None else msgspec.json.decode(content, type=dict[str, _SavedSeat])
        except DECODE_ERRORS as error:
            log.warning("%s is ignored: %s", self._file(), error)
            return {}

    async def _save(self, *, is_last: bool = False) -> None:
        """Write the file with the seats. If that fails, it is tried again later, unless this is the last time."""
        try:
            async with self._write_lock:
                await self._world.blocking(self._write_seats)
        except StoreError as error:
            log.warning("%s", error)
            if self._saving_later is None and not is_last:
                self._saving_later = asyncio.create_task(self._save_later())

    async def _save_later(self) -> None:
        await asyncio.sleep(WRITE_RETRY_SECONDS)
        self._saving_later = None
        await self._save()

    def _write_seats(self) -> None:
        self._world.files.write(self._file(), msgspec.json.encode(self._saved_seats), private=True)


def _recipient(peer: Peer) -> str | None:
    return dict(parse_qsl(peer.query)).get(RECIPIENT_PARAMETER)


def _seat_id(code: str) -> str:
    """The id of the seat with a code, however the code was typed."""
    return endpoint_id("seat", codes.verifier("seat", code).hex())


def _params(call: Call, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(params_of(call), type=kind)
    except msgspec.DecodeError as error:
        raise ProtocolError("E043", f"{error}.") from None
