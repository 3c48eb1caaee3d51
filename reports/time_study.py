"""Does attention depend on when something happened? The same interaction at different times, seen by several models."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from reports.time_study_pages import FORMAT
from xerte.api.forecast import UNKNOWN, Question
from xerte.api.model import Model
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.experiment.opening import with_settings
from xerte.experiment.trace import commit, device_name
from xerte.explanation.named import Graph
from xerte.types import Split

_EQUAL = 1e-6


@dataclass(frozen=True)
class Interaction:
    """One fact between the two, as an edge of the question's graph.

    Attributes:
        subject, relation, object, time: the fact.
        seen_from: the entity and time of the node it is a prior edge of.
        step: of inference.
        attention: α, of all prior edges of that node.
        kept: whether it survived pruning.
    """

    subject: str
    relation: str
    object: str
    time: str
    seen_from: tuple[str, str]
    step: int
    attention: float
    kept: bool


@dataclass(frozen=True)
class Recency:
    """Of interactions that differ in their time only, two by two: how often the later one has more attention.

    Attributes:
        pairs: how many were compared.
        later: the share of them in which the later one has more, those equal to six digits counting half; 0.5 is no
            preference. None where there is nothing to compare.
    """

    pairs: int
    later: float | None

    @staticmethod
    def of(groups: Iterable[Sequence[tuple[int, float]]]) -> "Recency":
        """Of groups of (time, attention)."""
        found = []
        for group in groups:
            for (time, attention), (other_time, other) in itertools.combinations(group, 2):
                if time != other_time:
                    more = attention - other if time > other_time else other - attention
                    equal = abs(more) <= _EQUAL * max(attention, other)
                    found.append(0.5 if equal else float(more > 0))
        return Recency(len(found), sum(found) / len(found) if found else None)


@dataclass(frozen=True)
class Study:
    """What one model attends to.

    Attributes:
        label, model, device: which.
        time_dim: width of its time encoding; 0: it has none.
        view: the interactions of the two that one node sees at one step, so that their attention comes from one
            softmax: the node that sees most of them, at the earliest step of equals; earliest fact first.
        interactions: wherever they were seen from, earliest first.
        between: of these, the same fact at different times, seen from the same node at the same step.
        in_graph: the same of all edges in the question's graph.
        in_test: the same of the graphs of questions about the first facts of test, where that was asked for.
    """

    label: str
    model: str
    device: str
    time_dim: int
    view: tuple[Interaction, ...]
    interactions: tuple[Interaction, ...]
    between: Recency
    in_graph: Recency
    in_test: Recency


@dataclass(frozen=True)
class TimeStudy:
    """The attention of one question's graph on the interactions of two entities, model by model."""

    dataset: str
    question: Question
    pair: tuple[str, str]
    settings: Mapping[str, object]
    studies: tuple[Study, ...]

    def to_json(self, command: str) -> dict[str, Any]:
        """What is kept of it; the command does it again."""
        return {"format": FORMAT, **asdict(self), "command": command, "commit": commit()}


Groups = dict[tuple[object, ...], list[tuple[int, float]]]
"""(time, attention) of edges that differ in nothing else: by step, node they are seen from, and triple."""


def time_study(
    models: Mapping[str, Model],
    question: Question,
    pair: tuple[str, str],
    settings: Mapping[str, object] | None = None,
    facts: int = 0,
) -> TimeStudy:
    """Looks at a question's graph with several models of one dataset.

    Args:
        models: by label, such as "with time encoding".
        question: what is asked.
        pair: the two entities whose interactions are listed.
        settings: of looking only, such as n and k: with more prior edges, older interactions come into sight.
        facts: of test, the first so many, about which both questions are asked for `in_test`.

    Raises:
        InputError: there is no model, one has no inference graph, or names are unknown.
    """
    if not models:
        raise InputError("name at least one model")
    data, changes = next(iter(models.values())).dataset, dict(settings or {})
    for name in pair:
        data.entities.id(name)
    studies = []
    for label, model in models.items():
        looking = model
        if changes:
            looking = Model(with_settings(model.forecaster, data, changes), data, device=str(model.device))
        studies.append(_study(label, looking, question, pair, facts))
    return TimeStudy(data.name, question, pair, changes, tuple(studies))


def _study(label: str, model: Model, question: Question, pair: tuple[str, str], facts: int) -> Study:
    parse, data = model.dataset.calendar.parse, model.dataset
    graph = _graph(model, question)
    found, between, in_graph = [], Groups(), _groups(graph, parse)
    for edge in graph.edges:
        if edge.time is not None and {edge.subject, edge.object} == set(pair):
            near = graph.nodes[edge.source]
            names = str(edge.subject), str(edge.relation), str(edge.object), edge.time
            found.append(Interaction(*names, (near.entity, near.time), edge.step, edge.attention, edge.kept))
            key = (edge.step, edge.source, *names[:3])
            between[key] = in_graph[key]
    found.sort(key=lambda one: (parse(one.time), one.relation, one.subject, one.step, parse(one.seen_from[1])))
    views: dict[tuple[int, tuple[str, str]], list[Interaction]] = defaultdict(list)
    for one in found:
        views[one.step, one.seen_from].append(one)
    view = max(views.items(), key=lambda item: (len(item[1]), -item[0][0], item[0][1][1]), default=((0, ("", "")), []))
    asked = list(_asked(data, facts))
    return Study(
        label=label,
        model=model.name,
        device=device_name(model.device),
        time_dim=int(getattr(getattr(model.forecaster, "settings", None), "time_dim", 0)),
        view=tuple(view[1]),
        interactions=tuple(found),
        between=Recency.of(between.values()),
        in_graph=Recency.of(in_graph.values()),
        in_test=Recency.of(group for one in asked for group in _groups(_graph(model, one), parse).values()),
    )


def _graph(model: Model, question: Question) -> Graph:
    """Everything the model saw for a question."""
    forecast = model.forecast(question.subject, question.relation, question.time, 1, object=question.object)
    graph = forecast.explain().whole_graph
    if not graph.edges and forecast.answers:
        raise InputError(f"{model.name} has no inference graph: name the folder of a trained xERTE")
    return graph


def _groups(graph: Graph, parse: Callable[[str], int]) -> Groups:
    groups: Groups = defaultdict(list)
    for edge in graph.edges:
        if edge.time is not None:  # a self-loop has none
            key = (edge.step, edge.source, edge.subject, edge.relation, edge.object)
            groups[key].append((parse(edge.time), edge.attention))
    return groups


def _asked(data: Dataset, facts: int) -> Iterator[Question]:
    """Both questions about the first facts of test."""
    test = data.split(Split.TEST)[:facts]
    for subject, relation, object, time in zip(*(column.tolist() for column in test.columns()), strict=True):
        names, when = (data.entities[subject], data.entities[object]), data.calendar.format(time)
        yield Question(names[0], data.relations[relation], when)
        yield Question(UNKNOWN, data.relations[relation], when, names[1])
