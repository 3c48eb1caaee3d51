"""Facts that last: in every unit, at both ends, or at their beginning."""

from pathlib import Path
from typing import Any

import pytest

from small_tables import named, read
from xerte.data import timeline
from xerte.errors import BadRowError, InputError

TERMS = "who,what,where,since,until\na,leads,X,2001,2003\nb,leads,X,2003,\nc,leads,Y,2005,2005\n"
ASKED: dict[str, Any] = {"subject": "who", "relation": "what", "object": "where", "time": "since", "ends": "until"}


def test_a_fact_in_every_unit(tmp_path: Path) -> None:
    log = read(tmp_path, TERMS, **ASKED)
    found = sorted((s, t) for s, _, _, t in named(log))
    assert found == [
        ("a", "2001"),
        ("a", "2002"),
        ("a", "2003"),
        ("b", "2003"),
        ("b", "2004"),
        ("b", "2005"),
        ("c", "2005"),
    ]
    assert list(log.extras["until"])[:3] == ["2003", "2003", "2003"]
    days = "who,what,where,since,until\na,is,X,2024-02-27,2024-03-01\n"
    assert [row[3] for row in named(read(tmp_path, days, **ASKED))] == [
        "2024-02-27", "2024-02-28", "2024-02-29", "2024-03-01"]  # fmt: skip


def test_both_ends_or_the_beginning(tmp_path: Path) -> None:
    assert named(read(tmp_path, TERMS, lasting="both", **ASKED)) == [
        ("a", "leads", "X", "2001"), ("b", "leads", "X", "2003"), ("a", "end of leads", "X", "2003"),
        ("c", "leads", "Y", "2005"), ("c", "end of leads", "Y", "2005")]  # fmt: skip
    begun = read(tmp_path, TERMS, lasting="begin", **ASKED)
    assert [row[3] for row in named(begun)] == ["2001", "2003", "2005"]
    assert list(begun.extras["until"]) == ["2003", "", "2005"]


@pytest.mark.parametrize("until", ["2000", "soon"])
def test_an_end_that_cannot_be_is_a_bad_row(tmp_path: Path, until: str) -> None:
    with pytest.raises(BadRowError) as caught:
        read(tmp_path, TERMS + f"d,leads,X,2001,{until}\n", **ASKED)
    assert (caught.value.line, caught.value.column, caught.value.value) == (5, "until", until)


def test_too_many_facts_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline, "MOST_REPEATED", 6)
    with pytest.raises(InputError, match="the rows last 7 years in all, more than 6"):
        read(tmp_path, TERMS, **ASKED)
