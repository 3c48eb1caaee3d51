"""The published benchmarks' format."""

from pathlib import Path

import numpy as np
import pytest

from xerte.data.benchmark import read_benchmark
from xerte.data.calendar import Calendar, Tick
from xerte.errors import BadRowError, InputError
from xerte.types import Split

DAYS = Calendar(Tick.HOUR, "2014-01-01", Tick.DAY, 24)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "entity2id.txt", "Ana\xa0Bel\t0\nFörde \t2\nRiver, Land\t1\n")
    write(tmp_path, "relation2id.txt", "visit\t1\naccuse\t0\n")
    write(tmp_path, "train.txt", "0\t1\t2\t24\t-1\n1\t0\t2\t0\t-1\n2\t0\t0\t24\t-1\n")
    write(tmp_path, "valid.txt", "0   \t1 \t2 \t48 \t0\n")
    write(tmp_path, "test.txt", "1\t1\t1\t72\n\n")
    return tmp_path


def write(folder: Path, name: str, text: str) -> None:
    (folder / name).write_bytes(text.encode())


def test_reads_ids_names_and_time_order(folder: Path) -> None:
    dataset = read_benchmark(folder, "small", DAYS)
    assert list(dataset.entities) == ["Ana\xa0Bel", "River, Land", "Förde "]
    assert list(dataset.relations) == ["accuse", "visit"]
    assert dataset.sizes == (3, 1, 1)
    rows = list(zip(*(column.tolist() for column in dataset.facts.columns()), strict=True))
    assert rows == [(1, 0, 2, 0), (0, 1, 2, 24), (2, 0, 0, 24), (0, 1, 2, 48), (1, 1, 1, 72)]
    assert (dataset.name, dataset.calendar) == ("small", DAYS)


@pytest.mark.parametrize(
    ("file", "text", "line", "column", "value", "problem"),
    [
        ("train.txt", "0\t0\t0\t0\t-1\n0\t0\tx\t0\t-1\n", 2, "object", "x", "not a whole number"),
        ("train.txt", "0\t0\t0\t0\t-1\n\n0\t0\t0\t1.5\t-1\n", 3, "time", "1.5", "not a whole number"),
        ("train.txt", "0\t0\t0\t0\t-1\n0\t0\t\t0\t-1\n", 2, "object", "", "not a whole number"),
        ("train.txt", "0\t0\t0\t0\t-1\n0\t0\t0\n", 2, "time", "0\\t0\\t0", "3 columns where 5"),
        ("train.txt", "0\t0\t0\n", 1, "time", "0\\t0\\t0", "3 columns where 5"),
        ("train.txt", "0\t0\t0\t0\n0\t0\t0\t0\t0\n", 2, "fifth", "0\\t0\\t0\\t0\\t0", "5 columns where 4"),
        ("train.txt", "0\t0\t0\t0\t0\n0\t0\t3\t0\t0\n", 2, "object", "3", "run from 0 to 2"),
        ("train.txt", "0\t0\t0\t0\t0\n0\t2\t0\t0\t0\n", 2, "relation", "2", "run from 0 to 1"),
        ("train.txt", "0\t0\t0\t0\t0\n-1\t0\t0\t0\t0\n", 2, "subject", "-1", "run from 0 to 2"),
        ("train.txt", "0\t0\t0\t2147483648\t0\n", 1, "time", "2147483648", "32 bits"),
        ("train.txt", "0\t0\t0\t99999999999999999999\t0\n", 1, "time", "99999999999999999999", "32 bits"),
        ("valid.txt", "\n0\t0\t0\t0\t7\n0\t0\t0\t0\t1\n", 3, "fifth", "1", "not constant"),
        ("entity2id.txt", "a\t0\nb 1\n", 2, "id", "b 1", "a name, a tab"),
        ("entity2id.txt", "a\t0\nb\tc\t1\n", 2, "id", "c", "not a whole number"),
        ("entity2id.txt", "a\t0\nb\t" + "9" * 5000 + "\n", 2, "id", "9" * 200, "more than fits in 32 bits"),
        ("entity2id.txt", "a\t0\nb\tone\n", 2, "id", "one", "not a whole number"),
        ("entity2id.txt", "a\t0\nb\t0\n", 2, "id", "0", "listed twice"),
        ("entity2id.txt", "a\t0\na\t1\n", 2, "name", "a", "listed twice"),
        ("relation2id.txt", "a\t0\nb\t2\n", 2, "id", "2", "without a gap"),
    ],
)
def test_a_bad_row_is_named(
    folder: Path, file: str, text: str, line: int, column: str, value: str, problem: str
) -> None:
    write(folder, file, text)
    with pytest.raises(BadRowError, match=problem) as caught:
        read_benchmark(folder, "small", DAYS)
    error = caught.value
    assert (Path(error.file).name, error.line, error.column) == (file, line, column)
    assert error.value.replace("\t", "\\t") == value


def test_bad_encoding_is_named(folder: Path) -> None:
    (folder / "entity2id.txt").write_bytes(b"a\t0\nb\xff\t1\n")
    with pytest.raises(BadRowError, match="UTF-8") as caught:
        read_benchmark(folder, "small", DAYS)
    assert (caught.value.line, caught.value.column, caught.value.value) == (2, "name", "b\\xff")
    write(folder, "entity2id.txt", "a\t0\n")
    (folder / "train.txt").write_bytes(b"0\t0\t0\t\xff\n")
    with pytest.raises(BadRowError, match="not a whole number"):
        read_benchmark(folder, "small", DAYS)


@pytest.mark.parametrize("file", ["train.txt", "valid.txt", "test.txt", "entity2id.txt", "relation2id.txt"])
def test_a_missing_file_is_named(folder: Path, file: str) -> None:
    (folder / file).unlink()
    with pytest.raises(InputError, match=f"{file} is missing"):
        read_benchmark(folder, "small", DAYS)


def test_an_empty_split_and_a_folder_are_refused(folder: Path) -> None:
    write(folder, "test.txt", "\n")
    with pytest.raises(InputError, match=r"test\.txt holds no facts"):
        read_benchmark(folder, "small", DAYS)
    (folder / "test.txt").unlink()
    (folder / "test.txt").mkdir()
    with pytest.raises(InputError, match=r"test\.txt is not a regular file"):
        read_benchmark(folder, "small", DAYS)


@pytest.mark.benchmark_data
@pytest.mark.parametrize(
    ("name", "sizes", "entities", "relations", "timestamps"),
    [
        ("icews14", (63685, 13823, 13222), 7128, 230, 365),
        ("icews18", (373018, 45995, 49545), 23033, 256, 304),
        ("icews0515", (322958, 69224, 69147), 10488, 251, 4017),
        ("yago", (51205, 10973, 10973), 10038, 10, 194),
    ],
)
def test_counts_of_the_paper(
    benchmarks: Path, name: str, sizes: tuple[int, int, int], entities: int, relations: int, timestamps: int
) -> None:
    dataset = read_benchmark(benchmarks / name, name, DAYS)
    assert dataset.sizes == sizes
    assert (dataset.num_entities, dataset.num_relations) == (entities, relations)
    assert len(np.unique(dataset.facts.time)) == timestamps
    assert all((np.diff(dataset.split(split).time) >= 0).all() for split in Split)


@pytest.mark.benchmark_data
def test_ids_are_the_files_own(benchmarks: Path) -> None:
    dataset = read_benchmark(benchmarks / "yago", "yago", Calendar(Tick.YEAR, "1830", Tick.YEAR))
    assert dataset.relations.id("<diedIn>") == 7
    assert dataset.entities.id("<Edmonton>") == 1


def test_further_columns_of_names_are_left_out(folder: Path) -> None:
    path = folder / "entity2id.txt"
    lines = path.read_text("utf-8").splitlines()
    names = list(read_benchmark(folder, "x", DAYS).entities)
    path.write_text("".join(f"{line}\t1913-##-##\t####-##-##\n" for line in lines), "utf-8")
    assert list(read_benchmark(folder, "x", DAYS).entities) == names
