import { expect, test } from "vitest";
import { bundled, LEVELS, toldLink } from "../src/bundle";
import { unpack, type Packed } from "../src/document";
import { chosen, frames, LEASTS, moment, tidy } from "../src/view";
import { made, SMALL } from "./made";

const story = unpack(SMALL);
const ids = (candidate: number, least: number, pruned: boolean): number[] =>
  chosen(story, { candidate, least, pruned }).map(({ id }) => id);

test("a replay starts at the question, then expands and prunes as often as there are steps", () => {
  expect(frames(2).map(({ kind, step }) => `${kind} ${String(step)}`)).toEqual([
    "initialise 0",
    "expand 1",
    "prune 1",
    "expand 2",
    "prune 2",
  ]);
});

test("the filter keeps what carried enough of the candidate's score", () => {
  expect(ids(0, 0, false)).toEqual([0, 2]);
  expect(ids(0, 0.5, false)).toEqual([0]);
  expect(ids(1, 0.5, false)).toEqual([0, 2]);
  expect(ids(0, 0, true)).toEqual([0, 1, 2, 3]);
  expect(ids(0, 0.5, true)).toEqual([0, 1, 3]);
});

test("what is shown hangs together with the question even where no single link there is heavy enough", () => {
  const split = unpack({ ...SMALL, candidates: [{ entity: "C", edge: [0, 4], share: [0.2, 0.9], paths: [] }] });
  expect(chosen(split, { candidate: 0, least: 0.5, pruned: false }).map(({ id }) => id)).toEqual([0, 2]);
});

test("every link of every filter can be walked back to the question", () => {
  for (const seed of [1, 2, 3]) {
    const big = unpack(made(120, seed));
    for (const least of LEASTS) {
      const links = chosen(big, { candidate: 0, least, pruned: true });
      const into = new Map(links.map((link) => [link.target, link.source]));
      for (const link of links) {
        let node = link.source;
        for (let hops = 0; node !== 0; hops++) {
          expect(hops).toBeLessThan(9);
          const next = into.get(node);
          if (next === undefined) throw new Error(`node ${String(node)} hangs in the air`);
          node = next;
        }
      }
    }
  }
});

test("what is pruned is there when expanded, fades when pruned, and is gone after", () => {
  const links = chosen(story, { candidate: 0, least: 0, pruned: true });
  const standing = frames(2).map((frame) => {
    const now = moment(story.steps, story.nodes, links, frame);
    return [0, 1, 2, 3].map((id) => now.link.get(id)?.[0]).join("");
  });
  expect(standing).toEqual(["aaaa", "ppaa", "pfaa", "papp", "pfpf"]); // the end looks back at everything pruned
  expect([...moment(story.steps, story.nodes, links, { kind: "prune", step: 1 }).node]).toEqual([
    [0, "present"],
    [1, "present"],
    [2, "fading"],
  ]);
});

test("attention is that of the moment: expanding does not move it, pruning does", () => {
  const links = chosen(story, { candidate: 0, least: 0, pruned: true });
  const at = (kind: "expand" | "prune", step: number): (number | undefined)[] => {
    const { attention } = moment(story.steps, story.nodes, links, { kind, step });
    return [0, 1, 3].map((id) => attention.get(id));
  };
  expect(at("expand", 1)).toEqual([1, 0, 0]);
  expect(at("prune", 1)).toEqual([0.2, 0.8, 0]);
  expect(at("expand", 2)).toEqual([0.2, 0.8, 0]);
  expect(at("prune", 2)).toEqual([0, 0.6, 0.4]);
  expect(moment(story.steps, story.nodes, links, { kind: "expand", step: 2 }).contribution.get(0)).toBe(0.7);
});

test("a first picture is small", () => {
  const big = unpack(made(300));
  const least = tidy(big, 0, 24);
  const size = (value: number): number =>
    new Set(chosen(big, { candidate: 0, least: value, pruned: false }).map(({ target }) => target)).size;
  expect(size(least)).toBeLessThanOrEqual(24);
  expect(size(LEASTS[LEASTS.indexOf(least) - 1] ?? 0)).toBeGreaterThan(24);
});

test("where the next share would leave next to nothing, there is a little more", () => {
  const shares = [0.2, ...Array<number>(29).fill(0.004)];
  const packed = made(31);
  const even = unpack({
    ...packed,
    candidates: [{ ...packed.candidates[0], entity: "B", paths: [], edge: [...Array(30).keys()], share: shares }],
  });
  expect(tidy(even, 0, 24)).toBe(0.001);
  expect(tidy(even, 0, 12)).toBe(0.005);
});

/** A met B, who met the answer C on two days, by walks that share the first fact. */
const WALKED: Packed = {
  ...SMALL,
  names: ["A", "B", "C", "visits", "2024-01-10", "2024-01-08", "2024-01-07", "2024-01-06", "walk", "prior", "D", "E"],
  answers: [{ entity: "C", score: 1, reached: true }],
  answer: "C",
  nodes: {
    entity: [0, 1, 2, 2],
    time: [4, 5, 6, 7],
    attention: Array<number[]>(4).fill([1, 1, 1]),
  },
  facts: { subject: [0, 1, 1], relation: [3, 3, 3], object: [1, 2, 2], time: [5, 6, 7], sentence: ["m", "n", "o"] },
  edges: {
    source: [0, 1, 1],
    target: [1, 2, 3],
    fact: [0, 1, 2],
    step: [1, 1, 1],
    contribution: [1, 1, 1],
    kept: [1, 1, 1],
    part: [8, 8, 8],
  },
  candidates: [{ entity: "C", edge: [0, 1, 2], share: [0.9, 0.3, 0.6], paths: [] }],
};

test("what is shown leads to the answer even where no single way on is heavy enough", () => {
  const shown = chosen(unpack(WALKED), { candidate: 0, least: 0.95, pruned: false });
  expect(shown).toEqual([]);
  const split = { ...WALKED, candidates: [{ entity: "C", edge: [0, 1, 2], share: [0.9, 0.03, 0.04], paths: [] }] };
  expect(chosen(unpack(split), { candidate: 0, least: 0.5, pruned: false }).map(({ id }) => id)).toEqual([0, 2]);
});

test("at first what carried less than one part in a hundred is left out, unless there is nothing else", () => {
  const carried = (share: number[]): number => {
    const story = unpack({ ...WALKED, candidates: [{ entity: "C", edge: [0, 1, 2], share, paths: [] }] });
    return tidy(story, 0, 24);
  };
  expect(carried([0.9, 0.003, 0.897])).toBe(0.01);
  expect(carried([0.009, 0.003, 0.006])).toBe(0.005);
});

test("what others did to the answer is one line, seen at first however many they are", () => {
  const many = 40;
  const place = [...Array(many).keys()];
  const names = ["A", "C", "visits", "2012", "2011", "2010", "prior", ...place.map((one) => `other ${String(one)}`)];
  const packed: Packed = {
    ...WALKED,
    query: { subject: "A", relation: "visits", object: "?", time: "2012" },
    names,
    nodes: {
      entity: [0, 1, 1, ...place.map((one) => one + 7)],
      time: [3, 4, 5, ...place.map((one) => 4 + (one % 2))],
      attention: Array<number[]>(many + 3).fill([1, 1, 1]),
    },
    facts: {
      subject: place.map((one) => one + 7),
      relation: place.map(() => 2),
      object: place.map(() => 1),
      time: place.map((one) => 4 + (one % 2)),
      sentence: place.map((one) => `fact ${String(one)}`),
    },
    edges: {
      source: place.map((one) => one + 3),
      target: place.map((one) => 1 + (one % 2)),
      fact: place,
      step: place.map(() => 1),
      contribution: place.map(() => 1),
      kept: place.map(() => 1),
      part: place.map(() => 6),
    },
    candidates: [{ entity: "C", edge: place, share: place.map(() => 1 / many), paths: [] }],
  };
  const story = unpack(packed);
  const shown = chosen(story, { candidate: 0, least: tidy(story, 0, 24), pruned: false });
  expect(shown).toHaveLength(many);
  const [level] = LEVELS;
  if (!level) throw new Error("no levels");
  const { nodes, links } = bundled(story, shown, story.candidates[0], level);
  expect(nodes.map(({ entity, label, time }) => label ?? `${entity} ${time}`)).toEqual([
    "A 2012",
    "C 2011",
    "40 others",
  ]);
  expect(links.map((link) => toldLink(story, link))).toEqual(["visits ×40, 2010–2011"]);
});
