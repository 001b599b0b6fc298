"""What the API answers: every page of leagues that were really played, bounded, fresh, and as it is described."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import jsonschema_rs
import msgspec
import pytest

from leaguekit.league import commands
from leaguekit.league.analysis.figures import figures
from leaguekit.league.events import PlayerRegistered, decode
from leaguekit.league.fold import apply
from leaguekit.league.state import League
from leaguekit.protocol.messages import BrokenRule, TranscriptEntry
from leaguekit.store.base import Stored, StoreError
from leaguekit.store.memory import MemoryLog
from leaguekit.web import api_types, app, figures_cache, pages
from leaguekit.web.app import Dashboard
from leaguekit.web.matches import public_messages
from leaguekit.web.openapi import PageDescription, openapi_document
from leaguekit.web.projection import KEYED, Projection, change
from leaguekit.web.routes import DESCRIPTIONS
from tests.agents.leagues import BEGAN, Hall, HeldLog, in_virtual_time, url_of
from tests.league.play import Play, whole, won
from tests.played import FOUR, Transcripts
from tests.web.dashboard_clients import Got, clumsy, get, shown

EXAMPLES = Path(__file__).parent / "examples"
PAGES = {path: one for path, one in DESCRIPTIONS.items() if isinstance(one, PageDescription)}


def path_of_example(name: str) -> str:
    """The path of the page that an example's file is an answer of. It has one parameter at most."""
    page, _, parameter = name.partition("_")
    paths = [path for path in PAGES if path.split("/")[2] == page]
    return next(path for path in paths if ("{" in path) == bool(parameter))


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_every_example_is_what_its_page_is_described_as(path: Path) -> None:
    page = path_of_example(path.stem)
    document = openapi_document(DESCRIPTIONS)
    reference = document["paths"][page]["get"]["responses"]["200"]["content"]["application/json"]
    schema = reference["schema"] | {"components": document["components"]}
    jsonschema_rs.validator_for(schema).validate(json.loads(path.read_bytes()))
    assert msgspec.json.decode(path.read_bytes(), type=PAGES[page].response_type)


def test_the_description_is_valid_and_complete() -> None:
    document = openapi_document(DESCRIPTIONS)
    text = json.dumps(document)
    for schema in document["components"]["schemas"].values():
        jsonschema_rs.meta.validate(schema | {"$schema": "https://json-schema.org/draft/2020-12/schema"})
    references = {part.partition('"')[0] for part in text.split('"$ref": "')[1:]}
    assert references == {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    operations = [one for path in document["paths"].values() for one in path.values()]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names)
    for path, methods in document["paths"].items():
        for operation in methods.values():
            in_path = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "path"}
            assert in_path == {part[1:-1] for part in path.split("/") if part.startswith("{")}
            assert operation["summary"]
            assert "200" in operation["responses"]
    assert set(document["paths"]) == {*PAGES, "/events", "/mcp"}


def test_there_is_an_example_of_every_page() -> None:
    assert {path_of_example(path.stem) for path in EXAMPLES.glob("*.json")} == set(PAGES)


class Visit:
    """A dashboard of a league that is over, of real agents, with their transcripts."""

    def __init__(self, root: Path, *strategies: str, game: str = "even_odd", **game_args: Any) -> None:
        self._root, self._strategies, self._game, self._game_args = root, strategies, game, game_args

    async def __aenter__(self) -> Self:
        self._hall = await Hall(self._root, game_type=self._game, game_args=self._game_args).__aenter__()
        self.hall = self._hall
        transcripts = Transcripts(self.hall)
        await self.hall.fill(*(self._strategies or FOUR))
        await self.hall.operate("start")
        await self.hall.end()
        await transcripts.played()
        self.dashboard = Dashboard(self.hall.manager)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._hall.__aexit__(None, None, None)

    async def get(self, path: str, **headers: str) -> Got:
        return await get(self.dashboard, path, **headers)

    async def json(self, path: str) -> dict[str, Any]:
        got = await self.get(path)
        assert got.status == 200, (path, got.body)
        return got.json


@in_virtual_time
async def test_pages_of_the_whole_league_agree_with_its_table(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        table = list(visit.hall.league.table.standings().values())
        league, standings = await visit.json("/api/league"), await visit.json("/api/standings")
        assert league["league"]["champion"]["id"] == table[0].player_id
        assert league["tie_breaks"] == [
            "points", "head_to_head", "sonneborn_berger", "wins", "technical_losses", "lot",
        ]  # fmt: skip
        assert [(row["id"], row["points"]) for row in standings["rows"]] == [(r.player_id, r.points) for r in table]
        part = await visit.json("/api/standings?offset=1&limit=2")
        assert part["rows"] == standings["rows"][1:3]
        assert (part["total"], part["offset"]) == (4, 1)
        points = await visit.json("/api/points")
        assert {one["id"]: one["points"][-1] for one in points["players"]} == {r.player_id: r.points for r in table}
        assert all(one["points"] == sorted(one["points"]) and len(one["points"]) == 3 for one in points["players"])
        rounds = await visit.json("/api/rounds")
        assert [(one["round_id"], one["played"], one["completed"]) for one in rounds["rounds"]] == [
            (1, 2, True),
            (2, 2, True),
            (3, 2, True),
        ]
        first = await visit.json("/api/rounds/1")
        assert [one["match_id"] for one in first["matches"]] == ["R1M1", "R1M2"]
        assert first["rests"] == []


@in_virtual_time
async def test_the_cross_table_has_every_match_from_both_sides(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        cross = await visit.json("/api/crosstable")
        worth = {"1": 3, "½": 1, "0": 0}
        of_rows = zip(cross["rows"], cross["cells"], strict=True)
        points = {one["id"]: sum(worth[mark] for _, _, mark in cells) for one, cells in of_rows}
        assert points == {row.player_id: row.points for row in visit.hall.league.table.standings().values()}
        assert sorted({match for cells in cross["cells"] for _, match, _ in cells}) == sorted(visit.hall.league.matches)
        # A window of it: the last row against the first two.
        corner = await visit.json("/api/crosstable?offset=3&limit=2&columns_offset=0")
        assert (len(corner["rows"]), len(corner["columns"]), len(corner["cells"][0])) == (1, 2, 2)


@in_virtual_time
async def test_a_match_shows_what_was_said_the_ruling_the_draw_and_the_game_step_by_step(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        page = await visit.json("/api/matches/R1M1")
        kinds = [(one["what"], one["message_type"]) for one in page["messages"]]
        assert kinds.count(("sent", "GAME_INVITATION")) == kinds.count(("received", "GAME_JOIN_ACK")) == 2
        assert kinds.count(("sent", "GAME_OVER")) == 2
        assert [one["seconds"] for one in page["messages"]] == sorted(one["seconds"] for one in page["messages"])
        assert page["evidence"]["players"]["P01"]["events"][0]["what"] == "joined"
        assert page["draw"]["opens"] is True
        assert page["draw"]["number"] == page["match"]["drawn_number"]
        assert page["verification"] == {
            "replayed": True,
            "opened": True,
            "derived": True,
            "faults": [],
            "not_checkable": [],
        }
        assert [step["view"]["number"] for step in page["steps"]] == [None, page["draw"]["number"]]
        assert page["steps"][1]["moves"] == {"A": "even", "B": "even"}
        assert [one["event"] for one in page["news"]] == ["MatchAssigned", "ResultRecorded"]
        assert page["match"]["reason"].startswith("P01 and P02 both chose even")


@in_virtual_time
async def test_a_game_of_many_moves_is_replayed_position_by_position(tmp_path: Path) -> None:
    async with Visit(tmp_path, "random", "random", game="tic_tac_toe") as visit:
        page = await visit.json("/api/matches/R1M1")
        boards = [step["view"]["board"] for step in page["steps"]]
        assert boards[0] == "." * 9
        assert [sum(cell != "." for cell in board) for board in boards] == list(range(len(boards)))
        assert page["draw"] is None
        assert page["verification"]["replayed"] is True


@in_virtual_time
async def test_a_match_with_chance_shows_the_seed_that_was_committed_to(tmp_path: Path) -> None:
    async with Visit(tmp_path, "random", "random", game="prisoners_dilemma", turns=2, noise=0.5) as visit:
        found = (await visit.json("/api/matches/R1M1"))["draw"]
        digest = hashlib.sha256(f"{found['nonce']}:{found['seed']}".encode()).hexdigest()
        assert (found["number"], found["opens"], found["commitment"]) == (None, True, digest)


@in_virtual_time
async def test_an_agents_page_has_its_record_its_times_and_its_matches(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        page = await visit.json("/api/agents/P01")
        assert (page["agent"]["name"], page["record"]["played"], page["total_played"]) == ("Player 1", 3, 3)
        assert page["counts"]["asked"] == page["counts"]["answered"] == page["times"]["answers"] == 6
        assert [one["match_id"][:2] for one in page["played"]] == ["R3", "R2", "R1"]
        assert page["to_fix"] == page["errors"] == []
        referee = await visit.json("/api/agents/REF01")
        assert (referee["agent"]["role"], referee["record"], referee["counts"]) == ("referee", None, None)
        assert referee["total_played"] + (await visit.json("/api/agents/REF02"))["total_played"] == 6
        agents = await visit.json("/api/agents")
        assert [one["id"] for one in agents["agents"]] == ["REF01", "REF02", "P01", "P02", "P03", "P04"]
        times = await visit.json("/api/times")
        assert times["all"]["answers"] == sum(times["all"]["counts"]) == 24
        assert len(times["bounds"]) + 1 == len(times["all"]["counts"])


@in_virtual_time
async def test_ratings_and_what_they_mean_are_those_of_the_leagues_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Visit(tmp_path) as visit:
        page, found = await visit.json("/api/figures"), figures(visit.hall.league)
        assert page["sentences"] == found.sentences
        assert "luck" in page["sentences"][0]
        assert page["champions_chance"] == pytest.approx(found.champions_chance)
        assert [(one["id"], one["rating"], one["low"], one["high"]) for one in page["players"]] == [
            (line.player_id, line.rating, line.rating_low, line.rating_high) for line in found.lines
        ]
        monkeypatch.setattr(figures_cache, "MAX_RATED_PLAYERS", 3)
        too_many = await visit.json("/api/figures?limit=4")
        assert too_many["players"] == []
        assert "`league report`" in too_many["sentences"][0]


@in_virtual_time
async def test_an_author_reads_what_to_fix(tmp_path: Path) -> None:
    async with Hall(tmp_path, max_retries=0) as hall:
        await hall.fill("random")
        await clumsy(hall, 2, "Even")
        await hall.operate("start")
        await hall.end()
        page = (await get(Dashboard(hall.manager), "/api/agents/P02")).json
    assert [(one["code"], one["count"], one["last_match"]) for one in page["errors"]] == [("E004", 4, "R1M1")]
    assert page["errors"][0]["detail"] == "Choice must be 'even' or 'odd', got 'Even'"
    assert 'Send "even" or "odd", in lower case, as a string.' in page["to_fix"][1]
    assert page["counts"] | {"asked": 5, "answered": 1, "wrong": 4} == page["counts"]


@in_virtual_time
async def test_the_page_of_all_agents_and_the_operator_see_the_same_problems_the_worst_first(tmp_path: Path) -> None:
    async with Hall(tmp_path, max_retries=0) as hall:
        await hall.fill("random")
        await clumsy(hall, 2, "Even")
        await hall.register("player", 7, meta={"display_name": "Nobody"})
        await hall.operate("start")
        await hall.end()
        page = (await get(Dashboard(hall.manager), "/api/agents")).json
        shown = await hall.operate("problems")
    (bad,), (refused,) = page["problems"], page["refused"]
    assert (bad["id"], bad["sentences"]) == ("P02", ["1 technical loss", "4 illegal moves"])
    assert (refused["name"], refused["code"]) == ("Nobody", "E048")
    assert refused["reason"].startswith("Contact endpoint unreachable: nothing answered at …")
    assert [(one["agent_id"], one["sentences"]) for one in shown["agents"]] == [("P02", bad["sentences"])]
    assert url_of("player", 7) in shown["refused"][0]["reason"]


@in_virtual_time
async def test_what_an_agent_is_forgiven_stands_on_its_page_without_addresses_and_tokens(tmp_path: Path) -> None:
    async with Hall(tmp_path, profile="open") as hall:
        await hall.scripted("player", 1)
        token = f"tok-p01-{'a' * 43}"
        broken = [
            BrokenRule(rule="001-L0105", came="http://10.0.0.7:8101/mcp", expected="a conversation_id"),
            BrokenRule(rule="000-L0143", came=token, expected="an auth_token"),
        ]
        for _ in range(2):
            hall.manager.ledger.record(commands.note_broken_rules(hall.league, "P01", broken, hall.timestamp))
        missing = BrokenRule(rule="000-L1373", came="timestamp: missing", expected="a time")
        hall.manager.ledger.record(commands.note_broken_rules(hall.league, "P01", [missing], hall.timestamp))
        page = (await get(Dashboard(hall.manager), "/api/agents/P01")).json
    assert [(one["rule"], one["count"], one["came"]) for one in page["violations"]] == [
        ("001-L0105", 2, "…"),
        ("000-L0143", 2, page["violations"][1]["came"]),
        ("000-L1373", 1, "timestamp: missing"),
    ]
    assert token not in json.dumps(page)
    assert page["to_fix"][-3] == "…; expected a conversation_id (001-L0105, 2 times)"
    assert page["to_fix"][-1] == "timestamp: missing; expected a time (000-L1373, once)"


def test_what_was_really_said_stands_with_the_message_before_it_without_addresses_and_tokens() -> None:
    token, endpoint = f"tok-p01-{'a' * 43}", "http://10.0.0.7:8101/mcp"
    sent: dict[str, Any] = {"seconds": 0.1, "what": "sent", "player_id": "P01"}
    received: dict[str, Any] = sent | {"what": "received"}
    entries = [
        TranscriptEntry(**sent | {"player_id": "P02"}, message_type="GAME_INVITATION"),
        TranscriptEntry(**sent, message_type="GAME_INVITATION"),
        TranscriptEntry(**sent, note="by game_invitation", wire=f'{{"auth_token":"mine","at":"{endpoint}"}}'),
        TranscriptEntry(**received, note="HTTP 200", wire=f'{{"status":"{token}"}}'),
        TranscriptEntry(**received, note="E003: no accept", wire="<html>"),
    ]
    other, invited, refused = public_messages(entries)
    assert other.wire == []
    assert invited.wire == ['by game_invitation: {"auth_token":"…","at":"…"}', 'HTTP 200: {"status":"tok-p01-…"}']
    assert (refused.text, refused.wire) == ("E003: no accept", ["<html>"])


@pytest.mark.parametrize(("path", "way"), [("/nothing", "./"), ("/rounds/2/", "../../"), ("/static/nothing.js", "../")])
@in_virtual_time
async def test_a_browser_gets_a_page_with_links_where_nothing_is(path: str, way: str, tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        answer = await get(Dashboard(hall.manager), path, accept="text/html,*/*")
        page = answer.body.decode()
        assert answer.status == 404
        assert f'href="{way}#/"' in page
        assert f'href="{way}static/style.css"' in page


@in_virtual_time
async def test_what_is_not_there_or_asked_wrongly_is_said_in_a_sentence(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = Dashboard(hall.manager)
        for path, status, sentence in (
            ("/nothing", 404, "/openapi.json describes"),
            ("/api/nothing", 404, "/openapi.json describes"),
            ("/static/../app.py", 404, "There is no such file"),
            ("/api/matches/R1M1", 404, "there is no schedule yet"),
            ("/api/rounds/1", 404, "there is no schedule yet"),
            ("/api/agents/P01", 404, "/api/agents lists them"),
            ("/api/standings?limit=101", 400, "limit must be a number from 0 to 100, got '101'"),
            ("/api/standings?offset=-1", 400, "offset must be a number"),
            ("/api/rounds/x", 400, "round_id must be a number"),
        ):
            got = await get(dashboard, path)
            assert got.status == status, path
            assert sentence in got.json["error"]
        assert (await get(dashboard, "/api/live", method="POST")).status == 405
        assert (await get(dashboard, "/events")).status == 503


@in_virtual_time
async def test_an_answer_is_made_once_for_all_who_ask_at_the_same_time_and_again_when_it_is_old(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = Dashboard(hall.manager)
        first = await get(dashboard, "/api/standings")
        await hall.scripted("player", 1)
        assert (await get(dashboard, "/api/standings")).body == first.body
        await asyncio.sleep(0.3)
        second = await get(dashboard, "/api/standings")
        assert [row["id"] for row in second.json["rows"]] == ["P01"]
        assert second.headers["etag"] != first.headers["etag"]
        again = await get(dashboard, "/api/standings", if_none_match=second.headers["etag"])
        assert (again.status, again.body) == (304, b"")


@in_virtual_time
async def test_many_who_ask_at_once_are_given_the_same_answer_and_one_who_gives_up_takes_it_from_nobody(
    tmp_path: Path,
) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        dashboard = Dashboard(hall.manager)
        await dashboard.catch_up()
        log.hold()
        hall.manager.ledger.record(commands.pause(hall.league, "lunch", hall.timestamp))
        asking = [asyncio.create_task(get(dashboard, "/api/league")) for _ in range(10)]
        await asyncio.sleep(1)
        assert len(dashboard.responses._in_progress) == 1
        asking.pop(0).cancel()
        log.release()
        answers = await asyncio.gather(*asking)
        assert len({one.body for one in answers}) == 1
        assert answers[0].json["league"]["paused"] is True


@in_virtual_time
async def test_pages_that_wait_for_their_turn_wait_for_events_of_that_time_too(tmp_path: Path) -> None:
    log = HeldLog()
    async with Hall(tmp_path, log=log) as hall:
        await hall.fill(*FOUR)
        await hall.operate("start")
        await hall.end()
        dashboard = Dashboard(hall.manager)
        await dashboard.catch_up()
        dashboard.responses._limiter.record(1.0)
        paths = ("/api/matches/R1M1", "/api/news")
        asking = [asyncio.create_task(get(dashboard, path)) for path in paths]
        await asyncio.sleep(1)
        log.hold()
        correcting = asyncio.create_task(hall.operate("correct", match_id="R1M1", outcome="draw", reason="an error"))
        await asyncio.sleep(10)
        log.release()
        await correcting
        for answer in await asyncio.gather(*asking):
            assert answer.json["news"][-1]["number"] == answer.json["seq"] == hall.manager.ledger.number


@in_virtual_time
async def test_a_log_that_could_not_be_read_at_first_is_read_on_by_the_next_who_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = 0

    async def read(after: int = 0, most: int | None = None) -> list[Stored]:
        nonlocal reads
        reads += 1
        if reads == 2:
            raise StoreError("postgresql://user@/db cannot be read.")
        return await MemoryLog.read(hall.log, after, most)

    async with Hall(tmp_path) as hall:
        await hall.fill(*FOUR)
        monkeypatch.setattr(app, "PAGE", 3)
        monkeypatch.setattr(hall.log, "read", read)
        dashboard = Dashboard(hall.manager)
        refused = await get(dashboard, "/api/live")
        assert (refused.status, b"postgresql" in refused.body) == (503, False)
        await hall.operate("pause", reason="lunch")
        live = (await get(dashboard, "/api/live")).json
        assert live["seq"] == hall.manager.ledger.number
        assert len(live["news"]) == live["seq"]


@in_virtual_time
async def test_answers_are_compressed_for_who_understands_that(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        for path in ("/api/live", "/", "/static/data.js"):
            plain, small = await visit.get(path), await visit.get(path, accept_encoding="gzip, br")
            assert small.headers["content-encoding"] == "gzip"
            assert gzip.decompress(small.body) == plain.body
            assert len(small.body) < len(plain.body)


@in_virtual_time
async def test_the_page_asks_for_nothing_from_elsewhere(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        dashboard = Dashboard(hall.manager)
        page = (await get(dashboard, "/")).body.decode()
        assert "http://" not in page
        assert "https://" not in page
        for file in [part.partition('"')[0] for part in page.split('"/static/')[1:]]:
            assert (await get(dashboard, f"/static/{file}")).status == 200


@in_virtual_time
async def test_news_are_paged_by_number(tmp_path: Path) -> None:
    async with Visit(tmp_path) as visit:
        latest = await visit.json("/api/news?limit=3")
        assert [one["number"] for one in latest["news"]] == [latest["seq"] - 2, latest["seq"] - 1, latest["seq"]]
        assert latest["news"][-1]["text"] == "The league is over"
        first = await visit.json("/api/news?after=0&limit=1")
        assert first["news"][0]["event"] == "LeagueCreated"


@in_virtual_time
async def test_what_operators_did_is_marked_and_kept_whatever_happens_after_it(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", "random")
        added = await hall.operate("add_player", endpoint=url_of("player", 3))
        await hall.operate("start")
        await hall.operate("withdraw", player_id=added["player_id"], reason="it never came")
        await hall.end()
        dashboard = Dashboard(hall.manager)
        page, latest = [(await get(dashboard, path)).json for path in ("/api/operations", "/api/news?limit=3")]
    assert not any(one["by_operator"] for one in latest["news"])
    done = [one["event"] for one in page["news"] if one["event"] != "RefereeCodeSet"]
    assert done == ["PlayerRegistered", "LeagueStarted", "PlayerWithdrawn"]


# The projection by itself

# A runner that waits for the operator.
IDLE = SimpleNamespace(progress=SimpleNamespace(latest={}), start_when=None, start_at=None, waits_for=[])


def test_news_say_that_an_agent_is_back_that_registers_again() -> None:
    play = Play(players=1, referees=0)
    projection = Projection(play.league, IDLE)
    (registered,) = [event for event in map(decode, play.log) if isinstance(event, PlayerRegistered)]
    projection.apply(2, registered)
    projection.apply(7, registered)
    expected = ["P01 is registered: Agent 1", "P01 is back: Agent 1"]
    assert [one.text for one in projection.live(BEGAN).news.values()] == expected
    # As a page of earlier events is made.
    assert [projection.news_item(number, registered).text for number in (2, 7)] == expected


def test_changes_lead_from_each_state_of_a_league_to_the_next() -> None:
    league = League()
    projection = Projection(league, IDLE)
    before, state, changes = None, {}, 0
    for number, text in enumerate(whole().log, start=1):
        event = decode(text)
        apply(league, event)
        projection.apply(number, event)
        live = projection.live(BEGAN)
        expected = json.loads(msgspec.json.encode(live))
        if before is None:
            state = shown([("snapshot", "1", expected)])
        elif (changed := change(before, live)) is not None:
            told = json.loads(msgspec.json.encode(changed))
            state = shown([("snapshot", "", state), ("change", "", told)])
            changes += 1
        before = live
        assert state == {name: expected[name] for name in ("league", *KEYED)}
    assert changes > 40


def played_again() -> Play:
    """A league in which matches of earlier rounds are played again, and end otherwise."""
    play = Play(players=3, referees=2).begin()
    play.play_round()
    play.announce()
    play.play_round()
    play.announce()
    for name in ("R2M1", "R1M1"):
        play.do(commands.rematch(play.league, name, "again", play.now))
    while play.league.state == "RUNNING_LEAGUE":
        for name in play.assign():
            play.record(name, won(play.match(name), play.match(name).b))
    return play


def swiss_of_five() -> Play:
    """Byes count in the ranks before a round."""
    return Play(players=5, referees=2, format="swiss", seed_hex="ab" * 32).begin().play_all()


@pytest.mark.parametrize("played", [whole, played_again, swiss_of_five])
def test_movement_is_since_the_round_before_whatever_happens(played: Callable[[], Play]) -> None:
    """As the league's figures have it, which are made from scratch."""
    league = League()
    projection = Projection(league, IDLE)
    seen = set()
    for number, text in enumerate(played().log, start=1):
        event = decode(text)
        apply(league, event)
        projection.apply(number, event)
        movements = {row.id: row.movement for row in projection.standings()}
        assert movements == {line.player_id: line.movement for line in figures(league).lines}
        seen |= set(movements.values())
    numbers = seen - {None}
    assert {None, 0} <= seen
    assert min(numbers) < 0 < max(numbers)


@pytest.mark.parametrize(
    ("text", "view"),
    [
        ("knockout(best_of=3, third_place=True)", "bracket"),
        ("swiss", "rounds"),
        ("gauntlet(challengers=2)", "challengers"),
    ],
)
def test_changes_lead_through_the_pairings_of_each_view(text: str, view: str) -> None:
    play = Play(players=6, referees=2, format=text, seed_hex="ab" * 32).begin().play_all()
    league = League()
    projection = Projection(league, IDLE)
    state: dict[str, api_types.Pairing] = {}
    before = None
    for number, line in enumerate(play.log, start=1):
        apply(league, decode(line))
        projection.apply(number, decode(line))
        live = projection.live(BEGAN)
        if before is not None and (changed := change(before, live)) is not None:
            state |= changed.set.pairings
            for key in () if changed.drop is msgspec.UNSET else changed.drop.pairings:
                del state[key]
        assert state == live.pairings
        before = live
    assert state
    assert before is not None
    assert all(one.games[-1].marks for one in state.values() if one.b is not None)
    assert (before.league.view, before.league.end_reason != "") == (view, view != "challengers")
    for round_ in league.rounds:
        page = pages.round_page(projection, round_.id, 0, pages.MAX_MATCHES)
        assert [one.id for one in page.byes] == round_.byes
        if view != "challengers":
            assert set(page.points) >= {player for match in page.matches for player in (match.a.id, match.b.id)}


@pytest.mark.parametrize("text", ["round_robin", "swiss", "knockout", "gauntlet(challengers=2)"])
def test_a_league_of_a_hundred_fits_into_a_page_load(text: str) -> None:
    play = Play(format=text, seed_hex="ab" * 32)
    for number in range(1, 6):
        play.referee(number, capacity=10)
    for number in range(1, 101):
        play.player(number, meta={"display_name": f"Student number {number}"})
    play.begin()
    play.play_round()
    play.draw()
    play.announce()
    projection = Projection(play.league, IDLE)
    for number, text in enumerate(play.log, start=1):
        projection.apply(number, decode(text))
    answers = {
        "live": projection.live(BEGAN),
        "standings": pages.standings_page(projection, 0, pages.MAX_ROWS),
        "crosstable": pages.crosstable_page(projection, 0, pages.MAX_ROWS, 0),
        "points": pages.points_page(projection, 0, pages.MAX_ROWS),
        "rounds": pages.rounds_page(projection, 0, pages.MAX_ROUNDS),
        "agent": pages.agent_page(projection, "P01", 0, pages.MAX_ROWS),
    }
    sizes = {name: len(gzip.compress(msgspec.json.encode(made))) for name, made in answers.items()}
    assert sizes["live"] < 10_000
    assert max(sizes.values()) < 60_000
    assert len(answers["live"].standings) == 100
    assert isinstance(answers["live"], api_types.Live)
