"""Long matches with chance and payoffs, in a whole league: records beside the log, the audit, and the table."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from leaguekit import games
from leaguekit.games.base import Game, Outcome, Question
from leaguekit.referee.manager_client import RETRY_SECONDS
from leaguekit.testing import play_league, play_match
from leaguekit.transport.base import HttpAnswer
from tests.agents.leagues import MANAGER_URL, Hall, in_virtual_time


class Race(Game):
    """A and B walk in turn; after each move chance adds one or two steps."""

    name = "race"
    payoff_range = (0, 2_000)

    def __init__(self, turns: int = 1_000) -> None:
        self.max_turns = turns

    def start(self):
        return (0, 0, 0, False)

    def to_move(self, position):
        turn, _, _, moved = position
        if turn == self.max_turns:
            return ()
        return ("chance",) if moved else ("AB"[turn % 2],)

    def odds(self, position):
        return [(1, 1), (2, 3)]

    def question(self, position, side):
        return Question("walk", ["on"], self.view(position, side))

    def play(self, position, moves):
        turn, a, b, _ = position
        if "chance" not in moves:
            return (turn, a, b, True)
        steps = moves["chance"]
        return (turn + 1, a + steps, b, False) if turn % 2 == 0 else (turn + 1, a, b + steps, False)

    def outcome(self, position):
        turn, a, b, _ = position
        if turn < self.max_turns:
            return None
        return Outcome(None if a == b else "A" if a > b else "B", f"{{A}} walked {a}, {{B}} walked {b}", (a, b))

    def view(self, position, side):
        return {"walked": [position[1], position[2]]}


@pytest.fixture
def race(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(games.GAMES, "race", Race())


@pytest.mark.usefixtures("race")
def test_a_match_of_a_thousand_moves_counts_after_it_was_played_again_from_its_posted_record() -> None:
    played = play_league({"Ada": "random", "Ben": "random", "Cyd": "random"}, game="race")
    assert [row.played for row in played.standings] == [2, 2, 2]
    # The manager ranks by payoff; a technical loss would be 0 or 2,000.
    payoffs = [row.payoff for row in played.standings]
    assert payoffs == sorted(payoffs, reverse=True)
    assert all(850 < payoff < 900 for payoff in payoffs)


@pytest.mark.usefixtures("race")
def test_the_seed_is_promised_before_the_first_move_and_revealed_at_the_end() -> None:
    match = play_match("random", "random", game="race", seed=3)
    calls = [entry.body for entry in match.messages if entry.message_type == "GAME_MOVE_CALL" and entry.body]
    (over, _) = [entry.body["game_result"] for entry in match.messages if entry.message_type == "GAME_OVER"]
    promised = {call["context"]["draw_commitment"] for call in calls}
    assert promised == {over["draw_commitment"]}
    assert over["payoffs"]["P01"] + over["payoffs"]["P02"] > 1_500
    assert len(over["match_seed"]) == 64
    # The choices on the wire stay short.
    assert [len(choice or "") for choice in match.choices.values()] == [100, 100]


@pytest.mark.usefixtures("race")
@in_virtual_time
async def test_a_report_whose_record_is_missing_is_refused_and_comes_again_with_the_record(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="race") as hall:
        hall.network.close(MANAGER_URL)
        hall.network.listen(MANAGER_URL, hall.manager.handle, hall.manager.reports.receive_document)
        await hall.fill("random", "random", referees=1)
        world = hall.referees[0]._world
        real, posted, refused = world.caller.post, list[float](), list[bytes]()

        async def failing(url: str, *rest: Any) -> HttpAnswer:
            if "/records/" in url:
                posted.append(asyncio.get_running_loop().time())
                if len(posted) == 1:
                    return HttpAnswer(503, b"")
            answer = await real(url, *rest)
            if b"E061" in answer.body:
                refused.append(answer.body)
            return answer

        world.caller.post = failing  # type: ignore[method-assign]
        await hall.operate("start")
        await hall.end()
        assert len(refused) == 1
        first, second = posted
        assert second - first == pytest.approx(RETRY_SECONDS, abs=0.1)
        (match,) = hall.league.matches.values()
        assert match.outcome is not None
        assert match.outcome.ruling in ("WIN", "DRAW")
