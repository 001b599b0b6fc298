"""The stresses in short; ``make stress`` runs them in full."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.stress import floods, limits, readers, registrations, siege, slots, strangers, streams

pytestmark = [
    pytest.mark.longest,
    pytest.mark.skipif(sys.platform != "linux", reason="needs several loopback addresses"),
]


def test_a_besieged_league_ends_without_false_losses_and_its_manager_without_a_scratch(tmp_path: Path) -> None:
    told, faults = asyncio.run(siege.stress(tmp_path, short=True))
    assert faults == [], told


def test_a_crowd_at_one_address_fills_the_league_and_its_operator_copes(tmp_path: Path) -> None:
    told, faults = asyncio.run(registrations.stress(tmp_path, short=True))
    assert faults == [], told


def test_players_that_answer_at_half_the_limit_are_never_ruled_late(tmp_path: Path) -> None:
    told, faults = asyncio.run(limits.stress(tmp_path, short=True))
    assert faults == [], told


def test_readers_of_costly_pages_hold_nobody_up_whether_they_leave_or_wait(tmp_path: Path) -> None:
    told, faults = asyncio.run(readers.stress(tmp_path, short=True))
    assert faults == [], told


def test_no_body_holds_the_loop_of_any_program_for_50_ms_or_gets_a_long_answer(tmp_path: Path) -> None:
    told, faults = asyncio.run(floods.stress(tmp_path, short=True))
    assert faults == [], told


def test_no_requests_that_wait_keep_others_from_a_manager_or_a_gateway(tmp_path: Path) -> None:
    told, faults = asyncio.run(slots.stress(tmp_path, short=True))
    assert faults == [], told


def test_no_endless_stream_of_tiny_requests_holds_the_managers_loop(tmp_path: Path) -> None:
    told, faults = asyncio.run(streams.stress(tmp_path, short=True))
    assert faults == [], told


def test_strangers_cost_a_relayed_player_no_match(tmp_path: Path) -> None:
    told, faults = asyncio.run(strangers.stress(tmp_path, short=True))
    assert faults == [], told
