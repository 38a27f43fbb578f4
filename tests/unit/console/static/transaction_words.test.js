import assert from "node:assert/strict";
import { test } from "node:test";
import {
  blockers,
  stateKind,
  waitingById,
  waitingWords,
  withoutId,
} from "../../../../console/static/views/transactions/words.js";

const NOW = 1_000_000;

/** @param {object} fields */
function waiting(fields) {
  return /** @type {any} */ ({
    topic: "t",
    partition: 0,
    records: 3,
    producer_id: 7,
    transactional_id: "tx",
    since_ms: NOW - 840_000,
    hangs: false,
    ...fields,
  });
}

test("records of several partitions wait for one transaction", () => {
  const [first, ...more] = blockers([waiting({}), waiting({ partition: 1 })], NOW);
  assert.deepEqual(more, []);
  assert.equal(
    waitingWords(first, NOW).join(""),
    "6 records wait for the transaction of tx, open for 14 min",
  );
});

test("a transaction that has just begun is not mentioned", () => {
  assert.deepEqual(blockers([waiting({ since_ms: NOW - 100 })], NOW), []);
});

test("the transaction with the most waiting records comes first", () => {
  const rows = [waiting({}), waiting({ producer_id: 8, transactional_id: null, records: 9 })];
  assert.deepEqual(
    blockers(rows, NOW).map((one) => [one.producer, one.records]),
    [
      [8, 9],
      [7, 3],
    ],
  );
});

test("a transaction without an id is named by its producer", () => {
  const hanging = waiting({ transactional_id: null, hangs: true, records: 1 });
  assert.equal(
    waitingWords(blockers([hanging], NOW)[0], NOW).join(""),
    "1 record waits for a hanging transaction of producer 7, open for 14 min",
  );
  assert.match(withoutId(hanging), /nothing ends it/);
  const unseen = waiting({ transactional_id: null, producer_id: null, since_ms: null });
  assert.equal(
    waitingWords(blockers([unseen], NOW)[0], NOW).join(""),
    "3 records wait for an open transaction",
  );
  assert.match(withoutId(unseen), /needs Read/);
  assert.match(withoutId(waiting({ transactional_id: null })), /may not describe/);
});

test("waiting records are summed by id", () => {
  const rows = [waiting({}), waiting({ partition: 1 }), waiting({ transactional_id: null })];
  assert.deepEqual(waitingById(rows), { tx: 6 });
});

test("an open transaction has a colour of its own", () => {
  assert.deepEqual(["Ongoing", "PrepareAbort", "Empty"].map(stateKind), ["info", "warn", ""]);
});
