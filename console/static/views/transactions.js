// @ts-check
// Transactions of the cluster, and the partitions whose records wait for an open one.

import { html, useState } from "../vendor/preact.js";
import { replaceWith } from "../address.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import {
  AsOf,
  Badge,
  Button,
  Empty,
  ErrorLine,
  Note,
  Page,
  Panel,
  SearchBox,
  Table,
  Text,
  Waiting,
  count,
  duration,
  plural,
  time,
} from "../parts/index.js";
import { Abort } from "./transactions/abort.js";
import { AGES, stateKind, waitingById, withoutId } from "./transactions/words.js";

const EVERY_MS = 5000;

/** @param {{ params: Params, about: Partial<Answer.About> }} props */
export function Transactions({ params, about }) {
  const { q = "", states = "", longer = "", topic = "" } = params.q;
  const asked = path("/api/transactions", { q, states, longer_ms: longer });
  const got = useGet(asked, { every: EVERY_MS });
  const { data, error, again } = got;
  const [target, setTarget] = useState(null);
  function go(change) {
    replaceWith(links.transactions({ q, states, longer, topic, ...change }));
  }
  return html`<${Page} title="Transactions"
      about="Transactional ids, and the records that wait for an open transaction."
      actions=${html`
        <${SearchBox} label="Find a transactional id" value=${q}
            onInput=${(next) => go({ q: next })} />
        <${Choice} label="State" value=${states} onChange=${(next) => go({ states: next })}
            items=${[["", "All states"], ...(data?.states ?? []).map((one) => [one, one])]} />
        <${Choice} label="Open for longer than" value=${longer} items=${AGES}
            onChange=${(next) => go({ longer: next })} />
      `}>
    <${ErrorLine} error=${error} onAgain=${again} />
    <${AsOf} got=${got} />
    ${data === null && !error && html`<${Waiting} />`}
    ${
      data &&
      html`
        <${Rows} data=${data} onAbort=${about.writes && setTarget} />
        <${Blocked} data=${data} topic=${topic} onAbort=${about.writes && setTarget}
            onAll=${() => go({ topic: "" })} />
      `
    }
    ${
      target && html`<${Abort} target=${target} onClose=${() => setTarget(null)} onDone=${again} />`
    }
  <//>`;
}

/** @param {{ label: string, value: string, items: string[][], onChange: Call }} props */
function Choice({ label, value, items, onChange }) {
  return html`<select aria-label=${label} value=${value}
      onChange=${(event) => onChange(event.target.value)}>
    ${items.map(([key, text]) => html`<option value=${key}>${text}</option>`)}
  </select>`;
}

/** @param {{ data: Answer.TransactionList, onAbort: Call | undefined }} props */
function Rows({ data, onAbort }) {
  const waiting = waitingById(data.waiting);
  /** @type {Column<Answer.TransactionRow>[]} */
  const columns = [
    {
      name: "Transactional id",
      wide: true,
      value: (one) => one.id,
      show: (one) => html`<span class="strong"><${Text} value=${one.id} /></span>`,
    },
    {
      name: "State",
      above: 760,
      value: (one) => one.state,
      show: (one) => html`<${Badge} kind=${stateKind(one.state)}>${one.state}<//>`,
    },
    {
      name: "Open for",
      number: true,
      value: (one) => (one.started_ms === null ? null : -one.started_ms),
      show: (one) => html`<${Age} ms=${one.started_ms} />`,
    },
    {
      name: "Waiting records",
      number: true,
      above: 1280,
      value: (one) => waiting[one.id] ?? 0,
      show: (one) => count(waiting[one.id] ?? 0),
    },
    {
      name: "Partitions",
      wide: true,
      above: 760,
      show: (one) => html`<${Places} places=${one.partitions} />`,
    },
    { name: "Producer id", number: true, above: 1280, value: (one) => one.producer_id },
    { name: "Epoch", number: true, above: 1280, value: (one) => one.epoch },
    {
      name: "Timeout",
      number: true,
      above: 1500,
      value: (one) => one.timeout_ms,
      show: (one) => duration(one.timeout_ms),
    },
    { name: "Coordinator", number: true, above: 1500, value: (one) => one.coordinator },
  ];
  if (onAbort)
    columns.push({
      name: "",
      label: "Abort",
      show: (one) =>
        one.state === "Ongoing" &&
        html`<${Button} kind="danger" label="Abort the transaction of ${one.id}"
            onClick=${() => onAbort({ id: one.id })}>Abort…<//>`,
    });
  return html`<${Panel} title="Transactional ids" inside=${false}
      actions=${
        data.of > data.transactions.length &&
        html`<span class="quiet">${count(data.transactions.length)} of ${count(data.of)}</span>`
      }>
    <${Table} label="Transactional ids" rows=${data.transactions} columns=${columns}
        id=${(one) => one.id} sort="-Open for"
        empty=${html`<${Empty} title="No transactional ids match">
          The list has only the ids that the console's login may describe.
        <//>`} />
  <//>`;
}

/** @param {{ ms: number | null }} props */
function Age({ ms }) {
  if (ms === null) return html`<span class="quiet">–</span>`;
  return html`<span class="nowrap" title=${time(ms)}>${duration(Date.now() - ms)}</span>`;
}

/** @param {{ places: [string, number][] }} props */
function Places({ places }) {
  if (!places.length) return html`<span class="quiet">–</span>`;
  const more = places.length - 3;
  return html`${places.slice(0, 3).map(
    ([topic, partition], at) => html`
      ${at > 0 && ", "}<a href=${links.topic(topic)}><${Text} value=${topic} /></a
      >-${partition}
    `,
  )}${more > 0 && ` and ${plural(more, "more partition")}`}`;
}

/**
 * @param {{
 *   data: Answer.TransactionList, topic: string, onAbort: Call | undefined, onAll: Call,
 * }} props
 */
function Blocked({ data, topic, onAbort, onAll }) {
  const rows = data.waiting.filter((one) => !topic || one.topic === topic);
  /** @type {Column<Answer.WaitingPartition>[]} */
  const columns = [
    {
      name: "Partition",
      wide: true,
      value: (one) => `${one.topic}-${one.partition}`,
      show: (one) =>
        html`<span class="place">
        <a href=${links.topic(one.topic)}><${Text} value=${one.topic} /></a>
        <span>-${one.partition}</span>
      </span>`,
    },
    {
      name: "Waiting records",
      number: true,
      value: (one) => one.records,
      show: (one) => html`<span class="strong">${count(one.records)}</span>`,
    },
    {
      name: "Last stable offset",
      number: true,
      above: 1500,
      value: (one) => one.stable,
      show: (one) => count(one.stable),
    },
    {
      name: "Waits for",
      wide: true,
      above: 760,
      show: (one) => html`<${Blocker} one=${one} />`,
    },
    {
      name: "Open for",
      number: true,
      above: 760,
      value: (one) => (one.since_ms === null ? null : -one.since_ms),
      show: (one) => html`<${Age} ms=${one.since_ms} />`,
    },
    {
      name: "",
      label: "Actions",
      show: (one) =>
        html`<span class="row">
        <a href=${links.producers(one.topic, one.partition)}>producers</a>
        ${
          onAbort &&
          one.hangs &&
          html`<${Button} kind="danger"
              label="Abort the hanging transaction in ${one.topic}-${one.partition}"
              onClick=${() => onAbort({ topic: one.topic, partition: one.partition })}>
            Abort…
          <//>`
        }
      </span>`,
    },
  ];
  return html`<${Panel} title="Records that wait for a transaction" inside=${false}
      actions=${topic && html`<${Button} onClick=${onAll}>Show all topics<//>`}>
    ${
      data.denied.length > 0 &&
      html`<div class="inside">
        <${Note} kind="warn">
          The console's login needs Read to see the producers of
          ${` ${data.denied.slice(0, 5).join(", ")}`}.
        <//>
      </div>`
    }
    <${Table} label="Records that wait for a transaction" rows=${rows} columns=${columns}
        id=${(one) => `${one.topic} ${one.partition}`}
        empty=${html`<${Empty} title="No records wait for a transaction">
          In each partition, the last stable offset is the end of the replicated records.
        <//>`} />
  <//>`;
}

/** @param {{ one: Answer.WaitingPartition }} props */
function Blocker({ one }) {
  if (one.transactional_id !== null) return html`<${Text} value=${one.transactional_id} />`;
  return html`<span title=${withoutId(one)}>
    ${one.producer_id === null ? "an open transaction" : `producer ${one.producer_id}`}
    ${" "}<${Badge} kind=${one.hangs ? "bad" : "warn"}>${one.hangs ? "hangs" : "id not known"}<//>
    ${
      one.hangs &&
      html`<span class="quiet block">No coordinator knows it, so nothing ends it.</span>`
    }
  </span>`;
}
