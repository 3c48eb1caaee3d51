/** The forecast over the days before: the same question, asked earlier and earlier. */
import { useEffect, useState } from "preact/hooks";
import { post, type Explanation, type Forecast, type Statistics } from "./api";
import { percent } from "./parts";
import { shift } from "./time";
import type { Go, State } from "./url";
import { useFetched } from "./use";

const STEPS = 14;
const LINES = 4;
const WIDTH = 560;
const HEIGHT = 150;

interface Props {
  readonly state: State;
  readonly go: Go;
  readonly about: Statistics;
  readonly found: Explanation;
}

export function Days({ state, go, about, found }: Props) {
  const [end, setEnd] = useState(state.time);
  const times = Array.from({ length: STEPS }, (_, step) => shift(end, step - STEPS + 1, about.unit));
  const inside = times.includes(state.time);
  useEffect(() => {
    if (!inside) setEnd(state.time);
  }, [state.time]);
  const { subject, relation, object, model } = state;
  const asked = { subject, relation, object, top: 50, ...(model && { model }) };
  const key = JSON.stringify({ ...asked, end });
  const days = useFetched(key, (signal) =>
    Promise.all(times.map((time) => post<Forecast>("forecast", { ...asked, time }, signal))),
  );
  const names = found.answers.slice(0, LINES).map((one) => one.entity);
  const at = times.indexOf(state.time);
  return (
    <section class="days" aria-labelledby="days">
      <h2 id="days">
        The {STEPS} {about.unit}s before
      </h2>
      {!days.value && <p class="status">{days.error ? days.error.message : `Asking about ${String(STEPS)} times …`}</p>}
      {days.value && <Chart days={days.value} names={names} at={at} />}
      <label for="slider">Ask on {state.time}</label>
      <input
        id="slider"
        type="range"
        min="0"
        max={STEPS - 1}
        value={at < 0 ? STEPS - 1 : at}
        aria-valuetext={state.time}
        onChange={(event) => {
          go({ time: times[Number(event.currentTarget.value)] ?? state.time, answer: "", versus: "" });
        }}
      />
    </section>
  );
}

/** Probabilities where every day has them, else scores. */
function Chart({ days, names, at }: { days: readonly Forecast[]; names: readonly string[]; at: number }) {
  const likely = days.every((day) => day.answers.every((one) => typeof one.probability === "number"));
  const score = (day: Forecast, name: string) => {
    const found = day.answers.find((one) => one.entity === name);
    return (likely ? found?.probability : found?.score) ?? 0;
  };
  const tell = (value: number) => (likely ? percent(value) : value.toFixed(3));
  const most = Math.max(...days.flatMap((day) => names.map((name) => score(day, name))), 1e-9);
  const x = (step: number) => 8 + (step * (WIDTH - 16)) / (STEPS - 1);
  const y = (value: number) => HEIGHT - 8 - (value / most) * (HEIGHT - 16);
  return (
    <figure>
      <svg
        viewBox={`0 0 ${String(WIDTH)} ${String(HEIGHT)}`}
        role="img"
        aria-label={told(days, names, (day, name) => tell(score(day, name)))}
      >
        {at >= 0 && <line class="now" x1={x(at)} x2={x(at)} y1="0" y2={HEIGHT} />}
        {names.map((name, line) => (
          <polyline
            key={name}
            class={`line line-${String(line)}`}
            points={days.map((day, step) => `${String(x(step))},${String(y(score(day, name)))}`).join(" ")}
          />
        ))}
      </svg>
      <p class="ends">
        <span>{days[0]?.query.time}</span>
        <span>
          {likely ? "top" : "highest score"}: {tell(most)}
        </span>
        <span>{days[days.length - 1]?.query.time}</span>
      </p>
      <figcaption>
        {names.map((name, line) => (
          <span key={name} class={`key key-${String(line)}`} dir="auto">
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function told(days: readonly Forecast[], names: readonly string[], tell: (day: Forecast, name: string) => string) {
  const [first, last] = [days[0], days[days.length - 1]];
  if (!first || !last) return "";
  const lines = names.map((name) => `${name} from ${tell(first, name)} to ${tell(last, name)}`);
  return `The forecast over the ${String(STEPS)} times before: ${lines.join("; ")}.`;
}
