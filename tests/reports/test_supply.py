"""The lock names what the package needs, licences are permissive, audits are read, wheels are the same bytes twice."""

import tomllib
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports import supply

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
        ({"name": "a-b", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}, ["a-b 1: X-1"]),
        ({"name": "a-b", "version": "2", "vulns": []}, ["a-b 1 was not audited"]),
        ({"name": "a-b", "skip_reason": "not found"}, ["a-b 1 was not audited: not found"]),
        ({"name": "other", "version": "1", "vulns": []}, ["a-b 1 was not audited: it is not in the report"]),
    ],
)
def test_what_an_audit_found_or_left_out_is_told(entry: dict[str, Any], said: list[str]) -> None:
    found = supply.vulnerabilities({"a-b": "1"}, {"dependencies": [entry]})
    assert len(found) == len(said)
    assert all(text.startswith(start) for text, start in zip(found, said, strict=True))


def test_an_audit_of_the_viewer_is_read() -> None:
    assert supply.npm_vulnerabilities({"vulnerabilities": {}}) == []
    assert supply.npm_vulnerabilities({"vulnerabilities": {"x": {"severity": "high", "range": "<2"}}}) == [
        "x: high, <2"
    ]
    assert supply.npm_vulnerabilities({"message": "405"}) == ["npm audit gave no report: 405"]


def test_the_wheel_is_the_same_bytes_twice() -> None:
    assert len(supply.same_twice()) == 64
