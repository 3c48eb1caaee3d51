"""The tables of docs/questions.md, from the records in results/questions/ and results/bench/questions.json."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.questions import FORMAT as SPEED_FORMAT
from reports.questions import FOLDER, FORMAT
from reports.questions_goals import (
    BENCHMARKS,
    FEWEST,
    KINDS,
    Verdict,
    at_most,
    horizon_verdicts,
    set_verdicts,
    time_verdict,
)
from reports.questions_several import page_rows
from reports.table import Block
from xerte.files import read_json

SPEED = Path("results/bench/questions.json")
_NOTHING = "Nothing has been recorded yet."
_HORIZON = (
    "dataset",
    "answers",
    "ahead",
    "asked",
    "questions",
    "came true",
    "over climatology",
    "over recency-frequency",
    "ECE (chance)",
)
_SETS = ("dataset", "answers", "questions", "rank-1 ECE (chance)", "90 % sets hold", "entities", "recurrence's")
_SEVERAL = ("dataset", "answers", "asked", "questions", "said", "came", "ECE (chance)")
_ANEW = (
    "dataset",
    "answers",
    "once: rank-1 ECE (chance)",
    "sets hold",
    "strangers",
    "anew: rank-1 ECE (chance)",
    "sets hold",
    "strangers",
    "came",
)
_STRANGERS = ("dataset", "answers", "answers that never met the subject", "forecast", "ECE (chance)")
_TIMES = ("dataset", "answers", "events", "median error", "of the mean gap", "less by")
_NUMBERS = ("dataset", "answers", "within", "events", "came", "expected", "by its past rate", "skill over that")
_GOALS = (
    "skill over climatology > 0.25",
    "skill over recency-frequency > 0",
    "ECE of horizon questions",
    "ECE of first answers",
    "90 % sets hold what they should",
    "sets smaller than recurrence's",
    "ECE of first answers, calibrated anew",
    "90 % sets hold what they should, calibrated anew",
    "median time error below the mean gap's",
)
_MEASURED = ("first_answers", "anew", "time", "number")
_ORDER = (Verdict.MET, Verdict.UNDECIDED, Verdict.MISSED)
_ORACLE = ("answers", "asked", "questions", "mean error", "climatology's", "recency-frequency's", "of always 0")


def horizons(root: Path) -> Sequence[Block]:
    """Brier skill and calibration of horizon questions."""
    rows = []
    for body in _records(root):
        for horizon, found in body.get("horizons", {}).items():
            for kind, one in found["questions"].items():
                cells = [
                    f"{one['skill']:.3f} [{one['skill_low']:.3f}, {one['skill_high']:.3f}]",
                    f"{one['over_recency']:.3f} [{one['over_recency_low']:.3f}, {one['over_recency_high']:.3f}]",
                    f"{one['ece']:.4f} ({one['ece_of_chance']:.4f})",
                ]
                if round(one["happened"] * one["questions"]) < FEWEST:
                    cells[:2] = "too few", "too few"
                if kind in KINDS:
                    cells = [f"{cell} {_word(of)}" for cell, of in zip(cells, horizon_verdicts(one), strict=True)]
                happened = f"{100 * one['happened']:.{2 if one['happened'] >= 0.0001 else 4}f} %"
                number = f"{one['questions']:,}"
                rows.append((body["dataset"], body["model"], horizon, kind, number, happened, *cells))
    return [_table(_HORIZON, rows)]


def sets(root: Path) -> Sequence[Block]:
    """Calibration of first answers, and sets that shall hold 90 % of true answers."""
    rows = []
    for body in _records(root):
        if "first_answers" in body:
            check, usual = body["first_answers"]["check"], body.get("recurrence_sets")
            ece, hold, smaller = set_verdicts(body["dataset"], check, usual)
            said = f"{check['ece']:.4f} ({check['ece_of_chance']:.4f}) {_word(ece)}"
            held = f"{100 * check['coverage']:.1f} % {_word(hold)}"
            sizes = f"{check['size']:,.0f}", f"{usual['size']:,.0f} {_word(smaller)}" if usual else "the same"
            rows.append((body["dataset"], body["model"], f"{check['questions']:,}", said, held, *sizes))
    return [_table(_SETS, rows)]


def anew(root: Path) -> Sequence[Block]:
    """First answers and sets with one calibration, and with one for every tenth of test."""
    rows = []
    for body in _records(root):
        if body.get("anew") and "first_answers" in body:
            cells = []
            for check in (body["first_answers"]["check"], body["anew"]):
                ece, hold, _ = set_verdicts(body["dataset"], check, None)
                cells.append(f"{check['ece']:.4f} ({check['ece_of_chance']:.4f}) {_word(ece)}")
                cells.append(f"{100 * check['coverage']:.1f} % {_word(hold)}")
                cells.append(f"{100 * check['strangers_said']:.1f} %")
            rows.append((body["dataset"], body["model"], *cells, f"{100 * body['anew']['strangers']:.1f} %"))
    return [_table(_ANEW, rows)] if rows else [_NOTHING]


def strangers(root: Path) -> Sequence[Block]:
    """The summed probability of those who never met the subject."""
    rows = []
    for body in _records(root):
        check = body.get("first_answers", {}).get("check", {})
        if check.get("strangers_ece_of_chance"):
            shares = (f"{100 * check[name]:.1f} %" for name in ("strangers", "strangers_said"))
            ece = f"{check['strangers_ece']:.4f} ({check['strangers_ece_of_chance']:.4f})"
            rows.append((body["dataset"], body["model"], *shares, ece))
    return [_table(_STRANGERS, rows)] if rows else [_NOTHING]


def times(root: Path) -> Sequence[Block]:
    """When: the median against the pair's mean gap."""
    rows = []
    for body in _records(root):
        if one := body.get("time"):
            numbers = f"{one['events']:,}", f"{one['median_error']:.1f}", f"{one['of_mean_gap']:.1f}"
            less = "not measured"
            if "less_low" in one:
                ends = one["less_low"], one["less_high"]
                less = f"{one['less']:.1f} [{ends[0]:.1f}, {ends[1]:.1f}] {_word(time_verdict(one))}"
            rows.append((body["dataset"], body["model"], *numbers, less))
    return [_table(_TIMES, rows)]


def numbers(root: Path) -> Sequence[Block]:
    """How often: what was expected, and what came."""
    rows = []
    for body in _records(root):
        for horizon, one in body.get("number", {}).items():
            if one["events"]:
                means = (f"{one[name]:.3f}" for name in ("came", "told", "of_past"))
                ends = one["skill_low"], one["skill_high"]
                over = f"{one['skill']:.3f} [{ends[0]:.3f}, {ends[1]:.3f}]"
                rows.append((body["dataset"], body["model"], horizon, f"{one['events']:,}", *means, over))
    return [_table(_NUMBERS, rows)] if rows else [_NOTHING]


def oracle(root: Path) -> Sequence[Block]:
    """How far probabilities of the next day lie from the true ones, on the world."""
    rows = []
    for body in _records(root):
        for kind, one in body.get("oracle", {}).items():
            errors = ("mean_error", "of_climatology", "of_recency_frequency", "mean_of_true")
            rows.append(
                (body["model"], kind, f"{one['questions']:,}", *(f"{100 * one[name]:.4f} points" for name in errors))
            )
    return [_table(_ORACLE, rows)]


def goals(root: Path) -> Sequence[Block]:
    """How often each goal is met, on benchmarks and the world and on real tables."""
    found: dict[str, tuple[list[Verdict], list[Verdict]]] = {name: ([], []) for name in _GOALS}
    for body in _records(root):
        group = int(body["dataset"] not in (*BENCHMARKS, "world"))
        for name, verdict in _verdicts(body):
            found[name][group].append(verdict)
    rows = [
        (name, *(str(sum(one is kind for one in some)) for some in groups for kind in _ORDER))
        for name, groups in found.items()
    ]
    heads = [f"{where}: {kind.value}" for where in ("benchmarks, world", "tables") for kind in _ORDER]
    return [_table(("goal", *heads), rows)]


def _verdicts(body: dict[str, Any]) -> Iterator[tuple[str, Verdict]]:
    """Every goal that a record can tell about, and what it tells."""
    for ahead in body.get("horizons", {}).values():
        for kind in KINDS:
            yield from zip(_GOALS[:3], horizon_verdicts(ahead["questions"][kind]), strict=True)
    if "first_answers" in body:
        of_sets = set_verdicts(body["dataset"], body["first_answers"]["check"], body.get("recurrence_sets"))
        yield from ((name, one) for name, one in zip(_GOALS[3:6], of_sets, strict=True) if one is not None)
    if body.get("anew"):
        yield from zip(_GOALS[6:8], set_verdicts(body["dataset"], body["anew"], None)[:2], strict=True)
    if "less_low" in (one := body.get("time", {})):
        yield _GOALS[8], time_verdict(one)


def commits(root: Path) -> Sequence[Block]:
    """At which commit every part of a record was measured."""
    rows = []
    for body in _records(root):
        judged = [one for ahead in body.get("horizons", {}).values() for one in ahead["questions"].values()]
        own = (body.get(f"{part}_commit", body["commit"]) if part in body else "" for part in _MEASURED)
        within = dict.fromkeys(one.get("commit", body["commit"])[:10] for one in judged)
        rows.append((body["dataset"], body["model"], ", ".join(within), *(one[:10] for one in own)))
    return [_table(("dataset", "answers", "within", "first answers, sets", "anew", "when", "how often"), rows)]


def several(root: Path) -> Sequence[Block]:
    """Answers about several events at once."""
    rows = [row for body in _records(root) for row in page_rows(body)]
    return [_table(_SEVERAL, rows)] if rows else [_NOTHING]


def speed(root: Path) -> Sequence[Block]:
    """How long a question, a scan and a backtest take."""
    if not (root / SPEED).is_file():
        return [_NOTHING]
    one = read_json(root / SPEED, SPEED_FORMAT, "a record of how fast questions are", dict)
    about = f"{one['scan_events']:,} events"
    rows = [
        ("a question within 30 days, median", f"{one['question_ms']:.1f} ms", at_most(one["question_ms"], 30)),
        ("a question within 30 days, 95th percentile", f"{one['slow_ms']:.1f} ms", None),
        ("when", f"{one['when_ms']:.1f} ms", None),
        ("what next", f"{one['next_ms']:.1f} ms", None),
        *(
            (f"a scan of {about}, the model asked about {number}", f"{one[name]:.1f} s", at_most(one[name], 60))
            for number, name in ((f"{one['scan_asked']:,}", "scan_s"), ("all", "scan_all_s"))
        ),
        (
            f"a backtest of {one['folds']} weeks, {one['fold_questions']:,} questions of each kind",
            f"{one['backtest_s']:.0f} s",
            at_most(one["backtest_s"], 300),
        ),
    ]
    machine = one["machine"]
    where = f"{machine['cores']} cores of {machine['processor']}, {machine['threads']} threads, load {machine['load']}"
    told = f"`{one['command']}` at {machine['commit'][:10]} on {machine['when'][:10]}, {where}."
    words = [(name, value, "" if verdict is None else verdict.value) for name, value, verdict in rows]
    return [_table((f"{one['dataset']}, {one['model']}", "takes", "goal"), words), told]


def _word(verdict: Verdict | None) -> str:
    return "" if verdict is None else f"({verdict.value})"


def _records(root: Path) -> list[dict[str, Any]]:
    return [read_json(path, FORMAT, "a record of questions", dict) for path in sorted((root / FOLDER).glob("*.json"))]


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [columns, tuple("---" for _ in columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


PARTS: dict[str, Callable[[Path], Sequence[Block]]] = {
    "questions-goals": goals,
    "questions-horizons": horizons,
    "questions-sets": sets,
    "questions-anew": anew,
    "questions-strangers": strangers,
    "questions-times": times,
    "questions-numbers": numbers,
    "questions-oracle": oracle,
    "questions-several": several,
    "questions-commits": commits,
    "questions-speed": speed,
}
