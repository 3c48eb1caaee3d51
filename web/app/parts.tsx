/** Small things that several pages show. */
import type { Answer, Refusal } from "./api";
import { EMPTY, toUrl, type Go } from "./url";

export function Problem({ error }: { readonly error: Refusal | null }) {
  if (!error) return null;
  return (
    <p class="problem" role="alert">
      {error.message}
      {error.hint && `: ${error.hint}`}
    </p>
  );
}

/** A name that leads to its own page. */
export function Entity({ name, go, label }: { readonly name: string; readonly go: Go; readonly label?: string }) {
  const to = { ...EMPTY, view: "entity", entity: name } as const;
  return (
    <a
      dir="auto"
      aria-label={label && `${name}: ${label}`}
      href={toUrl(to)}
      onClick={(event) => {
        event.preventDefault();
        event.stopPropagation();
        go(to);
      }}
    >
      {label ?? name}
    </a>
  );
}

export const percent = (share: number): string =>
  share >= 0.995 ? "100 %" : share >= 0.0995 ? `${(100 * share).toFixed(0)} %` : `${(100 * share).toFixed(1)} %`;

export function Bar({ share }: { readonly share: number }) {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${String(Math.min(100, Math.max(0.5, 100 * share)))}%` }} />
    </span>
  );
}

/** What a fact's source said beside it; only web addresses become links. */
export function Extras({ of }: { readonly of: Readonly<Record<string, string>> | undefined }) {
  return (
    <>
      {Object.entries(of ?? {}).map(([name, value]) => (
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
