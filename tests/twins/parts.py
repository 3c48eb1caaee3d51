"""The sum of parts, slowly: one question, plain loops over facts, every formula as its docstring has it."""

from collections import defaultdict
from math import exp, inf, log, log1p

import torch

from xerte.data.facts import Facts
from xerte.parts.model import SumOfParts
from xerte.parts.weighing import PACE, Weighing

Edge = tuple[int, int, int, int]
"""(time, direction, object, fact)."""


class SlowParts:
    """What a model says about one question (subject, direction, time) when everything before `known` is known."""

    def __init__(self, model: SumOfParts, facts: Facts, subject: int, asked: int, time: int, known: int) -> None:
        self.model, self.subject, self.asked, self.time, self.known = model, subject, asked, time, known
        self.num_entities = model.frame.num_entities
        self.edges: dict[int, list[Edge]] = defaultdict(list)
        for fact, (s, p, o, t) in enumerate(zip(*(column.tolist() for column in facts.columns()), strict=True)):
            if t < known:
                self.edges[s].append((t, 2 * p, o, fact))
                self.edges[o].append((t, 2 * p + 1, s, fact))
        for edges in self.edges.values():
            edges.sort()

    def age(self, edge: Edge) -> float:
        return (self.time - edge[0]) / self.model.ticks_per_unit

    def basis(self, edge: Edge) -> list[float]:
        return [exp(-self.age(edge) / scale) for scale in (*self.model.settings.scales, inf)]

    def weigh(self, weighing: Weighing, edge: Edge) -> float:
        r, other = self.asked, edge[1]
        w = {name: (PACE * value).tolist() for name, value in weighing.named_parameters()}
        a = sum(x * y for x, y in zip(w["left"][r], w["right"][other], strict=True))
        a += w["rest"][r][other] + w["row"][r] + w["column"][other]
        a += w["same"][0] if r == other else -3.0
        a += w["reciprocal"][0] if r == other ^ 1 else 0.0
        total = 0.0
        for k, decayed in enumerate(self.basis(edge)):
            power = w["scale"][k] + w["asked_scale"][r][k] + w["fact_scale"][other][k]
            power += w["same_scale"][k] + w["own_scale"][r][k] if r == other else 0.0
            total += exp(a + power) * decayed
        return total

    @property
    def own_facts(self) -> list[Edge]:
        return self.edges[self.subject][-self.model.settings.last :]

    def past(self) -> list[float]:
        sums = [0.0] * self.num_entities
        for edge in self.own_facts:
            sums[edge[2]] += self.weigh(self.model.past, edge)
        return sums

    def looked_at(self, entity: int) -> list[Edge]:
        """The facts that lead on from an entity."""
        s, edges = self.model.settings, self.edges[entity]
        found = set(edges[-s.walk_last :])
        for direction in (self.asked, self.asked ^ 1):
            of_it = [edge for edge in edges if edge[1] == direction]
            found |= set(of_it[len(of_it) - s.walk_same :] if s.walk_same < len(of_it) else of_it)
        return [edge for edge in sorted(found) if edge[2] != self.subject]

    def walks(self) -> list[tuple[float, list[Edge]]]:
        """Every walk of two facts or more, with its weight."""
        model, walk = self.model, self.model.walk
        assert walk is not None
        leak = (PACE * walk.leak).exp().tolist()
        gate = walk.gates(torch.tensor([self.asked]))[0].tolist()
        weight = [self.weigh(walk.weighings[0], edge) for edge in self.own_facts]  # type: ignore[arg-type]
        total = sum(weight) + leak[0]
        paths = [(w / total, [edge]) for w, edge in zip(weight, self.own_facts, strict=True)]
        counted = []
        for step in range(1, model.settings.steps):
            mass: dict[int, float] = defaultdict(float)
            for chance, path in paths:
                mass[path[-1][2]] += chance
            nodes = sorted(mass, key=lambda entity: -mass[entity])[: model.settings.nodes[step - 1]]
            grown = []
            for entity in nodes:
                onward = self.looked_at(entity)
                weights = [self.weigh(walk.weighings[step], edge) for edge in onward]  # type: ignore[arg-type]
                if model.settings.order:
                    h = PACE * (walk.common_later[step - 1] + walk.own_later[self.asked, step - 1])
                    latest = max(path[-1][0] for _, path in paths if path[-1][2] == entity)
                    pairs = zip(weights, onward, strict=True)
                    weights = [w * (exp(float(h)) if edge[0] >= latest else 1.0) for w, edge in pairs]
                for chance, path in paths:
                    if path[-1][2] == entity:
                        ways = zip(onward, weights, strict=True)
                        grown += [(chance * w / (sum(weights) + leak[step]), [*path, edge]) for edge, w in ways]
            paths = grown
            counted += [(chance * gate[step - 1], path) for chance, path in paths]
        return counted

    def walk(self, length: int | None = None) -> list[float]:
        sums = [0.0] * self.num_entities
        for weight, path in self.walks():
            if length in (None, len(path)):
                sums[path[-1][2]] += weight
        return sums

    def counts(self) -> list[list[float]]:
        """n_j of every entity."""
        about = [(t, s) for s in range(self.num_entities) for t, p, _, _ in self.edges[s] if p == self.asked ^ 1]
        about.sort()
        first = about[max(0, len(about) - self.model.settings.counted)][0] if about else 0
        n = [[0.0] * (len(self.model.settings.count_scales) + 1) for _ in range(self.num_entities)]
        for t, entity in about:
            if t >= first:
                for j, scale in enumerate((*self.model.settings.count_scales, inf)):
                    n[entity][j] += exp(-(self.time - t) / self.model.ticks_per_unit / scale)
        return n

    def prior(self) -> list[float]:
        prior, n = self.model.prior, self.counts()
        p = (PACE * (prior.common + prior.own[self.asked])).exp().tolist()
        least = float((PACE * (prior.common_least + prior.own_least[self.asked])).exp())
        totals = [1 + sum(column) for column in zip(*n, strict=True)]
        return [least + sum(w * x / total for w, x, total in zip(p, row, totals, strict=True)) for row in n]

    def activity(self) -> list[list[float]]:
        unit = self.model.ticks_per_unit
        windows = [2 * unit, 10 * unit, inf]
        return [
            [log1p(sum(t >= self.known - window for t, _, _, _ in self.edges[e])) for window in windows]
            for e in range(self.num_entities)
        ]

    def log_factor(self) -> list[float]:
        model, factor = self.model, self.model.factor
        assert factor is not None
        counts, active, past = self.counts(), self.activity(), self.past()
        lengths = [self.walk(length) for length in range(2, model.settings.steps + 1)]
        total = [sum(parts) for parts in zip(past, self.prior(), *lengths, strict=True)]
        gamma = (PACE * (factor.common + factor.own[self.asked])).tolist()
        known = [[*(log1p(x) for x in n), *a] for n, a in zip(counts, active, strict=True)]
        out = [sum(g * x for g, x in zip(gamma, row, strict=True)) for row in known]
        own = self.own_facts
        latest = {edge[2]: place for place, edge in enumerate(own)}
        scales = range(len(model.settings.scales) + 1)
        context = [log1p(sum(self.basis(e)[k] for e in own if e[1] == self.asked)) for k in scales]
        context += [log1p(sum(self.basis(e)[k] for e in own)) for k in scales]
        context += [log(sum(past) + 1e-3)]
        reached = [sum(walk) for walk in zip(*lengths, strict=True)]
        others = sorted(
            (e for e in range(self.num_entities) if reached[e] and e not in latest), key=lambda e: -reached[e]
        )
        hiddens: dict[int, torch.Tensor] = {}
        for entity in [*latest, *others[: model.settings.others]]:
            pair = [e for e in own if e[2] == entity]
            same = [e for e in pair if e[1] == self.asked]
            message = torch.zeros(len(scales), factor.messages, dtype=factor.relation.dtype)
            for e in pair:
                product = factor.product_fact[e[1]] * factor.product_asked[self.asked]
                content = factor.message_fact[e[1]] + factor.message_asked[self.asked] + product
                basis = message.new_tensor(self.basis(e))[:, None]
                message = message + torch.nn.functional.softplus(content).view(len(scales), -1) * basis
            history = [
                log1p(self.age(pair[-1]) if pair else 1e4),
                log1p(self.age(same[-1]) if same else 1e4),
                log1p(len(pair)),
                log1p(len(same)),
                log1p(sum(place > latest[entity] for place in latest.values()) if pair else 1e4),
                float(bool(pair) and pair[-1][1] == self.asked),
            ]
            numbers = [*context, *torch.log1p(message).flatten().tolist(), log(total[entity]), *known[entity], *history]
            numbers += [*factor.relation[self.asked].tolist(), *(log(walk[entity] + 1e-4) for walk in lengths)]
            hidden = torch.relu(factor.first(message.new_tensor(numbers)))
            hiddens[entity] = torch.relu(factor.second(hidden))
        opinion = {e: float(factor.last(hidden)) for e, hidden in hiddens.items()}
        for entity, said in opinion.items():
            out[entity] += said
        for entity, said in self.beside_rivals(hiddens, {e: log(total[e]) + x for e, x in opinion.items()}):
            out[entity] += said
        loops = any(e[1] == self.asked and e[2] == s for s, edges in self.edges.items() for e in edges)
        out[self.subject] += 0.0 if loops else -20.0
        return out

    def beside_rivals(self, hiddens: dict[int, torch.Tensor], opinion: dict[int, float]) -> list[tuple[int, float]]:
        rivals = self.model.factor and self.model.factor.rivals
        if not rivals or not hiddens:
            return []
        whole = sum(exp(x) for x in opinion.values())
        chance = {e: exp(x) / whole for e, x in opinion.items() if exp(x) / whole > 1e-3}
        mean = sum((q * hiddens[e] for e, q in chance.items()), torch.zeros_like(hiddens[next(iter(chance))]))
        said = []
        for e, q in chance.items():
            beside = torch.cat([hiddens[e], hiddens[e] * mean, mean.new_tensor([log(q)])])
            said.append((e, float(rivals.last(torch.relu(rivals.alone(beside) + rivals.together(mean))))))
        return said

    def probabilities(self) -> list[float]:
        """p of every entity."""
        beta = float(PACE * (self.model.exponent + self.model.own_exponent[self.asked]))
        beta = min(3.0, max(0.05, beta))
        total = [sum(parts) for parts in zip(self.past(), self.walk(), self.prior(), strict=True)]
        scores = [exp(z) * x**beta for z, x in zip(self.log_factor(), total, strict=True)]
        return [score / sum(scores) for score in scores]
