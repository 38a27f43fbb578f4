// @ts-check
// The dialog that aborts a transaction: first a preview, then the abort of what the preview shows.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { messageOf, post } from "../../api.js";
import { Confirm, Dialog, ErrorLine, Waiting, ago, count, plural } from "../../parts/index.js";

/** @typedef {{ id: string } | { topic: string, partition: number }} Target */

/** @param {{ target: Target, onClose: Call, onDone: Call }} props */
export function Abort({ target, onClose, onDone }) {
  const [plan, setPlan] = useState(/** @type {Answer.AbortPlan | null} */ (null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  useEffect(() => {
    post("/api/transactions/abort", target).then(setPlan, (failure) =>
      setError(messageOf(failure)),
    );
  }, []);
  if (plan === null)
    return html`<${Dialog} title="Abort a transaction" onClose=${onClose}>
      ${error ? html`<${ErrorLine} error=${error} />` : html`<${Waiting} />`}
    <//>`;
  async function abort() {
    const { producer_id, epoch, started_ms } = /** @type {Answer.AbortPlan} */ (plan);
    const shown = { producer_id, epoch, started_ms };
    await post("/api/transactions/abort", { ...target, ...shown, execute: true });
    onDone();
  }
  const name = plan.transactional_id ?? String(plan.producer_id);
  return html`<${Confirm} title="Abort the transaction of ${name}" action="Abort the transaction"
      danger word=${name} onConfirm=${abort} onClose=${onClose}>
    <${Effect} plan=${plan} />
  <//>`;
}

/** @param {{ plan: Answer.AbortPlan }} props */
function Effect({ plan }) {
  const records = plan.partitions.reduce((sum, one) => sum + one.records, 0);
  return html`
    <p>
      Producer ${plan.producer_id}, epoch ${plan.epoch}, opened this transaction
      ${plan.started_ms === null ? "" : ` ${ago(plan.started_ms)}`}. Consumers with
      <code> isolation.level=read_committed </code> never get the transaction's own records after
      the abort, and they get the other records of these partitions:
    </p>
    <ul class="bullets">
      ${plan.partitions.map(
        (one) =>
          html`<li>
            ${one.topic}-${one.partition}: ${plural(one.records, "record")} from offset
            ${" "}${count(one.stable)}
          </li>`,
      )}
      ${plan.partitions.length === 0 && html`<li>No records wait for this transaction.</li>`}
    </ul>
    <p>
      ${
        plan.transactional_id === null
          ? "The partition's leader gets an abort marker. Its producer may write again."
          : "Its producer is fenced: it gets ProducerFencedException and must start again."
      }
      ${plan.partitions.length > 1 && ` In all, ${plural(records, "record")} wait.`}
      ${" "}This is a preview: nothing has changed yet.
    </p>
  `;
}
