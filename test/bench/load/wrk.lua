-- Sends each request of a file once (see request-pool.ts): wrk -t1 -s wrk.lua URL -- FILE [REQUESTS_PER_SECOND CONNECTIONS]
-- One string and an offset, because a table of 100,000 strings would keep LuaJIT's collector busy.
local requests, offset = "", 1
exhausted = 0

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  requests = file:read("*a")
  file:close()
  if args[2] ~= nil then
    -- Each connection waits on its own and at random, so that requests come as if from senders who know nothing of each
    -- other. wrk calls this before each request, in milliseconds.
    local pause = 1000 * tonumber(args[3]) / tonumber(args[2])
    function delay()
      return math.random() * 2 * pause
    end
  end
  io.stderr:write("loaded\n")
end

function request()
  local high, low = string.byte(requests, offset, offset + 1)
  if high == nil then
    -- An id sent twice would be a cheaper duplicate, so the load ends here. wrk may still ask for a request or two;
    -- an empty one writes nothing.
    exhausted = 1
    wrk.thread:stop()
    return ""
  end
  local first = offset + 2
  offset = first + high * 256 + low
  return string.sub(requests, first, offset - 1)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"p50Ms":%.3f,"p99Ms":%.3f,"non2xx":%d,"socketErrors":%d,"exhausted":%s}\n',
    summary.requests,
    summary.duration / 1e6,
    latency:percentile(50) / 1000,
    latency:percentile(99) / 1000,
    errors.status,
    errors.connect + errors.read + errors.write + errors.timeout,
    threads[1]:get("exhausted") == 1 and "true" or "false"
  ))
end
