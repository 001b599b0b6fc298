"""Requirements that no test proves yet, and what they wait for. The test of requirements keeps this list honest."""

from __future__ import annotations

STILL_TO_COME: tuple[str, ...] = ()
