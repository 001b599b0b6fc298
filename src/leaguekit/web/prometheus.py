"""The text format of Prometheus: counters, gauges and histograms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Literal

from leaguekit.manager.metrics import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]
Value = int | float | Histogram
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Exposition:
    """A text to which metric families are added."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def add(
        self,
        kind: Literal["counter", "gauge", "histogram"],
        name: str,
        about: str,
        values: Value | Iterable[tuple[Labels, Value]],
    ) -> None:
        """Add a family: one value without labels, or a value for each set of labels."""
        self._lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]
        for labels, value in [({}, values)] if isinstance(values, Value) else values:
            if not isinstance(value, Histogram):
                self._value(name, labels, value)
                continue
            bounds = (*map(_number, value.bounds), "+Inf")
            for bound, count in zip(bounds, accumulate(value.counts), strict=True):
                self._value(f"{name}_bucket", {**labels, "le": bound}, count)
            self._value(f"{name}_sum", labels, value.sum)
            self._value(f"{name}_count", labels, value.count)

    def text(self) -> bytes:
        return ("\n".join(self._lines) + "\n").encode()

    def _value(self, name: str, labels: Labels, value: float) -> None:
        inner = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        self._lines.append(f"{name}{{{inner}}} {_number(value)}" if inner else f"{name} {_number(value)}")


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.12g}"
