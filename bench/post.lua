-- wrk's side of the load: POST /plants with an id of its own in every request.
-- Arguments: a bearer token, a whole number to start from, and `sequential` or `wide` for the ids.
-- The last line that it prints is a JSON object: see run() in measure.ts.

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
  refused, wrong = 0, 0
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
  if status == 503 then refused = refused + 1
  elseif status ~= 200 then wrong = wrong + 1 end
end

function done(summary, latency)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(('{"requests":%d,"seconds":%f,"refused":%d,"wrong":%d,"p99":%f,"cpu":%f}\n'):format(
    summary.requests,
    summary.duration / 1e6,
    thread_of_run:get("refused"),
    thread_of_run:get("wrong") + broken,
    latency:percentile(99) / 1e3,
    os.clock()
  ))
end
