"""From a dataset and a preset to a trained model."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from xerte.data.dataset import Dataset
from xerte.experiment.device import choose_device
from xerte.experiment.preset import resolve
from xerte.experiment.saved import facts_of, save_model
from xerte.experiment.trace import device_name
from xerte.graph.index import TemporalIndex
from xerte.model import XERTE
from xerte.training.loop import Epoch as Epoch
from xerte.training.loop import Progress as Progress
from xerte.training.loop import Trainer


@dataclass(frozen=True)
class Trained:
    """A model with its best epoch's weights, all there is to say about it, and whether training was finished."""

    model: XERTE
    facts: dict[str, Any]
    finished: bool


def train(
    dataset: Dataset,
    preset: str = "paper",
    device: str = "auto",
    seed: int = 0,
    folder: Path | None = None,
    overrides: Mapping[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    until: Callable[[], bool] | None = None,
) -> Trained:
    """Trains xERTE and, given a folder, saves it there; training that was interrupted goes on from its checkpoint.

    Args:
        dataset: what to learn.
        preset: a preset's name, or a TOML file of the same form.
        device: "auto", "cpu", "cuda", …
        seed: of parameters, batches and sampling.
        folder: where the model goes; checkpoints are kept in `checkpoint/` inside it until training is finished.
        overrides: settings of the user's own, by name.
        on_progress, on_epoch: told how it goes.
        until: asked after every step; True stops after a checkpoint.

    """
    chosen, settings = choose_device(device), resolve(preset, dataset, overrides)
    torch.manual_seed(seed)
    sizes = (dataset.num_entities, dataset.num_relations, dataset.calendar.ticks_per_unit)
    model = XERTE(settings.model, *sizes, seed).to(chosen)
    history = TemporalIndex.build(dataset.facts, dataset.num_entities, dataset.num_relations, chosen)
    checkpoint = None if folder is None else folder / "checkpoint"
    told = (on_progress, on_epoch)
    trainer = Trainer(model, dataset, history, settings.training, seed, checkpoint, facts_of(model, dataset), *told)
    epochs = trainer.run(until)
    facts = {
        **facts_of(model, dataset),
        "preset": preset,
        "training": settings.training.model_dump(mode="json"),
        "epochs": [asdict(epoch) for epoch in epochs],
        "device": device_name(chosen),
    }
    if folder is not None and trainer.finished:
        save_model(folder, model, dataset, facts)
        shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    return Trained(model.eval(), facts, trainer.finished)
