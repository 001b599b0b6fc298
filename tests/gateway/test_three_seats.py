"""A chat application, a person and a language model play each other, and nobody receives what is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from leaguekit.games import GAMES
from tests.gateway.three_seats import CHAT, MACHINE, PERSON, play
from tests.web.test_pictures import CARDS, HigherCard


# The test below takes the same path in the fast tier.
@pytest.mark.long
def test_a_chat_seat_a_browser_seat_and_a_model_play_connect_four_to_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = play(tmp_path, monkeypatch, "connect_four")
    assert seen.technical_losses == 0
    pairs = {frozenset(match.players.values()) for match in seen.matches}
    assert pairs == {frozenset(pair) for pair in ((CHAT, PERSON), (CHAT, MACHINE), (PERSON, MACHINE))}
    for match in seen.matches:
        assert "{A} moves" in seen.progress.between(match.since, match.until)
        assert '"picture":{' in seen.stream.between(match.since, match.until)
        assert seen.pages[match.id].between(match.since, match.until)
        for name in (CHAT, PERSON, MACHINE):
            # A seat that does not play hears nothing of the match.
            assert ("your_disc" in seen.by(name, match)) == (name in match.players.values())


def test_no_seat_no_model_and_no_spectator_receives_bytes_with_the_card_of_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(GAMES, HigherCard.name, HigherCard())
    seen = play(tmp_path, monkeypatch, HigherCard.name)
    assert seen.technical_losses == 0
    for match in seen.matches:
        first, second = (step["chance"] for step in match.record[:2])
        own = {match.players["A"]: {first}, match.players["B"]: {second}}
        for name in (CHAT, PERSON, MACHINE):
            assert {card for card in CARDS if card in seen.by(name, match)} == own.get(name, set()), (name, match.id)
        public = seen.public(match)
        assert '"cards":[null]' in seen.stream.between(match.since, match.until)
        assert seen.pages[match.id].between(match.since, match.until)
        assert not [card for card in CARDS if card in public]
