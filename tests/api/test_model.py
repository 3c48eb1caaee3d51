"""The facade: names and dates in, names and dates out."""

import dataclasses
import json
import re
import shutil
import subprocess
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import xerte
from xerte.api.asking import best_columns
from xerte.api.datasets import check, history, search, statistics
from xerte.api.forecast import Asked
from xerte.api.model import Model
from xerte.cli.evaluate import command_of
from xerte.data import store
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.errors import CheckpointError, InputError, UnknownNameError
from xerte.experiment import trace as trace_module
from xerte.experiment.opening import make
from xerte.experiment.registry import MODELS
from xerte.experiment.saved import metadata_of
from xerte.experiment.trace import FORMAT, Trace, commit
from xerte.forecaster import Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.model import XERTE
from xerte.settings import ModelSettings

NAMES = ["Ann", "Ben", "Cid", "Dan"]


@pytest.fixture
def small() -> Dataset:
    #      day 0: Ann helps Ben   day 1: Ann helps Cid   day 2: Ben thanks Ann
    #      day 3: Ann helps Ben   day 4: Cid helps Ben   day 5: Dan helps Ann
    rows = [(0, 0, 1, 0), (0, 0, 2, 1), (1, 1, 0, 2), (0, 0, 1, 3), (2, 0, 1, 4), (3, 0, 0, 5)]
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    return Dataset(
        "small", Facts.of(rows), (4, 1, 1), Vocabulary.of(NAMES), Relations.of(["helps", "thanks"]), calendar
    )


class Fixed:
    """Scores by id, and shows what it was asked: entity 3 is never reached, ids 1 and 2 tie."""

    name = "fixed"

    def __init__(self) -> None:
        self.asked: list[tuple[int, int, int]] = []

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        table = torch.stack([queries.subject, queries.relation, queries.time], 1)
        self.asked += [tuple(row) for row in table.tolist()]
        scores = torch.tensor([[0.1, 0.7, 0.7, 9.0]]).repeat(len(queries), 1)
        reached: Tensor = torch.tensor([[True, True, True, False]]).repeat(len(queries), 1)
        return Scores.ranking(scores, reached)


def test_a_question_becomes_ids_and_ticks(small: Dataset) -> None:
    fixed = Fixed()
    model = Model(fixed, small)
    model.forecast("Ann", "helps", "2024-01-05")
    model.forecast("?", "helps", "2024-01-05", object="Ben")
    model.forecast("Ben", "inverse of helps", "2024-01-05")
    assert fixed.asked == [(0, 0, 4), (1, 1, 4), (1, 1, 4)]


def test_answers_are_best_first_ties_by_id_and_unreached_left_out(small: Dataset) -> None:
    forecast = Model(Fixed(), small).forecast("Ann", "helps", "2024-01-05")
    assert [(answer.entity, answer.reached) for answer in forecast.answers] == [
        ("Ben", True),
        ("Cid", True),
        ("Ann", True),
    ]
    assert [answer.score for answer in forecast.answers] == pytest.approx([0.7, 0.7, 0.1])
    best = Model(Fixed(), small).forecast("Ann", "helps", "2024-01-05", top=1)
    assert [answer.entity for answer in best.answers] == ["Ben"]


def test_candidates_are_all_given_unreached_last(small: Dataset) -> None:
    forecast = Model(Fixed(), small).forecast("Ann", "helps", "2024-01-05", among=["Dan", "Ann"])
    assert [(answer.entity, answer.reached) for answer in forecast.answers] == [("Ann", True), ("Dan", False)]
    assert forecast.answers[1].score == 0
    with pytest.raises(InputError, match="no candidates"):
        Model(Fixed(), small).forecast("Ann", "helps", "2024-01-05", among=[])


def test_notes(small: Dataset) -> None:
    model = Model(Fixed(), small)
    assert model.forecast("Ann", "helps", "2024-01-02").notes == ()
    assert model.forecast("Ann", "helps", "2024-01-01").notes == (
        "no prior facts: nothing is known of Ann before 2024-01-01",
    )
    assert model.forecast("Dan", "helps", "2024-01-10").notes == (
        "Dan is in no training fact",
        "the history ends at 2024-01-06, 4 days before the question",
    )


def test_notes_tell_names_as_sentences_do() -> None:
    rows, names = [(0, 0, 1, 0), (0, 0, 1, 1), (2, 1, 1, 2)], ["<Ann_Lee>", "<MIT>", "<Ben_Kay>", "<Dan>"]
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    relations = Relations.of(["<worksAt>", "<owns>"])
    data = Dataset("codes", Facts.of(rows), (1, 1, 1), Vocabulary.of(names), relations, calendar)
    notes = Model(Fixed(), data).forecast("<Ben_Kay>", "<owns>", "2024-01-03").notes
    assert notes == (
        "no prior facts: nothing is known of Ben Kay before 2024-01-03",
        "Ben Kay is in no training fact",
        "owns is in no training fact",
    )


def test_a_question_about_what_was_learned_from_is_hindsight(small: Dataset) -> None:
    """Recurrence chose its decays, and the model its weights, by what happened up to day 4."""
    recurrence = Model.load("recurrence", small)
    for model in (recurrence, untrained(small)):
        said = f"hindsight: {model.name} learned from what happened up to 2024-01-05"
        assert said in model.forecast("Ann", "helps", "2024-01-05").notes
        assert model.forecast("Ann", "helps", "2024-01-06").notes == ()
    assert Model(Fixed(), small).forecast("Ann", "helps", "2024-01-05").notes == ()


def test_a_dataset_changed_since_training_is_told(small: Dataset) -> None:
    net = untrained(small).forecaster
    rows = [(0, 0, 1, 0), (0, 0, 2, 1), (1, 1, 0, 2), (0, 0, 2, 3), (2, 0, 1, 4), (3, 0, 0, 5)]
    changed = dataclasses.replace(small, facts=Facts.of(rows))
    said = "small has other facts up to 2024-01-05 than when the model was trained"
    assert Model(net, changed).forecast("Ann", "helps", "2024-01-06").notes == (said,)
    later = dataclasses.replace(small, facts=Facts.of([*rows[:3], (0, 0, 1, 3), rows[4], (3, 0, 1, 5)]))
    assert Model(net, later).forecast("Ann", "helps", "2024-01-06").notes == ()


def test_mistakes(small: Dataset) -> None:
    model = Model(Fixed(), small)
    with pytest.raises(UnknownNameError, match="no entity is called Anne: did you mean Ann"):
        model.forecast("Anne", "helps", "2024-01-05")
    with pytest.raises(InputError, match="at least 1"):
        model.forecast("Ann", "helps", "2024-01-05", top=0)
    with pytest.raises(InputError, match="either the subject or the object"):
        model.forecast("Ann", "helps", "2024-01-05", object="Ben")
    with pytest.raises(InputError, match="question 2: 'soon'"):
        model.forecast_many([xerte.Question("Ann", "helps", "2024-01-05"), xerte.Question("Ann", "helps", "soon")])
    with pytest.raises(InputError, match="name the dataset"):
        xerte.evaluate("recurrence")


ASKED = ("Ann", "helps", "2024-01-05")
FACT = ("Ann", "helps", "Ben", "2024-01-01")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subject": None}, "the subject is None: give a name, as text"),
        ({"relation": 7}, "the relation is 7: give a name, as text"),
        ({"object": b"Ben", "subject": "?"}, "the object is b'Ben': give a name, as text"),
        ({"time": None}, "the time is None: give ISO text like '2014-11-09', a date or a whole number"),
        ({"time": True}, "the time is True: give ISO text like '2014-11-09', a date or a whole number"),
        ({"top": "3"}, "top is '3': give a whole number"),
        ({"top": 2.0, "given": [FACT]}, "top is 2.0: give a whole number"),
        ({"top": 0, "given": [FACT]}, "top is 0: ask for at least 1 answer"),
        ({"among": "Ben"}, "among is 'Ben': give a list of names"),
        ({"among": "Ben", "without": [FACT]}, "among is 'Ben': give a list of names"),
        ({"among": ["Ben", None]}, "the candidate is None: give a name, as text"),
        ({"given": [("Ann", "helps")]}, "('Ann', 'helps') is not a fact: give (subject, relation, object, time)"),
        ({"without": FACT}, "'Ann' is not a fact: give (subject, relation, object, time)"),
        ({"without": "all"}, "'all' is not a list of facts: give [(subject, relation, object, time), …]"),
        ({"given": [("Ann", None, "Ben", "2024-01-01")]}, "the relation is None: give a name, as text"),
    ],
)
def test_what_is_not_what_it_should_be_is_one_sentence(small: Dataset, options: dict[str, Any], sentence: str) -> None:
    words = dict(zip(("subject", "relation", "time"), ASKED, strict=True)) | options
    with pytest.raises(InputError) as error:
        Model(Fixed(), small).forecast(**words)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("questions", "sentence"),
    [
        (
            [ASKED, ASKED[:2]],
            "question 2: ('Ann', 'helps') is not a question: give (subject, relation, time) and maybe",
        ),
        (ASKED, "question 1: 'Ann' is not a question"),
        ([(None, "helps", "2024-01-05")], "question 1: the subject is None"),
        (xerte.Question(*ASKED), "is not a list of questions: give [(subject, relation, time), …]"),
    ],
)
def test_what_is_no_question_is_named(small: Dataset, questions: Any, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        Model(Fixed(), small).forecast_many(questions)


def test_an_answer_to_explain_is_a_name(small: Dataset) -> None:
    with pytest.raises(InputError, match="the answer is 3: give a name"):
        Model(Fixed(), small).forecast(*ASKED).explain(cast(str, 3))


def test_questions_may_be_their_words_and_times_dates(small: Dataset) -> None:
    fixed = Fixed()
    day = date(2024, 1, 5)
    rows: list[Asked] = [
        ASKED,
        ("Ann", "helps", day),
        ("?", "helps", "2024-01-05", "Ben"),
        xerte.Question("Ben", "thanks", day),
    ]
    many = Model(fixed, small).forecast_many(rows)
    assert fixed.asked == [(0, 0, 4), (0, 0, 4), (1, 1, 4), (1, 2, 4)]
    assert [one.question.time for one in many] == ["2024-01-05"] * 4
    fixed.asked.clear()
    for time in (day, datetime(2024, 1, 5, tzinfo=UTC), np.datetime64("2024-01-05")):
        Model(fixed, small).forecast("Ann", "helps", time)  # type: ignore[arg-type]  # numpy's own is understood too
    assert fixed.asked == [(0, 0, 4)] * 3
    hidden = Model(fixed, small).forecast(*ASKED, without=[("Ann", "helps", "Ben", date(2024, 1, 4))])
    assert hidden.notes[0].startswith("hidden: On 2024-01-04, Ann helped Ben.")


def test_many_questions_report_progress_and_cross_batches(small: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xerte.forecaster.CELLS", 64)  # two questions at once
    seen: list[tuple[int, int]] = []
    questions = [xerte.Question(NAMES[i % 3], "helps", f"2024-01-0{i + 2}") for i in range(5)]
    model = Model.load("recurrence", small)
    many = model.forecast_many(questions, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]
    assert [one.question for one in many] == questions
    assert model.forecast_many([]) == []


@pytest.fixture(scope="module")
def busy_model() -> Model:
    rng = np.random.default_rng(0)
    rows = zip(*rng.integers([[4], [2], [4]], size=(3, 60)).tolist(), np.arange(60) // 10, strict=True)
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    relations = Relations.of(["helps", "thanks"])
    data = Dataset("busy", Facts.of(list(rows)), (40, 10, 10), Vocabulary.of(NAMES), relations, calendar)
    return Model.load("recurrence", data)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(["helps", "thanks"]), st.integers(1, 9)), max_size=6))
def test_company_never_changes_an_answer(busy_model: Model, rows: list[tuple[str, str, int]]) -> None:
    questions = [xerte.Question(subject, relation, f"2024-01-0{day}") for subject, relation, day in rows]
    for question, together in zip(questions, busy_model.forecast_many(questions), strict=True):
        alone = busy_model.forecast(question.subject, question.relation, question.time)
        assert (alone.question, alone.notes) == (together.question, together.notes)
        scores, others = ({answer.entity: answer.score for answer in one.answers} for one in (alone, together))
        assert scores == pytest.approx(others, rel=1e-12)


def test_recurrence_names_its_evidence(small: Dataset) -> None:
    model = Model.load("recurrence", small)
    forecast = model.forecast("Ann", "helps", "2024-01-06")
    assert forecast.answers[0].entity == "Ben"
    reasons = forecast.explain("Ben").evidence
    assert [(one.subject, one.time) for one in reasons[:2]] == [("Ann", "2024-01-04"), ("Ann", "2024-01-01")]
    assert sum(one.share for one in reasons) == pytest.approx(1)
    assert Model(Fixed(), small).forecast("Ann", "helps", "2024-01-06").explain("Ben").evidence == ()


def test_a_forecast_reads_well(small: Dataset) -> None:
    forecast = Model(Fixed(), small).forecast("Ann", "helps", "2024-01-05", top=1)
    assert str(forecast) == "(Ann, helps, ?, 2024-01-05)\n   1. Ben  0.7000"
    assert json.loads(json.dumps(forecast.to_json()))["query"]["subject"] == "Ann"


def test_evaluate_by_name_or_by_model(small: Dataset) -> None:
    by_name = xerte.evaluate("recurrence", small, "valid")
    by_model = xerte.evaluate(Model.load("recurrence", small), split="valid")
    assert by_name.metrics() == by_model.metrics()
    assert xerte.evaluate(Model(Fixed(), small), small).metrics().queries == 2


def test_load_by_name_folder_and_default(small: Dataset, tmp_path: Path) -> None:
    store.save(small, tmp_path / "kept")
    opened = xerte.load(tmp_path / "kept")
    assert opened.name == "small"
    assert list(opened.entities) == NAMES
    assert [finding.kind for finding in check(str(tmp_path / "kept"))] == ["unseen"]
    assert xerte.load().name == "world"
    assert statistics("world").entities >= 300
    assert isinstance(check("world"), list)


def test_read_events(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(
        "subject,relation,object,time\nÅsa,meets,Bo,2024-01-02\nBo,meets,Åsa,2024-01-01\n"
    )
    log = xerte.read_events(tmp_path / "events.csv")
    assert [log.entities[id] for id in log.facts.subject] == ["Bo", "Åsa"]


def test_history_and_search(small: Dataset) -> None:
    total, events = history(small, "Ben")
    assert total == 4
    assert [(event.time, event.subject, event.object, event.split) for event in events] == [
        ("2024-01-05", "Cid", "Ben", "valid"),
        ("2024-01-04", "Ann", "Ben", "train"),
        ("2024-01-03", "Ben", "Ann", "train"),
        ("2024-01-01", "Ann", "Ben", "train"),
    ]
    assert [(match.kind, match.name, match.facts) for match in search(small, "H")] == [
        ("relation", "helps", 5),
        ("relation", "thanks", 1),
    ]


def test_every_model_has_a_name_and_a_line() -> None:
    assert all(name == entry.name and entry.summary for name, entry in MODELS.items())


def test_the_oracle_is_for_the_world_only(small: Dataset) -> None:
    with pytest.raises(InputError, match="embedded world only"):
        make("oracle", small, torch.device("cpu"))


def test_the_public_names_are_there() -> None:
    assert set(xerte.__all__) <= set(dir(xerte))
    assert all(getattr(xerte, name) is not None for name in xerte.__all__)
    with pytest.raises(AttributeError):
        xerte.nonsense  # noqa: B018
    with pytest.raises(AttributeError):
        xerte.api.nonsense  # noqa: B018


def test_traces_come_back_and_others_are_refused(small: Dataset, tmp_path: Path) -> None:
    model = Model.load("recurrence", small)
    trace = model.trace(model.evaluate())
    trace.write(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text())["format"] == FORMAT
    again = Trace.read(tmp_path / "run.json")
    assert again.metrics == trace.metrics
    assert again.command == trace.command
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(InputError, match="not a trace of a run"):
        Trace.read(tmp_path / "bad.json")


def test_a_checkout_knows_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XERTE_COMMIT", raising=False)
    assert commit() == "" or len(commit().removesuffix("+changes")) == 40


def test_a_copy_of_the_source_is_told_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that lies in a checkout but is not tracked by it, too."""
    git = shutil.which("git")
    assert git is not None, "this test makes a checkout: install git"
    copy = tmp_path / "copy" / "trace.py"
    copy.parent.mkdir()
    copy.write_text("")
    monkeypatch.setattr(trace_module, "__file__", str(copy))
    monkeypatch.setenv("XERTE_COMMIT", "told")
    assert commit() == "told"

    def run(*arguments: str) -> None:
        person = ("-c", "user.name=a", "-c", "user.email=a@b")
        subprocess.run([git, "-C", str(tmp_path), *person, *arguments], check=True, capture_output=True)

    run("init")
    run("commit", "--allow-empty", "-m", "first")
    assert commit() == "told"
    run("add", ".")
    run("commit", "-m", "second")
    assert len(commit()) == 40


def untrained(dataset: Dataset) -> Model:
    torch.manual_seed(0)
    chosen = ModelSettings(dims=(8, 8, 8), static_dim=8, time_dim=8)
    model = XERTE(chosen, dataset.num_entities, dataset.num_relations)
    model.frame, model.lineage = Frame.of(dataset), Lineage.of(dataset)
    return Model(model, dataset, metadata=metadata_of(model, dataset))


def test_a_graph_without_facts_gives_no_answer(small: Dataset) -> None:
    forecast = untrained(small).forecast("Dan", "helps", "2024-01-02")
    assert forecast.answers == ()
    assert forecast.notes[0] == "no prior facts: nothing is known of Dan before 2024-01-02"
    among = untrained(small).forecast("Dan", "helps", "2024-01-02", among=["Dan"])
    assert [(one.entity, one.score, one.reached) for one in among.answers] == [("Dan", 0.0, False)]
    assert untrained(small).forecast("Ann", "helps", "2024-01-05").answers


def test_a_trained_model_is_not_judged_on_other_data(small: Dataset) -> None:
    renamed = Dataset("other", small.facts, small.sizes, Vocabulary.of(NAMES[::-1]), small.relations, small.calendar)
    model = untrained(small)
    with pytest.raises(CheckpointError, match="trained on small: the entities of other are not the same"):
        xerte.evaluate(model, renamed)
    assert xerte.evaluate(model, small).metrics().queries == 2


def test_the_command_of_a_trace_names_the_folder_a_model_came_from(small: Dataset, tmp_path: Path) -> None:
    untrained(small).save(tmp_path / "mine")
    model = Model.load(tmp_path / "mine", small)
    command = command_of(model, model.evaluate())
    assert command == f"xerte evaluate small --model {tmp_path / 'mine'} --split test"


def test_a_model_at_home_is_known_by_its_name(small: Dataset, own_home: Path) -> None:
    untrained(small).save(own_home / "models" / "mine")
    assert Model.load("mine", small).name == "xerte"


@given(
    st.lists(st.lists(st.sampled_from([-float("inf"), 0.0, 0.25, 0.5]), min_size=6, max_size=6), min_size=1),
    st.integers(0, 8),
)
def test_of_equal_scores_the_first_are_the_best_in_every_row(scores: list[list[float]], top: int) -> None:
    expected = [sorted(range(6), key=[-score for score in row].__getitem__)[:top] for row in scores]
    assert best_columns(torch.tensor(scores), top).tolist() == expected
