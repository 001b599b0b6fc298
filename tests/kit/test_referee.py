"""The kit against referees. Ours passes every check; for each check there is a referee that fails only that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leaguekit.agents.world import World
from leaguekit.kit.checks import Check, CheckSettings, Outcome, run_checks
from leaguekit.kit.referee import CHECKS
from leaguekit.kit.referee.harness import RefereeHarness
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim import loop
from tests.kit.memory_network import KIT_URL, MemoryKitNetwork
from tests.kit.mutants import Json, Mutant, check_registry, checks_of_area, failed, params_of, without_table_checks
from tests.kit.referee_mutants import MUTANTS

URL = "http://127.0.0.1:7001/mcp"


async def _run_checks(root: Path, mutant: Mutant, checks: Sequence[Check[RefereeHarness]] = CHECKS) -> list[Outcome]:
    network = MemoryKitNetwork()
    own = network.world(root, seed=2)
    world = World(mutant.caller(network.memory), root, own.now, own.entropy, inline=True)
    referee = RefereeAgent(world, manager_url=KIT_URL, endpoint=URL, name="Ours")
    network.memory.listen(URL, mutant.handler(referee.handle))

    async def run() -> None:
        await referee.register()
        await referee.finished.wait()
        if not mutant.keeps_running:
            network.memory.close(URL)

    running = asyncio.ensure_future(run())
    settings = CheckSettings(timeout_seconds=5.0, full=True)
    harness = RefereeHarness(network.world(), network, settings=settings)
    await harness.open()
    try:
        return await run_checks(checks, harness, settings)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await referee.close()


def test_our_own_referee_passes_every_check(tmp_path: Path) -> None:
    outcomes = loop.run(_run_checks(tmp_path, Mutant()))
    assert [(one.check.id, one.evidence, one.reason) for one in outcomes if one.state != "passed"] == []


@pytest.mark.parametrize("check", without_table_checks(CHECKS, MUTANTS), ids=lambda check: check.id)
def test_each_check_has_a_referee_that_fails_it_and_nothing_else_about_that_matter(
    check: Check[RefereeHarness], tmp_path: Path
) -> None:
    assert failed(loop.run(_run_checks(tmp_path, MUTANTS[check.id](), checks_of_area(check, CHECKS)))) == {check.id}


@pytest.mark.longest
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.id)
def test_each_check_has_a_referee_that_fails_it_and_nothing_else(check: Check[RefereeHarness], tmp_path: Path) -> None:
    assert failed(loop.run(_run_checks(tmp_path, MUTANTS[check.id]()))) == {check.id}


def test_every_mutant_is_of_a_check_and_every_check_has_its_sources() -> None:
    check_registry(CHECKS, MUTANTS)


def _by_announcement() -> Mutant:
    """Return a referee without start_match. ROUND_ANNOUNCEMENT starts its matches, with the documents' limits."""

    def change(request: Any) -> Any:
        if not isinstance(request, dict):
            return request
        params = params_of(request)
        if request.get("method") == "start_match":
            return request | {"method": "no_such_method"}
        if params.get("message_type") != "ROUND_ANNOUNCEMENT" or "player_A_endpoint" not in params["matches"][0]:
            return request
        return [_assignment(request, match) for match in params["matches"]]

    def first(request: Any, answer: Any) -> Any:
        return answer[0] if isinstance(answer, list) and isinstance(request, dict) else answer

    return Mutant(change_incoming=change, change_answer=first)


def _assignment(announcement: Json, match: Json) -> Json:
    params = announcement["params"]
    shared = ("protocol", "sender", "timestamp", "auth_token", "league_id", "round_id")
    limits = {
        "join_seconds": 5,
        "choice_seconds": 30,
        "game_over_seconds": 5,
        "max_retries": 3,
        "retry_seconds": 2,
    }
    record = {"wins": 0, "losses": 0, "draws": 0}
    sides = {
        f"player_{side}": {
            "player_id": match[f"player_{side}_id"],
            "endpoint": match[f"player_{side}_endpoint"],
            "state": "ACTIVE",
            "record": record,
            "shown_token": "tok-ours",
        }
        for side in "AB"
    }
    message = (
        {name: params[name] for name in shared}
        | sides
        | {
            "message_type": "MATCH_ASSIGNMENT",
            "conversation_id": f"conv-{match['match_id']}",
            "match_id": match["match_id"],
            "game_type": "even_odd",
            "attempt": 1,
            "match_seed": "5e" * 32,
            "time_limits": limits,
        }
    )
    return announcement | {"method": "start_match", "params": message}


def test_a_referee_that_begins_by_the_announcement_is_not_asked_for_what_it_cannot_know(tmp_path: Path) -> None:
    outcomes = loop.run(_run_checks(tmp_path, _by_announcement()))
    assert failed(outcomes) == {"round.message_type", "round.round_id", "round.referee_id"}
    not_run = {one.check.id: one.reason for one in outcomes if one.state == "not run"}
    assert not_run.keys() == {
        "round.accepted",
        "over.seed",
        "retry.invitation_pause",
        "retry.call_pause",
        "wrong.token",
        *(check.id for check in CHECKS if check.id.startswith("post.")),
        "repeat.assignment",
        "repeat.stranger",
    }
    assert "by the announcement" in not_run["round.accepted"]


def test_a_referee_whose_url_is_given_is_not_waited_for(tmp_path: Path) -> None:
    async def main() -> list[Outcome]:
        network = MemoryKitNetwork()
        referee = RefereeAgent(network.world(tmp_path, seed=2), manager_url=KIT_URL, endpoint=URL, name="Ours")
        network.memory.listen(URL, referee.handle)
        harness = RefereeHarness(network.world(), network, url=URL)
        await harness.open()
        return await run_checks(CHECKS, harness)

    outcomes = {one.check.id: one for one in loop.run(main())}
    assert {one.reason for name, one in outcomes.items() if name.startswith("register.")} == {
        "the referee does not register: its URL was given"
    }
    assert outcomes["reach.ping"].state == "passed"
    # Ours accepts matches only from its own manager.
    assert outcomes["round.begins"].state == "failed"


RUBBISH: tuple[Any, ...] = (None, [], [7], {}, "", "\ud800", 1e308, True, -1)


@pytest.mark.parametrize(
    "rubbish", [{"status": []}, *(pytest.param(one, marks=pytest.mark.longest) for one in RUBBISH)], ids=repr
)
def test_the_kit_survives_whatever_a_referee_answers_and_sends(rubbish: Any, tmp_path: Path) -> None:
    def answer(request: Any, _answer: Any) -> Any:
        return {"jsonrpc": "2.0", "result": rubbish, "id": request.get("id") if isinstance(request, dict) else None}

    def fault(request: Any, _answer: Any) -> Any:
        return {"jsonrpc": "2.0", "error": rubbish, "id": request.get("id") if isinstance(request, dict) else None}

    def message(request: Json, _url: str) -> Json:
        kept = {"contact_endpoint", "referee_meta"}
        params = {name: value if name in kept else rubbish for name, value in request["params"].items()}
        return request | {"params": params}

    def within(request: Json, _url: str) -> Json:
        if request["method"] not in ("notify_match_result", "report_match_result", "parity_choose"):
            return request
        inner = {
            name: dict.fromkeys(value, rubbish) if isinstance(value, dict) else value
            for name, value in request["params"].items()
        }
        return request | {"params": inner}

    for mutant in (
        Mutant(change_answer=answer),
        Mutant(change_answer=fault),
        Mutant(change_request=message),
        Mutant(change_request=within),
    ):
        failed(loop.run(_run_checks(tmp_path / str(id(mutant)), mutant)))
