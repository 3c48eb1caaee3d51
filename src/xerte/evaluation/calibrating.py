"""How a calibration is learned: the latest questions of valid are asked and compared with what was true."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.data.dataset import Dataset
from xerte.evaluation.calibration import ADDED_UP, Calibration, Check, as_shared, candidate_features, logit, met_nobody
from xerte.evaluation.logistic import fit_logistic
from xerte.evaluation.observed import Batch, Questions, Seen, asked, in_parts, is_true, places
from xerte.evaluation.proper import calibration_error, chance_error, reliability_at
from xerte.evaluation.protocol import both_directions
from xerte.evaluation.situation import distribution
from xerte.forecaster import Forecaster, Meaning
from xerte.graph.index import TemporalIndex
from xerte.types import Split

Real = npt.NDArray[np.float64]

QUESTIONS = 24_576
"""Of the latest ones, so many are asked."""
RECENT = 2048
"""Of what came since valid, too: so few follow a changing world best, as ICEWS14's and YAGO's valid facts show."""
EDGES = (0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1)
FEWEST = 50
"""Of fewer, nothing is learned."""
STEPS = 200
_LEAST = 1e-12
_FIRST, _OTHERS, _MEASURED = 32, 16, 1024
_BENT, _KNOTS = 10, 12
_DOUBT = 1.0
"""How strongly weights are held: those of the strangers' sum at none, those of candidates at what scores say."""
_TOLD = 3
"""Reliability is that of so many first answers."""
_TEMPERATURES = tuple(2.0**power for power in range(-6, 7))


def calibrate(
    forecaster: Forecaster,
    dataset: Dataset,
    history: TemporalIndex,
    progress: Callable[[int, int], None] | None = None,
    most: int = QUESTIONS,
    until: int | None = None,
) -> Calibration | None:
    """Fits a calibration to the latest questions of valid; None where there are too few of them.

    Args:
        forecaster, dataset, history: who answers, about what, and what may be read.
        progress: callback.
        most: so many questions.
        until: a tick: the latest questions of valid and of what came since, before it.
    """
    questions = Questions.of(dataset, Split.VALID, most) if until is None else Questions.until(dataset, until, most)
    if len(questions.queries) < FEWEST:
        return None
    at_once = _at_once(dataset)
    seen: list[Seen] = []
    temperature = 1.0
    for batch in asked(forecaster, dataset, history, questions.queries, progress):
        temperature = temperature if seen else _temperature(batch)
        seen.append(Seen.of(batch, temperature, at_once))
    time, all, about = questions.queries.time, Seen.joined(seen), (at_once, temperature)
    window = dataset.calendar.format(int(time[0])), dataset.calendar.format(int(time[-1]))
    cut = len(time) * 3 // 4
    check = checked(fitted(all.part(slice(cut)), *about, window), all.part(slice(cut, None))) if cut else None
    found = replace(fitted(all, *about, window), check=check)
    return Calibration.from_json(found.to_json())  # as it is kept: the first answers are those of any later process


def fitted(seen: Seen, at_once: Real, temperature: float, window: tuple[str, str]) -> Calibration:
    """The likeliest weights, how reliable what they say was, and how large sets must be."""
    strange, missed = (_count(seen, ~one) for one in (seen.true_met, seen.true_reached))
    answers = seen.weight.double().numpy()
    met = ~met_nobody(seen.strangers)  # of one that met nobody, all answers are strangers
    found = Calibration(
        _candidates(seen),
        _share(seen.strangers.numpy()[met], strange[met], answers[met], _DOUBT),
        _share(seen.unreached.numpy(), missed, answers),
        at_once,
        temperature,
        seen.entities,
        len(answers),
        window,
    )
    place, true = places(seen, _BENT), is_true(seen, _BENT)
    odds = logit(found.answer, seen.top[:, :_BENT].double(), place, seen.common).numpy()
    weight = np.where((place <= seen.reached[:, None]).numpy(), answers[:, None], 0.0)
    sides = slice(0, 1), slice(1, None)
    curves = [_curve(odds[:, some].ravel(), true[:, some].ravel(), weight[:, some].ravel()) for some in sides]
    of_strangers = (seen.strangers.numpy() @ found.strangers)[met]
    counts = np.concatenate([strange[met], (answers - strange)[met]])
    stranger = _curve(np.tile(of_strangers, 2), np.repeat([True, False], len(of_strangers)), counts)
    found = replace(found, first=curves[0], others=curves[1], stranger=stranger)
    said, outcome = first_answers(found, seen, _TOLD)
    levels = reliability_at(said.ravel(), outcome.ravel(), EDGES)
    held, sizes = _sets(found, seen)
    stranger_levels = reliability_at(*strangers(found, seen), EDGES)
    found = replace(found, held=held, sizes=sizes, usual_sizes=np.zeros_like(sizes))
    return replace(found, levels=levels, stranger_levels=stranger_levels)


def strangers(calibration: Calibration, seen: Seen) -> tuple[Real, npt.NDArray[np.bool_]]:
    """What was said of those who never met the subject and whether it was one of them, for every fact; [facts] each."""
    rows = seen.true_row.numpy()
    return calibration.of_strangers(seen.strangers)[rows], (~seen.true_met).numpy()


def first_answers(calibration: Calibration, seen: Seen, number: int = 1) -> tuple[Real, npt.NDArray[np.bool_]]:
    """What was said of the first answers and whether they were true, a row for every fact; [facts, number] each."""
    top = seen.top[:, : max(number, ADDED_UP)].double()
    ranked = calibration.ranked(top, seen.reached, seen.unreached, seen.common, seen.entities)[:, :number]
    rows = np.repeat(np.arange(len(ranked)), seen.weight.numpy())
    return ranked.numpy()[rows], is_true(seen, number)[rows]


def checked(calibration: Calibration, seen: Seen, coverage: float = 0.9) -> Check:
    """How good a calibration is on questions that it was not fitted to."""
    return checked_in_turn([(calibration, seen)], coverage)


def checked_in_turn(turns: Iterable[tuple[Calibration, Seen]], coverage: float = 0.9) -> Check:
    """The same of several, each on questions of its own."""
    answers, sizes, held, of_strangers, facts = [], [], [], [], []
    for calibration, seen in turns:
        answers.append(np.concatenate(first_answers(calibration, seen), 1))
        least = calibration.threshold(coverage)
        for part in in_parts(seen):
            ranked = _first_held(calibration, part)
            sizes.append(_size(ranked, least, seen.entities).repeat_interleave(part.weight))
            held.append(_of_true(ranked, part) >= least)
        of_strangers.append(np.stack(strangers(calibration, seen), 1))
        facts.append(seen.weight.numpy())
    said, outcome = np.concatenate(answers).T
    told, strange = np.concatenate(of_strangers).T
    # A first answer counts once for each fact of its question, and is true or false for all of them.
    weight = np.concatenate(facts)
    ece = calibration_error(said, outcome > 0), chance_error(said, together=np.repeat(np.arange(len(weight)), weight))
    held_share, size = (float(torch.cat(one).double().mean()) for one in (held, sizes))
    means = float(strange.mean()), float(told.mean())
    strange_ece = calibration_error(told, strange > 0), chance_error(told)
    return Check(len(said), *ece, held_share, size, *means, *strange_ece)


def _first_held(calibration: Calibration, seen: Seen) -> Tensor:
    """P of the candidates kept, likeliest first; the first answer is in every set."""
    ranked = calibration.ranked(seen.top.double(), seen.reached, seen.unreached, seen.common, seen.entities)
    ranked[:, 0] = 1.0
    return ranked


def _of_true(ranked: Tensor, seen: Seen) -> Tensor:
    return ranked[seen.true_row, seen.true_rank.long().clamp(max=ranked.shape[1]) - 1]


def _size(ranked: Tensor, least: float, entities: int) -> Tensor:
    """How many candidates have at least this; where all that were kept have, it is all there are."""
    size = (ranked >= least).sum(1)
    return torch.where(size == ranked.shape[1], entities, size)


def _sets(calibration: Calibration, seen: Seen) -> tuple[Real, Real]:
    """`held` and `sizes`, which some of the questions tell well enough; [STEPS + 1] each."""
    of_true, some, weight = [], [], []
    every = max(1, len(seen.common) // _MEASURED)
    for part in in_parts(seen):
        ranked = _first_held(calibration, part)
        of_true.append(_of_true(ranked, part))
        some.append(ranked[::every].float().numpy())
        weight.append(part.weight[::every].numpy())
    held = np.sort(torch.cat(of_true).numpy())[::-1]
    held = held[(np.ceil(np.arange(STEPS + 1) / STEPS * len(held)).astype(int) - 1).clip(min=0)]
    sizes = [np.searchsorted(-row, -held, side="right") for row in np.concatenate(some)]
    full = np.where(np.stack(sizes) == seen.top.shape[1], seen.entities, sizes)
    return held, np.average(full, axis=0, weights=np.concatenate(weight))


def _count(seen: Seen, which: Tensor) -> Real:
    """How many true answers of each question are of a kind; [Q]."""
    return np.bincount(seen.true_row.numpy(), which.double().numpy(), len(seen.common)).astype(float)


def _curve(odds: Real, true: npt.NDArray[np.bool_], weight: Real) -> Real:
    """What was said and what was seen at a dozen levels of as many answers each, made monotone; [2, knots].

    Pool adjacent violators: levels that fall are joined until none does. Levels at which nothing came true differ still
    by what was said, so that sets can tell their answers apart.
    """
    there = np.flatnonzero(weight)
    if not len(there):
        return np.zeros((2, 1))
    order = there[np.argsort(odds[there], kind="stable")]
    odds, true, weight = odds[order], true[order], weight[order]
    before = np.cumsum(weight)
    cuts = np.searchsorted(before, before[-1] * np.arange(1, _KNOTS) / _KNOTS)
    pools: list[list[float]] = []
    for x, y, w in zip(np.split(odds, cuts), np.split(true, cuts), np.split(weight, cuts), strict=True):
        if not len(x):
            continue
        p = 1 / (1 + np.exp(-np.clip(x, -500, 500)))
        total = float(w.sum())
        mean = float(np.clip(p @ w / total, _LEAST, 1 - _LEAST))
        credit = min(total, 1 / min(mean, 1 - mean))  # so many that came as said, one of them the rarer way
        pools.append([float(x @ w), float(y @ w) + credit * mean, total + credit, total])
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            last = pools.pop()
            pools[-1] = [a + b for a, b in zip(pools[-1], last, strict=True)]
    said, seen = np.array([[x / n, hits / m] for x, hits, m, n in pools]).T
    seen = seen.clip(_LEAST, 1 - _LEAST)
    return np.stack([said, np.log(seen / (1 - seen))])


def _candidates(seen: Seen) -> Real:
    """Weights of candidates: the first ones, true answers behind them, and a few of all others, which stand for all."""
    size = min(_FIRST, seen.top.shape[1])
    rows, facts = torch.arange(len(seen.top)), seen.weight.double()
    columns = []
    for at in range(size):
        rank = torch.full((len(rows),), float(at + 1), dtype=torch.float64)
        columns.append((rows, rank, seen.top[:, at].double(), (seen.reached > at) * facts))
    # Places behind, evenly in log rank, each standing for all up to the next; true ones among them hardly count.
    edges = np.unique(np.geomspace(size, max(size, seen.top.shape[1]), _OTHERS + 1).astype(int)).tolist()
    for low, high in pairwise(edges):
        rank = torch.full((len(rows),), float((low + high) // 2 + 1), dtype=torch.float64)
        stands_for = (seen.reached.clamp(max=high) - low).clamp(min=0)
        columns.append((rows, rank, seen.top[:, (low + high) // 2].double(), stands_for * facts))
    true = [is_true(seen, size).T.ravel(), np.zeros(len(rows) * (len(edges) - 1), bool)]
    behind = seen.true_reached & (seen.true_rank > size)
    far = seen.true_row[behind]
    columns.append((far, seen.true_rank[behind], seen.true_share[behind], facts[far]))
    row, rank, share, weight = (torch.cat(column) for column in zip(*columns, strict=True))
    features = candidate_features(share, rank, seen.common[row]).numpy()
    happened = np.concatenate([*true, np.ones(len(far), bool)])
    return fit_logistic(features, happened, weight.numpy(), _DOUBT, as_shared())


def _share(features: Real, some: Real, all: Real, doubt: float = 1e-3) -> Real:
    """Weights of the share of true answers that are of a kind: a question is so many yes and so many no."""
    both = np.concatenate([features, features])
    outcome = np.repeat([True, False], len(features))
    return fit_logistic(both, outcome, np.concatenate([some, all - some]), doubt)


def _at_once(dataset: Dataset) -> Real:
    """log of how many answers each direction had at once in training; [2R]."""
    queries, _ = both_directions(dataset.split(Split.TRAIN))
    facts = np.bincount(queries.relation.numpy(), minlength=2 * dataset.num_relations)
    asked = torch.unique(torch.stack([queries.relation, queries.subject, queries.time], 1), dim=0)
    times = np.bincount(asked[:, 0].numpy(), minlength=2 * dataset.num_relations)
    return np.log((facts + 1) / (times + 1))


def _temperature(batch: Batch) -> float:
    """Of scores that are mere ranks, under which the true answers are likeliest."""
    if batch.scores.meaning is not Meaning.RANK:
        return 1.0

    def likelihood(temperature: float) -> float:
        return float(distribution(batch.scores, temperature)[batch.true].clamp(min=1e-12).log().mean())

    return max(_TEMPERATURES, key=likelihood)
