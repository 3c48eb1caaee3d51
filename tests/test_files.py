"""Files appear whole or not at all, and a wrong one is a sentence."""

import csv
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from xerte.errors import InputError
from xerte.files import cells, read_json, replacing, write_json, write_text

FORMAT = "xerte letter 1"


def read(path: Path) -> Mapping[str, object]:
    return read_json(path, FORMAT, "a letter", lambda body: {"to": body.pop("to"), **body})


def inside(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_json_is_read_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "new" / "folders" / "letter.json"
    write_json(file, {"format": FORMAT, "to": "Zoë", "lines": [1, None]})
    assert file.read_text("utf-8") == f'{{\n "format": "{FORMAT}",\n "to": "Zoë",\n "lines": [\n  1,\n  null\n ]\n}}\n'
    assert read(file) == {"to": "Zoë", "lines": [1, None]}
    assert inside(file.parent) == ["letter.json"]


def test_a_file_is_readable_by_whom_the_user_allows(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "a", "")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o664, 0o444])
def test_a_file_that_was_there_keeps_its_mode_and_is_never_more_open(tmp_path: Path, mode: int) -> None:
    (tmp_path / "a").touch()
    (tmp_path / "a").chmod(mode)
    with replacing(tmp_path / "a") as part:
        assert part.stat().st_mode & 0o777 == 0o600
        part.write_text("new")
    assert ((tmp_path / "a").read_text(), (tmp_path / "a").stat().st_mode & 0o777) == ("new", mode)


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_and_what_it_leads_to_is_written(tmp_path: Path, there: bool) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("middle")
    (tmp_path / "middle").symlink_to(Path("real") / "a")
    if there:
        (tmp_path / "real" / "a").write_text("old")
    write_text(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "middle").is_symlink()
    assert (tmp_path / "real" / "a").read_text() == "new"
    assert inside(tmp_path / "real") == ["a"]


def test_a_pipe_is_sent_the_whole_and_stays_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    os.mkfifo(tmp_path / "pipe")

    def break_off() -> None:
        with replacing(tmp_path / "pipe") as part:
            part.write_text("half")
            raise ZeroDivisionError

    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        with pytest.raises(ZeroDivisionError):
            break_off()
        assert os.read(reader, 100) == b""
        with replacing(tmp_path / "pipe") as part, part.open("wb") as file:
            file.write(b"new order")
            file.seek(0)
            file.write(b"NEW")
        assert os.read(reader, 100) == b"NEW order"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert inside(scratch) == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="an open pipe has no name here")
def test_what_a_program_prints_can_be_its_file() -> None:
    # What /dev/stdout leads to, in a folder where nothing can be replaced.
    program = (
        "from pathlib import Path; from xerte.files import write_text; write_text(Path('/proc/self/fd/1'), 'told')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert (run.stdout, run.stderr, run.returncode) == (b"told", b"", 0)


@pytest.mark.parametrize("fault", [ZeroDivisionError, KeyboardInterrupt])
def test_what_breaks_off_leaves_what_was_there(tmp_path: Path, fault: type[BaseException]) -> None:
    write_text(tmp_path / "a", "old")

    def break_off() -> None:
        with replacing(tmp_path / "a") as part:
            part.write_text("half")
            raise fault

    with pytest.raises(fault):
        break_off()
    assert (tmp_path / "a").read_text() == "old"
    assert inside(tmp_path) == ["a"]
    with pytest.raises(TypeError):
        write_json(tmp_path / "b", {"format": FORMAT, "to": object()})
    assert inside(tmp_path) == ["a"]


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"file/a\.json cannot be written: .*file is not a folder$"):
        write_json(tmp_path / "file" / "a.json", {})
    with pytest.raises(InputError, match="is a folder: name a file to write"):
        write_text(tmp_path, "")
    with pytest.raises(InputError, match=r"^\. is a folder"):
        write_text(Path(), "")
    full = Path("/dev/full")
    if full.exists():
        with pytest.raises(InputError, match="No space left on device"), replacing(tmp_path / "a"):
            full.write_text("more than it holds")
    with socket.socket(socket.AF_UNIX) as taken:
        monkeypatch.chdir(tmp_path)
        taken.bind("socket")  # whose name must be short
        with pytest.raises(InputError, match="socket cannot be written: No such device or address"):
            write_text(tmp_path / "socket", "")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(InputError, match="round cannot be written: Too many levels of symbolic links"):
        write_text(tmp_path / "round", "")
    assert sorted(inside(tmp_path)) == ["file", "round", "socket"]


def test_a_name_may_be_as_long_as_the_system_lets_it_be(tmp_path: Path) -> None:
    longest = "\N{SNOWMAN}" * 85
    write_text(tmp_path / longest, "kept")
    assert (tmp_path / longest).read_text() == "kept"
    with pytest.raises(InputError, match=r"cannot be written: File name too long$"):
        write_text(tmp_path / (longest + "a"), "")
    assert inside(tmp_path) == [longest]


@pytest.mark.parametrize(
    "fault",
    [
        FileExistsError(17, "File exists", "elsewhere"),
        FileNotFoundError(2, "No such file", "elsewhere"),
        OSError("odd"),
    ],
)
def test_errors_about_other_files_are_not_blamed_on_this_one(tmp_path: Path, fault: OSError) -> None:
    with pytest.raises(type(fault)) as caught, replacing(tmp_path / "a"):
        raise fault
    assert caught.value is fault
    with pytest.raises(InputError, match="a cannot be written: Not a directory"), replacing(tmp_path / "a") as part:
        raise NotADirectoryError(20, "Not a directory", str(part))
    assert inside(tmp_path) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"format": "xerte letter 2", "to": "you"}',
        f'{{"format": "{FORMAT}"}}',
        "[" * 100_000,
        json.dumps({"format": FORMAT, "to": "you"})[:-1],
    ],
)
def test_a_file_of_another_kind_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "letter.json"
    file.write_text(text)
    with pytest.raises(InputError, match=rf"letter\.json is not a letter \({FORMAT}\)$"):
        read(file)


def test_bytes_that_are_no_text_and_files_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "letter.json").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not a letter"):
        read(tmp_path / "letter.json")
    with pytest.raises(InputError, match=r"none\.json cannot be read: No such file or directory$"):
        read(tmp_path / "none.json")


def test_cells_are_safe_where_they_are_read() -> None:
    row = ["=1+1", "+x", "-5", "@a", "a\rb", 'c"d', "e,f", "g", -1.5, True]
    assert cells(row) == '\'=1+1,\'+x,\'-5,\'@a,"a\rb","c""d","e,f",g,-1.5,True\n'
    assert cells(["=1", "a,b"], "\t", neutral=False) == "=1\ta,b\n"
    (parsed,) = csv.reader(io.StringIO(cells(row, neutral=False), newline=""))
    assert parsed == [str(value) for value in row]
