// @ts-check
// The stations of a request: for each its name, lane, source file, and a sentence about it.
// The ids are those of broker/requests/request_trace.py, which defines the time of each station.

const STATIONS = {
  received: [
    "Received",
    "network",
    "broker/network/server/connection.py",
    "The network processor has the whole request.",
  ],
  taken: [
    "Dequeued",
    "queue",
    "broker/network/server/request_channel.py",
    "The request gets a handler slot. It waits here only if no slot is free.",
  ],
  decoded: [
    "Decoded",
    "handler",
    "broker/requests/request_handler.py",
    "The handler has decoded the request. It checks the sender's rights next.",
  ],
  appended: [
    "Appended",
    "log",
    "storage/log/unified_log.py",
    "The leader checks the batch, assigns its offsets and writes it to the segment file.",
  ],
  refused: ["Rejected", "log", "broker/replication/partition.py", "The leader rejects the batch."],
  read: [
    "Read",
    "log",
    "broker/replication/partition_reads.py",
    "The leader finds a slice of a segment file by the index. It copies no record.",
  ],
  waits: [
    "Waits",
    "purgatory",
    "broker/purgatory/delayed_operations.py",
    "The request waits in the purgatory, without a handler slot.",
  ],
  handled: [
    "Returned",
    "handler",
    "broker/network/server/request_channel.py",
    "The handler is free for other requests. This request has no response yet.",
  ],
  follower_read: [
    "Fetched",
    "follower",
    "broker/apis/fetch/api.py",
    "The leader answers the follower's waiting Fetch with the batch.",
  ],
  copied: [
    "Copied",
    "follower",
    "broker/replication/replica_fetcher.py",
    "The follower has appended the batch unchanged to its own log.",
  ],
  follower_has: [
    "Acked",
    "follower",
    "broker/replication/partition.py",
    "The follower's next Fetch begins after the batch, so the leader knows that the copy exists.",
  ],
  high_watermark: [
    "Committed",
    "log",
    "broker/replication/followers.py",
    "All in-sync replicas have the batch. The high watermark rises, and consumers can read it.",
  ],
  woken: [
    "Woken",
    "purgatory",
    "broker/purgatory/purgatory.py",
    "The request's condition is met, so the request leaves the purgatory.",
  ],
  expired: [
    "Expired",
    "purgatory",
    "broker/purgatory/deadlines.py",
    "The request's maximum wait is over. It leaves the purgatory with the data available.",
  ],
  answered: [
    "Answered",
    "handler",
    "broker/requests/request_handler.py",
    "The handler passes the response to the connection.",
  ],
  sending: [
    "Sending",
    "network",
    "broker/network/server/connection.py",
    "The network processor begins to send the response.",
  ],
  sent: [
    "Sent",
    "client",
    "broker/network/file_send.py",
    "The kernel has the whole response and sends it to the client.",
  ],
};

const LANES = {
  client: "Client",
  network: "Network processor",
  queue: "Request queue",
  handler: "Handler",
  log: "Leader's log",
  purgatory: "Purgatory",
};
const ORDER = ["client", "network", "queue", "handler", "log", "follower", "purgatory"];

/**
 * Return the stations of a trace, with the copies of followers, in the order of time.
 *
 * `only`, an append or null, leaves out the stations of other partitions. Each station is
 * {key, name, lane, file, sentence, at, since, facts}; `at` and `since` are in seconds.
 */
export function stationsOf(trace, copies, only) {
  const own = trace.stations.filter(
    (one) => only === null || one.topic === undefined || isOf(one, only),
  );
  const of = new Map(
    own.filter((one) => one.name === "appended").map((one) => [placeOf(one), one]),
  );
  const seen = new Set();
  const others = [];
  for (const copy of copies) {
    const appended = copy.offsets
      .map((offset) => of.get(`${copy.topic}/${copy.partition}/${offset}`))
      .find(Boolean);
    const key = `${copy.node}/${copy.topic}/${copy.partition}/${copy.first_offset}`;
    if (!appended || seen.has(key)) continue;
    seen.add(key);
    others.push({
      ...copy,
      name: "copied",
      broker: copy.node,
      at_s: copy.appended_s,
      since_s: copy.answered_s,
    });
  }
  return [...own, ...others].sort((a, b) => a.at_s - b.at_s).map(described);
}

function isOf(one, only) {
  return one.topic === only.topic && one.partition === only.partition;
}

function placeOf(one) {
  return `${one.topic}/${one.partition}/${one.first_offset}`;
}

function described(one) {
  const [name, lane, file, sentence] = STATIONS[one.name] ?? [one.name, "handler", "", ""];
  const at = lane === "follower" ? `follower-${one.broker}` : lane;
  return {
    key: one.name,
    name,
    lane: at,
    file,
    sentence,
    at: one.at_s,
    since: one.since_s ?? null,
    facts: factsOf(one),
  };
}

/** Return [id, name] of each lane of the stations, the client's first. */
export function lanesOf(stations) {
  const ids = new Set(["client", ...stations.map((one) => one.lane)]);
  const rank = (lane) => ORDER.indexOf(lane.split("-")[0]);
  return [...ids]
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true }))
    .map((id) => [id, LANES[id] ?? `Follower ${id.slice("follower-".length)}`]);
}

function segmentName(base) {
  return `${String(base).padStart(20, "0")}.log`;
}

/** Return the facts about a station besides its time, each as [name, value]. */
function factsOf(one) {
  const facts = [];
  if (one.name === "received") facts.push(["request size", `${one.bytes} B`]);
  if (one.name === "taken") facts.push(["queue", one.queued ? "waited for a slot" : "empty"]);
  if (one.name === "appended") {
    const many = one.last_offset > one.first_offset;
    facts.push([
      many ? "offsets" : "offset",
      many ? `${one.first_offset} to ${one.last_offset}` : one.first_offset,
    ]);
    if (one.duplicate) facts.push(["duplicate", "a producer's retry: the log already has it"]);
  }
  if (one.name === "read")
    facts.push(["from offset", one.offset], ["high watermark", one.high_watermark]);
  if (one.segment >= 0 && one.position !== undefined) {
    facts.push(["segment", segmentName(one.segment)], ["position", one.position]);
  }
  if (one.name === "copied")
    facts.push(["segment", segmentName(one.segment)], ["log end", one.end_offset]);
  if (one.bytes !== undefined && one.name !== "received") facts.push(["bytes", one.bytes]);
  if (one.way)
    facts.push([
      "sent",
      one.way === "in one call" ? "read and sent in one call (small slice)" : one.way,
    ]);
  if (one.name === "waits")
    facts.push(["purgatory", one.purgatory], ["maximum wait", `${one.longest_ms} ms`]);
  if (one.name === "follower_has" || one.name === "high_watermark")
    facts.push(["offset", one.offset]);
  if (one.error) facts.push(["error", one.error]);
  if (one.name === "answered" && one.leaves === false) facts.push(["acks=0", "no response"]);
  return facts;
}

/** Return seconds as a text, such as "123 µs", "4.56 ms" or "−1.20 s". */
export function span(seconds) {
  const sign = seconds < 0 ? "−" : "";
  const us = Math.abs(seconds) * 1e6;
  if (us < 1000) return `${sign}${us < 10 ? us.toFixed(1) : Math.round(us)} µs`;
  if (us < 1e4) return `${sign}${(us / 1000).toFixed(2)} ms`;
  if (us < 1e6) return `${sign}${(us / 1000).toFixed(us < 1e5 ? 1 : 0)} ms`;
  return `${sign}${(us / 1e6).toFixed(2)} s`;
}
