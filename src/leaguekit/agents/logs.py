"""Structured logs: JSON lines, one file an agent, with what a reader filters by."""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from leaguekit.protocol import messages as m
from leaguekit.protocol.plain import escaped, harmless_lines
from leaguekit.protocol.tokens import redacted

log = logging.getLogger(__name__)

_OWN = ("agent_id", "message_type", "conversation_id", "data")
_json = json.JSONEncoder(ensure_ascii=False, default=str).encode


class JsonLines(logging.Formatter):
    """One JSON object a line: timestamp, level, agent_id, message_type, conversation_id, message, data."""

    def __init__(self, agent_id: str) -> None:
        super().__init__()
        self.agent_id = agent_id

    def format(self, record: logging.LogRecord) -> str:
        moment = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line: dict[str, Any] = {"timestamp": moment, "level": record.levelname, "agent_id": self.agent_id}
        line |= {name: getattr(record, name) for name in _OWN if hasattr(record, name)}
        line["message"] = record.getMessage()
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return escaped(redacted(_json(line)))


def spare_logging() -> None:
    """Have a program's log find out nothing that no line of ours shows: where it was written, and in which thread."""
    # As the documentation of logging advises; the first has no public name.
    logging._srcfile = None  # noqa: SLF001
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    # From Python 3.12 on.
    logging.logAsyncioTasks = False  # type: ignore[attr-defined]


class PlainLines(logging.Formatter):
    """For a terminal: the words of others are in it."""

    def format(self, record: logging.LogRecord) -> str:
        return harmless_lines(super().format(record))


class _File(logging.FileHandler):
    """A log file. If it cannot be written any more, the disk is full, and others have more to lose and say so."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Leave the record out."""


@contextlib.contextmanager
def log_to(path: Path, agent_id: str) -> Iterator[None]:
    """Write everything that leaguekit logs in this process to a file, for as long as this lasts."""
    with restored() as package:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # What a player chose may stand in its own log before the other has chosen.
            path.touch(0o600)
            handler = _File(path, encoding="utf-8")
        except OSError as error:
            log.warning("There will be no log file: %s", error)
        else:
            handler.setFormatter(JsonLines(agent_id))
            package.addHandler(handler)
            package.setLevel(logging.INFO)
        yield


@contextlib.contextmanager
def restored() -> Iterator[logging.Logger]:
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
def silenced() -> Iterator[None]:
    """Keep what the package logs off the terminal, where there is no log file to take it."""
    with restored() as package:
        package.addHandler(logging.NullHandler())
        yield


def about(message: m.Message) -> dict[str, Any]:
    """What the log says of a message besides its text."""
    conversation_id = getattr(message, "conversation_id", None) or None
    return {"message_type": m.message_type(message), "conversation_id": conversation_id}
