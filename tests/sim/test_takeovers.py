"""Two simulated managers and their database: one of them serves, whatever happens, and planted bugs are found."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any
from uuid import UUID

import pytest

from leaguekit.league import events as e
from leaguekit.league.commands import registration
from leaguekit.sim.campaign import Scenario, ScenarioResult, run_scenario
from leaguekit.sim.checks import find_violations
from leaguekit.sim.database import ADDRESS, Database
from leaguekit.sim.faults import HostFault, HostFaultKind, make_fault_plan
from leaguekit.sim.outcome import LeagueSetup, Outcome
from leaguekit.sim.processes import Process, ProcessLoop
from leaguekit.sim.runner import play
from leaguekit.store import postgres, postgres_lock, postgres_reader, postgres_schema
from leaguekit.store.memory import MemoryLogContent

SETUP = LeagueSetup(players=4, referees=2)


def simulated(seed: int) -> ScenarioResult:
    return run_scenario(Scenario(seed, SETUP, "standby"))


def with_faults(*faults: HostFault) -> Outcome:
    """A league with exactly these faults."""
    plan = make_fault_plan(1, "standby", SETUP.agent_names())
    plan.host_faults = [*faults]
    outcome = play(plan, SETUP)
    assert find_violations(outcome, SETUP, "standby") == []
    return outcome


def voids(outcome: Outcome) -> list[e.Event]:
    return [event for text in outcome.events if isinstance(event := e.decode(text), e.AttemptVoided)]


def test_leagues_with_two_managers_end_as_they_must_whatever_happens_to_them() -> None:
    results = [simulated(seed) for seed in range(1, 9)]
    assert [(one.scenario.command(), one.violations) for one in results if one.violations] == []
    assert sum(one.outcome.injected.get("takeover", 0) for one in results) > len(results) / 2
    assert simulated(1).digest == results[0].digest


# In all of this time the league is played: a match takes 0.15 s.
@pytest.mark.parametrize("kind", ["killed", "machine died", "stopped", "cut off", "no database"])
def test_each_fault_of_the_manager_that_serves_lets_the_other_one_take_over(kind: HostFaultKind) -> None:
    outcome = with_faults(HostFault(2.05, kind, 60.0))
    assert outcome.injected["takeover"] == 1
    assert voids(outcome) == []


@pytest.mark.parametrize("kind", ["database restart", "database slow", "database away"])
def test_a_database_that_is_away_or_slow_for_a_minute_is_waited_for(kind: HostFaultKind) -> None:
    outcome = with_faults(HostFault(2.05, kind, 60.0))
    assert outcome.seconds > 60
    assert voids(outcome) == []


def test_planned_hand_overs_void_no_match() -> None:
    outcome = with_faults(*(HostFault(2.0 + 0.13 * number, "handed over", 0.0) for number in range(9)))
    assert outcome.injected["takeover"] >= 2
    assert voids(outcome) == []


# Planted bugs


def test_a_standby_that_waits_too_long_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_lock, "SILENT_SECONDS", 30.0)
    assert "no manager served the league for 10 s" in str([simulated(seed).violations for seed in range(1, 9)])


def test_a_writer_that_is_not_fenced_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    write = Database._write

    def unfenced(self: Database, session: Any, query: str, arguments: Sequence[Any]) -> Any:
        if query == postgres.RECONNECT:
            self._writer = arguments[0]
        return write(self, session, query, arguments)

    monkeypatch.setattr(Database, "_write", unfenced)
    assert "had taken the league over" in str(simulated(45).violations)


def test_registrations_that_are_forgotten_too_soon_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    # In this league the database was away for a minute after it had stored registrations.
    assert simulated(102).violations == []
    monkeypatch.setattr(registration, "REPEAT_SECONDS", 60.0)
    assert "only hosts were at fault" in str(simulated(102).violations)


# The simulated server


class _NoFaults:
    def is_connected(self, _machine: str) -> bool:
        return True

    def statement_seconds(self) -> float:
        return 0.001


Connect = Callable[[], Awaitable[Any]]
WRITERS = UUID(int=1), UUID(int=2)


async def _statements(connect: Connect) -> list[Any]:
    """What a server answers to each statement of the store, in two sessions."""
    first, second = await connect(), await connect()
    said: list[Any] = []

    async def append(writer: Any, epoch: int, after: int, *events: str) -> None:
        numbers = range(after + 1, after + 1 + len(events))
        said.append(await writer.fetchval(postgres.APPEND, epoch, numbers, [*events], ["name"], [b"%d" % epoch]))

    async with first.transaction():
        await postgres_schema.migrate(first, "store")
        said.append(await first.fetchval(postgres.TAKE_OVER, WRITERS[0]))
        said.append(await first.fetchval(postgres.LAST, 1))
        said.append(await second.fetchval(postgres_lock.EPOCH))
    said.append(await second.fetchval(postgres_lock.EPOCH))
    said.append(await second.fetchrow(postgres_lock.HOLDER))
    said.append(await first.fetchval(postgres_lock.TRY_LOCK))
    said.append(await second.fetchval(postgres_lock.TRY_LOCK))
    holder = await second.fetchrow(postgres_lock.HOLDER)
    said.append(0.0 <= holder["silent"] < 1.0)
    await append(first, 1, 0, "1", "2")
    said.append(await second.fetchval(postgres_lock.END_SILENT, 5.0))
    said.append(await first.fetchval(postgres.IS_WRITER, 1))
    # The second takes over. An append of the first waits for its transaction, and is then refused.
    async with second.transaction():
        said.append(await second.fetchval(postgres.TAKE_OVER, WRITERS[1]))
        late = asyncio.ensure_future(append(first, 1, 2, "late"))
        said.append(await second.fetchval(postgres.LAST, 2))
    await late
    said.append(await first.fetchval(postgres.RECONNECT, WRITERS[0]))
    said.append(await second.fetchval(postgres.RECONNECT, WRITERS[1]))
    said.append(await second.fetchval(postgres_lock.END_SILENT, -1.0))
    with pytest.raises(postgres_schema.DATABASE_ERRORS):
        await first.fetchval(postgres_lock.KEEP_ALIVE)
    said.append(await second.fetchval(postgres_lock.TRY_LOCK))
    await append(second, 3, 2, "3")
    said += [await second.fetchval(query, 2) for query in (postgres.IS_WRITER, postgres.LAST)]
    said += [[tuple(row) for row in await second.fetch(postgres_reader.READ, 1, most)] for most in (None, 1)]
    said += [[tuple(row) for row in await second.fetch(postgres_reader.KEPT, name)] for name in ("name", "none")]
    said += [[tuple(row) for row in await second.fetch(postgres_reader.NAMES, start)] for start in ("", "x")]
    second.terminate()
    third = await connect()
    # The transaction of a session that ends takes no effect.
    with pytest.raises(postgres_schema.DATABASE_ERRORS):  # noqa: PT012 - at the end of the transaction
        async with third.transaction():
            said.append(await third.fetchval(postgres.TAKE_OVER, WRITERS[0]))
            third.terminate()
    fourth = await connect()
    said.append(await fourth.fetchval(postgres_lock.EPOCH))
    await append(fourth, 3, 3, "4")
    await fourth.close(timeout=5)
    return said


def test_a_standby_that_opens_the_store_slowly_keeps_the_lock() -> None:
    async def main(loop: ProcessLoop) -> list[str]:
        database, told = Database(loop, MemoryLogContent(), _NoFaults(), Random(1)), list[str]()
        first, second = (database.connect_for(Process(loop, name)) for name in ("first", "second"))
        lock = await postgres_lock.stand_by(ADDRESS, told.append, first)
        waiting = asyncio.ensure_future(postgres_lock.stand_by(ADDRESS, told.append, second))
        await asyncio.sleep(60)
        assert not waiting.done()
        lock.release()
        (await waiting).release()
        return told

    loop = ProcessLoop()
    try:
        told = loop.run_until_complete(main(loop))
    finally:
        loop.close()
    assert [one.partition(":")[0] for one in told] == [
        "No manager serves this league",
        f"The manager at first serves this league. This one waits, and takes over when that one ends, or has not been "
        f"heard of for {postgres_lock.SILENT_SECONDS:.0f} s.",
        "The manager at first is gone",
    ]


def test_the_simulated_server_answers_as_postgresql_does(postgres_url: str) -> None:
    async def main() -> list[Any]:
        async def connect() -> Any:
            return await postgres_schema.connect(postgres_url, to_write=True)

        first = await connect()
        # The simulated server has its tables already.
        await postgres_schema.migrate(first, "store")
        await first.close()
        return await _statements(connect)

    async def simulated_main() -> list[Any]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, ProcessLoop)
        database = Database(loop, MemoryLogContent(), _NoFaults(), Random(1))
        connect = database.connect_for(Process(loop, "manager"))
        return await _statements(lambda: connect("", to_write=True))

    loop = ProcessLoop()
    try:
        answers = loop.run_until_complete(simulated_main())
    finally:
        loop.close()
    assert answers == asyncio.run(main())
    assert answers[:4] == [1, 0, 0, 1]
