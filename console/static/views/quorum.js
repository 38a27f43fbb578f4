// @ts-check
// The page of the metadata quorum: its voters and observers, epochs, features and records.

import { html } from "../vendor/preact.js";
import { path, useGet } from "../api.js";
import {
  Badge,
  count,
  duration,
  Empty,
  ErrorLine,
  Note,
  Page,
  Panel,
  plural,
  Table,
  Tile,
  Tiles,
  Time,
  Waiting,
} from "../parts/index.js";
import { Records } from "./quorum_records.js";

const EVERY_MS = 1000;
const ABOUT =
  "Controllers replicate each metadata change by Raft. A change is committed when a majority of " +
  "the voters has its record.";

export function Quorum() {
  const { data, error } = useGet("/api/quorum", { every: EVERY_MS });
  const quorum = data?.quorum;
  return html`<${Page} title="Quorum" about=${ABOUT}>
    <${ErrorLine} error=${error} />
    ${!data && !error && html`<${Waiting} />`}
    ${data?.absent && html`<${Note} kind="warn">${data.absent}<//>`}
    ${
      quorum &&
      html`
        <${Figures} quorum=${quorum} />
        <${Panel} title="Voters and observers" inside=${false}>
          <${Table} label="Voters and observers" rows=${replicas(quorum)}
              columns=${columnsOf(replicas(quorum))} id=${(row) => row.id} />
        <//>
      `
    }
    <div class="quorum-halves">
      <${Epochs} epoch=${quorum?.epoch} />
      ${data && html`<${Features} features=${data.features} />`}
    </div>
    <${Records} />
  <//>`;
}

/** @param {{ quorum: Answer.Quorum }} props */
function Figures({ quorum }) {
  const late = quorum.voters.filter((one) => one.lagging);
  const need = Math.floor(quorum.voters.length / 2) + 1;
  const spare = quorum.voters.length - late.length - need;
  return html`<div aria-live="polite">
    <${Tiles}>
      <${Tile} label="Leader" value=${quorum.leader < 0 ? "none" : `node ${quorum.leader}`}
          below=${quorum.leader < 0 ? "election in progress" : "active controller"} />
      <${Tile} label="Epoch" value=${count(quorum.epoch)} below="rises with each election" />
      <${Tile} label="High watermark" value=${count(quorum.high_watermark)}
          below="records below it are committed" />
      <${Tile} label="Voters"
          value=${`${quorum.voters.length - late.length} of ${quorum.voters.length}`}
          below=${
            late.length ? `behind: ${late.map((one) => one.id).join(", ")}` : "all have caught up"
          } />
      <${Tile} label="Tolerated failures"
          value=${html`<span class=${spare <= 0 ? "bad-figure" : ""}>
            ${count(Math.max(0, spare))}
          </span>`} below=${`majority: ${plural(need, "voter")}`} />
    <//>
  </div>`;
}

/** @param {Answer.Quorum} quorum */
function replicas(quorum) {
  return [
    ...quorum.voters.map((one) => ({ ...one, votes: true })),
    ...quorum.observers.map((one) => ({ ...one, votes: false })),
  ];
}

/** @type {Column<ReturnType<typeof replicas>[number]>[]} */
const REPLICAS = [
  { name: "Node", value: (row) => row.id, show: (row) => html`<b>${row.id}</b>` },
  {
    name: "Role",
    show: (row) =>
      row.leads
        ? html`<${Badge} kind="good">leader<//>`
        : html`<${Badge} kind=${row.lagging && row.votes ? "bad" : "info"} plain>
            ${row.votes ? "voter" : "observer"}
          <//>`,
  },
  {
    name: "Lag (records)",
    number: true,
    show: (row) => html`<span class=${row.lag ? "late" : ""}>${count(row.lag)}</span>`,
  },
  { name: "Log end offset", number: true, show: (row) => count(row.end) },
  { name: "Last caught up", number: true, show: (row) => since(row, row.behind_ms) },
  { name: "Last fetch", number: true, show: (row) => since(row, row.fetched_ms) },
  {
    name: "Address",
    wide: true,
    show: (row) => html`<span class="quiet">${row.addresses.join(", ") || "–"}</span>`,
  },
];

/** @type {Column<ReturnType<typeof replicas>[number]>} */
const DIRECTORY = {
  name: "Directory id",
  wide: true,
  show: (row) => html`<code class="quiet">${row.directory ?? "–"}</code>`,
};

/**
 * Return the columns; that of the directory ids only if the quorum has any.
 *
 * @param {ReturnType<typeof replicas>} rows
 */
function columnsOf(rows) {
  return rows.some((row) => row.directory !== null) ? [...REPLICAS, DIRECTORY] : REPLICAS;
}

function since(row, ms) {
  if (row.leads) return html`<span class="quiet">–</span>`;
  return ms === null ? html`<span class="late">never</span>` : `${duration(ms)} ago`;
}

/** @param {{ epoch: number | undefined }} props */
function Epochs({ epoch }) {
  const { data, error, again } = useGet(
    epoch === undefined ? null : path("/api/quorum/epochs", { epoch }),
  );
  return html`<${Panel} title="Epochs" inside=${false}>
    <${ErrorLine} error=${error} onAgain=${again} />
    ${
      data &&
      (data.rows.length === 0
        ? html`<${Empty} title="Epochs are not available">${data.absent}<//>`
        : html`<${Table} label="Epochs" rows=${data.rows} columns=${EPOCHS}
              id=${(row) => row.epoch} />`)
    }
  <//>`;
}

/** @type {Column<Answer.QuorumEpoch>[]} */
const EPOCHS = [
  { name: "Epoch", number: true, show: (row) => count(row.epoch) },
  {
    name: "Leader",
    show: (row) =>
      row.leader === null
        ? html`<span class="quiet">no longer in the log</span>`
        : `node ${row.leader}`,
  },
  { name: "Start offset", number: true, show: (row) => count(row.start) },
  {
    name: "Since",
    show: (row) => html`<span class="quiet"><${Time} ms=${row.time_ms} millis=${false} /></span>`,
  },
];

/** @param {{ features: Answer.Features }} props */
function Features({ features }) {
  return html`<${Panel} title="Features" inside=${false} actions=${
    features.epoch !== null &&
    html`<span class="quiet">as of offset ${count(features.epoch)}</span>`
  }>
    <${Table} label="Features" rows=${features.rows} columns=${FEATURES} id=${(row) => row.name}
        empty=${html`<${Empty} title="The broker reports no features" />`} />
  <//>`;
}

/** @type {Column<Answer.Feature>[]} */
const FEATURES = [
  { name: "Feature", show: (row) => html`<code>${row.name}</code>` },
  { name: "Finalized level", number: true, show: (row) => html`<b>${row.level}</b>` },
  {
    name: "Version",
    show: (row) =>
      row.called
        ? html`<span class="nowrap">${row.called}</span>`
        : html`<span class="quiet">–</span>`,
  },
  {
    name: "Levels that this broker supports",
    show: (row) =>
      html`<span class="quiet">
        ${row.least === null ? "–" : `${row.least} to ${row.most}`}
      </span>`,
  },
];
