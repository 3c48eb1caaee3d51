"""What a candidate is worth beside those it competes with."""

import torch
from torch import Tensor, nn
from torch.nn.functional import relu

from xerte.segment import segment_softmax, segment_sum
from xerte.types import Float, Int

_LEAST = 1e-3
"""Candidates that seem less likely are read alone: most are, and they change little."""


class Rivals(nn.Module):
    """v · relu(A h_o + B c + C (h_o ∘ c) + d log q_o + e), where c = Σ_o' q_o' h_o'.

    The factor's network reads every candidate alone: h_o is its last layer, and q its opinion of how likely each of
    those near the subject is. Here a candidate is read beside the mean of all, weighed by q.

    Args:
        width: of h.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.alone = nn.Linear(2 * width + 1, width)
        self.together = nn.Linear(width, width, bias=False)
        self.last = nn.Linear(width, 1)
        with torch.no_grad():
            self.last.weight *= 0.1

    def forward(
        self,
        hidden: Float[Tensor, "P h"],
        opinion: Float[Tensor, "P"],
        question: Int[Tensor, "P"],
        num_questions: int,
    ) -> Float[Tensor, "P"]:
        """What every candidate's logarithm changes by; [P].

        Args:
            opinion: the logarithm of how likely a candidate seems, but for a constant.
            question: of every candidate.
        """
        chance = segment_softmax(opinion, question, num_questions)
        near = torch.nonzero(chance > _LEAST)[:, 0]
        hidden, chance, of = (column.index_select(0, near) for column in (hidden, chance, question))
        mean = segment_sum(chance[:, None] * hidden, of, num_questions)
        beside = torch.cat([hidden, hidden * mean.index_select(0, of), torch.log(chance)[:, None]], dim=1)
        # B c is the same for all candidates of a question: computed once for each question.
        out: Tensor = self.last(relu(self.alone(beside) + self.together(mean).index_select(0, of)))
        return opinion.new_zeros(len(opinion)).index_put((near,), out[:, 0])

    def penalty(self) -> Float[Tensor, ""]:
        """−log of a normal density at what is learned, but for a constant."""
        learned = (self.alone.weight, self.together.weight, self.last.weight)
        return sum((weight.square().sum() for weight in learned), self.last.weight.new_zeros(())) / 2
