"""The pairing engine of Swiss leagues: py4swiss, which is optional. It is imported when it is needed.

It implements the FIDE (Dutch) rules in the edition that was valid until 31 January 2026.
"""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

INSTALL = "a Swiss needs the extra `swiss`: pip install 'leaguekit[swiss]'"


class EngineMissing(ValueError):
    """The pairing engine is not installed."""


class Py4Swiss:
    """The pairing engine. Raises EngineMissing if it is not installed."""

    def __init__(self) -> None:
        if find_spec("py4swiss") is None:
            raise EngineMissing(INSTALL)
        self.version = installed_version()

    def pair(self, trf: str) -> list[tuple[int, int]] | None:
        """The pairs of the next round by pairing numbers, white first; 0 is the bye. None if there is no legal one."""
        from py4swiss.engines import DutchEngine  # noqa: PLC0415 - optional, and heavy
        from py4swiss.engines.common import PairingError  # noqa: PLC0415
        from py4swiss.trf import ParsedTrf  # noqa: PLC0415
        from py4swiss.trf.codes import X_CODES, PlayerCode  # noqa: PLC0415
        from py4swiss.trf.sections import PlayerSection, XSection  # noqa: PLC0415
        from py4swiss.trf.trf_line import TrfLine  # noqa: PLC0415

        lines = trf.splitlines()
        parsed = ParsedTrf(
            player_sections=[PlayerSection.from_string(line) for line in lines if line[:3] == PlayerCode.PLAYER],
            x_section=XSection.from_lines(
                [TrfLine(number, line) for number, line in enumerate(lines) if line[:3] in {*X_CODES}]
            ),
        )
        parsed.validate_contents()
        try:
            return [(pair.white, pair.black) for pair in DutchEngine.generate_pairings(parsed)]
        except PairingError:
            return None


def installed_version() -> str:
    """The name and the version of the installed engine; empty without one."""
    try:
        return f"py4swiss {version('py4swiss')}"
    except PackageNotFoundError:
        return ""
