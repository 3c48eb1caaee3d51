/** What answers here, how good it is, whether its probabilities can be relied on. */
import { useEffect, useState } from "preact/hooks";
import {
  get,
  post,
  type Card,
  type Evaluation,
  type EvaluationState,
  type Metrics,
  type Model,
  type Refusal,
  type Statistics,
  toRefusal,
} from "./api";
import { Markdown } from "./markdown";
import { Problem } from "./parts";
import { ReliabilityChart } from "./reliability";
import { EMPTY, toUrl, type Go, type State } from "./url";
import { useFetched } from "./use";

const LOOK_MS = 1500;
const score = (value: number | null | undefined) => (typeof value === "number" ? value.toFixed(2) : "–");

export function ModelPage({ state, go, about }: { state: State; go: Go; about: Statistics }) {
  const models = useFetched("models", (signal) => get<readonly Model[]>("models", {}, signal));
  const chosen = state.model || about.model;
  return (
    <>
      <h1>Models</h1>
      <Problem error={models.error} />
      <section aria-labelledby="models">
        <h2 id="models">Those that can answer here</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of models">
          <table>
            <thead>
              <tr>
                <th scope="col">name</th>
                <th scope="col" class="wide">
                  kind
                </th>
                <th scope="col">trained</th>
                <th scope="col" class="number">
                  MRR valid
                </th>
                <th scope="col" class="number">
                  MRR test
                </th>
                <th scope="col" class="wide">
                  version
                </th>
              </tr>
            </thead>
            <tbody>
              {models.value?.map((one) => (
                <tr key={one.name}>
                  <th scope="row">
                    <a
                      href={toUrl({ ...EMPTY, view: "model", model: one.name })}
                      aria-current={one.name === chosen ? "true" : undefined}
                      onClick={(event) => {
                        event.preventDefault();
                        go({ ...EMPTY, view: "model", model: one.name });
                      }}
                    >
                      {one.name}
                    </a>
                    {one.name === about.model && " (answers here)"}
                  </th>
                  <td class="wide">
                    {one.preset && one.preset !== one.model ? `${one.model}, ${one.preset}` : one.model}
                  </td>
                  <td class="date">{one.trained?.slice(0, 10) ?? "needs none"}</td>
                  <td class="number">{score(one.valid_mrr)}</td>
                  <td class="number">{score(one.test_mrr)}</td>
                  <td class="wide">
                    <code>{one.version ?? "–"}</code>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="note">
          MRR: the mean of 1 / rank of what happened, in percent, other true answers of the same time left out.
        </p>
      </section>
      <Scores key={chosen} model={chosen} />
      <CardOf key={`card of ${chosen}`} model={chosen} />
      <ReliabilityChart />
    </>
  );
}

/** The evaluation on test: kept where it was measured, measured where it is asked for. */
function Scores({ model }: { readonly model: string }) {
  const [turn, setTurn] = useState(1);
  const first = useFetched(`${model} ${String(turn)}`, (signal) =>
    get<EvaluationState>("evaluation", { model }, signal),
  );
  const [begun, setBegun] = useState(false);
  const [refused, setRefused] = useState<Refusal | null>(null);
  const state = first.value?.state;
  useEffect(() => {
    if (state !== "running" && !(begun && state === "none")) return;
    const timer = setTimeout(() => {
      setTurn(turn + 1);
    }, LOOK_MS);
    return () => {
      clearTimeout(timer);
    };
  }, [state, turn, begun]);
  const start = async () => {
    setRefused(null);
    try {
      await post(`evaluation?${new URLSearchParams({ model }).toString()}`, {});
      setBegun(true);
      setTurn(turn + 1);
    } catch (error) {
      setRefused(toRefusal(error));
    }
  };
  return (
    <section aria-labelledby="scores">
      <h2 id="scores">{model} on the test facts</h2>
      <Problem error={first.error ?? refused} />
      <p class="status" role="status">
        {state === "running" ? "Asking two questions for every test fact; this may take minutes …" : ""}
        {state === "failed" ? `It could not be evaluated: ${first.value?.problem ?? ""}` : ""}
      </p>
      {(state === "none" || state === "failed") && (
        <p>
          It was not evaluated here yet. <button onClick={() => void start()}>Evaluate it</button>
        </p>
      )}
      {first.value?.evaluation && <Verdict found={first.value.evaluation} />}
    </section>
  );
}

function Verdict({ found }: { readonly found: Evaluation }) {
  const rows: readonly [string, Metrics][] = [
    ...Object.entries(found.metrics).map(([name, one]): [string, Metrics] => [`filter: ${name}`, one]),
    ...Object.entries(found.groups),
  ];
  return (
    <>
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of scores">
        <table>
          <thead>
            <tr>
              <th scope="col">questions</th>
              {["MRR", "hits@1", "hits@3", "hits@10", "how many"].map((name) => (
                <th key={name} scope="col" class="number">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, one]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                {[one.mrr, one["hits@1"], one["hits@3"], one["hits@10"]].map((value, place) => (
                  <td key={place} class="number">
                    {score(value)}
                  </td>
                ))}
                <td class="number">{one.queries.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {found.warnings.map((one) => (
        <p key={one} class="note">
          {one}
        </p>
      ))}
    </>
  );
}

/** What its makers say of it, where the server tells. */
function CardOf({ model }: { readonly model: string }) {
  const found = useFetched(model, (signal) => get<Card>("card", { model }, signal));
  if (!found.value) return null;
  return (
    <section aria-labelledby="card">
      <h2 id="card">Card</h2>
      <Markdown text={found.value.text} />
    </section>
  );
}
