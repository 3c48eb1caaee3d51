"""What a look into a table guesses, and that its command imports it."""

import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xerte.api.preview import preview
from xerte.cli import app

GAMES = "Tourney_Date;winner_name;loser_name;Cup;score\n" + "".join(
    f"{day:02}.03.2024;p{day % 5};p{day % 7 + 1};{'Open' if day % 2 else ''};6-{day}\n" for day in range(1, 32)
)


def test_the_command_imports_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    (tmp_path / "my games.csv").write_text(GAMES)
    seen = preview([tmp_path / "my games.csv"])
    assert [(one.name, one.role, one.filled) for one in seen.columns] == [
        ("Tourney_Date", "time", 100), ("winner_name", "subject", 100), ("loser_name", "object", 100), ("Cup", "", 52),
        ("score", "", 100)]  # fmt: skip
    assert (
        "text with a semicolon between fields, 5 columns, 31 rows looked at, time as dates like %d.%m.%Y"
        in seen.summary
    )
    assert seen.problems == ["no column looks like the relation: choose one"]
    words = shlex.split(seen.command)
    assert words[:3] == ["xerte", "data", "import"]
    assert words[-2:] == ["--name", "my-games"]
    words[words.index("=<what is done>")] = "=beats"
    run = CliRunner().invoke(app, words[1:])
    assert run.exit_code == 0, run.output
    assert "31 facts" in run.output or "facts, 8 entities, 1 relation" in run.output


def test_problems_are_told(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("actor1,event_type,actor2,event_date\na,r,,1/2/2024\nb,r,c,2/3/2024\nb,r\n")
    seen = preview([path])
    assert seen.problems[0].startswith("line 4: 2 columns where 4 are expected")
    assert "actor2 (object) is empty in 50 % of rows" in seen.problems
    assert any("day or the month comes first" in problem for problem in seen.problems)
    for words in ("--missing-object skip", "--bad-rows skip", "--time-format '<a pattern>'"):
        assert words in seen.command


def test_a_first_row_of_data_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "CollegeMsg.txt"
    path.write_text("1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n")
    seen = preview([path])
    assert "no header" in seen.summary
    assert "--no-header" in seen.command
