/** The entry for Python: a document in, an SVG document out. Runs in any JavaScript engine, without a browser. */
import { unpack, type Packed } from "./document";
import { figure } from "./scene";
import { byTable } from "./text";
import { DARK, LIGHT } from "./theme";
import { tidy } from "./view";

interface Options {
  readonly answer?: string | null;
  readonly least?: number | null;
  readonly pruned?: boolean;
  readonly dark?: boolean;
}

const MOST = 24;

function xerteFigure(text: string, options: string): string {
  const story = unpack(JSON.parse(text) as Packed);
  const asked = JSON.parse(options) as Options;
  const wanted = asked.answer ?? story.answer;
  const candidate = Math.max(
    0,
    story.candidates.findIndex(({ entity }) => entity === wanted),
  );
  const least = asked.least ?? tidy(story, candidate, MOST);
  const svg = figure(story, { candidate, least, pruned: asked.pruned ?? false }, asked.dark ? DARK : LIGHT, byTable);
  return [svg].join(""); // flat: an engine may keep a sum of strings as a tree, which its caller cannot read
}

(globalThis as { xerteFigure?: typeof xerteFigure }).xerteFigure = xerteFigure;
