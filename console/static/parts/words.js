// @ts-check
// Numbers, sizes and times as texts.

const whole = new Intl.NumberFormat("en");

/**
 * 1234567 → "1,234,567"; null → "–".
 *
 * @param {number | null | undefined} value
 */
export function count(value) {
  return value === null || value === undefined ? "–" : whole.format(value);
}

/**
 * A lag, which may be unknown for some partitions: 5 → "5", "≥ 5", "–".
 *
 * @param {{ lag?: number | null, partitions_without_lag?: number }} of
 */
export function lagOf(of) {
  return of.partitions_without_lag && typeof of.lag === "number"
    ? `≥ ${count(of.lag)}`
    : count(of.lag);
}

/**
 * 12_345 → "12.1 KiB".
 *
 * @param {number | null | undefined} value
 */
export function bytes(value) {
  if (value === null || value === undefined) return "–";
  let left = value;
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (Math.abs(left) < 1024 || unit === "TiB") return `${short(left)} ${unit}`;
    left /= 1024;
  }
  return "";
}

/**
 * 613 → "613 B"; 12_345 → "12.1 KiB, 12,345 bytes".
 *
 * @param {number} value
 */
export function exactBytes(value) {
  return value < 1024 ? bytes(value) : `${bytes(value)}, ${count(value)} bytes`;
}

/**
 * 12_345.6 → "12.3 k"; small ones keep a digit.
 *
 * @param {number | null | undefined} value
 */
export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (Math.abs(value) < 1000) return short(value);
  if (Math.abs(value) < 1e6) return `${short(value / 1e3)} k`;
  return `${short(value / 1e6)} M`;
}

/** @param {number} value */
function short(value) {
  if (Number.isInteger(value)) return whole.format(value);
  if (Math.abs(value) < 10) return value.toFixed(2);
  return value.toFixed(Math.abs(value) < 100 ? 1 : 0);
}

/**
 * Milliseconds since 1970 → "2026-11-27 01:02:03.004", in the browser's zone.
 *
 * @param {number | null | undefined} ms
 * @param {{ day?: boolean, millis?: boolean }} [parts]
 */
export function time(ms, { day = true, millis = true } = {}) {
  if (ms === null || ms === undefined || ms < 0) return "–";
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return String(ms);
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const clock = `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  const date = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  const part = `.${String(at.getMilliseconds()).padStart(3, "0")}`;
  return `${day ? `${date} ` : ""}${clock}${millis ? part : ""}`;
}

/**
 * The difference of the browser's zone from UTC at a time, now if it is left out: "UTC+02:00".
 *
 * @param {number} [ms]
 */
export function zone(ms = Date.now()) {
  return `UTC${offsetOf(-new Date(ms).getTimezoneOffset())}`;
}

/**
 * The difference of a zone from UTC in minutes as text: 120 → "+02:00", 0 → "".
 *
 * @param {number} minutes
 */
export function offsetOf(minutes) {
  if (minutes === 0) return "";
  const two = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const past = Math.abs(minutes);
  return `${minutes < 0 ? "-" : "+"}${two(Math.floor(past / 60))}:${two(past % 60)}`;
}

/**
 * Milliseconds since 1970 in the form of ISO 8601, in the browser's zone:
 * "2026-11-27T01:02:03.004+02:00"; undefined where there is no time.
 *
 * @param {number | null | undefined} ms
 */
export function fullTime(ms) {
  if (ms === null || ms === undefined || ms < 0) return undefined;
  const at = new Date(ms);
  if (Number.isNaN(at.getTime())) return undefined;
  return `${time(ms).replace(" ", "T")}${offsetOf(-at.getTimezoneOffset()) || "Z"}`;
}

/**
 * Milliseconds → "3 min 20 s".
 *
 * @param {number | null | undefined} ms
 */
export function duration(ms) {
  if (ms === null || ms === undefined) return "–";
  const s = Math.abs(ms) / 1000;
  if (s < 1) return `${ms < 10 && ms > -10 ? Number(ms.toFixed(2)) : Math.round(ms)} ms`;
  if (s < 60) return `${Number((ms / 1000).toFixed(s < 10 ? 1 : 0))} s`;
  if (s < 3600) return inTwo(s, 60, "min", 1, "s");
  if (s < 86400) return inTwo(s, 3600, "h", 60, "min");
  return inTwo(s, 86400, "d", 3600, "h");
}

/**
 * @param {number} s
 * @param {number} unit
 * @param {string} name
 * @param {number} part
 * @param {string} partName
 */
function inTwo(s, unit, name, part, partName) {
  const rest = Math.floor((s % unit) / part);
  return `${Math.floor(s / unit)} ${name}${rest >= 1 ? ` ${rest} ${partName}` : ""}`;
}

/**
 * The time from then until now: "2 min ago".
 *
 * @param {number | null | undefined} ms
 */
export function ago(ms) {
  if (ms === null || ms === undefined || ms < 0) return "–";
  const past = Date.now() - ms;
  if (past < 0) return `in ${duration(-past)}`;
  return past < 1000 ? "just now" : `${duration(past).split(" ").slice(0, 2).join(" ")} ago`;
}

/**
 * plural(2, "record") → "2 records".
 *
 * @param {number | null | undefined} value
 * @param {string} word
 * @param {string} [words]
 */
export function plural(value, word, words = `${word}s`) {
  return `${count(value)} ${value === 1 ? word : words}`;
}

/**
 * Return a text in which names of more than 60 characters lack their middle. The end of a name
 * stays, because it may have the number of a partition.
 *
 * @param {string} text
 */
export function shortNames(text) {
  return text.replace(/\S{61,}/g, (name) => `${name.slice(0, 40)}…${name.slice(-16)}`);
}
