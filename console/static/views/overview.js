// @ts-check
// The health of the cluster, what is written to it, and the groups with the most lag.

import { html } from "../vendor/preact.js";
import { useGet } from "../api.js";
import * as links from "../links.js";
import { withoutCommit } from "./group_words.js";
import {
  AsOf,
  Badge,
  Chart,
  Empty,
  ErrorLine,
  Page,
  Panel,
  Spark,
  Table,
  Text,
  Tile,
  Tiles,
  Waiting,
  bytes,
  count,
  lagOf,
  plural,
  rate,
} from "../parts/index.js";

export function Overview() {
  const health = useGet("/api/overview", { every: 5000 });
  const live = useGet("/api/overview/live", { every: 2500 });
  const found = live.data;
  return html`<${Page} title="Overview"
      about=${health.data ? `Cluster ${health.data.cluster_id}` : null}>
    <${ErrorLine} error=${health.error} />
    <${ErrorLine} error=${live.error !== health.error ? live.error : null} />
    <${AsOf} got=${live.error ? live : health} />
    ${health.loading && html`<${Waiting} />`}
    ${health.data && !health.error && html`<${Health} data=${health.data} />`}
    <${Tiles}>
      <${Tile} label="Records written" ...${perSecond(found?.records_per_s, rate)}
          below=${found ? `${count(found.records)} in ${ofTopics(found)}` : ""} />
      <${Tile} label="Bytes written"
          ...${perSecond(found?.bytes_per_s, bytes)}
          below=${found ? sizeOf(found.bytes) : ""} />
      <${Tile} label="Topics" value=${count(health.data?.topics)}
          below=${health.data ? plural(health.data.partitions, "partition") : ""} />
      <${Tile} label="Groups" value=${count(found?.groups_known)} below=${
        found?.groups_left_out
          ? `${count(found.groups_left_out)} more not sampled`
          : groupsBelow(found)
      } />
    <//>
    ${
      found &&
      html`
        <${Rates} points=${found.points} />
        <div class="grid wide">
          <${Busiest} topics=${found.topics} />
          <${Behind} groups=${found.groups} hidesSome=${found.hides_groups} />
        </div>
      `
    }
    ${health.data && !health.error && html`<${Brokers} data=${health.data} />`}
  <//>`;
}

/** @param {Answer.LiveOverview} found */
function ofTopics(found) {
  return found.hides_groups ? "the topics that this login may describe" : "all topics";
}

/**
 * The value and the unit of a tile with a rate; a rate that is not known has no unit.
 *
 * @param {number | null | undefined} value
 * @param {(value: number) => string} show
 */
function perSecond(value, show) {
  return value === null || value === undefined
    ? { value: "–" }
    : { value: show(value), unit: "/s" };
}

/** @param {number | null} size */
function sizeOf(size) {
  return size === null ? "size not known to this login" : `${bytes(size)} in all topics`;
}

/** @param {Answer.LiveOverview | null} found */
function groupsBelow(found) {
  if (!found) return "";
  return found.hides_groups ? "that this login may describe" : "with committed offsets";
}

/** @param {{ data: Answer.ClusterHealth }} props */
function Health({ data }) {
  const [first, ...rest] = data.verdict;
  const words = first.toUpperCase() + rest.join("");
  return html`<div class="health ${data.healthy ? "good" : "bad"}" role="status">
    <span class="dot" aria-hidden="true"></span>
    <b>${words}</b>
    <span>
      ${
        data.healthy
          ? `${plural(data.brokers.length, "broker")} alive, all replicas in sync`
          : html`<a href=${links.replicas()}>Show the replicas</a>`
      }
    </span>
  </div>`;
}

/** @param {{ points: Answer.RatePoints }} props */
function Rates({ points }) {
  if (points.at.filter((_, at) => points.records[at] !== null).length < 2) {
    return html`<${Panel} title="Write rate">
      <${Empty} title="Waiting for a second sample">
        Rates appear after a few seconds.
      <//>
    <//>`;
  }
  return html`<div class="grid wide">
    <${Panel} title="Records written per second">
      <${Chart} x=${points.at} lines=${[{ name: "records/s", values: points.records }]}
          height=${180} label="Records written per second over the last minutes" />
    <//>
    <${Panel} title="Bytes written per second">
      <${Chart} x=${points.at}
          lines=${[{ name: "bytes/s", values: points.bytes, colour: "--info" }]} show=${bytes}
          height=${180} label="Bytes written per second over the last minutes" />
    <//>
  </div>`;
}

/** @param {{ topics: Answer.BusyTopic[] }} props */
function Busiest({ topics }) {
  /** @type {Column<Answer.BusyTopic>[]} */
  const columns = [
    {
      name: "Topic",
      fixed: true,
      wide: true,
      value: (one) => one.topic,
      show: (one) =>
        html`<a class="topic-name" href=${links.topic(one.topic)}>
          <${Text} value=${one.topic} />
        </a>`,
    },
    {
      name: "",
      label: "Records/s over the last two minutes",
      show: (one) =>
        html`<${Spark} values=${one.spark} label="Records per second of ${one.topic}" />`,
    },
    { name: "Records/s", number: true, show: (one) => rate(one.records_per_s) },
    { name: "Bytes/s", number: true, show: (one) => bytes(one.bytes_per_s) },
    { name: "Records", number: true, show: (one) => count(one.records) },
  ];
  return html`<${Panel} title="Busiest topics" inside=${false}
      actions=${html`<a href=${links.topics()}>All topics</a>`}>
    <${Table} label="Busiest topics" columns=${columns} rows=${topics} id=${(one) => one.topic}
        empty=${html`<${Empty} title="No topics yet">
          Create a topic: <code>ottla topic create orders</code>
        <//>`} />
  <//>`;
}

/** @param {{ groups: Answer.LateGroup[], hidesSome: boolean }} props */
function Behind({ groups, hidesSome }) {
  /** @type {Column<Answer.LateGroup>[]} */
  const columns = [
    {
      name: "Group",
      fixed: true,
      wide: true,
      value: (one) => one.group,
      show: (one) =>
        html`<a class="topic-name" href=${links.group(one.group)}>
          <${Text} value=${one.group} />
        </a>`,
    },
    {
      name: "Lag (records)",
      number: true,
      show: (one) => html`
        ${lagOf(one)}
        ${
          one.uncommitted.partitions > 0 &&
          html`<span class="no-commit quiet">${withoutCommit(one.uncommitted)}</span>`
        }
      `,
    },
    {
      name: "Lag change/s",
      number: true,
      show: (one) =>
        html`<span class=${trend(one.change_per_s)}>
          ${(one.change_per_s ?? 0) > 0.5 ? "+" : ""}
          ${rate(one.change_per_s)}
        </span>`,
    },
    { name: "Records read/s", number: true, show: (one) => rate(one.read_per_s) },
  ];
  return html`<${Panel} title="Groups with the most lag" inside=${false}
      actions=${html`<a href=${links.groups()}>All groups</a>`}>
    <${Table} label="Groups with the most lag" columns=${columns} rows=${groups}
        id=${(one) => one.group} empty=${html`<${Empty}
            title=${hidesSome ? "No groups that this login may describe" : "No committed offsets"}>
          ${!hidesSome && "A group appears here after its first commit."}
        <//>`} />
  <//>`;
}

/** @param {{ data: Answer.ClusterHealth }} props */
function Brokers({ data }) {
  const hasRacks = data.brokers.some((one) => one.rack !== null);
  /** @type {Column<Answer.BrokerHealth>[]} */
  const columns = [
    { name: "Broker", number: true, show: (one) => one.id },
    {
      name: "Address",
      show: (one) =>
        html`<span class="mono">
          ${one.host.includes(":") ? `[${one.host}]` : one.host}:${one.port}
        </span>`,
    },
    ...(hasRacks
      ? [{ name: "Rack", show: (one) => one.rack ?? html`<span class="quiet">–</span>` }]
      : []),
    {
      name: "State",
      show: (one) =>
        html`<span class="row">
          <${Badge} kind=${one.alive ? "good" : "bad"}>${one.alive ? "alive" : "not alive"}<//>
          ${one.controller && html`<${Badge} kind="violet" plain>active controller<//>`}
        </span>`,
    },
  ];
  return html`<${Panel} title="Brokers" inside=${false}
      actions=${html`<a href=${links.quorum()}>Quorum</a>`}>
    <${Table} label="Brokers" columns=${columns} rows=${data.brokers} id=${(one) => one.id} />
  <//>`;
}

/** @param {number | null} change */
function trend(change) {
  if (change !== null && change > 0.5) return "grows";
  return change !== null && change < -0.5 ? "shrinks" : "quiet";
}
