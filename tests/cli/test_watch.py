"""``league watch``, and ``league run`` in a terminal: real leagues, and broken or invalid streams."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pty
import re
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from leaguekit.cli import stream
from leaguekit.cli.commands.watch import news_lines
from leaguekit.cli.stream import Follower, StreamError, StreamEvent, apply_event, events_url, read_stream
from leaguekit.web.api_types import AgentName, Change, ChangedItems, Live, MatchRow, NewsItem, RemovedKeys
from tests.certificates import make_certificate, server_side
from tests.cli.conftest import CommandResult
from tests.cli.test_live_view import league, live, row
from tests.programs import SECONDS, Program
from tests.programs import league as carried_out

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def sent(kind: str, value: object, number: int = 7) -> bytes:
    return chunk(b"event: %b\nid: %d\ndata: %b\n\n" % (kind.encode(), number, msgspec.json.encode(value)))


# What is streamed


@pytest.mark.parametrize(
    ("manager", "url"),
    [
        ("http://127.0.0.1:8000/mcp", "http://127.0.0.1:8000/events"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/events"),
        ("http://[::1]:8000/", "http://[::1]:8000/events"),
        ("https://league.example/class/mcp?seat=abc", "https://league.example/class/events"),
    ],
)
def test_the_stream_is_beside_where_messages_go(manager: str, url: str) -> None:
    assert events_url(manager) == url


def test_changes_are_put_into_the_state_and_what_is_gone_is_taken_out() -> None:
    state = apply_event(None, StreamEvent("snapshot", msgspec.json.encode(live()).decode()))
    assert state == live()
    change = Change(
        seq=9,
        now="2026-01-01T10:00:05Z",
        set=ChangedItems(league=league(round=3), standings={"P02": row(2, points=1), "P09": row(9)}),
        drop=RemovedKeys(playing=["R2M1", "R9M9"]),
    )
    after = apply_event(state, StreamEvent("change", msgspec.json.encode(change).decode()))
    assert after is not None
    assert (after.seq, after.now, after.league.round) == (9, "2026-01-01T10:00:05Z", 3)
    assert (after.standings["P02"].points, after.standings["P01"]) == (1, row(1))
    assert (list(after.playing), len(after.standings)) == (["R2M2"], 7)
    only = apply_event(
        after, StreamEvent("change", msgspec.json.encode(Change(seq=10, now="", set=ChangedItems())).decode())
    )
    assert only is not None
    assert only.league.round == 3


@pytest.mark.parametrize("kind", ["", "message", "change"])
def test_what_comes_before_the_first_snapshot_is_passed_over(kind: str) -> None:
    assert apply_event(None, StreamEvent(kind, "")) is None


@pytest.mark.parametrize("event", [StreamEvent("snapshot", "{}"), StreamEvent("snapshot", "<html>")])
def test_a_stream_without_sense_is_broken(event: StreamEvent) -> None:
    with pytest.raises(StreamError, match="what it streams cannot be read"):
        apply_event(None, event)


# Streams of servers that do as the test says


Script = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def serving(script: Script, tls: ssl.SSLContext | None = None) -> AsyncIterator[str]:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), contextlib.suppress(ConnectionError):
            await script(await reader.readuntil(b"\r\n\r\n"), writer)
            await writer.drain()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    async with server:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


async def _all(url: str) -> tuple[list[StreamEvent], str]:
    """What a stream brings, and why it ended."""
    events: list[StreamEvent] = []
    try:
        async for event in read_stream(events_url(url)):
            events += [event]
    except StreamError as ended:
        return events, str(ended)
    raise AssertionError("a stream ends only by breaking off")


@pytest.mark.parametrize(
    ("said", "kinds", "why"),
    [
        (
            HEAD + chunk(b"retry: 1000\n\n") + sent("snapshot", 1) + chunk(b":\n\n"),
            ["", "snapshot", ""],
            "its stream ended",
        ),
        (HEAD + sent("snapshot", 1) + b"0\r\n\r\n", ["snapshot"], "its stream ended"),
        (HEAD + sent("snapshot", 1)[:-5], [], "its stream ended"),
        (HEAD + b"nonsense", [], "its stream broke off"),
        (HEAD + chunk(b"data: \xff\n\n"), [], "its stream broke off"),
        (b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n", [], "it has no stream (HTTP 404)"),
        (b"SSH-2.0-OpenSSH\r\n", [], "its stream broke off"),
        (b"", [], "its stream ended"),
    ],
)
def test_a_stream_may_end_anyhow(said: bytes, kinds: list[str], why: str) -> None:
    async def main() -> tuple[list[StreamEvent], str]:
        async def script(_request: bytes, writer: asyncio.StreamWriter) -> None:
            writer.write(said)

        async with serving(script) as url:
            return await _all(url)

    events, ended = asyncio.run(main())
    assert [event.kind for event in events] == kinds
    assert ended.startswith(why)


def test_events_come_whole_however_they_are_cut() -> None:
    data = HEAD + sent("snapshot", {"a": "ü" * 100}) + chunk(b"event: change\r\ndata: {\r\ndata: }\r\n\r\n")

    async def main() -> list[StreamEvent]:
        async def script(_request: bytes, writer: asyncio.StreamWriter) -> None:
            for place in range(0, len(data), 7):
                writer.write(data[place : place + 7])
                await writer.drain()

        async with serving(script) as url:
            return (await _all(url))[0]

    first, second = asyncio.run(main())
    assert json.loads(first.data) == {"a": "ü" * 100}
    assert second == ("change", "{\n}")


def test_silence_and_floods_end_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "IDLE_SECONDS", 0.05)
    monkeypatch.setattr(stream, "MAX_BYTES", 10_000)

    async def main() -> list[str]:
        done = asyncio.Event()

        async def silent(_request: bytes, writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD)
            await done.wait()

        async def flooding(_request: bytes, writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD + chunk(b"data: " + b"x" * 20_000))
            await done.wait()

        ends = []
        for script in (silent, flooding):
            async with serving(script) as url:
                ends.append((await _all(url))[1])
                done.set()
        return ends

    assert asyncio.run(main()) == ["nothing comes from it any more", "it sends too much at once"]


def test_a_stream_that_breaks_off_is_taken_up_again_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "RECONNECT_SECONDS", 0.0)
    requests: list[bytes] = []
    change = Change(seq=9, now="2026-01-01T10:00:05Z", set=ChangedItems(league=league(round=4)))

    async def script(request: bytes, writer: asyncio.StreamWriter) -> None:
        requests.append(request)
        writer.write(HEAD + (sent("snapshot", live()) if len(requests) == 1 else sent("change", change, 9)))

    async def main() -> Live | None:
        async with serving(script) as url:
            follower = Follower(url)
            following = asyncio.create_task(follower.run())
            while follower.live is None or follower.live.seq != 9:
                await asyncio.wait_for(follower.changed.wait(), 10)
                follower.changed.clear()
            following.cancel()
            return follower.live

    after = asyncio.run(main())
    assert after is not None
    assert after.league.round == 4
    assert b"Last-Event-ID" not in requests[0]
    assert b"\r\nLast-Event-ID: 7\r\n" in requests[1]


# The commands


def test_the_end_of_a_stream_by_tls_waits_for_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy whose own stream goes on need not answer the end of TLS. Asyncio would wait 30 s for that."""
    certificate = make_certificate(tmp_path, "IP:127.0.0.1")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))

    async def first() -> str:
        over = asyncio.Event()

        async def script(_: bytes, writer: asyncio.StreamWriter) -> None:
            writer.write(HEAD + sent("snapshot", 1))
            writer.transport.pause_reading()  # type: ignore[attr-defined]
            await over.wait()
            writer.transport.abort()

        async with serving(script, server_side(certificate)) as url:
            events = read_stream(events_url(url))
            event = await anext(events)
            await events.aclose()  # type: ignore[attr-defined]
            over.set()
            return event.kind

    assert asyncio.run(asyncio.wait_for(first(), 10)) == "snapshot"


def test_what_comes_before_the_first_snapshot_is_not_a_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy may cut the stream between the two."""
    was_set: list[bool] = []

    async def cut(*_: object) -> AsyncIterator[StreamEvent]:
        yield StreamEvent("", "")
        was_set.append(follower.changed.is_set())
        yield StreamEvent("snapshot", msgspec.json.encode(live()).decode())
        was_set.append(follower.changed.is_set())
        raise asyncio.CancelledError

    monkeypatch.setattr(stream, "read_stream", cut)
    follower = Follower("http://127.0.0.1:8000/mcp")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(follower.run())
    assert was_set == [False, True]


def test_a_manager_that_is_not_there_is_named(command: Callable[..., CommandResult]) -> None:
    said = command("watch", "--manager", "http://127.0.0.1:9/mcp")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(
        "league watch: no league can be watched at http://127.0.0.1:9/mcp: no server answers there"
    )
    assert command("watch", "--manager", "here").err == (
        "league watch: --manager: a manager's URL begins with http:// or https://, got 'here'\n"
    )


@pytest.mark.long
def test_lines_of_one_second_are_in_the_order_in_which_they_happened() -> None:
    at = "2026-01-01T10:00:00Z"
    told = [
        ("RoundCompleted", "Round 1 is over"),
        ("RoundDrawn", "Round 2 (Final) is drawn: 1 match"),
        ("RoundCompleted", "Round 2 is over"),
        ("LeagueCompleted", "The league is over"),
    ]
    news = [NewsItem(number=number, at=at, event=kind, text=text) for number, (kind, text) in enumerate(told)]
    alice, bob = AgentName(id="P01", name="Alice"), AgentName(id="P02", name="Bob")
    rows = [
        MatchRow(match_id=f"R{n}M1", round_id=n, a=alice, b=bob, status="ended", ended_at=at, winner="P01", reason="x")
        for n in (2, 1)
    ]
    assert news_lines(live(), news, rows) == [
        f"{at}  {text}"
        for text in (
            "R1M1: Alice beats Bob: x",
            "Round 1 is over",
            "Round 2 (Final) is drawn: 1 match",
            "R2M1: Alice beats Bob: x",
            "Round 2 is over",
            "The league is over",
        )
    ]


def test_a_league_is_watched_to_its_end_as_lines_and_as_json(tmp_path: Path) -> None:
    few = ["--players", "2", "--referees", "1", "--announce-lead", "1"]
    with Program("run", "--port", "0", "--data-dir", tmp_path, *few, "--stay") as run:
        manager = run.said(r"manager: (http://\S+)")[1]
        here = ["--manager", manager]
        with Program("watch", *here) as watch, Program("watch", *here, "--json") as states:
            assert (watch.ended(), watch.stderr) == (0, "")
            assert (states.ended(), states.stderr) == (0, "")
        # It stays for those who come later.
        run.said("Its page stays at http://127.0.0.1")
        late = carried_out("watch", "--manager", manager)
        run.process.send_signal(signal.SIGINT)
        assert run.ended() == 130
    lines = watch.stdout.splitlines()
    assert any(re.fullmatch(r"\S+Z  The league is over", line) for line in lines)
    assert sum(" is announced" in line for line in lines) == 1
    head = next(place for place, line in enumerate(lines) if line.startswith("rank  player"))
    # Two players may draw.
    assert re.fullmatch(
        r"Champion: .+ \(P0\d\) with 3 points|.+ and .+ share .+ 1 point each; the lot names .+ champion", lines[-1]
    )
    assert lines[head:] == late.stdout.splitlines()[-len(lines[head:]) :]
    found = [json.loads(line) for line in states.stdout.splitlines()]
    assert [one["seq"] for one in found] == sorted(one["seq"] for one in found)
    assert found[-1]["league"]["state"] == "LEAGUE_COMPLETED"


def test_in_a_terminal_a_league_is_a_picture_and_what_remains_is_the_table(tmp_path: Path) -> None:
    ours, theirs = pty.openpty()
    arguments = ["run", "--port", "0", "--players", "2", "--referees", "1", "--announce-lead", "1", "--stay"]
    process = subprocess.Popen(
        [sys.executable, "-m", "leaguekit", *arguments, "--data-dir", str(tmp_path)],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "80", "LINES": "24"},
    )
    os.close(theirs)
    try:
        told = _read(ours, "until Ctrl-C.")
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    finally:
        process.kill()
        os.close(ours)
    before, shown, after = re.split(r"\x1b\[\?1049[hl]", told)
    assert "manager: http://127.0.0.1" in before
    assert "The league is being started" in shown
    assert "rank  player  name" in after
    assert "Champion: " in after or "share the first place" in after
    assert "\x1b[?25l" in shown
    assert "\x1b[?25h" in shown


def _read(terminal: int, until: str) -> str:
    text, deadline = b"", time.monotonic() + 30
    while until.encode() not in text:
        assert select.select([terminal], [], [], deadline - time.monotonic())[0], text
        text += os.read(terminal, 65_536)
    return text.decode()


# It moves when the test closes its connection, and takes the first free cell: the match ends with the seventh move.
WAITS = """
import asyncio

async def choose(ctx):
    reader, writer = await asyncio.open_connection("127.0.0.1", {port})
    await reader.read()
    writer.close()
    return ctx.valid_options[0]
"""


def test_the_moves_of_a_match_are_seen_while_it_is_played(tmp_path: Path) -> None:
    few = ["--players", "2", "--referees", "1", "--game", "tic_tac_toe", "--strategies", "waits:choose"]
    with socket.create_server(("127.0.0.1", 0)) as asks:
        asks.settimeout(SECONDS)
        (tmp_path / "waits.py").write_text(WAITS.format(port=asks.getsockname()[1]))
        files = ["--data-dir", tmp_path / "files"]
        with Program("run", "--port", "0", *files, *few, "--stay", cwd=tmp_path) as run:
            manager = run.said(r"manager: (http://\S+)")[1]
            with Program("watch", "--manager", manager, "--json") as watch:
                for marks in range(7):
                    asking, _ = asks.accept()
                    with asking:
                        watch.said(rf'"board": ?"[^".]{{{marks}}}\.')
                assert watch.ended() == 0
    states = [match for line in watch.stdout.splitlines() for match in json.loads(line)["playing"].values()]
    boards = [match["position"]["board"] for match in states if match.get("position")]
    marks_seen = [9 - board.count(".") for board in boards]
    assert marks_seen == sorted(marks_seen)
