"""`xerte explain`."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from xerte.cli.choosing import ModelName, open_calibrated, print_note, source_of
from xerte.cli.completion import DataName, complete_entities, complete_relations, in_full
from xerte.cli.output import AsJson, Force, print_json, print_table, print_text
from xerte.cli.ranking import Given, Without, facts_of, print_ranking, standing
from xerte.errors import one_line
from xerte.files import refuse_to_overwrite

if TYPE_CHECKING:
    from rich.tree import Tree

    from xerte.api.explain import Explanation
    from xerte.explanation.named import Edge, Graph

_BRANCHES = 5
_FACTS = 10
_SOURCES = 3
_DISMISSED = 20
_TITLES = {
    "change": "What would change the answer?",
    "timeline": "Since when?",
    "steadiness": "How steady?",
}
_LEAST = 0.0005
"""A share that rounds to 0.0 % is not shown."""
_FAINT = 0.00005
"""Nor is a branch that carried nothing and whose attention rounds to 0.0000."""


def explain(
    dataset: DataName,
    subject: Annotated[str, typer.Argument(help="Who acts; ? asks for it.", autocompletion=complete_entities)],
    relation: Annotated[str, typer.Argument(help="What is done.", autocompletion=complete_relations)],
    time: Annotated[str, typer.Argument(help="When: only what happened before is read.")],
    object: Annotated[str, typer.Argument(help="To whom; ? asks for it.", autocompletion=complete_entities)] = "?",
    model: ModelName = None,
    answer: Annotated[str | None, typer.Option(help="The candidate to explain (default: the best answer).")] = None,
    top: Annotated[int, typer.Option(min=1, help="How many answers to rank.")] = 10,
    paths: Annotated[int, typer.Option(min=1, help="How many reasoning paths to show.")] = 10,
    dismissed: Annotated[
        bool, typer.Option("--dismissed", help="Also show what was looked at but added nothing to the answer.")
    ] = False,
    without: Without = None,
    given: Given = None,
    templates: Annotated[Path | None, typer.Option(help="A TOML file that says how relations are worded.")] = None,
    labels: Annotated[Path | None, typer.Option(help="A CSV file of names and the labels to show for them.")] = None,
    why_not: Annotated[str | None, typer.Option(help="Another candidate: what separates the two?")] = None,
    more: Annotated[
        bool,
        typer.Option(
            "--more", help="Also say what would change the answer, since when it has been first, and how steady it is."
        ),
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Also write all of this to a .md, .html or .pdf file.")] = None,
    html: Annotated[Path | None, typer.Option(help="Also write an interactive picture: a page, opens offline.")] = None,
    svg: Annotated[Path | None, typer.Option(help="Also write a picture for papers.")] = None,
    png: Annotated[Path | None, typer.Option(help="Also write that picture as PNG.")] = None,
    graphml: Annotated[Path | None, typer.Option(help="Also write the inference graph to this file.")] = None,
    force: Force = False,
    device: Annotated[str, typer.Option(help="auto (a GPU if there is one), cpu or cuda.")] = "auto",
    as_json: AsJson = False,
) -> None:
    """Answers a question and says why.

    Shows the facts and paths that carried the answer's score, and the graph.

    \b
    xerte explain icews14 "Catherine Ashton" "Make a visit" 2014-11-09 --model icews14-paper
    xerte explain icews14 "Catherine Ashton" "Make a visit" 2014-11-09 --model icews14-paper --html why.html
    xerte explain icews14 "Catherine Ashton" "Make a visit" 2014-11-09 --why-not Oman --more --report why.pdf
    xerte explain icews14 "Catherine Ashton" "Make a visit" 2014-11-09 --answer Iran --json
    xerte explain world Wenoravrin condemns 2022-10-20 --dismissed
    xerte explain icews14 Iran Consult 2014-11-09 --without "Iran|Consult|China|2014-11-03"
    """
    for path in (report, html, svg, png, graphml):
        if path is not None:
            refuse_to_overwrite(path, [one for one in (templates, labels) if one is not None], force)
    chosen, choice = open_calibrated(dataset, model, device)
    subject, relation, object, *named = in_full(chosen.dataset, subject, relation, object, answer or "", why_not or "")
    answer, why_not = (name or None for name in named)
    hidden, supposed = facts_of(without), facts_of(given)
    forecast = chosen.forecast(subject, relation, time, top, object=object, without=hidden, given=supposed)
    why = forecast.explain(answer, most=paths, templates=templates, labels=labels)
    if why_not is not None:
        from xerte.api.analysis import refuse_itself

        refuse_itself(why, why_not)  # before anything is written
    if html is not None:
        why.to_html(html)
    if svg is not None:
        why.to_svg(svg, dismissed=dismissed)
    if png is not None:
        why.to_png(png, dismissed=dismissed)
    if graphml is not None:
        why.to_graphml(graphml, dismissed)
    if report is not None:
        why.report(report, shlex.join(["xerte", *sys.argv[1:]]), why_not)
    if as_json:
        asked = _asked_next(why, why_not, more)
        print_json(why.to_body(dismissed, forecast, asked).having(**source_of(chosen, choice)))
        return
    print_ranking(forecast, bars=True)
    if answer is not None and answer not in [one.entity for one in forecast.answers]:
        everybody = chosen.dataset.num_entities
        whole = chosen.forecast(subject, relation, time, everybody, object=object, without=hidden, given=supposed)
        print_text(standing(whole, answer))
    _print_why(why, dismissed, paths)
    _print_next(why, why_not, more)
    print_note(choice)
    if graphml is not None:
        print_text(f"The graph is in {graphml}.")
    if report is not None:
        print_text(f"The report is in {report}.")
    pictures = [str(path) for path in (html, svg, png) if path is not None]
    if pictures:
        *most, last = pictures
        print_text(f"The picture is in {', '.join(most)}{' and ' if most else ''}{last}.")


def _print_why(why: "Explanation", dismissed: bool, most: int) -> None:
    print_text(why.verdict)
    if why.answer is None:
        return
    if why.reasons:
        several = len(why.parts) > 1
        print_text(f"Why {_told(why, why.answer)}? What speaks for it, 100 % in all:")
        shown = [reason for reason in why.reasons if reason.share >= _LEAST][:most]
        for reason in shown:
            print_text(f"  {reason.share:>6.1%}  {reason.sentence}{f' ({reason.part})' if several else ''}")
            _print_sources(
                [(fact[3], why.sources[fact]) for fact in dict.fromkeys(reason.facts) if fact in why.sources]
            )
        left = 1 - sum(reason.share for reason in shown)
        if left >= _LEAST:
            print_text(f"  {left:>6.1%}  came by other ways")
    if any(len(path.facts) > 1 for path in why.paths):
        print_text("The facts, each with all ways that run through it:")
        weighty = [fact for fact in why.evidence if fact.share >= _LEAST][:_FACTS]
        for fact in weighty:
            print_text(f"  {fact.share:>6.1%}  {fact.sentence}")
            _print_sources([(fact.time, dict(fact.source))] if fact.source else [])
        if len(why.evidence) > len(weighty):
            print_text(f"          and {len(why.evidence) - len(weighty):,} more")
    if dismissed:
        _print_dismissed(why)
    if why.graph.nodes:
        print_tree(why.graph)


def _told(why: "Explanation", entity: str) -> str:
    """An entity's name as sentences tell it: by its label, where there is one."""
    return entity if why.case is None else why.case.telling.teller.name(entity)


def _print_sources(found: Sequence[tuple[str, Mapping[str, str]]]) -> None:
    """What sources said beside facts, latest first."""
    for time, said in found[:_SOURCES]:
        print_text(f"          {time}: {', '.join(f'{name}: {one_line(text)}' for name, text in said.items())}")
    if len(found) > _SOURCES:
        print_text(f"          and {len(found) - _SOURCES:,} more with sources")


def _asked_next(why: "Explanation", why_not: str | None, more: bool) -> dict[str, Any]:
    """What `--json` has beyond the explanation, where it is asked for."""
    found: dict[str, Any] = {"contrast": why.why_not(why_not)} if why_not is not None else {}
    if more and why.answer is not None:
        found |= {"change": why.smallest_change(), "timeline": why.timeline(), "steadiness": why.steadiness()}
    return found


def _print_next(why: "Explanation", why_not: str | None, more: bool) -> None:
    for title, found in _asked_next(why, why_not, more).items():
        if found is not None:
            asked = f"Why not {_told(why, found.other)}?" if title == "contrast" else _TITLES[title]
            print_text(f"{asked} {found.sentence}")
        if title == "contrast" and found.change is not None:
            print_text(f"  {found.change.sentence}")


def _print_dismissed(why: "Explanation") -> None:
    """What was noticed most; a graph may have seen hundreds of facts, nearly all of them for nothing."""
    rows = [
        (one.sentence, f"step {one.step}, {'pruned' if one.pruned else 'led elsewhere'}", _small(one.contribution))
        for one in why.dismissed[:_DISMISSED]
    ]
    print_table("Seen, but carried nothing to this answer:", ("fact", "what became of it", "attention"), rows, left=2)
    if len(why.dismissed) > _DISMISSED:
        print_text(f"and {len(why.dismissed) - _DISMISSED:,} more: --json --dismissed has them all")


def _small(contribution: float) -> str:
    return f"{contribution:.4f}" if contribution >= _FAINT else "< 0.0001"


class _Branch(NamedTuple):
    """A fact as the tree shows it: all edges by which the model took it from one node to another."""

    share: float
    contribution: float
    text: str
    source: int
    target: int


def print_tree(graph: "Graph") -> None:
    """The graph as the model grew it: below a node, the facts it looked back to, those that carried most first.

    Where several facts lead to one node, what lies behind it is shown below the heaviest of them.
    """
    from rich.console import Console
    from rich.text import Text
    from rich.tree import Tree

    edges: dict[tuple[int, int, str], list[Edge]] = {}
    for edge in graph.edges:
        if edge.sentence:
            edges.setdefault((edge.source, edge.target, edge.sentence), []).append(edge)
    branches = [
        _Branch(sum(one.share for one in some), max(one.contribution for one in some), text, source, target)
        for (source, target, text), some in edges.items()
    ]
    branches.sort(key=lambda branch: (-branch.share, -branch.contribution, branch.text))
    heaviest: dict[int, _Branch] = {}
    outgoing: dict[int, list[_Branch]] = {}
    for branch in branches:
        heaviest.setdefault(branch.target, branch)
        outgoing.setdefault(branch.source, []).append(branch)
    root = graph.nodes[0]
    tree = Tree(Text(one_line(f"{root.entity}, {root.time}: the question")))
    _grow(tree, root.id, outgoing, heaviest)
    print_text("The graph: share of the answer's score (– for none), fact, attention it was given")
    Console(width=None if sys.stdout.isatty() else 160, highlight=False).print(tree)


def _grow(tree: "Tree", node: int, outgoing: dict[int, list[_Branch]], heaviest: dict[int, _Branch]) -> None:
    from rich.text import Text

    every = outgoing.get(node, [])
    shown = [one for one in every if one.share >= _LEAST or one.contribution >= _FAINT][:_BRANCHES]
    for one in shown:
        share = f"{one.share:>6.1%}" if one.share else "     –"
        label = Text(one_line(f"{share}  {one.text}", most=1000), "bold" if one.share else "dim")
        here = heaviest[one.target] is one
        elsewhere = "" if here or one.target not in outgoing else "  goes on under a heavier fact"
        branch = tree.add(label.append(f"  ({_small(one.contribution)}){elsewhere}", "dim"))
        if here:
            _grow(branch, one.target, outgoing, heaviest)
    if len(every) > len(shown):
        tree.add(Text(f"and {len(every) - len(shown)} more", "dim"))
