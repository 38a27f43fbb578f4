// @ts-check
// One topic: its partitions, the groups that read it, its configs, and the dialogs that change it.

import { html, useState } from "../vendor/preact.js";
import { goTo } from "../address.js";
import { path, post, useGet } from "../api.js";
import * as links from "../links.js";
import {
  AsOf,
  Badge,
  Button,
  bytes,
  Confirm,
  count,
  ErrorLine,
  Field,
  Note,
  Page,
  Panel,
  rate,
  Table,
  Tabs,
  Tile,
  Tiles,
  Waiting,
} from "../parts/index.js";
import { denied } from "../rights.js";
import { Configs } from "./topic_configs.js";
import { Readers } from "./topic_readers.js";
import { WaitingNote } from "./transactions/waiting.js";

/**
 * The parts of a topic's page.
 *
 * @param {string} topic
 */
export function topicTabs(topic) {
  return [
    ["topic", "Topic", links.topic(topic)],
    ["messages", "Messages", links.messages(topic)],
  ];
}

/** @param {{ params: Params, about: Partial<Answer.About> }} props */
export function Topic({ params, about }) {
  const { topic } = params;
  const one = useGet(path("/api/topics/{}", topic), { every: 5000 });
  const live = useGet(path("/api/live-topics", { topic }), { every: 2500 });
  const [dialog, setDialog] = useState(null);
  const [, , recordsRate = null, bytesRate = null] = live.data?.topics[topic] ?? [];
  const close = () => setDialog(null);
  const change = (name, form, operation) => {
    const why = denied(one.data?.operations, operation, "topic");
    return html`<${Button} kind=${name === "delete" ? "danger" : ""} disabled=${Boolean(why)}
        title=${why} onClick=${() => setDialog(name)}>
      ${form}
    <//>`;
  };
  return html`<${Page} title=${topic} crumbs=${[["Topics", links.topics()]]} actions=${
    about.writes &&
    one.data &&
    html`
      ${change("grow", "Add partitions", "ALTER")} ${change("delete", "Delete", "DELETE")}
    `
  }>
    <${Tabs} items=${topicTabs(topic)} current="topic" />
    <${ErrorLine} error=${one.error} />
    <${AsOf} got=${one} />
    <${WaitingNote} topic=${topic} />
    ${one.loading && html`<${Waiting} />`}
    ${
      one.data &&
      html`
        <${Figures} data=${one.data} recordsRate=${recordsRate} bytesRate=${bytesRate} />
        <${Partitions} data=${one.data} local=${about.local ?? []} />
        <${Readers} topic=${topic} />
        <${Configs} topic=${topic} writes=${about.writes}
            noChange=${denied(one.data.operations, "ALTER_CONFIGS", "topic")} />
      `
    }
    ${
      one.data &&
      dialog === "delete" &&
      html`<${Confirm} title="Delete ${topic}" action="Delete the topic" danger word=${topic}
          onClose=${close} onConfirm=${async () => {
            await post(path("/api/topics/{}/delete", topic));
            goTo(links.topics());
          }}>
        <p>
          The cluster deletes the topic and its ${count(held(one.data))} records on every broker.
          You cannot undo this.
        </p>
      <//>`
    }
    ${
      one.data &&
      dialog === "grow" &&
      html`<${Grow} topic=${topic} now=${one.data.partitions.length} onClose=${close}
          onDone=${one.again} />`
    }
  <//>`;
}

/** @param {Answer.Topic} data */
function held(data) {
  return data.partitions.reduce(
    (sum, one) => sum + Math.max(0, (one.end ?? 0) - (one.first ?? 0)),
    0,
  );
}

/**
 * Return the sum of the sizes that are known; null if none is.
 *
 * @param {Answer.Topic} data
 * @param {"bytes" | "all_bytes"} name
 */
function total(data, name) {
  const sizes = data.partitions.flatMap((one) => one[name] ?? []);
  return sizes.length ? sizes.reduce((sum, size) => sum + size, 0) : null;
}

/** @param {{ data: Answer.Topic, recordsRate: number | null, bytesRate: number | null }} props */
function Figures({ data, recordsRate, bytesRate }) {
  const lacking = data.partitions.filter((one) => one.isr.length < one.replicas.length).length;
  const offline = data.partitions.filter((one) => one.leader === null).length;
  const [size, sizeOfAll] = [total(data, "bytes"), total(data, "all_bytes")];
  let health = html`<${Badge} kind="good">all in sync<//>`;
  if (offline) health = html`<${Badge} kind="bad">${offline} offline<//>`;
  else if (lacking) health = html`<${Badge} kind="warn">${lacking} under-replicated<//>`;
  return html`<${Tiles}>
    <${Tile} label="Records" value=${count(held(data))}
        below=${data.internal ? "internal topic" : "end offsets minus first offsets"} />
    <${Tile} label="Size" value=${bytes(size)}
        below=${
          size === null ? "not known to this login" : `${bytes(sizeOfAll)} in all replicas`
        } />
    <${Tile} label="Write rate" value=${rate(recordsRate)}
        unit=${recordsRate === null ? "" : "records/s"}
        below=${bytesRate === null ? "bytes per second not known" : `${bytes(bytesRate)}/s`} />
    <${Tile} label="Partitions" value=${count(data.partitions.length)} below=${health} />
  <//>`;
}

/**
 * @param {Answer.TopicPartition} one
 * @param {number} id
 */
function replicaTitle(one, id) {
  const lags = one.isr.includes(id) ? "" : ", not in sync";
  return `broker ${id}${lags}${id === one.leader ? ", leader" : ""}`;
}

/** @param {{ data: Answer.Topic, local: string[] }} props */
function Partitions({ data, local }) {
  const most = Math.max(1, ...data.partitions.map((one) => one.bytes ?? 0));
  /** @type {Column<Answer.TopicPartition>[]} */
  const columns = [
    { name: "Partition", number: true, value: (one) => one.partition },
    {
      name: "Leader",
      number: true,
      above: 760,
      value: (one) => one.leader,
      show: (one) => one.leader ?? html`<${Badge} kind="bad">none<//>`,
    },
    {
      name: "Replicas",
      value: (one) => one.isr.length,
      show: (one) =>
        html`<span class="ids"
            title="ISR ${one.isr.join(", ")}; replicas ${one.replicas.join(", ")}">
          ${one.replicas.map(
            (id) =>
              html`<span
                  class="${one.isr.includes(id) ? "" : "out"} ${id === one.leader ? "leads" : ""}"
                  title=${replicaTitle(one, id)}>${id}</span>`,
          )}
        </span>`,
    },
    {
      name: "First offset",
      number: true,
      above: 760,
      value: (one) => one.first,
      show: (one) => html`
        <a href=${links.recordsFrom(data.topic, one.partition, one.first)}>${count(one.first)}</a>
      `,
    },
    { name: "End offset", number: true, value: (one) => one.end, show: (one) => count(one.end) },
    {
      name: "Size",
      number: true,
      value: (one) => one.bytes,
      show: (one) => html`
        ${bytes(one.bytes)}
        <span class="share" aria-hidden="true">
          <span style=${{ width: `${(100 * (one.bytes ?? 0)) / most}%` }}></span>
        </span>
      `,
    },
    {
      name: "",
      label: "Links",
      show: (one) =>
        html`<span class="row links">
          <a href=${links.messages(data.topic, { partition: one.partition })}
              aria-label="messages of partition ${one.partition}">
            messages
          </a>
          <a href=${links.producers(data.topic, one.partition)}>producers</a>
          ${
            local.length > 0 &&
            html`<a href=${links.partitionSegments(data.topic, one.partition)}
                aria-label="segments of partition ${one.partition}">segments</a>`
          }
        </span>`,
    },
  ];
  return html`<${Panel} title="Partitions" inside=${false}
      actions=${html`<a href=${links.replicas()}>Replicas of all topics</a>`}>
    <${Table} label="Partitions" columns=${columns} rows=${data.partitions}
        id=${(one) => one.partition} />
  <//>`;
}

/** @param {{ topic: string, now: number, onClose: Call, onDone: Call }} props */
function Grow({ topic, now, onClose, onDone }) {
  const [wanted, setWanted] = useState(String(now + 1));
  async function grow() {
    await post(path("/api/topics/{}/partitions", topic), { count: Number(wanted) });
    onDone();
  }
  return html`<${Confirm} title="Add partitions to ${topic}" action="Add partitions"
      onConfirm=${grow} onClose=${onClose}>
    <${Field} label="New number of partitions (now ${now})">
      <input type="number" min=${now + 1} value=${wanted}
          onInput=${(event) => setWanted(event.target.value)} />
    <//>
    <${Note} kind="warn">
      Producers then map keys to other partitions. Kafka cannot remove partitions.
    <//>
  <//>`;
}
