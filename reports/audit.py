"""Known vulnerabilities of what is locked: the reports of two services as one record, which is then read offline."""

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from packaging.utils import canonicalize_name

FORMAT = "xerte audit 1"
UNANSWERED = "the advisory service did not answer; `make audit` asks again, where it can be reached"


def record(
    lock: Mapping[str, str], pip: Mapping[str, Any], viewer: Mapping[str, str], npm: Mapping[str, Any]
) -> dict[str, Any]:
    """What pip-audit and npm audit found out about the locked packages; null is a package nobody looked at."""
    return {
        "format": FORMAT,
        "date": dt.datetime.now(dt.UTC).date().isoformat(),
        "python": {"packages": dict(lock), "found": _python(lock, pip)},
        "viewer": {"packages": dict(viewer), "found": _viewer(npm)},
    }


def _python(lock: Mapping[str, str], report: Mapping[str, Any]) -> dict[str, list[str] | None]:
    """Advisories by package. pip-audit skips what its service does not know, and then says it found nothing."""
    entries = {canonicalize_name(entry["name"]): entry for entry in report["dependencies"]}
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


def problems(record: Mapping[str, Any], lock: Mapping[str, str], viewer: Mapping[str, str]) -> list[str]:
    """What a record says against the locks, a line each: vulnerabilities, and what was not audited."""
    python, web = record["python"], record["viewer"]
    said = [f"{name} {lock[name]}: {one}" for name in lock for one in python["found"].get(name) or ()]
    changed = [name for name, version in lock.items() if python["packages"].get(name) != version]
    unseen = [name for name in lock if name not in changed and python["found"].get(name) is None]
    if changed:
        said.append(f"{len(changed)} Python packages are locked anew since the audit: {', '.join(changed)[:200]}")
    if unseen:
        said.append(f"{len(unseen)} of {len(lock)} Python packages were not audited: {UNANSWERED}")
    if web["found"] is None:
        said.append(f"the viewer's {len(viewer)} packages were not audited: {UNANSWERED}")
    elif web["packages"] != viewer:
        said.append("the viewer's packages are locked anew since the audit")
    return said + [f"{name}: {one}" for name, all in (web["found"] or {}).items() for one in all]


def read_viewer_lock(text: str) -> dict[str, str]:
    """Versions by name, of web/package-lock.json."""
    packages = json.loads(text)["packages"]
    return {path.rpartition("node_modules/")[2]: one["version"] for path, one in packages.items() if path}
