"""``league seats`` and ``league token``, and the codes with which agents register: real processes, free ports."""

from __future__ import annotations

import json
import os
import re
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from leaguekit.protocol.codes import new_code
from tests.cli.conftest import CommandResult
from tests.programs import Program

CODE = r"[0-9A-HJKMNP-TV-Z]{4}(?:-[0-9A-HJKMNP-TV-Z]{4}){3}"
OWN_CODE = new_code(b"ten bytes.")
Command = Callable[..., CommandResult]


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Served(NamedTuple):
    """A manager that is there for others, too: it is called by a name that is not this machine's own."""

    program: Program
    url: str
    data: Path

    @property
    def here(self) -> tuple[object, ...]:
        return ("--manager", self.url, "--data-dir", self.data)

    @property
    def folder(self) -> Path:
        return self.data / "agents" / "access" / "manager"

    def referee_code(self) -> str:
        return Path(self.program.said(r"referee code: (\S+)")[1]).read_text()


def serve(data: Path, *options: str) -> Served:
    port = free_port()
    where = ["--port", str(port), "--endpoint", f"http://league.test:{port}/mcp", "--data-dir", str(data)]
    program = Program("manager", *where, "--league-id", "access", "--announce-lead", "0", *options)
    return Served(program, f"http://127.0.0.1:{port}/mcp", data)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = serve(tmp_path_factory.mktemp("access"))
    with served.program:
        served.referee_code()
        yield served


def test_seats_are_shown_once_then_listed_and_revoked_by_id_or_code(served: Served, command: Command) -> None:
    given = command("seats", "new", "2", *served.here)
    assert (given.code, given.err) == (0, "")
    rows = re.findall(rf"^(S\d\d)   ({CODE})$", given.out, re.MULTILINE)
    assert [seat for seat, _ in rows] == ["S01", "S02"]
    listed = command("seats", "list", *served.here).out
    assert re.findall(r"^(S\d\d)   (\w+) +- +-$", listed, re.MULTILINE) == [("S01", "free"), ("S02", "free")]
    assert not any(code in listed for _, code in rows)
    assert "S01   revoked" in command("seats", "revoke", "S01", *served.here).out
    shown = json.loads(command("seats", "revoke", rows[1][1].lower(), "--json", *served.here).out)
    assert [one["state"] for one in shown["seats"]] == ["revoked", "revoked"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["seats", "new"], "say how many seats, such as `league seats new 30`\n"),
        (["seats", "new", "many"], "say how many seats, such as `league seats new 30`, got 'many'"),
        (["seats", "new", "0"], "count must be from 1 to 1000, got 0"),
        (["seats", "revoke"], "name the seats to revoke by ids, such as S07 or S13-S24, by persons, or by codes"),
        (["seats", "revoke", "S99"], "There is no such seat: name its id, such as S07, its person, or its code"),
        (["token", "rotate", "P77"], "There is no agent P77 in this league"),
    ],
)
def test_what_cannot_be_given_or_taken_is_said_with_the_remedy(
    served: Served, command: Command, arguments: list[str], why: str
) -> None:
    done = command(*arguments, *served.here)
    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert done.err.count("\n") == 1


def test_help_shows_examples(command: Command) -> None:
    for name in ("seats", "token"):
        told = command(name, "--help").out
        assert f"league {name} " in told.partition("examples:")[2]


def test_a_rotation_replaces_the_file_that_only_its_owner_can_read(served: Served, command: Command) -> None:
    for name, flag, form in (("admin_token", "--admin", r"adm-[0-9a-f]{64}"), ("referee_code", "--referee-code", CODE)):
        path = served.folder / name
        before = path.read_text()
        assert re.fullmatch(form, before)
        told = command("token", "rotate", flag, *served.here)
        new = path.read_text()
        assert new != before
        assert told.out.rstrip("\n").endswith(f": {new}")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    # The next command finds the new one.
    assert command("seats", "list", *served.here).code == 0


@pytest.mark.long
def test_a_host_gives_its_own_referees_a_code_where_nobody_reads_it(tmp_path: Path) -> None:
    with Program("host", "--port", "0", "--data-dir", tmp_path, "--league-id", "access") as program:
        program.said("is registered: Referee 1")
        children = psutil.Process(program.process.pid).children(recursive=True)
        codes = {child.environ()["LEAGUE_REFEREE_CODE"] for child in children}
        assert len(children) == 2
        (code,) = codes
        assert re.fullmatch(CODE, code)
        assert not any(code in argument for child in children for argument in child.cmdline())
        assert code not in program.stdout + program.stderr
        assert code not in (tmp_path / "agents" / "access" / "manager" / "referee_code").read_text()


@pytest.mark.skipif(sys.platform == "win32", reason="has no pseudo-terminals")
def test_secrets_are_not_printed_even_on_a_terminal_and_their_files_are_named(tmp_path: Path) -> None:
    import pty  # noqa: PLC0415 - there is none on Windows

    arguments = ("manager", "--port", "0", "--league-id", "access", "--data-dir")
    folder = tmp_path / "first" / "agents" / "access" / "manager"
    with Program(*arguments, tmp_path / "first") as program:
        program.said("referee code: ")
    secrets = [(folder / name).read_text() for name in ("admin_token", "referee_code")]
    assert not any(secret in program.stdout + program.stderr for secret in secrets)
    for name in ("admin_token", "referee_code"):
        assert f": {folder / name}\n" in program.stderr
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "leaguekit", *arguments, str(tmp_path / "second")]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=theirs) as process, os.fdopen(ours) as terminal:
        os.close(theirs)
        said = ""
        while "league start" not in said:
            said += terminal.readline()
        process.terminate()
    for name in ("admin_token", "referee_code"):
        kept = tmp_path / "second" / "agents" / "access" / "manager" / name
        assert f": {kept}\n" in said
        assert kept.read_text() not in said


# A whole league


def _refused(*arguments: str | Path) -> str:
    with Program(*arguments, "--port", "0") as program:
        assert program.ended() == 2
    return program.stdout + program.stderr


@pytest.mark.long
def test_a_league_with_codes_is_played_and_leaves_no_secret_behind(
    tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """About fifteen seconds."""
    data, store = tmp_path / "SHARED", tmp_path / "SHARED" / "agents" / "access" / "manager" / "league.db"
    first = serve(data, "--require-seat")
    with first.program:
        code = first.referee_code()
    assert re.fullmatch(CODE, code)
    # The same store has the same code, and one more for the referees of the user that started it.
    monkeypatch.setenv("LEAGUE_REFEREE_CODE", OWN_CODE)
    served = serve(data, "--require-seat", "--start-when", "players=2,referees=2")
    monkeypatch.delenv("LEAGUE_REFEREE_CODE")
    programs: list[Program] = []
    with served.program:
        assert served.referee_code() == code
        here = ("--data-dir", str(data))
        seats = json.loads(command("seats", "new", "3", "--json", *served.here).out)["seats"]
        one, two, three = (seat["code"] for seat in seats)
        command("seats", "revoke", "S03", *served.here)
        said = [
            _refused("referee", "--manager", served.url, *here),
            _refused("referee", "--manager", f"{served.url}?referee={one}", *here),
            _refused("player", "--manager", served.url, *here),
            _refused("player", "--manager", f"{served.url}?seat={three}", *here),
        ]
        assert "referee code" not in said[0]
        assert "/mcp?referee=CODE" in said[0]
        assert "/mcp?seat=CODE" in said[2]
        assert "opens nothing" in said[3]
        programs.append(Program("referee", "--port", "0", "--manager", f"{served.url}?referee={code}", *here))
        programs[-1].said("is registered")
        monkeypatch.setenv("LEAGUE_REFEREE_CODE", OWN_CODE)
        programs.append(Program("referee", "--port", "0", "--manager", served.url, "--name", "Second", *here))
        monkeypatch.delenv("LEAGUE_REFEREE_CODE")
        programs.append(Program("player", "--port", "0", "--manager", f"{served.url}?seat={one}", *here))
        programs[-1].said("is registered")
        tokens = _tokens(data)
        command("token", "rotate", "P01", *served.here)
        monkeypatch.setenv("LEAGUE_SEAT", two)
        programs.append(Program("player", "--port", "0", "--manager", served.url, "--name", "Second", *here))
        monkeypatch.delenv("LEAGUE_SEAT")
        for program in programs:
            with program:
                assert program.ended() == 0
        served.program.said("The league is over")
        tokens |= _tokens(data)
        admins = [(served.folder / "admin_token").read_text()]
        new = command("token", "rotate", "--admin", "--json", *served.here)
        admins.append(json.loads(new.out)["admin_token"])
    told = "".join([*said, *(program.stdout + program.stderr for program in programs)])
    for what in ("results", "standings", "agents", "events"):
        told += command("export", store, "--what", what).out
    for looked in (["log"], ["log", "--json"], ["verify"], ["replay", "R1M1"]):
        name, *rest = looked
        told += command(name, store, *rest).out
    own = {code: "referee_code", admins[1]: "admin_token", **dict.fromkeys(tokens, "state.json")}
    secrets = [*tokens, code, OWN_CODE, one, two, three, *admins]
    assert len(set(secrets)) == 5 + 7
    for secret in secrets:
        assert secret not in told
        for program in (first.program, served.program):
            assert secret not in program.stdout + program.stderr
        holding = [path for path in data.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        assert {path.name for path in holding} <= {own.get(secret)}
        assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in holding)
    # Nor is what could stand for a secret where others can read it.
    private = {"league.db", "log.jsonl", "journal.jsonl", "state.json", "admin_token", "referee_code"}
    readable = {path.name for path in data.rglob("*") if path.is_file() and path.stat().st_mode & stat.S_IROTH}
    assert readable
    assert not readable & private


def _tokens(data: Path) -> set[str]:
    files = data.glob("agents/*/*/state.json")
    return {json.loads(path.read_text())["auth_token"] for path in files}


def test_seats_are_made_for_the_people_of_a_roster(served: Served, command: Command, tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text("E-mail address;Name\nada@example.org;Ada Lovelace\n\n;Bob\n", encoding="utf-8-sig")
    made = command("seats", "new", "--names", roster, "--csv", *served.here)
    assert (made.code, made.err) == (0, "")
    heads, ada, bob = [line.split(",") for line in made.out.split("\n")[:3]]
    assert heads == ["seat", "name", "email", "code"]
    assert (ada[1:3], bob[1:3]) == (["Ada Lovelace", "ada@example.org"], ["Bob", ""])
    assert re.fullmatch(CODE, ada[3])
    listed = command("seats", "list", *served.here).out
    assert re.search(rf"^{ada[0]} +Ada Lovelace +ada@example.org +free", listed, re.MULTILINE)
    revoked = command("seats", "revoke", "ada lovelace", *served.here)
    assert revoked.out.splitlines()[-1] == f"The seat {ada[0]} is revoked."
    again = command("seats", "new", "--names", roster, *served.here)
    assert "1 of these people has a seat already" in again.err
    assert "revoke these seats if their codes are lost" in again.err
    made = command("seats", "new", "--names", roster, "--again", "--csv", *served.here)
    assert "\r" not in made.out
    first, last = [line.split(",")[0] for line in made.out.splitlines()[1:]]
    listed = re.findall(r"(free|revoked) +- +-$", command("seats", "list", *served.here).out, re.MULTILINE)
    assert listed[-1] == "revoked"
    assert listed == sorted(listed)
    both = command("seats", "revoke", f"{first.lower()}-{last}", *served.here)
    assert both.out.splitlines()[-1] == f"2 seats revoked: {first}, {last}."
    assert "Lovelace" in both.out
    assert len(both.out.splitlines()) == 6
    assert "there is no seat in S90-S99" in command("seats", "revoke", "S90-S99", *served.here).err
    for content, why in (
        ("", "has no names"),
        ("Ada,nonsense\n", "line 1 must have a name and an e-mail address, such as Ada Lovelace,ada@example.org"),
        ("name,email\n\nAda,\nBob,nonsense\n", "line 4 must have"),
        ("name\temail\nAda\tnonsense\n", "line 2 must have"),
        ("Ada,a@x.example,12345\n", "line 1 has 3 columns, but known are name and email; got Ada, a@x.example, 12345."),
        ("Lovelace, Ada,a@x.example\n", "If a name has a comma, put the name in quotes"),
        ("Lovelace, Ada\n", "If a name has a comma, put the name in quotes"),
        (
            "StudentID,First name,Last name,E-mail\n1,Ada,Lovelace,a@x.example\n",
            "line 1: unknown column StudentID, First name, Last name; known are name and email",
        ),
        ("E-mail\na@x.example\n", "line 1: there is no column name; known are name and email"),
        ("Bob,bob@x.example\n\nAda,a@x.example\nB,BOB@x.example\n", "line 4: BOB@x.example is also on line 1"),
        ("Bob\nAda\nbob\n", "line 3: bob is also on line 1"),
    ):
        roster.write_text(content)
        wrong = command("seats", "new", "--names", roster, *served.here)
        assert (wrong.code, wrong.out, why in wrong.err) == (2, "", True), wrong
    roster.write_bytes(b"\xff\xfe")
    assert "is not UTF-8. Save it as CSV in UTF-8" in command("seats", "new", "--names", roster, *served.here).err
    assert "without a number" in command("seats", "new", "3", "--names", roster, *served.here).err


def test_settings_are_printed_and_changed(served: Served, command: Command) -> None:
    changed = command("set", "title=2025", "announce_lead=2.5", "--reason", "soon", *served.here)
    assert changed == (0, "The operator sets title = 2025, announce_lead = 2.5: soon.\n", "")
    printed = command("set", *served.here).out
    assert re.search(r'^title +"2025" +yes$', printed, re.MULTILINE)
    assert re.search(r'^game_type +"even_odd" +no$', printed, re.MULTILINE)
    assert "seed" not in printed
    assert command("status", *served.here).out.startswith("2025 (access): ")
    assert command("standings", *served.here).out == "There are no players yet.\n"
    for wrong, why in (("announce_lead", "a change is KEY=VALUE"), ("rounds=double", "rounds cannot be changed")):
        refused = command("set", wrong, *served.here)
        assert (refused.code, refused.out, why in refused.err) == (2, "", True)


def test_an_unanswered_command_names_the_address_of_the_league_in_the_folder_and_how_to_continue(
    command: Command, tmp_path: Path
) -> None:
    served = serve(tmp_path)
    with served.program:
        served.referee_code()
    lost = command("status", "--data-dir", tmp_path, "--manager", "http://127.0.0.1:9/mcp").err
    again = f"league host --data-dir {tmp_path} --league-id access"
    assert f"the league access of this folder was at {served.url}; give --manager http://" in lost
    assert lost.endswith(f"If it does not run, continue it: {again}\n")
    lost = command("seats", "list", "--data-dir", tmp_path, "--manager", served.url).err
    assert lost.endswith(f"; the league access of this folder is not over. To continue it: {again}\n")
    assert lost.count("\n") == 1
