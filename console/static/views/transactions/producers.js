// @ts-check
// The producers of a partition, as its leader knows them.

import { html } from "../../vendor/preact.js";
import { path, useGet } from "../../api.js";
import * as links from "../../links.js";
import {
  Badge,
  Empty,
  ErrorLine,
  Note,
  Page,
  Panel,
  Table,
  Text,
  Waiting,
  ago,
  count,
  plural,
  time,
} from "../../parts/index.js";
import { WaitingNote } from "./waiting.js";

const EVERY_MS = 5000;

/** @param {{ params: Params }} props */
export function Producers({ params }) {
  const { topic, partition } = params;
  const asked = path("/api/topics/{}/producers", topic, { partition });
  const { data, error } = useGet(asked, { every: EVERY_MS });
  const crumbs = [
    ["Topics", links.topics()],
    [topic, links.topic(topic)],
  ];
  return html`<${Page} title="Producers of ${topic}-${partition}" crumbs=${crumbs}
      about=${data && data.stable !== null ? offsetsWords(data) : null}>
    <${ErrorLine} error=${error} />
    ${data === null && !error && html`<${Waiting} />`}
    <${WaitingNote} topic=${topic} />
    ${data?.denied && html`<${Note} kind="warn">${DENIED}<//>`}
    ${
      data &&
      !data.denied &&
      html`<${Panel} inside=${false} label="Producers" title=${plural(data.of, "producer")}>
        <${Table} label="Producers" rows=${data.producers} columns=${COLUMNS}
            id=${(one) => one.producer_id} empty=${html`<${Empty} title="No producers">
              Only idempotent and transactional producers have an id. The leader forgets a producer
              a day after its last record (<code>producer.id.expiration.ms</code>).
            <//>`} />
      <//>`
    }
  <//>`;
}

const DENIED = "The console's login needs Read on this topic to see its producers.";

/** @param {Answer.PartitionProducers} data */
function offsetsWords({ stable, end }) {
  const waiting = (end ?? 0) - (stable ?? 0);
  if (waiting === 0)
    return `Last stable offset ${count(stable)}, the end of the replicated records.`;
  const wait = waiting === 1 ? "waits" : "wait";
  return `Last stable offset ${count(stable)}: ${plural(waiting, "record")} from it on ${wait}.`;
}

/** @type {Column<Answer.ProducerRow>[]} */
const COLUMNS = [
  { name: "Producer id", number: true, value: (one) => one.producer_id },
  { name: "Epoch", number: true, value: (one) => one.epoch },
  {
    name: "Transactional id",
    wide: true,
    value: (one) => one.transactional_id ?? "",
    show: (one) =>
      one.transactional_id === null
        ? html`<span class="quiet">none, or not visible</span>`
        : html`<a href=${links.transactions({ q: one.transactional_id })}>
            <${Text} value=${one.transactional_id} />
          </a>`,
  },
  {
    name: "Open transaction",
    value: (one) => one.open_from ?? -1,
    show: (one) =>
      one.open_from === null
        ? html`<span class="quiet">–</span>`
        : html`<${Badge} kind="info">from offset ${count(one.open_from)}<//>`,
  },
  {
    name: "Last sequence",
    number: true,
    value: (one) => one.last_sequence,
    show: (one) => count(one.last_sequence),
  },
  {
    name: "Last batch",
    value: (one) => one.last_timestamp_ms,
    show: (one) =>
      html`<span class="nowrap" title=${time(one.last_timestamp_ms)}>
        ${ago(one.last_timestamp_ms)}
      </span>`,
  },
];
