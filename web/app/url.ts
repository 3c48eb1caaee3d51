/** What the page shows is what its address says, so every state can be sent, marked and gone back to. */
import { useEffect, useState } from "preact/hooks";
import { DATASET, type Fact } from "./api";

const VIEWS = ["ask", "entity", "scan", "live", "model", "data"] as const;
export type View = (typeof VIEWS)[number];

export interface State {
  readonly view: View;
  readonly dataset: string;
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly time: string;
  /** The candidate that is explained; the best one where it is empty. */
  readonly answer: string;
  /** Another candidate beside it. */
  readonly versus: string;
  readonly model: string;
  readonly entity: string;
  /** How far the scan looks. */
  readonly within: string;
  /** Where a replay begins; live events where it is empty. */
  readonly since: string;
  readonly without: readonly Fact[];
  readonly given: readonly Fact[];
}

export const EMPTY: State = {
  view: "ask",
  dataset: DATASET,
  subject: "",
  relation: "",
  object: "?",
  time: "",
  answer: "",
  versus: "",
  model: "",
  entity: "",
  within: "",
  since: "",
  without: [],
  given: [],
};

const TEXTS = [
  "subject",
  "relation",
  "object",
  "time",
  "answer",
  "versus",
  "model",
  "entity",
  "within",
  "since",
] as const;

export function fromUrl(search: string): State {
  const found = new URLSearchParams(search);
  const view = found.get("view");
  const texts = Object.fromEntries(TEXTS.map((name) => [name, found.get(name) ?? EMPTY[name]]));
  return {
    ...EMPTY,
    ...texts,
    view: VIEWS.find((one) => one === view) ?? "ask",
    without: found.getAll("without").flatMap(toFact),
    given: found.getAll("given").flatMap(toFact),
  };
}

export function toUrl(state: State): string {
  const query = new URLSearchParams();
  if (state.dataset) query.set("dataset", state.dataset);
  if (state.view !== "ask") query.set("view", state.view);
  for (const name of TEXTS) if (state[name] !== EMPTY[name]) query.set(name, state[name]);
  for (const fact of state.without) query.append("without", fromFact(fact));
  for (const fact of state.given) query.append("given", fromFact(fact));
  const text = query.toString();
  return text ? `/?${text}` : "/";
}

/** A name may hold any sign, so the four are a JSON list. */
function fromFact(fact: Fact): string {
  return JSON.stringify([fact.subject, fact.relation, fact.object, fact.time]);
}

function toFact(text: string): Fact[] {
  try {
    const words: unknown = JSON.parse(text);
    if (!Array.isArray(words) || words.length !== 4 || !words.every((word) => typeof word === "string")) return [];
    const [subject, relation, object, time] = words as [string, string, string, string];
    return [{ subject, relation, object, time }];
  } catch {
    return [];
  }
}

export function same(one: Fact, other: Fact): boolean {
  return fromFact(one) === fromFact(other);
}

export type Go = (change: Partial<State>, replace?: boolean) => void;

/** The state of the address, and how to change it. */
export function useAddress(): [State, Go] {
  const [state, setState] = useState(() => fromUrl(location.search));
  useEffect(() => {
    const back = () => {
      setState(fromUrl(location.search));
    };
    addEventListener("popstate", back);
    return () => {
      removeEventListener("popstate", back);
    };
  }, []);
  const go: Go = (change, replace = false) => {
    const next = { ...fromUrl(location.search), ...change };
    history[replace ? "replaceState" : "pushState"](null, "", toUrl(next));
    setState(next);
  };
  return [state, go];
}
