/** Small things that several pages show. */
import type { ComponentChildren } from "preact";
import type { Answer, Refusal } from "./api";
import { EMPTY, toUrl, type Go, type State } from "./url";

export function Problem({ error }: { readonly error: Refusal | null }) {
  if (!error) return null;
  return (
    <p class="problem" role="alert">
      {error.message}
      {error.hint && `: ${error.hint}`}
    </p>
  );
}

interface LinkProps {
  readonly to: Partial<State>;
  readonly go: Go;
  readonly label?: string | undefined;
  readonly here?: boolean;
  readonly children: ComponentChildren;
}

/** A link to a state of the page, which also opens in a tab of its own. */
export function Link({ to, go, label, here, children }: LinkProps) {
  const state = { ...EMPTY, ...to };
  return (
    <a
      dir="auto"
      aria-label={label}
      aria-current={here ? "page" : undefined}
      href={toUrl(state)}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        go(state);
      }}
    >
      {children}
    </a>
  );
}

const LONGEST = 120;

/** A name of a length that people read. */
export const short = (name: string): string => (name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name);

/** A name that leads to its own page. */
export function Entity({ name, go, label }: { readonly name: string; readonly go: Go; readonly label?: string }) {
  return (
    <Link to={{ view: "entity", entity: name }} go={go} label={label && `${name}: ${label}`}>
      {label ?? short(name)}
    </Link>
  );
}

/** A sentence whose dates stay whole at the end of a line. */
export function Told({ text }: { readonly text: string | undefined }) {
  const parts = (text ?? "").split(/(\d{4}-\d\d-\d\d)/);
  return (
    <>
      {parts.map((part, place) =>
        place % 2 ? (
          <span key={place} class="date">
            {part}
          </span>
        ) : (
          part
        ),
      )}
    </>
  );
}

export const percent = (share: number): string =>
  share > 0 && share < 0.0005
    ? "<0.1 %"
    : share >= 0.995
      ? "100 %"
      : share >= 0.0995
        ? `${(100 * share).toFixed(0)} %`
        : `${(100 * share).toFixed(1)} %`;

const ENDINGS = new Map([
  ["one", "st"],
  ["two", "nd"],
  ["few", "rd"],
]);
const RULES = new Intl.PluralRules("en", { type: "ordinal" });

/** 1st, 2nd, 3rd … */
export const ordinal = (place: number): string => `${String(place)}${ENDINGS.get(RULES.select(place)) ?? "th"}`;

export function Bar({ share }: { readonly share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${String(Math.min(100, Math.max(0.5, 100 * share)))}%` }} />
    </span>
  );
}

/** What a fact's source said beside it; only web addresses become links. */
export function Extras({ of }: { readonly of: Readonly<Record<string, string>> | undefined }) {
  const told = Object.entries(of ?? {}).filter(([, value]) => value);
  return (
    <>
      {told.map(([name, value]) => (
        <small key={name} class="extra" dir="auto">
          {name}:{" "}
          {/^https?:\/\//i.test(value) ? (
            <a href={value} rel="noopener noreferrer external" target="_blank">
              {value}
            </a>
          ) : (
            value
          )}
        </small>
      ))}
    </>
  );
}

/** How long the bars of answers are: as likely as they are or, where the model says no such thing, beside the best. */
export function lengths(answers: readonly Answer[]): readonly number[] {
  if (answers.every((one) => typeof one.probability === "number")) return answers.map((one) => one.probability ?? 0);
  const best = Math.max(...answers.map((one) => one.score), 1e-12);
  return answers.map((one) => one.score / best);
}

/** How likely an answer is, in words; its score where the model says no such thing. */
export const chanceOf = (answer: Answer): string =>
  typeof answer.probability === "number" ? percent(answer.probability) : answer.score.toFixed(3);

/** How likely a candidate is: its probability where there is one, else its score, which compares candidates only. */
export function Chance({ answer, chance }: { readonly answer: Answer; readonly chance?: number | undefined }) {
  const probability = answer.probability ?? chance;
  if (probability === undefined) return <span class="score">{answer.score.toFixed(3)}</span>;
  return (
    <span class="score" title={`score ${answer.score.toFixed(3)}`}>
      {percent(probability)}
    </span>
  );
}
