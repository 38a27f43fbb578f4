// @ts-check
// The numbers of configs in words: 604800000 milliseconds as "7 d", bytes as "1 GiB".

import { bytes, count, duration } from "../parts/words.js";

const UNLIMITED = ["log.retention.ms", "log.retention.bytes", "retention.ms", "retention.bytes"];

/** @type {[RegExp, number][]} */
const UNITS_MS = [
  [/[._]ms$/, 1],
  [/[._]seconds$/, 1000],
  [/[._]minutes$/, 60_000],
  [/[._]hours$/, 3_600_000],
];

/**
 * Return a config's value in words. Return null if the value needs none, as a small number or a
 * text.
 *
 * @param {string} key
 * @param {string | null | undefined} value
 */
export function inWords(key, value) {
  if (!/^-?\d{1,19}$/.test(value ?? "")) return null;
  const number = Number(value);
  if (number === -1) return UNLIMITED.includes(key) ? "no limit" : null;
  if (number >= 2 ** 63 - 1024 || number === 2 ** 31 - 1) return "the largest number";
  const unit = UNITS_MS.find(([form]) => form.test(key));
  if (unit && number > 0) {
    const words = duration(number * unit[1]);
    return words.startsWith(`${value} `) ? null : words;
  }
  if (/[._]bytes$/.test(key) && number >= 1024) return bytes(number);
  return number >= 10_000 ? count(number) : null;
}
