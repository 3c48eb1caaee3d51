"""Shapes are checked under test, and cost nothing elsewhere."""

import subprocess
import sys

import pytest
import torch
from jaxtyping import TypeCheckError

from xerte.forecaster import Part, Queries, Scores
from xerte.nn.propagation import keep_largest


def test_a_letter_has_one_value_within_an_object() -> None:
    part = Part("graph", torch.zeros(2, 5))
    Scores((part,), torch.ones(2, 5, dtype=torch.bool), exponent=torch.ones(2))
    with pytest.raises(TypeCheckError, match="exponent"):
        Scores((part,), torch.ones(2, 5, dtype=torch.bool), exponent=torch.ones(3))
    with pytest.raises(TypeCheckError, match="known_before"):
        Queries(
            *(torch.zeros(2, dtype=torch.int64),) * 2, torch.zeros(3, dtype=torch.int64), *(torch.zeros(2).long(),) * 2
        )


def test_a_letter_has_one_value_within_a_call() -> None:
    with pytest.raises(TypeCheckError, match="mask"):
        keep_largest(torch.zeros(2, 4), torch.ones(2, 3, dtype=torch.bool), 2)
    with pytest.raises(TypeCheckError, match="mask"):
        keep_largest(torch.zeros(2, 4), torch.ones(2, 4), 2)


def test_outside_of_tests_nothing_is_imported_for_shapes() -> None:
    code = "import sys, xerte.model; print({'jaxtyping', 'beartype'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
