"""Training that goes on from what a model learned, over what came since; a backtest decides which one answers."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.frame import Frame
from xerte.data.lineage import Lineage
from xerte.errors import InputError
from xerte.evaluation.bootstrap import Interval, resampled_means
from xerte.evaluation.evaluate import evaluate
from xerte.experiment.answering import decide
from xerte.experiment.device import choose_device
from xerte.experiment.growing import with_weights
from xerte.experiment.opening import make
from xerte.experiment.saved import find_model, load_model, metadata_of, save_model
from xerte.forecaster import Forecaster, Learner
from xerte.graph.index import TemporalIndex
from xerte.graph.stored import index_of
from xerte.training.loop import Trainer
from xerte.training.progress import Epoch, Progress
from xerte.training.settings import TrainingSettings
from xerte.types import Split

_HELD_OUT = 0.1
_EPOCHS, _SLOWER = 5, 0.3
"""What was learned is adjusted, not learned anew: fewer epochs, smaller steps."""


@dataclass(frozen=True)
class Backtest:
    """Two models on the latest facts, which neither learned from.

    Attributes:
        since, until: the first and the last time that was asked about.
        questions: how many.
        before, after: time-aware MRR in percent, of the model that answered so far and of the new one.
        difference: after − before with its 95 % interval, facts being resampled.
    """

    since: str
    until: str
    questions: int
    before: float
    after: float
    difference: Interval

    @property
    def better(self) -> bool:
        """Whether the new model is better, beyond what the choice of facts explains."""
        return self.difference.low > 0


@dataclass(frozen=True)
class Continued:
    """A model that continues another one.

    Attributes:
        name, folder: of the new model.
        continues: the model it goes on from.
        learned: facts it learned from beyond those.
        backtest: what decided.
        took_over: whether it answers from now on.
    """

    name: str
    folder: Path
    continues: str
    learned: int
    backtest: Backtest
    took_over: bool
    epochs: tuple[Epoch, ...]

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "continues": self.continues,
            "learned": self.learned,
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "backtest": asdict(self.backtest),
            "took_over": self.took_over,
        }


def continue_training(
    dataset: Dataset,
    name: str,
    device: str = "auto",
    seed: int = 0,
    overrides: dict[str, Any] | None = None,
    on_progress: Callable[[Progress], None] | None = None,
    on_epoch: Callable[[Epoch], None] | None = None,
    until: Callable[[], bool] | None = None,
) -> Continued:
    """Trains on from a saved model over what came since, saves the new model, and lets it answer where it is better.

    Of the facts after the model's lineage, the latest tenth is the backtest and the tenth before chooses the epoch.

    Args:
        dataset: the model's, with what came since.
        name: the model to go on from.
        overrides: settings of training, by name.

    Raises:
        InputError: no such model, too little came since, or it cannot go on.
    """
    folder, chosen = find_model(name), choose_device(device)
    if folder is None:  # a training that was stopped has a best epoch to go on from
        raise InputError(f"{name} is no trained model: train one on {dataset.name} first")
    old, metadata = load_model(folder, dataset)
    answered, _ = make(name, dataset, chosen)
    assert old.lineage is not None
    view = _recut(dataset, old.lineage)
    history = index_of(dataset, chosen)
    frame = Frame.of(view)
    try:
        module = with_weights(old, frame, {key: value.clone() for key, value in old.state_dict().items()})
    except RuntimeError:
        raise InputError(f"{name} has weights for single times and cannot go on: train it anew") from None
    module.lineage = Lineage.of(view)
    settings = _settings(metadata, old.lineage, overrides or {})
    trainer = Trainer(module.to(chosen), view, history, settings, seed, None, None, on_progress, on_epoch)
    epochs = trainer.run(until)
    module.eval()
    backtest = _compared(view, history, answered, module)
    target = _next(folder)
    learned = int((view.split(Split.TRAIN).time > old.lineage.until).sum())
    more = {
        "preset": metadata.get("preset"),
        "training": settings.model_dump(mode="json"),
        "epochs": [asdict(epoch) for epoch in epochs],
        "continues": {"model": folder.name, "backtest": asdict(backtest)},
    }
    save_model(target, module, view, more | metadata_of(module, view))
    if backtest.better:
        decide(dataset.name, target.name, folder.name, "backtest")
    return Continued(target.name, target, folder.name, learned, backtest, backtest.better, epochs)


def _recut(dataset: Dataset, lineage: Lineage) -> Dataset:
    """All facts in time order, cut anew: the latest tenth of what came since is test, the tenth before it valid."""
    facts = dataset.facts[np.argsort(dataset.facts.time, kind="stable")]
    came = facts.time[facts.time > lineage.until]
    moments = np.unique(came)
    if len(moments) < 3:
        last = dataset.calendar.format(lineage.until)
        raise InputError(f"{dataset.name} has facts of {len(moments)} times after {last}: three are needed to go on")
    test = min(int(np.quantile(came, 1 - _HELD_OUT, method="lower")), int(moments[-1]))
    test = max(test, int(moments[2]))
    valid = max(min(int(np.quantile(came, 1 - 2 * _HELD_OUT, method="lower")), test - 1), int(moments[1]))
    valid = int(moments[np.searchsorted(moments, valid, side="right") - 1])
    starts = np.searchsorted(facts.time, [valid, test])
    sizes = (int(starts[0]), int(starts[1] - starts[0]), len(facts) - int(starts[1]))
    columns = Facts(*facts.columns())
    return replace(dataset, facts=columns, sizes=sizes, extras={})


def _settings(metadata: dict[str, Any], lineage: Lineage, overrides: dict[str, Any]) -> TrainingSettings:
    known = TrainingSettings(**metadata.get("training", {}))
    gentle = {"epochs": min(_EPOCHS, known.epochs), "lr": known.lr * _SLOWER, "start": lineage.until + 1}
    for name in overrides:
        if name not in TrainingSettings.model_fields:
            raise InputError(f"{name} is no setting of training that goes on: the model keeps its own")
    return TrainingSettings(**(known.model_dump() | gentle | overrides))


def _compared(view: Dataset, history: TemporalIndex, before: Forecaster, after: Learner) -> Backtest:
    first, second = (evaluate(model, view, Split.TEST, history) for model in (before, after))
    gain = 100 / second.rank() - 100 / first.rank()
    time = view.split(Split.TEST).time
    return Backtest(
        view.calendar.format(int(time[0])),
        view.calendar.format(int(time[-1])),
        len(first),
        first.metrics().mrr,
        second.metrics().mrr,
        Interval.of(resampled_means(gain, first.fact, 1000, 0), 0.95),
    )


def _next(folder: Path) -> Path:
    """Where the next version of a model goes: NAME@2, NAME@3, …"""
    stem = folder.name.partition("@")[0]
    number = 2
    while (place := folder.with_name(f"{stem}@{number}")).exists():
        number += 1
    return place
