// @ts-check
// A record as a command of a shell that writes it again: for `ottla produce`, and for kcat.
// The record comes as the line of JSON that `ottla consume --json` prints.

/**
 * @typedef {{ value?: string | null, value_base64?: string }} DataMember
 * @typedef {{ key: string } & DataMember} HeaderMember
 * @typedef {{
 *   topic: string, partition: number, key?: string | null, key_base64?: string,
 *   headers?: HeaderMember[],
 * } & DataMember} RecordMembers
 */

// Characters that a terminal takes for keys, or that cannot be seen. A command has none of them as
// they are: a shell without bracketed paste would obey them while they are pasted.
const UNTYPED =
  // oxlint-disable-next-line no-control-regex -- control characters are what is escaped
  /[\0-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]/g;

/** A record that a command cannot write; the message says why. */
export class NotWritable extends Error {}

/**
 * Return the command by which `ottla produce` writes the record, with its timestamp.
 *
 * @param {string} line
 * @param {string} bootstrap
 */
export function produceCommand(line, bootstrap) {
  const { topic, partition } = /** @type {RecordMembers} */ (JSON.parse(line));
  const words = ["ottla", "produce", topic, "--json", "-p", String(partition), "-b", bootstrap];
  return `printf '%s\\n' ${quoted(escapedJson(line))} | ${words.map(quoted).join(" ")}`;
}

/**
 * Return the command by which kcat writes the record, without its timestamp. The key and the value
 * come from standard input with control characters behind them, as only this way kcat writes empty
 * and null values. Throw NotWritable for a record that kcat cannot write.
 *
 * @param {string} line
 * @param {string} bootstrap
 */
export function kcatCommand(line, bootstrap) {
  const record = /** @type {RecordMembers} */ (JSON.parse(line));
  const key = bytesOfMember(record.key, record.key_base64);
  const value = bytesOfMember(record.value, record.value_base64);
  const words = ["kcat", "-P", "-b", bootstrap, "-t", record.topic, "-p", String(record.partition)];
  const isKeyed = key !== null || value === null;
  if (!isKeyed && value?.length === 0)
    throw new NotWritable("kcat cannot write an empty value without a key");
  if (key?.length === 0 && value === null)
    throw new NotWritable("kcat cannot write a null value with an empty key");
  const [keyEnd, end] = delimiters([...(key ?? []), ...(value ?? [])]);
  if (isKeyed) words.push("-K", hexEscape(keyEnd));
  words.push("-D", hexEscape(end));
  if (value === null) words.push("-Z");
  const headers = (record.headers ?? []).flatMap((header) => ["-H", headerWord(header)]);
  const typed = [printed(key), isKeyed ? octal(keyEnd) : "", printed(value), octal(end)].join("");
  return `printf -- '${typed}' | ${words.map(quoted).concat(headers).join(" ")}`;
}

/** @param {HeaderMember} header */
function headerWord(header) {
  if (header.key === "" || header.key.includes("="))
    throw new NotWritable(`kcat cannot write a header with the name "${header.key}"`);
  const value = bytesOfMember(header.value, header.value_base64);
  if (value?.includes(0) || header.key.includes("\0"))
    throw new NotWritable(`kcat cannot write the zero byte in header ${header.key}`);
  if (value === null) return quoted(header.key);
  if (header.value_base64 === undefined) return quoted(`${header.key}=${header.value}`);
  return quoted(`${header.key}=`) + `$'${[...value].map(hexEscape).join("")}'`;
}

/**
 * @param {string | null | undefined} text
 * @param {string | undefined} base64
 * @returns {Uint8Array | null}
 */
function bytesOfMember(text, base64) {
  if (base64 !== undefined) return Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0));
  return text === null || text === undefined ? null : bytesOf(text);
}

/**
 * Return two control characters that the bytes lack.
 *
 * @param {number[]} bytes
 */
function delimiters(bytes) {
  const used = new Set(bytes);
  const free = [0x1f, 0x1e, 0x1d, 0x1c, ...Array(8).keys()].filter(
    (code) => code && !used.has(code),
  );
  if (free.length < 2)
    throw new NotWritable("kcat cannot write this record: it has all delimiters of kcat in it");
  return free;
}

/**
 * Return bytes as a format of `printf` within single quotes.
 *
 * @param {Uint8Array | null} bytes
 */
function printed(bytes) {
  if (bytes === null) return "";
  let text = null;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return [...bytes].map(octal).join("");
  }
  return text
    .replace(/[%\\]/g, "$&$&")
    .replaceAll("'", octal(0x27))
    .replace(UNTYPED, (sign) => [...bytesOf(sign)].map(octal).join(""));
}

/**
 * Return a line of JSON in which no character of a string is untyped; it has none outside.
 *
 * @param {string} line
 */
function escapedJson(line) {
  return line.replace(UNTYPED, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** @param {string} text */
function bytesOf(text) {
  return new TextEncoder().encode(text);
}

/** @param {number} byte */
function octal(byte) {
  return `\\${byte.toString(8).padStart(3, "0")}`;
}

/** @param {number} byte */
function hexEscape(byte) {
  return `\\x${byte.toString(16).padStart(2, "0")}`;
}

/**
 * Return a word of a command for bash and similar shells.
 *
 * @param {string} word
 */
export function quoted(word) {
  if (/^[\w@%+=:,./-]+$/.test(word)) return word;
  if (word.search(UNTYPED) >= 0) {
    const plain = word.replace(/[\\']/g, String.raw`\$&`);
    return `$'${plain.replace(UNTYPED, (sign) => [...bytesOf(sign)].map(hexEscape).join(""))}'`;
  }
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
