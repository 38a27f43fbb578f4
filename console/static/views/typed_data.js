// @ts-check
// A key, a value or a header as it is typed, without a loss: as text, as text with escapes, or in
// base64. A text field of a browser drops each \r, and an input of one line each \n. So data with
// these characters is typed with escapes: \r, \n, \t, \\ and \uXXXX.

/**
 * Typed data; `isNull` beside a text, so that the text is still there if the user takes null back.
 *
 * @typedef {"text" | "escaped" | "base64"} Form
 * @typedef {{ form: Form, text: string, isNull: boolean }} Typed
 */

export const FORM_NAMES = { text: "Text", escaped: "Text with escapes", base64: "Base64" };

/**
 * Return what a field shows for data. `isLine`: the field has one line.
 *
 * @param {Answer.BytesShown | null | undefined} data
 * @param {{ isLine?: boolean }} [field]
 * @returns {Typed}
 */
export function typedOf(data, { isLine = false } = {}) {
  if (!data) return { form: "text", text: "", isNull: data === null };
  if (data.text === undefined) return { form: "base64", text: data.base64 ?? "", isNull: false };
  const isLossy = isLine ? /[\r\n\0]/ : /[\r\0]/;
  const form = isLossy.test(data.text) ? "escaped" : "text";
  const text = form === "escaped" ? escaped(data.text, isLine) : data.text;
  return { form, text, isNull: false };
}

/**
 * Return the members of a request for typed data, under this name. Throw Error with one line if the
 * escapes or the base64 are invalid.
 *
 * @param {string} name
 * @param {Typed} typed
 */
export function membersOf(name, { form, text, isNull }) {
  if (isNull) return {};
  if (form === "base64") return { [`${name}_base64`]: text.replace(/\s+/g, "") };
  return { [name]: form === "escaped" ? unescaped(text) : text };
}

/**
 * Return the same data in another form. Throw Error with one line if the typed text is invalid, or
 * if base64 stands for bytes that are not UTF-8.
 *
 * @param {Typed} typed
 * @param {Form} form
 * @param {{ isLine?: boolean }} [field]
 * @returns {Typed}
 */
export function inForm(typed, form, { isLine = false } = {}) {
  let plain = typed.text;
  if (typed.form === "escaped") plain = unescaped(typed.text);
  if (typed.form === "base64") plain = fromBase64(typed.text);
  if (form === "base64") return { ...typed, form, text: toBase64(plain) };
  return { ...typed, form, text: form === "escaped" ? escaped(plain, isLine) : plain };
}

/** @type {Record<string, string>} */
const SIGNS = { "\r": "r", "\n": "n", "\t": "t", "\\": "\\" };
const MEANT = Object.fromEntries(Object.entries(SIGNS).map(([sign, letter]) => [letter, sign]));

/** @param {string} text @param {boolean} isLine */
function escaped(text, isLine) {
  // oxlint-disable-next-line no-control-regex -- control characters are what is escaped
  return text.replace(/[\0-\x1f\x7f\\]/g, (sign) => {
    if ((sign === "\n" || sign === "\t") && !isLine) return sign;
    const code = sign.charCodeAt(0).toString(16).padStart(4, "0");
    return `\\${SIGNS[sign] ?? `u${code}`}`;
  });
}

/** @param {string} text */
function unescaped(text) {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([^]?))/g, (all, code, letter) => {
    if (code) return String.fromCharCode(parseInt(code, 16));
    if (MEANT[letter] !== undefined) return MEANT[letter];
    throw new Error(`${all} is no escape: write \\r, \\n, \\t, \\uXXXX, or \\\\ for a backslash`);
  });
}

/** @param {string} text */
function toBase64(text) {
  let signs = "";
  for (const byte of new TextEncoder().encode(text)) signs += String.fromCharCode(byte);
  return btoa(signs);
}

/** @param {string} base64 */
function fromBase64(base64) {
  let signs = "";
  try {
    signs = atob(base64);
  } catch {
    throw new Error("This is not base64");
  }
  const data = Uint8Array.from(signs, (sign) => sign.charCodeAt(0));
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    throw new Error("These bytes are not UTF-8: they stay in base64");
  }
}
