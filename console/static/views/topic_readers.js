// @ts-check
// The groups that read a topic, on the topic's page.

import { html } from "../vendor/preact.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import {
  Badge,
  count,
  Empty,
  ErrorLine,
  lagOf,
  Note,
  Panel,
  Table,
  Text,
  Waiting,
} from "../parts/index.js";

/** @param {{ topic: string }} props */
export function Readers({ topic }) {
  const { data, error, loading } = useGet(path("/api/topics/{}/groups", topic), { every: 10000 });
  /** @type {Column<Answer.TopicReader>[]} */
  const columns = [
    {
      name: "Group",
      wide: true,
      value: (one) => one.group,
      show: (one) =>
        html`<a class="topic-name" href=${links.group(one.group)}>
          <${Text} value=${one.group} />
        </a>`,
    },
    {
      name: "State",
      value: (one) => one.state,
      show: (one) =>
        html`<${Badge} kind=${{ Stable: "good", Empty: "" }[one.state] ?? "warn"}>${one.state}<//>`,
    },
    { name: "Partitions", number: true, value: (one) => one.partitions },
    {
      name: "Lag (records)",
      number: true,
      value: (one) => one.lag,
      show: (one) => (one.lag ? lagOf(one) : html`<span class="quiet">${lagOf(one)}</span>`),
    },
  ];
  return html`<${Panel} title="Groups that read this topic" inside=${false}>
    ${error && html`<div class="inside"><${ErrorLine} error=${error} /></div>`}
    ${loading && html`<${Waiting} what="Waiting for the groups" />`}
    ${
      data &&
      data.left_out > 0 &&
      html`<div class="inside">
        <${Note}>This list does not check ${count(data.left_out)} more groups of the cluster.<//>
      </div>`
    }
    ${
      data &&
      html`<${Table} label="Groups" columns=${columns} rows=${data.groups} id=${(one) => one.group}
          empty=${html`<${Empty} title="No group has committed offsets of this topic">
            Consumers that do not commit are not listed.
          <//>`} />`
    }
  <//>`;
}
