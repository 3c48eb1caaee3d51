"""Presets: what they say, what users may change, and what `auto` measures."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.published import BENCHMARKS
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.world import generate
from xerte.errors import InputError
from xerte.experiment.auto import Sizes
from xerte.experiment.opening import with_settings
from xerte.experiment.preset import FOLDER, PRESETS, parse_setting, resolve
from xerte.experiment.registry import MODELS
from xerte.experiment.related import related_relations
from xerte.experiment.rhythm import Rhythm
from xerte.experiment.start import Start
from xerte.model import XERTE

DAYS = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)


def dataset_of(facts: list[tuple[int, int, int, int]], entities: int, calendar: Calendar = DAYS) -> Dataset:
    names, kinds = Vocabulary.of([f"e{i}" for i in range(entities)]), Relations.of(["likes"])
    return Dataset("mine", Facts.of(facts), (len(facts), 0, 0), names, kinds, calendar)


@pytest.fixture(scope="module")
def tiny() -> Dataset:
    return generate("tiny").dataset


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("dataset", [*BENCHMARKS, "world", "mine"])
def test_every_preset_fits_every_known_dataset(tiny: Dataset, preset: str, dataset: str) -> None:
    resolved = resolve(preset, replace(tiny, name=dataset))
    assert resolved.learner == (preset if preset in MODELS else "best" if preset == "auto" else "xerte")
    assert type(resolved.model) is MODELS[resolved.learner].settings
    assert bool(resolved.derived) == (preset in ("auto", "graph"))
    assert resolved.training.batch_size >= 1


def test_the_presets_are_those_the_help_names() -> None:
    assert set(PRESETS) >= {"paper", "text", "world", "graph", "auto", "best"}
    assert {f"{preset}.toml" for preset in PRESETS} == {file.name for file in FOLDER.iterdir()}


def test_a_model_brings_its_own_preset(tiny: Dataset) -> None:
    assert (resolve(None, tiny).preset, resolve(None, tiny).learner) == ("auto", "best")
    assert resolve(None, tiny, model="transe") == resolve("transe", tiny) == resolve("transe", tiny, model="transe")
    assert resolve("transe", tiny, {"dim": 7, "lr": 0.5}).model.dim == 7


@pytest.mark.parametrize(
    ("preset", "model", "sentence"),
    [
        ("paper", "transe", "the preset paper is for xerte, not for transe: name one of the two"),
        ("transe", "xerte", "the preset transe is for transe, not for xerte: name one of the two"),
        (None, "transy", "no model is called transy: did you mean transe?"),
        ("paper", "transy", "no model is called transy: did you mean transe?"),
        (None, "recurrence", "recurrence is training-free: it needs no training, use it by its name"),
        ("paper", "recurrence", "recurrence is training-free: it needs no training, use it by its name"),
    ],
)
def test_a_preset_and_a_model_must_go_together(tiny: Dataset, preset: str | None, model: str, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        resolve(preset, tiny, model=model)
    assert str(error.value).startswith(sentence)


def test_a_file_may_name_its_model(tiny: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('learner = "distmult"\n[model]\ndim = 9\n')
    assert (resolve(str(path), tiny).learner, resolve(str(path), tiny).model.dim) == ("distmult", 9)
    path.write_text("[model]\ndim = 9\n")
    assert resolve(str(path), tiny, model="complex").learner == "complex"
    with pytest.raises(InputError, match=r"there is no setting dim: did you mean dims\?"):
        resolve(str(path), tiny)


@pytest.mark.parametrize(
    ("dataset", "k", "gamma"), [("icews14", 40, 0.0), ("icews0515", 40, 0.0), ("icews18", 60, 0.75), ("yago", 60, 0.75)]
)
def test_paper_is_what_the_papers_experiments_ran(tiny: Dataset, dataset: str, k: int, gamma: float) -> None:
    resolved = resolve("paper", replace(tiny, name=dataset))
    model, training = resolved.model.model_dump(mode="json"), resolved.training.model_dump(mode="json")
    assert model["dims"][:4] == [256, 128, 64, 32]
    expected = {
        "steps": 3, "n": 15, "k": k, "gamma": gamma, "static_dim": 256, "time_dim": 256, "diachronic": False,
        "sampling": "exponential", "time_scale": 2.0, "replacement": False, "aggregation": "sum", "update": "reverse",
        "self_loop": True, "query_features": "initial", "scored_edges": "kept", "relation_activation": True,
        "clock": "relative", "time_factor": False, "loss": "bce", "loss_mean": "batch",
    }  # fmt: skip
    assert {name: model[name] for name in expected} == expected
    expected = {"epochs": 10, "batch_size": 128, "lr": 2e-4, "clip": 1.0, "start": 48, "patience": 0}
    assert {name: training[name] for name in expected} == expected


@pytest.mark.parametrize("dataset", BENCHMARKS)
def test_text_differs_from_paper_in_exactly_the_switches_of_the_text(tiny: Dataset, dataset: str) -> None:
    paper, text = (resolve(preset, replace(tiny, name=dataset)) for preset in ("paper", "text"))
    there = text.model.model_dump(mode="json")
    changed = {name: there[name] for name, value in paper.model.model_dump(mode="json").items() if there[name] != value}
    assert changed == {
        "self_loop": False,
        "query_features": "updated",
        "scored_edges": "sampled",
        "relation_activation": False,
        "clock": "absolute",
        "time_factor": True,
        "loss_mean": "query",
    }
    assert text.training == paper.training


# The user's own wishes


def test_overrides_reach_model_and_training_and_beat_the_preset(tiny: Dataset) -> None:
    wishes = {"k": 7, "lr": 0.5, "sampling": "last", "dims": [4, 4, 4], "start": 3}
    resolved = resolve("graph", replace(tiny, name="yago"), wishes)
    assert (resolved.model.k, resolved.training.lr, resolved.model.sampling.value) == (7, 0.5, "last")
    assert (resolved.model.dims, resolved.training.start) == ((4, 4, 4), 3)
    assert resolve("paper", replace(tiny, name="yago"), {"k": 7}).model.gamma == 0.75


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("gama", 0.5, "there is no setting gama: did you mean gamma?"),
        ("batchsize", 5, "there is no setting batchsize: did you mean batch_size?"),
        ("zzz", 1, "there is no setting zzz: known are steps, n, k, "),
        ("k", 0, "k: Input should be greater than or equal to 1, not 0"),
        ("k", "many", "k: Input should be a valid integer, unable to parse string as an integer, not 'many'"),
        ("k", 1.5, "k: Input should be a valid integer, got a number with a fractional part, not 1.5"),
        ("n", 10**9, "n: Input should be less than or equal to 10000, not 1000000000"),
        ("gamma", 2, "gamma: Input should be less than or equal to 1, not 2"),
        ("lr", float("inf"), "lr: Input should be a finite number, not inf"),
        ("time_scale", float("nan"), "time_scale: Input should be a finite number, not nan"),
        ("dims", [4, 0, 4], "dims: Input should be greater than or equal to 1, not 0"),
        ("dims", [10**9, 4, 4], "dims: Input should be less than or equal to 4096, not 1000000000"),
        ("dims", [4, 4], "the settings do not go together: 3 steps need at least 3 dims, not 2"),
        ("replacement", True, "the settings do not go together: replacement goes with uniform sampling only"),
        ("sampling", "newest", "sampling: Input should be "),
        ("epochs", 0, "epochs: Input should be greater than or equal to 1, not 0"),
        ("k", "x" * 1000, "k: Input should be a valid integer"),
    ],
)
def test_a_wrong_wish_is_one_sentence(tiny: Dataset, name: str, value: Any, sentence: str) -> None:
    with pytest.raises(InputError) as error:
        resolve("paper", tiny, {name: value})
    assert str(error.value).startswith(sentence)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 500


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("k=15", ("k", 15)),
        (" gamma = 0.5 ", ("gamma", 0.5)),
        ("lr=2e-4", ("lr", 2e-4)),
        ("sampling=last", ("sampling", "last")),
        ('sampling="last"', ("sampling", "last")),
        ("dims=[64, 32]", ("dims", [64, 32])),
        ("self_loop=false", ("self_loop", False)),
        ("k=", ("k", "")),
        ("a=b=c", ("a", "b=c")),
        ("k=" + "[" * 10_000, ("k", "[" * 10_000)),
    ],
)
def test_settings_are_read_as_people_write_them(text: str, setting: tuple[str, Any]) -> None:
    assert parse_setting(text) == setting


@pytest.mark.parametrize("text", ["k", "", "=15", " =15"])
def test_what_is_no_setting_is_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match="is not a setting: write it like k=15"):
        parse_setting(text)


def test_a_file_of_the_users_own(tiny: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('about = "small"\n[model]\nk = 9\n[training]\nlr = 0.25\n[dataset.world.model]\nk = 11\n')
    resolved = resolve(str(path), tiny)
    assert (resolved.preset, resolved.model.k, resolved.training.lr) == (str(path), 11, 0.25)
    assert resolve(str(path), replace(tiny, name="other")).model.k == 9
    assert resolve(str(path), tiny, {"k": 5}).model.k == 5


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("k = ", "cannot be read as TOML"),
        ("a = " + "[" * 10_000, "cannot be read as TOML"),
        ("\x00", "cannot be read as TOML"),
        ("k = 5", "has a part k: a preset has about, learner, model, training and dataset"),
        ("model = 5", "model is 5, not a table of settings"),
        ("dataset = 5", "dataset is 5, not a table of settings"),
        ("[dataset]\nworld = []", "world is .., not a table of settings"),
        ("[dataset.world]\nmodel = 'x'", "model is 'x', not a table of settings"),
        ("[model]\ngama = 1", "there is no setting gama: did you mean gamma"),
        ("[training]\nk = 1", "there is no setting k: known are epochs"),
        ("[model]\nk = -1", "k: Input should be greater than or equal to 1, not -1"),
    ],
)
def test_a_bad_file_is_one_sentence(tiny: Dataset, tmp_path: Path, content: str, sentence: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(content)
    with pytest.raises(InputError, match=sentence) as error:
        resolve(str(path), tiny)
    assert "\n" not in str(error.value)


def test_presets_that_are_not_there(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no preset papre: did you mean paper\?"):
        resolve("papre", tiny)
    with pytest.raises(InputError, match=r"there is no preset zzz: known are auto, best, graph, paper, text, world"):
        resolve("zzz", tiny)
    with pytest.raises(InputError, match="there is no file"):
        resolve(str(tmp_path / "none.toml"), tiny)
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match="cannot be read"):
        resolve(str(tmp_path / "folder.toml"), tiny)


# What `graph` and `auto` measure


def test_related_relations_hold_the_answers_that_are_out_of_reach() -> None:
    """Whom somebody calls he met long ago; letters tell it too, but one answer less, of which one was met."""
    calls = [(0, 1, 10), (0, 2, 20), (3, 1, 20), (4, 2, 30)]
    meets = [(s, 0, o, t - 7) for s, o, t in calls[:3]]
    letters = [(s, 2, o, t - 6) for s, o, t in calls[2:]]
    news = [(s, 3, 5, t - 1) for s, _, t in calls]
    facts = sorted([*meets, *letters, *news, *((s, 1, o, t) for s, o, t in calls)], key=lambda fact: fact[3])
    names, kinds = Vocabulary.of([f"e{i}" for i in range(6)]), Relations.of(["meets", "calls", "writes to", "hears of"])
    dataset = Dataset("mine", Facts.of(facts), (len(facts), 0, 0), names, kinds, DAYS)
    # The one latest edge is of the news. Meetings hold three of four answers, letters the fourth; then nothing is left.
    assert related_relations(dataset, 3, 4, 1)[2] == (0, 4, 2)
    assert related_relations(dataset, 1, 4, 9)[2] == (2,)  # all within reach of the nine latest
    table = related_relations(dataset, 1, 4, 1)
    assert len(table) == 8
    assert table[0] == (0,)  # nothing tells who is met
    assert table[3] == (3,)  # who called: the one latest edge of the one called is that meeting


def test_a_number_of_related_relations_is_found_in_the_training_facts(tiny: Dataset) -> None:
    wish = {"same_relation": 4, "related": 2}
    assert resolve("paper", tiny, wish).model.related == related_relations(tiny, 2, 4, 15)
    assert resolve("paper", tiny, {"related": 0}).model.related == ()
    rows = [[relation, 0] for relation in range(2 * tiny.num_relations)]
    chosen = resolve("paper", tiny, {"same_relation": 1, "related": rows}).model
    assert chosen.related == tuple(map(tuple, rows))
    model = XERTE(chosen, tiny.num_entities, tiny.num_relations)
    assert model.offered.tolist() == [[relation, relation, 0] for relation in range(2 * tiny.num_relations)]
    assert model.sampler.width == chosen.n + 3


@pytest.mark.parametrize(
    ("wish", "sentence"),
    [
        ({"related": 2}, "related needs same_relation, which says how many edges of a relation are offered"),
        ({"related": -1, "same_relation": 1}, "related: name a number from 0 to 16, not -1"),
        ({"related": [[1], []], "same_relation": 1}, "the settings do not go together: related names as many"),
        ({"related": [[1]]}, "the settings do not go together: related needs same_relation"),
    ],
)
def test_related_relations_that_cannot_be(tiny: Dataset, wish: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        resolve("paper", tiny, wish)


def test_related_relations_are_relations_of_the_dataset(tiny: Dataset) -> None:
    settings = resolve("paper", tiny, {"same_relation": 1, "related": [[99]] * (2 * tiny.num_relations)}).model
    with pytest.raises(InputError, match="related must name, for each of the"):
        XERTE(settings, tiny.num_entities, tiny.num_relations)


def test_a_trained_model_is_told_which_relations_not_how_many(tiny: Dataset) -> None:
    wish = {"same_relation": 1, "related": 1, "dims": [4, 4, 4], "static_dim": 4, "time_dim": 4}
    model = XERTE(resolve("paper", tiny, wish).model, tiny.num_entities, tiny.num_relations)
    sentence = "related: only training turns a number into relations; here name them, a list for every relation, not 2"
    with pytest.raises(InputError, match=sentence):
        with_settings(model, tiny, {"related": 2})
    without: Any = with_settings(model, tiny, {"related": 0})
    assert without.offered.tolist() == [[relation] for relation in range(2 * tiny.num_relations)]


def test_the_rhythm_of_a_small_dataset_by_hand() -> None:
    """e0 likes e1 on days 0, 2, …, 98. The i-th of 50 facts asks two questions, with i prior edges each.

    Degrees 0, 0, 1, 1, …, 49, 49: the median (lower) is 24, so N = 15 and K = 60. The 15th latest prior edge is 30
    days old for everyone who has one. 2 % of 50 facts: the quantile lies on the first, at 0 (rank 0.98, rounded down).
    """
    rhythm = Rhythm.of(dataset_of([(0, 0, 1, day) for day in range(0, 100, 2)], 2))
    assert rhythm == Rhythm(degree=24, age=30.0, start=Start(0, 0.0))
    assert (rhythm.n, rhythm.k, rhythm.time_scale) == (15, 60, 7.5)
    assert rhythm.lines(DAYS) == (
        "a typical question's subject has 24 prior facts: n = 15, k = 60",
        "the latest 15 of them reach back 30 days: time_scale = 7.5 days",
        "training starts at 2024-01-01, with the first fact",
    )


def test_age_counts_units_not_ticks() -> None:
    hours = Calendar(Tick.HOUR, "2024-01-01", Tick.DAY, 24)
    rhythm = Rhythm.of(dataset_of([(0, 0, 1, 24 * day) for day in range(100)], 2, hours))
    assert (rhythm.age, rhythm.time_scale, rhythm.start.time) == (15.0, 3.75, 24)  # rank 1.98 of 100 facts
    assert Rhythm(1, 1.0, Start(0, 0.0)).lines(hours)[:2] == (
        "a typical question's subject has 1 prior fact: n = 5, k = 20",
        "the latest 5 of them reach back 1 day: time_scale = 1 day",
    )
    assert rhythm.lines(hours)[2] == "training starts at 2024-01-02: 1 % of the training facts lie before"


def test_sparse_data_has_a_small_n() -> None:
    """Each entity occurs in eight facts on consecutive days: degrees 0 … 7, the lower median is 3, N is at least 5."""
    facts = [(2 * pair, 0, 2 * pair + 1, 10 * pair + day) for pair in range(5) for day in range(8)]
    rhythm = Rhythm.of(dataset_of(facts, 10))
    assert (rhythm.degree, rhythm.n, rhythm.k) == (3, 5, 20)
    assert (rhythm.age, rhythm.time_scale) == (5.0, 1.25)


def test_graph_uses_what_was_measured(tiny: Dataset) -> None:
    rhythm, resolved = Rhythm.of(tiny), resolve("graph", tiny)
    model = resolved.model
    assert (model.n, model.k, model.time_scale) == (rhythm.n, rhythm.k, rhythm.time_scale)
    assert resolved.training.start == rhythm.start.time
    assert resolved.derived == rhythm.lines(tiny.calendar)


@pytest.mark.parametrize(
    ("facts", "entities", "start"),
    [
        ([(0, 0, 1, 5)], 2, 5),  # one fact
        ([(0, 0, 0, 5)], 1, 5),  # of one entity
        ([(0, 0, 1, 7), (1, 0, 2, 7), (2, 0, 0, 7)], 3, 7),  # all at one time
        ([(0, 0, 1, -3), (0, 0, 1, -2)], 2, -3),  # before the origin
        ([(0, 0, 1, day) for day in (0, 2**31 - 1)], 2, 0),  # as far apart as times can be
    ],
)
def test_degenerate_data_has_a_rhythm_too(facts: list[tuple[int, int, int, int]], entities: int, start: int) -> None:
    steps = Calendar(Tick.STEP, "", Tick.STEP)
    rhythm = Rhythm.of(dataset_of(facts, entities, steps))
    assert (rhythm.n, rhythm.k, rhythm.time_scale, rhythm.start.time) == (5, 20, 2.0, start)
    assert rhythm.lines(steps)[1] == "no question's subject has 5 prior facts: time_scale = 2 steps"
    assert resolve("graph", dataset_of(facts, entities, steps)).training.start == start
    chosen = resolve("auto", dataset_of(facts, entities, steps))
    assert (chosen.training.start, chosen.training.epochs, chosen.training.batch_size) == (start, 6, 32)
    assert all(0 < low < high for low, high in pairwise(chosen.model.scales))


def test_no_training_facts_is_one_sentence() -> None:
    for preset in ("auto", "graph"):
        with pytest.raises(InputError, match="mine has no training facts"):
            resolve(preset, dataset_of([], 2))


def test_auto_measures_time_scales_and_how_much_there_is_to_learn() -> None:
    """Every second day, 0 … 198: half of the span is 99 days, and 1.5 steps are 3.

    2 % of 500 facts: the quantile is the 10th fact (rank 9.98, rounded down), of day 2; five facts are before it.
    """
    facts = [(0, 0, 1 + i, 2 * day) for day in range(100) for i in range(5)]
    sizes = Sizes.of(dataset_of(facts, 6))
    assert sizes == Sizes(facts=495, step=2.0, span=198.0, start=Start(2, 0.01))
    assert sizes.scales == (3.0, 7.2, 17.0, 41.0, 99.0)
    assert sizes.count_scales == (4.0, 14.0, 50.0)
    assert (sizes.batch_size, sizes.epochs) == (32, 6)
    assert replace(sizes, facts=20_000).batch_size == 256
    assert replace(sizes, facts=20_000).epochs == 5
    assert (replace(sizes, facts=10**7).batch_size, replace(sizes, facts=10**7).epochs) == (512, 4)
    resolved = resolve("auto", dataset_of(facts, 6))
    assert (resolved.model.scales, resolved.model.windows) == (sizes.scales, (4.0, 20.0))
    assert resolved.derived == (
        "facts lie 2 days apart and span 198: scales = 3, 7.2, 17, 41, 99 days",
        "990 questions to learn from: epochs = 6, batch_size = 32",
        "training starts at 2024-01-03: 1 % of the training facts lie before",
    )
