/** What the picture is drawn from: one question's inference graph and, for its best candidates, who carried what. */

import { readable } from "./text";

/** The document as it is stored: columns, names and times by their place in `names`. See docs/explanations.md. */
export interface Packed {
  readonly format: string;
  readonly query: Query;
  readonly model: string;
  /** Not in the earliest documents of this form. */
  readonly notes?: readonly string[];
  /** One sentence that says it all. This and what follows with a question mark is not in documents of 0.1. */
  readonly verdict?: string;
  readonly dataset?: string;
  /** Only what happened before was read. */
  readonly known_before?: string;
  /** How many facts were looked at and pruned. */
  readonly pruned?: number;
  /** What names stand for, where the data holds codes. */
  readonly labels?: Readonly<Record<string, string>>;
  /** What the source says of facts beside themselves: columns by name, by number of the fact. */
  readonly sources?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly answers: readonly Answer[];
  readonly answer: string | null;
  readonly steps: number;
  readonly unseen: number;
  readonly names: readonly string[];
  readonly nodes: {
    readonly entity: readonly number[];
    readonly time: readonly number[];
    readonly attention: readonly (readonly number[])[];
  };
  readonly facts: {
    readonly subject: readonly number[];
    readonly relation: readonly number[];
    readonly object: readonly number[];
    readonly time: readonly number[];
    readonly sentence: readonly string[];
  };
  readonly edges: {
    readonly source: readonly number[];
    readonly target: readonly number[];
    readonly fact: readonly number[];
    readonly step: readonly number[];
    readonly contribution: readonly number[];
    readonly kept: readonly number[];
    /** The part of the model's sum that each comes from, by its place in `names`; where there are several. */
    readonly part?: readonly number[];
  };
  readonly candidates: readonly PackedCandidate[];
}

export interface Query {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly time: string;
}

export interface Answer {
  readonly entity: string;
  readonly score: number;
  readonly reached: boolean;
  /** That it is among the true answers, where the model is calibrated. */
  readonly probability?: number | null;
}

interface PackedCandidate {
  readonly entity: string;
  /** From 1; null where it was not reached. */
  readonly rank?: number | null;
  readonly score?: number | null;
  readonly edge: readonly number[];
  readonly share: readonly number[];
  readonly paths: readonly Path[];
  readonly reasons?: readonly PackedReason[];
  /** The share of all other paths. */
  readonly rest?: number;
  readonly parts?: readonly Part[];
  /** [factor, sum of parts, exponent]: the score is factor · sum^exponent; the score is the sum where it is missing. */
  readonly weight?: readonly [number, number, number];
}

export interface Path {
  readonly share: number;
  readonly sentence: string;
}

/** A kind of evidence that the model adds up: the inference graph, the past of the pair, a prior. */
export interface Part {
  readonly name: string;
  readonly share: number;
}

interface PackedReason extends Path {
  readonly part?: string;
  /** Rows of edges. */
  readonly edges: readonly number[];
}

/** Paths that differ by their dates only, and the links they run over; the shares of all reasons sum to 1. */
export interface Reason extends Path {
  readonly part: string | undefined;
  readonly links: readonly number[];
}

/** An entity at a time. `attention` after steps 0 … L. */
export interface Node {
  readonly id: number;
  readonly entity: string;
  readonly time: string;
  readonly attention: readonly number[];
  /** How many nodes it stands for, where several are drawn as one. */
  readonly count?: number;
  /** Its name, where that is not its entity's. */
  readonly label?: string;
}

/** When a link was looked at, and what became of it. */
export interface Look {
  readonly step: number;
  readonly contribution: number;
  readonly kept: boolean;
}

/** A fact between a node and an earlier one; the model may have looked at it in several steps. */
export interface Link {
  readonly id: number;
  /** The later node, from which the model came. */
  readonly source: number;
  readonly target: number;
  readonly relation: string;
  readonly time: string;
  readonly sentence: string;
  /** The nodes at which it has an arrow's head: who was acted upon. Both, where two facts mirror each other. */
  readonly heads: readonly number[];
  readonly looks: readonly Look[];
  /** The links that it stands for, itself among them, where several are drawn as one. */
  readonly members: readonly number[];
  /** Of its members those by which walks came back that had gone there by the others: their share is in those'. */
  readonly back?: readonly number[];
  /** Which fact: a fact can be walked from several nodes. */
  readonly fact: number;
  /** The part of the model's sum that counts it most, where there are several. */
  readonly part: string | undefined;
}

/** One who might be the answer; `share` is the part of its score that came by each link. */
export interface Candidate {
  readonly entity: string;
  readonly rank: number | null;
  readonly score: number | null;
  readonly probability: number | null;
  readonly share: ReadonlyMap<number, number>;
  readonly paths: readonly Path[];
  /** Heaviest first. Documents of 0.1 have single facts instead, whose shares may sum to more than 1. */
  readonly reasons: readonly Reason[];
  readonly rest: number;
  readonly parts: readonly Part[];
  readonly weight: readonly [number, number, number] | undefined;
}

export interface Story {
  readonly query: Query;
  readonly model: string;
  /** What a reader should know, such as facts that were hidden or supposed. */
  readonly notes: readonly string[];
  readonly verdict: string | undefined;
  readonly dataset: string | undefined;
  readonly knownBefore: string;
  readonly answer: string | null;
  readonly steps: number;
  /** How many looks at facts that were pruned the document leaves out. */
  readonly unseen: number;
  /** How many facts were looked at and pruned, in the document or not. */
  readonly pruned: number;
  /** Whether there is an inference graph, which grew in steps; otherwise facts were weighed as they are. */
  readonly grown: boolean;
  /** A name as people read it. */
  readonly name: (name: string) => string;
  /** What the source says of a link's fact. */
  readonly source: (link: Link) => readonly [string, string][];
  readonly nodes: readonly Node[];
  readonly links: readonly Link[];
  /** Nodes that no link leads to: what they did makes an answer usual, and begins nowhere near the question. */
  readonly loose: ReadonlySet<number>;
  readonly candidates: readonly Candidate[];
}

export const FORMAT = "xerte-picture-1";

function at<T>(column: readonly T[], place: number | undefined): T {
  const value = place === undefined ? undefined : column[place];
  if (value === undefined) throw new RangeError(`the document has no row ${String(place)}`);
  return value;
}

/** Unpacks a document: rows in names, and one link for all looks at the same fact from the same node. */
export function unpack(packed: Packed): Story {
  if (packed.format !== FORMAT) throw new Error(`this is no document of the form ${FORMAT}`);
  const { nodes: n, facts: f, edges: e } = packed;
  const name = (place: number | undefined): string => at(packed.names, place);
  const nodes = n.entity.map((entity, id) => ({
    id,
    entity: name(entity),
    time: name(n.time[id]),
    attention: at(n.attention, id),
  }));
  const looks: Look[][] = [];
  const links: Link[] = [];
  const known = new Map<string, number>();
  const linkOf: (number | undefined)[] = e.source.map((source, row) => {
    const fact = at(e.fact, row);
    if (fact < 0) return undefined;
    const target = at(e.target, row);
    const key = `${String(source)} ${String(target)} ${String(fact)}`;
    let id = known.get(key);
    if (id === undefined) {
      id = links.length;
      known.set(key, id);
      const mine: Look[] = [];
      looks.push(mine);
      const [near, far] = [at(nodes, source).entity, at(nodes, target).entity];
      const [subject, object] = [name(f.subject[fact]), name(f.object[fact])];
      const ends = near === subject && far === object ? [target] : near === object && far === subject ? [source] : [];
      links.push({
        id,
        source,
        target,
        // Documents of 0.1 drew other actors' facts as ways from the question: their line says whose they are.
        relation: `${ends.length ? "" : `${subject}: `}${name(f.relation[fact])}`,
        time: name(f.time[fact]),
        sentence: at(f.sentence, fact),
        heads: ends,
        looks: mine,
        members: [id],
        fact,
        part: e.part ? name(e.part[row]) : undefined,
      });
    }
    at(looks, id).push({ step: at(e.step, row), contribution: at(e.contribution, row), kept: at(e.kept, row) === 1 });
    return id;
  });
  const ranked = packed.answers.filter(({ reached }) => reached);
  const candidates = packed.candidates.map((candidate) => {
    const share = new Map<number, number>();
    candidate.edge.forEach((edge, place) => {
      const link = linkOf[edge];
      if (link !== undefined) share.set(link, (share.get(link) ?? 0) + at(candidate.share, place));
    });
    const place = ranked.findIndex(({ entity }) => entity === candidate.entity);
    const told = (candidate.reasons ?? []).map(({ share, sentence, part, edges }) => ({
      share,
      sentence,
      part,
      links: [...new Set(edges.flatMap((edge) => linkOf[edge] ?? []))],
    }));
    const reasons = told.length ? told : singleFacts(links, share);
    return {
      entity: candidate.entity,
      rank: candidate.rank !== undefined ? candidate.rank : place < 0 ? null : place + 1,
      score: candidate.score !== undefined ? candidate.score : (ranked[place]?.score ?? null),
      probability: ranked[place]?.probability ?? null,
      share,
      paths: candidate.paths,
      reasons,
      rest: candidate.rest ?? 0,
      parts: candidate.parts ?? [],
      weight: candidate.weight,
    };
  });
  const { query, model, notes = [], verdict, dataset, answer, steps, unseen } = packed;
  const led = new Set([0, ...links.map(({ target }) => target)]);
  const cut = new Set(links.filter((link) => !link.looks.some(({ kept }) => kept)).map(({ fact }) => fact));
  return {
    ...{ query, model, notes, verdict, dataset, answer, steps, unseen, nodes, links, candidates },
    loose: new Set(links.flatMap(({ source }) => (led.has(source) ? [] : [source]))),
    knownBefore: packed.known_before ?? query.time,
    pruned: packed.pruned ?? unseen + cut.size,
    grown: !links.length || links.some(({ part }) => part === undefined || part === "graph"),
    name: (one) => packed.labels?.[one] ?? readable(one),
    source: ({ fact }) => Object.entries(packed.sources?.[String(fact)] ?? {}),
  };
}

/** Every fact that carried some of the score, heaviest first, once. */
function singleFacts(links: readonly Link[], share: ReadonlyMap<number, number>): Reason[] {
  const found = new Map<number, { share: number; sentence: string; part: undefined; links: number[] }>();
  for (const { id, fact, sentence } of links) {
    const mine = share.get(id) ?? 0;
    if (mine <= 0) continue;
    const had = found.get(fact) ?? { share: 0, sentence, part: undefined, links: [] };
    found.set(fact, { ...had, share: had.share + mine, links: [...had.links, id] });
  }
  return [...found.values()].toSorted((a, b) => b.share - a.share);
}

/** Times as numbers that can be subtracted: years and steps as they are, dates as milliseconds. */
export function moments(times: readonly string[]): number[] {
  if (times.every((time) => /^-?\d+$/.test(time))) return times.map(Number);
  const numbers = times.map((time) => {
    const [date = "", clock = ""] = time.split("T");
    const full = clock.length === 0 ? date : `${date}T${clock.length === 2 ? `${clock}:00` : clock}Z`;
    return Date.parse(full);
  });
  if (numbers.every(Number.isFinite)) return numbers;
  const order = new Map([...new Set(times)].sort().map((time, place) => [time, place]));
  return times.map((time) => order.get(time) ?? 0);
}
