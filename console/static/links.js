// @ts-check
// The addresses of the page's views. No other module puts an address together.
//
// Use it as `import * as links from "./links.js"`, then `href=${links.topic(name)}`. A `query` is
// the state of the view: its filter, its order, what is open. Values that are null or empty are
// left out of the address.

import { path } from "./api.js";

/** @param {Api.Query} [query] */
export function overview(query) {
  return `#${path("/", query ?? {})}`;
}

/** @param {Api.Query} [query] */
export function topics(query) {
  return `#${path("/topics", query ?? {})}`;
}

/** @param {string} name */
export function topic(name) {
  return `#${path("/topics/{}", name)}`;
}

/**
 * The records of a topic.
 *
 * @param {string} name
 * @param {Api.Query} [query]
 */
export function messages(name, query) {
  return `#${path("/topics/{}/messages", name, query ?? {})}`;
}

/**
 * The list of a partition's records from an offset on; null: from the oldest record on.
 *
 * @param {string} name
 * @param {number} partition
 * @param {number | null} offset
 */
export function recordsFrom(name, partition, offset) {
  return messages(name, { partition, from: offset, order: "oldest" });
}

/**
 * The page of one record. `uncommitted`: also show records of open and aborted transactions.
 *
 * @param {string} name
 * @param {number | string} partition
 * @param {number | string} offset
 * @param {{ uncommitted?: Api.Value | boolean }} [query]
 */
export function record(name, partition, offset, query) {
  return `#${path("/topics/{}/messages/{}/{}", name, partition, offset, query ?? {})}`;
}

/**
 * The segment of a partition that has an offset, with the offset's batch open.
 *
 * @param {string} name
 * @param {number | string} partition
 * @param {number | string} offset
 */
export function segmentAt(name, partition, offset) {
  return partitionSegments(name, partition, { offset });
}

/** @param {Api.Query} [query] */
export function groups(query) {
  return `#${path("/groups", query ?? {})}`;
}

/** @param {string} name */
export function group(name) {
  return `#${path("/groups/{}", name)}`;
}

/**
 * Return the address of the transactions. `query`: a part `q` of the transactional id, `states`,
 * the age `longer` in ms, and the `topic` of the records that wait.
 *
 * @param {Api.Query} [query]
 */
export function transactions(query) {
  return `#${path("/transactions", query ?? {})}`;
}

/**
 * Return the address of the producers of a partition.
 *
 * @param {string} name
 * @param {number} partition
 */
export function producers(name, partition) {
  return `#${path("/topics/{}/producers/{}", name, partition)}`;
}

/** @param {Api.Query} [query] */
export function replicas(query) {
  return `#${path("/replicas", query ?? {})}`;
}

/** @param {Api.Query} [query] */
export function configs(query) {
  return `#${path("/configs", query ?? {})}`;
}

/** @param {Api.Query} [query] */
export function access(query) {
  return `#${path("/access", query ?? {})}`;
}

export function quorum() {
  return `#${path("/quorum")}`;
}

export function flow() {
  return `#${path("/flow")}`;
}

/** @param {Api.Query} [query] */
export function segments(query) {
  return `#${path("/segments", query ?? {})}`;
}

/**
 * The segments of a partition. `query`: the log directory `dir`, the open `segment`, its `tab`, the
 * position of a batch `at`, and the number of a `record` in that batch; or an `offset` to open.
 *
 * @param {string} name
 * @param {number | string} partition
 * @param {Api.Query} [query]
 */
export function partitionSegments(name, partition, query) {
  return `#${path("/segments/{}/{}", name, partition, query ?? {})}`;
}

/**
 * Return the query of an address.
 *
 * @param {string} hash
 * @returns {Q}
 */
export function queryOf(hash) {
  return Object.fromEntries(new URLSearchParams(hash.split("?")[1] ?? ""));
}

/**
 * Return an address with changes of its query; null takes a value away.
 *
 * @param {string} hash
 * @param {Api.Query} changes
 */
export function withQuery(hash, changes) {
  const form = hash.split("?")[0] || "#/";
  return path(form, { ...queryOf(hash), ...changes });
}

/**
 * Return the address of the navigation's item to which an address belongs.
 *
 * @param {string} hash
 */
export function sectionOf(hash) {
  const [address] = hash.replace(/^#/, "").split("?");
  return `#/${address.split("/")[1] ?? ""}`;
}
