"""A value is a column, a fixed text, or made of several columns."""

from pathlib import Path

import pytest

from small_tables import HEADER, named, read
from xerte.errors import BadRowError, InputError

GAMES = "winner,loser,cup,round,year,month,day\nAda,Ben,Open,final,2024,3,9\nBen,Cy,Open,semi,2024,3,7\n"
DATE = "{year}-{month}-{day}"


def test_fixed_texts_and_templates(tmp_path: Path) -> None:
    log = read(tmp_path, GAMES, subject="winner", relation="=beats", object="loser", time=DATE)
    assert named(log) == [("Ben", "beats", "Cy", "2024-03-07"), ("Ada", "beats", "Ben", "2024-03-09")]
    log = read(tmp_path, GAMES, subject="winner", relation="beats in {cup}: {4}", object="loser", time=DATE)
    assert list(log.relations) == ["beats in Open: final", "beats in Open: semi"]
    log = read(tmp_path, GAMES, subject="winner", relation="=beats {", object="loser", time=DATE)
    assert list(log.relations) == ["beats {"], "a brace alone is a text"
    line = '{"a": "x", "b": 1.50, "when": "2024-03-09"}\n'
    log = read(tmp_path, line, "e.jsonl", subject="a", relation="{a}-{b}", object="=y", time="when")
    assert named(log) == [("x", "x-1.5", "y", "2024-03-09")]


def test_a_column_called_like_a_template_is_that_column(tmp_path: Path) -> None:
    text = "=a,{b},o,time\ns,r,o,2024-01-01\n"
    log = read(tmp_path, text, subject="=a", relation="{b}", object="o")
    assert named(log) == [("s", "r", "o", "2024-01-01")]


def test_a_template_with_an_empty_column_is_a_bad_row(tmp_path: Path) -> None:
    text = GAMES + "Cy,Ada,,final,2024,3,11\n"
    with pytest.raises(BadRowError, match="nothing there") as caught:
        read(tmp_path, text, subject="winner", relation="{cup}: {round}", object="loser", time=DATE)
    assert (caught.value.line, caught.value.column) == (4, "cup")


def test_values_that_say_nothing(tmp_path: Path) -> None:
    text = HEADER + "a,r,NA,2024-01-01\na,r,b,2024-01-02\nNA,r,b,2024-01-03\n"
    told = [finding.kind for finding in read(tmp_path, text).report.findings]
    assert told == ["empty"], "NA is a name, and that is told"
    with pytest.raises(BadRowError, match="nothing there") as caught:
        read(tmp_path, text, nothing=["NA"], missing_object="skip")
    assert (caught.value.line, caught.value.column) == (4, "subject")
    log = read(tmp_path, text, nothing=["NA"], missing_object="=nobody", bad_rows="skip")
    assert named(log) == [("a", "r", "nobody", "2024-01-01"), ("a", "r", "b", "2024-01-02")]
    skipped = read(tmp_path, text, nothing=["NA"], missing_object="skip", bad_rows="skip").report
    assert (skipped.rows_read, skipped.rows_without_object, skipped.rows_skipped) == (1, 1, 1)


@pytest.mark.parametrize(
    ("relation", "why"),
    [
        ("{cpu}", "no column 'cpu': did you mean cup"),
        ("{9}", "no column 9: its columns are 1 to 7"),
        ("=", "a fixed text follows"),
        ("=<what is done>", "stands for a text of yours: write what is done, like =beats"),
        ("=wins the {cpu}", "fixed text, but has braces"),
        ("=wins the {cup}", "fixed text, but has braces: leave the = out to fill them in"),
        ("9" * 5000, "no column 9999"),
    ],
)
def test_a_column_that_is_not_there(tmp_path: Path, relation: str, why: str) -> None:
    with pytest.raises(InputError, match=why) as caught:
        read(tmp_path, GAMES, subject="winner", relation=relation, object="loser", time=DATE)
    assert len(str(caught.value)) < 300
