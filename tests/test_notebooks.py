"""The notebooks run, and hold what they print."""

import json
from pathlib import Path

import pytest

from reports.notebooks import executed, notebooks

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("file", notebooks(ROOT), ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own
def test_a_notebook_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path))
    assert any(cell.get("outputs") for cell in executed(file).cells)
    kept = json.loads(file.read_text("utf-8"))["cells"]
    assert all(cell["execution_count"] for cell in kept if cell["cell_type"] == "code"), "run `make notebooks`"
