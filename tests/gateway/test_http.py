"""The gateway over real HTTP: the official MCP client, a browser, other programs, and intruders."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import psutil
import pytest
from mcp import Client

from leaguekit.agents.rate_limits import RateLimiter
from leaguekit.gateway import mcp_surface
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Unreachable
from leaguekit.transport.client.caller import HttpCaller
from tests.gateway.served_gateway import page_at, play_by_mcp, play_in_page, served_gateway
from tests.programs import Program, league
from tests.transport.mcp.served_league import ServedLeague
from tests.web.prefix_proxy import proxy

SECONDS = 60.0


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, SECONDS))


def technical_losses(house: ServedLeague) -> int:
    return sum(row.technical_losses for row in house.league.table.rows.values())


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_plays_a_whole_league_in_a_seat(tmp_path: Path, mode: Any) -> None:
    async def played() -> None:
        async with (
            ServedLeague(tmp_path, players=3, game_type="tic_tac_toe") as house,
            served_gateway(house.url, tmp_path) as place,
        ):
            await house.referee()
            for name in ("Ada", "Bob"):
                await house.player(name)
            async with Client(place.url, mode=mode) as client:
                tools = {tool.name: tool for tool in (await client.list_tools()).tools}
                assert set(tools) == {"join_league", "wait_for_turn", "submit_move", "get_standings"}
                assert tools["wait_for_turn"].annotations.read_only_hint
                assert not tools["submit_move"].annotations.read_only_hint
                end = await play_by_mcp(client, "Model")
                table = (await client.call_tool("get_standings", {})).structured_content
            await house.over
            assert technical_losses(house) == 0
            assert end["record"]["wins"] + end["record"]["draws"] + end["record"]["losses"] == 2
            assert not end["automatic"]
            assert [row["rank"] for row in table["standings"] if row["player_id"] == end["player_id"]] == [end["rank"]]

    run(played())


def test_who_has_a_seat_may_move_although_others_at_its_address_ask_too_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def asked() -> None:
        async with ServedLeague(tmp_path) as house, served_gateway(house.url, tmp_path) as place:
            _, joined = await place.post("/api/join", {"name": "Ada"})
            monkeypatch.setattr(RateLimiter, "acquire_for_page", lambda _self, peer: float(peer.host == "127.0.0.1"))
            move = {"turn": "1", "move": "even"}
            statuses = [(await place.post("/api/move", move, code))[0] for code in (joined["code"], "AAAA", "")]
            assert statuses == [409, 429, 429]

    run(asked())


def test_waiting_tells_how_it_goes_and_ends_with_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mcp_surface, "PROGRESS_SECONDS", 0.05)

    async def waited() -> None:
        told: list[float] = []

        async def progress(done: float, of: float | None, text: str | None) -> None:
            assert (of, text) == (0.3, "No move is wanted yet.")
            told.append(done)

        async with (
            ServedLeague(tmp_path) as house,
            served_gateway(house.url, tmp_path) as place,
            Client(place.url) as client,
        ):
            code = (await client.call_tool("join_league", {"name": "Model"})).structured_content["code"]
            asked = {"code": code, "seconds": 0.3}
            state = (await client.call_tool("wait_for_turn", asked, progress_callback=progress)).structured_content
            assert state["status"] == "waiting"
            assert state["asked"] is None
            assert len(told) >= 3
            assert told == sorted(told)
            for wrong in ({"code": code, "seconds": 46}, {"code": "0000-0000-0000-0000"}, {}):
                assert (await client.call_tool("wait_for_turn", wrong)).is_error
            # A client that has the code in its URL does not need it in its calls.
        async with ServedLeague(tmp_path) as house, served_gateway(house.url, tmp_path) as place:
            code, _ = await place.gateway.join(None, "Other", "127.0.0.1")
            async with Client(f"{place.url}?seat={code}") as client:
                assert (await client.call_tool("wait_for_turn", {"seconds": 0})).structured_content["name"] == "Other"
                assert (await client.call_tool("join_league", {})).structured_content["code"] == code

    run(waited())


def test_a_seat_is_open_to_its_code_alone(tmp_path: Path) -> None:
    async def tried() -> None:
        async with ServedLeague(tmp_path) as house, served_gateway(house.url, tmp_path) as place:
            status, joined = await place.post("/api/join", {"name": "Ada"})
            assert status == 200
            own = place.gateway.seats.values()
            move = {"turn": "R1M1-1", "move": "even"}
            assert (await place.post("/api/move", move))[0] == 401
            assert (await place.post("/api/move", move, "0000-0000-0000-0000"))[0] == 403
            assert (await place.post("/api/move", move, joined["code"]))[0] == 409
            assert (await place.post("/api/move", {}, joined["code"]))[0] == 400
            assert (await place.post("/api/join", {"name": "x" * 20_000}))[0] == 413
            status, refused = await place.post("/api/join", {"name": "Ada"})
            assert status == 403
            assert "'Ada'" in refused["error"]
            # What is shown without a code has none of it in it.
            async with Client(place.url) as client:
                shown = json.dumps((await client.call_tool("get_standings", {})).structured_content)
            (seat,) = own
            assert joined["code"] not in shown
            assert str(seat.agent.identity and seat.agent.identity.auth_token) not in shown
            page = await _get(place.base, "/api/seat")
            assert page.startswith("HTTP/1.1 401")
            assert (await _get(place.base, "/api/league")).startswith("HTTP/1.1 200")
            assert (await _get(place.base, "/api/league", "host: evil.example")).startswith("HTTP/1.1 421")
            assert (await _get(place.base, "/api/league", "origin: http://evil.example")).startswith("HTTP/1.1 403")
            assert "default-src 'none'" in await _get(place.base, "/")
            assert "--paper" in await _get(place.base, "/static/colours.css")
            assert (await _get(place.base, "/static/../gateway.py")).startswith("HTTP/1.1 404")
            # There is no recipient, so there is no answer at all, and the caller tries again.
            with pytest.raises(Unreachable):
                await place.caller.post(f"{place.url}?at=0123", b"{}", 5.0)

    run(tried())


async def _get(base: str, path: str, *headers: str) -> str:
    host, _, port = base.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    named = () if any(line.startswith("host:") for line in headers) else (f"host: {host}:{port}",)
    writer.write("\r\n".join((f"GET {path} HTTP/1.1", *named, *headers, "connection: close", "", "")).encode())
    answer = (await reader.read()).decode()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("game", "dark", "prefix"),
    [("tic_tac_toe", False, "/seats"), pytest.param("rock_paper_scissors", True, "", marks=pytest.mark.long)],
)
def test_a_person_plays_a_whole_league_in_the_browser(tmp_path: Path, game: str, dark: bool, prefix: str) -> None:
    """Behind a proxy, the page is under a path."""

    async def played() -> None:
        async with (
            ServedLeague(tmp_path, players=3, game_type=game) as house,
            served_gateway(house.url, tmp_path) as place,
        ):
            await house.referee()
            for name in ("Bob", "<b>Eve</b>"):
                await house.player(name)
            asked = {"command": "seats_new", "count": 1, "admin_token": "adm"}
            body = json.dumps({"jsonrpc": "2.0", "method": "operator", "params": asked, "id": 1}).encode()
            came = json.loads((await place.caller.post(house.url, body, 5.0)).body)
            code = came["result"]["seats"][0]["code"]
            with proxy(place.base, prefix) as url:
                async with page_at(f"{url}/", dark=dark) as page:
                    await page.get_by_text("2 players are here, and the league begins with 1 more.").wait_for()
                    # Tables without results are not shown.
                    assert await page.locator("table:visible").count() == 0
                    link = page.get_by_role("link", name="The page of the league")
                    assert await link.get_attribute("href") == house.url.removesuffix("mcp")
                    await page.get_by_label("Your name").fill("Ada")
                    await page.get_by_label("Your seat code").fill("0000-0000-0000-0000")
                    await page.get_by_role("button", name="Sit down").click()
                    await page.get_by_text("opens nothing here").wait_for()
                    # Without a seat, the gateway does not know the table. An empty one would be wrong.
                    assert await page.get_by_text("Standings").is_hidden()
                    await play_in_page(page, "Ada", code)
                    await page.get_by_text("You are number").wait_for()
                    await page.get_by_text("The league is over.", exact=True).first.wait_for()
                    assert await page.locator("#matches tr").count() == 2
                    outcome = await page.locator("#outcome").text_content()
                    assert re.match("You (won|lost|drew) against (Bob|<b>Eve</b>). You played ", outcome or "")
                    await page.locator("#standings tr", has_text="<b>Eve</b>").wait_for()
                    own = page.get_by_role("link", name="Your next match")
                    assert await own.get_attribute("href") == f"{house.url.removesuffix('mcp')}#/agents/P03"
                    # After loading the page again, the person still has the seat.
                    await page.reload()
                    await page.get_by_text("You are number").wait_for()
            await house.over
            assert technical_losses(house) == 0
            (seat,) = place.gateway.seats.values()
            assert not seat.state().automatic

    run(played())


def test_a_table_that_is_ranked_by_payoff_has_a_column_for_it_and_says_so(tmp_path: Path) -> None:
    async def played() -> None:
        game = {"game_type": "prisoners_dilemma", "game_args": {"turns": 1}, "payoff_range": (0, 5)}
        async with ServedLeague(tmp_path, **game) as house, served_gateway(house.url, tmp_path) as place:
            await house.referee()
            await house.player("Bob")
            async with page_at(f"{place.base}/") as page:
                said = page.get_by_text("The table is ranked by payoff, the mean of all matches of a player.")
                assert not await said.is_visible()
                await play_in_page(page, "Ada")
                await said.wait_for()
                await page.get_by_role("columnheader", name="Payoff").wait_for()
                # The page asks for the table from time to time.
                await page.locator("#standings tr:first-child td:last-child", has_not_text="0.000").wait_for()
                payoffs = await page.locator("#standings td:last-child").all_text_contents()
                assert "".join(payoffs) in ("3.0003.000", "5.0000.000", "1.0001.000")
            await house.over

    run(played())


@pytest.mark.long
@pytest.mark.parametrize(
    ("game", "buttons", "marks"),
    # One cell is chosen, or a column.
    [("tic_tac_toe", 9, 1), ("connect_four", 7, 6)],
)
def test_the_board_stays_between_two_moves(tmp_path: Path, game: str, buttons: int, marks: int) -> None:
    async def played() -> None:
        async with (
            ServedLeague(tmp_path, game_type=game) as house,
            served_gateway(house.url, tmp_path) as place,
        ):
            await house.referee()
            async with page_at(f"{place.base}/") as page:
                await page.get_by_label("Your name").fill("Ada")
                await page.get_by_role("button", name="Sit down").click()
                await page.locator("#seat").wait_for()
                _, other = await place.gateway.join(None, "Bob", "127.0.0.1")
                free, made = "#moves .choice", "#moves rect.marked"

                async def count(selector: str) -> int:
                    return int(await page.locator(selector).count())

                async def moves_until(selector: str) -> None:
                    while not await count(selector):
                        if (asked := (await other.wait(0.1)).asked) is not None:
                            other.submit(asked.turn, asked.valid_options[0])

                shown: list[int] = []
                for _ in range(2):
                    await moves_until(free)
                    shown.append(await count(free))
                    await page.locator(free).last.click()
                    await page.get_by_text("The other’s move").wait_for()
                    # What was chosen is marked until the next question.
                    assert (await count(free), await count(made)) == (0, marks)
                    assert await page.locator("#clock").is_hidden()
                while not await count("#matches tr"):
                    await moves_until(f"{free}, #matches tr")
                    if await count(free):
                        await page.locator(free).last.click()
                assert await page.locator("#turn").is_hidden()
                assert shown[0] in (buttons, buttons - (game == "tic_tac_toe"))

    run(played())


def test_a_player_behind_a_router_plays_from_a_process_of_its_own(tmp_path: Path) -> None:
    async def played() -> None:
        async with ServedLeague(tmp_path, players=2) as house, served_gateway(house.url, tmp_path) as place:
            await house.referee()
            await house.player("Ada")
            arguments = ("--manager", house.url, "--relay", place.base, "--name", "Far", "--data-dir", tmp_path / "far")
            with Program("player", *arguments) as program:
                await house.over
                assert await asyncio.to_thread(program.ended) == 0
                assert "is called through" in program.stderr
            assert technical_losses(house) == 0
            endpoint = next(
                one.meta.contact_endpoint for one in house.league.players.values() if one.meta.display_name == "Far"
            )
            assert endpoint.startswith(f"{place.url}?at=")

    run(played())


def test_a_player_that_is_sent_to_no_gateway_says_so(tmp_path: Path) -> None:
    async def sent() -> None:
        async with ServedLeague(tmp_path) as house:
            arguments = ("--manager", house.url, "--relay", house.url, "--data-dir", tmp_path / "far")
            with Program("player", *arguments) as program:
                assert await asyncio.to_thread(program.ended) == 2
                assert "does not pass calls on" in program.stderr

    run(sent())


@pytest.mark.parametrize(
    "arguments",
    [("gateway", "--manager", "here"), ("player", "--manager", "http://127.0.0.1:1/mcp", "--relay", "here")],
)
def test_what_is_no_url_is_not_waited_for(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    done = league(*arguments, "--data-dir", tmp_path)
    assert done.process.returncode == 2
    assert f"{arguments[-2]}: 'here' is not called" in done.stderr


@pytest.mark.parametrize("given", [("--host", "0.0.0.0"), ("--port", "8101"), ("--endpoint", "http://10.0.0.5/mcp")])
def test_a_player_behind_a_gateway_is_not_told_where_to_listen(tmp_path: Path, given: tuple[str, str]) -> None:
    at = ("--manager", "http://127.0.0.1:1/mcp", "--relay", "http://127.0.0.1:1")
    done = league("player", *at, *given, "--data-dir", tmp_path)
    assert done.process.returncode == 2
    assert f"with --relay no port is opened here, and the gateway is called: leave out {given[0]}" in done.stderr


def test_a_gateway_without_the_extra_offers_no_mcp(tmp_path: Path) -> None:
    without = "import sys; sys.modules['mcp'] = None; from leaguekit.cli import main; sys.exit(main())"

    async def started() -> None:
        async with ServedLeague(tmp_path) as house:
            arguments = ("gateway", "--manager", house.url, "--port", "0", "--data-dir", tmp_path / "gw")
            with Program(*arguments, command=(sys.executable, "-c", without)) as program:
                await asyncio.to_thread(program.said, r"chat applications: .* pip install 'leaguekit\[mcp\]'")

    run(started())


def test_a_hundred_seats_take_little_of_a_process(tmp_path: Path) -> None:
    async def filled() -> None:
        async with ServedLeague(tmp_path, players=200, max_players=200) as house:
            with Program("gateway", "--manager", house.url, "--port", "0", "--data-dir", tmp_path / "gw") as program:
                said = await asyncio.to_thread(program.said, r"is at http://127\.0\.0\.1:(\d+)/mcp")
                base = f"http://127.0.0.1:{said[1]}"
                caller = HttpCaller(AddressPolicy.local())

                async def join(number: int) -> None:
                    came = await caller.post(f"{base}/api/join", json.dumps({"name": f"Seat {number}"}).encode(), 30.0)
                    assert came.status == 200, came

                await join(0)
                before = psutil.Process(program.process.pid).memory_info().rss
                for number in range(1, 101):
                    await join(number)
                grown = psutil.Process(program.process.pid).memory_info().rss - before
                await caller.close()
            assert len(house.league.players) == 101
            assert grown < 12_000_000, f"{grown:,} bytes"

    run(filled())
