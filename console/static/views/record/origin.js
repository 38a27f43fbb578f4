// @ts-check
// The line above a dead letter: the record that a share group gave up, and why.

import { html } from "../../vendor/preact.js";
import * as links from "../../links.js";
import { Note, Text, count } from "../../parts/index.js";

/** @param {{ of: import("../dead_letter.js").Origin }} props */
export function Origin({ of }) {
  const { topic, partition, offset, group, deliveries, reason } = of;
  return html`<${Note}>
    A dead letter of${" "}
    <a href=${links.record(topic, partition, offset)}>
      <${Text} value=${topic} />-${partition}, offset ${count(offset)}</a>${
        group !== null &&
        html`, which the share group${" "}
          <a href=${links.group(group)}><${Text} value=${group} /></a> gave up`
      }${deliveries !== null && html` after delivery <${Text} value=${deliveries} />`}${
        reason !== null && html`: <${Text} value=${reason} />`
      }
  <//>`;
}
