-- Sends the requests of a file (see request-pool.ts): wrk -t1 -s wrk.lua URL -- FILE once|again [REQUESTS_PER_SECOND CONNECTIONS]
-- One string and an offset, because a table of 100,000 strings would keep LuaJIT's collector busy.
-- Once a second it says on stderr how many it has sent by when.
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds, microseconds; } hookbox_time; int gettimeofday(hookbox_time *, void *);")

local requests, offset = "", 1
local again = false
local sent, began, told = 0, 0, 0
local time = ffi.new("hookbox_time")
exhausted = 0

local threads = {}

function setup(thread)
  threads[#threads + 1] = thread
end

local function now()
  ffi.C.gettimeofday(time, nil)
  return tonumber(time.seconds) + tonumber(time.microseconds) / 1e6
end

function init(args)
  local file = assert(io.open(args[1], "rb"))
  requests = file:read("*a")
  file:close()
  again = args[2] == "again"
  if args[3] ~= nil then
    -- Each connection waits on its own and at random, so that requests come as if from senders who know nothing of each
    -- other. wrk calls this before each request, in milliseconds.
    local pause = 1000 * tonumber(args[4]) / tonumber(args[3])
    function delay()
      return math.random() * 2 * pause
    end
  end
  io.stderr:write("loaded\n")
end

local function tell()
  local at = now()
  if began == 0 then
    began, told = at, at
  elseif at - told >= 1 then
    told = at
    io.stderr:write(string.format("sent %d %.6f\n", sent, at - began))
  end
end

function request()
  sent = sent + 1
  if sent % 16 == 0 then
    tell()
  end
  local high, low = string.byte(requests, offset, offset + 1)
  if high == nil and again then
    offset = 1
    high, low = string.byte(requests, offset, offset + 1)
  end
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
