"""Logistic regression by Newton's steps, each halved until it makes things better."""

import numpy as np
import numpy.typing as npt

Real = npt.NDArray[np.float64]
_RIDGE = 1e-3
_STEPS, _HALVINGS = 50, 30


def fit_logistic(
    features: Real,
    happened: npt.NDArray[np.bool_],
    weight: Real | None = None,
    ridge: float = _RIDGE,
    start: Real | None = None,
) -> Real:
    """The likeliest w of P = σ(features · w), drawn to `start` by a ridge; [n, k] -> [k].

    Args:
        features: [n, k].
        happened: [n].
        weight: how much each row counts; [n]. None: alike.
        ridge: how strongly.
        start: where w begins and is drawn to; None: 0.
    """
    before = np.zeros(features.shape[1]) if start is None else start
    found, counts = before, np.ones(len(features)) if weight is None else weight

    def loss(weight: Real) -> float:
        odds = features @ weight
        misfit = counts @ (np.logaddexp(0, odds) - happened * odds)
        return float(misfit + ridge / 2 * ((weight - before) ** 2).sum())

    least = loss(found)
    for _ in range(_STEPS):
        p = chance(features, found)
        slope = features.T @ (counts * (happened - p)) - ridge * (found - before)
        curve = (features * (counts * p * (1 - p))[:, None]).T @ features + ridge * np.eye(len(found))
        step = np.linalg.solve(curve, slope)
        for _ in range(_HALVINGS):
            if (now := loss(found + step)) <= least:
                break
            step = step / 2
        else:
            break
        found, least = found + step, now
        if np.abs(step).max() < 1e-8:
            break
    return found


def chance(features: Real, weight: Real) -> Real:
    """σ(features · w); [n, k] -> [n]."""
    result: Real = 1 / (1 + np.exp(-(features @ weight).clip(-30, 30)))
    return result
