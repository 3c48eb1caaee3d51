"""The generated pages are fresh, and what they promise is true."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import xerte
from pages import commands, parse
from reports import docs, reference_pages, results_pages
from reports.cli import app
from reports.table import Table, markdown
from xerte import errors as errors_module
from xerte.errors import InputError
from xerte.experiment.trace import Trace

ROOT = Path(__file__).parents[2]


def trace(dataset: str, model: str, mrr: float, split: str = "test") -> Trace:
    metrics = {"time-aware": {"mrr": mrr, "hits@1": 1.0, "hits@3": 3.0, "hits@10": 10.0}}
    return Trace(
        dataset=dataset,
        model=model,
        split=split,
        metrics=metrics,
        protocol={},
        queries=1234,
        command=f"xerte evaluate {dataset}",
        settings={},
        seconds={"prepare": 1.4, "evaluate": 2.0},
        seed=None,
        device="cpu",
        versions={},
        commit="c" * 40,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "README.md").write_text("before\n<!-- generated: results -->\nold\n<!-- end -->\nafter\n")
    return tmp_path


def test_the_pages_of_this_project_are_fresh() -> None:
    assert docs.stale_pages(ROOT) == {}


def test_stale_pages_are_named_then_written(folder: Path) -> None:
    def run(*words: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(app, ["docs", "--root", str(folder), *words])
        return result.exit_code, result.stdout, result.stderr

    assert run("--check") == (1, "", "README.md is stale: run `make docs`\n")
    assert run() == (0, "README.md\n", "")
    assert run("--check") == (0, "", "")
    text = (folder / "README.md").read_text()
    assert text == ("before\n<!-- generated: results -->\nNo run has been recorded yet.\n<!-- end -->\nafter\n")


def test_the_results_table_is_made_from_traces(folder: Path) -> None:
    trace("b", "weak", 10.004).write(folder / "results" / "1.json")
    trace("b", "strong", 20.006).write(folder / "results" / "2.json")
    trace("a", "weak", 30.0).write(folder / "results" / "3.json")
    trace("a", "tuned", 99.0, "valid").write(folder / "results" / "4.json")
    replace(trace("a", "weak", 99.0), settings={"preset": "weak", "set": {"k": 2}}).write(folder / "results" / "5.json")
    (folder / "experiments" / "a").mkdir(parents=True)
    (folder / "experiments" / "a" / "less.toml").write_text(
        'dataset = "a"\nmodel = "weak"\npreset = "weak"\nset = { k = 2 }\nseeds = [0]\n'
    )
    trace("a", "weak", 99.0).write(folder / "results" / "a-less-seed0.json")  # a variant by its file alone
    for number, (seed, mrr) in enumerate(((0, 6.0), (1, 9.0), (1, 7.5))):  # one seed on two devices
        seeded = replace(trace("b", "xerte", mrr), settings={"preset": "paper", "set": {}}, seed=seed)
        seeded.write(folder / "results" / f"6-{number}.json")
    assert markdown(results_pages.results(folder)).splitlines()[2:] == [
        "| a | weak | 30.00 | 1.00 | 3.00 | 10.00 |",
        "| b | strong | 20.01 | 1.00 | 3.00 | 10.00 |",
        "| b | weak | 10.00 | 1.00 | 3.00 | 10.00 |",
        "| b | xerte (paper), 2 seeds | 7.50 | 1.00 | 3.00 | 10.00 |",
    ]
    assert markdown(results_pages.runs(folder)).splitlines()[2] == (
        "| 1.json | `xerte evaluate b` | 1,234 | 3 | cpu | cccccccccc |"
    )


def test_an_unknown_part_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="there is no generated part called weather"):
        docs.rendered("<!-- generated: weather -->\n<!-- end -->", folder)


def test_the_command_reference_holds_every_command_and_option() -> None:
    text = markdown(reference_pages.commands(ROOT))
    for command in ("data list", "data get", "data import", "data show", "train", "evaluate", "forecast", "demo"):
        assert f"## `xerte {command}`" in text
    assert "| `--split` | Whose facts are asked about. One of `train`, `valid`, `test`. Default: `test`. |" in text
    assert "| `--from` |" in text
    assert "| `FILE...` |" in text


def test_every_command_gives_examples_that_it_understands() -> None:
    parts = markdown(reference_pages.commands(ROOT)).split("## `")[1:]
    for part in parts:
        examples = re.search(r"```sh\n(.*?)\n```", part, re.DOTALL)
        assert examples is not None
        lines = list(commands(examples[1]))
        assert lines[0].startswith(part.split("`")[0])
        for line in lines:
            parse(line)


def test_the_python_page_names_every_error() -> None:
    text = (ROOT / "docs" / "python.md").read_text("utf-8")
    errors = {name for name, one in vars(errors_module).items() if isinstance(one, type) and issubclass(one, Exception)}
    assert errors <= set(xerte.__all__)
    assert set(re.findall(r"xerte\.(\w+(?:Error|Warning))", text)) == errors


def test_links_in_the_pages_lead_somewhere() -> None:
    for page in docs.pages(ROOT):
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text("utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert str(Table(("a", "b"), [("x|y", r"z\|w")], "ll")).endswith(r"| x\|y | z\|w |")
