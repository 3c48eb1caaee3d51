/** Whether what was called likely happened: said probability against the share that came true. */
import { get, type Level, type Reliability } from "./api";
import { percent, Problem } from "./parts";
import { useFetched } from "./use";

const SIZE = 260;
const EDGE = 34;
const TICKS = [0.01, 0.1, 0.25, 0.5, 0.75, 1];

export function ReliabilityChart() {
  const found = useFetched("reliability", (signal) => get<Reliability>("reliability", {}, signal));
  const levels = found.value?.levels ?? [];
  return (
    <section aria-labelledby="reliability">
      <h2 id="reliability">Does what is called likely happen?</h2>
      <Problem error={found.error} />
      {found.busy && <p class="status">Measuring on the validation facts …</p>}
      {found.value && !levels.length && <p>There were too few validation facts to tell.</p>}
      {levels.length > 0 && (
        <div class="pair">
          <Diagram levels={levels} />
          <div class="scroll" tabIndex={0} role="region" aria-label="Table of reliability">
            <table>
              <thead>
                <tr>
                  <th scope="col" class="number">
                    said
                  </th>
                  <th scope="col" class="number">
                    happened
                  </th>
                  <th scope="col" class="number">
                    answers
                  </th>
                </tr>
              </thead>
              <tbody>
                {levels.map((one) => (
                  <tr key={one.least}>
                    <td class="number">{percent(one.mean)}</td>
                    <td class="number">{percent(one.happened)}</td>
                    <td class="number">{one.count.toLocaleString("en")}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </div>
      )}
      <p class="note">Probabilities from rates of past events, as the scan and an entity's page show them.</p>
    </section>
  );
}

/** Both axes as square roots: most events are rare. */
function Diagram({ levels }: { readonly levels: readonly Level[] }) {
  const most = Math.max(...levels.flatMap((one) => [one.mean, one.happened]), 0.01);
  const scale = (value: number) => Math.sqrt(Math.max(0, value) / most) * (SIZE - 2 * EDGE);
  const x = (value: number) => EDGE + scale(value);
  const y = (value: number) => SIZE - EDGE - scale(value);
  const ticks = TICKS.filter((tick) => tick <= most);
  const told = levels.map((one) => `said ${percent(one.mean)}, happened ${percent(one.happened)}`).join("; ");
  return (
    <figure>
      <svg
        class="diagram"
        viewBox={`0 0 ${String(SIZE)} ${String(SIZE)}`}
        role="img"
        aria-label={`Reliability: ${told}.`}
      >
        <line class="now" x1={x(0)} y1={y(0)} x2={x(most)} y2={y(most)} />
        {ticks.map((tick) => (
          <g key={tick}>
            <text x={x(tick)} y={SIZE - EDGE + 16} text-anchor="middle">
              {`${String(100 * tick)} %`}
            </text>
            <text x={EDGE - 5} y={y(tick) + 4} text-anchor="end">
              {`${String(100 * tick)} %`}
            </text>
          </g>
        ))}
        <polyline
          class="line line-0"
          points={levels.map((one) => `${String(x(one.mean))},${String(y(one.happened))}`).join(" ")}
        />
        {levels.map((one) => (
          <circle key={one.least} class="dot" cx={x(one.mean)} cy={y(one.happened)} r="4" />
        ))}
      </svg>
      <figcaption>Across: what was said. Up: what happened. On the dashed line both are the same.</figcaption>
    </figure>
  );
}
