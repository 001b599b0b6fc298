"""The pages behind a proxy, under a path: every request of a page stays below it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.league.play import whole
from tests.web.browsing import ADMIN, Visit, chromium, expected_table, served
from tests.web.prefix_proxy import proxy
from tests.web.test_pages import ROUTES

SOURCE = Path(__file__).parent.parent.parent / "src" / "leaguekit"


PREFIX = "/cup/spring"


@pytest.mark.parametrize("package", ["web", "gateway"])
def test_no_page_names_a_path_from_the_root(package: str) -> None:
    absolute = re.compile(r"""(?:href|src)="/|["'`(]/(?:api|mcp|events|static)\b|location\.origin""")
    for file in (SOURCE / package / "static").rglob("*"):
        if file.suffix in {".html", ".js", ".css"}:
            # Comments name the paths of the API as its description does.
            lines = [line for line in file.read_text().splitlines() if not line.startswith("//")]
            assert [line for line in lines if absolute.search(line)] == [], file.name


@pytest.mark.long
def test_every_page_works_under_the_path_of_a_proxy(tmp_path: Path) -> None:
    play, outside = whole(), list[str]()
    with (
        chromium() as browser,
        served(play.log, play.settings, tmp_path) as base,
        proxy(base, PREFIX, outside) as url,
    ):
        visit = Visit(browser, url)
        for route in ROUTES:
            expect(visit.open(route).locator("main")).not_to_contain_text("Not here")
        # The stream of events has arrived: the table is that of the manager.
        visit.open()
        assert visit.table() == expected_table(base)
        page = visit.open("operator")
        page.get_by_label("Admin token").fill(ADMIN)
        page.get_by_role("button", name="Come in").click()
        card = page.locator(".card", has=page.get_by_role("heading", name="Seats"))
        card.get_by_label("How many").fill("1")
        card.get_by_role("button", name="Make seats").click()
        page.get_by_role("button", name="Yes: make seats").click()
        expect(card.locator("code")).to_contain_text(f"{url}/mcp?seat=")
        # Another league at the same address does not get this token.
        assert page.evaluate("Object.keys(sessionStorage)") == [f"admin_token{PREFIX}"]
        visit.ended()
    assert outside == []
