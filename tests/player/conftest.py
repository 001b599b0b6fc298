"""The fixture that the tests of a player share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.player.player_setup import PlayerSetup


@pytest.fixture
def setup(tmp_path: Path) -> PlayerSetup:
    return PlayerSetup(tmp_path)
