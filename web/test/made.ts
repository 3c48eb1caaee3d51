/** Documents made by rule: `count` nodes, some kept, some pruned, with as many dates as a real graph has. */
import { FORMAT, type Packed } from "../src/document";

/** Draws that are the same every time. */
export function drawer(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return Math.floor((state / 0x80000000) * below);
  };
}

const day = (back: number): string => new Date(Date.UTC(2014, 10, 9) - back * 86_400_000).toISOString().slice(0, 10);

export function made(count: number, seed = 1): Packed {
  const draw = drawer(seed);
  const names = ["Catherine Ashton", day(0), "Make a visit", "Express intent to meet or negotiate", "Consult"];
  const place = (name: string): number => {
    if (!names.includes(name)) names.push(name);
    return names.indexOf(name);
  };
  const nodes = { entity: [0], time: [1], attention: [[1, 0.4, 0]] };
  const facts = {
    subject: [] as number[],
    relation: [] as number[],
    object: [] as number[],
    time: [] as number[],
    sentence: [] as string[],
  };
  const edges = {
    source: [] as number[],
    target: [] as number[],
    fact: [] as number[],
    step: [] as number[],
    contribution: [] as number[],
    kept: [] as number[],
  };
  const age = [0];
  const taken = new Set<string>();
  const share: number[] = [];
  const edge: number[] = [];
  for (let id = 1; id < count; id++) {
    const near = id > 4 && draw(2) === 1;
    const source = near ? 1 + draw(Math.min(id - 1, 12)) : 0;
    let back: number;
    let entity: number;
    do {
      back = (age[source] ?? 0) + 1 + draw(Math.min(90, 3 + count));
      entity = place(`Entity number ${String(draw(Math.max(3, count / 3)))} of the world`);
    } while (taken.has(`${String(entity)} ${String(back)}`));
    taken.add(`${String(entity)} ${String(back)}`);
    age.push(back);
    const kept = id < 40 || draw(4) === 0 ? 1 : 0;
    nodes.entity.push(entity);
    nodes.time.push(place(day(back)));
    nodes.attention.push([0, kept / (id + 1), kept / (id + 2)]);
    facts.subject.push(nodes.entity[source] ?? 0);
    facts.relation.push(3 + draw(2));
    facts.object.push(entity);
    facts.time.push(place(day(back)));
    facts.sentence.push(`Fact ${String(id)}.`);
    edges.source.push(source);
    edges.target.push(id);
    edges.fact.push(id - 1);
    edges.step.push(source === 0 ? 1 : 2);
    edges.contribution.push(1 / (id + 1));
    edges.kept.push(kept);
    if (kept) {
      edge.push(id - 1);
      share.push(1 / (id + 1) ** 2);
    }
  }
  const answer = names[nodes.entity[1] ?? 0] ?? "";
  return {
    format: FORMAT,
    query: { subject: "Catherine Ashton", relation: "Make a visit", object: "?", time: day(0) },
    model: "xerte",
    notes: [],
    answers: [{ entity: answer, score: 0.5, reached: true }],
    answer,
    steps: 2,
    unseen: 0,
    names,
    nodes,
    facts,
    edges,
    candidates: [{ entity: answer, edge, share, paths: [] }],
  };
}

/**
 * By hand: the question (0) looks at 1 and 2 in step 1, of which 2 is pruned; in step 2 it looks at 1 again, and 1 looks
 * at 3 (kept) and 4 (pruned). Two candidates: B (nodes 1 and 4) and C (node 3).
 */
export const SMALL: Packed = {
  format: FORMAT,
  query: { subject: "A", relation: "visits", object: "?", time: "2024-01-10" },
  model: "xerte",
  notes: [],
  answers: [
    { entity: "B", score: 0.6, reached: true },
    { entity: "C", score: 0.4, reached: true },
  ],
  answer: "B",
  steps: 2,
  unseen: 7,
  names: ["A", "B", "C", "D", "visits", "2024-01-10", "2024-01-08", "2024-01-07", "2024-01-02"],
  nodes: {
    entity: [0, 1, 3, 2, 1],
    time: [5, 6, 7, 8, 8],
    attention: [
      [1, 0.2, 0],
      [0, 0.8, 0.6],
      [0, 0, 0],
      [0, 0, 0.4],
      [0, 0, 0],
    ],
  },
  facts: {
    subject: [0, 3, 1, 1],
    relation: [4, 4, 4, 4],
    object: [1, 0, 2, 1],
    time: [6, 7, 8, 8],
    sentence: ["A visited B.", "A was visited by D.", "B visited C.", "B visited B."],
  },
  edges: {
    source: [0, 0, 0, 0, 1, 1],
    target: [1, 2, 0, 1, 3, 4],
    fact: [0, 1, -1, 0, 2, 3],
    step: [1, 1, 1, 2, 2, 2],
    contribution: [0.7, 0.1, 0.2, 0.15, 0.35, 0.05],
    kept: [1, 0, 1, 1, 1, 0],
  },
  candidates: [
    { entity: "B", edge: [0, 3], share: [0.75, 0.25], paths: [] },
    { entity: "C", edge: [0, 4], share: [1, 1], paths: [] },
  ],
};
