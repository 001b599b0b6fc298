"""Nothing that opens anything, says where anybody is, or what somebody is about to choose, leaves through the web."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Literal

import pytest

from leaguekit.league import events as e
from leaguekit.match.draw import match_seed
from leaguekit.protocol import codes
from leaguekit.protocol.plain_text import remove_addresses
from leaguekit.web.app import Dashboard
from leaguekit.web.openapi import PageDescription
from leaguekit.web.routes import DESCRIPTIONS
from tests.agents.leagues import ADMIN, MANAGER_URL, Hall, in_virtual_time, url_of
from tests.played import Transcripts
from tests.web.dashboard_clients import Spectator, get

SEED = "5e" * 32


class Ears:
    """Everything that a dashboard has ever said, by the stream and by every path."""

    def __init__(self, hall: Hall) -> None:
        self.hall = hall
        self.heard = b""
        self.paths: set[str] = set()

    async def listen(self) -> None:
        """A dashboard that follows from now on, and a subscriber of its stream."""
        self.dashboard = Dashboard(self.hall.manager)
        self.spectator = Spectator()
        await self.dashboard.catch_up()
        await self.dashboard.broadcaster.subscribe(self.spectator, "192.0.2.1")

    async def look_around(self) -> None:
        """Ask for everything there is."""
        league = self.hall.league
        named = {
            "{round_id}": [str(round_.id) for round_ in league.rounds],
            "{match_id}": list(league.matches),
            "{agent_id}": [*league.players, *league.referees],
        }
        paths = ["/", "/metrics", "/openapi.json", "/static/data.js", "/api/news?after=0"]
        paths += ["/report"] if league.state == "LEAGUE_COMPLETED" else []
        for path in [path for path, one in DESCRIPTIONS.items() if isinstance(one, PageDescription)]:
            in_path = [(name, values) for name, values in named.items() if name in path]
            paths += [path.replace(name, value) for name, values in in_path for value in values]
            paths += [] if in_path else [path]
        for path in paths:
            answer = await get(self.dashboard, path)
            assert answer.status == 200, path
            self.heard += answer.body
            self.paths.add(path)
        # Whatever was kept is stale when this is over.
        await asyncio.sleep(1)

    @property
    def everything(self) -> bytes:
        return self.heard + self.spectator.text.encode()


@pytest.mark.parametrize("profile", ["spec", "open"])
@in_virtual_time
async def test_no_secret_no_address_and_no_open_choice_is_ever_shown(
    profile: Literal["spec", "open"], tmp_path: Path
) -> None:
    holding, free, calls = asyncio.Event(), asyncio.Event(), 0

    async def hold(kind: str) -> None:
        """Hold P03 at its second choice, when the other has made its own."""
        nonlocal calls
        calls += kind == "CHOOSE_PARITY_CALL"
        if kind == "CHOOSE_PARITY_CALL" and calls == 2:
            holding.set()
            await free.wait()

    async with Hall(tmp_path, max_retries=1, profile=profile) as hall:
        ears, transcripts = Ears(hall), Transcripts(hall)
        await ears.listen()
        code = await hall.manager.provide_referee_code(None) or ""
        seats = [one["code"] for one in (await hall.operate("seats_new", count=2))["seats"]]
        await hall.referee()
        for gate in (None, None, hold, None, None):
            await hall.player("random", gate=gate)
        await ears.look_around()
        # P05 will be called in vain.
        hall.network.close(url_of("player", 5))
        await hall.operate("start")
        await holding.wait()
        # The other has chosen, and only its referee knows what.
        (held,) = [one for one in hall.league.matches.values() if one.in_play and "P03" in one.players]
        progress = hall.manager.runner.progress.latest
        await hall.until(lambda: held.id in progress and progress[held.id].stage == "COLLECTING_CHOICES")
        await ears.look_around()
        await asyncio.sleep(1)
        at_choice = (await get(ears.dashboard, f"/api/matches/{held.id}")).json
        assert (at_choice["messages"], at_choice["steps"], at_choice["evidence"]) == ([], [], None)
        assert at_choice["match"].get("choices") is None
        assert at_choice["in_play"]["stage"] == "COLLECTING_CHOICES"
        before_the_end = ears.everything
        free.set()
        await hall.end()
        await transcripts.played()
        await ears.look_around()
        everything = ears.everything
        agents = [*hall.players, *hall.referees]
        tokens = [agent.registrar.identity.auth_token for agent in agents if agent.registrar.identity]
        events = [e.decode(text) for text in hall.log.content.events]

    registered = [one for one in events if isinstance(one, e.PlayerRegistered | e.RefereeRegistered)]
    secrets = [ADMIN, code, *seats, *(token for token in tokens if token)]
    secrets += [codes.verifier("referee", code).hex(), *(codes.verifier("seat", seat).hex() for seat in seats)]
    for one in registered:
        secrets += [one.verifier, one.key, one.conversation_id]
    places = [MANAGER_URL, *(one.meta.contact_endpoint for one in registered)]
    places += [place.removeprefix("http://").partition("/")[0] for place in places] + ["127.0.0.1"]
    shown_tokens = [text for one in hall.wire for text in _tokens(one.params)]
    assert len(tokens) == 6
    assert len(shown_tokens) > 50
    for secret in [*secrets, *places, *shown_tokens]:
        assert secret.encode() not in everything, secret
    # The league's seed is shown when it is over, and not before. That of a match is never shown.
    assert SEED.encode() not in before_the_end
    assert SEED.encode() in everything
    for match in hall.league.matches.values():
        assert match_seed(bytes.fromhex(SEED), match.id, match.attempt).hex().encode() not in everything
    assert b"ws://" not in everything
    assert len(ears.paths) > 30
    # In the open profile the pages also show what was really sent and received.
    assert (b"by handle_game_invitation: {" in everything) is (profile == "open")
    assert (b"HTTP 200: {" in everything) is (profile == "open")


def _tokens(params: object) -> list[str]:
    """Every token in a message, at any depth."""
    if isinstance(params, dict):
        own = [
            value for name, value in params.items() if "token" in name and isinstance(value, str) and len(value) > 20
        ]
        return own + [text for value in params.values() for text in _tokens(value)]
    return [text for value in params for text in _tokens(value)] if isinstance(params, list) else []


@in_virtual_time
async def test_what_a_failed_call_said_of_addresses_is_left_out(tmp_path: Path) -> None:
    """The transcript names the address that could not be reached."""
    async with Hall(tmp_path, max_retries=0) as hall:
        transcripts = Transcripts(hall)
        await hall.fill("random", "random")
        await hall.operate("start")
        hall.network.close(url_of("player", 2))
        await hall.end()
        played = await transcripts.played()
        page = await get(Dashboard(hall.manager), "/api/matches/R1M1")
    assert b"127.0.0.1:8102" in played.kept["transcript/R1M1"]
    assert b"127.0.0.1" not in page.body
    assert (page.json["match"]["ruling"], page.json["match"]["reason"]) == ("UNREACHABLE", "P02 could not be reached")
    failed = [one["text"] for one in page.json["messages"] if one["what"] == "failed"]
    assert failed[:2] == ["E009: could not be reached", "GAME_ERROR: nobody listens at …"]


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("http://127.0.0.1:8102/mcp?seat=ABCD refused", "… refused"),
        ("nobody listens at 10.0.0.7:8102", "nobody listens at …"),
        ("agent-7.school.example:8101 leads to [fd00::7]:8101", "… leads to …"),
        ("localhost leads nowhere", "… leads nowhere"),
        ("until 2025-01-15T10:30:00Z", "until 2025-01-15T10:30:00Z"),
        ("R1M1: P01 beats P02 (number 8)", "R1M1: P01 beats P02 (number 8)"),
        ({"a": ["ftp://x.example/y", 1, None]}, {"a": ["…", 1, None]}),
    ],
)
def test_addresses_are_taken_out_of_texts_and_nothing_else_is(said: object, shown: object) -> None:
    assert remove_addresses(said) == shown
