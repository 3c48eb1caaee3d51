"""Evidence beside facts that are chosen by asking what hiding each of them costs."""

import pytest

from benchmarks.choosing import MOST, _of
from drawn import small_dataset
from xerte.api.model import Model
from xerte.baselines.recurrence import Recurrence
from xerte.types import Split


def test_asking_finds_the_fact_that_costs_most_and_evidence_can_only_match_it() -> None:
    data = small_dataset()
    found = _of("recurrence", Model(Recurrence.fit(data), data), 5, Split.TEST, None)
    first = found.by_k[0]
    assert [one.k for one in found.by_k] == list(range(1, MOST + 1))
    assert first.asked >= max(first.evidence, first.control) > 0  # both of these facts are in its pool
    assert first.gain == pytest.approx(first.asked - first.evidence, abs=1e-6)
    assert [one.asked for one in found.by_k] == sorted(one.asked for one in found.by_k)
    assert found.forecasts > MOST
