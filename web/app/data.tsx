/** Datasets, and a table dropped here: looked at first, kept only when told so. */
import { useState } from "preact/hooks";
import {
  get,
  hasToken,
  type Dataset,
  type Imported,
  type Preview,
  Refusal,
  send,
  type Statistics,
  toRefusal,
} from "./api";
import { Problem } from "./parts";
import { useFetched } from "./use";

const ROLES = ["subject", "relation", "object", "time", "ends"] as const;
const NEEDED = ROLES.slice(0, 4);
const TYPES: Readonly<Record<string, string>> = {
  csv: "text/csv",
  txt: "text/csv",
  tsv: "text/tab-separated-values",
  jsonl: "application/x-ndjson",
  ndjson: "application/x-ndjson",
  parquet: "application/vnd.apache.parquet",
};

const number = (value: number) => value.toLocaleString("en");

export function DataPage({ about }: { readonly about: Statistics }) {
  const [turn, setTurn] = useState(1);
  const found = useFetched(`datasets ${String(turn)}`, (signal) => get<readonly Dataset[]>("datasets", {}, signal));
  const sizes: readonly [string, string | number][] = [
    ["facts to learn from", about.train],
    ["facts to choose by", about.valid],
    ["facts to test with", about.test],
    ["entities", about.entities],
    ["relations", about.relations],
    ["from", about.first],
    ["to", about.last],
    ["counted in", `${about.unit}s`],
    ["version", about.version ?? "–"],
  ];
  return (
    <>
      <h1>Data</h1>
      <section aria-labelledby="here">
        <h2 id="here">{about.name}</h2>
        <dl>
          {sizes.map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{typeof value === "number" ? number(value) : value}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section aria-labelledby="datasets">
        <h2 id="datasets">Datasets of this machine</h2>
        <Problem error={found.error} />
        <div class="scroll" tabIndex={0} role="region" aria-label="Table of datasets">
          <table>
            <thead>
              <tr>
                <th scope="col">name</th>
                <th scope="col">what it is</th>
                <th scope="col" class="number">
                  facts
                </th>
              </tr>
            </thead>
            <tbody>
              {found.value
                ?.filter((one) => one.present || one.problem)
                .map((one) => (
                  <tr key={one.name}>
                    <th scope="row">
                      {one.present && !one.served ? (
                        <a href={`/?dataset=${encodeURIComponent(one.name)}`}>{one.name}</a>
                      ) : (
                        one.name
                      )}
                      {one.served && " (shown here)"}
                    </th>
                    <td>{one.problem || one.title || one.kind}</td>
                    <td class="number">{one.facts === null ? "–" : number(one.facts)}</td>
                  </tr>
                ))}
            </tbody>
          </table>
        </div>
      </section>
      <Import
        write={(about.write ?? false) || hasToken()}
        kept={() => {
          setTurn(turn + 1);
        }}
      />
    </>
  );
}

interface Looked {
  readonly file: File;
  readonly type: string;
  readonly preview: Preview;
}

function Import({ write, kept }: { readonly write: boolean; readonly kept: () => void }) {
  const [over, setOver] = useState(false);
  const [busy, setBusy] = useState("");
  const [error, setError] = useState<Refusal | null>(null);
  const [looked, setLooked] = useState<Looked | null>(null);
  const [done, setDone] = useState<Imported | null>(null);

  const attempt = async (words: string, work: () => Promise<void>) => {
    setBusy(words);
    setError(null);
    try {
      await work();
    } catch (problem) {
      setError(toRefusal(problem));
    }
    setBusy("");
  };
  const look = (file: File) =>
    attempt(`Looking at ${file.name} …`, async () => {
      setLooked(null);
      setDone(null);
      const type = TYPES[file.name.split(".").pop()?.toLowerCase() ?? ""];
      if (!type)
        throw new Refusal(0, "page", `${file.name} is no table that is taken here`, "CSV, TSV, JSON lines or Parquet");
      setLooked({ file, type, preview: await send<Preview>("imports/preview", file, type, { file: file.name }) });
    });
  const keep = (options: Readonly<Record<string, string>>) =>
    attempt("Taking it in …", async () => {
      if (!looked) return;
      setDone(await send<Imported>("imports", looked.file, looked.type, options));
      setLooked(null);
      kept();
    });
  return (
    <section aria-labelledby="import">
      <h2 id="import">Bring your own</h2>
      <label
        class={over ? "drop over" : "drop"}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => {
          setOver(false);
        }}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const file = event.dataTransfer?.files[0];
          if (file) void look(file);
        }}
      >
        <span>
          Drop a table of events here, or choose one: CSV, TSV, JSON lines, Parquet. Nothing is kept before you say so.
        </span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,.jsonl,.ndjson,.parquet"
          onChange={(event) => {
            const file = event.currentTarget.files?.[0];
            if (file) void look(file);
          }}
        />
      </label>
      <p class="status" role="status">
        {busy}
      </p>
      <Problem error={error} />
      {looked && (
        <Look key={looked.file.name + String(looked.file.lastModified)} looked={looked} write={write} keep={keep} />
      )}
      {done && (
        <p class="done" role="status">
          Kept as <a href={`/?dataset=${encodeURIComponent(done.name)}`}>{done.name}</a>: {number(done.facts)} facts,{" "}
          {number(done.entities)} entities, {number(done.relations)} relations; {done.time}.{" "}
          {done.findings.map((one) => one.text).join("; ")}
        </p>
      )}
    </section>
  );
}

interface LookProps {
  readonly looked: Looked;
  readonly write: boolean;
  readonly keep: (options: Readonly<Record<string, string>>) => Promise<void>;
}

/** What was seen, to be corrected before it is kept. */
function Look({ looked, write, keep }: LookProps) {
  const { preview, file } = looked;
  const guessed = Object.fromEntries(ROLES.map((role) => [role, preview.options[role] ?? ""]));
  const [roles, setRoles] = useState<Readonly<Record<string, string>>>(guessed);
  const [name, setName] = useState(
    file.name
      .replace(/\..*$/, "")
      .replace(/[^\w-]+/g, "-")
      .toLowerCase() || "mine",
  );
  const missing = NEEDED.filter((role) => !roles[role]);
  const columns = preview.columns.map((one) => one.name);
  return (
    <form
      aria-label="Import"
      onSubmit={(event) => {
        event.preventDefault();
        const chosen = Object.fromEntries(
          Object.entries({ ...preview.options, ...roles }).filter(([, value]) => value),
        );
        void keep({ ...chosen, name });
      }}
    >
      <h3>{file.name}</h3>
      <p>{preview.summary.replace(/^[^:]*: /, "")}</p>
      {preview.problems.length > 0 && (
        <ul class="problems" aria-label="Problems">
          {preview.problems.map((one) => (
            <li key={one} class="problem">
              {one}
            </li>
          ))}
        </ul>
      )}
      <div class="scroll" tabIndex={0} role="region" aria-label="Table of columns">
        <table>
          <thead>
            <tr>
              <th scope="col">column</th>
              <th scope="col">is</th>
              <th scope="col">type</th>
              <th scope="col" class="number">
                filled
              </th>
              <th scope="col" class="number">
                distinct
              </th>
              <th scope="col">for example</th>
            </tr>
          </thead>
          <tbody>
            {preview.columns.map((one) => (
              <tr key={one.name}>
                <th scope="row" dir="auto">
                  {one.name}
                </th>
                <td>
                  <select
                    aria-label={`What ${one.name} is`}
                    value={ROLES.find((role) => roles[role] === one.name) ?? ""}
                    onChange={(event) => {
                      const role = event.currentTarget.value;
                      const free = Object.fromEntries(
                        Object.entries(roles).map(([key, was]) => [key, was === one.name ? "" : was]),
                      );
                      setRoles(role ? { ...free, [role]: one.name } : free);
                    }}
                  >
                    <option value="">–</option>
                    {ROLES.map((role) => (
                      <option key={role}>{role}</option>
                    ))}
                  </select>
                </td>
                <td>{one.type}</td>
                <td class="number">{one.filled} %</td>
                <td class="number">{number(one.distinct)}</td>
                <td class="sentence" dir="auto">
                  {one.examples}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {!columns.includes(roles.relation ?? "") && (
        <div class="field">
          <label for="fixed">Or, where all rows mean the same: what is done</label>
          <input
            id="fixed"
            value={(roles.relation ?? "").replace(/^=/, "")}
            onInput={(event) => {
              const text = event.currentTarget.value.trim();
              setRoles({ ...roles, relation: text && `=${text}` });
            }}
          />
        </div>
      )}
      <p class="row">
        <label for="name">Keep it as</label>{" "}
        <input
          id="name"
          value={name}
          required
          onInput={(event) => {
            setName(event.currentTarget.value);
          }}
        />{" "}
        <button disabled={!write || missing.length > 0}>Keep it</button>
      </p>
      {missing.length > 0 && <p class="note">Choose a column for {missing.join(", ")}.</p>}
      {!write && <p class="note">This server keeps nothing: start it with --write, or on the command line:</p>}
      {!write && (
        <pre class="scroll" tabIndex={0}>
          {preview.command}
        </pre>
      )}
    </form>
  );
}
