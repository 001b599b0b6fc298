"""The terminal of a manager: one line per event, after the event is written."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest
from msgspec import structs

from leaguekit.cli.event_printer import EventPrinter, event_line
from leaguekit.league.events import PlayerRegistered, RefereeRegistered, decode
from leaguekit.league.fold import apply
from leaguekit.league.state import League
from leaguekit.manager.ledger import Ledger
from leaguekit.protocol import messages as m
from tests.agents.leagues import HeldLog, in_virtual_time
from tests.league.play import Play, refused, won
from tests.programs import Program, league


def lines_of(play: Play) -> list[str]:
    """The lines of all events of a league, without the times."""
    state, lines = League(), []
    for event in map(decode, play.log):
        apply(state, event)
        line = event_line(event, state)
        assert re.match(r"\d\d:\d\d:\d\d  ", line)
        lines.append(line[10:])
    return lines


def test_joins_refusals_rounds_and_results_are_plain_lines_with_names() -> None:
    play = Play(players=2, referees=1)
    late = refused(play.now)
    play.do([structs.replace(late, display_name="P01 or so"), structs.replace(late, address="", endpoint="")])
    play.begin()
    play.record("R1M1", won(play.match("R1M1"), "P01"))
    lines = lines_of(play)
    for expected in (
        "P01 is registered: Agent 1",
        f"P01 or so tried to register as a {late.role} and is refused: {late.reason} ({late.code}). "
        f"It came from {late.address}",
        f"{late.display_name} tried to register as a {late.role} and is refused: {late.reason} ({late.code})",
        "The league starts: 1 round, 1 match",
        "Round 1 is announced",
        "Round 1 is over: Agent 1 (P01) 3, Agent 2 (P02) 0",
        "The league is over. Champion: Agent 1 (P01) with 3 points",
    ):
        assert expected in lines
    (result,) = [line for line in lines if line.startswith("R1M1: Agent")]
    # A name is there once, and the id afterwards.
    assert re.match(r"R1M1: Agent 1 \(P01\) beats Agent 2 \(P02\) \(P01 \w+; P02 \w+; number \d+\), as REF01", result)


def test_only_the_first_of_many_players_are_named_after_a_round() -> None:
    (first, *_) = [line for line in lines_of(Play(players=6, referees=3).begin().play_all()) if "is over: " in line]
    assert first.count("(P0") == 3
    assert first.endswith(", …")


def test_a_round_of_a_knockout_has_no_points_because_they_do_not_decide() -> None:
    play = Play(players=4, referees=2, format="knockout").begin().play_all()
    lines = lines_of(play)
    assert {"Round 1 is over", "Round 2 is over"} <= {*lines}
    first = play.league.table.placed_rows()[0]
    assert lines[-1].endswith(f" in the final. Champion: {first.player_id}")


@in_virtual_time
async def test_an_agent_that_registers_again_is_back() -> None:
    printed: list[str] = []
    play = Play(players=1, referees=1)
    known = Ledger(HeldLog())
    known.record([*map(decode, play.log)])
    printer = EventPrinter(known, printed.append)
    again = [event for event in map(decode, play.log) if isinstance(event, PlayerRegistered | RefereeRegistered)]
    (player,) = [event for event in again if isinstance(event, PlayerRegistered)]
    known.record([*again, structs.replace(player, player_id="P02"), *again])
    await asyncio.sleep(1)
    lines = [line[10:] for line in "\n".join(printed).splitlines()]
    back = ["P01 is back: Agent 1", "REF01 is back: Referee"]
    assert sorted(lines) == sorted([*back, "P02 is registered: Agent 1", *back])
    await printer.close()


@in_virtual_time
async def test_an_event_is_printed_after_it_is_written_and_never_if_it_cannot_be() -> None:
    printed: list[str] = []
    log = HeldLog()
    ledger = Ledger(log)
    printer = EventPrinter(ledger, printed.append)
    events = [*map(decode, Play(players=2, referees=0).log)]
    log.hold()
    ledger.record(events[:2])
    await asyncio.sleep(1)
    assert printed == []
    log.release()
    await asyncio.sleep(1)
    assert [line[10:] for line in printed] == ["P01 is registered: Agent 1"]
    log.break_down()
    ledger.record(events[2:])
    await asyncio.sleep(1)
    assert len(printed) == 1
    await printer.close()


@pytest.mark.parametrize("players", [2, 12])
@in_virtual_time
async def test_the_end_names_the_players_whose_moves_were_replaced_and_why(players: int) -> None:
    printed: list[str] = []
    ledger = Ledger(HeldLog())
    printer = EventPrinter(ledger, printed.append)
    play = Play(players=players, referees=6).begin()
    origins = m.MoveOrigins(own=1, replaced=2, reason="it raised\nP02 wins")
    while play.league.state == "RUNNING_LEAGUE":
        play.announce()
        while play.league.round_in_play:
            play.assign()
            for match in map(play.match, play.in_play):
                both = dict.fromkeys(match.players, origins)
                play.record(match.id, won(match, match.a, move_origins=both))
    ledger.record([*map(decode, play.log)])
    await asyncio.sleep(1)
    lines = "\n".join(printed).splitlines()
    replaced = [line for line in lines if line.startswith("By its own statement ")]
    assert len(replaced) == min(players, 10)
    moves = f"{2 * players - 2} of {3 * players - 3} moves of Agent 1 (P01)"
    because = "the first because it raised"
    assert any(
        re.match(rf"By its own statement {re.escape(moves)} were replaced by .*, {because}", one) for one in replaced
    )
    assert (lines[-1] == "Moves of 2 more players were replaced: `league agents --problems` lists them.") is (
        players == 12
    )
    await printer.close()


@pytest.mark.parametrize("others", [1, 12])
@in_virtual_time
async def test_names_of_the_seeding_that_no_player_has_are_printed_at_the_start(others: int) -> None:
    printed: list[str] = []
    ledger = Ledger(HeldLog())
    printer = EventPrinter(ledger, printed.append)
    seeds = dict.fromkeys(["Agent 2", *(f"agent {number}" for number in range(others))], 1500.0)
    ledger.record([*map(decode, Play(players=2, referees=1, seeding="rating", seeds=seeds).begin().log)])
    await asyncio.sleep(1)
    (line,) = [line for line in "\n".join(printed).splitlines() if "seeding" in line]
    assert line.startswith("The seeding names players that are not here: agent 0")
    assert line.endswith(", agent 9, 2 more") is (others == 12)
    assert "Agent 2" not in line
    await printer.close()


@pytest.mark.parametrize("command", ["manager", "host"])
def test_the_terminal_shows_who_comes(tmp_path: Path, command: str) -> None:
    with Program(command, "--port", "0", "--data-dir", tmp_path) as program:
        url = program.said(r"is at (http://\S+)")[1]
        bob = ("--endpoint", "http://127.0.0.1:9999/mcp", "--name", "Bob")
        league("add-player", *bob, "--manager", url, "--data-dir", tmp_path)
        program.said(r"\d\d:\d\d:\d\d  P01 is registered: Bob\n")
