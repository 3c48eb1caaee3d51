"""The lock names what the package needs, licences are permissive, audits are read, wheels are the same bytes twice."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from reports import audit, supply
from reports.cli import app

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
    read = audit.verdict(made, {"a-b": "1"}, {})
    found = [*read.vulnerable, *read.unknown]
    assert read.looked == (0 if read.unknown else 1)
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
    read = audit.verdict(made, {}, {"x": "1"})
    assert [*read.vulnerable, *read.unknown] == said


def test_an_audit_of_other_versions_says_so() -> None:
    report = {"dependencies": [{"name": "a", "version": "1", "vulns": []}]}
    made = audit.record({"a": "1"}, report, {"x": "1"}, {"vulnerabilities": {}})
    found = audit.verdict(made, {"a": "2"}, {"x": "2"}).unknown
    assert [text.partition(" have been locked again")[0] for text in found] == [
        "1 Python packages",
        "1 of the viewer's packages",
    ]


def test_an_audit_says_what_is_known_and_what_is_not() -> None:
    lock, viewer = {"a": "1", "b": "1"}, {"x": "1"}
    pip = {"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}]}
    known = audit.record(lock, pip, viewer, {})
    said = audit.verdict(known, lock, viewer).summary()
    assert said == "1 of 3 locked packages were checked, advisories known: 1; nothing is known about the other 2"
    unanswered = audit.record(lock, {}, viewer, {"vulnerabilities": {}}, known)
    said = audit.verdict(unanswered, lock, viewer).summary()
    assert said == "2 of 3 locked packages were checked, advisories known: 1; nothing is known about the other 1"


def test_reports_from_another_machine_are_recorded_and_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    viewer = audit.read_viewer_lock((supply.ROOT / "web" / "package-lock.json").read_text("utf-8"))
    clean = [{"name": name, "version": version, "vulns": []} for name, version in LOCK.items()]
    (tmp_path / "pip.json").write_text(json.dumps({"dependencies": clean, "fixes": []}))
    words = ["audit", "--reports", str(tmp_path), "--file", str(tmp_path / "audit.json")]
    assert run(words, capsys) == (1, f"nothing is known about the other {len(viewer)}")
    (tmp_path / "pip.json").unlink()
    (tmp_path / "npm.json").write_text(json.dumps({"vulnerabilities": {}}))
    code, said = run(words, capsys)
    assert (code, said.rpartition(", ")[2]) == (0, "advisories known: 0")
    (tmp_path / "npm.json").write_text("<html>")
    assert run(words, capsys)[0] == 2


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and what the last line ends with."""
    with pytest.raises(SystemExit) as ended:
        app(words)
    return int(ended.value.code or 0), capsys.readouterr().out.strip().rpartition("; ")[2]


def test_the_wheel_is_the_same_bytes_twice() -> None:
    assert len(supply.same_twice()) == 64
