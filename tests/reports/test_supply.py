"""The lock names what the package needs, licences are permissive, audits are read, wheels are the same bytes twice."""

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports import audit, supply

LOCK = supply.read_lock(supply.LOCK.read_text("utf-8"))
PROJECT = tomllib.loads((supply.ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def test_the_lock_names_every_dependency_in_a_version_that_fits() -> None:
    wanted = [
        *PROJECT["dependencies"],
        *(one for extra in supply.EXTRAS for one in PROJECT["optional-dependencies"][extra]),
    ]
    for line in wanted:
        requirement = Requirement(line)
        assert requirement.specifier.contains(LOCK[canonicalize_name(requirement.name)], prereleases=True), line
    assert supply.read_lock(supply.write_lock(LOCK)) == LOCK


def test_every_licence_lets_users_use_it() -> None:
    rows = supply.LICENCES.read_text("utf-8").partition("|---|---|\n")[2].splitlines()
    listed = dict(row.strip("| ").split(" | ", 1) for row in rows)
    assert listed.keys() == LOCK.keys()
    assert [(name, text) for name, text in listed.items() if not supply.PERMISSIVE.search(text)] == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"name": "A.b", "version": "1", "vulns": []}, []),
        ({"name": "a-b", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}, ["a-b 1: X-1, fixed in"]),
        ({"name": "a-b", "version": "2", "vulns": []}, ["1 of 1 Python packages were not audited"]),
        ({"name": "a-b", "skip_reason": "not found"}, ["1 of 1 Python packages were not audited"]),
        ({"name": "other", "version": "1", "vulns": []}, ["1 of 1 Python packages were not audited"]),
    ],
)
def test_what_an_audit_found_or_left_out_is_told(entry: dict[str, Any], said: list[str]) -> None:
    made = audit.record({"a-b": "1"}, {"dependencies": [entry]}, {}, {"vulnerabilities": {}})
    found = audit.problems(made, {"a-b": "1"}, {})
    assert len(found) == len(said)
    assert all(text.startswith(start) for text, start in zip(found, said, strict=True))


@pytest.mark.parametrize(
    ("report", "said"),
    [
        ({"vulnerabilities": {}}, []),
        ({"vulnerabilities": {"x": {"severity": "high", "range": "<2"}}}, ["x: high, <2"]),
        ({"message": "405"}, [f"the viewer's 1 packages were not audited: {audit.UNANSWERED}"]),
    ],
)
def test_an_audit_of_the_viewer_is_read(report: dict[str, Any], said: list[str]) -> None:
    made = audit.record({}, {"dependencies": []}, {"x": "1"}, report)
    assert audit.problems(made, {}, {"x": "1"}) == said


def test_an_audit_of_other_versions_says_so() -> None:
    report = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
    made = audit.record({"a": "1"}, report, {"x": "1"}, {"vulnerabilities": {}})
    found = audit.problems(made, {"a": "2"}, {"x": "2"})
    assert [text.partition(" are locked anew")[0] for text in found] == ["1 Python packages", "the viewer's packages"]


def test_the_wheel_is_the_same_bytes_twice() -> None:
    assert len(supply.same_twice()) == 64
