import { expect, test } from "vitest";
import { moments, unpack } from "../src/document";
import { SMALL } from "./made";

test("looks at one fact from one node are one link, and self-loops are none", () => {
  const story = unpack(SMALL);
  expect(story.links.map(({ source, target }) => [source, target])).toEqual([
    [0, 1],
    [0, 2],
    [1, 3],
    [1, 4],
  ]);
  expect(story.links[0]?.looks).toEqual([
    { step: 1, contribution: 0.7, kept: true },
    { step: 2, contribution: 0.15, kept: true },
  ]);
});

test("an arrow's head is at the object, whichever way the model went", () => {
  expect(unpack(SMALL).links.map(({ heads }) => heads)).toEqual([[1], [0], [3], [4]]);
});

test("a fact of others in a document of 0.1 has no head and says whose it is", () => {
  const facts = { ...SMALL.facts, subject: [3, 3, 1, 1] }; // D visited B, drawn as a way from A
  const [link] = unpack({ ...SMALL, facts }).links;
  expect([link?.heads, link?.relation]).toEqual([[], "D: visits"]);
});

test("reasons know their links; a document of 0.1 has single facts instead, each once with all its shares", () => {
  const [first] = SMALL.candidates;
  if (!first) throw new Error("no candidate");
  const reasons = [{ share: 0.9, sentence: "A visited B.", part: "graph", edges: [0, 3, 4] }];
  const [one] = unpack({ ...SMALL, candidates: [{ ...first, reasons, rest: 0.1 }] }).candidates;
  expect(one?.reasons).toEqual([{ share: 0.9, sentence: "A visited B.", part: "graph", links: [0, 2] }]);
  expect(one?.rest).toBe(0.1);
  const before = unpack(SMALL).candidates.map(({ reasons }) => reasons.map(({ share, links }) => [share, links]));
  expect(before).toEqual([
    [[1, [0]]],
    [
      [1, [0]],
      [1, [2]],
    ],
  ]);
});

test("ranks and scores are those of the answers; who was not reached has neither", () => {
  const candidates = [...SMALL.candidates, { entity: "D", edge: [], share: [], paths: [] }];
  const answers = [...SMALL.answers, { entity: "D", score: 0, reached: false }];
  const told = unpack({ ...SMALL, candidates, answers }).candidates.map(({ rank, score }) => [rank, score]);
  expect(told).toEqual([
    [1, 0.6],
    [2, 0.4],
    [null, null],
  ]);
});

test("everything pruned is counted, in the document or not", () => {
  expect(unpack(SMALL).pruned).toBe(7 + 2);
  expect(unpack({ ...SMALL, pruned: 521 }).pruned).toBe(521);
});

test("labels tell what codes stand for and leave other names alone", () => {
  const story = unpack({ ...SMALL, labels: { A: "Ann" } });
  expect([story.name("A"), story.name("<B_C>"), story.nodes[0]?.entity]).toEqual(["Ann", "B C", "A"]);
  expect(["<playsFor>", "<McDonald>", "playsFor"].map(story.name)).toEqual(["plays for", "McDonald", "playsFor"]);
});

test("shares of the looks add up for the link, candidate by candidate", () => {
  const [b, c] = unpack(SMALL).candidates;
  expect([...(b?.share ?? [])]).toEqual([[0, 1]]);
  expect([...(c?.share ?? [])]).toEqual([
    [0, 1],
    [2, 1],
  ]);
  expect([b?.score, c?.score]).toEqual([0.6, 0.4]);
});

test("documents of another form or with missing rows are refused", () => {
  expect(() => unpack({ ...SMALL, format: "xerte-picture-0" })).toThrow("xerte-picture-1");
  expect(() => unpack({ ...SMALL, names: [] })).toThrow(RangeError);
});

test("a document of this form from before there were notes has none", () => {
  const { notes, ...before } = { ...SMALL, notes: ["hidden: A visited B."] };
  expect(unpack({ ...before, notes }).notes).toEqual(["hidden: A visited B."]);
  expect(unpack(before).notes).toEqual([]);
});

test("times of every calendar become numbers in the right order and distance", () => {
  expect(moments(["1997", "2003"])).toEqual([1997, 2003]);
  expect(moments(["-3", "12"])).toEqual([-3, 12]);
  const [a = 0, b = 0, c = 0] = moments(["2014-11-09", "2014-11-09T13", "2014-11-09T13:30"]);
  expect([b - a, c - b]).toEqual([13 * 3_600_000, 1_800_000]);
  const [month = 0, next = 0] = moments(["2014-10", "2014-11"]);
  expect(next - month).toBe(31 * 86_400_000);
  expect(moments(["late", "early", "late"])).toEqual([1, 0, 1]);
});
