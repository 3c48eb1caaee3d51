"""Rows for names that training never saw, and folders of version 1 on datasets that have grown."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from test_contract import build, small_dataset
from xerte.api import Model
from xerte.baselines.distmult import DistMult
from xerte.baselines.factorisation import FactorSettings, unseen_as_average
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Relations, Vocabulary
from xerte.experiment.growing import _made_anew as made_anew
from xerte.experiment.growing import grown, tables, trained_weights
from xerte.experiment.saved import data_fingerprint, fits, load_model, save_model
from xerte.forecaster import Queries, ask
from xerte.graph.stored import index_of
from xerte.graph.tail import TailIndex
from xerte.training.checkpoint import STATE, read_metadata

DATA = small_dataset()


def larger(dataset: Dataset = DATA) -> Dataset:
    names = Vocabulary.of([*dataset.entities, "new"]), Relations.of([*dataset.relations, "warns"])
    return replace(dataset, entities=names[0], relations=names[1])


def test_rows_of_new_names_are_the_mean_and_of_relations_that_of_their_direction() -> None:
    model = DistMult(FactorSettings(dim=1), Frame.of(DATA))
    model.lineage = Lineage.of(DATA)
    with torch.no_grad():
        model.entity.copy_(torch.arange(30.0)[:, None])
        model.relation.copy_(torch.tensor([1.0, -1, 2, -2, 3, -3, 6, -6])[:, None])
    more = grown(model, replace(model.frame, num_entities=32, num_relations=6))
    assert isinstance(more, DistMult)
    assert more.entity[30:].tolist() == [[14.5], [14.5]]
    assert more.relation[8:].tolist() == [[3], [-3], [3], [-3]]
    assert more.offset == model.offset
    assert {name: len(value) for name, value in trained_weights(more).items() if value.ndim} == {
        "entity": 30,
        "relation": 8,
    }
    less = grown(more, model.frame)
    assert all(torch.equal(value, model.state_dict()[name]) for name, value in less.state_dict().items())


def test_a_candidate_never_seen_scores_as_the_average_does() -> None:
    scores = torch.tensor([[1.0, 5, 99, 99], [2, 2, 99, 99]])
    assert unseen_as_average(scores, 2).tolist() == [[1, 5, 3, 3], [2, 2, 2, 2]]


@pytest.mark.parametrize(
    ("name", "entity", "relation"),
    [
        ("xerte", {"encoding.entity"}, {"relation"}),
        (
            "cygnet",
            {"entity", *(f"{m}_mode.{p}" for m in ("copy", "generation") for p in ("weight", "bias"))},
            {"relation"},
        ),
    ],
)
def test_tables_are_found(name: str, entity: set[str], relation: set[str]) -> None:
    assert [{of for of, _ in axes} for axes in tables(build(name, DATA))] == [entity, relation]


@pytest.mark.parametrize("name", ["best", "xerte", "distmult", "cygnet"])
def test_an_entity_more_is_a_row_more_of_the_same_table_and_answers_as_a_model_made_at_once(name: str) -> None:
    model = build(name, DATA).float().eval()
    model.lineage, frame = Lineage.of(DATA), model.frame
    history = index_of(DATA)
    queries = Queries.at(torch.tensor([0, 3]), torch.tensor([0, 5]), torch.tensor([60, 70]))

    def after(number: int) -> TailIndex:
        names = (frame.num_entities + number, frame.num_relations)
        return TailIndex.over(history, Facts.of([(0, 0, names[0] - 1, 59)]), None, None, *names)

    one = grown(model, replace(frame, num_entities=frame.num_entities + 1))
    ask(one, after(1), queries)
    two = grown(one, replace(frame, num_entities=frame.num_entities + 2))
    at_once = made_anew(model, two.frame)
    scores, wanted = (ask(which, after(2), queries).scores for which in (two, at_once))
    assert torch.equal(scores, wanted)
    assert scores.shape == (2, frame.num_entities + 2)
    assert len(ask(one, after(1), queries).scores[0]) == frame.num_entities + 1, "the one before still answers"
    for table, axis in tables(two)[0]:
        assert axis or one.get_parameter(table).data_ptr() == two.get_parameter(table).data_ptr()


def version_1(folder: Path, dataset: Dataset) -> None:
    """What a folder of version 1 said instead of a lineage."""
    metadata = read_metadata(folder)
    del metadata["lineage"]
    metadata["dataset"] = {
        "name": dataset.name,
        "entities": dataset.entities.fingerprint,
        "relations": dataset.relations.fingerprint,
        "ticks_per_unit": 1,
    }
    metadata["data"] = data_fingerprint(dataset)
    (folder / STATE).write_text(json.dumps(metadata | {"format": "xerte state 2"}))


@pytest.mark.parametrize("name", ["xerte", "distmult"])
def test_a_folder_of_version_1_has_a_lineage(name: str, tmp_path: Path) -> None:
    save_model(tmp_path, build(name, DATA).float(), DATA)
    version_1(tmp_path, DATA)
    model, metadata = load_model(tmp_path, DATA)
    assert model.lineage == Lineage.of(DATA)
    assert not {"dataset", "data"} & set(metadata)
    assert Model.load(tmp_path, DATA).warnings == ()
    more = larger()
    assert fits(tmp_path, more)
    assert Model.load(tmp_path, more).forecast("new", "warns", "2024-03-01").model == name
    renamed = replace(DATA, entities=Vocabulary.of([*list(DATA.entities)[1:], "e0"]))
    assert not fits(tmp_path, renamed)


def test_a_model_says_what_is_new(tmp_path: Path) -> None:
    save_model(tmp_path, build("distmult", DATA).float(), DATA)
    train, valid, test = DATA.sizes
    facts = Facts.concat([DATA.facts, Facts.of([(30, 4, 2, 80)])])
    more = replace(larger(), facts=facts, sizes=(train, valid, test + 1))
    assert Model.load(tmp_path, more).warnings == (
        "small has 1 entity and 1 relation that the model never saw in training",
        "small has 1 fact more than when the model was trained: it reads them, but learned nothing from them",
    )
