"""Kuhn poker in a chat application, in a browser and by a language model: nobody learns the card of another."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest

from leaguekit.games import game
from leaguekit.games.records import positions
from leaguekit.gateway.seats import Seat
from leaguekit.sim import loop
from leaguekit.transport.memory import ExchangeTimes
from tests.agents.leagues import Hall
from tests.gateway.three_seats import CHAT, MACHINE, PERSON, Match, play
from tests.gateway.virtual_gateway import opened_gateway
from tests.web.dashboard_clients import get
from tests.web.test_stream import opened

KUHN = "openspiel:kuhn_poker"
# Commitments, tokens and names of turns; numbers of requests.
_MASKED = re.compile(r'\b[0-9a-f]{8,}\b|"id":\d+}')


def observed(text: str) -> set[str]:
    """The observations in some bytes. JSON in a text of JSON has a backslash before each quotation mark."""
    return set(re.findall(r'\\?"(?:observation|information_state)\\?": ?\\?"([^"\\]*)', text))


def shown(match: Match, name: str | None) -> set[str]:
    """The observations that a player may see during a match, or everybody."""
    kuhn = game(KUHN)
    side: Any = next((side for side, player in match.players.items() if player == name), None)
    views = [kuhn.view(position, side) for position in positions(kuhn, match.record)][:-1]
    return {view[key] for view in views for key in ("observation", "information_state") if key in view}


def test_a_chat_seat_a_browser_seat_and_a_model_play_kuhn_poker_and_see_only_their_own_cards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = play(tmp_path, monkeypatch, KUHN)
    assert seen.technical_losses == 0
    for match in seen.matches:
        for name in (CHAT, PERSON, MACHINE):
            received = seen.by(name, match)
            if name in match.players.values():
                assert observed(received), (name, match.id)
                assert observed(received) <= shown(match, name), (name, match.id)
            else:
                assert not observed(received)
            assert not re.search(r'Deal:|\\?"end\\?":', received)
        assert observed(seen.public(match))
        assert observed(seen.public(match)) <= shown(match, None)
        assert "Deal:" not in seen.public(match)
        cards = set(re.findall(r'"cards":\[([^]]*)\]', seen.public(match)))
        assert cards == {"null"}


class Told(NamedTuple):
    """What was received in a match of Ada and Bob before its end, by whom, and what was dealt to whom.

    What everybody can see is on the page of the match, and in what its referee tells the manager.
    """

    received: dict[str, str]
    cards: dict[str, str]


async def told_in(root: Path, seed: int) -> Told:
    """Play a league of one match."""
    async with Hall(root, game_type=KUHN, seed_hex=f"{seed:064x}") as hall, opened_gateway(hall) as gateway:
        dashboard = await opened(hall)
        await hall.referee()
        seats = {name: (await gateway.join(None, name, "127.0.0.1"))[1] for name in ("Ada", "Bob")}
        by_url = {
            hall.league.players[str(seat.agent.player_id)].meta.contact_endpoint: name for name, seat in seats.items()
        }
        parts: list[tuple[float, str, str]] = []

        def note(whom: str, text: str) -> None:
            parts.append((asyncio.get_running_loop().time(), whom, text))

        def saw(_caller: Any, url: str, body: bytes, _came: Any, when: ExchangeTimes) -> None:
            parts.append((when[0], by_url.get(url, "manager or referee"), body.decode()))

        async def own(name: str, seat: Seat) -> None:
            while (state := await seat.wait(20.0)).status != "over":
                # So slowly that spectators see each position. All pass, whatever they have.
                await asyncio.sleep(1.0)
                note(name, msgspec.json.encode(seat.state(with_picture=True)).decode())
                note("public", (await get(dashboard, "/api/matches/R1M1")).body.decode())
                if state.asked is not None:
                    seat.submit(state.asked.turn, "Pass")

        hall.network.tap = saw
        await hall.operate("start")
        owners = [asyncio.create_task(own(name, seat)) for name, seat in seats.items()]
        await hall.end()
        await asyncio.gather(*owners)
        (match,) = hall.league.matches.values()
    ended = min(at for at, _, text in parts if '"GAME_OVER"' in text)
    reports = [json.loads(text)["params"] for _, _, text in parts if '"MATCH_RESULT_REPORT"' in text]
    dealt = [step["chance"] for step in reports[0]["result"]["details"]["record"][:2]]
    names = {seat.agent.player_id: name for name, seat in seats.items()}
    received = {name: [text for at, whom, text in parts if whom == name and at < ended] for name in (*seats, "public")}
    received["public"] += [text for at, _, text in parts if '"MATCH_PROGRESS"' in text and at < ended]
    masked = {name: _MASKED.sub("#", "\n".join(texts)) for name, texts in received.items()}
    return Told(masked, dict(zip((names[match.a], names[match.b]), dealt, strict=True)))


def test_what_is_received_does_not_depend_on_the_card_of_another(tmp_path: Path) -> None:
    # Each in a loop of its own, so that all begin at the same time.
    matches = [loop.run(told_in(tmp_path / str(seed), seed)) for seed in range(16)]
    for name in ("Ada", "Bob", "public"):
        alike: dict[str, dict[str, set[str]]] = {}
        for one in matches:
            alike.setdefault(one.cards.get(name, ""), {}).setdefault(str(one.cards), set()).add(one.received[name])
        assert all(len(set().union(*texts.values())) == 1 for texts in alike.values()), name
        # There are matches that differ only in what is hidden.
        assert sum(len(deals) > 1 for deals in alike.values()) == (1 if name == "public" else 3)
    assert [len({one.received[name] for one in matches}) for name in ("Ada", "Bob", "public")] == [3, 3, 1]
