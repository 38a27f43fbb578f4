// @ts-check
// The offsets, the producer and the properties of a batch, for a row of a table.

import { html } from "../../vendor/preact.js";
import { Badge, count, time } from "../../parts/index.js";

const EMPTIED =
  "Compaction removed all records. The batch keeps its offsets and its producer's sequence.";

/** @param {Answer.BatchShown} one */
export function offsets(one) {
  return one.baseOffset === one.lastOffset
    ? count(one.baseOffset)
    : html`${count(one.baseOffset)}<span class="quiet"> to </span>${count(one.lastOffset)}`;
}

/** @param {Answer.BatchShown} one */
export function producer(one) {
  if (one.producerId < 0) return html`<span class="quiet">–</span>`;
  return html`<span class="nowrap">
    ${count(one.producerId)}
    <span class="quiet">·${one.producerEpoch}</span>
    ${one.baseSequence >= 0 && html`<span class="quiet"> seq ${count(one.baseSequence)}</span>`}
  </span>`;
}

/** @param {Answer.BatchShown} one */
export function signs(one) {
  return [
    one.isControl && html`<${Badge} kind="info" plain>control<//>`,
    one.isTransactional && !one.isControl && html`<${Badge} kind="violet" plain>transaction<//>`,
    one.deleteHorizonMs !== null &&
      html`<${Badge} plain title=${`Tombstones stay until ${time(one.deleteHorizonMs)}`}>
        delete horizon
      <//>`,
    one.count === 0 && html`<${Badge} plain title=${EMPTIED}>empty<//>`,
    one.isvalid === false && html`<${Badge} kind="bad">CRC mismatch<//>`,
    one.isvalid === true &&
      html`<span class="seg-ok" title="The CRC-32C matches">
        ✓<span class="hidden-text">CRC matches</span>
      </span>`,
    one.isvalid === null &&
      html`<span class="quiet" title="The batch is too large to check in a list: open the batch">
        CRC not checked
      </span>`,
  ];
}
