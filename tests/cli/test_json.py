"""What `--json` prints keeps its keys and, on the embedded world, its values; only additions are allowed.

`python tests/cli/test_json.py` records anew what the package on PYTHONPATH prints.
"""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xerte.cli import app

STABLE = Path(__file__).with_name("json_stable.json")
QUESTION = ("world", "Wenoravrin", "condemns", "2022-10-20")
FACT = "Wenoravrin|condemns|Druerugard|2022-10-19"
TINY = (
    "--preset", "world", "--set", "dims=[4, 4]", "--set", "steps=2", "--set", "static_dim=4", "--set", "time_dim=4",
    "--set", "epochs=1", "--set", "batch_size=512", "--set", "start=560", "--set", "n=10", "--set", "k=5",
)  # fmt: skip

MANY = ("forecast", "world", "--queries", "questions.csv", "--model", "recurrence")

EXACT = {
    "data list": ("data", "list"),
    "data stats": ("data", "stats", "world"),
    "data check": ("data", "check", "world"),
    "data show": ("data", "show", "world", "Wenoravrin", "--limit", "3"),
    "data search": ("data", "search", "world", "avrin", "--limit", "5"),
    "forecast": ("forecast", *QUESTION, "--top", "3", "--model", "recurrence"),
    "forecast subject": ("forecast", "world", "?", *QUESTION[2:], "Druerugard", "--top", "2", "--model", "recurrence"),
    "forecast given": ("forecast", *QUESTION, "--top", "3", "--given", FACT, "--model", "recurrence"),
    "forecast many": (*MANY, "--top", "2"),
    "forecast out": (*MANY, "--out", "answers.csv"),
    "explain": ("explain", *QUESTION, "--top", "3", "--paths", "2", "--model", "recurrence"),
    "compare": ("compare", *QUESTION, "--top", "3", "--models", "recurrence", "oracle"),
    "evaluate": ("evaluate", "world", "--split", "valid", "--model", "recurrence", "--by", "side"),
}  # fmt: skip
"""Commands whose values stay."""

SHAPED = {
    "train": ("train", "world", *TINY, "--out", "tiny"),
    "explain xerte": ("explain", *QUESTION, "--model", "tiny", "--dismissed", "--given", FACT),
    "faithfulness": ("faithfulness", "world", "--model", "tiny", "--questions", "3"),
}
"""Commands whose values depend on training; their keys stay."""

_VARIES = {"seconds", "folder", "out"}
_NAMED = {"by_relation", "causes"}
"""Their keys are names of the data."""


def outputs(folder: Path) -> Iterator[tuple[str, Any]]:
    (folder / "questions.csv").write_text(
        "subject,relation,time,object\nWenoravrin,condemns,2022-10-20,\n?,condemns,2022-10-20,Druerugard\n"
    )
    for name, words in (EXACT | SHAPED).items():
        result = CliRunner().invoke(app, [*words, "--json"])
        assert result.exit_code == 0, result.output
        yield name, json.loads(result.stdout)


def shape(value: Any) -> Any:
    """A document's keys and types; a list has the keys of all its members."""
    if isinstance(value, dict):
        named = {key: list(item.values()) for key, item in value.items() if key in _NAMED and isinstance(item, dict)}
        return {key: shape(item) for key, item in (value | named).items()}
    if isinstance(value, list):
        members = [shape(item) for item in value]
        merged: Any = members[0] if members else None
        for member in members[1:]:
            merged = {**member, **merged} if isinstance(member, dict) and isinstance(merged, dict) else merged
        return [merged]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def missing(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Where `after` lacks or changes something of `before`."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key, value in before.items():
            if key not in after:
                yield f"{at}.{key} is gone"
            elif key not in _VARIES:
                yield from missing(value, after[key], f"{at}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if len(before) != len(after):
            yield f"{at} has {len(after)} members, not {len(before)}"
        for place, (old, new) in enumerate(zip(before, after, strict=False)):
            yield from missing(old, new, f"{at}[{place}]")
    elif isinstance(before, float) and isinstance(after, int | float):
        if not math.isclose(before, after, rel_tol=1e-5, abs_tol=1e-7):
            yield f"{at} is {after}, not {before}"
    elif before != after and "NoneType" not in (before, after):  # a shape in which a number may be missing
        yield f"{at} is {after!r}, not {before!r}"


def test_keys_and_values_of_json_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    stable = json.loads(STABLE.read_text("utf-8"))
    for name, now in outputs(tmp_path):
        found = list(missing(stable[name], now if name in EXACT else shape(now)))
        assert not found, f"{name}: {found[:5]}"


def _record() -> None:
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        os.environ["XERTE_HOME"] = folder
        os.chdir(folder)
        kept = {name: body if name in EXACT else shape(body) for name, body in outputs(Path(folder))}
    STABLE.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    _record()
