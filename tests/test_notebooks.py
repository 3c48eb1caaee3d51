"""The notebooks run, and hold what they print."""

import json
from pathlib import Path
from typing import Any

import pytest

from reports.notebooks import executed, notebooks

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("file", notebooks(ROOT), ids=lambda file: file.stem)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Jupyter's own
def test_a_notebook_runs(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path))
    kept = json.loads(file.read_text("utf-8"))["cells"]
    results = _results(executed(file).cells)
    assert results == _results(kept), "run `make notebooks`"
    assert all(cell["execution_count"] for cell in kept if cell["cell_type"] == "code"), "run `make notebooks`"


def _results(cells: Any) -> list[str]:
    """What cells end with: sizes and answers, which are the same on every machine; what they print may vary."""
    outputs = [one for cell in cells for one in cell.get("outputs", []) if one["output_type"] == "execute_result"]
    return ["".join(one["data"]["text/plain"]) for one in outputs]
