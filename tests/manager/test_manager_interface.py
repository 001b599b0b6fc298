"""The manager's whole interface, by random sequences of right and wrong requests, repeated and at the same time.

Whatever is asked in whatever order, with whatever crashes between: each request has one answer, nothing breaks, the
league is the fold of its log, the log is in order, each match counts once, and nobody is told another's secret.
`make soak` tries ten thousand sequences.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from leaguekit.agents.logs import restored_logging
from leaguekit.agents.world import World
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.events import ResultRecorded
from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.rpc import MAX_BYTES
from leaguekit.sim import loop
from leaguekit.transport.base import CallFailed
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller
from tests.agents.callers import HOWS, MOODS, Ask, Crowd, Sent, body
from tests.agents.leagues import ADMIN, MANAGER_URL, Hall, Json

SECONDS = 30.0
# The agents that a request may count for: one may be named as its sender, and another may own its token.
RIGHT_REPORTS = ("right", "draw", "loss", "failures", "as another", "stolen")
NUMBERS = st.integers(0, 11)
# More than a third of all requests that are drawn are right.
ASKS = st.sampled_from([*HOWS, "register", "register", "report", "report", "report", "operate", "operate"]).flatmap(
    lambda method: st.builds(Ask, st.just(method), st.sampled_from(HOWS[method]), NUMBERS, NUMBERS)
)


class Together(NamedTuple):
    """Requests at the same time. After ``crash_after`` turns of the event loop the manager crashes and restarts."""

    asks: list[Ask]
    crash_after: int | None = None


class Batch(NamedTuple):
    """Requests and notifications in one body."""

    asks: list[tuple[Ask, bool]]


class Notify(NamedTuple):
    ask: Ask


class Wait(NamedTuple):
    seconds: float


class Restart(NamedTuple):
    """The manager is closed or crashes, and restarts with what is on the disk."""

    in_order: bool


class Mood(NamedTuple):
    who: int
    mood: str


class Play(NamedTuple):
    """Every match in play is reported by its referee."""


Step = Ask | Together | Batch | Notify | Wait | Restart | Mood | Play
STEPS = st.one_of(
    ASKS,
    ASKS,
    ASKS,
    st.builds(Together, st.lists(ASKS, min_size=2, max_size=6), st.none() | st.integers(0, 12)),
    st.builds(Batch, st.lists(st.tuples(ASKS, st.booleans()), min_size=1, max_size=4)),
    st.builds(Notify, ASKS),
    st.builds(Wait, st.sampled_from([0.01, 0.5, 3.0, 30.0, 300.0])),
    st.builds(Restart, st.booleans()),
    st.builds(Mood, NUMBERS, st.sampled_from([*MOODS, "gone"])),
    st.just(Play()),
)
ALL_IN = [Ask("register", "right", who) for who in range(6)]
STARTED = [*ALL_IN, Ask("operate", "start"), Wait(0.01)]
ROUND = [Play(), Wait(0.5)]
OPENINGS = st.sampled_from([[], ALL_IN, STARTED, STARTED, [*STARTED, *ROUND], [*STARTED, *ROUND, *ROUND, *ROUND]])


class MemoryFiles:
    """The manager's JSON files."""

    def __init__(self) -> None:
        self.files: dict[Path, bytes] = {}

    def read(self, path: Path) -> bytes | None:
        return self.files.get(path)

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        self.files[path] = content if isinstance(content, bytes) else b"".join(content)


class CheckedHall(Hall):
    """A manager with its files in memory. Everything that it sends is searched for secrets."""

    def __init__(self) -> None:
        self.shelf = MemoryFiles()
        super().__init__(Path("SHARED"), max_players=4)
        self.network.tap = self._see
        self.crowd = Crowd(self)

    def world(self, name: str) -> World:
        world = super().world(name)
        return World(world.caller, world.data_root, world.now, world.entropy, self.shelf, inline=True)  # type: ignore[arg-type]

    async def crash(self) -> None:
        """Crash as a hall does. The answers that were not sent yet are lost."""
        for answering in list(self.network._answering):
            answering.cancel()
        await super().crash()

    def _see(
        self, caller: MemoryCaller, url: str, sent: bytes, came: bytes | BaseException, when: ExchangeTimes
    ) -> None:
        if url.partition("?")[0] != MANAGER_URL:
            assert not _told(self.crowd.secrets, sent), (url, sent)


class Sequence:
    """One sequence of steps at one manager, and the checks after each step."""

    def __init__(self, room: CheckedHall) -> None:
        self._room = room
        self._crowd = room.crowd
        self._ids = 0
        self._audit = Audit()
        self._taken = 0
        # The referees that reported an attempt at a match, by the log and by the answers.
        self._recorded: dict[tuple[str, int], str] = {}
        self._accepted: dict[tuple[str, int], str] = {}

    async def carry_out(self, step: Step) -> None:
        match step:
            case Ask():
                await self._ask(step)
            case Together(asks, None):
                await asyncio.gather(*map(self._ask, asks))
            case Together(asks, turns):
                await self._crash_amid(asks, turns)
            case Batch():
                await self._batch(step.asks)
            case Notify(ask) if ask.method not in ("garbage", "transcript"):
                assert await self._post(self._crowd.compose(ask), ...) is None
            case Wait():
                await asyncio.sleep(step.seconds)
            case Restart():
                await self._restart(in_order=step.in_order)
            case Mood():
                self._change(step)
            case Play():
                in_play = [n for n, match in enumerate(self._room.league.matches.values()) if match.in_play]
                await asyncio.gather(*(self._ask(Ask("report", "right", 0, number)) for number in in_play))
        await self._check()

    # Sending requests

    async def _ask(self, ask: Ask) -> None:
        before = set(self._crowd.secrets)
        if ask.method == "garbage":
            answer = await self._room.body(ask.how.encode(errors="surrogatepass"))
            _check_refusals(answer)
            return
        sent = self._crowd.compose(ask)
        if ask.method == "transcript":
            await self._hand_in(sent.params)
            return
        self._ids += 1
        call_id = self._ids
        answer = await self._post(sent, call_id)
        assert answer is not None, sent
        read = json.loads(answer)
        assert read["id"] == call_id
        self._judge(ask, sent, read, before)

    async def _post(self, sent: Sent, call_id: object) -> bytes | None:
        url = f"{MANAGER_URL}?{sent.query}" if sent.query else MANAGER_URL
        came = await MemoryCaller(self._room.network, sent.host).post(url, body(sent, call_id), SECONDS)
        return came.body or None

    async def _hand_in(self, params: Json) -> None:
        """A transcript, as the manager's server accepts it."""
        try:
            transcript = of_type(m.MatchTranscript, decode(json.dumps(params).encode()))
            await self._room.manager.reports.keep_transcript(transcript, transcript.match_id)
        except ProtocolError as error:
            assert error.code != "E060"

    def _judge(self, ask: Ask, sent: Sent, answer: Json, secrets: set[str]) -> None:
        assert answer["jsonrpc"] == "2.0"
        assert ("result" in answer) != ("error" in answer)
        # A registration that is repeated without a change is answered with the same token.
        own = _told(secrets, body(sent)) | ({self._crowd.agent(ask.who).token} if ask.how == "again" else set())
        assert _told(secrets, json.dumps(answer).encode()) <= own, (sent, answer)
        if "error" in answer:
            assert answer["error"]["code"] != -32603, (sent, answer)
            return
        if ask.method == "report":
            assert ask.how in RIGHT_REPORTS, (sent, answer)
            attempt = (sent.params["match_id"], sent.params["attempt"])
            assert attempt not in self._accepted, (sent, answer)
            self._accepted[attempt] = self._crowd.owners[sent.params["auth_token"]]
        self._crowd.given(ask, answer["result"])

    async def _batch(self, asks: list[tuple[Ask, bool]]) -> None:
        before = set(self._crowd.secrets)
        bodies: list[bytes] = []
        expected: dict[int, tuple[Ask, Sent]] = {}
        for ask, is_notification in asks:
            if ask.method in ("garbage", "transcript"):
                continue
            self._ids += 1
            sent = self._crowd.compose(ask)
            bodies.append(body(sent, ... if is_notification else self._ids))
            expected |= {} if is_notification else {self._ids: (ask, sent)}
        whole = b"[%s]" % b",".join(bodies)
        answer = await self._room.body(whole)
        if not bodies or len(whole) > MAX_BYTES:
            _check_refusals(answer)
        elif not expected:
            assert answer is None
        else:
            answers = json.loads(answer or b"[]")
            assert sorted(one["id"] for one in answers) == list(expected), answers
            for one in answers:
                self._judge(*expected[one["id"]], one, before)

    # The manager and its agents

    async def _crash_amid(self, asks: list[Ask], turns: int) -> None:
        asking = [asyncio.create_task(self._ask(ask)) for ask in asks]
        for _ in range(turns):
            await asyncio.sleep(0)
        await self._restart(in_order=False)
        for ended in await asyncio.gather(*asking, return_exceptions=True):
            # After a crash there is no answer.
            if ended is not None and not isinstance(ended, CallFailed):
                raise ended

    async def _restart(self, *, in_order: bool) -> None:
        if in_order:
            room = self._room
            room.network.close(MANAGER_URL)
            assert room.running is not None
            room.running.cancel()
            await asyncio.gather(room.running, return_exceptions=True)
            await room.manager.close()
        else:
            await self._room.crash()
        await self._room.restart()
        self._crowd.admin = ADMIN

    def _change(self, step: Mood) -> None:
        agent = self._crowd.agent(step.who)
        self._room.network.close(agent.url)
        if step.mood != "gone":
            agent.replies = MOODS[step.mood]()
            self._room.network.listen(agent.url, agent.handle)

    # Checks

    async def _check(self) -> None:
        ledger = self._room.manager.ledger
        while ledger.latest is not None and not ledger.latest.done():
            await ledger.wait_written()
        assert not ledger.failed.done()
        for number, line in enumerate(self._room.log.content.events[self._taken :], self._taken + 1):
            event = self._audit.take(number, line)
            if isinstance(event, ResultRecorded):
                assert (event.match_id, event.attempt) not in self._recorded
                self._recorded[event.match_id, event.attempt] = event.referee_id
        self._taken = len(self._room.log.content.events)
        assert [str(finding) for finding in self._audit.findings if not finding.is_warning] == []
        league = self._room.league
        assert league.digest() == self._audit.league.digest()
        assert self._accepted.items() <= self._recorded.items()
        ended = [match for match in league.matches.values() if match.ended_at is not None]
        assert sum(row.played for row in league.table.rows.values()) == 2 * len(ended)
        assert league.outstanding == len(league.matches) - len(ended)

    def end(self) -> None:
        assert [str(finding) for finding in self._audit.close() if not finding.is_warning] == []
        assert not any(_told(self._crowd.secrets, content) for content in self._room.shelf.files.values())
        assert not any(_told(self._crowd.secrets, line) for line in self._room.log.content.events)


def _check_refusals(answer: bytes | None) -> None:
    """A body that is not a request is answered once, with an error that is not the manager's own."""
    if answer is None:
        return
    answers = json.loads(answer)
    for one in answers if isinstance(answers, list) else [answers]:
        assert one["error"]["code"] in (-32700, -32600, -32601, -32602), one


def _told(secrets: set[str], text: bytes) -> set[str]:
    return {secret for secret in secrets if secret.encode() in text}


class ErrorRecorder(logging.Handler):
    """Records every error that is logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(self.format(record))


async def _carry_out(steps: list[Step]) -> None:
    with restored_logging() as package:
        broken = ErrorRecorder()
        package.addHandler(broken)
        room = CheckedHall()
        async with room:
            sequence = Sequence(room)
            for step in steps:
                await sequence.carry_out(step)
                assert broken.said == []
        sequence.end()
        assert broken.said == []


@given(OPENINGS, st.lists(STEPS, min_size=3, max_size=25))
def test_no_sequence_of_requests_breaks_the_manager(opening: list[Step], steps: list[Step]) -> None:
    loop.run(_carry_out([*opening, *steps]))
