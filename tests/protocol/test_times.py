"""Timestamps: every form that a document allows is read, one form is written, anything else is E021."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leaguekit.protocol import times
from leaguekit.protocol.decoding import decode, encode
from leaguekit.protocol.errors import InvalidMessage
from leaguekit.protocol.fields import Timestamp
from leaguekit.protocol.patterns import valid
from tests.samples import samples_of

MOMENT = datetime(2025, 1, 15, 10, 30, tzinfo=UTC)


def accepted(text: str) -> bool:
    return valid(Timestamp, text)


VALID = (
    pytest.param("2025-01-15T10:30:00Z", MOMENT, marks=pytest.mark.proves("003-L0105", "000-L1408", "004-L0582")),
    pytest.param("2025-01-15T10:30:00+00:00", MOMENT, marks=pytest.mark.proves("003-L0106", "000-L1413")),
    pytest.param("20250115T10:30:00Z", MOMENT, marks=pytest.mark.proves("000-L1409")),
    pytest.param("20250115T10:30:00+00:00", MOMENT, marks=pytest.mark.proves("000-L1409", "000-L1413")),
    ("20250115T103000Z", MOMENT),
    ("2025-01-15T103000Z", MOMENT),
    ("2025-01-15T10:30:00.5Z", MOMENT.replace(microsecond=500_000)),
    ("2025-01-15T10:30:00.250Z", MOMENT.replace(microsecond=250_000)),
    ("2025-01-15T10:30:00.123456+00:00", MOMENT.replace(microsecond=123_456)),
    ("2025-01-15T10:30:00.123456789Z", MOMENT.replace(microsecond=123_456)),
    ("20250115T103000.000000001Z", MOMENT),
    ("2024-02-29T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ("2000-02-29T23:59:59Z", datetime(2000, 2, 29, 23, 59, 59, tzinfo=UTC)),
    ("20240229T00:00:00Z", datetime(2024, 2, 29, tzinfo=UTC)),
    ("2025-12-31T23:59:59Z", datetime(2025, 12, 31, 23, 59, 59, tzinfo=UTC)),
    ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ("9999-12-31T23:59:59Z", datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC)),
)
ZONES = pytest.mark.proves("003-L0107", "000-L1414", "000-L1232", "003-L0110")
INVALID = (
    pytest.param("2025-01-15T10:30:00+02:00", marks=ZONES),
    pytest.param("2025-01-15T10:30:00-05:00", marks=ZONES),
    pytest.param("2025-01-15T10:30:00+00:01", marks=ZONES),
    pytest.param("20250115T10:30:00+02:00", marks=ZONES),
    pytest.param("2025-01-15T10:30:00", marks=pytest.mark.proves("003-L0108", "000-L1412")),
    "2025-01-15T10:30:00-00:00",
    "2025-01-15T10:30:00+0000",
    "2025-01-15T10:30:00+00",
    "2025-01-15T10:30:00z",
    "2025-01-15t10:30:00Z",
    "2025-01-15T10:30:00ZZ",
    "2025-01-15T10:30:00Z+00:00",
    "2025-01-15T10:30:00 Z",
    "2025-01-15T10:30:00UTC",
    "2025-01-15 10:30:00Z",
    pytest.param("2025-01-15T10:30Z", marks=pytest.mark.proves("000-L1408")),
    pytest.param("2025-01-15", marks=pytest.mark.proves("000-L1408")),
    pytest.param("10:30:00Z", marks=pytest.mark.proves("000-L1408")),
    "2025-0115T10:30:00Z",
    "202501-15T10:30:00Z",
    "2025-01-15T10:3000Z",
    "2025-01-15T1030:00Z",
    "2025-1-15T10:30:00Z",
    "25-01-15T10:30:00Z",
    "02025-01-15T10:30:00Z",
    "2025-W03-3T10:30:00Z",
    "2025-015T10:30:00Z",
    "2025-01-15T24:00:00Z",
    "2025-01-15T23:60:00Z",
    "2025-01-15T23:59:60Z",
    "2025-01-15T10:30:00.Z",
    "2025-01-15T10:30:00,5Z",
    "2025-01-15T10:30:00.1234567890Z",
    "2025-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "20250229T00:00:00Z",
    "2100-02-29T00:00:00Z",
    "0000-02-29T00:00:00Z",
    "2024-02-30T00:00:00Z",
    "2025-04-31T00:00:00Z",
    "2025-01-32T00:00:00Z",
    "2025-01-00T00:00:00Z",
    "2025-00-15T00:00:00Z",
    "2025-13-15T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "٢٠٢٥-01-15T10:30:00Z",
    " 2025-01-15T10:30:00Z",
    "2025-01-15T10:30:00Z ",
    "2025-01-15T10:30:00Z\n",
    "1736937000",
    "now",
    "",
)


@pytest.mark.proves("000-L1406", "004-L0581", "001-L1867", "003-L0099")
@pytest.mark.parametrize(("text", "moment"), VALID)
def test_a_valid_timestamp_is_taken_and_names_its_moment(text, moment):
    assert accepted(text)
    assert times.parse_timestamp(text) == moment
    assert times.parse_timestamp(text).utcoffset() == timedelta(0)


@pytest.mark.proves("000-L1406", "004-L0581", "001-L1867", "003-L0099", "000-L1534", "002-L0297")
@pytest.mark.parametrize("text", INVALID)
def test_an_invalid_timestamp_is_refused_with_e021(text):
    message = json.loads(encode(samples_of("LEAGUE_QUERY")[0])) | {"timestamp": text}
    with pytest.raises(InvalidMessage) as caught:
        decode(json.dumps(message).encode())
    assert caught.value.code == "E021"
    assert [one.path for one in caught.value.violations] == ["timestamp"]


@pytest.mark.parametrize("value", [1736937000, 1.5, True, [], {}])
def test_a_timestamp_that_is_no_text_is_refused_with_e021(value):
    message = json.loads(encode(samples_of("LEAGUE_QUERY")[0])) | {"timestamp": value}
    with pytest.raises(InvalidMessage) as caught:
        decode(json.dumps(message).encode())
    assert caught.value.code == "E021"


@pytest.mark.parametrize(
    ("message_type", "field"),
    [
        pytest.param("GAME_JOIN_ACK", "arrival_timestamp", marks=pytest.mark.proves("000-L0612", "000-L0622")),
        pytest.param("CHOOSE_PARITY_CALL", "deadline", marks=pytest.mark.proves("000-L0790")),
        ("GAME_MOVE_CALL", "deadline"),
    ],
)
@pytest.mark.parametrize("text", ["2025-01-15T10:30:00+02:00", "2025-01-15T10:30:00"])
def test_every_other_time_of_a_message_is_in_utc_too(message_type, field, text):
    message = json.loads(encode(samples_of(message_type)[0]))
    assert message[field].endswith("Z")
    with pytest.raises(InvalidMessage) as caught:
        decode(json.dumps(message | {field: text}).encode())
    assert [(one.path, one.code) for one in caught.value.violations] == [(field, "E021")]


@pytest.mark.proves("000-L1412", "000-L1588", "004-L0582", "003-L0099")
@pytest.mark.parametrize(
    "moment",
    [
        MOMENT,
        MOMENT.replace(microsecond=999_999),
        MOMENT.astimezone(timezone(timedelta(hours=2))),
        MOMENT.astimezone(timezone(timedelta(hours=-5, minutes=-30))),
    ],
)
def test_a_moment_of_any_zone_is_written_in_utc_to_the_second(moment):
    assert times.format_timestamp(moment) == "2025-01-15T10:30:00Z"


def test_a_year_is_written_with_four_digits():
    assert times.format_timestamp(datetime(999, 1, 1, tzinfo=UTC)) == "0999-01-01T00:00:00Z"


ZONE = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@pytest.mark.proves("000-L1588", "004-L0582")
@given(st.datetimes(min_value=datetime(1000, 1, 2), max_value=datetime(9999, 12, 30), timezones=ZONE))  # noqa: DTZ001
def test_what_is_written_is_valid_and_reads_as_the_same_second(moment):
    text = times.format_timestamp(moment)
    assert accepted(text)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text)
    assert times.parse_timestamp(text) == moment.astimezone(UTC).replace(microsecond=0)


@pytest.mark.parametrize("year", [1, 1969, 1999, 2025, 2105, 2106, 2107, 2242, 9999])
def test_the_last_microsecond_of_a_second_is_of_that_second(year):
    for month, day, clock in ((12, 31, (23, 59, 59)), (2, 7, (6, 28, 15))):
        moment = datetime(year, month, day, *clock, 999_999, tzinfo=UTC)
        assert (
            times.format_timestamp(moment)
            == f"{year:04}-{month:02}-{day:02}T{clock[0]:02}:{clock[1]:02}:{clock[2]:02}Z"
        )


@given(st.from_regex(times.PATTERN, fullmatch=True))
@example("0004-02-29T00:00:00.000000000+00:00")
@example("99961231T235959Z")
def test_whatever_matches_the_pattern_can_be_read(text):
    assert accepted(text)
    moment = times.parse_timestamp(text)
    assert moment.utcoffset() == timedelta(0)
    assert re.sub(r"\D", "", text)[:14] == f"{moment.year:04}{moment:%m%d%H%M%S}"


@given(st.integers(1, 9999), st.integers(0, 14), st.integers(0, 33))
def test_exactly_the_days_that_exist_are_taken(year, month, day):
    try:
        datetime(year, month, day, tzinfo=UTC)
        exists = True
    except ValueError:
        exists = False
    assert accepted(f"{year:04}-{month:02}-{day:02}T00:00:00Z") == exists
    assert accepted(f"{year:04}{month:02}{day:02}T00:00:00Z") == exists


@pytest.mark.parametrize("year", [1600, 1700, 1800, 1900, 2000, 2004, 2023, 2024, 2096, 2100, 2400, 4, 100, 400])
def test_leap_days_are_those_of_the_calendar(year):
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    assert accepted(f"{year:04}-02-29T12:00:00Z") == is_leap
