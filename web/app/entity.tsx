/** An entity: what happened to it, with whom, and what is forecast next. */
import { useState } from "preact/hooks";
import { get, post, type Forecast, type Happening, type History, type Statistics } from "./api";
import { Entity, Problem } from "./parts";
import { shift } from "./time";
import { EMPTY, type Go, type State } from "./url";
import { useFetched } from "./use";

const PAGE = "100";
const PARTNERS = 8;
const NEXT = 3;

export function EntityPage({ state, go, about }: { state: State; go: Go; about: Statistics }) {
  const { entity } = state;
  const [more, setMore] = useState<{ of: string; events: readonly Happening[]; next: string | null } | null>(null);
  const first = useFetched(entity, (signal) => get<History>("history", { entity, limit: PAGE }, signal));
  const added = more?.of === entity ? more : null;
  const events = [...(first.value?.events ?? []), ...(added?.events ?? [])];
  const next = added ? added.next : (first.value?.next ?? null);
  const further = async () => {
    const page = await get<History>("history", { entity, limit: PAGE, next: next ?? "" });
    setMore({ of: entity, events: [...(added?.events ?? []), ...page.events], next: page.next });
  };
  return (
    <>
      <h1 dir="auto">{entity}</h1>
      <Problem error={first.error} />
      {first.value && (
        <div class="entity">
          <section aria-labelledby="timeline" class="timeline">
            <h2 id="timeline">{first.value.facts.toLocaleString("en")} facts, newest first</h2>
            <ol>
              {events.map((event, place) => (
                <li key={place}>
                  <time>{event.time}</time> <Entity name={event.subject} go={go} /> <span>{event.relation}</span>{" "}
                  <Entity name={event.object} go={go} />
                  {Object.entries(event.extras).map(([name, value]) => (
                    <small key={name}>
                      {" "}
                      {name}: {value}
                    </small>
                  ))}
                </li>
              ))}
            </ol>
            {next && <button onClick={() => void further()}>Show earlier ones</button>}
          </section>
          <div>
            <Partners entity={entity} events={first.value.events} go={go} />
            <Next entity={entity} events={first.value.events} go={go} about={about} />
          </div>
        </div>
      )}
    </>
  );
}

function counted(words: readonly string[]): [string, number][] {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].sort((one, other) => other[1] - one[1]);
}

function Partners({ entity, events, go }: { entity: string; events: readonly Happening[]; go: Go }) {
  const others = counted(events.map((event) => (event.subject === entity ? event.object : event.subject)));
  return (
    <section aria-labelledby="partners">
      <h2 id="partners">Lately with</h2>
      <ul>
        {others.slice(0, PARTNERS).map(([name, count]) => (
          <li key={name}>
            <Entity name={name} go={go} /> <small>{count}</small>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Next({
  entity,
  events,
  go,
  about,
}: {
  entity: string;
  events: readonly Happening[];
  go: Go;
  about: Statistics;
}) {
  const mine = events.filter((event) => event.subject === entity);
  const relations = counted(mine.map((event) => event.relation)).slice(0, NEXT);
  const time = shift(about.last, 1, about.unit);
  const key = relations.length ? JSON.stringify([entity, relations]) : "";
  const found = useFetched(key, (signal) =>
    Promise.all(
      relations.map(([relation]) => post<Forecast>("forecast", { subject: entity, relation, time, top: 3 }, signal)),
    ),
  );
  return (
    <section aria-labelledby="next">
      <h2 id="next">Forecast for {time}</h2>
      <Problem error={found.error} />
      {!relations.length && <p>It did nothing lately that could be asked about.</p>}
      {found.value?.map((one, place) => {
        const relation = relations[place]?.[0] ?? "";
        return (
          <p key={relation}>
            <button
              class="plain"
              onClick={() => {
                go({ ...EMPTY, subject: entity, relation, time });
              }}
            >
              {relation}
            </button>{" "}
            {one.answers.map((answer) => `${answer.entity} (${answer.score.toFixed(2)})`).join(", ") || "nobody"}
          </p>
        );
      })}
    </section>
  );
}
