/** The little of Markdown that a card is written in: headings, paragraphs, lists, tables, code. Never HTML. */

export function Markdown({ text }: { readonly text: string }) {
  return <>{text.split(/\n\n+/).map((block, place) => blockOf(block.split("\n"), place))}</>;
}

function blockOf(lines: readonly string[], key: number) {
  const first = lines[0] ?? "";
  if (first.startsWith("# ")) return null; // the page has a heading of its own
  if (first.startsWith("## ")) return <h3 key={key}>{first.slice(3)}</h3>;
  if (first.startsWith("|"))
    return <Table key={key} rows={lines.filter((line) => !/^\|[-|: ]+\|$/.test(line)).map(cells)} />;
  if (first.startsWith("- "))
    return (
      <ul key={key} class="points">
        {lines.map((line) => (
          <li key={line}>
            <Words of={line.slice(2)} />
          </li>
        ))}
      </ul>
    );
  return (
    <p key={key}>
      <Words of={lines.join(" ")} />
    </p>
  );
}

const cells = (line: string): readonly string[] =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());

function Words({ of }: { readonly of: string }) {
  return <>{of.split("`").map((part, place) => (place % 2 ? <code key={place}>{part}</code> : part))}</>;
}

function Table({ rows }: { readonly rows: readonly (readonly string[])[] }) {
  const [head = [], ...body] = rows;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Table: ${head.join(", ")}`}>
      <table class="narrow">
        <thead>
          <tr>
            {head.map((name, place) => (
              <th key={name} scope="col" class={place ? "number" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {body.map((row) => (
            <tr key={row[0]}>
              {row.map((value, place) =>
                place ? (
                  <td key={place} class="number">
                    {value}
                  </td>
                ) : (
                  <th key={place} scope="row">
                    {value}
                  </th>
                ),
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
