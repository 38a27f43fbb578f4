// @ts-check
// The texts about open transactions and the records that wait for them.

import { duration, plural } from "../../parts/words.js";

const YOUNG_MS = 5_000;

/**
 * A transaction with the partitions whose records wait for it.
 *
 * @typedef {{
 *   id: string | null, producer: number | null, since: number | null, hangs: boolean,
 *   records: number, partitions: Answer.WaitingPartition[],
 * }} Blocker
 */

/**
 * Return the transactions for which records wait, those with the most records first. Transactions
 * younger than 5 s are left out: records of each transaction wait until it ends.
 *
 * @param {Answer.WaitingPartition[]} partitions
 * @param {number} now ms since 1970
 * @returns {Blocker[]}
 */
export function blockers(partitions, now) {
  /** @type {Map<string, Blocker>} */
  const byProducer = new Map();
  for (const one of partitions) {
    if (one.since_ms !== null && now - one.since_ms < YOUNG_MS) continue;
    const key = one.producer_id === null ? `${one.topic} ${one.partition}` : `${one.producer_id}`;
    const known = byProducer.get(key) ?? {
      id: one.transactional_id,
      producer: one.producer_id,
      since: one.since_ms,
      hangs: false,
      records: 0,
      partitions: [],
    };
    known.records += one.records;
    known.hangs ||= one.hangs;
    known.partitions.push(one);
    byProducer.set(key, known);
  }
  return [...byProducer.values()].sort((a, b) => b.records - a.records);
}

/**
 * Return the parts of "6 records wait for the transaction of tx-1, open for 14 min": the text
 * before the transaction, its name, and the text after it.
 *
 * @param {Blocker} blocker
 * @param {number} now ms since 1970
 * @returns {[before: string, name: string, after: string]}
 */
export function waitingWords(blocker, now) {
  const many = plural(blocker.records, "record");
  const wait = blocker.records === 1 ? "waits" : "wait";
  const age = blocker.since === null ? "" : `, open for ${duration(now - blocker.since)}`;
  if (blocker.id !== null) return [`${many} ${wait} for the transaction of `, blocker.id, age];
  if (blocker.producer === null) return [`${many} ${wait} for `, "an open transaction", ""];
  const kind = blocker.hangs ? "a hanging transaction" : "an open transaction";
  return [`${many} ${wait} for `, `${kind} of producer ${blocker.producer}`, age];
}

/**
 * Return why a partition's transaction has no transactional id.
 *
 * @param {Answer.WaitingPartition} one
 */
export function withoutId(one) {
  if (one.hangs) return "No coordinator knows this transaction, so nothing ends it";
  if (one.producer_id === null) return "The console's login needs Read on the topic to see it";
  return "Its coordinator has just ended it, or the login may not describe its transactional id";
}

/**
 * Return the number of records that wait for each transactional id.
 *
 * @param {Answer.WaitingPartition[]} partitions
 * @returns {Record<string, number>}
 */
export function waitingById(partitions) {
  /** @type {Record<string, number>} */
  const sums = {};
  for (const { transactional_id: id, records } of partitions)
    if (id !== null) sums[id] = (sums[id] ?? 0) + records;
  return sums;
}

/** The choices of "Open for longer than": ms in the address, and their text. */
export const AGES = /** @type {[ms: string, text: string][]} */ ([
  ["", "Any age"],
  ["10000", "Open for 10 s or longer"],
  ["60000", "Open for 1 min or longer"],
  ["900000", "Open for 15 min or longer"],
  ["3600000", "Open for 1 h or longer"],
]);

/**
 * Return the kind of a state's badge.
 *
 * @param {string} state
 */
export function stateKind(state) {
  if (state === "Ongoing") return "info";
  return state.startsWith("Prepare") ? "warn" : "";
}
