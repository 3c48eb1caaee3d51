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

test("a fact told from its object is marked, one of a node with itself is not", () => {
  expect(unpack(SMALL).links.map(({ inverse }) => inverse)).toEqual([false, true, false, false]);
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
