"""The text format of Prometheus: counters, gauges and histograms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from leaguekit.manager.metrics import Histogram

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
Labels = Mapping[str, str]
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Exposition:
    """A text to which metric families are added."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    def counter(self, name: str, about: str, values: Iterable[tuple[Labels, float]]) -> None:
        self._family(name, "counter", about, values)

    def gauge(self, name: str, about: str, values: Iterable[tuple[Labels, float]]) -> None:
        self._family(name, "gauge", about, values)

    def histogram(self, name: str, about: str, found: Iterable[tuple[Labels, Histogram]]) -> None:
        self._head(name, "histogram", about)
        for labels, histogram in found:
            cumulative = 0
            for bound, count in zip((*map(_number, histogram.bounds), "+Inf"), histogram.counts, strict=True):
                cumulative += count
                self._value(f"{name}_bucket", {**labels, "le": bound}, cumulative)
            self._value(f"{name}_sum", labels, histogram.sum)
            self._value(f"{name}_count", labels, histogram.count)

    def text(self) -> bytes:
        return ("\n".join(self._lines) + "\n").encode()

    def _family(self, name: str, kind: str, about: str, values: Iterable[tuple[Labels, float]]) -> None:
        self._head(name, kind, about)
        for labels, value in values:
            self._value(name, labels, value)

    def _head(self, name: str, kind: str, about: str) -> None:
        self._lines += [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]

    def _value(self, name: str, labels: Labels, value: float) -> None:
        inner = ",".join(f'{label}="{text.translate(_ESCAPES)}"' for label, text in labels.items())
        self._lines.append(f"{name}{{{inner}}} {_number(value)}" if inner else f"{name} {_number(value)}")


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.12g}"
