/** An entity: how busy it was, what happened to it, with whom, and what is forecast next. */
import { useState } from "preact/hooks";
import {
  get,
  post,
  type AboutEntity,
  type Count,
  type Forecast,
  type Happening,
  type History,
  type Period,
  type Refusal,
  type Reply,
  type Statistics,
  toRefusal,
} from "./api";
import { Bar, Entity, Extras, Link, percent, Problem } from "./parts";
import { shift } from "./time";
import type { Go, State } from "./url";
import { useFetched } from "./use";

const PAGE = "50";
const FEW = 10;
const NEXT = 3;

interface Props {
  readonly state: State;
  readonly go: Go;
  readonly about: Statistics;
}

export function EntityPage({ state, go, about }: Props) {
  const { entity, time } = state;
  const before: Record<string, string> = time ? { before: time } : {};
  const found = useFetched(JSON.stringify([entity, time]), (signal) =>
    get<AboutEntity>("entity", { entity, ...before }, signal),
  );
  const all = found.value;
  return (
    <>
      <h1 dir="auto">{entity}</h1>
      <Problem error={found.error} />
      {all && (
        <>
          <p>
            {all.facts.toLocaleString("en")} facts
            {all.first && all.last && `, from ${all.first} to ${all.last}`}
            {time && `, as known before ${time}`}.
            {time && (
              <button
                class="plain"
                onClick={() => {
                  go({ time: "" });
                }}
              >
                Show all
              </button>
            )}
          </p>
          <Activity
            periods={all.activity}
            end={about.last}
            choose={(start) => {
              go({ time: start });
            }}
          />
          <div class="entity">
            <Timeline key={`${entity} ${time}`} entity={entity} before={before} go={go} />
            <div>
              <Likely entity={entity} go={go} about={about} asOf={time} />
              <Next entity={entity} does={all.does} go={go} time={time || shift(about.last, 1, about.unit)} />
              <Names id="partners" title="With" counts={all.partners} go={go} />
              <Names id="does" title="What it does" counts={all.does} />
              <Names id="undergoes" title="What is done to it" counts={all.undergoes} />
            </div>
          </div>
          <p class="source">data {all.version}</p>
        </>
      )}
    </>
  );
}

/** Bars over time; choosing one looks at the entity as it was known then. */
function Activity({
  periods,
  end,
  choose,
}: {
  readonly periods: readonly Period[];
  readonly end: string;
  readonly choose: (start: string) => void;
}) {
  const most = Math.max(...periods.map((one) => one.facts), 1);
  const busiest = periods.reduce(
    (best, one) => (one.facts > best.facts ? one : best),
    periods[0] ?? { start: "", facts: 0 },
  );
  return (
    <figure class="activity">
      <svg
        viewBox={`0 0 ${String(10 * periods.length)} 60`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Facts over time: busiest from ${busiest.start} on, with ${String(busiest.facts)} facts.`}
      >
        {periods.map((one, place) => {
          const height = one.facts ? Math.max(2, (56 * one.facts) / most) : 0;
          return (
            <rect
              key={one.start}
              x={10 * place + 1}
              y={60 - height}
              width="8"
              height={height}
              onClick={() => {
                choose(one.start);
              }}
            >
              <title>{`${one.start}: ${String(one.facts)} facts`}</title>
            </rect>
          );
        })}
      </svg>
      <figcaption>
        <span>{periods[0]?.start}</span>
        <span>{end}</span>
      </figcaption>
    </figure>
  );
}

function Timeline({ entity, before, go }: { entity: string; before: Readonly<Record<string, string>>; go: Go }) {
  const [more, setMore] = useState<{ events: readonly Happening[]; next: string | null } | null>(null);
  const [error, setError] = useState<Refusal | null>(null);
  const first = useFetched("first", (signal) => get<History>("history", { entity, limit: PAGE, ...before }, signal));
  const events = [...(first.value?.events ?? []), ...(more?.events ?? [])];
  const next = more ? more.next : (first.value?.next ?? null);
  const further = async () => {
    try {
      const page = await get<History>("history", { entity, limit: PAGE, next: next ?? "", ...before });
      setMore({ events: [...(more?.events ?? []), ...page.events], next: page.next });
      setError(null);
    } catch (problem) {
      setError(toRefusal(problem));
    }
  };
  const other = (name: string) => (name === entity ? <span dir="auto">{name}</span> : <Entity name={name} go={go} />);
  return (
    <section aria-labelledby="timeline">
      <h2 id="timeline">What happened, newest first</h2>
      <Problem error={first.error ?? error} />
      <ol class="timeline">
        {events.map((event, place) => (
          <li key={place}>
            <time>{event.time}</time> {other(event.subject)} <span>{event.relation}</span> {other(event.object)}
            <Extras of={event.extras} />
          </li>
        ))}
      </ol>
      {next && <button onClick={() => void further()}>Show earlier ones</button>}
    </section>
  );
}

function Names({ id, title, counts, go }: { id: string; title: string; counts: readonly Count[]; go?: Go }) {
  const [all, setAll] = useState(false);
  if (!counts.length) return null;
  const most = counts[0]?.facts ?? 1;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <ul class="counts">
        {counts.slice(0, all ? undefined : FEW).map((one) => (
          <li key={one.name}>
            <span class="name">{go ? <Entity name={one.name} go={go} /> : one.name}</span>
            <Bar share={one.facts / most} />
            <small class="number">{one.facts.toLocaleString("en")}</small>
          </li>
        ))}
      </ul>
      {counts.length > FEW && !all && (
        <button
          class="plain"
          aria-label={`Show more: ${title}`}
          onClick={() => {
            setAll(true);
          }}
        >
          Show more
        </button>
      )}
    </section>
  );
}

/** The likeliest events that it takes part in, from rates. */
function Likely({ entity, go, about, asOf }: { entity: string; go: Go; about: Statistics; asOf: string }) {
  const asked = { subject: entity, relation: "?", object: "?", within: 7, top: 5, ...(asOf && { as_of: asOf }) };
  const found = useFetched(JSON.stringify(asked), (signal) => post<Reply>("ask", asked, signal));
  const time = asOf || shift(about.last, 1, about.unit);
  return (
    <section aria-labelledby="likely">
      <h2 id="likely">
        Likely within 7 {about.unit}s of {time}
      </h2>
      <Problem error={found.error} />
      {found.busy && <p class="status">Counting how often what happens …</p>}
      <ul class="scan">
        {found.value?.answers.map((one) => (
          <li key={`${one.relation}|${one.object}`}>
            <span class="sentence">
              <Link
                to={{ subject: entity, relation: one.relation, time, answer: one.object }}
                go={go}
                label={`Ask: ${entity} ${one.relation} whom on ${time}?`}
              >
                {one.relation}
              </Link>{" "}
              <Entity name={one.object} go={go} />
            </span>
            <Bar share={one.probability} />
            <span class="score">{percent(one.probability)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What the model says about the things it does most. */
function Next({ entity, does, go, time }: { entity: string; does: readonly Count[]; go: Go; time: string }) {
  const relations = does.slice(0, NEXT).map((one) => one.name);
  const key = relations.length ? JSON.stringify([entity, relations, time]) : "";
  const found = useFetched(key, (signal) =>
    Promise.all(
      relations.map((relation) => post<Forecast>("forecast", { subject: entity, relation, time, top: 3 }, signal)),
    ),
  );
  return (
    <section aria-labelledby="next">
      <h2 id="next">Forecast for {time}</h2>
      <Problem error={found.error} />
      {!relations.length && <p>It never did anything that could be asked about.</p>}
      {found.value?.map((one, place) => {
        const relation = relations[place] ?? "";
        return (
          <p key={relation}>
            <Link to={{ subject: entity, relation, time }} go={go}>
              {relation}
            </Link>{" "}
            {one.answers.map((answer) => answer.entity).join(", ") || "nobody"}
          </p>
        );
      })}
    </section>
  );
}
