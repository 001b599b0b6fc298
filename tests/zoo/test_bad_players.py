"""Every kind of bad player in every game: the league ends, the ruling is the table's, and nobody else is delayed."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pytest
from _pytest.mark import ParameterSet

from leaguekit.agents.world import World
from leaguekit.games import GAMES
from leaguekit.league.events import Event, LeagueCompleted, PlayerReturned, PlayerSuspended, ResultRecorded
from leaguekit.league.records import Match
from leaguekit.league.settings import Settings
from leaguekit.league.state import League
from leaguekit.manager.manager import Manager
from leaguekit.manager.rounds.announcements import ANNOUNCEMENT_SECONDS
from leaguekit.match.move_messages import messages_of
from leaguekit.match.rulings import Ruling, describe_ruling
from leaguekit.player.agent import PlayerAgent
from leaguekit.player.player import Player
from leaguekit.player.strategies import STRATEGIES
from leaguekit.protocol.decoding import violations
from leaguekit.protocol.errors import CATALOGUE
from leaguekit.referee.referee import RefereeAgent
from leaguekit.sim import loop
from leaguekit.store.memory import MemoryLog
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import Caller, Handler, Peer
from leaguekit.transport.client.caller import HttpCaller
from leaguekit.transport.memory import ExchangeTimes, MemoryCaller, MemoryNetwork
from tests.marks import proves
from tests.programs import Program
from tests.zoo.bad_players import (
    ALL_GAMES,
    BROADCAST,
    CALL,
    IN_TURNS,
    INVITATION,
    PLAYED,
    ZOO,
    BadPlayer,
    Json,
    Kind,
    Row,
    answers_its_fifth_call_only,
    at,
    never,
)
from tests.zoo.bad_servers import Line, Server

MANAGER_URL = "http://127.0.0.1:8000/mcp"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
# How long a good player takes for any answer, so that there is a time to compare.
THINKING = 0.25
# Longer than any league here, in virtual seconds.
FOREVER = 10_000.0
KINDS = {row.name: row.kind for row in ZOO}


def in_game(row: Row, game: str) -> ParameterSet:
    """A kind of player in a game; it is ruled alike in all, so `make test` is content with the first."""
    return pytest.param(row, game, id=f"{row.name}-{game}", marks=[] if game == row.games[0] else pytest.mark.longest)


class Sent(NamedTuple):
    """A message to a player, and when it was sent and answered or given up."""

    to: str
    at: float
    until: float
    message: Json

    @property
    def kind(self) -> str:
        return str(self.message["message_type"])


class Played(NamedTuple):
    """A league that was played to its end."""

    league: League
    events: list[Event]
    sent: list[Sent]
    bad: dict[str, BadPlayer]

    @property
    def matches(self) -> dict[str, Match]:
        return self.league.matches

    def to(self, player_id: str, *kinds: str, match_id: str | None = None) -> list[Sent]:
        return [
            one
            for one in self.sent
            if one.to == player_id
            and one.kind in kinds
            and (match_id is None or one.message.get("match_id") == match_id)
        ]

    def errors(self, player_id: str, match: Match) -> list[Json]:
        return [one.message for one in self.to(player_id, "GAME_ERROR", match_id=match.id)]

    def evidence(self, match: Match) -> Json:
        """What the players of a match are shown to have done; it is in the log only."""
        (recorded,) = [one for one in self.events if isinstance(one, ResultRecorded) and one.match_id == match.id]
        return dict(recorded.result.details.evidence["players"])

    def of(self, player_id: str) -> list[Match]:
        return [match for match in self.matches.values() if player_id in match.players]

    def invited_at(self, match: Match) -> float:
        return min(one.at for player in match.players for one in self.to(player, "GAME_INVITATION", match_id=match.id))

    def lasted(self, match: Match) -> float:
        """From the first invitation until both have got the end."""
        told = [self.to(player, "GAME_OVER", match_id=match.id)[-1].at for player in match.players]
        return round(max(told) - self.invited_at(match), 6)

    def waited(self, match: Match) -> float:
        """From the round's announcement to the match's first invitation."""
        announced = [
            one.at
            for player in match.players
            for one in self.to(player, "ROUND_ANNOUNCEMENT")
            if one.message["round_id"] == match.round_id
        ]
        return round(self.invited_at(match) - min(announced), 6)


def url_of(number: int) -> str:
    return f"http://127.0.0.1:{8100 + number}/mcp"


def play(kinds: Sequence[Kind | None], game: str, root: Path) -> Played:
    """A league in virtual time: the n-th player is of the n-th kind, or one of ours, and there are two referees."""
    # What never ends in virtual time would keep a processor busy for ever.
    return loop.run(asyncio.wait_for(_play(kinds, game, root), FOREVER))


async def _play(kinds: Sequence[Kind | None], game: str, root: Path) -> Played:
    network, chance, clock = MemoryNetwork(), Random(1), asyncio.get_running_loop()
    sent: list[Sent] = []
    places = {url_of(number): f"P{number:02d}" for number in range(1, len(kinds) + 1)}

    def tap(_caller: MemoryCaller, url: str, body: bytes, _came: bytes | BaseException, times: ExchangeTimes) -> None:
        params = json.loads(body).get("params", {})
        if url in places and "message_type" in params:
            sent.append(Sent(places[url], times.sent, times.ended, params))

    network.tap = tap

    def world() -> World:
        now = lambda: BEGAN + timedelta(seconds=clock.time())  # noqa: E731 - a clock is a function
        return World(MemoryCaller(network), root, now=now, entropy=chance.randbytes, inline=True)

    settings = Settings(league_id="zoo", game_type=game, announce_lead=0.0, seed_hex="5e" * 32)
    manager = Manager(world(), MemoryLog(), settings, MANAGER_URL, "adm-zoo")
    await manager.open()
    events: list[Event] = []
    manager.ledger.listeners.append(events.append)
    manager.runner.start_when = (len(kinds), 2)
    network.listen(MANAGER_URL, manager.handle)
    running = asyncio.create_task(manager.run())
    agents: list[RefereeAgent | PlayerAgent] = []
    for number in (1, 2):
        url = f"http://127.0.0.1:{8000 + number}/mcp"
        referee = RefereeAgent(world(), manager_url=MANAGER_URL, endpoint=url, name=f"Referee {number}")
        agents.append(referee)
        network.listen(url, referee.handle)
        await referee.register()
    bad: dict[str, BadPlayer] = {}
    token = ""
    for number, kind in enumerate(kinds, start=1):
        url = url_of(number)
        if kind is None:
            good = PlayerAgent(Player(f"Good {number}", STRATEGIES["random"]), world(), MANAGER_URL, url, seed=7)
            agents.append(good)
            network.listen(url, slowly(good.handle))
            await good.register()
            assert good.identity is not None
            token = good.identity.auth_token or ""
        else:
            player = BadPlayer(kind, MemoryCaller(network), url, MANAGER_URL, partial(network.close, url))
            network.listen(url, player.handle)
            player.stolen = token
            await player.register(f"Bad {number}")
            bad[player.player_id] = player
    await running
    for agent in agents:
        await agent.finished.wait()
        await agent.close()
    await manager.close()
    # What was broken off at the end was noted in no order.
    sent.sort(key=lambda one: one.at)
    return Played(manager.ledger.league, events, sent, bad)


def slowly(handle: Handler) -> Handler:
    """A handler that takes its time."""

    async def thinking(body: bytes, peer: Peer) -> bytes | None:
        await asyncio.sleep(THINKING)
        return await handle(body, peer)

    return thinking


@contextmanager
def a_folder() -> Iterator[Path]:
    """A folder in memory where the system has such: hundreds of leagues write here, and no test reads it."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as root:
        yield Path(root)


@pytest.fixture
def folder() -> Iterator[Path]:
    with a_folder() as root:
        yield root


@cache
def without_bad_players(game: str) -> Played:
    with a_folder() as root:
        return play([None] * 4, game, root)


def name_of(row: Row) -> str:
    return row.name


def details(match: Match) -> Any:
    assert match.result is not None
    return match.result.details


def gravest(faults: dict[str, str]) -> str:
    return next(ruling for ruling in Ruling if ruling in faults.values())


def outcome(match: Match) -> tuple[Any, ...]:
    assert match.result is not None
    return match.result.winner, match.result.score, details(match).choices, details(match).drawn_number


def check_ruling(league: Played, match: Match, at_fault: dict[str, str]) -> None:
    """That a match was lost by these players for these reasons, and by nobody else."""
    assert match.result is not None
    winners = [player for player in match.players if player not in at_fault]
    assert (match.result.winner, details(match).status) == (winners[0] if winners else None, "TECHNICAL_LOSS")
    assert match.result.score == {player: 3 if player in winners else 0 for player in match.players}
    assert details(match).drawn_number is None
    assert details(match).ruling == gravest(at_fault)
    seen = league.evidence(match)
    assert {player for player in match.players if seen[player]["phase"] == "OUT"} == set(at_fault)
    for player, ruling in at_fault.items():
        assert seen[player]["events"], "there is evidence"
        over = league.to(player, "GAME_OVER", match_id=match.id)[0].message
        assert describe_ruling(Ruling(ruling), player) in over["reason"]
        assert over["game_result"]["status"] == "TECHNICAL_LOSS"
        assert (over["game_result"]["drawn_number"], over["game_result"]["number_parity"]) == (None, None)


def check_played(match: Match) -> None:
    assert match.result is not None
    assert details(match).status == details(match).ruling == ("DRAW" if match.result.winner is None else "WIN")
    assert sorted(match.result.score.values()) == ([1, 1] if match.result.winner is None else [0, 3])
    assert all(details(match).choices.values())


def check_errors(errors: list[Json], codes: tuple[str, ...], player: str) -> None:
    """Check the errors about one request: they are counted, and the last names the technical loss."""
    assert [one["error_code"] for one in errors] == [*codes]
    assert [one["retry_count"] for one in errors] == [1, 2, 3, 3][: len(codes)]
    failed = codes[0] in ("E001", "E009")
    for place, error in enumerate(errors):
        last = place == 3
        assert violations(error) == []
        assert error["player_id"] == error["affected_player"] == player
        assert error["error_name"] == error["error_description"] == CATALOGUE[error["error_code"]].name
        assert error["retry_info"]["retry_count"] == error["retry_count"]
        assert error["retry_info"]["max_retries"] == error["max_retries"] == 3
        assert error["retryable"] is not last
        assert ("next_retry_at" in error["retry_info"]) is (failed and not last)
        assert ("time_remaining" in error["retry_info"]) is not failed
        assert error["consequence"].startswith("Technical loss")
    if len(errors) == 4:
        assert "no tries are left" in errors[-1]["consequence"]


def in_parts(errors: list[Json], size: int) -> list[list[Json]]:
    return [errors[place : place + size] for place in range(0, len(errors), size)]


# One bad player among good ones


def test_there_are_more_than_twenty_kinds_and_each_has_its_ruling_in_every_game() -> None:
    assert len(KINDS) > 22
    for name in KINDS:
        assert sorted(game for row in ZOO if row.name == name for game in row.games) == [*ALL_GAMES]


@pytest.mark.parametrize(("row", "game"), [in_game(row, game) for row in ZOO for game in row.games])
def test_the_league_ends_as_the_table_says_and_nobody_else_is_delayed(row: Row, game: str, folder: Path) -> None:
    league, usual = play([None, row.kind, None, None], game, folder), without_bad_players(game)
    assert any(isinstance(event, LeagueCompleted) for event in league.events)
    own = league.of("P02")
    for match, ruling in zip(own, row.rulings, strict=True):
        if ruling == PLAYED:
            check_played(match)
        else:
            check_ruling(league, match, {"P02": ruling})
    codes, errors = row.errors_in(game), league.errors("P02", own[0])
    # A player that is right in the end has got an error for every request that went wrong before.
    parts = in_parts(errors, len(codes)) if codes else []
    for part in parts:
        check_errors(part, codes, "P02")
    assert bool(parts) is bool(errors) is bool(codes)
    assert len(parts) <= 1 or row.rulings[0] == PLAYED
    for match in league.matches.values():
        for player in match.players:
            # Every invited player gets the end once, whether it listens or not.
            assert league.to(player, "GAME_INVITATION", match_id=match.id)
            assert len(league.to(player, "GAME_OVER", match_id=match.id)) == 1
        assert match.attempt == 1
        if "P02" not in match.players:
            check_played(match)
            assert outcome(match) == outcome(usual.matches[match.id])
            assert league.lasted(match) == usual.lasted(match) > 0
            waited = row.waited[match.round_id - 1]
            assert league.waited(match) == max(waited, usual.waited(match)) <= ANNOUNCEMENT_SECONDS


proves(
    test_the_league_ends_as_the_table_says_and_nobody_else_is_delayed,
    "000-L0616", "000-L0623", "000-L0624", "000-L0711", "000-L0716", "000-L0856", "000-L0857", "000-L0866b",
    "000-L0877", "000-L0878", "000-L0943", "000-L1313", "000-L1314", "000-L1315", "000-L1316", "000-L1331",
    "000-L1388", "000-L1414", "000-L1430", "000-L1435", "000-L1436", "000-L1440", "000-L1485", "000-L1529",
    "000-L1532", "000-L1533", "000-L1534", "000-L1581", "000-L1583", "001-L1036", "001-L1037", "001-L1038",
    "001-L1194", "001-L1195", "001-L1564", "001-L1652", "001-L1666", "001-L1667", "001-L1668", "001-L1956",
    "001-L1957", "001-L1958", "002-L0323", "002-L0324", "003-L0265", "003-L0300", "003-L0302", "004-L0261",
)  # fmt: skip


@pytest.mark.settles("000-L1584", "000-L1326", "003-L0263")
@pytest.mark.parametrize(
    ("name", "asked_at", "over_at"),
    [
        # Its own five or thirty seconds each time, and two in between.
        ("hangs at invitations", [0, 7, 14, 21], 26),
        ("joins late", [0, 7, 14, 21], 26),
        ("joins and never chooses", [0.25, 32.25, 64.25, 96.25], 126.25),
        ("chooses late", [0.25, 32.25, 64.25, 96.25], 126.25),
        ("hangs up on referees", [0, 2, 4, 6], 6),
        ("answers referees 5 MB", [0, 2, 4, 6], 6),
        # Four times at once. The match is over as soon as the other has answered.
        ("a made-up token", [0, 0, 0, 0], 0.25),
        ("another match's id", [0, 0, 0, 0], 0.25),
        ("Even", [0.25] * 4, 0.5),
        ("a null choice", [0.25] * 4, 0.5),
        ("refuses", [0], 0.25),
    ],
)
def test_a_bad_player_is_asked_again_when_it_is_decided_and_ruled_at_the_limit(
    name: str, asked_at: list[float], over_at: float, folder: Path
) -> None:
    league = play([None, KINDS[name], None, None], "even_odd", folder)
    match = league.of("P02")[0]
    began = league.invited_at(match)
    failing = CALL if asked_at[0] else INVITATION
    asked = league.to("P02", *failing, match_id=match.id)
    assert [round(one.at - began, 3) for one in asked] == asked_at
    # A message to somebody that hangs takes a tenth of a second to be on its way.
    assert over_at <= league.lasted(match) <= over_at + 0.1


proves(
    test_a_bad_player_is_asked_again_when_it_is_decided_and_ruled_at_the_limit,
    "000-L0571", "000-L0580", "000-L0806", "000-L0815", "000-L1321", "000-L1322", "000-L1573", "000-L1574",
    "000-L1582", "001-L0078", "001-L0079", "001-L1032", "001-L1035", "001-L1193", "002-L0210", "002-L0216",
    "002-L0330", "003-L0179", "003-L0180", "003-L0261", "003-L0262", "004-L0529b",
)  # fmt: skip


@pytest.mark.proves("002-L0332", "003-L0193", "003-L0198d")
def test_a_player_that_answers_nothing_is_suspended_told_nothing_more_and_tried_once_a_match(folder: Path) -> None:
    league = play([None, never, None, None], "even_odd", folder)
    first, *later = league.of("P02")
    changes = [event for event in league.events if isinstance(event, PlayerSuspended | PlayerReturned)]
    assert [(type(event), event.player_id) for event in changes] == [(PlayerSuspended, "P02")]
    assert len(league.to("P02", "GAME_INVITATION", match_id=first.id)) == 4
    for match in later:
        assert len(league.to("P02", "GAME_INVITATION", match_id=match.id)) == 1
        (error,) = league.errors("P02", match)
        assert (error["error_code"], error["retry_count"], error["max_retries"]) == ("E001", 0, 0)
        assert (error["retryable"], error["consequence"]) == (False, "Technical loss: no tries are left.")
    broadcasts = [one.kind for one in league.to("P02", *BROADCAST)]
    assert broadcasts == ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "LEAGUE_COMPLETED"]
    row = league.league.table.rows["P02"]
    assert (row.played, row.losses, row.points, row.technical_losses) == (3, 3, 0, 3)


@pytest.mark.parametrize("game", ALL_GAMES)
def test_a_player_that_leaves_moves_unanswered_has_one_try_for_each_move_of_its_next_match(
    game: str, folder: Path
) -> None:
    league = play([None, KINDS["joins and never chooses"], None, None], game, folder)
    tries = [len(league.to("P02", *CALL, match_id=match.id)) for match in league.of("P02")]
    assert tries == [4, 1, 1]
    # It answers everything else, so it gets every message and is never suspended.
    assert not [event for event in league.events if isinstance(event, PlayerSuspended)]
    assert [one.message["round_id"] for one in league.to("P02", "ROUND_ANNOUNCEMENT")] == [1, 2, 3]
    assert [error["max_retries"] for error in league.errors("P02", league.of("P02")[1])] == [0]


def test_a_player_that_answers_the_move_of_a_match_has_its_retries_again_in_the_next(folder: Path) -> None:
    league = play([None, at(CALL, answers_its_fifth_call_only), None, None], "even_odd", folder)
    tries = [len(league.to("P02", *CALL, match_id=match.id)) for match in league.of("P02")]
    assert tries == [4, 1, 4]


@pytest.mark.proves("003-L0198e")
def test_a_suspended_player_that_answers_its_invitation_plays_on_and_hears_of_everything_again(folder: Path) -> None:
    league = play([None, KINDS["back after its suspension"], None, None], "even_odd", folder)
    changes = [event for event in league.events if isinstance(event, PlayerSuspended | PlayerReturned)]
    assert [type(event) for event in changes] == [PlayerSuspended, PlayerReturned]
    announced = [one.message["round_id"] for one in league.to("P02", "ROUND_ANNOUNCEMENT")]
    assert announced == [1, 3]
    assert league.to("P02", "ROUND_COMPLETED")


# What bad players post by themselves


@pytest.mark.parametrize("game", ALL_GAMES)
@pytest.mark.parametrize(
    ("name", "number", "code"),
    [
        ("changes its mind", 4005, "E051"),
        ("accepts and then declines", 4005, "E051"),
        ("chooses for its opponent", 4001, "E012"),
        ("floods the referee", 4004, None),
    ],
)
def test_what_does_not_count_is_refused_and_changes_nothing(
    name: str, number: int, code: str | None, game: str, folder: Path
) -> None:
    league, usual = play([None, KINDS[name], None, None], game, folder), without_bad_players(game)
    told = league.bad["P02"].told
    assert told
    codes = {code or messages_of(GAMES[game]).error_code}
    assert {answer["error"]["data"]["error_code"] for answer in told} == codes
    if game == "even_odd":
        assert {answer["error"]["code"] for answer in told} == {number}
    if game not in IN_TURNS:
        for match in league.of("P02"):
            # The first of what may be chosen is what it answered; its opponent chose as ever.
            opponent = match.opponent_of("P02")
            assert details(match).choices == {
                "P02": "even" if game == "even_odd" else "rock",
                opponent: details(usual.matches[match.id]).choices[opponent],
            }


@pytest.mark.parametrize("name", ["answers twice", "posts at last"])
def test_what_counts_is_acknowledged(name: str, folder: Path) -> None:
    told = play([None, KINDS[name], None, None], "even_odd", folder).bad["P02"].told
    assert len(told) >= 3
    assert {answer["result"]["status"] for answer in told} == {"ACKNOWLEDGED"}


@pytest.mark.proves("001-L1158", "001-L1169", "001-L1170", "001-L1171", "001-L1172")
def test_a_choice_after_the_loss_is_told_the_limit_that_it_missed(folder: Path) -> None:
    told = play([None, KINDS["posts after its loss"], None, None], "even_odd", folder).bad["P02"].told
    assert len(told) == 3
    # After a match that ended so, a call for a move is not repeated.
    for answer, retries in zip(told, (3, 0, 0), strict=True):
        assert (answer["error"]["code"], answer["error"]["data"]["error_code"]) == (-1, "E001")
        missed = {"player_id": "P02", "timeout_seconds": 30, "retry_count": retries, "max_retries": retries}
        assert {name: answer["error"]["data"][name] for name in missed} == missed


def test_no_player_can_report_a_result(folder: Path) -> None:
    league = play([None, KINDS["reports its own victory"], None, None], "even_odd", folder)
    told = league.bad["P02"].told
    # In each match as itself and as the referee, with its own token and with the one that the referee shows it.
    assert [answer["error"]["code"] for answer in told] == [5001] * 12
    assert {answer["error"]["data"]["error_code"] for answer in told} == {"E012"}


def test_a_flood_of_wrong_posts_is_counted_in_the_evidence(folder: Path) -> None:
    league = play([None, KINDS["floods the referee"], None, None], "even_odd", folder)
    for match in league.of("P02"):
        assert league.evidence(match)["P02"]["refused_posts"] == 20


# Two bad players


def _pairs_at_fault() -> Iterator[ParameterSet]:
    """Every kind that loses its first match; `make test` is content with one of each ruling and error."""
    seen = set()
    for row in ZOO:
        if row.rulings[0] != PLAYED and "even_odd" in row.games:
            key = (row.rulings, tuple(row.errors))
            yield pytest.param(row, id=name_of(row), marks=pytest.mark.long if key in seen else ())
            seen.add(key)


@pytest.mark.proves("000-L0943", "001-L1956", "001-L1957")
@pytest.mark.parametrize("row", [*_pairs_at_fault()])
def test_when_both_are_at_fault_nobody_wins(row: Row, folder: Path) -> None:
    league = play([None, None, row.kind, row.kind], "even_odd", folder)
    match = league.matches["R1M2"]
    assert match.players == ("P03", "P04")
    check_ruling(league, match, dict.fromkeys(match.players, row.rulings[0]))
    for player in match.players:
        if row.errors:
            check_errors(league.errors(player, match), row.errors, player)
        lost = [ruling for ruling in row.rulings if ruling != PLAYED]
        assert league.league.table.rows[player].technical_losses == len(lost)
    for match in league.matches.values():
        if match.players == ("P01", "P02"):
            check_played(match)


@pytest.mark.parametrize(
    ("first", "second", "ruling"),
    [
        ("refuses", "hangs", "REFUSED_INVITATION"),
        ("hangs at invitations", "hangs up on referees", "UNREACHABLE"),
        ("Even", "joins and never chooses", "INVALID_ANSWER"),
        ("a made-up token", "no JSON", "WRONG_TOKEN"),
    ],
)
def test_of_two_faults_the_graver_names_the_ruling_and_both_are_in_the_reason(
    first: str, second: str, ruling: str, folder: Path
) -> None:
    league = play([None, None, KINDS[first], KINDS[second]], "rock_paper_scissors", folder)
    faults = [next(row.rulings[0] for row in ZOO if row.name == name) for name in (first, second)]
    match = league.matches["R1M2"]
    check_ruling(league, match, dict(zip(match.players, faults, strict=True)))
    assert details(match).ruling == ruling


def test_who_is_not_asked_any_more_is_not_at_fault(folder: Path) -> None:
    """In a game of turns the second is never called when the first does not move; when one refuses, nobody is."""
    league = play([None, None, at(CALL, never), at(CALL, never)], "tic_tac_toe", folder)
    check_ruling(league, league.matches["R1M2"], {"P03": "CHOICE_TIMEOUT"})
    league = play([None, None, KINDS["refuses"], at(CALL, never)], "even_odd", folder / "again")
    check_ruling(league, league.matches["R1M2"], {"P03": "REFUSED_INVITATION"})


# Over HTTP, between real processes


class Host:
    """Serves a bad player over HTTP, by hand: what breaks down in it is an HTTP 500, and it can leave."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._gone = False

    async def open(self) -> str:
        """Listen; where."""
        self._server = await asyncio.start_server(self._meet, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/mcp"

    def leave(self) -> None:
        """Take no more connections; the answer that is under way is the last."""
        self._gone = True
        self._server.close()

    def close(self) -> None:
        self._server.close()
        for line in self._lines:
            line.writer.transport.abort()

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = Line(Server(), reader, writer)
        self._lines.append(line)
        # Cancelled at the end of the test; streams would log it.
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while not self._gone:
                body = (await line.request()).partition(b"\r\n\r\n")[2]
                await line.send(await self._answered(body))
        if self._gone:
            self.close()

    async def _answered(self, body: bytes) -> bytes:
        status, kind = b"200 OK", b"application/json"
        try:
            answer = await self.player.handle(body, Peer("127.0.0.1")) or b""
        except ZeroDivisionError:
            status, kind, answer = b"500 Internal Server Error", b"text/html", b"<h1>Internal Server Error</h1>"
        head = b"HTTP/1.1 %b\r\ncontent-type: %b\r\ncontent-length: %d\r\n\r\n"
        return head % (status, kind, len(answer)) + answer

    async def take(self, kind: Kind, caller: Caller, manager_url: str, name: str) -> BadPlayer:
        self.player = BadPlayer(kind, caller, await self.open(), manager_url, self.leave)
        await self.player.register(name)
        return self.player


LIMITS = """
league_id = "zoo"
game_type = "tic_tac_toe"
announce_lead = 0
join_seconds = 0.3
choice_seconds = 0.3
retry_seconds = 0.05
game_over_seconds = 0.5
"""
# In the order in which they register: P01 and P06 are ours, and the second meets the first in the first round.
REAL = {
    "P02": ("exits after its first move", "UNREACHABLE", "E009"),
    "P03": ("hangs at invitations", "JOIN_TIMEOUT", "E001"),
    "P04": ("breaks down", "INVALID_ANSWER", "E040"),
    "P05": ("answers referees 5 MB", "UNREACHABLE", "E009"),
}


@pytest.mark.proves("000-L1313", "000-L1315", "001-L1036", "001-L1038", "001-L1956", "001-L1958")
@pytest.mark.long
def test_real_processes_rule_bad_players_over_http_and_play_on(tmp_path: Path) -> None:
    (tmp_path / "league.toml").write_text(LIMITS)
    asyncio.run(_play_for_real(tmp_path))
    matches = [json.loads(file.read_text()) for file in (tmp_path / "data" / "matches" / "zoo").glob("*.json")]
    assert len(matches) == 15
    for match in matches:
        result, players = match["result"], set(match["result"]["score"])
        at_fault = {player: REAL[player][1] for player in players & set(REAL)}
        if not at_fault:
            assert result["details"]["ruling"] in ("WIN", "DRAW")
            continue
        winners = players - set(at_fault)
        assert result["winner"] == (winners.pop() if winners else None)
        assert result["score"] == {player: 3 if player == result["winner"] else 0 for player in players}
        assert result["details"]["ruling"] == gravest(at_fault)
        evidence = result["details"]["evidence"]["players"]
        assert {player for player in players if evidence[player]["phase"] == "OUT"} == set(at_fault)
        for player in at_fault:
            assert REAL[player][2] in [event["what"] for event in evidence[player]["events"]]


async def _play_for_real(folder: Path) -> None:
    caller = HttpCaller(AddressPolicy.local())
    hosts: list[Host] = []
    shared = ("--port", "0", "--data-dir", folder)
    with ExitStack() as programs:

        def start(*arguments: str | Path) -> Program:
            return programs.enter_context(Program(*arguments, *shared))

        try:
            manager = start("manager", "--config", folder / "league.toml", "--start-when", "players=6,referees=2")
            url = (await asyncio.to_thread(manager.said, r"League zoo is at (\S+)"))[1]
            agents = [start("referee", "--manager", url, "--name", f"Referee {number}") for number in (1, 2)]
            agents.append(start("player", "--manager", url, "--name", "First"))
            for agent in agents:
                await asyncio.to_thread(agent.said, "is registered")
            for player_id, (name, _, _) in REAL.items():
                hosts.append(Host())
                player = await hosts[-1].take(KINDS[name], caller, url, f"Bad {player_id}")
                assert player.player_id == player_id
            agents.append(start("player", "--manager", url, "--name", "Last"))
            for agent in agents:
                assert await asyncio.to_thread(agent.ended) == 0
            assert not [agent.stderr for agent in (manager, *agents) if "Traceback" in agent.stderr]
        finally:
            for host in hosts:
                host.close()
            await caller.close()
