import { expect, test } from "vitest";
import { unpack } from "../src/document";
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
