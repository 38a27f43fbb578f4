// @ts-check
// The operations that the console's login may do, and why a button is disabled.

import { path, useGet } from "./api.js";

/**
 * Return why the login may not do an operation on the cluster, a topic or a group; undefined if it
 * may, or if the cluster does not report the login's operations.
 *
 * @param {string[] | null | undefined} operations
 * @param {string} operation
 * @param {"cluster" | "topic" | "group"} kind
 */
export function denied(operations, operation, kind) {
  if (!operations || operations.includes(operation)) return undefined;
  const words = operation.split("_").map((word) => word[0] + word.slice(1).toLowerCase());
  const where = kind === "cluster" ? "the cluster" : `this ${kind}`;
  return `The console's login needs ${words.join("")} on ${where}`;
}

/**
 * Return a function that says why an operation is denied, as `denied` does. A read-only console
 * needs no rights.
 *
 * @param {boolean | undefined} writes
 * @param {"cluster" | "topic"} kind
 * @param {string} [name]
 * @returns {(operation: string) => string | undefined}
 */
export function useDenied(writes, kind, name) {
  const { data } = useGet(writes ? path("/api/operations", { kind, name }) : null);
  return (operation) => denied(data?.operations, operation, kind);
}
