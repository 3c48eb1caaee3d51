"""Tables with hardly anything in them: an answer or one clear sentence, never NaN, never a traceback."""

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from xerte.cli import app

QUICK = ("--set", "epochs=1", "--set", "width=4")


def call(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def day(number: int) -> str:
    return f"2024-{1 + number // 28:02}-{1 + number % 28:02}"


TABLES = {
    "three facts": [f"a{i},visits,b{i},{day(i)}" for i in range(3)],
    "ten facts": [f"a{i % 3},visits,b{i % 2},{day(i)}" for i in range(10)],
    "one pair": [f"a0,visits,b0,{day(i)}" for i in range(40)],
    "only loops": [f"a{i % 4},visits,a{i % 4},{day(i)}" for i in range(40)],
    "nobody twice": [f"a{i},visits,b{i},{day(i)}" for i in range(40)],
    "a relation once": [
        *(f"a{i % 5},visits,b{i % 7},{day(i)}" for i in range(60)),
        f"zed,sues,b1,{day(20)}",
        f"a1,praises,zed,{day(59)}",
    ],
}


@pytest.mark.parametrize("table", TABLES)
def test_a_table_with_hardly_anything_in_it_is_learned_and_asked(table: str, tmp_path: Path) -> None:
    file = tmp_path / "events.csv"
    file.write_text("\n".join(["subject,relation,object,time", *TABLES[table]]))
    assert call("data", "import", file, "--name", "mine").exit_code == 0
    trained = call("train", "mine", *QUICK, "--json")
    assert trained.exit_code == 0, trained.output
    body = json.loads(trained.stdout)
    assert all(math.isfinite(epoch["loss"]) and epoch["valid"]["mrr"] > 0 for epoch in body["epochs"])
    relations = {row.split(",")[1] for row in TABLES[table]}
    asked = [("a0", relation, when) for relation in relations for when in ("2023-01-01", day(0), day(59), "2030-01-01")]
    for question in [*asked, ("?", "visits", day(59), "a0")]:
        answered = call("forecast", "mine", *question, "--json")
        assert answered.exit_code == 0, answered.output
        answers = json.loads(answered.stdout)["answers"]
        most = 1 + 1e-5 if body["kept"] == "best" else 1e9  # a probability, or a count
        assert all(0 <= one["score"] <= most for one in answers)
        assert answers or body["kept"] == "recurrence"
    judged = call("evaluate", "mine", "--json")
    assert judged.exit_code == 0, judged.output
    learning = call("evaluate", "mine", "--online", "--json")
    assert learning.exit_code == (2 if body["kept"] == "recurrence" else 0), learning.output


@pytest.mark.parametrize("times", [1, 2])
def test_too_few_times_are_one_sentence(times: int, tmp_path: Path) -> None:
    rows = [f"a{i % 5},visits,b{i % 7},{day(i % times)}" for i in range(30)]
    (tmp_path / "events.csv").write_text("\n".join(["subject,relation,object,time", *rows]))
    refused = call("data", "import", tmp_path / "events.csv", "--name", "mine")
    assert refused.exit_code == 2
    assert refused.stderr.count("\n") == 1
    assert "give events of at least 3 different times" in refused.stderr


def test_training_on_a_single_day_has_no_past_to_learn_from(tmp_path: Path) -> None:
    rows = [f"a{i % 5},visits,b{i % 7},{day(min(i // 10, 2))}" for i in range(30)]
    (tmp_path / "events.csv").write_text("\n".join(["subject,relation,object,time", *rows]))
    cut = ("--valid-from", day(1), "--test-from", day(2))
    assert call("data", "import", tmp_path / "events.csv", "--name", "mine", *cut).exit_code == 0
    trained = call("train", "mine", *QUICK, "--json")
    assert trained.exit_code == 0, trained.output
    assert math.isfinite(json.loads(trained.stdout)["epochs"][0]["loss"])
