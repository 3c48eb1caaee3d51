"""Dates as people write them: found where it can be told, asked for where it cannot."""

from pathlib import Path

import pytest

from small_tables import times
from xerte.errors import BadRowError, InputError

FOUND = [
    (["01-January-2015", "13-March-2015"], ["2015-01-01", "2015-03-13"]),
    (["3/1/2024", "1/31/2024"], ["2024-03-01", "2024-01-31"]),
    (["31.1.2024", "1.3.2024"], ["2024-01-31", "2024-03-01"]),
    (["31/01/24", "01/03/24"], ["2024-01-31", "2024-03-01"]),
    (["2024-1-31", "2024-3-1"], ["2024-01-31", "2024-03-01"]),
    (["Jan 31, 2024", "Mar 1, 2024"], ["2024-01-31", "2024-03-01"]),
    (["Thu Apr 7 15:13:13 2005 -0700", "Fri Apr 8 01:00:00 2005 +0100"],
     ["2005-04-07T22:13:13", "2005-04-08T00:00:00"]),
    (["Mon, 14 May 2001 16:39:00 -0700 (PDT)", "Tue, 15 May 2001 00:39:00 +0000 (GMT)"],
     ["2001-05-14T23:39", "2001-05-15T00:39"]),
    (["2024-01-01 12:00:00 +0200", "2024-01-01 12:00:01 +0000"], ["2024-01-01T10:00:00", "2024-01-01T12:00:01"]),
    (["1/31/2024 3:04 PM", "1/31/2024 11:00 AM"], ["2024-01-31T15:04", "2024-01-31T11:00"]),
    (["March 2024", "May 2024"], ["2024-03", "2024-05"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "understood"), FOUND, ids=[case[0][0] for case in FOUND])
def test_a_pattern_is_found(tmp_path: Path, written: list[str], understood: list[str]) -> None:
    assert times(tmp_path, *written) == understood


@pytest.mark.parametrize(("written", "choices"), [("1/2/2024", "%d/%m/%Y"), ("01-02-2024", "%d-%m-%Y")])
def test_in_doubt_it_asks(tmp_path: Path, written: str, choices: str) -> None:
    month_first = choices.replace("%d", "%x").replace("%m", "%d").replace("%x", "%m")
    with pytest.raises(InputError, match="day or the month comes first") as caught:
        times(tmp_path, written, written.replace("1", "3"))
    assert choices in caught.value.hint
    assert month_first in caught.value.hint
    assert times(tmp_path, written, time_format=choices) == ["2024-02-01"]
    assert times(tmp_path, written, time_format=month_first) == ["2024-01-02"]


def test_what_does_not_follow_the_pattern_is_a_bad_row(tmp_path: Path) -> None:
    with pytest.raises(BadRowError, match=r"not a date like %d\.%m\.%Y") as caught:
        times(tmp_path, "31.1.2024", "1.3.2024", "31.2.2024")
    assert (caught.value.line, caught.value.value) == (4, "31.2.2024")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("%d/%m/%Y", "fits no row: the first time is '2024-01-31'"), ("%Q", "is not a pattern of dates"),
     ("day", "is not a time format: there are iso, .*pattern like %d")],
)  # fmt: skip
def test_a_pattern_that_cannot_be(tmp_path: Path, pattern: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        times(tmp_path, "2024-01-31", time_format=pattern)


def test_a_zone_for_times_that_name_none(tmp_path: Path) -> None:
    summer, winter = "2024-07-01 12:00", "2024-12-01 12:00"
    assert times(tmp_path, summer, winter, time_zone="Europe/Berlin") == ["2024-07-01T10", "2024-12-01T11"]
    assert times(tmp_path, "31.7.2024 12:00", time_zone="Europe/Berlin") == ["2024-07-31T10"]
    assert times(tmp_path, "2024-07-01T12:00+00:00", "2024-07-01T12:00", time_zone="Europe/Berlin") == [
        "2024-07-01T12", "2024-07-01T10"]  # fmt: skip
    assert times(tmp_path, "2024-07-01", time_zone="Europe/Berlin") == ["2024-07-01"], "a day has no zone"
    with pytest.raises(InputError, match="'Mars' is not a time zone"):
        times(tmp_path, summer, time_zone="Mars")
    with pytest.raises(InputError, match="have no time zone"):
        times(tmp_path, "1388534400", time_zone="Europe/Berlin")


def test_numbers_with_an_exponent_are_moments(tmp_path: Path) -> None:
    assert times(tmp_path, "1.388534400E+12", "1.38862080e12") == times(tmp_path, "1388534400", "1388620800")
    assert times(tmp_path, "1.3885E+9", "1.3886E+9", time_format="epoch") == [
        "2013-12-31T14:26:40",
        "2014-01-01T18:13:20",
    ]


def test_a_decimal_comma_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadRowError, match="write a number with a point, not with a comma"):
        times(tmp_path, "1388534400", "1388534401", "1388534402,5", time_format="epoch")
