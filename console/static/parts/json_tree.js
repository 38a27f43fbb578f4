// @ts-check
// JSON as a tree that folds: what its text says, in the order of the text.

import { html, useMemo, useState } from "../vendor/preact.js";
import { parseJson } from "./json_text.js";
import { Text } from "./text.js";
import { count } from "./words.js";

const ITEMS_SHOWN = 200;
const MORE_ITEMS = 1000;
const LEAF_SHOWN = 4000;

/** @typedef {import("./json_text.js").JsonNode} JsonNode */

/**
 * A tree of JSON, folded below `open` levels: of a parsed text, or of a value of the console's own
 * answers.
 *
 * @param {{ node?: JsonNode, value?: any, open?: number }} props
 */
export function JsonTree({ node, value, open = 2 }) {
  const root = useMemo(() => node ?? parseJson(JSON.stringify(value)), [node, value]);
  return html`<div class="tree"><${Node} node=${root} open=${open} /></div>`;
}

/**
 * @param {{
 *   name?: string, repeated?: boolean, node: JsonNode, open: number, last?: boolean,
 * }} props
 */
function Node({ name, repeated = false, node, open, last = true }) {
  const [isOpen, setOpen] = useState(open > 0);
  const [most, setMost] = useState(ITEMS_SHOWN);
  const key = name === undefined ? null : html`<${Name} name=${name} repeated=${repeated} />: `;
  const comma = last ? "" : ",";
  if (node.kind !== "object" && node.kind !== "array")
    return html`<div>${key}<${Leaf} node=${node} />${comma}</div>`;
  const [left, right] = node.kind === "array" ? "[]" : "{}";
  const size = node.kind === "array" ? node.items.length : node.members.length;
  if (size === 0) return html`<div>${key}${left}${right}${comma}</div>`;
  const fold = html`<button type="button" aria-expanded=${isOpen}
      aria-label="${isOpen ? "Fold" : "Unfold"} ${(name ?? "value").slice(0, 100)}"
      onClick=${() => setOpen(!isOpen)}>${isOpen ? "▾" : "▸"}</button>`;
  if (!isOpen)
    return html`<div>
      ${fold}
      ${key}
      ${left}
      <span class="z"> ${count(size)} </span>
      ${right}
      ${comma}
    </div>`;
  /** @type {{ name?: string, repeated?: boolean, value: JsonNode }[]} */
  const shown =
    node.kind === "array"
      ? node.items.slice(0, most).map((item) => ({ value: item }))
      : node.members.slice(0, most);
  return html`<div>
    ${fold}
    ${key}
    ${left}
    <ul>
      ${shown.map(
        (member, at) =>
          html`<li key=${at}>
            <${Node} name=${member.name} repeated=${member.repeated} node=${member.value}
                open=${open - 1} last=${at === size - 1} />
          </li>`,
      )}
      ${
        size > most &&
        html`<li>
          <button type="button" onClick=${() => setMost(most + MORE_ITEMS)}>
            Show more (${count(size - most)} left)
          </button>
        </li>`
      }
    </ul>
    ${right}
    ${comma}
  </div>`;
}

/** @param {{ name: string, repeated: boolean }} props */
function Name({ name, repeated }) {
  const mark = html` <span class="repeated" title="The object has this key more than once">
      repeated
    </span>`;
  return html`<span class="k"><${Long} text=${JSON.stringify(name)} /></span>${repeated && mark}`;
}

/** @param {{ node: import("./json_text.js").JsonLeaf }} props */
function Leaf({ node }) {
  const kind = { string: "s", number: "n", literal: node.text === "null" ? "z" : "b" }[node.kind];
  const text = node.kind === "string" ? JSON.stringify(node.text) : node.text;
  return html`<span class=${kind}><${Long} text=${text} /></span>`;
}

/**
 * A text, of which only the beginning is shown at first if it is long.
 *
 * @param {{ text: string }} props
 */
function Long({ text }) {
  const [isWhole, setWhole] = useState(false);
  if (isWhole || text.length <= LEAF_SHOWN) return html`<${Text} value=${text} />`;
  return html`<${Text} value=${text.slice(0, LEAF_SHOWN)} />… <button type="button"
      onClick=${() => setWhole(true)}>Show all ${count(text.length)} characters</button>`;
}
