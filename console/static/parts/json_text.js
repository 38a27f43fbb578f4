// @ts-check
// JSON as its text says it: the digits of numbers, the order of keys, and repeated keys.
// JavaScript's own JSON.parse keeps none of these three.

/**
 * A value of JSON. `text` is a number or a literal as it is written; `text` of a string is its
 * characters, with escapes resolved. A member is `repeated` if its object has its name twice.
 *
 * @typedef {{ kind: "object", members: JsonMember[] }} JsonObject
 * @typedef {{ kind: "array", items: JsonNode[] }} JsonArray
 * @typedef {{ kind: "string" | "number" | "literal", text: string }} JsonLeaf
 * @typedef {JsonObject | JsonArray | JsonLeaf} JsonNode
 * @typedef {{ name: string, value: JsonNode, repeated: boolean }} JsonMember
 */

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// Python writes the three numbers that JSON lacks in this way, in decoded Avro for example.
const WORD = /true|false|null|NaN|-?Infinity/y;
const NUMBER_WORDS = ["NaN", "Infinity", "-Infinity"];

export const VALUES_MAX = 500_000;

/** A text that is not JSON, or has more than VALUES_MAX values. */
class NotJson extends Error {}

/**
 * Parse a text. Return undefined if it is not JSON, or has more than VALUES_MAX values. Nesting has
 * no limit of its own: open values are on a stack.
 *
 * @param {string} text
 * @returns {JsonNode | undefined}
 */
export function parseJson(text) {
  try {
    return new Parser(text).whole();
  } catch (error) {
    if (error instanceof NotJson) return undefined;
    throw error;
  }
}

class Parser {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    this.values = 0;
    /** @type {(JsonObject | JsonArray)[]} */
    this.open = [];
  }

  whole() {
    const root = this.value();
    this.take(SPACE);
    for (let parent = this.open.at(-1); parent; parent = this.open.at(-1)) {
      this.continue(parent);
      this.take(SPACE);
    }
    if (this.at !== this.text.length) throw new NotJson();
    return root;
  }

  /**
   * Parse the next value of an open object or list, or its end.
   *
   * @param {JsonObject | JsonArray} parent
   */
  continue(parent) {
    const isObject = parent.kind === "object";
    if (this.skip(isObject ? "}" : "]")) {
      this.open.pop();
      if (isObject) markRepeated(parent.members);
      return;
    }
    if ((isObject ? parent.members : parent.items).length > 0) this.need(",");
    if (!isObject) {
      parent.items.push(this.value());
      return;
    }
    this.take(SPACE);
    const name = this.string();
    this.take(SPACE);
    this.need(":");
    parent.members.push({ name, value: this.value(), repeated: false });
  }

  /** Parse a leaf, or the beginning of an object or a list. @returns {JsonNode} */
  value() {
    this.values += 1;
    if (this.values > VALUES_MAX) throw new NotJson();
    this.take(SPACE);
    const sign = this.text[this.at];
    if (sign === '"') return { kind: "string", text: this.string() };
    if (sign === "{" || sign === "[") {
      this.at += 1;
      /** @type {JsonObject | JsonArray} */
      const node = sign === "{" ? { kind: "object", members: [] } : { kind: "array", items: [] };
      this.open.push(node);
      return node;
    }
    const word = this.take(WORD);
    if (word) return { kind: NUMBER_WORDS.includes(word) ? "number" : "literal", text: word };
    const number = this.take(NUMBER);
    if (!number) throw new NotJson();
    return { kind: "number", text: number };
  }

  string() {
    const start = this.at;
    if (this.text[start] !== '"') throw new NotJson();
    let end = start + 1;
    for (;;) {
      end = this.text.indexOf('"', end);
      if (end < 0) throw new NotJson();
      if (backslashesBefore(this.text, end) % 2 === 0) break;
      end += 1;
    }
    this.at = end + 1;
    try {
      return /** @type {string} */ (JSON.parse(this.text.slice(start, this.at)));
    } catch {
      throw new NotJson();
    }
  }

  /** Skip what a sticky expression matches here, and return it. @param {RegExp} form */
  take(form) {
    form.lastIndex = this.at;
    const taken = form.exec(this.text)?.[0] ?? "";
    this.at += taken.length;
    return taken;
  }

  /** @param {string} sign */
  skip(sign) {
    if (this.text[this.at] !== sign) return false;
    this.at += 1;
    return true;
  }

  /** @param {string} sign */
  need(sign) {
    if (!this.skip(sign)) throw new NotJson();
  }
}

/** @param {string} text @param {number} at */
function backslashesBefore(text, at) {
  let first = at;
  while (text[first - 1] === "\\") first -= 1;
  return at - first;
}

/** @param {JsonMember[]} members */
function markRepeated(members) {
  /** @type {Map<string, JsonMember>} */
  const firsts = new Map();
  for (const member of members) {
    const first = firsts.get(member.name);
    if (first === undefined) {
      firsts.set(member.name, member);
    } else {
      first.repeated = true;
      member.repeated = true;
    }
  }
}
