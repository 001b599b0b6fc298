"""Our player under the managers of the field: it is accepted, joins, chooses, and is never silent about a failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.registration import RegistrationRefused
from leaguekit.agents.world import World
from leaguekit.player.agent import MAX_REPORTS, PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.sim import loop
from leaguekit.transport.base import HttpAnswer, Peer
from leaguekit.transport.memory import MemoryCaller, MemoryNetwork
from tests.agents.leagues import MANAGER_URL, Hall, url_of
from tests.zoo.managers import MANAGER, TRAITS, FakeManager

ENDPOINT = "http://127.0.0.1:8101/mcp"
# Every trait occurs together with others.
TOGETHER = {
    "tools": "takes-tools refuses-404 ids-short calls-tools times-double-zone null-ids role-lower technical-zero",
    "message": "takes-message refuses-ok answers-id-1 ids-long calls-message no-envelope odd-standings no-token",
    "envelope": "takes-envelope ids-number calls-envelope says-REGISTERED times-double-zone technical-zero",
    "type": "takes-type answers-bare ids-short calls-type writes-type nested-only null-ids",
    "old": "takes-league_register refuses-404 answers-id-1 calls-choose_parity role-lower no-envelope",
}
ACKS = {
    "GAME_OVER": "GAME_OVER_ACK",
    "LEAGUE_STANDINGS_UPDATE": "STANDINGS_UPDATE_ACK",
    "LEAGUE_COMPLETED": "LEAGUE_COMPLETED_ACK",
}


async def play(folder: Path, manager: FakeManager) -> tuple[PlayerAgent, list[str]]:
    """A whole league under a manager, and what the player said meanwhile."""
    network, said = MemoryNetwork(), list[str]()
    network.listen(MANAGER, manager.handle)
    world = World(MemoryCaller(network), folder)
    player = Player("Ours", STRATEGIES["always_even"])
    agent = PlayerAgent(player, world, MANAGER, ENDPOINT, notify=said.append, profile="open")
    network.listen(ENDPOINT, agent.handle)
    await agent.register()
    await manager.lead(MemoryCaller(network))
    await agent.close()
    return agent, said


@pytest.mark.parametrize("traits", [*TRAITS, *TOGETHER.values()], ids=[*TRAITS, *TOGETHER])
def test_our_player_plays_under_a_manager_of_the_field(tmp_path: Path, traits: str) -> None:
    async def main() -> None:
        manager = FakeManager(*traits.split())
        agent, said = await play(tmp_path, manager)
        assert len(manager.registrations) == 1
        answers = {one.kind: one.message for one in manager.answered}
        assert answers["GAME_INVITATION"]["accept"] is True
        assert answers["CHOOSE_PARITY_CALL"]["parity_choice"] == "even"
        for kind in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"):
            assert (answers[kind]["player_id"], answers[kind]["match_id"]) == (manager.player_id, manager.match_id)
            assert answers[kind]["sender"] == f"player:{manager.player_id}"
        for kind in ("GAME_OVER", "LEAGUE_STANDINGS_UPDATE", "LEAGUE_COMPLETED"):
            assert answers[kind]["status"] == "ACKNOWLEDGED"
        assert agent.finished.is_set()
        [match] = agent.history.values()
        assert match.result == "WIN"
        assert [text for text in said if "could not be answered" in text] == []
        # What was only acknowledged is said.
        unread = [text for text in said if "cannot be read, and is acknowledged" in text]
        assert len(unread) == (2 if "odd-standings" in traits else 0)

    loop.run(main())


def test_every_trait_occurs_alone_and_together() -> None:
    assert {trait for traits in TOGETHER.values() for trait in traits.split()} == set(TRAITS) - {"plain"}


@pytest.mark.parametrize("trait", ["takes-tools", "ids-short", "answers-id-1", "times-double-zone"])
def test_the_spec_profile_does_not_play_there_and_says_so(tmp_path: Path, trait: str) -> None:
    """So that these tests can fail."""

    async def main() -> None:
        network, said, manager = MemoryNetwork(), list[str](), FakeManager(trait)
        network.listen(MANAGER, manager.handle)
        world = World(MemoryCaller(network), tmp_path)
        agent = PlayerAgent(Player("Ours", STRATEGIES["random"]), world, MANAGER, ENDPOINT, notify=said.append)
        network.listen(ENDPOINT, agent.handle)
        with pytest.raises(RegistrationRefused):
            await agent.register()
        await agent.close()

    loop.run(main())


@pytest.mark.parametrize("profile", ["spec", "open"])
def test_our_player_in_the_open_profile_plays_a_whole_league_of_ours(tmp_path: Path, profile: Any) -> None:
    async def main() -> None:
        async with Hall(tmp_path, profile=profile) as hall:
            await hall.referee()
            agents, said = [], list[str]()
            for number in (1, 2, 3):
                player, url = Player(f"Ours {number}", STRATEGIES["random"]), url_of("player", number)
                world = hall.world(f"player-{number}")
                agent = PlayerAgent(player, world, MANAGER_URL, url, notify=said.append, profile="open")
                hall.network.listen(url, agent.handle)
                await agent.register()
                agents.append(agent)
            await hall.operate("start")
            await hall.end()
            assert [len(agent.history) for agent in agents] == [2, 2, 2]
            assert {one.outcome.status for one in hall.league.matches.values()} <= {"WIN", "DRAW"}
            assert not hall.league.broken_rules
            assert [text for text in said if "not" in text] == []
            for agent in agents:
                await agent.close()

    loop.run(main())


async def refuse(body: bytes, _peer: Peer) -> HttpAnswer:
    return HttpAnswer(400, json.dumps({"error": "The league is full", "id": json.loads(body)["id"]}).encode())


async def reject(body: bytes, _peer: Peer) -> HttpAnswer:
    result = {"status": "REJECTED", "reason": "The league is full"}
    return HttpAnswer(200, json.dumps({"result": result, "id": 1}).encode())


async def babble(_body: bytes, _peer: Peer) -> HttpAnswer:
    return HttpAnswer(200, b"<html>Welcome</html>")


@pytest.mark.parametrize(
    ("answer", "reason", "reports"),
    [(refuse, "The league is full", 6), (reject, "The league is full", 0), (babble, "<html>Welcome</html>", 6)],
)
def test_a_player_that_no_form_gets_in_says_why(tmp_path: Path, answer: Any, reason: str, reports: int) -> None:
    async def main() -> None:
        network, said = MemoryNetwork(), list[str]()
        network.listen(MANAGER, answer)
        world = World(MemoryCaller(network), tmp_path)
        player = Player("Ours", STRATEGIES["random"])
        agent = PlayerAgent(player, world, MANAGER, ENDPOINT, notify=said.append, profile="open")
        with pytest.raises(RegistrationRefused, match=reason):
            await agent.register()
        assert len([text for text in said if "did not accept the registration by" in text]) == reports
        await agent.close()

    loop.run(main())


@pytest.mark.parametrize("profile", ["spec", "open"])
def test_every_request_that_could_not_be_answered_is_said_once_and_when_its_number_has_doubled(
    tmp_path: Path, profile: Any
) -> None:
    async def main() -> None:
        manager, said = FakeManager(), list[str]()
        network = MemoryNetwork()
        network.listen(MANAGER, manager.handle)
        world = World(MemoryCaller(network), tmp_path)
        player = Player("Ours", STRATEGIES["random"])
        agent = PlayerAgent(player, world, MANAGER, ENDPOINT, notify=said.append, profile=profile)
        await agent.register()
        requests = [b"no JSON", b'{"jsonrpc":"2.0","method":"dance","id":1}']
        requests.append(b'{"jsonrpc":"2.0","method":"handle_game_invitation","params":{},"id":1}')
        for number, body in enumerate(requests, 1):
            for _ in range(5):
                assert b"error" in (await agent.handle(body, Peer("127.0.0.1")) or b"")
            assert len(said) == 3 * number
        assert said[3].startswith("Ours: \"dance\" could not be answered: E042 There is no method 'dance' here")
        assert said[5].endswith("(4 times)")
        assert '"handle_game_invitation" could not be answered: E003' in said[6]
        for number in range(2 * MAX_REPORTS):
            await agent.handle(b'{"jsonrpc":"2.0","method":"m%d","id":1}' % number, Peer("127.0.0.1"))
        assert len(agent._reports) <= MAX_REPORTS + 1
        await agent.close()

    loop.run(main())
