"""A short run of the kill test of the server; `make kill-test` runs the long one."""

from pathlib import Path

import pytest

from benchmarks.serve_kills import Sender, check, run
from xerte.api.imports import import_events
from xerte.data import catalog


def test_a_killed_server_loses_nothing_and_starts_again() -> None:
    record = run(kills=3, seed=1, senders=2)
    assert record["acknowledged"] > 0
    assert record["stopped_with"] == 0


def test_a_lost_event_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text(
        "subject,relation,object,time\n" + "\n".join(f"a,b,c,2024-01-{d:02}" for d in range(1, 11))
    )
    data = import_events(tmp_path / "e.csv", "mine").dataset
    data.append([{"subject": "a", "relation": "b", "object": "c", "time": "2024-01-11", "id": "1"}])
    sender = Sender(0, "s", 0, acknowledged={"1"})
    assert check(catalog.dataset_folder("mine"), [sender]) == 1
    sender.acknowledged.add("2")
    with pytest.raises(AssertionError, match="1 acknowledged events are lost"):
        check(catalog.dataset_folder("mine"), [sender])
