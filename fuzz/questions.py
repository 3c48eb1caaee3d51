"""Files of questions, lists of names, single questions, settings, TOML, and events that come in live."""

import json
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fuzz.judge import Record, WrongError, judge
from fuzz.mutate import mutated, odd_text
from xerte.api.forecast import Question
from xerte.api.questions import read_names, read_questions
from xerte.data import rows
from xerte.experiment.definition import read_experiment
from xerte.experiment.preset import fit, parse_setting
from xerte.explanation.sentences import read_templates
from xerte.settings import ModelSettings
from xerte.training.settings import TrainingSettings

QUESTIONS = "subject,relation,time,object\nAnn,visits,2024-01-10,\n?,visits,2024-01-09,Oman\n"
TOML = 'dataset = "world"\nmodel = "xerte"\npreset = "world"\nvisits = "{subject} visits {object}"\n[set]\nk = 15\n'
LINES = """{"subject": "Ann", "relation": "visits", "time": "2024-01-10"}
{"relation": "visits", "object": 1.50, "time": 3}
"""


def run(record: Record, rng: random.Random, folder: Path) -> None:
    """One input."""
    kind = rng.choice(["csv", "jsonl", "tsv", "names", "one", "settings", "toml", "live"])
    if kind == "one":
        values: list[Any] = [odd_text(rng), "Ann", None, 3, 1.5, []]
        row: dict[Any, Any] = {key: rng.choice(values) for key in ("subject", "relation", "time", "object")}
        judge(record, repr(row), lambda: Question.of(row))
        return
    if kind == "settings":
        text = _setting(rng)
        judge(record, f"{text!r:.300}", lambda: _settle(text))
        return
    if kind in ("toml", "live"):
        _file(record, rng, folder, kind)
        return
    text = {"csv": QUESTIONS, "tsv": QUESTIONS.replace(",", "\t"), "jsonl": LINES, "names": "Ann\nOman\n"}[kind]
    content = mutated(rng, text.encode())
    path = folder / f"q.{'txt' if kind == 'names' else kind}"
    path.write_bytes(content)

    def read() -> None:
        if kind == "names":
            if any("\n" in name for name in read_names(path)):
                raise WrongError("a name with an end of line")
            return
        for question in read_questions(path):
            json.dumps(question.to_json() if hasattr(question, "to_json") else str(question))

    judge(record, f"{kind} {content!r}", read)
    path.unlink()


def _file(record: Record, rng: random.Random, folder: Path, kind: str) -> None:
    """Files of templates and experiments, and of events that come in live."""
    readers: list[Callable[[Path], object]] = [read_templates, read_experiment]
    reader, text, suffix = rng.choice(readers), TOML, "toml"
    if kind == "live":
        suffix = rng.choice(["csv", "jsonl", "tsv"])
        reader, text = lambda path: list(rows.read(path)), LINES if suffix == "jsonl" else QUESTIONS
    content = mutated(rng, text.encode())
    if rng.random() < 0.05:
        content += b"x = " + rng.choice([b"[" * 3000, b"9" * 5000, b"{a = " * 2000])
    path = folder / f"f.{suffix}"
    path.write_bytes(content)
    judge(record, f"{kind} {suffix} {content!r}", lambda: reader(path))
    path.unlink()


def _setting(rng: random.Random) -> str:
    """A setting as the command line has it."""
    names = [*ModelSettings.model_fields, *TrainingSettings.model_fields, odd_text(rng)]
    values = ["0", "-1", "1e400", "9" * 5000, "nan", "true", "[" * 2000, "[[1]]", "'x'", "2024-01-01", odd_text(rng)]
    return f"{rng.choice(names)}{rng.choice(['=', '=', '=', ''])}{rng.choice(values)}"


def _settle(text: str) -> None:
    name, value = parse_setting(text)
    kind = ModelSettings if name in ModelSettings.model_fields else TrainingSettings
    json.dumps(fit(kind, {name: value}).model_dump(mode="json"), allow_nan=False)


@contextmanager
def prepared() -> Iterator[None]:
    """Nothing has to be prepared but the database, as for imports."""
    from fuzz import imports
    from xerte.data import events, lines, reading

    with imports.prepared():
        lines.scratch = events.scratch  # type: ignore[attr-defined]
        try:
            yield
        finally:
            lines.scratch = reading.scratch  # type: ignore[attr-defined]
