"""What the package is built on: a lock of every version, licences, and a wheel made twice."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
LOCK, LICENCES = ROOT / "lock.txt", ROOT / "docs" / "licences.md"
EXTRAS = ("bench", "cluster", "excel", "explain", "fast", "postgres", "serve", "sign", "tensorboard")
"""What users install; tools of development are not shipped."""
PERMISSIVE = re.compile(r"MIT|BSD|Apache|ISC|PSF|Python Software Foundation|Zlib|HPND|MPL|Unlicense|LGPL|0BSD|CC0")
_HEAD = (
    "# Every version the tests ran with, for users' installs: pip install -c lock.txt xerte. Written by `make lock`.\n"
)


def installed(project: Mapping[str, Any]) -> dict[str, str]:
    """The closure of what the package needs, with every extra of `EXTRAS`: versions by name, as installed here."""
    optional = project["optional-dependencies"]
    waiting = [*project["dependencies"], *(line for extra in EXTRAS for line in optional.get(extra, ()))]
    seen: dict[tuple[str, frozenset[str]], None] = {}
    found: dict[str, str] = {}
    while waiting:
        wanted = Requirement(waiting.pop())
        name, extras = canonicalize_name(wanted.name), frozenset(wanted.extras)
        if (name, extras) in seen:
            continue
        seen[name, extras] = None
        try:
            here = distribution(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed, or of another system
        found[name] = here.version
        for line in here.requires or ():
            marker = Requirement(line).marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in ("", *extras)):
                waiting.append(line)
    return dict(sorted(found.items()))


def read_lock(text: str) -> dict[str, str]:
    """Versions by name."""
    lines = (line.partition("==") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: version for name, _, version in lines}


def write_lock(versions: Mapping[str, str]) -> str:
    """The text of a lock."""
    return _HEAD + "".join(f"{name}=={version}\n" for name, version in versions.items())


def licence(name: str) -> str:
    """What a package says its licence is, in a few words; where its metadata do not, the title of its licence file."""
    here = distribution(name)
    about: Any = here.metadata
    classified = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier") or () if "License ::" in line]
    said = about.get("License-Expression") or " / ".join(classified) or about.get("License") or ""
    for file in () if said else here.files or ():
        if file.name.upper().startswith("LICEN"):
            said = said or file.read_text()
    if "Permission is hereby granted, free of charge" in said:
        return "MIT"
    return next((line.strip()[:60] for line in said.splitlines() if line.strip()), "unknown")


def licences_page(names: Iterable[str]) -> str:
    """The page of licences."""
    rows = "".join(f"| {name} | {licence(name)} |\n" for name in names)
    return (
        "# Licences\n\nxerte is under the MIT licence. What it is built on, with every extra that users install; "
        "`make lock` writes this page.\n\n| package | licence |\n|---|---|\n" + rows
    )


def same_twice() -> str:
    """The SHA-256 of the wheel; ValueError where a copy of the tree, with other times of its files, gives another."""
    found = set()
    for year in (2001, 2020):
        with tempfile.TemporaryDirectory() as place:
            tree = Path(place) / "tree"
            for name in ("src", "pretrained"):
                shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py"):
                shutil.copy(ROOT / name, tree / name)
            for path in tree.rglob("*"):
                os.utime(path, (year * 31_556_952 - 62_167_219_200,) * 2)
            command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tree / "dist")]
            environment = os.environ | {"XERTE_NO_VIEWER": "1"}
            subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True)  # noqa: S603
            found.add(hashlib.sha256(next((tree / "dist").glob("*.whl")).read_bytes()).hexdigest())
    if len(found) > 1:
        raise ValueError("the wheel is not the same twice")
    return found.pop()
