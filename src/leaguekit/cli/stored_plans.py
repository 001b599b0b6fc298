"""What a store says about its league: its settings, when it starts, and the processes that ``league run`` started.

Options that contradict the store are an error. So the same command, started again after a crash, continues the same
league.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import shlex
from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
from msgspec import UNSET, Struct, structs

from leaguekit.cli import CommandError, program
from leaguekit.cli.stores import decode_event, describe_missing_events, iterate_events, opened
from leaguekit.league import events as e
from leaguekit.league.settings import CHANGEABLE, Settings, changed_settings
from leaguekit.protocol import times
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.fields import Profile
from leaguekit.store.base import EventLog, LogReader, StoreError, redact_address
from leaguekit.transport.addresses import EVERY_ADDRESS

# The keys of the plans in the store.
START = "start"
LISTENING = "listening"
RUN = "run"
# The port of a manager.
DEFAULT_PORT = 8000
# Settings whose options have another name or another form.
_OPTIONS = {"game_type": "--game", "seed_hex": "--seed"}


class StartPlan(Struct, frozen=True, omit_defaults=True):
    """When a league starts: with a number of agents, at a moment, or (with neither) by the operator."""

    players: int | None = None
    referees: int | None = None
    at: str | None = None

    @property
    def when(self) -> tuple[int, int] | None:
        return None if self.players is None or self.referees is None else (self.players, self.referees)


class Listening(Struct, frozen=True):
    """Where a manager listens, and which addresses it may call (--host, --port and --allow)."""

    host: str = program.HOST
    port: int = DEFAULT_PORT
    allow: str | None = None


class RunPlan(Struct, frozen=True, kw_only=True):
    """What ``league run`` starts, and at which ports. This suffices to start the same again."""

    league_id: str
    players: int
    referees: int
    game: str
    strategies: list[str]
    max_concurrent: int
    announce_lead: float
    move_delay: float = 0.0
    players_per_process: int = 1
    data_dir: str
    seed: int | None = None
    ports: dict[str, int] = {}
    profile: Profile = "spec"
    title: str = ""


async def recall_listening(options: argparse.Namespace, store: str | Path) -> None:
    """Set the options --host, --port and --allow that are not given as they were before, or to their defaults.

    A process that is started by another one has a socket already. Raises CommandError if the machine has lost the
    address at which the manager listened, and has no other address in the same network.
    """
    before = Listening() if options.socket_fd is not None else await _read_listening(store)
    is_host_given = options.host is not None
    for name in Listening.__struct_fields__:
        if getattr(options, name) is None:
            setattr(options, name, getattr(before, name))
    if not is_host_given:
        options.host = program.current_address(options)


async def keep_listening(log: EventLog, options: argparse.Namespace) -> None:
    """Store where the manager listens, for the next start."""
    plan = msgspec.json.encode(Listening(options.host, options.port, options.allow))
    if plan != await log.read_document(LISTENING):
        await log.write_document(LISTENING, plan)


async def _read_listening(store: str | Path) -> Listening:
    try:
        async with opened(store) as reader:
            kept = await reader.read_document(LISTENING)
    except StoreError:
        return Listening()
    try:
        return Listening() if kept is None else msgspec.json.decode(kept, type=Listening)
    except DECODE_ERRORS as error:
        again = "say it again with --host, --port and --allow"
        raise CommandError(f"the store does not say readably where the manager listens ({error}): {again}") from None


async def read_settings(log: LogReader) -> Settings | None:
    """The settings of the league in a store, or None if the store is empty."""
    first = await log.read(0, 1)
    if not first:
        return None
    try:
        created = e.decode(first[0].event)
    except DECODE_ERRORS as error:
        raise CommandError(f"event 1 of the store cannot be read: {error}") from None
    if not isinstance(created, e.LeagueCreated):
        raise CommandError("the store does not begin with a league's creation; `league verify` checks it")
    return created.settings


async def check_requested_settings(
    log: LogReader, settings: Settings, asked: dict[str, Any], store: str | Path, in_file: Collection[str] = ()
) -> None:
    """Raise CommandError if options or a settings file contradict the league in the store.

    ``settings`` are those with which the league was created. A setting that was changed since may be asked for as it
    was, or as it is now. ``in_file`` are the settings that come from the file.
    """
    wanted = msgspec.convert(msgspec.to_builtins(settings) | asked, Settings)
    if "rounds" in asked and "format" not in asked and settings.format:
        # A round-robin is asked for.
        asked = asked | {"format": UNSET}
        wanted = structs.replace(wanted, format=UNSET)
    different = [name for name in asked if getattr(settings, name) != getattr(wanted, name)]
    if any(name in CHANGEABLE for name in different):
        settings = changed_settings(settings, await _read_changes(log))
    for name in different:
        has, value = getattr(settings, name), getattr(wanted, name)
        if has != value:
            option = f"{name} of the file" if name in in_file else _OPTIONS.get(name, f"--{name.replace('_', '-')}")
            value = "round_robin" if value is UNSET else value
            is_so = "has another seed" if name == "seed_hex" else f"has {name} = {has!r}, not {value!r}"
            change = f" `league set {name}=…` changes it in the running league." if name in CHANGEABLE else ""
            raise CommandError(
                f"{redact_address(store)} holds the league {settings.league_id}, which {is_so}. "
                f"Leave {option} out to go on with it, or name another --store.{change}"
            )


async def _read_changes(log: LogReader) -> dict[str, object]:
    """The settings that were changed since the creation of the league in a store, with their last values."""
    changes: dict[str, object] = {}
    async for one in iterate_events(log):
        if b"SettingsChanged" in one.event and isinstance(event := decode_event(one), e.SettingsChanged):
            changes |= event.settings
    return changes


async def resolve_start_plan(log: EventLog, when: tuple[int, int] | None, time_of_day: str | None) -> StartPlan:
    """When the league starts: by the options, or as stored before. A moment that has passed stays the same."""
    kept = await log.read_document(START)
    is_asked = when is not None or time_of_day is not None
    try:
        before = StartPlan() if kept is None else msgspec.json.decode(kept, type=StartPlan)
    except DECODE_ERRORS as error:
        if not is_asked:
            again = "say it again with --start-when or --start-at"
            raise CommandError(f"the store does not say readably when the league starts ({error}): {again}") from None
        before = StartPlan()
    if not is_asked:
        return before
    plan = StartPlan(*when) if when is not None else StartPlan(at=_next_occurrence(str(time_of_day), before.at))
    if plan != before:
        await log.write_document(START, msgspec.json.encode(plan))
    return plan


def parse_time_of_day(text: str) -> tuple[int, int]:
    """The hour and minute of a time of day."""
    found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", text)
    if found is None:
        raise CommandError(f"--start-at must be a time such as 18:00, got {text!r}")
    return int(found[1]), int(found[2])


def _next_occurrence(time_of_day: str, before: str | None) -> str:
    """The next moment with this time of day. If the moment stored before has this time, it stays, even if it passed."""
    hour, minute = parse_time_of_day(time_of_day)
    if before is not None and (at := times.parse_timestamp(before).astimezone()).hour == hour and at.minute == minute:
        return before
    now = datetime.now().astimezone()
    then = now.replace(hour=hour, minute=minute, second=0, microsecond=0)
    seconds = (then - now).total_seconds() % 86_400
    return times.format_timestamp(datetime.fromtimestamp(now.timestamp() + seconds, UTC))


async def count_referees(store: str | Path) -> int:
    """The number of referees that registered in the league of a store; 0 if there is no store."""
    try:
        async with opened(store) as reader:
            events = [decode_event(one) async for one in iterate_events(reader)]
    except StoreError:
        return 0
    return len({event.referee_id for event in events if isinstance(event, e.RefereeRegistered)})


async def is_over(store: str | Path) -> bool:
    """Whether the league of a store is over; False if there is no store."""
    try:
        async with opened(store) as reader:
            return any([isinstance(decode_event(one), e.LeagueCompleted) async for one in iterate_events(reader)])
    except StoreError:
        return False


async def read_run_plan(store: str) -> RunPlan:
    """The plan that ``league run`` stored. Raises CommandError if there is none, and StoreError."""
    async with opened(store) as reader:
        kept = await reader.read_document(RUN)
        is_empty = await read_settings(reader) is None
        missing = await describe_missing_events(store, reader)
    if missing is not None:
        raise CommandError(f"{missing} To go on without these events, remove {Path(store).name}.head.")
    if is_empty:
        raise CommandError(f"{redact_address(store)} holds no league yet: there is nothing to resume")
    by_hand = f"Serve its league with: league manager --store {shlex.quote(redact_address(store))}"
    if kept is None:
        raise CommandError(f"{redact_address(store)} was not made by `league run`. {by_hand}")
    try:
        return msgspec.json.decode(kept, type=RunPlan)
    except DECODE_ERRORS as error:
        raise CommandError(
            f"{redact_address(store)} does not say readably what is to be resumed ({error}). {by_hand}"
        ) from None


def is_resumable(store: str | Path) -> bool:
    """Whether a store holds the league of a run that can be resumed."""
    try:
        asyncio.run(read_run_plan(str(store)))
    except (CommandError, StoreError):
        return False
    return True


def resume_command(store: str | Path, *more: str) -> str:
    """The command line that resumes a run."""
    return shlex.join(["league", "run", "--resume", redact_address(store), *more])


def describe_last_league(data_dir: Path, url: str) -> str:
    """What the operator can do if no manager answers at a URL. It names the league in a folder that changed last."""
    after = "`league report`, `league export` and `league log` read its store"
    stores = sorted(data_dir.glob("agents/*/manager/league.db"), key=lambda path: path.stat().st_mtime)
    if not stores:
        return f"is it running, or elsewhere (--manager)? If the league is over, {after}"
    store = stores[-1]
    league_id = unquote(store.parent.parent.name)
    name = f"the league {league_id} of this folder"
    if asyncio.run(is_over(store)):
        return f"{name} is over; {after}"
    if is_resumable(store):
        return f"{name} is not over. To continue it: {resume_command(store)}"
    again = shlex.join(["league", "host", "--data-dir", str(data_dir), "--league-id", league_id])
    listening = asyncio.run(_read_listening(store))
    host = "127.0.0.1" if listening.host in EVERY_ADDRESS else listening.host
    known = f"http://{f'[{host}]' if ':' in host else host}:{listening.port}/mcp"
    if not listening.port or known == url:
        return f"{name} is not over. To continue it: {again}"
    return f"{name} was at {known}; give --manager {known}. If it does not run, continue it: {again}"
