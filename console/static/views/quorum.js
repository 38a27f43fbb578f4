// The metadata quorum: who votes, who leads, how far the others are, and what is written.

import { html, useCallback, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { useGet, useStream } from "../api.js";
import {
  Badge,
  Check,
  Empty,
  ErrorLine,
  JsonTree,
  Note,
  Page,
  Panel,
  SearchBox,
  Table,
  Tile,
  Tiles,
  Waiting,
  count,
  duration,
  plural,
  time,
} from "../parts/index.js";

const EVERY_MS = 1000;
const RECORDS_MAX = 400;

const ABOUT =
  "Controllers agree on each change of the cluster by Raft: it is done when most of them have " +
  "its record.";

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
          <${Table} label="Voters and observers" rows=${replicas(quorum)} columns=${REPLICAS}
              id=${(row) => row.id} />
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

function Figures({ quorum }) {
  const late = quorum.voters.filter((one) => one.lagging);
  const need = Math.floor(quorum.voters.length / 2) + 1;
  const spare = quorum.voters.length - late.length - need;
  return html`<div aria-live="polite">
    <${Tiles}>
      <${Tile} label="Leader" value=${quorum.leader < 0 ? "none" : `node ${quorum.leader}`}
          below=${quorum.leader < 0 ? "an election is on" : "decides for the cluster"} />
      <${Tile} label="Epoch" value=${count(quorum.epoch)} below="one more with each election" />
      <${Tile} label="High watermark" value=${count(quorum.high_watermark)}
          below="all before it is agreed on" />
      <${Tile} label="Voters"
          value=${`${quorum.voters.length - late.length} of ${quorum.voters.length}`}
          below=${
            late.length ? `${late.map((one) => one.id).join(", ")} behind` : "all have caught up"
          } />
      <${Tile} label="May still fail" value=${html`<span class=${spare <= 0 ? "bad-figure" : ""}>
        ${count(Math.max(0, spare))}
      </span>`} below=${`${need} are needed`} />
    <//>
  </div>`;
}

function replicas(quorum) {
  return [
    ...quorum.voters.map((one) => ({ ...one, votes: true })),
    ...quorum.observers.map((one) => ({ ...one, votes: false })),
  ];
}

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
    name: "Lag",
    number: true,
    show: (row) => html`<span class=${row.lag ? "late" : ""}>${count(row.lag)}</span>`,
  },
  { name: "Log end", number: true, show: (row) => count(row.end) },
  { name: "Caught up", number: true, show: (row) => since(row, row.behind_ms) },
  { name: "Last fetch", number: true, show: (row) => since(row, row.fetched_ms) },
  {
    name: "Address",
    wide: true,
    show: (row) => html`<span class="quiet">${row.addresses.join(", ") || "–"}</span>`,
  },
  {
    name: "Directory",
    wide: true,
    show: (row) => html`<code class="quiet">${row.directory ?? "–"}</code>`,
  },
];

function since(row, ms) {
  if (row.leads) return html`<span class="quiet">–</span>`;
  return ms === null ? html`<span class="late">never</span>` : `${duration(ms)} ago`;
}

function Epochs({ epoch }) {
  const { data, error } = useGet(epoch === undefined ? null : `/api/quorum/epochs?epoch=${epoch}`);
  return html`<${Panel} title="Epochs" inside=${false}>
    <${ErrorLine} error=${error} />
    ${
      data &&
      (data.rows.length === 0
        ? html`<${Empty} title="Not to be seen from here">${data.absent}<//>`
        : html`<${Table} label="Epochs" rows=${data.rows} columns=${EPOCHS}
              id=${(row) => row.epoch} />`)
    }
  <//>`;
}

const EPOCHS = [
  { name: "Epoch", number: true, show: (row) => count(row.epoch) },
  {
    name: "Leader",
    show: (row) =>
      row.leader === null
        ? html`<span class="quiet">gone from the log</span>`
        : `node ${row.leader}`,
  },
  { name: "From offset", number: true, show: (row) => count(row.start) },
  {
    name: "Since",
    show: (row) => html`<span class="quiet">${time(row.time_ms, { millis: false })}</span>`,
  },
];

function Features({ features }) {
  return html`<${Panel} title="Features" inside=${false} actions=${
    features.epoch !== null &&
    html`<span class="quiet">as of offset ${count(features.epoch)}</span>`
  }>
    <${Table} label="Features" rows=${features.rows} columns=${FEATURES} id=${(row) => row.name}
        empty=${html`<${Empty} title="None are told" />`} />
  <//>`;
}

const FEATURES = [
  { name: "Feature", show: (row) => html`<code>${row.name}</code>` },
  { name: "Level", number: true, show: (row) => html`<b>${row.level}</b>` },
  {
    name: "Called",
    show: (row) =>
      row.called
        ? html`<span class="nowrap">${row.called}</span>`
        : html`<span class="quiet">–</span>`,
  },
  {
    name: "This broker can do",
    show: (row) =>
      html`<span class="quiet">${row.least === null ? "–" : `${row.least} to ${row.most}`}</span>`,
  },
];

function Records() {
  const [noops, setNoops] = useState(false);
  const [word, setWord] = useState("");
  const [open, setOpen] = useState(null);
  const rows = useRef([]);
  const [about, setAbout] = useState({ source: null, absent: null });
  const [turn, again] = useReducer((one) => one + 1, 0);
  const { error } = useStream(`/api/quorum/records${noops ? "?noops=1" : ""}`, (event) => {
    if (event.absent) setAbout({ source: null, absent: event.absent });
    if (event.source) {
      rows.current = [];
      setAbout({ source: event.source, absent: null });
    }
    if (event.moved) setAbout({ source: event.moved, absent: null });
    if (event.records?.length) {
      rows.current = [...event.records.toReversed(), ...rows.current].slice(0, RECORDS_MAX);
      again();
    }
  });
  const shown = useMemo(() => {
    const wanted = word.toLowerCase();
    return wanted
      ? rows.current.filter(
          (one) =>
            one.type.toLowerCase().includes(wanted) ||
            JSON.stringify(one.data).toLowerCase().includes(wanted),
        )
      : rows.current;
  }, [turn, word]);
  const toggle = useCallback(
    (one) => setOpen((before) => (before === one.offset ? null : one.offset)),
    [],
  );
  return html`<${Panel} title="Newest metadata records" inside=${false} actions=${
    about.source &&
    html`
      <${SearchBox} label="Find a record" value=${word} onInput=${setWord} />
      <${Check} label="also no-ops" checked=${noops} onChange=${setNoops} />
    `
  }>
    <${ErrorLine} error=${error} />
    ${about.absent && html`<${Empty} title="Not to be seen from here">${about.absent}<//>`}
    ${
      about.source &&
      html`
        <ol class="meta-records" aria-label="Newest metadata records">
          ${shown.map(
            (one) =>
              html`<${Record} key=${one.offset} one=${one} isOpen=${open === one.offset}
                  onToggle=${toggle} />`,
          )}
        </ol>
        <p class="meta-foot quiet">
          ${plural(shown.length, "record")} of <code>${about.source}</code>
        </p>
      `
    }
  <//>`;
}

const KINDS = [
  [/LEADER|VOTERS|SNAPSHOT|KRAFT/, "violet"],
  [/REMOVE|UNREGISTER|FENCE_BROKER/, "bad"],
  [/PARTITION/, "info"],
  [/TOPIC|REGISTER|UNFENCE/, "good"],
  [/CONFIG|QUOTA|FEATURE/, "warn"],
];

function Record({ one, isOpen, onToggle }) {
  const kind = KINDS.find(([form]) => form.test(one.type))?.[1] ?? "";
  return html`<li>
    <button type="button" class="meta-record" aria-expanded=${isOpen}
        onClick=${() => onToggle(one)}>
      <span class="number quiet">${count(one.offset)}</span>
      <time dateTime=${new Date(one.time_ms).toISOString()} class="quiet">
        ${time(one.time_ms, { day: false })}
      </time>
      <${Badge} kind=${kind} plain>
        ${one.type
          .replace(/_RECORD$/, "")
          .replaceAll("_", " ")
          .toLowerCase()}
      <//>
      <span class="meta-line">${line(one.data)}</span>
    </button>
    ${
      isOpen &&
      html`<div class="meta-open">
        ${
          typeof one.data === "object"
            ? html`<${JsonTree} value=${one.data} open=${3} />`
            : one.data
        }
        <p class="quiet">
          offset ${count(one.offset)}, epoch ${one.epoch}
          ${one.version === null ? "" : `, version ${one.version}`}, ${time(one.time_ms)}
        </p>
      </div>`
    }
  </li>`;
}

function line(data) {
  if (typeof data !== "object" || data === null) return String(data ?? "");
  return Object.entries(data)
    .filter(
      ([, value]) =>
        value !== null && value !== "" && !(Array.isArray(value) && value.length === 0),
    )
    .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join("  ·  ")
    .slice(0, 400);
}
