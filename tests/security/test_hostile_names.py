"""Hostile names at a real manager: each is refused with its code and a reason, or is only text wherever it is shown."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import json
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from leaguekit.agents.logs import log_to
from leaguekit.agents.server import agent_server
from leaguekit.agents.world import World
from leaguekit.league.settings import Settings
from leaguekit.manager.manager import Manager
from leaguekit.manager.server import manager_server
from leaguekit.protocol.plain_text import INVISIBLE_CHARACTERS
from leaguekit.protocol.refusals import player_refusal
from leaguekit.sim import loop
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import listen
from tests.agents.leagues import ADMIN, LEAGUE, Hall, Json
from tests.cli.conftest import CommandResult, command  # noqa: F401  a fixture
from tests.played import Played
from tests.security.hostile_names import FIRST, NAMES, Hostile
from tests.transport.running import of_requests

Command = Callable[..., CommandResult]
FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")
REASON = re.compile(
    r"This display_name cannot be used: (?:U\+[0-9A-F]{4,6}(?: [A-Z0-9 -]+)? at character \d+ is .+"
    r"|it has no visible character|written out \(NFKC\) it has \d+ characters, which is too many"
    r"|it looks like an id or a role of the protocol, such as .+; choose another)"
)
ACCEPTED = [one for one in NAMES if one.code is None]
SHOWN = {str(one.shown) for one in ACCEPTED}


def fate(answer: Json) -> tuple[str, str]:
    """What became of a registration: ACCEPTED, or the code and the words of the refusal."""
    if (error := answer.get("error")) is not None:
        number = "" if error["code"] == 2002 else f"{error['code']} "
        return f"{number}{error['data']['error_code']}", error["data"]["context"]["detail"]
    result = answer["result"]
    return (result["status"], "") if result["status"] == "ACCEPTED" else (result["error_code"], result["reason"])


def check(one: Hostile, answer: Json) -> None:
    code, reason = fate(answer)
    assert code == (one.code or "ACCEPTED"), (one, answer)
    # The answer itself goes to terminals.
    assert not INVISIBLE_CHARACTERS.search(reason), one
    if one.code == "E044":
        assert REASON.fullmatch(reason), (one, reason)
    if one.code == "E047":
        assert "Another player is called 'Alice'" in reason


async def _pong(body: bytes, _peer: Peer) -> bytes | None:
    return json.dumps({"jsonrpc": "2.0", "id": json.loads(body).get("id"), "result": {}}).encode()


class Leftovers:
    """What a league of those that were accepted has left: its folder, and its store."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.answers: list[tuple[Hostile, Json]] = []
        loop.run(self._register_all())
        self.store = self.played.store(root / "league.db")

    async def _register_all(self) -> None:
        with log_to(self.root / "log.jsonl", "league_manager"):
            async with Hall(self.root / "SHARED", max_players=1_000, max_referees=1_000) as hall:
                for number, (role, one) in enumerate(
                    [("player", Hostile("", FIRST)), *((role, one) for role in ("player", "referee") for one in NAMES)]
                ):
                    url = f"http://127.0.0.1:{9000 + number}/mcp"
                    hall.network.listen(url, _pong)
                    meta = {"display_name": one.name, "contact_endpoint": url}
                    # Referees' names need not differ.
                    fits = one._replace(code=None) if role == "referee" and one.code == "E047" else one
                    self.answers.append((fits, await hall.register(role, number, meta=meta)))
                for number in range(len(self.answers)):
                    hall.network.close(f"http://127.0.0.1:{9000 + number}/mcp")
            self.played = Played([*hall.log.content.events], {})


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Leftovers:
    return Leftovers(tmp_path_factory.mktemp("hostile"))


def plain_lines(text: str) -> list[str]:
    """The lines of an output, in which there is nothing but what can be seen."""
    assert not INVISIBLE_CHARACTERS.search(text.replace("\n", "")), ascii(
        INVISIBLE_CHARACTERS.search(text.replace("\n", ""))
    )
    return text.split("\n")


def test_there_are_at_least_two_hundred_and_no_two_are_the_same() -> None:
    assert len(NAMES) == len({one.name for one in NAMES}) >= 200


def test_each_is_refused_with_its_code_and_a_reason_or_accepted(left: Leftovers) -> None:
    assert len(left.answers) == 2 * len(NAMES) + 1
    for one, answer in left.answers:
        check(one, answer)


def test_the_json_files_show_those_that_were_accepted_as_text_and_lie_where_they_belong(left: Leftovers) -> None:
    root = left.root / "SHARED"
    files = {path.relative_to(left.root).as_posix() for path in left.root.rglob("*") if path.is_file()}
    league = f"SHARED/data/leagues/{LEAGUE}"
    of_the_store = {f"league.db{end}" for end in ("", ".head", ".lock", ".lock.sqlite", "-wal", "-shm")}
    assert files - of_the_store == {
        "log.jsonl",
        "SHARED/config/agents/agents_config.json",
        f"{league}/agents_config.json",
        f"{league}/standings.json",
        f"{league}/rounds.json",
    }
    for path in root.rglob("*.json"):
        plain_lines(path.read_text(encoding="utf-8"))
    standings = json.loads((root / f"data/leagues/{LEAGUE}/standings.json").read_text(encoding="utf-8"))["standings"]
    # A table has a hundred rows at most; the list of agents is whole.
    assert len({row["display_name"] for row in standings} & {FIRST, *SHOWN}) == 100
    agents = json.loads((root / "config/agents/agents_config.json").read_text(encoding="utf-8"))
    assert {player["display_name"] for player in agents["players"]} == {FIRST, *SHOWN}


def test_the_log_file_has_a_line_of_plain_json_for_each(left: Leftovers) -> None:
    lines = plain_lines((left.root / "log.jsonl").read_text(encoding="utf-8"))
    told = [json.loads(line)["message"] for line in lines if line]
    assert sum("registered as P" in message for message in told) == len(ACCEPTED) + 1


@pytest.mark.parametrize(
    ("what", "head"), [("standings", "display_name"), ("agents", "display_name"), ("events", "text")]
)
def test_in_csv_no_cell_is_a_formula_and_every_name_is_in_one_cell(
    left: Leftovers,
    command: Command,  # noqa: F811
    what: str,
    head: str,
) -> None:
    path = left.root.parent / f"{what}.csv"
    assert command("export", left.store, "--format", "csv", "--what", what, "--out", path).code == 0
    with path.open(encoding="utf-8", newline="") as file:
        text = file.read()
    plain_lines(text.replace("\r\n", "\n"))
    heads, *rows = csv.reader(text.splitlines())
    assert all(len(row) == len(heads) for row in rows)
    cells = [cell for row in rows for cell in row]
    assert [cell for cell in cells if FORMULA.match(cell) and not re.fullmatch(r"-?\d+", cell)] == []
    shown = [row[heads.index(head)] for row in rows]
    if what == "events":
        shown = [cell.partition(" is registered: ")[2] for cell in shown if " is registered: " in cell]
        assert set(shown) >= SHOWN
    else:
        assert set(shown) >= {f"'{name}" if FORMULA.match(name) else name for name in SHOWN}


@pytest.mark.parametrize(
    "arguments", [["log"], ["log", "--json"], ["verify"], ["verify", "--json"], ["export", "--what", "agents"]]
)
def test_the_commands_that_read_a_store_print_only_what_can_be_seen(
    left: Leftovers,
    command: Command,  # noqa: F811
    arguments: list[str],
) -> None:
    said = command(arguments[0], left.store, *arguments[1:])
    # The export says besides that it has no result.
    warning = "Warning: no match of this league has ended\n" if arguments[0] == "export" else ""
    assert (said.code, said.err) == (0, warning)
    lines = plain_lines(said.out)
    if arguments[0] == "log":
        assert len(lines) == len(left.played.log) + 1
        assert all(
            any(json.dumps(name, ensure_ascii=False)[1:-1] in line or name in line for line in lines) for name in SHOWN
        )


# By real HTTP


@contextlib.asynccontextmanager
async def served(root: Path) -> AsyncIterator[Manager]:
    """A manager at a port of this machine."""
    served = listen("127.0.0.1", 0)
    url = f"http://127.0.0.1:{served.getsockname()[1]}/mcp"
    world = World(HttpCaller(AddressPolicy.local()), root)
    manager = Manager(world, MemoryLog(), Settings(league_id=LEAGUE, max_players=1_000), url, ADMIN)
    await manager.open()
    server = manager_server(manager, served)
    await server.start()
    try:
        yield manager
    finally:
        await server.stop()
        await manager.close()
        await world.caller.close()


def test_over_http_they_come_to_the_same_and_the_operators_commands_show_them_as_text(
    tmp_path: Path,
    command: Command,  # noqa: F811
) -> None:
    """Every seventh of them, for each needs a port of its own."""
    chosen = [Hostile("", FIRST), *NAMES[::7]]
    (tmp_path / "admin").write_text(ADMIN)

    async def main() -> list[CommandResult]:
        sockets = [listen("127.0.0.1", 0) for _ in chosen]
        ports = [one.getsockname()[1] for one in sockets]
        agents = agent_server(of_requests(_pong), sockets, player_refusal)
        await agents.start()
        caller = HttpCaller(AddressPolicy.local())
        try:
            async with served(tmp_path / "SHARED") as manager:
                for one, port in zip(chosen, ports, strict=True):
                    check(one, await register(caller, manager.endpoint, one.name, port))
                here = ("--manager", manager.endpoint, "--admin-token-file", tmp_path / "admin")
                return [
                    await asyncio.to_thread(command, *asked, *form, *here)
                    for asked in (["status"], ["standings"], ["agents"], ["query", "GET_STANDINGS"])
                    for form in ([], ["--json"])
                ]
        finally:
            await agents.stop()
            await caller.close()

    told = asyncio.run(main())
    shown = {FIRST, *(str(one.shown) for one in chosen[1:] if one.code is None)}
    assert len(shown) >= 15
    for number, said in enumerate(told):
        assert (said.code, said.err) == (0, "")
        plain_lines(said.out)
        if number == 2:
            _head, _line, *rows, empty, order = said.out.splitlines()
            cells = [re.fullmatch(r" *1=  P\d\d +(.*?)(?: +0){5}", row) for row in rows]
            assert {cell and cell[1] for cell in cells} == shown
            assert len(rows) == len(shown)
            assert (empty, order[:6]) == ("", "Order:")
    for as_json in (told[3], told[7]):
        found = json.loads(as_json.out)
        rows = found["standings"] if "standings" in found else found["data"]["standings"]
        assert {row["display_name"] for row in rows} == shown


async def register(caller: HttpCaller, manager: str, name: str, port: int) -> Json:
    """The answer to a registration over HTTP, which must be 200 whatever is in it."""
    meta = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": f"http://127.0.0.1:{port}/mcp",
    }
    request = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:alpha",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": f"conv-{port}",
        "player_meta": meta,
    }
    body = json.dumps({"jsonrpc": "2.0", "method": "register_player", "params": request, "id": 1}).encode()
    came = await caller.post(manager, body, 30.0)
    assert came.status == 200
    return dict(json.loads(came.body))
