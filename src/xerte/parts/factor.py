"""What multiplies all evidence of one candidate alike: one number, read off what is known of it and of the pair."""

from collections.abc import Sequence
from threading import Lock
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.nn.functional import relu, softplus

from xerte.forecaster import Queries
from xerte.graph.index import TemporalIndex
from xerte.graph.tail import TailIndex
from xerte.parts.partners import NEVER, Partners
from xerte.parts.prior import Counts
from xerte.parts.rivals import Rivals
from xerte.parts.weighing import PACE
from xerte.segment import segment_sum
from xerte.types import Float, Int

_RELATION = 16


def activity(
    history: TemporalIndex, queries: Queries, windows: Sequence[int], dtype: torch.dtype
) -> tuple[Float[Tensor, "T E w"], Int[Tensor, "Q"]]:
    """log(1 + facts of every entity) within this many ticks before what is known ends, and ever.

    Returns:
        (table, row): [T, E, windows + 1] by distinct time, and the row of every question.
    """
    known, row_of = torch.unique(queries.known_before, return_inverse=True)
    if len(known) > 1 and history.device.type != "cpu":  # a GPU counts faster than it is asked time by time
        return torch.log1p(_counted(history, known, windows).double()).to(dtype), row_of
    with _one_counts:
        return torch.stack([_active(history, time, (*windows,), dtype) for time in known.tolist()]), row_of


def _counted(history: TemporalIndex, known: Int[Tensor, "T"], windows: Sequence[int]) -> Int[Tensor, "T E w"]:
    """Facts of every entity within windows before every time, and ever."""
    entity = torch.arange(history.num_entities, device=known.device)
    moment = (known[:, None] - torch.tensor([0, *windows], device=known.device)).flatten()
    stop = history.before(entity, moment.expand(len(entity), -1)).view(len(entity), len(known), -1)
    now = stop[:, :, :1]
    count = torch.cat([now - stop[:, :, 1:], now - history.segment_start[:, None, None]], dim=2)
    return count.transpose(0, 1)


def _active(history: TemporalIndex, known: int, windows: tuple[int, ...], dtype: torch.dtype) -> Float[Tensor, "E w"]:
    """log(1 + facts), at one time. Questions about one day are many, and an index never changes: the last are kept."""
    kept, key = _logs.setdefault(history, {}), (known, windows, dtype)
    if key not in kept:
        made = torch.log1p(_counts(history, known, windows).double()).to(dtype)
        while kept and (len(kept) + 1) * made.nbytes > _MOST_BYTES:
            del kept[next(iter(kept))]
        kept[key] = made
    return kept[key]


def _counts(history: TemporalIndex, known: int, windows: tuple[int, ...]) -> Int[Tensor, "E w"]:
    """As `_counted`, at one time; the last are kept.

    What was appended is counted beside what was counted already: an event costs what is appended.
    """
    kept, key = _kept.setdefault(history, {}), (known, windows)
    if key not in kept:
        if isinstance(history, TailIndex) and not history.num_hidden:
            under = _counts(history.under, known, windows)
            new_names = (0, 0, 0, history.num_entities - len(under))
            kept[key] = nn.functional.pad(under, new_names) + _added(history, known, windows)
        else:
            kept[key] = _counted(history, torch.tensor([known], device=history.device), windows)[0].contiguous()
        if len(kept) > _KEPT:
            del kept[next(iter(kept))]
    return kept[key]


def _added(history: TailIndex, known: int, windows: tuple[int, ...]) -> Int[Tensor, "E w"]:
    subject, edges = history.added_edges()
    first = torch.tensor([*(known - window for window in windows), torch.iinfo(torch.int64).min], device=subject.device)
    within = (edges.time[:, None] >= first) & (edges.time < known)[:, None]
    return segment_sum(within.long(), subject, history.num_entities)


_one_counts = Lock()
_KEPT = 4
_MOST_BYTES = 64 << 20
_kept: WeakKeyDictionary[TemporalIndex, dict[tuple[int, tuple[int, ...]], Tensor]] = WeakKeyDictionary()
_logs: WeakKeyDictionary[TemporalIndex, dict[tuple[int, tuple[int, ...], torch.dtype], Tensor]] = WeakKeyDictionary()


def _weighed(
    table: Float[Tensor, "T E w"], row_of: Int[Tensor, "Q"], weight: Float[Tensor, "Q w"]
) -> Float[Tensor, "Q E"]:
    """Σ_j table[row_of[q], e, j] weight[q, j]; on a CPU row by row of the table, which is then copied for no question.

    A product's last digits depend on how many questions share a row, as those of any batch do.
    """
    if table.device.type != "cpu":
        return torch.einsum("qej,qj->qe", table.index_select(0, row_of), weight)
    order = torch.argsort(row_of)
    sizes = torch.bincount(row_of, minlength=len(table)).tolist()
    parts = [some @ row.T for row, some in zip(table, torch.split(weight.index_select(0, order), sizes), strict=True)]
    return torch.cat(parts).index_select(0, torch.argsort(order))


class Factor(nn.Module):
    """log factor(o) = Σ_j γ_j[r] log(1 + n_j) + Σ_j δ_j[r] log(1 + activity_j) + [o near s] MLP(what is known of both).

    Near are those that s met, and of the others some that walks reach. The MLP reads the pair's facts as messages
    softplus(A_r' + B_r + A'_r' B'_r) e^(−Δ/τ_k), summed and log-compressed, beside ages,
    counts, the place of o among those s met, and what the sum's terms say. Where `Rivals` are read, they add theirs.

    Args:
        num_directions: of relations.
        num_scales, num_counts, num_windows: time scales of facts and of counts, and windows of activity.
        num_walks: lengths of walks.
        messages: per time scale.
        width: of the hidden layers.
        rivals: whether candidates are read beside one another, too: see `Rivals`.
    """

    def __init__(
        self,
        num_directions: int,
        num_scales: int,
        num_counts: int,
        num_windows: int,
        num_walks: int,
        messages: int,
        width: int,
        rivals: bool = False,
    ) -> None:
        super().__init__()
        known = num_counts + num_windows + 1
        self.common = nn.Parameter(torch.zeros(known))
        self.own = nn.Parameter(torch.zeros(num_directions, known))
        self.messages, size = messages, num_scales * messages
        self.message_fact, self.message_asked, self.product_fact, self.product_asked = (
            nn.Parameter(0.3 * torch.randn(num_directions, size)) for _ in range(4)
        )
        self.relation = nn.Parameter(0.3 * torch.randn(num_directions, _RELATION))
        inputs = size + known + num_walks + 2 * num_scales + 2 + 6 + _RELATION
        self.first, self.second, self.last = nn.Linear(inputs, width), nn.Linear(width, width), nn.Linear(width, 1)
        with torch.no_grad():
            self.last.weight *= 0.1
        self.rivals = Rivals(width) if rivals else None

    def for_all(
        self, counts: Counts, active: tuple[Float[Tensor, "T E w"], Int[Tensor, "Q"]], relation: Int[Tensor, "Q"]
    ) -> Float[Tensor, "Q E"]:
        """The terms that every candidate has; [Q, E]."""
        num_rows, num_entities, num_counts = counts.by_row.shape
        weight = PACE * (self.common + self.own)
        # Most relations are about few: log(1 + 0) = 0 need not be taken.
        cell = torch.nonzero(counts.by_row[:, :, -1].flatten())[:, 0]
        of_cell = weight[:, :num_counts].index_select(0, counts.relation).index_select(0, cell // num_entities)
        seen = (torch.log1p(counts.by_row.flatten(0, 1).index_select(0, cell)) * of_cell).sum(1)
        about = seen.new_zeros(num_rows * num_entities).index_put((cell,), seen)
        about = about.view(num_rows, num_entities).index_select(0, counts.row_of)
        table, row_of = active
        of_question = weight[:, num_counts:].index_select(0, relation)
        return about + _weighed(table, row_of, of_question)

    def for_partners(
        self,
        queries: Queries,
        partners: Partners,
        link_weight: Float[Tensor, "L"],
        counts: Counts,
        active: tuple[Float[Tensor, "T E w"], Int[Tensor, "Q"]],
        total: Float[Tensor, "Q E"],
        walks: list[Float[Tensor, "Q E"]],
    ) -> Float[Tensor, "P"]:
        """The term of the pairs; [P].

        Args:
            link_weight: what the past says; [L].
            total: the sum of all terms; [Q, E].
            walks: what walks of every length say; [Q, E] each.
        """
        num_questions, num_entities = total.shape
        question, object, link_pair = partners.pair_question, partners.pair_object, partners.link_pair
        cell, num_pairs = question * num_entities + object, len(question)
        of_link = partners.link_question
        asked = queries.relation.index_select(0, of_link)
        same = (asked == partners.link_relation).to(link_weight.dtype)

        context = torch.cat([partners.link_basis * same[:, None], partners.link_basis], dim=1)
        context = torch.cat(
            [
                torch.log1p(segment_sum(context, of_link, num_questions)),
                torch.log(segment_sum(link_weight, of_link, num_questions) + 1e-3)[:, None],
            ],
            dim=1,
        )
        same_age = link_weight.new_full((num_pairs,), NEVER).scatter_reduce(
            0, link_pair, torch.where(same > 0, partners.link_age, NEVER), "amin"
        )
        history = torch.stack(
            [
                torch.log1p(partners.pair_age),
                torch.log1p(same_age),
                torch.log1p(partners.pair_count),
                torch.log1p(segment_sum(partners.link_count * same, link_pair, num_pairs)),
                torch.log1p(partners.pair_place),
                segment_sum(partners.link_latest * same, link_pair, num_pairs),
            ],
            dim=1,
        )
        counted = counts.by_row.flatten(0, 1).index_select(
            0, counts.row_of.index_select(0, question) * num_entities + object
        )
        table, row_of = active
        active_here = table.flatten(0, 1).index_select(0, row_of.index_select(0, question) * num_entities + object)
        summed = torch.log(total.flatten().index_select(0, cell))
        features = [
            context.index_select(0, question),
            self._messages(asked, partners),
            summed[:, None],
            torch.log1p(counted),
            active_here,
            history,
            self.relation.index_select(0, queries.relation.index_select(0, question)),
            *(torch.log(walk.flatten().index_select(0, cell) + 1e-4)[:, None] for walk in walks),
        ]
        hidden = relu(self.second(relu(self.first(torch.cat(features, dim=1)))))
        out: Tensor = self.last(hidden)[:, 0]
        return out if self.rivals is None else out + self.rivals(hidden, summed + out, question, num_questions)

    def _messages(self, asked: Int[Tensor, "L"], partners: Partners) -> Float[Tensor, "P k"]:
        """log(1 + Σ messages) of every pair; [P, K · messages]. One table row per distinct pair of relations."""
        num_directions, (num_links, num_scales) = len(self.relation), partners.link_basis.shape
        both, which = torch.unique(asked * num_directions + partners.link_relation, return_inverse=True)
        question, fact = both // num_directions, both % num_directions
        product = self.product_fact.index_select(0, fact) * self.product_asked.index_select(0, question)
        content = softplus(
            self.message_fact.index_select(0, fact) + self.message_asked.index_select(0, question) + product
        )
        message = (
            content.index_select(0, which).view(num_links, num_scales, self.messages) * partners.link_basis[:, :, None]
        )
        num_pairs = len(partners.pair_question)
        return torch.log1p(segment_sum(message.flatten(1), partners.link_pair, num_pairs))

    def penalty(self, spread: float) -> Float[Tensor, ""]:
        """As `Weighing.penalty`."""
        learned = (self.first.weight, self.second.weight, self.last.weight, self.relation)
        messages = (self.message_fact, self.message_asked, self.product_fact, self.product_asked)
        plain = sum((weight.square().sum() for weight in (*learned, *messages)), self.own.new_zeros(()))
        more = 0.0 if self.rivals is None else self.rivals.penalty()
        return ((PACE / spread * self.own).square().sum() + plain) / 2 + more
