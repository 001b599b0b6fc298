"""Structured logs: JSON lines, one file an agent, with what a reader filters by."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_OWN = ("agent_id", "message_type", "conversation_id", "data")


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
        return json.dumps(line, ensure_ascii=False, default=str)


def log_to(path: Path, agent_id: str, level: int = logging.INFO) -> JsonLines:
    """Write everything leaguekit logs in this process to a file; the formatter may be told the id once it is known."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    formatter = JsonLines(agent_id)
    handler.setFormatter(formatter)
    root = logging.getLogger("leaguekit")
    root.addHandler(handler)
    root.setLevel(level)
    root.propagate = False
    return formatter
