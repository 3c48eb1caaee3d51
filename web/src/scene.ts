/** From a story and a choice to a scene: the one layout that the page, the notebook and the figures share. */
import { curves } from "./curve";
import { bounds, draw, type Scene } from "./draw";
import type { Story } from "./document";
import { legend } from "./legend";
import { layOut, nodesOf, type Room } from "./layout";
import { placed } from "./labels";
import { markup, shape } from "./shape";
import { readable, wrapped, type Measure } from "./text";
import type { Theme } from "./theme";
import { chosen, frames, moment, peak, shareOf, type Choice } from "./view";

/** How many relations are written on their lines, by how many nodes there are. */
const written = (nodes: number): number => (nodes <= 60 ? 60 : 24);

export function sceneOf(story: Story, choice: Choice, measure: Measure, room: Room): Scene {
  const links = chosen(story, choice);
  const candidate = story.candidates[choice.candidate];
  const layout = layOut(story, links, candidate?.entity ?? null, measure, room);
  const ways = curves(links, layout);
  const { query } = story;
  const known = readable(query.subject === "?" ? query.object : query.subject);
  const relation = readable(query.relation);
  const asked = {
    known: wrapped(known, 22, 3),
    rest: [...wrapped(query.subject === "?" ? `? ${relation}` : `${relation} ?`, 24, 3), query.time],
  };
  const order = links.toSorted(
    (a, b) => shareOf(candidate, b.id) - shareOf(candidate, a.id) || peak(b) - peak(a) || a.id - b.id,
  );
  const count = nodesOf(story, links).length;
  const labels = placed(layout, order, ways, asked, measure, written(count));
  return { story, layout, links, labels, candidate };
}

/** Of a figure, unless there is too much in it: its letters stay legible across a page of a paper. */
const PAGE: Room = { width: 1000, height: 500 };

/** A whole SVG document of the last moment, for papers. */
export function figure(story: Story, choice: Choice, theme: Theme, measure: Measure): string {
  const scene = sceneOf(story, choice, measure, PAGE);
  const last = frames(story.steps).at(-1) ?? { kind: "initialise", step: 0 };
  const box = bounds(scene);
  const key = legend(scene, theme, measure, box.x + 18, box.y + box.height + 4);
  const [x, y, width, height] = [box.x, box.y, Math.max(box.width, key.width + 36), box.height + 18].map(Math.round);
  const paper = shape("rect", { x, y, width, height, fill: theme.paper });
  const set = { xmlns: "http://www.w3.org/2000/svg", viewBox: [x, y, width, height].join(" "), width, height };
  const now = moment(story, scene.links, last);
  const keys = shape("g", { class: "legend" }, key.shapes);
  return markup(shape("svg", set, [paper, ...draw(scene, now, theme), keys]));
}
