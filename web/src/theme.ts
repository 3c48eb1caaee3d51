/** Colours. Query and answer share the one strong colour; it differs from the greys in lightness, too. */
export interface Theme {
  readonly paper: string;
  readonly ink: string;
  readonly quiet: string;
  readonly faint: string;
  readonly node: string;
  readonly rim: string;
  readonly accent: string;
  readonly tint: string;
}

export const LIGHT: Theme = {
  paper: "#ffffff",
  ink: "#17202a",
  quiet: "#566270",
  faint: "#dfe4e9",
  node: "#cbd5df",
  rim: "#5d6b7a",
  accent: "#c2500a",
  tint: "#fdf1e8",
};

export const DARK: Theme = {
  paper: "#14181d",
  ink: "#eef2f6",
  quiet: "#a4b0bd",
  faint: "#2b333c",
  node: "#46525f",
  rim: "#93a1b0",
  accent: "#f5a14b",
  tint: "#2a2118",
};

/** A colour `part` of the way from one to the other. */
export function mixed(from: string, to: string, part: number): string {
  const channel = (color: string, place: number): number => parseInt(color.slice(1 + 2 * place, 3 + 2 * place), 16);
  return `#${[0, 1, 2]
    .map((place) => Math.round(channel(from, place) + (channel(to, place) - channel(from, place)) * part))
    .map((value) => value.toString(16).padStart(2, "0"))
    .join("")}`;
}
