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
}

export interface Answer {
  readonly entity: string;
  readonly score: number;
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
  readonly changes?: readonly Change[];
  readonly model?: string;
  readonly source?: string;
  readonly versions?: { readonly dataset: string; readonly model: string };
  readonly picture?: Packed;
}

export interface Forecast {
  readonly answers: readonly Answer[];
  readonly notes: readonly string[];
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

const TOKEN = "xerte-token";

/** Keeps a token for as long as this tab lives. */
export function useToken(token: string): void {
  sessionStorage.setItem(TOKEN, token);
}

async function read<T>(path: string, init: RequestInit): Promise<T> {
  const headers = new Headers(init.headers);
  const token = sessionStorage.getItem(TOKEN);
  if (token) headers.set("authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(`/api/v1/${path}`, { ...init, headers });
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

export async function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return read<T>(path, signal ? { ...init, signal } : init);
}
