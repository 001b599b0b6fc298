"""What chance gave in leagues that were played, computed as ``docs/protocol.md`` says and without leaguekit."""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from leaguekit.sim import loop
from tests.agents.leagues import Hall
from tests.played import played

LEAGUE_SEED = bytes.fromhex("5e" * 32)


def seed_of(match_id: str, attempt: int) -> bytes:
    text = f"{len(match_id)}:{match_id}{len(str(attempt))}:{attempt}"
    return hmac.new(LEAGUE_SEED, text.encode(), "sha256").digest()


def given(seed: bytes, step: int, odds: Sequence[tuple[Any, int]]) -> Any:
    digest, total = sha256(f"{seed.hex()}:{step}".encode()).digest(), sum(weight for _, weight in odds)
    while int.from_bytes(digest, "big") >= 2**256 // total * total:
        digest = sha256(digest).digest()
    rest = int.from_bytes(digest, "big") % total
    for outcome, weight in odds:
        if rest < weight:
            return outcome
        rest -= weight
    raise AssertionError("the rule gives an outcome")


def results(log: list[bytes]) -> list[dict[str, Any]]:
    return [event for event in map(json.loads, log) if event["event"] == "ResultRecorded"]


def test_the_number_of_even_odd_follows_from_the_seed_of_the_league() -> None:
    found = results(played().log)
    assert len(found) == 6
    for event in found:
        details = event["result"]["details"]
        digest = sha256(b"even_odd" + seed_of(event["match_id"], event["attempt"])).digest()
        while digest[0] >= 250:
            digest = sha256(digest).digest()
        assert details["drawn_number"] == digest[0] % 10 + 1
        opened = f"{details['draw_nonce']}:{details['drawn_number']}"
        assert sha256(opened.encode()).hexdigest() == details["draw_commitment"]


async def league_with_noise(root: Path) -> list[bytes]:
    game = {"game_type": "prisoners_dilemma", "game_args": {"turns": 10, "noise": 0.25}, "payoff_range": (0.0, 5.0)}
    async with Hall(root, **game) as hall:
        await hall.fill("random", "random", "random")
        await hall.operate("start")
        await hall.end()
        return [*hall.log.content.events]


def test_what_chance_gives_follows_from_the_seed_of_the_league_and_the_step(tmp_path: Path) -> None:
    odds = [("", 750 * 750), ("A", 250 * 750), ("B", 750 * 250), ("AB", 250 * 250)]
    outcomes = []
    for event in results(loop.run(league_with_noise(tmp_path))):
        details, seed = event["result"]["details"], seed_of(event["match_id"], event["attempt"])
        assert sha256(f"{details['draw_nonce']}:{seed.hex()}".encode()).hexdigest() == details["draw_commitment"]
        steps = [(step, moves["chance"]) for step, moves in enumerate(details["record"]) if "chance" in moves]
        assert steps == [(step, given(seed, step, odds)) for step, _ in steps]
        outcomes += [outcome for _, outcome in steps]
    assert len(outcomes) == 30
    assert {*outcomes} >= {"", "A", "B"}
