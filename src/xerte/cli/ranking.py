"""A forecast as a table: the answers, bars, and what a changed history made of them."""

from typing import TYPE_CHECKING, Annotated

import typer

from xerte.cli.output import print_table, print_text, width
from xerte.data.words import between, counted, percent, readable

if TYPE_CHECKING:
    from xerte.api import Forecast
    from xerte.api.forecast import Coverage
    from xerte.api.whatif import Change, FactInNames

_WIDEST_BAR, _BESIDE_BAR = 24, 42
"""How wide a bar is, and how many characters place, score and probability take beside bar and name."""

Without = Annotated[
    list[str] | None, typer.Option("--without", help="Hide a fact: subject|relation|object|date; may be repeated.")
]
Given = Annotated[
    list[str] | None, typer.Option("--given", help="Suppose a fact: subject|relation|object|date; may be repeated.")
]


def facts_of(texts: list[str] | None) -> "list[FactInNames]":
    """The facts of a repeated option."""
    if not texts:
        return []
    from xerte.api.whatif import fact_from_text

    return [fact_from_text(text) for text in texts]


def print_ranking(forecast: "Forecast", bars: bool = False) -> None:
    """The answers, beside those of the true history where facts were hidden or supposed; then the notes."""
    asked = forecast.question
    title = f"({asked.subject}, {asked.relation}, {asked.object}, {asked.time}) by {forecast.model}"
    if forecast.original is not None:
        columns = ("", "entity", "score", "was", "originally", "difference")
        print_table(title, columns, [_change(change) for change in forecast.changes], left=2)
    else:
        best = max((answer.score for answer in forecast.answers), default=0.0)
        longest = max((len(answer.entity) for answer in forecast.answers), default=0)
        wide = max(1, min(_WIDEST_BAR, width() - _BESIDE_BAR - longest))
        rows = [
            (
                place,
                answer.entity,
                *([_bar(answer.score, best, wide)] if bars else []),
                f"{answer.score:.4f}" if answer.reached else "not reached",
                _percent(answer.probability, answer.reliability),
            )
            for place, answer in enumerate(forecast.answers, 1)
        ]
        names = ("", "entity", *([""] if bars else []), "score", "probability")
        print_table(title, names, rows, left=3 if bars else 2)
        if forecast.coverage is not None:
            print_text(_set(forecast.coverage, len(forecast.answers)))
        if forecast.strangers is not None:
            likely = _percent(forecast.strangers.probability, forecast.strangers.reliability)
            print_text(f"An entity that {readable(asked.known)} never met: {likely}.")
    for note in forecast.notes:
        print_text(f"note: {note}")


def _percent(probability: float | None, reliability: float | None) -> str:
    if probability is None:
        return "–"
    return percent(probability) + (f" ({between(probability, reliability)})" if reliability is not None else "")


def _set(known: "Coverage", size: int) -> str:
    """What a set is worth, in a sentence."""
    usual = "" if known.recurrence_size is None else f" (recurrence's: {known.recurrence_size:,.1f})"
    held = "" if known.held is None else f"; on the latest validation facts they held {100 * known.held:.1f} %"
    many, share = counted(size, "entity", "entities"), f"{100 * known.coverage:g} %"
    average = f"{known.mean_size:,.1f} entities on average{usual}"
    return f"{many}: sets made like this one hold {share} of true answers and have {average}{held}."


def _change(change: "Change") -> tuple[object, ...]:
    place, before = change.place or "–", change.original_place or "–"
    scores = (f"{change.score:.4f}", before, f"{change.original_score:.4f}", f"{change.difference:+.4f}")
    return place, change.entity, *scores


def standing(forecast: "Forecast", entity: str) -> str:
    """Where an answer stands that is not among the best."""
    for place, answer in enumerate(forecast.answers, 1):
        if answer.entity == entity and answer.reached:
            return f"{entity} stands at place {place:,} of {len(forecast.answers):,}, with score {answer.score:.4f}."
    return f"{entity} was not reached: it stands behind the {len(forecast.answers):,} that were."


def _bar(score: float, best: float, wide: int) -> str:
    """In eighths of a block; what has any score has at least one of them."""
    if score <= 0 or best <= 0:
        return ""
    whole, rest = divmod(max(1, round(8 * wide * score / best)), 8)
    return "█" * whole + " ▏▎▍▌▋▊▉"[rest].strip()
