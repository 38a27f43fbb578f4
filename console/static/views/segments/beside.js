// @ts-check
// The other files of a partition: leader epochs, producer snapshots and more.

import { html, useState } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import { bytes, count, ErrorLine, Note, Panel, plural, Table } from "../../parts/index.js";

const NO_PRODUCERS = html`<p class="quiet">The snapshot has no producers.</p>`;

/** @param {{ log: Answer.PartitionShown }} props */
export function Beside({ log }) {
  return html`<div class="grid">
    <${Panel} title="Leader epochs">
      <${Epochs} epochs=${log.epochs} />
      <p class="quiet">
        Each leader writes with its own epoch. After a failover, a follower asks the leader where
        its last epoch ends, and truncates its log to this offset.
      </p>
    <//>
    <${Snapshots} log=${log} />
    <${Panel} title="Other files">
      ${
        log.metadataSnapshots.length > 0 &&
        html`
          <h3>Metadata snapshots</h3>
          <ul class="seg-list">
            ${log.metadataSnapshots.map(
              ([name, size]) => html`<li key=${name}><code>${name}</code> ${bytes(size)}</li>`,
            )}
          </ul>
        `
      }
      ${
        log.leaving.length > 0 &&
        html`
          <h3>Files to be deleted or replaced</h3>
          <ul class="seg-list">
            ${log.leaving.map(
              ([name, size]) => html`<li key=${name}><code>${name}</code> ${bytes(size)}</li>`,
            )}
          </ul>
        `
      }
      <dl class="facts">
        <dt>partition.metadata</dt>
        <dd class="mono">${log.topicId ?? "none"}</dd>
        <dt>To be deleted or replaced</dt>
        <dd>${log.leaving.length ? plural(log.leaving.length, "file") : "no files"}</dd>
      </dl>
      <p class="quiet">
        The topic id in partition.metadata differs from that of an earlier topic of the same name.
      </p>
    <//>
  </div>`;
}

/** @param {{ epochs: Answer.EpochStart[] | null }} props */
function Epochs({ epochs }) {
  if (epochs === null) return html`<${Note} kind="warn">leader-epoch-checkpoint is damaged.<//>`;
  if (epochs.length === 0)
    return html`<p class="quiet">The folder has no leader-epoch-checkpoint yet.</p>`;
  return html`<ol class="seg-epochs">
    ${epochs.map(
      (one, at) =>
        html`<li key=${one.epoch}>
          <b>epoch ${one.epoch}</b>
          <span>
            from offset ${count(one.start)}
            ${epochs[at + 1] ? ` to ${count(epochs[at + 1].start - 1)}` : " on"}
          </span>
        </li>`,
    )}
  </ol>`;
}

/** @param {{ log: Answer.PartitionShown }} props */
function Snapshots({ log }) {
  const [at, setAt] = useState(null);
  const address =
    at !== null && log.canRead
      ? path("/api/segments/{}/{}/snapshot", log.topic, log.partition, { dir: log.dir, offset: at })
      : null;
  const { data, error, again } = useGet(address);
  return html`<${Panel} title="Producer snapshots">
    ${
      log.snapshots.length === 0
        ? html`<p class="quiet">
            No snapshots yet. The broker writes a snapshot when a segment rolls.
          </p>`
        : html`<div class="row seg-chips">
            ${log.snapshots.map(
              ([offset, size]) =>
                html`<button key=${offset} type="button" class="plain" disabled=${!log.canRead}
                    aria-pressed=${at === offset} title=${bytes(size)}
                    onClick=${() => setAt(at === offset ? null : offset)}>
                  offset ${count(offset)} · ${plural(
                    Math.max(0, Math.round((size - 10) / 46)),
                    "producer",
                  )}
                </button>`,
            )}
          </div>`
    }
    <${ErrorLine} error=${at === null ? null : error} onAgain=${again} />
    ${
      at !== null &&
      data &&
      ("damage" in data
        ? html`<${Note} kind="warn">${data.damage}<//>`
        : html`<${Table} label="Producers" rows=${data.producers} id=${(one) => one.producerId}
              columns=${[
                { name: "Producer id", number: true, value: (one) => one.producerId },
                { name: "Producer epoch", number: true, value: (one) => one.producerEpoch },
                { name: "Last sequence", number: true, value: (one) => one.lastSequence },
                { name: "Last offset", number: true, value: (one) => one.lastOffset },
                {
                  name: "First offset of the transaction",
                  number: true,
                  value: (one) => one.currentTxnFirstOffset,
                  show: (one) => one.currentTxnFirstOffset ?? "–",
                },
              ]} empty=${NO_PRODUCERS} />`)
    }
    <p class="quiet">
      A snapshot has the state of the idempotent producers at its offset. With it, a restarted
      broker recognizes retries.
    </p>
  <//>`;
}
