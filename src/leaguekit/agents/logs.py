"""Structured logs: one file of JSON lines per agent, with the fields that a reader filters by.

A warning is written at once. Other lines are formatted and written together, at most one second later. To write each
line by itself took 24 µs, more than to handle a message. This has two consequences. The arguments of a log call must
not change afterwards, so callers pass texts and numbers. And a process that is killed loses the lines of its last
second.
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

FLUSH_SECONDS = 1.0
MAX_BUFFERED = 64
_EXTRA_FIELDS = ("agent_id", "message_type", "conversation_id", "data")
_encode = msgspec.json.Encoder(enc_hook=str).encode


class JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: timestamp, level, agent_id, message_type, conversation_id, message, data."""

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self.agent_id = agent_id

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"timestamp": moment, "level": record.levelname, "agent_id": self.agent_id}
        attributes = record.__dict__
        line |= {name: attributes[name] for name in _EXTRA_FIELDS if name in attributes}
        line["message"] = record.getMessage()
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return escaped(redact(_json(line)))


def _json(line: dict[str, Any]) -> str:
    try:
        return _encode(line).decode()
    except (UnicodeEncodeError, OverflowError, TypeError):
        # Lone surrogates, very large numbers, or keys that are not text. They are rare, and the line must not be lost.
        return json.dumps(line, ensure_ascii=False, default=str, skipkeys=True)


def skip_unused_log_fields() -> None:
    """Stop the logging module from collecting what our lines do not show, such as the thread and the source file."""
    # The documentation of logging recommends these settings. The first one has no public name.
    logging._srcfile = None  # noqa: SLF001
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # From Python 3.12 on.
    logging.logAsyncioTasks = False  # type: ignore[attr-defined]


class TerminalFormatter(logging.Formatter):
    """Formats a record for a terminal, without the control characters that messages of other agents may contain."""

    def format(self, record: logging.LogRecord) -> str:
        return sanitize_lines(super().format(record))


class _BufferedFileHandler(logging.FileHandler):
    """A log file with a buffer. Errors of writing are ignored: when the disk is full, other parts report that."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8")
        self._buffer: list[logging.LogRecord] = []
        self._is_flush_scheduled = False

    def emit(self, record: logging.LogRecord) -> None:
        self._buffer.append(record)
        if record.levelno >= logging.WARNING or len(self._buffer) >= MAX_BUFFERED:
            self.flush()
        elif not self._is_flush_scheduled:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                # Without an event loop nothing would flush it later.
                self.flush()
            else:
                self._is_flush_scheduled = True
                loop.call_later(FLUSH_SECONDS, self._flush_scheduled)

    def _flush_scheduled(self) -> None:
        self._is_flush_scheduled = False
        self.flush()

    def flush(self) -> None:
        """Write the buffer. Drop lines that cannot be formatted or written: logging must not make a caller fail."""
        self.acquire()
        try:
            records, self._buffer = self._buffer, []
            lines = []
            for record in records:
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
    """Write everything that leaguekit logs in this process to a file, within this context."""
    with restored_logging() as package:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # The log is private: a player's log may contain its choice before the opponent has chosen.
            path.touch(0o600)
            handler = _BufferedFileHandler(path)
        except OSError as error:
            log.warning("There will be no log file: %s", error)
        else:
            handler.setFormatter(JsonFormatter(agent_id))
            package.addHandler(handler)
            package.setLevel(logging.INFO)
        yield


@contextlib.contextmanager
def restored_logging(name: str = "leaguekit") -> Iterator[logging.Logger]:
    """The logger of the package, or another. Its handlers and level are restored when this context ends."""
    package = logging.getLogger(name)
    handlers, level = [*package.handlers], package.level
    try:
        yield package
    finally:
        for handler in [handler for handler in package.handlers if handler not in handlers]:
            package.removeHandler(handler)
            with contextlib.suppress(OSError):
                handler.close()
        package.setLevel(level)


@contextlib.contextmanager
def silenced_logging() -> Iterator[None]:
    """Discard what the package logs within this context, so that nothing is written to the terminal."""
    with restored_logging() as package:
        package.addHandler(logging.NullHandler())
        yield


def log_fields(message: m.Message) -> dict[str, Any]:
    """The extra fields of a log line about a message."""
    conversation_id = getattr(message, "conversation_id", None) or None
    return {"message_type": m.message_type(message), "conversation_id": conversation_id}
