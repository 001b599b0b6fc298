"""A gateway at a real address beside a real manager, and players that use it by MCP and in a browser.

Only the code that starts the gateway knows its internals.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.agents.world import World
from leaguekit.gateway.gateway import Gateway
from leaguekit.gateway.server import gateway_server
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.server.server import Server, listen

Json = dict[str, Any]
# No browser of its own is downloaded: whatever Chromium the machine has will do.
PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class ServedGateway(NamedTuple):
    """A gateway that is served."""

    gateway: Gateway
    base: str
    caller: HttpCaller
    server: Server

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    async def post(self, path: str, body: Json, code: str = "") -> tuple[int, Json]:
        headers = (("authorization", f"Bearer {code}"),) if code else ()
        came = await self.caller.post(f"{self.base}{path}", json.dumps(body).encode(), 30.0, headers=headers)
        return came.status, json.loads(came.body)


@asynccontextmanager
async def served_gateway(manager_url: str, root: Path) -> AsyncIterator[ServedGateway]:
    """A gateway beside the manager there."""
    sock = listen("127.0.0.1", 0)
    base = f"http://127.0.0.1:{sock.getsockname()[1]}"
    caller = HttpCaller(AddressPolicy.local())
    gateway = Gateway(World(caller, root), manager_url, f"{base}/mcp")
    server = gateway_server(gateway, sock)
    await server.start()
    await gateway.open()
    try:
        yield ServedGateway(gateway, base, caller, server)
    finally:
        await gateway.close()
        await server.stop(1.0)
        await caller.close()


async def play_by_mcp(
    client: Any, name: str, code: str | None = None, before: Callable[[Json], Awaitable[None]] | None = None
) -> Json:
    """Play to the league's end as a chat application does: by its four tools. How it stood at the end.

    ``before`` is awaited with each question before it is answered.
    """
    joined = (await client.call_tool("join_league", {"name": name, "code": code})).structured_content
    own = {"code": joined["code"]}
    while True:
        state = (await client.call_tool("wait_for_turn", own)).structured_content
        if state["status"] == "over":
            return dict(state)
        if (asked := state["asked"]) is not None:
            if before is not None:
                await before(asked)
            move = asked["valid_options"][-1]
            moved = await client.call_tool("submit_move", own | {"turn": asked["turn"], "move": move})
            assert not moved.is_error, moved


@asynccontextmanager
async def page_at(url: str, *, dark: bool = False) -> AsyncIterator[Any]:
    """A page in a real browser; what it must not do fails the test. Skips it, with the reason, without a browser."""
    program = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if program is None:
        pytest.skip(f"no browser on this machine: none of {', '.join(PROGRAMS)} is installed")
    playwright = pytest.importorskip("playwright.async_api", reason="playwright is not installed")
    faults: list[str] = []
    async with playwright.async_playwright() as running:
        browser = await running.chromium.launch(executable_path=program, args=ARGUMENTS)
        page = await (await browser.new_context(color_scheme="dark" if dark else "light")).new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        page.on("request", lambda asked: None if asked.url.startswith((url, "data:")) else faults.append(asked.url))
        page.on("console", lambda said: faults.append(said.text) if "Content Security" in said.text else None)
        await page.goto(url)
        yield page
        await browser.close()
    assert not faults


async def play_in_page(page: Any, name: str, code: str = "") -> None:
    """Play to the league's end as a person does, with the keyboard alone."""
    await page.get_by_label("Your name").fill(name)
    await page.get_by_label("Your seat code").fill(code)
    await page.keyboard.press("Enter")
    await page.locator("#seat").wait_for()
    seen = ""
    while True:
        fresh = f'#turn:not([hidden]) #moves:not([data-turn="{seen}"]) :is(button:not(:disabled), .choice)'
        await page.locator(f'{fresh}, #status:has-text("is over")').first.wait_for()
        if "is over" in await page.locator("#status").text_content():
            return
        seen = await page.locator("#moves").get_attribute("data-turn")
        # The first legal move has the focus.
        await page.keyboard.press("Enter")
