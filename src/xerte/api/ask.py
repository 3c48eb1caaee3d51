"""How likely, within when, what next, how often: questions answered from rates of past events.

`?` asks for a name, `*` means any; "A | B" means one of these, and a name with stars in it all that match.
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xerte.api.backtest import Plan, before, fold_times, parse_retrain, run
from xerte.api.durations import parse_duration
from xerte.api.forecast import Time
from xerte.api.grammar import ASKS, Groups, chosen, events, grouped
from xerte.api.knowing import Knowing, sizes_of
from xerte.api.replies import Backtest, Likelihood, PastFact, Reply, Scan, Scanned
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.experiment.online import LearningOn
from xerte.experiment.shelf import version
from xerte.forecaster import Learner
from xerte.rates.blended import SCANNED, Blended, Ranking, asking, left_out
from xerte.rates.blending import blended
from xerte.rates.counts import Counts, Known, Triples
from xerte.rates.fitting import recalibrated
from xerte.rates.model import RateModel
from xerte.rates.predictor import Counted, Predictor, happening
from xerte.rates.shares import FactShare, shares
from xerte.rates.stored import rates_of
from xerte.types import ProgressCallback, Split

if TYPE_CHECKING:
    from xerte.api.model import Model

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
_EVIDENCE = 10
_VALID_TIMES = 30
"""The learning rate of learning on is chosen on so many last times of valid."""
MODEL = "rates"


class Asker:
    """Answers about one dataset; the rates are fitted or read at the first question.

    Args:
        dataset: what is asked about.
        model: whose ranking the rates listen to; None, or one that learns nothing: rates alone answer.
        notes: what a reader of every answer should know.
        progress: told how learning to listen goes, where that was not learned before.
    """

    def __init__(
        self,
        dataset: Dataset,
        model: "Model | None" = None,
        notes: tuple[str, ...] = (),
        progress: ProgressCallback | None = None,
    ) -> None:
        self.dataset, self._model, self._notes, self._progress = dataset, model, notes, progress
        self._known: tuple[Known, bool] | None = None
        self.knowing = Knowing(dataset)

    def over(self, dataset: Dataset) -> "Asker":
        """The same for a dataset that has grown; what was fitted stays, unless there are relations it does not know."""
        other = Asker(dataset, self._model, self._notes, self._progress)
        if "rates" in vars(self) and dataset.num_relations == self.dataset.num_relations:
            vars(other)["rates"] = self.rates
            known = vars(self).get("predictor")
            if isinstance(known, Blended) and self._model is not None:
                ranking = replace(known.ranking, forecaster=self._model.forecaster, history=self._model.history)
                vars(other)["predictor"] = replace(known, ranking=ranking)
        return other

    @cached_property
    def predictor(self) -> Predictor:
        """What answers."""
        model = self._model
        if model is None or not isinstance(model.forecaster, Learner):
            return Counted(self.rates, MODEL)
        temperature = 1.0 if model.calibration is None else model.calibration.temperature
        ranking = Ranking(model.forecaster, model.history, temperature)
        known = version(model.metadata) or ""
        return blended(self.dataset, self.counts, self.rates, ranking, self.name, known, self._progress)

    @cached_property
    def counts(self) -> Counts:
        """The facts, ready to be counted."""
        return Counts.of(self.dataset)

    @cached_property
    def rates(self) -> RateModel:
        """From counts to probabilities."""
        return rates_of(self.dataset, self.counts)

    def ask(
        self,
        subject: str,
        relation: str,
        object: str,
        *,
        at: Time | None = None,
        within: str | int | None = None,
        when: bool = False,
        how_often: str | int | None = None,
        as_of: Time | None = None,
        top: int = 10,
        groups: Groups | None = None,
    ) -> Reply:
        """Exactly one of `at`, `within`, `when` and `how_often` says what is asked; see `Model.ask`."""
        kinds = [
            name for name, given in zip(_KINDS, (at, within, when or None, how_often), strict=True) if given is not None
        ]
        if len(kinds) != 1:
            raise InputError("ask about one of these: a time, an interval, when, or how often")
        if top < 1:
            raise InputError(f"top is {top}: ask for at least one answer")
        calendar, data = self.dataset.calendar, self.dataset
        end = data.last_time + calendar.ticks_per_unit
        start = None if at is None else calendar.parse(str(at))
        known_before = calendar.parse(str(as_of)) if as_of is not None else end if start is None else start
        if start is not None and start < known_before:
            raise InputError(
                f"{at} lies before {as_of}, up to which everything is known", hint="ask about a later time"
            )
        begin = known_before if start is None else start
        length = (
            calendar.ticks_per_unit if start is not None else self._length(within if how_often is None else how_often)
        )
        words = (subject, relation, object)
        new: list[str] = []
        slots = [
            chosen(text, names, groups, None if names is data.relations else new)
            for text, names in zip(words, self._names, strict=True)
        ]
        known = self._before(known_before, as_of is not None)
        asked, notes = events(slots, known, [text == ASKS for text in words])
        horizon = (
            (begin - known_before) / calendar.ticks_per_unit,
            (begin + length - known_before) / calendar.ticks_per_unit,
        )
        notes += self._warnings(known, known_before, end, horizon[1])
        notes += [f"{name} is in no fact: what is usual for others answers" for name in dict.fromkeys(new)]
        notes += filter(None, [left_out(self.predictor, len(asked))])
        expected = self._expected(known, asked, *horizon)
        places = grouped(asked, [text == ASKS for text in words])
        rate = np.bincount(places, expected).astype(float)
        order = np.argsort(-rate, kind="stable")[:top]
        probability = happening(rate[order])
        first = [int(np.flatnonzero(places == group)[np.argmax(expected[places == group])]) for group in order]
        answers = tuple(
            Likelihood(*self._words(words, asked, row), float(p), self.predictor.reliability(float(p)))
            for row, p in zip(first, probability, strict=True)
        )
        rows = places == order[0] if len(order) else np.zeros(0, bool)
        more: dict[str, Any] = {"from": calendar.format(begin), "until": calendar.format(begin + length)}
        if kinds[0] == "how often":
            more["expected"] = float(self.rates.number(expected[rows]).sum())
        if kinds[0] == "when":
            more = self._when(known, asked[rows], known_before)
        facts = data.facts if known.counts is self.counts else self.knowing.facts(known_before)
        told = shares(self.rates, known, asked[rows], horizon[1])[:_EVIDENCE]
        evidence = tuple(self._fact(facts, one) for one in told)
        question = " ".join((*words, *_said(kinds[0], at, within, how_often)))
        return Reply(
            question,
            kinds[0],
            calendar.format(known_before),
            self.predictor.name,
            answers,
            evidence,
            tuple(notes),
            more,
        )

    def scan(
        self,
        next: str | int = "1",
        as_of: Time | None = None,
        top: int = 20,
        watch: Iterable[str] | None = None,
        *,
        most: int | None = SCANNED,
    ) -> "Scan":
        """The likeliest and the most surprising events of the next days, of all that ever happened.

        Args:
            next: how long; a duration.
            as_of: only facts before it are read; unless given, all are.
            top: how many of each.
            watch: only events with one of these entities.
            most: of more events than this the model is asked about the likeliest only; None: about all.
        """
        calendar = self.dataset.calendar
        length = self._length(next)
        time = self.dataset.last_time + calendar.ticks_per_unit if as_of is None else calendar.parse(str(as_of))
        known = self._before(time, as_of is not None)
        if not known.size:
            raise InputError(f"nothing is known before {calendar.format(time)}", hint="choose a later day")
        asked, units = known.seen(), length / calendar.ticks_per_unit
        if watch is not None:
            some = np.array([self.dataset.entities.id(name) for name in watch], np.int64)
            asked = asked[np.isin(asked.subject, some) | np.isin(asked.object, some)]
            if not len(asked):
                raise InputError("nothing ever happened with an entity of the watch list: there is nothing to look at")
        reasons = known.reasons(asked)
        predictor = asking(self._answering(known), most)
        expected = predictor.expected(known, asked, units)
        usual = reasons.counts[:, 0, -1] * units  # its own events per unit of time, so far
        surprise = expected / usual.clip(min=1e-12)
        probability = happening(expected)
        likely = np.argsort(-probability, kind="stable")[:top]
        # Far above its own rate, and likely enough to be worth a look.
        strange = np.argsort(-np.where(probability >= 0.01, surprise, 0), kind="stable")[:top]
        likeliest, strangest = (
            tuple(
                Scanned(
                    *self._words((ASKS,) * 3, asked, row),
                    float(probability[row]),
                    self.predictor.reliability(float(probability[row])),
                    float(surprise[row]),
                )
                for row in rows.tolist()
            )
            for rows in (likely, strange)
        )
        notes = (*self._notes, *filter(None, [left_out(predictor, len(asked))]))
        dates = calendar.format(time), calendar.format(time + length)
        return Scan(*dates, self.predictor.name, len(asked), likeliest, strangest, notes)

    def backtest(
        self,
        first: Time | None = None,
        every: str | int = 1,
        horizon: str | int | None = None,
        questions: int = 1000,
        seed: int = 0,
        progress: ProgressCallback | None = None,
        *,
        retrain: str = "never",
        out: str | Path | None = None,
        workers: int = 1,
        cluster: str | None = None,
    ) -> Backtest:
        """Asks questions through time with only what was known, and scores the answers.

        Args:
            first: when to begin; unless given, where the test split does.
            every: how long until the next time.
            horizon: how far ahead is asked.
            questions: of each kind at each time.
            seed: of the questions drawn.
            progress: callback.
            retrain: "never"; "every:N": all is learned anew before every N-th time; "online": the model learns from
                each time once it is over, and rates without one are calibrated anew before every time.
            out: a folder for the folds, from which an interrupted backtest goes on, for the trace and the report.
            workers: how many times are asked about at once.
            cluster: the address of a Ray cluster whose workers ask instead; "auto" for the one at hand.

        Raises:
            InputError: it would begin before what was learned from ends, or no time can be followed so far.
        """
        data, calendar = self.dataset, self.dataset.calendar
        until = Lineage.of(data).until
        begin = (
            max(until + 1, int(data.split(Split.TEST).time[:1].sum())) if first is None else calendar.parse(str(first))
        )
        parse_retrain(retrain)
        step, length = self._length(every), self._length(horizon)
        times = fold_times(self, begin, step, length, retrain, calendar.format)
        plan = Plan(tuple(times), length, questions, seed, retrain)
        return run(self, plan, None if out is None else Path(out), workers, progress, cluster)

    @property
    def source(self) -> str | None:
        """The name or folder of the model that answers, for another process to open; None where there is none."""
        return None if self._model is None else self._model.source

    @property
    def name(self) -> str:
        """What answers."""
        learns = self._model is not None and isinstance(self._model.forecaster, Learner)
        return Path(self._model.source).name if learns and self._model is not None else MODEL

    def learning_on(self) -> Callable[[int], Predictor]:
        """What answers at a time, asked for in ascending order: the model having learned from all before it.

        How far its ranking is trusted stays as it was learned on valid: what it has learned from cannot tell. Facts
        that were reported late are neither read in learning nor learned from.
        """
        model, predictor = self._model, self.predictor
        if model is None or not isinstance(predictor, Blended) or not isinstance(model.forecaster, Learner):

            def calibrated_anew(time: int) -> Predictor:
                view = before(self.knowing, time)
                return Counted(recalibrated(self.rates, view, Counts.of(view)), MODEL)

            return calibrated_anew
        data, late = self.dataset, self.knowing.late_at_once()
        history = model.history.with_facts(hidden=data.facts[late]) if late.any() else model.history
        known = replace(data, facts=data.facts[~late], sizes=sizes_of(data, ~late), extras={}) if late.any() else data
        learning = LearningOn(model.forecaster, model.metadata, known, history, _VALID_TIMES)
        listening: Blended = predictor

        def learned(time: int) -> Predictor:
            return replace(listening, ranking=replace(listening.ranking, forecaster=learning.until(time)))

        return learned

    def retrained(self, view: Dataset) -> Predictor:
        """All learned anew from a part of the dataset."""
        if self._model is None or not isinstance(self._model.forecaster, Learner):
            return Counted(rates_of(view, Counts.of(view)), MODEL)
        from xerte.api.training import train

        metadata = self._model.metadata
        model = train(view, metadata.get("preset"), str(self._model.device), int(metadata.get("seed", 0)))
        model.source = self._model.source
        return Asker(view, model).predictor

    @property
    def _names(self) -> tuple[Vocabulary, Vocabulary, Vocabulary]:
        return self.dataset.entities, self.dataset.relations, self.dataset.entities

    def _length(self, text: str | int | None) -> int:
        unit = self.dataset.calendar.ticks_per_unit
        return (
            round(max(1.0, self.rates.longest)) * unit if text is None else parse_duration(text, self.dataset.calendar)
        )

    def _before(self, time: int, then: bool) -> Known:
        """What happened before a time, of what is known today or was known then; that of the last question is kept."""
        if self._known is None or (self._known[0].as_of, self._known[1]) != (time, then):
            self._known = self.knowing.before(self.counts, time) if then else self.counts.before(time), then
        return self._known[0]

    def _answering(self, known: Known) -> Predictor:
        """What answers, its model reading what is counted and no more."""
        return self.predictor if known.counts is self.counts else self.knowing.reading(self.predictor, known.as_of)

    def _expected(self, known: Known, asked: Triples, begin: float, end: float) -> Real:
        """Events to be expected in an interval, of each; [n]."""
        predictor = self._answering(known)
        late = predictor.expected(known, asked, end)
        return (late - predictor.expected(known, asked, begin)).clip(min=0) if begin > 0 else late

    def _when(self, known: Known, asked: Triples, time: int) -> dict[str, Any]:
        """The distribution of the first time at which one of these happens."""
        calendar, longest = self.dataset.calendar, max(1, round(self.rates.longest))
        predictor = self._answering(known)
        rate = [predictor.expected(known, asked, float(edge)).sum() for edge in self._edges(longest)]
        every = np.interp(np.arange(1, longest + 1), self._edges(longest), np.maximum.accumulate(rate))
        chance = happening(every)
        found = {q: int(np.searchsorted(chance, q)) for q in QUANTILES}
        dates = {
            q: None if at == longest else calendar.format(time + at * calendar.ticks_per_unit)
            for q, at in found.items()
        }
        curve = [[calendar.format(time + edge * calendar.ticks_per_unit), float(p)] for edge, p in enumerate(chance)]
        return {
            "from": calendar.format(time),
            "until": calendar.format(time + longest * calendar.ticks_per_unit),
            "median": dates[0.5],
            "quantiles": {str(q): date for q, date in dates.items()},
            "beyond": float(1 - chance[-1]),
            "curve": curve,
        }

    def _edges(self, longest: int) -> list[int]:
        """Horizons that are asked about: the first days one by one, then ever fewer; between them, a line."""
        edges = np.unique(np.concatenate([np.arange(1, 9), np.geomspace(8, max(8, longest), 9).round()])).astype(int)
        return [edge for edge in edges.tolist() if edge <= longest]

    def _warnings(self, known: Known, time: int, end: int, horizon: float) -> list[str]:
        calendar, unit, notes = self.dataset.calendar, self.dataset.calendar.unit, list(self._notes)
        if known.counts is not self.counts:
            later = counted(len(self.knowing.late(time).hidden), "fact")
            notes.append(f"{later} became known only at {calendar.format(time)} or later: not read")
        if not known.size:
            notes.append(f"nothing is known before {calendar.format(time)}: every answer is a guess")
        if time > end:
            notes.append(f"the facts end before {calendar.format(end)}: what happened since is not known")
        if horizon > self.rates.longest:
            tested = counted(round(self.rates.longest), str(unit))
            notes.append(f"never tested so far ahead: intervals of up to {tested} were")
        return notes

    def _words(self, words: tuple[str, str, str], asked: Triples, row: int) -> tuple[str, str, str]:
        ids = (asked.subject[row], asked.relation[row], asked.object[row])
        named = (
            names[int(id)] if word == ASKS else word for word, names, id in zip(words, self._names, ids, strict=True)
        )
        subject, relation, object = named
        return subject, relation, object

    def _fact(self, facts: Facts, found: FactShare) -> PastFact:
        s, p, o, t = (int(column[found.fact]) for column in facts.columns())
        names = self.dataset.entities[s], self.dataset.relations[p], self.dataset.entities[o]
        return PastFact(*names, self.dataset.calendar.format(t), found.share)


_KINDS = ("at", "within", "when", "how often")


def _said(kind: str, at: Time | None, within: str | int | None, how_often: str | int | None) -> tuple[str, ...]:
    return {
        "at": ("at", str(at)),
        "within": ("within", str(within)),
        "when": ("when",),
        "how often": ("how often in", str(how_often)),
    }[kind]
