"""The wheel: what is known by name in a clone is known by name where the package is installed."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_pretrained_models_are_found_by_name_from_the_wheel(tmp_path: Path) -> None:
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    quiet = {**os.environ, "XERTE_NO_VIEWER": "1"}
    subprocess.run(built, cwd=ROOT, env=quiet, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "installed")
    listed = subprocess.run(
        [sys.executable, "-m", "xerte", "model", "list", "--json"],
        cwd=tmp_path,
        env={**quiet, "PYTHONPATH": str(tmp_path / "installed"), "XERTE_HOME": str(tmp_path / "home")},
        check=True,
        capture_output=True,
        text=True,
    )
    made = ("recurrence", "oracle")  # they need no weights
    found = {one["name"]: one for one in json.loads(listed.stdout) if one["name"] not in made}
    assert set(found) == {state.parent.name for state in (ROOT / "pretrained").glob("*/state.json")}
    assert all(one["folder"].startswith(str(tmp_path / "installed")) for one in found.values())
    assert all(one["test_mrr"] > 0 for one in found.values())
