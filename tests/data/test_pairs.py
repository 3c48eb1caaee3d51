"""Labels of codes, and what a file of pairs may look like."""

from pathlib import Path

import pytest

from small_tables import HEADER, named, read
from xerte.errors import InputError

ROWS = HEADER + "USA,043,IRN,2024-01-01\nUSA,042,IRN,2024-01-02\nIRN,99,USA,2024-01-03\n"


def test_codes_are_called_by_their_labels(tmp_path: Path) -> None:
    (tmp_path / "cameo.tsv").write_text(
        "code\tlabel\textra\n043\tHost a visit\tx\n042\tMake a visit\ty\n7\tunused\tz\n"
    )
    log = read(tmp_path, ROWS, labels=tmp_path / "cameo.tsv", entity_labels={"USA": "United States"})
    assert named(log) == [
        ("United States", "Host a visit", "IRN", "2024-01-01"),
        ("United States", "Make a visit", "IRN", "2024-01-02"),
        ("IRN", "99", "United States", "2024-01-03"),
    ]
    assert list(log.relations) == ["99", "Host a visit", "Make a visit"], "in byte order, as ever"
    told = [finding.text for finding in log.report.findings]
    assert told == ["1 name has no label: 99", "1 name has no label: IRN"]


def test_titles_tell_which_column_is_which(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("label,code\nHost a visit,043\n")
    assert "Host a visit" in read(tmp_path, ROWS, labels=tmp_path / "l.csv").relations


def test_two_codes_may_mean_the_same(tmp_path: Path) -> None:
    log = read(tmp_path, ROWS, labels={"043": "visit", " 042": "no", "042": "visit"})
    assert list(log.relations) == ["99", "visit"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a\nb\n", "has one column"),
        ("code,label\n", "holds no pairs"),
        ("1,a\n1,b\n", "line 2: '1' means 'b' here and 'a' before"),
        ("1,a\n2,\n", "line 2, column 2: nothing there"),
        ('1,"a\n', "the quotes of the first row"),
    ],
)
def test_a_bad_file_of_pairs(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "l.csv").write_text(text)
    with pytest.raises(InputError, match=why):
        read(tmp_path, ROWS, labels=tmp_path / "l.csv")
