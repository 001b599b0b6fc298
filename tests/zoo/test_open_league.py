"""Leagues in the open profile with the dialect zoo: all who can play do, and what they get wrong is noted."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from leaguekit.agents.serving import endpoint_of, serve
from leaguekit.agents.world import World
from leaguekit.league.events import ResultRecorded, decode
from leaguekit.league.settings import Settings
from leaguekit.league.state import League
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import manager_server
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.refusals import player_refusal
from leaguekit.protocol.rpc import request
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim import loop
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen
from tests.agents.leagues import ADMIN, MANAGER_URL, Hall
from tests.played import audited
from tests.zoo.dialects import ALONE, NOBODY_HOSTS, RULES, TEN, TIC_TAC_TOE, Fake, MemoryNet, SocketNet, Species

# The rules of the zoo, and by which of ours each is noted.
OURS = {
    "request-form": {"001-L0904", "001-L1045", "decision 1"},
    "choice-method": {"001-L1045"},
    "registration-method": {"001-L0241"},
    "registration-missing": {"000-L0209"},
    "registration-fields": {"000-L1370", "000-L1371", "000-L1372", "000-L1373", "000-L1374", "000-L0235"},
    "protocol-version": {"003-L0279"},
    "timestamp-form": {"decision 5"},
    "answer-form": {"001-L0044"},
    "answer-later": {"001-L0044"},
    "answer-id": {"001-L0045"},
    "answer-error": {"001-L0051"},
    "choice-key": {"000-L0832"},
    "join-accept": {"000-L0614"},
    "join-type": {"001-L0044"},
    "join-fields": {"000-L0608", "000-L1370", "000-L1373"},
    "message-type": {"000-L1371"},
    "arrival-timestamp": {"000-L0610"},
    "player-id": {"000-L0609", "000-L0831"},
    "sender": {"000-L1372"},
    "auth-token": {"decision 19"},
}
PATIENCE = 3_600.0


class Gathering(NamedTuple):
    """A hall and the fakes in it, by the ids that they were given."""

    hall: Hall
    fakes: dict[str, Fake]


async def gathered(hall: Hall, kinds: Iterable[Species], **more: Any) -> Gathering:
    """Let fakes come, each in its own way."""
    net = MemoryNet(hall.network, hall.world("zoo").caller)
    fakes: dict[str, Fake] = {}
    for number, species in enumerate(kinds):
        fake = Fake(species, f"http://127.0.0.1:{8201 + number}/mcp", MANAGER_URL, net, clock=hall.clock, **more)
        await fake.come()
        if fake.has("never-registers"):
            added = await hall.operate("add_player", endpoint=fake.endpoint, display_name=species.name)
            fakes[added["player_id"]] = fake
        elif fake.registered:
            fakes[fake.given_id] = fake
    return Gathering(hall, fakes)


def unfair(league: League, fakes: dict[str, Fake]) -> list[str]:
    """What became of anybody that is not as it should be, when everybody can play."""
    found = [f"{one.id}: {one.outcome}" for one in league.matches.values() if one.result.details.status not in PLAYED]
    for player_id, fake in fakes.items():
        own = [one.id for one in league.matches.values() if player_id in one.players]
        for what, matches in (("joined", fake.joined), ("chose in", fake.chose), ("heard the end of", fake.over)):
            if sorted(set(matches)) != sorted(own):
                found.append(f"{fake.species.name} {what} {matches}, not {own}")
        found += [f"{fake.species.name} did not get {what}" for what in fake.broken]
        if not fake.has("joins-by-ack"):
            # Only when every form has been tried it is known whether an acknowledgement is a join.
            found += [f"{fake.species.name} was sent what it cannot read: {seen.body!r}" for seen in fake.wasted]
    return found


PLAYED = ("WIN", "DRAW")


def misjudged(league: League, fakes: dict[str, Fake]) -> list[str]:
    """The rules that were not noted and should be, and those that were and should not."""
    found = []
    for player_id in league.players:
        noted = set(league.broken_rules.get(player_id, ()))
        fake = fakes.get(player_id)
        expected = frozenset() if fake is None else fake.notes(player_id)
        name = player_id if fake is None else fake.species.name
        found += [f"{name}: {rule} was not noted, only {noted}" for rule in expected if not OURS[rule] & noted]
        found += [f"{name}: {rule} was noted" for rule in noted - set().union(*(OURS[one] for one in expected))]
    return found


def test_every_rule_of_the_zoo_has_one_of_ours() -> None:
    assert set(OURS) == set(RULES)


def test_a_league_of_ten_strangers_and_four_of_ours_is_played_to_its_end_without_a_technical_loss(
    tmp_path: Path,
) -> None:
    async def play() -> None:
        async with Hall(tmp_path, profile="open") as hall:
            await hall.fill("random", "frequency", "random", "random", referees=2)
            _, fakes = await gathered(hall, TEN.values())
            assert len(fakes) == 10
            await hall.operate("start")
            await hall.end(PATIENCE)
            assert hall.league.state == "LEAGUE_COMPLETED"
            assert len(hall.league.matches) == 91
            assert unfair(hall.league, fakes) == []
            assert misjudged(hall.league, fakes) == []
            assert [fake.species.name for fake in fakes.values() if fake.exited] == ["lemur"]
            log = [record.event for record in await hall.log.read(0, 10_000)]
            assert not audited(log).findings
            # What is forgiven is recorded beside the results, and not in them.
            results = [event.result for event in map(decode, log) if isinstance(event, ResultRecorded)]
            assert not any(result.details.broken_rules or result.details.forms for result in results)

    loop.run(play())


@pytest.mark.parametrize("name", ALONE)
def test_whoever_has_one_trait_alone_plays_and_that_is_noted(name: str, tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, profile="open", rounds="double") as hall:
            await hall.fill("random", referees=2)
            _, fakes = await gathered(hall, [ALONE[name]])
            assert len(fakes) == 1
            await hall.operate("start")
            await hall.end(PATIENCE)
            assert unfair(hall.league, fakes) == []
            assert misjudged(hall.league, fakes) == []

    loop.run(play())


def test_one_that_plays_only_tic_tac_toe_plays_it(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, profile="open", game_type="tic_tac_toe") as hall:
            await hall.fill("random", "random", referees=2)
            _, fakes = await gathered(hall, [TIC_TAC_TOE])
            (raven,) = fakes.values()
            await hall.operate("start")
            await hall.end(PATIENCE)
            own = [one for one in hall.league.matches.values() if raven.given_id in one.players]
            assert {one.outcome.status for one in own} <= {"WIN", "DRAW"}
            assert sorted(raven.over) == [one.id for one in own]
            assert not raven.broken
            assert misjudged(hall.league, fakes) == []

    loop.run(play())


def test_one_whom_nobody_can_host_loses_its_matches_and_holds_up_nobody_elses(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, profile="open") as hall:
            await hall.fill("random", "random", referees=2)
            _, fakes = await gathered(hall, [NOBODY_HOSTS["only-dies-joining"], TEN["heron"]])
            dying, heron = fakes.values()
            await hall.operate("start")
            await hall.end(PATIENCE)
            matches = hall.league.matches.values()
            assert {one.outcome.ruling for one in matches if dying.given_id in one.players} == {"INVALID_ANSWER"}
            assert not [
                one
                for one in matches
                if one.outcome.ruling != "WIN" and one.outcome.ruling != "DRAW" and dying.given_id not in one.players
            ]
            [shown] = [one for one in (await hall.operate("agents"))["agents"] if "lost_technically" in one]
            assert shown["id"] == dying.given_id
            assert [one["ruling"] for one in shown["lost_technically"]] == ["INVALID_ANSWER"] * 3
            # Every invited player gets the end, also one that never came.
            assert len(set(dying.over)) == 3
            assert len(heron.chose) == 2

    loop.run(play())


def test_what_is_posted_to_the_wrong_referee_is_passed_on_to_the_right_one(tmp_path: Path) -> None:
    async def play() -> None:
        async with Hall(tmp_path, profile="open", rounds="double") as hall:
            # Referees of one match at a time, so that each has some; the fake knows only the first two.
            for _ in range(3):
                await hall.referee(1)
            for _ in range(4):
                await hall.player()
            _, fakes = await gathered(hall, [ALONE["only-joins-at-fixed-port"], ALONE["only-joins-later"]])
            await hall.operate("start")
            await hall.end(PATIENCE)
            assert unfair(hall.league, fakes) == []
            refereed = {one.referee_id for one in hall.league.matches.values() if set(fakes) & set(one.players)}
            assert refereed == {"REF01", "REF02", "REF03"}
            passed = [one for one in hall.wire if one.params.get("passed_on")]
            assert passed
            assert all(one.by.startswith("referee") and one.answer["result"]["status"] for one in passed)

    loop.run(play())


def test_the_same_league_is_played_over_real_http(tmp_path: Path) -> None:
    async def play() -> None:
        sockets = [listen("127.0.0.1", 0) for _ in range(7)]
        manager_url, *urls = (endpoint_of(sock) for sock in sockets)
        caller, net = HttpCaller(AddressPolicy.local()), SocketNet()
        world = World(caller, tmp_path)
        settings = Settings(league_id="league_open", announce_lead=0.0, profile="open")
        manager = Manager(world, MemoryLog(), settings, manager_url, ADMIN)
        await manager.open()
        server = manager_server(manager, sockets[0])
        await server.start()
        running = asyncio.create_task(manager.run())
        referees = [
            RefereeAgent(world, manager_url=manager_url, endpoint=url, name=f"Referee {url}", max_concurrent=10)
            for url in urls[:2]
        ]
        players = [
            PlayerAgent(Player(f"Ours {number}", STRATEGIES["random"]), world, manager_url, url)
            for number, url in enumerate(urls[2:])
        ]
        served = []
        for agent, sock in zip([*referees, *players], sockets[1:], strict=True):
            refuse = agent.refuse if isinstance(agent, RefereeAgent) else player_refusal
            registered = asyncio.Event()
            told = partial(_hear, registered)
            served.append(asyncio.create_task(serve(agent, sock, refuse, notify=told)))
            await registered.wait()
        ports = {"REF01": sockets[1].getsockname()[1], "REF02": sockets[2].getsockname()[1]}
        fakes: dict[str, Fake] = {}
        for species in TEN.values():
            fake = Fake(species, net.reserve(), manager_url, net, fixed_ports=ports)
            await fake.come()
            if fake.has("never-registers"):
                added = await _operate(caller, manager_url, "add_player", endpoint=fake.endpoint, display_name="Otter")
                fakes[added["player_id"]] = fake
            else:
                fakes[fake.given_id] = fake
        shown = await _operate(caller, manager_url, "start")
        assert shown["unreachable"] == []
        await running
        assert await asyncio.gather(*served) == [True] * 6
        for fake in fakes.values():
            await fake.leave()
        await net.finish()
        await server.stop()
        await manager.close()
        await caller.close()
        assert len(manager.ledger.league.matches) == 91
        assert unfair(manager.ledger.league, fakes) == []
        assert misjudged(manager.ledger.league, fakes) == []

    async def in_time() -> None:
        async with asyncio.timeout(60):
            await play()

    asyncio.run(in_time())


def _hear(registered: asyncio.Event, text: str) -> None:
    if text.endswith("is registered"):
        registered.set()


async def _operate(caller: HttpCaller, manager: str, command: str, **fields: Any) -> dict[str, Any]:
    body = msgspec.json.encode({"command": command, "admin_token": ADMIN} | fields)
    answer = await caller.post(manager, request("operator", body, 1), 10)
    result: dict[str, Any] = msgspec.json.decode(answer.body)["result"]
    return result
