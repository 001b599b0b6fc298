"""A client for the operator's commands to a manager, and the admin token that most of them need."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, Self

import msgspec

from leaguekit.cli import CommandError
from leaguekit.cli.stored_plans import describe_last_league
from leaguekit.protocol.errors import ProtocolError
from leaguekit.protocol.plain_text import sanitize_line
from leaguekit.protocol.rpc import RpcRefusal, read_answer, request
from leaguekit.transport.addresses import AddressPolicy
from leaguekit.transport.base import TOO_MANY_REQUESTS, CallerLate, CallFailed
from leaguekit.transport.client.caller import HttpCaller

# An operator may write an own admin token into the file.
MIN_TOKEN_LENGTH = 20
TIMEOUT_SECONDS = 10.0
# More matches than this take hours, so the operator must confirm. 100 players have 4,950.
CONFIRM_ABOVE_MATCHES = 5_000
NOT_STARTED = "the league is not started"
# The pauses before a request that was refused because of the rate limit is sent again.
RETRY_SECONDS = (0.1, 0.2, 0.4, 0.8, 1.6)


class AdminTokenRefused(CommandError):
    """The manager does not accept the admin token."""


class NoManager(CommandError):
    """No manager answers."""


class ManagerClient:
    """Sends commands to a manager. It is an async context manager, which closes its connections at the end."""

    def __init__(self, url: str) -> None:
        self._url = url
        # The operator names the manager, so it may be called at any address.
        self._caller = HttpCaller(AddressPolicy.only(url))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._caller.close()

    async def call(self, params: dict[str, Any]) -> dict[str, Any]:
        """Send a command and return its answer. Raises CommandError with a hint what to do."""
        body = request("operator", msgspec.json.encode(params), 1)
        try:
            for pause in RETRY_SECONDS:
                response = await self._caller.post(self._url, body, TIMEOUT_SECONDS)
                if response.status != TOO_MANY_REQUESTS:
                    break
                # Another client at this address uses up the rate limit.
                await asyncio.sleep(pause)
            answer: dict[str, Any] = msgspec.json.decode(read_answer(response.body, 1))
        except (CallFailed, CallerLate) as error:
            why = str(error).removeprefix(f"{self._url} ")
            raise NoManager(f"no manager answers at {self._url} ({why})") from None
        except RpcRefusal as error:
            data = error.error.data if isinstance(error.error.data, dict) else {}
            refused = AdminTokenRefused if data.get("error_code") == "E012" else CommandError
            raise refused(str(data.get("context", {}).get("detail", error))) from None
        except ProtocolError as error:
            raise CommandError(f"{self._url} is not a manager of leaguekit: {error.detail}") from None
        return answer


def admin_token(options: argparse.Namespace) -> str:
    """The admin token from its file. Raises CommandError."""
    file = _find_admin_token(options)
    if (token := read_admin_token(file)) is None:
        raise CommandError(f"cannot read the admin token: there is none in {file}")
    return token


def _find_admin_token(options: argparse.Namespace) -> Path:
    """The file with the admin token: that of the options, or the newest."""
    files: list[Path] = (
        [options.admin_token_file]
        if options.admin_token_file is not None
        else [*options.data_dir.glob("agents/*/manager/admin_token")]
    )
    if not files:
        raise CommandError(f"there is no admin token under {options.data_dir}; name the league's folder: --data-dir")
    return max(files, key=lambda file: file.stat().st_mtime if len(files) > 1 else 0)


@contextlib.contextmanager
def adding_remedies(options: argparse.Namespace) -> Iterator[None]:
    """Add to an error what may be wrong: the file of the admin token, or the address of the manager."""
    try:
        yield
    except NoManager as error:
        raise CommandError(f"{error}; {describe_last_league(options.data_dir, options.manager)}") from None
    except AdminTokenRefused as error:
        remedy = "Name the league's own with --admin-token-file, or its folder with --data-dir"
        raise CommandError(f"{error} It was read from {_find_admin_token(options)}. {remedy}") from None


def confirm(question: str, refusal: str) -> None:
    """Ask a question on the terminal. Raises CommandError with ``refusal`` if the answer is not yes."""
    # In an event loop Ctrl-C would wait for the end of the line.
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        print(f"{sanitize_line(question)} [y/N] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()
    finally:
        signal.signal(signal.SIGINT, handler)
    if answer.strip().lower() not in ("y", "yes"):
        raise CommandError(refusal)


def read_admin_token(file: Path) -> str | None:
    """The admin token in a file, or None if there is no file or it is empty. Raises CommandError."""
    try:
        content = file.read_bytes().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CommandError(f"cannot read the admin token: {error}") from None
    if content and re.fullmatch(rb"[!-~]{%d,}" % MIN_TOKEN_LENGTH, content) is None:
        raise CommandError(
            f"{file} holds no admin token: that is {MIN_TOKEN_LENGTH} printable characters or more, without spaces. "
            "Write it there again. If it is lost, remove the file, and the manager makes a new one at its next start"
        )
    return content.decode() or None


def call(url: str, params: dict[str, Any]) -> dict[str, Any]:
    """Send a command to the manager and return its answer."""

    async def send() -> dict[str, Any]:
        async with ManagerClient(url) as manager:
            return await manager.call(params)

    return asyncio.run(send())


def confirm_start(manager: str, token: str) -> dict[str, int]:
    """The parameter with the maximum of matches that the operator agrees to.

    Asks on a terminal if seats are free, or if there are many matches. Raises CommandError if the answer is no.
    """
    status = call(manager, {"command": "status"})
    # A manager of an older release does not send it.
    if status.get("free_seats") and sys.stdin.isatty():
        free = call(manager, {"command": "seats", "admin_token": token})["free"]
        confirm(f"{free} Start the league without them?", NOT_STARTED)
    matches = status.get("planned_matches")
    if matches is None:
        return {}
    if matches > CONFIRM_ABOVE_MATCHES:
        would = f"{status['players']:,} players would have {matches:,} matches"
        if not sys.stdin.isatty():
            raise CommandError(f"{would}: add --yes to start the league")
        confirm(f"{would}. Start the league?", NOT_STARTED)
    # More players may register before the league starts.
    return {"max_matches": max(matches, CONFIRM_ABOVE_MATCHES)}


async def fetch_schedule(
    ask: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]], params: dict[str, Any]
) -> dict[str, Any]:
    """Fetch the whole schedule, which a manager sends in pages."""
    answer = page = await ask(params)
    while page["schedule"] and "next_offset" in page:
        page = await ask(params | {"offset": page["next_offset"]})
        answer["schedule"] += page["schedule"]
        # A manager of an older release does not send the names of the players.
        answer["names"] = answer.get("names", {}) | page.get("names", {})
    answer.pop("next_offset", None)
    return answer
