"""What contests say together: does hiding evidence cost more than hiding what anybody would name? With intervals."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from xerte.evaluation.bootstrap import Interval
from xerte.explanation.faithfulness import EVIDENCE, Case, Contest, Floats
from xerte.explanation.faithfulness_report import LEVEL, RESAMPLES
from xerte.explanation.rivals import CONTROLS


@dataclass(frozen=True)
class Rival:
    """Another choice of k facts to hide, beside the evidence; index i belongs to the i-th k.

    Attributes:
        name: who chose.
        control: whether it needs no model: the evidence must beat it. The others are attributions, reported only.
        fall: by how much the answer's score fell, in the mean.
        first: percent of the answers still ranked first.
        difference: how much more the score fell with the evidence hidden.
        interval: of that, questions being resampled.
        same: percent of the questions where it hides just what the evidence names: nobody can win there.
    """

    name: str
    control: bool
    fall: tuple[float, ...]
    first: tuple[float, ...]
    difference: tuple[float, ...]
    interval: tuple[Interval, ...]
    same: tuple[float, ...] = ()


@dataclass(frozen=True)
class Goal:
    """Whether the evidence beats the strongest control.

    Attributes:
        k: facts hidden.
        strongest: the control whose hiding costs most.
        difference, interval: how much more hiding the evidence costs.
        met: whether the whole interval lies above 0.
    """

    k: int
    strongest: str
    difference: float
    interval: Interval
    met: bool


@dataclass(frozen=True)
class Fidelity:
    """Whether the model's own answers, right or wrong, hang on their evidence.

    Attributes:
        k: heaviest facts.
        questions, wrong: how many were asked, and how many answers of these are wrong.
        plus: share of the answers that change with these facts hidden; should be high.
        minus: share that change with nothing else left; should be low.
        characterization: the harmonic mean of `plus` and 1 - `minus`.
        plus_interval, minus_interval, characterization_interval: questions being resampled.
        plus_right, plus_wrong: `plus` of right and of wrong answers.
    """

    k: int
    questions: int
    wrong: int
    plus: float
    plus_interval: Interval
    minus: float
    minus_interval: Interval
    characterization: float
    characterization_interval: Interval
    plus_right: float | None
    plus_wrong: float | None

    @staticmethod
    def of(k: int, changes: Sequence[tuple[bool, bool]], right: Sequence[bool]) -> "Fidelity":
        """From (changed when hidden, changed when kept alone) of every question."""
        table, is_right = np.array(changes, float), np.array(right, bool)
        drawn = np.random.default_rng(0).integers(len(table), size=(RESAMPLES, len(table)))
        means = table[drawn].mean(1)
        plus, minus = (float(value) for value in table.mean(0))
        return Fidelity(
            k=k,
            questions=len(table),
            wrong=int((~is_right).sum()),
            plus=plus,
            plus_interval=Interval.of(means[:, 0], LEVEL),
            minus=minus,
            minus_interval=Interval.of(means[:, 1], LEVEL),
            characterization=float(_harmonic(np.array([[plus, minus]]))[0]),
            characterization_interval=Interval.of(_harmonic(means), LEVEL),
            plus_right=float(table[is_right, 0].mean()) if is_right.any() else None,
            plus_wrong=float(table[~is_right, 0].mean()) if (~is_right).any() else None,
        )


@dataclass(frozen=True)
class Sanity:
    """What must change an explanation, and what must not.

    Attributes:
        questions: how many were asked again.
        random_weights: mean overlap of the 5 heaviest facts, in percent, when the weights are shuffled: should be low.
        harmless: the same when a fact between two others, nowhere near, is hidden: should be 100.
    """

    questions: int
    random_weights: float | None
    harmless: float


def overlap(case: Case, other: Case, k: int = 5) -> float:
    """The Jaccard index of the k heaviest facts, in percent."""
    mine, theirs = set(case.said[:k]), set(other.said[:k])
    return 100 * len(mine & theirs) / max(1, len(mine | theirs))


def _harmonic(means: Floats) -> Floats:
    """[n, 2] -> [n]: of plus and 1 - minus; 0 where one of them is."""
    plus, rest = means[:, 0], 1 - means[:, 1]
    out = np.zeros(len(means))
    np.divide(2 * plus * rest, plus + rest, out=out, where=(plus > 0) & (rest > 0))
    return out


def rivals_of(contests: Sequence[Contest], ks: Sequence[int]) -> tuple[Rival, ...]:
    """The evidence's rivals, each beside it on the same questions."""
    before = np.array([contest.before.score for contest in contests])[:, None]
    drawn = np.random.default_rng(0).integers(len(contests), size=(RESAMPLES, len(contests)))

    def column(name: str) -> Floats:
        return np.stack([contest.hidden[name] for contest in contests])  # [Q, k, 2]

    mine = before - column(EVIDENCE)[..., 0]
    found = []
    for name in (name for name in contests[0].hidden if name != EVIDENCE):
        theirs = column(name)
        apart = mine - (before - theirs[..., 0])
        resampled = apart[drawn].mean(1)
        found.append(
            Rival(
                name=name,
                control=name in CONTROLS,
                fall=_listed((before - theirs[..., 0]).mean(0)),
                first=_listed(100.0 * (theirs[..., 1] == 1).mean(0)),
                difference=_listed(apart.mean(0)),
                interval=tuple(Interval.of(resampled[:, at], LEVEL) for at in range(len(ks))),
                same=_listed(100.0 * np.array([contest.same[name] for contest in contests]).mean(0)),
            )
        )
    return tuple(found)


def goals_of(rivals: Sequence[Rival], ks: Sequence[int]) -> tuple[Goal, ...]:
    """For every k, the evidence against the control whose hiding costs most."""
    controls = [rival for rival in rivals if rival.control]
    found = []
    for at, k in enumerate(ks):
        one = max(controls, key=lambda rival: rival.fall[at])
        found.append(Goal(k, one.name, one.difference[at], one.interval[at], one.interval[at].low > 0))
    return tuple(found)


def _listed(values: Floats) -> tuple[float, ...]:
    return tuple(round(float(value), 6) for value in values)
