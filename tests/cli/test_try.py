"""``league try`` as an author calls it: good agents, bad ones, and none at all."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec import UNSET

from leaguekit.cli import main
from leaguekit.match.move_messages import stated_info
from leaguekit.protocol.messages import MoveOrigins
from tests.programs import Program

Json = dict[str, Any]


class Done(NamedTuple):
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def league(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """The command, carried out here and now."""

    def carry_out(*arguments: str) -> Done:
        try:
            code = main([*arguments])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Done(code, *capsys.readouterr())

    return carry_out


@contextmanager
def agent(answer: Callable[[Json], Any]) -> Iterator[str]:
    """An agent that never registers: what it answers to a call, as bytes, a status and bytes, or a result; its URL."""

    class LazyMcpApp(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            call = json.loads(self.rfile.read(int(self.headers["content-length"])))
            given, status = answer(call), 200
            if isinstance(given, tuple):
                status, given = given
            if not isinstance(given, bytes):
                given = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": given}).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(given)))
            self.end_headers()
            self.wfile.write(given)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), LazyMcpApp) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()


def good(call: Json) -> Any:
    """What a player without a league answers."""
    if call["method"] == "ping":
        return {"status": "ok"}
    message = call["params"]
    kinds = {"GAME_INVITATION": "GAME_JOIN_ACK", "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE"}
    return {
        "protocol": "league.v2",
        "message_type": kinds.get(message["message_type"], f"{message['message_type']}_ACK"),
        "sender": "player:P01",
        "timestamp": "2026-03-14T09:01:00Z",
        "conversation_id": message["conversation_id"],
        "match_id": message["match_id"],
        "player_id": "P01",
        "arrival_timestamp": "2026-03-14T09:01:00Z",
        "accept": True,
        "parity_choice": "even",
        "status": "ACKNOWLEDGED",
    }


def changed(kind: str, **changes: Any) -> Callable[[Json], Any]:
    return lambda call: good(call) | (changes if call["params"].get("message_type") == kind else {})


def test_an_agent_that_never_registers_is_played_with_and_every_message_shown(league: Any) -> None:
    with agent(good) as url:
        done = league("try", url, "--opponent", "always_odd")
    assert done.code == 0, done.stderr
    shown = [line.split()[1:3] for line in done.stdout.splitlines() if line.startswith(" ")]
    assert shown == [
        ["→", "GAME_INVITATION"],
        ["←", "GAME_JOIN_ACK"],
        ["→", "CHOOSE_PARITY_CALL"],
        ["←", "CHOOSE_PARITY_RESPONSE"],
        ["→", "GAME_OVER"],
        ["←", "GAME_OVER_ACK"],
    ]
    assert done.stdout.splitlines()[-1].startswith(("Your agent won: ", "Your agent lost: "))


def test_messages_come_in_full_where_a_program_reads_them(league: Any) -> None:
    with agent(good) as url:
        done = league("try", url, "--json", "--opponent", "always_even")
    assert done.code == 0, done.stderr
    *messages, outcome = map(json.loads, done.stdout.splitlines())
    assert messages[3]["message"]["result"] == good(messages[2]["message"])
    assert all(set(line) == {"seconds", "way", "message", "wrong"} for line in messages)
    assert outcome["result"] == "DRAW"
    assert outcome["faults"] == 0


@pytest.mark.parametrize(
    ("answer", "wrong", "end"),
    [
        (lambda call: b"hello", "wrong: ", "Your agent lost without play: P01 gave no valid answer - P02 wins"),
        (changed("GAME_INVITATION", accept=False), None, "Your agent lost without play: P01 refused the invitation"),
        (
            lambda call: good(call) if call["method"] == "ping" else b'{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
            "wrong: a refusal, and a result was expected",
            "Your agent lost without play: ",
        ),
    ],
)
@pytest.mark.long
def test_an_agent_that_answers_wrongly_is_told_what_was_wrong(
    league: Any, answer: Any, wrong: str | None, end: str
) -> None:
    with agent(answer) as url:
        done = league("try", url)
    assert done.code == 1
    assert wrong is None or wrong in done.stdout
    assert end in done.stdout


def test_a_move_that_replaces_that_of_the_strategy_is_the_last_word_and_decides_the_exit_code(league: Any) -> None:
    replaced = {"origin": "replaced", "reason": "the strategy raised ValueError('no idea')"}
    with agent(changed("CHOOSE_PARITY_CALL", move_info=replaced)) as url:
        done, as_json = league("try", url, "--opponent", "always_odd"), league("try", url, "--json")
    last = done.stdout.splitlines()[-1]
    assert last == f"But 1 of 1 move of its strategy was replaced by another legal move, because {replaced['reason']}."
    assert (done.code, as_json.code) == (1, 1)
    assert json.loads(as_json.stdout.splitlines()[-1])["moves"] == {"replaced": 1, "reason": replaced["reason"]}


@pytest.mark.parametrize("stated", [{"origin": "retried"}, {"origin": "bought"}, "own", None])
def test_other_statements_about_a_move_do_not_count_as_replaced(stated: Any) -> None:
    assert stated_info({"move_info": stated}).origin in ("retried", UNSET)
    assert MoveOrigins(retried=1, own=2).describe_replaced("Alice") == ""


def test_a_mistake_that_the_agent_corrects_is_shown_and_counts(league: Any) -> None:
    calls: list[str] = []

    def at_last(call: Json) -> Any:
        calls.append(call["params"].get("message_type", ""))
        first = calls.count("CHOOSE_PARITY_CALL") == 1
        return good(call) | ({"parity_choice": "EVEN"} if first and calls[-1] == "CHOOSE_PARITY_CALL" else {})

    with agent(at_last) as url:
        done = league("try", url)
    assert done.code == 1
    assert 'wrong: E004 result.parity_choice: got "EVEN"; expected "even" or "odd"' in done.stdout
    assert "→ GAME_ERROR               E004 INVALID_PARITY_CHOICE" in done.stdout
    assert "Something was wrong once;" in done.stdout


def test_an_answer_that_is_a_page_of_a_web_server_is_shown_on_one_line_with_its_status(league: Any) -> None:
    page = b"<html>\n  <h1>Internal\r\n  error</h1>\n</html>\n"

    def broken(call: Json) -> Any:
        return {"GAME_OVER": (500, page)}.get(call["params"].get("message_type", ""), good(call))

    with agent(broken) as url:
        done = league("try", url)
    assert done.code == 1
    assert "← ?                        HTTP 500 <html> <h1>Internal error</h1> </html>\n" in done.stdout
    assert "wrong: This is not JSON: JSON is malformed: invalid character (byte 0).\n" in done.stdout
    assert done.stdout.endswith("Something was wrong once; `league check player` looks at everything.\n")


def test_an_empty_answer_is_said_to_be_empty(league: Any) -> None:
    with agent(lambda call: b"" if call["params"].get("message_type") == "GAME_OVER" else good(call)) as url:
        done = league("try", url, "--json")
    *messages, outcome = map(json.loads, done.stdout.splitlines())
    assert (messages[-1]["message"], messages[-1]["wrong"]) == ("", ["there is nothing in it"])
    assert outcome["faults"] == 1


def test_an_agent_of_another_league_is_played_with_under_its_own_id(league: Any) -> None:
    def elsewhere(call: Json) -> Any:
        if call["method"] == "ping":
            return {"status": "ok", "player_id": "P02", "league_id": "spring_cup"}
        return good(call) | {"sender": "player:P02", "player_id": "P02"}

    with agent(elsewhere) as url:
        done = league("try", url)
    assert done.code == 0, done.stdout
    assert "The agent is P02 in spring_cup." in done.stderr
    assert "you are PLAYER_A against P01" in done.stdout


def test_an_agent_that_answers_with_bare_messages_can_be_tried_in_the_open_profile(league: Any) -> None:
    """In the other profile it would lose without play."""
    with agent(lambda call: json.dumps(good(call)).encode()) as url:
        done = league("try", url, "--profile", "open", "--opponent", "always_odd")
    assert done.code == 1
    assert re.search(r"← GAME_JOIN_ACK +accepted\n +wrong: E041 this is not an answer of JSON-RPC", done.stdout)
    assert re.search(r"^Your agent (won|lost): ", done.stdout, re.MULTILINE)


def test_a_message_in_another_one_is_named_with_where_it_is(league: Any) -> None:
    def answer(call: Json) -> Any:
        if call["method"] != "tools/call":
            return good(call) if call["method"] == "ping" else (404, b"Not Found")
        text = json.dumps(good(call | {"method": "", "params": call["params"]["arguments"]}))
        return {"content": [{"type": "text", "text": text}]}

    with agent(answer) as url:
        done = league("try", url, "--profile", "open")
    assert re.search(r"→ GAME_INVITATION +you are PLAYER_A against P02 \(in arguments\)", done.stdout)
    assert re.search(r'← CHOOSE_PARITY_RESPONSE +"even" \(in content\[0\]\.text\)', done.stdout)


@pytest.mark.parametrize(
    ("only", "refusal"),
    [
        ("GAME_INVITATION CHOOSE_PARITY_CALL GAME_OVER", (404, b"Not Found")),
        (
            "handle_game_invitation choose_parity notify_match_result",
            b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601}}',
        ),
        ("handle_message", b'{"status":"ok"}'),
    ],
)
def test_forms_that_the_agent_does_not_know_are_not_its_faults_in_the_open_profile(
    league: Any, only: str, refusal: Any
) -> None:
    def answer(call: Json) -> Any:
        if call["method"] not in (*only.split(), "ping"):
            return refusal
        return good(call | {"params": call["params"].get("message", call["params"])})

    with agent(answer) as url:
        done = league("try", url, "--profile", "open", "--opponent", "always_odd")
    assert done.code == 0, done.stdout
    assert "Something was wrong" not in done.stdout
    assert "the same in another form" in done.stdout
    assert re.search(r"^Your agent (won|lost): ", done.stdout, re.MULTILINE)


def test_where_nothing_answers_is_said_at_once(league: Any) -> None:
    done = league("try", "http://127.0.0.1:1/mcp")
    assert done.code == 2
    assert "start the agent first" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--opponent", "clever"], "There is no strategy 'clever'"),
        (["--game", "chess"], "There is no game 'chess' here"),
        (
            ["--game", "tic_tac_toe", "--opponent", "always_odd"],
            "always_odd cannot play tic_tac_toe; these can: random",
        ),
    ],
)
def test_a_wrong_call_says_what_there_is(league: Any, arguments: list[str], text: str) -> None:
    done = league("try", *arguments)
    assert done.code == 2
    assert text in done.stderr


def test_an_agent_that_registers_plays_a_whole_league_of_one_match_and_ends(tmp_path: Path) -> None:
    with Program("try", "--port", "0", "--game", "tic_tac_toe") as trying:
        manager = trying.said(r"register at (http://127\.0\.0\.1:\d+/mcp)")[1]
        with Program("player", "--manager", manager, "--port", "0", "--name", "Mine", "--data-dir", tmp_path) as mine:
            assert mine.ended() == 0, mine.stderr
        assert trying.ended() == 0, trying.stdout
    lines = trying.stdout.splitlines()
    kinds = [line.split()[2] for line in lines if re.match(r" +[0-9.]+  [→←] ", line)]
    # The board is below each call for a move, and below the result.
    drawn = [number for number, line in enumerate(lines) if line.strip() == "PLAYER_A has X, PLAYER_B has O"]
    shown = [lines[number - 4].split()[2] for number in drawn]
    assert shown == [kind for kind in kinds if kind in ("GAME_MOVE_CALL", "GAME_OVER")]
    marks = ["".join(lines[number - 3 : number]).translate({32: None, ord("·"): None}) for number in drawn]
    assert all(len(later) > len(before) for before, later in pairwise(marks))
    assert [kind for kind in kinds if kind not in ("ping", "answer", "GAME_MOVE_CALL", "GAME_MOVE_RESPONSE")] == [
        "LEAGUE_REGISTER_REQUEST",
        "LEAGUE_REGISTER_RESPONSE",
        "ROUND_ANNOUNCEMENT",
        "ROUND_ANNOUNCEMENT_ACK",
        "GAME_INVITATION",
        "GAME_JOIN_ACK",
        "GAME_OVER",
        "GAME_OVER_ACK",
        "LEAGUE_STANDINGS_UPDATE",
        "STANDINGS_UPDATE_ACK",
        "ROUND_COMPLETED",
        "ROUND_COMPLETED_ACK",
        "LEAGUE_COMPLETED",
        "LEAGUE_COMPLETED_ACK",
    ]
    assert "ACCEPTED as P02" in trying.stdout


@pytest.mark.long
def test_an_agent_that_says_it_has_not_registered_is_waited_for(tmp_path: Path) -> None:
    """Two seconds."""
    files = ["--data-dir", tmp_path]
    with agent(lambda _call: {"player_id": None}) as url, Program("try", url, "--port", "0") as trying:
        manager = trying.said(rf"The agent at {url} has not registered yet. Waiting for .* (http.*)")[1]
        with Program("player", "--manager", manager, "--port", "0", "--name", "Mine", *files) as mine:
            assert (mine.ended(), trying.ended()) == (0, 0), trying.stdout


def test_ctrl_c_ends_it_cleanly_while_nobody_comes() -> None:
    with Program("try", "--port", "0") as trying:
        trying.said("Waiting for an agent")
    assert (trying.ended(), trying.stdout) == (130, "")
    assert "Traceback" not in trying.stderr
