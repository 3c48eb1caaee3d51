/** The panel beside the picture: candidates to choose from, the reasons as a list, and what is pointed at. */
import { toldLink } from "./bundle";
import type { Candidate, Link, Node, Story } from "./document";
import type { Scene } from "./draw";
import { element, percent, prose } from "./elements";
import { PARTS } from "./legend";
import { shareOf, wasKept } from "./view";

/** A node, a link or a reason that is pointed at. */
export type Spot = { readonly kind: "node" | "link" | "reason"; readonly id: number } | null;

export const same = (a: Spot, b: Spot): boolean => a?.kind === b?.kind && a?.id === b?.id;

export interface Side {
  readonly root: HTMLElement;
  show(story: Story, candidate: number, pinned: Spot): void;
  /** Says what is pointed at, and marks the reason that is held. */
  tell(lines: readonly string[], pinned: Spot): void;
}

interface Actions {
  readonly choose: (candidate: number) => void;
  readonly hover: (spot: Spot) => void;
  readonly pin: (spot: Spot) => void;
}

const MOST_REASONS = 40;
const LEAST = 0.001; // what brings less is no reason to read, and is told as one number
const HINT = "Point at a reason, a node or a line; walk the nodes with the arrow keys.";
let made = 0;

export function makeSide(act: Actions): Side {
  const group = `candidate-${String(made++)}`;
  const detail = element("div", { class: "detail", "aria-live": "polite" });
  const root = element("aside", { "aria-label": "Candidates and reasons" });
  let rival = -1;
  return {
    root,
    show(story, candidate, pinned): void {
      if (rival === candidate || rival >= story.candidates.length) rival = -1;
      const inside = (): HTMLElement[] => [
        candidates(story, candidate, group, (next) => {
          act.choose(next);
          root.querySelector<HTMLInputElement>(`input[value="${String(next)}"]`)?.focus();
        }),
        element("section", {}, [
          ...reasons(story, candidate, pinned, act),
          ...comparison(story, candidate, rival, (next) => {
            rival = next;
            root.replaceChildren(...inside());
            root.querySelector<HTMLSelectElement>("select")?.focus();
          }),
        ]),
        detail,
      ];
      root.replaceChildren(...inside());
    },
    tell(lines, pinned): void {
      const told = lines.length ? lines : [HINT];
      const quiet = (row: number): Record<string, string> => (row > 0 || !lines.length ? { class: "quiet" } : {});
      detail.replaceChildren(...told.map((line, row) => element("p", quiet(row), prose(line))));
      for (const one of root.querySelectorAll<HTMLElement>(".reason"))
        one.setAttribute("aria-pressed", String(same(pinned, { kind: "reason", id: Number(one.dataset.reason) })));
    },
  };
}

const toldScore = ({ score }: Candidate): string => (score === null ? "not reached" : score.toPrecision(3));

/** As the verdict tells it. */
const likely = (probability: number): string => {
  if (probability > 0 && probability < 0.01) return "<1 %";
  return probability > 0.99 && probability < 1 ? ">99 %" : `${(100 * probability).toFixed(0)} %`;
};

function candidates(story: Story, chosen: number, group: string, choose: (candidate: number) => void): HTMLElement {
  const best = Math.max(1e-9, ...story.candidates.map(({ score }) => score ?? 0));
  const sure = story.candidates.some(({ probability }) => probability !== null);
  const rows = story.candidates.map((candidate, place) => {
    const radio = element("input", { type: "radio", name: group, value: String(place) }, [], {
      change: () => {
        choose(place);
      },
    });
    radio.checked = place === chosen;
    const part = sure ? (candidate.probability ?? 0) : (candidate.score ?? 0) / best;
    const bar = element("i", { style: `width:${(100 * part).toFixed(1)}%` });
    const rank = candidate.rank === null ? "–" : `${String(candidate.rank)}.`;
    return element("label", { class: "candidate" }, [
      radio,
      element("span", { class: "rank" }, [rank]),
      element("span", {}, [story.name(candidate.entity)]),
      element("span", { class: "share" }, [candidate.probability === null ? "" : likely(candidate.probability)]),
      element("span", { class: sure ? "score quiet" : "share" }, [toldScore(candidate)]),
      element("span", { class: "bar", "aria-hidden": "true" }, [bar]),
    ]);
  });
  const legend = element("legend", {}, [
    element("h2", {}, [sure ? "Candidates: how likely, and scores" : "Candidates and scores"]),
  ]);
  return element("fieldset", {}, [legend, ...rows]);
}

function reasons(story: Story, chosen: number, pinned: Spot, act: Actions): HTMLElement[] {
  const candidate = story.candidates[chosen];
  if (!candidate) return [element("h2", {}, ["No answer"])];
  const name = story.name(candidate.entity);
  const several = candidate.parts.length > 1;
  const small = candidate.reasons.findIndex(({ share }, place) => place > 0 && share < LEAST); // heaviest come first
  const told = candidate.reasons.slice(0, small < 0 ? MOST_REASONS : Math.min(small, MOST_REASONS));
  const rows = told.map(({ share, sentence, part }, id) => {
    const spot: Spot = { kind: "reason", id };
    const look = (): void => {
      act.hover(spot);
    };
    const leave = (): void => {
      act.hover(null);
    };
    const pin = (): void => {
      act.pin(spot);
    };
    const set = {
      type: "button",
      class: "reason",
      "data-reason": String(id),
      "aria-pressed": String(same(pinned, spot)),
    };
    const inside = [
      element("span", { class: "share" }, [percent(share)]),
      element("span", {}, [...prose(sentence), ...(several && part ? [element("small", {}, [part])] : [])]),
    ];
    const on = { pointerenter: look, pointerleave: leave, focus: look, blur: leave, click: pin };
    return element("li", {}, [element("button", set, inside, on)]);
  });
  const left = candidate.reasons.slice(told.length).reduce((sum, { share }) => sum + share, candidate.rest);
  const rest = element("li", { class: "rest" }, [
    element("span", { class: "share" }, [percent(left)]),
    element("span", {}, ["came by other ways"]),
  ]);
  const nothing =
    candidate.score === null ? `${name} was not reached: nothing that was read leads to it.` : "No fact speaks for it.";
  return [
    element("h2", {}, [`Why ${name}?`]),
    ...(several ? [parts(candidate)] : []),
    rows.length
      ? element("ol", {}, [...rows, ...(left > 5e-4 ? [rest] : [])])
      : element("p", { class: "quiet" }, [nothing]),
  ];
}

/** How the score divides among the kinds of evidence that the model adds up. */
function parts({ parts }: Candidate): HTMLElement {
  return element("p", { class: "parts quiet" }, [
    parts.map(({ name, share }) => `${PARTS[name] ?? name} ${percent(share).replace(" ", "\u00a0")}`).join(" · "),
  ]);
}

/** Two candidates side by side: what each reason adds to its candidate's score. */
function comparison(story: Story, chosen: number, rival: number, choose: (rival: number) => void): HTMLElement[] {
  const mine = story.candidates[chosen];
  if (!mine || story.candidates.length < 2) return [];
  const select = element("select", { "aria-label": "Compare with" }, [
    element("option", { value: "-1" }, ["Why not …?"]),
    ...story.candidates.flatMap(({ entity }, place) =>
      place === chosen ? [] : [element("option", { value: String(place) }, [`Why not ${story.name(entity)}?`])],
    ),
  ]);
  select.value = String(rival);
  select.addEventListener("change", () => {
    choose(Number(select.value));
  });
  const other = story.candidates[rival];
  if (!other) return [select];
  return [
    select,
    element(
      "div",
      { class: "versus" },
      [mine, other].map((candidate) => column(story, candidate)),
    ),
    element("p", { class: "quiet" }, [separates(story, mine, other)]),
  ];
}

const FEW_REASONS = 4;
/** So much of a score may come by ways that are not drawn before a share is called the least it can be. */
const UNDRAWN = 0.0005;

function column(story: Story, candidate: Candidate): HTMLElement {
  const rows = candidate.reasons
    .slice(0, FEW_REASONS)
    .map(({ share, sentence }) =>
      element("li", {}, [
        element("b", {}, [`+${((candidate.score ?? 0) * share).toPrecision(2)} `]),
        ...prose(sentence),
      ]),
    );
  const nothing = element("p", { class: "quiet" }, ["Nothing that was read leads to it."]);
  return element("div", {}, [
    element("h3", {}, [`${story.name(candidate.entity)} ${toldScore(candidate)}`]),
    rows.length ? element("ol", {}, rows) : nothing,
  ]);
}

function separates(story: Story, mine: Candidate, other: Candidate): string {
  const apart = (mine.score ?? 0) - (other.score ?? 0);
  const [ahead, behind] = apart >= 0 ? [mine, other] : [other, mine];
  const best = ahead.reasons[0];
  const worth = best ? best.share * (ahead.score ?? 0) : 0;
  const alone = best && worth > Math.abs(apart) ? " Its first reason alone is worth more than that." : "";
  const names = [ahead, behind].map(({ entity }) => story.name(entity));
  const told = `${names[0] ?? ""} is ahead of ${names[1] ?? ""} by ${Math.abs(apart).toPrecision(2)}.${alone}`;
  return told + factors(ahead, behind);
}

/** Where a score is factor · sum^exponent: how much of the distance facts make, and how much the factor. */
function factors({ weight: ahead }: Candidate, { weight: behind }: Candidate): string {
  if (!ahead || !behind) return "";
  const facts = (ahead[1] / behind[1]) ** ahead[2];
  const times = (ratio: number): string => `${ratio.toPrecision(2)} times`;
  return ` Its facts weigh ${times(facts)} as much; the factor, which is no fact’s, makes that ${times((ahead[0] / behind[0]) * facts)}.`;
}

export function aboutReason(story: Story, id: number, chosen: number): string[] {
  const candidate = story.candidates[chosen];
  const reason = candidate?.reasons[id];
  if (!candidate || !reason) return [];
  const worth = candidate.score === null ? "" : `, ${(reason.share * candidate.score).toPrecision(2)} of its score`;
  const name = story.name(candidate.entity);
  const sources = reason.links.flatMap((link) => toldSources(story, story.links[link]));
  return [reason.sentence, `${percent(reason.share)} of what speaks for ${name}${worth}`, ...new Set(sources)];
}

const toldSources = (story: Story, link: Link | undefined): string[] =>
  link ? story.source(link).map(([name, value]) => `${name}: ${value}`) : [];

/** Of walks the heaviest are drawn; a fact may lie on others, too. */
const atLeast = (story: Story, candidate: Candidate | undefined): string =>
  !story.grown && (candidate?.rest ?? 0) >= UNDRAWN ? "at least " : "";

export function aboutLink({ story, candidate }: Scene, link: Link): string[] {
  const share = shareOf(candidate, link);
  const strongest = link.looks.reduce((best, look) => (look.contribution > best.contribution ? look : best));
  const name = candidate ? story.name(candidate.entity) : "the answer";
  const carried = wasKept(link) ? `carried ${atLeast(story, candidate)}${percent(share)} of ${name}’s score` : `pruned`;
  const facts = [...new Set(link.members.flatMap((id) => story.links[id]?.sentence ?? []))];
  const [first = link.sentence, ...others] = facts.includes(link.sentence)
    ? [link.sentence, ...facts.filter((one) => one !== link.sentence)]
    : facts;
  const bundle = others.length ? [`${toldLink(story, link)}: ${String(facts.length)} facts drawn as one line`] : [];
  const contribution = `contribution ${strongest.contribution.toPrecision(2)} in step ${String(strongest.step)}`;
  return [
    first,
    [link.time, carried, story.grown ? contribution : (link.part ?? "")].join(" · "),
    ...bundle,
    ...others.slice(0, 5),
    ...link.members.flatMap((id) => toldSources(story, story.links[id])),
  ];
}

export function aboutNode({ story, candidate, links }: Scene, node: Node): string[] {
  const facts = links.filter((link) => link.target === node.id && wasKept(link));
  const share = facts.reduce((sum, link) => sum + shareOf(candidate, link), 0);
  const name = candidate ? story.name(candidate.entity) : "the answer";
  const through =
    node.id === 0 ? "the question" : `${atLeast(story, candidate)}${percent(share)} of ${name}’s score came this way`;
  const attention = node.attention.map((value) => value.toFixed(3)).join(" → ");
  const told = [...new Set(facts.flatMap((link) => link.members.flatMap((id) => story.links[id]?.sentence ?? [])))];
  const many = (node.count ?? 1) > 1 ? `, ${String(node.count)} times, last` : "";
  const title = `${node.label ?? story.name(node.entity)}${many ? `${many} ${node.time}` : `, ${node.time}`}`;
  return [title, `${through}${story.grown ? ` · attention ${attention}` : ""}`, ...told.slice(0, 4)];
}
