"""Starts the agents of ``league run``: their sockets, their processes, and new tokens for agents that lost theirs."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import socket
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from leaguekit.agents import serving
from leaguekit.agents.game_loading import is_in_file
from leaguekit.agents.identity import Identity, agent_folder
from leaguekit.cli import CommandError, program
from leaguekit.cli.manager_client import ManagerClient, admin_token
from leaguekit.cli.processes import Processes
from leaguekit.cli.stored_plans import RunPlan
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.ids import Role
from leaguekit.store.base import MEMORY
from leaguekit.transport.server.server import CannotListen, listen

STARTING_POLL_SECONDS = 0.02


class Member(msgspec.Struct, frozen=True):
    """One of the players of a process."""

    name: str
    strategy: str
    port: int
    wanted_id: str | None = None


def open_sockets(options: argparse.Namespace, plan: RunPlan) -> dict[str, socket.socket]:
    """Open a listening socket for every agent. A resumed league gets its former ports as far as they are free."""
    base = 8000 if options.port is None else options.port
    wanted = {"manager": base}
    wanted |= {f"referee {number}": base and base + number for number in range(1, plan.referees + 1)}
    wanted |= {f"player {number}": base and base + 100 + number for number in range(1, plan.players + 1)}
    sockets: dict[str, socket.socket] = {}
    for name, port in wanted.items():
        if options.resume is None:
            sockets[name] = listen("127.0.0.1", port)
            continue
        with contextlib.suppress(CannotListen):
            sockets[name] = listen("127.0.0.1", plan.ports.get(name, 0))
    # After the others: otherwise a free port could be the former port of another agent.
    for name in wanted:
        if name not in sockets:
            sockets[name] = listen("127.0.0.1", 0)
    return sockets


def start_agents(
    plan: RunPlan,
    store: str | None,
    sockets: dict[str, socket.socket],
    processes: Processes,
    *,
    token_file: Path | None = None,
    given: Sequence[str] = (),
) -> str:
    """Start all processes. Returns the manager's URL. ``token_file`` holds the admin token of a resumed league.

    ``given`` are more options for the manager.
    """
    ports = {name: sock.getsockname()[1] for name, sock in sockets.items()}
    manager = f"http://127.0.0.1:{ports['manager']}/mcp"
    seed = [] if plan.seed is None else ["--seed", str(plan.seed)]
    shared = ["--data-dir", plan.data_dir]
    processes.start(
        "manager", sockets["manager"], "manager", *shared, *seed, "--league-id", plan.league_id,
        *([] if store is None else ["--store", store]), "--game", plan.game,
        "--announce-lead", str(plan.announce_lead), "--grant-ids", "--profile", plan.profile,
        "--start-when", f"players={plan.players},referees={plan.referees}", *given,
        "--run-plan", msgspec.json.encode(structs.replace(plan, ports=ports)).decode(),
        is_restartable=store != MEMORY,
    )  # fmt: skip
    names = {f"referee {number}": f"Referee {number}" for number in range(1, plan.referees + 1)}
    strategies = {number: plan.strategies[(number - 1) % len(plan.strategies)] for number in range(1, plan.players + 1)}
    names |= {f"player {number}": f"{one.rpartition(':')[2]} {number}" for number, one in strategies.items()}
    lost = {} if token_file is None else _find_lost_tokens(plan, names)
    seats = asyncio.run(_rotate_lost_tokens(manager, processes, lost, names, token_file)) if lost and token_file else {}
    own_game = ["--game", plan.game] if is_in_file(plan.game) else []
    for number in range(1, plan.referees + 1):
        name = f"referee {number}"
        processes.start(
            name, sockets[name], "referee", *shared, "--manager", manager, "--name", names[name],
            "--max-concurrent", str(plan.max_concurrent), *own_game, secrets=seats.get(name),
        )  # fmt: skip
    out = asyncio.run(_wait_for_referees(plan, manager, processes))["players_out"]
    delay = ["--move-delay", str(plan.move_delay)] if plan.move_delay else []
    of_players = [*shared, *seed, *delay, "--manager", manager, *own_game]
    started = []
    for number in strategies:
        name, wanted = f"player {number}", f"P{number:02d}"
        if wanted in out:
            sockets[name].close()
            program.print_notice(f"{name} is not started: {wanted} has left the league")
        else:
            started.append(number)
    for numbers in _batches(started, plan.players_per_process, alone={n for n in started if f"player {n}" in seats}):
        group = [f"player {number}" for number in numbers]
        members = [
            Member(names[name], strategies[number], ports[name], f"P{number:02d}")
            for number, name in zip(numbers, group, strict=True)
        ]
        if len(members) > 1:
            processes.start(
                f"process of players {numbers[0]} to {numbers[-1]}", [sockets[name] for name in group], "players",
                *of_players, "--members", msgspec.json.encode(members).decode(),
            )  # fmt: skip
            continue
        one, name = members[0], group[0]
        processes.start(
            name, sockets[name], "player", *of_players, "--strategy", one.strategy, "--name", one.name,
            "--wanted-id", f"P{numbers[0]:02d}", secrets=seats.get(name),
        )  # fmt: skip
    return manager


def _batches(numbers: Iterable[int], size: int, alone: Collection[int]) -> Iterator[list[int]]:
    """The players of each process. Those with a secret of their own are ``alone``."""
    batch: list[int] = []
    for number in numbers:
        if number in alone:
            yield [number]
            continue
        batch.append(number)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def _find_lost_tokens(plan: RunPlan, names: dict[str, str]) -> dict[str, str]:
    """The agents whose tokens cannot be read, each with the reason."""
    lost = {}
    for name, display_name in names.items():
        role: Role = "referee" if name.startswith("referee ") else "player"
        file = agent_folder(Path(plan.data_dir), plan.league_id, role, display_name) / "state.json"
        try:
            if not msgspec.json.decode(file.read_bytes(), type=Identity).auth_token:
                lost[name] = f"{file} holds no token"
        except OSError as error:
            lost[name] = f"{file} cannot be read: {error.strerror}"
        except DECODE_ERRORS as error:
            lost[name] = f"{file} cannot be read: {error}"
    return lost


async def _rotate_lost_tokens(
    url: str, processes: Processes, lost: dict[str, str], names: dict[str, str], token_file: Path
) -> dict[str, dict[str, str]]:
    """Rotate the tokens that were lost. Returns, by agent, the environment variable with the code of its seat."""
    seats = {}
    async with ManagerClient(url) as manager:
        out = (await _wait_for_status(manager, processes))["players_out"]
        params = {"admin_token": admin_token(argparse.Namespace(admin_token_file=token_file))}
        agents = (await manager.call(params | {"command": "agents"}))["agents"]
        for name, why in lost.items():
            is_referee = name.startswith("referee ")
            wanted = names[name] if is_referee else f"P{int(name.split()[1]):02d}"
            kinds = (one for one in agents if one["id"].startswith("REF") == is_referee)
            found = next((one for one in kinds if one["display_name" if is_referee else "id"] == wanted), None)
            # An agent that never registered will register now. A player that has left the league is not started.
            if found is not None and found["id"] not in out:
                params["agent_id"] = found["id"]
                seat = (await manager.call(params | {"command": "token_rotate"}))["seat"]
                if seat["code"] is None:
                    # The agent already has a seat, whose code is no longer known.
                    await manager.call(params | {"command": "seats_revoke", "seat": seat["id"]})
                    seat = (await manager.call(params | {"command": "token_rotate"}))["seat"]
                seats[name] = {serving.SEAT_VARIABLE: seat["code"]}
                program.print_notice(f"{why}. {found['id']} gets a new token")
    return seats


async def _wait_for_status(manager: ManagerClient, processes: Processes) -> dict[str, Any]:
    """The league's status, as soon as the manager answers. Raises CommandError if a process has failed."""
    while True:
        await asyncio.sleep(STARTING_POLL_SECONDS)
        asking = asyncio.ensure_future(manager.call({"command": "status"}))
        try:
            # A manager that has ended does not answer, but its socket accepts connections: this process holds it open.
            while not asking.done():
                processes.raise_interrupt()
                processes.check()
                await asyncio.wait([asking], timeout=STARTING_POLL_SECONDS)
        finally:
            asking.cancel()
        # The manager may not have started yet.
        with contextlib.suppress(CommandError):
            return await asking


async def _wait_for_referees(plan: RunPlan, url: str, processes: Processes) -> dict[str, Any]:
    """The league's status once all referees have registered. Players register after them."""
    async with ManagerClient(url) as manager:
        while True:
            status = await _wait_for_status(manager, processes)
            if status["referees"] >= plan.referees:
                return status
