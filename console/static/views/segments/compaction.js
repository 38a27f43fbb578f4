// @ts-check
// How far a compacted log is cleaned.

import { html } from "../../vendor/preact.js";
import { Badge, bytes, count, duration, Panel, plural, time } from "../../parts/index.js";

/** @param {{ found: Answer.CompactionShown }} props */
export function Compaction({ found }) {
  const whole = Math.max(1, found.cleanBytes + found.dirtyBytes + found.laterBytes);
  const width = (part) => `${(100 * part) / whole}%`;
  const gone = found.offsets - found.records;
  /** @type {[string, number, string][]} */
  const parts = [
    ["clean", found.cleanBytes, "Compacted before: each key once."],
    [
      "dirty",
      found.dirtyBytes,
      "Written since: the next cleaning reads it for the newest record of each key.",
    ],
    [
      "later",
      found.laterBytes,
      "The active segment, and what is too young or not replicated: not touched.",
    ],
  ];
  return html`<${Panel} title="Compaction" actions=${
    found.isDue
      ? html`<${Badge} kind="warn">due: the cleaner takes it next<//>`
      : html`<${Badge} kind="good">not due<//>`
  }>
    <div class="seg-clean" role="img"
        aria-label=${parts.map(([name, size]) => `${name} ${bytes(size)}`).join(", ")}>
      ${parts.map(
        ([name, size, note]) =>
          size > 0 &&
          html`<div class=${name} style=${{ width: width(size) }} title=${note}>
            <span>${name}</span>
          </div>`,
      )}
    </div>
    <div class="seg-two">
      <dl class="facts">
        <dt>Dirty ratio</dt>
        <dd>
          <b>${(found.ratio * 100).toFixed(1)} %</b> of clean and dirty bytes; cleaned
          above ${Math.round(found.ratioMin * 100)} %
          ${
            found.isOverdue
              ? ", or as now, when a record waits longer than max.compaction.lag.ms"
              : ""
          }
        </dd>
        <dt>Clean</dt>
        <dd>
          ${bytes(found.cleanBytes)}
          , ${found.wasCleaned ? `up to offset ${count(found.firstDirty)}` : "never cleaned yet"}
        </dd>
        <dt>Dirty</dt>
        <dd>${bytes(found.dirtyBytes)}</dd>
        <dt>Not touched yet</dt>
        <dd>${bytes(found.laterBytes)}, from offset ${count(found.firstUncleanable)} on</dd>
      </dl>
      <dl class="facts">
        <dt>Records left</dt>
        <dd>
          <b>${count(found.records)}</b> of ${count(found.offsets)} offsets
          ${found.isWhole ? "" : ", still counting"}
          ${
            gone > 0
              ? `: ${Math.round((100 * gone) / found.offsets)} % are gone, ` +
                "and their offsets stay unused"
              : ""
          }
        </dd>
        <dt>Tombstones</dt>
        <dd>
          ${
            found.tombstones === null
              ? "not counted: the log is too large"
              : count(found.tombstones)
          }
        </dd>
        <dt>Go</dt>
        <dd>${whenTombstonesGo(found)}</dd>
        <dt>delete.retention.ms</dt>
        <dd>${duration(found.deleteRetention)}</dd>
      </dl>
    </div>
  <//>`;
}

/**
 * @param {{
 *   tombstones: number | null, horizons: [number, number] | null, batchesWithHorizon: number,
 * }} props
 */
function whenTombstonesGo({ tombstones, horizons, batchesWithHorizon }) {
  if (horizons === null)
    return "with the first cleaning that sees them they get a time to stay: delete.retention.ms";
  const batches = plural(batchesWithHorizon, "batch", "batches");
  if (tombstones === 0)
    return `none is left; ${batches} still have the delete horizon that was set for theirs`;
  const [from, to] = horizons.map((one) => time(one, { millis: false }));
  return (
    `${batches} have a delete horizon, from ${from} to ${to}: ` +
    "the first cleaning after it drops their tombstones"
  );
}
