"""Ticks <-> dates."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from xerte.data.calendar import Calendar, Tick
from xerte.errors import InputError

ICEWS14 = Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)
DAYS = Calendar(Tick.DAY, "2014-01-01", Tick.DAY)
SECONDS = Calendar(Tick.SECOND, "2014-01-01", Tick.SECOND)
YAGO = Calendar(Tick.YEAR, "1830", Tick.YEAR)
MONTHS = Calendar(Tick.MONTH, "2014-01", Tick.MONTH)
STEPS = Calendar(Tick.STEP, "", Tick.STEP)


@pytest.mark.parametrize(
    ("calendar", "text", "ticks"),
    [
        (ICEWS14, "2014-11-09", 312 * 24),
        (ICEWS14, " 2014-11-09 ", 312 * 24),
        (ICEWS14, "2014-11-09T13", 312 * 24 + 13),
        (ICEWS14, "2014-11-09 13:00", 312 * 24 + 13),
        (ICEWS14, "2014-11-09T13:00Z", 312 * 24 + 13),
        (ICEWS14, "2014-11-09T13:00+02:00", 312 * 24 + 11),
        (ICEWS14, "2014-11-09T13:30+0530", 312 * 24 + 8),
        (ICEWS14, "2014-11-09T23-05", 313 * 24 + 4),
        (ICEWS14, "2013-12-31T23", -1),
        (DAYS, "2014-11-09", 312),
        (DAYS, "2014-11-09T00:00:00.000", 312),
        (DAYS, "2014-11-09T02:00+02:00", 312),
        (SECONDS, "2014-01-01T00:01:05", 65),
        (YAGO, "1997", 167),
        (YAGO, "1997-01-01", 167),
        (MONTHS, "2015-03", 14),
        (MONTHS, "2015-03-01", 14),
        (STEPS, "-17", -17),
    ],
)
def test_parse(calendar: Calendar, text: str, ticks: int) -> None:
    assert calendar.parse(text) == ticks


@pytest.mark.parametrize(
    ("pattern", "text", "iso"),
    [
        ("", "31.1.2014", "2014-01-31"),
        ("", "01-January-2015", "2015-01-01"),
        ("", "Jan 31, 2014", "2014-01-31"),
        ("", "20140131", "2014-01-31"),
        ("", "2014-1-3", "2014-01-03"),
        ("", "1/31/2014", "2014-01-31"),
        ("%d/%m/%Y", "1/2/2014", "2014-02-01"),
        ("%m/%d/%Y", "1/2/2014", "2014-01-02"),
        ("%m/%d/%Y", "31.1.2014", "2014-01-31"),
        ("%Y week %j", "2014 week 032", "2014-02-01"),
        ("epoch", "1391212800", "2014-02-01"),
        ("epoch-ms", "1391212800000", "2014-02-01"),
        ("", "Sat, 01 Feb 2014 02:00:00 +0200", "2014-02-01"),
    ],
)
def test_a_date_is_read_as_its_table_writes_it_or_where_it_has_one_meaning(pattern: str, text: str, iso: str) -> None:
    calendar = replace(DAYS, pattern=pattern)
    assert calendar.parse(text) == DAYS.parse(iso)
    assert calendar.in_iso(text) == iso
    assert Calendar.from_json(calendar.to_json()).pattern == pattern


@pytest.mark.parametrize(
    ("calendar", "text", "why"),
    [
        (DAYS, "1/2/2014", "'1/2/2014' could be 2014-01-02 or 2014-02-01: write one of these"),
        (DAYS, "1391212800", "write it like 2014-01-01$"),
        (replace(DAYS, pattern="%d/%m/%Y"), "soon", "write it like 2014-01-01 or after the table's pattern, %d/%m/%Y"),
        (replace(DAYS, pattern="epoch"), "9" * 15, "write it like 2014-01-01 or in seconds since 1970"),
        (DAYS, "31.1.2014 13:30", "finer than the times of this dataset, which are days: write 2014-01-31"),
        (DAYS, "Feb 2014", "names no single day"),
    ],
)
def test_a_date_with_no_meaning_or_two_says_what_is_expected(calendar: Calendar, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        calendar.parse(text)


@pytest.mark.parametrize(
    ("calendar", "text", "why"),
    [
        (DAYS, "2014-11-09T13:30", "finer than the times of this dataset, which are days: write 2014-11-09"),
        (DAYS, "2014-11-09T00:00+02:00", "finer"),
        (ICEWS14, "2014-11-09T13:30", "hours: write 2014-11-09T13"),
        (SECONDS, "2014-11-09T13:30:00.5", "finer"),
        (YAGO, "1997-05-03", "years: write 1997"),
        (MONTHS, "2014-11-09", "months: write 2014-11"),
        (DAYS, "2014-02-30", "write it like 2014-01-01"),
        (DAYS, "2014-13", "write it like 2014-01-01"),
        (DAYS, "2014-02", "names no single day: write it like 2014-01-01"),
        (DAYS, "2015", "names no single day"),
        (DAYS, "2014-11-09+02:00", "write it like"),
        (DAYS, "today", "write it like"),
        (DAYS, "NaT", "write it like"),
        (DAYS, "", "write it like"),
        (STEPS, "2014-11-09", "whole numbers"),
        (STEPS, "3000000000", "too far away"),
        (SECONDS, "2444-01-01", "too far away"),
    ],
)
def test_refusals_say_what_to_write(calendar: Calendar, text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        calendar.parse(text)


@pytest.mark.parametrize(
    ("calendar", "ticks", "text"),
    [(ICEWS14, 312 * 24, "2014-11-09"), (ICEWS14, 7, "2014-01-01T07"), (YAGO, 167, "1997"), (STEPS, 5, "5")],
)
def test_format(calendar: Calendar, ticks: int, text: str) -> None:
    assert calendar.format(ticks) == text


@given(
    st.datetimes(datetime(1960, 1, 1), datetime(2060, 1, 1)).map(lambda moment: moment.replace(microsecond=0)),
    st.integers(-14 * 60, 14 * 60),
)
def test_a_zone_is_converted_to_utc(moment: datetime, offset: int) -> None:
    there = moment.replace(tzinfo=timezone(timedelta(minutes=offset)))
    expected = there - datetime(2014, 1, 1, tzinfo=UTC)
    assert SECONDS.parse(there.isoformat()) == expected // timedelta(seconds=1)
    assert SECONDS.parse(moment.isoformat()) == (moment.replace(tzinfo=UTC) - datetime(2014, 1, 1, tzinfo=UTC)) // (
        timedelta(seconds=1)
    )


@given(st.sampled_from([ICEWS14, DAYS, SECONDS, YAGO, MONTHS, STEPS]), st.integers(-1500, 7000))
def test_what_is_formatted_can_be_parsed(calendar: Calendar, ticks: int) -> None:
    assert calendar.parse(calendar.format(ticks)) == ticks


@pytest.mark.parametrize("calendar", [ICEWS14, YAGO, STEPS])
def test_json_round_trip(calendar: Calendar) -> None:
    assert Calendar.from_json(calendar.to_json()) == calendar
