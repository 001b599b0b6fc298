"""Each fake does what its row says when it is spoken to by hand, in the right form and in wrong ones."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.leagues import MANAGER_URL, Hall, in_virtual_time, url_of
from tests.zoo.dialects import (
    ALONE,
    NOBODY_HOSTS,
    RULES,
    TEN,
    TIC_TAC_TOE,
    TRAITS,
    ZOO,
    Answer,
    Fake,
    MemoryNet,
    SocketNet,
)
from tests.zoo.dialects.scene import AROUND, MATCH, WELCOME, Scene, message, put
from tests.zoo.dialects.sentences import SENTENCES
from tests.zoo.dialects.traits import FORMS, HOSTABLE

ROOT = Path(__file__).parents[3]


# The tables


def test_every_trait_stands_for_a_sentence_and_every_sentence_has_traits() -> None:
    assert {trait for sentence in SENTENCES for trait in sentence.traits} == set(TRAITS)


def test_the_ten_have_every_trait_but_those_that_are_not_among_them() -> None:
    missing = set(HOSTABLE) - {trait for one in TEN.values() for trait in one.traits}
    assert missing == {"envelope", "registers-envelope"}


@pytest.mark.parametrize("sentence", [one for one in SENTENCES if one.ten is not None], ids=lambda one: one.fact)
def test_the_ten_have_a_trait_as_often_as_the_field(sentence: Any) -> None:
    assert sum(bool(one.traits & set(sentence.traits)) for one in TEN.values()) == sentence.ten


def test_there_are_ten_and_three_that_nobody_hosts_and_one_for_each_trait_alone() -> None:
    assert len(TEN) == 10
    assert len(NOBODY_HOSTS) == 3
    assert {one.traits & {trait} for trait in HOSTABLE for one in ZOO.values() if one.name == f"only-{trait}"} | {
        frozenset({"envelope"})
    } == {frozenset({trait}) for trait in HOSTABLE}


@pytest.mark.parametrize(
    "exclusive",
    [
        r"registers-(league_register|type|message|tools|envelope)|never-registers",
        r"answers-.*",
        r"joins-.*|no-accept",
        r"refuses-(\d+|ok|unknown|error)",
        r"times-.*",
        r"player_id-.*",
        r"sender-.*",
        r"token-.*",
        r"rpc.*|tools|envelope",
    ],
)
def test_no_kind_does_one_thing_in_two_ways(exclusive: str) -> None:
    for one in ZOO.values():
        assert sum(re.fullmatch(exclusive, trait) is not None for trait in one.traits) <= 1, one.name


def test_who_has_an_id_of_its_own_has_one_that_nobody_else_wants() -> None:
    wanted = [one.wants for one in ZOO.values() if "own-id" in one.traits]
    assert len(set(wanted)) == len(wanted)
    assert all(wanted)
    assert not any(one.wants for one in ZOO.values() if "own-id" not in one.traits)


def test_what_a_host_should_note_are_rules() -> None:
    assert {rule for trait in TRAITS.values() for rule in trait.notes} | {"player-id", "sender"} == set(RULES)


# The ten, each through a match as a good host leads it


def _form(fake: Fake) -> str:
    return next(form for form in (*FORMS,) if fake.has(form))


async def _hosted(name: str) -> Scene:
    scene = Scene(name)
    scene.open_fixed_ports()
    scene.around = next((AROUND[trait] for trait in AROUND if scene.fake.has(trait)), scene.around)
    if scene.fake.has("wants-REGISTERED"):
        scene.welcome["status"] = "REGISTERED"
    await scene.fake.come()
    return scene


@pytest.mark.parametrize("name", [*TEN, *ALONE, TIC_TAC_TOE.name])
@in_virtual_time
async def test_whoever_can_be_hosted_plays_two_matches_with_a_host_that_does_it_right(name: str) -> None:
    scene = await _hosted(name)
    fake = scene.fake
    form = _form(fake)
    choice = "GAME_MOVE_CALL" if form == "envelope" else "CHOOSE_PARITY_CALL"
    await scene.say(form, "ROUND_ANNOUNCEMENT")
    for match_id in ("R1M1", "R2M1"):
        for kind in ("GAME_INVITATION", choice, "GAME_OVER"):
            assert (await scene.say(form, kind, match_id)).status == 200
    assert fake.joined == fake.chose == fake.over == ["R1M1", "R2M1"]
    assert fake.registered is not fake.has("never-registers")
    assert (fake.broken, fake.wasted) == ([], [])
    assert fake.listening
    await fake.leave()
    assert not fake.listening


@pytest.mark.parametrize("name", [*TEN, TIC_TAC_TOE.name])
@pytest.mark.parametrize("form", FORMS)
@in_virtual_time
async def test_a_wrong_form_has_no_effect(name: str, form: str) -> None:
    scene = await _hosted(name)
    mine = {one for one in FORMS if scene.fake.has(one)}
    # 001's methods are the same but for the choice.
    kinds = [kind for kind in MATCH if not (form.startswith("rpc") and mine & {"rpc", "rpc-choose", "rpc-parity"})]
    for kind in kinds if form not in mine else ():
        await scene.say(form, kind)
    assert scene.fake.joined == scene.fake.chose == scene.fake.over == scene.posted == []
    assert not any(seen.form for seen in scene.fake.seen)


# The record


@in_virtual_time
async def test_a_form_is_wasted_only_on_somebody_who_was_understood_before() -> None:
    scene = Scene("ibis")
    fake = scene.fake
    await scene.say("type", "GAME_INVITATION")
    await scene.say("rpc", "GAME_INVITATION")
    await scene.say("rpc-parity", "CHOOSE_PARITY_CALL")
    await scene.say("rpc-choose", "CHOOSE_PARITY_CALL")
    await scene.say("rpc", "LEAGUE_STANDINGS_UPDATE")
    await scene.say("type", "GAME_INVITATION", sender="referee:REF02")
    assert fake.wasted == []
    await scene.say("message", "GAME_OVER")
    await scene.say("rpc-parity", "CHOOSE_PARITY_CALL")
    await scene.say("tools", "GAME_INVITATION")
    await scene.say("envelope", "GAME_INVITATION")
    assert [seen.kind for seen in fake.wasted] == [
        "GAME_OVER",
        "CHOOSE_PARITY_CALL",
        "GAME_INVITATION",
        "GAME_INVITATION",
    ]
    assert [seen.form for seen in fake.seen][:4] == ["", "rpc-choose", "", "rpc-choose"]
    assert fake.seen[0].answer is not None
    assert fake.seen[0].answer.status == 500


# Real hosts


@in_virtual_time
async def test_proper_fakes_play_a_whole_league_of_ours_to_the_letter(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.referee()
        net = MemoryNet(hall.network, hall.world("zoo").caller)
        fakes = [
            Fake(ZOO[name], url_of("player", number), MANAGER_URL, net, clock=hall.clock)
            for number, name in enumerate(("only-rpc", "only-rpc-parity", "only-times-offset"), 51)
        ]
        for fake in fakes:
            await fake.come()
        await hall.operate("start")
        await hall.end()
        assert [len(fake.joined) for fake in fakes] == [2, 2, 2]
        assert all(fake.joined == fake.chose == fake.over for fake in fakes)
        assert [(fake.broken, fake.wasted) for fake in fakes] == [([], [])] * 3
        assert hall.faults() == []


def _desk(welcome: dict[str, Any], look: Callable[[dict[str, Any]], Awaitable[None]]) -> Any:
    async def answer(body: bytes, _peer: Any) -> Answer:
        call = json.loads(body)
        await look(call)
        return Answer(200, json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": welcome}).encode())

    return answer


def _request(form: str, kind: str) -> bytes:
    method, params = put(form, message(kind))
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 7}).encode()


def test_a_fake_lives_on_real_sockets_too() -> None:
    async def play() -> None:
        net = SocketNet()
        manager, endpoint = net.reserve(), net.reserve()

        async def look(_call: dict[str, Any]) -> None:
            with pytest.raises(ConnectionRefusedError):
                await net.post(endpoint, b"{}", 1)

        await net.open(manager, _desk(WELCOME, look))
        fake = Fake(TEN["heron"], endpoint, manager, net)
        await fake.come()
        assert fake.registered
        assert (await net.post(endpoint, _request("type", "GAME_INVITATION"), 1)).status == 404
        joined = await net.post(endpoint, _request("rpc", "GAME_INVITATION"), 1)
        assert json.loads(joined.body)["result"]["accepted"] is True
        await fake.leave()
        await net.close(manager)
        await net.finish()
        with pytest.raises(ConnectionRefusedError):
            await net.post(endpoint, b"{}", 1)

    asyncio.run(play())


def test_a_fake_runs_as_a_program_until_the_league_is_over() -> None:
    async def play() -> None:
        net = SocketNet()
        manager = net.reserve()
        came: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        await net.open(manager, _desk(WELCOME, came.put))
        program = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "tests.zoo.dialects", "only-exits-on-LEAGUE_COMPLETED", "--manager", manager),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(20):
                endpoint = (await came.get())["params"]["player_meta"]["contact_endpoint"]
                joined = await net.post(endpoint, _request("rpc", "GAME_INVITATION"), 5)
                assert json.loads(joined.body)["result"]["accept"] is True
                over = await net.post(endpoint, _request("rpc", "LEAGUE_COMPLETED"), 5)
                assert json.loads(over.body)["result"]["status"] == "ACKNOWLEDGED"
                said, _ = await program.communicate()
        finally:
            if program.returncode is None:
                program.kill()
                await program.wait()
        assert program.returncode == 0
        assert b"broken: []; wasted: 0; joined: 1; chose: 0" in said
        await net.close(manager)
        await net.finish()

    asyncio.run(play())
