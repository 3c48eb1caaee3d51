"""Less exact matrix products: they take effect while asked for, stay close, and leave nothing behind."""

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmarks import exactness
from reports import performance_pages as pages
from reports.table import markdown
from test_contract import LEARNERS, asked, build, forecast, index, loss, small_dataset, training_batch
from xerte import api
from xerte import precision as precisions
from xerte.cli.evaluate import command_of
from xerte.data.dataset import Dataset
from xerte.errors import InputError
from xerte.evaluation.evaluate import evaluate
from xerte.experiment.trace import Trace
from xerte.forecaster import Learner, Loss, Queries, Scores
from xerte.graph.index import TemporalIndex
from xerte.precision import now, products, wide
from xerte.training.loop import Trainer
from xerte.training.settings import TrainingSettings
from xerte.types import Precision, Split

ROOT = Path(__file__).parents[1]
CPU = torch.device("cpu")
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


@pytest.fixture(scope="module")
def small() -> Dataset:
    return small_dataset()


def single(name: str, dataset: Dataset, device: str) -> Any:
    """A small learner in float32, as users have it."""
    return build(name, dataset).float().to(device)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LEARNERS)
def test_rounded_products_forecast_nearly_the_same(name: str, device: str, small: Dataset) -> None:
    model, history, queries = single(name, small, device), index(small).to(device), asked(small).to(device)
    with products(Precision.BF16, history.device):
        rounded = forecast(model, history, queries)
    again = forecast(model, history, queries)
    exact = forecast(single(name, small, device), index(small).to(device), queries)
    # What was made with rounded products was not kept. A GPU adds in any order, so not to the last digit.
    torch.testing.assert_close(again.scores, exact.scores, rtol=1e-5, atol=1e-6)
    both = exact.reached & rounded.reached
    assert both.sum() >= 0.9 * exact.reached.sum()
    there, here = exact.scores[both].double(), rounded.scores[both].double()
    assert (name == "ttranse") == torch.equal(there, here), "only L1 distances have no product to round"
    assert np.corrcoef(there.cpu(), here.cpu())[0, 1] > 0.99


def test_a_processor_that_refuses_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precisions, "_PRODUCT", "import os; os.abort()")
    precisions._check_bf16.cache_clear()
    with pytest.raises(InputError, match="cannot multiply in bf16: choose float32"):
        products(Precision.BF16, CPU).__enter__()


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", LEARNERS)
def test_rounded_products_teach_nearly_the_same(name: str, device: str, small: Dataset) -> None:
    history = index(small).to(device)
    queries, answer = training_batch(small)
    queries, answer = queries.to(device), answer.to(device)
    found = []
    for precision in (Precision.FLOAT32, Precision.BF16):
        model = single(name, small, device).train()
        with products(precision, history.device):
            value = loss(model, history, queries, answer)
            value.backward()  # type: ignore[no-untyped-call]
        slopes = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        assert {slope.dtype for slope in slopes} == {torch.float32}
        found.append((value.item(), torch.cat(slopes).double()))
    (exact, slope), (rounded, other) = found
    assert rounded == pytest.approx(exact, rel=0.02)
    assert torch.nn.functional.cosine_similarity(slope, other, dim=0) > 0.97


@pytest.mark.gpu
@pytest.mark.parametrize("name", LEARNERS)
def test_a_training_on_a_gpu_takes_every_precision(name: str, small: Dataset) -> None:
    """Recorded steps included: the last loss is that of exact products, nearly."""
    history, losses = index(small).to("cuda"), {}
    for precision in Precision:
        settings = TrainingSettings(epochs=2, batch_size=32, lr=0.01, start=0, precision=precision)
        trainer = Trainer(single(name, small, "cuda"), small, history, settings)
        losses[precision] = trainer.run()[-1].loss
    exact = losses[Precision.FLOAT32]
    assert losses[Precision.TF32] == pytest.approx(exact, rel=0.01)
    assert losses[Precision.BF16] == pytest.approx(exact, rel=0.05)


@pytest.mark.gpu
def test_tf32_cuts_the_factors_of_products_on_a_gpu() -> None:
    device = torch.device("cuda")
    draw = torch.Generator().manual_seed(1)
    one, other = (torch.randn(256, 256, generator=draw, dtype=torch.float64).cuda() for _ in range(2))
    error = {}
    for precision in Precision:
        with products(precision, device):
            error[precision] = ((one.float() @ other.float()).double() - one @ other).abs().mean().item()
    assert error[Precision.FLOAT32] * 20 < error[Precision.TF32] < error[Precision.BF16] / 2


def test_training_follows_the_setting(small: Dataset) -> None:
    """The weights differ from those of exact products, but little, and are float32."""
    learned = {}
    for precision in (Precision.FLOAT32, Precision.BF16):
        settings = TrainingSettings(epochs=1, batch_size=64, lr=0.01, start=0, precision=precision)
        trainer = Trainer(single("xerte", small, "cpu"), small, index(small), settings)
        trainer.run()
        learned[precision] = torch.cat([p.detach().flatten() for p in trainer.model.parameters()])
    exact, rounded = learned.values()
    assert rounded.dtype is torch.float32
    assert not torch.equal(exact, rounded)
    assert (exact - rounded).abs().mean() < 0.01


class Watched(Learner):
    """A learner that remembers how matrices were multiplied whenever it was asked or taught."""

    name = "watched"

    def __init__(self, num_entities: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(num_entities))
        self.asked: list[object] = []
        self.taught: list[object] = []

    def forecast(self, history: TemporalIndex, queries: Queries) -> Scores:
        self.asked.append(now(history.device))
        scores = torch.arange(len(self.weight)).expand(len(queries), -1).float()
        return Scores.ranking(scores, torch.ones_like(scores, dtype=torch.bool))

    def loss(self, history: TemporalIndex, queries: Queries, answer: Tensor, seed: int) -> Loss:
        assert len(queries) == len(answer)
        assert seed
        self.taught.append(now(history.device))
        return Loss.of(self.weight)


EXACT, ROUNDED = (None,), (torch.bfloat16,)


@pytest.mark.parametrize("threads", [1, 2])
def test_every_batch_of_an_evaluation_has_its_precision(threads: int, small: Dataset) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for precision, found in ((Precision.BF16, ROUNDED), (Precision.FLOAT32, EXACT)):
            model = Watched(small.num_entities)
            evaluate(model, small, Split.TEST, index(small), batch_size=8, precision=precision)
            assert model.asked == [found] * -(-2 * small.sizes[2] // 8)
    finally:
        torch.set_num_threads(before)


def test_training_rounds_in_steps_and_validates_exactly(small: Dataset) -> None:
    model = Watched(small.num_entities)
    settings = TrainingSettings(epochs=2, batch_size=64, start=0, precision=Precision.BF16)
    trainer = Trainer(model, small, index(small), settings)
    trainer.run()
    assert model.taught == [ROUNDED] * 2 * len(trainer.batches)
    assert set(model.asked) == {EXACT}


def test_a_single_forecast_and_its_reasons_are_exact(small: Dataset) -> None:
    watched = Watched(small.num_entities)
    model = api.Model(watched, small)
    with torch.autocast("cpu", torch.bfloat16):
        model.forecast("e1", "likes", "2024-02-20").explain("e2")
    assert set(watched.asked) == {EXACT}


def test_the_switches_of_a_gpu_are_set_and_restored() -> None:
    """Torch has them without a GPU, too."""
    device, switches = torch.device("cuda"), (torch.backends.cuda.matmul, torch.backends.cudnn.rnn)
    before = [switch.fp32_precision for switch in switches]
    for precision, wanted in ((Precision.TF32, "tf32"), (Precision.FLOAT32, "ieee")):
        with products(precision, device):
            assert [switch.fp32_precision for switch in switches] == [wanted] * 2
            assert now(device) == (None, *[precision is Precision.TF32] * 2)
        assert [switch.fp32_precision for switch in switches] == before
    with pytest.raises(ZeroDivisionError), products(Precision.TF32, device):
        _ = 1 // 0
    assert [switch.fp32_precision for switch in switches] == before


def test_a_cpu_knows_no_tf32(small: Dataset) -> None:
    with pytest.raises(InputError, match="tf32 needs a GPU, and this device is cpu: choose float32 or bf16"):
        api.Model.load("recurrence", small, "cpu").evaluate(precision="tf32")
    with pytest.raises(InputError, match="tf32 needs a GPU"):
        api.train(small, model="distmult", device="cpu", precision="tf32")


def test_what_surrounds_it_is_left_as_it_was() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        before = now(CPU)
        with products(Precision.FLOAT32, CPU):
            assert torch.mm(torch.ones(2, 2), torch.ones(2, 2)).dtype is torch.float32, "float32 means float32"
        assert now(CPU) == before
    with products(Precision.BF16, CPU):
        assert now(CPU) == before
    assert now(CPU) != before


def test_wide_is_float32_at_least() -> None:
    kinds = {torch.bfloat16: torch.float32, torch.float32: torch.float32, torch.float64: torch.float64}
    assert {kind: wide(torch.ones(1, dtype=kind)).dtype for kind in kinds} == kinds


def test_a_verdict_tells_its_precision(small: Dataset) -> None:
    model = api.Model(single("xerte", small, "cpu"), small)
    exact, rounded = model.evaluate(), model.evaluate(Split.TEST, precision="bf16")
    assert [one.to_json()["precision"] for one in (exact, rounded)] == ["float32", "bf16"]
    traces = [model.trace(one) for one in (exact, rounded)]
    assert [one.details["precision"] for one in traces] == ["float32", "bf16"]
    assert "--precision" not in command_of(model, exact)
    assert command_of(model, rounded).endswith("--split test --precision bf16")
    assert rounded.metrics().mrr == pytest.approx(exact.metrics().mrr, abs=3)


def test_the_bench_measures_every_precision_and_leaves_the_model_alone(
    small: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exactness, "_TURNS", 1)
    net = single("xerte", small, "cpu")
    before = {name: value.clone() for name, value in net.state_dict().items()}
    model = api.Model(net, small)

    def learning(precision: Precision) -> tuple[Trainer, Tensor]:
        settings = TrainingSettings(batch_size=16, start=0, precision=precision)
        return Trainer(copy.deepcopy(net).train(), small, model.history, settings), torch.arange(16)

    found = exactness.precisions(model, learning)
    assert list(found) == ["float32", "bf16"], "TF32 is nothing of its own on a CPU"
    assert all(row["step_s"] > 0 and row["questions_per_s"] > 0 for row in found.values())
    mrr = [model.evaluate(precision=name).metrics().mrr for name in found]
    assert [row["mrr"] for row in found.values()] == pytest.approx(mrr)
    assert not net.training
    torch.testing.assert_close(dict(net.state_dict()), before, rtol=0, atol=0)


def test_a_page_shows_what_was_trained_with_what() -> None:
    """The traces' numbers stand where device and precision are theirs."""
    table = markdown(pages.exactness(ROOT))
    cpu, gpu = (
        next(part for part in table.split("### ") if part.startswith(f"icews14, preset paper, {device}"))
        for device in ("cpu", "NVIDIA H200")
    )
    assert "tf32" not in cpu
    assert all(row.rstrip(" |").endswith("–") for row in cpu.splitlines() if row.startswith(("| float32", "| bf16")))
    for name, trained in (("float32", "paper"), ("tf32", "tf32"), ("bf16", "bf16")):
        trace = Trace.read(ROOT / "results" / f"icews14-xerte-{trained}-seed0.json")
        (row,) = (line for line in gpu.splitlines() if line.startswith(f"| {name} "))
        assert row.split(" | ")[-1] == f"{trace.metrics['time-aware']['mrr']:.2f} |"


def test_an_unknown_precision_is_refused(small: Dataset) -> None:
    with pytest.raises(InputError, match="there is no precision fp8: choose float32, tf32, bf16"):
        api.Model.load("recurrence", small).evaluate(precision="fp8")
