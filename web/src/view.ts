/** What is to be seen: the part of the story that a candidate, a filter and a moment of the replay leave. */
import type { Candidate, Link, Node, Story } from "./document";

/** A moment of the replay. */
export interface Frame {
  readonly kind: "initialise" | "expand" | "prune";
  readonly step: number;
}

export interface Choice {
  /** Whose evidence. */
  readonly candidate: number;
  /** The least share of the candidate's score a link must have carried; 0 shows every link that was kept. */
  readonly least: number;
  /** Whether links that were pruned are shown, too. */
  readonly pruned: boolean;
}

/** How a node or link stands at a moment: in the graph, just being dropped from it, or not there. */
export type Standing = "present" | "fading" | "absent";

export interface Moment {
  readonly node: ReadonlyMap<number, Standing>;
  readonly link: ReadonlyMap<number, Standing>;
  /** Attention of every node at that moment. */
  readonly attention: ReadonlyMap<number, number>;
  /** The largest contribution a link has had by then. */
  readonly contribution: ReadonlyMap<number, number>;
}

/** With a filter on, how many pruned links are shown with the rest. */
const GHOSTS = 24;
/** Where repeats are drawn as one, each line says much: at first there are so many. */
const FEW_REPEATS = 8;
/** And what carried less is left for later, unless there is nothing else. */
const NOTABLE = 0.01;

export const LEASTS: readonly number[] = [0, 1e-9, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

export function frames(steps: number): Frame[] {
  const all: Frame[] = [{ kind: "initialise", step: 0 }];
  for (let step = 1; step <= steps; step++) all.push({ kind: "expand", step }, { kind: "prune", step });
  return all;
}

export function shareOf(candidate: Candidate | undefined, link: Link): number {
  const there = link.members.filter((id) => !link.back?.includes(id));
  return there.reduce((sum, id) => sum + (candidate?.share.get(id) ?? 0), 0);
}

export const wasKept = (link: Link): boolean => link.looks.some((look) => look.kept);

export const peak = (link: Link): number => Math.max(...link.looks.map((look) => look.contribution));

/** Of facts that were weighed as they are, those that differ by their dates, or by which others: they are drawn as one. */
function repeats(story: Story, link: Link): string {
  if (story.grown) return String(link.target);
  const [near, far] = [link.source, link.target].map((id) => (story.loose.has(id) ? "" : story.nodes[id]?.entity));
  return [near, far, link.relation, String(link.heads.includes(link.target))].join("\n");
}

/** What a link carried, with its repeats where these are drawn as one. */
function shareOfRepeats(story: Story, candidate: Candidate | undefined): (link: Link) => number {
  if (story.grown) return (link) => shareOf(candidate, link);
  const total = new Map<string, number>();
  for (const link of story.links) {
    const key = repeats(story, link);
    total.set(key, (total.get(key) ?? 0) + shareOf(candidate, link));
  }
  return (link) => total.get(repeats(story, link)) ?? 0;
}

/** The links to show, whatever the moment: the layout is made for all of them, so a replay moves nothing. */
export function chosen(story: Story, choice: Choice): Link[] {
  const candidate = story.candidates[choice.candidate];
  const kept = story.links.filter(wasKept);
  const carried = shareOfRepeats(story, candidate);
  const mine = new Set(choice.least > 0 ? kept.filter((link) => carried(link) >= choice.least) : kept);
  const incoming = new Map<number, Link[]>();
  for (const link of kept) incoming.set(link.target, [...(incoming.get(link.target) ?? []), link]);
  // Of a chain's repeats only those are shown that begin with what is shown.
  if (!story.grown)
    for (let before = -1; before !== mine.size;) {
      before = mine.size;
      const led = new Set([0, ...[...mine].map((link) => link.target)]);
      for (const link of mine) if (incoming.has(link.source) && !led.has(link.source)) mine.delete(link);
    }
  // A link may carry enough of the score while no single link to its source does: every shown link hangs together
  // with the question, by the heaviest way there.
  const reached = new Set([0, ...[...mine].map((link) => link.target)]);
  const open = [...mine];
  for (let link = open.pop(); link; link = open.pop()) {
    if (reached.has(link.source)) continue;
    const weight = (one: Link): number => shareOf(candidate, one) + 1e-6 * peak(one);
    const best = (incoming.get(link.source) ?? []).toSorted((a, b) => weight(b) - weight(a))[0];
    if (!best) continue;
    mine.add(best);
    reached.add(best.target);
    open.push(best);
  }
  if (choice.least > 0 && !story.grown) for (const link of onwards(story, candidate, kept, mine)) mine.add(link);
  if (choice.pruned) {
    const ghosts = story.links
      .filter((link) => !wasKept(link) && (choice.least === 0 || reached.has(link.source)))
      .toSorted((a, b) => peak(b) - peak(a));
    for (const link of choice.least > 0 ? ghosts.slice(0, GHOSTS) : ghosts) mine.add(link);
  }
  return story.links.filter((link) => mine.has(link));
}

/** What is shown leads to the candidate: where each way on carries too little to be shown, the heaviest of them. */
function onwards(
  { nodes }: Story,
  candidate: Candidate | undefined,
  kept: readonly Link[],
  mine: ReadonlySet<Link>,
): Link[] {
  const outgoing = new Map<number, Link[]>();
  for (const link of kept)
    if (shareOf(candidate, link) > 0) outgoing.set(link.source, [...(outgoing.get(link.source) ?? []), link]);
  const left = new Set([...mine].map((link) => link.source));
  const open = [...mine].map((link) => link.target);
  const found: Link[] = [];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (left.has(node) || nodes[node]?.entity === candidate?.entity) continue;
    left.add(node);
    const [best] = (outgoing.get(node) ?? []).toSorted((a, b) => shareOf(candidate, b) - shareOf(candidate, a));
    if (!best) continue;
    found.push(best);
    open.push(best.target);
  }
  return found;
}

/** The least share that leaves at most so many nodes; a little more where that would leave next to nothing. */
export function tidy(story: Story, candidate: number, most: number): number {
  const size = (least: number): number =>
    new Set(chosen(story, { candidate, least, pruned: false }).map((link) => repeats(story, link))).size;
  if (!story.grown) {
    const few = LEASTS.filter((least) => least > 0 && size(least) <= FEW_REPEATS);
    return few.findLast((least) => least <= NOTABLE && size(least) > 0) ?? few[0] ?? LEASTS.at(-1) ?? 0;
  }
  const place = LEASTS.findIndex((least) => least > 0 && size(least) <= most);
  const [before, least] = [LEASTS[place - 1] ?? 0, LEASTS.at(place) ?? 0];
  return before > 0 && size(least) < most / 4 && size(before) <= 2 * most ? before : least;
}

/** How everything stands at a moment of the replay. */
export function moment(steps: number, nodes: readonly Node[], links: readonly Link[], frame: Frame): Moment {
  const node = new Map<number, Standing>([[0, "present"]]);
  const link = new Map<number, Standing>();
  const contribution = new Map<number, number>();
  const end = frame.kind === "prune" && frame.step === steps; // the end looks back at all that was pruned
  const reached = new Set([0, ...links.map((one) => one.target)]);
  for (const one of links) {
    const looks = one.looks.filter((look) => look.step <= frame.step);
    const now = looks.some((look) => look.step === frame.step);
    const stays = looks.some((look) => look.kept && (frame.kind === "prune" || look.step < frame.step));
    let standing: Standing = "absent";
    if (stays) standing = "present";
    else if (now && frame.kind === "expand") standing = "present";
    else if (now || (end && looks.length > 0)) standing = "fading";
    link.set(one.id, standing);
    contribution.set(one.id, Math.max(0, ...looks.map((look) => look.contribution)));
    const ends = reached.has(one.source) ? [one.target] : [one.source, one.target];
    for (const id of ends)
      if ((standing === "present" || !node.has(id)) && standing !== "absent") node.set(id, standing);
  }
  const after = frame.kind === "expand" ? frame.step - 1 : frame.step;
  const attention = new Map(nodes.map((one) => [one.id, one.attention[after] ?? 0]));
  return { node, link, attention, contribution };
}

/** How many facts a step looked at, and how many of them it kept. */
export function counted(story: Story, step: number): { seen: number; kept: number } {
  const here = story.links.filter((link) => link.looks.some((look) => look.step === step));
  const stay = here.filter((link) => link.looks.some((look) => look.step === step && look.kept));
  return { seen: here.length, kept: stay.length };
}
