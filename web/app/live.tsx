/** Events as they come in, each with the place that the model had given it, and a question whose forecast follows them. */
import { useEffect, useRef, useState } from "preact/hooks";
import { get, post, type Feed, type Forecast, type Happening, Refusal, type Statistics, toRefusal } from "./api";
import { Bar, Chance, Entity, Extras, lengths, Link, ordinal, Problem, short } from "./parts";
import { shift } from "./time";
import type { Go, State } from "./url";
import { useFetched } from "./use";

const KEPT = 60;
const WAIT_S = 20;
const PACE_MS = 1500;
const AT_ONCE = "3";

interface Props {
  readonly state: State;
  readonly go: Go;
  readonly about: Statistics;
}

interface Arrived extends Happening {
  readonly number: number;
}

export function LivePage({ state, go, about }: Props) {
  const { events, error, over } = useFeed(state.since);
  const newest = events[0];
  const first = useRef<{ since: string; event: Happening } | null>(null);
  if (newest && first.current?.since !== state.since) first.current = { since: state.since, event: newest };
  const followed = state.subject && state.relation ? state : events.length ? first.current?.event : undefined;
  return (
    <>
      <h1>{state.since ? `Replay from ${state.since}` : "Live events"}</h1>
      <form
        class="question"
        aria-label="Feed"
        onSubmit={(event) => {
          event.preventDefault();
          const since = new FormData(event.currentTarget).get("since");
          go({ since: typeof since === "string" ? since.trim() : "" });
        }}
      >
        <div class="field">
          <label for="since">Replay what happened from</label>
          <input
            id="since"
            name="since"
            key={state.since}
            defaultValue={state.since || shift(about.last, -7, about.unit)}
          />
        </div>
        <button>{state.since ? "Replay again" : "Replay"}</button>
        {state.since && (
          <button
            type="button"
            onClick={() => {
              go({ since: "" });
            }}
          >
            Back to live events
          </button>
        )}
      </form>
      <Problem error={error} />
      <p class="status" role="status">
        {over ? "This is all that happened." : state.since ? "Replaying …" : "Waiting for events …"}
        {!state.since && !events.length && " None came yet: POST /api/v1/events adds some, or replay the last days."}
      </p>
      <div class="pair">
        <section aria-labelledby="feed">
          <h2 id="feed" hidden={!events.length}>
            Newest first
          </h2>
          <ol class="timeline" aria-live="polite" aria-relevant="additions">
            {events.map((event) => (
              <li key={event.number}>
                <time>{event.time}</time> <Entity name={event.subject} go={go} />{" "}
                <Link
                  to={{ ...state, subject: event.subject, relation: event.relation }}
                  go={go}
                  label={`Follow: ${event.subject} ${event.relation} whom?`}
                >
                  {event.relation}
                </Link>{" "}
                <Entity name={event.object} go={go} /> <Expected event={event} />
                <Extras of={event.extras} />
              </li>
            ))}
          </ol>
        </section>
        {followed && (
          <Followed
            subject={followed.subject}
            relation={followed.relation}
            time={state.since ? (newest?.time ?? state.since) : ""}
            turn={newest?.number ?? 0}
            go={go}
            about={about}
          />
        )}
      </div>
    </>
  );
}

/** The feed of the server; in a replay, a few events at a time. */
function useFeed(since: string) {
  const [events, setEvents] = useState<readonly Arrived[]>([]);
  const [error, setError] = useState<Refusal | null>(null);
  const [over, setOver] = useState(false);
  useEffect(() => {
    const stop = new AbortController();
    let count = 0;
    setEvents([]);
    setOver(false);
    const loop = async () => {
      let next = "";
      const gone = () => stop.signal.aborted;
      while (!gone()) {
        try {
          const asked: Record<string, string> = since ? { since, limit: AT_ONCE } : { limit: "30" };
          if (next) asked.next = next;
          if (next && !since) asked.wait = String(WAIT_S);
          const page: Feed = await get<Feed>("events", asked, stop.signal);
          setError(null);
          const came = page.events.map((event) => ({ ...event, number: ++count }));
          if (came.length) setEvents((old) => [...came.reverse(), ...old].slice(0, KEPT));
          next = page.next ?? "";
          if (since && !next) {
            setOver(true);
            return;
          }
          if (since) await pause(PACE_MS, stop.signal);
        } catch (problem) {
          if (gone()) return;
          setError(toRefusal(problem));
          if (problem instanceof Refusal && problem.status >= 400 && problem.status < 500) return;
          await pause(3000, stop.signal);
        }
      }
    };
    void loop();
    return () => {
      stop.abort();
    };
  }, [since]);
  return { events, error, over };
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Where the model had put what then happened. */
function Expected({ event }: { event: Happening }) {
  const { subject, relation, object, time } = event;
  const asked = { subject, relation, time, top: 50 };
  const found = useFetched(JSON.stringify([asked, object]), (signal) => post<Forecast>("forecast", asked, signal));
  const place = found.value?.answers.findIndex((one) => one.entity === object);
  if (place === undefined) return null;
  return <small class="place">{place < 0 ? "not expected" : `forecast: ${ordinal(place + 1)}`}</small>;
}

interface FollowedProps {
  readonly subject: string;
  readonly relation: string;
  /** The day that is asked about; the one after everything that is known where it is empty. */
  readonly time: string;
  /** Asks anew whenever it changes. */
  readonly turn: number;
  readonly go: Go;
  readonly about: Statistics;
}

function Followed({ subject, relation, time, turn, go, about }: FollowedProps) {
  const now = useFetched(`about ${String(turn)}`, (signal) => get<Statistics>("statistics", {}, signal));
  const when = time || shift(now.value?.last ?? about.last, 1, about.unit);
  const asked = { subject, relation, time: when, top: 8 };
  const found = useFetched(JSON.stringify([asked, turn]), (signal) => post<Forecast>("forecast", asked, signal));
  const before = useRef<{ of: string; at: string; places: Map<string, number>; shown: Map<string, number> } | null>(
    null,
  );
  const answered = found.value?.query;
  if (found.value && answered) {
    const of = JSON.stringify([answered.subject, answered.relation]);
    const at = JSON.stringify([found.value.versions, answered.time]);
    const places = new Map(found.value.answers.map((one, place) => [one.entity, place + 1]));
    if (before.current?.of !== of) before.current = { of, at, places, shown: places };
    else if (before.current.at !== at) before.current = { of, at, places, shown: before.current.places };
  }
  const length = lengths(found.value?.answers ?? []);
  return (
    <section aria-labelledby="followed" class="answers" aria-busy={found.busy}>
      <h2 id="followed">
        <span dir="auto">{short(subject)}</span> {relation} whom or what on {when}?
      </h2>
      <Problem error={found.error} />
      {found.value && !found.value.answers.length && <p>Nothing that was read leads to an answer.</p>}
      <ol>
        {found.value?.answers.map((one, place) => {
          const was = before.current?.shown.get(one.entity);
          const move =
            was === undefined
              ? "new"
              : was > place + 1
                ? `up from ${String(was)}.`
                : was < place + 1
                  ? `down from ${String(was)}.`
                  : "";
          return (
            <li key={one.entity} class={move ? "moved" : undefined}>
              <span class="answer">
                <span class="name">
                  <Entity name={one.entity} go={go} /> <small>{move}</small>
                </span>
                <Bar share={length[place] ?? 0} />
                <Chance answer={one} />
              </span>
            </li>
          );
        })}
      </ol>
      <p>
        <Link to={{ subject, relation, time: when }} go={go}>
          Why?
        </Link>
      </p>
    </section>
  );
}
