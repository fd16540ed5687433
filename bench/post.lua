-- wrk's side of the load: POST /plants with the next id in every request.
-- Arguments: a bearer token, and a whole number to start from.
-- The last line that it prints is a JSON object: see runWrk() in measure.ts.

local last_id

function init(args)
  last_id = tonumber(args[2])
  wrk.method = "POST"
  wrk.path = "/plants"
  wrk.headers["Authorization"] = "Bearer " .. args[1]
  wrk.headers["Content-Type"] = "application/json"
end

function request()
  last_id = last_id + 1
  local body = ('{"id":%d,"name":"Black alder","tag":"Alnus glutinosa"}'):format(last_id)
  return wrk.format(nil, nil, nil, body)
end

-- Without a response(), which would be called for each, wrk itself counts the statuses from 400.
function done(summary, latency)
  local errors = summary.errors
  local failed = errors.status + errors.connect + errors.read + errors.write + errors.timeout
  local times = {}
  for i, share in ipairs({ 50, 99, 99.9 }) do times[i] = latency:percentile(share) / 1e3 end
  io.write(('{"accepted":%d,"failed":%d,"seconds":%f,"p50":%f,"p99":%f,"p999":%f}\n'):format(
    summary.requests - errors.status, failed, summary.duration / 1e6, unpack(times)
  ))
end
