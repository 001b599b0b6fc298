"""The official conformance suite, Inspector and the TypeScript clients, at our servers. Some 40 s, 30 of them npm."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.programs import Program
from tests.transport.mcp.node import modules, run_node, script

pytestmark = pytest.mark.long

ROOT = Path(__file__).parent.parent.parent.parent
REVISIONS = pytest.mark.parametrize("revision", ["2026-07-28", "2025-11-25"])
TOOLS = [
    "get_standings", "get_schedule", "get_match", "register_referee", "register_player", "report_match_result",
    "report_match_progress", "report_match_void", "league_query",
]  # fmt: skip
# What is said where the suite looks for something of its own.
FOR_WANT_OF_A_FIXTURE = re.compile(
    r"There is no (tool|prompt|resource) '|Tool 'json_schema_2020_12_tool' not found|Method not found|Not testable:"
    "|Prerequisite failed:|Expected InputRequiredResult|Server returned JSON-RPC error instead of re-requesting"
    "|Mutated the (tool|prompt) list|Server provides session ID|Server did not send (priming event|retry)"
)


@contextlib.contextmanager
def fixture_server() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.transport.mcp.fixture_server"], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield int((process.stdout or sys.stdin).readline())
        finally:
            process.kill()


@contextlib.contextmanager
def manager(folder: Path) -> Iterator[int]:
    with Program("manager", "--port", "0", cwd=folder) as program:
        yield int(program.said(r"is at http://127\.0\.0\.1:(\d+)/mcp")[1])


def judged(port: int, revision: str, folder: Path, *options: str) -> tuple[int, str, dict[str, list[Any]]]:
    """The suite's exit code, its summary, and all checks that did not pass, by scenario."""
    done = run_node(
        script("conformance"), "server", "--url", f"http://localhost:{port}/mcp", "--suite", "all",
        "--spec-version", revision, "--output-dir", str(folder / "results"), *options, seconds=120,
    )  # fmt: skip
    failed = {}
    for path in sorted((folder / "results").glob("*/checks.json")):
        checks = json.loads(path.read_text())
        failed[path.parent.name] = [one for one in checks if one["status"] in ("FAILURE", "WARNING")]
    return done.returncode, done.stdout.partition("=== SUMMARY ===")[2], failed


@REVISIONS
def test_the_suite_finds_no_fault_in_a_server_behind_our_router(revision: str, tmp_path: Path) -> None:
    with fixture_server() as port:
        code, summary, failed = judged(port, revision, tmp_path)
    assert code == 0, summary
    assert len(failed) > 30
    assert not any(failed.values()), failed


@REVISIONS
def test_the_suite_misses_only_its_own_fixtures_at_the_manager(revision: str, tmp_path: Path) -> None:
    with manager(tmp_path) as port:
        expected = str(Path(__file__).parent / f"expected_failures_{revision}.yml")
        code, summary, failed = judged(port, revision, tmp_path, "--expected-failures", expected)
    assert code == 0, summary
    for scenario, checks in failed.items():
        for check in checks:
            words = check.get("errorMessage") or check["description"]
            assert FOR_WANT_OF_A_FIXTURE.search(words), (scenario, check)


def test_inspector_lists_and_calls_tools(tmp_path: Path) -> None:
    with manager(tmp_path) as port:
        asks = [script("inspector"), "--cli", f"http://localhost:{port}/mcp", "--transport", "http", "--method"]
        listed = run_node(*asks, "tools/list")
        called = run_node(*asks, "tools/call", "--tool-name", "get_standings")
    assert [tool["name"] for tool in json.loads(listed.stdout)["tools"]] == TOOLS, listed.stderr
    assert json.loads(called.stdout)["structuredContent"]["state"] == "WAITING_FOR_REGISTRATIONS", called.stderr


@pytest.mark.parametrize("imports", [
    """import { Client } from '@modelcontextprotocol/sdk/client/index.js';
    import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';""",
    "import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';",
], ids=["1.32", "2.4"])  # fmt: skip
def test_the_typescript_clients_list_call_and_read(imports: str, tmp_path: Path) -> None:
    program = modules() / f"client-{tmp_path.parent.name}-{tmp_path.name}.mjs"
    program.write_text(f"""{imports}
    const client = new Client({{name: 'test', version: '1.0.0'}});
    await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
    console.log(JSON.stringify([
        (await client.listTools()).tools.map((tool) => tool.name),
        (await client.callTool({{name: 'get_standings', arguments: {{}}}})).structuredContent.state,
        (await client.readResource({{uri: 'league://standings'}})).contents[0].uri,
    ]));
    await client.close();
    """)
    try:
        with manager(tmp_path) as port:
            done = run_node(str(program), f"http://localhost:{port}/mcp")
    finally:
        program.unlink()
    assert json.loads(done.stdout) == [TOOLS, "WAITING_FOR_REGISTRATIONS", "league://standings"], done.stderr
