// @ts-check
// The bytes and the JSON of a key, a value or a header.

import { parseJson } from "../../parts/json_text.js";

/** Return the bytes of `{text}` or `{base64}`. */
export function bytesOf(data) {
  if (data.base64 === undefined) return new TextEncoder().encode(data.text);
  return Uint8Array.from(atob(data.base64), (one) => one.charCodeAt(0));
}

/**
 * Parse the JSON of an object or a list. Return undefined for any other data.
 *
 * @param {{ text?: string, cut?: boolean } | null | undefined} data
 */
export function jsonOf(data) {
  if (!data || data.text === undefined || data.cut || !/^\s*[[{]/.test(data.text)) return undefined;
  return parseJson(data.text);
}

/**
 * A byte as two hexadecimal digits.
 *
 * @param {number} one
 */
export function hex(one) {
  return one.toString(16).padStart(2, "0");
}

/**
 * Return the formats in which data can be shown, the best first. Four or eight bytes with control
 * characters are rather a number than a text.
 *
 * @param {Answer.BytesShown} data
 * @param {boolean} isJson
 */
export function formsOf(data, isJson) {
  if (data.text === undefined) return ["hex"];
  if (isJson) return ["json", "text", "hex"];
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const isBinary = [4, 8].includes(data.size) && /[\0-\x08\x0e-\x1f]/.test(data.text);
  return isBinary ? ["hex", "text"] : ["text", "hex"];
}

/**
 * Return the big-endian whole number in four or eight bytes, as Kafka's serializers write it.
 * Return undefined for other lengths.
 *
 * @param {Uint8Array} data
 */
export function wholeNumberOf(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  if (data.length === 4) return view.getInt32(0);
  return data.length === 8 ? view.getBigInt64(0) : undefined;
}
