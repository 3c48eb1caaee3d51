"""What corrections cost: measured by id and by name, and shown where a record tells it."""

import json
from pathlib import Path

import pytest

from benchmarks import live
from reports.live_pages import MEASURED, measured
from reports.table import Table
from xerte.data import store


def test_corrections_are_measured_by_id_and_by_name(tmp_path: Path) -> None:
    found = live.corrections(tmp_path / "named", 1000)
    assert list(found) == ["first", "1 by id", "1 by name"], "too few events for batches of 1,000"
    assert min(found.values()) > 0
    grown = store.open_dataset(tmp_path / "named")
    assert grown.num_entities == live.ENTITIES + 1
    assert len(grown.facts[grown.appended]) >= 84


@pytest.mark.parametrize("told", [True, False])
def test_a_page_shows_corrections_where_its_record_has_them(tmp_path: Path, told: bool) -> None:
    body = json.loads((Path(__file__).parents[2] / MEASURED).read_text())
    body |= {"corrected": 5000, "correction_ms": {"first": 7.0, "1 by id": 1.5, "1000 by name": 1250.0} if told else {}}
    (tmp_path / MEASURED).parent.mkdir(parents=True)
    (tmp_path / MEASURED).write_text(json.dumps(body))
    blocks = measured(tmp_path)
    shown = [block for block in blocks if isinstance(block, Table) and "corrections" in block.columns[0]]
    assert [one.rows for one in shown] == [[("by id", "1.5", "–"), ("by name", "–", "1,250.0")]] * told
    assert ("The first by id took 7.0 ms: it sorts all ids, once." in blocks) is told
