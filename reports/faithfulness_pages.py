"""Tables of the page on faithfulness, from the traces in results/faithfulness/."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from reports.table import Block, Table
from xerte.experiment.trace import Trace
from xerte.files import read_json

FEWEST = 8
"""A relation with fewer examined questions is left out of its table."""
AT = 5
"""The k of the summary."""
GOALS = {"1 hop": 91, "2 hops": 92}
"""Percent of causes among the first 5 facts, over all held-out questions for the object."""


def summary(root: Path) -> list[Block]:
    """One line per dataset at k = 5: what hiding evidence and controls costs, and how many times more."""
    columns = (
        "dataset | model | questions | score | fall | control | MRR fall | control | times | change of score, times"
    )
    rows = []
    for trace in _traces(root):
        curves = trace.details["curves"]
        at = curves["ks"].index(AT)
        ratio = next(one for one in trace.details["ratios"] if one["k"] == AT)
        score = [f"{curves[name][at]:.3f}" for name in ("score", "score_fall", "score_fall_control")]
        mrr = [f"{curves[name][at]:.1f}" for name in ("mrr_fall", "mrr_fall_control")]
        cells = (
            *_who(trace),
            f"{curves['questions'][at]}",
            *score,
            *mrr,
            _times(ratio, "mrr"),
            _times(ratio, "change"),
        )
        rows.append(cells)
    return [Table(columns.split(" | "), rows)]


def curves(root: Path) -> list[Block]:
    """Every k: falls, who is still first, and what the facts are worth alone."""
    columns = "dataset | model | k | questions | fall | control | still first | control"
    columns += " | alone: score | control | alone: MRR | control"
    rows: list[Sequence[object]] = []
    for trace in _traces(root):
        curves = trace.details["curves"]
        for at, k in enumerate(curves["ks"]):
            fall = [f"{curves[name][at]:.3f}" for name in ("score_fall", "score_fall_control")]
            first = [f"{curves[name][at]:.1f}" for name in ("first", "first_control")]
            kept = [f"{curves[name][at]:.3f}" for name in ("kept_score", "kept_score_control")]
            alone = [f"{curves[name][at]:.1f}" for name in ("kept_mrr", "kept_mrr_control")]
            name = _who(trace) if at == 0 else ("", "")
            rows.append((*name, k, curves["questions"][at], *fall, *first, *kept, *alone))
        areas = [f"{curves['areas'][name]:.3f}" for name in ("score_fall", "score_fall_control")]
        rows.append(("", "", "area", "", *areas, *[""] * 6))
    return [Table(columns.split(" | "), rows)]


def relations(root: Path) -> list[Block]:
    """Areas under the falls, of the relations asked about most."""
    columns, rows = "dataset | model | relation | questions | area of score | control | area of MRR | control", []
    for trace in _traces(root):
        name = _who(trace)
        for relation, curves in trace.details["by_relation"].items():
            areas = curves["areas"]
            if max(curves["questions"]) < FEWEST or any(area is None for area in areas.values()):
                continue
            score = [f"{areas[one]:.3f}" for one in ("score_fall", "score_fall_control")]
            mrr = [f"{areas[one]:.1f}" for one in ("mrr_fall", "mrr_fall_control")]
            rows.append((*name, relation, max(curves["questions"]), *score, *mrr))
            name = "", ""
    return [Table(columns.split(" | "), rows, "lll")]


def stability(root: Path) -> list[Block]:
    """Another sampling seed; and how well controls match."""
    columns = (
        "dataset | model | still first | same heaviest fact | of the 5 heaviest in common | of all shares in common"
    )
    columns += " | facts with a control | read from the same entity | median distance"
    rows = []
    for trace in _traces(root):
        same, controls = trace.details["stability"], trace.details["controls"]
        same_shares = [f"{same[name]:.1f}" if same else "–" for name in ("first", "same_best", "overlap", "shares")]
        matched = f"{controls['matched']:,} of {controls['facts']:,}"
        where = f"{100 * controls['same_entity'] / max(1, controls['matched']):.1f} %"
        rows.append((*_who(trace), *same_shares, matched, where, f"{controls['median_units_apart']:.0f}"))
    return [Table(columns.split(" | "), rows)]


def causes(root: Path) -> list[Block]:
    """How much of the known causes the evidence names on the embedded world."""
    found = [trace for trace in _traces(root) if trace.dataset == "world"]
    if not found:
        return ["No run on the world has been recorded yet."]
    ks = " | ".join(f"recall@{k}" for k in found[0].details["cause_ks"])
    columns = f"model | causes | questions | {ks} | all by 5 | decoy first"
    columns += " | fall, named cause hidden | fall, unnamed | what the heaviest fact is"
    rows = []
    for trace, name, group in ((one, *item) for one in found for item in one.details["causes"].items()):
        recall = [f"{value:.1f}" for value in group["recall"]]
        falls = [f"{fall:.3f}" if fall is not None else "" for fall in (group["named_fall"], group["unnamed_fall"])]
        rest = f"{group['all_found'][-1]:.1f}", f"{group['decoy_first']:.1f}", *falls
        blamed = sorted(group["blamed"].items(), key=lambda pair: -pair[1])
        kinds = ", ".join(f"{kind} {share:.0f} %" for kind, share in blamed if share >= 1)
        rows.append((_who(trace)[1], name, group["questions"], *recall, *rest, kinds))
    return [Table(columns.split(" | "), rows, "llrrrrrrrrl")]


def hard(root: Path) -> list[Block]:
    """The evidence against what anybody would hide and against other attributions, with intervals."""
    columns = "dataset | model | k | questions | evidence hidden: fall | strongest control | its fall"
    columns += " | the same facts | evidence more | goal"
    columns += " | by share: fall | gradient: fall | leave one out: fall"
    rows: list[Sequence[object]] = []
    for trace in _traces(root):
        rivals = {one["name"]: one for one in trace.details["rivals"]}
        for at, goal in enumerate(trace.details["goals"]):
            control = rivals[goal["strongest"]]
            evidence = control["fall"][at] + control["difference"][at]
            names = ("by share", "gradient", "leave one out")
            others = [f"{rivals[name]['fall'][at]:.3f}" if name in rivals else "" for name in names]
            more = f"{goal['difference']:+.3f} ({_ends(goal['interval'], '+.3f')})"
            name, count = (_who(trace), trace.queries) if at == 0 else (("", ""), "")
            same = f"{control['same'][at]:.0f} %" if control.get("same") else "–"
            met = "met" if goal["met"] else "not met"
            cells = (goal["strongest"], f"{control['fall'][at]:.3f}", same, more, met, *others)
            rows.append((*name, goal["k"], count, f"{evidence:.3f}", *cells))
    return [Table(columns.split(" | "), rows, "llrrrlrrllrrr")]


def fidelity(root: Path) -> list[Block]:
    """The model's own answers, right or wrong; shuffled weights and harmless changes."""
    columns = "dataset | model | questions | wrong | fidelity+ | fidelity− | characterization"
    columns += (
        " | fidelity+ of right answers | of wrong ones | facts in common, shuffled weights | after a harmless change"
    )
    rows = []
    for trace in _traces(root):
        one, sane = trace.details["fidelity"], trace.details["sanity"]
        three = [
            f"{one[name]:.2f} ({_ends(one[f'{name}_interval'], '.2f')})"
            for name in ("plus", "minus", "characterization")
        ]
        parts = ["–" if one[name] is None else f"{one[name]:.2f}" for name in ("plus_right", "plus_wrong")]
        shuffled = "–" if sane["random_weights"] is None else f"{sane['random_weights']:.0f} %"
        common = (shuffled, f"{sane['harmless']:.0f} %")
        rows.append((*_who(trace), one["questions"], one["wrong"], *three, *parts, *common))
    return [Table(columns.split(" | "), rows)]


def cause_goals(root: Path) -> list[Block]:
    """Recall of known causes over all held-out questions for the object, against the goals."""
    columns, rows = ("model", "causes", "questions", "recall@5", "at most", "goal", ""), []
    for trace in _traces(root):
        for name, group in (trace.details["causes"] or {}).items():
            if name in ("1 hop", "2 hops", "3 hops"):
                interval, goal = group["recall_interval"][-1], GOALS.get(name)
                met = "" if goal is None else "met" if interval["low"] >= goal else "not met"
                if group.get("at_most", 100.0) < (goal or 0) and group["recall"][-1] >= group["at_most"] - 0.05:
                    met = "not met: every cause within reach is named"
                recall = f"{group['recall'][-1]:.1f} ({_ends(interval, '.1f')})"
                most = f"{group['at_most']:.1f}" if "at_most" in group else ""  # records before 0.2 do not know
                rows.append((_who(trace)[1], name, group["questions"], recall, most, goal or "", met))
    return [Table(columns, rows, "lrrlrrl")]


def _ends(interval: dict[str, float], form: str) -> str:
    return f"{interval['low']:{form}} to {interval['high']:{form}}"


def choice(root: Path) -> list[Block]:
    """The evidence beside facts that were chosen by asking again."""
    path = root / "results" / "bench" / "choosing.json"
    if not path.exists():
        return []
    found = read_json(path, "xerte choice of evidence 1", "a record of choosing", dict)
    columns = "model | questions | forecasts to choose | k | latest between the two: fall"
    columns += " | evidence: fall | chosen by asking: fall | gain"
    rows: list[Sequence[object]] = []
    for model in found["models"]:
        for at, one in enumerate(model["by_k"]):
            name = (model["model"], model["questions"], f"{model['forecasts']:.0f}") if at == 0 else ("", "", "")
            falls = [f"{one[who]:.3f}" for who in ("control", "evidence", "asked")]
            rows.append((*name, one["k"], *falls, f"{one['gain']:+.3f} ({_ends(one['interval'], '+.3f')})"))
    return [Table(columns.split(" | "), rows)]


def runs(root: Path) -> list[Block]:
    """What to type to measure again, and whether the weights are those that come with xerte."""
    columns = ("dataset", "model", "command", "examined", "asked", "seconds", "device", "commit", "weights")
    shipped = {_weights(json.loads(state.read_text("utf-8"))) for state in root.glob("pretrained/*/state.json")}
    rows = []
    for trace in _traces(root):
        seconds = f"{sum(trace.seconds.values()):.0f}"
        cells = (*_who(trace), f"`{trace.command}`", trace.queries, trace.details["looked_at"], seconds)
        came = "packaged" if _weights(trace.settings) in shipped else "an earlier training"
        weights = "trained for this" if "packed" not in trace.settings else came
        rows.append((*cells, trace.device, trace.commit[:10], weights))
    return [Table(columns, rows, "lllrrrlll")]


def _weights(state: Mapping[str, Any]) -> str:
    """The checksum of a model's weights."""
    return str(state.get("files", {}).get("weights", {}).get("sha256", ""))


def _traces(root: Path) -> Iterator[Trace]:
    return (Trace.read(path) for path in sorted(root.glob("results/faithfulness/*.json")))


def _who(trace: Trace) -> tuple[str, str]:
    """(dataset, model)."""
    return trace.dataset, trace.model


def _times(ratio: dict[str, Any], name: str) -> str:
    """The ratio with its interval; ∞ where controls cost nothing."""
    interval = ratio[f"{name}_interval"]
    value, low, high = (_number(one) for one in (ratio[name], interval["low"], interval["high"]))
    return value if low == "∞" else f"{value} ({low} to {high})"


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:.1f}"


PARTS = {
    "faithfulness-summary": summary,
    "faithfulness-curves": curves,
    "faithfulness-relations": relations,
    "faithfulness-stability": stability,
    "faithfulness-causes": causes,
    "faithfulness-hard": hard,
    "faithfulness-fidelity": fidelity,
    "faithfulness-cause-goals": cause_goals,
    "faithfulness-choice": choice,
    "faithfulness-runs": runs,
}
