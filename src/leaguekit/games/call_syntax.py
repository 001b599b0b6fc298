"""A name with arguments as a text: ``name(argument=value, …)``. Games and formats are written so.

A value is written as in JSON or in Python. Any other value is a word, or a name with arguments of its own.
"""

from __future__ import annotations

import json
import re
from typing import Any

# The name, and the arguments in brackets.
_CALL = re.compile(r"([^()]+)(?:\((.*)\))?", re.DOTALL)
# An argument: its name, and its value, which may have brackets of its own.
_ARGUMENT = re.compile(r"\s*(\w+)\s*=\s*((?:\([^()]*\)|\[[^\[\]]*\]|\"[^\"]*\"|'[^']*'|[^,()\[\]\"'])*)(?:,|$)")
_CONSTANTS = {"True": True, "False": False, "None": None}


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the arguments. Raises ValueError."""
    found = _CALL.fullmatch(text.strip())
    if found is None or not found[1].strip():
        raise _wrong(text)
    rest = (found[2] or "").strip()
    args: dict[str, Any] = {}
    at = 0
    while at < len(rest):
        one = _ARGUMENT.match(rest, at)
        if one is None or not one[2].strip() or one[1] in args:
            raise _wrong(rest[at:])
        args[one[1]] = _parse_value(one[2].strip())
        at = one.end()
    return found[1].strip(), args


def _wrong(text: str) -> ValueError:
    return ValueError(f"written as NAME or NAME(ARGUMENT=VALUE, …), got {text[:100]!r}")


def _parse_value(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if len(text) > 1 and text[0] == text[-1] == "'":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text
