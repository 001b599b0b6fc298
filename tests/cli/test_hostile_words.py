"""Answers of a hostile manager: no command prints control characters from them."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from leaguekit.protocol.plain_text import INVISIBLE_CHARACTERS
from tests.cli.conftest import CommandResult
from tests.programs import Program

Command = Callable[..., CommandResult]
EVIL = "\x1b[2J\x9b31m\x1b]0;owned\x07\u202e\U000e0041\r"
ROW = {"rank": 1, "player_id": EVIL, "display_name": EVIL, "played": 0, "wins": 0, "draws": 0, "losses": 0, "points": 0}
RESULT = {"winner": EVIL, "details": {"status": EVIL, "choices": {}}}
SHOWN = {
    "league_id": EVIL,
    "state": EVIL,
    "paused": False,
    "current_round": 1,
    "total_rounds": 1,
    "matches_played": 1,
    "total_matches": 1,
    "players": 2,
    "referees": 1,
    "waits_for": [EVIL],
    "flags": [EVIL],
    "seed_commitment": EVIL,
    "ties": [EVIL],
    "standings": [ROW | {"shown_rank": EVIL, "head_to_head": EVIL, "played": 1}],
    "schedule": [{"match_id": EVIL, "player_A_id": EVIL, "player_B_id": EVIL, "result": RESULT}],
    "names": {EVIL: EVIL},
    "first": EVIL,
    "agents": [{"id": EVIL, "display_name": EVIL, "state": EVIL, "endpoint": EVIL}],
    "data": {EVIL: [EVIL]},
    "seats": [{"id": EVIL, "state": EVIL, "holder": EVIL, "display_name": EVIL, "code": EVIL}],
}
COMMANDS = [
    *(["status"], ["standings"], ["schedule"], ["agents"], ["query", "GET_STANDINGS"], ["pause"], ["start"]),
    *(["seats", "list"], ["seats", "new", "1"], ["rematch", "R1M1"]),
]


class Manager(BaseHTTPRequestHandler):
    """Takes no registration and carries out every command but ``resume``, all in hostile words."""

    def do_POST(self) -> None:
        call = json.loads(self.rfile.read(int(self.headers["content-length"])))
        params = call["params"]
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": call["id"], "result": SHOWN}
        if call["method"] == "register_player":
            answer["result"] = {
                "protocol": "league.v2",
                "message_type": "LEAGUE_REGISTER_RESPONSE",
                "sender": "league_manager",
                "timestamp": "2025-01-15T10:30:00Z",
                "conversation_id": params["conversation_id"],
                "status": "REJECTED",
                "player_id": None,
                "reason": EVIL,
            }
        elif params.get("command") == "resume":
            del answer["result"]
            answer["error"] = {"code": 12, "message": EVIL, "data": {"context": {"detail": EVIL}}}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def manager() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Manager)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    server.shutdown()
    thread.join()
    server.server_close()


def only_seen(text: str) -> bool:
    return not INVISIBLE_CHARACTERS.search(text.replace("\n", ""))


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_what_a_manager_shows_does_not_move_the_terminal(
    manager: str, command: Command, tmp_path: Path, arguments: list[str], form: list[str]
) -> None:
    (tmp_path / "admin").write_text("adm-" + "x" * 20)
    said = command(*arguments, *form, "--manager", manager, "--admin-token-file", tmp_path / "admin")
    assert said.code == 0
    assert only_seen(said.out)
    assert "\n" in said.out
    if form:
        assert json.loads(said.out) == SHOWN
    else:
        assert "owned" in said.out


def test_nor_does_what_it_refuses_with(manager: str, command: Command, tmp_path: Path) -> None:
    (tmp_path / "admin").write_text("adm-" + "x" * 20)
    said = command("resume", "--manager", manager, "--admin-token-file", tmp_path / "admin")
    assert said.code == 2
    assert "owned" in said.err
    assert only_seen(said.err)


def test_nor_does_what_a_player_tells_of_its_registration(manager: str, tmp_path: Path) -> None:
    with Program(
        *("player", "--manager", manager, "--port", "0", "--data-dir", tmp_path, "--name", f"Bob{EVIL}")
    ) as player:
        assert player.ended() == 2
    # Once as it begins, and once as it ends.
    assert player.stderr.count("owned") == 2
    assert only_seen(player.stderr)


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["text", "json"])
def test_nor_does_a_message_that_is_explained(command: Command, tmp_path: Path, form: list[str]) -> None:
    (tmp_path / "message.json").write_text(json.dumps({"message_type": "LEAGUE_QUERY", "sender": EVIL, EVIL: 1}))
    said = command("explain", *form, tmp_path / "message.json")
    assert said.code == 1
    assert "owned" in said.out
    assert only_seen(said.out)
