// @ts-check
// The origin of a dead letter: the record that a share group gave up (KIP-1191).

const PREFIX = "__dlq.errors.";

/**
 * @typedef {{
 *   topic: string, partition: number, offset: number, group: string | null,
 *   deliveries: string | null, reason: string | null,
 * }} Origin
 */

/**
 * Return the origin of a dead letter, or null if the headers name none. The broker that writes a
 * dead letter puts the origin into its headers; of repeated headers, the last counts.
 *
 * @param {[string, Answer.BytesShown | null][]} headers
 * @returns {Origin | null}
 */
export function originOf(headers) {
  /** @type {Record<string, string>} */
  const texts = {};
  for (const [name, value] of headers)
    if (name.startsWith(PREFIX) && typeof value?.text === "string" && !value.cut)
      texts[name.slice(PREFIX.length)] = value.text;
  const { topic, partition, offset } = texts;
  if (!topic || !isNumber(partition) || !isNumber(offset)) return null;
  return {
    topic,
    partition: Number(partition),
    offset: Number(offset),
    group: texts.group ?? null,
    deliveries: texts["delivery.count"] ?? null,
    reason: texts.message ?? null,
  };
}

/** @param {string | undefined} text */
function isNumber(text) {
  return text !== undefined && /^\d{1,16}$/.test(text);
}

/**
 * Return the query of the messages that are dead letters of a group.
 *
 * @param {string} group
 */
export function lettersOf(group) {
  return { filter: `headers["${PREFIX}group"] == ${JSON.stringify(group)}` };
}
