"""Known vulnerabilities of what is locked: the reports of two services as one record, which is then read offline."""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from xerte.errors import InputError

FORMAT = "xerte audit 1"
UNANSWERED = "the advisory service did not answer; `make audit` asks again, where it can be reached"


def record(
    lock: Mapping[str, str],
    pip: Mapping[str, Any],
    viewer: Mapping[str, str],
    npm: Mapping[str, Any],
    before: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What pip-audit and npm audit found out about the locked packages; null is a package nobody looked at.

    A report without any answer ({}, or what a tool writes when its service cannot be reached) takes nothing away: what
    the record before says stays, with its date and the versions it was said about.
    """
    today = dt.datetime.now(dt.UTC).date().isoformat()
    asked = _python(lock, pip)
    python = {"date": today, "packages": dict(lock), "found": asked}
    web = {"date": today, "packages": dict(viewer), "found": _viewer(npm)}
    if before is not None and not any(one is not None for one in asked.values()):
        python = {"date": before["date"], **before["python"]}
    if before is not None and web["found"] is None:
        web = {"date": before["date"], **before["viewer"]}
    return {"format": FORMAT, "date": today, "python": python, "viewer": web}


def _python(lock: Mapping[str, str], report: Mapping[str, Any]) -> dict[str, list[str] | None]:
    """Advisories by package. pip-audit skips what its service does not know, and then says it found nothing."""
    entries = {canonicalize_name(entry["name"]): entry for entry in report.get("dependencies", ())}
    found: dict[str, list[str] | None] = {}
    for name, version in lock.items():
        entry = entries.get(canonicalize_name(name), {})
        looked = entry.get("version") == version
        found[name] = [f"{one['id']}, fixed in {one['fix_versions']}" for one in entry["vulns"]] if looked else None
    return found


def _viewer(report: Mapping[str, Any]) -> dict[str, list[str]] | None:
    """Advisories by package; None where npm got no answer."""
    if "vulnerabilities" not in report:
        return None
    return {name: [f"{one.get('severity')}, {one.get('range')}"] for name, one in report["vulnerabilities"].items()}


@dataclass(frozen=True)
class Verdict:
    """What a record says about the locks.

    Attributes:
        looked: locked packages that somebody looked at in this version.
        locked: all of them.
        vulnerable: a line for each advisory.
        unknown: a line for each group of packages that nobody looked at.
    """

    looked: int
    locked: int
    vulnerable: list[str]
    unknown: list[str]

    def summary(self) -> str:
        """What is known and what is not, in one line."""
        left = self.locked - self.looked
        known = f"{self.looked} of {self.locked} locked packages were checked, advisories known: {len(self.vulnerable)}"
        return f"{known}; nothing is known about the other {left}" if left else known


def verdict(record: Mapping[str, Any], lock: Mapping[str, str], viewer: Mapping[str, str]) -> Verdict:
    """Reads a record: known vulnerabilities, and what was not audited in the version that is locked."""
    python, web = record["python"], record["viewer"]
    vulnerable = [f"{name} {lock[name]}: {one}" for name in lock for one in python["found"].get(name) or ()]
    vulnerable += [f"{name}: {one}" for name, all in (web["found"] or {}).items() for one in all]
    changed = [name for name, version in lock.items() if python["packages"].get(name) != version]
    unseen = [name for name in lock if name not in changed and python["found"].get(name) is None]
    unknown = []
    if changed:
        unknown.append(
            f"{len(changed)} Python packages have been locked again since the audit: {', '.join(changed)[:200]}"
        )
    if unseen:
        unknown.append(f"{len(unseen)} of {len(lock)} Python packages were not audited: {UNANSWERED}")
    if web["found"] is None:
        fresh = list(viewer)
        unknown.append(f"the viewer's {len(viewer)} packages were not audited: {UNANSWERED}")
    else:
        fresh = [name for name, version in viewer.items() if web["packages"].get(name) != version]
        if fresh:
            unknown.append(f"{len(fresh)} of the viewer's packages have been locked again since the audit")
    looked = len(lock) - len(changed) - len(unseen) + len(viewer) - len(fresh)
    return Verdict(looked, len(lock) + len(viewer), vulnerable, unknown)


def read_viewer_lock(text: str) -> dict[str, str]:
    """Versions by name, of web/package-lock.json."""
    packages = json.loads(text)["packages"]
    return {path.rpartition("node_modules/")[2]: one["version"] for path, one in packages.items() if path}


def read_report(path: Path) -> dict[str, Any]:
    """What a tool wrote; empty where there is no such file, or nothing in it.

    Raises:
        InputError: it is no JSON object.
    """
    text = path.read_text("utf-8") if path.exists() else ""
    try:
        report = json.loads(text or "{}")
    except ValueError as error:
        raise InputError(f"{path} is no report of an audit: {error}") from None
    if not isinstance(report, dict):
        raise InputError(f"{path} is no report of an audit: it holds no JSON object")
    return report
