import assert from "node:assert/strict";
import { test } from "node:test";
import {
  capital,
  chartNote,
  deliveriesOf,
  epochs,
  lagBelow,
  memberNames,
  offsetsOf,
  termsOf,
  whyNot,
  withoutCommit,
} from "../../../../console/static/views/group_words.js";

const NO_COMMIT = { partitions: 4, records: 30636 };
const NONE = { partitions: 0, records: 0 };

/** @param {object} fields */
function group(fields) {
  return /** @type {any} */ ({
    partitions: [],
    members: [],
    partitions_without_lag: 0,
    uncommitted: NONE,
    lag: 0,
    keeps_up: false,
    operations: null,
    unserved: null,
    ...fields,
  });
}

test("partitions without a commit are counted apart from the lag", () => {
  assert.equal(withoutCommit(NO_COMMIT), "+ 4 partitions without a commit, 30,636 records");
  assert.equal(withoutCommit(NONE), "");
  assert.equal(
    lagBelow(group({ lag: 9, keeps_up: true, uncommitted: { partitions: 1, records: 1 } })),
    "keeps up, + 1 partition without a commit, 1 record",
  );
  assert.equal(
    chartNote(group({ uncommitted: NO_COMMIT })),
    "without 4 partitions that have no commit",
  );
  assert.equal(chartNote(group({})), "");
});

test("a group does not keep up before samples show it", () => {
  assert.equal(lagBelow(group({ lag: 5633 })), "not enough samples yet");
  assert.equal(lagBelow(group({ lag: 50, keeps_up: true })), "keeps up");
  assert.equal(lagBelow(group({ keeps_up: true })), "has read all records");
  assert.equal(lagBelow(group({ lag: 5, partitions: [{ late: true }] })), "1 partition behind");
  const unknown = group({ lag: null, partitions_without_lag: 2 });
  assert.equal(lagBelow(unknown), "no committed offsets, unknown for 2 partitions");
});

test("a change that is not possible has a reason", () => {
  assert.equal(whyNot(group({}), "READ"), undefined);
  assert.equal(whyNot(group({ operations: ["READ"] }), "READ"), undefined);
  assert.match(whyNot(group({ operations: ["READ"] }), "DELETE") ?? "", /Delete on this group/);
  assert.match(whyNot(group({ members: [{}] }), "READ") ?? "", /stop them first/);
  assert.match(whyNot(group({ unserved: "a share group" }), "READ") ?? "", /a share group/);
});

test("members with one client id differ in their visible names", () => {
  const members = [
    { id: "app-0001", name: "app", instance: null },
    { id: "app-0002", name: "app", instance: null },
    { id: "m3", name: "app", instance: "static-1" },
    { id: "m4", name: "other", instance: null },
    { id: "m5", name: "", instance: null },
  ];
  assert.deepEqual(memberNames(members), [
    "app · …p-0001",
    "app · …p-0002",
    "app · static-1",
    "other",
    "m5",
  ]);
});

test("only a group with an epoch has its text", () => {
  assert.equal(epochs(group({ type: "share", epoch: null })), "");
  assert.equal(epochs(group({ type: "classic", epoch: null })), "a classic group has no epoch");
  assert.equal(epochs(group({ epoch: 5, target_epoch: 5 })), "group epoch 5");
  assert.equal(epochs(group({ epoch: 6, target_epoch: 5 })), "group epoch 6, target assignment 5");
});

test("a share group finishes records and has start offsets", () => {
  assert.equal(capital(termsOf("share").offset), "Start offset");
  assert.equal(termsOf("classic").offset, termsOf("consumer").offset);
  assert.equal(
    lagBelow(group({ type: "share", keeps_up: true, uncommitted: NO_COMMIT })),
    "has finished all records",
  );
  assert.equal(lagBelow(group({ type: "share", lag: null })), "has finished no records yet");
  assert.match(chartNote(group({ type: "share" })), /finished records/);
});

test("a range of offsets and its deliveries", () => {
  assert.equal(offsetsOf({ first: 5, last: 5 }), "5");
  assert.equal(offsetsOf({ first: 5, last: 1700 }), "5–1,700");
  assert.equal(deliveriesOf({ deliveries: null }, 5), "–");
  assert.equal(deliveriesOf({ deliveries: 3 }, 5), "3 of 5");
  assert.equal(deliveriesOf({ deliveries: 3 }, null), "3");
});
