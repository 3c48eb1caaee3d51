/** What answers here, how good it is, and what it learned from. */
import { get, type Model, type Statistics } from "./api";
import { Problem } from "./parts";
import { useFetched } from "./use";

const score = (value: number | null) => (value === null ? "–" : value.toFixed(2));

export function ModelPage({ about }: { readonly about: Statistics }) {
  const models = useFetched("models", (signal) => get<readonly Model[]>("models", {}, signal));
  const sizes: readonly [string, string | number][] = [
    ["facts to learn from", about.train],
    ["facts to choose by", about.valid],
    ["facts to test with", about.test],
    ["entities", about.entities],
    ["relations", about.relations],
    ["from", about.first],
    ["to", about.last],
    ["counted in", `${about.unit}s`],
  ];
  return (
    <>
      <h1>Models and data</h1>
      <Problem error={models.error} />
      <section aria-labelledby="models">
        <h2 id="models">Models</h2>
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of models">
          <table>
            <thead>
              <tr>
                <th scope="col">name</th>
                <th scope="col">kind</th>
                <th scope="col">trained</th>
                <th scope="col" class="number">
                  MRR valid
                </th>
                <th scope="col" class="number">
                  MRR test
                </th>
                <th scope="col">version</th>
              </tr>
            </thead>
            <tbody>
              {models.value?.map((one) => (
                <tr key={one.name}>
                  <th scope="row">
                    {one.name}
                    {one.name === about.model && " (answers here)"}
                  </th>
                  <td>{one.preset && one.preset !== one.model ? `${one.model}, ${one.preset}` : one.model}</td>
                  <td>{one.trained?.slice(0, 10) ?? "needs none"}</td>
                  <td class="number">{score(one.valid_mrr)}</td>
                  <td class="number">{score(one.test_mrr)}</td>
                  <td>
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
      <section aria-labelledby="data">
        <h2 id="data">{about.name}</h2>
        <dl>
          {sizes.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "number" ? value.toLocaleString("en") : value}</dd>
            </div>
          ))}
        </dl>
      </section>
    </>
  );
}
