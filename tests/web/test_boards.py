"""Boards in a real browser: of matches in play, and of replays, by buttons, by keys and by themselves."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, Game, Moves, Outcome, Question, Side
from leaguekit.games.rock_paper_scissors import RockPaperScissors
from leaguekit.league.settings import Settings
from leaguekit.protocol.messages import MatchProgress
from tests.agents.leagues import LEAGUE
from tests.league.play import Play
from tests.played import played
from tests.web.browsing import DESK, PHONE, Visit, chromium, served
from tests.web.test_pictures import reported


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


def grid(size: int, **more: Any) -> dict[str, Any]:
    return {"kind": "grid", "rows": [["●"] * size] * size, **more}


HOSTILE = "<img src=x onerror=alert(1)>"
PICTURES: list[dict[str, Any]] = [
    grid(19, row_labels=[str(19 - row) for row in range(19)], column_labels=[*"abcdefghjklmnopqrst"]),
    {"kind": "cards", "hands": [{"label": "{A}", "cards": ["K♥", None, *["10♠"] * 20]}], "caption": HOSTILE},
    {"kind": "text", "text": "\n".join([HOSTILE, "x" * 100, *"abcdefghijklmnopqr"])},
    {"kind": "grid", "rows": [[HOSTILE, {"text": "♛", "colour": "black", "marked": True}]], "row_labels": [HOSTILE]},
]


@pytest.mark.parametrize("size", [PHONE, DESK])
def test_pictures_of_matches_in_play_are_drawn_as_text_and_fit(
    browser: Browser, tmp_path: Path, size: tuple[int, int]
) -> None:
    play = Play(players=8, referees=2).begin()
    reports: Queue[MatchProgress] = Queue()
    for number, picture in enumerate(PICTURES, start=1):
        reports.put(reported(play, f"R1M{number}", picture=picture))
    with served(play.log, play.settings, tmp_path, reports) as base:
        visit = Visit(browser, base, size=size)
        page = visit.open()
        expect(page.locator(".playing .picture")).to_have_count(4)
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        assert page.locator(".playing .picture circle").count() == 361
        assert page.locator(".playing .back").count() == 1
        expect(page.locator(".playing pre")).to_contain_text(HOSTILE)
        assert page.locator("main img").count() == 0
        for number in range(1, 5):
            page = visit.open(f"matches/R1M{number}")
            expect(page.locator(".picture")).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
        visit.ended()


def test_the_page_of_a_match_in_play_shows_each_new_position_and_the_time(browser: Browser, tmp_path: Path) -> None:
    play = Play(players=2, referees=1).begin()
    reports: Queue[MatchProgress] = Queue()
    with served(play.log, play.settings, tmp_path, reports) as base:
        visit = Visit(browser, base)
        page = visit.open("matches/R1M1")
        for cells in (["X", ""], ["X", "O"]):
            reports.put(
                reported(
                    play,
                    "R1M1",
                    picture={"kind": "grid", "rows": [cells]},
                    deadline="2999-01-01T00:00:00Z",
                    missing=["P01"],
                )
            )
            label = f"Board, row by row: {' '.join(cell or '–' for cell in cells)}"
            expect(page.get_by_role("img", name=label, exact=True)).to_be_visible()
        expect(page.locator(".notice .left")).to_be_visible()
        expect(page.locator(".notice").last).to_contain_text("waits for Agent 1")
        visit.ended()


@pytest.mark.parametrize(
    ("name", "drawn"),
    [("tic_tac_toe", "text"), pytest.param("connect_four", ":is(circle, .ring)", marks=pytest.mark.long)],
)
def test_a_replay_goes_by_buttons_by_keys_and_by_itself_and_leads_to_other_matches(
    browser: Browser, tmp_path: Path, name: str, drawn: str
) -> None:
    # This thread has an event loop of its own.
    with ThreadPoolExecutor(1) as thread:
        log = thread.submit(played, name, "random", "frequency", "random").result().log
    with served(log, Settings(league_id=LEAGUE), tmp_path) as base:
        visit = Visit(browser, base)
        # This reader wants no motion: the replay does not begin by itself.
        visit.page.emulate_media(reduced_motion="reduce")
        page = visit.open("matches/R2M1")
        steps = page.get_by_role("group", name="Steps of the game")
        pieces = page.locator(f".game .picture {drawn}")

        def at(number: int) -> None:
            expect(steps.get_by_role("status")).to_contain_text(
                f"After step {number} of" if number else "At the beginning"
            )
            expect(pieces).to_have_count(number)
            expect(page.locator(".moves li")).to_have_count(min(number, 30))

        last = pieces.count()
        at(last)
        # The newest move is the first, and has its number.
        newest = page.locator(".moves").get_attribute("start")
        assert newest == str(last)
        page.keyboard.press("ArrowLeft")
        at(last - 1)
        steps.get_by_role("button", name="First").click()
        at(0)
        page.keyboard.press("ArrowRight")
        at(1)
        # From the end it begins again.
        steps.get_by_role("button", name="Last").click()
        _play(steps)
        at(1)
        at(2)
        steps.get_by_role("button", name="Pause").click()
        expect(steps.get_by_role("button", name="Play")).to_be_visible()
        # The focus is on the button.
        page.keyboard.press("Shift+ArrowRight")
        expect(page.locator("main")).to_contain_text("match R3M1")
        page.get_by_role("link", name="← R2M1").click()
        expect(page.locator("main")).to_contain_text("match R2M1")
        at(last)
        with page.expect_download() as saved:
            steps.get_by_role("button", name="Save as a picture").click()
        assert saved.value.suggested_filename == "R2M1.png"
        assert saved.value.path().read_bytes().startswith(b"\x89PNG")
        page.emulate_media(reduced_motion="no-preference")
        page.get_by_role("link", name="R3M1 →").click()
        expect(steps.get_by_role("button", name="Pause")).to_be_visible()
        at(1)
        page.keyboard.press("Space")
        expect(steps.get_by_role("button", name="Play")).to_be_visible()
        visit.ended()


def _play(steps: Locator) -> None:
    steps.get_by_role("button", name="Play").click()
    expect(steps.get_by_role("button", name="Pause")).to_be_visible()


@pytest.mark.long
def test_the_pictures_of_a_long_match_are_loaded_as_they_are_needed(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GAMES, Counting.name, Counting())
    with ThreadPoolExecutor(1) as thread:
        log = thread.submit(played, Counting.name, "random", "random").result().log
    with served(log, Settings(league_id=LEAGUE), tmp_path) as base:
        visit = Visit(browser, base)
        asked: list[str] = []
        visit.page.on("request", lambda request: asked.append(request.url.partition("/api/pictures/")[2]))
        visit.page.emulate_media(reduced_motion="reduce")
        page = visit.open("matches/R1M1")
        steps = page.get_by_role("group", name="Steps of the game")
        expect(page.locator(".game pre")).to_have_text("played: 120")
        for button, shown in (("First", "0"), ("Last", "120"), ("Back", "119")):
            steps.get_by_role("button", name=button).click()
            expect(page.locator(".game pre")).to_have_text(f"played: {shown}")
        assert list(filter(None, asked)) == ["R1M1?offset=100&limit=50", "R1M1?offset=0&limit=50"]
        # The list has the latest moves, with their numbers.
        expect(page.locator(".moves li")).to_have_count(30)
        expect(page.locator(".moves")).to_have_attribute("start", "119")
        visit.ended()


class Counting(RockPaperScissors):
    """120 turns, in which the sides move in turn. It has no picture."""

    name = "counting"
    max_turns = 120
    picture = Game.picture

    def start(self) -> Any:
        return 0

    def to_move(self, position: Any) -> tuple[Side, ...]:
        return () if position == self.max_turns else (SIDES[position % 2],)

    def question(self, position: Any, side: Side) -> Question:
        return Question("count", ["up"], self.view(position, side))

    def move_error(self, position: Any, side: Side, move: Any) -> str | None:
        return Game.move_error(self, position, side, move)

    def play(self, position: Any, moves: Moves) -> Any:
        return position + len(moves)

    def outcome(self, position: Any) -> Outcome | None:
        return Outcome(None, "{A} and {B} have counted") if position == self.max_turns else None

    def view(self, position: Any, side: Side | None) -> dict[str, Any]:
        return {"played": position}


@pytest.mark.long
def test_a_match_that_has_not_begun_says_when_it_does_and_how_its_players_have_played(
    browser: Browser, tmp_path: Path
) -> None:
    play = Play(players=2, referees=1, rounds="double").begin()
    play.record("R1M1")
    with served(play.log, play.settings, tmp_path) as base:
        visit = Visit(browser, base)
        page = visit.open("matches/R2M1")
        main = page.locator("main")
        expect(main).to_contain_text("Round 2 begins when round 1 is over.")
        for side in ("#1: 1 won, 0 drawn, 0 lost", "#2: 0 won, 0 drawn, 1 lost"):
            expect(page.locator(".sides")).to_contain_text(side)
        assert sorted(page.locator(".sides .marks [aria-hidden]").all_text_contents()) == ["L", "W"]
        page.get_by_role("link", name="Last meeting: R1M1").click()
        expect(main).to_contain_text("match R1M1")
        expect(page.get_by_role("heading", name="Earlier meetings")).to_have_count(0)
        visit.ended()
