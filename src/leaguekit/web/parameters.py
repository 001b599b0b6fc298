"""Parameters of the API's routes: their declarations, and reading their values from a request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MAX_DIGITS = 10


class Parameter(NamedTuple):
    """A parameter in a route's path or in its query string.

    With a ``maximum`` it is a number from 0 to that, otherwise a text.
    """

    name: str
    description: str
    default: int | None = None
    maximum: int | None = None


class BadParameter(Exception):
    """A parameter has a wrong value; the text says which values are allowed."""


def read_parameters(
    parameters: Iterable[Parameter], in_path: Mapping[str, str], in_query: Mapping[str, str]
) -> dict[str, Any]:
    """The value of each parameter. Raises BadParameter."""
    values: dict[str, Any] = {}
    for parameter in parameters:
        text = in_path.get(parameter.name, in_query.get(parameter.name))
        values[parameter.name] = parameter.default if text is None else _value(parameter, text)
    return values


def _value(parameter: Parameter, text: str) -> int | str:
    name, maximum = parameter.name, parameter.maximum
    if maximum is None:
        return text
    if not (text.isascii() and text.isdecimal() and len(text) <= MAX_DIGITS and int(text) <= maximum):
        raise BadParameter(f"{name} must be a number from 0 to {maximum:,}, got {text[:50]!r}.")
    return int(text)


def clamp(values: dict[str, Any], maxima: Mapping[str, int]) -> None:
    """Lower numbers that exceed what exists now.

    The answer is the same, and so is the key under which it is cached: a client cannot fill the cache with offsets
    beyond the end.
    """
    for name in values.keys() & maxima.keys():
        if values[name] is not None:
            values[name] = min(values[name], maxima[name])
