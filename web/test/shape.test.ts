import { expect, test } from "vitest";
import { unpack } from "../src/document";
import { figure } from "../src/scene";
import { markup, shape } from "../src/shape";
import { byTable, namesInLines, readable, shortened, shortNames, wrapped } from "../src/text";
import { LIGHT, mixed } from "../src/theme";
import { SMALL } from "./made";

test("names never become markup", () => {
  const text = `</text><script>alert("1")</script>&\u0001`;
  expect(markup(shape("text", { title: text, x: 1.23456 }, text))).toBe(
    `<text title="&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;" x="1.23">` +
      `&lt;/text&gt;&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;</text>`,
  );
});

test("a figure holds the question, the answer, their colour, and nothing that was pruned", () => {
  const story = unpack(SMALL);
  const svg = figure(story, { candidate: 0, least: 0, pruned: false }, LIGHT, byTable);
  expect(svg.match(/class="node"/g)).toHaveLength(3);
  expect(svg.match(/class="link"/g)).toHaveLength(2);
  expect(svg).toContain(`>visits ?</tspan>`);
  expect(svg.split(`r="`).filter((part) => part.includes(`fill="${LIGHT.accent}" stroke=`))).toHaveLength(2 + 1);
});

test("a name takes a few lines before it is shortened, and names that begin alike are still told apart", () => {
  const long = "Ministry of Foreign Affairs of the Republic";
  const names = ["Mohammad Javad Zarif", `${long} of Mali`, `${long} of Chad`];
  const told = namesInLines(names, 12, 3);
  expect(told.get("Mohammad Javad Zarif")).toEqual(["Mohammad", "Javad Zarif"]);
  const [mali, chad] = names.slice(1).map((name) => told.get(name)?.join(" "));
  expect(mali).not.toBe(chad);
  for (const lines of told.values()) expect(lines.length).toBeLessThanOrEqual(3);
});

test("text is measured by the table, shortened and wrapped", () => {
  expect(byTable("Mali", 10)).toBeCloseTo((1.17 * (833 + 556 + 222 + 222)) / 100);
  expect(byTable("日本", 10)).toBe(20);
  expect(shortened("Cabinet of Ministers", 9)).toBe("Cabinet…");
  expect(wrapped("Express intent to meet or negotiate", 17, 3)).toEqual(["Express intent to", "meet or negotiate"]);
  expect(wrapped("one two three four", 5, 2)).toEqual(["one", "two…"]);
});

test("names that would look alike once shortened are told apart", () => {
  const names = ["Wales under-17 team", "Wales under-21 team", "Mali", "Cabinet of Ministers"];
  expect([...shortNames(names, 11)]).toEqual([
    ["Wales under-17 team", "…under-17…"],
    ["Wales under-21 team", "…under-21…"],
    ["Mali", "Mali"],
    ["Cabinet of Ministers", "Cabinet of…"],
  ]);
});

test("names are shown as people write them", () => {
  expect(["<Beverly_Adams>", "snake_case", "<>", "a < b > c"].map(readable)).toEqual([
    "Beverly Adams",
    "snake_case",
    "<>",
    "a < b > c",
  ]);
});

test("colours are mixed channel by channel", () => {
  expect(mixed("#000000", "#ff8000", 0.5)).toBe("#804000");
});
