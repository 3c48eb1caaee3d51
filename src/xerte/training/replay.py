"""A training step without host decisions: recorded once as a CUDA graph, then replayed as one launch.

A step of a thousand small kernels is bound by their launches. A graph of them costs one; its price is that every size
is fixed and that inputs are copied to where the recording read them.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from xerte.forecaster import Loss, Queries
from xerte.training.processes import ALONE, Processes


class ReplayedStep:
    """Forward, backward, clipping and Adam on a batch of fixed size, as one CUDA graph.

    Args:
        model, optimiser: what is trained; the optimiser is `capturable`.
        loss: of (queries, answers, seed), with no size that depends on their content.
        queries, answer: everything that may be asked; a batch is rows of it.
        size: questions in a batch.
        clip: the largest norm of the gradient.
        processes: those that learn together; what they exchange is part of the recording.
    """

    def __init__(
        self,
        model: nn.Module,
        optimiser: torch.optim.Adam,
        loss: Callable[[Queries, Tensor, Tensor], Loss],
        queries: Queries,
        answer: Tensor,
        size: int,
        clip: float,
        processes: Processes = ALONE,
    ) -> None:
        self._rows = torch.zeros(size, dtype=torch.int64, device=answer.device)
        self._seed = torch.zeros((), dtype=torch.int64, device=answer.device)
        parameters = list(model.parameters())

        def forward_and_backward() -> Tensor:
            optimiser.zero_grad(set_to_none=True)
            return processes.backward(loss(queries[self._rows], answer.index_select(0, self._rows), self._seed), model)

        begin(optimiser)
        aside = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        aside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(aside):  # libraries set themselves up before anything is recorded
            for _ in range(3):
                forward_and_backward()
        torch.cuda.current_stream().wait_stream(aside)
        self._graph = torch.cuda.CUDAGraph()
        # Recorded on a stream of its own: graphs recorded on one stream share scratch memory of the linear algebra
        # library, and would write over each other's where several are replayed at once.
        with torch.cuda.graph(self._graph, stream=aside, capture_error_mode="thread_local"):
            self._loss = forward_and_backward()
            nn.utils.clip_grad_norm_(parameters, clip)
            optimiser.step()

    def __call__(self, rows: Tensor, seed: int) -> Tensor:
        """Learns from these rows; the loss is a tensor that the next call overwrites."""
        self._rows.copy_(rows)
        self._seed.fill_(seed)
        self._graph.replay()
        return self._loss


def begin(optimiser: torch.optim.Adam) -> None:
    """Gives Adam the state it would make at its first step, which must not happen inside a recording."""
    for group in optimiser.param_groups:
        for parameter in group["params"]:
            if not optimiser.state[parameter]:
                optimiser.state[parameter] = {
                    "step": torch.zeros((), device=parameter.device),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
