// @ts-check
// The newest records of the metadata log, updated live.

import { html, useCallback, useMemo, useReducer, useRef, useState } from "../vendor/preact.js";
import { useAddressFlag, useAddressState } from "../address.js";
import { path, useStream } from "../api.js";
import {
  Badge,
  Check,
  count,
  Empty,
  ErrorLine,
  JsonTree,
  Panel,
  plural,
  SearchBox,
  time,
  Time,
} from "../parts/index.js";

const RECORDS_MAX = 400;

export function Records() {
  const [noops, setNoops] = useAddressFlag("noops");
  const [word, setWord] = useAddressState("q");
  const [open, setOpen] = useState(null);
  const rows = useRef(/** @type {Answer.MetadataRecord[]} */ ([]));
  const [about, setAbout] = useState(
    /** @type {{ source: string | null, absent: string | null }} */ ({
      source: null,
      absent: null,
    }),
  );
  const [turn, again] = useReducer((one) => one + 1, 0);
  const { error, again: restart } = useStream(
    path("/api/quorum/records", { noops: noops ? 1 : null }),
    (event) => {
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
    },
  );
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
      <${Check} label="Show no-op records" checked=${noops} onChange=${setNoops} />
    `
  }>
    <${ErrorLine} error=${error} onAgain=${restart} />
    ${
      about.absent && html`<${Empty} title="Metadata records are not available">${about.absent}<//>`
    }
    ${
      about.source &&
      html`
        <ol class="meta-records" aria-label="Newest metadata records">
          ${shown.map(
            (record) =>
              html`<${Record} key=${record.offset} record=${record} isOpen=${open === record.offset}
                  onToggle=${toggle} />`,
          )}
        </ol>
        <p class="meta-foot quiet">
          ${plural(shown.length, "record")} from <code>${about.source}</code>
        </p>
      `
    }
  <//>`;
}

/** @type {[RegExp, string][]} */
const KINDS = [
  [/LEADER|VOTERS|SNAPSHOT|KRAFT/, "violet"],
  [/REMOVE|UNREGISTER|FENCE_BROKER/, "bad"],
  [/PARTITION/, "info"],
  [/TOPIC|REGISTER|UNFENCE/, "good"],
  [/CONFIG|QUOTA|FEATURE/, "warn"],
];

/** @param {{ record: Answer.MetadataRecord, isOpen: boolean, onToggle: Call }} props */
function Record({ record, isOpen, onToggle }) {
  const kind = KINDS.find(([form]) => form.test(record.type))?.[1] ?? "";
  return html`<li>
    <button type="button" class="meta-record" aria-expanded=${isOpen}
        onClick=${() => onToggle(record)}>
      <span class="number quiet">${count(record.offset)}</span>
      <span class="quiet"><${Time} ms=${record.time_ms} day=${false} /></span>
      <${Badge} kind=${kind} plain>
        ${record.type
          .replace(/_RECORD$/, "")
          .replaceAll("_", " ")
          .toLowerCase()}
      <//>
      <span class="meta-line">${line(record.data)}</span>
    </button>
    ${
      isOpen &&
      html`<div class="meta-open">
        ${
          typeof record.data === "object"
            ? html`<${JsonTree} value=${record.data} open=${3} />`
            : record.data
        }
        <p class="quiet">
          offset ${count(record.offset)}, epoch ${record.epoch}
          ${record.version === null ? "" : `, version ${record.version}`}, ${time(record.time_ms)}
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
