"""The player: one function of its author, and around it a program that registers, answers and remembers.

Player               what an author writes: a name and a strategy; ``run()`` is the whole program
PlayerAgent          the program's inside, on any network and in any time
RegistrationRefused  the league did not take the player
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import socket
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents import appointment
from leaguekit.agents.calls import ask, reachable
from leaguekit.agents.context import (
    Context,
    History,
    MoveCall,
    OpenMatch,
    PastMatch,
    Strategy,
    past_match,
    question_of,
    record_of,
    seconds_for,
)
from leaguekit.agents.logs import log_to
from leaguekit.agents.server import agent_server
from leaguekit.agents.strategies import decide
from leaguekit.agents.world import World
from leaguekit.games import GAMES
from leaguekit.protocol import messages as m
from leaguekit.protocol import times, tokens
from leaguekit.protocol.errors import CATALOGUE, ProtocolError
from leaguekit.protocol.fields import DisplayName, PlayerState, Version
from leaguekit.protocol.ids import PROTOCOL_VERSION, read_sender, sender_of
from leaguekit.protocol.methods import PING, read_call
from leaguekit.protocol.patterns import valid
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import MOST_BYTES_FROM_ABOVE, Call, RpcRefusal, answer
from leaguekit.store.base import StoreError
from leaguekit.store.files import Views, ViewWriter, read_private, safe_name, write_private
from leaguekit.transport.addresses import AddressPolicy, read_url
from leaguekit.transport.base import CallerLate, CallFailed, Peer, TimedOut, Unreachable
from leaguekit.transport.caller import HttpCaller
from leaguekit.transport.server import listen

GET_STATE = "get_player_state"
TOKEN_SCHEME = "derived"  # noqa: S105 - the name of a scheme, not a secret
LONGEST_PAUSE = 5.0
# An announcement may overtake the answer to the registration; so long it waits for it.
WAIT_FOR_REGISTRATION = 2.0
# The attempts at a match that a player tries a token for if it has forgotten the invitation.
MOST_ATTEMPTS = 9

log = logging.getLogger(__name__)


class RegistrationRefused(appointment.RegistrationRefused):
    """The league did not take the player: why, and what to do. ``code`` is the catalogue's, if there is one."""

    def __init__(self, reason: str, remedy: str, code: str | None = None) -> None:
        self.reason = reason
        self.remedy = remedy
        super().__init__(f"{reason.rstrip('.')}. {remedy}", code)


class Player:
    """A player of a league: a name, and the function that chooses its moves."""

    def __init__(
        self,
        name: str,
        strategy: Strategy,
        *,
        games: Sequence[str] = tuple(GAMES),
        version: str = "1.0.0",
    ) -> None:
        if not valid(DisplayName, name):
            raise ValueError(f"a player's name has 1 to 50 characters, got {name!r}")
        if not callable(strategy):
            raise TypeError(f"a strategy is a function of one Context, got {strategy!r}")
        if isinstance(games, str) or not games:
            raise ValueError(f"games is a list of at least one game, got {games!r}")
        if not valid(Version, version):
            raise ValueError(f"a version has the form 1.0.0, got {version!r}")
        self.name = name
        self.strategy = strategy
        self.games = tuple(games)
        self.version = version

    @classmethod
    def from_function(cls, choose: Strategy, *, name: str | None = None, **more: Any) -> Player:
        """A player that is called like its function, if it is given no name."""
        return cls(name or str(getattr(choose, "__name__", "player")), choose, **more)

    def run(
        self,
        manager: str = "http://127.0.0.1:8000/mcp",
        *,
        host: str = "127.0.0.1",
        port: int = 8101,
        endpoint: str | None = None,
        data_dir: str | Path = "SHARED",
        stay: bool = False,
        seed: int | None = None,
    ) -> int:
        """Register, play until the league is over (to ``stay``: until Ctrl-C), and give the program's exit code.

        ``endpoint`` is how others reach this player, if not at its host and port. Raises RegistrationRefused, or
        CannotListen if the port is taken.
        """

        async def main() -> None:
            # Its author named the one address that this program calls.
            world = World(HttpCaller(AddressPolicy.lan(["0.0.0.0/0", "::/0"])), Path(data_dir))
            with contextlib.closing(listen(host, port)) as sock:
                agent = PlayerAgent(self, world, manager, endpoint or endpoint_of(sock, manager), seed=seed)
                try:
                    await serve(agent, sock, stay=stay)
                finally:
                    await world.caller.close()

        with _log_restored() as package, asyncio.Runner(loop_factory=_new_loop) as runner:
            if not package.hasHandlers():
                console = logging.StreamHandler()
                console.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%H:%M:%S"))
                package.addHandler(console)
                package.setLevel(logging.INFO)
            try:
                runner.run(main())
            except KeyboardInterrupt:
                return 130
        return 0


async def serve(agent: PlayerAgent, sock: socket.socket, *, stay: bool = False) -> None:
    """Serve a player at an open socket: register it, and return when its league is over. Raises RegistrationRefused."""
    server = agent_server(agent.handle, [sock], player_refusal)
    await server.start()
    try:
        identity = await agent.register()
        with _log_restored() as package:
            try:
                log_to(agent.folder(identity.league_id) / "log.jsonl", identity.player_id)
            except OSError as error:
                log.warning("There will be no log file: %s", error)
            package.propagate = True
            await (asyncio.Event().wait() if stay else agent.finished.wait())
    finally:
        await server.stop()
        await agent.close()


def _new_loop() -> asyncio.AbstractEventLoop:
    try:
        import uvloop  # noqa: PLC0415 - there is none for Windows
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


@contextlib.contextmanager
def _log_restored() -> Iterator[logging.Logger]:
    """The package's log, left in the end as it was found."""
    package = logging.getLogger("leaguekit")
    handlers, level, propagate = [*package.handlers], package.level, package.propagate
    try:
        yield package
    finally:
        for handler in [one for one in package.handlers if one not in handlers]:
            package.removeHandler(handler)
            handler.close()
        package.setLevel(level)
        package.propagate = propagate


def endpoint_of(sock: socket.socket, manager: str) -> str:
    """How others reach a socket; one that listens everywhere is reached where it faces the manager."""
    host, port = sock.getsockname()[:2]
    if host in ("0.0.0.0", "::"):  # noqa: S104 - compared, not bound
        with contextlib.suppress(OSError, Unreachable), socket.socket(sock.family, socket.SOCK_DGRAM) as probe:
            to = read_url(manager)
            # Nothing is sent: the system only chooses the way.
            probe.connect((to.host, to.port))
            host = probe.getsockname()[0]
    return f"http://[{host}]:{port}/mcp" if ":" in host else f"http://{host}:{port}/mcp"


class Identity(Struct, frozen=True, kw_only=True):
    """Who the player is in its league, as the registration's answer and the state file say."""

    player_id: str
    auth_token: str | None
    league_id: str | None
    # Whether callers show derived tokens, and are to be shown some.
    derived: bool = False

    @property
    def key(self) -> bytes:
        return tokens.signing_key(self.auth_token or "")


FromManager = m.RoundAnnouncement | m.LeagueStandingsUpdate | m.RoundCompleted | m.LeagueCompleted
FromReferee = m.GameInvitation | m.ChooseParityCall | m.GameMoveCall | m.GameOver | m.GameError


class PlayerAgent:
    """One player in one league. Give ``handle`` to a server, ``register``, and wait until it is ``finished``.

    ``seed`` makes the strategy's chance repeatable; ``wanted_id`` asks for an id, which a manager may grant.
    """

    def __init__(
        self,
        player: Player,
        world: World,
        manager_url: str,
        endpoint: str,
        *,
        seed: int | None = None,
        wanted_id: str | None = None,
    ) -> None:
        self.player = player
        self.world = world
        self.manager_url = manager_url
        self.endpoint = endpoint
        self.identity: Identity | None = None
        self.league_id: str | None = None
        self.round_id: int | None = None
        self.standings: list[m.Standing] = []
        self.history: dict[str, PastMatch] = {}
        self.final: dict[str, Any] | None = None
        self.finished = asyncio.Event()
        self._seed = seed
        slug = re.sub(r"[^a-z0-9]+", "-", player.name.lower()).strip("-") or "player"
        self._sender = sender_of("player", wanted_id or slug)
        self._conversation = f"conv-{slug}-reg-{world.entropy(4).hex()}"
        self._registering = False
        self._registered = asyncio.Event()
        self._matches: dict[str, OpenMatch] = {}
        self._current: str | None = None
        self._views = Views(world.data_root)
        self._writer = ViewWriter(inline=world.inline)
        self._handlers: dict[type[m.Message], Callable[[Any], Any]] = {
            m.RoundAnnouncement: self._round_announced,
            m.LeagueStandingsUpdate: self._standings_updated,
            m.RoundCompleted: self._round_completed,
            m.LeagueCompleted: self._league_completed,
            m.GameInvitation: self._invited,
            m.ChooseParityCall: self._asked,
            m.GameMoveCall: self._asked,
            m.GameOver: self._over,
            m.GameError: self._told_of_error,
        }

    @property
    def player_id(self) -> str | None:
        return None if self.identity is None else self.identity.player_id

    @property
    def state(self) -> PlayerState:
        if self.identity is None:
            return "UNREGISTERED"
        if self._current is None:
            return "REGISTERED" if self.round_id is None else "WAITING_FOR_ROUND"
        return "WAITING_FOR_RESULT" if self._matches[self._current].chosen else "IN_MATCH"

    def folder(self, league_id: str | None) -> Path:
        """Where this player's own files of a league lie."""
        return self.world.data_root / "agents" / safe_name(league_id or "") / safe_name(self.player.name)

    async def close(self) -> None:
        """Write what is still to be written."""
        await self._writer.close()

    # Registration.

    async def register(self) -> Identity:
        """Introduce the player to the manager, for as long as it takes. Raises RegistrationRefused."""
        try:
            read_url(self.manager_url)
        except Unreachable as error:
            raise RegistrationRefused(str(error), "Give the manager's URL as http://HOST:PORT/mcp.") from error
        self._registering = True
        try:
            kept, response = await self._introduced()
            self.identity = await self.world.blocking(self._accepted, response, kept)
        except RegistrationRefused as refused:
            log.warning("The registration was refused: %s", refused)
            raise
        finally:
            self._registering = False
        self.league_id = self.identity.league_id
        self._sender = sender_of("player", self.identity.player_id)
        self._registered.set()
        log.info("%s is %s in %s", self.player.name, self.player_id, self.league_id, extra=_about(response))
        return self.identity

    async def _introduced(self) -> tuple[Identity | None, m.LeagueRegisterResponse]:
        """Register, again and again until there is an answer, and say as whom we came back."""
        request: m.LeagueRegisterRequest | None = None
        failures = 0
        while True:
            try:
                kept = await self._kept()
                offered = UNSET if kept is None else kept.auth_token or UNSET
                # Repeated to the letter, so that the manager can tell it from another player's.
                if request is None or request.auth_token != offered:
                    request = self._request(offered)
                response = await ask(self.world.caller, self.manager_url, request, m.LeagueRegisterResponse)
                if response.status == "REJECTED":
                    raise _refused(response.reason or "No reason was given", response.error_code or None)
            except (CallFailed, CallerLate) as error:
                why: Exception = error
            except RpcRefusal as refusal:
                data = refusal.error.data if isinstance(refusal.error.data, dict) else {}
                if data.get("error_code") != "E059":  # too many at once: that passes
                    raise _refused(refusal.error.message, data.get("error_code"), data.get("context")) from refusal
                why = refusal
            except ProtocolError as error:
                reason = f"What answers there is no League Manager of league.v2: {error.detail}"
                raise RegistrationRefused(reason, "Check the manager's URL; it ends in /mcp.", error.code) from error
            else:
                return kept, response
            if not failures:
                log.warning("The manager does not take registrations yet (%s). Trying until it does.", why)
            await self.world.sleep(min(LONGEST_PAUSE, 0.25 * 2 ** min(failures, 5)))
            failures += 1

    async def _kept(self) -> Identity | None:
        """Who we were in the manager's league, if we have been there: a token is shown only where it came from."""
        try:
            body = await reachable(self.world.caller, self.manager_url, 10.0)
        except TimedOut:
            return None
        try:
            league_id = msgspec.json.decode(body)["result"]["league_id"]
            content = read_private(self.folder(str(league_id)) / "state.json")
            return None if content is None else msgspec.json.decode(content, type=Identity)
        except (msgspec.DecodeError, KeyError, TypeError, UnicodeDecodeError):
            return None
        except StoreError as error:
            log.warning("%s", error)
            return None

    def _request(self, token: str | UnsetType) -> m.LeagueRegisterRequest:
        meta = m.PlayerMeta(
            display_name=self.player.name,
            version=self.player.version,
            game_types=[*self.player.games],
            contact_endpoint=self.endpoint,
            protocol_version=PROTOCOL_VERSION,
        )
        envelope = m.envelope(self._sender, self.world.now(), self._conversation)
        return m.LeagueRegisterRequest(**envelope, auth_token=token, player_meta=meta)

    def _accepted(self, response: m.LeagueRegisterResponse, kept: Identity | None) -> Identity:
        """Who we are now; written down for the next start."""
        token = response.auth_token or (kept.auth_token if kept is not None else None)
        league_id = response.league_id or None
        identity = Identity(
            player_id=str(response.player_id),
            auth_token=token,
            league_id=league_id,
            derived=response.token_scheme == TOKEN_SCHEME and bool(token and league_id),
        )
        try:
            if league_id is not None:
                write_private(self.folder(league_id) / "state.json", msgspec.json.encode(identity))
            if kept is not None:
                self._remember(identity)
        except StoreError as error:
            log.warning("%s", error)
        return identity

    def _remember(self, identity: Identity) -> None:
        """Take up the history of this league that an earlier run wrote."""
        content = read_private(self._views.history(identity.player_id))
        with contextlib.suppress(msgspec.DecodeError):
            saved = msgspec.json.decode(content or b"", type=History)
            if saved.league_id == identity.league_id:
                self.history = {match.match_id: match for match in saved.matches}

    # Answers.

    async def handle(self, body: bytes, _peer: Peer) -> bytes | None:
        """Answer a body, whatever it is."""
        return await answer(body, self._answer, player_refusal, MOST_BYTES_FROM_ABOVE)

    async def _answer(self, call: Call) -> Any:
        if call.method == PING:
            return {"status": "ok", "player_id": self.player_id, "league_id": self.league_id}
        if call.method == GET_STATE:
            return self.snapshot()
        _, message = read_call(call, "player")
        if self._registering:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT_FOR_REGISTRATION):
                    await self._registered.wait()
        result = self._handlers[type(message)](message)
        return await result if asyncio.iscoroutine(result) else result

    def snapshot(self) -> dict[str, Any]:
        """What anybody may know: nothing of a match that is still in play but that there is one."""
        matches = [*self.history.values()]
        return {
            "player_id": self.player_id,
            "display_name": self.player.name,
            "state": self.state,
            "league_id": self.league_id,
            "round": self.round_id,
            "league_completed": self.finished.is_set(),
            "record": record_of(matches),
            "matches": matches,
        }

    def _round_announced(self, message: m.RoundAnnouncement) -> m.RoundAnnouncementAck:
        self._check_manager(message)
        self.round_id = message.round_id
        return m.RoundAnnouncementAck(**self._acknowledged(message), round_id=message.round_id)

    def _standings_updated(self, message: m.LeagueStandingsUpdate) -> m.StandingsUpdateAck:
        self._check_manager(message)
        self.standings = message.standings
        return m.StandingsUpdateAck(**self._acknowledged(message), round_id=message.round_id)

    def _round_completed(self, message: m.RoundCompleted) -> m.RoundCompletedAck:
        self._check_manager(message)
        # The next round's invitation may have overtaken this.
        if self._current is not None and (self._matches[self._current].round_id or 0) <= message.round_id:
            self._current = None
        return m.RoundCompletedAck(**self._acknowledged(message), round_id=message.round_id)

    def _league_completed(self, message: m.LeagueCompleted) -> m.LeagueCompletedAck:
        self._check_manager(message)
        self._current = None
        own = next((row for row in message.final_standings if row.player_id == self.player_id), None)
        self.final = {"standing": own, "champion": message.champion}
        self._save()
        self.finished.set()
        place = "" if own is None else f"; {self.player.name} is number {own.rank} with {own.points} points"
        log.info("The league is over%s.", place, extra=_about(message))
        return m.LeagueCompletedAck(**self._acknowledged(message))

    def _invited(self, message: m.GameInvitation) -> m.GameJoinAck:
        match = self._match(message, message.match_id)
        self._check_addressee(message.player_id)
        match.round_id, match.opponent_id, match.role = message.round_id, message.opponent_id, message.role_in_match
        self.league_id = self.league_id or message.league_id
        self.round_id = message.round_id
        self._current = message.match_id
        return m.GameJoinAck(
            **self._of_match(message, message.match_id, match),
            arrival_timestamp=times.written(self.world.now()),
            accept=True,
        )

    async def _asked(self, call: MoveCall) -> m.ChooseParityResponse | m.GameMoveResponse:
        match = self._match(call, call.match_id)
        self._check_addressee(call.player_id)
        match.chosen = False
        self._current = call.match_id
        seconds = seconds_for(call)
        ctx = self._context(call, match, seconds)
        move, fault, error = await decide(self.player.strategy, ctx, seconds, inline=self.world.inline)
        if fault is not None:
            told = (call.match_id, fault, move)
            log.error("%s: %s; played %r instead.", *told, exc_info=error, extra=_about(call))
        match.chosen = True
        common = self._of_match(call, call.match_id, match)
        if isinstance(call, m.ChooseParityCall):
            return m.ChooseParityResponse(**common, parity_choice=move)
        return m.GameMoveResponse(**common, move_data=move)

    def _context(self, call: MoveCall, match: OpenMatch, seconds: float) -> Context:
        question = question_of(call)
        known = call.context or None
        history = tuple(self.history.values())
        record = known.your_standings if known is not None and known.your_standings is not UNSET else record_of(history)
        if record.points is UNSET:
            record.points = 3 * record.wins + record.draws
        if match.random is None:
            match.random = self._chance(call.match_id, match.attempt)
        return Context(
            game_type=call.game_type,
            move_type=question.move_type,
            valid_options=[*question.valid_options],
            view=question.context,
            league_id=self.league_id,
            player_id=str(self.player_id),
            match_id=call.match_id,
            round_id=call.round_id or (match.round_id if known is None else known.round_id),
            opponent_id=match.opponent_id if known is None else known.opponent_id,
            role=match.role,
            record=record,
            standings=self.standings,
            history=history,
            deadline=self.world.now() + timedelta(seconds=seconds),
            random=match.random,
            now=self.world.now,
        )

    def _chance(self, match_id: str, attempt: int) -> Random:
        if self._seed is None:
            return Random(self.world.entropy(16))  # noqa: S311 - a player's chance guards nothing
        return Random(f"{self._seed}:{self.player_id}:{match_id}:{attempt}")  # noqa: S311

    def _over(self, message: m.GameOver) -> m.GameOverAck:
        me = self._me.player_id
        is_ours = message.match_id in self._matches or me in message.game_result.choices
        match = self._match(message, message.match_id)
        match.random = None
        if self._current == message.match_id:
            self._current = None
        past = past_match(message, me, match)
        if is_ours and self.history.get(past.match_id) != past:
            # A match that was played again stands where it was played last.
            self.history.pop(past.match_id, None)
            self.history[past.match_id] = past
            self._save()
            log.info("%s: %s. %s", past.match_id, past.result, past.reason, extra=_about(message))
        return m.GameOverAck(**self._of_match(message, message.match_id, match), status="ACKNOWLEDGED")

    def _told_of_error(self, message: m.GameError) -> m.GameErrorAck:
        match_id = message.match_id or self._current
        if match_id is None:
            raise ProtocolError("E003", "match_id is missing, and there is no match in play.")
        match = self._match(message, match_id)
        told = (message.error_code, message.error_name or message.error_description, message.consequence or "")
        log.warning("%s: the referee reports %s %s. %s", match_id, *told, extra=_about(message))
        return m.GameErrorAck(**self._of_match(message, match_id, match), status="ACKNOWLEDGED")

    # Who is speaking, and how we show who we are.

    @property
    def _me(self) -> Identity:
        if self.identity is None:
            raise ProtocolError("E005", "This player has not registered.")
        return self.identity

    def _check_manager(self, message: FromManager) -> None:
        me = self._me
        if me.derived and not _shows(message, tokens.manager_to_agent(me.key, str(me.league_id), me.player_id)):
            raise self._stranger()
        self.league_id = self.league_id or message.league_id

    def _check_addressee(self, player_id: str | UnsetType) -> None:
        if player_id not in (UNSET, self.player_id):
            raise ProtocolError("E005", f"This is {self.player_id}, not {player_id}.")

    def _stranger(self) -> ProtocolError:
        detail = "The auth_token is not the one that was made for this caller."
        return ProtocolError("E012", detail, data={"player_id": self.player_id})

    def _match(self, message: FromReferee, match_id: str) -> OpenMatch:
        """The match that a referee's message is about."""
        known = self._matches.get(match_id)
        referee_id = read_sender(message.sender).id or ""
        if isinstance(message, m.GameInvitation):
            attempt = self._attempt(message, match_id, referee_id, (message.attempt or 1,))
            if known is None or (known.attempt, known.referee_id) != (attempt, referee_id):
                # A referee whose match was given to another is answered, but not followed.
                if known is not None and attempt < known.attempt:
                    return OpenMatch(referee_id, attempt)
                known = self._matches[match_id] = OpenMatch(referee_id, attempt)
        elif known is not None:
            self._attempt(message, match_id, referee_id, (known.attempt,))
        else:
            attempt = self._attempt(message, match_id, referee_id, range(1, MOST_ATTEMPTS + 1))
            known = self._matches[match_id] = OpenMatch(referee_id, attempt)
        return known

    def _attempt(self, message: FromReferee, match_id: str, referee_id: str, attempts: Sequence[int]) -> int:
        """Which of these attempts at the match the message is of; under the scheme its token says so."""
        me = self._me
        if not me.derived:
            return attempts[0]
        for attempt in attempts:
            if _shows(message, tokens.referee_to_player(me.key, str(me.league_id), match_id, attempt, referee_id)):
                return attempt
        raise self._stranger()

    def _acknowledged(self, message: m.Request) -> dict[str, Any]:
        """What every answer to the manager carries."""
        token = self._me.auth_token or UNSET
        return {**self._echo(message), "auth_token": token, "player_id": self.player_id, "status": "ACKNOWLEDGED"}

    def _of_match(self, message: m.Request, match_id: str, match: OpenMatch) -> dict[str, Any]:
        """What every answer to a referee carries: under the scheme, a token that was made for it and this match."""
        me, token = self._me, self._me.auth_token or UNSET
        if me.derived:
            token = tokens.player_to_referee(me.key, str(me.league_id), match_id, match.attempt, match.referee_id)
        return {**self._echo(message), "auth_token": token, "player_id": me.player_id, "match_id": match_id}

    def _echo(self, message: m.Request) -> m.Envelope:
        return m.envelope(self._sender, self.world.now(), message.conversation_id)

    def _save(self) -> None:
        me, matches = self._me, [*self.history.values()]
        saved = History(
            player_id=me.player_id,
            league_id=self.league_id,
            display_name=self.player.name,
            record=record_of(matches),
            matches=matches,
            final=self.final,
        )
        self._writer.put(self._views.history(me.player_id), saved)


def _shows(message: m.Request, token: str) -> bool:
    return message.auth_token is not UNSET and tokens.same(message.auth_token, token)


def _refused(reason: str, code: str | None, context: Any = None) -> RegistrationRefused:
    detail = context.get("detail") if isinstance(context, dict) else None
    remedy = CATALOGUE[code].remedy if code in CATALOGUE else "Ask the league's operator."
    return RegistrationRefused(f"{reason}: {detail}" if detail else reason, remedy, code)


def _about(message: m.Message) -> dict[str, Any]:
    """What the log says of a message besides its text."""
    conversation_id = getattr(message, "conversation_id", None) or None
    return {"message_type": m.message_type(message), "conversation_id": conversation_id}
