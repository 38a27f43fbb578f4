// @ts-check
// The page "How a record flows": a form for a test record, and traced requests by stations.

import { html, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { useGet, useStream } from "../api.js";
import * as links from "../links.js";
import {
  Badge,
  Button,
  Empty,
  ErrorLine,
  Field,
  Note,
  Page,
  Panel,
  plural,
  Table,
  Time,
  Waiting,
} from "../parts/index.js";
import { Way } from "./flow_diagram.js";
import { span, stationsOf } from "./flow_stations.js";
import { Sender } from "./flow_sender.js";

const TRACES_MAX = 200;
const COPIES_MAX = 600;
const ABOUT =
  "The stations of a record on its way through a broker. The broker itself measures the time at " +
  "each station.";
const UNREAD =
  "No traced consumer has read the record yet. To see one here, read this topic with " +
  "client.id=ottla-trace-me.";

export function Flow() {
  const about = useGet("/api/about");
  const start = useGet("/api/flow");
  const here = start.data && start.data.why === null;
  return html`<${Page} title="How a record flows" about=${ABOUT}>
    <${ErrorLine} error=${start.error ?? about.error} onAgain=${() => {
      start.again();
      about.again();
    }} />
    ${start.loading && html`<${Waiting} />`}
    ${start.data && !here && html`<${Away} why=${start.data.why} />`}
    ${here && about.data && html`<${Traced} start=${start.data} writes=${about.data.writes} />`}
  <//>`;
}

/** @param {{ why: string }} props */
function Away({ why }) {
  return html`<${Panel} title="Traces are not available">
    <div class="stack">
      <p>${why[0].toUpperCase() + why.slice(1)}.</p>
      <p class="quiet">
        A broker serves its traces on a Unix domain socket in its log directory. Only the broker's
        user can open this socket. Start a console on the broker's machine, as this user:
      </p>
      <pre>ottla console --bootstrap-server localhost:9092 --data DIR</pre>
      <p class="quiet">
        A broker keeps traces if it was started by <code>ottla serve --console</code>, or
        with <code>ottla.trace.requests=true</code>.
      </p>
    </div>
  <//>`;
}

/**
 * The traces by id, the last copies of followers, and the tracing nodes; null: not yet known.
 *
 * @typedef {{
 *   traces: Map<string, any>,
 *   copies: Answer.FlowNews["copies"],
 *   nodes: Answer.TracingNode[] | null,
 * }} FlowState
 */

/** @param {{ start: Answer.FlowStart, writes: boolean }} props */
function Traced({ start, writes }) {
  const state = useRef(/** @type {FlowState} */ ({ traces: new Map(), copies: [], nodes: null }));
  const [, again] = useReducer((one) => one + 1, 0);
  const [chosen, choose] = useState(null);
  const [trouble, setTrouble] = useState(null);
  const { error, again: restart } = useStream("/api/flow/live", (event) => {
    const isTrouble = "error" in event;
    setTrouble(isTrouble ? event.error : null);
    if (!isTrouble) addNews(state.current, event);
    again();
  });
  const { traces, copies, nodes } = state.current;
  const list = [...traces.values()].sort((a, b) => startOf(b) - startOf(a));
  const shown = traces.get(chosen) ?? list.find((one) => one.api === "Produce") ?? list[0] ?? null;
  const silent = (nodes ?? []).filter((one) => one.why !== null);
  return html`
    <${ErrorLine} error=${error ?? trouble} onAgain=${error && restart} />
    <${Sender} start=${start} writes=${writes} onSent=${() => choose(null)} />
    ${silent.map(
      (one) =>
        html`<${Note} kind="warn" key=${one.node}>
          Broker ${one.node} sends no traces: ${one.why}.
        <//>`,
    )}
    ${
      nodes !== null &&
      nodes &&
      start.brokers > nodes.length &&
      html`<${Note}>
        ${plural(nodes.length, "broker")} of ${start.brokers} ${
          nodes.length === 1 ? "has its" : "have their"
        } log directory on this machine. Stations at other brokers are incomplete.
      <//>`
    }
    <div aria-live="polite" class="stack">
      ${
        shown
          ? html`<${Shown} trace=${shown} traces=${list} copies=${copies} />`
          : html`<${Panel} title="No traces yet">
              <p class="quiet">
                ${writes ? "Send a record above, or run any client" : "Run any client"} with <code>
                  client.id=ottla-trace-me
                </code>. Its requests appear here.
              </p>
            <//>`
      }
    </div>
    ${list.length > 0 && html`<${List} list=${list} shown=${shown} choose=${choose} />`}
  `;
}

/**
 * Add the traces and copies of an event, and drop the oldest beyond TRACES_MAX and COPIES_MAX.
 *
 * @param {FlowState} state
 * @param {Answer.FlowNews} event
 */
function addNews(state, event) {
  state.nodes = event.nodes;
  for (const trace of event.traces) {
    state.traces.delete(trace.id);
    state.traces.set(trace.id, trace);
  }
  state.copies.push(...event.copies);
  if (state.copies.length > COPIES_MAX) state.copies.splice(0, state.copies.length - COPIES_MAX);
  for (const id of state.traces.keys()) {
    if (state.traces.size <= TRACES_MAX) break;
    state.traces.delete(id);
  }
}

function startOf(trace) {
  return trace.stations[0]?.at_s ?? 0;
}

function Shown({ trace, traces, copies }) {
  const zero = startOf(trace);
  const [at, setAt] = useState(0);
  const appends = trace.stations.filter((one) => one.name === "appended");
  const append = appends[Math.min(at, appends.length - 1)] ?? null;
  const stations = useMemo(() => stationsOf(trace, copies, append), [trace, copies.length, append]);
  const reader = append === null ? null : readerOf(trace, append, traces);
  const readAt = reader?.stations.find((one) => one.name === "read" && covers(one, append));
  const after = readAt ? `, ${span(readAt.at_s - append.at_s)} after the append` : "";
  const out = reader === null ? [] : stationsOf(reader, [], append);
  const isFetch = trace.api === "Fetch";
  return html`<div class="stack">
    ${
      appends.length > 1 &&
      html`<${Field} label="Partition (the request has batches of several partitions)">
        <select value=${at} onChange=${(event) => setAt(Number(event.target.value))}>
          ${appends.map(
            (one, index) => html`<option value=${index}>${one.topic}-${one.partition}</option>`,
          )}
        </select>
      <//>`
    }
    <${Way} title=${isFetch ? "Fetch request of a consumer" : "Produce request"}
        stations=${stations} zero=${zero} about=${summary(trace, append)} />
    ${
      !isFetch &&
      append !== null &&
      html`<${Way} title="First Fetch request that returned the record" stations=${out} zero=${zero}
          about=${reader && `${reader.client_id}${after}`} empty=${UNREAD} />`
    }
  </div>`;
}

function summary(trace, append) {
  const link =
    append &&
    html` · <a href=${links.record(append.topic, append.partition, append.first_offset)}>
        ${append.topic}-${append.partition}, offset ${append.first_offset}
      </a> · <a href=${links.segmentAt(append.topic, append.partition, append.first_offset)}>
        segment
      </a>
    `;
  const last = trace.stations.at(-1)?.at_s ?? startOf(trace);
  return html`
    ${trace.client_id} ·
    broker ${trace.node} · ${trace.over ? span(last - startOf(trace)) : "in progress"}${link}
  `;
}

/** Return the first traced Fetch that returned the batch of an append, null if there is none. */
function readerOf(trace, append, traces) {
  const having = traces.filter(
    (one) =>
      one.api === "Fetch" &&
      one.node === trace.node &&
      one.stations.some((station) => station.name === "read" && covers(station, append)),
  );
  return having.sort((a, b) => endOf(a) - endOf(b))[0] ?? null;
}

/** Return whether the station `read` of a Fetch covers the batch of an append. */
function covers(read, append) {
  if (!read.bytes || read.topic !== append.topic || read.partition !== append.partition)
    return false;
  if (read.at_s < append.at_s || read.offset > append.first_offset) return false;
  return read.segment === append.segment && read.position + read.bytes > append.position;
}

function endOf(trace) {
  return trace.stations.at(-1).at_s;
}

const COLUMNS = [
  {
    name: "Time",
    value: (one) => one.wall_ms,
    show: (one) => html`<${Time} ms=${one.wall_ms} day=${false} />`,
  },
  {
    name: "Request",
    value: (one) => one.api,
    show: (one) =>
      html`<${Badge} kind=${one.api === "Produce" ? "info" : "violet"} plain>${one.api}<//>`,
  },
  { name: "Client id", value: (one) => one.client_id, wide: true },
  { name: "Topics", value: (one) => one.topics.join(", "), wide: true },
  { name: "Broker", value: (one) => one.node, number: true },
  {
    name: "Duration",
    value: (one) => endOf(one) - startOf(one),
    number: true,
    show: (one) => (one.over ? span(endOf(one) - startOf(one)) : "in progress"),
  },
];

function List({ list, shown, choose }) {
  const columns = useMemo(
    () => [
      ...COLUMNS,
      {
        name: "",
        label: "Show",
        show: (one) =>
          html`<${Button} kind="plain" pressed=${shown?.id === one.id}
              onClick=${() => choose(one.id)}>Show<//>`,
      },
    ],
    [shown?.id],
  );
  return html`<${Panel} title=${`Last ${plural(list.length, "trace")}`} inside=${false}>
    <${Table} columns=${columns} rows=${list} id=${(one) => one.id} label="Traces"
        selected=${shown?.id} empty=${html`<${Empty} title="No traces" />`} />
  <//>`;
}
