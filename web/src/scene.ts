/** From a story and a choice to a scene: the one layout that the page, the notebook and the figures share. */
import { bundled, LEVELS, nodesOf, toldLink, type Drawn } from "./bundle";
import { curves } from "./curve";
import { bounds, draw, type Scene } from "./draw";
import type { Candidate, Story } from "./document";
import { legend } from "./legend";
import { layOut, PHONE, scalesFor, type Room, type Scale } from "./layout";
import { placed } from "./labels";
import { markup, shape } from "./shape";
import { wrapped, type Measure } from "./text";
import type { Theme } from "./theme";
import { chosen, frames, moment, peak, shareOf, type Choice } from "./view";

/** The smallest letters that are shown, in pixels. */
export const LEGIBLE = 9;
/** A picture is not blown up further than this. */
const LARGEST = 1.25;
/** A node takes about so many square pixels; what has no chance to fit is not laid out. */
const CROWDED = 1600;
/** The question's name and relation have so many lines each; few are longer. */
const ASKED = 8;

/** How much a scene is to be zoomed to fill a room. */
export function zoomOf(scene: Scene, room: Room): number {
  const box = bounds(scene);
  return Math.min(LARGEST, room.width / box.width, room.height / box.height);
}

/** The scene that tells apart as much as stays legible when all of it fits into the room. */
export function sceneOf(story: Story, choice: Choice, measure: Measure, room: Room): Scene {
  const links = chosen(story, choice);
  const candidate = story.candidates[choice.candidate];
  const count = nodesOf(story, links).length;
  let scene: Scene | undefined;
  for (const level of LEVELS) {
    const last = level === LEVELS.at(-1);
    if (scene && !last && level.most !== Infinity && Math.min(count, level.most) * CROWDED > room.width * room.height)
      continue;
    const drawn = bundled(story, links, candidate, level);
    for (const scale of scalesFor(drawn.nodes.length, room)) {
      scene = laidOut(story, drawn, candidate, measure, room, scale);
      if (scale.small * zoomOf(scene, room) >= LEGIBLE) return scene;
    }
  }
  if (!scene) throw new Error("there is no level to draw at");
  return scene;
}

function laidOut(
  story: Story,
  drawn: Drawn,
  candidate: Candidate | undefined,
  measure: Measure,
  room: Room,
  scale: Scale,
): Scene {
  const { query } = story;
  const known = story.name(query.subject === "?" ? query.object : query.subject);
  const relation = story.name(query.relation);
  const wide = room.width < PHONE ? 10 : 22;
  const asked = {
    known: wrapped(known, wide, ASKED),
    rest: [
      ...wrapped(query.subject === "?" ? `?\u00a0${relation}` : `${relation}\u00a0?`, wide + 2, ASKED),
      query.time,
    ],
  };
  const bold = asked.known.map((line) => measure(line, scale.name, true));
  const beside = Math.max(...bold, ...asked.rest.map((line) => measure(line, scale.name)));
  const layout = layOut(story, drawn, candidate?.entity ?? null, measure, room, scale, beside);
  const ways = curves(drawn.links, layout);
  const order = drawn.links.toSorted(
    (a, b) => shareOf(candidate, b) - shareOf(candidate, a) || peak(b) - peak(a) || a.id - b.id,
  );
  const labels = placed(layout, order, ways, asked, measure, (link) => toldLink(story, link));
  return { story, drawn, layout, links: drawn.links, labels, candidate };
}

/** Of a figure: its letters stay legible across a page of a paper. */
const PAGE: Room = { width: 1000, height: 640 };

/** A whole SVG document of the last moment, for papers. */
export function figure(story: Story, choice: Choice, theme: Theme, measure: Measure): string {
  const scene = sceneOf(story, choice, measure, PAGE);
  const last = frames(story.steps).at(-1) ?? { kind: "initialise", step: 0 };
  const box = bounds(scene);
  const key = legend(story, scene.candidate, theme, measure, box.x + 18, box.y + box.height + 4, box.width - 36);
  const tall = box.height + key.height + 8;
  const [x, y, width, height] = [box.x, box.y, Math.max(box.width, key.width + 36), tall].map(Math.round);
  const paper = shape("rect", { x, y, width, height, fill: theme.paper });
  const set = {
    xmlns: "http://www.w3.org/2000/svg",
    viewBox: [x, y, width, height].join(" "),
    width,
    height,
    role: "img",
    "aria-labelledby": "xerte-title xerte-desc",
  };
  const now = moment(story.steps, scene.drawn.nodes, scene.links, last);
  const keys = shape("g", { class: "legend" }, key.shapes);
  const { title, text } = described(story, choice);
  const named = [shape("title", { id: "xerte-title" }, title), shape("desc", { id: "xerte-desc" }, text)];
  return markup(shape("svg", set, [...named, paper, ...draw(scene, now, theme), keys]));
}

/** The picture in words: the question, and the verdict or the best reasons. */
export function described(story: Story, choice: Choice): { title: string; text: string } {
  const { subject, relation, object, time } = story.query;
  const candidate = story.candidates[choice.candidate];
  const title = `${story.name(subject)} – ${story.name(relation)} – ${story.name(object)}, ${time}`;
  if (!candidate) return { title, text: "There is no answer." };
  const best = candidate.reasons.slice(0, 3).map(({ sentence }) => sentence);
  const verdict = candidate.entity === story.answer ? story.verdict : undefined;
  return { title: `${title}: why ${story.name(candidate.entity)}?`, text: verdict ?? best.join(" ") };
}
