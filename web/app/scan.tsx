/** The morning scan: what is likely to come next, and what is far above its usual rate. */
import { get, type Scan, type Scanned, type Statistics } from "./api";
import { Bar, Entity, Link, percent, Problem } from "./parts";
import type { Go, State } from "./url";
import { useFetched } from "./use";

const SPANS = ["1", "7", "30"] as const;

export function ScanPage({ state, go, about }: { state: State; go: Go; about: Statistics }) {
  const within = state.within || "1";
  const asked = { within, top: "20", ...(state.time && { as_of: state.time }) };
  const found = useFetched(JSON.stringify(asked), (signal) => get<Scan>("scan", asked, signal));
  return (
    <>
      <h1>What may come next</h1>
      <form
        class="question"
        aria-label="Scan"
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <div class="field">
          <label for="within">Within</label>
          <select
            id="within"
            value={within}
            onChange={(event) => {
              go({ within: event.currentTarget.value });
            }}
          >
            {[...new Set([...SPANS, within])].map((span) => (
              <option key={span} value={span}>
                {/^\d+$/.test(span) ? `${span} ${about.unit}${span === "1" ? "" : "s"}` : span}
              </option>
            ))}
          </select>
        </div>
        <div class="field">
          <label for="as-of">From what was known before</label>
          <input
            id="as-of"
            value={state.time}
            placeholder="everything"
            onChange={(event) => {
              go({ time: event.currentTarget.value.trim() });
            }}
          />
        </div>
      </form>
      <Problem error={found.error} />
      <p class="status" role="status">
        {found.busy
          ? "Looking through everything that ever happened …"
          : found.value &&
            `${found.value.events.toLocaleString("en")} events looked at, for ${found.value.as_of} until ${found.value.until}`}
      </p>
      {found.value && (
        <div class="pair" aria-busy={found.busy}>
          <Events
            id="likely"
            title="Likeliest"
            events={found.value.likely}
            time={found.value.as_of}
            go={go}
            told={(one) => percent(one.probability)}
          />
          <Events
            id="unusual"
            title="Farthest above their usual rate"
            events={found.value.surprising}
            time={found.value.as_of}
            go={go}
            told={(one) => `${one.surprise.toFixed(one.surprise < 10 ? 1 : 0)} times as likely as usual`}
          />
        </div>
      )}
      {found.value && (
        <p class="source">data {found.value.versions?.dataset} · probabilities from rates of past events</p>
      )}
    </>
  );
}

interface EventsProps {
  readonly id: string;
  readonly title: string;
  readonly events: readonly Scanned[];
  readonly time: string;
  readonly go: Go;
  readonly told: (one: Scanned) => string;
}

function Events({ id, title, events, time, go, told }: EventsProps) {
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      {!events.length && <p>Nothing stands out.</p>}
      <ol class="scan">
        {events.map((one) => (
          <li key={`${one.subject}|${one.relation}|${one.object}`}>
            <span class="sentence">
              <Entity name={one.subject} go={go} />{" "}
              <Link
                to={{ subject: one.subject, relation: one.relation, time, answer: one.object }}
                go={go}
                label={`Ask: ${one.subject} ${one.relation} whom on ${time}?`}
              >
                {one.relation}
              </Link>{" "}
              <Entity name={one.object} go={go} />
            </span>
            <Bar share={one.probability} />
            <span class="score" title={one.reliability === null ? undefined : `± ${percent(one.reliability)}`}>
              {percent(one.probability)}
            </span>
            <small>{told(one) === percent(one.probability) ? "" : told(one)}</small>
          </li>
        ))}
      </ol>
    </section>
  );
}
