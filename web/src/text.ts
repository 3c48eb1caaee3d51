/** How wide text is, and how it is broken into lines. */

export type Measure = (text: string, size: number, bold?: boolean) => number;

export const FONT = "Arimo, Arial, Helvetica, 'Liberation Sans', sans-serif";

/** Widths of the characters from space to tilde in thousandths of the size, as Arial, Helvetica and Arimo share them. */
const WIDTHS = [
  278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278, 556, 556, 556, 556, 556, 556, 556,
  556, 556, 556, 278, 278, 584, 584, 584, 556, 1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833,
  722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556, 333, 556, 556, 500, 556,
  556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334,
  260, 334, 584,
];

/**
 * Where none of these fonts is installed another takes their place, and Arial's bold is wider than the table, too. So
 * much room leaves even DejaVu Sans where it belongs, the widest that systems fall back to.
 */
const ROOM = { plain: 1.17, bold: 1.35 };

/** Without a browser: by the table; other scripts are taken to be as wide as they are high from U+1100 on. */
export const byTable: Measure = (text, size, bold = false) => {
  const room = bold ? ROOM.bold : ROOM.plain;
  let sum = 0;
  for (const letter of text) {
    const code = letter.codePointAt(0) ?? 0;
    sum += code < 0x1100 ? room * (WIDTHS[code - 32] ?? 611) : 1000;
  }
  return (sum * size) / 1000;
};

/** Of several, the widest: for a picture that is measured here and opened elsewhere. */
export const widest =
  (...measures: readonly Measure[]): Measure =>
  (...asked) =>
    Math.max(...measures.map((measure) => measure(...asked)));

/** In a browser: with the font it really draws. */
export function byCanvas(): Measure {
  const context = document.createElement("canvas").getContext("2d");
  if (!context) return byTable;
  return (text, size, bold = false) => {
    context.font = `${bold ? "bold " : ""}${String(size)}px ${FONT}`;
    return context.measureText(text).width;
  };
}

/** A name as people write it: <Beverly_Adams> is Beverly Adams, <playsFor> plays for; other names stay as they are. */
export function readable(name: string): string {
  if (!/^<.+>$/s.test(name)) return name;
  const plain = name.slice(1, -1).replaceAll("_", " ");
  return /^[a-z]+([A-Z][a-z]+)+$/.test(plain) ? plain.replace(/[A-Z]/g, (one) => ` ${one.toLowerCase()}`) : plain;
}

export function shortened(text: string, most: number): string {
  const letters = Array.from(text);
  return letters.length > most
    ? `${letters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`
    : text;
}

/** Every name in at most so many letters; of those that would look alike, what they begin with alike is left out. */
export function shortNames(names: Iterable<string>, most: number): ReadonlyMap<string, string> {
  const groups = new Map<string, string[]>();
  for (const name of new Set(names)) {
    const short = shortened(name, most);
    groups.set(short, [...(groups.get(short) ?? []), name]);
  }
  const told = [...groups].flatMap(([short, alike]) =>
    alike.map((name) => [name, alike.length === 1 ? short : fromWhereTheyDiffer(name, alike, most)] as const),
  );
  return new Map(told);
}

function fromWhereTheyDiffer(name: string, alike: readonly string[], most: number): string {
  let same = 0;
  while (alike.every((one) => one[same] === name[same])) same++;
  return shortened(`…${name.slice(name.lastIndexOf(" ", same) + 1)}`, most);
}

/**
 * Every name in at most so many lines of so many letters. What does not fit is shortened, and told apart as ever.
 */
export function namesInLines(
  names: Iterable<string>,
  wide: number,
  most: number,
): ReadonlyMap<string, readonly string[]> {
  const all = [...new Set(names)];
  const broken = (name: string): string[] => wrapped(name, wide, most + 1);
  const fits = (name: string): boolean =>
    broken(name).length <= most && broken(name).every((line) => line.length <= wide);
  const short = shortNames(
    all.filter((name) => !fits(name)),
    // A break costs some letters of its line.
    Math.max(wide, Math.floor(0.8 * wide * most)),
  );
  return new Map(all.map((name) => [name, fits(name) ? broken(name) : wrapped(short.get(name) ?? name, wide, most)]));
}

/** Lines of about `wide` letters, never broken at a no-break space; what does not fit into `most` lines ends in an ellipsis. */
export function wrapped(text: string, wide: number, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/[^\S\u00a0]+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= wide) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  const shown = lines.slice(0, most).map((line) => shortened(line.replaceAll("\u00a0", " "), wide + 4));
  if (lines.length > most) shown.push(shortened(`${shown.pop() ?? ""}…`, wide + 5));
  return shown;
}
