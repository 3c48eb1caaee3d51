import { expect, test } from "vitest";
import { bundled, LEVELS, toldLink } from "../src/bundle";
import { unpack, type Packed } from "../src/document";
import type { Scene } from "../src/draw";
import { aboutLink } from "../src/side";
import { LEGIBLE, sceneOf, zoomOf } from "../src/scene";
import { byTable } from "../src/text";
import { chosen, shareOf } from "../src/view";
import { made } from "./made";

const [REPEATS, ENTITIES] = LEVELS;
if (!REPEATS || !ENTITIES) throw new Error("no levels");

/** A consulted B on three days and praised it once; B praised A on one of them; B of the first day met C. */
const REPEATED: Packed = {
  format: "xerte-picture-1",
  query: { subject: "A", relation: "visits", object: "?", time: "2024-01-10" },
  model: "xerte",
  answers: [{ entity: "B", score: 1, reached: true }],
  answer: "B",
  steps: 2,
  unseen: 0,
  names: ["A", "B", "C", "consults", "praises", "2024-01-10", "2024-01-08", "2024-01-07", "2024-01-06", "2024-01-01"],
  nodes: {
    entity: [0, 1, 1, 1, 2],
    time: [5, 6, 7, 8, 9],
    attention: [
      [1, 0, 0],
      [0, 0.5, 0.5],
      [0, 0.3, 0.2],
      [0, 0.2, 0.2],
      [0, 0, 0.1],
    ],
  },
  facts: {
    subject: [0, 0, 0, 0, 1, 1],
    relation: [3, 3, 3, 4, 4, 3],
    object: [1, 1, 1, 1, 0, 2],
    time: [6, 7, 8, 7, 7, 9],
    sentence: ["c8", "c7", "c6", "p7", "q7", "m"],
  },
  edges: {
    source: [0, 0, 0, 0, 0, 1],
    target: [1, 2, 3, 2, 2, 4],
    fact: [0, 1, 2, 3, 4, 5],
    step: [1, 1, 1, 1, 1, 2],
    contribution: [0.5, 0.2, 0.2, 0.1, 0.05, 0.1],
    kept: [1, 1, 1, 1, 1, 1],
  },
  candidates: [{ entity: "B", edge: [0, 1, 2, 3, 4], share: [0.5, 0.2, 0.2, 0.07, 0.03], paths: [] }],
};

test("facts weighed as they are become one line to their own last day, though more happened on another", () => {
  const { edges, names } = REPEATED;
  const place = [0, 1, 2, 3, 4];
  const story = unpack({
    ...REPEATED,
    names: [...names, "past"],
    edges: {
      ...edges,
      ...Object.fromEntries(Object.entries(edges).map(([name, all]) => [name, all.slice(0, 5)])),
      part: place.map(() => names.length),
    },
  });
  const { nodes, links } = bundled(story, story.links, story.candidates[0], REPEATS);
  const time = new Map(nodes.map((node) => [node.id, node.time]));
  expect(links.map((link) => `${toldLink(story, link)}, last ${time.get(link.target) ?? ""}`)).toEqual([
    "consults ×3, last 2024-01-08",
    "praises, last 2024-01-07",
  ]);
});

test("repeats of a fact become one line to the latest, with all their shares; other relations stay apart", () => {
  const story = unpack(REPEATED);
  const candidate = story.candidates[0];
  const { nodes, links } = bundled(story, story.links, candidate, REPEATS);
  expect(nodes.map(({ entity, time, count }) => [entity, time, count])).toEqual([
    ["A", "2024-01-10", undefined],
    ["B", "2024-01-08", 3],
    ["C", "2024-01-01", undefined],
  ]);
  expect(nodes[1]?.attention).toEqual([0, 1, 0.8999999999999999]);
  const told = links.map((link) => [toldLink(story, link), link.heads, Number(shareOf(candidate, link).toFixed(9))]);
  expect(told).toEqual([
    ["consults ×3", [1], 0.9],
    ["praises", [1, 0], 0.1], // A praised B and B praised A on the same day
    ["consults", [4], 0],
  ]);
});

/** A and B are married from 2001 to 2004, told by both; the walks run A – B and A – B – A – B. */
const MARRIED: Packed = {
  ...REPEATED,
  query: { subject: "A", relation: "marries", object: "?", time: "2010" },
  steps: 3,
  names: ["A", "B", "C", "marries", "meets", "2010", "2004", "2003", "2002", "2001"],
  nodes: {
    entity: [0, 1, 1, 0, 1],
    time: [5, 6, 7, 8, 9],
    attention: [[1], [0.6], [0.4], [0.5], [0.5]],
  },
  facts: {
    subject: [0, 1, 0, 1, 0, 1],
    relation: [3, 3, 3, 3, 3, 3],
    object: [1, 0, 1, 0, 1, 0],
    time: [6, 6, 7, 8, 9, 9],
    sentence: ["a04", "b04", "a03", "b02", "a01", "b01"],
  },
  edges: {
    source: [0, 0, 0, 1, 2, 3, 3],
    target: [1, 1, 2, 3, 3, 4, 4],
    fact: [0, 1, 2, 3, 3, 4, 5],
    step: [1, 1, 1, 2, 2, 3, 3],
    contribution: [0.4, 0.2, 0.4, 0.3, 0.2, 0.3, 0.2],
    kept: [1, 1, 1, 1, 1, 1, 1],
  },
  candidates: [{ entity: "B", edge: [0, 1, 2, 3, 4, 5, 6], share: [0.4, 0.2, 0.4, 0.3, 0.2, 0.3, 0.2], paths: [] }],
};

test("a long marriage is one line to the other and one to and fro, and a walk that comes back is counted once", () => {
  const story = unpack(MARRIED);
  const candidate = story.candidates[0];
  const { nodes, links } = bundled(story, story.links, candidate, REPEATS);
  expect(nodes.map(({ entity, time, count }) => [entity, time, count])).toEqual([
    ["A", "2010", undefined],
    ["B", "2004", 3],
    ["A", "2002", undefined],
  ]);
  const told = links.map((link) => [toldLink(story, link), [...link.heads].sort(), link.members]);
  expect(told).toEqual([
    ["marries ×2, 2003–2004", [0, 1], [0, 1, 2]],
    ["marries ×2, 2001–2002", [1, 3], [3, 4, 5, 6]],
  ]);
  expect(links.map((link) => shareOf(candidate, link))).toEqual([1, 0.5]); // not 1: there and back
});

test("what a line carried is called the least it can be where ways are left out", () => {
  const { edges, candidates, names } = REPEATED;
  const told = (part: boolean, rest: number): string => {
    const story = unpack({
      ...REPEATED,
      names: [...names, "walk"],
      edges: part ? { ...edges, part: edges.source.map(() => names.length) } : edges,
      candidates: candidates.map((one) => ({ ...one, rest })),
    });
    const [link] = story.links;
    if (!link) throw new Error("no link");
    return aboutLink({ story, candidate: story.candidates[0] } as Scene, link)[1] ?? "";
  };
  expect(told(true, 0.1)).toContain("carried at least 50.0 %");
  expect([told(true, 0), told(false, 0.1)].map((text) => text.includes("at least"))).toEqual([false, false]);
});

test("all facts between two: the arrow, the number and the date are those of what is written", () => {
  const { edges, facts } = REPEATED;
  const story = unpack({
    ...REPEATED,
    steps: 1,
    names: [...REPEATED.names, "past"],
    facts: { ...facts, relation: [3, 3, 3, 4, 3, 3], time: [6, 7, 8, 7, 6, 9] }, // on the 8th B consulted A, too
    edges: { ...edges, part: edges.source.map(() => REPEATED.names.length), target: [1, 2, 3, 2, 1, 4] },
    candidates: [{ entity: "B", edge: [0, 1, 2, 3, 4], share: [0.1, 0.2, 0.3, 0.5, 0.03], paths: [] }],
  });
  const candidate = story.candidates[0];
  const { nodes, links } = bundled(story, story.links.slice(0, 5), candidate, ENTITIES);
  expect(links.map((link) => [toldLink(story, link), link.heads])).toEqual([["praises + 2 more", [2]]]);
  expect(nodes.map(({ entity, time }) => [entity, time])).toEqual([
    ["A", "2024-01-10"],
    ["B", "2024-01-07"],
  ]);
});

test("who came back from elsewhere, too, is not counted once: to and fro stay two lines", () => {
  const { nodes, edges, candidates, ...rest } = MARRIED;
  const story = unpack({
    ...rest,
    candidates,
    nodes: { entity: [...nodes.entity, 2], time: [...nodes.time, 7], attention: [...nodes.attention, [0.1]] },
    facts: {
      subject: [...MARRIED.facts.subject, 2],
      relation: [...MARRIED.facts.relation, 4],
      object: [...MARRIED.facts.object, 0],
      time: [...MARRIED.facts.time, 8],
      sentence: [...MARRIED.facts.sentence, "c02"],
    },
    edges: {
      source: [...edges.source, 5],
      target: [...edges.target, 3],
      fact: [...edges.fact, 6],
      step: [...edges.step, 2],
      contribution: [...edges.contribution, 0.1],
      kept: [...edges.kept, 1],
    },
  });
  const { links } = bundled(story, story.links, story.candidates[0], REPEATS);
  const shares = links.map((link) => [link.source, link.target, shareOf(story.candidates[0], link)]);
  expect(shares).toEqual([
    [0, 1, 1],
    [1, 3, 0.5],
    [3, 1, 0.5],
    [5, 3, 0],
  ]);
});

test("a line that stands for several relations has the heads of the one that is written on it", () => {
  const story = unpack(REPEATED);
  const { links } = bundled(story, story.links, story.candidates[0], ENTITIES);
  expect(links.map((link) => [toldLink(story, link), link.heads, link.members])).toEqual([
    ["consults ×3 + 1 more", [1], [0, 1, 2, 3, 4]],
    ["consults", [4], [5]],
  ]);
});

test("who is not named is among the others, and nobody is lost", () => {
  for (const seed of [1, 2, 3]) {
    const story = unpack(made(120, seed));
    const links = chosen(story, { candidate: 0, least: 0, pruned: true });
    for (const level of LEVELS) {
      const drawn = bundled(story, links, story.candidates[0], level);
      expect(drawn.nodes.reduce((sum, node) => sum + (node.count ?? 1), 0)).toBe(120);
      expect(drawn.nodes.filter(({ label }) => !label).length).toBeLessThanOrEqual(level.most + 1 + 40);
      const ids = new Set(drawn.nodes.map(({ id }) => id));
      for (const link of drawn.links) expect([link.source, link.target].every((end) => ids.has(end))).toBe(true);
      expect(new Set(drawn.links.flatMap(({ members }) => members)).size).toBeLessThanOrEqual(links.length);
    }
  }
});

test.each([5, 50, 500])("%i nodes are legible on a screen and on a phone", (count) => {
  const story = unpack(made(count));
  for (const room of [
    { width: 920, height: 560 },
    { width: 390, height: 420 },
  ]) {
    const scene = sceneOf(story, { candidate: 0, least: 0, pruned: true }, byTable, room);
    expect(scene.layout.scale.small * zoomOf(scene, room)).toBeGreaterThanOrEqual(LEGIBLE);
    expect(scene.drawn.nodes.reduce((sum, node) => sum + (node.count ?? 1), 0)).toBe(count);
  }
});
