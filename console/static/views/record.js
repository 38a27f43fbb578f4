// @ts-check
// The page of one record: key, value and headers, its batch, and links to the records beside it.

import { html, useState } from "../vendor/preact.js";
import { goTo } from "../address.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import {
  count,
  Empty,
  ErrorLine,
  exactBytes,
  Page,
  Panel,
  Tabs,
  Time,
  Waiting,
} from "../parts/index.js";
import { Produce } from "./produce.js";
import { Opened } from "./record/opened.js";
import { topicTabs } from "./topic.js";

/** @param {{ params: Params, about: Partial<Answer.About> }} props */
export function RecordPage({ params, about }) {
  const { topic, partition, offset, q } = params;
  const { data, error, loading, again } = useGet(
    path("/api/topics/{}/records/{}/{}", topic, partition, offset, { uncommitted: q.uncommitted }),
  );
  const [sent, setSent] = useState(/** @type {Answer.RecordShown | null} */ (null));
  const place = { topic, partition, uncommitted: q.uncommitted };
  return html`<${Page} title="${topic}-${partition}, offset ${count(Number(offset))}"
      crumbs=${[
        ["Topics", links.topics()],
        [topic, links.topic(topic)],
        ["Messages", links.messages(topic)],
      ]} actions=${html`
        <${Neighbour} ...${place} offset=${data?.previous} name="← Previous record" />
        <${Neighbour} ...${place} offset=${data?.next} name="Next record →" />
        <a class="button" href=${links.recordsFrom(topic, Number(partition), Number(offset))}>
          Show in the list
        </a>
      `}>
    <${Tabs} items=${topicTabs(topic)} current="messages" />
    <${ErrorLine} error=${error} onAgain=${again} />
    ${loading && html`<${Waiting} what="Reading the record" />`}
    ${
      data?.record &&
      html`<${Panel} label="Record">
        <${Opened} topic=${topic} record=${data.record} uncommitted=${q.uncommitted}
            onAgain=${about.writes ? setSent : undefined} />
      <//>`
    }
    ${
      data?.batch &&
      html`<${Batch} batch=${data.batch} topic=${topic} partition=${partition}
          offset=${offset} isLocal=${(about.local ?? []).length > 0} />`
    }
    ${data && data.record === null && html`<${Gone} found=${data} ...${place} offset=${offset} />`}
    ${
      sent &&
      html`<${Produce} topic=${topic} partitions=${null} record=${sent}
          onClose=${() => setSent(null)} onDone=${(written) => {
            setSent(null);
            if (written.offset >= 0) goTo(links.record(topic, written.partition, written.offset));
          }} />`
    }
  <//>`;
}

/**
 * @param {{
 *   topic: string, partition: string, offset: number | null | undefined, name: string,
 *   uncommitted: string | undefined,
 * }} props
 */
function Neighbour({ topic, partition, offset, name, uncommitted }) {
  if (offset === null || offset === undefined)
    return html`<button type="button" disabled>${name}</button>`;
  return html`<a class="button" title="Offset ${count(offset)}"
      href=${links.record(topic, partition, offset, { uncommitted })}>${name}</a>`;
}

/**
 * An offset without a record: the reason, and the nearest record.
 *
 * @param {{
 *   found: Answer.RecordAtOffset, topic: string, partition: string, offset: string,
 *   uncommitted: string | undefined,
 * }} props
 */
function Gone({ found, topic, partition, offset, uncommitted }) {
  const nearest = found.next ?? found.previous;
  return html`<div class="panel">
    <${Empty} title=${found.missing}>
      ${
        nearest !== null &&
        html`<a href=${links.record(topic, partition, nearest, { uncommitted })}>
          Show the nearest record, offset ${count(nearest)}
        </a>`
      }
      ${
        found.hidden &&
        html`<a href=${links.record(topic, partition, offset, { uncommitted: 1 })}>
          Include open and aborted transactions
        </a>`
      }
    <//>
  </div>`;
}

/**
 * @param {{
 *   batch: Answer.RecordBatchShown, topic: string, partition: string, offset: string,
 *   isLocal: boolean,
 * }} props
 */
function Batch({ batch, topic, partition, offset, isLocal }) {
  const facts = [
    ["Base offset", count(batch.base_offset)],
    ["Records", `${count(batch.records)}, up to offset ${count(batch.last_offset)}`],
    ["Size", exactBytes(batch.size)],
    ["Compression", batch.codec],
    ["Producer id", batch.producer_id === null ? "none" : String(batch.producer_id)],
    ["Producer epoch", batch.producer_epoch === null ? "none" : String(batch.producer_epoch)],
    ["Sequence", sequences(batch)],
    ["Transactional", batch.transactional ? "yes" : "no"],
    ["Leader epoch", batch.leader_epoch < 0 ? "none" : String(batch.leader_epoch)],
    ["Timestamp type", batch.timestamp_type],
    ["Max timestamp", html`<${Time} ms=${batch.max_timestamp} />`],
  ];
  return html`<${Panel} title="Batch" actions=${
    isLocal &&
    html`<a href=${links.segmentAt(topic, partition, offset)}>Show its segment and bytes</a>`
  }>
    <dl class="facts batch-facts">
      ${facts.map(
        ([name, value]) => html`
          <dt>${name}</dt>
          <dd>${value}</dd>
        `,
      )}
    </dl>
  <//>`;
}

/**
 * The sequence of the record in its batch, whose producer is idempotent.
 *
 * @param {Answer.RecordBatchShown} batch
 */
function sequences({ record_sequence: own, base_sequence: base }) {
  if (own === null) return "none";
  return own === base ? count(own) : `${count(own)} (the batch begins at ${count(base)})`;
}
