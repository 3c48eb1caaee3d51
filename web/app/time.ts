/** Times as the server writes them: 2014-11-09, 2014-11-09T13, 2014, or a plain number. */

const DAY = 86_400_000;
const LENGTHS: Record<string, number> = { second: 1000, minute: 60_000, hour: DAY / 24, week: 7 * DAY };

/** So many units later; the text itself where it is no time we know. Of a month that is too short, its last day. */
export function shift(time: string, units: number, unit: string): string {
  if (/^-?\d+$/.test(time)) return String(Number(time) + units);
  const parsed = Date.parse(time.length === 13 ? `${time}:00Z` : time.includes("T") ? `${time}Z` : time);
  if (Number.isNaN(parsed)) return time;
  const moment = new Date(parsed);
  if (unit === "month" || unit === "year") {
    const day = moment.getUTCDate();
    moment.setUTCMonth(moment.getUTCMonth() + units * (unit === "year" ? 12 : 1) + 1, 0); // the last of that month
    moment.setUTCDate(Math.min(day, moment.getUTCDate()));
  } else moment.setTime(parsed + units * (LENGTHS[unit] ?? DAY));
  return moment.toISOString().slice(0, time.length);
}
