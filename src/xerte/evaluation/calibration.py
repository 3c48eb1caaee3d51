"""From scores to probabilities that mean something: of all answers given 0.7, about 70 % are true.

A question (s, r, ?, t) is asked because such a fact happens. The probability of an answer is that of its being among
the true ones; several can be, so the probabilities of one question may add up to more than 1. A question counts once
for each of its facts, as the judge asks it.

P(o is true) = σ(a · c + (b · c) ℓ + d · (ℓ², log rank, first, first ℓ)), ℓ being the log odds of o's share of all
scores and c what is known of the question (`COMMON`); few answers move the weights little from P = share. Then P is
bent to what was seen, the first answer apart from others. Candidates that are not reached share P(no reached one is
true). Somebody is the answer: where all P of a question add up to less than 1, all but the first, which was measured
best, grow in proportion until they add up to 1, or until none is less likely than the first; then all grow alike. The
sum of all that never met the subject is bent too, and goes no farther than what was seen; of a subject that met nobody
it is 1.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from xerte.evaluation.logistic import chance
from xerte.evaluation.proper import Level, errors_at
from xerte.evaluation.situation import Situation, distribution
from xerte.forecaster import Queries, Scores

Real = npt.NDArray[np.float64]

COMMON = (
    "1",
    "entropy of the scores",
    "log(1 + facts of the subject)",
    "log(1 + facts of the subject and relation)",
    "log(1 + times at which they happened)",
    "log of how many answers they had at once",
    "log of how many the relation has",
)
"""What all candidates of a question have in common."""
_FACTS = 2
OWN = ("squared log odds", "log rank", "first", "first times log odds")
ADDED_UP = 256
"""So many first candidates are added up; all others count as the last of these, so a sum is never taken for smaller."""
_LOG_ODDS = -16.0, 12.0
_SMALLEST = 1e-12
_PRIOR = 2.0
"""So many times a subject is credited with having as many answers at once as its relation has."""


@dataclass(frozen=True)
class Probabilities:
    """What is to be believed about questions.

    Attributes:
        answer: P(candidate is true), by entity [Q, E] or likeliest first [Q, M]; float64.
        strangers: P(an answer never met the subject), summed over all such entities; float64 [Q].
    """

    answer: Tensor
    strangers: Tensor


@dataclass(frozen=True)
class Check:
    """How good probabilities were on questions that they were not fitted to.

    Attributes:
        questions: how many, each counted once for each of its facts.
        ece, ece_of_chance: of the first answers; what 95 of 100 perfect forecasters stay below.
        coverage, size: the share of true answers in sets that should hold 90 %, and how large the sets were.
        strangers, strangers_said: the share of true answers that never met the subject, and what was said of it.
        strangers_ece, strangers_ece_of_chance: as above, of the strangers; 0 where not measured.
    """

    questions: int
    ece: float
    ece_of_chance: float
    coverage: float
    size: float
    strangers: float = 0.0
    strangers_said: float = 0.0
    strangers_ece: float = 0.0
    strangers_ece_of_chance: float = 0.0


@dataclass(frozen=True)
class Calibration:
    """The few numbers that make probabilities of a forecaster's scores.

    Attributes:
        answer: a, b and d; [2 COMMON + OWN].
        strangers, unreached: weights of the summed probability of entities that never met the subject, and of those
            that are not reached; [COMMON + 1].
        at_once: log of how many answers a direction had at once before; [2R].
        temperature: of scores that are mere ranks.
        entities: |E| then.
        questions: how many it was fitted to.
        window: their first and last time, as dates.
        levels: how reliable the probabilities of the first three answers were.
        stranger_levels: likewise of the strangers.
        first, others: (log odds said, log odds seen) of first answers and of others; [2, knots], ascending.
        stranger: likewise of the strangers; one knot: as said.
        held: what the likeliest 0, 0.5, …, 100 % of true answers had at least; a first answer counts as having 1.
        sizes: how many candidates have at least that, on average.
        usual_sizes: how many recurrence needs for as many true answers.
        check: how good it was on the latest quarter of the questions when fitted to the others.
    """

    answer: Real
    strangers: Real
    unreached: Real
    at_once: Real
    temperature: float
    entities: int
    questions: int
    window: tuple[str, str]
    levels: tuple[Level, ...] = ()
    stranger_levels: tuple[Level, ...] = ()
    first: Real = field(default_factory=lambda: np.zeros((2, 1)))
    others: Real = field(default_factory=lambda: np.zeros((2, 1)))
    stranger: Real = field(default_factory=lambda: np.zeros((2, 1)))
    held: Real = field(default_factory=lambda: np.zeros(1))
    sizes: Real = field(default_factory=lambda: np.zeros(1))
    usual_sizes: Real = field(default_factory=lambda: np.zeros(1))
    check: Check | None = None

    def probabilities(
        self, scores: Scores, situation: Situation, queries: Queries, first: int | None = None
    ) -> Probabilities:
        """Of every candidate of every question, or of the first ones, likeliest first."""
        share = distribution(scores, self.temperature, first is not None)
        entity, _, reached = scores.narrow if first is not None else (None, *scores.here)
        common = common_features(situation, queries, share, self.at_once)
        met = situation.met.cpu()
        unreached = mass_features(share.new_zeros(len(share)), common)  # they have no share
        unmet = share.masked_fill(met if entity is None else met.index_select(1, entity), 0.0)
        strangers = self.of_strangers(mass_features(unmet.sum(1), common))
        of_strangers = torch.from_numpy(np.where(met.all(1).numpy(), 0.0, strangers))
        known = reached.sum(1), unreached, common, met.shape[1]
        if first is not None:
            size = min(max(first, ADDED_UP), met.shape[1])
            share = torch.nn.functional.pad(share, (0, max(0, size - share.shape[1])))
            return Probabilities(self.ranked(torch.topk(share, size).values, *known)[:, :first], of_strangers)
        order = torch.argsort(share.masked_fill(~reached, -1.0), dim=1, descending=True, stable=True)
        ranked = self.ranked(share.gather(1, order), *known)
        return Probabilities(torch.empty_like(ranked).scatter_(1, order, ranked), of_strangers)

    def ranked(self, share: Tensor, reached: Tensor, unreached: Tensor, common: Tensor, entities: int) -> Tensor:
        """P of the first M of |E| candidates, given their shares [Q, M], how many are reached [Q], and features.

        M is at least `ADDED_UP`, or |E|.
        """
        place = torch.arange(1, share.shape[1] + 1, dtype=torch.float64).expand_as(share)
        odds = logit(self.answer, share, place, common).numpy()
        odds = np.concatenate([bent(odds[:, :1], self.first), bent(odds[:, 1:], self.others)], 1)
        answer = torch.cummin(
            torch.sigmoid(torch.from_numpy(odds)), 1
        ).values  # no answer is likelier than a better one
        missing = place > reached[:, None]
        if bool(missing.any()):
            rest = torch.from_numpy(chance(unreached.numpy(), self.unreached))
            rest = rest / (entities - reached).clamp(min=1)
            least = answer.masked_fill(missing, 1.0).amin(1)
            answer = torch.where(missing, torch.minimum(rest, least)[:, None], answer)
        return _somebody(answer, entities)

    def of_strangers(self, features: Tensor) -> Real:
        """P(an answer never met the subject), given its features [Q, COMMON + 1]; [Q]."""
        odds: Real = features.numpy() @ self.strangers
        said = self.stranger[0]
        odds = bent(odds.clip(said[0], said[-1]) if len(said) > 1 else odds.clip(-30, 30), self.stranger)
        return np.where(met_nobody(features), 1.0, 1 / (1 + np.exp(-odds)))

    def threshold(self, coverage: float) -> float:
        """What a candidate needs to be in a set that holds so large a share of true answers: split conformal.

        Not exactly: the weights were fitted to the same questions.

        The k-th largest of n true answers' probabilities, k = ⌈coverage (n + 1)⌉; 0 where n is too small.
        """
        return float(self.held[self._place(coverage)]) if coverage * (self.questions + 1) <= self.questions else 0.0

    def mean_size(self, coverage: float) -> tuple[float, float]:
        """How many candidates such a set had on these questions, and how many recurrence's had (0: not known)."""
        at = self._place(coverage)
        return float(self.sizes[at]), float(self.usual_sizes[at])

    def _place(self, coverage: float) -> int:
        level = coverage * (self.questions + 1) / max(1, self.questions)
        return min(len(self.held) - 1, int(np.ceil(level * (len(self.held) - 1) - 1e-9)))

    def reliability(self, probability: Real, strangers: bool = False) -> list[float | None]:
        """How far off such probabilities were on these questions, at most, about 19 times of 20; [n]."""
        return errors_at(self.stranger_levels if strangers else self.levels, probability)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        body = asdict(self)
        return {name: _short(value) if isinstance(value, np.ndarray) else value for name, value in body.items()}

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Calibration":
        """The calibration that `to_json` described.

        Raises:
            KeyError, TypeError, ValueError: it is not such a description.
        """
        arrays = ("answer", "strangers", "unreached", "at_once", "first", "others", "held", "sizes", "usual_sizes")
        numbers = {name: np.array(value[name], float) for name in arrays}
        numbers["stranger"] = np.array(value.get("stranger", np.zeros((2, 1))), float)  # older ones have none
        shapes = [numbers[name].shape for name in arrays[:3]]
        if shapes != [(2 * len(COMMON) + len(OWN),), (len(COMMON) + 1,), (len(COMMON) + 1,)]:
            raise ValueError("weights")
        curves = numbers["first"], numbers["others"], numbers["stranger"]
        ragged = (
            len({numbers[name].shape for name in ("held", "sizes", "usual_sizes")}) != 1 or numbers["at_once"].ndim != 1
        )
        if ragged or any(one.ndim != 2 or len(one) != 2 or not one.size for one in curves):
            raise ValueError("shapes")
        if not all(bool(np.isfinite(one).all()) for one in numbers.values()) or not float(value["temperature"]) > 0:
            raise ValueError("numbers")
        first, last = map(str, value["window"])
        made: dict[str, Any] = {**numbers, "temperature": float(value["temperature"]), "window": (first, last)}
        for name in ("levels", "stranger_levels"):
            made[name] = tuple(Level(**one) for one in value[name])
        for name in ("entities", "questions"):
            made[name] = int(value[name])
        made["check"] = None if value["check"] is None else Check(**value["check"])
        return Calibration(**made)


def _short(numbers: Real) -> Any:
    """As lists of numbers with seven digits."""
    return np.vectorize(lambda one: float(f"{one:.7g}"), otypes=[float])(numbers).tolist()


def _somebody(answer: Tensor, entities: int) -> Tensor:
    """P of the first M of |E| candidates, of whom at least one is true; [Q, M], descending."""

    def total(answer: Tensor) -> Tensor:
        near = answer[:, :ADDED_UP]
        return near.sum(1, keepdim=True) + (entities - near.shape[1]) * near[:, -1:]

    all, first = total(answer), answer[:, :1]
    if bool((all >= 1).all()):
        return answer
    grown = answer * ((1 - first) / (all - first).clamp(min=_SMALLEST)).clamp(min=1)
    grown = torch.cat([first, torch.minimum(grown, first)[:, 1:]], 1)
    return torch.where(all < 1, grown / total(grown).clamp(max=1), answer)


def bent(odds: Real, curve: Real) -> Real:
    """Log odds said -> log odds seen, linear between the knots and shifted beyond them."""
    said, seen = curve
    result: Real = np.interp(odds, said, seen) + np.minimum(odds - said[0], 0) + np.maximum(odds - said[-1], 0)
    return result


def met_nobody(features: Tensor) -> npt.NDArray[np.bool_]:
    """Whether there is no fact of the subject, so that every answer is a stranger; [Q, ≥ COMMON] -> [Q]."""
    nobody: npt.NDArray[np.bool_] = (features[:, _FACTS] == 0).numpy()
    return nobody


def log_odds(share: Tensor) -> Tensor:
    """ℓ, within bounds; [Q, E]."""
    return torch.logit(share, eps=1e-12).clamp(*_LOG_ODDS)


def common_features(situation: Situation, queries: Queries, share: Tensor, at_once: Real) -> Tensor:
    """c of every question; float64 [Q, COMMON]."""
    entropy = -torch.special.xlogy(share, share).sum(1)
    relation = queries.relation.cpu()
    table = torch.from_numpy(at_once)
    usual = torch.where(relation < len(table), table[relation.clamp(max=len(table) - 1)], 0.0)
    facts, own, times = (one.cpu().double() for one in (situation.facts, situation.own_facts, situation.own_times))
    at_once_here = torch.log((own + _PRIOR * usual.exp()) / (times + _PRIOR))
    columns = (torch.ones_like(entropy), entropy, facts.log1p(), own.log1p(), times.log1p(), at_once_here, usual)
    return torch.stack(columns, 1)


def candidate_features(share: Tensor, rank: Tensor, common: Tensor) -> Tensor:
    """φ of single candidates, given [n], [n] and [n, COMMON]; [n, 2 COMMON + OWN]."""
    odds = log_odds(share)[:, None]
    rank, first = rank[:, None], (rank == 1)[:, None].double()
    return torch.cat([common, common * odds, odds.square(), rank.log(), first, first * odds], 1)


def as_shared() -> Real:
    """The weights under which P is the share of all scores: where they are drawn to."""
    weight = np.zeros(2 * len(COMMON) + len(OWN))
    weight[len(COMMON)] = 1.0
    return weight


def logit(weight: Real, share: Tensor, rank: Tensor, common: Tensor) -> Tensor:
    """φ · w of all candidates, [Q, E], given [Q, E], [Q, E] and [Q, COMMON]."""
    w, size, odds = torch.from_numpy(weight), len(COMMON), log_odds(share)
    squared, of_rank, first, first_odds = w[2 * size :]
    head = (common @ w[:size])[:, None] + (common @ w[size : 2 * size])[:, None] * odds
    own: Tensor = squared * odds.square() + of_rank * rank.log() + (rank == 1) * (first + first_odds * odds)
    return head + own


def mass_features(mass: Tensor, common: Tensor) -> Tensor:
    """Of the summed share of some entities, [Q]; [Q, COMMON + 1]."""
    return torch.cat([common, log_odds(mass)[:, None]], 1)
