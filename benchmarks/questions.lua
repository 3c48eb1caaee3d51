-- wrk's threads share out the lines of $QUESTIONS, so that no question is asked twice in one run; then they begin anew.
local threads = 0
function setup(thread)
  thread:set("first", threads)
  threads = threads + 1
end

function init()
  lines, at = {}, first
  for line in io.lines(os.getenv("QUESTIONS")) do lines[#lines + 1] = line end
  step = tonumber(os.getenv("THREADS") or "1")
  headers = {["Content-Type"] = "application/json"}
end

function request()
  at = at + step
  return wrk.format("POST", "/api/v1/forecast", headers, lines[(at - 1) % #lines + 1])
end

function done(summary, latency)
  io.write(string.format(
    '{"requests": %d, "microseconds": %d, "errors": %d, "p50": %d, "p99": %d, "most": %d}\n',
    summary.requests, summary.duration,
    summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99), latency.max))
end
