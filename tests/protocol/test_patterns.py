"""Patterns: remembered without growing, and checked however deep a text is nested."""

from __future__ import annotations

import msgspec
import pytest

from leaguekit.protocol import messages as m
from leaguekit.protocol.decoding import decode, encode, violations
from leaguekit.protocol.errors import InvalidMessage
from leaguekit.protocol.fields import MatchId, PlayerId
from leaguekit.protocol.patterns import MAX_CACHED_TEXTS, Pattern, checker, valid
from tests.samples import SAMPLES, samples_of


def test_a_pattern_remembers_what_it_matched_and_forgets_before_it_grows_too_large() -> None:
    pattern = Pattern("P[0-9]+")
    for number in range(3 * MAX_CACHED_TEXTS):
        assert pattern.fits(f"P{number}")
        assert len(pattern.known) <= MAX_CACHED_TEXTS
    assert f"P{number}" in pattern.known
    assert not pattern.fits("Q1")
    assert "Q1" not in pattern.known


def test_the_whole_text_must_match() -> None:
    assert not valid(PlayerId, "P01 ")
    assert not valid(MatchId, "xR1M1")
    assert not valid(PlayerId, "P" * 200)


@pytest.mark.parametrize("sample", SAMPLES, ids=m.message_type)
def test_what_we_send_fits_the_first_time_and_once_it_is_known(sample: m.Message) -> None:
    fits = checker(type(sample))
    assert fits(sample)
    assert fits(sample)


def test_what_was_made_ready_before_reads_the_same() -> None:
    for sample in SAMPLES:
        checker(type(sample))
    assert [decode(encode(sample)) for sample in SAMPLES] == list(SAMPLES)


@pytest.mark.parametrize(
    ("name", "wrong", "path"),
    [
        ("ROUND_ANNOUNCEMENT", (b'"player_A_id":"P01"', b'"player_A_id":"P1"'), "matches[0].player_A_id"),
        ("LEAGUE_STANDINGS_UPDATE", (b'"player_id":"P03"', b'"player_id":"three"'), "standings[1].player_id"),
        ("MATCH_PROGRESS", (b'"arrived":["P01"]', b'"arrived":["P1"]'), "arrived[0]"),
        ("CHOOSE_PARITY_CALL", (b'"opponent_id":"P02"', b'"opponent_id":"two"'), "context.opponent_id"),
        ("MATCH_RESULT_REPORT", (b'"failures":{"P01"', b'"failures":{"P1"'), "result.details.failures"),
    ],
)
def test_a_text_deep_in_a_message_is_checked(name: str, wrong: tuple[bytes, bytes], path: str) -> None:
    raw = encode(samples_of(name)[0])
    assert wrong[0] in raw
    with pytest.raises(InvalidMessage) as refusal:
        decode(raw.replace(*wrong))
    assert [violation.path for violation in refusal.value.violations] == [path]


def test_what_only_the_decoder_minds_is_a_violation_too() -> None:
    value = msgspec.json.decode(encode(samples_of("GAME_INVITATION")[0])) | {"round_id": 1.5e0 + 0.5}
    (violation,) = violations(value)
    assert (violation.path, violation.came, violation.expected) == ("round_id", "got float", "int")
