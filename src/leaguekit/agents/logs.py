"""Structured logs: JSON lines, one file an agent, with what a reader filters by.

A warning is in the file at once. Lines below it are put into words and written together, a second later at most: by
itself a line took 24 µs, more than a message. So whoever logs them passes texts and numbers, nothing that changes; and
a process that is killed loses those of its last second.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from leaguekit.protocol import messages as m
from leaguekit.protocol.plain_text import escaped, sanitize_lines
from leaguekit.protocol.tokens import redact

log = logging.getLogger(__name__)

WAITING_SECONDS = 1.0
MAX_WAITING = 64
_OWN = ("agent_id", "message_type", "conversation_id", "data")
_encode = msgspec.json.Encoder(enc_hook=str).encode


class JsonFormatter(logging.Formatter):
    """One JSON object a line: timestamp, level, agent_id, message_type, conversation_id, message, data."""

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self.agent_id = agent_id

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"timestamp": moment, "level": record.levelname, "agent_id": self.agent_id}
        noted = record.__dict__
        line |= {name: noted[name] for name in _OWN if name in noted}
        line["message"] = record.getMessage()
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return escaped(redact(_json(line)))


def _json(line: dict[str, Any]) -> str:
    try:
        return _encode(line).decode()
    except (UnicodeEncodeError, OverflowError, TypeError):
        # Halves of pairs, enormous numbers, keys that are no text: rare, and no reason to lose a line.
        return json.dumps(line, ensure_ascii=False, default=str, skipkeys=True)


def skip_unused_log_fields() -> None:
    """Have a program's log find out nothing that no line of ours shows: where it was written, and in which thread."""
    # As the documentation of logging advises; the first has no public name.
    logging._srcfile = None  # noqa: SLF001
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # From Python 3.12 on.
    logging.logAsyncioTasks = False  # type: ignore[attr-defined]


class TerminalFormatter(logging.Formatter):
    """For a terminal: the words of others are in it."""

    def format(self, record: logging.LogRecord) -> str:
        return sanitize_lines(super().format(record))


class _File(logging.FileHandler):
    """A log file. If it cannot be written any more, the disk is full, and others have more to lose and say so."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self._waiting: list[logging.LogRecord] = []
        self._is_due = False

    def emit(self, record: logging.LogRecord) -> None:
        self._waiting.append(record)
        if record.levelno >= logging.WARNING or len(self._waiting) >= MAX_WAITING:
            self.flush()
        elif not self._is_due:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                # Nobody would come back to it.
                self.flush()
            else:
                self._is_due = True
                loop.call_later(WAITING_SECONDS, self._write_due)

    def _write_due(self) -> None:
        self._is_due = False
        self.flush()

    def flush(self) -> None:
        """Write what waits. What cannot be put into words or written is left out: nobody fails because it logs."""
        self.acquire()
        try:
            waiting, self._waiting = self._waiting, []
            lines = []
            for record in waiting:
                with contextlib.suppress(Exception):
                    lines.append(f"{self.format(record)}\n")
            if lines and self.stream:
                with contextlib.suppress(OSError):
                    self.stream.write("".join(lines))
                    self.stream.flush()
        finally:
            self.release()


@contextlib.contextmanager
def log_to(path: Path, agent_id: str) -> Iterator[None]:
    """Write everything that leaguekit logs in this process to a file, for as long as this lasts."""
    with restored_logging() as package:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # What a player chose may stand in its own log before the other has chosen.
            path.touch(0o600)
            handler = _File(path)
        except OSError as error:
            log.warning("There will be no log file: %s", error)
        else:
            handler.setFormatter(JsonFormatter(agent_id))
            package.addHandler(handler)
            package.setLevel(logging.INFO)
        yield


@contextlib.contextmanager
def restored_logging() -> Iterator[logging.Logger]:
    """The package's log, left in the end as it was found."""
    package = logging.getLogger("leaguekit")
    handlers, level = [*package.handlers], package.level
    try:
        yield package
    finally:
        for handler in [one for one in package.handlers if one not in handlers]:
            package.removeHandler(handler)
            with contextlib.suppress(OSError):
                handler.close()
        package.setLevel(level)


@contextlib.contextmanager
def silenced_logging() -> Iterator[None]:
    """Keep what the package logs off the terminal, where there is no log file to take it."""
    with restored_logging() as package:
        package.addHandler(logging.NullHandler())
        yield


def log_fields(message: m.Message) -> dict[str, Any]:
    """What the log says of a message besides its text."""
    conversation_id = getattr(message, "conversation_id", None) or None
    return {"message_type": m.message_type(message), "conversation_id": conversation_id}
