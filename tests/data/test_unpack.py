"""Compressed files, archives and encodings: what comes out is what went in, or nothing does."""

import bz2
import gzip
import io
import lzma
import os
import random
import tarfile
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from small_tables import HEADER, named, read
from xerte.data import limits, unpack
from xerte.data.events import read_events
from xerte.data.unpack import zstd
from xerte.errors import InputError

TEXT = HEADER + "a,r,b,2024-01-01\nb,r,a,2024-01-02\n"
FACTS = [("a", "r", "b", "2024-01-01"), ("b", "r", "a", "2024-01-02")]


def zipped(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return packed.getvalue()


def tarred(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return packed.getvalue()


PACKED: list[tuple[str, Callable[[bytes], bytes]]] = [
    ("e.csv.gz", gzip.compress),
    ("e.csv", gzip.compress),  # the bytes tell, not the name
    ("e.csv.bz2", bz2.compress),
    ("e.csv.xz", lzma.compress),
    ("e.csv.zst", zstd.compress),
    ("e.zip", lambda text: zipped({"readme.md": "x", "__MACOSX/e.csv": "x", "e.csv": text.decode()})),
    ("e.tar", lambda text: tarred({"deep/e.csv": text.decode()})),
    ("e.tar.gz", lambda text: gzip.compress(tarred({"e.csv": text.decode()}))),
    ("e.tgz", lambda text: gzip.compress(tarred({"e.csv": text.decode()}))),
]


@pytest.mark.parametrize(("name", "pack"), PACKED, ids=[name for name, _ in PACKED])
def test_packed_tables_are_read(tmp_path: Path, name: str, pack: Callable[[bytes], bytes]) -> None:
    (tmp_path / name).write_bytes(pack(TEXT.encode()))
    assert named(read_events(tmp_path / name)) == FACTS


def test_an_archive_of_several_tables_asks_which(tmp_path: Path) -> None:
    path = tmp_path / "e.zip"
    path.write_bytes(zipped({"one.csv": TEXT, "two.csv": TEXT.replace(",r,", ",q,"), "x.csv": "nothing\n"}))
    with pytest.raises(InputError, match=r"holds 3 tables: choose one as the table \(one\.csv, two\.csv, x\.csv\)"):
        read_events(path)
    assert named(read_events(path, table="one.csv")) == FACTS
    assert len(named(read_events(path, table="*o*.csv"))) == 4
    with pytest.raises(InputError, match=r"holds no file three\.csv: it holds one\.csv"):
        read_events(path, table="three.csv")


def test_a_file_without_a_name_is_none(tmp_path: Path) -> None:
    packed = zipped({"e.csv": TEXT})
    (tmp_path / "e.zip").write_bytes(packed.replace(b"e.csv", b"\0.csv"))  # a name ends at its first zero byte
    with pytest.raises(InputError, match="holds no file"):
        read_events(tmp_path / "e.zip")


def test_a_flipped_bit_is_never_read_as_truth(tmp_path: Path) -> None:
    rows = "".join(f"e{i % 50},r{i % 7},e{i % 31},2024-01-{i % 28 + 1:02}\n" for i in range(2000))
    packed, path = gzip.compress((HEADER + rows).encode(), mtime=0), tmp_path / "e.csv.gz"
    path.write_bytes(packed)
    whole = read_events(path)
    rng = random.Random(0)
    for _ in range(30):
        at, bit = rng.randrange(len(packed)), rng.randrange(8)
        path.write_bytes(packed[:at] + bytes([packed[at] ^ 1 << bit]) + packed[at + 1 :])
        with suppress(InputError):  # some bits of the header mean nothing: its time, its system
            assert named(read_events(path)) == named(whole)


def test_a_torn_or_damaged_zstd_file_is_refused(tmp_path: Path) -> None:
    rows = "".join(f"e{i % 50},r{i % 7},e{i % 31},2024-01-{i % 28 + 1:02}\n" for i in range(2000))
    packed = zstd.compress((HEADER + rows).encode(), options={zstd.CompressionParameter.checksum_flag: 1})
    path, middle = tmp_path / "e.csv.zst", len(packed) // 2
    for damaged in (packed[:middle], packed[:middle] + bytes([packed[middle] ^ 1]) + packed[middle + 1 :]):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match="it is damaged"):
            read_events(path)


def test_what_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "SMALL_UNPACKED", 1 << 20)
    (tmp_path / "bomb.csv.gz").write_bytes(gzip.compress(bytes(20 << 20)))
    with pytest.raises(InputError, match=r"unpacks to more than \d+ MB"):
        read_events(tmp_path / "bomb.csv.gz")


def test_an_endless_line_is_a_bad_row(tmp_path: Path) -> None:
    text = TEXT + "c,r," + "x" * (2 * limits.LONGEST_LINE) + ",2024-01-03\nd,r,a,2024-01-04\n"
    log = read(tmp_path, text, bad_rows="skip")
    assert (log.report.rows_skipped, len(log.facts)) == (1, 3)
    with pytest.raises(InputError, match="line 4, column row: longer than 2,000,000 bytes") as caught:
        read(tmp_path, text)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("where", ["middle", "end"])
def test_a_line_that_fills_a_buffer_is_not_lost(tmp_path: Path, where: str) -> None:
    """duckdb leaves such a line out and says nothing."""
    text = TEXT + "c,r," + "x" * 40_000_000 + ",2024-01-03" + "\nd,r,a,2024-01-04\n" * (where == "middle")
    with pytest.raises(InputError, match="line 4, column row: longer than 2,000,000 bytes"):
        read(tmp_path, text)


@pytest.mark.parametrize("bad", ["", "{\n"])
def test_a_number_in_json_has_one_name_whatever_the_other_rows_hold(tmp_path: Path, bad: str) -> None:
    values = ["1.50", "0.1e1", "1e2", "12345678901234567890123", "true"]
    lines = "".join(f'{{"subject": {v}, "relation": "r", "object": "o", "time": "2024-01-01"}}\n' for v in values)
    log = read(tmp_path, lines + bad, "e.jsonl", bad_rows="skip")
    assert set(log.entities) == {"1.5", "1.0", "100.0", "12345678901234567890123", "true", "o"}


def test_encodings(tmp_path: Path) -> None:
    text = TEXT.replace("a,r", "Jürgen,r")
    for encoding, said in (("utf-16", None), ("utf-8-sig", None), ("cp1252", "cp1252"), ("latin-1", "latin-1")):
        (tmp_path / "e.csv").write_bytes(text.encode(encoding))
        assert named(read_events(tmp_path / "e.csv", encoding=said))[0][0] == "Jürgen"
    with pytest.raises(InputError, match="not valid UTF-8"):
        read_events(tmp_path / "e.csv")
    with pytest.raises(InputError, match="is not in ascii"):
        read_events(tmp_path / "e.csv", encoding="ascii")
    for wrong in ("klingon", "hex"):
        with pytest.raises(InputError, match="is not an encoding"):
            read_events(tmp_path / "e.csv", encoding=wrong)


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "e.csv")
    with pytest.raises(InputError, match="is not a regular file"):
        read_events(tmp_path / "e.csv")
    with pytest.raises(InputError, match=r"does not exist|cannot be read"):
        read_events("a\0b.csv")


def test_a_file_of_open_quotes_takes_no_longer_than_its_size(tmp_path: Path) -> None:
    """Every line opens a quote that nobody closes: each was once searched for down to the end of the file."""
    seconds = []
    for lines in (20_000, 80_000):
        began = time.process_time()
        with pytest.raises(InputError, match="line 2, column subject: broken quotes"):
            read(tmp_path, HEADER + '"a\n' * (2 * lines + 1))
        seconds.append(time.process_time() - began)
    assert seconds[1] < 8 * max(seconds[0], 0.2)


def test_too_many_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has more than 10,000 columns"):
        read(tmp_path, ",".join(map(str, range(10_001))) + "\n1\n")
