import assert from "node:assert/strict";
import { test } from "node:test";

import { lanesOf, span, stationsOf } from "../../../../console/static/views/flow_stations.js";

const APPENDED = { name: "appended", topic: "t", partition: 0, first_offset: 7, at_s: 2 };
const COPY = { node: 2, topic: "t", partition: 0, first_offset: 5, offsets: [7] };

test("spans of time are as short as their unit", () => {
  const said = ["1.2 µs", "123 µs", "4.56 ms", "45.6 ms", "456 ms", "1.20 s", "−3.00 ms"];
  assert.deepEqual([1.23e-6, 123e-6, 4.56e-3, 45.6e-3, 0.456, 1.2, -0.003].map(span), said);
});

test("stations come in time, a follower's copy once and beside its append", () => {
  const copy = { ...COPY, appended_s: 3, answered_s: 2.5 };
  const trace = { stations: [APPENDED, { name: "received", at_s: 1 }] };
  const stations = stationsOf(trace, [copy, copy], null);
  assert.deepEqual(
    stations.map((one) => [one.key, one.lane, one.at, one.since]),
    [
      ["received", stations[0].lane, 1, null],
      ["appended", "log", 2, null],
      ["copied", "follower-2", 3, 2.5],
    ],
  );
  assert.equal(lanesOf(stations).at(-1)[0], "follower-2");
});

test("stations of other partitions are left out where one is chosen", () => {
  const other = { ...APPENDED, partition: 1 };
  const stations = stationsOf({ stations: [APPENDED, other] }, [], { topic: "t", partition: 0 });
  assert.equal(stations.length, 1);
});
