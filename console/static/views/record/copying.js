// @ts-check
// The texts that can be copied of a record. Data of which the page has only the beginning is read
// whole first; bytes that are not UTF-8 are copied in base64.

import { get, getBytes } from "../../api.js";
import { bytes } from "../../parts/words.js";
import { kcatCommand, produceCommand } from "./commands.js";

const COPIED_BYTES_MAX = 16 * 1024 * 1024;

/**
 * Return the items of a menu: names, and the functions that return the texts. `fileOf` returns the
 * address of a part of the record.
 *
 * @param {Answer.RecordShown} record
 * @param {(part: string) => string} fileOf
 * @returns {[string, () => string | Promise<string>][]}
 */
export function textsToCopy(record, fileOf) {
  /** @param {string} part */
  async function file(part) {
    if (record.size > COPIED_BYTES_MAX)
      throw new Error(`Records above ${bytes(COPIED_BYTES_MAX)} are not copied: save the value`);
    return getBytes(fileOf(part));
  }
  const line = async () => textOf(await file("record")).trimEnd();
  const bootstrap = async () => (await get("/api/about")).bootstrap;
  return [
    ...dataItems("Key", record.key, record.decoded?.key, () => file("key")),
    ...dataItems("Value", record.value, record.decoded?.value, () => file("value")),
    ...(record.headers.length > 0
      ? [item("Headers as JSON", async () => textOf(await file("headers")).trimEnd())]
      : []),
    item("Record as JSON", line),
    item("ottla produce command", async () => produceCommand(await line(), await bootstrap())),
    item("kcat command", async () => kcatCommand(await line(), await bootstrap())),
  ];
}

/**
 * @param {string} name
 * @param {Answer.BytesShown | null} data
 * @param {Answer.BytesShown | undefined} decoded
 * @param {() => Promise<Uint8Array>} file
 */
function dataItems(name, data, decoded, file) {
  if (data === null) return [];
  const isText = data.text !== undefined;
  const whole = async () => {
    if (!data.cut) return data.text ?? data.base64 ?? "";
    const read = await file();
    return isText ? textOf(read) : base64Of(read);
  };
  return [
    ...(decoded?.text !== undefined && !decoded.cut
      ? [item(`${name}, decoded`, () => decoded.text ?? "")]
      : []),
    item(isText ? name : `${name} in base64`, whole),
  ];
}

/**
 * @param {string} name
 * @param {() => string | Promise<string>} textOfItem
 * @returns {[string, () => string | Promise<string>]}
 */
function item(name, textOfItem) {
  return [name, textOfItem];
}

/**
 * Return bytes as text, with a byte order mark if they have one. The beginning of a value may be
 * text although the whole is not.
 *
 * @param {Uint8Array} data
 */
function textOf(data) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new Error("The value is not UTF-8: copy the record as JSON");
  }
}

/** @param {Uint8Array} data */
function base64Of(data) {
  let signs = "";
  for (let at = 0; at < data.length; at += 8192)
    signs += String.fromCharCode(...data.subarray(at, at + 8192));
  return btoa(signs);
}
