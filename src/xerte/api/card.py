"""A model's card: what it was trained on, scores, calibration, limits, and how the world has changed since."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from xerte.data.words import counted
from xerte.errors import InputError
from xerte.evaluation.calibrating import checked
from xerte.evaluation.calibration import Check
from xerte.evaluation.observed import Questions, Seen, asked
from xerte.experiment.calibrated import KEY, calibrated, keep, kept
from xerte.experiment.saved import find_model
from xerte.forecaster import Learner
from xerte.types import ProgressCallback

if TYPE_CHECKING:
    from xerte.api.model import Model

_LATEST = 1024
"""Of the questions about what came after training, so many are asked."""
_LIMITS = (
    "A probability is that of an answer, given that such a fact happens; `xerte ask` says how likely that is at all.",
    "Calibration holds for questions like those of valid: another mix of relations or a changed world is not covered.",
    "Names that came after training are answered from what the history holds of them, not from what was learned.",
)


@dataclass(frozen=True)
class Card:
    """What is known of a model.

    Attributes:
        name, model, preset: what it is.
        trained_on: dataset, facts, until when, entities, relations; empty where nothing is learned.
        scores: by split, in percent, where they were measured.
        calibration: how good probabilities were on the latest quarter of valid; None: not calibrated.
        window: the questions that calibration was learned from.
        limits: what it does not tell.
        since: what came after training, and how good probabilities are there; None where nothing came.
        notes: what is not as it was in training.
    """

    name: str
    model: str
    preset: str | None
    trained_on: dict[str, Any]
    scores: dict[str, dict[str, float]]
    calibration: Check | None
    window: tuple[str, str] | None
    limits: tuple[str, ...]
    since: dict[str, Any] | None
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return asdict(self)


def card(model: "Model", progress: ProgressCallback | None = None) -> Card:
    """Collects all of it; what came since is measured now."""
    lineage = model.forecaster.lineage if isinstance(model.forecaster, Learner) else None
    data, metadata = model.dataset, model.metadata
    trained: dict[str, Any] = {}
    if lineage is not None:
        trained = {
            "dataset": lineage.dataset,
            "training_facts": lineage.trained_on,
            "facts": lineage.facts,
            "until": data.calendar.format(lineage.until),
            "entities": lineage.entities.count,
            "relations": lineage.relations.count,
        }
    scores: dict[str, dict[str, float]] = {}
    epochs = metadata.get("epochs") or []
    if epochs:
        scores["valid"] = max((epoch["valid"] for epoch in epochs), key=lambda valid: float(valid["mrr"]))
    packed = metadata.get("packed") or {}
    if "packed" in packed:
        scores[str(packed.get("split"))] = packed["packed"]
    found = model.calibration
    return Card(
        Path(model.source).name,
        model.name,
        metadata.get("preset"),
        trained,
        scores,
        None if found is None else found.check,
        None if found is None else found.window,
        _LIMITS,
        _since(model, progress),
        model.warnings,
    )


def _since(model: "Model", progress: ProgressCallback | None) -> dict[str, Any] | None:
    """How many facts came after training, and how good the probabilities of the latest questions about them are."""
    lineage = model.forecaster.lineage if isinstance(model.forecaster, Learner) else None
    data, found = model.dataset, model.calibration
    if lineage is None:
        return None
    later = data.facts[data.facts.time > lineage.until]
    if not len(later):
        return None
    body: dict[str, Any] = {
        "facts": len(later),
        "until": data.calendar.format(int(later.time.max())),
        "new_entities": data.num_entities - lineage.entities.count,
        "new_relations": data.num_relations - lineage.relations.count,
    }
    if found is not None:  # calibration cannot be judged by what it was learned from
        later = later[later.time >= data.calendar.parse(found.window[1]) + data.calendar.ticks_per_unit]
    questions = Questions.about(later, _LATEST)
    if found is not None and len(questions.queries):
        batches = asked(model.forecaster, data, model.history, questions.queries, progress)
        seen = Seen.joined([Seen.of(batch, found.temperature, found.at_once) for batch in batches])
        check = checked(found, seen)
        first = (seen.true_reached & (seen.true_rank == 1)).double()
        right = torch.zeros(len(seen.common), dtype=torch.float64).index_add(0, seen.true_row, first)
        share = float((right * seen.weight).sum() / seen.weight.sum())
        body |= {"check": asdict(check), "first_right": 100 * share}
    return body


def calibrate_saved(model: "Model", progress: ProgressCallback | None = None, until: str | None = None) -> Card:
    """Calibrates a saved model anew and keeps that in its folder.

    Args:
        model: the model.
        progress: callback.
        until: a time: on the latest of valid and of what came since, before it; None: on valid.

    Raises:
        InputError: it is not saved in a folder, or there are too few facts to calibrate on.
    """
    folder = find_model(model.source)
    if folder is None:
        raise InputError(f"{model.source} is not kept in a folder: its calibration is made when it is needed")
    end = None if until is None else model.dataset.calendar.parse(until)
    found = calibrated(model.forecaster, model.dataset, model.history, progress, end)
    if found is None:
        which = "validation facts" if until is None else f"facts from where valid begins until {until}"
        raise InputError(f"{model.dataset.name} has too few {which} to calibrate a model on")
    keep(folder, found)
    model.metadata[KEY] = found.to_json()
    model.calibration = found
    assert kept(model.metadata) is not None
    return card(model)


def lines(found: Card) -> list[str]:
    """The card in sentences, as Markdown."""
    learned = found.trained_on
    told = [
        f"# {found.name}",
        "",
        f"A model of the kind {found.model}" + (f", preset {found.preset}." if found.preset else "."),
    ]
    if learned:
        told += ["", "## What it was trained on", ""]
        names = f"{learned['entities']:,} entities and {counted(learned['relations'], 'relation')}"
        facts = f"{learned['training_facts']:,} training facts"
        told.append(f"{learned['dataset']}: {facts} among {names}, until {learned['until']}.")
    if found.scores:
        told += ["", "## Scores", "", "| split | MRR | Hits@1 | Hits@10 |", "|---|---|---|---|"]
        for split, score in found.scores.items():
            cells = (f"{score[name]:.2f}" if name in score else "–" for name in ("mrr", "hits@1", "hits@10"))
            told.append(f"| {split} | {' | '.join(cells)} |")
    told += ["", "## Calibration", ""]
    if found.calibration is None or found.window is None:
        told.append("Not calibrated: there are too few validation facts.")
    else:
        told.append(f"Learned from the questions from {found.window[0]} to {found.window[1]}.")
        told.append(f"On the latest quarter of them: {_checked(found.calibration)}")
    told += ["", "## Limits", "", *(f"- {limit}" for limit in found.limits), *(f"- {note}." for note in found.notes)]
    told += ["", "## Since training", ""]
    if found.since is None:
        told.append("Nothing came since.")
    else:
        since = found.since
        entities = counted(since["new_entities"], "new entity", "new entities")
        new = f"{entities} and {counted(since['new_relations'], 'new relation')}"
        told.append(f"{counted(since['facts'], 'fact')} until {since['until']}, with {new}.")
        if "check" in since:
            told.append(f"On the latest of them: {_checked(Check(**since['check']))}")
            told.append(f"The first answer is right in {since['first_right']:.1f} %.")
    return told


def _checked(check: Check) -> str:
    error = f"calibration error {check.ece:.3f} (a perfect forecaster stays below {check.ece_of_chance:.3f})"
    sets = f"90 % sets held {100 * check.coverage:.1f} % and had {check.size:,.1f} entities"
    return f"{error}; {sets} ({counted(check.questions, 'question')})."
