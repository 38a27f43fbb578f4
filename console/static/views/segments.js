// @ts-check
// The list of partitions on this machine; segments/partition.js is the page of a partition.

import { html, useState } from "../vendor/preact.js";
import { useAddressState } from "../address.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import {
  bytes,
  count,
  Empty,
  ErrorLine,
  Page,
  plural,
  SearchBox,
  Table,
  Tile,
  Tiles,
  Waiting,
} from "../parts/index.js";
import { Partition } from "./segments/partition.js";

/** @param {{ params: Params }} props */
export function Segments({ params }) {
  if (params.topic === undefined) return html`<${Partitions} q=${params.q} />`;
  return html`<${Partition} key=${`${params.topic}/${params.partition}/${params.q.dir ?? ""}`}
      topic=${params.topic} partition=${params.partition} q=${params.q} />`;
}

const ABOUT =
  "The files of each partition's log on this machine: segments, indexes, batches, records, down " +
  "to single bytes.";

function Partitions() {
  const [search, setSearch] = useAddressState("q");
  const [dir, setDir] = useAddressState("dir");
  const { data, error } = useGet(path("/api/segments", { search, dir }), { every: 4000 });
  const [last, setLast] = useState(null);
  if (data !== null && data !== last) setLast(data);
  const sizes = data ?? last;
  return html`<${Page} title="Segments on disk" about=${ABOUT}>
    <${ErrorLine} error=${error} />
    ${sizes === null && !error && html`<${Waiting} what="Reading the log directories" />`}
    ${
      sizes !== null &&
      (sizes.local
        ? html`<${PartitionList} sizes=${sizes} search=${search} setSearch=${setSearch} dir=${dir}
              setDir=${setDir} />`
        : html`<div class="panel">
            <${Empty} title="No local files">
              <span>${sizes.why}</span>
              <code>ottla console --bootstrap-server localhost:9092 --data ./data</code>
            <//>
          </div>`)
    }
  <//>`;
}

/**
 * @param {{
 *   sizes: Answer.PartitionSizes, search: any, setSearch: Call, dir: any, setDir: Call,
 * }} props
 */
function PartitionList({ sizes, search, setSearch, dir, setDir }) {
  const most = Math.max(...sizes.partitions.map((one) => one.bytes), 1);
  const severalNodes = sizes.directories.length > 1;
  /** @type {Column<Answer.PartitionSize>[]} */
  const columns = [
    {
      name: "Partition",
      wide: true,
      value: (one) => `${one.topic}-${one.partition}`,
      show: (one) =>
        html`<a class="seg-name" href=${addressOf(one, one.replicas[0])}>
          ${one.topic}<span class="quiet">-${one.partition}</span>
        </a>`,
    },
    ...(severalNodes ? [NODES] : []),
    {
      name: severalNodes ? "Segments, all nodes" : "Segments",
      number: true,
      value: (one) => one.segments,
      show: (one) => count(one.segments),
    },
    {
      name: severalNodes ? "Size, all nodes" : "Size",
      number: true,
      value: (one) => one.bytes,
      show: (one) => bytes(one.bytes),
    },
    {
      name: "",
      label: "Size as a bar",
      show: (one) =>
        html`<div class="seg-share" aria-hidden="true">
          <div style=${{ width: `${(100 * one.bytes) / most}%` }}></div>
        </div>`,
    },
  ];
  return html`
    <${Tiles}>
      <${Tile} label="Partitions" value=${count(sizes.count)} />
      <${Tile} label="Segments" value=${count(sizes.segments)} />
      <${Tile} label="On disk" value=${bytes(sizes.bytes)} below="log files, without indexes" />
      <${Tile} label="Log directories" value=${count(sizes.directories.length)} below=${
        severalNodes
          ? `of ${new Set(sizes.directories.map((one) => one.node)).size} nodes`
          : `node ${sizes.directories[0].node}`
      } />
    <//>
    <section class="panel" aria-label="Partitions">
      <header>
        <${SearchBox} label="Find a partition" value=${search} onInput=${setSearch} />
        ${
          severalNodes &&
          html`<select aria-label="Log directory" value=${dir}
              onChange=${(event) => setDir(event.target.value)}>
            <option value="">All nodes</option>
            ${sizes.directories.map(
              (one) => html`<option value=${one.key}>Node ${one.node}: ${one.path}</option>`,
            )}
          </select>`
        }
      </header>
      <${Table} label="Partitions on this machine" columns=${columns} rows=${sizes.partitions}
          id=${(one) => `${one.topic}-${one.partition}`}
          empty=${html`<${Empty} title="No partition matches">
            <span>
              No partition of this name is on this machine, or the console's login needs Describe on
              its topic.
            </span>
          <//>`} />
      ${
        sizes.count !== undefined &&
        sizes.count > sizes.partitions.length &&
        html`<p class="seg-more quiet">
          Showing the ${count(sizes.partitions.length)} largest of ${count(sizes.count)} partitions.
          Search to find the others.
        </p>`
      }
    </section>
  `;
}

/** @type {Column<Answer.PartitionSize>} */
const NODES = {
  name: "Nodes",
  show: (one) =>
    html`<span class="row">
      ${one.replicas.map(
        (replica) =>
          html`<a key=${replica.dir} href=${addressOf(one, replica)}
              aria-label="${one.topic}-${one.partition} on node ${replica.node}"
              title="${plural(replica.segments, "segment")}, ${bytes(replica.bytes)}">
            ${replica.node}
          </a>`,
      )}
    </span>`,
};

/**
 * @param {Answer.PartitionSize} one
 * @param {Answer.ReplicaSize} replica
 */
function addressOf(one, replica) {
  return links.partitionSegments(one.topic, one.partition, { dir: replica.dir });
}
