"""Live events by the names of datasets: the next forecast sees them, and a backup brings them back."""

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import xerte
from xerte.api import live
from xerte.api.imports import import_events
from xerte.cli import app
from xerte.data import catalog, store
from xerte.errors import DatasetError, InputError

ROWS = "subject,relation,object,time\n" + "".join(
    f"{subject},{relation},{object},2024-01-{day:02}\n"
    for day in range(1, 21)
    for subject, relation, object in (("Ann", "visits", "Ben"), ("Ben", "calls", "Cy"), ("Cy", "calls", "Ann"))
)
TINY: dict[str, Any] = {
    "dims": [8, 8],
    "static_dim": 8,
    "time_dim": 8,
    "steps": 2,
    "n": 4,
    "k": 8,
    "epochs": 1,
    "batch_size": 64,
}


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "a.csv").write_text(ROWS)
    import_events(tmp_path / "a.csv", "mine")
    return "mine"


def lines(path: Path, *events: dict[str, str]) -> Path:
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    return path


NEW = {"subject": "Dee", "relation": "visits", "object": "Ann", "time": "2024-01-21", "id": "1", "source": "Reuters"}


@pytest.mark.parametrize("trained", [False, True])
def test_a_forecast_sees_what_another_just_appended(mine: str, tmp_path: Path, trained: bool) -> None:
    model = xerte.train(mine, model="xerte", **TINY) if trained else xerte.Model.load("recurrence", mine)
    assert model.forecast("Ann", "visits", "2024-02-01").answers
    with pytest.raises(xerte.UnknownNameError):
        model.forecast("Dee", "visits", "2024-02-01")
    done = live.append(mine, [lines(tmp_path / "b.jsonl", NEW)])
    assert (done.report.stored, done.report.new_entities, done.facts) == (1, ["Dee"], 61)
    forecast = model.forecast("Dee", "visits", "2024-02-01")
    best = {answer.entity for answer in forecast.answers if answer.reached}
    assert "Ann" in best, "a name the model never saw is answered from its first fact on"
    assert any(fact.subject == "Dee" for fact in forecast.explain("Ann").evidence)


@pytest.mark.parametrize("where", ["tail", "columns"])
def test_a_history_shows_the_id_to_retract_an_event_by(mine: str, tmp_path: Path, where: str) -> None:
    live.append(mine, [lines(tmp_path / "b.jsonl", {**NEW, "id": "4711"})])
    if where == "columns":
        live.compact(mine)
    asked = ["data", "show", mine, "Dee"]
    words = CliRunner().invoke(app, asked).stdout.split()
    assert ("id" in words, words[-1]) == (True, "4711")
    (event,) = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["events"]
    assert event["extras"] == {"source": "Reuters", "id": "4711"}
    assert live.retract(mine, [event["extras"]["id"]]).report.retracted == 1


@pytest.mark.parametrize("trained", [False, True])
def test_a_forecast_reads_no_fact_of_the_import_that_was_retracted(mine: str, tmp_path: Path, trained: bool) -> None:
    model = xerte.train(mine, model="xerte", **TINY) if trained else xerte.Model.load("recurrence", mine)
    gone = {"subject": "Ann", "relation": "visits", "object": "Ben", "action": "retract"}
    rows = [{**gone, "time": f"2024-01-{day:02}"} for day in range(1, 21)]

    why = str(model.forecast("Ann", "visits", "2024-02-01").explain())
    assert trained or "Ann visits Ben" in why or "Ann visited Ben" in why
    done = live.append(mine, [lines(tmp_path / "fixes.jsonl", *rows, {**NEW, "subject": "Ann", "object": "Cy"})])
    assert (done.report.retracted, done.report.stored, done.facts) == (20, 1, 41)
    forecast = model.forecast("Ann", "visits", "2024-02-01")
    assert model.history.num_facts == 41
    assert not any(words in str(forecast.explain()) for words in ("Ann visits Ben", "Ann visited Ben"))
    live.compact(mine)
    again = xerte.Model.load("recurrence", mine).forecast("Ann", "visits", "2024-02-01")
    assert [one.entity for one in again.answers] == ["Cy"]
    if not trained:
        assert forecast.answers == again.answers


@pytest.mark.parametrize("where", ["tail", "columns"])
def test_provenance_stands_beside_the_fact_in_text_json_and_page(mine: str, tmp_path: Path, where: str) -> None:
    live.append(mine, [lines(tmp_path / "1.jsonl", {**NEW, "headline": "Dee comes", "url": "https://example.org/1"})])
    if where == "columns":
        live.compact(mine)
    page = tmp_path / "why.html"
    asked = ["explain", mine, "Dee", "visits", "2024-01-22", "--model", "recurrence"]
    text = CliRunner().invoke(app, [*asked, "--html", str(page)]).stdout
    assert "2024-01-21: headline: Dee comes, source: Reuters, url: https://example.org/1" in text
    facts = json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["evidence"]
    assert [fact["source"] for fact in facts if fact["subject"] == "Dee"] == [
        {"headline": "Dee comes", "source": "Reuters", "url": "https://example.org/1", "id": "1"}
    ]
    assert "Dee comes" in page.read_text()


def test_so_do_questions_of_likelihood(mine: str, tmp_path: Path) -> None:
    model = xerte.Model.load("recurrence", mine)
    before = model.ask("Ann", "visits", "Cy", within="5d").answers[0].probability
    new = [{**NEW, "subject": "Ann", "object": "Cy", "time": f"2024-01-{day}", "id": str(day)} for day in (21, 22, 23)]
    live.append(mine, [lines(tmp_path / "b.jsonl", *new)])
    assert model.ask("Ann", "visits", "Cy", within="5d").answers[0].probability > before
    assert model.ask("Ann", "visits", "Cy", within="5d").as_of == "2024-01-24"


def test_tables_of_every_kind_and_a_bad_row_keeps_its_file_out(mine: str, tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text("subject,relation,object,time,id,headline\nAnn,visits,Eve,2024-02-01,7,They met\n")
    (tmp_path / "c.tsv").write_text("subject\trelation\tobject\ttime\nAnn\tcalls\tEve\t2024-02-02\n")
    lines(tmp_path / "d.jsonl", {**NEW, "time": "2024-02-03"})
    done = live.append(mine, [tmp_path / name for name in ("b.csv", "c.tsv", "d.jsonl")])
    assert (done.report.stored, done.facts) == (3, 63)
    events = xerte.load(mine)
    assert events.extras["headline"][60] == "They met"
    (tmp_path / "e.csv").write_text("subject,relation,object,time\nAnn,visits,Flo,2024-02-01\nAnn,visits,Flo,\n")
    with pytest.raises(InputError, match=r"e\.csv, line 3: no time is given"):
        live.append(mine, [tmp_path / "e.csv"])
    assert "Flo" not in xerte.load(mine).entities
    (tmp_path / "f.csv").write_text("subject,relation,object,time\nAnn,visits\n")
    with pytest.raises(InputError, match=r"f\.csv, line 2: not as many fields"):
        live.append(mine, [tmp_path / "f.csv"])
    with pytest.raises(InputError, match="must end in"):
        live.append(mine, [tmp_path / "g.doc"])


def test_one_fact_is_corrected_and_retracted_on_the_command_line(mine: str) -> None:
    def run(*words: str) -> Any:
        return json.loads(CliRunner().invoke(app, ["data", *words, "--json"], catch_exceptions=False).stdout)

    live.append_events(mine, [NEW, {key: text for key, text in NEW.items() if key != "id"}])
    fact = [NEW[name] for name in ("subject", "relation", "object", "time")]
    done = run("correct", mine, "--fact", *fact, "--object", "Zoe", "--known-at", "2024-02-05")
    assert (done["corrected"], done["new_entities"]) == (2, ["Zoe"])
    assert run("correct", mine, "1", "--object", "Ann")["corrected"] == 1
    fact[2] = "Zoe"
    assert run("retract", mine, "--fact", *fact)["retracted"] == 1
    told = run("versions", mine, "--fact", *fact)
    assert sorted(one["action"] for one in told["versions"]) == [
        "add",
        "add",
        "correct",
        "correct",
        "correct",
        "retract",
    ]
    for wrong, message in (
        (["retract", mine], "give the ids of events, or one --fact"),
        (["correct", mine, "1"], "say what is right"),
        (["correct", mine, "--object", "Ann"], "give the id of one event, or its --fact"),
        (["retract", mine, "--fact", *fact[:3], "2024-03-03"], "there is no fact"),
    ):
        refused = CliRunner().invoke(app, ["data", *wrong])
        assert (refused.exit_code, message in refused.output) == (2, True)


def test_versions_tell_what_was_known_when(mine: str) -> None:
    live.append_events(mine, [{**NEW, "known_at": "2024-02-01"}])
    live.append_events(mine, [{"action": "retract", "id": "1", "known_at": "2024-02-02T12:00+02:00"}])
    told = [(one["known_at"], one["action"], one["fact"][0]) for one in live.versions(mine, "1")]
    assert told == [("2024-02-01T00:00:00Z", "add", "Dee"), ("2024-02-02T10:00:00Z", "retract", "")]
    with pytest.raises(InputError, match="no event with the id 9 was ever appended"):
        live.versions(mine, "9")


def test_a_backup_taken_while_others_append_is_a_prefix_of_what_came(mine: str, tmp_path: Path) -> None:
    stop, count = threading.Event(), 0

    def append() -> None:
        nonlocal count
        while not stop.is_set():
            live.append_events(mine, [{**NEW, "id": str(count), "subject": f"n{count}"}])
            count += 1

    writer = threading.Thread(target=append)
    writer.start()
    while count < 3:
        pass
    least = count
    live.compact(mine)
    live.backup(mine, tmp_path / "mine.tar")
    most = count + 1
    stop.set()
    writer.join()
    restored = live.restore(tmp_path / "mine.tar", "again")
    names = [name for name in restored.entities if name.startswith("n")]
    assert least <= len(names) <= most
    assert names == [f"n{number}" for number in range(len(names))]
    assert len(xerte.load("again").append([NEW | {"id": "x"}]).facts) == 61 + len(names)


def test_what_is_no_backup_is_refused_and_changes_nothing(mine: str, tmp_path: Path) -> None:
    live.append_events(mine, [NEW])
    live.backup(mine, tmp_path / "mine.tar")
    with pytest.raises(InputError, match="there is a dataset"):
        live.restore(tmp_path / "mine.tar", mine)
    data = (tmp_path / "mine.tar").read_bytes()
    assert b"AnnBenCy" in data
    (tmp_path / "columns.tar").write_bytes(data.replace(b"AnnBenCy", b"AnnBenCx"))
    (tmp_path / "log.tar").write_bytes(data.replace(b"Reuters", b"reuters"))
    (tmp_path / "half.tar").write_bytes(data[: len(data) // 2])
    (tmp_path / "text.tar").write_text("hello")
    for file in ("columns.tar", "log.tar", "half.tar", "text.tar", "none.tar"):
        with pytest.raises(InputError):
            live.restore(tmp_path / file, "again")
    with pytest.raises(InputError, match="no dataset"):
        xerte.load("again")
    live.restore(tmp_path / "mine.tar", mine, replace=True)
    assert len(xerte.load(mine).facts) == 61


def test_a_backup_overwrites_a_file_only_when_told_to(mine: str, tmp_path: Path) -> None:
    (tmp_path / "notes.tar").write_text("not a backup")
    command = ["data", "backup", mine, str(tmp_path / "notes.tar")]
    assert "exists already" in CliRunner().invoke(app, command).stderr
    assert (tmp_path / "notes.tar").read_text() == "not a backup"
    assert CliRunner().invoke(app, [*command, "--force"]).exit_code == 0
    assert len(live.restore(tmp_path / "notes.tar", "again").facts) == 60


def test_a_dataset_is_compacted_in_the_background_where_much_was_appended(
    mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(live, "COMPACT_AFTER", 3)
    monkeypatch.setattr("subprocess.Popen", lambda command, **_: started.append(command))
    live.append_events(mine, [{**NEW, "id": str(number)} for number in range(5)])
    assert not started, "a tenth of the columns is six"
    live.append_events(mine, [{**NEW, "id": str(number)} for number in range(5, 9)])
    assert started[0][1:4] == ["-m", "xerte", "data"]


def test_nothing_is_appended_to_what_is_not_there_or_not_yours(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lies in no folder"):
        live.append("world", [lines(tmp_path / "b.jsonl", NEW)])
    with pytest.raises((InputError, DatasetError)):
        live.append("nobody", [lines(tmp_path / "b.jsonl", NEW)])


def test_the_first_compaction_upgrades_a_dataset_and_says_so(mine: str) -> None:
    folder = catalog.find(mine)
    assert store.describe(folder)["version"] == 1
    live.append_events(mine, [NEW])
    first = CliRunner().invoke(app, ["data", "compact", mine])
    assert "mine is now in version 2 of the dataset format" in first.stdout
    assert store.describe(folder)["version"] == 2
    assert len(xerte.load(mine).facts) == 61
    live.append_events(mine, [NEW | {"id": "2"}])
    again = CliRunner().invoke(app, ["data", "compact", mine, "--json"])
    assert json.loads(again.stdout) == {"name": mine, "added": 1, "removed": 0, "upgraded": False}
