import { describe, expect, test } from "vitest";
import { AXIS } from "../src/axis";
import { curves, type Curve } from "../src/curve";
import { bounds, draw } from "../src/draw";
import { unpack } from "../src/document";
import { overlap, placed } from "../src/labels";
import { columns, type Scale } from "../src/layout";
import { figure, sceneOf } from "../src/scene";
import { markup, shape } from "../src/shape";
import { byTable, wrapped } from "../src/text";
import { LIGHT } from "../src/theme";
import { moment, type Frame } from "../src/view";
import { made, SMALL } from "./made";

const ROOM = { width: 1000, height: 625 };
const ALL = { candidate: 0, least: 0, pruned: true };

test("columns lie in the order of time; a longer gap is wider, but not in proportion", () => {
  const found = columns(["2024-01-10", "2024-01-09", "2023-01-09", "2024-01-10"], 100);
  expect(found.map(({ time }) => time)).toEqual(["2023-01-09", "2024-01-09", "2024-01-10"]);
  const [a = 0, b = 0, c = 0] = found.map(({ x }) => x);
  expect(c - b).toBe(100);
  expect(b - a).toBe(200);
});

describe.each([5, 50, 500])("%i nodes", (count) => {
  const story = unpack(made(count));
  const scene = sceneOf(story, ALL, byTable, ROOM);
  const places = [...scene.layout.places.values()];

  test("all are there, and time runs to the right with the question at its end", () => {
    expect(places.reduce((sum, { node }) => sum + (node.count ?? 1), 0)).toBe(count);
    expect(places.length).toBeGreaterThanOrEqual({ 5: 3, 50: 24, 500: 20 }[count] ?? NaN);
    const x = new Map(places.map(({ node, x }) => [node.time, x]));
    const times = [...x.keys()].sort();
    const along = times.map((time) => x.get(time) ?? NaN);
    expect(along).toEqual(along.toSorted((a, b) => a - b));
    expect(scene.layout.places.get(0)?.x).toBe(Math.max(...along));
  });

  test("no label lies on another or on a node", () => {
    const boxes = scene.labels.map(({ box, key }) => ({ box, key }));
    const nodes = places.map(({ x, y, radius, node }) => ({
      box: { x: x - radius, y: y - radius, width: 2 * radius, height: 2 * radius },
      key: `node ${String(node.id)}`,
    }));
    const clashes = boxes.flatMap((one, place) =>
      [...boxes.slice(place + 1), ...nodes]
        .filter((other) => overlap(one.box, other.box))
        .map(({ key }) => [one.key, key]),
    );
    expect(clashes).toEqual([]);
  });

  test("every label lies within the picture, and none on the line of the axis", () => {
    const whole = bounds(scene);
    const line = { x: whole.x, y: scene.layout.bottom + AXIS - 1, width: whole.width, height: 2 };
    for (const { box, key } of scene.labels) {
      expect([box.x >= whole.x, box.x + box.width <= whole.x + whole.width], key).toEqual([true, true]);
      expect([box.y >= whole.y, box.y + box.height <= whole.y + whole.height], key).toEqual([true, true]);
      expect(overlap(box, line), key).toBe(false);
    }
  });

  test("no node lies on another", () => {
    const clashes = places.flatMap((one, place) =>
      places
        .slice(place + 1)
        .filter((other) => Math.hypot(one.x - other.x, one.y - other.y) < one.radius + other.radius),
    );
    expect(clashes).toEqual([]);
  });

  test("every entity keeps to one row and is named", () => {
    const named = new Set(scene.labels.filter(({ kind }) => kind === "name").map(({ of }) => of));
    for (const lane of scene.layout.lanes) {
      expect(new Set(lane.nodes.map(({ y }) => y)).size).toBe(1);
      if (lane.nodes[0]?.node.id !== 0) expect(named).toContain(lane.entity);
    }
  });

  test("it is drawn the same every time", () => {
    expect(figure(story, ALL, LIGHT, byTable)).toBe(figure(unpack(made(count)), ALL, LIGHT, byTable));
  });
});

// Advances of DejaVu Sans, in thousandths of its size: plain and bold.
test.each([
  ["Old Anvil Brigade", 8673, 9811],
  ["Express intent to meet or negotiate", 17870, 20214],
  ["reports to", 4919, 5654],
  ["2014-11-09", 5812, 6396],
  ["Illinois", 3173, 3737],
])("%s has room in the widest font that systems fall back to", (text, plain, bold) => {
  const room = [byTable(text, 1000), byTable(text, 1000, true)];
  expect(room[0]).toBeGreaterThanOrEqual(plain);
  expect(room[1]).toBeGreaterThanOrEqual(bold);
  expect(room[0]).toBeLessThan(1.2 * plain);
  expect(room[1]).toBeLessThan(1.2 * bold);
});

test("of the question just the lines of its name are bold, however many", () => {
  const asked = { ...SMALL.query, subject: "Ministry of Justice of Druerugard" };
  const drawn = figure(unpack({ ...SMALL, query: asked }), ALL, LIGHT, byTable);
  const text = /<text class="label question".*?<\/text>/.exec(drawn)?.[0] ?? "";
  const lines = [...text.matchAll(/<tspan([^>]*)>([^<]*)</g)].map(([, set, line]) => [line, set?.includes("bold")]);
  expect(lines).toEqual([
    ["Ministry of Justice of", true],
    ["Druerugard", true],
    ["visits ?", false],
    ["2024-01-10", false],
  ]);
});

test("many columns move together, as far as their labels allow", () => {
  const story = unpack(made(20));
  const scale = (width: number): Scale => sceneOf(story, ALL, byTable, { width, height: 500 }).layout.scale;
  expect(scale(5000)).toMatchObject({ column: 1.5 * 84, small: 11 });
  const { layout } = sceneOf(story, ALL, byTable, { width: 1400, height: 500 });
  expect(layout.scale.column).toBeLessThan(1.5 * 84);
  expect(layout.right - layout.left).toBeGreaterThan(1000);
});

test("a label beside a node gives way while the node is larger", () => {
  const story = unpack(SMALL);
  const scene = sceneOf(story, ALL, byTable, ROOM);
  const end = 6 + 21 * Math.sqrt(0.6 / 0.8); // B's attention at the end, and the largest that any node ever has
  expect(scene.layout.places.get(1)?.radius).toBeCloseTo(end);
  const side = scene.labels.find(({ key }) => key === "date 1")?.beside?.y ?? NaN;
  const y = (frame: Frame): number => {
    const drawn = markup(
      shape("g", {}, draw(scene, moment(story.steps, scene.drawn.nodes, scene.links, frame), LIGHT)),
    );
    return Number(/class="label date" x="[^"]*" y="([^"]*)"[^>]*><tspan[^>]*>2024-01-08/.exec(drawn)?.[1]);
  };
  const [before, after] = [y({ kind: "prune", step: 1 }), y({ kind: "prune", step: 2 })];
  expect(side * (before - after)).toBeCloseTo(27 - end, 1);
});

test("an arrow ends at the rim of the earlier node and starts at the later one", () => {
  const story = unpack(SMALL);
  const { layout, links } = sceneOf(story, ALL, byTable, ROOM);
  const ways = curves(links, layout);
  for (const link of links) {
    const way = ways.get(link.id);
    const [source, target] = [layout.places.get(link.source), layout.places.get(link.target)];
    if (!way || !source || !target) throw new Error("a link has no way");
    expect(target.x).toBeLessThan(source.x);
    expect(Math.hypot(way.to.x - target.x, way.to.y - target.y)).toBeCloseTo(target.radius + 2.5);
    expect(Math.hypot(way.from.x - source.x, way.from.y - source.y)).toBeCloseTo(source.radius + 1.5);
  }
});

test("the question mark stays with its relation", () => {
  expect(wrapped("Host a visit\u00a0?", 12, 3)).toEqual(["Host a", "visit ?"]);
});

test("on a phone no relation is written across a bundle of lines", () => {
  const across = (room: typeof ROOM) => {
    const { layout, links } = sceneOf(unpack(SMALL), ALL, byTable, room);
    const [link] = links;
    if (!link) throw new Error("there is a link");
    const bundle = [...Array(32).keys()].map((id) => {
      const [from, to] = [500, 900].map((y) => ({ x: 500 + id, y }));
      return [id, { from, out: from, in: to, to } as Curve] as const;
    });
    const many = bundle.map(([id]) => ({ ...link, id }));
    const labels = placed(layout, many, new Map(bundle), { known: [], rest: [] }, byTable, () => "Consult");
    return labels.filter(({ kind }) => kind === "relation").length;
  };
  expect(across({ width: 348, height: 460 })).toBe(0);
  expect(across(ROOM)).toBeGreaterThan(5);
});
