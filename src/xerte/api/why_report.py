"""A report of one explanation: verdict, reasons, figure, what analysts ask next, sources, how it was made."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from xerte import __version__
from xerte.api.analysis import contrast, smallest_change, steadiness, timeline
from xerte.errors import InputError
from xerte.explanation.report import Block, Figure, Heading, Table, to_markdown, to_page, to_pdf
from xerte.explanation.verdict import percent
from xerte.files import write_bytes, write_text

if TYPE_CHECKING:
    from xerte.api.explain import Explanation

MOST = 12
_LEAST = 0.0005
"""A reason below it would be told as 0.0 %."""
_WORTH_TELLING = 0.001
"""Of a candidate's score: what brings less separates nobody."""
ENDINGS = (".md", ".html", ".pdf")


def write_report(why: "Explanation", path: Path, command: str = "", other: str | None = None) -> list[Path]:
    """Writes the report, with its figure beside it where it is Markdown; returns the files.

    Args:
        why: what is reported.
        path: its ending says what is written.
        command: what to type to repeat it.
        other: whom it is set beside; the best of the others unless named.

    Raises:
        InputError: it has another ending, or what writes it is not installed.
    """
    if path.suffix not in ENDINGS:
        raise InputError(f"{path} does not say what to write: end it in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    blocks = list(_blocks(why, command, other, pixels=path.suffix == ".pdf"))
    if path.suffix == ".html":
        write_text(path, to_page(blocks))
        return [path]
    if path.suffix == ".pdf":
        write_bytes(path, to_pdf(blocks))
        return [path]
    picture = path.with_suffix(".svg")
    write_text(path, to_markdown(blocks, picture.name))
    figures = [block for block in blocks if isinstance(block, Figure)]
    for figure in figures:
        write_text(picture, figure.svg)
    return [path, picture] if figures else [path]


def _blocks(why: "Explanation", command: str, other: str | None, pixels: bool) -> Iterator[Block]:
    asked = why.question
    yield Heading(why.verdict, 1)
    yield f"Asked: {asked.subject} – {asked.relation} – {asked.object}, {asked.time}."
    yield from (f"Note: {note}." for note in why.notes)
    if why.case is None:
        yield from _made(why, command)
        return
    name = why.case.telling.teller.name
    yield _ranking(why, name)
    yield Heading(f"Why {name(str(why.answer))}?")
    if why.reasons:
        shown = [reason for reason in why.reasons[:MOST] if reason.share >= _LEAST]
        left = 1 - sum(reason.share for reason in shown)
        rows = [(f"{reason.share:.1%}", reason.sentence, reason.part) for reason in shown]
        rows += [(f"{left:.1%}", "came by other ways", "")] if left >= _LEAST else []
        several = len(why.parts) > 1
        header = ("Share", "What speaks for it", "Part")
        yield Table(header if several else header[:2], tuple(row if several else row[:2] for row in rows))
    svg = why.to_svg()
    caption = "Time runs to the right; arrows go from who acted to whom; width is the share of the score."
    yield Figure(svg, caption, why.to_png() if pixels else b"")
    yield from _next(why, other)
    yield from _sources(why)
    yield from _made(why, command)


def _ranking(why: "Explanation", name: Callable[[str], str]) -> Table:
    """The best candidates; how likely each is, where that is known."""
    rows = [(str(place), name(one.entity), f"{one.score:.4g}") for place, one in enumerate(why.answers[:MOST], 1)]
    header, likely = ("Place", "Candidate", "Score"), [one.probability for one in why.answers[:MOST]]
    known = [one for one in likely if one is not None]
    if len(known) < len(likely):
        return Table(header, tuple(rows))
    return Table((*header, "Likely"), tuple((*row, _fixed(percent(one))) for row, one in zip(rows, known, strict=True)))


def _between(least: str, most: str) -> str:
    return _fixed(least if least == most else f"{least} – {most}")


def _fixed(text: str) -> str:
    """Not to be broken into lines."""
    return text.replace(" ", "\u00a0")


def _next(why: "Explanation", other: str | None) -> Iterator[Block]:
    """What analysts ask next."""
    if why.score is None or not why.reasons:
        return
    others = (answer.entity for answer in why.answers if answer.reached and answer.entity != why.answer)
    if other := other or next(others, None):
        versus = contrast(why, other)
        yield Heading(f"Why not {versus.other}?")
        yield versus.sentence
        sides = (
            (versus.answer, versus.score, versus.reasons),
            (versus.other, versus.other_score, versus.other_reasons),
        )
        rows = [
            (f"+{(score or 0) * reason.share:.3g}", who, reason.sentence)
            for who, score, reasons in sides
            for place, reason in enumerate(reasons[:4])
            if place == 0 or reason.share >= _WORTH_TELLING
        ]
        yield Table(("Worth", "For", "Because"), tuple(rows))
    if why.rank == 1:
        yield Heading("What would change the answer?")
        yield smallest_change(why).sentence
    past = timeline(why)
    yield Heading("Since when?")
    yield past.sentence
    yield Table(
        ("Known before", "First", "Its own score", "Its place"),
        tuple(
            (
                moment.known_before,
                moment.first or "–",
                "not reached" if moment.score is None else f"{moment.score:.3g}",
                "–" if moment.rank is None else str(moment.rank),
            )
            for moment in past.moments
        ),
    )
    steady = steadiness(why)
    if steady is not None:
        yield Heading("How sure is this explanation?")
        yield steady.sentence
        yield Table(
            ("Share", _fixed("From – to"), "Reason"),
            tuple(
                (f"{reason.share:.1%}", _between(percent(least), percent(most)), reason.sentence)
                for reason, least, most in steady.shares[:5]
                if reason.share >= _LEAST
            ),
        )


def _sources(why: "Explanation") -> Iterator[Block]:
    """What the dataset's source says of the facts."""
    found = why.case.sources([why]) if why.case else {}
    if found:
        yield Heading("Sources")
        rows = [
            (" – ".join(fact[:3]), fact[3], "; ".join(f"{key}: {value}" for key, value in more.items()))
            for fact, more in found.items()
        ]
        yield Table(("Fact", "Date", "Source"), tuple(rows[:50]))


def _made(why: "Explanation", command: str) -> Iterator[Block]:
    yield Heading("How this was made")
    dataset = f" on {why.case.telling.dataset.name}" if why.case else ""
    yield (
        f"xerte {__version__}, model {why.model}{dataset}. Only facts before {why.question.time} were read. Shares are "
        "read off the forward pass that made the forecast; what would be different was asked over a changed history."
    )
    if command:
        yield f"Command: {command}"
