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
    assert seen.problems == []
    words = shlex.split(seen.command)
    assert words[:3] == ["xerte", "data", "import"]
    assert words[-2:] == ["--name", "my-games"]
    assert "--relation =beats" in seen.command
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


def test_where_no_column_is_the_relation_a_text_will_do(tmp_path: Path) -> None:
    seen = preview([table(tmp_path / "e.csv", "home_team,away_team,date", ["a,b,2024-01-01", "b,c,2024-01-02"])])
    assert seen.problems == ["no column looks like the relation: choose one, or write what is done, like =beats"]
    assert "--relation '=<what is done>'" in seen.command


def test_a_first_row_of_data_is_no_header(tmp_path: Path) -> None:
    path = tmp_path / "CollegeMsg.txt"
    path.write_text("1 2 1082040961\n3 4 1082155839\n5 2 1082414391\n")
    seen = preview([path])
    assert "no header" in seen.summary
    assert "--no-header" in seen.command


def table(path: Path, header: str, rows: list[str]) -> Path:
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("header", "pair"),
    [
        ("FROM_NODE,TO_NODE", "--subject FROM_NODE --relation 'index {index}' --object TO_NODE"),
        ("fromUser,toUser", "--subject fromUser --relation 'index {index}' --object toUser"),
        ("sender_id,receiver_id", "--subject sender_id --relation 'index {index}' --object receiver_id"),
        ("namea,nameb", "--subject namea --relation 'index {index}' --object nameb"),
        ("Country 1,Country 2", "--subject 'Country 1' --relation 'index {index}' --object 'Country 2'"),
    ],
)
def test_pairs_of_opposite_names_are_found(tmp_path: Path, header: str, pair: str) -> None:
    rows = [f"{n % 7},{n % 5 + 20},{n % 3},{1700000000 + n}" for n in range(100)]
    seen = preview([table(tmp_path / "e.csv", f"{header},index,unixts", rows)])
    assert pair in seen.command
    assert [column.role for column in seen.columns] == ["subject", "object", "relation", "time"]


def test_seconds_over_years_are_asked_about_by_the_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [f"a{n % 7},likes,b{n % 5},{1289241911 + 7777 * n}.5" for n in range(400)]
    seen = preview([table(tmp_path / "e.csv", "source,type,target,unixts", rows)])
    assert any(problem.startswith("times span 35 days and tell minutes or seconds") for problem in seen.problems)
    run = CliRunner().invoke(app, shlex.split(seen.command)[1:])
    assert run.exit_code == 0, run.output
    assert "unit day" in run.output
    few = preview([table(tmp_path / "few.csv", "source,type,target,unixts", rows[:100])])
    assert (few.problems, "--unit" in few.command) == ([], False), "nine days may well be asked about by the second"


def test_a_column_of_few_values_could_be_the_relation(tmp_path: Path) -> None:
    rows = [f"a{n % 7},b{n % 5},{'TF'[n % 2]},{'xyz'[n % 3]},{'pq'[n % 2]},2024-01-{n % 28 + 1:02}" for n in range(100)]
    seen = preview([table(tmp_path / "e.csv", "source,target,verified,area,deal_kind,date", rows)])
    assert "--relation deal_kind" in seen.command
    assert seen.problems == [
        "the relation is a guess: deal_kind has few values; so have area; a fixed text like =beats will do too"
    ]


@pytest.mark.parametrize(
    ("header", "date", "time"),
    [
        ("year,month,day", "2024,{},3", "{year}-{month}-{day}"),
        ("iday,imonth,iyear", "3,{},2024", "{iyear}-{imonth}-{iday}"),
        ("endday,endmnth,endyr,strtday,strtmnth,strtyr", "1,1,2030,3,{},2024", "{strtyr}-{strtmnth}-{strtday}"),
        ("Year,Month", "2024,{}", "{Year}/{Month}"),
    ],
)
def test_a_date_split_over_columns_is_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, header: str, date: str, time: str
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [f"a{n % 7},visits,b{n % 5},{date.format(n % 12 + 1)}" for n in range(100)]
    seen = preview([table(tmp_path / "e.csv", f"source,type,target,{header}", rows)])
    assert f"--time '{time}'" in seen.command
    run = CliRunner().invoke(app, shlex.split(seen.command)[1:])
    assert run.exit_code == 0, run.output
    assert "2024-01" in run.output


def test_columns_without_a_name_are_told(tmp_path: Path) -> None:
    seen = preview([table(tmp_path / "e.csv", ",subject,relation,,object,time", ["0,a,r,x,b,2024-01-01"])])
    assert seen.problems == ["2 columns have no name (1, 4): use the position"]
