"""The agents of a league without a league: they send what a league sends, in its order and at its concurrency.

What sends it (``limit_agents``, ``field_agents``) runs this as a program of its own: it reads a script from its input,
starts every agent as a process, and prints one JSON object. It imports nothing of leaguekit.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import multiprocessing
import os
import socket
import sys
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Protocol

from clocks import cpu_seconds_of_children

TRANSCRIPT = "transcript"
INVITATION, CALL, OVER = "handle_game_invitation", "parity_choose", "notify_match_result"
ASSIGNMENT, REPORT = "start_match", "report_match_result"
ANNOUNCEMENT, STANDINGS, ROUND_OVER = "notify_round", "update_standings", "notify_round_completed"
LEAGUE_OVER, PING, PROGRESS = "notify_league_completed", "ping", "report_match_progress"

LIMIT_SECONDS = 120
REFEREE_MATCHES = 10

Pair = tuple[int, int]
Hear = Callable[[str, Pair | None], None]


class Post(Protocol):
    """Sends a kind of message to a port of this machine; done when the answer is there."""

    def __call__(self, port: int, kind: str, match: Pair | None = None, /) -> Awaitable[Any]: ...


class Script(NamedTuple):
    """What is played: the pairs of each round, by index, and of each kind of exchange the request and the answer.

    Players may share one process. Of the rounds, the first few may be a warm-up, before the clock starts. ``extra``
    says how often a match something comes that is not part of every match or round.
    """

    players: int
    referees: int
    rounds: list[list[Pair]]
    messages: dict[str, tuple[str, str]]
    together: bool
    warm_up: int
    extra: dict[str, float]


class Ports(NamedTuple):
    """The port of each agent."""

    manager: int
    referees: list[int]
    players: list[int]


class Agent(Protocol):
    """Serves sockets for ever, telling ``hear`` of what comes; ``meanwhile`` is given what sends, and runs beside."""

    def __call__(
        self,
        sockets: list[socket.socket],
        script: Script,
        hear: Hear,
        meanwhile: Callable[[Post], Coroutine[Any, Any, None]],
        /,
    ) -> None: ...


class Now:
    """Says how often something comes after each match, if it comes ``a_match`` times per match on average."""

    def __init__(self, a_match: float) -> None:
        self._a_match = a_match
        self._due = 0.5

    def times(self) -> int:
        """How often after one more match."""
        self._due += self._a_match
        now = int(self._due)
        self._due -= now
        return now


class Manager:
    """Conducts the league: the next round is announced when every match of the last is reported."""

    def __init__(self, script: Script, ports: Ports, result: Connection) -> None:
        self._script, self._ports, self._result = script, ports, result
        self._counts: Counter[str] = Counter()
        self._left = 0
        # What all agents had taken of the processors after the warm-up.
        self._cpu_before = 0.0
        self._matches = sum(map(len, script.rounds))
        self._under_way: set[asyncio.Future[Any]] = set()
        self._waiting: deque[Pair] = deque()
        # Who plays which match.
        self._given: dict[Pair, int] = {}
        self._standings, self._pings = Now(script.extra[STANDINGS]), Now(script.extra[PING])

    def hear(self, kind: str, match: Pair | None) -> None:
        self._counts[kind] += 1
        if kind == REPORT and match is not None:
            referee = self._given.pop(match)
            self._left -= 1
            if not self._left:
                self._round_over.set()
            elif self._waiting:
                self._assign(referee)
            self._tell_meanwhile()
        elif kind == TRANSCRIPT and self._counts[TRANSCRIPT] == self._matches:
            self._all_in.set()

    def _tell_meanwhile(self) -> None:
        for _ in range(self._standings.times()):
            self._tell(self._ports.players, STANDINGS)
        for _ in range(self._pings.times()):
            self._tell(self._ports.referees, PING)

    def _assign(self, referee: int) -> None:
        match = self._waiting.popleft()
        self._given[match] = referee
        self._begin(self._count(self._ports.referees[referee], ASSIGNMENT, match))

    async def play(self, post: Post) -> None:
        try:
            self._post = post
            self._round_over, self._all_in = asyncio.Event(), asyncio.Event()
            self._turns = {port: asyncio.Lock() for port in (*self._ports.players, *self._ports.referees)}
            # Everybody is there, as after registration.
            await asyncio.gather(*(post(port, PING) for port in self._turns))
            seconds = await self._rounds()
            await self._all_in.wait()
            while self._under_way:
                await asyncio.gather(*self._under_way)
            await asyncio.gather(*(self._count(port, LEAGUE_OVER) for port in self._turns))
            matches = sum(map(len, self._script.rounds[self._script.warm_up :]))
            cpu_seconds = cpu_seconds_of_children(os.getppid()) - self._cpu_before
            self._result.send(
                {"matches": matches, "seconds": seconds, "cpu_seconds": cpu_seconds, "counts": self._counts}
            )
        except Exception as error:  # noqa: BLE001 - whoever waits for the result must hear of it
            self._result.send({"failure": f"{type(error).__name__}: {error}"})

    async def _rounds(self) -> float:
        """Seconds from the first assignment to the last report, as `league run` has it."""
        began = ended = 0.0
        for number, pairs in enumerate(self._script.rounds):
            for port in self._ports.referees:
                self._begin(self._count(port, ANNOUNCEMENT))
            await asyncio.gather(*(self._count(port, ANNOUNCEMENT) for port in self._ports.players))
            if number == self._script.warm_up:
                self._cpu_before = cpu_seconds_of_children(os.getppid())
                began = time.perf_counter()
            self._left = len(pairs)
            self._round_over.clear()
            self._waiting.extend(pairs)
            for place in range(min(len(pairs), REFEREE_MATCHES * self._script.referees)):
                self._assign(place % self._script.referees)
            await self._round_over.wait()
            ended = time.perf_counter()
            self._tell(self._ports.players, STANDINGS, ROUND_OVER)
            self._tell(self._ports.referees, ROUND_OVER)
        return ended - began

    def _count(self, port: int, kind: str, match: Pair | None = None) -> Awaitable[Any]:
        self._counts[kind] += 1
        return self._post(port, kind, match)

    def _tell(self, ports: list[int], *kinds: str) -> None:
        for port in ports:
            self._begin(self._tell_one(port, kinds))

    async def _tell_one(self, port: int, kinds: tuple[str, ...]) -> None:
        async with self._turns[port]:
            for kind in kinds:
                await self._count(port, kind)

    def _begin(self, work: Awaitable[Any]) -> None:
        future = asyncio.ensure_future(work)
        self._under_way.add(future)
        future.add_done_callback(self._under_way.discard)


class Referee:
    """Plays the matches that it is given, all at once."""

    def __init__(self, script: Script, ports: Ports) -> None:
        self._ports = ports
        self._progress = Now(script.extra[PROGRESS])
        self._playing: set[asyncio.Task[None]] = set()

    def hear(self, kind: str, match: Pair | None) -> None:
        if kind == ASSIGNMENT and match is not None:
            playing = asyncio.get_running_loop().create_task(self._play(match))
            self._playing.add(playing)
            playing.add_done_callback(self._playing.discard)

    async def listen(self, post: Post) -> None:
        self._post = post

    async def _play(self, match: Pair) -> None:
        one, other = (self._ports.players[player] for player in match)
        for kind in (INVITATION, CALL, OVER):
            await asyncio.gather(self._post(one, kind), self._post(other, kind))
        for _ in range(self._progress.times()):
            await self._post(self._ports.manager, PROGRESS)
        await self._post(self._ports.manager, REPORT, match)
        await self._post(self._ports.manager, TRANSCRIPT)


def _hear_nothing(_: str, __: Pair | None) -> None: ...


async def _nothing(_: Post) -> None: ...


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run an agent with uvloop where it installs, as the league's programs do; with BENCH_ASYNCIO on asyncio's own."""
    factory = None
    if "BENCH_ASYNCIO" not in os.environ:
        with contextlib.suppress(ImportError):
            import uvloop  # noqa: PLC0415 - there is none for Windows

            factory = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(work)


def main(agent: Agent) -> None:
    """Play the script from the input with agents of this kind, each a process, and print what it came to."""
    script = Script(**json.load(sys.stdin))
    # Read from JSON, they are lists.
    script = script._replace(rounds=[[(a, b) for a, b in pairs] for pairs in script.rounds])
    sockets = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in range(1 + script.referees + script.players)]
    numbers = [sock.getsockname()[1] for sock in sockets]
    ports = Ports(numbers[0], numbers[1 : 1 + script.referees], numbers[1 + script.referees :])
    # Forked, so that what they import is imported once; nothing here has threads or a loop.
    processes = multiprocessing.get_context("fork")
    result, told = processes.Pipe(duplex=False)
    manager = Manager(script, ports, told)
    referees = [Referee(script, ports) for _ in ports.referees]
    parts: list[tuple[Hear, Any]] = [(manager.hear, manager.play), *((one.hear, one.listen) for one in referees)]
    served = [[sock] for sock in sockets[: len(parts)]]
    served += [sockets[len(parts) :]] if script.together else [[sock] for sock in sockets[len(parts) :]]
    parts += [(_hear_nothing, _nothing)] * (len(served) - len(parts))
    children = [
        processes.Process(target=agent, args=(own, script, hear, meanwhile), daemon=True)
        for own, (hear, meanwhile) in zip(served, parts, strict=True)
    ]
    try:
        for child in children:
            child.start()
        if not result.poll(LIMIT_SECONDS):
            raise SystemExit(f"not over after {LIMIT_SECONDS} s")
        print(json.dumps(result.recv()))
    finally:
        for child in children:
            if child.pid is not None:
                child.kill()
                child.join()
