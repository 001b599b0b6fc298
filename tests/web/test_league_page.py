"""The front page in a real browser: before a league, while it is played, and when it is over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest
from playwright.sync_api import Browser, Page, expect

from leaguekit.league import commands
from leaguekit.protocol.messages import MatchProgress
from leaguekit.web.rows import winner_of
from tests.league.play import BY_ID, Play, drawn
from tests.web.browsing import DESK, PHONE, Visit, chromium, served
from tests.web.test_pictures import reported

GATEWAY = "http://127.0.0.1:8200/"


def ids_of(page: Page) -> list[str]:
    """The ids of the players in the table, in its order."""
    rows: list[str] = page.locator(".standings tbody tr").evaluate_all("rows => rows.map(row => row.dataset.key)")
    return rows


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def test_before_the_start_the_page_says_who_is_missing_and_how_to_take_part(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=3, referees=1, title="Spring Open")
    with served(play.log, play.settings, tmp_path, start_when=(5, 2), gateway_page=GATEWAY) as base:
        visit = Visit(browser, base)
        main = visit.open().locator("main")
        expect(main.locator("h1")).to_have_text("Spring Open")
        expect(main).to_contain_text("even odd · round-robin")
        begins = main.get_by_role("region", name="When it begins")
        expect(begins).to_contain_text("Begins when 5 players and 2 referees are here")
        expect(begins).to_contain_text("3 of 5, 2 missing")
        expect(begins).to_contain_text("1 of 2, 1 missing")
        expect(main.locator(".people li:not(.free)")).to_have_count(3)
        expect(main.locator(".people .free")).to_have_count(2)
        ways = main.locator(".way")
        expect(ways.locator("h3")).to_have_text(
            ["In the browser", "With a chat application", "In Python, with the SDK", "In plain Python", "In JavaScript"]
        )
        expect(ways.get_by_role("link", name="Take a seat")).to_have_attribute("href", GATEWAY)
        expect(ways.nth(1).locator("pre")).to_contain_text(f"league {GATEWAY}mcp")
        for way, program in ((2, "python agent.py"), (3, "python agent.py"), (4, "node agent.mjs")):
            expect(ways.nth(way).locator("pre").first).to_contain_text(f"{program} --manager {base}/mcp")
        # Nobody leads, and no sentence names a command.
        expect(main.locator("table")).to_have_count(0)
        assert "`" not in main.inner_text()
        visit.ended()


@pytest.mark.long
@pytest.mark.parametrize(("players", "is_below"), [(4, True), (30, False)])
def test_on_a_phone_a_long_list_of_players_is_below_how_to_take_part(
    browser: Browser, tmp_path: Path, players: int, is_below: bool
) -> None:
    play = Play(players=players, referees=1)
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=PHONE)
        page = visit.open()
        expect(page.locator("#join")).to_be_attached()
        join, here = (page.locator(f"#{name}").bounding_box() for name in ("join", "here"))
        assert join is not None
        assert here is not None
        assert (join["y"] > here["y"]) is is_below
        visit.ended()


@pytest.mark.long
def test_a_league_that_its_operator_starts_and_that_has_no_gateway_says_so(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=1, referees=1, require_seat=False)
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        main = visit.open().locator("main")
        expect(main).to_contain_text("Begins when its operator starts it")
        expect(main).to_contain_text("no gateway was started with this league")
        expect(main.get_by_role("link", name="Take a seat")).to_have_count(0)
        assert "`" not in main.inner_text()
        visit.ended()


@pytest.mark.long
def test_a_seat_code_is_asked_for_where_the_league_wants_one(browser: Browser, tmp_path: Path) -> None:
    play = Play(referees=1, require_seat=True)
    with served(play.log, play.settings, tmp_path, gateway_page=GATEWAY) as base:
        visit = Visit(browser, base)
        main = visit.open().locator("main")
        expect(main).to_contain_text("You need a seat code")
        expect(main.locator("pre").nth(1)).to_contain_text(f"--manager '{base}/mcp?seat=CODE'")
        expect(main.locator("pre").first).to_contain_text(f"'{GATEWAY}mcp?seat=CODE'")
        visit.ended()


@pytest.mark.long
def test_before_the_first_result_nobody_leads_and_the_next_matches_are_named(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=6, referees=1).begin()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        expect(page.locator(".standings")).to_contain_text("The table begins with the first result")
        expect(page.locator("table")).to_have_count(0)
        expect(page.locator(".playing li")).to_have_count(2)
        expect(page.locator(".next")).to_contain_text("More of round 1, as soon as a referee is free")
        expect(page.locator(".next li")).to_have_count(1)
        visit.ended()


@pytest.mark.long
@pytest.mark.parametrize("size", [PHONE, DESK])
def test_what_is_in_progress_comes_first_and_then_what_is_next_and_the_results(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    play = Play(players=6, referees=2, tie_breaks=BY_ID).begin()
    play.play_round()
    play.announce()
    play.assign()
    play.record(play.in_play[0], drawn(play.match(play.in_play[0])))
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=size)
        page = visit.open()
        headings = page.locator("main h2").all_inner_texts()
        assert [text.partition("\n")[0].rstrip("0123456789") for text in headings] == [
            *("In play", "What comes next", "Latest results", "Standings", "Events")
        ]
        tops = [page.locator(f"main section.{part}").bounding_box() for part in ("playing", "next", "results")]
        assert [box["y"] for box in tops if box] == sorted(box["y"] for box in tops if box)
        expect(page.locator(".next")).to_contain_text("Round 3, as soon as round 2 is over")
        expect(page.locator(".results li").first).to_contain_text("drew with")
        expect(page.locator(".results li").last).to_contain_text(re.compile(r"Agent \d beat Agent \d"))
        # Even/odd is luck, and the sentence about certainty says so.
        expect(page.locator(".certainty")).to_contain_text("chance alone decides")
        visit.ended()


def test_the_table_is_sorted_and_searched_and_a_link_shows_the_same(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=12, referees=3).begin()
    play.play_round()
    play.announce()
    play.play_round()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        rows = page.locator(".standings tbody tr")
        by_rank = ids_of(page)
        marks = page.locator(".standings .marks").first
        expect(marks).to_contain_text("won, won")
        expect(marks.locator("[aria-hidden]")).to_have_text(["W", "W"])
        page.get_by_role("button", name="Player", exact=True).click()
        assert ids_of(page) == [f"P{number:02}" for number in range(1, 13)]
        expect(page.locator("[aria-sort=ascending]")).to_have_text("Player")
        page.locator("[data-key=losses]").click()
        lost = rows.locator("td:nth-child(8)").all_text_contents()
        assert lost == sorted(lost, reverse=True) != sorted(lost)
        page.keyboard.press("/")
        page.keyboard.type("agent 1")
        expect(rows).to_have_count(4)
        expect(page.get_by_label("Find a player in the table")).to_be_focused()
        shown, link = ids_of(page), page.url
        assert link.endswith("#/?sort=-losses&find=agent+1")
        other = Visit(browser, base)
        other.page.goto(link)
        expect(other.page.locator(".standings tbody tr")).to_have_count(4)
        assert ids_of(other.page) == shown
        other.ended()
        page.get_by_label("Find a player in the table").fill("nobody")
        expect(page.locator(".standings")).to_contain_text("No player has “nobody” in its name.")
        page.get_by_label("Find a player in the table").fill("")
        page.get_by_role("button", name="Rank").click()
        assert ids_of(page) == by_rank
        visit.ended()


@pytest.mark.long
def test_the_reader_s_own_player_is_marked_and_remembered(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=4, referees=1).begin()
    play.play_round()
    play.announce()
    play.assign()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        page.get_by_role("button", name="Follow Agent 2").click()
        own = page.get_by_role("region", name="The player that you follow")
        expect(page.locator("tr.own")).to_have_attribute("data-key", "P02")
        expect(own).to_contain_text("Agent 2")
        expect(own).to_contain_text("Next: round 3")
        expect(own).to_contain_text(re.compile(r"Last: .*(beat|drew)"))
        page.reload()
        expect(page.get_by_role("button", name="Follow Agent 2")).to_have_attribute("aria-pressed", "true")
        expect(own).to_be_visible()
        page = visit.open("agents/P02")
        page.get_by_role("button", name="You follow this player").click()
        expect(page.get_by_role("button", name="Follow this player")).to_have_attribute("aria-pressed", "false")
        expect(visit.open().locator("section.own")).to_have_count(0)
        assert page.evaluate("JSON.stringify(localStorage)") == "{}"
        visit.ended()


@pytest.mark.long
def test_the_reader_s_own_player_stays_in_the_table_on_a_wall_and_its_match_is_the_first(
    browser: Browser, tmp_path: Path
) -> None:
    play = Play(players=12, referees=6).begin()
    play.play_round()
    play.announce()
    play.assign()
    followed, match_id = play.match(play.in_play[-1]).b, play.in_play[-1]
    reports: Queue[MatchProgress] = Queue()
    picture = {"kind": "grid", "rows": [["●", "", "○"] * 2] * 6}
    for name in play.in_play:
        reports.put(reported(play, name, picture=picture, missing=[play.match(name).a]))
    with served(play.log, play.settings, tmp_path, reports) as base:
        visit = Visit(browser, base, size=(1920, 900))
        page = visit.open()
        expect(page.locator(".playing .picture")).to_have_count(6)
        page.locator(f"tr[data-key={followed}] .star").click()
        # It is marked wherever its name is.
        expect(page.locator(".next li").first).to_contain_text(play.league.players[followed].meta.display_name)
        for part in (".playing", ".next", ".results", "tr.own"):
            shown = page.locator(f"{part} [data-agent={followed}]").first
            expect(shown).to_have_css("background-color", "rgb(255, 243, 196)")
        page.get_by_role("button", name="Wall").click()
        for shown in ("tr.own", "tbody tr:last-child", "section.own"):
            expect(page.locator(shown)).to_be_in_viewport(ratio=1)
        boards = page.locator(".playing li:visible")
        expect(boards).to_have_count(4)
        expect(boards.first).to_have_attribute("data-key", match_id)
        for board in boards.all():
            expect(board).to_be_in_viewport(ratio=1)
        # A small screen has no room for it.
        page.set_viewport_size({"width": 768, "height": 900})
        expect(page.locator("html.wall")).to_have_count(0)
        expect(page.get_by_role("button", name="Wall")).to_be_hidden()
        page.set_viewport_size({"width": 1920, "height": 900})
        expect(page.locator("html.wall")).to_have_count(1)
        page.keyboard.press("Escape")
        page = visit.open(f"agents/{followed}")
        pressed = page.get_by_role("button", name="You follow this player")
        expect(pressed).to_be_visible()
        before = pressed.evaluate("one => getComputedStyle(one).backgroundColor")
        pressed.hover()
        assert pressed.evaluate("one => getComputedStyle(one).backgroundColor") == before
        visit.ended()


@pytest.mark.long
def test_a_column_with_blanks_does_not_sort_and_a_search_leaves_out_the_ties_of_others(
    browser: Browser, tmp_path: Path
) -> None:
    play = Play(players=12, referees=6).begin()
    for _ in range(3):
        play.play_round()
        play.announce()
    rows = play.league.table.placed_rows()
    assert None in [row.sonneborn_berger for row in rows] != [None] * 12
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        expect(page.get_by_role("columnheader", name="SB")).to_be_visible()
        expect(page.locator("[data-key=sonneborn_berger]")).to_have_count(0)
        expect(page.locator("[data-key=points]")).to_be_visible()
        ties = page.locator(".standings > p.small:not(.soft)")
        assert ties.count() > 1
        page.get_by_label("Find a player in the table").fill("Agent 5")
        for text in ties.all_text_contents():
            assert "Agent 5" in text
        page.get_by_label("Find a player in the table").fill("nobody")
        expect(ties).to_have_count(0)
        visit.ended()


@pytest.mark.long
def test_a_match_in_play_shows_who_thinks_and_one_that_is_held_waits_for_the_operator(
    browser: Browser, tmp_path: Path
) -> None:
    play = Play(players=6, referees=2, tie_breaks=BY_ID).begin()
    play.play_round()
    play.announce()
    play.assign()
    held, *others = play.in_play
    for attempt in (1, 2, 3):
        play.do(commands.void_attempt(play.league, held, attempt, "late", play.now))
        play.assign()
    reports: Queue[MatchProgress] = Queue()
    for match_id in others:
        missing = [play.match(match_id).a]
        reports.put(
            reported(play, match_id, missing=missing, try_number=2, max_tries=3, deadline="2099-01-01T00:00:00Z")
        )
    with served(play.log, play.settings, tmp_path, reports) as base:
        visit = Visit(browser, base)
        expect(visit.open("agents").locator("main > .notice")).to_contain_text(
            "The league waits for the operator: Agent"
        )
        page = visit.open()
        asked = page.locator(".playing .asked")
        expect(asked).to_have_count(len(others))
        expect(asked.first).to_contain_text("thinks")
        expect(asked.first.locator(".left")).to_contain_text(":")
        expect(page.locator(".playing li").first).to_contain_text("try 2 of 3")
        # Only what is not shown in the cards is said above them, and with names.
        waits = page.locator(".opening > .notice")
        expect(waits).to_contain_text("Waits for the operator: Agent")
        expect(waits).not_to_contain_text("try 2")
        expect(page.locator(".lead")).to_contain_text("share the lead")
        expect(page.locator(".next li")).to_contain_text("waits for the operator")
        page = visit.open(f"agents/{play.match(held).a}")
        expect(page.locator("main")).to_contain_text("Next: round 2, against")
        expect(page.locator("main")).to_contain_text("it waits for the operator")
        expect(page.locator("main")).to_contain_text("Last: ")
        form = page.locator("section[aria-labelledby=played] .score [aria-hidden]")
        player = play.match(held).a
        (last,) = (match for match in play.league.matches.values() if match.has_ended and player in match.players)
        expect(form).to_have_text([{player: "W", None: "D"}.get(winner_of(last), "L")])
        visit.ended()


@pytest.mark.long
def test_in_a_bracket_nobody_leads_before_its_end(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=8, referees=4, format="knockout", seed_hex="5e" * 32).begin()
    play.play_round()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        expect(page.locator(".standings tbody tr")).to_have_count(8)
        page.wait_for_load_state("networkidle")
        for part in (".lead", ".certainty", "tr.first"):
            expect(page.locator(part)).to_have_count(0)
        visit.ended()


@pytest.mark.long
def test_the_bar_of_a_swiss_counts_the_rounds_that_are_not_drawn(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=8, referees=4, format="swiss(rounds=3)").begin()
    play.play_round()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        bar = visit.open().get_by_label("Matches played")
        expect(bar).to_have_attribute("value", "4")
        expect(bar).to_have_attribute("max", "12")
        visit.ended()


@pytest.mark.long
def test_on_a_phone_the_form_is_below_the_name_and_a_player_can_be_followed(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=6, referees=3).begin()
    play.play_round()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base, size=(375, 800))
        page = visit.open()
        expect(page.locator("th .marks").first).to_be_visible()
        expect(page.locator("td .marks").first).to_be_hidden()
        page.get_by_role("button", name="Follow Agent 2").click()
        expect(page.locator("tr.own")).to_have_attribute("data-key", "P02")
        visit.ended()


@pytest.mark.long
def test_at_the_end_there_is_a_podium_with_the_reason_and_the_best_matches(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=6, referees=2, tie_breaks=BY_ID).begin().play_all()
    names = [f"Agent {name[1:].lstrip('0')}" for name in play.league.table.standings()]
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open()
        expect(page.locator(".podium li a")).to_have_text(names[:3])
        rows = list(play.league.table.standings().values())
        reason = page.locator(".champion + p")
        if rows[0].points > rows[1].points:
            expect(reason).to_contain_text(f"ahead of {names[1]}")
        else:
            expect(reason).to_contain_text("decided")
        best = page.locator(".highlights li").first
        expect(best).to_contain_text("The first two of the table")
        expect(best.get_by_role("link")).to_have_attribute("href", re.compile("#/matches/R"))
        expect(page.get_by_role("heading", name="In play")).to_have_count(0)
        page.get_by_role("link", name="The report").click()
        expect(page.locator(".champion")).to_contain_text(f"Champion: {names[0]}")
        # Its style is there although the server's policy allows none in a page.
        assert page.evaluate("getComputedStyle(document.querySelector('nav')).display") == "flex"
        visit.ended()


@pytest.mark.long
def test_times_are_those_of_the_reader_and_name_the_zone(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=2, referees=1).begin().play_all()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        session = visit.page.context.new_cdp_session(visit.page)
        session.send("Emulation.setTimezoneOverride", {"timezoneId": "Asia/Tokyo"})
        page = visit.open()
        expect(page.locator("footer")).to_have_text("All times: Asia/Tokyo (GMT+9)")
        # It was 10:30 in Greenwich.
        expect(page.locator(".opening time")).to_have_text("15 Jan 2025, 19:30 GMT+9")
        expect(page.locator(".log time").first).to_contain_text("15 Jan, 19:30:")
        visit.ended()


@pytest.mark.long
def test_an_address_without_a_page_says_so_with_links(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=2, referees=1).begin()
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        for route in ("nothing", "rounds/99", "matches/R9M9", "agents/P99"):
            main = visit.open(route).locator("main")
            expect(main.locator("h1")).to_have_text("Not here")
            expect(main.get_by_role("link")).to_have_text(["The league", "Its rounds", "Its agents"])
        # The same where the address leads past the page.
        visit.page.goto(f"{base}/rounds/2")
        expect(visit.page.locator("h1")).to_have_text("Not here")
        visit.page.get_by_role("link", name="The league").click()
        expect(visit.page.locator(".playing")).to_be_visible()
        assert visit.page.url == f"{base}/#/"
        visit.faults = [one for one in visit.faults if "404 (Not Found)" not in one]
        visit.ended()
