"""Commands that read a store: verify, log, replay, export and rebuild-files, on leagues that were really played."""

from __future__ import annotations

import asyncio
import csv
import hashlib
import io
import json
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from leaguekit.league import commands
from leaguekit.sim import loop
from leaguekit.sim.campaign import LONG_GAME, Scenario, run_scenario
from leaguekit.sim.outcome import LeagueSetup
from leaguekit.store.opening import open_log
from leaguekit.store.sqlite import SqliteLog
from tests.agents.leagues import Hall
from tests.cli.conftest import CommandResult
from tests.league.play import Play, failed
from tests.played import Log, Played, Transcripts, by_hand, played, troubled
from tests.programs import Program

Command = Callable[..., CommandResult]
SEED = "5e" * 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(scope="module")
def store(folder: Path) -> Path:
    return played().store(folder / "league.db")


@pytest.fixture(scope="module")
def eventful(folder: Path) -> Path:
    return by_hand().store(folder / "eventful.db")


@pytest.fixture(scope="module")
def trouble(folder: Path) -> Path:
    return troubled().store(folder / "troubled.db")


def tampered(path: Path, tamper: Callable[[Log], Any], league: Played | None = None) -> Path:
    """A store whose log was changed by somebody."""
    log = Log((league or played()).log)
    tamper(log)
    return Played(log.lines(), {}).store(path)


# Which store


def test_the_newest_store_is_taken_and_named(command: Command, tmp_path: Path) -> None:
    stores = [tmp_path / "agents" / name / "manager" / "league.db" for name in ("older", "newer", "oldest")]
    for path, hours in zip(stores, (2, 1, 3), strict=True):
        path.parent.mkdir(parents=True)
        played().store(path)
        os.utime(path, (time.time() - 3_600 * hours,) * 2)
    assert command("verify", "--data-dir", tmp_path).err == f"Reading {stores[1]}\n"
    # What a manager at work has written lies beside its store.
    stores[2].with_name("league.db-wal").touch()
    assert command("verify", "--data-dir", tmp_path).err == f"Reading {stores[2]}\n"


@pytest.mark.parametrize(
    "arguments", [["verify"], ["log"], ["replay", "R1M1"], ["export"], ["rebuild-files"]], ids=lambda value: value[0]
)
def test_a_store_that_is_not_there_is_said_in_one_line(command: Command, arguments: list[str], tmp_path: Path) -> None:
    done = command(*arguments, "--data-dir", tmp_path)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"league {arguments[0]}: there is no league under {tmp_path}; name its store, or its folder with --data-dir. "
        "A league of another host is on its page, at the manager's address without mcp\n"
    )
    name, *rest = arguments
    for path, why in ((tmp_path / "no.db", "There is no store"), (Path(__file__), "It is not a SQLite database")):
        done = command(name, path, *rest)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert why in done.err


@pytest.mark.parametrize("arguments", [["replay", "R1M1"], ["export"], ["rebuild-files"]], ids=lambda value: value[0])
@pytest.mark.parametrize(
    ("log", "why"),
    [
        (lambda lines: [], "no league was ever created in this store"),
        (lambda lines: [lines[0], b'{"event":"?"}'], "event 2 cannot be read: Invalid value"),
    ],
)
def test_a_log_that_cannot_be_read_is_said_in_one_line(
    command: Command, arguments: list[str], log: Callable[[list[bytes]], list[bytes]], why: str, tmp_path: Path
) -> None:
    name, *rest = arguments
    path = Played(log(played().log), {}).store(tmp_path / "league.db")
    done = command(name, path, *rest, "--data-dir", tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert done.err.startswith(f"league {name}: {why}")


@pytest.mark.parametrize("name", ["export", "rebuild-files"])
def test_a_log_that_cannot_be_folded_is_for_verify(command: Command, name: str, tmp_path: Path) -> None:
    path = tampered(tmp_path / "league.db", lambda log: log.repeat("ResultRecorded"))
    done = command(name, path, "--data-dir", tmp_path)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert "event 14 does not fit those before it" in done.err
    assert done.err.endswith("`league verify` checks the whole log\n")


@pytest.mark.parametrize("name", ["verify", "log", "replay", "export", "rebuild-files"])
def test_help_has_examples(command: Command, name: str) -> None:
    assert f"examples:\n  league {name} " in command(name, "--help").out


def test_a_league_in_postgresql_is_looked_into_like_any_other(command: Command, postgres_url: str) -> None:
    league = played()

    async def write() -> None:
        log = await open_log(postgres_url)
        await log.append(league.log)
        for name, text in league.kept.items():
            await log.write_document(name, text)
        await log.close()

    asyncio.run(write())
    verified = command("verify", postgres_url).out.splitlines()
    assert verified[-3] == "        6 transcripts held against the results"
    assert verified[-2] == "          complete as far as event 28; PostgreSQL keeps a log whole"
    assert verified[-1].startswith("OK: everything holds")
    assert command("log", postgres_url, "--after", 27).out.count("\n") == 1
    assert "Draw: 7" in command("replay", postgres_url, "R3M2").out


# verify


def test_verify_says_what_was_checked_and_that_all_is_right(command: Command, store: Path) -> None:
    done = command("verify", store)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "league_2025_even_odd: LEAGUE_COMPLETED",
        f"SHA-256 of the seed, shown from the beginning: {hashlib.sha256(SEED.encode()).hexdigest()}",
        "       28 events in their order",
        "        4 players and 2 referees",
        "        6 matches in 3 rounds, 6 of them ended and counted once",
        "        0 technical losses, 0 of them ruled by the manager",
        "        0 void attempts, 0 rematches, 0 corrections",
        "        6 reports of referees, 6 of them played again by the rules",
        "        6 draws opened, 6 made again from the league's seed",
        "        6 transcripts held against the results",
        "          complete as far as event 28, as league.db.head says",
        "OK: everything holds, and the table is the one that its results make",
    ]


def test_verify_says_that_a_game_has_no_draws(command: Command, tmp_path: Path) -> None:
    store = played("rock_paper_scissors", "random", "frequency").store(tmp_path / "league.db")
    assert "        0 random draws: this game leaves nothing to chance\n" in command("verify", store).out


def test_a_league_without_a_match_is_not_taken_for_one_in_order(command: Command, tmp_path: Path) -> None:
    log = Log(played().log)
    del log.events[3:]
    store = Played(log.lines(), {}).store(tmp_path / "league.db")
    assert command("verify", store).out.splitlines()[-1] == "OK so far: everything holds, but no match has ended"
    assert command("export", store).err == "Warning: no match of this league has ended\n"


def test_verify_counts_what_cannot_be_checked(command: Command, eventful: Path) -> None:
    done = command("verify", eventful)
    assert done.code == 0
    assert "        4 not checkable: the referee did not commit to its draw" in done.out.splitlines()


def test_verify_names_what_is_wrong_and_fails(command: Command, tmp_path: Path) -> None:
    path = tampered(tmp_path / "league.db", lambda log: log.of("ResultRecorded")["result"].update(winner="P01"))
    done = command("verify", path)
    assert done.code == 1
    fault, *others, end = done.out.splitlines()[11:]
    assert fault == (
        "    FAULT event 13 (R1M1): expected 3–0 for a win, 1–1 for a draw, 0–0 if both lose, "
        "found this: The winner P01, the score 1–1 and DRAW do not go together."
    )
    assert (len(others), end) == (1, "NOT OK: 2 faults")


def test_verify_names_the_match_of_a_record_that_is_missing_or_altered(command: Command, tmp_path: Path) -> None:
    setup = LeagueSetup(players=2, referees=1, game=LONG_GAME)
    league = run_scenario(Scenario(1, setup, "none")).outcome
    kept = league.documents["record/R1M1/1"]
    done = command("verify", Played(league.events, league.documents).store(tmp_path / "league.db"))
    assert (done.code, "1 reports of referees, 1 of them played again" in done.out) == (0, True)
    altered = {"record/R1M1/1": kept.replace(b'"A":"C"', b'"A":"D"', 1)}
    for found, record in (("none", {}), ("another one", altered)):
        others = {name: text for name, text in league.documents.items() if name != "record/R1M1/1"}
        done = command("verify", Played(league.events, others | record).store(tmp_path / f"{found}.db"))
        assert done.code == 1
        *_, fault, end = done.out.splitlines()
        assert re.fullmatch(rf"    FAULT event \d+ \(R1M1\): expected the record [0-9a-f]{{64}}, found {found}", fault)
        assert end == "NOT OK: 1 fault"


def test_verify_warns_of_a_clock_that_was_set_back_and_passes(command: Command, tmp_path: Path) -> None:
    path = tampered(tmp_path / "league.db", lambda log: log.of("RoundAnnounced", 1).update(at="2025-01-15T10:29:59Z"))
    done = command("verify", path)
    assert done.code == 0
    assert "  warning event 16: expected no time before" in done.out
    assert done.out.endswith("the table is the one that its results make; 1 warning\n")


def test_verify_speaks_json_to_programs(command: Command, store: Path, tmp_path: Path) -> None:
    told = json.loads(command("verify", store, "--json").out)
    assert (told["league_id"], told["state"], told["ok"]) == ("league_2025_even_odd", "LEAGUE_COMPLETED", True)
    assert (told["counts"]["draws_opened"], told["findings"]) == (6, [])
    done = command("verify", tampered(tmp_path / "league.db", lambda log: log.drop("LeagueCompleted")), "--json")
    told = json.loads(done.out)
    assert (done.code, told["ok"], told["faults"], told["warnings"]) == (1, False, 1, 0)
    assert told["findings"] == [
        {
            "number": 27,
            "match_id": None,
            "expected": "LeagueCompleted, for all matches have ended",
            "found": "no such event",
            "is_warning": False,
        }
    ]


def test_of_very_many_faults_the_first_are_shown(command: Command, tmp_path: Path) -> None:
    path = tampered(tmp_path / "league.db", lambda log: log.drop("LeagueStarted"), by_hand())
    lines = command("verify", path).out.splitlines()
    assert sum("FAULT" in line for line in lines) == 20
    faults = json.loads(command("verify", path, "--json").out)["faults"]
    assert lines[-2:] == [
        f"          … and {faults - 20} more (--json has the first {faults})",
        f"NOT OK: {faults} faults",
    ]


def test_an_empty_store_is_no_league(command: Command, tmp_path: Path) -> None:
    done = command("verify", Played([], {}).store(tmp_path / "league.db"))
    assert done.code == 1
    assert done.out.splitlines()[0] == "No league: WAITING_FOR_REGISTRATIONS"


# log


def test_the_log_is_a_line_an_event(command: Command, trouble: Path) -> None:
    done = command("log", trouble)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert len(lines) == 22
    assert lines[2] == "     3  2025-01-15T10:30:00Z  P01 is registered: Player 1"
    assert lines[13] == (
        "    14  2025-01-15T10:32:06Z  R2M1: Player 1 (P01) wins, Player 3 (P03) loses technically (CHOICE_TIMEOUT), "
        "as REF01 reports"
    )
    assert lines[20] == f"    21  2025-01-15T10:32:36Z  The league is over; its seed was {SEED}"


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        (["--after", "19"], [20, 21, 22]),
        (["--match", "R1M1"], [9, 10, 22]),
        (["--match", "r1m1"], [9, 10, 22]),
        (["--agent", "player 3"], [5, 13, 14, 17, 18, 19]),
        (["--agent", "P03"], [5, 13, 14, 17, 18, 19]),
        (["--agent", "REF01"], [2, 9, 10, 13, 14, 18, 19]),
        (["--agent", "P03", "--match", "R2M1"], [13, 14]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_the_log_of_a_match_or_an_agent_is_what_concerns_it(
    command: Command, trouble: Path, asked: list[str], numbers: list[int]
) -> None:
    told = command("log", trouble, *asked, "--json").out.splitlines()
    assert [json.loads(line)["number"] for line in told] == numbers
    assert [int(line.split()[0]) for line in command("log", trouble, *asked).out.splitlines()] == numbers


@pytest.mark.parametrize(("option", "name"), [("--match", "R77M7"), ("--agent", "P77")])
def test_the_log_of_a_match_or_an_agent_that_the_league_does_not_have_ends_with_1(
    command: Command, trouble: Path, option: str, name: str
) -> None:
    said = command("log", trouble, option, name)
    assert said == (1, "", f"There is no {option[2:]} {name} in this league\n")


def test_the_log_of_a_format_that_draws_has_its_matches(command: Command, tmp_path: Path) -> None:
    play = Play(players=4, referees=2, format="knockout").begin().play_all()
    store = Played(play.log, {}).store(tmp_path / "league.db")
    said = command("log", store, "--match", "R2M1")
    assert (said.code, said.err) == (0, "")
    assert "R2M1: REF01 is given attempt 1" in said.out
    (final,) = play.league.rounds[1].matches
    assert f"{final}: " in command("log", store, "--agent", play.match(final).a).out


def test_the_seed_is_told_even_to_who_reads_the_end_only(command: Command, trouble: Path) -> None:
    last = json.loads(command("log", trouble, "--after", 20, "--json").out.splitlines()[0])
    assert (last["event"], last["seed_hex"]) == ("LeagueCompleted", SEED)


def test_the_log_is_followed_while_it_is_written_until_ctrl_c(tmp_path: Path) -> None:
    path, lines = tmp_path / "league.db", played().log

    async def write(program: Program | None, events: list[bytes]) -> None:
        log = await SqliteLog.open(path)
        await log.append(events)
        if program is not None:
            # While its writer is at work.
            program.said("Round 1 is over")
        await log.close()

    asyncio.run(write(None, lines[:10]))
    with Program("log", path, "--follow") as program:
        program.said("Round 1 is announced")
        asyncio.run(write(program, lines[10:15]))
        program.process.send_signal(signal.SIGINT)
        assert program.ended() == 130
    assert [int(line.split()[0]) for line in program.stdout.splitlines()] == list(range(1, 16))
    assert program.stderr == ""


# replay


def test_a_match_is_told_message_by_message_with_its_ruling_evidence_and_draw(command: Command, trouble: Path) -> None:
    done = command("replay", trouble, "R2M1")
    assert (done.code, done.err) == (0, "")
    assert command("replay", "R2M1", trouble).out == done.out
    details = Log(troubled().log).of("ResultRecorded", 1)["result"]["details"]
    commitment, nonce = details["draw_commitment"], details["draw_nonce"]
    blocks = [block.splitlines() for block in done.out.split("\n\n")]
    head, events, transcript, ruling, draw, verified = blocks
    assert head == ["R2M1: P03 (Player 3) – P01 (Player 1), even_odd, round 2"]
    assert events == [
        "  2025-01-15T10:30:00Z  REF01 is given attempt 1",
        "  2025-01-15T10:32:06Z  P01 wins, P03 loses technically (CHOICE_TIMEOUT), as REF01 reports",
    ]
    assert transcript[:9] == [
        "Attempt 1 as referee:REF01 saw it, in seconds since it began:",
        "     0.000  to   P03   GAME_INVITATION: you are PLAYER_A against P01",
        "     0.000  to   P01   GAME_INVITATION: you are PLAYER_B against P03",
        "     0.000  from P03   GAME_JOIN_ACK: accepted",
        "     0.000  from P01   GAME_JOIN_ACK: accepted",
        "     0.000  to   P03   CHOOSE_PARITY_CALL: even or odd? until 2025-01-15T10:30:30Z; "
        f"draw committed to as {commitment[:12]}…",
        "     0.000  to   P01   CHOOSE_PARITY_CALL: even or odd? until 2025-01-15T10:30:30Z; "
        f"draw committed to as {commitment[:12]}…",
        '     0.000  from P01   CHOOSE_PARITY_RESPONSE: "even"',
        "    30.000  with P03   failed E001: no answer from http://127.0.0.1:8103/mcp in time",
    ]
    assert "   126.000             ruled CHOICE_TIMEOUT: P03 did not choose in time - P01 wins by default" in transcript
    assert (
        "   126.000  to   P03   GAME_ERROR: E001 TIMEOUT_ERROR: No answer came in time. "
        "Technical loss: no tries are left." in transcript
    )
    late = ", ".join(f"E001 TIMEOUT_ERROR at {seconds}.000" for seconds in (30, 62, 94, 126))
    assert ruling == [
        "Ruling: CHOICE_TIMEOUT",
        f"  P03: joined at 0.000, {late}",
        "  P01: joined at 0.000, moved at 0.000",
    ]
    assert draw == [
        "Draw: not revealed, for the match was not played out",
        f"  nonce {nonce}",
        f"  committed to before the choices as SHA-256 of nonce:number, {commitment}",
    ]
    assert verified == ["Verified:", "  the draw is the one that was committed to"]


def test_a_match_that_was_played_out_is_verified_in_all_respects(command: Command, store: Path) -> None:
    lines = command("replay", store, "R3M2").out.splitlines()
    assert "Draw: 7" in lines
    assert lines[-4:] == [
        "Verified:",
        "  the result is what the game's rules make of the choices",
        "  the draw is the one that was committed to",
        "  the draw is the one that the league's seed gives",
    ]


def test_moves_of_other_games_are_told(command: Command, tmp_path: Path) -> None:
    path = played("tic_tac_toe", "random", "random").store(tmp_path / "league.db")
    out = command("replay", path, "R1M1").out
    assert "GAME_MOVE_CALL: place_mark, one of [0,1,2,3,4,5,6,7,8] until" in out
    moves = re.findall(r"from (P0\d)   GAME_MOVE_RESPONSE: (\d)", out)
    assert len(moves) >= 5
    assert "Draw:" not in out
    cells = dict.fromkeys("012345678", "·") | {move: "XO"[player != moves[0][0]] for player, move in moves}
    rows = [" ".join(cells[str(row + column)] for column in range(3)) for row in (0, 3, 6)]
    assert "\n\n  " + "\n  ".join(rows) + "\n" in out


def test_the_seed_of_a_game_with_chance_is_told_with_what_opens_it(command: Command, tmp_path: Path) -> None:
    setup = LeagueSetup(players=2, referees=1, game="prisoners_dilemma(turns=2, noise=0.5)")
    league = run_scenario(Scenario(1, setup, "none")).outcome
    out = command("replay", Played(league.events, league.documents).store(tmp_path / "league.db"), "R1M1").out
    found = re.search(
        r"\nSeed: ([0-9a-f]{64})\n  nonce ([0-9a-f]+)\n.* as SHA-256 of nonce:seed, ([0-9a-f]{64})\n", out
    )
    assert found is not None
    seed, nonce, commitment = found.groups()
    assert hashlib.sha256(f"{nonce}:{seed}".encode()).hexdigest() == commitment


def test_of_a_foreign_referees_match_the_log_tells_what_it_knows(command: Command, eventful: Path) -> None:
    lines = command("replay", eventful, "R1M1").out.splitlines()
    assert [re.sub(r"number \d+", "number ?", line) for line in lines[11:20]] == [
        "  2025-01-15T10:30:28Z  P01 beats P02 (P01 even; P02 odd; number ?), as REF02 reports",
        "  2025-01-15T10:30:31Z  corrected by the operator, P01 and P02 draw (P01 odd; P02 odd; number ?): wrong",
        "",
        "There is no transcript: REF02 delivered none.",
        "",
        "Ruling: WIN",
        "",
        "Verified:",
        "  the result is what the game's rules make of the choices",
    ]
    assert "  not checkable: the referee did not commit to its draw" in lines


def test_evidence_of_another_form_is_shown_as_it_is(command: Command, tmp_path: Path) -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1", failed(play.match("R1M1"), "P01"))
    lines = command("replay", Played(play.log, {}).store(tmp_path / "league.db"), "R1M1").out.splitlines()
    assert lines[lines.index("Ruling: JOIN_TIMEOUT") + 1] == '  {"late_ms":0}'


def test_a_match_that_nobody_played_is_told_in_a_line(command: Command, eventful: Path, tmp_path: Path) -> None:
    assert command("replay", eventful, "R2M1").out.splitlines() == [
        "R2M1: P01 (Agent 1) – P03 (Agent 3), even_odd, round 2",
        "",
        "  2025-01-15T10:30:36Z  lost by P03 (DISQUALIFICATION): cheated",
    ]
    begun = Played(by_hand().log[:12], {}).store(tmp_path / "begun.db")
    assert command("replay", begun, "R1M1").out.splitlines()[2:] == ["  Nothing has happened yet."]


def test_a_referee_that_told_players_another_thing_is_exposed(command: Command, tmp_path: Path) -> None:
    log, kept = played()
    told = kept["transcript/R1M1"].replace(b'"number_parity":"odd"', b'"number_parity":"even"')
    path = Played(log, kept | {"transcript/R1M1": told}).store(tmp_path / "league.db")
    out = command("replay", path, "R1M1").out
    assert '  WRONG: expected number_parity "odd" in GAME_OVER to P01, found number_parity "even"' in out
    assert command("verify", path).code == 1


def test_a_replay_speaks_json_to_programs(command: Command, store: Path, eventful: Path) -> None:
    told = json.loads(command("replay", store, "R3M2", "--json").out)
    assert (told["match_id"], told["round_id"], told["game_type"]) == ("R3M2", 3, "even_odd")
    assert told["players"][0] == {"player_id": "P02", "display_name": "Player 2"}
    assert [event["event"] for event in told["events"]] == ["MatchAssigned", "ResultRecorded"]
    assert told["transcript"]["entries"][0]["message_type"] == "GAME_INVITATION"
    assert (told["verification"]["faults"], told["verification"]["is_opened"]) == ([], True)
    bare = json.loads(command("replay", eventful, "R2M1", "--json").out)
    assert (bare["transcript"], bare["verification"]) == (None, None)


def test_a_match_that_there_is_not_is_answered_with_those_that_there_are(
    command: Command, store: Path, tmp_path: Path
) -> None:
    assert command("replay", store, "R9M1") == CommandResult(
        2, "", "league replay: there is no match R9M1 in this league; there are R1M1, R1M2, R2M1, R2M2, R3M1 …\n"
    )
    new = Played(played().log[:3], {}).store(tmp_path / "new.db")
    assert command("replay", new, "R1M1").err == (
        "league replay: there is no match R1M1 in this league; it has no schedule yet\n"
    )


# Whatever agents write


HOSTILE = "\x1b[2J\x9b1m\u202e=1+1"


@pytest.fixture(scope="module")
def hostile(folder: Path) -> Path:
    """A league whose first player has a name, and whose referee a ruling, that would do things to a terminal."""

    def tamper(log: Log) -> None:
        log.of("PlayerRegistered")["meta"]["display_name"] = f"={HOSTILE}"
        log.of("ResultRecorded")["result"]["details"]["choices"]["P01"] = HOSTILE
        log.of("ResultRecorded")["result"]["details"]["evidence"] = {HOSTILE: [HOSTILE, {"a": HOSTILE}]}

    return tampered(folder / "hostile.db", tamper)


@pytest.mark.parametrize(
    "arguments",
    [
        ["verify"],
        ["verify", "--json"],
        ["log"],
        ["log", "--json"],
        ["replay", "R1M1"],
        ["replay", "R1M1", "--json"],
        *(
            ["export", "--what", what, "--format", form]
            for what in ("results", "agents", "events")
            for form in ("json", "csv")
        ),
    ],
    ids=" ".join,
)
def test_nothing_that_agents_write_moves_the_terminal(command: Command, hostile: Path, arguments: list[str]) -> None:
    name, *rest = arguments
    out = command(name, hostile, *rest).out
    assert "2J" in out
    assert not set("\x1b\x9b\u202e") & set(out)


def test_nothing_that_agents_write_is_calculated_by_a_spreadsheet(command: Command, hostile: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(command("export", hostile, "--format", "csv").out, newline="")))
    assert rows[0]["player_A_name"] == "'=�[2J�1m�=1+1"
    for what in ("results", "standings", "agents", "events"):
        out = command("export", hostile, "--format", "csv", "--what", what).out
        cells = [cell for row in csv.reader(io.StringIO(out, newline="")) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]


# export


def exported(command: Command, *arguments: object) -> list[dict[str, Any]]:
    return list(json.loads(command("export", *arguments).out))


def test_results_are_exported_as_json_unless_told_otherwise(command: Command, store: Path) -> None:
    rows = exported(command, store)
    assert [row["match_id"] for row in rows] == ["R1M1", "R1M2", "R2M1", "R2M2", "R3M1", "R3M2"]
    assert rows[5]["winner"] == "P03"


@pytest.mark.parametrize("what", ["results", "standings", "agents", "events"])
def test_the_formats_tell_the_same(command: Command, store: Path, what: str) -> None:
    rows = exported(command, store, "--what", what)
    lines = command("export", store, "--what", what, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == rows
    sheet = list(csv.DictReader(io.StringIO(command("export", store, "--what", what, "--format", "csv").out)))
    assert len(sheet) == len(rows) > 3
    for cells, row in zip(sheet, rows, strict=True):
        for name, cell in cells.items():
            value = row.get(name)
            assert cell == ("" if value is None else " ".join(value) if isinstance(value, list) else str(value))


def test_a_league_without_results_exports_none(command: Command, tmp_path: Path) -> None:
    path = Played(played().log[:5], {}).store(tmp_path / "league.db")
    assert command("export", path).out == "[]\n"
    assert command("export", path, "--format", "jsonl").out == ""
    assert command("export", path, "--format", "csv").out.count("\n") == 1


def test_into_a_folder_everything_is_exported_and_into_a_file_one_thing(
    command: Command, store: Path, tmp_path: Path
) -> None:
    done = command("export", store, "--format", "csv", "--out", f"{tmp_path}/new/")
    files = [
        tmp_path / "new" / f"league_2025_even_odd-{what}.csv" for what in ("results", "standings", "agents", "events")
    ]
    assert (done.code, done.out) == (0, "")
    assert done.err == "".join(f"Wrote {file}\n" for file in files)
    assert sorted((tmp_path / "new").iterdir()) == sorted(files)
    command("export", store, "--what", "standings", "--out", tmp_path)
    assert len(json.loads((tmp_path / "league_2025_even_odd-standings.json").read_text())) == 4
    command("export", store, "--out", tmp_path / "a" / "results.json")
    assert len(json.loads((tmp_path / "a" / "results.json").read_text())) == 6
    refused = command("export", store, "--out", tmp_path / "a" / "results.json" / "b")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert refused.err.startswith(f"league export: cannot write {tmp_path / 'a' / 'results.json' / 'b'}: ")


@pytest.mark.parametrize("name", ["league.db", "eventful.db"])
def test_no_export_and_no_log_has_a_secret_in_it(
    command: Command, folder: Path, store: Path, eventful: Path, name: str
) -> None:
    league = {"league.db": played(), "eventful.db": by_hand()}[name]
    secrets = {
        event[field]
        for line in league.log
        for field in ("verifier", "key", "seat", "conversation_id")
        if (event := json.loads(line)).get(field)
    }
    assert len(secrets) > 15
    told = [command("log", folder / name).out, command("log", folder / name, "--json").out]
    for what in ("results", "standings", "agents", "events"):
        told += [command("export", folder / name, "--what", what, "--format", form).out for form in ("json", "csv")]
    for text in told:
        assert not [secret for secret in secrets if secret in text]
        assert "http://" not in text
    asked = exported(command, folder / name, "--what", "agents", "--endpoints")
    assert all(row["contact_endpoint"].startswith("http://") for row in asked)
    assert "http://" in command("export", folder / name, "--what", "events", "--endpoints").out


@pytest.mark.parametrize("arguments", [["log"], ["log", "--json"], ["export", "--what", "events"]], ids=" ".join)
def test_the_seed_of_a_running_league_is_told_to_nobody(command: Command, tmp_path: Path, arguments: list[str]) -> None:
    path = Played(played().log[:19], {}).store(tmp_path / "league.db")
    name, *rest = arguments
    done = command(name, path, *rest)
    assert done.code == 0
    assert "5e5e" not in done.out
    assert command("verify", path).code == 0


# rebuild-files


def files_under(root: Path) -> dict[str, bytes]:
    """The files that other tools read; players' histories are their own."""
    found = [*root.glob("config/**/*.json"), *root.glob("data/leagues/*/*.json"), *root.glob("data/matches/**/*.json")]
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


@pytest.mark.parametrize("rounds", [1, 3])
def test_the_files_are_made_again_to_the_byte(command: Command, tmp_path: Path, rounds: int) -> None:
    async def play() -> Played:
        async with Hall(tmp_path / "SHARED") as hall:
            transcripts = Transcripts(hall)
            await hall.fill("random", "always_even", "always_odd", "frequency")
            await hall.operate("start")
            await hall.until(lambda: len(hall.league.rounds) and hall.league.rounds[rounds - 1].completed)
            if hall.league.state != "LEAGUE_COMPLETED":
                await hall.operate("pause")
            await asyncio.sleep(5)
            return await transcripts.played()

    path = loop.run(play()).store(tmp_path / "league.db")
    written = files_under(tmp_path / "SHARED")
    assert len(written) >= 4 + 2 * rounds
    done = command("rebuild-files", path, "--data-dir", tmp_path / "again")
    assert (done.code, done.err) == (0, "")
    assert files_under(tmp_path / "again") == written
    assert done.out.splitlines()[-1].endswith(f"matches/league_2025_even_odd: {len(written) - 4} matches")


def test_files_of_an_older_league_are_made_again_without_hiding_the_newest(command: Command, tmp_path: Path) -> None:
    path = Played(*played()).store(tmp_path / "league.db")
    shared = tmp_path / "config" / "agents" / "agents_config.json"
    shared.parent.mkdir(parents=True)
    for created_at, shown in (("2025-01-15T10:29:59Z", "league_2025_even_odd"), ("2025-01-15T10:30:01Z", "other")):
        shared.write_text(json.dumps({"league_id": "other", "created_at": created_at}))
        assert command("rebuild-files", path, "--data-dir", tmp_path).code == 0
        assert json.loads(shared.read_text())["league_id"] == shown
        own = tmp_path / "data" / "leagues" / "league_2025_even_odd" / "agents_config.json"
        assert json.loads(own.read_text())["created_at"] == "2025-01-15T10:30:00Z"


def test_without_its_transcript_a_match_is_told_as_far_as_it_is_known(command: Command, tmp_path: Path) -> None:
    log, kept = played()
    other = kept["transcript/R1M2"].replace(b'"attempt":1,"entries"', b'"attempt":2,"entries"')
    path = Played(log, {"transcript/R1M2": other}).store(tmp_path / "league.db")
    command("rebuild-files", path, "--data-dir", tmp_path)
    for name in ("R1M1", "R1M2"):
        match = json.loads((tmp_path / "data" / "matches" / "league_2025_even_odd" / f"{name}.json").read_text())
        assert (match["transcript"], match["reported_at"]) == ([], "2025-01-15T10:30:00Z")
        assert match["result"] == Log(log).of("ResultRecorded", int(name == "R1M2"))["result"]


def test_files_that_cannot_be_written_are_named(command: Command, store: Path, tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    done = command("rebuild-files", store, "--data-dir", tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "agents_config.json cannot be written" in done.err


def test_every_csv_has_the_seat_and_the_e_mail_address_of_each_player(command: Command, tmp_path: Path) -> None:
    play = Play(referees=1)
    people = [("Ada Lovelace", "ada@example.org"), ("Bob", "bob@example.org")]
    play.do(commands.issue_seats(play.league, [b"one", b"two"], play.now, people=people))
    for number, seat in ((1, b"two"), (2, b"one")):
        play.player(number, seat=seat.hex())
    store = Played(play.begin().play_all().log, {}).store(tmp_path / "league.db")
    assert command("export", store, "--format", "csv", "--out", f"{tmp_path}/").code == 0
    first = ["S02", "Bob", "bob@example.org"]

    def rows(path: Path) -> list[dict[str, str]]:
        with path.open(encoding="utf-8", newline="") as file:
            return [*csv.DictReader(file)]

    for what in ("standings", "agents", "events"):
        (path,) = tmp_path.glob(f"*-{what}.csv")
        of_first = [row for row in rows(path) if "P01" in (row.get("player_id"), row.get("agent_id"))]
        assert of_first
        assert all([row["seat"], row["person"], row["email"]] == first for row in of_first)
    (path,) = tmp_path.glob("*-results.csv")
    for row in rows(path):
        side = "A" if row["player_A_id"] == "P01" else "B"
        assert [row[f"{name}_{side}"] for name in ("seat", "person", "email")] == first
    for public in ([], ["--public"]):
        done = command("report", store, "--out", tmp_path / "report", *public)
        assert ("have e-mail addresses" in done.err) is not bool(public)
        for name in ("standings", "cross-table", "points"):
            (row,) = [row for row in rows(tmp_path / "report" / f"{name}.csv") if row["player_id"] == "P01"]
            assert [row["seat"], row["person"], row["email"]] == (["S02", "", ""] if public else first)
        content = "".join(file.read_text() for file in (tmp_path / "report").iterdir())
        assert ("ada@example.org" in content) is not bool(public)
    assert "example.org" not in (tmp_path / "report" / "index.html").read_text()
    assert "example.org" not in command("log", store, "--json").out
