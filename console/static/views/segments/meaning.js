// @ts-check
// Keys and values as JSON, as text, or as a marker of the transaction coordinator.

import { html } from "../../vendor/preact.js";
import { Badge, bytes, JsonTree, Text } from "../../parts/index.js";
import { jsonOf } from "../record/values.js";

/**
 * A whole key or value: JSON as a tree, else its text.
 *
 * @param {{ value: Answer.Content | null }} props
 */
export function Whole({ value }) {
  if (value === null) return html`<span class="seg-null">null</span>`;
  if (value.json !== undefined) return html`<${JsonTree} value=${value.json} open=${4} />`;
  const text = value.text ?? value.words;
  if (text === undefined)
    return html`<span class="quiet">
      ${bytes(value.size)} of binary data: see the bytes below
    </span>`;
  const tree = jsonOf({ text, cut: value.cut });
  return html`
    ${
      tree !== undefined
        ? html`<${JsonTree} node=${tree} open=${3} />`
        : html`<pre><${Text} value=${text} /></pre>`
    }
    ${
      value.cut &&
      html`<p class="quiet">Only the first 4 KiB of ${bytes(value.size)} are shown.</p>`
    }
  `;
}

/** @param {{ control: Answer.ControlShown }} props */
export function Control({ control }) {
  if (control.endTxnMarker)
    return html`<span class="row nowrap">
      <${Badge} kind=${control.endTxnMarker === "COMMIT" ? "good" : "bad"}>
        ${control.endTxnMarker}
      <//>
      <span class="quiet">coordinator epoch ${control.coordinatorEpoch}</span>
    </span>`;
  return html`<${Badge} kind="info">${control.controlType ?? control.damaged}<//>`;
}

/** @param {{ value: Answer.Content | null, isValue?: boolean, keyed?: boolean }} props */
export function Preview({ value, isValue = false, keyed = false }) {
  if (value === null)
    return isValue && keyed
      ? html`<span class="seg-null" title="In a compacted topic a null value deletes the key">
          null (tombstone)
        </span>`
      : html`<span class="seg-null">null</span>`;
  if (value.json !== undefined)
    return html`<code><${Text} value=${JSON.stringify(value.json).slice(0, 300)} /></code>`;
  if (value.words !== undefined)
    return html`<code><${Text} value=${value.words.slice(0, 300)} /></code>`;
  if (value.text !== undefined)
    return value.size === 0
      ? html`<span class="quiet">empty</span>`
      : html`<code><${Text} value=${value.text.slice(0, 300)} /></code>`;
  return html`<span class="quiet">${bytes(value.size)} of binary data</span>`;
}
