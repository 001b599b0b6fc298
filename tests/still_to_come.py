"""Requirements that no test proves yet, and what they wait for. The test of requirements keeps this list honest."""

from __future__ import annotations

# Figures about people: the manager will count them and show them beside their goals.
STILL_TO_COME: tuple[str, ...] = ("000-L1557", "000-L1559")
