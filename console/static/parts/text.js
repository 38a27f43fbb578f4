// @ts-check
// A text as it came, harmless: characters that cannot be seen are shown as their code points.

import { html, useContext } from "../vendor/preact.js";
import { markedParts, Marks } from "./marks.js";

// Control characters, marks that turn the direction of writing, characters without a width, and
// halves of characters.
const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb\\ud800-\\udfff]",
  "u",
);
const PICTURE = "\\p{Extended_Pictographic}[\\u{1f3fb}-\\u{1f3ff}\\ufe0f]*";
// An emoji of several joined ones, such as a family; or any other character.
const SIGNS = new RegExp(`${PICTURE}(?:\\u200d${PICTURE})+|[^]`, "gu");

/**
 * Split a text into what is shown as it is, and the code points of unseen characters. The joiners
 * within an emoji are part of it.
 *
 * @param {string} text
 * @returns {(string | number)[]}
 */
export function piecesOf(text) {
  if (!UNSEEN.test(text)) return [text];
  /** @type {(string | number)[]} */
  const pieces = [];
  let start = 0;
  for (const { 0: sign, index } of text.matchAll(SIGNS)) {
    const code = /** @type {number} */ (sign.codePointAt(0));
    if (sign.length > String.fromCodePoint(code).length || !UNSEEN.test(sign)) continue;
    if (index > start) pieces.push(text.slice(start, index));
    pieces.push(code);
    start = index + sign.length;
  }
  if (start < text.length) pieces.push(text.slice(start));
  return pieces;
}

/**
 * A text with its unseen characters as code points, and with the texts of `Marks` marked.
 *
 * @param {{ value: string }} props
 */
export function Text({ value }) {
  const marks = useContext(Marks);
  return markedParts(value, marks).map(({ text, isMarked }) =>
    isMarked ? html`<mark>${seen(text)}</mark>` : seen(text),
  );
}

/** @param {string} text */
function seen(text) {
  return piecesOf(text).map((piece) => {
    if (typeof piece === "string") return piece;
    const code = piece.toString(16).toUpperCase().padStart(4, "0");
    return html`<span class="ctl" title="U+${code}">${code.replace(/^00/, "\\x")}</span>`;
  });
}
