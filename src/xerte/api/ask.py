"""How likely, within when, what next, how often: questions answered from rates of past events.

`?` asks for a name, `*` means any; "A | B" means one of these, and a name with stars in it all that match.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xerte.api.backtest import Plan, fold_times, parse_retrain, run
from xerte.api.durations import parse_duration
from xerte.api.forecast import Time
from xerte.api.grammar import ASKS, Groups, chosen, events, grouped, left_aside
from xerte.api.knowing import Knowing
from xerte.api.replies import Backtest, Likelihood, PastFact, Reply, Scan, Scanned
from xerte.api.when import first_time
from xerte.data.dataset import Dataset
from xerte.data.facts import Facts
from xerte.data.lineage import Lineage
from xerte.data.vocabulary import Vocabulary
from xerte.data.words import counted
from xerte.errors import InputError
from xerte.experiment.shelf import version
from xerte.forecaster import Learner
from xerte.rates.blended import SCANNED, Blended, Ranking, asking, left_out
from xerte.rates.blending import blended
from xerte.rates.counts import Counts, Known, Triples
from xerte.rates.model import RateModel
from xerte.rates.predictor import Counted, Predictor, happening
from xerte.rates.shares import FactShare, shares
from xerte.rates.stored import rates_of
from xerte.types import ProgressCallback, Split

if TYPE_CHECKING:
    from xerte.api.model import Model

Int = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

_EVIDENCE = 10
_NEARLY_ALL = 0.999
MODEL = "rates"


@dataclass(frozen=True)
class _Interval:
    """What is asked about, in ticks.

    Attributes:
        kind: one of `_KINDS`.
        known_before: all before it is known.
        begin, end: does it happen from the one to before the other.
    """

    kind: str
    known_before: int
    begin: int
    end: int


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
        self.dataset, self.model, self._notes, self._progress = dataset, model, notes, progress
        self._known: tuple[Known, bool] | None = None
        self.knowing = Knowing(dataset)

    def over(self, dataset: Dataset) -> "Asker":
        """The same for a dataset that has grown; what was fitted stays, unless there are relations it does not know."""
        other = Asker(dataset, self.model, self._notes, self._progress)
        if "rates" in vars(self) and dataset.num_relations == self.dataset.num_relations:
            vars(other)["rates"] = self.rates
            known = vars(self).get("predictor")
            if isinstance(known, Blended) and self.model is not None:
                ranking = replace(known.ranking, forecaster=self.model.forecaster, history=self.model.history)
                vars(other)["predictor"] = replace(known, ranking=ranking)
        return other

    @cached_property
    def predictor(self) -> Predictor:
        """What answers."""
        model = self.model
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
        interval = self._interval(at, within, when, how_often, as_of)
        if top < 1:
            raise InputError(f"top is {top}: ask for at least one answer")
        time, calendar, words = interval.known_before, self.dataset.calendar, (subject, relation, object)
        slots, of_names = self._slots(words, groups)
        known, asks = self._before(time, as_of is not None), [text == ASKS for text in words]
        asked, notes = events(slots, known, asks)
        begin, end = ((tick - time) / calendar.ticks_per_unit for tick in (interval.begin, interval.end))
        notes += [*self._warnings(known, time, end), *of_names, *filter(None, [left_out(self.predictor, len(asked))])]
        expected = self._expected(known, asked, begin, end)
        places = grouped(asked, asks)
        rate = np.bincount(places, expected).astype(float)
        order = np.argsort(-rate, kind="stable")[:top]
        found = zip(order, happening(rate[order]).tolist(), strict=True)
        rows = places == order[0] if len(order) else np.zeros(0, bool)
        first = asked[rows]
        more: dict[str, Any] = {"from": calendar.format(interval.begin), "until": calendar.format(interval.end)}
        if interval.kind == "how often":
            units = np.full(len(first), end)
            more["expected"] = float(self.rates.number(expected[rows], known.reasons(first), units).sum())
        if interval.kind == "when":
            predictor, longest = self._answering(known), max(1, round(self.rates.longest))
            more = first_time(lambda units: predictor.expected(known, first, units).sum(), calendar, time, longest)
        facts = self.dataset.facts if known.counts is self.counts else self.knowing.facts(time)
        told = shares(self.rates, known, first, end)[:_EVIDENCE]
        return Reply(
            " ".join((*words, *_said(interval.kind, at, within, how_often))),
            interval.kind,
            calendar.format(time),
            self.predictor.name,
            tuple(self._answer(words, asked, expected, places == group, p, end) for group, p in found),
            tuple(self._fact(facts, one) for one in told),
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
        time = self._end if as_of is None else calendar.parse(str(as_of))
        known = self._before(time, as_of is not None)
        if not known.size:
            raise InputError(f"nothing is known before {calendar.format(time)}", hint="choose a later day")
        asked, units = known.seen(), length / calendar.ticks_per_unit
        if watch is not None:
            some = np.array([self.dataset.entities.id(name) for name in watch], np.int64)
            if not len(some):
                raise InputError("the watch list names nobody", hint="give at least one entity")
            asked = asked[np.isin(asked.subject, some) | np.isin(asked.object, some)]
            if not len(asked):
                raise InputError("no entity of the watch list was ever in an event: there is nothing to look at")
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
                    self._reliability(float(probability[row]), units),
                    float(surprise[row]),
                )
                for row in rows.tolist()
            )
            for rows in (likely, strange)
        )
        notes = (*self._warnings(known, time, units), *filter(None, [left_out(predictor, len(asked))]))
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
        return None if self.model is None else self.model.source

    @property
    def name(self) -> str:
        """What answers."""
        learns = self.model is not None and isinstance(self.model.forecaster, Learner)
        return Path(self.model.source).name if learns and self.model is not None else MODEL

    def retrained(self, view: Dataset) -> Predictor:
        """All learned anew from a part of the dataset."""
        if self.model is None or not isinstance(self.model.forecaster, Learner):
            return Counted(rates_of(view, Counts.of(view)), MODEL)
        from xerte.api.training import train

        metadata = self.model.metadata
        model = train(view, metadata.get("preset"), str(self.model.device), int(metadata.get("seed", 0)))
        model.source = self.model.source
        return Asker(view, model).predictor

    @property
    def _names(self) -> tuple[Vocabulary, Vocabulary, Vocabulary]:
        return self.dataset.entities, self.dataset.relations, self.dataset.entities

    @property
    def _end(self) -> int:
        """The first tick of which no fact is known."""
        return self.dataset.last_time + self.dataset.calendar.ticks_per_unit

    def _interval(
        self, at: Time | None, within: str | int | None, when: bool, how_often: str | int | None, as_of: Time | None
    ) -> _Interval:
        """What is asked about.

        Raises:
            InputError: not exactly one of them is given, or what is asked about is known already.
        """
        given = zip(_KINDS, (at, within, when or None, how_often), strict=True)
        kinds = [name for name, one in given if one is not None]
        if len(kinds) != 1:
            raise InputError("ask exactly one of these: at a time, within an interval, when, or how often")
        calendar = self.dataset.calendar
        start = None if at is None else calendar.parse(str(at))
        known_before = calendar.parse(str(as_of)) if as_of is not None else self._end if start is None else start
        if start is None:
            length = self._length(within if how_often is None else how_often)
            return _Interval(kinds[0], known_before, known_before, known_before + length)
        if start < known_before:
            raise InputError(
                f"{at} lies before {as_of}, up to which everything is known", hint="ask about a later time"
            )
        return _Interval(kinds[0], known_before, start, start + calendar.ticks_per_unit)

    def _slots(self, words: tuple[str, str, str], groups: Groups | None) -> tuple[list[Int | None], list[str]]:
        """The ids that each word stands for, None for all; and notes about names that the dataset does not know."""
        new: list[str] = []
        slots = [
            chosen(text, names, groups, None if names is self.dataset.relations else new)
            for text, names in zip(words, self._names, strict=True)
        ]
        notes = [f"{name} is in no fact: what is usual for others answers" for name in dict.fromkeys(new)]
        notes += filter(None, [left_aside(*one, groups) for one in zip(words, self._names, strict=True)])
        return slots, notes

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

    def _warnings(self, known: Known, time: int, horizon: float) -> list[str]:
        calendar, unit, notes = self.dataset.calendar, self.dataset.calendar.unit, list(self._notes)
        if known.counts is not self.counts and (later := len(self.knowing.late(time).hidden)):
            notes.append(f"{counted(later)} became known only at {calendar.format(time)} or later: not read")
        if not known.size:
            notes.append(f"nothing is known before {calendar.format(time)}: every answer is a guess")
        if time > self._end:
            notes.append(f"the facts end before {calendar.format(self._end)}: what happened since is not known")
        elif stray := self._stray(known, time):
            day, left = stray
            hardly = f"all but {counted(left)} happened before {day}: hardly anything is known of the time since"
            notes.append(hardly if left else f"no fact from {day} to {calendar.format(time)} is known")
        if horizon > self.rates.longest:
            tested = counted(round(self.rates.longest), str(unit))
            notes.append(f"never tested so far ahead: intervals of up to {tested} were")
        if not self.rates.levels:
            notes.append("there are too few validation facts to calibrate on: nothing is known of how reliable this is")
        return notes

    def _stray(self, known: Known, time: int) -> tuple[str, int] | None:
        """The day before which nearly all facts happened, and how many did not, where that was very long ago."""
        calendar, times = self.dataset.calendar, known.counts.time[: known.size]
        if not known.size:
            return None
        end = int(times[int(_NEARLY_ALL * (known.size - 1))]) + calendar.ticks_per_unit
        if time - end <= self.rates.longest * calendar.ticks_per_unit:
            return None
        return calendar.format(end), known.size - int(np.searchsorted(times, end))

    def _answer(
        self,
        words: tuple[str, str, str],
        asked: Triples,
        expected: Real,
        rows: npt.NDArray[np.bool_],
        probability: float,
        horizon: float,
    ) -> Likelihood:
        """An answer that these events make, told by the likeliest of them."""
        likeliest = int(np.flatnonzero(rows)[np.argmax(expected[rows])])
        return Likelihood(*self._words(words, asked, likeliest), probability, self._reliability(probability, horizon))

    def _reliability(self, probability: float, horizon: float) -> float | None:
        """As the predictor's; None where nothing was ever tested so many units ahead."""
        return None if horizon > self.rates.longest else self.predictor.reliability(probability)

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
