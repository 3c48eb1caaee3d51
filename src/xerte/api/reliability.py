"""Whether a model's probabilities mean what they say: on a split, beside base rates and recurrence."""

from typing import TYPE_CHECKING

import torch

from xerte.errors import InputError
from xerte.evaluation.observed import Batch, Questions, Seen, asked
from xerte.evaluation.scoring import Reliability, climatology, judged, scored
from xerte.types import ProgressCallback, Split

if TYPE_CHECKING:
    from xerte.api.model import Model

MOST = 4096


def reliability_of(
    model: "Model",
    recurrence: "Model",
    split: Split,
    progress: ProgressCallback | None = None,
    most: int | None = MOST,
    spread: bool = False,
) -> Reliability:
    """Asks the latest questions of a split, or some of all its times, or all.

    Raises:
        InputError: there are too few validation facts to calibrate on, or nothing to ask.
    """
    data = model.dataset
    if model.calibration is None or recurrence.calibration is None:
        raise InputError(f"{data.name} has too few validation facts to calibrate {model.name} on")
    questions = Questions.of(data, split, most, spread)
    if not len(questions.queries):
        raise InputError(f"the {split} split of {data.name} holds no facts: there is nothing to ask")
    _refuse_known(model, split)
    seen, true = _seen(model, questions, progress)
    usual = seen if recurrence is model else _seen(recurrence, questions)[0]
    base = climatology(data, questions, seen.true_row, true)
    return judged(model.calibration, seen, base, scored(recurrence.calibration, usual))


def _refuse_known(model: "Model", split: Split) -> None:
    """A model that was calibrated on facts of test cannot be judged by them."""
    found, calendar, time = model.calibration, model.dataset.calendar, model.dataset.split(split).time
    if found is None or split is not Split.TEST:
        return
    last, first = found.window[1], calendar.format(int(time.min()))
    if calendar.parse(last) > calendar.parse(first):
        raise InputError(
            f"{model.name} was calibrated on facts until {last}, and test begins at {first}: it knows the answers",
            hint="calibrate it on valid first",
            code="knows_answers",
            model=model.source,
        )


def _seen(model: "Model", questions: Questions, progress: ProgressCallback | None = None) -> tuple[Seen, torch.Tensor]:
    found, parts, true = model.calibration, [], []
    assert found is not None
    batch: Batch
    for batch in asked(model.forecaster, model.dataset, model.history, questions.queries, progress):
        parts.append(Seen.of(batch, found.temperature, found.at_once))
        true.append(batch.true.nonzero()[:, 1])
    return Seen.joined(parts), torch.cat(true)
