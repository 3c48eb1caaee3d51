"""TNTComplEx (Lacroix et al., ICLR 2020): ComplEx whose relations have a part that changes and a part that stays."""

from typing import ClassVar

from pydantic import Field
from torch import Tensor

from xerte.baselines.complex import ComplEx, product
from xerte.baselines.factorisation import FactorSettings, cubes, table
from xerte.baselines.times import TimeSettings, rows_at
from xerte.data.frame import Frame
from xerte.forecaster import Queries


class TNTComplExSettings(FactorSettings, TimeSettings):
    """Settings of TNTComplEx."""

    smoothness: float = Field(default=0.0, ge=0, description="weight of the penalty on steps between neighbour times")


class TNTComplEx(ComplEx):
    """score(s, p, o, t) = Re Σ_i e_s[i] (r_p[i] τ_t[i] + n_p[i]) conj(e_o[i]).

    Two penalties: N3, the cubes of the moduli of e_s, r_p τ_t, n_p and e_o; and smoothness, those of τ_{t+1} - τ_t,
    the mean over neighbouring steps, by which also a step without facts finds its place between its neighbours.
    """

    name: ClassVar[str] = "tntcomplex"
    settings: TNTComplExSettings

    def __init__(self, settings: TNTComplExSettings, frame: Frame, seed: int = 0) -> None:
        super().__init__(settings, frame, seed)
        width = self.parts * settings.dim
        self.lasting = table(2 * frame.num_relations, width, settings.init)
        self.time = table(frame.num_steps, width, settings.init)

    def relation_at(self, queries: Queries) -> Tensor:
        """r_p τ_t + n_p."""
        return self._changing(queries) + self.lasting.index_select(0, queries.relation)

    def penalty(self, queries: Queries, subject: Tensor, relation: Tensor, answer: Tensor) -> Tensor:  # noqa: ARG002
        """N3 over the four factors of a fact, the two parts of its relation apart, and the smoothness of time."""
        lasting, answers = self.lasting.index_select(0, queries.relation), self.entity.index_select(0, answer)
        n3 = cubes(self.settings.n3, subject, self._changing(queries), lasting, answers, parts=self.parts)
        if len(self.time) < 2:
            return n3
        return n3 + cubes(self.settings.smoothness, self.time[1:] - self.time[:-1], parts=self.parts).mean()

    def _changing(self, queries: Queries) -> Tensor:
        time = rows_at(self.time, queries.time, self.frame, self.settings.unseen_times)
        return product(self.relation.index_select(0, queries.relation), time)
