import { expect, test } from "vitest";
import { shift } from "../app/time";

test.each([
  ["2014-11-09", -9, "day", "2014-10-31"],
  ["2014-11-09T23", 2, "hour", "2014-11-10T01"],
  ["2014-11-09T23:59", 1, "minute", "2014-11-10T00:00"],
  ["2014-11-09T23:59:59", 1, "second", "2014-11-10T00:00:00"],
  ["2014-11-09", 1, "week", "2014-11-16"],
  ["2014-01", -1, "month", "2013-12"],
  ["2014-01-31", 1, "month", "2014-02-28"],
  ["2012-02-29", -1, "year", "2011-02-28"],
  ["1997", -3, "year", "1994"],
  ["17", 1, "step", "18"],
  ["soon", 1, "day", "soon"],
])("%s, %i %ss later, is %s", (time, units, unit, later) => {
  expect(shift(time, units, unit)).toBe(later);
});
