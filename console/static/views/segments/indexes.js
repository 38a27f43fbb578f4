// @ts-check
// A segment's indexes: by offset, by time, and the aborted transactions.

import { html, useState } from "../../vendor/preact.js";
import { useGet } from "../../api.js";
import { bytes, count, ErrorLine, plural, Table, time } from "../../parts/index.js";
import { segmentPath } from "./words.js";

/** @param {{ log: Answer.PartitionShown, base: number, bar: Answer.SegmentShown }} props */
export function Indexes({ log, base, bar }) {
  return html`
    <p class="quiet seg-say">
      An index is sparse: about one entry per index.interval.bytes of batches. A lookup finds the
      nearest earlier entry by binary search, and scans batch headers from there. ${
        bar.active
          ? "The newest entries of an active segment may still be in the broker's memory."
          : ""
      }
    </p>
    <div class="seg-two">
      <${Index} log=${log} base=${base} kind="offsets" title=".index" facts=${bar.offsets}
          columns=${["Last offset of a batch", "Position of the batch (byte)"]} show=${count}
          format="offset → position, 8 bytes per entry" />
      <${Index} log=${log} base=${base} kind="times" title=".timeindex" facts=${bar.times}
          columns=${["Largest timestamp so far", "Last offset of its batch"]} show=${time}
          format="timestamp → offset, 12 bytes per entry" />
    </div>
    <${Aborted} log=${log} base=${base} bar=${bar} />
  `;
}

/**
 * @param {{
 *   log: Answer.PartitionShown, base: number, kind: string, title: string,
 *   facts: Answer.IndexShown | null, columns: string[], show: (value: number) => string,
 *   format: string,
 * }} props
 */
function Index({ log, base, kind, title, facts, columns, show, format }) {
  const [first, setFirst] = useState(0);
  const page = 100;
  const width = kind === "offsets" ? 8 : 12;
  const { data, error, again } = useGet(
    facts === null ? null : segmentPath(log, base, "/index", { kind, first, limit: page }),
  );
  return html`<section class="seg-index" aria-label=${title}>
    <div class="spread"><h3 class="mono">${title}</h3><span class="quiet">${format}</span></div>
    ${
      facts === null
        ? html`<p class="quiet">The segment has no such file yet.</p>`
        : html`<p class="quiet">
            ${plural(facts.entries, "entry", "entries")}, ${bytes(facts.size)}
            ${
              facts.room > facts.entries
                ? `, of which ${bytes(facts.size - facts.entries * width)} are preallocated`
                : ""
            }
          </p>`
    }
    <${ErrorLine} error=${error} onAgain=${again} />
    ${
      data &&
      html`
        <${Table} label=${title} rows=${data.entries} id=${(one) => one[0]} columns=${[
          {
            name: "#",
            number: true,
            show: (one) => html`<span class="quiet">${count(one[0])}</span>`,
          },
          { name: columns[0], number: true, show: (one) => show(one[1]) },
          { name: columns[1], number: true, show: (one) => count(one[2]) },
        ]} empty=${html`<p class="quiet">No entries.</p>`} />
        ${
          data.count > page &&
          html`<div class="row">
            <button type="button" disabled=${first === 0}
                onClick=${() => setFirst(Math.max(0, first - page))}>Previous</button>
            <button type="button" disabled=${first + page >= data.count}
                onClick=${() => setFirst(first + page)}>Next</button>
            <span class="quiet">
              ${count(first)} to ${count(Math.min(first + page, data.count) - 1)} of ${count(
                data.count,
              )}
            </span>
          </div>`
        }
      `
    }
  </section>`;
}

/** @param {{ log: Answer.PartitionShown, base: number, bar: Answer.SegmentShown }} props */
function Aborted({ log, base, bar }) {
  const { data } = useGet(
    bar.aborted > 0 && log.canRead ? segmentPath(log, base, "/aborted") : null,
  );
  return html`<section>
    <h3 class="mono">.txnindex</h3>
    ${
      bar.aborted === 0
        ? html`<p class="quiet">
            No aborted transaction ends in this
            segment${bar.active ? ", according to the file on disk" : ""}.
          </p>`
        : html`<p class="quiet">
            ${plural(bar.aborted, "aborted transaction")}: consumers with
            isolation.level=read_committed skip their records.
          </p>`
    }
    ${
      data?.aborted &&
      html`<${Table} label="Aborted transactions" rows=${data.aborted}
          id=${(one) => `${one.producerId}-${one.lastOffset}`} columns=${[
            {
              name: "Producer id",
              number: true,
              value: (one) => one.producerId,
              show: (one) => count(one.producerId),
            },
            {
              name: "First offset",
              number: true,
              value: (one) => one.firstOffset,
              show: (one) => count(one.firstOffset),
            },
            {
              name: "Marker offset",
              number: true,
              value: (one) => one.lastOffset,
              show: (one) => count(one.lastOffset),
            },
            {
              name: "Last stable offset",
              number: true,
              value: (one) => one.lastStableOffset,
              show: (one) => count(one.lastStableOffset),
            },
          ]} />`
    }
  </section>`;
}
