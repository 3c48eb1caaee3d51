"""Is it true? Faithfulness of a model's explanations on a dataset, measured by asking again over changed histories."""

import copy
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
import torch

from xerte.api.model import Model
from xerte.data.world import World, generate
from xerte.errors import InputError
from xerte.evaluation.filters import Filters
from xerte.evaluation.protocol import both_directions
from xerte.experiment.trace import Trace, commit, device_name, versions
from xerte.explanation import causes
from xerte.explanation.causes import Coroner, Found, Recall
from xerte.explanation.contest_report import Fidelity, Goal, Rival, Sanity, goals_of, overlap, rivals_of
from xerte.explanation.faithfulness import KS as KS
from xerte.explanation.faithfulness import Case, Contest, Examiner, Seeded, Trial
from xerte.explanation.faithfulness_report import Curves, Ratio, Stability
from xerte.explanation.statements import Statements
from xerte.forecaster import Queries, ask
from xerte.types import ProgressCallback, Split

QUESTIONS = 300
FIDELITY_K = 5
ASKED_AGAIN = 100
"""So many questions are asked again to see what must and what must not change an explanation."""
_AT_ONCE = 256


@dataclass(frozen=True)
class Faithfulness:
    """What hiding and keeping evidence did to correct answers.

    Attributes:
        looked_at: questions that were asked, in random order, to find those below.
        correct: of these, how many had their answer ranked first and facts that speak for it; they were examined.
        unexplained: how many were ranked first though no fact carried their score.
        curves: over k.
        ratios: what hiding evidence costs over what hiding controls costs, for every k.
        by_relation: curves of every relation asked about, with its name; reciprocals count apart.
        controls: how many facts found a control, how many of these in the same entity's past, and how far in time.
        stability: under another sampling seed; None for a model that draws nothing.
        causes: on the embedded world, by group; over validation and test, which the model learned from neither.
        rivals: what hiding other facts costs: those that anybody would name, and those of other attributions.
        goals: for every k, whether the evidence beats the strongest control.
        fidelity: whether the model's own answers, right or wrong, hang on their evidence.
        sanity: what must change an explanation, and what must not.
        seconds: wall-clock time.
    """

    looked_at: int
    correct: int
    unexplained: int
    curves: Curves
    ratios: tuple[Ratio, ...]
    by_relation: dict[str, Curves]
    controls: dict[str, float]
    stability: Stability | None
    causes: dict[str, Recall] | None
    rivals: tuple[Rival, ...]
    goals: tuple[Goal, ...]
    fidelity: Fidelity
    sanity: Sanity
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The stable shape of `--json` and of the trace's details."""
        return {
            "looked_at": self.looked_at,
            "correct": self.correct,
            "unexplained": self.unexplained,
            "curves": self.curves.to_json(),
            "ratios": [ratio.to_json() for ratio in self.ratios],
            "by_relation": {name: _in_short(curves) for name, curves in self.by_relation.items()},
            "controls": self.controls,
            "stability": self.stability and asdict(self.stability),
            "causes": self.causes and {name: asdict(recall) for name, recall in self.causes.items()},
            "cause_ks": list(causes.KS),
            "rivals": [asdict(rival) for rival in self.rivals],
            "goals": [asdict(goal) for goal in self.goals],
            "fidelity": asdict(self.fidelity),
            "sanity": asdict(self.sanity),
            "seconds": self.seconds,
        }

    def trace(self, model: Model, split: Split, command: str) -> Trace:
        """What was measured, by what, where and how: `.write(path)` keeps it."""
        return Trace(
            dataset=model.dataset.name,
            model=model.name,
            split=split.value,
            metrics={},
            protocol={"examined": "questions ranked first, time-aware filter, ties at mean rank, drawn at random"},
            queries=self.correct,
            command=command,
            settings={key: value for key, value in model.metadata.items() if key != "epochs"},
            seconds={"faithfulness": round(self.seconds, 3)},
            seed=model.metadata.get("seed"),
            device=device_name(model.history.device),
            versions=versions(),
            commit=commit(),
            details=self.to_json(),
        )


def faithfulness(
    model: Model,
    split: Split | str = Split.TEST,
    questions: int = QUESTIONS,
    ks: Sequence[int] = KS,
    seed: int = 0,
    progress: ProgressCallback | None = None,
    cluster: str | None = None,
) -> Faithfulness:
    """Measures whether the facts a model names are those its answers hang on.

    Args:
        model: one that names facts.
        split: whose facts are asked about.
        questions: how many that are answered right to examine, drawn at random.
        ks: how many facts to hide or keep; ascending.
        seed: of the draw.
        progress: called with (questions examined, questions wanted).
        cluster: the address of a Ray cluster whose workers examine; "auto" for the one at hand.

    Raises:
        InputError: the model names no facts, or answers nothing right.
    """
    if questions < 1 or not ks or list(ks) != sorted(set(ks)) or ks[0] < 1:
        raise InputError("ask for at least one question, and for ascending numbers of facts from 1 on")
    started = perf_counter()
    asked = Draw(Split(split), seed)
    draw = _Draw(model, asked)
    examiner = draw.examiner(model)
    cases, looked_at, unexplained = draw.correct(examiner, questions)
    examined: list[Examined] = []
    count = 0

    def report(more: int) -> None:
        nonlocal count
        count += more
        if progress is not None:
            progress(count, len(cases))

    if cluster is None:
        for case in cases:
            examined.append(examine(examiner, case, ks))
            report(1)
    else:
        from xerte.api.spread import examine_on

        examined = examine_on(cluster, model, asked, ks, len(cases), report)
    trials, contests = [trial for trial, _ in examined], [contest for _, contest in examined]
    relation = np.array([trial.relation for trial in trials])
    names = model.dataset.relations
    by_relation = {
        names.direction_name(int(one)): Curves.of([trial for trial in trials if trial.relation == one], ks)
        for one in sorted(set(relation.tolist()), key=lambda one: (-int((relation == one).sum()), one))
    }
    rivals = rivals_of(contests, ks)
    return Faithfulness(
        looked_at=looked_at,
        correct=len(cases),
        unexplained=unexplained,
        curves=Curves.of(trials, ks),
        ratios=tuple(Ratio.of(trials, at, k) for at, k in enumerate(ks) if any(trial.paired[at] for trial in trials)),
        by_relation=by_relation,
        controls=_controls(cases, trials, max(ks), model.dataset.calendar.ticks_per_unit),
        stability=draw.stability(cases),
        causes=draw.causes(examiner),
        rivals=rivals,
        goals=goals_of(rivals, ks),
        fidelity=draw.fidelity(examiner, questions),
        sanity=draw.sanity(examiner, cases[:ASKED_AGAIN]),
        seconds=perf_counter() - started,
    )


Examined = tuple[Trial, Contest]


@dataclass(frozen=True)
class Draw:
    """Which questions are asked: those of a split, in an order drawn with a seed."""

    split: Split
    seed: int


def drawn(model: Model, draw: Draw, count: int) -> tuple[Examiner, list[Case]]:
    """The first questions of a draw that are answered right and explained, and who examines them."""
    made = _Draw(model, draw)
    examiner = made.examiner(model)
    return examiner, made.correct(examiner, count)[0]


def examine(examiner: Examiner, case: Case, ks: Sequence[int]) -> Examined:
    """Asks again with the evidence hidden or kept, and with what others would hide."""
    return examiner.trial(case, ks), examiner.contest(case, ks)


class _Draw:
    """The questions of a draw."""

    def __init__(self, model: Model, draw: Draw) -> None:
        split, seed = draw.split, draw.seed
        self._model, self._split = model, split
        queries, answer = both_directions(model.dataset.split(split))
        if not len(queries):
            raise InputError(f"the {split} split of {model.dataset.name} holds no facts: there is nothing to ask")
        self._queries, self._answer = queries.to(model.device), answer.to(model.device)
        self._order = np.random.default_rng(seed).permutation(len(queries))
        self._filters = Filters.of(model.dataset, model.device)
        scores = ask(model.forecaster, model.history, self._queries[:1])
        if not any(part.evidence for part in scores.parts):
            raise InputError(f"{model.name} names no facts: there is no evidence to examine")
        self._draws = scores.growth is not None
        self._statements = Statements(model.dataset.facts, model.dataset.calendar.ticks_per_unit)

    def examiner(self, model: Model) -> Examiner:
        return Examiner(model.forecaster, model.history, model.dataset.facts, self._filters, self._statements)

    def correct(self, examiner: Examiner, wanted: int) -> tuple[list[Case], int, int]:
        """(cases ranked first that have evidence, how many questions were asked for them, how many had none)."""
        found: list[Case] = []
        looked_at = unexplained = 0
        for start in range(0, len(self._order), _AT_ONCE):
            rows = torch.from_numpy(self._order[start : start + _AT_ONCE]).to(self._model.device)
            for case in examiner.cases(self._queries[rows], self._answer[rows]):
                looked_at += 1
                if case.standing.rank == 1:
                    unexplained += not case.facts
                    found += [case] if case.facts else []
                if len(found) == wanted:
                    return found, looked_at, unexplained
        if not found:
            raise InputError(f"{self._model.name} ranks no answer first here: there is nothing to examine")
        return found, looked_at, unexplained

    def stability(self, cases: Sequence[Case]) -> Stability | None:
        """The same questions under the next sampling seed."""
        forecaster = self._model.forecaster
        if not self._draws or not isinstance(forecaster, Seeded):
            return None
        other = copy.copy(forecaster)
        other.seed += 1
        examiner = Examiner(other, self._model.history, self._model.dataset.facts, self._filters, self._statements)
        return Stability.of(cases, self._again(examiner, cases))

    def _again(self, examiner: Examiner, cases: Sequence[Case]) -> list[Case]:
        """The same questions and answers, asked of another."""
        queries = Queries(
            *(torch.cat(column) for column in zip(*(case.query.columns() for case in cases), strict=True))
        )
        answer = torch.tensor([case.answer for case in cases], device=self._model.device)
        return list(examiner.cases(queries, answer, pools=False))

    def fidelity(self, examiner: Examiner, wanted: int) -> Fidelity:
        """The model's own answers to the first questions, whether they are right or wrong."""
        rows = torch.from_numpy(self._order[:wanted].copy()).to(self._model.device)
        queries, truth = self._queries[rows], self._answer[rows]
        own = examiner.best(queries)
        named = torch.tensor([place for place, answer in enumerate(own) if answer is not None], device=rows.device)
        answers = torch.tensor([answer for answer in own if answer is not None], device=rows.device)
        cases = list(examiner.cases(queries[named], answers, pools=False))
        changes = [examiner.fidelity(case, FIDELITY_K) for case in cases]
        return Fidelity.of(FIDELITY_K, changes, (answers == truth[named]).tolist())

    def sanity(self, examiner: Examiner, cases: Sequence[Case]) -> Sanity:
        """The same answers with shuffled weights, and over a history that lacks one fact of others."""
        forecaster, other = self._model.forecaster, None
        if isinstance(forecaster, torch.nn.Module):
            shuffled = copy.deepcopy(forecaster)
            drawn = torch.Generator().manual_seed(0)
            for weight in shuffled.parameters():
                order = torch.randperm(weight.numel(), generator=drawn).to(weight.device)
                weight.data = weight.data.flatten()[order].view_as(weight)
            by_chance = Examiner(
                shuffled, self._model.history, self._model.dataset.facts, self._filters, self._statements
            )
            pairs = zip(cases, self._again(by_chance, cases), strict=True)
            other = float(np.mean([overlap(case, again) for case, again in pairs]))
        harmless = [overlap(case, examiner.harmless(case, place)) for place, case in enumerate(cases)]
        return Sanity(len(cases), other, float(np.mean(harmless)))

    def causes(self, examiner: Examiner) -> dict[str, Recall] | None:
        """On the embedded world: every held-out question about a caused event that is answered right."""
        world = world_of(self._model)
        if world is None:
            return None
        held_out = [part for part in (Split.VALID, Split.TEST) if self._split is Split.TEST or part is self._split]
        parts = [self._model.dataset.rows(part) for part in held_out]
        event = np.concatenate([part.start + np.arange(2 * (part.stop - part.start)) // 2 for part in parts])
        asked_all = [both_directions(self._model.dataset.split(part)) for part in held_out]
        columns = zip(*(queries.columns() for queries, _ in asked_all), strict=True)
        queries = Queries(*(torch.cat(column) for column in columns)).to(self._model.device)
        answer = torch.cat([answers for _, answers in asked_all]).to(self._model.device)
        caused = np.flatnonzero(world.causes.hops[event] > 0)
        rows = torch.from_numpy(caused).to(self._model.device)
        coroner = Coroner(world)
        asked = examiner.cases(queries[rows], answer[rows], pools=False, merged=False)
        found: list[Found] = []
        for row, case in zip(caused.tolist(), asked, strict=True):
            if case.standing.rank == 1:
                one = coroner.judge(int(event[row]), bool(row % 2), case.facts)
                if not one.subject_wanted:
                    named, unnamed = (_falls(examiner, case, some) for some in (one.named, one.unnamed))
                    one = replace(one, named_fall=named, unnamed_fall=unnamed)
                found.append(one)
        return coroner.groups(found)


def _in_short(curves: Curves) -> dict[str, Any]:
    """The falls and their areas: there may be hundreds of relations."""
    return {name: value for name, value in curves.to_json().items() if "fall" in name or name in ("questions", "areas")}


def _falls(examiner: Examiner, case: Case, causes: Sequence[int]) -> tuple[float, ...]:
    """What hiding each of these alone costs the answer's score."""
    return tuple(case.standing.score - examiner.changed(case, [cause]).score for cause in causes)


def world_of(model: Model) -> World | None:
    """The embedded world, where it is what the model's dataset holds."""
    if model.dataset.name != "world":
        return None
    world = generate()
    pairs = zip(world.dataset.facts.columns(), model.dataset.facts.columns(), strict=True)
    return world if all(np.array_equal(mine, theirs) for mine, theirs in pairs) else None


def _controls(cases: Sequence[Case], trials: Sequence[Trial], most: int, ticks: int) -> dict[str, float]:
    """How good the matches are."""
    facts = sum(min(most, len(case.facts)) for case in cases)
    apart = np.concatenate([np.array(trial.apart, np.float64) for trial in trials]) / ticks
    return {
        "facts": facts,
        "matched": len(apart),
        "same_entity": sum(trial.same_entity for trial in trials),
        "median_units_apart": float(np.median(apart)) if len(apart) else 0.0,
    }
