/** The server's documents, as /openapi.json describes them, and how to ask for them. */
import type { Packed } from "../src/index";

export interface Question {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly time: string;
}

export interface Fact {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly time: string;
}

export interface Evidence extends Fact {
  readonly share: number;
  readonly sentence: string;
  /** What its source said beside it, by the names of the columns. */
  readonly source?: Readonly<Record<string, string>>;
}

export interface Answer {
  readonly entity: string;
  readonly score: number;
  /** Where the model's scores are calibrated. */
  readonly probability?: number | null;
  readonly reached: boolean;
}

export interface Change {
  readonly entity: string;
  readonly place: number | null;
  readonly score: number;
  readonly original_place: number | null;
  readonly original_score: number;
  readonly difference: number;
}

export interface Explanation {
  readonly query: Question;
  readonly answers: readonly Answer[];
  readonly answer: string | null;
  readonly score: number | null;
  readonly notes: readonly string[];
  readonly evidence: readonly Evidence[];
  readonly paths: readonly { readonly share: number; readonly sentence: string }[];
  readonly verdict?: string;
  /** The answers without what was hidden or supposed. */
  readonly original?: readonly Answer[];
  readonly changes?: readonly Change[];
  readonly model?: string;
  readonly source?: string;
  readonly versions?: Versions;
  readonly picture?: Packed;
}

export interface Versions {
  readonly dataset: string;
  readonly model: string;
}

export interface Forecast {
  readonly query: Question;
  readonly answers: readonly Answer[];
  readonly notes: readonly string[];
  readonly versions?: Versions;
}

export interface Likelihood {
  readonly subject: string;
  readonly relation: string;
  readonly object: string;
  readonly probability: number;
  readonly reliability: number | null;
}

export interface Reply {
  readonly answers: readonly Likelihood[];
  readonly notes: readonly string[];
}

export interface Scanned extends Likelihood {
  readonly surprise: number;
}

export interface Scan {
  readonly as_of: string;
  readonly until: string;
  readonly events: number;
  readonly likely: readonly Scanned[];
  readonly surprising: readonly Scanned[];
  readonly versions?: Versions;
}

export interface Match {
  readonly kind: string;
  readonly name: string;
  readonly facts: number;
}

export interface Found {
  readonly names: readonly Match[];
  readonly next: string | null;
}

export interface Happening extends Fact {
  readonly split: string;
  readonly extras: Readonly<Record<string, string>>;
}

export interface History {
  readonly entity: string;
  readonly facts: number;
  readonly events: readonly Happening[];
  readonly next: string | null;
}

export interface Feed {
  readonly events: readonly Happening[];
  readonly next: string | null;
}

export interface Count {
  readonly name: string;
  readonly facts: number;
}

export interface Period {
  readonly start: string;
  readonly facts: number;
}

export interface AboutEntity {
  readonly entity: string;
  readonly facts: number;
  readonly first: string | null;
  readonly last: string | null;
  readonly activity: readonly Period[];
  readonly partners: readonly Count[];
  readonly does: readonly Count[];
  readonly undergoes: readonly Count[];
  readonly version?: string;
}

export interface Dataset {
  readonly name: string;
  readonly title: string;
  readonly kind: string;
  readonly present: boolean;
  readonly facts: number | null;
  readonly problem: string;
  readonly served?: boolean;
}

export interface Preview {
  readonly summary: string;
  readonly columns: readonly {
    readonly name: string;
    readonly role: string;
    readonly type: string;
    readonly filled: number;
    readonly distinct: number;
    readonly examples: string;
  }[];
  readonly problems: readonly string[];
  readonly options: Readonly<Record<string, string>>;
  readonly command: string;
}

export interface Imported {
  readonly name: string;
  readonly time: string;
  readonly facts: number;
  readonly entities: number;
  readonly relations: number;
  readonly findings: readonly { readonly text: string }[];
}

export interface Metrics {
  readonly mrr: number;
  readonly "hits@1": number;
  readonly "hits@3": number;
  readonly "hits@10": number;
  readonly queries: number;
}

export interface Evaluation {
  readonly metrics: Readonly<Record<string, Metrics>>;
  readonly groups: Readonly<Record<string, Metrics>>;
  readonly warnings: readonly string[];
}

export interface EvaluationState {
  readonly state: "none" | "running" | "done" | "failed";
  readonly problem?: string;
  readonly evaluation?: Evaluation;
}

export interface Level {
  readonly least: number;
  readonly most: number;
  readonly count: number;
  readonly mean: number;
  readonly happened: number;
}

export interface Reliability {
  readonly levels: readonly Level[];
}

export interface Card {
  readonly text: string;
}

export interface Statistics {
  readonly name: string;
  readonly train: number;
  readonly valid: number;
  readonly test: number;
  readonly entities: number;
  readonly relations: number;
  readonly unit: string;
  readonly first: string;
  readonly last: string;
  readonly model: string;
  readonly trained: boolean;
  readonly version?: string;
  /** Whether this machine may add events and tables without a token. */
  readonly write?: boolean;
}

export interface Model {
  readonly name: string;
  readonly model: string;
  readonly dataset: string | null;
  readonly preset: string | null;
  readonly trained: string | null;
  readonly valid_mrr: number | null;
  readonly test_mrr: number | null;
  readonly version: string | null;
}

/** What the server says when it cannot answer. */
export class Refusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint: string,
  ) {
    super(message);
  }
}

/** What went wrong, whatever it was. */
export const toRefusal = (error: unknown): Refusal =>
  error instanceof Refusal ? error : new Refusal(0, "page", String(error), "");

const TOKEN = "xerte-token";

/** Statuses that say: come back, and how often to do so. */
const BUSY: readonly number[] = [429, 503];
const PATIENCE = 5;

/** The dataset of the address; empty for the server's own. Another one is another load of the page. */
export const DATASET = new URLSearchParams(location.search).get("dataset") ?? "";

/** Keeps a token for as long as this tab lives. */
export function useToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

/** Whether the server was given a token in this tab: what it allows, the server says. */
export const hasToken = (): boolean => Boolean(sessionStorage.getItem(TOKEN));

async function read<T>(plain: string, init: RequestInit): Promise<T> {
  const path = DATASET ? `${plain}${plain.includes("?") ? "&" : "?"}dataset=${encodeURIComponent(DATASET)}` : plain;
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(`/api/v1/${path}`, { ...init, headers });
    for (let turn = 0; turn < PATIENCE && BUSY.includes(response.status); turn++) {
      const seconds = Number(response.headers.get("retry-after") ?? 1);
      await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
      response = await fetch(`/api/v1/${path}`, { ...init, headers });
    }
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Refusal(0, "no_server", "the server does not answer", "is it still running?");
  }
  const body: unknown = await response.json();
  if (response.ok) return body as T;
  const { code, message, hint } = body as { code: string; message: string; hint: string };
  throw new Refusal(response.status, code, message, hint);
}

export async function get<T>(path: string, asked: Readonly<Record<string, string>> = {}, signal?: AbortSignal) {
  const query = new URLSearchParams(asked).toString();
  return read<T>(query ? `${path}?${query}` : path, signal ? { signal } : {});
}

/** Sends a file as it is. */
export async function send<T>(path: string, file: Blob, type: string, asked: Readonly<Record<string, string>> = {}) {
  const query = new URLSearchParams(asked).toString();
  return read<T>(query ? `${path}?${query}` : path, { method: "POST", headers: { "content-type": type }, body: file });
}

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return read<T>(path, signal ? { ...init, signal } : init);
}
