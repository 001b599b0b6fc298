"""The dashboard in a real browser while a league of real processes plays; its limits, and what it offers everybody."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from leaguekit.league import commands
from leaguekit.protocol.messages import MatchProgress
from tests.league.play import Play, whole
from tests.recovery.league_programs import LeaguePrograms, table
from tests.web.browsing import (
    ADMIN,
    DESK,
    PHONE,
    SIZES,
    Visit,
    chromium,
    expected_table,
    fetched,
    hundred_players,
    loaded,
    served,
)
from tests.web.test_pages import ROUTES, renamed
from tests.web.test_pictures import reported

pytestmark = pytest.mark.long

PATIENCE_MS = 120_000
MAX_BYTES = 40_000
# Collects everything on a page that a reader can act on, and says how often the Tab key stops on the page.
FIND_CONTROLS = """(() => {
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true }) && !one.disabled;
  const controls = "a[href], button, input, select, textarea, summary";
  globalThis.unreached = new Set([...document.querySelectorAll(controls)].filter(isShown));
  document.activeElement.blur();
  return [...document.querySelectorAll(`${controls}, [tabindex="0"]`)].filter(isShown).length;
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def test_a_league_of_12_plays_while_the_page_is_open_and_a_killed_manager_does_not_break_it(
    browser: Browser, tmp_path: Path
) -> None:
    with LeaguePrograms(tmp_path, tmp_path / "league.db", players=12, lead=0.7) as programs:
        base = programs.manager_url.removesuffix("/mcp")
        _wait_for(base)
        visit = Visit(browser, base)
        page = visit.open()
        loads: list[str] = []
        page.on("load", lambda _: loads.append(page.url))
        expect(page.locator(".opening")).to_contain_text(re.compile("round [2-9] of 11"), timeout=PATIENCE_MS)
        programs.kill(["manager"])
        expect(page.locator("#connection")).to_contain_text("Connection lost")
        # What was known is still there to be read.
        expect(page.locator(".standings tbody tr")).to_have_count(12)
        programs.start(["manager"])
        expect(page.locator("#connection")).to_be_hidden(timeout=PATIENCE_MS)
        expect(page.locator(".champion")).to_contain_text("Champion", timeout=PATIENCE_MS)
        expect(page.locator("#said")).to_contain_text("Champion")
        expect(page.locator(".podium li")).to_have_count(3)
        assert loads == []
        assert visit.table() == expected_table(base)
        with ThreadPoolExecutor(1) as thread:
            log = thread.submit(programs.log).result()
        assert [(row[0], row[1]) for row in visit.table()] == [(str(rank), name) for rank, name, *_ in table(log)]
        _look_around(visit)
        visit.ended()


def _wait_for(base: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            fetched(f"{base}/health")
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def _look_around(visit: Visit) -> None:
    """Go from page to page as a reader does, by links and keys."""
    page = visit.page
    page.get_by_role("link", name="Cross-table").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Everybody against everybody")
    # A screen reader begins where the new page does.
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.locator("table.cross td a").first.click()
    expect(page.get_by_text("Your browser has just computed it")).to_be_visible()
    group = page.get_by_role("group", name="Messages")
    group.get_by_role("button", name="First").click()
    expect(group.get_by_role("status")).to_contain_text("1 of")
    page.keyboard.press("ArrowRight")
    expect(group.get_by_role("status")).to_contain_text("2 of")
    expect(page.locator(".sequence .later").first).to_be_attached()
    # The texts of messages name players, and do not have their ids.
    expect(page.locator(".sequence")).to_contain_text("against")
    expect(page.locator(".sequence")).not_to_contain_text(re.compile(r"\bP\d\d\b"))
    page.get_by_role("group", name="Steps of the game").get_by_role("button", name="First").click()
    expect(page.locator(".game .picture .back")).to_have_count(3)


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_axe_finds_no_serious_fault_on_any_page_light_or_dark(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    play, axe = whole(), Axe()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=size)
        visit.page.add_init_script(f"sessionStorage.setItem('admin_token', '{ADMIN}')")
        for route in ROUTES:
            page = visit.open(route)
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                assert _grave(axe, page) == {}, (route, scheme)
        visit.ended()


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_every_link_button_and_field_is_reached_by_the_tab_key_alone(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    play = whole()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=size)
        visit.page.add_init_script(f"sessionStorage.setItem('admin_token', '{ADMIN}')")
        for route in ROUTES:
            page = visit.open(route)
            page.wait_for_load_state("networkidle")
            count = page.evaluate(FIND_CONTROLS)
            assert count > 6, route
            for _ in range(count):
                page.keyboard.press("Tab")
                page.evaluate("unreached.delete(document.activeElement)")
            unreached = page.evaluate("[...unreached].filter(one => one.isConnected).map(one => one.outerHTML)")
            assert unreached == [], route
        visit.ended()


@pytest.mark.parametrize(
    ("players", "text"), [(16, "knockout(third_place=True)"), (17, "swiss"), (20, "gauntlet(challengers=2)")]
)
def test_axe_finds_no_serious_fault_in_any_format_on_phone_and_desk_light_and_dark(
    browser: Browser, tmp_path: Path, players: int, text: str
) -> None:
    play, axe = Play(players=players, referees=5, format=text, seed_hex="5e" * 32).begin(), Axe()
    play.play_round()
    play.draw()
    play.announce()
    play.assign()
    with served(play.log, play.settings, tmp_path) as base:
        for size in ((375, 800), DESK):
            for dark in (False, True):
                visit = Visit(browser, base, size=size, dark=dark)
                for route in ("", "rounds/1"):
                    page = visit.open(route)
                    assert _grave(axe, page) == {}, (size, dark, route)
                    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
                visit.ended()


def _grave(axe: Axe, page: Page) -> dict[str, list[str]]:
    """What is serious or worse, and where."""
    found = axe.run(page, options={"resultTypes": ["violations"]}).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical")]
    return {one["id"]: [node["html"] for node in one["nodes"]] for one in grave}


def test_no_page_is_wider_than_a_phone(browser: Browser, tmp_path: Path) -> None:
    play = whole()
    names = {"P01": "W" * 50, "P02": "W " * 25, "P03": "ﷺ" * 50, "P04": "Z" + "\u0335" * 49, "P05": "שלום עולם"}
    with served(renamed(play, names), play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=PHONE)
        visit.page.add_init_script(f"sessionStorage.setItem('admin_token', '{ADMIN}')")
        for route in ROUTES:
            assert visit.open(route).evaluate("document.documentElement.scrollWidth") <= PHONE[0], route
        visit.ended()


def test_the_whole_table_with_technical_losses_fits_a_phone_with_a_scroll_bar(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=4, referees=1).begin()
    play.do(commands.withdraw(play.league, "P02", "it hangs", play.now))
    play.play_all()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=(360, 800))
        page = visit.open()
        expect(page.locator(".standings thead").get_by_text("Tech.")).to_be_visible()
        hidden = page.locator(".standings .wide").evaluate("table => table.scrollWidth - table.clientWidth")
        assert hidden == 0
        visit.ended()


def test_an_address_of_no_page_says_so(browser: Browser, tmp_path: Path) -> None:
    play = whole()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open("match/R3M2")
        expect(page.locator("h1")).to_have_text("Not here")
        page.get_by_role("link", name="The league", exact=True).click()
        expect(page.locator(".standings")).to_be_visible()
        visit.ended()


def test_a_league_of_100_loads_within_40_kb(browser: Browser, tmp_path: Path) -> None:
    play = hundred_players()
    with served(play.log, play.settings, tmp_path) as base:
        snapshot = _compressed_size(f"{base}/api/live")
        sizes, _ = loaded(browser, base)
        assert len(sizes) > 5
        assert sum(sizes) + snapshot < MAX_BYTES, (sizes, snapshot)


def test_so_does_one_in_play_with_boards_and_pairings(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=100, referees=10, format="swiss").begin()
    for _ in range(3):
        play.play_round()
        play.draw()
        play.announce()
    play.assign()
    reports: Queue[MatchProgress] = Queue()
    picture = {"kind": "grid", "rows": [["●", "", "○"] * 2] * 6}
    for name in play.in_play:
        reports.put(reported(play, name, picture=picture, missing=[play.match(name).a]))
    with served(play.log, play.settings, tmp_path, reports) as base:
        visit = Visit(browser, base)
        page = visit.open()
        expect(page.locator(".playing .picture")).to_have_count(8)
        expect(page.locator(".round")).to_be_visible()
        expect(page.locator(".certainty")).to_be_visible()
        sizes = page.evaluate(SIZES)
        snapshot = _compressed_size(f"{base}/api/live")
        assert sum(sizes) + snapshot < MAX_BYTES, (sizes, snapshot)
        visit.ended()


def _compressed_size(url: str) -> int:
    request = urllib.request.Request(url, headers={"accept-encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=15) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        return len(answer.read())


def test_the_pages_of_a_table_on_a_wall_turn_by_themselves(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=30, referees=1).begin()
    play.record("R1M1")
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=(1920, 1080))
        visit.page.clock.install()
        page = visit.open("rounds")
        page.get_by_role("button", name="Wall").click()
        seen = set()
        rows = page.locator(".standings tbody tr")
        for _ in range(3):
            expect(page.locator(".standings .count")).to_contain_text("of 30")
            expect(rows.last).to_be_in_viewport(ratio=1)
            expect(rows.last.locator(".points")).to_be_in_viewport(ratio=1)
            names = rows.evaluate_all("rows => rows.map(row => row.dataset.key)")
            assert len(names) <= 12
            assert not seen & set(names)
            seen |= set(names)
            page.clock.fast_forward(10_000)
        assert len(seen) == 30
        page.keyboard.press("Escape")
        expect(rows).to_have_count(30)
        visit.ended()


def test_on_a_wall_a_bracket_and_a_podium_fit_beside_each_other(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=16, referees=5, format="knockout", seed_hex="5e" * 32).begin().play_all()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=(1920, 1080))
        page = visit.open()
        page.get_by_role("button", name="Wall").click()
        expect(page.locator(".bracket")).to_be_in_viewport(ratio=1)
        expect(page.locator(".podium")).to_be_in_viewport(ratio=1)
        expect(page.locator(".standings")).to_be_hidden()
        visit.ended()


def test_all_links_to_pages_are_in_one_line_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    play = whole()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=(375, 700))
        links = visit.open().locator("#pages a")
        assert len({box["y"] for link in links.all() if (box := link.bounding_box()) is not None}) == 1
        expect(links.last).to_be_in_viewport(ratio=1)
        visit.ended()


def test_the_operator_acts_from_the_page_and_sees_each_act_as_an_event(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=4)
    play.referee(1)
    play.begin()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open("operator")
        page.get_by_label("Admin token").fill("a guess")
        page.get_by_role("button", name="Come in").click()
        expect(page.locator("#answer")).to_have_text("This is not the admin token of this league.")
        page.get_by_label("Admin token").fill(ADMIN)
        page.get_by_role("button", name="Come in").click()
        card = page.locator(".card", has=page.get_by_role("heading", name="The league"))
        card.get_by_label("Reason").fill("lunch")
        card.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="No", exact=True).click()
        expect(page.locator("#state")).to_have_text("In progress")
        card.get_by_role("button", name="Pause").click()
        page.get_by_role("button", name="Yes: pause").click()
        expect(page.locator("#state")).to_have_text("Paused")
        expect(page.locator(".log .operator").first).to_contain_text("lunch")
        card.get_by_role("button", name="Resume").click()
        page.get_by_role("button", name="Yes: resume").click()
        expect(page.locator("#state")).to_have_text("In progress")
        card = page.locator(".card", has=page.get_by_role("heading", name="A player", exact=True))
        card.get_by_label("Player").select_option("P03")
        card.get_by_role("button", name="Withdraw").click()
        page.get_by_role("button", name="Yes: withdraw").click()
        expect(page.locator("dialog")).to_have_count(0)
        expect(page.locator("#answer")).to_contain_text("`league readmit P03` brings it back")
        expect(page.locator(".log .operator").first).to_contain_text("Agent 3 (P03) is withdrawn")
        card = page.locator(".card", has=page.get_by_role("heading", name="A player that left"))
        card.get_by_label("Player").select_option("P03")
        card.get_by_role("button", name="Readmit").click()
        expect(page.locator("dialog")).to_contain_text("P03 Agent 3")
        page.get_by_role("button", name="Yes: readmit").click()
        expect(page.locator("#answer")).to_contain_text("Its next match is R2M")
        card = page.locator(".card", has=page.get_by_role("heading", name="Settings"))
        expect(card.get_by_label("choice seconds")).to_have_value("30")
        card.get_by_label("choice seconds").fill("5")
        card.get_by_role("button", name="Change").click()
        expect(page.locator("dialog dd")).to_have_text(["5"])
        page.get_by_role("button", name="Yes: change").click()
        expect(page.locator("#answer")).to_have_text("The operator sets choice_seconds = 5.0.")
        card = page.locator(".card", has=page.get_by_role("heading", name="Seats"))
        card.get_by_label("Or for whom").fill("Ada Lovelace, ada@example.org\n\nBob")
        another = Visit(browser, base)
        theirs = another.open("operator")
        theirs.get_by_label("Admin token").fill(ADMIN)
        theirs.get_by_role("button", name="Come in").click()
        expect(theirs.get_by_text("There are no seats")).to_be_visible()
        card.get_by_role("button", name="Make seats").click()
        page.get_by_role("button", name="Yes: make seats").click()
        expect(card.locator("code")).to_have_count(2)
        expect(card.get_by_text("Ada Lovelace")).to_have_count(2)
        # The other operator sees them too, but not their codes; and a player that has left may still have won.
        expect(theirs.get_by_role("button", name="Revoke S02")).to_be_visible()
        expect(theirs.locator("code")).to_have_count(0)
        theirs.get_by_label("Outcome").select_option("P03")
        another.ended()
        # Matches and players are chosen from lists: those of a round, which can be played again or corrected.
        card = page.locator(".card", has=page.get_by_role("heading", name="A result"))
        card.get_by_label("Match").select_option("R1M1")
        card.get_by_label("Outcome").select_option("draw")
        card.get_by_role("button", name="Correct").click()
        expect(page.locator("dialog")).to_contain_text("R1M1: Agent")
        page.get_by_role("button", name="Yes: correct").click()
        expect(page.locator(".log .operator").first).to_contain_text("R1M1")
        expect(card.get_by_label("Match").locator("option[value=R1M1]")).to_contain_text("1 : 1")
        again = page.locator(".card", has=page.get_by_role("heading", name="A match", exact=True))
        again.get_by_label("Match").select_option("R1M1")
        # Nothing that opens anything is left behind for the next who uses this browser.
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        page.get_by_role("button", name="Leave").click()
        expect(page.get_by_label("Admin token")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0
        visit.ended()
