"""ComplEx (Trouillon et al., ICML 2016): DistMult with complex numbers, so that a relation has a direction."""

from typing import ClassVar

import torch
from torch import Tensor

from xerte.baselines.factorisation import Factorisation


def product(one: Tensor, other: Tensor) -> Tensor:
    """The complex product, element by element, of vectors laid out as (real parts, imaginary parts)."""
    (a, b), (c, d) = one.chunk(2, -1), other.chunk(2, -1)
    return torch.cat([a * c - b * d, a * d + b * c], -1)


class ComplEx(Factorisation):
    """score(s, p, o) = Re Σ_i e_s[i] r_p[i] conj(e_o[i]). Time is not known.

    Re(z conj(e)) = Re z Re e + Im z Im e: the scalar product of both vectors' parts.
    """

    name: ClassVar[str] = "complex"
    parts: ClassVar[int] = 2

    def compose(self, subject: Tensor, relation: Tensor) -> Tensor:
        """e_s ⊙ r_p."""
        return product(subject, relation)
