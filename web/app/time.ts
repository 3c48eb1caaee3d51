/** Times as the server writes them: 2014-11-09, 2014-11-09T13, 2014, or a plain number. */

const DAY = 86_400_000;

/** So many units later; the text itself where it is no time we know. */
export function shift(time: string, units: number, unit: string): string {
  if (/^-?\d+$/.test(time)) return String(Number(time) + units);
  const parsed = Date.parse(time.length === 13 ? `${time}:00Z` : time.includes("T") ? `${time}Z` : time);
  if (Number.isNaN(parsed)) return time;
  const step = unit === "hour" ? DAY / 24 : unit === "week" ? 7 * DAY : DAY;
  return new Date(parsed + units * step).toISOString().slice(0, time.length);
}
