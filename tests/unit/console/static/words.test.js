import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ago,
  bytes,
  count,
  duration,
  exactBytes,
  fullTime,
  lagOf,
  offsetOf,
  plural,
  rate,
  shortNames,
  time,
  zone,
} from "../../../../console/static/parts/words.js";

const MISSING = [null, undefined];

test("what is not known is a dash", () => {
  for (const say of [ago, bytes, count, duration, rate, time])
    assert.deepEqual(MISSING.map(say), ["–", "–"]);
});

test("counts have their thousands apart", () => {
  assert.deepEqual([0, 999, 1234567, -1000].map(count), ["0", "999", "1,234,567", "-1,000"]);
});

test("a lag that is not known of all partitions is a lower bound", () => {
  assert.equal(lagOf({ lag: 1200, partitions_without_lag: 0 }), "1,200");
  assert.equal(lagOf({ lag: 0, partitions_without_lag: 3 }), "≥ 0");
  assert.equal(lagOf({ lag: null, partitions_without_lag: 3 }), "–");
});

test("bytes have three digits and a unit", () => {
  const sizes = [0, 1023, 1024, 12_345, 123_456, 1024 ** 3, 5000 * 1024 ** 4];
  const said = ["0 B", "1,023 B", "1 KiB", "12.1 KiB", "121 KiB", "1 GiB", "5,000 TiB"];
  assert.deepEqual(sizes.map(bytes), said);
});

test("an exact size stands beside a short one that hides bytes", () => {
  const said = ["613 B", "1 KiB, 1,024 bytes", "12.1 KiB, 12,345 bytes"];
  assert.deepEqual([613, 1024, 12_345].map(exactBytes), said);
});

test("a long name in a text lacks its middle, and keeps the partition's number", () => {
  const long = `${"a".repeat(249)}-12`;
  const short = `${"a".repeat(40)}…${"a".repeat(13)}-12`;
  assert.equal(shortNames(`${long} leader 1 to 2`), `${short} leader 1 to 2`);
  assert.equal(shortNames("orders-0 leader 1 to 2"), "orders-0 leader 1 to 2");
});

test("rates shrink to thousands and millions", () => {
  const said = ["0.50", "12", "12.3", "12.3 k", "4 M"];
  assert.deepEqual([0.5, 12, 12.34, 12_345.6, 4e6].map(rate), said);
});

test("a time has a day and milliseconds where they are wanted", () => {
  const at = new Date(2026, 10, 27, 1, 2, 3, 4).getTime();
  assert.equal(time(at), "2026-11-27 01:02:03.004");
  assert.equal(time(at, { millis: false }), "2026-11-27 01:02:03");
  assert.equal(time(at, { day: false, millis: false }), "01:02:03");
  assert.equal(time(-1), "–");
  assert.equal(time(9e15), "9000000000000000");
});

test("a duration has two units at most", () => {
  const said = {
    0.25: "0.25 ms",
    12.4: "12 ms",
    1500: "1.5 s",
    45_000: "45 s",
    60_000: "1 min",
    200_000: "3 min 20 s",
    3_600_000: "1 h",
    5_400_000: "1 h 30 min",
    604_800_000: "7 d",
    612_000_000: "7 d 2 h",
  };
  for (const [ms, words] of Object.entries(said)) assert.equal(duration(Number(ms)), words);
});

test("how long ago that was", () => {
  assert.equal(ago(Date.now()), "just now");
  assert.equal(ago(Date.now() - 125_500), "2 min ago");
  assert.equal(ago(Date.now() + 3_599_999), "in 59 min 59 s");
});

test("one is not many", () => {
  assert.equal(plural(1, "record"), "1 record");
  assert.equal(plural(0, "record"), "0 records");
  assert.equal(plural(2000, "batch", "batches"), "2,000 batches");
});

test("a time in full has its zone", () => {
  assert.deepEqual([offsetOf(0), offsetOf(120), offsetOf(-210)], ["", "+02:00", "-03:30"]);
  const at = new Date(2026, 10, 27, 1, 2, 3, 4);
  const full = `2026-11-27T01:02:03.004${zone(at.getTime()).slice(3) || "Z"}`;
  assert.equal(fullTime(at.getTime()), full);
  assert.equal(new Date(full).getTime(), at.getTime());
  assert.deepEqual(
    [fullTime(null), fullTime(-1), fullTime(8.7e15)],
    [undefined, undefined, undefined],
  );
});
