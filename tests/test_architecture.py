"""ARCHITECTURE.md and CONTRIBUTING.md name only files and commands that exist, and the sizes of the packages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "leaguekit"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()
# A package may grow or shrink by this share before the table has to be corrected.
TOLERANCE = 0.15


def _paths(text: str) -> list[str]:
    return sorted({path for path in re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", text) if "/" in path})


def _lines(package: str) -> int:
    module = SOURCE / f"{package}.py"
    return sum(
        len(path.read_text().splitlines()) for path in [module] * module.exists() or (SOURCE / package).rglob("*.py")
    )


@pytest.mark.parametrize("path", _paths(TEXT))
def test_the_architecture_names_files_that_exist(path: str) -> None:
    assert (SOURCE / path).exists() or (ROOT / path).exists()


def test_the_architecture_lists_every_package_with_its_size() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| ([\d,]+) \|$", TEXT, re.MULTILINE))
    packages = {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"} | {"testing"}
    assert set(rows) == packages
    for package, stated in rows.items():
        lines = _lines(package)
        assert abs(lines - int(stated.replace(",", ""))) <= max(100, TOLERANCE * lines), (
            f"{package} has {lines:,} lines"
        )


def test_the_architecture_draws_the_layers_that_the_test_of_imports_checks() -> None:
    from tests.test_house import LAYERS  # noqa: PLC0415 - only here

    assert " ← ".join(", ".join(names) for names in LAYERS) in TEXT


def test_contributing_names_commands_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"`make (\w+)", text)) <= targets
    missing = [path for path in _paths(text) if not ((ROOT / path).exists() or (SOURCE / path).exists())]
    assert missing == []
