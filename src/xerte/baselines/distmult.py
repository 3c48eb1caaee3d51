"""DistMult (Yang et al., ICLR 2015): a relation weighs what its two sides have in common."""

from typing import ClassVar

from torch import Tensor

from xerte.baselines.factorisation import Factorisation


class DistMult(Factorisation):
    """score(s, p, o) = Σ_i e_s[i] r_p[i] e_o[i]. Time is not known."""

    name: ClassVar[str] = "distmult"

    def compose(self, subject: Tensor, relation: Tensor) -> Tensor:
        """e_s ⊙ r_p."""
        return subject * relation
