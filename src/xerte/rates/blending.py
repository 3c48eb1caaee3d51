"""How rates learn to listen to a model: questions asked through valid, and what came of them."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict

import numpy as np
import numpy.typing as npt

from xerte.data.dataset import Dataset
from xerte.data.lineage import Lineage
from xerte.evaluation.logistic import chance, fit_logistic
from xerte.evaluation.proper import Level, reliability_at
from xerte.home import home_folder
from xerte.rates.blended import NUMBERS, Blended, Ranking, features
from xerte.rates.counts import Counts
from xerte.rates.fitting import EDGES, Sample, draw, horizons
from xerte.rates.model import RateModel
from xerte.storage import atomic_write
from xerte.types import ProgressCallback, Split

Real = npt.NDArray[np.float64]

TIMES, DRAWN, KEPT = 10, 24_000, 400
"""Asked at so many times; of so many questions drawn at each, so many that came true are kept, and as many others."""
_KINDS = (0.2, 0.4, 0.4)
_DOUBT = 3.0
"""How strongly weights are held at those that leave the rates as they are."""
_FORMAT = "xerte blended rates 3"


def start() -> Real:
    """Weights under which the rates stay as they are: log odds = log Λ."""
    weight = np.zeros(NUMBERS)
    weight[[1, NUMBERS // 2 + 1]] = 1.0
    return weight


def fit_blend(
    dataset: Dataset,
    counts: Counts,
    base: RateModel,
    ranking: Ranking,
    seed: int = 0,
    progress: ProgressCallback | None = None,
) -> tuple[Real, tuple[Level, ...]]:
    """The likeliest weights on valid, and how reliable their probabilities were there.

    What came true is rare: it is asked about more often than it would be by chance, and the rest counts for more.
    """
    valid = dataset.split(Split.VALID).time.astype(np.int64)
    if not len(valid):
        return start(), ()
    times, end = np.unique(valid), int(valid.max()) + 1
    times = times[np.linspace(0, len(times) - 1, min(TIMES, len(times))).astype(int)]
    rows: list[Real] = []
    outcomes: list[npt.NDArray[np.bool_]] = []
    weights: list[Real] = []
    for done, time in enumerate(times.tolist()):
        sample = draw(counts, np.array([time]), end, DRAWN, seed + 2, _KINDS)
        some, weight = _kept(sample, seed + time % 1000)
        at = features(base, counts.before(time), sample.asked[some], ranking.shares(sample.asked[some], time))
        for horizon in horizons(counts, valid):
            if horizon <= float(sample.seen[0]):
                rows.append(at(horizon))
                outcomes.append(sample.gap[some] < horizon)
                weights.append(weight)
        if progress is not None:
            progress(done + 1, len(times))
    if not rows:
        return start(), ()
    phi, happened, weight = np.concatenate(rows), np.concatenate(outcomes), np.concatenate(weights)
    scale = phi.std(0) + 1e-9
    found = fit_logistic(phi / scale, happened, weight, _DOUBT, start() * scale) / scale
    # Levels are of questions as they are drawn: each kept one stands for as many as its weight says.
    return found, reliability_at(chance(phi, found), happened, EDGES, weight=weight)


def _kept(sample: Sample, seed: int) -> tuple[npt.NDArray[np.int64], Real]:
    """Rows of what came true and of as much that did not, and how many each stands for."""
    random, rows, weights = np.random.default_rng(seed), [], []
    for came in (np.isfinite(sample.gap), ~np.isfinite(sample.gap)):
        all = np.flatnonzero(came)
        some = random.permutation(all)[:KEPT]
        rows.append(some)
        weights.append(np.full(len(some), len(all) / max(1, len(some))))
    return np.concatenate(rows), np.concatenate(weights)


def blended(
    dataset: Dataset,
    counts: Counts,
    base: RateModel,
    ranking: Ranking,
    name: str,
    version: str,
    progress: ProgressCallback | None = None,
) -> Blended:
    """The predictor of a model: what was learned of it before, or is learned now and kept at home."""
    lineage = sorted(asdict(Lineage.of(dataset)).items())
    key = hashlib.sha256(f"{_FORMAT} {ranking.forecaster.name} {version} {lineage}".encode()).hexdigest()[:32]
    path = home_folder() / "rates" / f"{key}.json"
    with suppress(OSError, KeyError, TypeError, ValueError, RecursionError):
        body = json.loads(path.read_text("utf-8"))
        weight, levels = np.array(body["weight"], float), tuple(Level(**one) for one in body["levels"])
        if weight.shape == (NUMBERS,) and bool(np.isfinite(weight).all()):
            return Blended(base, ranking, weight, levels, name)
    weight, levels = fit_blend(dataset, counts, base, ranking, progress=progress)
    content = {"format": _FORMAT, "weight": weight.tolist(), "levels": [asdict(one) for one in levels]}
    with suppress(OSError):  # a home that cannot be written to: it is learned again next time
        atomic_write(path, json.dumps(content).encode())
    return Blended(base, ranking, weight, levels, name)
