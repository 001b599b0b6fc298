"""The dashboard's pages in a real browser: what they show, and that agents' words are only ever text."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from leaguekit.league.settings import Settings
from tests.agents.leagues import LEAGUE
from tests.league.play import Play, drawn, failed, refused, whole
from tests.played import played
from tests.security.hostile_names import NAMES
from tests.web.browsing import DESK, PHONE, Visit, chromium, expected_table, fetched, served

# Every page, of a league in which everything happened that can.
ROUTES = ["", "rounds", "rounds/2", "cross", "figures", "agents", "agents/P01", "agents/REF01", "matches/R1M1"]
ROUTES.append("operator")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def renamed(play: Play, names: dict[str, str]) -> list[bytes]:
    """The log of a league, with names that no registration would let in."""
    log = []
    for event in map(json.loads, play.log):
        if event.get("player_id") in names and "meta" in event:
            event["meta"]["display_name"] = names[event["player_id"]]
        log.append(json.dumps(event).encode())
    return log


def test_every_page_opens_with_no_error_and_no_request_to_elsewhere(browser: Browser, tmp_path: Path) -> None:
    play = whole()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        for route in ROUTES:
            expect(visit.open(route).locator("main")).not_to_contain_text("Not here")
        # Whatever somebody types behind the # leads somewhere.
        for route in ("matches/%", "constructor"):
            visit.open(route)
        visit.faults = [one for one in visit.faults if "404 (Not Found)" not in one]
        visit.open()
        assert visit.table() == expected_table(base)
        visit.ended()


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_players_who_are_equal_share_a_rank_and_the_page_says_what_decided(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    play = Play(players=2, referees=1, seed_hex="5e" * 32).begin()
    play.record("R1M1", drawn(play.match("R1M1")))
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=size)
        page = visit.open()
        assert [row[0] for row in visit.table()] == ["1=", "1="]
        for head in ("H2H", "SB"):
            expect(page.locator(".standings thead").get_by_text(head)).to_be_visible()
        first, second = (f"Agent {name[1:].lstrip('0')}" for name in play.league.table.standings())
        expect(page.locator(".champion")).to_have_text(
            f"{first} and {second} share the first place with 1 point each; the lot names {first} champion"
        )
        expect(page.locator(".standings")).to_contain_text(
            f"{first} and {second} are equal in points, head-to-head, Sonneborn–Berger, wins and technical losses; "
            "they share the place, listed by a lot."
        )
        order = "points, head-to-head, Sonneborn–Berger, wins, fewest technical losses"
        expect(page.get_by_text(f"The order: {order}")).to_be_visible()
        page.get_by_text("How the order is decided").click()
        committed = hashlib.sha256(b"5e" * 32).hexdigest()
        expect(page.locator(".standings code").first).to_have_text(committed)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert visit.open("cross").locator("th .rank").all_text_contents() == ["1=", "1="]
        expect(visit.open(f"agents/{next(iter(play.league.players))}").locator(".tiles")).to_contain_text("1=")
        visit.ended()


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_a_table_that_is_ranked_by_payoff_shows_it_and_says_so(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    # This thread has an event loop of its own.
    with ThreadPoolExecutor(1) as thread:
        log = thread.submit(played, "prisoners_dilemma", "random", "always_D", "always_C").result().log
    with served(log, Settings(league_id=LEAGUE), tmp_path) as base:
        rows = fetched(f"{base}/api/standings")["rows"]
        payoffs = [f"{row['payoff']:.3f}" for row in rows]
        assert payoffs == sorted(payoffs, reverse=True)
        visit = Visit(browser, base, size=size, dark=size == PHONE)
        page = visit.open()
        expect(page.locator(".standings tbody td:last-child")).to_have_text(payoffs)
        expect(page.locator(".standings thead").get_by_text("Payoff")).to_be_visible()
        expect(page.locator(".standings").get_by_text("The table is ranked by payoff, the mean of")).to_be_visible()
        expect(page.locator(".champion")).to_have_text(
            f"Champion: {rows[0]['name']} with a payoff of {payoffs[0]} per match"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        expect(visit.open(f"agents/{rows[0]['id']}").locator(".tiles")).to_contain_text(f"Payoff{payoffs[0]}")
        visit.ended()


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_a_bracket_shows_who_meets_whom_and_who_advances(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    text = "knockout(best_of=1, third_place=true)"
    play = Play(players=17, referees=4, format=text, seed_hex="5e" * 32).begin()
    play.play_round()
    play.draw()
    play.announce()
    play.assign()
    play.record(play.in_play[0])
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=size, dark=size == PHONE)
        page = visit.open()
        expect(page.get_by_text("knockout, best of 1, third place")).to_be_visible()
        bracket = page.get_by_role("region", name="Stages", exact=True)
        headings = ["Round of 16", "Quarter-finals", "Semi-finals", "Final"]
        expect(bracket.get_by_role("heading")).to_have_text(headings)
        expect(bracket.locator("li")).to_have_count(8 + 4 + 2 + 2)
        expect(bracket.locator("li").first).to_contain_text("advances")
        expect(bracket.locator("li").first.get_by_role("link", name="won R2M1")).to_have_attribute(
            "href", "#/matches/R2M1"
        )
        expect(bracket.locator("li.third")).to_contain_text("Third place")
        expect(page.locator("details.stage summary")).to_have_text("Round of 32: 1 of 1 pairing decided")
        expect(page.locator(".bracket")).to_contain_text("The winner of a game advances.")
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        expect(visit.open("rounds").locator("h1")).to_have_text("Round 2: Round of 16")
        visit.ended()


def test_a_gauntlet_shows_what_each_challenger_made_of_the_match_against_each_of_the_others(
    browser: Browser, tmp_path: Path
) -> None:
    play = Play(players=30, referees=4, format="gauntlet", seed_hex="5e" * 32).begin()
    play.play_round()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        shown = page.get_by_role("region", name="Gauntlet", exact=True)
        expect(shown).to_contain_text("Agent 1 against everybody")
        expect(shown).to_contain_text("1 won, 0 drawn, 0 lost; 28 to play")
        expect(shown.get_by_role("link", name="won R1M1")).to_have_attribute("href", "#/matches/R1M1")
        expect(shown.get_by_role("link", name="R2M1, not over")).to_have_text("·")
        expect(shown.locator("summary")).to_have_text("5 more opponents")
        expect(shown.locator("li")).to_have_count(29)
        visit.ended()


# In JavaScript such an object can be made neither text nor a number.
NEITHER = {"toString": None, "valueOf": None}
EVIDENCE: list[Any] = [
    {},
    {"players": None},
    {"players": [None]},
    {"players": {"P01": None, "P02": None}},
    {"players": {"P01": {"events": None}, "P02": 1}},
    {"players": {"P01": {"events": [None]}, "P02": {"events": [None]}}},
    {"players": {"P01": {"events": [1, "x", [], {}, [None]]}}},
    {"players": {"P01": {"events": [{"what": None, "at": None, "asked_at": None}]}}},
    {"players": {"P01": {"events": [{"what": NEITHER, "at": NEITHER, "asked_at": NEITHER}]}}},
    {"players": {"P01": {"events": [{"what": "joined", "at": "soon", "asked_at": 1e300}], "last_wrong": NEITHER}}},
    {"players": {"P01": {"events": [], "last_wrong": [None]}}},
]


@pytest.mark.long
def test_whatever_stands_in_a_referees_evidence_the_page_of_the_match_is_shown(
    browser: Browser, tmp_path: Path
) -> None:
    play = Play(players=2, referees=1).begin()
    play.record("R1M1")
    recorded = next(number for number, text in enumerate(play.log) if b'"ResultRecorded"' in text)
    for number, evidence in enumerate(EVIDENCE):
        event = json.loads(play.log[recorded])
        event["result"]["details"]["evidence"] = evidence
        log = [*play.log[:recorded], json.dumps(event).encode(), *play.log[recorded + 1 :]]
        with served(log, play.settings, tmp_path / str(number)) as base:
            visit = Visit(browser, base)
            page = visit.open("matches/R1M1")
            expect(page.locator("main")).to_contain_text("match R1M1")
            expect(page.locator("main")).to_contain_text("As the referee reported it")
            visit.ended()


def test_the_page_of_the_agents_begins_with_those_that_have_problems(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=4, referees=2).begin()
    bad = play.match("R1M1").b
    play.record("R1M1", failed(play.match("R1M1"), bad))
    play.do([refused(play.now, display_name="<b>Eve</b>", reason="nothing answered at http://10.0.0.7:8101/mcp")])
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open("agents")
        problems = page.locator("section[aria-labelledby=problems] tbody tr")
        expect(problems).to_have_count(1)
        expect(problems).to_contain_text(bad)
        expect(problems).to_contain_text("1 technical loss, 4 calls in a row not answered")
        expect(problems.locator("time")).to_have_count(1)
        refusal = page.locator("section[aria-labelledby=refused] tbody tr")
        expect(refusal).to_contain_text("<b>Eve</b>")
        expect(refusal).to_contain_text("E019 nothing answered at …")
        visit.ended()


def test_a_page_that_cannot_be_drawn_says_so(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=2, referees=1).begin()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        # As if this page came from another release than the manager's answers.
        visit.page.route("**/api/matches/*", lambda route: route.fulfill(json={"match": None}))
        page = visit.open("matches/R1M1")
        expect(page.locator("main")).to_contain_text("This page cannot be shown")
        assert [one[:6] for one in visit.faults] == ["error:"]
        assert visit.open("cross").locator("h1").text_content() != "This page cannot be shown"


@pytest.mark.long
def test_hundreds_of_hostile_names_are_shown_as_text_and_do_nothing(browser: Browser, tmp_path: Path) -> None:
    # Neither half of a pair nor a text that is too long can be in a log.
    is_half = re.compile("[\ud800-\udfff]").search
    hostile = [one.name for one in NAMES if 1 <= len(one.name) <= 50 and not is_half(one.name)]
    assert len(hostile) >= 200
    play = Play(players=len(hostile))
    names = dict(zip(play.league.players, hostile, strict=True))
    with served(renamed(play, names), play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=PHONE)
        shown: dict[str, str] = {}
        for offset in range(0, len(hostile), 100):
            page = visit.open(f"agents/from/{offset}")
            expect(page.locator("caption")).to_contain_text(f"{offset + 1} to")
            # The id, the name, and what became of it: one text in one element, kept apart from what is around it.
            rows = page.locator("tbody tr").evaluate_all(
                "rows => rows.map(row => [row.dataset.key, row.querySelector('bdi').textContent,"
                " row.querySelector('bdi').children.length, row.querySelectorAll('bdi').length])"
            )
            assert all(row[2:] == [0, 1] for row in rows)
            shown |= {row[0]: row[1] for row in rows}
        assert shown == names
        page = visit.open()
        expect(page.locator(".people li")).to_have_count(100)
        # However long or tall a name is, the page is no wider than its screen, and no row much higher than the others.
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
        assert page.evaluate("document.querySelectorAll('main script, main img, main style, main iframe').length") == 0
        visit.ended()
