// @ts-check
// The statistics of a segment, which grow while its batch headers are read.

import { html, useEffect, useState } from "../../vendor/preact.js";
import { useGet } from "../../api.js";
import {
  bytes,
  count,
  duration,
  ErrorLine,
  Note,
  plural,
  time,
  Waiting,
} from "../../parts/index.js";
import { Cells } from "./strip.js";
import { segmentPath } from "./words.js";

/**
 * A warning if a closed segment has bytes after its last batch, which ends at byte `end`.
 *
 * In an active segment there is none, because a write may be in progress.
 *
 * @param {{ bar: Answer.SegmentShown, end: number | null }} props
 */
export function Torn({ bar, end }) {
  if (end === null || bar.active || end >= bar.fileSize) return null;
  return html`<${Note} kind="warn">
    The last ${bytes(bar.fileSize - end)} of the file, from byte ${count(end)} on, are not a
    complete batch.
  <//>`;
}

/** @param {{ log: Answer.PartitionShown, base: number, bar: Answer.SegmentShown }} props */
export function Inside({ log, base, bar }) {
  const [done, setDone] = useState(false);
  const { data, error } = useGet(segmentPath(log, base, ""), {
    every: done && !bar.active ? 0 : 1500,
  });
  const scan = data?.scan ?? null;
  useEffect(() => {
    if (scan?.isWhole) setDone(true);
  }, [scan]);
  if (scan === null)
    return html`
      <${ErrorLine} error=${error} />
      ${!error && html`<${Waiting} what="Reading batch headers" />`}
    `;
  const span = scan.nextOffset - bar.base;
  const packed = Object.entries(scan.codecs).sort((one, other) => other[1][1] - one[1][1]);
  const all = packed.reduce((sum, [, [, size]]) => sum + size, 0) || 1;
  return html`
    ${
      !scan.isWhole &&
      html`<div class="progress" role="progressbar" aria-label="Part of the segment that is read"
          aria-valuenow=${Math.round((100 * scan.position) / bar.fileSize)}>
        <div style=${{ width: `${(100 * scan.position) / Math.max(1, bar.fileSize)}%` }}></div>
      </div>`
    }
    ${scan.damage && html`<${Note} kind="warn">Damage at ${scan.damage}<//>`}
    <${Torn} bar=${bar} end=${scan.isWhole && !scan.damage ? scan.position : null} />
    <div class="seg-cellbox"><${Cells} segment=${{ ...bar, scan }} /></div>
    <p class="quiet">
      Each cell covers ${plural(scan.cells.width, "offset")}. The more records are left, the
      stronger its colour. In total, ${count(scan.records)} of ${count(span)} records are left.
    </p>
    <div class="seg-two">
      <dl class="facts">
        <dt>Batches</dt>
        <dd>
          <b>${count(scan.batches)}</b>,
          on average ${scan.batches ? (scan.records / scan.batches).toFixed(1) : 0} records
          and ${scan.batches ? bytes(scan.position / scan.batches) : "0 B"}; the largest
          has ${bytes(scan.largestBatch)}
        </dd>
        <dt>Records</dt>
        <dd>${count(scan.records)}</dd>
        <dt>Transactional</dt>
        <dd>
          ${plural(scan.transactionalBatches, "batch", "batches")}
          , ${plural(scan.controlBatches, "control batch", "control batches")} such as
          transaction markers
        </dd>
        <dt>Empty</dt>
        <dd>${plural(scan.emptyBatches, "batch", "batches")} without records</dd>
        <dt>Tombstones</dt>
        <dd>
          ${scan.tombstones === null ? "counted only in compacted topics" : count(scan.tombstones)}
          ${
            scan.horizons
              ? `, ${plural(scan.batchesWithHorizon, "batch", "batches")} with a delete horizon`
              : ""
          }
        </dd>
        <dt>Leader epochs</dt>
        <dd>
          ${
            scan.epochs.map(([epoch, from]) => `${epoch} from offset ${count(from)}`).join(", ") ||
            "–"
          }
        </dd>
        <dt>Timestamps</dt>
        <dd>
          ${time(scan.firstTime)} to ${time(scan.largestTime)}
          ${scan.firstTime >= 0 ? ` (${duration(scan.largestTime - scan.firstTime)})` : ""}
        </dd>
      </dl>
      <div>
        <h3>Codecs</h3>
        ${packed.map(
          ([name, [batches, size]]) =>
            html`<div key=${name} class="seg-codecrow">
              <span class="seg-codec ${name}">${name}</span>
              <div class="seg-share"><div style=${{ width: `${(100 * size) / all}%` }}></div></div>
              <span>${plural(batches, "batch", "batches")}, ${bytes(size)}</span>
            </div>`,
        )}
        <h3>Files</h3>
        <dl class="facts">
          ${Object.entries(bar.files).map(
            ([suffix, size]) => html`<dt class="mono">.${suffix}</dt><dd>${bytes(size)}</dd>`,
          )}
        </dl>
      </div>
    </div>
  `;
}
