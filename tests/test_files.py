"""Files appear whole or not at all, and a wrong one is a sentence."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from xerte.errors import InputError
from xerte.files import read_json, replacing, write_json, write_text

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


def test_where_nothing_can_be_written_one_sentence_says_so(tmp_path: Path) -> None:
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
    assert inside(tmp_path) == ["file"]


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
