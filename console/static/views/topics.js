// @ts-check
// The list of topics, of up to ten thousand.

import { html, useMemo, useState } from "../vendor/preact.js";
import { goTo, useAddressFlag, useAddressState } from "../address.js";
import { post, useGet } from "../api.js";
import * as links from "../links.js";
import {
  AsOf,
  Badge,
  Button,
  Check,
  Confirm,
  Empty,
  ErrorLine,
  Field,
  Page,
  Panel,
  SearchBox,
  Table,
  Text,
  Waiting,
  bytes,
  count,
  plural,
  rate,
} from "../parts/index.js";

/** @param {{ about: Partial<Answer.About> }} props */
export function Topics({ about }) {
  const [filter, setFilter] = useAddressState("filter");
  const [internal, setInternal] = useAddressFlag("internal");
  const [making, setMaking] = useState(false);
  const list = useGet("/api/topics", { every: 10000 });
  const live = useGet("/api/live-topics", { every: 2500 });
  const rows = useMemo(() => joined(list.data, live.data), [list.data, live.data]);
  const shown = useMemo(() => {
    const wanted = filter.toLowerCase();
    return rows.filter(
      (one) => (internal || !one.internal) && one.name.toLowerCase().includes(wanted),
    );
  }, [rows, filter, internal]);
  const hidden = rows.filter((one) => one.internal).length;
  return html`<${Page} title="Topics" about=${list.data ? summary(rows) : null}
      actions=${
        about.writes &&
        html`<${Button} kind="primary" onClick=${() => setMaking(true)}>Create a topic<//>`
      }>
    <${ErrorLine} error=${list.error} />
    <${AsOf} got=${list} />
    <${ErrorLine} error=${live.error !== list.error ? live.error : null} />
    <div class="spread">
      <div class="topic-filter">
        <${SearchBox} label="Filter by name" value=${filter} onInput=${setFilter} onEnter=${() =>
          shown.length === 1 && goTo(links.topic(shown[0].name))} />
      </div>
      <div class="row">
        <span class="quiet" aria-live="polite">${filter && plural(shown.length, "topic")}</span>
        ${
          hidden > 0 &&
          html`<${Check} label="Show internal topics (${hidden})" checked=${internal}
              onChange=${setInternal} />`
        }
      </div>
    </div>
    ${list.loading && html`<${Waiting} />`}
    ${
      list.data &&
      html`<${Panel} inside=${false} label="Topics">
        <${Table} label="Topics" rows=${shown} id=${(one) => one.name} sort="Topic"
            sortName="sort"
            columns=${COLUMNS} empty=${nothing(filter, rows, about)} />
      <//>`
    }
    ${making && html`<${Create} onClose=${() => setMaking(false)} onDone=${list.again} />`}
  <//>`;
}

/**
 * @param {Answer.TopicList | null} list
 * @param {Answer.LiveTopics | null} live
 */
function joined(list, live) {
  return (list?.topics ?? []).map(([name, partitions, replicas, internal, lacking, offline]) => {
    const [records, size, recordsRate, bytesRate] = live?.topics[name] ?? [null, null, null, null];
    return {
      name,
      partitions,
      replicas,
      internal,
      lacking,
      offline,
      records,
      size,
      recordsRate,
      bytesRate,
    };
  });
}

function summary(rows) {
  const own = rows.filter((one) => !one.internal);
  return `${plural(own.length, "topic")} with ${plural(
    own.reduce((sum, one) => sum + one.partitions, 0),
    "partition",
  )}`;
}

/**
 * @param {any} filter
 * @param {any} rows
 * @param {Partial<Answer.About>} about
 */
function nothing(filter, rows, about) {
  if (filter)
    return html`<${Empty} title="No topic name matches the filter">
      The cluster has ${plural(rows.length, "topic")}.
    <//>`;
  return html`<${Empty} title="No topics, or none that this login may describe">
    Create a topic ${about.writes ? "here, or with" : "with"} <code>ottla topic create NAME</code>
  <//>`;
}

/** @type {Column<ReturnType<typeof joined>[number]>[]} */
const COLUMNS = [
  {
    name: "Topic",
    wide: true,
    value: (one) => one.name,
    show: (one) =>
      html`<span class="topic-cell">
      <a class="topic-name" href=${links.topic(one.name)}>
        <${Text} value=${one.name} />
      </a>
      ${one.internal && html` <${Badge} plain>internal<//>`}
      ${
        one.offline > 0
          ? html` <${Badge} kind="bad">${plural(one.offline, "partition")} offline<//>`
          : one.lacking > 0 &&
            html` <${Badge} kind="warn">${plural(one.lacking, "partition")} under-replicated<//>`
      }
    </span>`,
  },
  {
    name: "Partitions",
    number: true,
    above: 760,
    value: (one) => one.partitions,
    show: (one) => count(one.partitions),
  },
  { name: "Replication factor", number: true, above: 1280, value: (one) => one.replicas },
  { name: "Records", number: true, value: (one) => one.records, show: (one) => count(one.records) },
  { name: "Size", number: true, value: (one) => one.size, show: (one) => bytes(one.size) },
  {
    name: "Records/s",
    number: true,
    above: 760,
    value: (one) => one.recordsRate,
    show: (one) => busy(one.recordsRate, rate),
  },
  {
    name: "Bytes/s",
    number: true,
    above: 760,
    value: (one) => one.bytesRate,
    show: (one) => busy(one.bytesRate, bytes),
  },
  {
    name: "",
    label: "Messages",
    above: 760,
    show: (one) =>
      html`<a href=${links.messages(one.name)} aria-label="messages of ${one.name}">messages</a>`,
  },
];

function busy(value, words) {
  if (value === 0) return html`<span class="quiet">0</span>`;
  return words(value);
}

function Create({ onClose, onDone }) {
  const [name, setName] = useState("");
  const [partitions, setPartitions] = useState("");
  const [replicas, setReplicas] = useState("");
  const [configs, setConfigs] = useState("");
  async function create() {
    await post("/api/topics", {
      name,
      partitions: partitions ? Number(partitions) : null,
      replicas: replicas ? Number(replicas) : null,
      configs: pairs(configs),
    });
    onDone();
  }
  return html`<${Confirm} title="Create a topic" action="Create" onConfirm=${create}
      onClose=${onClose}>
    <${Field} label="Name">
      <input value=${name} onInput=${(event) => setName(event.target.value)} autocomplete="off"
          spellcheck=${false} />
    <//>
    <div class="grid two">
      <${Field} label="Partitions">
        <input type="number" min="1" placeholder="broker default" value=${partitions}
            onInput=${(event) => setPartitions(event.target.value)} />
      <//>
      <${Field} label="Replication factor">
        <input type="number" min="1" placeholder="broker default" value=${replicas}
            onInput=${(event) => setReplicas(event.target.value)} />
      <//>
    </div>
    <${Field} label="Configs, one KEY=VALUE per line">
      <textarea placeholder="retention.ms=86400000" spellcheck=${false} value=${configs}
          onInput=${(event) => setConfigs(event.target.value)}></textarea>
    <//>
  <//>`;
}

/** Return lines of KEY=VALUE as an object. Throws Error with one line. */
export function pairs(text) {
  const found = {};
  for (const line of text
    .split("\n")
    .map((one) => one.trim())
    .filter(Boolean)) {
    const at = line.indexOf("=");
    if (at < 1) throw new Error(`${line}: write each config as KEY=VALUE`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}
