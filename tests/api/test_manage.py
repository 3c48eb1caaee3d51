"""Datasets renamed, removed, merged where they are kept."""

from pathlib import Path

import pytest

import xerte
from xerte.api import manage
from xerte.api.imports import import_events
from xerte.errors import InputError

ROWS = "subject,relation,object,time\nIRAN,r,Oman,2024-01-01\nIran,r,Oman,2024-01-02\nOman,r,Iran,2024-01-03\n"


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    (tmp_path / "e.csv").write_text(ROWS)
    taken = import_events(tmp_path / "e.csv", "mine", keep=["relation"])
    assert "1 group of entities looks alike" in " ".join(finding.text for finding in taken.findings)


def test_a_dataset_is_renamed_and_removed() -> None:
    before = xerte.load("mine")
    manage.rename("mine", "yours")
    after = xerte.load("yours")
    assert (after.name, len(after.facts), list(after.extras)) == ("yours", len(before.facts), ["relation"])
    with pytest.raises(InputError, match="no dataset and no folder is called mine"):
        manage.rename("mine", "theirs")
    with pytest.raises(InputError, match=r"'../x' is not a valid dataset name"):
        manage.rename("yours", "../x")
    manage.remove("yours")
    with pytest.raises(InputError, match="no dataset called yours is kept here"):
        manage.remove("yours")
    with pytest.raises(InputError, match="no dataset called world is kept here"):
        manage.remove("world")


def test_a_name_that_is_taken_is_not_overwritten(tmp_path: Path) -> None:
    import_events(tmp_path / "e.csv", "other")
    with pytest.raises(InputError, match="other exists already"):
        manage.rename("mine", "other")
    assert xerte.load("mine").name == "mine"


def test_names_are_merged_and_apart_again() -> None:
    merged, absent = manage.merge("mine", {"IRAN": "Iran", "Persia": "Iran"})
    assert (dict(merged.entities.aliases), absent) == ({"IRAN": "Iran"}, ["Persia"])
    assert xerte.load("mine").entities.id("IRAN") == xerte.load("mine").entities.id("Iran")
    with pytest.raises(InputError, match="in a circle"):
        manage.merge("mine", {"Iran": "IRAN"})
    with pytest.raises(InputError, match="has no entity 'Persia'"):
        manage.merge("mine", {"Persia": "Iran"})
    apart = manage.unmerge("mine")
    assert apart.entities.id("IRAN") != apart.entities.id("Iran")


def test_aliases_at_import(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("alias,name\nIRAN,Iran\nPersia,Iran\n")
    taken = import_events(tmp_path / "e.csv", "merged", aliases=tmp_path / "a.csv")
    assert list(taken.dataset.entities) == ["Iran", "Oman"]
    told = [finding.text for finding in taken.findings]
    assert "1 alias was merged, which can be undone" in told
    assert "1 alias is in no row, like 'Persia'" in told
    assert not any("look alike" in text for text in told)
    assert list(manage.unmerge("merged").entities) == ["Iran", "Oman", "IRAN"]


def told(name: str) -> list[tuple[str, ...]]:
    """Every fact in names and what it is called in the log, earliest first."""
    dataset = xerte.load(name)
    rows = zip(*(column.tolist() for column in dataset.facts.columns()), strict=True)
    return sorted((dataset.calendar.format(time), dataset.entities[s], dataset.entities[o]) for s, _, o, time in rows)


def test_a_dataset_that_grew_is_merged_apart_again_and_renamed(tmp_path: Path) -> None:
    def event(subject: str, day: int) -> dict[str, str]:
        return {"subject": subject, "relation": "r", "object": "Oman", "time": f"2024-01-{day:02}", "id": f"e{day}"}

    xerte.load("mine").append([event("IRAN", 4), event("Iran", 5)])
    before = told("mine")
    merged, _ = manage.merge("mine", {"IRAN": "Persia", "Iran": "Persia"})
    assert "Persia" in merged.entities
    assert {name for fact in told("mine") for name in fact[1:]} == {"Persia", "Oman"}
    grown = xerte.load("mine").append([event("IRAN", 6), event("Zoe", 7), event("Iran", 8)])
    assert [fact[1] for fact in told("mine")[-3:]] == ["Persia", "Zoe", "Persia"], "an alias is its entity"
    grown.retract("e4").retract(("Persia", "r", "Oman", "2024-01-05"))
    xerte.api.live.compact("mine")
    assert not {"2024-01-04", "2024-01-05"} & {fact[0] for fact in told("mine")}, "an alias is named by its name"
    assert (tmp_path / "home/datasets/mine/events.sqlite").exists()
    manage.rename("mine", "yours")
    assert xerte.load("yours").name == "yours"
    assert [one["action"] for one in xerte.api.live.versions("yours", "e4")] == ["add", "retract"]
    manage.unmerge("yours")
    assert told("yours")[:3] == [fact for fact in before if fact[0] not in ("2024-01-04", "2024-01-05")]
    assert xerte.load("yours").append([event("Ann", 9)]).entities.id("Ann") == len(xerte.load("yours").entities) - 1
    with pytest.raises(InputError, match="mine"):
        xerte.load("mine")
