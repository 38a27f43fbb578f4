import assert from "node:assert/strict";
import { test } from "node:test";

import {
  fateAtLength,
  fateOf,
  hex,
  left,
} from "../../../../console/static/views/segments/words.js";

const NOW = 1_000_000_000_000;
const LOG = { rules: { compact: false, checkInterval: 300_000, why: null } };

function fate(why, changes = {}) {
  return { why, at: null, due: false, grows: null, waitsFor: null, ...changes };
}

test("a segment goes by time, and soon is urgent", () => {
  const after = (ms) => fateOf(fate("time", { at: NOW + ms }), NOW, LOG);
  assert.deepEqual(after(30_000), { text: "in 30 s", kind: "bad", at: NOW + 30_000 });
  assert.deepEqual([after(600_000).kind, after(4_000_000).kind], ["warn", ""]);
});

test("a segment that may go now says why", () => {
  const due = fateOf(fate("size", { due: true }), NOW, LOG);
  assert.deepEqual(due, { text: "due: over retention.bytes", kind: "bad", at: NOW });
  assert.match(fateAtLength(fate("size", { due: true }), NOW, LOG), /checks every 5 min/);
});

test("a segment that nothing takes stays", () => {
  assert.equal(fateOf(fate("never"), NOW, LOG).text, "stays forever");
  const compacted = { rules: { ...LOG.rules, compact: true } };
  assert.equal(fateOf(fate("never"), NOW, compacted).text, "compacted, never deleted");
  assert.deepEqual(fateOf(null, NOW, LOG), { text: "unknown", kind: "" });
});

test("one segment may have to wait for another", () => {
  const words = fateAtLength(fate("time", { at: NOW, waitsFor: 1234, grows: 2048 }), NOW, LOG);
  assert.match(words, /the older segment 1,234 has a later timestamp/);
  assert.match(words, /when the log has grown by 2 KiB\.$/);
});

test("how many records compaction has left", () => {
  const scan = { isWhole: true, nextOffset: 100, records: 25 };
  assert.equal(left({ base: 0, end: 100, active: false, scan }), 0.25);
  assert.equal(left({ base: 100, end: 100, active: false, scan }), null);
  assert.equal(left({ base: 0, end: 9, scan: { ...scan, isWhole: false } }), null);
  assert.equal(left({ base: 0, end: 9, scan: null }), null);
});

test("bytes have two digits", () => {
  assert.deepEqual([hex(0), hex(255), hex(255, 8)], ["00", "ff", "000000ff"]);
});
