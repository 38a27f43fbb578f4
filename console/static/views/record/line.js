// @ts-check
// A key, value or header in one line; a long one is cut.

import { html } from "../../vendor/preact.js";
import { Text } from "../../parts/index.js";
import { bytesOf, hex } from "./values.js";

const LINE = 400;

/** A key, value or header in one line. `what` names it if it is empty. */
export function Line({ data, what }) {
  if (data === null) return html`<span class="null">null</span>`;
  if (data.base64 !== undefined) {
    const shown = [...bytesOf({ base64: data.base64.slice(0, 64) })].map(hex).join(" ");
    return html`<span class="mono">
      <span class="kind">hex</span> ${shown}${data.size > 48 ? " …" : ""}
    </span>`;
  }
  if (data.text === "") return html`<span class="null">empty${what ? ` ${what}` : ""}</span>`;
  return html`<span class="mono">
    <${Text} value=${data.text.slice(0, LINE)} />
    ${data.text.length > LINE || data.cut ? "…" : ""}
  </span>`;
}
