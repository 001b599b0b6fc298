"""Seats: whole leagues in virtual time, moves in time and too late, codes, and a gateway that is started again."""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from leaguekit.agents.identity import WRITE_RETRY_SECONDS
from leaguekit.gateway import gateway as gateway_module
from leaguekit.gateway.gateway import Gateway, NotAllowed, NotAllowedNow
from leaguekit.gateway.seats import MoveRefused, Seat
from leaguekit.league.problems import find_problems
from leaguekit.league.settings import MAX_PER_ADDRESS
from leaguekit.store.base import StoreError
from leaguekit.store.disk import Disk
from leaguekit.transport.base import HttpAnswer, NoAnswer, Peer
from tests.agents.leagues import LEAGUE, MANAGER_URL, Hall, in_virtual_time
from tests.gateway.virtual_gateway import GATEWAY_URL, HERE, first_legal, opened_gateway, play_in_seat

PING = b'{"jsonrpc":"2.0","method":"ping","id":1}'


async def seated(gateway: Gateway, *names: str) -> list[Seat]:
    return [(await gateway.join(None, name, HERE))[1] for name in names]


def technical_losses(hall: Hall) -> int:
    return sum(row.technical_losses for row in hall.league.table.rows.values())


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe", "connect_four"])
def test_owners_of_seats_play_a_whole_league_of_every_game(tmp_path: Path, game: str) -> None:
    @in_virtual_time
    async def played() -> None:
        async with Hall(tmp_path, game_type=game) as hall, opened_gateway(hall) as gateway:
            await hall.fill("random", referees=1)
            seats = await seated(gateway, "Ada", "Bob")
            owners = [asyncio.create_task(play_in_seat(seat)) for seat in seats]
            await hall.operate("start")
            await hall.end()
            await asyncio.gather(*owners)
            assert technical_losses(hall) == 0
            assert not hall.faults()
            for seat in seats:
                state = seat.state()
                assert state.status == "over"
                assert state.rank in (1, 2, 3)
                assert len(state.matches) == 2
                assert not state.automatic
                assert str(hall.league.move_origins[seat.agent.player_id or ""]).endswith(" own")

    played()


@pytest.mark.parametrize("how", ["closed", "stopped"])
@in_virtual_time
async def test_while_the_hosts_own_gateway_does_not_answer_the_league_waits_and_no_seat_loses(
    tmp_path: Path, how: str
) -> None:
    async def silent(_body: bytes, _peer: Peer) -> bytes | None:
        await asyncio.sleep(3_600)
        return None

    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        hall.manager.runner.outages.gateways = frozenset([GATEWAY_URL])
        await hall.fill("random", "random", "random", "random", referees=1)
        owners = [asyncio.create_task(play_in_seat(seat)) for seat in await seated(gateway, "Ada", "Bob")]
        await hall.operate("start")
        hall.network.close(GATEWAY_URL)
        if how == "stopped":
            hall.network.listen(GATEWAY_URL, silent)
        await asyncio.sleep(45)
        waits_for = (await hall.operate("status"))["waits_for"]
        assert waits_for == [f"the network: the gateway at {GATEWAY_URL} does not answer"]
        hall.network.close(GATEWAY_URL)
        hall.network.listen(GATEWAY_URL, gateway.handle)
        await hall.end(600)
        await asyncio.gather(*owners)
        assert technical_losses(hall) == 0


@in_virtual_time
async def test_a_move_is_made_just_before_the_time_limit_if_none_comes(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        await hall.fill("random", referees=1)
        (seat,) = await seated(gateway, "Sleeper")
        await hall.operate("start")
        asked = (await seat.wait(60.0)).asked
        assert asked is not None
        assert 25 < asked.seconds_left <= 28.5
        began = hall.now
        await seat.wait(60.0, seat.version)
        assert asked.seconds_left - 0.2 <= hall.now - began < 30.0
        await hall.end()
        state = seat.state()
        assert technical_losses(hall) == 0
        assert [one.technical for one in state.matches] == [False]
        assert len(state.automatic) == 1
        assert "R1M1" in state.automatic[0]
        origins = hall.league.move_origins[seat.agent.player_id or ""]
        assert str(origins) == "1 replaced (the first because no move came in time from the owner of the seat)"


@in_virtual_time
async def test_whoever_sits_in_a_seat_that_is_out_of_the_league_hears_of_its_end(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        await hall.fill("random", "random", referees=1)
        seats = await seated(gateway, "Early", "Late")
        await hall.operate("withdraw", player_id=seats[0].agent.player_id, reason="changed its mind")
        await hall.operate("start")
        await hall.operate("disqualify", player_id=seats[1].agent.player_id, reason="it cheats")
        await hall.end()
        assert [(await seat.wait(60.0)).status for seat in seats] == ["over", "over"]


@in_virtual_time
async def test_what_the_owner_is_asked_is_what_the_referee_asks(tmp_path: Path) -> None:
    async with Hall(tmp_path, game_type="tic_tac_toe") as hall, opened_gateway(hall) as gateway:
        await hall.fill("random", referees=1)
        (seat,) = await seated(gateway, "Ada")
        assert (await seat.wait(20.0)).status == "waiting"
        assert hall.now == pytest.approx(20.0, abs=0.1)
        await hall.operate("start")
        asked = (await seat.wait(60.0)).asked
        assert asked is not None
        assert asked.opponent_id == "P01"
        assert asked.match_id == "R1M1"
        assert asked.game_type == "tic_tac_toe"
        assert "three in a line" in asked.rules
        assert len(asked.position["board"]) == 9
        assert asked.valid_options
        with pytest.raises(MoveRefused, match="99 is not a legal move"):
            seat.submit(asked.turn, 99)
        with pytest.raises(MoveRefused, match=f"over or never was; the turn now is {asked.turn}"):
            seat.submit("R1M1-7", asked.valid_options[0])
        # A text means the cell that is written like it.
        assert seat.submit(asked.turn, str(asked.valid_options[0])) == asked.valid_options[0]
        with pytest.raises(MoveRefused, match="over or never was"):
            seat.submit(asked.turn, asked.valid_options[0])
        await play_in_seat(seat)
        await hall.end()


@in_virtual_time
async def test_a_seat_code_of_the_managers_is_the_identity(tmp_path: Path) -> None:
    async with Hall(tmp_path, require_seat=True) as hall, opened_gateway(hall) as gateway:
        code = (await hall.operate("seats_new", count=1))["seats"][0]["code"]
        with pytest.raises(NotAllowed, match="wants a seat code"):
            await gateway.join(None, "Ada", HERE)
        with pytest.raises(NotAllowed, match=r"opens nothing here, or no longer; ask the operator for another\.$"):
            await gateway.join("0000-0000-0000-0000", "Ada", HERE)
        with pytest.raises(NotAllowed, match="say what you are called"):
            await gateway.join(code, None, HERE)
        assert not gateway.seats
        _, seat = await gateway.join(code, "Ada", HERE)
        # However it is typed, and whatever name is said.
        assert await gateway.join(code.lower().replace("-", " "), None, HERE) == (code.lower().replace("-", " "), seat)
        assert await gateway.seat(code, HERE) is seat
        assert seat.agent.player_id == "P01"
        assert list(hall.league.players) == ["P01"]
        await asyncio.sleep(2)
        with pytest.raises(NotAllowed, match="wants a seat code"):
            await gateway.join(None, "Ada", HERE)
        # She is in the league. What she forgot does not count as a refused registration of another Ada.
        assert find_problems(hall.league).refused == []


@in_virtual_time
async def test_a_name_opens_nobodys_seat(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        code, seat = await gateway.join(None, "Ada", HERE)
        with pytest.raises(NotAllowed, match="called 'Ada'"):
            await gateway.join(None, "Ada", HERE)
        with pytest.raises(NotAllowed, match="No seat here has that code"):
            await gateway.seat("Ada", HERE)
        assert [*gateway.seats.values()] == [seat]
        assert await gateway.seat(code, HERE) is seat
        # The URL of a seat is not a secret, and the code cannot be found from it.
        endpoint = hall.league.players["P01"].meta.contact_endpoint
        assert endpoint.startswith(f"{GATEWAY_URL}?at=")
        with pytest.raises(NotAllowed):
            await gateway.seat(endpoint.partition("at=")[2], HERE)


@in_virtual_time
async def test_many_wrong_codes_keep_nobody_at_their_address_from_a_seat_and_leave_no_files(
    tmp_path: Path,
) -> None:
    async with Hall(tmp_path) as hall:
        (code,) = [one["code"] for one in (await hall.operate("seats_new", count=1))["seats"]]
        async with opened_gateway(hall) as gateway:
            for number in range(300):
                with pytest.raises(NotAllowed, match="No seat here"):
                    await gateway.seat(f"0000-0000-0000-{number:04}", HERE)
                with pytest.raises(NotAllowed):
                    await gateway.join(f"0000-0000-0000-{number:04}", "Eve", HERE)
            _, seat = await gateway.join(None, "Ada", HERE)
            assert (await gateway.join(code, "Bob", HERE))[1].name == "Bob"
            folders = [one for one in seat.agent.world.data_root.parent.iterdir() if one.is_dir()]
            assert len(folders) == 2


@in_virtual_time
async def test_one_address_takes_two_hundred_seats_and_no_more(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        (code,) = [one["code"] for one in (await hall.operate("seats_new", count=1))["seats"]]
        async with opened_gateway(hall) as gateway:
            for number in range(MAX_PER_ADDRESS):
                await gateway.join(None, f"Eve {number}", f"2001:db8::{number:x}")
            words = "seats are taken from 2001:db8::/64, and no more may be. Ask the league's operator for a seat"
            with pytest.raises(NotAllowed, match=f"200 {words}"):
                await gateway.join(None, "Eve", "2001:db8::ffff")
            await gateway.join(None, "Ada", "10.0.0.9")
            await gateway.join(code, "Bob", "2001:db8::ffff")
        # It is known after a restart, too.
        async with opened_gateway(hall) as gateway:
            with pytest.raises(NotAllowed, match=f"201 {words}"):
                await gateway.join(None, "Eve", "2001:db8::ffff")
            assert len(gateway.seats) == MAX_PER_ADDRESS + 2


@in_virtual_time
async def test_seats_that_were_not_taken_are_not_counted_and_codes_are_tried_by_few_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gateway_module, "MAX_PER_ADDRESS", 2)
    async with Hall(tmp_path, require_seat=True) as hall, opened_gateway(hall) as gateway:
        for _ in range(4):
            with pytest.raises(NotAllowed, match="wants a seat code"):
                await gateway.join(None, "Eve", "10.0.0.9")
        tries = [gateway.join(f"0000-0000-0000-{number:04}", f"Eve {number}", "10.0.0.9") for number in range(5)]
        came = [str(one) for one in await asyncio.gather(*tries, return_exceptions=True)]
        assert [words.startswith("2 seats are taken from 10.0.0.9") for words in came] == [False] * 2 + [True] * 3
        assert gateway.seats == {}


@in_virtual_time
async def test_a_gateway_has_a_number_of_seats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_module, "MAX_SEATS", 2)
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        await seated(gateway, "Ada", "Bob")
        with pytest.raises(NotAllowed, match="All 2 seats of this gateway are taken"):
            await gateway.join(None, "Cyd", HERE)


@in_virtual_time
async def test_a_gateway_that_is_started_again_takes_its_seats_up_in_the_middle_of_a_match(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        await hall.fill("random", referees=1)
        async with opened_gateway(hall) as gateway:
            code, seat = await gateway.join(None, "Ada", HERE)
            await hall.operate("start")
            before = (await seat.wait(60.0)).asked
        kept = tmp_path / "agents" / LEAGUE / "gateway" / "seats.json"
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
        await asyncio.sleep(1.0)
        async with opened_gateway(hall) as gateway:
            seat = await gateway.seat(code, HERE)
            now = (await seat.wait(60.0)).asked
            assert before is not None
            assert now is not None
            # The same question, or one that only looks like it: a move for that of before must not go to this.
            assert before.match_id == now.match_id
            with pytest.raises(MoveRefused, match="is over or never was"):
                seat.submit(before.turn, before.valid_options[0])
            await play_in_seat(seat)
            await hall.end()
            assert seat.agent.player_id == "P02"
            assert technical_losses(hall) == 0
            assert not seat.state().automatic


class FailingDisk(Disk):
    """A disk on which the list of seats can be neither written nor read for a while."""

    fails = False

    def read(self, path: Path) -> bytes | None:
        self._check(path)
        return super().read(path)

    def write(self, path: Path, content: bytes | Iterable[bytes], *, private: bool = False) -> None:
        self._check(path)
        super().write(path, content, private=private)

    def _check(self, path: Path) -> None:
        if self.fails and path.name == "seats.json":
            raise StoreError("The disk fails.")


@pytest.mark.parametrize("seconds", [1.0, 60.0])
@in_virtual_time
async def test_a_seat_that_could_not_be_written_down_is_written_later_or_at_the_end(
    tmp_path: Path, seconds: float
) -> None:
    disk = FailingDisk()
    async with Hall(tmp_path) as hall:
        gateway = Gateway(replace(hall.world("gateway"), files=disk), MANAGER_URL, GATEWAY_URL)
        hall.network.listen(GATEWAY_URL, gateway.handle)
        await gateway.open()
        disk.fails = True
        code, _ = await gateway.join(None, "Ada", HERE)
        await asyncio.sleep(12)
        disk.fails = False
        await asyncio.sleep(seconds)
        kept = tmp_path / "agents" / LEAGUE / "gateway" / "seats.json"
        assert kept.exists() == (seconds > WRITE_RETRY_SECONDS)
        hall.network.close(GATEWAY_URL)
        await gateway.close()
        async with opened_gateway(hall) as gateway:
            assert (await gateway.seat(code, HERE)).name == "Ada"


@in_virtual_time
async def test_a_gateway_that_cannot_read_its_seats_waits_until_it_can(tmp_path: Path) -> None:
    disk = FailingDisk()
    async with Hall(tmp_path) as hall:
        async with opened_gateway(hall) as gateway:
            code, _ = await gateway.join(None, "Ada", HERE)
        gateway = Gateway(replace(hall.world("gateway"), files=disk), MANAGER_URL, GATEWAY_URL)
        hall.network.listen(GATEWAY_URL, gateway.handle)
        disk.fails = True
        told: list[str] = []
        opening = asyncio.create_task(gateway.open(told.append))
        with pytest.raises(NotAllowedNow):
            await gateway.join(None, "Bob", HERE)
        disk.fails = False
        await opening
        assert (await gateway.seat(code, HERE)).name == "Ada"
        assert told == ["The disk fails. Trying again until it works."]
        hall.network.close(GATEWAY_URL)
        await gateway.close()


@in_virtual_time
async def test_who_hangs_up_while_joining_and_comes_back_is_kept_for_the_next_run(tmp_path: Path) -> None:
    async with Hall(tmp_path, require_seat=True) as hall:
        code = (await hall.operate("seats_new", count=1))["seats"][0]["code"]
        async with opened_gateway(hall) as gateway:
            joining = asyncio.create_task(gateway.join(code, "Ada", HERE))
            await asyncio.sleep(0)
            assert gateway.seats
            joining.cancel()
            _, seat = await gateway.join(code, None, HERE)
            assert seat.agent.player_id == "P01"
        async with opened_gateway(hall) as gateway:
            assert (await gateway.seat(code, HERE)).name == "Ada"


@in_virtual_time
async def test_while_the_manager_is_not_there_nobody_hears_that_a_seat_is_not(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall:
        async with opened_gateway(hall) as gateway:
            code, _ = await gateway.join(None, "Ada", HERE)
        hall.network.close(MANAGER_URL)
        gateway = Gateway(hall.world("gateway"), MANAGER_URL, GATEWAY_URL)
        opening = asyncio.create_task(gateway.open())
        for number in range(60):
            with pytest.raises(NotAllowedNow, match="does not answer"):
                await (gateway.seat(code, HERE) if number % 2 else gateway.join(code, "Ada", HERE))
        hall.network.listen(MANAGER_URL, hall.manager.handle)
        await opening
        hall.network.listen(GATEWAY_URL, gateway.handle)
        assert (await gateway.seat(code, HERE)).name == "Ada"
        hall.network.close(GATEWAY_URL)
        await gateway.close()


@pytest.mark.parametrize("status", [None, 429, 502])
@in_virtual_time
async def test_a_gateway_asks_for_its_league_until_it_is_told_and_has_its_seats(
    tmp_path: Path, status: int | None
) -> None:
    async def busy(_body: bytes, _peer: Peer) -> HttpAnswer:
        await asyncio.sleep(3_600 if status is None else 0)
        return HttpAnswer(status or 0, b"{}")

    async with Hall(tmp_path) as hall:
        async with opened_gateway(hall) as gateway:
            code, _ = await gateway.join(None, "Ada", HERE)
        hall.network.close(MANAGER_URL)
        hall.network.listen(MANAGER_URL, busy)
        gateway = Gateway(hall.world("gateway"), MANAGER_URL, GATEWAY_URL)
        told: list[str] = []
        opening = asyncio.create_task(gateway.open(told.append))
        await asyncio.sleep(60)
        with pytest.raises(NotAllowedNow, match="does not answer"):
            await gateway.join(None, "Bob", HERE)
        with pytest.raises(NoAnswer):
            await gateway.handle(PING, Peer(HERE))
        hall.network.close(MANAGER_URL)
        hall.network.listen(MANAGER_URL, hall.manager.handle)
        hall.network.listen(GATEWAY_URL, gateway.handle)
        await opening
        assert (await gateway.seat(code, HERE)).name == "Ada"
        assert json.loads(await gateway.handle(PING, Peer(HERE)) or b"")["result"]["league_id"] == LEAGUE
        (sentence,) = told
        assert "does not answer yet" in sentence
        hall.network.close(GATEWAY_URL)
        await gateway.close()


@in_virtual_time
async def test_a_gateway_works_beside_a_manager_that_knows_no_ping(tmp_path: Path) -> None:
    async def knows_no_ping(body: bytes, peer: Peer) -> bytes | None:
        if b'"ping"' in body:
            return b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"Method not found"},"id":1}'
        return await hall.manager.handle(body, peer)

    async with Hall(tmp_path) as hall:
        hall.network.close(MANAGER_URL)
        hall.network.listen(MANAGER_URL, knows_no_ping)
        async with opened_gateway(hall) as gateway:
            (seat,) = await seated(gateway, "Ada")
            assert seat.agent.player_id == "P01"


@in_virtual_time
async def test_nobody_is_at_a_place_that_nobody_has_taken(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        with pytest.raises(NoAnswer):
            await gateway.handle(PING, Peer(HERE, "at=0123"))
        pong = json.loads(await gateway.handle(PING, Peer(HERE)) or b"")
        assert pong["result"] == {"status": "ok", "league_id": LEAGUE}
        other = json.loads(await gateway.handle(b'{"jsonrpc":"2.0","method":"dance","id":1}', Peer(HERE)) or b"")
        assert other["error"]["code"] == -32601


@in_virtual_time
async def test_a_league_that_is_over_takes_nobody_and_a_silent_manager_is_told_of(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        await hall.fill("random", "random", referees=1)
        await hall.operate("start")
        with pytest.raises(NotAllowed, match="already started"):
            await gateway.join(None, "Late", HERE)
        await hall.end()
        hall.network.close(MANAGER_URL)
        with pytest.raises(NotAllowed, match="does not answer"):
            await gateway.join(None, "Later", HERE)
        assert not gateway.seats


@in_virtual_time
async def test_anybody_may_know_the_table_once_somebody_is_there(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        await hall.fill("always_odd", referees=1)
        before = await gateway.league(HERE)
        assert before.standings == []
        assert before.status is not None
        assert (before.status.state, before.status.players) == ("WAITING_FOR_REGISTRATIONS", 1)
        (seat,) = await seated(gateway, "Ada")
        await hall.operate("start")
        await play_in_seat(seat, first_legal)
        await hall.end()
        await asyncio.sleep(1.1)
        table = await gateway.league(HERE)
        assert table.league_id == LEAGUE
        assert table.seats == 1
        assert {row.display_name for row in table.standings} == {"Player 1", "Ada"}
        hall.network.close(MANAGER_URL)
        await asyncio.sleep(1.1)
        silent = await gateway.league(HERE)
        assert (silent.standings, silent.status) == (seat.agent.standings, None)


@in_virtual_time
async def test_the_table_is_told_though_the_first_seat_has_no_good_token(tmp_path: Path) -> None:
    async with Hall(tmp_path) as hall, opened_gateway(hall) as gateway:
        first, _ = await seated(gateway, "Ada", "Bob")
        await hall.operate("token_rotate", agent_id=first.agent.player_id)
        assert {row.display_name for row in (await gateway.league(HERE)).standings} == {"Ada", "Bob"}
