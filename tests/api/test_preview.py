"""What a look into a table guesses, and that its command imports it."""

import csv
import gzip
import json
import lzma
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from xerte.api.preview import preview
from xerte.cli import app
from xerte.errors import InputError

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
    rows = ["a,b,2024-01-01", "b,c,2024-01-02", "c,a,2024-01-03"]
    seen = preview([table(tmp_path / "e.csv", "country_a,country_b,date", rows)])
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
        "the relation is a guess: deal_kind has few values and could also be area; a fixed text like =beats works, too"
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


def test_two_actors_are_the_parties_whatever_the_source_is(tmp_path: Path) -> None:
    rows = [f"a{n % 7},b{n % 5},The Times,visits,2024-01-{n % 28 + 1:02}" for n in range(60)]
    seen = preview([table(tmp_path / "e.csv", "ACTOR1,ACTOR2,SOURCE,EVENT_TYPE,EVENT_DATE", rows)])
    assert "--subject ACTOR1 --relation EVENT_TYPE --object ACTOR2" in seen.command
    rows = [f"a{n % 7},b{n % 5},visits,1,0,2024-01-{n % 28 + 1:02}" for n in range(60)]
    seen = preview([table(tmp_path / "g.csv", "actor,target,type,home_score,away_score,date", rows)])
    assert "--subject actor --relation type --object target" in seen.command


def test_of_two_kinds_the_one_without_gaps_is_the_relation(tmp_path: Path) -> None:
    rows = [f"a{n % 7},b{n % 5},{'xyz'[n % 3]},{'pq'[n % 2] if n else ''},2024-01-{n % 28 + 1:02}" for n in range(100)]
    seen = preview([table(tmp_path / "e.csv", "From,To,Status,Reason,Date", rows)])
    assert "--relation Status" in seen.command
    assert "--bad-rows" not in seen.command


@pytest.mark.parametrize(
    ("times", "pattern"),
    [
        (("28/11 15", "3/4 15"), "%d/%m %y"),
        (("2015|11|28", "2015|4|03"), "%Y|%m|%d"),
        (("11_28_2015", "4_3_2015"), "%m_%d_%Y"),
    ],
)
def test_unusual_signs_between_day_month_and_year(tmp_path: Path, times: tuple[str, str], pattern: str) -> None:
    rows = [f"a{n % 7},visits,b{n % 5},{times[n % 2]}" for n in range(60)]
    seen = preview([table(tmp_path / "e.csv", "source,type,target,date", rows)])
    assert f"--time-format {shlex.quote(pattern)}" in seen.command


def test_columns_without_a_name_are_told(tmp_path: Path) -> None:
    rows = [f"{n},a,r,x,b,2024-01-0{n}" for n in range(1, 4)]
    seen = preview([table(tmp_path / "e.csv", ",subject,relation,,object,time", rows)])
    assert seen.problems == ["2 columns have no name (1, 4): use the position"]


def test_who_beats_whom_is_a_query_where_a_column_names_the_winner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [
        f"{n},IPL-{n % 3},{n % 28 + 1:02}-04-2024,a{n % 5},b{n % 7},{'ab'[n % 2]}{n % (5, 7)[n % 2]}" for n in range(80)
    ]
    seen = preview([table(tmp_path / "e.csv", "id,season,date,team1,team2,winner", rows)])
    assert "--subject team1 --relation =plays --object team2" in seen.command
    (note,) = seen.problems
    words = shlex.split(note)
    query, options = words[words.index("--sql") + 1], words[words.index("--subject") : words.index("instead")]
    run = CliRunner().invoke(app, ["data", "import", "--sql", query, *options, "--time", "date", "--name", "wins"])
    assert run.exit_code == 0, run.output
    assert "80 facts, 12 entities, 1 relation" in run.output
    shown = CliRunner().invoke(app, ["data", "show", "wins", "b1"]).output
    assert "a1" in shown
    assert "beats" in shown


@pytest.mark.parametrize("name", ["games.jsonl", "$$games.csv", "games.csv.xz"])
def test_of_a_table_that_no_query_can_read_none_is_told(tmp_path: Path, name: str) -> None:
    rows = [{"date": f"{n % 28 + 1:02}-04-2024", "team1": f"a{n % 5}", "team2": f"b{n % 7}"} for n in range(80)]
    rows = [{**row, "winner": row[f"team{n % 2 + 1}"]} for n, row in enumerate(rows)]
    lines = (
        map(json.dumps, rows)
        if name.endswith(".jsonl")
        else [",".join(one) for one in (rows[0], *map(dict.values, rows))]
    )
    content = "\n".join(lines).encode()
    (tmp_path / name).write_bytes(lzma.compress(content) if name.endswith(".xz") else content)
    seen = preview([tmp_path / name])
    assert "--subject team1 --relation =plays --object team2" in seen.command
    assert not seen.problems


def test_who_beats_whom_is_a_query_where_a_column_names_the_winners_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    sides = ("white", "black", "draw")
    rows = [f"{sides[n % 3]},a{n % 5},{1500 + n},b{n % 7},{1600 - n},2024-04-{n % 28 + 1:02}" for n in range(84)]
    seen = preview([table(tmp_path / "e.csv", "winner,white_id,white_rating,black_id,black_rating,date", rows)])
    assert "--subject white_id --relation =plays --object black_id" in seen.command
    (note,) = seen.problems
    words = shlex.split(note)
    query, options = words[words.index("--sql") + 1], words[words.index("--subject") : words.index("instead")]
    run = CliRunner().invoke(app, ["data", "import", "--sql", query, *options, "--time", "date", "--name", "wins"])
    assert "56 facts, 12 entities, 1 relation" in run.output, "28 of 84 are drawn"
    shown = CliRunner().invoke(app, ["data", "show", "wins", "a0", "--json"]).output
    facts = {(fact["subject"], fact["object"], fact["time"]) for fact in json.loads(shown)["events"]}
    assert ("a0", "b0", "2024-04-01") in facts, "white won the first"
    assert ("b3", "a0", "2024-04-11") in facts, "black won the eleventh"


def test_times_that_a_spreadsheet_rounded_are_read_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [f"a{n % 5},visits,b{n % 7},{1.50421 + n / 1e4:.5f}E+12" for n in range(60)]
    seen = preview([table(tmp_path / "e.csv", "source,type,target,created_at", rows)])
    assert "times like 1.50421E+12 were rounded, as spreadsheets do: their last digits are lost" in seen.problems
    assert seen.summary.endswith("time as milliseconds since 1970")
    run = CliRunner().invoke(app, shlex.split(seen.command)[1:])
    assert "60 facts" in run.output
    assert "2017-08-31 to" in run.output


def test_a_matrix_is_imported_by_a_query_that_makes_a_row_of_each_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    seen = preview([votes(tmp_path)])
    assert any("60 columns hold the same few values" in text and "row of each cell" in text for text in seen.problems)
    assert [(one.name, one.role) for one in seen.columns if one.role] == [("date", "time")]
    assert seen.options == {"time": "date"}
    words = shlex.split(seen.command.replace("=<what is done>", "=votes"))
    run = CliRunner().invoke(app, words[1:])
    assert "480 facts, 62 entities, 1 relation" in run.output
    shown = CliRunner().invoke(app, ["data", "show", "votes", "member 3"]).output
    assert "against" in shown


@pytest.mark.parametrize("name", ["votes [1].csv", "vot*s?.csv", "it's.tsv"])
def test_a_matrix_may_be_called_like_a_pattern_of_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    text = votes(tmp_path).read_text()
    (tmp_path / name).write_text(text if name.endswith(".csv") else text.replace(",", "\t"))
    seen = preview([tmp_path / name])
    run = CliRunner().invoke(app, shlex.split(seen.command.replace("=<what is done>", "=votes"))[1:])
    assert "480 facts, 62 entities, 1 relation" in run.output


@pytest.mark.parametrize("name", ["votes.csv.gz", "votes.jsonl", "$$votes.csv"])
def test_a_matrix_that_no_query_can_read_gets_advice_and_no_command(tmp_path: Path, name: str) -> None:
    packed, content = tmp_path / name, votes(tmp_path).read_bytes()
    if name.endswith(".jsonl"):
        rows = csv.DictReader(content.decode().splitlines())
        content = "\n".join(json.dumps(row) for row in rows).encode()
    packed.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    seen = preview([packed])
    assert any("UNPIVOT in --sql" in text for text in seen.problems)
    assert seen.command == ""
    assert "import" not in CliRunner().invoke(app, ["data", "preview", str(packed)]).output


def test_the_columns_of_a_matrix_do_not_flood_the_screen(tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["data", "preview", str(votes(tmp_path))]).output
    assert "member 38" in shown
    assert "member 40" not in shown
    assert "more columns are shown by --json" in shown


@pytest.mark.parametrize("column", ["Time/Retired", "Time", "finish_time"])
def test_how_long_a_race_took_is_not_when(tmp_path: Path, column: str) -> None:
    took = ("1:35:21.362", "+5.294s", "DNF", "+1 lap")
    rows = [f"Driver {n % 20},Team {n % 5},{took[n % 4]}" for n in range(60)]
    seen = preview([table(tmp_path / "race.csv", f"Driver,Team,{column}", rows)])
    assert "no column looks like the time: choose one" in seen.problems
    assert "--time '<a column>'" in seen.command


def votes(folder: Path) -> Path:
    """How sixty members voted on eight days, a column for each."""
    names = ",".join(f"member {n}" for n in range(60))
    days = range(1, 9)
    rows = [f"2024-01-{day:02}," + ",".join(("for", "against")[(n + day) % 2] for n in range(60)) for day in days]
    return table(folder / "votes.csv", f"date,{names}", rows)


def test_a_word_for_nothing_among_the_parties_is_told_with_its_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [f"a{n % 7},visits,{f'b{n % 5}' if n % 4 else 'NA'},2024-01-{n % 28 + 1:02}" for n in range(100)]
    seen = preview([table(tmp_path / "e.csv", "actor1,type,actor2,date", rows)])
    (note,) = seen.problems
    assert note.startswith("NA stands in 25 % of actor2 (object)")
    options = shlex.split(note)[-4:]
    run = CliRunner().invoke(app, [*shlex.split(seen.command)[1:], *options])
    assert run.exit_code == 0, run.output
    assert "75 facts" in run.output or "25 rows without an object" in run.output, run.output


def test_numbers_with_gaps_are_no_kind_of_event(tmp_path: Path) -> None:
    rows = [
        f"a{n % 7},{n % 9 + 20 if n % 30 else 'NA'},{('in', 'out')[n % 2]},b{n % 5},2024-01-{n % 28 + 1:02}"
        for n in range(400)
    ]
    seen = preview([table(tmp_path / "e.csv", "club_name,age,transfer_movement,club_involved,date", rows)])
    assert "--relation transfer_movement" in seen.command


def test_days_tell_when_rather_than_a_year_an_address_or_a_birthday(tmp_path: Path) -> None:
    rows = [
        f"https://a.example/{n % 4},{1990 + n % 20},P{n % 9},Q{n % 7},{n % 12 + 1}/{n % 28 + 1}/99,1950-01-01"
        for n in range(200)
    ]
    path = table(tmp_path / "e.csv", "url,YEAR,person,guest,Show,birthday", rows)
    assert "--subject person --relation '=<what is done>' --object guest --time Show" in preview([path]).command
    born = table(
        tmp_path / "b.csv",
        "person,guest,birthday,begun",
        [f"P{n % 9},Q{n % 7},1950-01-01,2024-01-01" for n in range(99)],
    )
    assert "--time begun" in preview([born]).command


def test_a_source_beside_who_and_whom_is_not_who_acts(tmp_path: Path) -> None:
    rows = [f"A{n % 9},visits,B{n % 7},2024-01-{n % 28 + 1:02},https://example.org/{n}" for n in range(99)]
    seen = preview([table(tmp_path / "e.csv", "who,does,whom,date,source", rows)])
    assert "--subject who" in seen.command
    assert "--object whom" in seen.command


def test_a_candidate_is_no_date(tmp_path: Path) -> None:
    rows = [f"H{n % 9},P{n % 7},2024-01-{n % 28 + 1:02}" for n in range(99)]
    seen = preview([table(tmp_path / "e.csv", "candidate,party,filed", rows)])
    assert "--subject candidate --relation '=<what is done>' --object party --time filed" in seen.command


def test_a_beginning_and_an_end_split_over_columns_are_put_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [f"A{n % 5},B{n % 7},{n % 12 + 1},{n % 28 + 1},2001,3,5,2003" for n in range(35)]
    header = "side_a,side_b,StartMonth1,StartDay1,StartYear1,EndMonth1,EndDay1,EndYear1"
    seen = preview([table(tmp_path / "wars.csv", header, rows)])
    assert "--time '{StartYear1}-{StartMonth1}-{StartDay1}' --ends '{EndYear1}-{EndMonth1}-{EndDay1}'" in seen.command
    words = shlex.split(seen.command.replace("<what is done>", "fights"))
    run = CliRunner().invoke(app, [*words[1:], "--lasting", "both"])
    assert run.exit_code == 0, run.output
    assert "70 facts" in run.output


def test_a_kind_of_many_values_is_what_is_done(tmp_path: Path) -> None:
    rows = [f"P{n % 200},C{n % 90},S{n % 40},for {n % 70},2024-01-{n % 28 + 1:02}" for n in range(1600)]
    seen = preview([table(tmp_path / "e.csv", "person,city,state,purpose,date", rows)])
    assert "--relation purpose" in seen.command
    few = table(
        tmp_path / "f.csv",
        "person,code,city,date",
        [f"P{n % 4},{n % 3:03},C{n % 5},2024-01-{n:02}" for n in range(1, 29)],
    )
    assert "--relation 'code {code}'" in preview([few]).command


def test_columns_that_share_their_names_are_the_parties_rather_than_the_side_that_won(tmp_path: Path) -> None:
    rows = [
        f"F{n % 11},F{n * 5 % 13},{('Red', 'Blue', 'Draw')[n % 3]},{('Light', 'Heavy')[n % 2]},2024-04-{n % 28 + 1:02}"
        for n in range(120)
    ]
    seen = preview([table(tmp_path / "e.csv", "R_fighter,B_fighter,Winner,weight_class,date", rows)])
    assert "--subject R_fighter --relation weight_class --object B_fighter" in seen.command
    (note,) = [text for text in seen.problems if text.startswith("Winner")]
    assert note.startswith("Winner says Red or Blue, for R_fighter or B_fighter")


def test_a_property_of_the_subject_is_not_to_whom_and_a_month_not_who(tmp_path: Path) -> None:
    rows = [
        f"2024-01-{n % 28 + 1:02},2024-{n % 12 + 1:02},C{n % 50},Region {n % 50 % 5},yes,T{n % 37},{n % 3} grade"
        for n in range(400)
    ]
    seen = preview([table(tmp_path / "e.csv", "on,period,land,part_of_world,known,bank,damagetype1", rows)])
    assert "--subject land --relation damagetype1 --object bank --time on" in seen.command


def test_many_numbers_are_no_kind_of_event(tmp_path: Path) -> None:
    rows = [f"C{n % 50},I{n % 6},{n % 41},{1950 + n % 60}" for n in range(1000)]
    seen = preview([table(tmp_path / "e.csv", "country,issue,votes,year", rows)])
    assert "--subject country --relation '=<what is done>' --object issue" in seen.command


def test_words_before_a_date_are_part_of_its_pattern(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [f'a{n % 7},visits,b{n % 5},"Seen on: Monday, January {n % 28 + 1}, 1791"' for n in range(60)]
    seen = preview([table(tmp_path / "e.csv", "source,type,target,remark", rows)])
    assert "--time remark --time-format 'Seen on: %A, %B %d, %Y'" in seen.command
    run = CliRunner().invoke(app, shlex.split(seen.command)[1:])
    assert "1791-01-01 to 1791-01-28" in run.output


def test_a_table_of_a_single_year_is_told(tmp_path: Path) -> None:
    rows = [f"A{n % 9},visits,B{n % 7},2000" for n in range(50)]
    seen = preview([table(tmp_path / "e.csv", "origin,kind,destination,year", rows)])
    assert seen.problems == ["year has too few different times: train, valid and test need one each"]


def test_one_long_name_makes_no_remarks_of_a_column(tmp_path: Path) -> None:
    rows = [f"P{n},D{n % 80}{' of the county' * 9 * (n == 5)},C{n % 4},2024-01-{n % 28 + 1:02}" for n in range(400)]
    seen = preview([table(tmp_path / "e.csv", "person,dept,cause,date", rows)])
    assert "--subject person --relation cause --object dept" in seen.command


def test_text_in_an_old_encoding_is_read_and_its_encoding_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = "".join(f"Müller {n % 5};trifft;Jäger {n % 4};{n % 28 + 1:02}.01.2024\n" for n in range(60))
    (tmp_path / "e.csv").write_text("who;what;whom;when\n" + rows, encoding="cp1252")
    seen = preview([tmp_path / "e.csv"])
    assert seen.columns[0].examples == "Müller 0 | Müller 1 | Müller 2"
    assert seen.problems == ["it is not in UTF-8 and was read as cp1252: if names look wrong, name another --encoding"]
    run = CliRunner().invoke(app, shlex.split(seen.command)[1:])
    assert "60 facts, 9 entities, 1 relation" in run.output
    (tmp_path / "u.csv").write_bytes(("who;what;whom;when\n" + rows).encode() + b"\xff;trifft;b;01.01.2024\n")
    assert "encoding" not in preview([tmp_path / "u.csv"]).options, "a bad byte in UTF-8 makes a bad row"


@pytest.mark.parametrize(
    ("name", "above", "between"),
    [("e.tsv", "# exported\n# on Monday\n", "\t"), ("e.csv", "Report\n\n", ","), ("s.csv", "Bericht; 2024\n", ";")],
)
def test_a_header_below_other_lines_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, above: str, between: str
) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [("who", "what", "whom", "when", "note")]
    rows += [(f"a{n % 5}", "meets", f'"b, {n % 4}"', f"2024-01-{n % 28 + 1:02}", "") for n in range(60)]
    (tmp_path / name).write_text(above + "".join(between.join(row) + "\n" for row in rows))
    seen = preview([tmp_path / name])
    assert seen.problems[0].startswith(f"the header is on line {above.count(chr(10)) + 1}, below")
    run = CliRunner().invoke(app, shlex.split(seen.command)[1:])
    assert "60 facts, 9 entities, 1 relation" in run.output
    assert "b, 3" in CliRunner().invoke(app, ["data", "show", name[0], "a3"]).output


def test_rows_within_a_document_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    rows = [
        {"who": f"a{n % 5}", "what": "meets", "whom": f"b{n % 4}", "when": f"2024-01-{n + 1:02}"} for n in range(20)
    ]
    (tmp_path / "e.json").write_text(json.dumps({"meta": {"rows": 20}, "data": rows}, indent=1))
    seen = preview([tmp_path / "e.json"])
    assert seen.problems == ["the rows are the list data within one document"]
    assert "20 facts" in CliRunner().invoke(app, shlex.split(seen.command)[1:]).output


def test_a_header_that_names_no_row_numbers_is_no_line_above_it(tmp_path: Path) -> None:
    rows = [f'{n} "a{n % 5}" meets b{n % 4} 2024-01-{n % 28 + 1:02}' for n in range(60)]
    seen = preview([table(tmp_path / "r.txt", "who what whom when", rows)])
    assert "--sql" not in seen.command


def test_a_document_without_rows_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "e.json").write_text("<html>\n<p>404 Not Found</p>\n</html>\n")
    with pytest.raises(InputError, match=r"e\.json holds no row that can be read: line 1: not valid JSON"):
        preview([tmp_path / "e.json"])
