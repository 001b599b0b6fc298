"""Checks texts by patterns: ids, timestamps, senders, versions, URLs.

msgspec can match patterns itself, by Python's regular expressions. That takes a third of a microsecond per field, which
is more than all the rest of decoding. The same texts come again and again. So each pattern caches the texts that it has
matched. For each Struct a function is generated, as dataclasses generate theirs, which looks up all texts of the Struct
in one expression. Only a new text is matched. ``benchmarks/protocol.py`` has the figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
from msgspec import UNSET, Struct, inspect

MAX_CACHED_TEXTS = 4_096
# The values of an optional field without a text. msgspec has checked that they are allowed.
_NOTHING = (UNSET, None)
Checker = Callable[[Any], bool]


class Pattern:
    """A regular expression with a cache of the texts that it has matched."""

    def __init__(self, expression: str) -> None:
        self._matches = re.compile(expression).fullmatch
        self.known: set[Any] = set(_NOTHING)

    def fits(self, text: Any) -> bool:
        """Whether a text matches that is not in the cache."""
        if self._matches(text) is None:
            return False
        if len(self.known) >= MAX_CACHED_TEXTS:
            self.known.clear()
            self.known.update(_NOTHING)
        self.known.add(text)
        return True


def valid(kind: Any, text: str) -> bool:
    """Whether a text is valid for one of the types in ``fields``."""
    try:
        msgspec.convert(text, kind)
    except msgspec.ValidationError:
        return False
    pattern = _pattern(inspect.type_info(kind))
    return pattern is None or pattern.fits(text)


@cache
def checker(struct: type[Struct]) -> Checker:
    """Generate the function that checks all texts of a Struct, when it is first needed."""
    names = _Named()
    expression = _expression(inspect.type_info(struct), "m", names)
    function: Checker = eval(f"lambda m: {expression or True}", {"UNSET": UNSET, **names})  # noqa: S307 - our own text
    return function


class _Named(dict[str, Any]):
    """The names that a generated function uses, two per pattern."""

    def of(self, pattern: Pattern) -> tuple[str, str]:
        """The names of a pattern's cache and of its method ``fits``."""
        known, fits = f"known{id(pattern)}", f"fits{id(pattern)}"
        self[known], self[fits] = pattern.known, pattern.fits
        return known, fits


def _expression(kind: inspect.Type, value: str, names: _Named) -> str:
    """An expression that is true if all texts in a value match; empty if the value has no texts."""
    if (pattern := _pattern(kind)) is not None:
        known, fits = names.of(pattern)
        return f"({value} in {known} or {fits}({value}))"
    match kind:
        case inspect.Metadata(type=inner):
            return _expression(inner, value, names)
        case inspect.UnionType(types=types):
            within = [found for one in types if (found := _expression(one, value, names))]
            return f"({value} is None or {within[0]})" if within else ""
        case inspect.StructType(fields=fields):
            parts = [_field(one, f"{value}.{one.encode_name}", names) for one in fields]
            return " and ".join(filter(None, parts))
        case inspect.ListType(item_type=item):
            each = f"{value.replace('.', '_')}_"
            inside = _expression(item, each, names)
            return f"all({inside} for {each} in {value})" if inside else ""
        case inspect.DictType(key_type=key) if (pattern := _pattern(key)) is not None:
            known, fits = names.of(pattern)
            return f"({value}.keys() <= {known} or all(map({fits}, {value})))"
    return ""


def _field(field: inspect.Field, value: str, names: _Named) -> str:
    """The same for a field of a Struct, which may be missing."""
    expression = _expression(field.type, value, names)
    if not expression or field.required:
        return expression
    return f"({value} is UNSET or {expression})"


def _pattern(kind: inspect.Type) -> Pattern | None:
    """The pattern of a type that is a text, optional or not."""
    match kind:
        case inspect.Metadata(type=inner, extra=extra):
            found: Pattern | None = (extra or {}).get("pattern")
            return found or _pattern(inner)
        case inspect.UnionType(types=types):
            return next((found for one in types if (found := _pattern(one)) is not None), None)
    return None
