"""The identity of an agent in its league, and the files that keep it for a later run of the agent."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import UNSET, Struct, UnsetType

from leaguekit.agents.tasks import cancel
from leaguekit.agents.world import World
from leaguekit.protocol import tokens
from leaguekit.protocol.decode_errors import DECODE_ERRORS
from leaguekit.protocol.ids import Role
from leaguekit.store.base import StoreError
from leaguekit.store.json_files import safe_name

log = logging.getLogger(__name__)

# The folder of an agent whose manager does not name its league.
UNNAMED_LEAGUE = "league"
# The pause after a file could not be written.
WRITE_RETRY_SECONDS = 5.0

T = TypeVar("T")


class Identity(Struct, frozen=True, kw_only=True, dict=True):
    """The id and the token of an agent in its league, from the answer to its registration. It is stored in a file."""

    agent_id: str
    auth_token: str | None
    league_id: str | None
    # Whether tokens between agents are derived from this one, as they are in leagues of leaguekit.
    derived: bool = False
    # The time of its first registration there.
    joined_at: str = ""

    @cached_property
    def key(self) -> bytes:
        return tokens.signing_key(self.auth_token or "")

    @cached_property
    def _manager_token(self) -> str:
        """The derived token in messages of its manager."""
        return tokens.manager_to_agent(self.key, str(self.league_id), self.agent_id)

    def may_be_manager(self, token: str | UnsetType) -> bool:
        """Whether the sender of a message with this token may be the manager.

        Where tokens are not derived, the manager cannot be recognised, and any sender may be the manager.
        """
        return not self.derived or (token is not UNSET and tokens.are_equal(token, self._manager_token))


class SentRequest(Struct):
    """The last registration that was sent without a token: the fields by which a manager recognises a repeat."""

    conversation_id: str
    timestamp: str
    # None if the manager had not named its league.
    league_id: str | None = None


class IdentityFiles:
    """The private files with an agent's identities, and with the last registration that it sent without a token.

    If a file cannot be written, it is written later, as soon as possible.
    """

    def __init__(self, world: World, role: Role, name: str) -> None:
        # Why a file of an earlier run cannot be read, or empty.
        self.read_error = ""
        self._world = world
        self._role = role
        self._name = name
        # Not in the folder of the league, because the league may not be known when the request is sent.
        self._sent_request_file = self.folder(None) / "asked.json"
        self._writing: dict[Path, asyncio.Task[None]] = {}

    def folder(self, league_id: str | None) -> Path:
        """The folder of this agent's files of a league."""
        return agent_folder(self._world.data_root, league_id or UNNAMED_LEAGUE, self._role, self._name)

    async def close(self) -> None:
        await cancel(*self._writing.values())

    def stored_identity(self, league_id: str | None) -> Identity | None:
        """The identity in that league from an earlier run, if there is one."""
        if league_id is None:
            return None
        stored = self._read(self._state_file(league_id), Identity)
        return stored if stored is not None and stored.league_id == league_id else None

    def sent_request(self) -> SentRequest | None:
        """The last registration that was sent without a token."""
        return self._read(self._sent_request_file, SentRequest)

    def has_derived_token(self) -> bool:
        """Whether the answer to that registration is stored and has a derived token. Its manager has a ping."""
        sent = self.sent_request()
        stored = None if sent is None else self.stored_identity(sent.league_id)
        return stored is not None and stored.derived

    async def write_identity(self, identity: Identity) -> None:
        await self._write(self._state_file(str(identity.league_id)), identity)

    async def write_sent_request(self, sent: SentRequest) -> None:
        await self._write(self._sent_request_file, sent)

    def _read(self, path: Path, kind: type[T]) -> T | None:
        """Read a file of an earlier run. None if it does not exist or cannot be read."""
        try:
            content = self._world.files.read(path)
            return None if content is None else msgspec.json.decode(content, type=kind)
        except DECODE_ERRORS as error:
            log.warning("%s is left aside: %s", path, error)
            self.read_error = f"{path} cannot be read: {error}."
        except StoreError as error:
            log.warning("%s", error)
            self.read_error = str(error)
        return None

    async def _write(self, path: Path, value: Struct) -> None:
        """Write a file for a later run. If that fails, write it later, as soon as possible."""
        if (before := self._writing.pop(path, None)) is not None:
            before.cancel()
        write = partial(self._world.files.write, path, msgspec.json.encode(value), private=True)
        try:
            await self._world.blocking(write)
        except StoreError as error:
            log.warning("%s", error)
            self._writing[path] = asyncio.create_task(self._write_with_retries(write))

    async def _write_with_retries(self, write: Callable[[], None]) -> None:
        while True:
            await asyncio.sleep(WRITE_RETRY_SECONDS)
            with contextlib.suppress(StoreError):
                return await self._world.blocking(write)

    def _state_file(self, league_id: str) -> Path:
        return self.folder(league_id) / "state.json"


def agent_folder(data_root: Path, league_id: str, role: Role, name: str) -> Path:
    """The folder of an agent's files of a league."""
    return data_root / "agents" / safe_name(league_id) / f"{role}-{safe_name(name)}"
