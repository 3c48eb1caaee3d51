"""How good answers about several events are: anything between two names, whatever somebody does, any of three."""

from typing import Any

import numpy as np
import numpy.typing as npt

from xerte.api.ask import Asker
from xerte.api.durations import parse_duration
from xerte.api.grammar import ANY
from xerte.evaluation.proper import calibration_error, chance_error

Truth = npt.NDArray[np.bool_]

KINDS = ("s * o", "s p *", "* p o", "s * *", "s p/q/r o")
"""What is asked, of a past fact (s, p, o): * is any, p/q/r are its relation and two others."""


def measure(asker: Asker, times: list[int], horizon: str, questions: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """By kind: how many were asked at all times together, what was said, how many came true, calibration error.

    Args:
        asker: answers.
        times: when to ask; ticks.
        horizon: how far ahead.
        questions: of each kind at each time.
        seed: of the facts drawn.
    """
    data, facts = asker.dataset, asker.dataset.facts
    length, format = parse_duration(horizon, data.calendar), data.calendar.format
    s, p, o = (column.astype(np.int64) for column in facts.columns()[:3])
    draw, found = np.random.default_rng(seed), {}
    for kind in KINDS:
        said, came = [], []
        for time in times:
            past = np.flatnonzero(facts.time < time)
            follows = (facts.time >= time) & (facts.time < time + length)
            for row in draw.choice(past, questions).tolist():
                relations = np.array([p[row], *p[draw.choice(past, 2)]])
                alike = {"s": s == s[row], "p": p == p[row], "o": o == o[row], ANY: np.ones(len(s), bool)}
                alike["p/q/r"] = np.isin(p, relations)
                some = " | ".join(data.relations[one] for one in np.unique(relations).tolist())
                name = {"s": data.entities[s[row]], "p": data.relations[p[row]], "o": data.entities[o[row]]}
                parts = kind.split()
                words = [(name | {ANY: ANY, "p/q/r": some})[part] for part in parts]
                event: Truth = np.logical_and.reduce([alike[part] for part in parts]) & follows
                reply = asker.ask(words[0], words[1], words[2], within=horizon, as_of=format(time), top=1)
                said.append(reply.answers[0].probability)
                came.append(bool(event.any()))
        told, truth = np.array(said), np.array(came)
        body: dict[str, float] = {"questions": len(told), "said": float(told.mean()), "came": float(truth.mean())}
        found[kind] = body | {"ece": calibration_error(told, truth), "ece_of_chance": chance_error(told)}
    return found


def page_rows(body: dict[str, Any]) -> list[tuple[str, ...]]:
    """A row for each kind of a record."""
    return [
        (
            body["dataset"],
            body["model"],
            kind,
            f"{one['questions']:,}",
            f"{100 * one['said']:.1f} %",
            f"{100 * one['came']:.1f} %",
            f"{one['ece']:.3f} ({one['ece_of_chance']:.3f})",
        )
        for kind, one in body.get("several", {}).items()
    ]
