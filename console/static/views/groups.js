// @ts-check
// The list of groups: their lag, and since when they are behind.

import { html } from "../vendor/preact.js";
import { useAddressState } from "../address.js";
import { path, useGet } from "../api.js";
import * as links from "../links.js";
import { termsOf, withoutCommit } from "./group_words.js";
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
  Spark,
  Table,
  Tile,
  Tiles,
  Waiting,
  count,
  lagOf,
  plural,
  time,
} from "../parts/index.js";

const PAGE = 100;
const EVERY_MS = 5000;
const HIDES =
  "This list has only the groups that the console's login may describe. All groups take Describe " +
  "on the cluster.";
const STATES = {
  stable: "good",
  empty: "",
  dead: "bad",
  preparingrebalance: "warn",
  completingrebalance: "warn",
  assigning: "warn",
  reconciling: "warn",
  notready: "warn",
};

export function Groups() {
  const [word, setWord] = useAddressState("q");
  const [sort, setSort] = useAddressState("sort", "lag");
  const [start, setStart] = useAddressState("from", "0");
  const from = Number(start) || 0;
  const got = useGet(path("/api/groups", { q: word, sort, from, count: PAGE }), {
    every: EVERY_MS,
  });
  const { data, error } = got;
  function search(next) {
    setWord(next);
    setStart("0");
  }
  return html`<${Page} title="Groups"
      about="Groups of all types, their lag, and since when they are behind."
      actions=${html`
        <${SearchBox} label="Find a group" value=${word} onInput=${search} />
        <select aria-label="Sort order" value=${sort}
            onChange=${(event) => setSort(event.target.value)}>
          <option value="lag">Most lag first</option>
          <option value="name">By name</option>
        </select>
      `}>
    <${ErrorLine} error=${error} />
    <${AsOf} got=${got} />
    ${data === null && !error && html`<${Waiting} />`}
    ${
      data &&
      html`
        <${Figures} data=${data} />
        ${
          data.watched.error &&
          html`<${Note} kind="warn">The last sample of the lag failed: ${data.watched.error}<//>`
        }
        ${data.hides_some && html`<${Note}>${HIDES}<//>`}
        <${Panel} inside=${false} label="Groups">
          <${Table} label="Groups" rows=${data.groups} columns=${COLUMNS} id=${(row) => row.group}
              empty=${nothing(word, data.hides_some)} />
        <//>
        <${Pages} from=${from} count=${data.count}
            onMove=${(/** @type {number} */ at) => setStart(String(at))} />
      `
    }
  <//>`;
}

/**
 * @param {string} word
 * @param {boolean} hidesSome
 */
function nothing(word, hidesSome) {
  if (word) return html`<${Empty} title="No group has “${word}” in its name" />`;
  if (hidesSome) return html`<${Empty} title="No groups that this login may describe" />`;
  return html`<${Empty} title="No groups yet">
    A group appears here after its first member joins or commits offsets.
  <//>`;
}

/** @param {{ data: Answer.GroupList }} props */
function Figures({ data }) {
  const states = Object.entries(data.states)
    .map(([name, many]) => `${count(many)} ${name.toLowerCase()}`)
    .join(", ");
  const { since_ms: since, every_s: every } = data.watched;
  return html`<${Tiles}>
    <${Tile} label="Groups" value=${count(data.of)} below=${states || "none"} />
    <${Tile} label="Groups with lag" value=${count(data.lagging)}
        below=${data.lagging ? "a busy group always has some lag" : "no group has a known lag"} />
    <${Tile} label="Sampled since"
        value=${since ? time(since, { day: false, millis: false }) : "–"}
        below=${`one sample every ${Math.round(every)} s, kept for an hour`} />
  <//>`;
}

/** @param {Answer.GroupRow} row */
function hasReadAll(row) {
  return row.lag === 0 && !row.partitions_without_lag && !row.uncommitted.partitions;
}

/** @type {Column<Answer.GroupRow>[]} */
const COLUMNS = [
  {
    name: "Group",
    wide: true,
    show: (row) =>
      html`<a class="strong" href=${links.group(row.group)}>
        ${row.group || "(no name)"}
      </a>`,
  },
  {
    name: "Lag (records)",
    number: true,
    show: (row) => html`
      <span class=${row.since_ms ? "late" : ""}>${lagOf(row)}</span>
      ${
        row.uncommitted.partitions > 0 &&
        html`<span class="no-commit quiet">${withoutCommit(row.uncommitted)}</span>`
      }
    `,
  },
  {
    name: "Behind since",
    show: (row) =>
      html`<span class="since ${row.since_ms ? "late" : "quiet"}">
        <${When} words=${row.since || (hasReadAll(row) ? termsOf(row.type).hasReadAll : "")} />
      </span>`,
  },
  {
    name: "Lag, last hour",
    show: (row) =>
      html`<${Spark} values=${row.spark} width=${110}
          label=${`Lag of ${row.group} over the last hour`} />`,
  },
  { name: "State", show: (row) => html`<${State} name=${row.state} />` },
  {
    name: "Type",
    above: 1280,
    show: (row) =>
      html`<span class="quiet">
        ${row.type}
        ${!["", "consumer", row.type].includes(row.protocol) ? ` · ${row.protocol}` : ""}
      </span>`,
  },
  { name: "Members", number: true, show: (row) => count(row.members) },
];

/**
 * A group's state.
 *
 * @param {{ name: string }} props
 */
export function State({ name }) {
  return html`<${Badge} kind=${STATES[(name ?? "").toLowerCase()] ?? "warn"}>
    ${name || "unknown"}
  <//>`;
}

/**
 * Words with times between braces, shown as this browser's clock has them.
 *
 * @param {{ words: string | null | undefined }} props
 */
export function When({ words }) {
  return (words ?? "").split(/\{(\d+)\}/).map((piece, at) =>
    at % 2
      ? html`<time dateTime=${new Date(Number(piece)).toISOString()} title=${time(Number(piece))}>
          ${clock(Number(piece))}
        </time>`
      : piece,
  );
}

/** @param {number} ms */
function clock(ms) {
  const isToday = new Date(ms).toDateString() === new Date().toDateString();
  return time(ms, { day: !isToday, millis: false });
}

/** @param {{ from: number, count: number, onMove: Call }} props */
function Pages({ from, count: many, onMove }) {
  if (many <= PAGE) return null;
  return html`<div class="spread">
    <span class="quiet">
      ${count(from + 1)} to ${count(Math.min(from + PAGE, many))} of ${plural(many, "group")}
    </span>
    <div class="row">
      <${Button} disabled=${from === 0} onClick=${() => onMove(Math.max(0, from - PAGE))}>
        Previous
      <//>
      <${Button} disabled=${from + PAGE >= many} onClick=${() => onMove(from + PAGE)}>Next<//>
    </div>
  </div>`;
}
