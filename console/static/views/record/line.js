// @ts-check
// A key, value or header in one line; a long one is cut.

import { html } from "../../vendor/preact.js";
import { Text } from "../../parts/index.js";
import { bytesOf, hex } from "./values.js";

const LINE = 400;

/**
 * A key, a value or a header's value in a line. If `match` says that the search matched far inside
 * it, the line shows the text around the match.
 *
 * @param {{ data: any, what?: string, match?: Answer.RecordMatch }} props
 */
export function Line({ data, what, match }) {
  if (data === null) return html`<span class="null">null</span>`;
  if (data.base64 !== undefined) {
    const shown = [...bytesOf({ base64: data.base64.slice(0, 64) })].map(hex).join(" ");
    return html`<span class="mono">
      <span class="kind">hex</span> ${shown}${data.size > 48 ? " …" : ""}
    </span>`;
  }
  if (match?.around !== undefined && match.part === what)
    return html`<span class="mono">…<${Text} value=${match.around} />…</span>`;
  if (data.text === "") return html`<span class="null">empty${what ? ` ${what}` : ""}</span>`;
  return html`<span class="mono">
    <${Text} value=${data.text.slice(0, LINE)} />
    ${data.text.length > LINE || data.cut ? "…" : ""}
  </span>`;
}
