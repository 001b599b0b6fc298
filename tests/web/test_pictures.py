"""Pictures of matches: what spectators and players are shown of a match in play, and of one that is over."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaguekit.games import GAMES
from leaguekit.games.base import SIDES, Game, Moves, Outcome, Question, Side
from leaguekit.games.pictures import Picture
from leaguekit.games.testing import check_game
from leaguekit.protocol import messages as m
from leaguekit.web import pictures
from leaguekit.web.pictures import MAX_DRAWN, LivePictures, match_picture
from tests.agents.leagues import BEGAN, Hall, in_virtual_time, url_of
from tests.league.play import Play
from tests.web.dashboard_clients import Spectator, get
from tests.web.test_stream import opened

CARDS = ("aardvark", "buffalo", "crocodile")


class Dealt(NamedTuple):
    """The card of each side, and what has been said."""

    cards: tuple[str, ...] = ()
    said: tuple[str, ...] = ()


class HigherCard(Game[Dealt]):
    """Each side has a card that only it sees, and says something in turn. The higher card wins."""

    name = "higher_card"
    max_turns = 4

    def start(self) -> Dealt:
        return Dealt()

    def to_move(self, position: Dealt) -> tuple[Any, ...]:
        if len(position.cards) < 2:
            return ("chance",)
        return () if len(position.said) == 4 else (SIDES[len(position.said) % 2],)

    def odds(self, position: Dealt) -> list[tuple[str, int]]:
        return [(card, 1) for card in CARDS if card not in position.cards]

    def question(self, position: Dealt, side: Side) -> Question:
        return Question("say", ["bet", "pass"], self.view(position, side))

    def play(self, position: Dealt, moves: Moves) -> Dealt:
        if "chance" in moves:
            return position._replace(cards=(*position.cards, moves["chance"]))
        return position._replace(said=(*position.said, *moves.values()))

    def outcome(self, position: Dealt) -> Outcome | None:
        if self.to_move(position):
            return None
        winner: Side = "A" if position.cards[0] > position.cards[1] else "B"
        return Outcome(winner, f"{{{winner}}} has the higher card")

    def view(self, position: Dealt, side: Side | None) -> dict[str, Any]:
        is_over = not self.to_move(position)
        shown = {
            one: card if is_over or one == side else None for one, card in zip(SIDES, position.cards, strict=False)
        }
        return {"cards": {"A": None, "B": None} | shown, "said": [*position.said]}

    def picture(self, view: dict[str, Any]) -> Picture:
        hands = [{"label": f"{{{side}}}", "cards": [view["cards"][side]]} for side in SIDES]
        return {"kind": "cards", "hands": hands, "caption": " ".join(view["said"])}


@pytest.fixture
def higher_card(monkeypatch: pytest.MonkeyPatch) -> Game[Any]:
    game = HigherCard()
    monkeypatch.setitem(GAMES, game.name, game)
    return game


def test_the_game_with_hidden_cards_keeps_the_rules_of_games(higher_card: Game[Any]) -> None:
    check_game(higher_card)


async def slowly(_kind: str) -> None:
    """What makes a player slow enough for its match to be watched."""
    await asyncio.sleep(1.0)


class TimedSpectator(Spectator):
    """Notes when each part of the stream was written."""

    def __init__(self) -> None:
        super().__init__()
        self.times: list[float] = []

    def write(self, data: bytes) -> None:
        self.times.append(asyncio.get_running_loop().time())
        super().write(data)

    def before(self, moment: float) -> str:
        return b"".join(data for data, at in zip(self.written, self.times, strict=True) if at < moment).decode()


@in_virtual_time
async def test_nobody_receives_the_card_of_another_before_the_end_of_the_match(
    tmp_path: Path, higher_card: Game[Any]
) -> None:
    async with Hall(tmp_path, game_type=higher_card.name) as hall:
        dashboard, spectator = await opened(hall), TimedSpectator()
        await dashboard.broadcaster.subscribe(spectator, "192.0.2.1", compressed=False)
        await hall.referee()
        for _ in SIDES:
            await hall.player("random", gate=slowly)
        await hall.operate("start")
        pages = []
        while not hall.sent("GAME_OVER"):
            pages.append((hall.now, (await get(dashboard, "/api/matches/R1M1")).body.decode()))
            await asyncio.sleep(0.5)
        await hall.end()
        (match,) = hall.league.matches.values()
        (report,) = hall.sent("MATCH_RESULT_REPORT")
        ended = hall.sent("GAME_OVER")[0].sent
        first, second, *_ = report.params["result"]["details"]["record"]
        dealt = {match.a: first["chance"], match.b: second["chance"]}
        # On the wire: what each player was sent and answered, and what the manager got.
        for number, player in enumerate(("P01", "P02"), start=1):
            own, other = dealt[player], next(card for one, card in dealt.items() if one != player)
            received = [one.params for one in hall.wire if one.url == url_of("player", number) and one.sent < ended]
            received += [one.answer for one in hall.wire if one.by == f"player {number}" and one.sent < ended]
            assert own in json.dumps(received)
            assert other not in json.dumps(received)
        progress = [one.params for one in hall.sent("MATCH_PROGRESS") if one.sent < ended]
        assert progress
        assert not any(card in json.dumps(progress) for card in CARDS)
        # What spectators were shown: the cards lie face down, and what was said is there.
        seen = "".join([spectator.before(ended), *(page for at, page in pages if at < ended)])
        assert not any(card in seen for card in CARDS)
        pictures = [picture for one in progress if (picture := one["picture"])]
        assert {card for one in pictures for hand in one["hands"] for card in hand["cards"]} == {None}
        assert len({one["caption"] for one in pictures}) > 2
        named = {"label": match.a, "cards": [None]}
        assert json.dumps(named, separators=(",", ":")) in seen
        # At the end everybody sees both.
        page = (await get(dashboard, "/api/pictures/R1M1")).json
        assert [hand["cards"][0] for hand in page["pictures"][-1]["hands"]] == [*dealt.values()]
        assert [hand["cards"][0] for hand in page["pictures"][0]["hands"]] == [None, None]


def reported(play: Play, match_id: str, **fields: Any) -> m.MatchProgress:
    """What a referee reports of a match in play."""
    match = play.match(match_id)
    return m.MatchProgress(
        **m.envelope("referee:REF01", BEGAN, "conv-1"),
        league_id=play.settings.league_id,
        round_id=match.round_id,
        match_id=match_id,
        attempt=1,
        stage="COLLECTING_CHOICES",
        entered_at=play.now,
        **fields,
    )


BOARD = "X...O...."
GRID = {"kind": "grid", "rows": [["<b>"]], "caption": "{A} first"}


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"picture": GRID, "position": {"board": BOARD}}, GRID | {"caption": "P01 first"}),
        ({"picture": {"kind": "svg"}, "position": {"hand": "?"}}, {"kind": "text", "text": "hand: ?"}),
        ({"picture": {"kind": "text", "text": 7}}, None),
        ({}, None),
    ],
)
def test_a_picture_of_any_referee_is_shown_if_it_can_be_drawn(
    fields: dict[str, Any], shown: dict[str, Any] | None
) -> None:
    play = Play(players=2, referees=1).begin()
    match = play.match("R1M1")
    match.a, match.b = "P01", "P02"
    assert match_picture("another game", match, reported(play, "R1M1", **fields)) == shown


def test_the_position_of_a_referee_that_sends_no_picture_is_drawn_by_the_game() -> None:
    play = Play(players=2, referees=1).begin()
    position = {"board": BOARD, "moves": [0, 4]}
    drawn = match_picture("tic_tac_toe", play.match("R1M1"), reported(play, "R1M1", position=position))
    assert drawn is not None
    assert [cell["text"] for row in drawn["rows"] for cell in row] == [mark.strip(".") for mark in BOARD]
    assert "moves" not in drawn


def test_the_first_matches_in_play_are_drawn_once_for_each_report(monkeypatch: pytest.MonkeyPatch) -> None:
    play = Play(players=2 * MAX_DRAWN + 8, referees=2).begin()
    made: list[str] = []
    monkeypatch.setattr(pictures, "match_picture", lambda _game, match, _report: made.append(match.id) or GRID)
    names = [f"R1M{number}" for number in range(1, MAX_DRAWN + 5)]
    reports = {name: reported(play, name) for name in names}
    live, playing = LivePictures(), [play.match(name) for name in names]
    live.update("even_odd", playing, reports)
    live.update("even_odd", playing, reports)
    assert sorted(made) == sorted(names[:MAX_DRAWN])
    assert live.get("R1M1") == GRID
    assert live.get(names[-1]) is None
    reports["R1M2"] = reported(play, "R1M2")
    live.update("even_odd", playing, reports)
    assert made[MAX_DRAWN:] == ["R1M2"]


@in_virtual_time
async def test_the_pictures_of_a_match_come_in_parts_and_its_page_leads_to_the_next(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="tic_tac_toe") as hall:
        await hall.fill("random", "random", "random", "random")
        await hall.operate("start")
        await hall.end()
        dashboard = await opened(hall)

        async def page(path: str) -> dict[str, Any]:
            return (await get(dashboard, path)).json

        steps = (await page("/api/matches/R1M1"))["steps"]
        whole = await page("/api/pictures/R1M1")
        assert whole["total"] == len(whole["pictures"]) == len(steps)
        part = await page("/api/pictures/R1M1?offset=2&limit=2")
        assert (part["offset"], part["pictures"]) == (2, whole["pictures"][2:4])
        assert (await page("/api/pictures/R1M1?offset=5000"))["pictures"] == []
        found = [await page(f"/api/matches/{name}") for name in ("R1M1", "R1M2", "R2M1", "R3M2")]
        assert [(one["before"], one["after"]) for one in found] == [
            (None, "R1M2"),
            ("R1M1", "R2M1"),
            ("R1M2", "R2M2"),
            ("R3M1", None),
        ]
        assert (await get(dashboard, "/api/pictures/R9M9")).status == 404


def test_a_board_stays_until_its_match_is_over_and_then_the_most_interesting_one_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play = Play(players=40, referees=10).begin()
    monkeypatch.setattr(pictures, "match_picture", lambda *_: GRID)
    live, playing = LivePictures(), [play.match(name) for name in play.in_play]
    reports = {match.id: reported(play, match.id) for match in playing}

    def drawn() -> list[str]:
        return [match.id for match in playing if live.get(match.id) is not None]

    live.update("even_odd", playing, reports)
    assert drawn() == play.in_play[:MAX_DRAWN]
    over, others = playing[0], playing[1:]
    # Other matches have become more interesting. What is drawn stays.
    live.update("even_odd", others[::-1], reports)
    assert set(drawn()) == {*play.in_play[1:MAX_DRAWN], others[-1].id}
    assert over.id not in drawn()
