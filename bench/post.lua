-- wrk's side of the load: POST /plants with an id of its own in every request.
-- Arguments: a bearer token, a whole number to start from, and `sequential` or `wide` for the ids.
-- The last line that it prints is a JSON object: see load() in measure.ts.

local last_id, next_id, thread_of_run

function setup(thread)
  thread_of_run = thread
end

-- A random int64 in decimal digits; LuaJIT writes LL behind them.
local function wide_id()
  local high = math.random(-2147483648, 2147483647) * 1LL
  return tostring(high * 4294967296LL + math.random(0, 4294967295)):sub(1, -3)
end

local function sequential_id()
  last_id = last_id + 1
  return ("%d"):format(last_id)
end

function init(args)
  not_200 = 0
  last_id = tonumber(args[2])
  math.randomseed(last_id)
  next_id = args[3] == "wide" and wide_id or sequential_id
  wrk.method = "POST"
  wrk.path = "/plants"
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  local body = '{"id":' .. next_id() .. ',"name":"Black alder","tag":"Alnus glutinosa"}'
  return wrk.format(nil, nil, nil, body)
end

function response(status)
  if status ~= 200 then not_200 = not_200 + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(('{"requests":%d,"seconds":%f,"p99":%f,"cpu":%f,"not200":%d,"errors":%d}\n'):format(
    summary.requests,
    summary.duration / 1e6,
    latency:percentile(99) / 1e3,
    os.clock(),
    thread_of_run:get("not_200"),
    errors.connect + errors.read + errors.write + errors.timeout
  ))
end
