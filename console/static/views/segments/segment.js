// @ts-check
// An opened segment: its batches, its indexes and its statistics.

import { html, useEffect, useRef } from "../../vendor/preact.js";
import { bytes, count, Note, time } from "../../parts/index.js";
import { Batches } from "./batches.js";
import { Indexes } from "./indexes.js";
import { Inside } from "./inside.js";
import { CLOSED } from "./words.js";

const TABS = [
  ["batches", "Batches"],
  ["index", "Indexes"],
  ["inside", "Statistics"],
];

/** @param {{ log: Answer.PartitionShown, base: number, q: Q, turn: Turn }} props */
export function Segment({ log, base, q, turn }) {
  const bar = log.segments.find((one) => one.base === base);
  const tab = TABS.some(([id]) => id === q.tab) ? q.tab : "batches";
  const place = useRef(null);
  useEffect(() => place.current?.scrollIntoView({ block: "nearest", behavior: "smooth" }), []);
  const name = `${String(base).padStart(20, "0")}.log`;
  return html`<section class="panel seg-open" ref=${place} aria-label=${`Segment ${base}`}>
    <header>
      <div>
        <h2>Segment <span class="mono">${name}</span></h2>
        ${
          bar &&
          html`<p class="quiet">
            ${bytes(bar.size)},
            offsets ${count(bar.base)} to ${count(Math.max(bar.end - 1, bar.base))}
            ${bar.largestTime >= 0 ? `, newest record ${time(bar.largestTime)}` : ""}
          </p>`
        }
      </div>
      <button type="button" class="plain"
          onClick=${() => turn(CLOSED)}
          aria-label="Close the segment">Close ✕</button>
    </header>
    ${
      !bar
        ? html`<div class="inside">
            <${Note} kind="warn">
              The folder no longer has this segment: retention or compaction removed it.
            <//>
          </div>`
        : html`
            <nav class="tabs seg-tabs" aria-label="Parts of the segment">
              ${TABS.map(
                ([id, title]) =>
                  html`<button type="button" aria-current=${id === tab ? "page" : undefined}
                      onClick=${() => turn({ tab: id === "batches" ? null : id })}>
                    ${title}
                  </button>`,
              )}
            </nav>
            <div class="inside stack">
              ${
                tab === "batches" &&
                (log.canRead
                  ? html`<${Batches} log=${log} base=${base} q=${q} turn=${turn} bar=${bar} />`
                  : html`<${Note}>
                      To show batches, records and bytes, the console's login needs Read on
                      topic ${log.topic}.
                    <//>`)
              }
              ${
                tab === "index" &&
                html`<${Indexes} log=${log} base=${base} bar=${bar} turn=${turn} />`
              }
              ${tab === "inside" && html`<${Inside} log=${log} base=${base} bar=${bar} />`}
            </div>
          `
    }
  </section>`;
}
