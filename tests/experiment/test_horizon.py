"""Many steps ahead: nothing of the split is read, and the verdict says so."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from test_contract import LEARNERS, ready, small_dataset
from xerte import api
from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.experiment.horizon import IMAGINED, KNOWN, until
from xerte.forecaster import Queries
from xerte.types import Split

CPU = torch.device("cpu")


@pytest.mark.parametrize("name", [*LEARNERS, "recurrence"])
def test_nothing_of_the_split_is_read(name: str) -> None:
    """The facts of test are others: whatever is asked is answered the same."""
    data = small_dataset()
    facts, first = data.facts, data.rows(Split.TEST).start
    other = np.where(np.arange(len(facts)) < first, facts.object, (facts.object + 7) % 28).astype(np.int32)
    changed = replace(data, facts=Facts(facts.subject, facts.relation, other, facts.time))
    forecaster, asked = ready(name, data), Queries.of(facts[np.arange(first, len(facts))])
    found = []
    for one in (data, changed):
        history, known = until(Split.TEST, forecaster, one, CPU)
        assert known == (IMAGINED if name == "re-net" else KNOWN)
        found.append(forecaster.forecast(history, asked).scores)
    assert torch.equal(*found)


def test_beyond_what_is_known_every_time_of_the_split_is_imagined() -> None:
    data = small_dataset()
    history, _ = until(Split.TEST, ready("re-net", data), data, CPU)
    before = data.rows(Split.TEST).start
    assert sorted(set(history.facts().time[before:].tolist())) == sorted(set(data.split(Split.TEST).time.tolist()))
    plain, _ = until(Split.TEST, ready("recurrence", data), data, CPU)
    assert plain.num_facts == before


def test_a_verdict_many_steps_ahead_says_so() -> None:
    data = small_dataset()
    model = api.Model(ready("re-net", data), data)
    one, many = model.evaluate(), model.evaluate(many_steps=True)
    assert one.protocol.history == "every fact before t, of all splits"
    assert many.protocol.history == IMAGINED
    assert model.trace(many).command.endswith("--split test --many-steps")
    assert one.metrics().mrr != many.metrics().mrr
    with pytest.raises(InputError, match="nothing is known before the train split of small"):
        model.evaluate("train", many_steps=True)
