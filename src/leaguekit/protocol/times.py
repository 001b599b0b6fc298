"""Timestamps: which forms are accepted, and which form is sent.

The form ``YYYY-MM-DDTHH:MM:SSZ`` is sent. All forms of the documents are accepted: fractions, ``+00:00`` for ``Z``, and
compact dates and times (``20250115T10:30:00Z``). A timestamp without a zone, or with another zone, is error E021.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache


def _date(dash: str) -> str:
    """A pattern for the days that exist, including leap days. So a text that matches can always be parsed."""
    leap = "(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
    month_day = (
        f"(?:0[13578]|1[02]){dash}(?:0[1-9]|[12][0-9]|3[01])"
        f"|(?:0[469]|11){dash}(?:0[1-9]|[12][0-9]|30)"
        f"|02{dash}(?:0[1-9]|1[0-9]|2[0-8])"
    )
    year = "(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
    return f"(?:{year}{dash}(?:{month_day})|{leap}{dash}02{dash}29)"


_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]|(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]"
PATTERN = rf"(?:{_date('-')}|{_date('')})T(?:{_TIME})(?:\.[0-9]{{1,9}})?(?:Z|\+00:00)"


# Up to the year 2106 a float of seconds has microsecond precision.
_MAX_PRECISE_SECONDS = 1 << 32


def format_timestamp(moment: datetime) -> str:
    """A timestamp in the form that is sent: seconds, UTC, ``Z``."""
    seconds = moment.timestamp()
    return format_second(int(seconds)) if 0 <= seconds < _MAX_PRECISE_SECONDS else _format(moment)


# A match has 35 timestamps within a few seconds. To format one takes 2 µs, to look it up a tenth of that.
@lru_cache(maxsize=16)
def format_second(seconds: int) -> str:
    """The same for a full second since 1970."""
    return _format(datetime.fromtimestamp(seconds, UTC))


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse_timestamp(text: str) -> datetime:
    """The time of a valid timestamp. The decoder has already rejected invalid ones."""
    return datetime.fromisoformat(text)
