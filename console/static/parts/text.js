// @ts-check
// Texts and JSON as they came, harmless: what cannot be seen is made visible.

import { html, useState } from "../vendor/preact.js";

// Control characters, what turns the direction of writing, and what has no width.
const UNSEEN = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u200b-\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]",
);

/** A text in which control characters are shown by their number. */
export function Text({ value }) {
  if (!UNSEEN.test(value)) return value;
  const pieces = [];
  let plain = "";
  for (const sign of value) {
    if (!UNSEEN.test(sign)) {
      plain += sign;
      continue;
    }
    if (plain) pieces.push(plain);
    plain = "";
    const code = sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    pieces.push(html`<span class="ctl" title="U+${code}">${code.replace(/^00/, "\\x")}</span>`);
  }
  if (plain) pieces.push(plain);
  return pieces;
}

/** A value of JSON, folded below `open` levels. */
export function JsonTree({ value, open = 2 }) {
  return html`<div class="tree"><${Node} value=${value} open=${open} /></div>`;
}

const MOST = 200;

function Node({ name, value, open, last = true }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(MOST);
  const key =
    name === undefined
      ? null
      : html`<span class="k"><${Text} value=${JSON.stringify(name)} /></span>: `;
  const comma = last ? "" : ",";
  if (value === null || typeof value !== "object")
    return html`<div>${key}<${Leaf} value=${value} />${comma}</div>`;
  const isList = Array.isArray(value);
  const items = isList ? value.map((one) => [undefined, one]) : Object.entries(value);
  const [left, right] = isList ? "[]" : "{}";
  if (items.length === 0) return html`<div>${key}${left}${right}${comma}</div>`;
  const fold = html`<button type="button" aria-expanded=${isOpen}
      aria-label="${isOpen ? "Fold" : "Unfold"} ${name ?? "value"}"
      onClick=${() => setOpen(!isOpen)}>${isOpen ? "▾" : "▸"}</button>`;
  if (!isOpen)
    return html`<div>
      ${fold}
      ${key}
      ${left}
      <span class="z"> ${items.length} </span>
      ${right}
      ${comma}
    </div>`;
  return html`<div>
    ${fold}
    ${key}
    ${left}
    <ul>
      ${items.slice(0, most).map(
        ([inner, one], at) =>
          html`<li key=${at}>
            <${Node} name=${inner} value=${one} open=${open - 1} last=${at === items.length - 1} />
          </li>`,
      )}
      ${
        items.length > most &&
        html`<li>
          <button type="button" onClick=${() => setMost(most + 1000)}>
            Show more (${items.length - most} left)
          </button>
        </li>`
      }
    </ul>
    ${right}
    ${comma}
  </div>`;
}

function Leaf({ value }) {
  if (value === null) return html`<span class="z">null</span>`;
  if (typeof value === "string")
    return html`<span class="s"><${Text} value=${JSON.stringify(value)} /></span>`;
  return html`<span class=${typeof value === "number" ? "n" : "b"}>${String(value)}</span>`;
}
