"""Segment operations beside loops over segments."""

from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from benchmarks import segments
from benchmarks.cli import app
from reports import segment_pages
from reports.table import markdown
from twins import segments as twins
from xerte import api
from xerte.errors import InputError


def run(*words: str | Path) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(word) for word in words])
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "with"
    sizes: dict[str, Any] = {"dims": (4, 4), "static_dim": 4, "time_dim": 4, "steps": 2, "n": 6, "k": 12}
    api.train("world", "world", "cpu", folder=folder, epochs=1, batch_size=512, start=560, **sizes)
    return folder


def test_operations_and_loops_by_hand() -> None:
    segment = torch.tensor([2, 0, 2, 0])
    values = torch.tensor([1.0, 2.0, 3.0, 6.0])
    assert twins.sum(segment, 4)(values).tolist() == [8.0, 0.0, 4.0, 0.0]
    assert twins.normalise(segment, 4)(values).tolist() == [0.25, 0.25, 0.75, 0.75]
    even = twins.softmax(segment, 4)(torch.tensor([0.0, 5.0, 0.0, 5.0]))
    assert even.tolist() == [0.5, 0.5, 0.5, 0.5]
    skewed = twins.softmax(segment, 4)(torch.tensor([0.0, 5.0, 3.0, 4.0])).double()
    assert skewed[2].item() == pytest.approx(1 / (1 + torch.e**-3))


def test_operations_agree_with_loops_on_a_real_batch(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "results" / "segment" / "world.json"
    code, told, said = run(
        "segments", "world", "--model", model, "--questions", "24", "--device", "cpu", "--save", file
    )
    assert code == 0, said
    assert "24 questions of world" in told
    found = segments.Segments.read(file)
    assert [one.name for one in found.operations] == list(segments.PUBLISHED)
    nodes, entities, softmax, normalised = found.operations
    assert (normalised.segments, found.questions) == (24, 24)
    assert entities.segments < entities.rows == normalised.rows <= nodes.rows < softmax.rows
    for one in found.operations:
        assert one.forward < 1e-6
        assert one.backward < 1e-5
        assert one.loop_seconds > one.seconds > 0
    assert found.command == "python -m benchmarks segments world --model with --questions 24 --device cpu"
    page = markdown(segment_pages.page(tmp_path))
    assert f"| node scores | {nodes.rows:,} | {nodes.segments:,} |" in page
    assert "| 11.75 s | 0.004 s | 2,938 |" in page
    file.write_text("{}")
    with pytest.raises(InputError, match="is not a measurement of segment operations"):
        segments.Segments.read(file)
    assert segment_pages.page(tmp_path / "nowhere") == ["not run yet"]
    code, _, said = run("segments", "world", "--model", "recurrence")
    assert (code, said) == (2, "xerte: recurrence has no inference graphs: name the folder of a trained xERTE\n")


def test_a_wrong_loop_would_be_seen() -> None:
    segment, values = torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 4.0])
    job = segments.Job("x", values, 2, lambda x: torch.stack([x[0], x[2]]), twins.sum(segment, 2))
    assert segments.differences(job) == (2.0, 1.0)
