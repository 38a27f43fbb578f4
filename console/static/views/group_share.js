// @ts-check
// The part of a group's page that only a share group has: the deliveries of its records, and where
// its dead letters are.

import { html } from "../vendor/preact.js";
import * as links from "../links.js";
import { Badge, Empty, Note, Panel, Table, count, plural } from "../parts/index.js";
import { lettersOf } from "./dead_letter.js";
import { deliveriesOf, offsetsOf } from "./group_words.js";

const KINDS = { acknowledged: "good", archived: "", archiving: "warn", available: "" };

/** @param {{ share: Answer.ShareShown, group: string }} props */
export function Share({ share, group }) {
  return html`
    <${Panel} title="Records after the start offsets" inside=${false}
        actions=${html`<${DeadLetters} topic=${share.dead_letter_topic} group=${group} />`}>
      ${
        share.without_ranges !== null
          ? html`<${Note}>Not known: ${share.without_ranges}<//>`
          : html`<${Table} label="Records after the start offsets" rows=${share.ranges}
              columns=${columnsOf(share.delivery_limit)}
              id=${(row) => `${row.topic} ${row.partition} ${row.first}`}
              empty=${html`<${Empty} title="All records are finished" />`} />`
      }
    <//>
    ${
      share.without_ranges === null &&
      html`<p class="quiet">
        ${share.more_ranges > 0 && `${plural(share.more_ranges, "further range")} not shown. `}
        A delivery counts when it ends: by an acknowledgement, or when the lock of the record
        expires${share.lock_ms ? ` after ${count(share.lock_ms / 1000)} s` : ""}. The cluster does
        not report which of the available records a member has locked now.
      </p>`
    }
  `;
}

/** @param {{ topic: string | null, group: string }} props */
function DeadLetters({ topic, group }) {
  if (topic === null) return html`<span class="quiet">no dead letter topic</span>`;
  return html`<a href=${links.messages(topic, lettersOf(group))}>
    Dead letters in ${topic}
  </a>`;
}

/**
 * @param {number | null} limit
 * @returns {Column<Answer.DeliveredRange>[]}
 */
function columnsOf(limit) {
  return [
    {
      name: "Partition",
      wide: true,
      value: (row) => `${row.topic}-${row.partition}`,
      show: (row) => `${row.topic}-${row.partition}`,
    },
    {
      name: "Offsets",
      number: true,
      value: (row) => row.first,
      show: (row) =>
        html`<a class="nowrap" href=${links.record(row.topic, row.partition, row.first)}>
          ${offsetsOf(row)}
        </a>`,
    },
    {
      name: "Records",
      above: 760,
      number: true,
      value: (row) => row.last - row.first + 1,
      show: (row) => count(row.last - row.first + 1),
    },
    {
      name: "State",
      value: (row) => row.state,
      show: (row) => html`<${Badge} kind=${KINDS[row.state] ?? "warn"}>${row.state}<//>`,
    },
    {
      name: "Deliveries",
      number: true,
      value: (row) => row.deliveries ?? 0,
      show: (row) => deliveriesOf(row, limit),
    },
  ];
}
