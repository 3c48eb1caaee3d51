"""Real tables from a repository, small enough for a test: made, trained on, kept and shown."""

import json
import subprocess
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from reports import table_sources
from reports.cli import app
from reports.real_tables_pages import page
from reports.table_sources import SOURCES, Repository, Source
from xerte.errors import InputError


@pytest.fixture
def clones(tmp_path: Path) -> Path:
    """A repository in which Ann and Ben take turns to change three files, a day each."""
    folder = tmp_path / "clones" / "me+mine"
    folder.mkdir(parents=True)
    git = partial(subprocess.run, cwd=folder, check=True, capture_output=True)
    git(["git", "init", "-q"])
    for day in range(24):
        file, author = f"f{day % 3}.py", ("Ann", "Ben")[day % 2]
        (folder / file).write_text(str(day))
        git(["git", "add", file])
        date = f"2024-01-{day + 1:02}T12:00:00Z"
        who = [part for word in ("user.name", "user.email") for part in ("-c", f"{word}={author}")]
        git(
            ["git", *who, "commit", "-q", "-m", "x", "--date", date],
            env={"GIT_COMMITTER_DATE": date, "HOME": str(folder)},
        )
    return tmp_path / "clones"


def test_a_table_is_made_trained_on_kept_and_shown(
    clones: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = partial(table_sources._commits, since="2024-01-01", until="2025-01-01")
    monkeypatch.setitem(SOURCES, "turns", Source("people change files", "me/mine", "HEAD", rows))
    assert SOURCES["turns"].read(clones)[:2] == [
        ("Ann", "changes", "f0.py", "2024-01-01"),
        ("Ben", "changes", "f1.py", "2024-01-02"),
    ]
    command = ["tables", str(clones), "turns", "--limit", "0", "--device", "cpu", "--root", str(tmp_path)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "results" / "tables" / "turns.json").read_text())
    assert (found["facts"], found["entities"], found["relations"]) == (24, 5, 1)
    assert found["models"]["graph"]["unfinished"] == {"epochs": 0, "of": 10}
    assert found["models"]["auto"]["valid"]["mrr"] > 0
    before = found["models"]["auto"]["seconds"]
    assert CliRunner().invoke(app, command).exit_code == 0
    found = json.loads((tmp_path / "results" / "tables" / "turns.json").read_text())
    assert found["models"]["auto"]["seconds"] == before  # not trained again
    shown = page(tmp_path)
    assert "of 1 tables" in str(shown[1])
    assert "people change files" in str(shown[2])


def test_a_source_that_is_not_there_says_how_to_get_it(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["tables", str(tmp_path), "commits", "--root", str(tmp_path)])
    assert done.exit_code == 2
    assert "git clone --bare https://github.com/psf/requests" in done.output
    assert (
        "there is no table"
        in CliRunner().invoke(app, ["tables", str(tmp_path), "none", "--root", str(tmp_path)]).output
    )
    with pytest.raises(InputError, match="clone it anew"):
        Repository(tmp_path, "HEAD").file("x")
