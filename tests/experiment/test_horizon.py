"""Many steps ahead: nothing of the split is read, and the verdict says so."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from test_contract import LEARNERS, index, ready, small_dataset
from xerte import api
from xerte.cli.evaluate import command_of
from xerte.data.facts import Facts
from xerte.errors import InputError
from xerte.experiment.horizon import IMAGINED, KNOWN, many_steps
from xerte.forecaster import Queries
from xerte.types import Split


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
        history, known_before, words = many_steps(Split.TEST, forecaster, one, index(one))
        assert words == (IMAGINED if name == "re-net" else KNOWN)
        assert known_before == (None if name == "re-net" else int(facts.time[first]))
        known = asked.time if known_before is None else torch.full_like(asked.time, known_before)
        found.append(forecaster.forecast(history, replace(asked, known_before=known)).scores)
    assert torch.equal(*found)


def test_beyond_what_is_known_every_time_of_the_split_is_imagined() -> None:
    data = small_dataset()
    history, *_ = many_steps(Split.TEST, ready("re-net", data), data, index(data))
    before = data.rows(Split.TEST).start
    assert sorted(set(history.facts().time[before:].tolist())) == sorted(set(data.split(Split.TEST).time.tolist()))


def test_a_verdict_many_steps_ahead_says_so() -> None:
    data = small_dataset()
    model = api.Model(ready("re-net", data), data)
    one, many = model.evaluate(), model.evaluate(many_steps=True)
    assert one.protocol.history == "every fact before t, of all splits"
    assert many.protocol.history == IMAGINED
    assert command_of(model, many).endswith("--split test --many-steps")
    assert one.metrics().mrr != many.metrics().mrr
    with pytest.raises(InputError, match="nothing is known before the train split of small"):
        model.evaluate("train", many_steps=True)
