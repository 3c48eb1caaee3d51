"""Questions of likelihood through the command line: sets, names that are not known, and what cannot be asked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from xerte.cli import app
from xerte.data.words import between, percent

WHO, WHAT, WHOM = "Wenoravrin", "condemns", "Druerugard"


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Any]:
    """Runs `xerte ask world …`: the document, or the complaint where it fails."""
    home = tmp_path_factory.mktemp("home")

    def run(*arguments: str) -> Any:
        result = CliRunner().invoke(app, ["ask", "world", *arguments, "--json"], env={"XERTE_HOME": str(home)})
        if result.exit_code:
            assert result.exit_code == 2, result.output
            return result.stderr.strip()
        return json.loads(result.stdout)

    return run


def test_sets_of_relations_and_entities(answered: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "groups.csv"
    file.write_text("group,name\nharsh,condemns\nharsh,threat*\nnothing,not of this world\n")
    within = ("--within", "30d", "--groups", str(file))
    single = answered(WHO, WHAT, WHOM, "--within", "30d")["answers"][0]["probability"]
    group = answered(WHO, "@harsh", WHOM, *within)["answers"][0]
    assert group["relation"] == "@harsh"
    assert group["probability"] >= single
    assert (
        answered(WHO, "condemns | threat*", WHOM, "--within", "30d")["answers"][0]["probability"]
        == group["probability"]
    )
    assert "there is no group 'mild': known are harsh, nothing" in answered(WHO, "@mild", WHOM, *within)
    assert "holds no relation of this dataset" in answered(WHO, "@nothing", WHOM, *within)
    assert "no relation is like zzz*" in answered(WHO, "zzz*", WHOM, "--within", "30d")
    assert "name a file of groups" in answered(WHO, "@harsh", WHOM, "--within", "30d")


def test_a_name_like_another_is_a_mistake_and_any_other_is_new(answered: Callable[..., Any]) -> None:
    assert f"did you mean {WHOM}?" in answered(WHO, WHAT, "Druerugart", "--within", "30d")
    found = answered(WHO, WHAT, "Xxq Zzyp", "--within", "30d")
    assert 0 < found["answers"][0]["probability"] < 0.05
    assert "Xxq Zzyp is in no fact: what is usual for others answers" in found["notes"]
    assert "no relation is called flibbers" in answered(WHO, "flibbers", WHOM, "--within", "30d")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--at", "2022-01-01", "--as-of", "2022-06-01"), "lies before"),
        (("--within", "0d"), "is empty: an interval ends after it starts"),
        (("--within", "-3d"), "-3d"),
        (("--within", "30d", "--when"), "ask exactly one of these"),
        ((), "ask exactly one of these"),
    ],
)
def test_what_cannot_be_asked_is_said_in_a_sentence(
    answered: Callable[..., Any], arguments: tuple[str, ...], complaint: str
) -> None:
    said = answered(WHO, WHAT, WHOM, *arguments)
    assert complaint in said
    assert len(said.splitlines()) == 1


def test_before_all_data_and_far_beyond_it_is_answered_with_a_warning(answered: Callable[..., Any]) -> None:
    early = answered(WHO, WHAT, WHOM, "--within", "30d", "--as-of", "1990-01-01")
    assert "nothing is known before 1990-01-01: every answer is a guess" in early["notes"]
    far = answered(WHO, WHAT, WHOM, "--within", "50y")
    assert any(note.startswith("never tested so far ahead") for note in far["notes"])
    assert any("no model is trained on world" in note for note in far["notes"])


def test_tables_hold_no_zeros_and_nothing_beyond_0_and_100_percent(tmp_path: Path) -> None:
    """Of unlikely events there were rows of 0.0 %, and 0.1 % ± 0.4 reached below nothing."""
    words = ["ask", "world", WHO, WHAT, "?", "--within", "1d", "--top", "200"]
    result = CliRunner().invoke(app, words, env={"XERTE_HOME": str(tmp_path), "COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    assert " 0.0 % " not in result.stdout
    assert "further answers below 0.1 %." in result.stdout
    assert "±" not in result.stdout
    assert (percent(0.0001), percent(0.9999), percent(0.25), percent(0.0)) == ("< 0.1 %", "> 99.9 %", "25.0 %", "0.0 %")
    assert (between(0.01, 0.05), between(0.98, 0.05), between(0.5, None)) == ("0.0–6.0 %", "93.0–100.0 %", "")
    assert (between(0.0001, 0.0002), between(0.0001, 0.0004)) == ("< 0.1 %", "0.0–0.1 %")
