"""Cases worth looking at: the paper's own on ICEWS14, and events of the embedded world with their known causes."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from reports.gallery_pages import FORMAT
from reports.reverse_update import every_reach
from xerte.api.explain import Explanation
from xerte.api.faithfulness import world_of
from xerte.api.forecast import Forecast
from xerte.api.model import Model
from xerte.data.calendar import Tick
from xerte.data.dataset import Dataset
from xerte.data.world import World
from xerte.data.world.rules import RULES
from xerte.errors import InputError
from xerte.experiment.trace import commit
from xerte.explanation.causes import Coroner
from xerte.explanation.sentences import default_teller, sentence, when
from xerte.files import write_json

PAPER = ("Catherine Ashton", "Make a visit", "2014-11-09")
SHOWN = ("visits", "rejects accusation of", "condemns", "threatens", "freezes assets of")
"""Rules of the world: one hop, a reply, two hops, two hops with a shorter way beside them, three hops."""
MOST = 6
_LEAST = 0.0005
"""Less attention than that rounds to 0.0 %."""


@dataclass(frozen=True)
class Stage:
    """The graph after one step of the model.

    Attributes:
        step: 0 is the question alone.
        seen, kept: edges sampled at this step, and those that survived pruning; self-loops count.
        nodes: in the graph now.
        attended: (entity, time, attention) of the nodes that hold most attention now.
    """

    step: int
    seen: int
    kept: int
    nodes: int
    attended: tuple[tuple[str, str, float], ...]


Shares = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class Exhibit:
    """A question, what was forecast and why.

    Attributes:
        name: of its picture's file, without ending.
        question: (subject, relation, date).
        truth: what happened.
        answers: (entity, score), best first.
        evidence: (share, sentence) of the best answer, heaviest first.
        happened: where the best answer is none of the truth: the first answer that is, and its evidence.
        causes: on the world, the facts that made it happen, in words.
        blamed: on the world, what the heaviest fact is to the event.
        stages: step by step.
    """

    name: str
    question: tuple[str, str, str]
    truth: tuple[str, ...]
    answers: tuple[tuple[str, float], ...]
    evidence: Shares
    happened: tuple[str, Shares] | None
    causes: tuple[str, ...]
    blamed: str
    stages: tuple[Stage, ...]


def write_gallery(model: Model, folder: Path) -> list[Path]:
    """Draws every case of the model's dataset into a folder, with a JSON file from which pages are made.

    Raises:
        InputError: there are no cases for this dataset, or the model has no inference graph.
    """
    world, written, exhibits = world_of(model), list[Path](), list[Exhibit]()
    for name, question, event in list(_cases(model, world)):
        forecast, truth = model.forecast(*question, top=MOST), _truth(model.dataset, question)
        why, missed = forecast.explain(), _missed(forecast, truth)
        if not why.graph.nodes:
            raise InputError(f"{model.name} leaves no inference graph to draw: name a trained xERTE model")
        folder.mkdir(parents=True, exist_ok=True)
        for picture, drawn in ((folder / f"{name}.svg", why), (folder / f"{name}-happened.svg", missed)):
            if drawn is not None:
                drawn.to_svg(picture)
                written.append(picture)
        causes, blamed = _causes(why, model.dataset, world, event)
        exhibits.append(
            Exhibit(
                name=name,
                question=question,
                truth=truth,
                answers=tuple((answer.entity, round(answer.score, 4)) for answer in why.answers),
                evidence=_evidence(why),
                happened=None if missed is None else (str(missed.answer), _evidence(missed)),
                causes=causes,
                blamed=blamed,
                stages=tuple(_stages(why)),
            )
        )
    body: dict[str, Any] = {"format": FORMAT, "dataset": model.dataset.name, "model": model.source, "commit": commit()}
    body |= {"exhibits": [asdict(one) for one in exhibits]}
    if world is not None:
        body["reverse_update"] = [asdict(one) for one in every_reach()]
    page = folder / f"{model.dataset.name}.json"
    write_json(page, body)
    return [*written, page]


def _cases(model: Model, world: World | None) -> Iterator[tuple[str, tuple[str, str, str], int | None]]:
    """(name, question, the event's row on the world)."""
    if world is None and model.dataset.name != "icews14":
        raise InputError(f"there are no cases of {model.dataset.name} to show: icews14 and world have some")
    if world is None:
        yield "icews14-visit", PAPER, None
        return
    evaluation, data = model.evaluate("test"), world.dataset
    right = evaluation.fact[(evaluation.rank() == 1) & ~evaluation.subject_wanted & ~evaluation.recurring]
    for effect in SHOWN:
        number = next(place for place, rule in enumerate(RULES) if rule.effect == effect)
        of_rule = right[world.causes.rule[right] == number]
        if len(of_rule):
            event = int(of_rule[0])
            subject, date = int(data.facts.subject[event]), data.calendar.format(int(data.facts.time[event]))
            yield f"world-{effect.replace(' ', '-')}", (data.entities[subject], effect, date), event


def _missed(forecast: Forecast, truth: tuple[str, ...]) -> Explanation | None:
    """What speaks for the first answer that came true, where the best one did not."""
    right = [answer.entity for answer in forecast.answers if answer.entity in truth]
    return forecast.explain(right[0]) if right and right[0] != forecast.answers[0].entity else None


def _evidence(why: Explanation) -> Shares:
    return tuple((round(fact.share, 4), fact.sentence) for fact in why.evidence[:MOST])


def _causes(why: Explanation, data: Dataset, world: World | None, event: int | None) -> tuple[tuple[str, ...], str]:
    """On the world, what made it happen, in words, and what the heaviest fact is to the event."""
    if world is None or event is None:
        return (), ""
    first = why.evidence[0]
    blamed = Coroner(world).blamed(event, _row(data, (first.subject, first.relation, first.object, first.time)))
    return tuple(_told(data, int(cause)) for cause in world.causes.of(event)), str(blamed)


def _stages(why: Explanation) -> Iterator[Stage]:
    graph = why.whole_graph
    for step in range(len(graph.nodes[0].attention)):
        edges = [edge for edge in graph.edges if edge.step == step]
        there = [node for node in graph.nodes if node.kept and node.step <= step]
        heaviest = sorted(there, key=lambda node: (-node.attention[step], node.id))[:3]
        heaviest = [node for node in heaviest if node.attention[step] >= _LEAST]
        attended = tuple((node.entity, node.time, round(node.attention[step], 4)) for node in heaviest)
        yield Stage(step, len(edges), sum(edge.kept for edge in edges), len(there), attended)


def _truth(data: Dataset, question: tuple[str, str, str]) -> tuple[str, ...]:
    subject, relation, time = data.entities.id(question[0]), data.relations.id(question[1]), question[2]
    columns = zip(data.facts.columns(), (subject, relation, None, data.calendar.parse(time)), strict=True)
    here = np.all([column == value for column, value in columns if value is not None], axis=0)
    return tuple(data.entities[int(object)] for object in data.facts.object[here])


def _row(data: Dataset, fact: tuple[str, str, str, str]) -> int:
    subject, relation, object, time = fact
    ids = data.entities.id(subject), data.relations.id(relation), data.entities.id(object), data.calendar.parse(time)
    found = np.all([column == value for column, value in zip(data.facts.columns(), ids, strict=True)], axis=0)
    return int(np.flatnonzero(found)[0])


def _told(data: Dataset, row: int) -> str:
    subject, relation, object, time = (int(column[row]) for column in data.facts.columns())
    names = data.entities[subject], data.relations[relation], data.entities[object]
    date = data.calendar.format(time)
    clause = default_teller().clause(*names)
    return sentence(clause, when(date, data.calendar.tick is not Tick.STEP))
