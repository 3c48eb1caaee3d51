"""A new user's mistakes with real tables: one sentence, and what it says to type works."""

import json
import re
import shlex
import time
import zipfile
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

import xerte as xerte_api
from xerte.api.evaluations import keep_for_the_list
from xerte.cli import app, output

COLUMNS = ["--subject", "who", "--relation", "what", "--object", "whom", "--time", "when"]
ROWS = [
    ["who", "what", "whom", "when"],
    *(["Ann", "visits", f"P{day % 3}", f"2024-05-{day:02}"] for day in range(1, 31)),
]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XERTE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def xerte(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def mistake(*words: str) -> str:
    result = xerte(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("\n") == 1
    return result.stderr


def table(name: str, rows: list[list[str]], between: str = ",") -> str:
    Path(name).write_text("\n".join(between.join(row) for row in rows) + "\n")
    return name


def test_the_part_of_a_sheet_that_is_suggested_can_be_read() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    notes = [["code", "label"], ["1", "x"]]
    beside = [[*row, None, *(notes[n] if n < len(notes) else ())] for n, row in enumerate(ROWS)]
    for sheet in ([["Our visits"], [], *ROWS], [*ROWS, [], *notes], beside):
        book = openpyxl.Workbook()
        book.active.title = "May 2024"
        for row in sheet:
            book.active.append(row)
        book.save("e.xlsx")
        told = mistake("data", "import", "e.xlsx", *COLUMNS, "--name", "e", "--replace")
        words = shlex.split(told[told.index("--table") :])
        assert "30 facts" in xerte("data", "import", "e.xlsx", *COLUMNS, *words, "--name", "e", "--replace").output


def test_one_of_several_tables_is_chosen_with_an_option() -> None:
    with zipfile.ZipFile("e.zip", "w") as archive:
        archive.writestr("one.csv", "a\n")
        archive.writestr("two.csv", "a\n")
    assert "choose one with --table (one.csv, two.csv)" in mistake("data", "preview", "e.zip")


def test_a_day_or_a_month_that_comes_first_is_said_with_an_option() -> None:
    file = table("e.csv", [ROWS[0], *(["Ann", "visits", f"P{n}", f"{n}/{13 - n}/2024"] for n in range(1, 13))])
    told = mistake("data", "import", file, *COLUMNS, "--name", "e")
    for asked in re.findall(r"--time-format (\S+)", told):
        assert (
            xerte("data", "import", file, *COLUMNS, "--time-format", asked, "--name", "e", "--replace").exit_code == 0
        )
    assert "--time-format %d/%m/%Y or --time-format %m/%d/%Y" in told


def test_times_that_cannot_be_read_ask_for_their_format() -> None:
    file = table("e.csv", [ROWS[0], *(["Ann", "visits", "Bea", f"week {n} of 24"] for n in range(1, 12))])
    told = mistake("data", "import", file, *COLUMNS, "--name", "e")
    assert "the first is 'week 1 of 24': say how they are written with --time-format" in told


def test_a_query_over_a_text_file_says_where_to_name_it() -> None:
    query = 'SELECT * FROM "e"'
    told = mistake("data", "import", table("e.csv", ROWS), "--sql", query, *COLUMNS, "--name", "e")
    assert "e.csv is no database: give no file, and name it in the query: FROM 'e.csv'" in told
    assert "30 facts" in xerte("data", "import", "--sql", "SELECT * FROM 'e.csv'", *COLUMNS, "--name", "e").output


def test_kinds_that_do_not_recur_are_told() -> None:
    rows = [["Ann", f"cup {day}", f"P{day % 3}", str(day)] for day in range(100)]
    taken = xerte("data", "import", table("e.csv", [ROWS[0], *rows]), *COLUMNS, "--name", "e").output
    assert "train never has the relation of 10 of the 10 facts of test: choose one that recurs" in taken
    assert "do names hold what changes" not in taken
    rows = [[f"Ann ({day})", "meets", f"P{day % 3}", str(day)] for day in range(100)]
    taken = xerte("data", "import", table("f.csv", [ROWS[0], *rows]), *COLUMNS, "--name", "f").output
    assert (
        "train never names an entity of 10 of the 10 facts of test: are they all new, or do names hold what changes"
        in taken
    )
    assert "never has the relation" not in taken


def test_rows_without_an_object_are_counted_among_those_read() -> None:
    file = table("e.csv", [*ROWS, ["Ann", "visits", "", "2024-05-31"]])
    told = mistake("data", "import", file, *COLUMNS, "--name", "e")
    assert "line 32, column whom: nothing there; --missing-object skip" in told
    taken = xerte("data", "import", file, *COLUMNS, "--missing-object", "skip", "--name", "e").output
    assert "31 rows read" in taken
    assert "1 row without an object skipped" in taken


def test_a_database_needs_a_query_and_perhaps_an_extension() -> None:
    Path("my.sqlite").write_bytes(b"SQLite format 3\0" + bytes(84))
    assert "is a database: say what to read with `xerte data import … --sql" in mistake("data", "preview", "my.sqlite")


def test_seldom_delimiters_are_found_and_others_are_asked_for() -> None:
    assert "a ~ between fields, 4 columns" in xerte("data", "preview", table("e.csv", ROWS, "~")).output
    odd = table("odd.csv", ROWS, "$")
    told = mistake("data", "import", odd, *COLUMNS, "--name", "e")
    assert "has no column 'who', only one called 'who$what$whom$when'" in told
    assert "say what stands between them with --delimiter" in told
    assert "--delimiter says what stands between fields" in xerte("data", "preview", odd).output


def test_the_previews_command_works_where_a_few_values_are_missing_or_cannot_be_read() -> None:
    more = [["Ben", "calls", "Ann", "2024-06-01"]] * 300
    file = table("e.csv", [*ROWS, *more, ["", "calls", "Ann", "2024-06-02"], ["Ben", "calls", "Ann", "soon"]])
    seen = xerte("data", "preview", file).output
    assert "who (subject) is empty in 1 % of rows" in seen
    assert "1 time cannot be read" in seen
    taken = xerte(*shlex.split(seen.splitlines()[-1])[1:]).output
    assert "2 bad rows skipped" in taken


def test_a_column_of_few_values_between_two_of_many_is_what_is_done() -> None:
    header = ["person", "post", "country", "start"]
    rows = [[f"P{n % 50}", ["minister", "envoy"][n % 2], f"C{n % 30}", f"{1800 + n}"] for n in range(200)]
    assert (
        "--subject person --relation post --object country"
        in xerte("data", "preview", table("e.csv", [header, *rows])).output
    )


def test_what_is_not_there_is_not_asked_about() -> None:
    assert "no dataset called nothing is kept here" in mistake("data", "remove", "nothing")


def test_a_name_is_no_alias_of_itself() -> None:
    xerte("data", "import", table("e.csv", ROWS), *COLUMNS, "--name", "e")
    assert "a name is no alias of itself" in mistake("data", "merge", "e", "Ann", "Ann")


def test_an_evaluation_says_which_filter_to_read() -> None:
    xerte("data", "import", table("e.csv", ROWS), *COLUMNS, "--name", "e")
    assert "Read the time-aware row" in xerte("evaluate", "e").output


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(output, "EVERY", 0.0)
    with output.progress("best on e", "questions") as report:
        report(1000, 2000)
    with output.progress("e.zip", "B") as report:
        report(3_000_000, 9_000_000)
    first, second = capsys.readouterr().err.splitlines()
    assert (first, second) == ("best on e: 1,000 of 2,000 questions", "e.zip: 3 of 9 MB")
    monkeypatch.setattr(output, "EVERY", 0.01)
    told = ""
    with output.busy("reading e.csv"):
        for _ in range(6000):
            if told := capsys.readouterr().err:
                break
            time.sleep(0.01)
    assert re.match(r"reading e\.csv, [0-9]+ s\n", told)


def test_a_training_in_a_log_tells_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "EVERY", 0.0)
    xerte("data", "import", table("e.csv", ROWS), *COLUMNS, "--name", "e")
    told = xerte("train", "e", "--set", "epochs=1").stderr
    assert re.search(r"training: step [0-9]+ of [0-9]+, epoch 1/1, loss ", told)


def test_the_list_of_models_has_what_an_evaluation_measured() -> None:
    xerte("data", "import", table("e.csv", ROWS), *COLUMNS, "--name", "e")
    xerte("train", "e", "--set", "epochs=1")

    def listed() -> dict[str, object]:
        found: list[dict[str, object]] = json.loads(xerte("model", "list", "--json").stdout)
        return next(one for one in found if one["name"] == "e-auto")

    before = listed()
    xerte("evaluate", "e", "--split", "valid")
    assert listed()["test_mrr"] is None
    measured = json.loads(xerte("evaluate", "e", "--json").stdout)["metrics"]["time-aware"]["mrr"]
    assert listed() == before | {"test_mrr": measured}
    state = Path("home/runs/e-auto/test.json")
    state.write_text(state.read_text().replace('"version": "', '"version": "0'))
    assert listed()["test_mrr"] is None, "of other weights"
    judged = xerte_api.Model.load("e-auto", "e")
    judged.metadata = {**judged.metadata, "files": {"weights": {"sha256": "0" * 64}}}
    keep_for_the_list(judged, judged.evaluate("test"))
    assert listed()["test_mrr"] is None, "it was trained anew while it was judged"
    assert xerte("model", "verify", "e-auto").exit_code == 0


def test_the_first_forecast_tells_what_takes_it_so_long_and_the_second_need_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(output, "EVERY", 0.0)
    rows = [[f"A{n % 7}", "visits", f"P{n % 5}", f"{1700 + n}"] for n in range(300)]
    xerte("data", "import", table("e.csv", [ROWS[0], *rows]), *COLUMNS, "--name", "e")
    first, second = (xerte("forecast", "e", "A1", "visits", "2000", "--top", "2") for _ in range(2))
    assert "learning how likely: 60 of 60 questions" in first.stderr
    assert (second.stderr, second.stdout) == ("", first.stdout)


def test_rules_too_are_those_of_the_newest_model() -> None:
    xerte("data", "import", table("e.csv", ROWS), *COLUMNS, "--name", "e")
    xerte("train", "e", "--set", "epochs=1")
    assert "e-auto answered, the newest model trained on e" in xerte("rules", "e", "visits").output


@pytest.mark.parametrize("group", ["", "data", "model", "survey", "watch", "token", "experiment"])
def test_lists_of_commands_say_what_each_does_in_80_columns(group: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    told = xerte(*group.split(), "--help").output
    listed = told.partition("Commands:")[2].splitlines()
    assert len(listed) > 2
    assert [line for line in listed if line.endswith("...") or len(line) > 80] == []


def test_what_python_shows_of_data_and_models_is_one_line() -> None:
    dataset = xerte_api.load(table("e.csv", ROWS), subject="who", relation="what", object="whom", time="when")
    assert repr(dataset) == "<Dataset table: 30 facts, 4 entities, 1 relation, 2024-05-01 to 2024-05-30>"
    assert repr(dataset.facts) == "<Facts: 30 facts in ids>"
    model = xerte_api.Model.load("recurrence", dataset)
    assert repr(model) == "<Model recurrence: recurrence on table>"
    assert repr(model.evaluate("test")) == "<Evaluation of recurrence on table, test: 6 questions>"


def test_models_that_came_along_have_no_date_of_training() -> None:
    lines = {line.split()[0]: line for line in xerte("model", "list").output.splitlines() if line.strip()}
    assert "with xerte" in lines["icews14-best"]
    assert "with xerte" not in lines["recurrence"]


def test_tables_fit_a_terminal_of_eighty_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "the mayor of a town by the sea"
    rows = [[f"p{n % 5}", "visits", name if n % 3 else "q", f"2024-01-{n + 1:02}"] for n in range(28)]
    file = table("e.csv", [["subject", "relation", "object", "time"], *rows])
    assert xerte("data", "import", file, "--name", "e").exit_code == 0
    console = Console(width=80, highlight=False)
    monkeypatch.setattr(output, "_console", lambda: console)
    with console.capture() as seen:
        assert xerte("data", "preview", file).exit_code == 0
    assert re.search(r"time +time +2024-01-01 \| 2024-01-0\d \|.*… +100 +28 *$", seen.get(), re.MULTILINE)
    with console.capture() as seen:
        assert xerte("explain", "e", "p0", "visits", "2024-01-29").exit_code == 0
    bars = re.findall("[█▏▎▍▌▋▊▉]+", seen.get())
    assert bars[0] == "█" * (80 - 42 - len(name)), "as long as there is room"
    assert len(bars) <= 2, "no bar goes on in another line"


def test_an_unknown_option_in_python_is_one_sentence() -> None:
    file = table("e.csv", ROWS)
    with pytest.raises(xerte_api.InputError, match=r"a table has no option subjekt: did you mean subject\?"):
        xerte_api.load(file, subjekt="who")
