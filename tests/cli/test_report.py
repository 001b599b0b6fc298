"""``league report``: one self-contained page, in which texts of agents are escaped, and its files of figures."""

from __future__ import annotations

import asyncio
import csv
import functools
import json
import random
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import expect

from leaguekit.league.analysis.figures import Figures
from leaguekit.protocol.messages import MatchTranscript, PlayerMeta, TranscriptEntry
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.store.sqlite import SqliteLog
from leaguekit.web.report import page as report
from leaguekit.web.report.markup import insert_names
from tests.cli.conftest import CommandResult
from tests.league.play import Play, drawn, failed, player_meta, won
from tests.played import Played, by_hand, played, troubled
from tests.security.hostile_names import NAMES
from tests.web.browsing import chromium

Command = Callable[..., CommandResult]
FILES = {"index.html", "standings.csv", "results.csv", "cross-table.csv", "points.csv", "figures.json"}
# What makes a browser fetch something, or run something.
FETCHING = {"src", "srcset", "data", "poster", "action", "formaction", "background", "manifest", "ping"}
FORBIDDEN = {"script", "iframe", "object", "embed", "img", "link", "base", "form", "video", "audio", "source", "input"}


class Page(HTMLParser):
    """A page as a browser reads it: its tags, where it links to, its texts by tag, and whether it is whole."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag, tag

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self._open[-1] if self._open else "", []).append(data)

    @functools.cached_property
    def ids(self) -> set[str]:
        found = [attributes["id"] for _, attributes in self.tags if attributes.get("id")]
        assert len(found) == len(set(found))
        return {one for one in found if one}

    @property
    def links(self) -> list[str]:
        return [attributes["href"] or "" for _, attributes in self.tags if "href" in attributes]

    @property
    def text(self) -> str:
        return "\n".join(text for texts in self.texts.values() for text in texts)


def reported(command: Command, store: Path, out: Path) -> Page:
    """The page of a league, which keeps to all rules."""
    said = command("report", store, "--out", out)
    assert (said.code, said.err) == (0, "")
    assert {path.name for path in out.iterdir()} == FILES
    text = (out / "index.html").read_text(encoding="utf-8")
    page = Page(text)
    for tag, attributes in page.tags:
        assert tag not in FORBIDDEN, tag
        assert not FETCHING & set(attributes), attributes
        assert not any(name.startswith("on") for name in attributes)
        assert "url(" not in (attributes.get("style") or "")
    assert not re.search(r"url\(|@import|https?:", " ".join(page.texts["style"]))
    policy = next(one["content"] for _, one in page.tags if one.get("http-equiv") == "Content-Security-Policy")
    assert policy == "default-src 'none'; style-src 'unsafe-inline'"
    for link in page.links:
        assert (link[1:] in page.ids) if link.startswith("#") else (link in FILES), link
    return page


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_it_has_the_table_the_cross_table_every_match_and_the_figures(command: Command, tmp_path: Path) -> None:
    page = reported(command, by_hand().store(tmp_path / "league.db"), tmp_path / "report")
    figures = msgspec.json.decode((tmp_path / "report" / "figures.json").read_bytes(), type=Figures)
    assert {f"R{number}M{order}" for number in range(1, 6) for order in (1, 2)} <= page.ids
    assert {line.player_id for line in figures.lines} <= page.ids
    names = {line.player_id: str(line.display_name) for line in figures.lines}
    written = (tmp_path / "report" / "index.html").read_text()
    for sentence in figures.sentences:
        assert f"<p>{insert_names(sentence, names)}</p>" in written
    assert f"<bdi>{names['P02']}</bdi> (P02) was withdrawn from the league" in written
    assert "Decided by the operator: wrong." in page.text
    assert "Decided by the manager: cheated." in page.text
    heads, *standings = rows(tmp_path / "report" / "standings.csv")
    assert [row[heads.index("points")] for row in standings] == [str(line.points) for line in figures.lines]
    assert rows(tmp_path / "report" / "points.csv")[1][2:-3] == [str(one) for one in figures.points["P04"]]
    cross = {
        row[0]: dict(zip(rows(tmp_path / "report" / "cross-table.csv")[0][2:], row[2:], strict=True))
        for row in rows(tmp_path / "report" / "cross-table.csv")[1:]
    }
    assert (cross["P01"]["P02"], cross["P01"]["P03"], cross["P01"]["P01"]) == ("½", "'+", "")
    assert len(rows(tmp_path / "report" / "results.csv")) == 1 + 10


def test_replays_are_there_where_a_referee_handed_a_transcript_in(command: Command, tmp_path: Path) -> None:
    page = reported(command, troubled().store(tmp_path / "league.db"), tmp_path / "report")
    # Three rounds, three replays, and where moves came from.
    assert sum(tag == "details" for tag, _ in page.tags) == 7
    assert "Where moves came from, by the agents’ own statement" in page.text
    assert re.search(r"\(P01\): 2 own", page.text)
    assert any("to   P01   GAME_INVITATION: you are PLAYER_A against P02" in text for text in page.texts["pre"])
    assert "(P03) did not choose in time" in page.text
    assert "problems" in page.ids
    assert re.search(r"[0-9] technical loss.*, [0-9]+ time-outs", page.text)
    # Where agents listen is nobody's business.
    assert "127.0.0.1" not in (tmp_path / "report" / "index.html").read_text()


def test_tic_tac_toe_is_drawn_and_without_a_drawing_each_move_is_told_once(command: Command, tmp_path: Path) -> None:
    boards = reported(
        command, played("tic_tac_toe", "random", "frequency").store(tmp_path / "board.db"), tmp_path / "board"
    )
    assert [attributes["class"] for tag, attributes in boards.tags if tag == "figure"] == ["picture of-grid"]
    labels = [attributes.get("aria-label") or "" for tag, attributes in boards.tags if tag == "svg"]
    board = r"Board, row by row: ([XO–] ){2}[XO–](; ([XO–] ){2}[XO–]){2}"
    assert sum(re.fullmatch(board, label) is not None for label in labels) == 1
    reported(
        command, played("rock_paper_scissors", "random", "frequency").store(tmp_path / "throws.db"), tmp_path / "throws"
    )
    # Once in the sentence, and not again below it. The rest is in the replay.
    row = (tmp_path / "throws" / "index.html").read_text().partition('<tr id="R1M1">')[2].partition("<details>")[0]
    assert len(re.findall("rock|paper|scissors", row)) in (1, 2)


def test_the_same_league_gives_the_same_page(command: Command, tmp_path: Path) -> None:
    store = by_hand().store(tmp_path / "league.db")
    reported(command, store, tmp_path / "one")
    reported(command, store, tmp_path / "two")
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_league_that_has_not_begun_has_a_report_too(command: Command, tmp_path: Path) -> None:
    store = Played(Play(players=3, referees=1).log, {}).store(tmp_path / "league.db")
    page = reported(command, store, tmp_path / "report")
    assert "waiting for registrations" in page.text
    assert not {"matches", "cross"} & page.ids


def test_a_league_in_progress_is_reported_beside_its_manager(command: Command, tmp_path: Path) -> None:
    """The store is open for writing, as a manager has it."""
    play = Play(players=4, referees=2).begin()
    play.record("R1M1")

    async def main() -> tuple[CommandResult, CommandResult]:
        log = await SqliteLog.open(tmp_path / "league.db")
        log.append(play.log)
        await log.write_document("run", b"{}")
        try:
            first = await asyncio.to_thread(command, "report", tmp_path / "league.db", "--out", tmp_path / "report")
            assert "In the lead" in (tmp_path / "report" / "index.html").read_text()
            before = len(play.log)
            play.record("R1M2")
            log.append(play.log[before:])
            await log.write_document("run", b"{}")
            return first, await asyncio.to_thread(
                command, "report", tmp_path / "league.db", "--out", tmp_path / "report", "--json"
            )
        finally:
            await log.close()

    first, second = asyncio.run(main())
    assert (first.code, second.code) == (0, 0)
    told = json.loads(second.out)
    assert (told["figures"]["played"], told["figures"]["state"]) == (2, "RUNNING_LEAGUE")
    assert {Path(file).name for file in told["files"]} == FILES


MARKUP = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</bdi></title><h1>", "&lt;", "' onload='x"]


def called(names: list[str], *, begun: bool) -> Played:
    """A league of players who are called so, as if there were no rules for names."""
    play = Play(players=len(names), referees=1)
    if begun:
        play.begin().play_all()
    log = [json.loads(line) for line in play.log]
    for event in log:
        if event["event"] == "PlayerRegistered":
            event["meta"]["display_name"] = names[int(event["player_id"][1:]) - 1]
    return Played([json.dumps(event).encode() for event in log], {})


def _can_be_written_down(name: str) -> bool:
    """Whether a log can hold a name at all, whatever the rules for names say of it."""
    try:
        msgspec.convert({**msgspec.to_builtins(player_meta(1)), "display_name": name}, PlayerMeta)
        name.encode()
    except (msgspec.ValidationError, UnicodeEncodeError):
        return False
    return True


def test_hostile_names_are_text(command: Command, tmp_path: Path) -> None:
    names = [one.name for one in NAMES if _can_be_written_down(one.name)]
    assert len(names) >= 200
    store = called(names, begun=False).store(tmp_path / "league.db")
    page = reported(command, store, tmp_path / "report")
    assert {sanitize_line(one) for one in names} <= set(page.texts["bdi"])
    in_csv = {row[2] for row in rows(tmp_path / "report" / "standings.csv")}
    assert {sanitize_line(one) for one in names} <= {cell.removeprefix("'") for cell in in_csv} | in_csv


def test_names_with_markup_are_text_wherever_they_are_shown(command: Command, tmp_path: Path) -> None:
    page = reported(command, called(MARKUP, begun=True).store(tmp_path / "league.db"), tmp_path / "report")
    shown = page.texts["bdi"]
    # In the table, in the cross-table and in four matches, each in an element that keeps its direction to itself.
    assert all(shown.count(one) >= 6 for one in MARKUP)
    assert {one["title"] for tag, one in page.tags if tag == "th" and one.get("scope") == "col"} == set(MARKUP)
    assert any(one in title for one in MARKUP for title in page.texts["title"])


def fifty(transcripts: bool = True) -> Played:
    """Fifty players, 1,225 matches, each with a transcript such as referees hand in."""
    chance = random.Random(5)
    play = Play(players=50, referees=4)
    play.start()
    while play.league.state == "RUNNING_LEAGUE":
        play.announce()
        while play.league.round_in_play:
            play.assign()
            for name in play.in_play:
                match = play.match(name)
                thrown = chance.random()
                play.record(
                    name,
                    failed(match, match.b)
                    if thrown < 0.01
                    else drawn(match)
                    if thrown < 0.4
                    else won(match, chance.choice(match.players)),
                )
    sample = msgspec.json.decode(played().kept["transcript/R1M1"], type=MatchTranscript)
    kept = {
        f"transcript/{name}": msgspec.json.encode(msgspec.structs.replace(sample, match_id=name))
        for name in (play.league.matches if transcripts else ())
    }
    return Played(play.log, kept)


@pytest.mark.long
def test_a_link_to_a_match_unfolds_its_round_and_all_rounds_are_printed(command: Command, tmp_path: Path) -> None:
    reported(command, played().store(tmp_path / "league.db"), tmp_path / "report")
    with chromium() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "report" / "index.html").as_uri())
        match = page.locator("#R2M1")
        expect(match).to_be_hidden()
        page.locator("a[href='#R2M1']").first.click()
        expect(match).to_be_visible()
        expect(page.locator("#R3M1")).to_be_hidden()
        page.emulate_media(media="print")
        expect(page.locator("#R3M1")).to_be_visible()


@pytest.mark.long
def test_the_report_of_fifty_players_is_one_page_of_two_megabytes_with_every_match_and_replay(
    command: Command, tmp_path: Path
) -> None:
    page = reported(command, fifty().store(tmp_path / "league.db"), tmp_path / "report")
    size = (tmp_path / "report" / "index.html").stat().st_size
    assert 1_500_000 < size < 2_500_000
    # Of each round, and of each replay.
    assert sum(tag == "details" for tag, _ in page.tags) == 49 + 1_225
    assert sum(bool(re.fullmatch(r"R\d+M\d+", one)) for one in page.ids) == 1_225
    assert len([link for link in page.links if re.fullmatch(r"#R\d+M\d+", link)]) == 2 * 1_225


def test_replays_beyond_what_a_page_can_hold_are_counted(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "MAX_REPLAYS", 1_500)
    page = reported(command, played().store(tmp_path / "league.db"), tmp_path / "report")
    assert 3 < sum(tag == "details" for tag, _ in page.tags) < 9
    assert re.search(r"From R\dM\d on the replays are left out", page.text)


def test_a_transcript_with_anything_in_it_is_text(command: Command, tmp_path: Path) -> None:
    log = played()
    sample = msgspec.json.decode(log.kept["transcript/R1M1"], type=MatchTranscript)
    sample.entries = [
        TranscriptEntry(seconds=1.0, what="received", player_id="P01", message_type="<b>", body={"x": "<script>"}),
        TranscriptEntry(
            seconds=2.0, what="failed", note="</pre><script>alert(1)</script> \x1b[2J http://10.0.0.1:99/x"
        ),
    ]
    sample.attempt = 2
    changed = Played(log.log, log.kept | {"transcript/R1M1": msgspec.json.encode(sample)})
    page = reported(command, changed.store(tmp_path / "league.db"), tmp_path / "report")
    said = next(text for text in page.texts["pre"] if "alert" in text)
    assert "</pre><script>alert(1)</script>" in said
    assert "\x1b" not in said
    assert "10.0.0.1" not in said
    assert "Replay, attempt 2" in page.texts["summary"]


def test_what_cannot_be_written_is_named(command: Command, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    store = by_hand().store(tmp_path / "league.db")
    said = command("report", store, "--out", tmp_path / "file" / "report")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"league report: cannot write {tmp_path / 'file'}")
    nothing = command("report", tmp_path / "none.db", "--out", tmp_path / "report")
    assert nothing.code == 2


def test_a_gauntlet_has_the_results_of_each_challenger(command: Command, tmp_path: Path) -> None:
    play = Play(players=5, referees=2, format="gauntlet(challengers=2)").begin()
    play.play_round()
    page = reported(command, Played(play.log, {}).store(tmp_path / "half.db"), tmp_path / "half")
    for words in ("Gauntlet", " (P01) against everybody", "1 won, 0 drawn, 0 lost"):
        assert words in page.text, words
    # Each has met one of four.
    assert page.texts["li"].count("·") == 6


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("knockout(third_place=True)", ["Bracket", "Round of 16", "Final", "Third place", "advances without a match"]),
        ("swiss(rounds=3)", ["A bye, which counts as a win: ", "(6)", "BH"]),
    ],
)
def test_a_knockout_has_its_bracket_and_a_swiss_its_byes_and_points(
    command: Command, tmp_path: Path, text: str, wanted: list[str]
) -> None:
    play = Play(players=9, referees=2, format=text, seed_hex="ab" * 32).begin()
    play.play_round()
    # Some places of the bracket are not known yet.
    half = reported(command, Played(play.log, {}).store(tmp_path / "half.db"), tmp_path / "half")
    play.play_all()
    page = reported(command, Played(play.log, {}).store(tmp_path / "whole.db"), tmp_path / "whole")
    for words in (*wanted, play.settings.advancement, "Champion: "):
        assert words in page.text, words
    assert "not known yet" not in page.text
    is_knockout = text.startswith("knockout")
    assert ("not known yet" in half.text, "In the lead: " in half.text) == (is_knockout, not is_knockout)


def test_a_league_that_is_ranked_by_payoff_has_payoffs_in_its_table_and_files(command: Command, tmp_path: Path) -> None:
    league = played("prisoners_dilemma", "random", "always_D", "always_C")
    page = reported(command, league.store(tmp_path / "league.db"), tmp_path / "report")
    heads, *standings = rows(tmp_path / "report" / "standings.csv")
    payoffs = [float(row[heads.index("payoff")]) for row in standings]
    assert payoffs == sorted(payoffs, reverse=True)
    first = standings[0][heads.index("player_id")]
    heads, *results = rows(tmp_path / "report" / "results.csv")
    own = [
        float(row[heads.index(f"payoff_{side}")])
        for row in results
        for side in ("A", "B")
        if row[heads.index(f"player_{side}_id")] == first
    ]
    assert payoffs[0] == pytest.approx(sum(own) / 2)
    assert f" with a payoff of {payoffs[0]:.3f} per match" in page.text
    assert "The table is ranked by payoff, the mean of all matches of a player (0 to 5)" in page.text
    assert "They say nothing about payoffs, which rank the table." in page.text
    written = (tmp_path / "report" / "index.html").read_text()
    assert [f'<td class="n points">{payoff:.3f}</td>' in written for payoff in payoffs] == [True] * 3
    for what in ("standings", "results"):
        exported = command("export", tmp_path / "league.db", "--what", what, "--format", "csv").out
        assert exported.partition("\n")[0].count("payoff") == {"standings": 1, "results": 2}[what]


def test_a_league_without_payoffs_does_not_mention_them(command: Command, tmp_path: Path) -> None:
    store = by_hand().store(tmp_path / "league.db")
    reported(command, store, tmp_path / "report")
    for file in sorted(FILES):
        assert "payoff" not in (tmp_path / "report" / file).read_text(), file
    for what in ("standings", "results"):
        for form in ("csv", "json"):
            assert "payoff" not in command("export", store, "--what", what, "--format", form).out
