"""Leagues that were really played, in virtual time: their logs, their transcripts, and ways to tamper with them."""

from __future__ import annotations

import asyncio
import functools
import json
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from leaguekit.league import commands
from leaguekit.league.audit.log_audit import Audit
from leaguekit.league.events import ResultRecorded
from leaguekit.league.settings import Settings, with_game
from leaguekit.protocol.decoding import decode, of_type
from leaguekit.protocol.messages import MatchTranscript
from leaguekit.sim import loop
from leaguekit.store.sqlite import SqliteLog
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller
from tests.agents.leagues import Hall, Json
from tests.league.play import Play, drawn

# What they choose does not depend on chance.
FOUR = ("always_even", "always_even", "always_odd", "always_odd")


class Played(NamedTuple):
    """A league's log, and what was kept beside it."""

    log: list[bytes]
    kept: dict[str, bytes]

    def store(self, path: Path) -> Path:
        """The same in a file."""
        asyncio.run(self._store(path))
        return path

    async def _store(self, path: Path) -> None:
        log = await SqliteLog.open(path)
        log.append(self.log)
        await asyncio.gather(*(log.write_document(name, text) for name, text in self.kept.items()))
        await log.close()


@functools.cache
def played(game: str = "even_odd", *strategies: str) -> Played:
    """A league of real agents without any incident."""
    with tempfile.TemporaryDirectory() as root:
        return loop.run(_play(Path(root), game, strategies or FOUR))


async def _play(root: Path, game: str, strategies: tuple[str, ...]) -> Played:
    payoffs = with_game(Settings(league_id="any", game_type=game)).payoff_range
    async with Hall(root, game_type=game, payoff_range=payoffs) as hall:
        transcripts = Transcripts(hall)
        await hall.fill(*strategies)
        await hall.operate("start")
        await hall.end()
        return await transcripts.played()


@functools.cache
def troubled() -> Played:
    """A league of real agents in which P03 never chooses, and the operator corrects a result."""
    with tempfile.TemporaryDirectory() as root:
        return loop.run(_play_troubled(Path(root)))


async def _play_troubled(root: Path) -> Played:
    async def never(kind: str) -> None:
        if kind == "CHOOSE_PARITY_CALL":
            await asyncio.Event().wait()

    async with Hall(root) as hall:
        transcripts = Transcripts(hall)
        await hall.fill("always_even", "always_odd", referees=1)
        await hall.player("always_even", gate=never)
        await hall.operate("start")
        await hall.end()
        await hall.operate("correct", match_id="R1M1", outcome="P01", reason="the referee erred")
        return await transcripts.played()


class Transcripts:
    """What referees hand in, which in a hall nobody else takes."""

    def __init__(self, hall: Hall) -> None:
        self._hall = hall
        self._saw = hall.network.tap
        self._bodies: list[bytes] = []
        hall.network.tap = self._see

    def _see(
        self, caller: MemoryCaller, url: str, body: bytes, came: bytes | BaseException, when: ExchangeTimes
    ) -> None:
        if "/transcripts/" in url:
            self._bodies.append(body)
        elif self._saw is not None:
            self._saw(caller, url, body, came, when)

    async def played(self) -> Played:
        """Let the manager take them, and give what the league has come to."""
        for body in self._bodies:
            transcript = of_type(MatchTranscript, decode(body))
            await self._hall.manager.reports.keep_transcript(transcript, transcript.match_id)
        return Played([*self._hall.log.content.events], dict(self._hall.log.content.documents))


@functools.cache
def by_hand() -> Played:
    """A league with every kind of incident, and results that a test made up."""
    play = Play(players=5, referees=2)
    play.player(5, returning_id="P05")
    play.begin()
    play.do(commands.note_failures(play.league, "P01", 5, play.now))
    play.do(commands.note_answer(play.league, "P01", play.now))
    for attempt in (1, 2, 3):
        play.do(commands.void_attempt(play.league, "R1M1", attempt, "late", play.now))
        play.assign()
    play.do(commands.rematch(play.league, "R1M1", "again", play.now))
    play.do(commands.referee_lost(play.league, "REF01", "silent", play.now))
    play.do(commands.referee_returned(play.league, "REF01", play.now))
    play.play_round()
    play.do(commands.correct(play.league, "R1M1", drawn(play.match("R1M1")), "wrong", play.now))
    play.do(commands.pause(play.league, "lunch", play.now))
    play.do(commands.resume(play.league, "go on", play.now))
    play.do(commands.withdraw(play.league, "P02", "ill", play.now))
    play.do(commands.disqualify(play.league, "P03", "cheated", play.now))
    return Played(play.play_all().epilogue().log, {})


class Log:
    """A log to tamper with: its events as JSON, each by its kind and how many of them came before it."""

    def __init__(self, lines: list[bytes]) -> None:
        self.events: list[Json] = [json.loads(line) for line in lines]

    def at(self, kind: str, nth: int = 0) -> int:
        return [place for place, event in enumerate(self.events) if event["event"] == kind][nth]

    def of(self, kind: str, nth: int = 0) -> Json:
        return self.events[self.at(kind, nth)]

    def drop(self, kind: str, nth: int = 0) -> None:
        del self.events[self.at(kind, nth)]

    def repeat(self, kind: str, nth: int = 0, *, last: bool = False) -> None:
        """Let an event come a second time, right after itself or at the end."""
        place = self.at(kind, nth)
        self.events.insert(len(self.events) if last else place + 1, json.loads(json.dumps(self.events[place])))

    def insert(self, place: int, kind: str, **fields: Any) -> None:
        self.events.insert(place, {"event": kind, "at": self.events[place - 1]["at"]} | fields)

    def lines(self) -> list[bytes]:
        return [json.dumps(event).encode() for event in self.events]


def audited(lines: list[bytes], kept: dict[str, bytes] | None = None) -> Audit:
    """The audit of a whole log, as ``league verify`` makes it."""
    audit = Audit()
    for number, line in enumerate(lines, start=1):
        event = audit.take(number, line)
        if isinstance(event, ResultRecorded) and (text := (kept or {}).get(f"transcript/{event.match_id}")):
            audit.transcript(event, text)
    audit.close()
    return audit
