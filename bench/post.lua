-- wrk's side of the load: POST /plants with an id of its own in every request.
-- Arguments: a bearer token, a whole number to start from, and `sequential` or `random` for the ids.
-- The last line that it prints is a JSON object: see run() in measure.ts.

local last_id, next_id

-- A random int64 in decimal digits; LuaJIT writes LL behind them.
local function random_id()
  local high = math.random(-2147483648, 2147483647) * 1LL
  return tostring(high * 4294967296LL + math.random(0, 4294967295)):sub(1, -3)
end

local function sequential_id()
  last_id = last_id + 1
  return ("%d"):format(last_id)
end

function init(args)
  last_id = tonumber(args[2])
  math.randomseed(last_id)
  next_id = args[3] == "random" and random_id or sequential_id
  wrk.method = "POST"
  wrk.path = "/plants"
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  local body = '{"id":' .. next_id() .. ',"name":"Black alder","tag":"Alnus glutinosa"}'
  return wrk.format(nil, nil, nil, body)
end

-- Without a response(), which would be called for each, wrk itself counts the statuses from 400.
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  io.write(('{"accepted":%d,"failed":%d,"seconds":%f,"p99":%f,"cpu":%f}\n'):format(
    summary.requests - errors.status, failed,
    summary.duration / 1e6, latency:percentile(99) / 1e3, os.clock()
  ))
end
