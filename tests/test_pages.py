"""Every code block of README and docs runs, or, where it needs what is not here, is at least well-formed."""

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pages import ROOT, Reader, blocks, commands, pages, parse

FOLLOWED = [page for page in pages() if page.name != "cli.md"]
QUICK = {"compare", "data", "evaluate", "explain", "forecast", "model"}


@pytest.fixture(scope="module")
def reader() -> Reader:
    return Reader()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("reader")
    for place in (folder, folder / "docs"):
        place.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs" / "deliveries.csv", place)
    return folder


@pytest.mark.parametrize("page", FOLLOWED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_can_be_followed(page: Path, reader: Reader, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XERTE_HOME", str(folder / "home"))
    reader.follow(page)


def test_examples_on_the_embedded_world_run(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XERTE_HOME", str(folder / "empty"))
    text = "".join(block.text for block in blocks(ROOT / "docs" / "cli.md") if block.language == "sh")
    quick = [line for line in commands(text) if " world " in f"{line} " and line.split()[1] in QUICK]
    assert len(quick) >= 5
    for line in quick:
        app, words = parse(line)
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_a_command_is_read_as_a_shell_would() -> None:
    text = "xerte data list   # all\nxerte train \\\n  a && make docs\ntail -F a | xerte data list > b\n"
    assert list(commands(text)) == ["xerte data list", "xerte train    a", "make docs", "xerte data list"]
    assert parse('xerte forecast world "A b" c 2024')[1] == ["forecast", "world", "A b", "c", "2024"]
    with pytest.raises(Exception, match="--nonsense"):
        parse("xerte evaluate world --nonsense")
    with pytest.raises(AssertionError, match="no command of this project"):
        parse("rm x")
