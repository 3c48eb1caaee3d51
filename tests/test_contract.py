"""One contract for every registered forecaster; a model that is not covered here fails.

Learners are built small, in double precision, with every parameter drawn at random: nothing is equal because it is 0.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recordable import recorded
from xerte.data.calendar import Calendar, Tick
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.data.world import generate
from xerte.errors import InputError
from xerte.evaluation.protocol import both_directions
from xerte.experiment.registry import MODELS, learner
from xerte.experiment.saved import load_model, save_model
from xerte.forecaster import Forecaster, Learner, Loss, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.training.replay import ReplayedStep
from xerte.types import Split

SMALL: dict[str, dict[str, Any]] = {
    "xerte": {"dims": (6, 5, 4), "static_dim": 6, "time_dim": 6, "n": 4, "k": 8},
    "best": {"last": 40, "nodes": (4, 6), "walk_last": 5, "walk_same": 3, "counted": 30, "rank": 2, "messages": 2},
    "transe": {"dim": 6, "dropout": 0.3},
    "distmult": {"dim": 6, "n3": 0.1, "dropout": 0.3},
    "complex": {"dim": 6, "n3": 0.1},
    "ttranse": {"dim": 6, "distance": "l1"},
    "ta-distmult": {"dim": 6},
    "ta-transe": {"dim": 6, "loss": "softmax", "distance": "squared"},
    "de-simple": {"dim": 6, "changing": 0.5, "dropout": 0.3},
    "tntcomplex": {"dim": 6, "n3": 0.1, "smoothness": 0.1, "unseen_times": "nearest"},
    "cygnet": {"dim": 6},
    "re-net": {"dim": 6, "blocks": 3, "length": 3, "global_epochs": 1},
}
LEARNERS = [name for name, entry in MODELS.items() if entry.learns]
EAGER = ["de-simple", "re-net", "best"]
"""Their batches are of as many dates, or of histories as long, as the questions happen to have."""
FIXED = [name for name in LEARNERS if name not in EAGER]


def small_dataset() -> Dataset:
    """300 facts of 60 days: habits (e likes e + 1, meets e + 2) and noise. No fact names e29, no training fact e28."""
    draw = np.random.default_rng(3)
    subject, relation, time = draw.integers(0, 28, 300), draw.integers(0, 4, 300), np.sort(draw.integers(0, 60, 300))
    object = np.where(draw.random(300) < 0.8, (subject + relation + 1) % 28, draw.integers(0, 28, 300))
    subject[280:290] = 28
    rows = np.unique(np.stack([time, subject, relation, object], 1), axis=0)
    facts = Facts(*(rows[:, column].astype(np.int32) for column in (1, 2, 3, 0)))
    train, valid = int((facts.time < 40).sum()), int((facts.time < 50).sum())
    names = Vocabulary.of([f"e{i}" for i in range(30)]), Relations.of(["likes", "meets", "calls", "helps"])
    calendar = Calendar(Tick.DAY, "2024-01-01", Tick.DAY)
    return Dataset("small", facts, (train, valid - train, len(facts) - valid), *names, calendar)


@pytest.fixture(scope="module")
def small() -> Dataset:
    return small_dataset()


@pytest.fixture(scope="module")
def world() -> Dataset:
    return generate().dataset


@pytest.fixture
def data(name: str, request: pytest.FixtureRequest) -> Dataset:
    """What the model is asked about; the oracle knows the embedded world only."""
    dataset: Dataset = request.getfixturevalue("world" if name == "oracle" else "small")
    return dataset


def build(name: str, dataset: Dataset) -> Learner:
    kind, make = learner(name)
    model = make(kind(**SMALL[name]), Frame.of(dataset), 7).double().eval()
    draw = torch.Generator().manual_seed(5)
    spread = 0.04 if name == "best" else 0.4  # its weights are logarithms of weights, kept at a tenth
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(spread * torch.randn(parameter.shape, generator=draw, dtype=torch.float64))
    return model


def ready(name: str, dataset: Dataset) -> Forecaster:
    entry = MODELS[name]
    if entry.make is not None:
        return entry.make(dataset)
    return build(name, dataset)


def index(dataset: Dataset, facts: Facts | None = None) -> TemporalIndex:
    return TemporalIndex.build(facts or dataset.facts, dataset.num_entities, dataset.num_relations)


def asked(dataset: Dataset, count: int = 12) -> Queries:
    """Questions spread over the whole of the dataset, of both directions."""
    rows = np.linspace(0, len(dataset.facts) - 1, count).astype(np.int64)
    return both_directions(dataset.facts[rows])[0]


def assert_same(one: Scores, other: Scores) -> None:
    assert torch.equal(one.reached, other.reached)
    torch.testing.assert_close(one.scores[one.reached], other.scores[other.reached], rtol=1e-9, atol=1e-9)


def test_every_registered_learner_is_covered() -> None:
    assert set(SMALL) == set(LEARNERS), "a new learner needs small settings here"


@pytest.mark.parametrize("name", MODELS)
def test_the_batch_never_changes_an_answer(name: str, data: Dataset) -> None:
    model, history, queries = ready(name, data), index(data), asked(data)
    together = model.forecast(history, queries)
    assert together.scores.shape == together.reached.shape == (len(queries), data.num_entities)
    assert len(torch.unique(together.scores[together.reached])) > len(queries), "the scores tell nothing apart"
    order = torch.randperm(len(queries), generator=torch.Generator().manual_seed(1))
    mixed = model.forecast(history, queries[order])
    assert_same(Scores.ranking(together.scores[order], together.reached[order]), mixed)
    for row in range(len(queries)):
        rows = slice(row, row + 1)
        alone = model.forecast(history, queries[rows])
        assert_same(Scores.ranking(together.scores[rows], together.reached[rows]), alone)


@pytest.mark.parametrize("name", MODELS)
def test_nothing_at_or_after_the_question_is_read(name: str, data: Dataset) -> None:
    """Facts at t ≥ t_q are deleted, then replaced by others."""
    model, queries = ready(name, data), asked(data, 9)
    for row in (3, 8, 12, 17):
        one, time = queries[row : row + 1], int(queries.time[row])
        truth = model.forecast(index(data), one)
        future = data.facts.time >= time
        past = data.facts[~future]
        subject, relation, object, when = data.facts.columns()
        swapped = [np.where(future, np.roll(column, 5), column) for column in (subject, relation, object)]
        other = Facts(swapped[0], swapped[1], swapped[2], when)
        assert_same(truth, model.forecast(index(data, past), one))
        assert_same(truth, model.forecast(index(data, other), one))


@pytest.mark.parametrize("name", MODELS)
def test_unseen_entities_and_times_have_answers(name: str, data: Dataset) -> None:
    model, history = ready(name, data), index(data)
    seen = np.zeros(data.num_entities, bool)
    seen[np.concatenate([data.split(Split.TRAIN).subject, data.split(Split.TRAIN).object])] = True
    assert not seen.all()
    strangers = torch.from_numpy(np.flatnonzero(~seen)[-2:])
    last, day = int(data.facts.time.max()), data.calendar.ticks_per_unit
    times = [-1_000_000, 0, last + day, last + 100 * day, last + 1_000_000]
    ends = torch.tensor([0, 2 * data.num_relations - 1])
    queries = Queries.at(*torch.cartesian_prod(strangers, ends, torch.tensor(times)).T.contiguous())
    scores = model.forecast(history, queries)
    assert scores.scores.shape == (4 * len(times), data.num_entities)
    assert bool(scores.scores[scores.reached].isfinite().all())


@pytest.mark.parametrize("name", LEARNERS)
def test_what_was_saved_answers_alike(name: str, small: Dataset, tmp_path: Path) -> None:
    model, history, queries = build(name, small).float(), index(small), asked(small)
    save_model(tmp_path, model, small, {"seen": 1})
    again, facts = load_model(tmp_path, small)
    assert (facts["model"], facts["seen"], facts["seed"]) == (name, 1, 7)
    assert again.state_dict().keys() == model.state_dict().keys()
    one, other = forecast(model, history, queries), forecast(again, history, queries)
    assert torch.equal(one.reached, other.reached)
    assert torch.equal(one.scores, other.scores)


NEW = ["nobody", "somebody", "anybody"]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_dataset_may_grow(name: str, small: Dataset, tmp_path: Path) -> None:
    """By names and later facts: old answers stay, new names have some."""
    model, queries = build(name, small).float(), asked(small)
    save_model(tmp_path, model, small)
    later = Facts.of([(30, 1, 2, 80), (3, 4, 31, 81), (3, 0, 4, 82)])
    facts, (train, valid, test) = Facts.concat([small.facts, later]), small.sizes
    entities, relations = Vocabulary.of([*small.entities, *NEW]), Relations.of([*small.relations, "warns", "leaves"])
    more = replace(small, facts=facts, sizes=(train, valid, test + 3), entities=entities, relations=relations)
    larger, _ = load_model(tmp_path, more)
    assert larger.lineage == Lineage.of(small)
    before, after = forecast(model, index(small), queries), forecast(larger, index(more), queries)
    assert torch.equal(after.reached[:, :30], before.reached)
    old, was = after.scores[:, :30], before.scores
    if name == "best":  # its probabilities are shares of all entities: between old ones the odds stay
        old, was = old / old.sum(1, keepdim=True), was / was.sum(1, keepdim=True)
    if name == "cygnet":  # its probabilities are shares of all entities, new ones too
        assert bool((old < before.scores).all())
    else:
        torch.testing.assert_close(old[before.reached], was[before.reached], rtol=1e-5, atol=1e-6)
    new = Queries.at(*(torch.tensor(column) for column in ([30, 3, 32, 31], [2, 8, 11, 9], [90, 90, 90, 90])))
    scores = forecast(larger, index(more), new)
    assert scores.scores.shape == (4, 33)
    assert bool(scores.scores[scores.reached].isfinite().all())
    assert bool(scores.reached[3, 3]), "the one fact about a new name is read"
    # Saved again, it is what was trained; given the dataset of training, it answers as it did.
    save_model(tmp_path / "again", larger, more)
    again, _ = load_model(tmp_path / "again", small)
    assert torch.equal(forecast(again, index(small), queries).scores, before.scores)


@pytest.mark.parametrize("name", [name for name in MODELS if name not in LEARNERS])
def test_what_needs_no_training_is_not_saved(name: str, data: Dataset, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"{name} is training-free"):
        save_model(tmp_path, ready(name, data), data)


@pytest.mark.parametrize("name", LEARNERS)
def test_the_loss_follows_from_weights_questions_and_seed(name: str, small: Dataset) -> None:
    history, models = index(small), [build(name, small).train() for _ in range(2)]
    queries, answer = training_batch(small)
    for model in models:
        model.pretrain(history)
    state = torch.get_rng_state()
    losses = [loss(model, history, queries, answer) for model in models]
    assert losses[0].item() == losses[1].item()
    assert torch.equal(torch.get_rng_state(), state), "drawn from torch's generator: resumed training would differ"


@pytest.mark.parametrize("name", LEARNERS)
def test_the_loss_of_a_batch_is_that_of_its_parts(name: str, small: Dataset) -> None:
    """Σ sums / Σ counts, and so with the gradients: processes may share a batch, dropout and all."""
    model, history = build(name, small).train(), index(small)
    queries, answer = training_batch(small)
    model.pretrain(history)
    weights = [parameter for parameter in model.parameters() if parameter.requires_grad]
    losses = []
    for sizes in ([len(queries)], [5, 1, len(queries) - 6]):
        rows = torch.split(torch.arange(len(queries)), sizes)
        parts = [model.loss(history, queries[some], answer[some], 11) for some in rows]
        whole = Loss(sum((part.sum for part in parts), torch.zeros(())), sum((p.count for p in parts), torch.zeros(())))
        losses.append((whole.mean, *torch.autograd.grad(whole.mean, weights)))
    torch.testing.assert_close(losses[0], losses[1], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", LEARNERS)
def test_every_parameter_learns_and_the_loss_falls(name: str, small: Dataset) -> None:
    model, history = build(name, small).train(), index(small)
    queries, answer = training_batch(small)
    optimiser = torch.optim.Adam(model.parameters(), lr=0.05)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    model.pretrain(history)
    first = loss(model, history, queries, answer)
    first.backward()  # type: ignore[no-untyped-call]
    for step in range(25):
        optimiser.step()
        if step == 0:  # some parts are learned before
            assert not [key for key, value in model.named_parameters() if torch.equal(value, before[key])]
        optimiser.zero_grad()
        now = loss(model, history, queries, answer)
        now.backward()  # type: ignore[no-untyped-call]
    assert now.item() < 0.97 * first.item()


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_that_offers_a_recordable_step_keeps_its_word(name: str, small: Dataset) -> None:
    """The same loss and gradients, of fixed sizes and without a decision on the host."""
    model, history = build(name, small).train(), index(small)
    queries, answer = training_batch(small)
    assert model.replayable == (name in FIXED)
    if not model.replayable:
        return
    weights, seed = list(model.parameters()), torch.tensor(11)

    def gradients(*columns: Tensor) -> tuple[Tensor, ...]:
        value = model.fixed_loss(history, Queries.at(*columns[:3]), columns[3], columns[4]).mean
        return value, *torch.autograd.grad(value, weights)

    eager = loss(model, history, queries, answer)
    expected = (eager, *torch.autograd.grad(eager, weights))
    columns = (queries.subject, queries.relation, queries.time, answer, seed)
    torch.testing.assert_close(gradients(*columns), expected, rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(recorded(gradients, *columns)(*columns), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "decision",
    [
        lambda x: x.max().item(),
        lambda x: x.tolist()[0],
        lambda x: x if x.sum() > 0 else -x,
        lambda x: x.nonzero(),
        lambda x: x[x > 3],
        lambda x: torch.unique(x),
        lambda x: torch.repeat_interleave(x),
        lambda x: x + torch.tensor([1, 2, 3]),
    ],
)
def test_what_cannot_be_recorded_is_found(decision: Callable[[Tensor], Any]) -> None:
    with pytest.raises(AssertionError):
        recorded(decision, torch.tensor([2, 5, 0]))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("name", FIXED)
def test_a_replayed_step_learns_as_an_eager_one(name: str, small: Dataset) -> None:
    """Three batches by a recorded graph, and the same by the loss itself."""
    history = index(small).to("cuda")
    queries, answer = training_batch(small)
    queries, answer = queries.to("cuda"), answer.to("cuda")
    batches = torch.arange(48, device="cuda").view(3, 16)
    learned, losses = [], []
    for replays in (True, False):
        model: Any = build(name, small).cuda().train()
        optimiser = torch.optim.Adam(model.parameters(), lr=0.05, capturable=True)
        if replays:
            step = ReplayedStep(model, optimiser, partial(model.fixed_loss, history), queries, answer, 16, 1.0)
            losses.append([step(rows, seed).item() for seed, rows in enumerate(batches)])
        else:
            losses.append(
                [eager_step(model, optimiser, history, queries[r], answer[r], s) for s, r in enumerate(batches)]
            )
        learned.append({key: value.detach().clone() for key, value in model.named_parameters()})
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)
    torch.testing.assert_close(learned[0], learned[1], rtol=1e-4, atol=1e-6)


def eager_step(
    model: Any, optimiser: torch.optim.Adam, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int
) -> float:
    optimiser.zero_grad()
    value: Tensor = model.loss(history, queries, answer, seed).mean
    value.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()
    return value.item()


@pytest.mark.gpu
@pytest.mark.parametrize("name", LEARNERS)
def test_a_gpu_answers_as_a_cpu_does(name: str, small: Dataset) -> None:
    model, history, queries = build(name, small), index(small), asked(small)
    here = forecast(model, history, queries)
    there = forecast(model.cuda(), history.to("cuda"), queries.to("cuda"))
    assert torch.equal(here.reached, there.reached.cpu())
    torch.testing.assert_close(here.scores[here.reached], there.scores.cpu()[here.reached], rtol=1e-7, atol=1e-7)


def training_batch(dataset: Dataset) -> tuple[Queries, Tensor]:
    train = dataset.split(Split.TRAIN)
    return both_directions(train[np.arange(len(train) // 2, len(train))])


def forecast(model: Any, history: TemporalIndex, queries: Queries) -> Scores:
    scores: Scores = model.forecast(history, queries)
    return scores


def loss(model: Learner, history: TemporalIndex, queries: Queries, answer: Tensor) -> Tensor:
    return model.loss(history, queries, answer, 11).mean
