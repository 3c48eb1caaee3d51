"""Live events on a disk that is really full: a small file system in memory."""

import gc
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from xerte.data import compaction, live, store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import DatasetError, InputError

SIZE = 1 << 20
NO_SPACE = r"^\S*events\.sqlite cannot be written: .*(full|[Nn]o space|disk I/O).*; nothing of the batch was stored$"
BATCH = 100


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if sys.platform != "linux":
        pytest.skip("tmpfs is Linux's")
    place = tmp_path / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place)]
    mounted = subprocess.run(words, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"no file system may be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(disk: Path) -> Path:
    """Takes all the space that is left."""
    file = disk / "ballast"
    with file.open("wb", buffering=0) as ballast:
        try:
            while ballast.write(bytes(4096)):
                pass
        except OSError:
            return file
    raise AssertionError("the disk never ends")


def saved(disk: Path) -> Path:
    facts = Facts.of([(0, 0, 1, 0), (1, 0, 0, 1), (0, 0, 1, 2)])
    names = Vocabulary.of(["Ann", "Ben"]), Relations.of(["visits"])
    store.save(Dataset("small", facts, (1, 1, 1), *names, Calendar(Tick.DAY, "2024-01-01", Tick.DAY)), disk / "small")
    return disk / "small"


def batch(number: int) -> list[dict[str, str]]:
    fact = {"subject": f"of {number}", "relation": "visits", "object": "Ben", "time": "2024-02-01"}
    return [{**fact, "id": f"{number} {place}", "source": "x" * 200} for place in range(BATCH)]


def test_a_batch_on_a_full_disk_is_out_as_a_whole_and_the_rest_goes_on(disk: Path) -> None:
    folder, ballast = saved(disk), disk / "ballast"
    ballast.write_bytes(bytes(SIZE // 2))
    dataset, stored = store.open_dataset(folder), 0
    while True:
        try:
            dataset, stored = dataset.append(batch(stored)), stored + 1
        except InputError as error:
            assert re.match(NO_SPACE, error.message), error.message  # noqa: PT017  # the one that does not fit
            break
    assert stored > 1
    assert live.refreshed(dataset) is dataset
    opened = store.verify(folder)
    assert len(opened.facts) == 3 + stored * BATCH
    assert f"of {stored}" not in opened.entities
    with pytest.raises(InputError, match=NO_SPACE):
        opened.append(batch(stored))  # as long as the disk is full
    ballast.unlink()
    report = live.append(dataset, batch(stored))[1]
    assert (report.stored, report.repeated, report.new_entities) == (BATCH, 0, [f"of {stored}"])
    assert live.append(opened, batch(stored))[1].repeated == BATCH
    assert len(store.verify(folder).facts) == 3 + (stored + 1) * BATCH


def test_a_log_that_cannot_be_made_is_told_and_made_when_there_is_space(disk: Path) -> None:
    folder = saved(disk)
    ballast, dataset = fill(disk), store.open_dataset(folder)
    with pytest.raises(InputError, match=r"nothing can be appended to .*: .*(full|No space|disk I/O)"):
        dataset.append(batch(0))
    assert len(store.verify(folder).facts) == 3
    assert not live.is_live(folder)
    ballast.unlink()
    assert len(dataset.append(batch(0)).facts) == 3 + BATCH
    assert len(store.verify(folder).facts) == 3 + BATCH


def test_a_compaction_without_space_leaves_everything_as_it_was(disk: Path) -> None:
    folder = saved(disk)
    store.open_dataset(folder).append(batch(0))
    ballast = fill(disk)
    with pytest.raises(InputError, match="cannot be compacted: No space left on device; it stays as it was"):
        compaction.compact(folder, lambda dataset, kept: None)
    assert len(store.verify(folder).facts) == 3 + BATCH
    ballast.unlink()
    assert compaction.compact(folder, lambda dataset, kept: None).added == BATCH
    assert len(store.verify(folder).facts) == 3 + BATCH


def test_who_finds_no_space_to_open_a_log_is_not_told_that_it_is_damaged(disk: Path) -> None:
    folder = saved(disk)
    store.open_dataset(folder).append(batch(0))
    gc.collect()  # the last one who has the log open removes what lies beside it
    ballast = fill(disk)
    with pytest.raises(DatasetError, match=r"events\.sqlite cannot be opened: no space is left"):
        store.open_dataset(folder)
    ballast.unlink()
    assert len(store.verify(folder).facts) == 3 + BATCH
